//! Texts about a connection to a cluster.

use timeline::Millis;
use timeline::viewer::DeploymentCopy;
use timeline::wire::{Connection, ConnectionState, Forbidden};
use timeline::words::{self, safe, sentence_end};

/// Text of every cluster's connection while the page has no connection to the server.
pub const RECONNECTING: &str = "Reconnecting";

/// The badge of a Deployment without data.
pub const NO_DATA: &str = "No data";

/// Returns the badge of a Deployment, which also begins its sentence, while its cluster does not respond: the last verdict may be outdated.
/// `None` while it responds.
pub fn last_seen(state: &ConnectionState) -> Option<(&'static str, &'static str)> {
    matches!(state, ConnectionState::Stale { .. }).then_some((NO_DATA, "Last seen: "))
}

/// Marks the title of a page as outdated if its data may be: the title may be all that is visible of the page.
pub fn title(is_stale: bool, title: String) -> String {
    if is_stale { format!("Stale: {title}") } else { title }
}

/// Returns the badge of a Deployment that is not in the model. While its cluster cannot be read, it may exist.
pub fn missing_badge(state: &ConnectionState) -> &'static str {
    if is_unread(state) { "Not known yet" } else { "Not found" }
}

/// Titles the page of a Deployment that is not in the model.
pub fn missing_title(state: &ConnectionState, namespace: &str, name: &str) -> String {
    let (name, namespace) = (safe(name), safe(namespace));
    if is_unread(state) {
        format!("Deployment {name} in namespace {namespace} is not known yet")
    } else {
        format!("No Deployment {name} in namespace {namespace}")
    }
}

/// Describes a Deployment that is not in the model, for previews of links to its page.
pub fn missing_description(state: &ConnectionState) -> &'static str {
    if is_unread(state) { "The cluster is not read yet." } else { "There is no such Deployment." }
}

fn is_unread(state: &ConnectionState) -> bool {
    matches!(state, ConnectionState::Connecting | ConnectionState::Stale { .. })
}

/// Returns until when the data of a Deployment is known while its cluster does not respond: the time of the last response, or of later data
/// from a part of the cluster that still responds. `None` while all of it responds.
pub fn known_until_millis(copy: &DeploymentCopy, connection: &Connection) -> Option<Millis> {
    let ConnectionState::Stale { since_millis, .. } = connection.state else { return None };
    let pods = copy.model.pods.values().filter_map(|pod| pod.states.last().map(|(_, at)| *at));
    let sets = copy.model.replica_sets.values().filter_map(|set| set.scales.last().map(|scale| scale.at_millis));
    pods.chain(sets).chain([since_millis]).max()
}

/// Says that a past moment is shown.
pub fn as_it_was(moment: &str) -> String {
    format!("As it was at {moment}")
}

/// Returns the state of a cluster's connection in a word or two. `stamp` formats times of day.
pub fn state_words(connection: &Connection, stamp: &dyn Fn(Millis) -> String) -> String {
    let at_speed = |words: &str| match connection.speed_percent {
        0 => format!("{words} (paused)"),
        100 => words.to_owned(),
        percent => format!("{words} at {percent} %"),
    };
    match &connection.state {
        ConnectionState::Connecting => match listing(connection) {
            Some(listing) => format!("Connecting, {listing}"),
            None => "Connecting".to_owned(),
        },
        ConnectionState::Live => at_speed("Live"),
        ConnectionState::Stale { since_millis, .. } => format!("Stale since {}", stamp(*since_millis)),
        ConnectionState::Replay { .. } => at_speed("Recording"),
        ConnectionState::Unknown | ConnectionState::OtherNamespaces => "Not watched".to_owned(),
    }
}

/// Addition to a text about a lost connection while old data is shown.
const LAST_KNOWN: &str = " Showing last known data.";

