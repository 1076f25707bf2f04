//! Recordings that wait for somebody to look.

use std::sync::Arc;

use server::feed::recording::Recording;
use server::feed::replay::{self, ReplayOptions};
use server::hub::Handle;
use server::telemetry::viewers::Viewers;
use timeline::Retention;

use crate::common;
use crate::common::until::until;

#[tokio::test]
async fn a_recording_may_begin_with_its_first_viewer() {
    let text = common::recording("rollout");
    let (hub, events) = Handle::start("rollout", Arc::default(), Retention::default());
    let style = ReplayOptions { speed: 10.0, r#loop: false, when_watched: false, hold_at: None };
    let viewers = Viewers::default();
    let recording = Recording::read(&text);
    let (recorded_from, _) = recording.span().unwrap();
    tokio::spawn(replay::play(events, "rollout".into(), recording, style, Some(viewers.clone())));
    until("it stands", async || hub.connection().borrow().speed_percent == 0).await;
    assert_eq!(hub.now_millis(), recorded_from, "at its first instant");
    let _viewer = viewers.enter();
    until("it plays", async || hub.connection().borrow().speed_percent == 1000).await;
    let revisions = async || {
        let document = hub.document(&timeline::Workload::deployment("", "rollout", "nginx")).await.unwrap();
        serde_json::to_value(document).unwrap()["deployments"][0]["rollouts"].as_array().map_or(0, Vec::len)
    };
    until("the third revision", async || revisions().await == 3).await;
}

#[tokio::test]
async fn a_line_that_is_stamped_before_the_first_one_is_played() {
    let text = common::recording("rollout");
    let mut recording = Recording::read(&text);
    recording.observed[0].at_millis += 1; // four tasks stamp the lines of four kinds
    let (hub, events) = Handle::start("rollout", Arc::default(), Retention::default());
    let style = ReplayOptions { speed: 1_000.0, r#loop: false, when_watched: false, hold_at: None };
    tokio::spawn(replay::play(events, "rollout".into(), recording, style, None));
    let web = timeline::Workload::deployment("", "rollout", "nginx");
    until("the Deployment", async || hub.document(&web).await.unwrap().is_some()).await;
}
