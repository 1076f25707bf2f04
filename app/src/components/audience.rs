//! The foot of a page: the viewer whose permissions it shows, or that it is open to everybody.

use leptos::prelude::*;
use timeline::address::at;

/// Viewers who may see the pages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Audience {
    /// Users of this machine: the server listens on loopback only.
    #[default]
    Nobody,
    /// Everybody who reaches the address: nobody is asked who they are.
    Everybody,
    /// Somebody who signed in.
    Known {
        /// The name that they signed in with.
        name: String,
        /// Whether they can sign out here; where a proxy knows who they are, they cannot.
        can_leave: bool,
        /// They can make links for people without an account.
        can_share: bool,
    },
    /// Somebody who came by a link.
    ByLink {
        /// The name of whoever made the link.
        maker: String,
        /// Until when the link opens anything, in words.
        until: String,
    },
}

/// The foot of a page; where only this machine looks there is none.
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
