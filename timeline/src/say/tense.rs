//! A verdict of a moment that is past, in the past tense.

/// The verbs of verdicts and of their causes.
const VERBS: [(&str, &str); 30] = [
    ("is", "was"),
    ("are", "were"),
    ("has", "had"),
    ("have", "had"),
    ("cannot", "could not"),
    ("can", "could"),
    ("does", "did"),
    ("do", "did"),
    ("crashes", "crashed"),
    ("runs", "ran"),
    ("refuses", "refused"),
    ("denies", "denied"),
    ("forbids", "forbade"),
    ("fits", "fitted"),
    ("looks", "looked"),
    ("fail", "failed"),
    ("fails", "failed"),
    ("creates", "created"),
    ("makes", "made"),
    ("stays", "stayed"),
    ("wait", "waited"),
    ("waits", "waited"),
    ("lose", "lost"),
    ("says", "said"),
    ("end", "ended"),
    ("ends", "ended"),
    ("starts", "started"),
    ("ago", "before"),
    ("exists", "existed"),
    ("exist", "existed"),
];

/// The word after one of these is a name, whatever it is.
const NAMED: [&str; 8] = ["container", "sidecar", "image", "gate", "quota", "pod", "webhook", "policy"];

/// No name follows where one of these comes before: "1 new pod is".
const COUNTED: [&str; 9] = ["a", "an", "the", "no", "No", "1", "new", "old", "readiness"];

/// A sentence of [`super::verdict`] as it is said later: "Revision 3 was complete: 8 of 8 available."
pub fn past(sentence: &str) -> String {
    let (mut before, mut is_name) = ("", false);
    let mut said = Vec::new();
    for word in sentence.split(' ') {
        let bare = word.trim_end_matches(['.', ':', ',', ';']);
        let ending = word.get(bare.len()..).unwrap_or_default();
        let verb = VERBS.iter().find(|(present, _)| *present == bare && !is_name && before != "not");
        said.push(verb.map_or_else(|| word.to_owned(), |(_, past)| format!("{past}{ending}")));
        is_name = !is_name && NAMED.contains(&word) && !COUNTED.contains(&before);
        before = word;
    }
    said.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_said_later_in_the_past_tense() {
        // In braces: a word of now, and of later.
        for both in [
            "Revision 60 {is|was} complete: 8 of 8 available.",
            "Revision 3 {is|was} replacing revision 2: 0 of 2 new pods available.",
            "Revision 3 {is|was} replacing revision 2: no pod {is|was} available.",
            "Revision 2 {cannot|could not} start: image web:missing {is|was} not found.",
            "Revision 2 {is|was} failing: container web {crashes|crashed} with exit code 1.",
            "Revision 2 {is|was} failing: container web {is|was} killed because its liveness probe {fails|failed}.",
            "Revision 2 {cannot|could not} create pods: webhook policy {denies|denied} new pods.",
            "Revision 2 {is|was} failing: container pod {does|did} not start (ReasonOfTomorrow).",
            "Revision 2 {cannot|could not} start: an image {cannot|could not} be pulled.",
            "Revision 2 {is|was} blocked: a readiness gate {stays|stayed} closed.",
            "Revision 2 {cannot|could not} create pods: Pod Security \"restricted\" {forbids|forbade} new pods.",
            "Revisions 1 and 2 {are|were} being taken down before revision 3 {starts|started}.",
            "Revision 1 {has|had} 2 of 3 available: pods {do|did} not become ready.",
            "The Deployment controller {has|had} not reacted for 12 s.",
            "This Deployment was deleted 3 s {ago|before}.",
            "Revision 2 {cannot|could not} start: path \"/mnt/x\" {does|did} not exist.",
            "Paused: 4 pods available (3 desired), 1 of revision 2.",
            "Revision 2 {makes|made} no progress: 0 of 3 new pods available.",
            "Revision 2 {is|was} blocked: no pod {can|could} be added or removed.",
            "Revision 1 {has|had} 2 of 3 available: the ReplicaSet controller {creates|created} no pods.",
            "Last seen at 14:02:05 UTC: Revision 2 {is|was} scaled to zero.",
            "Revision 2 {is|was} scaled to zero; 3 pods {are|were} still there.",
            "Paused: no pod {is|was} available. 1 pod {is|was} running but not ready any more (container web) for 12 s.",
            "Node a {has|had} not been ready for 12 s: 3 old pods and 1 new pod on it {do|did} not count.",
            "1 new pod {has|had} had no node for 12 s, and no scheduler {has|had} said why (pod x).",
            "Init container a {is|was} running (0 of 1 done, pod x); the pod {has|had} been starting for 12 s.",
            "2 new pods {have|had} been starting for 12 s; no container {is|was} reported running yet (one {is|was} x).",
            "Revision 1 {has|had} problems of its own: pods {lose|lost} readiness repeatedly.",
            "Pod x {waits|waited} for its volumes. No pod {is|was} left.",
        ] {
            let said = |tense| both.split(['{', '}']).map(|part| part.split('|').nth(tense).unwrap_or(part)).collect();
            let [now, later]: [String; 2] = [0, 1].map(said);
            assert_eq!(past(&now), later);
        }
    }

    #[test]
    fn a_name_stays_as_it_is() {
        assert_eq!(past("container is crashes"), "container is crashed");
        assert_eq!(past("image live is not found"), "image live was not found");
        assert_eq!(past(""), "");
    }
}
