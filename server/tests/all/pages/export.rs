//! Rollouts in files of their own: what they hold is what pages show, nothing else is in them, and nothing is loaded.

use std::collections::BTreeMap;

use app::detail::Detail;
use app::payload::Export;
use axum::http::{Request, StatusCode};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use server::access::clients::ClientKey;
use server::export::redact::Names;
use server::export::{ExportError, ExportRequest, html};
use server::feed::recording::Recording;
use server::history::rollout_cache;
use server::hub::Handle;
use server::web::state::Site;
use simcluster::action::Action;
use timeline::address;
use timeline::{Millis, Uid, Workload, wire};

use crate::common;
use crate::common::simulated::Recorder;
use crate::common::until::until;
use crate::pages::kept::kept;
use crate::pages::site::{fetch, held, send, site_of};

/// The goal for a rollout of 50 pods, in bytes.
const SMALL: usize = 1_100_000;

fn played(name: &str, text: &str) -> Handle {
    let recording = Recording::read(text);
    let (_, end_millis) = recording.span().unwrap();
    Handle::start_frozen(name, name, rollout_cache::play_to_end(recording.observed, end_millis).unwrap())
}

/// The Deployments of a hub with the revisions of their rollouts.
async fn rollouts(hub: &Handle) -> Vec<(Workload, Vec<u64>)> {
    let name = hub.name().to_owned();
    let all = hub.read(move |reader| {
        let known = reader.timeline.model().deployments.values();
        let of = known.map(|known| {
            let workload = Workload::deployment(&name, &known.namespace, &known.name).with_uid(Some(known.uid));
            (workload, known.rollouts.iter().map(|rollout| rollout.revision).collect())
        });
        of.collect()
    });
    all.await.unwrap()
}

/// What a file carries along, unpacked as its own script does it.
fn carried(html: &str, id: &str) -> Vec<u8> {
    let begin = format!("<script id=\"{id}\" type=\"application/octet-stream\">");
    let packed = html.split_once(&begin).unwrap().1.split_once("</script>").unwrap().0;
    zstd::stream::decode_all(STANDARD.decode(packed).unwrap().as_slice()).unwrap()
}

/// What the file of a rollout holds.
pub fn content(html: &str) -> Export {
    wire::decode(&carried(html, "content")).unwrap()
}

async fn made(hub: &Handle, workload: &Workload, revision: Option<u64>, is_redacted: bool) -> String {
    html(hub, ExportRequest { workload: workload.clone(), revision, is_redacted }).await.unwrap().html
}

#[tokio::test]
async fn a_file_tells_and_shows_of_every_moment_what_the_page_does() {
    let (mut files, mut moments, mut details) = (0, 0, 0);
    for (name, text) in common::recordings() {
        let hub = played(&name, &text);
        for (workload, revisions) in rollouts(&hub).await {
            for revision in revisions {
                let file = content(&made(&hub, &workload, Some(revision), false).await);
                files += 1;
                let snapshot = &file.deployment.snapshot;
                let to_millis = snapshot.now_millis;
                assert!(
                    file.record.from_millis < to_millis && file.record.told.is_sorted_by_key(|(at, _)| *at),
                    "{name} {revision}"
                );
                assert_eq!(
                    file.record.told.first().unwrap().0,
                    file.record.from_millis,
                    "it is known from its first moment on"
                );
                let of = |at: Millis| hub.moment(&workload, at);
                for (at_millis, _) in file.record.told.iter().step_by(3).chain(file.record.told.last()) {
                    let then = of(*at_millis).await.unwrap();
                    let told = file.record.moment(*at_millis);
                    assert_eq!(told.said, then.said, "{name} {revision} at {at_millis}");
                    // Pods of other rollouts are not in the file.
                    let is_shown = |uid| snapshot.objects.pods.iter().any(|pod| pod.uid == uid);
                    let shown = then.reasons.into_iter().filter(|(uid, _)| is_shown(*uid));
                    let shown: BTreeMap<Uid, String> = shown.collect();
                    assert_eq!(BTreeMap::from_iter(told.reasons), shown, "{name} {revision} at {at_millis}");
                    moments += 1;
                }
                assert_eq!(Some(&snapshot.said), of(to_millis).await.unwrap().said.as_ref(), "{name} {revision}");
                assert_eq!(file.record.moment(file.record.from_millis - 1).said, None, "what was before is not known");
                let states = states(&hub, workload.uid.unwrap()).await;
                for pod in &snapshot.objects.pods {
                    let known = &states.iter().find(|(uid, _)| *uid == pod.uid).unwrap().1;
                    let then: Vec<_> = known.iter().filter(|(_, at)| *at <= to_millis).copied().collect();
                    assert_eq!(pod.states, then, "{name} {revision} {}", pod.name);
                    let Some(Detail::Pod(told)) = file.record.detail(&address::pod(pod.uid), None) else {
                        panic!("{}", pod.name)
                    };
                    let now = then.last().unwrap();
                    assert_eq!((told.state, told.since_millis, told.now_millis), (now.0, now.1, to_millis));
                    // Of an earlier moment it tells what was so then.
                    let Some(Detail::Pod(first)) = file.record.detail(&address::pod(pod.uid), Some(then[0].1)) else {
                        continue;
                    };
                    assert!(first.now_millis == then[0].1 && first.since_millis <= then[0].1, "{}", pod.name);
                    details += 1;
                }
                assert!(matches!(file.record.detail("rollouts", None), Some(Detail::Rollouts(_))));
                let Some(Detail::Revision(told)) = file.record.detail(&address::revision(revision), None) else {
                    panic!("{name} {revision}")
                };
                assert_eq!(told.revision, revision);
                assert_eq!(file.record.detail("share", None), None);
            }
        }
    }
    assert_eq!(files, 52);
    assert!(moments > 500 && details == 274, "{moments} {details}");
}

