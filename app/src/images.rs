//! Image names for little room: one name, its whole tag, and the number of other images. Pure.

use std::borrow::Cow;

use timeline::words::{ShortImage, short_image};

/// Characters around the name of an image in a sentence.
const AROUND: &str = "\"'(),.:; ";

/// Images of a template, or how they changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageText {
    /// The first image without its tag: cut if there is no room.
    pub name: String,
    /// Its tag, or the change of it, and the number of other images: ":v1 → v2 +1".
    pub tag: String,
    /// The whole text, for the tooltip.
    pub whole: String,
}

impl ImageText {
    /// Shortens images that [`timeline::words::images`] joined.
    pub fn new(images: &str) -> Self {
        let all: Vec<&str> = split(images).collect();
        let ShortImage { name, tag } = all.first().map(|image| short_image(image)).unwrap_or_default();
        Self { name, tag: with_more(tag, all.len()), whole: images.to_owned() }
    }

    /// Shortens a change of images: only of containers whose image changes. `old` is empty if nothing is replaced.
    pub fn change(old: &str, new: &str) -> Self {
        let (before, now): (Vec<&str>, Vec<&str>) = (split(old).collect(), split(new).collect());
        let changed: Vec<(&str, &str)> =
            before.iter().copied().zip(now.iter().copied()).filter(|(a, b)| a != b).collect();
        let Some((first, second)) = changed.first().filter(|_| before.len() == now.len()) else {
            return Self::new(new);
        };
        let (from, to) = (short_image(first), short_image(second));
        let whole = format!("{old} → {new}");
        let both_tagged = !from.tag.is_empty() && !to.tag.is_empty();
        let (name, tag) = match from.name == to.name {
            true if from.tag == to.tag => (to.name, to.tag), // only the registry or the path differs
            true if both_tagged => (to.name, format!("{} → {}", from.tag, to.tag.trim_start_matches(':'))),
            _ => (format!("{from} → {}", to.name), to.tag),
        };
        Self { name, tag: with_more(tag, changed.len()), whole }
    }
}

impl std::fmt::Display for ImageText {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(out, "{}{}", self.name, self.tag)
    }
}

fn split(images: &str) -> impl Iterator<Item = &str> {
    images.split(", ").filter(|image| !image.is_empty())
}

fn with_more(tag: String, all: usize) -> String {
    if all > 1 { format!("{tag} +{}", all - 1) } else { tag }
}

/// Replaces these images in a sentence by their short names: whole names would leave no room for its statement. Images that share a short
/// name stay whole.
pub fn with_short_images(sentence: &str, images: &[&str]) -> String {
    let images: Vec<&str> = images.iter().copied().flat_map(split).collect();
    let short = |word: &str| {
        let image = word.trim_matches(|mark| AROUND.contains(mark));
        if !image.contains(['/', '@']) || !images.contains(&image) {
            return None;
        }
        let short = short_image(image);
        let is_another = |other: &&str| *other != image && short_image(other) == short;
        let is_alone = !images.iter().any(is_another);
        is_alone.then(|| word.replacen(image, &short.to_string(), 1))
    };
    sentence.split_inclusive(' ').map(|word| short(word).map_or(Cow::Borrowed(word), Cow::Owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(old: &str, new: &str) -> String {
        ImageText::change(old, new).to_string()
    }

    #[test]
    fn one_image_is_shown_and_the_others_are_counted() {
        let of = |images| ImageText::new(images).to_string();
        assert_eq!(of("registry.example.com/apps/web:v1"), "web:v1");
        assert_eq!(of("web:v1, registry.example.com/proxy:v2, log:v3"), "web:v1 +2");
        assert_eq!(of(""), "");
        assert_eq!(ImageText::new("a/web:v1, proxy:v2").whole, "a/web:v1, proxy:v2");
    }

    #[test]
    fn a_change_names_the_image_once() {
        assert_eq!(change("a.example/web:v1", "a.example/web:v2"), "web:v1 → v2");
        assert_eq!(change("web@sha256:2c26b46b68", "web@sha256:9d377b10ce"), "web@2c26b46 → @9d377b1");
        assert_eq!(change("web:v1", "shop:v2"), "web:v1 → shop:v2");
        assert_eq!(change("web", "web:v2"), "web → web:v2");
        assert_eq!(change("a.example/web:v1", "b.example/web:v1"), "web:v1");
        assert_eq!(ImageText::change("web:v1", "web:v2").whole, "web:v1 → web:v2");
    }

    #[test]
    fn only_containers_that_change_are_told() {
        assert_eq!(change("web:v1, proxy:v1", "web:v1, proxy:v2"), "proxy:v1 → v2");
        assert_eq!(change("web:v1, proxy:v1", "web:v2, proxy:v2"), "web:v1 → v2 +1");
        assert_eq!(change("web:v1", "web:v1, proxy:v2"), "web:v1 +1");
        assert_eq!([change("web:v1", "web:v1"), change("", "web:v2"), change("web:v1", "")], ["web:v1", "web:v2", ""]);
    }

    #[test]
    fn sentences_have_short_images() {
        let said = |sentence| with_short_images(sentence, &["a.example/web:v1, proxy:v2"]);
        assert_eq!(said("image a.example/web:v1 is not found."), "image web:v1 is not found.");
        assert_eq!(said("image proxy:v2 is not found."), "image proxy:v2 is not found.");
        assert_eq!(with_short_images("all is well.", &[]), "all is well.");
        assert_eq!(said("\"a.example/web:v1\": not found, a.example/web:v1."), "\"web:v1\": not found, web:v1.");
    }

    #[test]
    fn an_image_that_ends_like_another_one_is_no_part_of_it() {
        let said = |sentence: &str, images: &str| with_short_images(sentence, &[images]);
        let both = "image shop/web:v2 and image r.example/shop/web:v1.";
        assert_eq!(said(both, "shop/web:v1, shop/web:v2"), "image web:v2 and image r.example/shop/web:v1.");
        assert_eq!(said(both, "shop/web:v2, r.example/shop/web:v1"), "image web:v2 and image web:v1.");
        assert_eq!(said("image a/web:v10.", "a/web:v1"), "image a/web:v10.");
        // Two images with the same short name stay distinguishable.
        for (one, other) in
            [("r.example/a/web:v1", "a/web:v1"), ("b.example/web:1", "web:1"), ("web:1", "b.example/web:1")]
        {
            let sentence = format!("image {one} is not {other}.");
            assert_eq!(said(&sentence, &format!("{one}, {other}")), sentence);
        }
    }
}
