//! The page of one Deployment: verdict, score, story, time.

use leptos::html;
use leptos::prelude::*;
use leptos_router::hooks::{use_params_map, use_query_map, use_url};
use timeline::address::at;
use timeline::wire::Scope;
use timeline::words::{safe, shell_word};
use timeline::{Workload, WorkloadKind};

use crate::browser;
use crate::components::preview::preview;
use crate::components::rollout::connection::ConnectionBars;
use crate::components::rollout::header::RolloutHeader;
use crate::components::rollout::keys;
use crate::components::rollout::legend::Legend;
use crate::components::rollout::link_bars::LinkBars;
use crate::components::rollout::score::Score;
use crate::components::rollout::story::Story;
use crate::components::rollout::table::PodTable;
use crate::components::rollout::transport::Transport;
use crate::components::rollout::verdict::VerdictLine;
use crate::components::title::PageTitle;
use crate::connection::{missing_badge, missing_title, title};
use crate::context::take_payload;
use crate::link_preview::page_title;
use crate::live::client::Live;
use crate::pages::panel::Panel;
use crate::payload::{DeploymentPayload, Payload};
use crate::rollout::board::{Board, RenderedPage};
use crate::rollout::controls::Controls;
use crate::rollout::picture::{FrameStyles, Picture};
use crate::rollout::screen::RolloutScreen;
use crate::score::frame::Frame;
use crate::score::motion::Motion;
use crate::score::{scale, scene, style_sheet};

/// The page. It is created anew for another Deployment, or another link to the same one.
#[component]
pub fn RolloutPage() -> impl IntoView {
    let (params, query, url) = (use_params_map(), use_query_map(), use_url());
    // Only the server can resolve a link to a revision to its moment.
    let asked = Memo::new(move |_| {
        let (params, query) = (params.read(), query.read());
        let part = |name| params.get(name).unwrap_or_default();
        let workload = Workload {
            cluster: part("cluster"),
            kind: params.get("resource").and_then(|resource| WorkloadKind::of_resource(&resource)).unwrap_or_default(),
            namespace: part("namespace"),
            name: part("name"),
            uid: query.get("uid").and_then(|uid| uid.parse().ok()),
            rollout: query.get("rollout").and_then(|rollout| rollout.parse().ok()),
        };
        let revision: Option<u64> = query.get("revision").and_then(|revision| revision.parse().ok());
        (workload, revision, query.get("at"))
    });
    move || {
        let (workload, revision, at) = asked.get();
        let payload =
            take_payload(|payload| if let Payload::Deployment(payload) = payload { Some(*payload) } else { None });
        if payload.is_none() && (revision.is_some() || at.is_some()) {
            Effect::new(move |_| url.with_untracked(browser::load));
        }
        if let Some(payload) = &payload {
            preview(|| payload.preview());
        }
        view! { <Rollout workload revision payload/> }
    }
}

