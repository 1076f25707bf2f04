//! Distinguishes addresses of this machine from others: secrets are sent without TLS to this machine only.

use std::net::IpAddr;

/// Returns whether a host name or an address in URL syntax is this machine.
pub fn is_this_machine(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
