//! Resolves links to a Deployment: its UID, revision and moment.
//!
//! | link | target |
//! |---|---|
//! | `…/deployments/web` | the Deployment that has the name now, live |
//! | `…?uid=U` | this one, whatever has the name later; frozen once it is deleted |
//! | `…?revision=7` | while 7 is the current revision: live; later: its last moment |
//! | `…?at=T` | as it was then |
//! | `…?uid=U&rollout=N` | one of its rollouts by itself, from the history |
//! | `/deployments/U` | leads to `…?uid=U`, wherever that is |
//!
//! Links to data that the hub no longer holds, and to clusters that are no longer watched, redirect to the history. For
//! all others a page says why they cannot be shown, with the nearest link that can.

use std::sync::Arc;

use app::payload::{DeploymentPayload, Payload};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use futures::future::join_all;
use timeline::address::{self, Address, InvalidParameter, at};
use timeline::model::Deployment;
use timeline::words::{clock, moment, safe};
use timeline::{Millis, Model, Uid, Workload, rollout};

use super::extract::{RequestAddress, moment as moment_of};
use super::respond::{Refusal, lost_rollout, no_cluster, refuse, refuse_not_found, render, unreadable_history};
use crate::history::store::{EpisodeSelector, StoreError};
use crate::hub::{Handle, ListedDeployment};
use crate::web::client_view::ClientView;

/// Clocks differ: a moment up to this far ahead is the present.
const AHEAD_MILLIS: Millis = 5_000;

/// The parameters of a link besides cluster, namespace and name.
#[derive(Debug, Clone, Copy)]
struct LinkParameters {
    uid: Option<Uid>,
    revision: Option<u64>,
    at_millis: Option<Millis>,
}

impl LinkParameters {
    fn read(address: &Address) -> Result<Self, InvalidParameter> {
        Ok(Self {
            uid: address.parse("uid")?,
            revision: address.check("revision", |text| text.parse().ok().filter(|revision| *revision > 0))?,
            at_millis: moment_of(address)?,
        })
    }

    /// Returns whether neither a revision nor a moment is named.
    const fn is_present(self) -> bool {
        self.revision.is_none() && self.at_millis.is_none()
    }
}

/// The target of a link now.
enum LinkTarget {
    /// The present.
    Live,
    /// A moment.
    Past(Millis),
    /// Another link.
    Redirect(String),
    /// Nothing can be shown: the reason, and (address, words) of what can.
    NotFound(String, Vec<(String, String)>),
}

/// Renders the page of a workload, or of a moment of it.
pub(super) async fn workload(view: &ClientView, workload: Workload, asked_for: &Address, request: Request) -> Response {
    if !asked_for.parameters.has("rollout") && !view.has_cluster(&workload.cluster) {
        return unwatched(view, &workload, asked_for, request).await;
    }
    let page = address::whatever_bears_the_name(&workload);
    let name = safe(&workload.name);
    let now = |page: &str| vec![(page.to_owned(), format!("{name} as it is now"))];
    let read = LinkParameters::read(asked_for).and_then(|named| Ok((named, asked_for.workload()?)));
    let (named, workload) = match read {
        Ok((named, meant)) => (named, meant.unwrap_or(workload)),
        Err(wrong) => return refuse(view, wrong, now(&page), request).await,
    };
    let hub = match view.hub_at(&workload, named.at_millis).await {
        Ok(hub) => hub,
        Err(lost) => {
            let unknown = format!("No such rollout of {name}. Its history may have expired.");
            return refuse(view, lost_rollout(view, &lost, unknown), now(&page), request).await;
        }
    };
    let connection = view.connection(&hub);
    let Ok(snapshot) = hub.page(&workload).await else {
        return (StatusCode::SERVICE_UNAVAILABLE, "Rollcast is shutting down.\n").into_response();
    };
    let target = match snapshot.deployment {
        Some(_) if named.is_present() => LinkTarget::Live,
        Some(uid) => known_target(view, &hub, &workload, (uid, named), snapshot.now_millis).await,
        None if named.uid.is_none() => LinkTarget::Live, // the page waits for the Deployment
        None => {
            let why = format!(
                "Rollcast knows no Deployment {name} in {} with this UID: its history has expired, or it never existed.",
                safe(&workload.namespace)
            );
            LinkTarget::NotFound(why, now(&page))
        }
    };
    let moment = match target {
        LinkTarget::Live => None,
        LinkTarget::Past(at_millis) => {
            let _turn = view.moment_turn().await;
            hub.moment(&workload, at_millis).await.ok()
        }
        LinkTarget::Redirect(link) => return redirect(&link, asked_for),
        LinkTarget::NotFound(why, instead) => {
            let refusal = match stored_link(view, &workload, named, snapshot.deployment, snapshot.now_millis).await {
                Ok(Some(link)) => return redirect(&link, asked_for),
                Ok(None) => Refusal(StatusCode::NOT_FOUND, why),
                Err(why) => unreadable_history(view, &why),
            };
            return refuse(view, refusal, instead, request).await;
        }
    };
    let status = if snapshot.deployment.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
    let page = DeploymentPayload {
        revision: named.revision.filter(|_| snapshot.deployment.is_some()),
        workload,
        connection,
        is_snapshot: view.part().is_some() && snapshot.deployment.is_some() && !hub.is_over,
        snapshot,
        moment,
    };
    render(view, Payload::Deployment(Box::new(page)), status, request).await
}

