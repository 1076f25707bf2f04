//! What links mean: a table of links, with the status, where they lead, and what the page says.

use crate::pages::site::{fetch, held, site};

const NGINX: &str = "/clusters/rollout/namespaces/rollout/deployments/nginx";
const NGINX_UID: &str = "7cd3119a-2fe8-4fbf-a64f-5021f6e8cd0f";
/// It was deleted and made again.
const WEB: &str = "/clusters/deleted-and-recreated/namespaces/deleted-and-recreated/deployments/web";
const OLD: &str = "65d0e912-2a02-4522-9449-a1ff469b38cc";
const NEW: &str = "29df7efb-14df-49e4-afb4-a98783efb324";
const NOBODY: &str = "00000000-0000-4000-8000-000000000001";
/// While revision 2 of nginx was rolled out.
const MIDWAY: &str = "1795236793000";

/// A link; its answer; a text of the page, or the end of the address that it leads to.
type Case<'c> = (&'c str, &'c str, u16, &'c str);

const CASES: [Case<'_>; 53] = [
    // The Deployment that has the name now.
    (NGINX, "", 200, "Revision 3 is complete"),
    (NGINX, "?", 200, "Revision 3 is complete"),
    (NGINX, "?theme=dark&unknown=1", 200, "Revision 3 is complete"),
    (NGINX, "?at=", 200, "Revision 3 is complete"),
    // By UID.
    (NGINX, "?uid={NGINX}", 200, "Revision 3 is complete"),
    (NGINX, "?uid={NOBODY}", 404, "knows no Deployment nginx"),
    (NGINX, "?uid={NEW}", 404, "href=\"/clusters/rollout/namespaces/rollout/deployments/nginx\""),
    (NGINX, "?uid=7", 400, "expected the UID of a Deployment"),
    (NGINX, "?uid=%00", 400, "expected the UID of a Deployment"),
    // Revisions: the current one is live, others lead to their last moment.
    (NGINX, "?revision=3", 200, "Revision 3 is complete"),
    (NGINX, "?uid={NGINX}&revision=3", 200, "Revision 3 is complete"),
    (NGINX, "?revision=2", 307, "nginx?uid={NGINX}&revision=2&at=1795236799775"),
    (NGINX, "?uid={NGINX}&revision=1", 307, "nginx?uid={NGINX}&revision=1&at=1795236790374"),
    (NGINX, "?revision=7&revision=2", 307, "nginx?uid={NGINX}&revision=2&at=1795236799775"),
    (
        NGINX,
        "?revision=2&theme=dark&zone=Europe/Berlin&play=yes&sort=name",
        307,
        "nginx?uid={NGINX}&revision=2&at=1795236799775&play=yes&theme=dark&zone=Europe%2FBerlin",
    ),
    (NGINX, "?revision=7", 404, "saw no rollout of revision 7"),
    (NGINX, "?revision=7", 404, "nginx?uid={NGINX}&amp;revision=3\">Revision 3</a>"),
    (NGINX, "?revision=18446744073709551615", 404, "saw no rollout of revision"),
    (NGINX, "?revision=0", 400, "expected the number of a revision, 1 or more"),
    (NGINX, "?revision=-1", 400, "expected the number of a revision"),
    (NGINX, "?revision=two", 400, "revision=two is invalid"),
    (NGINX, "?revision=%3Cscript%3E", 400, "revision=&lt;script&gt; is invalid"),
    // Moments.
    (NGINX, "?at={MIDWAY}", 200, "Revision 2 was replacing revision 1"),
    (NGINX, "?at=2026-11-21T04:53:13Z", 200, "Revision 2 was replacing revision 1"),
    (NGINX, "?at=2026-11-21T05:53:13%2B01:00", 200, "Revision 2 was replacing revision 1"),
    (NGINX, "?uid={NGINX}&at={MIDWAY}", 200, "Revision 2 was replacing revision 1"),
    (
        NGINX,
        "?revision=2&at={MIDWAY}",
        200,
        "You are looking at revision 2, as it was at 2026-11-21 04:53:13 UTC. Revision 3 is current now.",
    ),
    (NGINX, "?revision=1&at={MIDWAY}", 200, "This link is to revision 1. Revision 3 is current now."),
    (NGINX, "?at=1000", 404, "The history of nginx begins at 2026-11-21 04:53:07 UTC"),
    (NGINX, "?at=1000", 404, "nginx?at=1795236787490\">The first moment of its history</a>"),
    (NGINX, "?at=-5", 404, "The history of nginx begins at"),
    (NGINX, "?at=9000000000000", 404, "That moment is in the future"),
    (NGINX, "?at=yesterday", 400, "expected a time such as"),
    (NGINX, "?at=99999999999999999999", 400, "expected a time such as"),
    // The same name again.
    (WEB, "", 200, "Another one of the same name was there before"),
    (WEB, "?uid={NEW}", 200, "Another one of the same name was there before"),
    (WEB, "?uid={OLD}", 200, "You are looking at an earlier Deployment of this name."),
    (WEB, "?uid={OLD}", 200, "Look at the one that has the name now"),
    (WEB, "?uid={OLD}&revision=1", 200, "This Deployment was deleted"),
    (WEB, "?uid={OLD}&revision=2", 404, "web?uid={OLD}\">web as it is now</a>"),
    (WEB, "?uid={OLD}&at=1795236874050", 200, "Revision 1"),
    // Places.
    (
        "/clusters/rollout/namespaces/rollout/deployments/other",
        "",
        404,
        "Deployment other in namespace rollout is not known yet",
    ),
    (
        "/clusters/rollout/namespaces/other/deployments/nginx",
        "?revision=2",
        404,
        "Deployment nginx in namespace other is not known yet",
    ),
    (
        "/clusters/nowhere/namespaces/rollout/deployments/nginx",
        "",
        404,
        "href=\"/clusters/rollout/namespaces/rollout/deployments/nginx\"",
    ),
    ("/clusters/nowhere", "", 404, "Rollcast does not watch a cluster named"),
    // Details follow the same rules.
    (NGINX, "/rollouts", 200, "Rollouts of nginx"),
    (NGINX, "/share?at={MIDWAY}", 200, "?uid={NGINX}&amp;revision=2"),
    (NGINX, "/rollouts?uid={NOBODY}", 404, "has not seen a Deployment nginx"),
    (NGINX, "/revisions/9", 404, "has no revision"),
    // By UID alone.
    ("/deployments/{NGINX}", "", 307, "/deployments/nginx?uid={NGINX}"),
    ("/deployments/{OLD}", "?at=1795236874100", 307, "/deployments/web?uid={OLD}&at=1795236874100"),
    ("/deployments/{NOBODY}", "", 404, "has not seen a Deployment with that UID"),
    ("/deployments/nginx", "", 400, "nginx is not a valid UID"),
];

