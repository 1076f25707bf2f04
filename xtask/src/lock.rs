//! Lock of the page's files: a second build waits until the first one has ended.

use std::fs::{File, TryLockError};
use std::path::Path;

use anyhow::{Context, Result};

/// Locks a file for as long as what is returned is open; the system lets go of it whatever ends the program. While another program has
/// locked it, this waits, after `says` said so.
pub fn locked(path: &Path, says: impl FnOnce()) -> Result<File> {
    let of_path = || format!("cannot lock {}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(of_path)?;
    }
    let file = File::create(path).with_context(of_path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            says();
            file.lock().with_context(of_path)?;
        }
        Err(TryLockError::Error(error)) => return Err(error).with_context(of_path),
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn a_second_build_says_that_it_waits_and_goes_on_when_the_first_has_ended() {
        let path = std::env::temp_dir().join(format!("rollcast-lock-{}", std::process::id())).join("lock");
        let first = locked(&path, || panic!("nobody else has it")).expect("it can be locked");
        let (said, hears) = channel();
        let again = said.clone();
        let second = {
            let path = path.clone();
            std::thread::spawn(move || {
                let lock = locked(&path, || said.send("waits").expect("somebody hears"));
                again.send("goes on").expect("somebody hears");
                drop(lock);
            })
        };
        assert_eq!(hears.recv_timeout(LONG), Ok("waits"));
        assert!(hears.try_recv().is_err(), "it does not go on while the first has the lock");
        drop(first);
        assert_eq!(hears.recv_timeout(LONG), Ok("goes on"));
        second.join().expect("it ends");
        drop(locked(&path, || panic!("nobody has it any more")).expect("it can be locked again"));
        std::fs::remove_dir_all(path.parent().expect("it is in a folder")).expect("it is ours");
    }
}