/// Says that the server does not respond, and since when if that is known.
pub fn server_unreachable(since: Option<&str>, has_data: bool) -> String {
    let since = since.map(|since| format!(" since {since}")).unwrap_or_default();
    let shown = if has_data { LAST_KNOWN } else { "" };
    format!("Rollcast unreachable{since}.{shown}")
}

/// Says in how many seconds the page retries the connection to the server.
pub fn next_try(retry_seconds: Option<u32>) -> String {
    retry_seconds.map_or_else(|| "Trying again.".to_owned(), |seconds| format!("Next try in {seconds} s."))
}

/// Returns "Cluster “prod-eu” unreachable since 14:02:05 UTC: connection refused. Showing last known data."; `None` while it responds.
/// `stamp` formats times of day.
pub fn cluster_unreachable(
    cluster: &str,
    connection: &Connection,
    has_data: bool,
    stamp: &dyn Fn(Millis) -> String,
) -> Option<String> {
    let ConnectionState::Stale { since_millis, why, .. } = &connection.state else { return None };
    let shown = match connection.stale_kinds.as_slice() {
        _ if !has_data => String::new(),
        [] => LAST_KNOWN.to_owned(),
        kinds => format!(" Showing last known {}.", words::list(kinds)),
    };
    let since = unreachable_since(cluster, connection, &stamp(*since_millis));
    Some(format!("{since}: {}{shown}", safe(&sentence_end(why))))
}

/// Says when an unreachable cluster is retried, and the progress of slow first lists. Separate from [`cluster_unreachable`] and
/// [`loading`], because it changes with each retry and each page of a list.
pub fn progress(connection: &Connection, stamp: &dyn Fn(Millis) -> String) -> String {
    let next = match &connection.state {
        ConnectionState::Stale { retry_at_millis: Some(at), .. } => next_try_at(&stamp(*at)),
        ConnectionState::Stale { .. } => "Trying again.".to_owned(),
        ConnectionState::Connecting => return listing(connection).map_or_else(String::new, |words| words + "."),
        _ => return String::new(),
    };
    match listing(connection) {
        Some(words) => format!("{next} ({words})"),
        None => next,
    }
}

/// "Next try at 14:02:05 UTC."
pub fn next_try_at(stamp: &str) -> String {
    format!("Next try at {stamp}.")
}

/// Returns the beginning of a sentence that [`progress`] ends, while the first lists of a cluster take long.
pub fn loading(cluster: &str, connection: &Connection) -> Option<String> {
    let is_loading = connection.state == ConnectionState::Connecting && connection.listing.is_some();
    is_loading.then(|| format!("Rollcast is still loading cluster “{}”:", safe(cluster)))
}

/// Returns "Cluster “prod-eu” unreachable since 14:02:05 UTC"; while other kinds arrive, "Rollcast has received no events from cluster
/// “prod-eu” since 14:02:05 UTC".
pub fn unreachable_since(cluster: &str, connection: &Connection, stamp: &str) -> String {
    let cluster = safe(cluster);
    match connection.stale_kinds.as_slice() {
        [] => format!("Cluster “{cluster}” unreachable since {stamp}"),
        kinds => format!("Rollcast has received no {} from cluster “{cluster}” since {stamp}", kinds.join(" or ")),
    }
}

/// Lists the missing permissions, and which ones to request; empty if Rollcast may read everything.
pub fn forbidden(connection: &Connection) -> String {
    connection.forbidden.iter().map(may_not).collect::<Vec<_>>().join(" ")
}

/// Returns the missing permissions to read Deployments, in all namespaces or in some.
pub fn unread_deployments(connection: &Connection) -> impl Iterator<Item = &Forbidden> {
    connection.forbidden.iter().filter(|missing| missing.resource.starts_with("deployments"))
}

/// Says that observations are not written to the history now; `None` while they are.
pub fn unwritten(connection: &Connection, stamp: &dyn Fn(Millis) -> String) -> Option<String> {
    let unwritten = connection.unwritten.as_ref()?;
    let why = safe(unwritten.why.trim_end_matches('.'));
    Some(format!("History has not been written since {}: {why}.", stamp(unwritten.since_millis)))
}

