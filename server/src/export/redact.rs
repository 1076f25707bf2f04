//! Replaces names of clusters, namespaces, nodes and images consistently, in fields and sentences. Names of Deployments, pods and
//! containers stay unless they are also such names, as do other labels.

use std::collections::{BTreeMap, BTreeSet};

use app::payload::Export;
use serde_json::Value;
use timeline::fact::Image;
use timeline::model::Event;
use timeline::model::story::Happening;

use super::error::ExportError;
use super::rollout_data::RolloutData;

/// Most names that are replaced, and the longest one in bytes. A user who can edit a namespace can add any number of
/// names to a recording, and each word of 16 MB is looked up among them.
const MOST_NAMES: usize = 20_000;
const LONGEST_NAME: usize = 1_024;
/// Fewest bytes of a name that are replaced where a message was cut.
const CUT_NAME: usize = 3;

/// Replacements, in the order of the names.
#[derive(Debug, Default)]
pub struct Names(Vec<Replacement>);

#[derive(Debug)]
struct Replacement {
    name: String,
    other: String,
    /// Index of the longest other name with which the name begins.
    shorter: Option<usize>,
}

#[derive(Default)]
struct NameSets {
    clusters: BTreeSet<String>,
    namespaces: BTreeSet<String>,
    nodes: BTreeSet<String>,
    images: BTreeSet<String>,
}

impl NameSets {
    fn check(&self) -> Result<(), ExportError> {
        let all = [&self.clusters, &self.namespaces, &self.nodes, &self.images];
        match all.map(BTreeSet::len).iter().sum::<usize>() {
            0..=MOST_NAMES => Ok(()),
            _ => Err(ExportError::Redaction(format!("there are more than {MOST_NAMES}"))),
        }
    }

    fn names(self) -> Result<Names, ExportError> {
        self.check()?;
        let mut names = BTreeMap::new();
        for (kind, found) in [("cluster", self.clusters), ("namespace", self.namespaces), ("node", self.nodes)] {
            for (index, name) in found.into_iter().filter(|name| !name.is_empty()).enumerate() {
                names.entry(name).or_insert_with(|| format!("{kind}-{}", index + 1));
            }
        }
        images(&self.images, &mut names);
        let mut all: Vec<Replacement> = Vec::with_capacity(names.len());
        for (name, other) in names {
            if name.len() > LONGEST_NAME {
                return Err(ExportError::Redaction(format!("one has more than {LONGEST_NAME} bytes")));
            }
            let mut shorter = all.len().checked_sub(1);
            while let Some(known) = shorter.and_then(|index| all.get(index))
                && !name.starts_with(&known.name)
            {
                shorter = known.shorter;
            }
            all.push(Replacement { name, other, shorter });
        }
        Ok(Names(all))
    }
}

/// Names images: the same repository gets the same name, each of its tags and digests another one.
fn images(found: &BTreeSet<String>, names: &mut BTreeMap<String, String>) {
    let mut repositories: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for image in found.iter().filter(|image| !image.is_empty()) {
        repositories.entry(repository(image)).or_default().push(image);
    }
    for (index, (repository, images)) in repositories.into_iter().enumerate() {
        let name = format!("image-{}", index + 1);
        for (index, image) in images.into_iter().enumerate() {
            let other = format!("{name}:tag-{}", index + 1);
            // Sentences have only the end of a long one, and nothing of one that cannot be seen.
            let shown = timeline::words::images(&[Image { container: String::new(), image: image.to_owned() }]);
            if !shown.is_empty() {
                names.entry(shown).or_insert_with(|| other.clone());
            }
            names.entry(image.to_owned()).or_insert(other);
        }
        // A short repository may be the name of a Deployment as well.
        if repository.contains(['/', '.']) {
            names.entry(repository.to_owned()).or_insert(name);
        }
    }
}

/// Returns an image without tag and digest.
fn repository(image: &str) -> &str {
    let image = image.split_once('@').map_or(image, |(image, _)| image);
    match image.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => repository,
        _ => image,
    }
}

/// Returns whether a name continues with this letter: "web" is no name in "web-1". The kubelet joins the name of a pod and its namespace
/// with "_".
fn goes_on(letter: Option<char>) -> bool {
    letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '-')
}

