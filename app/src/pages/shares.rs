//! Share links, for people without an account: the list of existing ones, and the page that opens one.

use leptos::prelude::*;
use timeline::address::at;

use crate::components::detail::share::LOCAL;
use crate::components::header::{Header, Section};
use crate::components::preview::preview;
use crate::components::trouble::Trouble;
use crate::detail::share::is_local;
use crate::payload::Preview;

/// A link as its maker sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedLine {
    /// Id of the link.
    pub id: String,
    /// Name of the page that the link opens.
    pub opens: String,
    /// Address of that page.
    pub to: String,
    /// When it expires, in words.
    pub until: String,
    /// Name of the viewer who made the link.
    pub maker: String,
}

/// Content of the page of links.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharesPayload {
    /// Scopes that a new link may open, each with its address, the most likely one first; empty if there is nothing to share.
    pub offers: Vec<(String, String)>,
    /// The link that was just made, and a note about it.
    pub made: Option<(String, String)>,
    /// The existing links.
    pub lines: Vec<SharedLine>,
    /// Whether the list has the links of all viewers, who may revoke each of them.
    pub is_everybodys: bool,
    /// Error message; empty without an error.
    pub trouble: String,
}

/// Lifetimes of links in the form.
const TIMES: [(&str, &str); 4] = [("1h", "1 hour"), ("1d", "1 day"), ("7d", "7 days"), ("30d", "30 days")];

/// The links that the viewer may revoke, and a form to make one.
#[component]
pub(crate) fn SharesPage(page: SharesPayload) -> impl IntoView {
    let SharesPayload { offers, made, lines, is_everybodys, trouble } = page;
    let has_made = made.is_some();
    let made = made.map(|(link, said)| {
        let local = is_local(&link).then(|| view! { <p class="local" role="note" data-testid="local">{LOCAL}</p> });
        view! {
            <section class="made">
                <h2>"Your link"</h2>
                <p>{said}" It is shown only once."</p>
                <p class="copied-link"><code class="link" id="made" data-testid="link">{link}</code>" "<button type="button" data-copies="made" hidden>"Copy"</button></p>
                {local}
            </section>
        }
    });
    let offer = match offers.as_slice() {
        [] if has_made => ().into_any(),
        [] => view! { <p>"To make a link, open a Deployment, one of its rollouts or moments or a wall, and choose “Links” at its top."</p> }.into_any(),
        _ => {
            let times = TIMES.map(|(value, words)| view! { <option value=value selected=value == "1d">{words}</option> });
            let offers = offers.into_iter().map(|(opens, to)| view! { <option value=to>{opens}</option> }).collect_view();
            view! {
                <form method="post" action=at("/shares") class="sign-in" data-testid="offer">
                    <p>"A link for people without an account, read-only. It works only while you may see its page yourself."</p>
                    <label>"It opens "<select name="to">{offers}</select></label>
                    <label>"It lasts "<select name="lasts">{times}</select></label>
                    <label class="check">
                        <input type="checkbox" name="preview" value="yes"/>
                        <span>"Let chats show a preview to everybody who sees the link"</span>
                    </label>
                    <button type="submit">"Make a link"</button>
                </form>
            }
            .into_any()
        }
    };
    let list = if lines.is_empty() {
        let nothing = if is_everybodys { "No active links." } else { "You have no active links." };
        view! { <p class="muted">{nothing}</p> }.into_any()
    } else {
        let by = is_everybodys.then(|| view! { <th>"Made by"</th> });
        let line = |line: SharedLine| {
            let SharedLine { id, opens, to, until, maker } = line;
            let maker = is_everybodys.then(|| view! { <td>{maker}</td> });
            let revoke = format!("Revoke {id}");
            view! {
                <tr>
                    <td><a href=to>{opens}</a></td>
                    {maker}
                    <td>{until}</td>
                    <td class="mono">{id.clone()}</td>
                    <td>
                        <form method="post" action=at("/shares/revoke")>
                            <input type="hidden" name="id" value=id/>
                            <button type="submit" aria-label=revoke>"Revoke"</button>
                        </form>
                    </td>
                </tr>
            }
        };
        let lines = lines.into_iter().map(line).collect_view();
        view! {
            <div class="shares">
                <table data-testid="shares">
                    <thead><tr><th>"Opens"</th>{by}<th>"Until"</th><th>"Name"</th><th>"Revoke"</th></tr></thead>
                    <tbody>{lines}</tbody>
                </table>
            </div>
        }
        .into_any()
    };
    view! {
        <Header section=Section::Links/>
        <main class="message wide" data-testid="links">
            <h1>"Share links"</h1>
            <Trouble words=trouble/>
            {made}
            {offer}
            <h2>{if is_everybodys { "All links" } else { "Your links" }}</h2>
            {list}
        </main>
    }
}

/// Confirmation of a signed-in viewer before a link replaces their access: any page may have led them here.
#[component]
pub(crate) fn ConfirmPage(says: String, secret: String) -> impl IntoView {
    view! {
        <Header section=Section::Other/>
        <main class="message" data-testid="shared">
            <h1>"A shared rollout"</h1>
            <p>{says}</p>
            <form method="post" action=at("/shared") class="sign-in">
                <input type="hidden" name="secret" value=secret/>
                <input type="hidden" name="confirmed" value="yes"/>
                <button type="submit">"Open"</button>
            </form>
        </main>
    }
}

/// The page that opens a link: its script sends the secret after the `#`. The page does not reveal what the link opens.
#[component]
pub(crate) fn SharedPage(
    trouble: String,
    /// Preview of the link, where its maker allowed one.
    shown: Option<Preview>,
) -> impl IntoView {
    if let Some(shown) = shown {
        preview(|| shown);
    }
    view! {
        <Header section=Section::Other/>
        <main class="message" data-testid="shared">
            <h1>"A shared rollout"</h1>
            <Trouble words=trouble/>
            <form method="post" action=at("/shared") class="sign-in" id="shared">
                <label>"The part of the link after # "<input name="secret" required autocomplete="off" spellcheck="false"/></label>
                <button type="submit">"Open"</button>
            </form>
        </main>
    }
}
