//! Damaged heads of requests, kubeconfigs, files of links and answers of clusters: nothing panics, and nothing is taken for what it is not.
//!
//! Each follows from a seed, which a failure names; `ROLLCAST_TEST_REQUESTS` tries more of them, as of strange requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fastrand::Rng;
use server::access::cookie::SessionKeys;
use server::access::scope::{LinkScope, WorkloadName};
use server::access::share::{LinkRequest, Shares};
use server::access::token::TokenAuth;
use server::kube::Pace;
use server::kube::credentials::Credentials;
use server::kube::kubeconfig::Contexts;
use server::kube::review::{Reviewer, Subject, TokenSender};
use server::web::connections::serve;
use server::web::http::router;
use server::web::state::Site;
use timeline::Workload;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::common;
use crate::common::damage::damaged;
use crate::pages::people::viewer;
use crate::pages::site::site_of;
use crate::pages::strange::seeds;

/// Names of the threads whose panics are counted: other tests of this process panic on purpose.
const THREAD: &str = "damaged-heads";

/// Panics in threads of that name, whichever task they are in: a task that panics ends its connection, and says nothing.
fn panics() -> Arc<AtomicUsize> {
    static COUNT: std::sync::OnceLock<Arc<AtomicUsize>> = std::sync::OnceLock::new();
    COUNT
        .get_or_init(|| {
            let (count, before) = (Arc::<AtomicUsize>::default(), std::panic::take_hook());
            let counted = count.clone();
            std::panic::set_hook(Box::new(move |info| {
                if std::thread::current().name() == Some(THREAD) {
                    counted.fetch_add(1, Ordering::Relaxed);
                }
                before(info);
            }));
            count
        })
        .clone()
}

#[test]
fn damaged_heads_of_requests_end_their_connection_and_nothing_else() {
    let runtime = tokio::runtime::Builder::new_multi_thread().thread_name(THREAD).enable_all().build().unwrap();
    runtime.block_on(send_damaged_heads());
}

async fn send_damaged_heads() {
    let heads = [
        "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nConnection: close\r\n\r\n",
        "POST /sign-in HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: 7\r\nConnection: close\r\n\r\ntoken=x",
        "POST /shared HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n\
         8\r\nsecret=x\r\n0\r\n\r\n",
        "GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n\u{2}\u{7f}\u{0}\u{0}",
        "GET /healthz HTTP/1.0\r\nHost: localhost\r\nCookie: __Host-rollcast=a; b\r\nX-Forwarded-For: 1.1.1.1, x\r\n\r\n",
    ];
    let panics = panics();
    let before = panics.load(Ordering::Relaxed);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let rollcast = site_of(Vec::new(), Site::default());
    tokio::spawn(serve(listener, router(rollcast.clone()), rollcast.connections.clone(), |_| true, None));
    let (mut answered, mut refused) = (0, 0);
    for seed in seeds(600) {
        let rng = &mut Rng::with_seed(seed);
        let head = damaged(rng.choice(heads).unwrap_or_default().as_bytes(), rng);
        let mut stream = TcpStream::connect(address).await.unwrap();
        let _ = stream.write_all(&head).await; // it may have hung up by now
        let _ = stream.shutdown().await;
        let mut answer = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut answer)).await;
        assert!(read.is_ok(), "seed {seed}: it does not end");
        let text = String::from_utf8_lossy(&answer);
        assert!(answer.is_empty() || text.starts_with("HTTP/1."), "seed {seed}: {text}");
        assert!(!text.contains(" 500 "), "seed {seed}: {text}");
        *(if text.contains(" 200 ") { &mut answered } else { &mut refused }) += 1;
    }
    assert!(answered > 0 && refused > 0, "{answered} {refused}");
    assert_eq!(panics.load(Ordering::Relaxed), before, "nothing panicked");
    crate::common::until::until("all are gone", async || rollcast.connections.count() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_kubeconfigs_are_read_or_refused() {
    let whole = "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts:\n- name: a\n  context: {cluster: c, user: u, namespace: shop}\n\
        clusters:\n- name: c\n  cluster:\n    server: https://127.0.0.1:6443\n    certificate-authority-data: LS0tLQ==\n    tls-server-name: x\n\
        users:\n- name: u\n  user:\n    token: secret-token\n    username: ann\n    password: secret-word\n";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kubeconfig");
    let (mut read, mut refused) = (0, 0);
    for seed in seeds(1_500) {
        let rng = &mut Rng::with_seed(seed);
        std::fs::write(&file, damaged(whole.as_bytes(), rng)).unwrap();
        let said = match Contexts::read(Some(&file)) {
            Err(why) => why.to_string(),
            Ok(contexts) => match contexts.choose(None) {
                Err(why) => why.to_string(),
                Ok(context) => {
                    let target = Credentials::new(contexts, context, "a".to_owned()).target(&Pace::default()).await;
                    read += 1;
                    target.err().map(|why| why.to_string()).unwrap_or_default()
                }
            },
        };
        refused += usize::from(!said.is_empty());
        assert!(!said.contains("secret"), "seed {seed}: {said}");
    }
    assert!(read > 50 && refused > 50, "{read} {refused}");
}

#[tokio::test]
async fn damaged_files_of_links_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (keys, file) = (SessionKeys::generate(), folder.path().join("links.json"));
    let shares = Shares::open(keys.clone(), Some(file.clone())).unwrap();
    let scope = LinkScope::Workload(WorkloadName::of(&Workload::deployment("prod", "shop", "web")));
    let wanted = LinkRequest { scope, to: "/x".to_owned(), lasts_millis: 86_400_000, allows_preview: false };
    shares.make(&viewer("ann"), wanted, 0).await.unwrap();
    let whole = std::fs::read(&file).unwrap();
    let (mut read, mut refused) = (0, 0);
    for seed in seeds(3_000) {
        let rng = &mut Rng::with_seed(seed);
        std::fs::write(&file, damaged(&whole, rng)).unwrap();
        match Shares::open(keys.clone(), Some(file.clone())) {
            Ok(_) => read += 1,
            Err(why) => {
                assert!(!why.to_string().is_empty());
                refused += 1;
            }
        }
    }
    assert!(read > 10 && refused > 500, "{read} {refused}");
}

