//! Language of the search field: `namespace:shop outcome:failed "crash loop"`.
//!
//! Words with a key narrow one property, all others are looked for as they are. Quotes keep a word together that has spaces or begins
//! like a key. A key that is not known is a part of the word: `web:v2` looks for an image.

use super::Search;

/// Keys of the language; each is also a parameter of the address.
pub const KEYS: [&str; 8] = ["kind", "cluster", "namespace", "name", "image", "outcome", "trouble", "longer"];

/// A word of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Term {
    /// The property that it narrows; `None` for a word that is looked for anywhere.
    pub key: Option<&'static str>,
    /// The word, without quotes; never empty.
    pub value: String,
}

/// Reads what was written. A key without a value narrows nothing, and a quote that is not closed ends with the text.
pub fn terms(text: &str) -> Vec<Term> {
    let (mut terms, mut term, mut is_quoted) = (Vec::new(), Term::default(), false);
    for c in text.chars() {
        match (c, key(&term.value).filter(|_| term.key.is_none())) {
            ('"', _) => is_quoted = !is_quoted,
            (':', Some(key)) if !is_quoted => term = Term { key: Some(key), value: String::new() },
            (c, _) if c.is_whitespace() && !is_quoted => terms.push(std::mem::take(&mut term)),
            (c, _) => term.value.push(c),
        }
    }
    terms.push(term);
    terms.retain(|term| !term.value.trim().is_empty());
    terms
}

fn key(word: &str) -> Option<&'static str> {
    KEYS.into_iter().find(|key| key.eq_ignore_ascii_case(word))
}

/// Writes a word so that [`terms`] reads it again; quotes in it are lost.
pub fn written(key: Option<&str>, value: &str) -> String {
    let value = value.replace('"', "");
    let begins_like_key = key.is_none() && value.split_once(':').is_some_and(|(word, _)| self::key(word).is_some());
    let value = if begins_like_key || value.contains(char::is_whitespace) { format!("\"{value}\"") } else { value };
    key.map_or_else(|| value.clone(), |key| format!("{key}:{value}"))
}

/// The key that a word seems to be meant with, where it is none: "namespce" of `namespce:shop`.
pub fn unknown_key(search: &Search) -> Option<String> {
    let meant = |term: Term| {
        let (word, _) = term.value.split_once(':')?;
        let is_word = !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase());
        (is_word && term.key.is_none()).then(|| word.to_owned())
    };
    terms(&search.text).into_iter().find_map(meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(Option<&'static str>, String)> {
        terms(text).into_iter().map(|Term { key, value }| (key, value)).collect()
    }

    fn word(value: &str) -> (Option<&'static str>, String) {
        (None, value.to_owned())
    }

    #[test]
    fn keys_narrow_and_other_words_are_looked_for() {
        let all = read("  namespace:shop outcome:failed\tName:web cluster:prod/eu crash ");
        let expected = [
            (Some("namespace"), "shop".to_owned()),
            (Some("outcome"), "failed".to_owned()),
            (Some("name"), "web".to_owned()),
            (Some("cluster"), "prod/eu".to_owned()),
            word("crash"),
        ];
        assert_eq!(all, expected);
        assert_eq!(read(""), []);
    }

    #[test]
    fn colons_of_images_and_of_unknown_keys_stay_in_the_word() {
        assert_eq!(read("image:r.io:5000/web:v1"), [(Some("image"), "r.io:5000/web:v1".to_owned())]);
        assert_eq!(read("web:v2 namespce:shop"), [word("web:v2"), word("namespce:shop")]);
        assert_eq!(read("cluster:arn:aws:eks/prod"), [(Some("cluster"), "arn:aws:eks/prod".to_owned())]);
        let unknown = |text: &str| unknown_key(&Search { text: text.to_owned(), ..Search::default() });
        assert_eq!(unknown("crash namespce:shop"), Some("namespce".to_owned()));
        assert_eq!(unknown("10.0.0.1:80 \"crash loop\""), None);
    }

    #[test]
    fn quotes_keep_words_together_and_need_not_be_closed() {
        assert_eq!(read("\"crash loop\" name:\"a b\""), [word("crash loop"), (Some("name"), "a b".to_owned())]);
        assert_eq!(read("\"namespace:shop\""), [word("namespace:shop")]);
        assert_eq!(read("one \"two three"), [word("one"), word("two three")]);
        assert_eq!(read("\"\" \" \" \""), []);
    }

    #[test]
    fn keys_without_a_value_narrow_nothing() {
        assert_eq!(read("namespace: name:\"\" :shop"), [word(":shop")]);
    }

    #[test]
    fn long_text_is_read_in_one_go() {
        let long = "x".repeat(10_000);
        assert_eq!(read(&format!("namespace:{long}")), [(Some("namespace"), long.clone())]);
        assert_eq!(read(&"a:\" ".repeat(2_500)).len(), 1_250);
    }

    #[test]
    fn what_is_written_is_read_as_it_was() {
        for text in ["namespace:shop", "name:\"a b\"", "\"namespace:shop\"", "web:v2", "\"crash loop\""] {
            let again: Vec<String> = terms(text).iter().map(|term| written(term.key, &term.value)).collect();
            assert_eq!(again, [text]);
        }
    }
}
