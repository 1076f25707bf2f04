//! A stored rollout, as a row of the history.

use leptos::prelude::*;
use timeline::address;
use timeline::episodes::{EpisodeRow, Search, Status};
use timeline::words::safe;

use crate::images::ImageText;

/// One rollout or other episode: its result, workload, images, and links to actions.
#[component]
pub fn PastRolloutRow(
    began: String,
    rollout: EpisodeRow,
    /// The offset from UTC of the times.
    zone: String,
) -> impl IntoView {
    let Status { mark, word, note } = rollout.status();
    let (cluster, namespace) = (rollout.cluster.clone(), rollout.namespace.clone());
    let place = Search { cluster, namespace, zone, ..Search::default() };
    let where_words = format!("{} / {}", safe(&rollout.cluster), safe(&rollout.namespace));
    let name = safe(&rollout.name);
    let images = ImageText::change(&rollout.images_before, &rollout.images);
    let all_images = images.whole.clone();
    let cause = rollout.cause_words();
    // The keys of the history lead to the name of a row, which plays the rollout.
    let named = if rollout.is_kept {
        view! { <a class="name" href=rollout.play_address() title=format!("{name}: play it")>{name.clone()}</a> }
            .into_any()
    } else {
        view! { <span class="name" title=name.clone()>{name.clone()}</span> }.into_any()
    };
    let row = rollout.is_kept.then_some("");
    view! {
        <tr class="past-rollout" data-testid="past" data-row=row>
            <td class="status"><span class=format!("sign {}", mark.name())>{word}</span>{(!note.is_empty()).then(|| view! { " "<small>{note}</small> })}</td>
            <td class="workload"><span class="cut"><a class="place" href=place.address() title=where_words.clone()>{where_words.clone()}</a>" / "{named}</span></td>
            <td class="revision">{rollout.revision}</td>
            <td class="images mono" title=all_images>{images.to_string()}</td>
            <td class="cause" title=cause.clone()><span>{cause.clone()}</span></td>
            <td class="took">{rollout.duration_words()}</td>
            <td class="when"><time>{began}</time></td>
            <td class="row-actions"><Actions rollout name/></td>
        </tr>
    }
}

/// Further facts about a rollout, and links to it.
#[component]
fn Actions(rollout: EpisodeRow, name: String) -> impl IntoView {
    let by = (!rollout.managed_by.is_empty()).then(|| format!(", by {}", safe(&rollout.managed_by)));
    let change = rollout.change_cause.as_deref().map(|cause| format!(" \u{201c}{}\u{201d}", safe(cause)));
    let facts = if rollout.is_rollout() {
        view! { <p>{rollout.result_words()}". "{rollout.trigger_words()}{by}{change}": "{rollout.extremes()}"."</p> }
            .into_any()
    } else {
        view! { <p>{rollout.title.clone()}"."</p> }.into_any()
    };
    let links = if rollout.is_kept {
        let compare = rollout.is_rollout().then(|| {
            let compare = address::compare(&rollout.workload(), rollout.uid, rollout.revision, None);
            view! { <a href=compare>"Compare"</a> }
        });
        let whole = (!rollout.is_going_on()).then(|| {
            let of = rollout.by_itself();
            view! {
                <a href=rollout.address()>"Show its end"</a>
                <a href=address::file(&of, None) download="">"Save as a file"</a>
                <a href=address::recording(&of) download="">"Save the recording"</a>
            }
        });
        view! { <a href=rollout.play_address()>"Play"</a>{compare}{whole} }.into_any()
    } else {
        view! { <p>"Its pods are no longer in the history."</p> }.into_any()
    };
    let label = format!("Actions for {name}, revision {}", rollout.revision);
    // Menus with the same name are exclusive: only one is open at a time.
    view! {
        <details class="menu" name="actions">
            <summary aria-label=label.clone() title=label>"\u{22ef}"</summary>
            <div>{links}{facts}</div>
        </details>
    }
}
