//! Images as a table has room for them: without registry and path, with the tag or a short digest.

/// Digits of a digest that are shown.
const DIGEST: usize = 7;
/// Images of a change that are shown; the others are counted.
const SHOWN: usize = 2;

/// An image without its registry and path: "web:v2", "web@2c26b46".
#[must_use]
pub fn short(image: &str) -> String {
    let (name, digest) = image.split_once('@').map_or((image, None), |(name, digest)| (name, Some(digest)));
    let last = name.rsplit('/').next().unwrap_or(name);
    let Some(digest) = digest else { return last.to_owned() };
    let hash = digest.split_once(':').map_or(digest, |(_, hash)| hash);
    format!("{last}@{}", hash.chars().take(DIGEST).collect::<String>())
}

/// What comes after the name: ":v2", "@2c26b46".
fn version(short: &str) -> (&str, &str) {
    let end = short.find([':', '@']).unwrap_or(short.len());
    short.split_at(end)
}

/// From which images to which: "web:v1 → v2", or "web:v2" where they are the same or the earlier ones are not known. Both are lists as
/// [`timeline::words::images`] joins them.
#[must_use]
pub fn change(before: &str, after: &str) -> String {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.split(", ").collect(), after.split(", ").collect());
    let pairs = after.iter().enumerate().map(|(index, image)| {
        let earlier = before.get(index).filter(|earlier| before.len() == after.len() && !earlier.is_empty());
        (earlier.map(|earlier| short(earlier)).unwrap_or_default(), short(image))
    });
    let (changed, same): (Vec<_>, Vec<_>) = pairs.partition(|(earlier, image)| !earlier.is_empty() && earlier != image);
    // Images that stayed are no news beside some that changed.
    let shown = if changed.is_empty() { same } else { changed };
    let more = shown.len().saturating_sub(SHOWN);
    let words = shown.iter().take(SHOWN).map(|(earlier, image)| {
        let ((old_name, old), (name, new)) = (version(earlier), version(image));
        match (earlier.as_str(), old_name == name && !old.is_empty() && !new.is_empty()) {
            (earlier, _) if earlier.is_empty() || earlier == image => image.clone(),
            (_, true) => format!("{earlier} \u{2192} {}", new.trim_start_matches(':')),
            (earlier, false) => format!("{earlier} \u{2192} {image}"),
        }
    });
    let words = words.collect::<Vec<_>>().join(", ");
    if more == 0 { words } else { format!("{words} and {more} more") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registry_and_path_go_and_the_tag_stays() {
        assert_eq!(short("registry.example.com:5000/apps/team/web:2026.11.12-rc12"), "web:2026.11.12-rc12");
        assert_eq!(short("docker.io/library/web@sha256:2c26b46b68ffc68ff99b453c1d3041341342"), "web@2c26b46");
        assert_eq!(short("web:v1@sha256:2c26b46b68ff"), "web:v1@2c26b46");
        assert_eq!((short("nginx"), short("")), ("nginx".to_owned(), String::new()));
    }

    #[test]
    fn a_change_says_what_is_different() {
        assert_eq!(change("r.io/web:v1", "r.io/web:v2"), "web:v1 \u{2192} v2");
        assert_eq!(change("r.io/web@sha256:aaaaaaaaaa", "r.io/web:v2"), "web@aaaaaaa \u{2192} v2");
        assert_eq!(change("web:v1", "app:v2"), "web:v1 \u{2192} app:v2");
        assert_eq!(change("web", "web:v2"), "web \u{2192} web:v2");
        assert_eq!(change("web:v1", "web:v1"), "web:v1");
        assert_eq!(change("", "r.io/web:v1"), "web:v1");
        assert_eq!(change("web:v1, log:v1", "web:v2, log:v1"), "web:v1 \u{2192} v2");
        assert_eq!(change("web:v1", "web:v1, log:v1, top:v1"), "web:v1, log:v1 and 1 more");
    }
}