#[tokio::test]
async fn links_mean_what_they_say() {
    let (rollcast, _) = site().await;
    let uids = |text: &str| {
        let uids = [("{NGINX}", NGINX_UID), ("{OLD}", OLD), ("{NEW}", NEW), ("{NOBODY}", NOBODY), ("{MIDWAY}", MIDWAY)];
        uids.iter().fold(text.to_owned(), |text, (name, uid)| text.replace(name, uid))
    };
    let mut wrong = Vec::new();
    for (page, rest, status, says) in CASES {
        let (link, says) = (uids(&format!("{page}{rest}")), uids(says));
        let answer = fetch(&rollcast, &link).await;
        let is_said = if status == 307 { answer.location.ends_with(&says) } else { answer.text.contains(&says) };
        if answer.status.as_u16() != status || !is_said {
            wrong.push(format!("{link}: {} {}, wanted {status} {says:?}", answer.status, answer.location));
        }
        if status >= 400 {
            assert!(answer.text.contains("href=\"/"), "{link}: no way out");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn what_a_link_leads_to_is_there() {
    let (rollcast, _) = site().await;
    for revision in 1..=2 {
        let first = fetch(&rollcast, &format!("{NGINX}?revision={revision}")).await;
        let then = fetch(&rollcast, &first.location).await;
        assert_eq!(then.status.as_u16(), 200);
        let says = format!("You are looking at revision {revision}, as it was at");
        assert!(then.text.contains(&says), "{}", first.location);
        // Titles and previews say it too.
        assert!(then.text.contains(&format!("content=\"Revision {revision}")), "{}", first.location);
    }
    let rollouts = fetch(&rollcast, &format!("{NGINX}/rollouts")).await.text;
    let links: Vec<&str> = rollouts.split("<a href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let links: Vec<String> =
        links.iter().filter(|l| l.contains("revision=")).map(|l| l.replace("&amp;", "&")).collect();
    assert_eq!(links.len(), 4, "each rollout, and the last one beside those before it");
    for link in links {
        assert_eq!(fetch(&rollcast, &link).await.status.as_u16(), 200, "{link}");
    }
}

#[tokio::test]
async fn a_preview_has_a_picture_of_the_deployment_that_the_link_names_and_none_of_a_moment() {
    let (rollcast, _) = site().await;
    for (link, picture) in [
        (WEB.to_owned(), Some(format!("{WEB}/preview.png"))),
        (format!("{WEB}?uid={OLD}"), Some(format!("{WEB}/preview.png?uid={OLD}"))),
        (format!("{NGINX}?at={MIDWAY}"), None),
    ] {
        let page = fetch(&rollcast, &link).await.text;
        let image = page.split("<meta").find(|tag| tag.contains("og:image"));
        let Some(picture) = picture else {
            assert_eq!(image, None, "{link}");
            continue;
        };
        assert!(image.is_some_and(|tag| tag.contains(&format!("{picture}\""))), "{link}: {image:?}");
        assert_eq!(fetch(&rollcast, &picture).await.status.as_u16(), 200, "{picture}");
    }
}

/// After a restart only what is there is known: of earlier revisions their ReplicaSets, and no moments.
#[tokio::test]
async fn a_revision_from_before_leads_to_what_is_known_of_it() {
    let text = crate::common::recording("rollout");
    let mut last: std::collections::BTreeMap<String, serde_json::Value> = Default::default();
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let Some(uid) = line["object"]["metadata"]["uid"].as_str().filter(|_| line["kind"] != "Event") else {
            continue;
        };
        last.insert(uid.to_owned(), line.clone());
    }
    let there = last.into_values().filter(|line| line["type"] != "DELETED").map(|mut line| {
        line["observedAtMillis"] = 1_795_240_000_000_i64.into();
        line.to_string()
    });
    let rollcast = held("rollout", &there.collect::<Vec<_>>().join("\n")).await;
    let answer = fetch(&rollcast, &format!("{NGINX}?revision=2")).await;
    assert_eq!(answer.status.as_u16(), 404);
    let link = format!("{NGINX}/revisions/2?uid={NGINX_UID}");
    assert!(answer.text.contains(&format!("{link}\">Details of revision 2</a>")), "{}", answer.text);
    assert_eq!(fetch(&rollcast, &link).await.status.as_u16(), 200);
    assert_eq!(fetch(&rollcast, &format!("{NGINX}?revision=3")).await.status.as_u16(), 200);
}

#[tokio::test]
async fn a_code_leads_to_this_server_only() {
    let (rollcast, _) = site().await;
    let code = fetch(&rollcast, "/qr.svg?path=%2Fwall%3Fcluster%3Da").await;
    assert!(code.status.is_success() && code.text.contains("<svg"));
    let long = format!("/qr.svg?path=/{}", "a".repeat(800));
    for wrong in
        ["/qr.svg", "/qr.svg?path=https://example.com", "/qr.svg?path=//example.com", "/qr.svg?path=/%0A", &long]
    {
        assert_eq!(fetch(&rollcast, wrong).await.status.as_u16(), 400, "{wrong}");
    }
}
