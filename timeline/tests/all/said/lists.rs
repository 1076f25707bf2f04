//! Lists as viewers follow them: what is sent, and what becomes of it.

use std::sync::Arc;

use crate::made::{WEB, Web, unready};
use timeline::list::{
    ClusterState, Common, Group, Head, ListCopy, ListDelta, Overall, Row, RowDelta, SentRows, Window,
};
use timeline::view::{Now, Summary, Tone, summary};
use timeline::wire::{Connection, ConnectionState};
use timeline::{Millis, Uid, Workload};

fn line(number: u128) -> Summary {
    let web = Web::live(1);
    let now = Now { millis: web.now, skew_millis: 0 };
    Summary { uid: Uid::from_bits(number), ..summary(web.timeline.model(), WEB, now).unwrap() }
}

fn cluster(now_millis: Millis) -> ClusterState {
    ClusterState {
        name: "prod".into(),
        accent: 0,
        connection: Connection::default(),
        now_millis,
        has_deployments: true,
    }
}

fn overall(lines: u32, now_millis: Millis) -> Overall {
    let heads = vec![Head { of: Common::Group(Group::Stable), lines }];
    let (clusters, counts) = (vec![cluster(now_millis)], [0, 0, 0, lines]);
    Overall { clusters, counts, all: lines, heads, ..Overall::default() }
}

/// A server that sends, and a viewer that hears, which is held to what is there.
struct Followed {
    sent: SentRows<Summary>,
    copy: ListCopy,
}

impl Followed {
    fn new() -> Self {
        Self { sent: SentRows::default(), copy: ListCopy::default() }
    }

    fn tell(&mut self, overall: &Overall, all: &[Summary], window: Window) -> Option<ListDelta> {
        let news = self.sent.delta(overall, all, window, |summary| (0, summary));
        self.copy.take(news.clone().unwrap_or_default());
        let seen: Vec<Summary> = self.copy.rows().map(|entry| entry.summary.clone()).collect();
        assert_eq!(seen, window.of(all));
        for number in 0..all.len() as u32 + 2 {
            let there = window.of(all).get((number as usize).wrapping_sub(window.from as usize));
            assert_eq!(self.copy.row(number).map(|entry| &entry.summary), there, "row {number}");
        }
        news
    }
}

const FIRST_TWO: Window = Window { from: 0, to: 2 };

#[test]
fn a_viewer_is_told_everything_once_and_then_what_changed() {
    let mut followed = Followed::new();
    let mut all = [line(1), line(2), line(3)];
    let first = followed.tell(&overall(3, 5), &all, FIRST_TWO).unwrap();
    assert!(first.is_anew && first.overall.is_some());
    assert_eq!((first.lines.len(), first.order.as_ref().map(|(from, ids)| (*from, ids.len()))), (2, Some((0, 2))));
    assert_eq!(followed.tell(&overall(3, 5), &all, FIRST_TWO), None);
    // The clock alone is no news; with news it is told.
    assert_eq!(followed.tell(&overall(3, 6), &all, FIRST_TWO), None);
    all[1].pods = [0, 0, 1, 0, 0];
    all[2].pods = [0, 0, 1, 0, 0]; // out of view
    let news = followed.tell(&overall(3, 7), &all, FIRST_TWO).unwrap();
    let part =
        RowDelta::Part { verdict: None, next: None, pods: Some([0, 0, 1, 0, 0]), lately: None, since_millis: None };
    let id = first.lines[1].0;
    let expected = ListDelta { now_millis: vec![7], lines: vec![(id, part)], ..ListDelta::default() };
    assert_eq!(news, expected);
    assert_eq!(followed.copy.overall.clusters[0].now_millis, 7);
    // Each of the others, on its own.
    all[0].verdict.badge = "Stalled".into();
    all[0].next = "Nothing.".into();
    all[0].lately.from_millis = 9;
    all[0].since_millis = 9;
    let news = followed.tell(&overall(3, 7), &all, FIRST_TWO).unwrap();
    let [(_, RowDelta::Part { verdict, next, pods, lately, since_millis })] = news.lines.as_slice() else {
        panic!("{news:?}");
    };
    assert!(verdict.is_some() && next.is_some() && pods.is_none() && lately.is_some() && *since_millis == Some(9));
    // What is more than that is told whole.
    all[0].revision = Some(9);
    let news = followed.tell(&overall(3, 7), &all, FIRST_TWO).unwrap();
    assert!(matches!(news.lines.as_slice(), [(_, RowDelta::Whole(_))]), "{news:?}");
    assert!(news.order.is_none() && news.overall.is_none() && !news.is_anew);
}

