//! Signals that end the program.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Resolves at SIGINT (^C) or SIGTERM. Signals are caught from the call on: one before the first poll is not lost, and does not kill the
/// program.
pub(crate) fn interrupted() -> impl Future<Output = ()> {
    let [mut interrupt, mut terminate] =
        [SignalKind::interrupt(), SignalKind::terminate()].map(|kind| signal(kind).ok());
    async move {
        tokio::select! {
            () = received(&mut interrupt) => {}
            () = received(&mut terminate) => {}
        }
    }
}

/// Like [`interrupted`], in the first process of a container, where the kernel drops signals that it does not catch.
/// Never resolves in other processes, which signals end as usual.
pub(crate) async fn interrupted_as_first_process() {
    if std::process::id() == 1 { interrupted().await } else { std::future::pending().await }
}

async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}
