//! Names of images: whole, and as short as tells one from another.

use std::collections::BTreeSet;
use std::fmt;

use super::{LONGEST_MESSAGE, safe, visible};
use crate::model::fact::Image;

/// Characters of a digest that tell it from others.
const SHORT_DIGEST: usize = 7;
/// Images of one pod that are named, and found by searches.
const MOST_IMAGES: usize = 64;

/// An image without its registry and path, and with the first characters of its digest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShortImage {
    /// The last part of its path: "web". It may be cut where there is no room.
    pub name: String,
    /// The end that tells versions apart: ":v2", "@2c26b46", both, or nothing. It is shown whole.
    pub tag: String,
}

impl fmt::Display for ShortImage {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}{}", self.name, self.tag)
    }
}

/// Shortens an image: "registry.example.com:5000/shop/web:v2" is "web:v2".
pub fn short_image(image: &str) -> ShortImage {
    let image: String = visible(image.trim()).collect();
    let [name, tag, digest] = image_parts(&image);
    let digest: String = digest.rsplit(':').next().unwrap_or_default().chars().take(SHORT_DIGEST).collect();
    let marked = |mark: char, text: &str| if text.is_empty() { String::new() } else { format!("{mark}{}", safe(text)) };
    ShortImage { name: safe(name), tag: marked(':', tag) + &marked('@', &digest) }
}

/// Returns the name of an image without registry and path, its tag, and its digest.
pub fn image_parts(image: &str) -> [&str; 3] {
    let (place, digest) = image.split_once('@').unwrap_or((image, ""));
    // A colon before the last slash is that of a registry's port.
    let last = place.rsplit('/').find(|part| !part.is_empty()).unwrap_or(place);
    let (name, tag) = last.split_once(':').unwrap_or((last, ""));
    [name, tag, digest]
}

/// Different images in container order, joined. Of one that is too long the end is kept, which has the tag; of too many the
/// first.
pub fn images(images: &[Image]) -> String {
    let mut named = BTreeSet::new();
    let names = images.iter().map(|image| image.image.as_str());
    let different: Vec<&str> = names.filter(|name| named.insert(*name)).collect();
    let mut all: Vec<String> = different.iter().copied().take(MOST_IMAGES).map(whole).collect();
    if let more @ 1.. = different.len().saturating_sub(MOST_IMAGES) {
        all.push(format!("{more} more"));
    }
    all.join(", ")
}

fn whole(image: &str) -> String {
    let image: Vec<char> = visible(image).collect();
    match image.len().saturating_sub(LONGEST_MESSAGE) {
        0 => image.iter().collect(),
        more => std::iter::once(&'…').chain(image.iter().skip(more)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";

    fn short(image: &str) -> String {
        short_image(image).to_string()
    }

    #[test]
    fn registry_and_path_go_and_the_tag_stays() {
        assert_eq!(short("registry.example.com/apps/web:2026.11.12-rc12"), "web:2026.11.12-rc12");
        assert_eq!(short("registry.example.com:5000/apps/web:v2"), "web:v2");
        assert_eq!(short("web:v2"), "web:v2");
        assert_eq!(short_image("a/b:c"), ShortImage { name: "b".into(), tag: ":c".into() });
    }

    #[test]
    fn the_port_of_a_registry_is_no_tag() {
        assert_eq!(short("registry.example.com:5000/web"), "web");
        assert_eq!(short_image("localhost:5000/shop/web").tag, "");
    }

    #[test]
    fn a_digest_is_short_and_stays_beside_a_tag() {
        assert_eq!(short(&format!("registry.example.com/web@{DIGEST}")), "web@2c26b46");
        assert_eq!(short(&format!("registry.example.com:5000/web:v2@{DIGEST}")), "web:v2@2c26b46");
        assert_eq!(short("web@2c26"), "web@2c26");
    }

    #[test]
    fn text_that_is_no_image_is_shown_as_far_as_it_can_be() {
        let odd = ["", " ", "/", ":", "@", "web:", "web@", "a/b/", ":v2"];
        assert_eq!(odd.map(short), ["", "", "/", "", "", "web", "web", "b", ":v2"]);
        assert_eq!(short("we\nb:v\u{202e}2"), "we b:v2");
    }

    #[test]
    fn of_253_characters_the_tag_is_kept() {
        let long = format!("registry.example.com/{}/web:v2", "a".repeat(253 - 28));
        assert_eq!((long.len(), short(&long).as_str()), (253, "web:v2"));
        assert_eq!(short_image(&format!("{}:v2", "a".repeat(250))).tag, ":v2");
        let image = |image: &str| Image { container: String::new(), image: image.into() };
        let joined = images(&[image(&long), image("proxy:v2")]);
        assert!(joined.starts_with("…aaa") && joined.ends_with("/web:v2, proxy:v2"), "{joined}");
        assert_eq!(images(&["web:v1", "proxy:v2"].map(image)), "web:v1, proxy:v2");
        assert_eq!(images(&["web:v1", "proxy:v2", "web:v1"].map(image)), "web:v1, proxy:v2");
        let names: Vec<String> = (0..MOST_IMAGES + 3).map(|number| format!("a{number}")).collect();
        let many: Vec<Image> = names.iter().map(|name| image(name)).collect();
        assert_eq!(images(&many), names[..MOST_IMAGES].join(", ") + ", 3 more");
    }
}