#[test]
fn lines_that_are_shared_are_not_copied_for_a_viewer() {
    let (mut sent, overall) = (SentRows::default(), overall(1, 5));
    let mut tell = |all: &[Arc<Summary>]| sent.delta(&overall, all, FIRST_TWO, |shared| (0, &**shared));
    let (first, equal) = ([Arc::new(line(1))], [Arc::new(line(1))]);
    assert!(tell(&first).is_some());
    assert_eq!([&first[0], &equal[0]].map(Arc::strong_count), [2, 1]);
    assert_eq!(tell(&equal), None);
    assert_eq!([&first[0], &equal[0]].map(Arc::strong_count), [1, 2], "the earlier one is let go of");
}

#[test]
fn lines_that_come_into_view_are_told_and_those_that_left_are_told_again_later() {
    let mut followed = Followed::new();
    let mut all = vec![line(1), line(2), line(3)];
    followed.tell(&overall(3, 5), &all, FIRST_TWO);
    let news = followed.tell(&overall(3, 5), &all, Window { from: 1, to: 3 }).unwrap();
    assert_eq!((news.lines.len(), news.order.unwrap().0), (1, 1));
    let news = followed.tell(&overall(3, 5), &all, FIRST_TWO).unwrap();
    assert_eq!(news.lines.len(), 1, "the first one was let go of");
    // Another order of the same lines is an order and no line.
    all.swap(0, 1);
    let news = followed.tell(&overall(3, 5), &all, FIRST_TWO).unwrap();
    assert_eq!((news.lines.len(), news.order.is_some()), (0, true));
    all.remove(0);
    let counts = followed.tell(&overall(2, 5), &all, FIRST_TWO).unwrap();
    assert_eq!(counts.overall.unwrap().all, 2);
}

#[test]
fn a_part_of_a_line_that_is_not_known_is_nothing() {
    let mut copy = ListCopy::default();
    let part = RowDelta::Part { verdict: None, next: None, pods: Some([1; 5]), lately: None, since_millis: None };
    copy.take(ListDelta { lines: vec![(7, part)], order: Some((0, vec![7])), ..ListDelta::default() });
    assert_eq!((copy.row(0), copy.rows().count()), (None, 0));
    // What is told anew replaces everything.
    let entry = Row { cluster: 3, summary: line(1) };
    assert_eq!(entry.key(), (3, Uid::from_bits(1)));
    let whole = |id| ListDelta {
        is_anew: true,
        lines: vec![(id, RowDelta::Whole(Box::new(entry.clone())))],
        ..ListDelta::default()
    };
    copy.take(ListDelta { order: Some((4, vec![1])), overall: Some(overall(9, 0)), ..whole(1) });
    assert_eq!((copy.row(3), copy.row(4), copy.row(5)), (None, Some(&entry), None));
    copy.take(ListDelta { order: Some((0, vec![2])), ..whole(2) });
    assert_eq!((copy.row(0), copy.row(4), copy.overall.rows()), (Some(&entry), None, 0));
}

#[test]
fn everything_but_the_clock_makes_two_lists_differ() {
    let one = overall(3, 5);
    assert!(one.is_like(&overall(3, 6)));
    assert_eq!(Overall { heads: [overall(2, 0).heads, overall(3, 0).heads].concat(), ..one.clone() }.rows(), 5);
    let differs = |change: fn(&mut Overall)| {
        let mut other = overall(3, 5);
        change(&mut other);
        !one.is_like(&other) && !other.is_like(&one)
    };
    assert!(differs(|other| other.clusters.clear()));
    assert!(differs(|other| other.clusters.push(cluster(5))));
    assert!(differs(|other| other.clusters[0].name = "edge".into()));
    assert!(differs(|other| other.clusters[0].accent = 1));
    assert!(differs(|other| other.clusters[0].connection.speed_percent += 1));
    assert!(differs(|other| other.counts[0] = 1));
    assert!(differs(|other| other.all = 4));
    assert!(differs(|other| other.heads.clear()));
    assert!(differs(|other| other.trouble = "no".into()));
    assert!(differs(|other| other.is_unchecked = true));
    assert!(differs(|other| other.is_selector_invalid = true));
}

