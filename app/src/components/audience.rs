//! The footer of a page: the viewer whose permissions apply, or that the page is open to everyone.

use leptos::prelude::*;
use timeline::address::at;

/// Viewers who may see the pages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Audience {
    /// Users of this machine: the server listens on loopback only.
    #[default]
    Nobody,
    /// Everyone who reaches the address: there is no sign-in.
    Everybody,
    /// A viewer who signed in.
    Known {
        /// The name of the viewer.
        name: String,
        /// Whether the viewer can sign out here: not if a proxy identifies them.
        can_leave: bool,
        /// Whether the viewer can make share links.
        can_share: bool,
    },
    /// A viewer who opened a share link.
    ByLink {
        /// The name of the viewer who made the link.
        maker: String,
        /// When the link expires, in words.
        until: String,
    },
}

/// The footer of a page. Renders nothing if only this machine can connect.
#[component]
pub fn Footer() -> impl IntoView {
    match use_context::<Audience>().unwrap_or_default() {
        Audience::Nobody => ().into_any(),
        Audience::Everybody => view! {
            <footer class="audience open" data-testid="audience">"No sign-in: everyone who can connect sees what this page shows."<a href=at("/status")>"Status"</a></footer>
        }
        .into_any(),
        Audience::ByLink { maker, until } => view! {
            <footer class="audience" data-testid="audience">
                <span>"You are viewing with a link from "<b>{maker}</b>"; it ends "{until}"."</span>
                <form method="post" action=at("/sign-out")><button type="submit">"Leave"</button></form>
            </footer>
        }
        .into_any(),
        Audience::Known { name, can_leave, .. } => {
            let leave = can_leave.then(|| view! { <form method="post" action=at("/sign-out")><button type="submit">"Sign out"</button></form> });
            view! { <footer class="audience" data-testid="audience"><span>"Signed in as "<b>{name}</b></span>{leave}<a href=at("/status")>"Status"</a></footer> }.into_any()
        }
    }
}
