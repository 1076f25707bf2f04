//! Options of impersonation.

use clap::Args;

use crate::kube::credentials::Impersonation;

/// The user that requests to a cluster are made as, by kubectl's names.
#[derive(Debug, Clone, Default, Args)]
pub struct ImpersonationOptions {
    /// User to impersonate in requests to the Kubernetes API server
    #[arg(long, env = "ROLLCAST_AS", value_name = "USER")]
    pub r#as: Option<String>,
    /// Group to impersonate, repeatable; requires --as
    #[arg(long, env = "ROLLCAST_AS_GROUP", value_delimiter = ',', requires = "as", value_name = "GROUP")]
    pub as_group: Vec<String>,
}

impl ImpersonationOptions {
    /// The user and groups to impersonate.
    pub fn impersonation(&self) -> Impersonation {
        Impersonation { user: self.r#as.clone(), groups: self.as_group.clone() }
    }
}
