//! What is recorded and replayed says what was said live: one source, written down and watched at the same time.

use std::sync::Arc;

use server::feed::recording::{self, Recording};
use server::hub::Handle;
use server::kube::access::Access;
use server::kube::{self, Cluster, Counters, Pace};
use timeline::fact::Kind;
use timeline::{Retention, document};
use tokio::sync::{Mutex, mpsc, watch};

use crate::common::until::until;
use crate::live::program::{Recorder, kubeconfig};
use crate::live::support::{Fault, Verb, WATCHED, pod, shop, shop_of};

#[tokio::test]
async fn the_document_of_a_replay_equals_the_document_of_the_live_run() {
    let api = shop_of(2, &["web-a"]).await;
    let counters = Arc::new(Counters::default());
    let (hub, to_hub) = Handle::start("fake", counters.clone(), Retention::default());
    let (events, mut inbox) = mpsc::channel::<kube::SourceEvent>(kube::QUEUE);
    let written = Arc::new(Mutex::new(Vec::new()));
    let lines = written.clone();
    tokio::spawn(async move {
        while let Some(event) = inbox.recv().await {
            lines.lock().await.extend(recording::lines(&event));
            if to_hub.send(event).await.is_err() {
                return;
            }
        }
    });
    let pace = Pace { min_watch_lifetime: std::time::Duration::from_millis(50), burst: 100, ..Pace::default() };
    let (access, clock, relist_requests) = (Access::fixed(api.client(), pace), hub.clock(), watch::channel(0).1);
    let (name, hides_messages) = ("fake".into(), false);
    let cluster = Cluster { name, access, events, counters, hides_messages, clock, relist_requests };
    kube::start(&cluster, &[Kind::Deployment, Kind::ReplicaSet, Kind::Pod], &[]);
    let pods = async |hub: &Handle| {
        let count =
            hub.read(|reader| reader.timeline.model().pods.values().filter(|p| p.gone_millis().is_none()).count());
        count.await.unwrap()
    };
    until("the first pod", async || pods(&hub).await == 1).await;
    api.put(pod(11, 2, "web-b"));
    until("the second pod", async || pods(&hub).await == 2).await;
    api.delete(&pod(10, 2, "web-a"));
    until("one pod less", async || pods(&hub).await == 1).await;
    // A position that is lost: listed again, with a gap.
    api.lose(&pod(11, 2, "web-b"));
    api.fault(Verb::Watch, "pods", Fault::Status(410));
    api.hang_up();
    until("no pod", async || pods(&hub).await == 0).await;

    let live = hub
        .read(|reader| serde_json::to_value(document::document(reader.timeline.model(), None, None)).unwrap())
        .await
        .unwrap();
    let text = written.lock().await.join("\n");
    let replayed = Recording::read(&text);
    assert!(replayed.bad_lines.is_empty(), "{:?}", replayed.bad_lines);
    let replayed = serde_json::to_value(document::document(replayed.play().model(), None, None)).unwrap();
    assert_eq!(replayed, live);
    assert_eq!(live["deployments"][0]["gaps"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_goes_on_after_an_outage_and_has_the_gap() {
    let api = shop().await;
    let recorder = Recorder::start(&kubeconfig(&api, "recorded"));
    until("lists", async || recorder.written().matches("LIST_DONE").count() == 4).await;
    until("watches", async || api.requests(Verb::Watch, "pods") > 0).await;
    for verb in [Verb::List, Verb::Watch] {
        api.stand(verb, "pods", Some(Fault::Status(500)));
    }
    api.hang_up();
    let lists = api.requests(Verb::List, "pods");
    until("a list that fails", async || api.requests(Verb::List, "pods") > lists).await;
    for verb in [Verb::List, Verb::Watch] {
        api.stand(verb, "pods", None);
    }
    api.put(pod(12, 2, "web-c"));
    until("the pod that came meanwhile", async || recorder.written().contains("web-c")).await;
    until("the gap", async || recorder.written().contains("blindSinceMillis")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_failed_response_at_the_start_does_not_end_a_recording() {
    let api = shop().await;
    WATCHED.iter().for_each(|resource| api.fault(Verb::List, resource, Fault::Status(503)));
    let recorder = Recorder::start(&kubeconfig(&api, "once"));
    until("lists", async || recorder.written().matches("LIST_DONE").count() == 4).await;
}
