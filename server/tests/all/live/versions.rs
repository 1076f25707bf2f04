//! Viewers and servers of other versions, and frames that are damaged on the way: one sentence, and a fresh start or an end; never a
//! wrong picture.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::routing::any;
use futures::{SinkExt, StreamExt};
use serde_json::json;
use timeline::wire::{self, PROTOCOL, REFUSED, ServerFrame, ViewerFrame};
use tokio_tungstenite::tungstenite;

use crate::live::program::{FOLLOWED, Running, last, serve, serve_router};
use crate::live::support::{FakeApi, Watched, deployment, until_live};

type Spoil = fn(Vec<u8>) -> Vec<u8>;

/// A server before another one: what passes is what that one says, but the first snapshot is spoilt. And how often that was so.
async fn spoiling(behind: SocketAddr, spoil: Spoil) -> (SocketAddr, Arc<AtomicUsize>) {
    let spoilt = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&spoilt);
    let stream = any(async move |upgrade: WebSocketUpgrade| {
        upgrade.on_upgrade(async move |socket| pass(socket, behind, spoil, &count).await)
    });
    (serve_router(Router::new().route("/api/v1/stream", stream)).await, spoilt)
}

/// Passes frames on, both ways, until one side has left.
async fn pass(socket: WebSocket, behind: SocketAddr, spoil: Spoil, count: &AtomicUsize) {
    let (server, _) = tokio_tungstenite::connect_async(format!("ws://{behind}/api/v1/stream")).await.unwrap();
    let ((mut to_viewer, mut from_viewer), (mut to_server, mut from_server)) = (socket.split(), server.split());
    loop {
        tokio::select! {
            said = from_viewer.next() => {
                let Some(Ok(Message::Binary(bytes))) = said else { return };
                if to_server.send(tungstenite::Message::Binary(bytes)).await.is_err() { return }
            }
            told = from_server.next() => {
                let Some(Ok(tungstenite::Message::Binary(bytes))) = told else { return };
                let is_snapshot = matches!(wire::decode(&bytes), Ok(ServerFrame::Snapshot(_)));
                let is_first = is_snapshot && count.fetch_add(1, Ordering::SeqCst) == 0;
                let bytes = if is_first { spoil(bytes.to_vec()).into() } else { bytes };
                if to_viewer.send(Message::Binary(bytes)).await.is_err() { return }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_frame_is_told_in_a_sentence_and_everything_is_fetched_anew() {
    let truncated: Spoil = |bytes| bytes[..bytes.len() / 2].to_vec();
    let unknown: Spoil = |bytes| [&[99], &bytes[1..]].concat();
    let too_long: Spoil = |bytes| [&bytes[..], &[0]].concat();
    for spoil in [truncated, unknown, too_long] {
        let api = FakeApi::start().await;
        let mut web = deployment(1, 2);
        web["status"]["updatedReplicas"] = json!(1);
        api.put(web.clone());
        let watched = Watched::start(&api, &[], |_| {});
        until_live(&watched.hub).await;
        let (address, snapshots) = spoiling(serve(&watched).await, spoil).await;
        let server = ["--server".to_owned(), format!("http://{address}"), "--timeout".to_owned(), "60s".to_owned()];
        let running = Running::wait(&server);
        running.until("this frame cannot be read").await;
        running.until(FOLLOWED).await;
        assert_eq!(snapshots.load(Ordering::SeqCst), 2, "the whole of it was fetched anew, once");
        assert!(!running.ended.is_finished(), "nothing was decided by what could not be read");
        web["status"]["updatedReplicas"] = json!(2);
        api.put(web);
        let ended = running.ended.await.unwrap();
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_another_version_is_told_in_a_sentence() {
    let stream = any(async |upgrade: WebSocketUpgrade| {
        upgrade.on_upgrade(async |mut socket| {
            let hello = ServerFrame::Hello { protocol: PROTOCOL + 1, build: String::new() };
            let _ = socket.send(Message::Binary(wire::encode(&hello).unwrap().into())).await;
            while socket.recv().await.is_some_and(|said| said.is_ok()) {}
        })
    });
    let address = serve_router(Router::new().route("/api/v1/stream", stream)).await;
    let ended = Running::wait(&["--server".to_owned(), format!("http://{address}")]).ended.await.unwrap();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let says = format!(
        "http://{address} runs another version of Rollcast (frames {}, here {PROTOCOL}). Use the same version here.",
        PROTOCOL + 1
    );
    assert!(last(&ended.error).contains(&says), "{ended:?}");
}

#[tokio::test]
async fn a_viewer_of_another_version_is_told_in_a_sentence_before_the_stream_closes() {
    let api = FakeApi::start().await;
    let address = serve(&Watched::start(&api, &[], |_| {})).await;
    let hello = |protocol| wire::encode(&ViewerFrame::Hello { protocol, build: "build".into() }).unwrap();
    for (bytes, says) in [
        (hello(PROTOCOL + 1), format!("this server speaks protocol {PROTOCOL}, not {};", PROTOCOL + 1)),
        (hello(PROTOCOL - 1), format!("this server speaks protocol {PROTOCOL}, not {};", PROTOCOL - 1)),
        (vec![99], format!("this is not a frame of protocol {PROTOCOL};")),
        (hello(PROTOCOL)[..2].to_vec(), format!("this is not a frame of protocol {PROTOCOL};")),
    ] {
        let (mut socket, _) = tokio_tungstenite::connect_async(format!("ws://{address}/api/v1/stream")).await.unwrap();
        socket.send(tungstenite::Message::Binary(bytes.into())).await.unwrap();
        let closed = loop {
            match socket.next().await.unwrap().unwrap() {
                tungstenite::Message::Close(frame) => break frame.unwrap(),
                tungstenite::Message::Binary(bytes) => {
                    let first: ServerFrame = wire::decode(&bytes).unwrap();
                    assert!(matches!(first, ServerFrame::Hello { protocol: PROTOCOL, .. }), "which protocol it speaks");
                }
                _ => {}
            }
        };
        assert_eq!(u16::from(closed.code), REFUSED);
        assert!(closed.reason.starts_with(&says), "{closed:?}");
    }
}
