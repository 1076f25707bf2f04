//! The table of values in the chart's README, made from the comments of `values.yaml`. Pure.

use anyhow::{Result, bail, ensure};

const BEGIN: &str = "<!-- values: made by `cargo xtask chart --write` -->\n";
const END: &str = "<!-- end of values -->\n";

pub fn with_table(text: &str, table: &str) -> Result<String> {
    let Some((before, rest)) = text.split_once(BEGIN) else { bail!("the README has no line {}", BEGIN.trim()) };
    let Some((_, after)) = rest.split_once(END) else { bail!("the README has no line {}", END.trim()) };
    Ok(format!("{before}{BEGIN}\n{table}\n{END}{after}"))
}

/// Makes the table: key, default and comment of each value.
pub fn table(values: &str) -> Result<String> {
    let mut rows = vec!["| value | default | meaning |".to_owned(), "|---|---|---|".to_owned()];
    let mut parents: Vec<&str> = Vec::new();
    let mut comment: Vec<&str> = Vec::new();
    let mut lines = values.lines().enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        let text = line.trim();
        if text.is_empty() {
            comment.clear();
            continue;
        }
        if let Some(said) = text.strip_prefix('#') {
            comment.push(said.trim());
            continue;
        }
        let depth = (line.len() - line.trim_start().len()) / 2;
        let Some((key, value)) = text.split_once(':') else { bail!("values.yaml, line {}: no key", index + 1) };
        ensure!(depth <= parents.len(), "values.yaml, line {}: indented too far", index + 1);
        parents.truncate(depth);
        let mut value = value.trim().to_owned();
        // A value in braces may stand on a line of its own.
        if value.is_empty()
            && let Some((_, next)) = lines.peek()
            && next.trim_start().starts_with('{')
        {
            value = next.trim().to_owned();
            lines.next();
        }
        if value.is_empty() {
            parents.push(key);
        } else {
            ensure!(!comment.is_empty(), "values.yaml, line {}: {key} has no comment", index + 1);
            let path: Vec<&str> = parents.iter().copied().chain([key]).collect();
            rows.push(format!("| `{}` | `{value}` | {} |", path.join("."), comment.join(" ").replace('|', "\\|")));
        }
        comment.clear();
    }
    Ok(format!("{}\n", rows.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_a_row_with_its_path_default_and_comment() {
        let values = "# About the file.\n\nimage:\n  # Repository\n  # of the image\n  tag: \"\"\n# Number\ncount: 1\n# Context\ncontext:\n  { a: 1 }\n";
        let rows = "| `image.tag` | `\"\"` | Repository of the image |\n| `count` | `1` | Number |\n| `context` | `{ a: 1 }` | Context |\n";
        assert_eq!(table(values).unwrap(), format!("| value | default | meaning |\n|---|---|---|\n{rows}"));
    }

    #[test]
    fn a_value_without_a_comment_is_an_error_with_its_line() {
        assert_eq!(table("# A\na: 1\nb: 2\n").unwrap_err().to_string(), "values.yaml, line 3: b has no comment");
    }

    #[test]
    fn the_table_takes_the_place_of_the_one_before() {
        let text = format!("# Chart\n{BEGIN}old\n{END}rest\n");
        assert_eq!(with_table(&text, "new\n").unwrap(), format!("# Chart\n{BEGIN}\nnew\n\n{END}rest\n"));
        assert!(with_table("# Chart\n", "new").is_err());
    }
}
