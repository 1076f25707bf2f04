//! Ends the program when a task panics that pages need to be current; goes on after all other panics.
//!
//! `panic = "abort"` would be shorter. But then an object or an address that makes one request panic would end the streams of all
//! viewers; as it is, it ends that request.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::FutureExt;

/// Exit code after a panic.
const BROKEN: i32 = 70;

/// Runs a task; a panic in it ends the program.
pub(crate) async fn exit_on_panic(name: String, task: impl Future<Output = ()>) {
    if AssertUnwindSafe(task).catch_unwind().await.is_err() {
        exit(&name);
    }
}

/// Runs the job of a thread; a panic in it ends the program.
pub(crate) fn exit_on_panic_of_thread(name: &str, job: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(job)).is_err() {
        exit(name);
    }
}

/// Locks a mutex, also after a panic of a task that held it.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn exit(name: &str) -> ! {
    tracing::error!("{name} panicked; exiting");
    std::process::exit(BROKEN)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Tells the test that it runs in a process of its own, and where to panic.
    const PLACE: &str = "ROLLCAST_TEST_PANIC";

    #[test]
    fn a_panic_in_a_task_or_a_thread_ends_the_program() {
        match std::env::var(PLACE).as_deref() {
            Ok("task") => {
                futures::executor::block_on(exit_on_panic("a task".to_owned(), async { panic!("in a task") }));
            }
            Ok(_) => exit_on_panic_of_thread("a thread", || panic!("in a thread")),
            Err(_) => {
                for place in ["task", "thread"] {
                    let mut program = Command::new(std::env::current_exe().unwrap());
                    let test = concat!(module_path!(), "::a_panic_in_a_task_or_a_thread_ends_the_program");
                    let (_, test) = test.split_once("::").unwrap();
                    let ended = program.args(["--exact", test]).env(PLACE, place).output().unwrap();
                    assert_eq!(ended.status.code(), Some(BROKEN), "{place}: {ended:?}");
                }
            }
        }
    }
}