#[test]
fn a_deployment_is_in_the_group_that_its_verdict_and_its_age_say() {
    let group = |tone, finished_millis, now| {
        let mut line = line(1);
        (line.verdict.tone, line.finished_millis) = (tone, finished_millis);
        Group::of(&line, now)
    };
    assert_eq!(group(Tone::Bad, Some(0), 1), Group::InTrouble);
    assert_eq!(group(Tone::Busy, Some(0), 1), Group::InProgress);
    assert_eq!(group(Tone::Ok, Some(1_000), 3_600_999), Group::Finished);
    assert_eq!(group(Tone::Ok, Some(1_000), 3_601_000), Group::Stable);
    assert_eq!(group(Tone::Ok, None, 1), Group::Stable);
    assert_eq!(group(Tone::Quiet, Some(0), 1), Group::Stable);
    assert_eq!(Group::ALL.map(Group::words), ["In trouble", "In progress", "Finished in the last hour", "Stable"]);
}

#[test]
fn a_line_says_how_it_was_lately_and_nothing_where_nothing_changed() {
    let lately = |web: &Web, now: Millis| {
        let lately = summary(web.timeline.model(), WEB, Now { millis: now, skew_millis: 0 }).unwrap().lately;
        (lately.from_millis, lately.steps)
    };
    let mut web = Web::live(2);
    // The edge moves in steps of 20 s, and reaches a minute back at least.
    assert_eq!(lately(&web, 79_999), (0, vec![(0, [0, 0, 2, 0, 0]), (5_000, [2, 0, 0, 0, 0])]));
    assert_eq!(lately(&web, 80_000), (0, Vec::new()), "it begins after that");
    assert_eq!(lately(&web, 119_999), (0, Vec::new()));
    web.wait_until(100_000).pod(100, unready);
    web.wait_until(100_499).kill_pod(101);
    web.wait_until(100_999).delete_pod(101);
    let steps = vec![(0, [2, 0, 0, 0, 0]), (60_000, [0, 0, 1, 0, 1]), (60_999, [0, 0, 1, 0, 0])];
    assert_eq!(lately(&web, 101_000), (40_000, steps), "what is closer than half a second is one");
    // So many steps are told, the last ones.
    for number in 0..30 {
        web.wait_until(110_000 + number * 1_000).pod(100, if number % 2 == 0 { crate::made::ready } else { unready });
    }
    let (from, steps) = lately(&web, 139_500);
    assert_eq!((from, steps.len(), steps.last()), (60_000, 24, Some(&(79_000, [0, 0, 1, 0, 0]))));
}

#[test]
fn a_connection_is_live_or_stale_or_on_its_way() {
    let stale = ConnectionState::Stale { since_millis: 1, retry_at_millis: None, why: String::new() };
    let replay = ConnectionState::Replay { name: "rollout".into() };
    let states = [ConnectionState::Connecting, ConnectionState::Live, stale, replay, ConnectionState::Unknown];
    assert_eq!(states.each_ref().map(ConnectionState::is_live), [false, true, false, true, false]);
    assert_eq!(states.each_ref().map(ConnectionState::is_stale), [false, false, true, false, true]);
}

#[test]
fn a_line_leads_to_this_deployment_and_not_to_another_one_of_its_name() {
    let expected = Workload::deployment("prod", "shop", "web").with_uid(Some(Uid::from_bits(7)));
    assert_eq!(line(7).workload("prod"), expected);
}

#[test]
fn a_line_has_the_image_of_its_revision_while_a_template_waits() {
    let mut web = Web::live(3);
    let shown = |web: &Web| {
        let now = Now { millis: web.now, skew_millis: 0 };
        let summary = summary(web.timeline.model(), WEB, now).unwrap();
        (summary.revision, summary.images)
    };
    let before = shown(&web);
    web.deployment(|deployment| {
        deployment.spec.paused = true;
        deployment.spec.images[0].image = "web:v9".into();
    });
    assert_eq!(shown(&web), before);
}
