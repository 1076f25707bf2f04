//! The stored rollouts of a Deployment, each with a link to its moment.

use leptos::prelude::*;
use timeline::Workload;

use super::following::lines;
use super::frame::Frame;
use super::moment::{Moment, present};
use crate::components::header::Breadcrumbs;
use crate::detail::rollouts::RolloutLine;
use crate::detail::{Detail, RolloutsDetail};
use crate::exported::Exported;
use crate::payload::Site;
use crate::zone::Zone;

/// All known rollouts of a workload, the latest first.
#[component]
pub fn RolloutsView(workload: StoredValue<Workload>, rollouts: Memo<RolloutsDetail>) -> impl IntoView {
    let zone = Zone::of_page();
    let is_file = Exported::of_app().is_some();
    let now_millis = present(move || rollouts.read().now_millis);
    let line = move |line: RolloutLine| {
        let address =
            workload.with_value(|workload| rollouts.with_untracked(|rollouts| rollouts.address(workload, &line)));
        let (name, took, images) = (line.name(), line.duration_words(), line.images.clone());
        let extremes = Some(line.extremes()).filter(|said| !said.is_empty());
        let extremes = extremes.map(|said| view! { <span>{said}</span>" " });
        let trouble = line.trouble.clone().filter(|trouble| !trouble.is_empty()).map(|trouble| format!("{trouble} "));
        let sign = line.status().map(|status| {
            let title = format!("{} {}", status.word, status.note);
            view! { <span class=format!("sign {}", status.mark.name()) title=title.trim_end().to_owned()></span> }
        });
        let moment = line.moment_millis;
        let began = move || line.began_words(|at| zone.dated(at, now_millis.get()));
        view! {
            <li>
                {sign}
                {match (is_file, moment) {
                    (false, _) => view! { <a href=address rel="external" data-testid="rollout">{name}</a> }.into_any(),
                    (true, None) => view! { <b>{name}</b> }.into_any(),
                    (true, Some(at_millis)) => {
                        let deployment = rollouts.with_untracked(|rollouts| rollouts.deployment);
                        view! { <b>{name}</b>", "<Moment workload deployment at_millis now_millis/> }.into_any()
                    }
                }}
                {format!(", {took}. ")}
                {trouble}
                <span class="muted"><span>{began}</span>" "{extremes}<span class="mono">{images}</span></span>
            </li>
        }
    };
    let past = workload.with_value(Breadcrumbs::for_workload).history_address();
    let compared = move || workload.with_value(|workload| rollouts.read().compare_address(workload));
    let compare = move || match rollouts.read().standing.as_str() {
        "" => "Compare the last one with earlier ones",
        _ => "Compare",
    };
    let pruned = move || rollouts.read().pruned_said();
    view! {
        <Frame workload test_id="rollouts-detail" title=move || Detail::Rollouts(rollouts.get()).title()>
            <p>
                {move || rollouts.read().standing.clone()}
                {(!is_file).then(|| view! { " "<a href=compared rel="external" data-testid="compare">{compare}</a> })}
            </p>
            <ul class="lines">{lines(move || rollouts.read().rollouts.clone(), line)}</ul>
            {Site::of_app().has_history.then(|| view! { <p><a href=past rel="external" data-testid="kept">"All rollouts in the history"</a></p> })}
            <Show when=move || rollouts.read().pruned != 0><p class="muted">{pruned}</p></Show>
        </Frame>
    }
}
