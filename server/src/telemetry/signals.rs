//! Signals that end the program.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Whether the command waits for interrupts itself, to end in order.
static IS_HANDLED: AtomicBool = AtomicBool::new(false);

/// Resolves at SIGINT (^C) or SIGTERM. Signals are caught from the call on: one before the first poll is not lost, and does not kill the
/// program.
pub(crate) fn wait_for_interrupt() -> impl Future<Output = ()> {
    IS_HANDLED.store(true, Ordering::Relaxed);
    catch_interrupt()
}

fn catch_interrupt() -> impl Future<Output = ()> {
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
/// Does not resolve any more once the command calls that itself, and never in other processes, which signals end as usual.
pub(crate) async fn wait_for_interrupt_as_first_process() {
    if std::process::id() == 1 {
        catch_interrupt().await;
        if !IS_HANDLED.load(Ordering::Relaxed) {
            return;
        }
    }
    std::future::pending().await
}

async fn receive_signal(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}
