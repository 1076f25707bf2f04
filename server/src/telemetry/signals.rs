//! Signals that end the program.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Resolves at SIGINT (^C) or SIGTERM. Signals are caught from the call on: one before the first poll is not lost, and does not kill the
/// program.
pub(crate) fn wait_for_interrupt() -> impl Future<Output = ()> {
    let [mut interrupt, mut terminate] =
        [SignalKind::interrupt(), SignalKind::terminate()].map(|kind| signal(kind).ok());
    async move {
        tokio::select! {
            () = receive_signal(&mut interrupt) => {}
            () = receive_signal(&mut terminate) => {}
        }
    }
}

/// Like [`wait_for_interrupt`], in the first process of a container, where the kernel drops signals that it does not catch.
/// Never resolves in other processes, which signals end as usual.
pub(crate) async fn wait_for_interrupt_as_first_process() {
    if std::process::id() == 1 { wait_for_interrupt().await } else { std::future::pending().await }
}

async fn receive_signal(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}
