//! The page on which viewers sign in.

use leptos::prelude::*;
use timeline::address::at;

use crate::components::header::{Header, Section};
use crate::components::trouble::Trouble;

/// Content of the page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignInPayload {
    /// Address to which the viewer returns after sign-in.
    pub to: String,
    /// Error about the submitted form; empty for none.
    pub trouble: String,
    /// Method of sign-in.
    pub way: SignInMethod,
}

/// Method of sign-in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SignInMethod {
    /// Viewers enter a Kubernetes token.
    #[default]
    Token,
    /// Viewers sign in at a provider.
    Provider {
        /// Address that starts the sign-in.
        start: String,
        /// Address that ends the session at the provider, for viewers who have just signed out here; empty for none.
        end: String,
    },
}

#[component]
pub(crate) fn SignIn(page: SignInPayload) -> impl IntoView {
    let SignInPayload { to, trouble, way } = page;
    let is_wrong = !trouble.is_empty();
    let way = match way {
        SignInMethod::Token => view! {
            <p>"Paste a Kubernetes token. You see the namespaces in which it may list pods."</p>
            <form method="post" action=at("/sign-in") class="sign-in">
                <input type="hidden" name="to" value=to/>
                <label>"Kubernetes token "<input type="password" name="token" required autocomplete="off" spellcheck="false" autofocus aria-describedby=is_wrong.then_some("trouble") aria-invalid=is_wrong.then_some("true")/></label>
                <button type="submit">"Sign in"</button>
            </form>
            <p class="muted">"To create one: "<code>"kubectl create token NAME -n NAMESPACE"</code>". The token is stored encrypted in a cookie of this browser, and nowhere else."</p>
        }
        .into_any(),
        // A link instead of a form: the page's policy forbids forms to other sites, also through a redirect of this server.
        SignInMethod::Provider { start, end } => {
            let end = (!end.is_empty()).then(|| {
                view! { <p class="muted">"You are signed out here. The provider may still know you: "<a href=end data-testid="provider-end">"sign out there as well"</a>"."</p> }
            });
            view! {
                <p>"Your organisation's sign-in says who you are. You see the namespaces in which the clusters let you list pods."</p>
                <p class="sign-in"><a href=start data-testid="start">"Sign in"</a></p>
                {end}
            }
            .into_any()
        }
    };
    view! {
        <Header section=Section::Other/>
        <main class="message card" data-testid="sign-in">
            <h1>"Sign in"</h1>
            <p>"Rollcast shows Kubernetes rollouts live: every pod, and why a rollout does not go on."</p>
            <Trouble words=trouble/>
            {way}
        </main>
    }
}
