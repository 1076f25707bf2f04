//! The status page: connection and watches of each cluster. The page runs no program.

use leptos::prelude::*;
use timeline::address::at;
use timeline::words::{NO_CLUSTER, age, capitalized, grouped, grouped_count, safe};

use crate::components::banner::Banner;
use crate::components::header::{Header, Section};
use crate::status::{ClusterFigures, ClusterStatus, KindFigures, KindStatus, NOTHING, ServerStatus, StatusPayload};

#[component]
pub fn StatusPage(
    status: StatusPayload,
    /// Time of the page: "14:02:05 UTC".
    made: String,
) -> impl IntoView {
    let StatusPayload { mut clusters, trouble, server } = status;
    // Clusters with problems come first.
    clusters
        .sort_by_key(|cluster| cluster.advice.is_empty() && matches!(cluster.connection.state, "live" | "recording"));
    // Recordings have none.
    let has_table = clusters.iter().any(|cluster| !cluster.kinds.is_empty());
    let nothing = clusters.is_empty().then(|| view! { <p>{NO_CLUSTER}</p> });
    let clusters = clusters.into_iter().map(|cluster| view! { <Cluster cluster/> }).collect_view();
    view! {
        <Header section=Section::Other/>
        <Banner test_id="trouble" words=Signal::stored(trouble)/>
        <main class="history status" data-testid="status">
            <h1>"Status"</h1>
            <p class="muted">"At "{made}". "<a href=at("/status")>"Reload"</a></p>
            {nothing}
            {clusters}
            {server.map(|server| view! { <Server server/> })}
            {has_table.then(columns)}
        </main>
    }
}

fn columns() -> impl IntoView {
    view! {
        <section>
            <h2>"Columns"</h2>
            <dl>
                <dt>"Permission"</dt><dd>"Whether the API server lets Rollcast list and watch the kind."</dd>
                <dt>"Lag"</dt><dd>"Time from the arrival of the last event to its being applied to the timeline. Pages receive it at once, or 50 ms later while events stream in."</dd>
                <dt>"Restarts"</dt><dd>"Watches started again because the one before failed or its connection was lost."</dd>
                <dt>"Listed again"</dt><dd>"New lists of the kind, by reason. Expired: the API server no longer had the version that the watch stood at. Failed: watches failed several times, or were refused. Mute: watches ended without a word. Requested: the history began anew. Moved: the cluster has another address."</dd>
                <dt>"Skipped"</dt><dd>"Objects that could not be decoded; the log names the reasons."</dd>
            </dl>
        </section>
    }
}

#[component]
fn Cluster(cluster: ClusterStatus) -> impl IntoView {
    let class = match cluster.connection.state {
        "live" => "chip live",
        "recording" => "chip recorded",
        "connecting" => "chip past",
        _ => "chip stale",
    };
    let advice = cluster.advice.iter().map(|said| view! { <p class="banner">{said.clone()}</p> }).collect_view();
    let since = cluster.connection.since_millis.filter(|_| cluster.connection.state != "stale");
    let since = since.map(|since_millis| {
        view! { <dt>"In this state"</dt><dd>{format!("for {}", age(cluster.now_millis - since_millis))}</dd> }
    });
    let figures = cluster.figures.as_ref().map(|figures| facts(&cluster, figures));
    let rows = cluster.kinds.iter().map(|kind| row(&cluster, kind)).collect_view();
    let table = (!cluster.kinds.is_empty()).then(|| {
        view! {
            <table data-testid="kinds">
                <thead>
                    <tr>
                        <th>"Kind"</th><th>"State"</th><th>"Permission"</th><th>"Last event"</th><th>"Lag"</th><th>"Events"</th>
                        <th>"Restarts"</th><th>"Listed again"</th><th>"Skipped"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        }
    });
    view! {
        <section data-testid="cluster">
            <h2>{safe(&cluster.name)}" "<span class=class>{cluster.words.clone()}</span></h2>
            {advice}
            <dl>{since}{figures}</dl>
            {table}
        </section>
    }
}

fn facts(cluster: &ClusterStatus, figures: &ClusterFigures) -> impl IntoView + use<> {
    let address = figures.address.as_ref().map(|address| {
        view! { <dt>"API server"</dt><dd class="mono">{safe(address)}</dd> }
    });
    let heard = figures.queued.map(|_| view! { <dt>"Last response"</dt><dd>{cluster.ago(figures.heard_millis)}</dd> });
    let queue = figures.queued.zip(figures.queue_capacity).map(|(queued, capacity)| {
        let said = format!(
            "{} of {} events wait. A full queue slows the watches down; nothing is dropped.",
            grouped(queued as u64),
            grouped(capacity as u64)
        );
        view! { <dt>"Queue"</dt><dd>{said}</dd> }
    });
    let gaps = match figures.gaps {
        0 => "None".to_owned(),
        gaps => format!("A kind was not observed for a while, {}", grouped_count(gaps, "time")),
    };
    let dropped = match figures.frames_dropped {
        0 => "All sent".to_owned(),
        dropped => format!("{} not sent to viewers who fell behind", grouped(dropped)),
    };
    view! { {address}{heard}{queue}<dt>"Gaps"</dt><dd>{gaps}</dd><dt>"Frames"</dt><dd>{dropped}</dd> }
}

/// One kind. On a phone its cells are below each other, each with the name of its column.
fn row(cluster: &ClusterStatus, kind: &KindStatus) -> impl IntoView + use<> {
    let name = capitalized(kind.kind.plural().to_owned());
    let class = match kind.state {
        "live" => "sign",
        "connecting" => "sign quiet",
        "forbidden" => "sign bad",
        _ => "sign busy",
    };
    let figure = |read: fn(&KindFigures) -> String| kind.figures.as_ref().map_or_else(|| NOTHING.to_owned(), read);
    let last = cluster.ago(kind.figures.as_ref().and_then(|figures| figures.last_event_millis));
    let lag = figure(|figures| figures.lag_millis.map_or_else(|| NOTHING.to_owned(), |millis| format!("{millis} ms")));
    view! {
        <tr data-testid=kind.kind.name()>
            <th scope="row">{name}</th>
            <td data-label="State"><span class=class>{kind.words(cluster.now_millis)}</span></td>
            <td data-label="Permission">{capitalized(kind.permission.to_owned())}</td>
            <td data-label="Last event">{last}</td>
            <td data-label="Lag">{lag}</td>
            <td data-label="Events">{figure(|figures| grouped(figures.events))}</td>
            <td data-label="Restarts">{figure(|figures| grouped(figures.restarts))}</td>
            <td data-label="Listed again">{figure(KindFigures::relisted)}</td>
            <td data-label="Skipped">{figure(|figures| grouped(figures.skipped))}</td>
        </tr>
    }
}

#[component]
fn Server(server: ServerStatus) -> impl IntoView {
    let missed = server.history_missed.map(|missed| {
        let said = match missed {
            0 => "Nothing left out".to_owned(),
            missed => format!("Observations were left out {}", grouped_count(missed, "time")),
        };
        view! { <dt>"History"</dt><dd>{said}</dd> }
    });
    view! {
        <section>
            <h2>"This server"</h2>
            <dl>
                <dt>"Viewers"</dt><dd>{format!("{} connected, {} resynchronised after they fell behind", grouped(server.viewers), grouped(server.viewer_resyncs))}</dd>
                {missed}
            </dl>
        </section>
    }
}
