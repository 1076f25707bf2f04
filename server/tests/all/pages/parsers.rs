//! Each parser of what comes over the network, by itself, given what was damaged at random: nothing panics, nobody gets in, and no answer
//! is larger than it may be. Seeded, so that what fails once fails again; the table of them is in docs/security.md.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use fastrand::Rng;
use server::access::cookie::{SealPurpose, SessionKeys};
use server::access::forwarded;
use server::access::scope::{LinkScope, WorkloadName};
use server::access::share::{LinkRequest, Shares};
use server::feed::recording::Recording;
use server::history::batch::{pack, unpack};
use timeline::address::Address;
use timeline::list::{Query, Window};
use timeline::wire::{self, PROTOCOL, Position, SaidVersion, ServerFrame, ViewerFrame};
use timeline::{Timeline, Workload};

use crate::common;
use crate::common::damage::damaged;
use crate::pages::people::viewer;
use crate::pages::strange::seeds;

const HOUR: i64 = 3_600_000;

/// As much as fits into a header of what is damaged.
fn as_header(bytes: &[u8]) -> Option<HeaderValue> {
    HeaderValue::from_bytes(bytes).ok()
}

#[test]
fn damaged_forwarded_headers_name_no_client_for_a_stranger() {
    let (proxy, stranger): (IpAddr, IpAddr) = ("10.0.0.7".parse().unwrap(), "192.0.2.1".parse().unwrap());
    let is_proxy = |address: IpAddr| address == proxy;
    let said: [&[u8]; 4] = [b"203.0.113.9", b"203.0.113.9, 10.0.0.7", b"[2001:db8::1]:443, 10.0.0.7:1", b"unknown, _x"];
    let mut told = 0;
    for seed in seeds(20_000) {
        let rng = &mut Rng::with_seed(seed);
        let mut headers = HeaderMap::new();
        for _ in 0..rng.usize(..4) {
            let value = as_header(&damaged(said[rng.usize(..said.len())], rng));
            let name = if rng.bool() { "x-forwarded-for" } else { "x-forwarded-proto" };
            if let Some(value) = value {
                headers.append(HeaderName::from_static(name), value);
            }
        }
        assert_eq!(forwarded::client(stranger, &headers, is_proxy), stranger, "seed {seed}: a stranger is believed");
        assert_eq!(forwarded::scheme(stranger, &headers, is_proxy), None, "seed {seed}");
        let client = forwarded::client(proxy, &headers, is_proxy);
        let said = headers.get_all("x-forwarded-proto").iter().count();
        assert!(said == 1 || forwarded::scheme(proxy, &headers, is_proxy).is_none(), "seed {seed}: said {said} times");
        told += usize::from(client != proxy);
    }
    assert!(told > 200, "{told}");
}

#[tokio::test]
async fn damaged_cookies_links_and_previews_open_nothing_else() {
    let keys = SessionKeys::generate();
    let shares = Shares::open(keys.clone(), None).unwrap();
    let scope = LinkScope::Workload(WorkloadName::of(&Workload::deployment("prod", "shop", "web")));
    let wanted = LinkRequest { scope, to: "/x".to_owned(), lasts_millis: 24 * HOUR, allows_preview: true };
    let (share, secret) = shares.make(&viewer("ann"), wanted, 0).await.unwrap();
    let preview = shares.preview_of(&share).unwrap();
    let session = keys.seal_value(SealPurpose::Session, "a session").unwrap();
    for seed in seeds(20_000) {
        let rng = &mut Rng::with_seed(seed);
        let text = |whole: &str, rng: &mut Rng| String::from_utf8_lossy(&damaged(whole.as_bytes(), rng)).into_owned();
        let (link, shown) = (text(&secret, rng), text(&preview, rng));
        assert!(link == secret || shares.find_by_secret(&link, 1).await.unwrap().is_none(), "seed {seed}: {link}");
        assert!(shown == preview || shares.find_preview(&shown, 1).await.unwrap().is_none(), "seed {seed}: {shown}");
        let pairs = format!("a=b; __Host-rollcast={session}; __Host-rollcast-link={secret}");
        let cookies = damaged(pairs.as_bytes(), rng);
        let Some(value) = as_header(&cookies) else { continue };
        let headers = HeaderMap::from_iter([(header::COOKIE, value)]);
        // What opens at all is what was sealed.
        assert!(keys.open(SealPurpose::Session, &headers).is_none_or(|held| held == "a session"), "seed {seed}");
        let by_link = shares.viewer(&headers, 1).await.unwrap();
        assert!(by_link.is_none_or(|viewer| viewer.link.is_some_and(|link| link.id == share.id)), "seed {seed}");
    }
}

