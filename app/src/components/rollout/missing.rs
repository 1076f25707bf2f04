//! There is no Deployment of that name, or none yet; or nothing was heard of it so far.

use leptos::prelude::*;
use timeline::Workload;
use timeline::address::at;
use timeline::words::{safe, shell_word};

use crate::rollout::board::Board;
use crate::zone::Zone;

/// Says that there is no such Deployment, since when it is looked for, and where else to look.
#[component]
pub fn MissingDeployment(
    /// The state of the Deployment's page, which this follows.
    board: Board,
) -> impl IntoView {
    let zone = Zone::of_page();
    let Workload { cluster, namespace, name, .. } = board.workload.get_untracked();
    let looking = move || {
        let cluster = safe(&cluster);
        // Nothing new comes in a recording that stands still.
        if board.is_recorded() {
            let is_held = board.connection.read().speed_percent == 0;
            let state = if is_held {
                "Nothing new comes while it stands still."
            } else {
                "This page shows it as soon as it appears."
            };
            return format!("Recording {cluster} has no such Deployment at this point. {state}");
        }
        let since = zone.stamp(board.looking_since_millis.get());
        format!("Looking for it in cluster {cluster} since {since}. This page shows it as soon as it appears.")
    };
    let command = format!("kubectl --namespace {} get deployments", shell_word(&namespace));
    view! {
        <main class="message" data-testid="missing">
            <h1>{format!("No Deployment {} in namespace {}", safe(&name), safe(&namespace))}</h1>
            <p>{looking}</p>
            <p>"See " <a href=at("/")>"all Deployments"</a>", or "<code>{command}</code></p>
        </main>
    }
}
