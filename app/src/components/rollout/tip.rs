//! The tip of the score, for the place under the pointer or the pod with the focus: its state, start time and reason, or the number
//! of pods in each state.

use leptos::prelude::*;
use timeline::words::{duration, safe};

use crate::browser::placed;
use crate::detail::history::at_least;
use crate::numbers::fixed;
use crate::rollout::picture::{Picture, Tip, TipContent};
use crate::score::budget::Limit;
use crate::zone::Zone;

/// The words beside the place, and a line through its moment.
#[component]
pub fn PlaceTip(
    /// The picture whose places are told of.
    picture: Picture,
) -> impl IntoView {
    let zone = Zone::of_page();
    let class = move |name: &'static str| move || if picture.told.read().is_some() { name } else { "unused" };
    let of_tip = move |style: fn(&Tip) -> String| {
        Signal::derive(move || picture.told.with(|tip| tip.as_ref().map(style).unwrap_or_default()))
    };
    let (style, line) = (of_tip(|tip| tip.place.clone()), of_tip(|tip| format!("left:{}px", fixed(tip.x))));
    let words =
        Memo::new(move |_| picture.told.with(|tip| tip.as_ref().map(|tip| words(tip, zone)).unwrap_or_default()));
    let line_of = move |read: fn(&[String; 3]) -> &String| move || words.with(|words| read(words).clone());
    view! {
        <div class=class("crosshair") use:placed=line></div>
        <div class=class("tip") role="tooltip" data-testid="tip" use:placed=style>
            <b>{line_of(|[first, ..]| first)}</b>
            <span>{line_of(|[_, second, _]| second)}</span>
            <span>{line_of(|[.., third]| third)}</span>
        </div>
    }
}

/// Three lines, of which the last ones may be empty.
fn words(tip: &Tip, zone: Zone) -> [String; 3] {
    let at = zone.clock(tip.at_millis);
    match &tip.told {
        TipContent::Pod { name, look, since_millis, is_older, until_millis, lasted_millis, reason } => {
            let since = zone.clock(*since_millis);
            let lasted = format!("{}{}", at_least(*is_older), duration(*lasted_millis));
            let when = match until_millis {
                Some(until) => format!("{since} to {}, {lasted}", zone.clock(*until)),
                None => format!("since {since}, {lasted}"),
            };
            [safe(name), format!("{}: {when}", look.label()), safe(reason)]
        }
        TipContent::Ribbon(counts) => {
            [at, listed(counts.iter().map(|(look, count)| (*count, look.label()))), String::new()]
        }
        TipContent::Budget(counts, limits) => {
            let limits = limits
                .map(|limits| Limit::ALL.map(|limit| format!("{} {}", limit.name(), limit.of(limits))).join(", "));
            let counts = counts.iter().map(|(state, count)| (*count as usize, state.label()));
            [at, listed(counts), limits.unwrap_or_default()]
        }
    }
}

fn listed<'n>(counts: impl Iterator<Item = (usize, &'n str)>) -> String {
    let counts: Vec<String> = counts.map(|(count, name)| format!("{count} {name}")).collect();
    if counts.is_empty() { "no pods".to_owned() } else { counts.join(", ") }
}
