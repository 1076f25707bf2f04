//! The parts that the page's program is made of. One is there from the start: what all pages share. Each of the others comes once, when
//! somebody goes where it is needed; the document names the one of its own page (`shell.rs`), so that it comes beside the program
//! and not after it. What two parts need is in the one that is there from the start (`xtask/src/page/parts.rs`).

use leptos::prelude::*;
use leptos_router::LazyRoute;

use crate::components::playground::strip::Strip;
use crate::pages::deployments::DeploymentsPage;
#[cfg(feature = "hydrate")]
use crate::pages::detail::__preload_details;
use crate::pages::detail::details;
use crate::pages::exported::ExportedPage;
use crate::pages::rollout::RolloutPage;
use crate::pages::wall::WallPage;
use crate::payload::{Page, Payload};
use crate::playground::Playground;

#[lazy]
fn lists() -> AnyView {
    view! { <DeploymentsPage/> }.into_any()
}

/// Place of a picture of a rollout.
pub enum PicturePlace {
    /// The page of a Deployment.
    Rollout,
    /// The wall.
    Wall,
    /// A file of its own, of which this is the content.
    File(Vec<u8>),
}

/// Pages with pictures of rollouts.
#[lazy]
pub fn pictures(of: PicturePlace) -> AnyView {
    match of {
        PicturePlace::Rollout => view! { <RolloutPage/> }.into_any(),
        PicturePlace::Wall => view! { <WallPage/> }.into_any(),
        PicturePlace::File(content) => match timeline::wire::decode(&content) {
            Ok(export) => view! { <ExportedPage export/> }.into_any(),
            Err(_) => {
                #[cfg(feature = "hydrate")]
                crate::browser::show_stopped();
                ().into_any()
            }
        },
    }
}

/// The strip above the pages of a playground.
#[lazy]
pub fn strip(first: Playground) -> AnyView {
    view! { <Strip first/> }.into_any()
}

/// A part of the program that not every page needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// [`lists`].
    Lists,
    /// [`pictures`].
    Pictures,
    /// The pages of details.
    Details,
    /// [`strip`].
    Strip,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Lists, Self::Pictures, Self::Details, Self::Strip];

    /// Returns the parts that a page needs.
    pub fn for_page(page: &Page) -> impl Iterator<Item = Self> + use<> {
        let part = match page.payload {
            Payload::List(_) => Self::Lists,
            Payload::Deployment(_) | Payload::Wall(_) => Self::Pictures,
            Payload::Detail(_) => Self::Details,
        };
        [Some(part), page.playground.is_some().then_some(Self::Strip)].into_iter().flatten()
    }

    /// Returns the name of its function, by which its files are found.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lists => "lists",
            Self::Pictures => "pictures",
            Self::Details => "details",
            Self::Strip => "strip",
        }
    }

    /// Loads it, once. The functions are those that `#[lazy]` makes.
    #[cfg(feature = "hydrate")]
    pub async fn load(self) {
        match self {
            Self::Lists => __preload_lists().await,
            Self::Pictures => __preload_pictures().await,
            Self::Details => __preload_details().await,
            Self::Strip => __preload_strip().await,
        }
    }
}

/// A page that is in one of the parts: the router loads that before it goes there.
macro_rules! route {
    ($(#[$doc:meta])* $route:ident, $view:expr, $part:expr) => {
        $(#[$doc])*
        pub struct $route;

        impl LazyRoute for $route {
            fn data() -> Self {
                Self
            }

            async fn view(_: Self) -> AnyView {
                $view.await
            }

            async fn preload() {
                #[cfg(feature = "hydrate")]
                {
                    // Going elsewhere on the way there would leave the router between both.
                    let _still = crate::browser::InertPage::start();
                    $part.load().await;
                }
            }
        }
    };
}

route!(
    /// The way to lists.
    DeploymentsRoute, lists(), Part::Lists
);
route!(
    /// The way to the page of a Deployment.
    RolloutRoute, pictures(PicturePlace::Rollout), Part::Pictures
);
route!(
    /// The way to the wall.
    WallRoute, pictures(PicturePlace::Wall), Part::Pictures
);
route!(
    /// The way to the page of a detail.
    DetailRoute, details(None), Part::Details
);

/// Nothing reads it. The program's data may not become longer by being split, as it does by the gaps that alignment makes, or all of it
/// stays in what all pages share: this is room for those gaps, and is in none of the parts.
#[cfg(target_arch = "wasm32")]
#[used]
static ROOM_FOR_GAPS: [u8; 1_024] = [1; 1_024];
