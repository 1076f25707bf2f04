//! Pages of this Rollcast besides those of Deployments: the header leads to them.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

/// Pages that not every Rollcast has, or not for everybody.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// Rollouts are kept beyond the life of the server: there is a history.
    pub has_history: bool,
    /// The viewer can make links for people without an account.
    pub has_links: bool,
}

impl Site {
    /// The site around this component; without any of these pages where nobody said so.
    pub fn of_app() -> Self {
        use_context().unwrap_or_default()
    }
}