#[test]
fn damaged_addresses_make_short_words_that_can_be_printed() {
    let whole: [&[u8]; 3] = [
        b"/clusters/prod%2Feu/namespaces/shop/deployments/web?uid=79326eb3-6188-4285-bb51-b7e0e8cf9f90&revision=7&at=5",
        b"/wall?cluster=prod&namespace=shop&q=web",
        b"/clusters/a/namespaces/b/deployments/c/pods/79326eb3-6188-4285-bb51-b7e0e8cf9f90",
    ];
    let mut read = 0;
    for seed in seeds(20_000) {
        let rng = &mut Rng::with_seed(seed);
        let text = String::from_utf8_lossy(&damaged(whole[rng.usize(..whole.len())], rng)).into_owned();
        let Some(address) = Address::read(&text) else { continue };
        read += 1;
        let pairs = address.parameters.pairs();
        assert!(pairs.map(|(name, value)| name.len() + value.len()).sum::<usize>() <= 3 * text.len());
        let place = |name| address.parameters.get(name).map(str::to_owned);
        let scope = match address.named_workload() {
            Some(workload) => LinkScope::Workload(WorkloadName::of(&workload)),
            None => LinkScope::Wall { cluster: place("cluster"), namespace: place("namespace") },
        };
        let words = scope.words(&text);
        assert!(words.len() < 400 + 12 * text.len() && !words.chars().any(char::is_control), "seed {seed}: {words:?}");
    }
    assert!(read > 2_000, "{read}");
}

#[test]
fn damaged_frames_are_refused_or_read_as_no_larger_ones() {
    let workload = Workload::deployment("prod", "shop", "web");
    let list = wire::Scope::List { query: Query::default(), window: Window { from: 0, to: u32::MAX } };
    let since = Some(Position { epoch: u64::MAX, seq: 1, said: SaidVersion::default() });
    let frames = [
        wire::encode(&ViewerFrame::Hello { protocol: PROTOCOL, build: "build".to_owned() }).unwrap(),
        wire::encode(&ViewerFrame::Subscribe { scope: wire::Scope::Workload(workload), since }).unwrap(),
        wire::encode(&ViewerFrame::Subscribe { scope: list, since: None }).unwrap(),
        wire::encode(&ViewerFrame::Moment { at_millis: i64::MIN }).unwrap(),
        wire::encode(&ServerFrame::Heartbeat { now_millis: i64::MAX }).unwrap(),
        wire::encode(&ServerFrame::Connection { cluster: "c".to_owned(), connection: Default::default() }).unwrap(),
    ];
    let mut read = 0;
    for seed in seeds(40_000) {
        let rng = &mut Rng::with_seed(seed);
        let bytes = damaged(&frames[rng.usize(..frames.len())], rng);
        // What can be read is no larger than what was sent, and is written as it was read.
        if let Ok(frame) = wire::decode::<ViewerFrame>(&bytes) {
            read += 1;
            let written = wire::encode(&frame).unwrap();
            assert!(written.len() <= bytes.len() + 16, "seed {seed}");
            assert_eq!(wire::decode::<ViewerFrame>(&written).unwrap(), frame, "seed {seed}");
        }
        if let Ok(frame) = wire::decode::<ServerFrame>(&bytes) {
            read += 1;
            assert!(wire::encode(&frame).unwrap().len() <= bytes.len() + 16, "seed {seed}");
        }
    }
    assert!(read > 0, "no damaged frame could be read");
}

#[test]
fn damaged_recordings_are_read_in_part_and_damaged_batches_never_grow() {
    let (_, text) = common::recordings().into_iter().min_by_key(|(_, text)| text.len()).unwrap();
    let packed = pack(&text).unwrap();
    let (mut good, mut bad) = (0, 0);
    for seed in seeds(150) {
        let rng = &mut Rng::with_seed(seed);
        let hurt = String::from_utf8_lossy(&damaged(text.as_bytes(), rng)).into_owned();
        let read = Recording::read(&hurt);
        assert!(read.observed.len() <= 2 * hurt.lines().count(), "seed {seed}");
        bad += read.bad_lines.len();
        let mut timeline = Timeline::new();
        for observed in read.observed {
            good += 1;
            observed.apply(&mut timeline);
        }
        // A checksum says what was damaged; what is unpacked all the same is what was packed.
        if let Ok(unpacked) = unpack(&damaged(&packed, rng)) {
            assert!(unpacked.len() <= 2 * text.len(), "seed {seed}: {}", unpacked.len());
        }
    }
    assert!(good > 1_000 && bad > 20, "{good} {bad}");
}
