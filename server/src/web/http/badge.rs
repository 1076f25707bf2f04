//! `/clusters/…/deployments/{name}/badge.svg`: the verdict in two words, for READMEs and chats. Colours of its own, because a badge
//! stands on other people's pages.

use app::connection::{NO_DATA, last_seen};
use app::preview::escaped;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use timeline::view::Tone;
use timeline::wire::ConnectionState;
use timeline::words::safe;

use super::extract::NamedWorkload;
use super::respond::refuse_unchecked;
use crate::web::client_view::ClientView;

/// Caches may keep a badge for this long, in seconds.
const FRESH: &str = "public, max-age=10";
/// Room for one letter and beside a text, in pixels: badges are drawn without measuring fonts.
const LETTER: usize = 7;
const ROOM: usize = 12;
/// Longest text in a badge, in characters.
const LONGEST: usize = 40;

pub(super) async fn badge(view: ClientView, NamedWorkload(workload): NamedWorkload) -> Response {
    let label = workload.name.clone();
    let hub = view.hub(&workload).await;
    // While the cluster does not respond, the last state may be outdated.
    let state = hub.as_ref().map(|hub| hub.connection().borrow().state.clone());
    let quiet = |badge: &str, sentence: &str| (badge.to_owned(), Tone::Quiet, sentence.to_owned());
    let said = match (hub, state) {
        _ if refuse_unchecked(&view, &workload).is_err() => {
            Some(quiet(NO_DATA, "Your permissions cannot be checked right now."))
        }
        // The reason is for operators, and badges may be public.
        (_, Some(state)) if last_seen(&state).is_some() => Some(quiet(NO_DATA, "The cluster does not respond.")),
        (_, Some(ConnectionState::Connecting)) => Some(quiet("Connecting", "Rollcast is loading the cluster.")),
        (None, _) => None,
        (Some(hub), _) => {
            // The list contains it, unless it has ended or was deleted.
            let list = hub.list().await;
            let meant = list.iter().map(|listed| &listed.summary).find(|summary| {
                let is_named = *summary.namespace == *workload.namespace && *summary.name == *workload.name;
                is_named && workload.uid.is_none_or(|uid| uid == summary.uid)
            });
            let verdict = match meant {
                Some(summary) => Some(summary.verdict.clone()),
                None => hub.page(&workload).await.ok().and_then(|page| Some(page.said.view?.verdict)),
            };
            verdict.map(|verdict| (verdict.badge, verdict.tone, verdict.sentence))
        }
    };
    let status = if said.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
    let (badge, tone, sentence) = said.unwrap_or_else(|| quiet("Not found", "There is no such Deployment."));
    let headers = [(header::CONTENT_TYPE, "image/svg+xml"), (header::CACHE_CONTROL, FRESH)];
    (status, headers, draw(&label, &badge, tone, &sentence)).into_response()
}

fn draw(label: &str, badge: &str, tone: Tone, sentence: &str) -> String {
    let cut = |text: &str| safe(text).chars().take(LONGEST).collect::<String>();
    let (label, badge) = (cut(label), cut(badge));
    let width = |text: &str| text.chars().count() * LETTER + ROOM;
    let (left, right) = (width(&label), width(&badge));
    let colour = match tone {
        Tone::Ok => "#0d6457",
        Tone::Busy => "#7d4f00",
        Tone::Bad => "#a32d17",
        Tone::Quiet => "#585d63",
    };
    let (whole, label_at, badge_at) = (left + right, left / 2, left + right / 2);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{whole}\" height=\"20\" role=\"img\"><title>{}</title>\
         <rect width=\"{whole}\" height=\"20\" rx=\"3\" fill=\"#2b2f33\"/>\
         <path d=\"M{left} 0h{}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{}z\" fill=\"{colour}\"/>\
         <g fill=\"#fff\" text-anchor=\"middle\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">\
         <text x=\"{label_at}\" y=\"14\">{}</text><text x=\"{badge_at}\" y=\"14\">{}</text></g></svg>",
        escaped(&safe(sentence)),
        right - 3,
        right - 3,
        escaped(&label),
        escaped(&badge),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_stay_text_and_short() {
        let drawn = draw(&"</text><script>".repeat(50), "Complete", Tone::Ok, "\u{202e}<b>");
        assert!(!drawn.contains("<script>") && !drawn.contains("<b>") && !drawn.contains('\u{202e}'));
        assert!(drawn.len() < 1_500, "{}", drawn.len());
    }
}