impl Names {
    /// Collects the names in the data of a rollout and in its file.
    ///
    /// # Errors
    /// When the content of the file cannot be searched, or has too many names.
    pub fn collect(data: &RolloutData, export: &Export) -> Result<Self, ExportError> {
        let end = data.final_model();
        let mut found = NameSets::default();
        let text = ron::to_string(export).map_err(|error| ExportError::Redaction(error.to_string()))?;
        found.images.extend(quoted_images(&text.replace("\\\"", "\"")));
        found.clusters.insert(data.workload.cluster.clone());
        found.namespaces.insert(data.workload.namespace.clone());
        data.for_each_pod_state(|now| {
            let nodes = now.node.as_deref().into_iter().chain(now.nominated_node.as_deref());
            found.nodes.extend(nodes.map(str::to_owned));
            // A pod may have other images than its template: those of init containers, or of an admission controller.
            found.images.extend(now.containers.iter().map(|container| container.waits_for_image.clone()));
        });
        let of_rollouts =
            end.deployments.values().flat_map(|known| &known.rollouts).flat_map(|rollout| &rollout.images);
        let of_sets = end.replica_sets.values().flat_map(|set| &set.images);
        found.images.extend(of_rollouts.chain(of_sets).map(|image| image.image.clone()));
        // A template that waits, or waited for nothing, has neither.
        data.for_each_deployment_state(|now| {
            found.images.extend(now.spec.images.iter().map(|image| image.image.clone()));
        });
        for entry in end.deployments.values().flat_map(|known| &known.story) {
            if let Happening::ChangeReplaced { images, by, .. } = &entry.what {
                let joined = images.split(", ").chain(by.split(", "));
                found.images.extend(joined.filter(is_image).map(str::to_owned));
            }
        }
        found.names()
    }

