//! Faults of the API server, and of the network to it.

use std::time::Duration;

use serde_json::json;

use super::actions::{all, endless, line, network, pods, skewed, watches};
use super::stage::Row;
use crate::common::network::NetworkFault;
use crate::live::support::{EXPIRED, Fault, Verb, deployment, pod, replica_set};

const HTML: &str = "<!DOCTYPE html><html><body>Please sign in</body></html>";

/// Pods go unseen while the fault lasts, and pages say so at once.
const OF_PODS: Row = Row {
    number: "",
    fault: "",
    promise: "",
    said_within: Some(1),
    has_gap: true,
    is_of_pods: true,
    streams_lists: None,
    run: |_| Box::pin(async {}),
};
/// The same of all kinds.
const OF_ALL: Row = Row { is_of_pods: false, ..OF_PODS };
/// Nothing is missed, so that nothing is said.
const UNNOTICED: Row = Row { said_within: None, has_gap: false, ..OF_ALL };

pub const ROWS: &[Row] = &[
    Row {
        number: "F1",
        fault: "connections are refused for a minute",
        promise: "listed again after three failures, and nothing is asked while nothing answers",
        said_within: Some(10),
        run: |stage| Box::pin(network(stage, NetworkFault::Refusal)),
        ..OF_ALL
    },
    Row {
        number: "F2",
        fault: "the network is frozen for a minute, and connections stay open",
        promise: "the watch goes on from its position, and tells what happened when it arrives",
        said_within: Some(10),
        run: |stage| Box::pin(network(stage, NetworkFault::Freeze)),
        ..UNNOTICED
    },
    Row {
        number: "F2",
        fault: "open connections are dead, new ones are good",
        promise: "found within 30 s; the watch goes on from its position",
        said_within: Some(30),
        run: |stage| {
            Box::pin(async {
                stage.network.set(Some(NetworkFault::HalfOpen));
                stage.replace(10, 20);
                stage.pass(25).await;
                stage.network.set(None);
            })
        },
        ..UNNOTICED
    },
    Row {
        number: "F3",
        fault: "the connection is reset in the middle of a line",
        promise: "the line is read again",
        has_gap: false,
        run: |stage| {
            Box::pin(async {
                stage.network.set(Some(NetworkFault::ResetInside));
                stage.replace(10, 20);
                stage.pass(1).await;
            })
        },
        ..OF_ALL
    },
    Row {
        number: "F4",
        fault: "a line is cut off, and the response ends well",
        promise: "the line is read again",
        has_gap: false,
        run: |stage| {
            Box::pin(async {
                let line = line("ADDED", pod(20, 2, "web-20"), 9);
                stage.api.fault(Verb::Watch, "pods", Fault::Say(line[..line.len() / 2].to_owned()));
                stage.api.hang_up();
                stage.replace(10, 20);
                stage.pass(1).await;
            })
        },
        ..OF_PODS
    },
    Row {
        number: "F5",
        fault: "watches of pods are answered 200 and end at once, for a minute",
        promise: "no loop of requests",
        run: |stage| Box::pin(watches(stage, Fault::EndAtOnce)),
        ..OF_PODS
    },
    Row {
        number: "F6",
        fault: "the position has expired, told as an event",
        promise: "listed again at once",
        run: |stage| {
            Box::pin(async {
                stage.lose(10);
                stage.api.say("pods", EXPIRED);
                stage.pass(1).await;
            })
        },
        ..OF_PODS
    },
    Row {
        number: "F6",
        fault: "every position of pods has expired, told as an event, for a minute",
        promise: "no loop of lists",
        run: |stage| Box::pin(watches(stage, Fault::Say(EXPIRED.to_owned()))),
        ..OF_PODS
    },
    Row {
        number: "F7",
        fault: "every position of pods has expired, told as status 410, for a minute",
        promise: "no loop of lists",
        run: |stage| Box::pin(watches(stage, Fault::Status(410))),
        ..OF_PODS
    },
    Row {
        number: "F8",
        fault: "the API server forgets each list before its second page",
        promise: "the list ends with larger pages while the fault lasts",
        streams_lists: Some(false),
        run: |stage| {
            Box::pin(async {
                stage.api.pages(usize::MAX, Duration::ZERO);
                stage.api.stand(Verb::Next, "pods", Some(Fault::Status(410)));
                stage.lose(10);
                stage.api.say("pods", EXPIRED);
                stage.pass(5).await;
            })
        },
        ..OF_PODS
    },
    Row {
        number: "F9",
        fault: "credentials are refused for a minute",
        promise: "the last picture stays",
        run: |stage| Box::pin(all(stage, Fault::Status(401))),
        ..OF_ALL
    },
    Row {
        number: "F10",
        fault: "pods are forbidden for a minute, then allowed",
        promise: "the other kinds go on",
        run: |stage| Box::pin(pods(stage, Fault::Status(403))),
        ..OF_PODS
    },
    Row {
        number: "F11",
        fault: "requests for pods are answered 429 with Retry-After: 3, for a minute",
        promise: "asked again no sooner",
        run: |stage| Box::pin(pods(stage, Fault::Busy(3))),
        ..OF_PODS
    },
    Row {
        number: "F12",
        fault: "every request is answered 500, 503 and 504, a minute each",
        promise: "the last picture stays",
        run: |stage| {
            Box::pin(async {
                for (number, status) in [500, 503, 504].into_iter().enumerate() {
                    stage.stand_all(Some(Fault::Status(status)));
                    stage.pass(2).await;
                    stage.replace(10 + number as u64, 20 + number as u64);
                    stage.pass(58).await;
                    assert_eq!(stage.pods().await, 6, "the last picture stays");
                }
                stage.stand_all(None);
            })
        },
        ..OF_ALL
    },
    Row {
        number: "F12",
        fault: "the next page of a list of pods is answered 503, for a minute",
        promise: "the list goes on with that page, and no loop of requests",
        run: |stage| {
            Box::pin(async {
                stage.api.stand(Verb::Next, "pods", Some(Fault::Status(503)));
                stage.lose(10);
                stage.api.say("pods", EXPIRED);
                stage.pass(60).await;
                stage.api.stand(Verb::Next, "pods", None);
            })
        },
        ..OF_PODS
    },
    Row {
        number: "F13",
        fault: "a proxy answers every request with a page, for a minute",
        promise: "the last picture stays",
        run: |stage| Box::pin(all(stage, Fault::Say(HTML.to_owned()))),
        ..OF_ALL
    },
    Row {
        number: "F14",
        fault: "a proxy compresses responses though nobody asked for that, for a minute",
        promise: "the last picture stays",
        run: |stage| Box::pin(all(stage, Fault::Compressed)),
        ..OF_ALL
    },
    Row {
        number: "F15",
        fault: "an object of 1.5 MB",
        promise: "read as any other",
        is_of_pods: true,
        run: |stage| {
            Box::pin(async {
                let mut large = pod(20, 2, "web-20");
                large["metadata"]["annotations"] = json!({ "note": "x".repeat(3 << 19) });
                stage.api.put(large);
                stage.pass(1).await;
            })
        },
        ..UNNOTICED
    },
    Row {
        number: "F15",
        fault: "a line of 64 MB",
        promise: "given up, and the watch goes on from its position",
        has_gap: false,
        run: |stage| {
            Box::pin(async {
                stage.api.say("pods", &"x".repeat(64 << 20));
                stage.replace(10, 20);
                stage.pass(1).await;
            })
        },
        ..OF_PODS
    },
    Row {
        number: "F16",
        fault: "events come twice, and an object as it was before comes after it changed",
        promise: "what is older than the last version of the watch is not taken; listed again",
        said_within: Some(3),
        run: |stage| {
            Box::pin(async {
                let mut unready = pod(10, 2, "web-10");
                unready["status"]["conditions"][0]["status"] = json!("False");
                stage.api.put(unready);
                stage.pass(1).await;
                stage.api.say("pods", &line("MODIFIED", pod(10, 2, "web-10"), 3));
                stage.api.say("pods", &line("ADDED", pod(11, 2, "web-11"), 4));
                stage.replace(12, 20);
                stage.pass(1).await;
                stage.api.say("pods", &line("MODIFIED", pod(12, 2, "web-12"), 5));
                stage.api.say("pods", &line("DELETED", pod(12, 2, "web-12"), 5));
                stage.pass(1).await;
            })
        },
        ..OF_PODS
    },
    Row {
        number: "F17",
        fault: "a pod is deleted between a lost position and the next list",
        promise: "found by the next list",
        run: |stage| {
            Box::pin(async {
                stage.stand_lists(Some(Fault::Status(503)));
                stage.api.say("pods", EXPIRED);
                stage.pass(5).await;
                stage.lose(10);
                stage.stand_lists(None);
            })
        },
        ..OF_PODS
    },
    Row {
        number: "F18",
        fault: "a pod goes unseen, and another one with its name is there",
        promise: "told apart by their UIDs",
        run: |stage| {
            Box::pin(async {
                stage.stand_lists(Some(Fault::Status(503)));
                stage.api.say("pods", EXPIRED);
                stage.pass(2).await;
                stage.lose(10);
                stage.api.put(pod(20, 2, "web-10"));
                stage.stand_lists(None);
            })
        },
        ..OF_PODS
    },
    Row {
        number: "F19",
        fault: "the API server was restored from a backup, and its versions went back",
        promise: "listed again once watches were silent for 90 s; nothing is said before",
        said_within: None,
        run: |stage| {
            Box::pin(async {
                stage.api.stand_all(&[Verb::Watch], Some(Fault::Mute));
                stage.api.hang_up();
                stage.pass(1).await;
                stage.lose(10);
                stage.until_list().await;
                stage.api.stand_all(&[Verb::Watch], None);
            })
        },
        ..OF_ALL
    },
    Row {
        number: "F20",
        fault: "three API servers are restarted one after the other",
        promise: "listed again after three failures",
        run: |stage| {
            Box::pin(async {
                for number in 0..3 {
                    stage.network.set(Some(NetworkFault::Refusal));
                    stage.pass(3).await;
                    stage.replace(10 + number, 20 + number);
                    stage.stand_all(Some(Fault::Status(503))); // it is not ready yet
                    stage.network.set(None);
                    stage.pass(3).await;
                    stage.stand_all(None);
                    stage.pass(if number < 2 { 20 } else { 0 }).await;
                }
            })
        },
        ..OF_ALL
    },
    Row {
        number: "F21",
        fault: "no bookmarks and no events for ten minutes, though a pod goes",
        promise: "nothing is called stale; listed again every 90 s at most, with a gap, as nobody knows",
        said_within: None,
        run: |stage| {
            Box::pin(async {
                let lists = stage.lists();
                stage.pass(50).await;
                stage.lose(10);
                stage.pass(550).await;
                let lists = stage.lists() - lists;
                assert!(lists <= 6, "{lists} lists in ten minutes");
            })
        },
        ..OF_ALL
    },
    Row {
        number: "F22",
        fault: "a list begins and does not go on",
        promise: "given up after 30 s without a byte",
        run: |stage| {
            Box::pin(async {
                stage.api.fault(stage.list_verb, "pods", Fault::Stall("{".to_owned()));
                stage.lose(10);
                stage.api.say("pods", EXPIRED);
                stage.pass(30).await;
            })
        },
        ..OF_PODS
    },
    Row {
        number: "F22",
        fault: "a list goes on without an end",
        promise: "given up after 120 s",
        streams_lists: Some(false),
        run: |stage| {
            Box::pin(async {
                stage.api.fault(Verb::List, "pods", Fault::Trickle);
                stage.lose(10);
                stage.api.say("pods", EXPIRED);
                stage.pass(120).await;
            })
        },
        ..OF_PODS
    },
    Row {
        number: "F22",
        fault: "a streamed list goes on without its end, and tells of the same pod again and again",
        promise: "given up after 120 s without a new object; lists are in pages from then on",
        streams_lists: Some(true),
        run: |stage| Box::pin(endless(stage, [11; 5].into_iter())),
        ..OF_PODS
    },
    Row {
        number: "F22",
        fault: "a streamed list goes on without its end, and tells of a new pod again and again",
        promise: "ended by the server after 600 s; lists are in pages from then on",
        streams_lists: Some(true),
        run: |stage| Box::pin(endless(stage, 20..43)),
        ..OF_PODS
    },
    Row {
        number: "F23",
        fault: "the namespace is deleted with its role, and made again a minute later",
        promise: "the objects end, and others have their names",
        has_gap: false,
        run: |stage| {
            Box::pin(async {
                (10..16).for_each(|number| stage.api.delete(&pod(number, 2, "")));
                stage.api.delete(&replica_set(2, 1, 6));
                stage.api.delete(&deployment(1, 6));
                stage.pass(1).await;
                stage.stand_all(Some(Fault::Status(403)));
                stage.pass(60).await;
                stage.stand_all(None);
                stage.pass(5).await;
                stage.api.put(deployment(31, 1));
                stage.api.put(replica_set(32, 31, 1));
                stage.api.put(pod(33, 32, "web-10"));
            })
        },
        ..OF_ALL
    },
    Row {
        number: "F24",
        fault: "the cluster's clock is an hour behind ours",
        promise: "found with the first pod that is made",
        run: |stage| Box::pin(skewed(stage, 3_600_000)),
        ..UNNOTICED
    },
    Row {
        number: "F24",
        fault: "the cluster's clock is an hour ahead of ours",
        promise: "found with the first pod that is made",
        run: |stage| Box::pin(skewed(stage, -3_600_000)),
        ..UNNOTICED
    },
    Row {
        number: "Delay",
        fault: "each packet takes a second, for a minute",
        promise: "nothing is called stale",
        run: |stage| Box::pin(network(stage, NetworkFault::Delay(Duration::from_secs(1)))),
        ..UNNOTICED
    },
    Row {
        number: "Trickle",
        fault: "responses come byte by byte, 100 in a second, for a minute",
        promise: "nothing is called stale",
        run: |stage| Box::pin(network(stage, NetworkFault::Trickle(Duration::from_millis(10)))),
        ..UNNOTICED
    },
];