/// A cluster that answers that, whatever it is asked.
pub(crate) fn reviewer(answer: Vec<u8>) -> Reviewer {
    common::reviewer::reviewer(Pace::default(), move |_| std::future::ready((200, answer.clone())))
}

#[tokio::test]
async fn damaged_answers_of_clusters_let_nobody_see_more() {
    let refused = br#"{"kind":"SubjectAccessReview","metadata":{},"spec":{"user":"ann"},"status":{"allowed":false,"reason":"no"}}"#;
    let known = br#"{"kind":"TokenReview","metadata":{},"spec":{},"status":{"authenticated":false,"user":{"username":"ann","groups":["dev"],"extra":{"a":["b"]}}}}"#;
    let mut said = 0;
    for seed in seeds(2_000) {
        let rng = &mut Rng::with_seed(seed);
        let subject = Subject { user: "ann".to_owned(), ..Subject::default() };
        let answer = damaged(refused, rng);
        let is_true = |answer: &[u8]| String::from_utf8_lossy(answer).contains("true");
        let may = reviewer(answer.clone()).may_list_pods(&subject, Some("shop")).await;
        said += usize::from(may.is_ok());
        assert!(!matches!(may, Ok(true)) || is_true(&answer), "seed {seed}: {}", String::from_utf8_lossy(&answer));
        let answer = damaged(known, rng);
        let whose = reviewer(answer.clone()).review_token("a.b.c", TokenSender::Unverified).await;
        assert!(!matches!(whose, Ok(Some(_))) || is_true(&answer), "seed {seed}: {}", String::from_utf8_lossy(&answer));
        // Tokens as people show them.
        let token = String::from_utf8_lossy(&damaged(b"eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ.c2ln", rng)).into_owned();
        let tokens = TokenAuth::new(SessionKeys::generate(), vec![("prod".to_owned(), reviewer(known.to_vec()))]);
        assert!(tokens.authenticate(&token, None).await.is_err(), "seed {seed}: {token:?}");
    }
    assert!(said > 100, "{said} were read");
}
