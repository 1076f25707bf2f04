//! Details of one pod, of one revision, of all rollouts, and links to share: rendered by the server alone, shown beside the picture or as a page of their own.

pub mod pod;
pub mod revision;
pub mod rollouts;
pub mod share;

use leptos::prelude::*;
use timeline::Uid;
use timeline::words::{safe, shell_word as word};

use crate::address;

/// Where a detail belongs.
#[derive(Debug, Clone)]
pub struct Home {
    /// Name of the cluster.
    pub cluster: String,
    /// Namespace.
    pub namespace: String,
    /// Name of the Deployment.
    pub name: String,
    /// Which one of that name, where the link says it.
    pub uid: Option<Uid>,
}

impl Home {
    /// The page of the Deployment.
    #[must_use]
    pub fn page(&self) -> String {
        match self.uid {
            Some(uid) => address::permanent(&self.cluster, &self.namespace, &self.name, uid, None),
            None => address::deployment(&self.cluster, &self.namespace, &self.name),
        }
    }
}

/// The frame of a detail: a title, and a way back.
fn detail(home: &Home, test_id: &'static str, title: impl IntoView, body: impl IntoView) -> AnyView {
    view! {
        <article class="detail" data-testid=test_id>
            <a class="close" data-do="close" href=home.page() aria-label="Close" title="Close (Esc)">"\u{d7}"</a>
            <h2>{title.into_any()}</h2>
            {body.into_any()}
        </article>
    }
    .into_any()
}

/// A line of facts; nothing when there is nothing to say.
fn fact(name: &'static str, value: String) -> AnyView {
    if value.is_empty() {
        return ().into_any();
    }
    view! { <dt>{name}</dt><dd>{value}</dd> }.into_any()
}

/// Commands that show more, or do what this page never does, ready to copy.
fn commands(commands: Vec<(&'static str, String)>) -> AnyView {
    let line = |(what, command): (&'static str, String)| {
        view! {
            <li>
                <span>{what}</span>
                <code>{command.clone()}</code>
                <button data-copy=command>"Copy"</button>
            </li>
        }
    };
    view! {
        <h3>"In a terminal"</h3>
        <ul class="commands">{commands.into_iter().map(line).collect_view()}</ul>
    }
    .into_any()
}

/// A link when the text is an http(s) address, else the text: nothing else that a cluster says becomes a link.
fn linked(text: &str) -> AnyView {
    let text = safe(text);
    let is_address = ["https://", "http://"].iter().any(|scheme| text.starts_with(scheme)) && !text.contains(' ');
    if is_address {
        view! { <a href=text.clone() rel="noopener noreferrer nofollow" target="_blank">{text.clone()}</a> }.into_any()
    } else {
        text.into_any()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_web_addresses_become_links() {
        let markup = |text: &str| linked(text).to_html();
        assert!(markup("https://ci.example.com/7").contains("<a href=\"https://ci.example.com/7\""));
        for text in ["javascript:alert(1)", "data:text/html,x", " https://a b", "kubectl set image", "https://a b"] {
            assert!(!markup(text).contains("<a"), "{text}");
        }
        assert!(!markup("https://a\"><script>").contains("<script>"));
    }
}