/// Returns the target of a link to a Deployment that the hub holds.
async fn known_target(
    view: &ClientView,
    hub: &Handle,
    workload: &Workload,
    (uid, named): (Uid, LinkParameters),
    now_millis: Millis,
) -> LinkTarget {
    let (workload, is_part) = (workload.clone(), view.part().is_some());
    let target = hub.read(move |reader| {
        let model = reader.timeline.model();
        let deployment = model.deployments.get(&uid)?;
        Some(KnownLink { model, deployment, named, workload: &workload, now_millis, is_part }.target())
    });
    target.await.ok().flatten().unwrap_or(LinkTarget::Live)
}

/// Resolves a link to a workload of a cluster that is not watched, but may have been.
async fn unwatched(view: &ClientView, workload: &Workload, asked_for: &Address, request: Request) -> Response {
    if let (Ok(named), Ok(Some(workload))) = (LinkParameters::read(asked_for), asked_for.workload()) {
        match stored_link(view, &workload, named, None, crate::telemetry::clock::now_millis()).await {
            Ok(Some(link)) => return redirect(&link, asked_for),
            Ok(None) => {}
            Err(why) => return refuse(view, unreadable_history(view, &why), Vec::new(), request).await,
        }
    }
    let (why, instead) = (no_cluster(view, &workload.cluster), in_other_clusters(view, workload).await);
    refuse(view, Refusal(StatusCode::NOT_FOUND, why), instead, request).await
}

/// Redirects, with the parameters that say how a page is shown.
fn redirect(link: &str, asked_for: &Address) -> Response {
    let mut link = link.to_owned();
    for name in ["play", "theme", "zone"] {
        if let Some(value) = asked_for.parameters.get(name) {
            link.extend(["&", name, "=", &address::segment(value)]);
        }
    }
    Redirect::temporary(&link).into_response()
}

/// Returns the link to the stored history of a rollout that the hub does not hold any more. `known` is the Deployment
/// that it holds.
async fn stored_link(
    view: &ClientView,
    workload: &Workload,
    named: LinkParameters,
    known: Option<Uid>,
    now_millis: Millis,
) -> Result<Option<String>, StoreError> {
    let Some(uid) = named.uid.or(known).filter(|_| workload.rollout.is_none()) else { return Ok(None) };
    if named.at_millis.is_some_and(|at| at > now_millis) {
        return Ok(None); // that time is in the future
    }
    let sought = match (named.at_millis, named.revision) {
        (Some(at_millis), _) => EpisodeSelector::At(at_millis),
        (None, Some(revision)) => EpisodeSelector::Revision(revision),
        (None, None) => EpisodeSelector::Last,
    };
    let cluster = workload.cluster.clone();
    let found = view.read_stored(workload, uid, move |reader| reader.find(&cluster, uid, sought)).await?;
    let Some((rollout, began_millis)) = found.flatten() else { return Ok(None) };
    let link = address::workload(&Workload { uid: Some(uid), rollout: Some(rollout), ..workload.clone() });
    // For a moment before the first stored episode, the begin of that episode is the nearest.
    let at = |at_millis: Millis| format!("{link}&at={}", at_millis.max(began_millis));
    Ok(Some(named.at_millis.map_or_else(|| link.clone(), at)))
}

