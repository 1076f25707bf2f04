//! The base path of the server if it shares a host with others: `/rollcast`.

use std::sync::OnceLock;

/// Set once, when the program starts: all addresses of the program depend on it.
static BASE: OnceLock<String> = OnceLock::new();

/// Sets the base path of all addresses: with a leading slash and without a trailing one. Later calls have no effect.
pub fn set_base(path: &str) {
    let _ = BASE.set(path.to_owned());
}

/// Returns the base path of all addresses; empty at the root of a host.
pub fn base() -> &'static str {
    BASE.get().map_or("", String::as_str)
}

/// Returns the address of a path of the server: "/rollcast/status" of "/status".
pub fn at(path: &str) -> String {
    format!("{}{path}", base())
}

/// Returns the path of an address: "/status" of "/rollcast/status". A proxy in front may have removed the base path already.
pub fn below_base(address: &str) -> &str {
    strip(base(), address)
}

fn strip<'a>(base: &str, address: &'a str) -> &'a str {
    match address.strip_prefix(base) {
        Some("") if !base.is_empty() => "/",
        // A query may follow the base path directly: `Address::read` and requests treat it as a query of the root.
        Some(rest) if base.is_empty() || rest.starts_with(['/', '?']) => rest,
        _ => address,
    }
}

#[cfg(test)]
mod tests {
    use super::strip;

    #[test]
    fn only_whole_segments_are_taken_away() {
        for (address, path) in [
            ("/rollcast", "/"),
            ("/rollcast/", "/"),
            ("/rollcast?q=web", "?q=web"),
            ("/rollcast/status?a=/rollcast", "/status?a=/rollcast"),
            ("/rollcaster/status", "/rollcaster/status"),
            ("/status", "/status"),
            ("/", "/"),
        ] {
            assert_eq!(strip("/rollcast", address), path, "{address}");
            assert_eq!(strip("", address), address);
        }
    }
}