/// Formats the progress of the first lists if they take long: "listing pods: 42,000 so far".
pub fn listing(connection: &Connection) -> Option<String> {
    connection.listing.as_ref().map(timeline::wire::Listing::words)
}

fn may_not(missing: &Forbidden) -> String {
    let (place, hint) = match &missing.namespace {
        Some(namespace) => (format!("namespace {namespace}"), ""),
        None => ("all namespaces".to_owned(), " Or choose namespaces that you may read with --namespace."),
    };
    format!(
        "Rollcast has no permission to {} {} in {place}. Ask for list and watch on {}.{hint}",
        missing.verb, missing.resource, missing.resource
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeline::wire::Listing;
    use timeline::words::clock;

    #[test]
    fn a_first_list_says_how_far_it_is() {
        let of_pods = Some(Listing { resource: "pods".into(), objects: 42_000 });
        let connection = Connection { listing: of_pods, ..Connection::default() };
        assert_eq!(listing(&connection).as_deref(), Some("listing pods: 42,000 so far"));
        assert_eq!(loading("prod", &connection).as_deref(), Some("Rollcast is still loading cluster “prod”:"));
        assert_eq!(progress(&connection, &clock), "listing pods: 42,000 so far.");
        let none = Connection::default();
        assert_eq!((listing(&none), loading("prod", &none), progress(&none, &clock)), (None, None, String::new()));
    }

    #[test]
    fn no_deployment_is_missed_before_its_cluster_was_read() {
        let told = |state| (missing_badge(&state), missing_title(&state, "shop", "web"), missing_description(&state));
        let stale = ConnectionState::Stale { since_millis: 0, retry_at_millis: None, why: String::new() };
        for unread in [ConnectionState::Connecting, stale].map(told) {
            let title = "Deployment web in namespace shop is not known yet".to_owned();
            assert_eq!(unread, ("Not known yet", title, "The cluster is not read yet."));
        }
        for read in [ConnectionState::Live, ConnectionState::Replay { name: "r".into() }].map(told) {
            let title = "No Deployment web in namespace shop".to_owned();
            assert_eq!(read, ("Not found", title, "There is no such Deployment."));
        }
    }

    #[test]
    fn what_is_lost_says_since_when_and_when_it_is_tried_again() {
        assert_eq!(
            server_unreachable(Some("14:02:05"), true),
            "Rollcast unreachable since 14:02:05. Showing last known data."
        );
        assert_eq!(server_unreachable(None, true), "Rollcast unreachable. Showing last known data.");
        assert_eq!(server_unreachable(None, false), "Rollcast unreachable.", "nothing is shown");
        assert_eq!([Some(3), None].map(next_try), ["Next try in 3 s.", "Trying again."]);
        let stale = |retry_at_millis| {
            let state =
                ConnectionState::Stale { since_millis: 0, retry_at_millis, why: "connection refused".to_owned() };
            Connection { state, ..Connection::default() }
        };
        let told = |connection: &Connection| cluster_unreachable("prod", connection, true, &clock).unwrap();
        // Screen readers announce the outage once, and not each retry.
        for (retry_at_millis, next) in [(Some(5_000), "Next try at 00:00:05."), (None, "Trying again.")] {
            let stale = stale(retry_at_millis);
            assert_eq!(
                told(&stale),
                "Cluster “prod” unreachable since 00:00:00: connection refused. Showing last known data."
            );
            assert_eq!(progress(&stale, &clock), next);
        }
        let partly = Connection { stale_kinds: vec!["pods".into(), "events".into()], ..stale(None) };
        assert_eq!(
            told(&partly),
            "Rollcast has received no pods or events from cluster “prod” since 00:00:00: connection refused. Showing last known pods and events."
        );
        assert_eq!(cluster_unreachable("prod", &Connection::default(), true, &clock), None);
    }
}