/// A link to a Deployment that a hub holds.
struct KnownLink<'l> {
    model: &'l Model,
    deployment: &'l Deployment,
    named: LinkParameters,
    workload: &'l Workload,
    now_millis: Millis,
    /// The hub holds one rollout or one moment, and is frozen.
    is_part: bool,
}

impl KnownLink<'_> {
    fn target(&self) -> LinkTarget {
        match (self.named.at_millis, self.named.revision) {
            (Some(at_millis), _) => self.moment_target(at_millis),
            (None, Some(revision)) => self.revision_target(revision),
            (None, None) => LinkTarget::Live,
        }
    }

    fn moment_target(&self, at_millis: Millis) -> LinkTarget {
        let (name, now_millis) = (safe(&self.deployment.name), self.now_millis);
        let since_millis = self.deployment.known_since_millis();
        let is_by_itself = self.workload.rollout.is_some();
        let time_of_day = crate::telemetry::clock::now_millis();
        if (is_by_itself || self.is_part) && at_millis > now_millis {
            // A past rollout is frozen at its end, while the clock goes on.
            let why = if at_millis > time_of_day + AHEAD_MILLIS {
                format!("That moment is in the future: it is {} UTC now.", clock(time_of_day))
            } else if is_by_itself {
                format!("The history of this rollout of {name} ends at {} UTC.", moment(now_millis, time_of_day))
            } else {
                format!("This link shows {name} until {} UTC only.", moment(now_millis, time_of_day))
            };
            let last = (self.moment_address(now_millis), "The last moment shown".to_owned());
            LinkTarget::NotFound(why, [last].into_iter().chain(is_by_itself.then(|| self.live())).collect())
        } else if at_millis > now_millis + AHEAD_MILLIS {
            let why = format!("That moment is in the future: it is {} UTC now.", clock(now_millis));
            LinkTarget::NotFound(why, vec![self.live()])
        } else if at_millis >= now_millis {
            LinkTarget::Live
        } else if at_millis < since_millis {
            let why = format!("The history of {name} begins at {} UTC.", moment(since_millis, now_millis));
            let first = (self.moment_address(since_millis), "The first moment of its history".to_owned());
            LinkTarget::NotFound(why, vec![first, self.live()])
        } else {
            LinkTarget::Past(at_millis)
        }
    }

    fn revision_target(&self, revision: u64) -> LinkTarget {
        let Self { model, deployment, .. } = self;
        let (page, uid) = (self.page(), deployment.uid);
        let at = deployment.rollouts.iter().rposition(|rollout| rollout.revision == revision);
        match at.map(|at| rollout::last_moment_millis(model, deployment, at)) {
            Some(None) => LinkTarget::Live, // it is the current revision
            Some(Some(at_millis)) => {
                let at_millis = at_millis.max(deployment.known_since_millis());
                LinkTarget::Redirect(format!("{page}?uid={uid}&revision={revision}&at={at_millis}"))
            }
            None => {
                let name = safe(&deployment.name);
                let why =
                    format!("Rollcast saw no rollout of revision {revision} of {name}, or its history has expired.");
                let nearest = deployment.rollouts.iter().min_by_key(|rollout| rollout.revision.abs_diff(revision));
                let nearest = nearest.map(|rollout| {
                    let link = format!("{page}?uid={uid}&revision={}", rollout.revision);
                    (link, format!("Revision {}", rollout.revision))
                });
                // A revision from before watching began has no moments, but its ReplicaSet may exist.
                let known = model.sets_of(uid).find(|set| set.had_revision(revision)).map(|_| {
                    let link = format!("{page}/{}?uid={uid}", address::revision(revision));
                    (link, format!("Details of revision {revision}"))
                });
                LinkTarget::NotFound(why, known.into_iter().chain(nearest).chain([self.live()]).collect())
            }
        }
    }

    fn page(&self) -> String {
        address::whatever_bears_the_name(self.workload)
    }

    fn moment_address(&self, at_millis: Millis) -> String {
        match self.named.uid {
            _ if self.workload.rollout.is_some() => format!("{}&at={at_millis}", address::workload(self.workload)),
            Some(uid) => format!("{}?uid={uid}&at={at_millis}", self.page()),
            None => format!("{}?at={at_millis}", self.page()),
        }
    }

    /// Returns the address of the Deployment as it is now, with its words.
    fn live(&self) -> (String, String) {
        let page = self.page();
        let address = self.named.uid.map_or_else(|| page.clone(), |uid| format!("{page}?uid={uid}"));
        (address, format!("{} as it is now", safe(&self.deployment.name)))
    }
}