type States = Vec<(Uid, Vec<(timeline::model::PodState, Millis)>)>;

async fn states(hub: &Handle, deployment: Uid) -> States {
    let states = hub.read(move |reader| {
        let pods = reader.timeline.model().pods_of_deployment(deployment);
        pods.into_iter().map(|pod| (pod.uid, pod.states.clone())).collect()
    });
    states.await.unwrap()
}

/// A simulated rollout of so many pods.
fn rollout_of(pods: i32) -> String {
    let mut recorder = Recorder::begin(7, pods);
    recorder.pass(30_000);
    recorder.act(|world, of| Action::Image("web:v2".into()).perform(world, of).unwrap());
    recorder.pass(180_000);
    recorder.lines.join("\n")
}

#[tokio::test]
async fn a_rollout_of_fifty_pods_is_a_small_file_that_loads_nothing() {
    let hub = played("simulated", &rollout_of(50));
    let (workload, revisions) = rollouts(&hub).await.remove(0);
    assert_eq!(revisions, [1, 2]);
    let html = made(&hub, &workload, None, false).await;
    println!("a file of 50 pods: {} bytes", html.len());
    assert!(html.len() < SMALL, "{} bytes", html.len());
    let file = content(&html);
    assert_eq!(file.deployment.snapshot.objects.pods.len(), 100);
    assert_eq!(file.deployment.snapshot.said.view.unwrap().verdict.badge, "Complete");
    // Nothing but its own scripts, sheets and what they hold: the browser asks nobody for anything.
    let policy =
        html.split_once("http-equiv=\"Content-Security-Policy\" content=\"").unwrap().1.split_once('"').unwrap().0;
    assert!(
        policy.starts_with("default-src 'none'; script-src 'nonce-") && !policy.contains("connect-src"),
        "{policy}"
    );
    let program = carried(&html, "program");
    assert!(program.starts_with(b"\0asm"), "that is the program");
    let bindings = String::from_utf8(carried(&html, "bindings")).unwrap();
    assert!(bindings.contains("hydrate_exported"), "and what binds it");
    let start = html.split_once("<body>").unwrap().1.split_once("<script").unwrap().0;
    for what in ["src=\"", "href=\"/", "href=\"http", "@import", "style=\""] {
        assert!(!start.contains(what), "{what}");
    }
    let text: String = start.split('<').filter_map(|piece| piece.split_once('>')).map(|(_, text)| text).collect();
    assert!(text.contains("Revision 2 was complete: 50 of 50 available."), "without scripts it is there as well");
}

/// A recording in which every name that may be taken out says so.
fn confidential() -> String {
    let text = common::recording("rollover");
    let text = text.replace("rollover", "confidential-shop").replace("\"node-", "\"confidential-node-");
    text.replace("\"image\":\"web:", "\"image\":\"registry.confidential.example:5000/team/web:")
}

