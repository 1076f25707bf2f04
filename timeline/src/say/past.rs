//! A verdict of a moment that is past, in the past tense.

/// The verbs of verdicts and of their causes.
const VERBS: [(&str, &str); 25] = [
    ("is", "was"),
    ("are", "were"),
    ("has", "had"),
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
    ("end", "ended"),
    ("ends", "ended"),
    ("starts", "started"),
    ("ago", "before"),
    ("exists", "existed"),
    ("exist", "existed"),
];

/// The word after one of these is a name, whatever it is. None follows where "a", "an" or "readiness" comes before.
const NAMED: [&str; 8] = ["container", "sidecar", "image", "gate", "quota", "pod", "webhook", "policy"];

/// A sentence of [`super::verdict`] as it is said later: "Revision 3 was complete: 8 of 8 available."
pub fn past(sentence: &str) -> String {
    let (mut before, mut is_name) = ("", false);
    let mut said = Vec::new();
    for word in sentence.split(' ') {
        let bare = word.trim_end_matches(['.', ':', ',', ';']);
        let ending = word.get(bare.len()..).unwrap_or_default();
        let verb = VERBS.iter().find(|(present, _)| *present == bare && !is_name && before != "not");
        said.push(verb.map_or_else(|| word.to_owned(), |(_, past)| format!("{past}{ending}")));
        is_name = !is_name && NAMED.contains(&word) && !matches!(before, "a" | "an" | "readiness");
        before = word;
    }
    said.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_said_later_in_the_past_tense() {
        for (now, later) in [
            ("Revision 60 is complete: 8 of 8 available.", "Revision 60 was complete: 8 of 8 available."),
            (
                "Revision 3 is replacing revision 2: 0 of 2 new pods available.",
                "Revision 3 was replacing revision 2: 0 of 2 new pods available.",
            ),
            (
                "Revision 2 cannot start: image web:missing is not found.",
                "Revision 2 could not start: image web:missing was not found.",
            ),
            (
                "Revision 2 is failing: container web crashes with exit code 1.",
                "Revision 2 was failing: container web crashed with exit code 1.",
            ),
            (
                "Revision 2 is failing: container web is killed because its liveness probe fails.",
                "Revision 2 was failing: container web was killed because its liveness probe failed.",
            ),
            (
                "Revision 2 cannot create pods: webhook policy denies new pods.",
                "Revision 2 could not create pods: webhook policy denied new pods.",
            ),
            (
                "Revision 2 is failing: container pod does not start (ReasonOfTomorrow).",
                "Revision 2 was failing: container pod did not start (ReasonOfTomorrow).",
            ),
            (
                "Revision 2 cannot start: an image cannot be pulled.",
                "Revision 2 could not start: an image could not be pulled.",
            ),
            (
                "Revision 2 is blocked: a readiness gate stays closed.",
                "Revision 2 was blocked: a readiness gate stayed closed.",
            ),
            (
                "Revision 2 cannot create pods: Pod Security \"restricted\" forbids new pods.",
                "Revision 2 could not create pods: Pod Security \"restricted\" forbade new pods.",
            ),
            (
                "Revisions 1 and 2 are being taken down before revision 3 starts.",
                "Revisions 1 and 2 were being taken down before revision 3 started.",
            ),
            (
                "Revision 1 has 2 of 3 available: pods do not become ready.",
                "Revision 1 had 2 of 3 available: pods did not become ready.",
            ),
            (
                "The Deployment controller has not reacted for 12 s.",
                "The Deployment controller had not reacted for 12 s.",
            ),
            ("This Deployment was deleted 3 s ago.", "This Deployment was deleted 3 s before."),
            (
                "Revision 2 cannot start: path \"/mnt/x\" does not exist.",
                "Revision 2 could not start: path \"/mnt/x\" did not exist.",
            ),
            ("Paused: 1 of 3 pods of revision 2 available.", "Paused: 1 of 3 pods of revision 2 available."),
            (
                "Revision 2 makes no progress: 0 of 3 new pods available.",
                "Revision 2 made no progress: 0 of 3 new pods available.",
            ),
            (
                "Revision 1 has 2 of 3 available: the ReplicaSet controller creates no pods.",
                "Revision 1 had 2 of 3 available: the ReplicaSet controller created no pods.",
            ),
            (
                "Last seen at 14:02:05 UTC: Revision 2 is scaled to zero.",
                "Last seen at 14:02:05 UTC: Revision 2 was scaled to zero.",
            ),
        ] {
            assert_eq!(past(now), later);
        }
    }

    #[test]
    fn a_name_stays_as_it_is() {
        assert_eq!(past("container is crashes"), "container is crashed");
        assert_eq!(past("image live is not found"), "image live was not found");
        assert_eq!(past(""), "");
    }
}