/// One Deployment.
#[component]
pub fn Rollout(
    workload: Workload,
    revision: Option<u64>,
    /// Payload of the document, if it is of this page.
    payload: Option<DeploymentPayload>,
) -> impl IntoView {
    let scope = Scope::Workload(workload.clone());
    let (board, rendered) = payload.map(Board::rendered).unzip();
    let board = board.unwrap_or_else(|| Board::for_workload(workload.clone(), revision));
    let (picture, moving, sheet) = match &rendered {
        Some(rendered) => draw(board, rendered),
        None => (Picture::default(), FrameStyles::at(Frame::unmeasured(0, 60_000.0), 0.0), String::new()),
    };
    let (controls, as_table) = (Controls::provide(), NodeRef::<html::Input>::new());
    provide_context(board);
    come_alive(board, picture, rendered, scope, controls);
    Effect::new(move |_| keys::listen(controls, as_table, board.is_file));
    let titled = Signal::derive(move || {
        let badge = board.read_view(|view| view.verdict.badge.clone());
        let badge = match board.is_known.get() {
            false => "Connecting",
            true if badge.is_empty() => missing_badge(&board.connection.read().state),
            true => &badge,
        };
        let words = board.workload.with(|workload| page_title(badge, &workload.namespace, &workload.name));
        title(board.is_stale(), words)
    });
    // Moving styles until the program hydrates the page. After in-page navigation they are not needed, and there is no nonce.
    let nonce = leptos::nonce::use_nonce().map(|nonce| nonce.to_string());
    let placed = (!sheet.is_empty()).then(|| view! { <style id="placed" nonce=nonce inner_html=sheet></style> });
    let is_there = Memo::new(move |_| board.view.read().is_some());
    // A panel that covers the page is removed with the picture: nothing else could be used while it is open.
    Effect::new(move |_| {
        if !is_there.get() && controls.panel.is_covering() {
            controls.close();
        }
    });
    let shown = move |is_shown: bool| if is_shown { "shown" } else { "unused" };
    view! {
        <PageTitle text=titled/>
        <div class="page rollout" data-testid="page">
            <RolloutHeader board/>
            <ConnectionBars board/>
            <LinkBars board/>
            <main id="there" class=move || shown(is_there.get())>
                <VerdictLine board picture/>
                <div class=move || if picture.has_spare.get() { "main spare" } else { "main" } node_ref=picture.nodes.room>
                    {placed}
                    <Score board picture moving/>
                    <aside class="rail" aria-label="Story">
                        <h2>"What the controllers did"</h2>
                        <Story board picture controls/>
                        <Panel workload panel=controls.panel/>
                    </aside>
                    <PodTable board picture controls/>
                </div>
                <Transport board controls/>
                <Legend as_table/>
            </main>
            <div class="aside" role="status">{move || board.announced.get()}</div>
            {(!board.is_file).then(|| view! {
                <div class=move || shown(board.is_known.get() && !is_there.get())><MissingDeployment board/></div>
            })}
            <p class=move || if board.is_known.get() { "unused" } else { "message" } role="status">"Connecting to Rollcast…"</p>
        </div>
    }
}

/// Renders the picture for the server and for hydration: its signals, its moving styles and its style sheet. The board shows the same
/// moment.
fn draw(board: Board, rendered: &RenderedPage) -> (Picture, FrameStyles, String) {
    let (model, said, frame) = rendered.first_content(board);
    board.view.set(said.view.clone());
    board.second.set(frame.now_millis.div_euclid(1000));
    let scene = scene::scene(&model, rendered.copy.deployment, &said, frame, &Motion::default());
    let ticks = scale::ticks(frame.now_millis, frame.window_millis, frame.width);
    let (moving, sheet) = (FrameStyles::at(frame, scene.height), style_sheet::sheet(&scene, &ticks, frame));
    (Picture::from_scene(scene, ticks, frame), moving, sheet)
}

/// Follows the Deployment once the page is hydrated, until the viewer leaves it.
fn come_alive(board: Board, picture: Picture, rendered: Option<RenderedPage>, scope: Scope, controls: Controls) {
    let live = Live::of_app();
    let begin = move || {
        let screen = RolloutScreen::new(board, picture, rendered, scope, Some(controls.panel));
        controls.attach(screen.clone());
        screen.play_if_asked();
        let (before, after) = (screen.clone(), screen.clone());
        browser::on_window(leptos::ev::beforeprint, move |_| before.set_printing(true));
        browser::on_window(leptos::ev::afterprint, move |_| after.set_printing(false));
        screen
    };
    live.show(begin);
}

/// Says that there is no such Deployment, since when the server looks for it, and which other pages may help.
#[component]
fn MissingDeployment(board: Board) -> impl IntoView {
    let Workload { cluster, namespace, name, .. } = board.workload.get_untracked();
    let looking = move || {
        let cluster = safe(&cluster);
        // A stopped recording has no new data.
        if board.is_recorded() {
            let is_held = board.connection.read().speed_percent == 0;
            let state = if is_held {
                "Nothing new comes while it stands still."
            } else {
                "This page shows it as soon as it appears."
            };
            return format!("Recording {cluster} has no such Deployment at this point. {state}");
        }
        let since = board.dated(board.looking_since_millis.get());
        format!("Looking for it in cluster {cluster} since {since}. This page shows it as soon as it appears.")
    };
    let command = format!("kubectl --namespace {} get deployments", shell_word(&namespace));
    let title = move || missing_title(&board.connection.read().state, &namespace, &name);
    view! {
        <main class="message" data-testid="missing">
            <h1>{title}</h1>
            <p>{looking}</p>
            <p>"See " <a href=at("/")>"all Deployments"</a>", or "<code>{command}</code></p>
        </main>
    }
}
