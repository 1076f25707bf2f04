//! Opens a page in the browser of the person at this machine.

use tokio::task::JoinHandle;

use crate::telemetry::print;

/// Opens a page. Where that fails, people open the address themselves.
pub fn open(address: String) -> JoinHandle<()> {
    // Some programs that open browsers return only when the browser ends.
    tokio::task::spawn_blocking(move || {
        if let Err(why) = webbrowser::open(&address) {
            print::error(&format!("cannot open a browser: {why}; open {address} yourself"));
        }
    })
}