#[tokio::test]
async fn names_are_taken_out_of_all_that_is_in_a_file() {
    let text = confidential();
    assert!(text.matches("confidential").count() > 100, "the recording has such names");
    let hub = played("\"confidential\" \\ it's", &text);
    let (workload, _) = rollouts(&hub).await.remove(0);
    let open = made(&hub, &workload, None, false).await;
    let closed = made(&hub, &workload, None, true).await;
    let markup = |html: &str| html.split_once("<body>").unwrap().1.split_once("<script").unwrap().0.to_owned();
    for text in [markup(&open), format!("{:?}", content(&open))] {
        assert!(text.contains("confidential-shop") && text.contains("registry.confidential.example:5000/team/web:v3"));
    }
    for text in [closed.clone(), format!("{:?}", content(&closed))] {
        assert!(!text.contains("confidential"), "{text}");
    }
    assert!(format!("{:?}", content(&closed)).contains("image-1:tag-"));
    // Only names differ.
    let (open, closed) = (content(&open), content(&closed));
    assert_eq!(open.record.told.len(), closed.record.told.len());
    let pods = |file: &Export| {
        file.deployment.snapshot.objects.pods.iter().map(|pod| (pod.uid, pod.states.clone())).collect::<Vec<_>>()
    };
    assert_eq!(pods(&open), pods(&closed));
    assert_eq!(closed.deployment.workload.namespace, "namespace-1");
    // And out of a recording.
    let lines = Names::of_lines(&text).unwrap().redact_lines(&text);
    assert!(!lines.contains("confidential"), "{lines}");
    assert_eq!(lines.lines().count(), text.lines().count());
    let (then, now) = (Recording::read(&text).play(), Recording::read(&lines).play());
    let states = |timeline: &timeline::Timeline| {
        timeline.model().pods.values().map(|pod| (pod.uid, pod.states.clone())).collect::<Vec<_>>()
    };
    assert_eq!(states(&then), states(&now));
}

#[tokio::test]
async fn images_that_only_messages_name_are_taken_out_too() {
    let text = common::recording("image-missing");
    // What an admission controller added to the pod stands in no template.
    let added = "Back-off pulling image \\\"sidecar.confidential.example/proxy:7\\\"";
    let text = text.replace("Back-off pulling image", added);
    assert!(Recording::read(&text).bad_lines.is_empty());
    let hub = played("c", &text);
    let (workload, _) = rollouts(&hub).await.remove(0);
    let open = made(&hub, &workload, Some(2), false).await;
    let closed = made(&hub, &workload, Some(2), true).await;
    assert!(format!("{:?}", content(&open)).contains("confidential"), "the page tells what the kubelet says");
    assert!(!closed.contains("confidential") && !format!("{:?}", content(&closed)).contains("confidential"));
    let lines = Names::of_lines(&text).unwrap().redact_lines(&text);
    assert!(text.contains("confidential") && !lines.contains("confidential"), "{lines}");
}

#[tokio::test]
async fn names_that_only_sentences_tell_are_taken_out_too() {
    // A pod is nominated for a node on which no pod is, and an admission controller gave another one an image of its own.
    let waits = "\"status\":{\"phase\":\"Pending\",";
    let nominated = format!("{waits}\"nominatedNodeName\":\"confidential-node-7\",");
    let pulls = "\"nodeName\":\"node-3\",\"containers\":[{\"name\":\"nginx\",\"image\":\"";
    let mirrored = format!("{pulls}mirror.confidential.example/");
    for (name, text, says) in [
        (
            "unschedulable",
            common::recording("unschedulable").replace(
                &format!("{waits}\"conditions\":[{{\"type\":\"PodScheduled\",\"status\":\"False\""),
                &format!("{nominated}\"conditions\":[{{\"type\":\"PodScheduled\",\"status\":\"False\""),
            ),
            "It is nominated for node confidential-node-7, and waits for room there or to be bound.",
        ),
        (
            "image-missing",
            common::recording("image-missing").replace(pulls, &mirrored),
            "Image mirror.confidential.example/web:missing",
        ),
    ] {
        assert!(Recording::read(&text).bad_lines.is_empty() && text.contains("confidential"), "{name}");
        let hub = played("c", &text);
        let (workload, _) = rollouts(&hub).await.remove(0);
        let told = async |is_redacted| format!("{:?}", content(&made(&hub, &workload, Some(2), is_redacted).await));
        let open = told(false).await;
        assert!(open.contains(says), "{name}: {open}");
        let closed = told(true).await;
        assert!(!closed.contains("confidential"), "{name}: {closed}");
    }
}

