//! Strange requests, hosts and addresses: nothing panics, no answer is an error of ours, and each carries what every answer carries.
//!
//! Each request follows from a seed, which a failure names. `ROLLCAST_TEST_REQUESTS=100000 cargo test -p server --test all strange`
//! tries more of them, from a seed of its own.

use std::net::SocketAddr;

use crate::common::addresses::patterns;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{HeaderName, HeaderValue, Request, StatusCode, header};
use fastrand::Rng;
use http_body_util::BodyExt;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use server::access::scope::{LinkScope, WorkloadName};
use server::web::http::router;
use server::web::server_address::ServerAddress;
use timeline::address::Address;
use timeline::{Uid, Workload};
use tower::ServiceExt;

use crate::pages::people::{PROD, rules, site};

/// What nobody should send.
const STRANGE: [&str; 48] = [
    "",
    " ",
    "%",
    "%zz",
    "%00",
    "%ff%fe",
    "..",
    "../../etc/passwd",
    "%2e%2e%2f",
    "\u{202e}ab",
    "\u{0}",
    "\r\nX: y",
    "ä",
    "𝕏",
    "-1",
    "0",
    "1",
    "1.5",
    "1e400",
    "NaN",
    "9223372036854775807",
    "-9223372036854775808",
    "99999999999999999999",
    "2026-11-21T02:00",
    "9999-12-31T23:59:59Z",
    "-009999-01-01T00:00:00Z",
    "2026-02-30",
    "last-night",
    "yes",
    "30s",
    "99999999999999h",
    "-5m",
    "00000000-0000-0000-0000-000000000001",
    "00000000-0000-0000-0000-00000000000",
    "<script>",
    "\"'`;--",
    "a&b=c",
    "a,b,,",
    "app in (",
    "!app,app",
    "app=web,app!=web",
    "app notin ()",
    "/wall",
    "//evil.example",
    "https://evil.example/",
    "/clusters/prod/namespaces/rollover/deployments/web",
    "jsonl",
    "complete",
];
const PARAMETERS: [&str; 36] = [
    "q",
    "labels",
    "show",
    "by",
    "sort",
    "order",
    "cluster",
    "namespace",
    "at",
    "revision",
    "rollout",
    "uid",
    "with",
    "format",
    "redact",
    "theme",
    "to",
    "path",
    "when",
    "since",
    "until",
    "outcome",
    "trouble",
    "longer",
    "after",
    "zone",
    "rotate",
    "part",
    "code",
    "state",
    "iss",
    "left",
    "lasts",
    "id",
    "secret",
    "token",
];
const HEADERS: [&str; 16] = [
    "host",
    "origin",
    "cookie",
    "accept",
    "referer",
    "if-none-match",
    "sec-fetch-site",
    "sec-fetch-mode",
    "x-forwarded-user",
    "x-forwarded-groups",
    "x-forwarded-proto",
    "x-forwarded-for",
    "authorization",
    "content-type",
    "range",
    "accept-encoding",
];
const VALUES: [&str; 24] = [
    "localhost:7440",
    "[::1]:7440",
    "[::1",
    "localhost:99999",
    "LOCALHOST",
    "127.0.0.1.evil",
    "http://localhost:7440",
    "null",
    "https://",
    "://",
    "cross-site",
    "navigate",
    "partly",
    "fully",
    "foreign",
    "Bearer x.y.z",
    "Bearer ",
    "text/html",
    "https",
    "__Host-rollcast=; __Host-rollcast=",
    "__Host-rollcast-link=%00",
    "a=b; ; =; __Host-rollcast=////",
    "application/x-www-form-urlencoded",
    "bytes=-1",
];

fn one<'t>(of: &[&'t str], rng: &mut Rng) -> &'t str {
    of[rng.usize(..of.len())]
}

/// A text, as it is or put together of several.
fn text(rng: &mut Rng) -> String {
    match rng.u8(..8) {
        0 => "x".repeat(rng.usize(..9_000)),
        1 => (0..rng.usize(..40)).map(|_| rng.char(..)).collect(),
        2 => format!("{}{}", one(&STRANGE, rng), one(&STRANGE, rng)),
        _ => one(&STRANGE, rng).to_owned(),
    }
}

fn encoded(text: &str, rng: &mut Rng) -> String {
    if rng.u8(..5) == 0 { text.to_owned() } else { utf8_percent_encode(text, NON_ALPHANUMERIC).to_string() }
}

fn pairs(rng: &mut Rng) -> String {
    let pair = |rng: &mut Rng| {
        let value = text(rng);
        format!("{}={}", one(&PARAMETERS, rng), encoded(&value, rng))
    };
    let all: Vec<String> = (0..rng.usize(..5)).map(|_| pair(rng)).collect();
    all.join("&")
}