    /// Collects the names in the lines of a recording.
    ///
    /// # Errors
    /// When there are too many.
    pub fn of_lines(text: &str) -> Result<Self, ExportError> {
        let mut found = NameSets::default();
        for line in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            collect_names(&line, &mut found);
            found.check()?;
        }
        found.names()
    }

    /// Returns the replacement of the longest name with which a text begins, and the text behind that.
    fn longest<'a>(&self, text: &'a str, is_cut: bool) -> Option<(&str, &'a str)> {
        let behind = self.0.partition_point(|known| known.name.as_str() <= text);
        // Messages are cut before names are replaced. Any of several names with this beginning replaces it.
        let is_begun = |known: &&Replacement| is_cut && text.len() >= CUT_NAME && known.name.starts_with(text);
        if let Some(known) = self.0.get(behind).filter(is_begun) {
            return Some((known.other.as_str(), ""));
        }
        // The last name that is not behind the text begins with all the names with which the text begins.
        let last = self.0.get(behind.checked_sub(1)?)?;
        let both = last.name.bytes().zip(text.bytes());
        let shared = both.take_while(|(one, other)| one == other).count();
        let cut = text.get(shared..).filter(|after| shared >= CUT_NAME && after.starts_with('…'));
        if let Some(after) = cut {
            return Some((last.other.as_str(), after));
        }
        let all = std::iter::successors(Some(last), |known| self.0.get(known.shorter?));
        all.filter(|known| known.name.len() <= shared).find_map(|known| {
            let after = text.get(known.name.len()..)?;
            (!goes_on(after.chars().next())).then_some((known.other.as_str(), after))
        })
    }

    /// Replaces these names in a text.
    pub fn redact_text(&self, text: &str) -> String {
        let mut told = String::with_capacity(text.len());
        let (mut rest, mut before) = (text, None);
        // Texts of objects are cut without a mark.
        let is_cut = text.len() > Event::LONGEST - char::MAX.len_utf8();
        while let Some(letter) = rest.chars().next() {
            let found = if goes_on(before) { None } else { self.longest(rest, is_cut) };
            if let Some((other, after)) = found {
                told.push_str(other);
                (before, rest) = (other.chars().last(), after);
            } else {
                told.push(letter);
                (before, rest) = (Some(letter), rest.get(letter.len_utf8()..).unwrap_or_default());
            }
        }
        told
    }

    /// Replaces these names in the content of a file.
    ///
    /// # Errors
    /// When the result cannot be parsed.
    pub fn redact(&self, export: &Export) -> Result<Export, ExportError> {
        self.redact_export(export).map_err(|error| ExportError::Redaction(error.to_string()))
    }

    fn redact_export(&self, export: &Export) -> Result<Export, ron::Error> {
        // RON distinguishes texts, which are quoted, from the names of variants, which are not.
        let text = ron::to_string(export)?;
        let mut is_escaped = false;
        let pieces = text.split(|letter: char| {
            let is_quote = letter == '"' && !is_escaped;
            is_escaped = letter == '\\' && !is_escaped;
            is_quote
        });
        let (mut told, mut is_quoted) = (String::with_capacity(text.len()), false);
        for piece in pieces {
            if is_quoted {
                // Names may have letters that are escaped here.
                let words: String = ron::from_str(&format!("\"{piece}\""))?;
                told.push_str(&ron::to_string(&self.redact_text(&words))?);
            } else {
                told.push_str(piece);
            }
            is_quoted = !is_quoted;
        }
        Ok(ron::from_str(&told)?)
    }

    /// Replaces these names in a recording. Hashes of templates, from which secrets could be guessed, become numbers
    /// that show only which are equal.
    pub fn redact_lines(&self, text: &str) -> String {
        let mut hashes = BTreeMap::new();
        let redacted = text.lines().map(|line| match serde_json::from_str::<Value>(line) {
            Ok(mut value) => {
                self.clean(&mut value, &mut hashes);
                format!("{value}\n")
            }
            Err(_) => String::new(), // a line that cannot be parsed cannot be redacted
        });
        redacted.collect()
    }

    fn clean(&self, value: &mut Value, hashes: &mut BTreeMap<u64, usize>) {
        match value {
            Value::String(text) => *text = self.redact_text(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.clean(value, hashes)),
            Value::Object(fields) => {
                for (field, value) in fields {
                    match (field.as_str(), value.as_u64()) {
                        ("hash" | "hashApart", Some(hash)) => {
                            let next = hashes.len() + 1;
                            *value = (*hashes.entry(hash).or_insert(next)).into();
                        }
                        _ => self.clean(value, hashes),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Returns the images that messages of the kubelet name: those of containers that were added to a pod are in no
/// template.
fn quoted_images(text: &str) -> impl Iterator<Item = String> {
    let quoted = text.split("image \"").skip(1).filter_map(|rest| rest.split('"').next());
    quoted.filter(is_image).map(str::to_owned)
}

/// Returns whether a word of a sentence can be an image: "3 more" is none.
fn is_image(name: &&str) -> bool {
    !name.is_empty() && !name.contains(char::is_whitespace)
}

/// Looks for names in what was recorded, by the fields in which Kubernetes has them.
fn collect_names(value: &Value, found: &mut NameSets) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect_names(value, found)),
        Value::Object(fields) => {
            for (field, value) in fields {
                match (field.as_str(), value) {
                    ("namespace", Value::String(name)) => drop(found.namespaces.insert(name.clone())),
                    ("nodeName" | "nominatedNodeName", Value::String(name)) => drop(found.nodes.insert(name.clone())),
                    ("image", Value::String(name)) => drop(found.images.insert(name.clone())),
                    (_, value) => collect_names(value, found),
                }
            }
        }
        Value::String(text) => found.images.extend(quoted_images(text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let mut found = NameSets::default();
        found.clusters.insert("prod-eu".into());
        found.namespaces.extend(["shop".to_owned(), "web".to_owned()]);
        found.nodes.insert("ip-10-0-0-1.ec2.internal".into());
        found.images.extend(["web:v1", "web:v2", "registry.shop.example:5000/team/api@sha256:ab"].map(str::to_owned));
        found.names().unwrap()
    }

    #[test]
    fn the_longest_name_that_ends_there_is_replaced_however_many_begin_alike() {
        let nested = (1..=500).map(|count| "a.".repeat(count)).chain(["a", "a.a", "a.a.b", "b"].map(str::to_owned));
        let names = NameSets { namespaces: nested.collect(), ..NameSets::default() }.names().unwrap();
        let number = |name: &str| names.0.iter().position(|known| known.name == name).unwrap() + 1;
        let said = |name: &str| format!("namespace-{}", number(name));
        assert_eq!(names.redact_text("a.a.b"), said("a.a.b"));
        assert_eq!(names.redact_text("a.a.bc"), format!("{}.bc", said("a.a")));
        assert_eq!(names.redact_text("a.a.a.b"), format!("{}.{}.{}", said("a.a"), said("a"), said("b")));
        let all = "a.".repeat(500);
        assert_eq!(names.redact_text(&all), said(&all));
        // With one more, no shorter name ends before another name, except for the second.
        assert_eq!(names.redact_text(&format!("{all}a.")), format!("{}.{}", said("a.a"), said(&"a.".repeat(499))));
        assert_eq!(names.redact_text("a. ab b"), format!("{} ab {}", said("a."), said("b")));
    }

    #[test]
    fn too_many_names_and_what_is_no_name_are_not_looked_for() {
        let lines = |count: usize| {
            let line = |number| format!("{{\"message\":\"image \\\"web:{number}\\\"\"}}\n");
            (0..count).map(line).collect::<String>()
        };
        assert!(Names::of_lines(&lines(MOST_NAMES)).is_ok());
        let why = |text: &str| Names::of_lines(text).unwrap_err().to_string();
        assert_eq!(why(&lines(MOST_NAMES + 1)), "cannot redact the names: there are more than 20000");
        let image = |length: usize| format!("{{\"image\":\"{}\"}}\n", "x".repeat(length));
        assert!(Names::of_lines(&image(LONGEST_NAME)).is_ok());
        assert_eq!(why(&image(LONGEST_NAME + 1)), "cannot redact the names: one has more than 1024 bytes");
    }

    #[test]
    fn names_are_replaced_wherever_they_stand_and_nothing_else_is() {
        let names = names();
        for (text, told) in [
            ("Revision 2 of shop/api on prod-eu", "Revision 2 of namespace-1/api on cluster-1"),
            ("kubectl --namespace shop rollout undo", "kubectl --namespace namespace-1 rollout undo"),
            ("image web:v2 is not found, web:v1 was", "image image-2:tag-2 is not found, image-2:tag-1 was"),
            ("docker.io/library/web:v2", "docker.io/library/image-2:tag-2"),
            ("web-1 of web", "web-1 of namespace-2"),
            ("workshop, shops and shop.", "workshop, shops and namespace-1."),
            ("registry.shop.example:5000/team/api@sha256:ab", "image-1:tag-1"),
            ("pull registry.shop.example:5000/team/api: denied", "pull image-1: denied"),
            ("on ip-10-0-0-1.ec2.internal", "on node-1"),
            ("", ""),
            ("täglich shop", "täglich namespace-1"),
            ("container=app pod=web-5d7_shop(4912)", "container=app pod=web-5d7_namespace-1(4912)"),
        ] {
            assert_eq!(names.redact_text(text), told);
        }
    }

    #[test]
    fn names_that_were_cut_are_replaced_too() {
        let names = names();
        for (text, told) in [
            ("failed to resolve reference \"registry.shop.exam…", "failed to resolve reference \"image-1:tag-1…"),
            ("pod=web-5d7_sho…", "pod=web-5d7_namespace-1…"),
            ("on ip-10-0-0-1.ec2.internal…", "on node-1…"),
            ("one of the sh… and …", "one of the sh… and …"),
            ("shod…", "shod…"),
        ] {
            assert_eq!(names.redact_text(text), told);
        }
        let cut = format!("{}on ip-10-0", " ".repeat(Event::LONGEST - 10));
        assert!(names.redact_text(&cut).ends_with(" on node-1"));
        assert!(names.redact_text("on ip-10-0").ends_with("on ip-10-0"));
        let long = format!("registry.shop.example/{}/web:v2", "team".repeat(60));
        let images = [long.clone(), "\u{200b}".to_owned()].into();
        let names = NameSets { images, ..NameSets::default() }.names().unwrap();
        let long_image = Image { container: "web".to_owned(), image: long.clone() };
        let waits = format!("image {}.", timeline::words::images(&[long_image]));
        assert!(waits.starts_with("image …"), "{waits}");
        assert_eq!(names.redact_text(&waits), "image image-1:tag-1.");
        assert_eq!(names.redact_text(&timeline::words::safe(&long)), "image-1:tag-1…");
    }

    #[test]
    fn images_are_told_from_their_tags() {
        for (image, told) in [
            ("web", "web"),
            ("web:v1", "web"),
            ("host:5000/web", "host:5000/web"),
            ("host:5000/web:v1@sha256:ab", "host:5000/web"),
        ] {
            assert_eq!(repository(image), told);
        }
    }

    #[test]
    fn hashes_of_templates_tell_only_which_are_equal() {
        let lines = "{\"hash\":98765,\"hashApart\":43}\n{\"hash\":98765}\n";
        assert_eq!(names().redact_lines(lines), "{\"hash\":1,\"hashApart\":2}\n{\"hash\":1}\n");
    }
}
