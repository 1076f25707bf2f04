//! Tells addresses of this machine from others: secrets are sent in the clear to nobody else.

use std::net::IpAddr;

/// A name or an address, as it stands in an address of the web, is of this machine.
pub fn is_this_machine(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