/// A request that follows from a seed; `None` where it is none that could be sent.
fn request(patterns: &[String], rng: &mut Rng) -> Option<Request<Body>> {
    let mut path = patterns[rng.usize(..patterns.len())].clone();
    for (name, usual) in [
        ("{cluster}", "prod"),
        ("{namespace}", "rollover"),
        ("{resource}", "deployments"),
        ("{name}", "web"),
        ("{revision}", "1"),
        ("{uid}", "00000000-0000-0000-0000-000000000001"),
    ] {
        let strange = text(rng);
        let part = if rng.u8(..4) == 0 { encoded(&strange, rng) } else { usual.to_owned() };
        path = path.replace(name, &part);
    }
    let method = one(&["GET", "GET", "GET", "GET", "POST", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PURGE"], rng);
    let mut request = Request::builder().method(method).uri(format!("{path}?{}", pairs(rng)));
    if rng.u8(..8) > 0 {
        request = request
            .header(header::HOST, "localhost:7440")
            .header("x-forwarded-user", one(&["partly", "fully", "foreign"], rng));
    }
    if method == "POST" && rng.bool() {
        request = request.header(header::ORIGIN, "http://localhost:7440").header(header::CONTENT_TYPE, VALUES[22]);
    }
    for _ in 0..rng.usize(..4) {
        let value = if rng.bool() { one(&VALUES, rng).to_owned() } else { text(rng) };
        let value = HeaderValue::from_bytes(value.as_bytes()).ok()?;
        request = request.header(HeaderName::from_static(one(&HEADERS, rng)), value);
    }
    let body = if rng.bool() { pairs(rng).into_bytes() } else { text(rng).into_bytes() };
    let mut request = request.body(if method == "POST" { Body::from(body) } else { Body::empty() }).ok()?;
    let peer = one(&["10.0.0.7:4000", "10.0.0.8:4000", "[::1]:1"], rng);
    request.extensions_mut().insert(ConnectInfo(peer.parse::<SocketAddr>().unwrap()));
    Some(request)
}

/// The first seed, and how many.
pub(crate) fn seeds(usual: u64) -> std::ops::Range<u64> {
    match std::env::var("ROLLCAST_TEST_REQUESTS").ok().and_then(|text| text.parse::<u64>().ok()) {
        Some(count) => {
            let first = fastrand::u64(..1 << 40);
            println!("{count} from seed {first}");
            first..first + count
        }
        None => 0..usual,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn strange_requests_are_answered() {
    let rollcast = site(&rules(&PROD)).await;
    let patterns = patterns();
    let (mut sent, mut good) = (0, 0);
    for seed in seeds(2_000) {
        let Some(request) = request(&patterns, &mut Rng::with_seed(seed)) else { continue };
        let what = format!("seed {seed}: {} {}", request.method(), request.uri());
        let who = request.headers().get_all("x-forwarded-user").iter().any(|user| user == "partly" || user == "fully");
        let rollcast = rollcast.clone();
        let answered = tokio::spawn(async move {
            let response = router(rollcast).oneshot(request).await.unwrap();
            let (status, headers) = (response.status(), response.headers().clone());
            // A stream of events does not end.
            let is_stream = headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
            let body = if is_stream {
                axum::body::Bytes::new()
            } else {
                response.into_body().collect().await.unwrap().to_bytes()
            };
            (status, headers, String::from_utf8_lossy(&body).into_owned())
        });
        let answered = tokio::time::timeout(std::time::Duration::from_secs(60), answered).await.expect(&what);
        let (status, headers, body) = answered.unwrap_or_else(|panic| panic!("{what}: {panic}"));
        assert!(status != StatusCode::INTERNAL_SERVER_ERROR && status.as_u16() < 504, "{what}: {status}");
        for name in ["content-security-policy", "x-content-type-options", "referrer-policy"] {
            assert!(headers.contains_key(name), "{what}: {status} without {name}");
        }
        assert!(who || !body.contains("kill-pod-"), "{what}: {status} tells a stranger of pods");
        sent += 1;
        good += usize::from(status.is_success());
    }
    assert!(sent > 1_000 && good > sent / 40, "{good} of {sent} made some sense");
}

#[test]
fn strange_hosts_and_addresses_are_none() {
    let server_address = [
        ServerAddress { hosts: vec!["rollcast.example.com".to_owned()], ..ServerAddress::default() },
        ServerAddress { public: "https://rollcast.example.com".parse().ok(), ..ServerAddress::default() },
    ];
    for seed in seeds(20_000) {
        let rng = &mut Rng::with_seed(seed);
        let (host, origin) = (text(rng), text(rng));
        for server_address in &server_address {
            let is_own = server_address.is_own(&origin, &host);
            let is_same = origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(&host));
            assert!(!is_own || is_same, "seed {seed}: {origin:?} {host:?}");
            assert!(
                !server_address.answers_to(&host, false) || server_address.answers_to(&host, true),
                "seed {seed}: {host:?}"
            );
        }
        let strange = text(rng);
        let named = Address::read(&strange).and_then(|address| address.named_workload());
        let workload =
            named.unwrap_or_else(|| Workload::deployment(strange.as_str(), strange.as_str(), strange.as_str()));
        let scope =
            LinkScope::Moment { of: WorkloadName::of(&workload), uid: Uid::from_bits(1), at_millis: rng.i64(..) };
        assert!(!scope.words(&text(rng)).chars().any(char::is_control), "seed {seed}");
    }
}