#[tokio::test]
async fn images_of_templates_that_wait_are_taken_out_too() {
    let mut recorder = Recorder::begin(7, 3);
    recorder.pass(30_000);
    let image = |version: &str| Action::Image(format!("confidential.example/web:{version}"));
    let steps = [Action::Image("web:v2".into()), Action::Pause, image("v3"), image("v4")];
    for action in steps {
        recorder.act(|world, of| action.perform(world, of).unwrap());
        recorder.pass(2_000);
    }
    let hub = played("c", &recorder.lines.join("\n"));
    let (workload, revisions) = rollouts(&hub).await.remove(0);
    assert_eq!(revisions, [1, 2]);
    let open = format!("{:?}", content(&made(&hub, &workload, None, false).await));
    for image in ["confidential.example/web:v3", "confidential.example/web:v4"] {
        assert!(open.contains(image), "{image}: {open}");
    }
    let closed = format!("{:?}", content(&made(&hub, &workload, None, true).await));
    assert!(!closed.contains("confidential"), "{closed}");
}

#[tokio::test]
async fn files_are_handed_on_by_the_server() {
    let kept = kept();
    let rollout = kept.rollouts.iter().find(|rollout| rollout.cluster == "rollover" && rollout.revision == 3).unwrap();
    let of = |rest: &str| format!("{}{rest}", address::file(&rollout.by_itself(), None));
    let page = fetch(&kept.rollcast, &of("")).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    assert_eq!(content(&page.text).deployment.workload.uid, Some(rollout.uid));
    // The same by its revision, which no hub knows here.
    let named = address::file(&rollout.workload().with_uid(Some(rollout.uid)), Some(3));
    assert_eq!(content(&fetch(&kept.rollcast, &named).await.text).record, content(&page.text).record);
    let lines = fetch(&kept.rollcast, &of("&format=jsonl")).await;
    assert_eq!(lines.text, fetch(&kept.rollcast, &address::recording(&rollout.by_itself())).await.text);
    let redacted = fetch(&kept.rollcast, &of("&format=jsonl&redact=yes")).await;
    assert!(redacted.status == StatusCode::OK && !redacted.text.contains("rollover"), "{}", redacted.text);
    let workload = address::below(&rollout.workload(), "export");
    for (path, status, says) in [
        (of("&format=pdf"), 400, "html or jsonl"),
        (of("&redact=maybe"), 400, "redact"),
        (of("&revision=-3"), 400, "revision"),
        (format!("{workload}?uid=7"), 400, "expected the UID of a Deployment"),
        (format!("{workload}?uid={}&rollout=x", rollout.uid), 400, "expected a number"),
        (format!("{workload}?uid={}&revision=99", rollout.uid), 404, "Its history may have expired"),
        (format!("{workload}?uid={}&rollout=99", rollout.uid), 404, "Its history may have expired"),
        (
            format!("{workload}?uid=00000000-0000-4000-8000-000000000000&format=jsonl"),
            404,
            "Its history may have expired",
        ),
    ] {
        let answer = fetch(&kept.rollcast, &path).await;
        assert_eq!(answer.status.as_u16(), status, "{path}: {}", answer.text);
        assert!(answer.text.contains(says), "{path}: {}", answer.text);
    }
    let hub = played("rollover", &confidential());
    // Without history there is the page, and instead of a recording a sentence: a hub knows what came of objects, not the objects.
    let rollcast = site_of(vec![hub.clone()], Site::default());
    let (own, _) = rollouts(&hub).await.remove(0);
    let own = address::file(&own, None);
    assert_eq!(fetch(&rollcast, &own).await.status, StatusCode::OK, "{own}");
    let refused = fetch(&rollcast, &format!("{own}&format=jsonl")).await;
    let says = "This server stores no history, so it has no recording";
    assert!(refused.status == StatusCode::NOT_FOUND && refused.text.contains(says), "{}", refused.text);
    let nobody =
        ExportRequest { workload: Workload::deployment("rollover", "x", "y"), revision: None, is_redacted: false };
    assert!(matches!(html(&hub, nobody).await, Err(ExportError::Unknown)));
}

/// Whoever asks may leave: making goes on, and counts.
#[tokio::test]
async fn a_file_is_counted_until_it_is_made_though_whoever_asked_has_left() {
    let rollcast = held("rollover", &common::recording("rollover")).await;
    let is_counted = || {
        let two = [rollcast.exports.begin(ClientKey::Shared), rollcast.exports.begin(ClientKey::Shared)];
        two.iter().any(Option::is_none)
    };
    let path = "/clusters/rollover/namespaces/rollover/deployments/web/export";
    let mut asking = Box::pin(send(&rollcast, None, Request::get(path), ()));
    while !is_counted() {
        assert!(futures::poll!(&mut asking).is_pending(), "it is not made at once");
        tokio::task::yield_now().await;
    }
    drop(asking);
    assert!(is_counted());
    until("it is made", async || !is_counted()).await;
}
