//! A detail of whichever kind.

use leptos::prelude::*;
use timeline::Workload;

use super::following::following;
use super::pod::PodView;
use super::revision::RevisionView;
use super::rollouts::RolloutsView;
use super::share::ShareView;
use crate::detail::Detail;

/// The detail. While it is about the same thing, only what changed in it is shown anew: focus and scroll stay where they are.
#[component]
pub fn DetailView(
    /// The workload that the detail is of.
    workload: Workload,
    /// The detail; followed while it is open.
    #[prop(into)]
    detail: Signal<Detail>,
) -> impl IntoView {
    let workload = StoredValue::new(workload);
    let subject = Memo::new(move |_| detail.with(Detail::subject));
    move || {
        let _ = subject.get(); // what is shown of another subject is another view
        match detail.get_untracked() {
            Detail::Pod(first) => {
                let pod = following(detail, *first, |detail| match detail {
                    Detail::Pod(pod) => Some((**pod).clone()),
                    _ => None,
                });
                view! { <PodView workload pod/> }.into_any()
            }
            Detail::Revision(first) => {
                let revision = following(detail, *first, |detail| match detail {
                    Detail::Revision(revision) => Some((**revision).clone()),
                    _ => None,
                });
                view! { <RevisionView workload revision/> }.into_any()
            }
            Detail::Rollouts(first) => {
                let rollouts = following(detail, first, |detail| match detail {
                    Detail::Rollouts(rollouts) => Some(rollouts.clone()),
                    _ => None,
                });
                view! { <RolloutsView workload rollouts/> }.into_any()
            }
            Detail::Share(first) => {
                let share = following(detail, first, |detail| match detail {
                    Detail::Share(share) => Some(share.clone()),
                    _ => None,
                });
                view! { <ShareView workload share/> }.into_any()
            }
        }
    }
}