/// Returns links to Deployments of that name in other clusters.
async fn in_other_clusters(view: &ClientView, workload: &Workload) -> Vec<(String, String)> {
    let Workload { namespace, name, .. } = workload;
    let is_it = |known: &Arc<ListedDeployment>| known.summary.namespace == *namespace && known.summary.name == *name;
    let lists = join_all(view.hubs().map(async |hub| (hub, view.list(hub).await))).await;
    let link = |hub: &Handle| {
        let words = format!("{} / {} in cluster {}", safe(namespace), safe(name), safe(hub.name()));
        let there = Workload { cluster: hub.name().to_owned(), uid: None, ..workload.clone() };
        (address::whatever_bears_the_name(&there), words)
    };
    let found = lists.into_iter().filter(|(_, list)| list.iter().any(is_it)).map(|(hub, _)| link(hub));
    found.chain([(at("/"), "All Deployments".to_owned())]).collect()
}

/// Redirects to the whole link, with the other parameters of the short one.
fn redirect_to_uid(workload: &Workload, uid: Uid, request: &Request) -> Response {
    let rest = request.uri().query().map(|query| format!("&{query}")).unwrap_or_default();
    Redirect::temporary(&format!("{}{rest}", address::permanent(workload, uid, None))).into_response()
}

/// Redirects the short link by UID alone to the whole one.
pub(super) async fn by_uid(view: ClientView, RequestAddress(asked_for): RequestAddress, request: Request) -> Response {
    let uid = asked_for.value("uid");
    let Ok(wanted) = uid.parse::<Uid>() else {
        let why = format!("{} is not a valid UID.", safe(uid));
        let instead = vec![(at("/"), "All Deployments".to_owned())];
        return refuse(&view, Refusal(StatusCode::BAD_REQUEST, why), instead, request).await;
    };
    for hub in view.hubs() {
        let place = hub.read(move |reader| {
            let found = reader.timeline.model().deployments.get(&wanted)?;
            Some((found.namespace.clone(), found.name.clone()))
        });
        if let Ok(Some((namespace, name))) = place.await
            && let workload = Workload::deployment(hub.name(), namespace, name)
            && view.can_see(&workload)
        {
            return redirect_to_uid(&workload, wanted, &request);
        }
    }
    if let Some(archive) = view.archive() {
        let places = match archive.read(move |reader| reader.workloads(wanted)).await {
            Ok(places) => places,
            Err(why) => return refuse(&view, unreadable_history(&view, &why), Vec::new(), request).await,
        };
        if let Some(workload) = places.iter().find(|workload| view.can_see(workload)) {
            return redirect_to_uid(workload, wanted, &request);
        }
    }
    refuse_not_found(&view, "Rollcast has not seen a Deployment with that UID.".to_owned(), request).await
}
