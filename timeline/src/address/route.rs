//! Every path that the server answers, as a pattern, with the query parameters that it takes.

/// Declares [`Route`] with one pattern for each variant.
macro_rules! routes {
    ($($name:ident $pattern:literal,)*) => {
        /// A path of the server. Its values are in [`super::Address`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Route {
            $(#[doc = concat!("`", $pattern, "`")] $name,)*
        }

        impl Route {
            /// All routes, in the order in which [`super::Address::read`] tries them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Returns the path with names in braces for its values.
            pub const fn pattern(self) -> &'static str {
                match self { $(Self::$name => $pattern,)* }
            }
        }
    };
}

routes! {
    AllDeployments "/",
    Wall "/wall",
    Cluster "/clusters/{cluster}",
    Namespace "/clusters/{cluster}/namespaces/{namespace}",
    Workload "/clusters/{cluster}/namespaces/{namespace}/{resource}/{name}",
    Pod "/clusters/{cluster}/namespaces/{namespace}/{resource}/{name}/pods/{uid}",
    Revision "/clusters/{cluster}/namespaces/{namespace}/{resource}/{name}/revisions/{revision}",
    Rollouts "/clusters/{cluster}/namespaces/{namespace}/{resource}/{name}/rollouts",
    Share "/clusters/{cluster}/namespaces/{namespace}/{resource}/{name}/share",
    Compare "/clusters/{cluster}/namespaces/{namespace}/{resource}/{name}/compare",
    Export "/clusters/{cluster}/namespaces/{namespace}/{resource}/{name}/export",
    Badge "/clusters/{cluster}/namespaces/{namespace}/{resource}/{name}/badge.svg",
    PreviewSvg "/clusters/{cluster}/namespaces/{namespace}/{resource}/{name}/preview.svg",
    PreviewPng "/clusters/{cluster}/namespaces/{namespace}/{resource}/{name}/preview.png",
    ByUid "/deployments/{uid}",
    History "/history",
    Status "/status",
    QrCode "/qr.svg",
    ApiDeployments "/api/v1/deployments",
    ApiStatus "/api/v1/status",
    ApiTimeline "/api/v1/clusters/{cluster}/namespaces/{namespace}/{resource}/{name}/timeline",
    ApiRollouts "/api/v1/rollouts",
    ApiRecording "/api/v1/clusters/{cluster}/namespaces/{namespace}/{resource}/{name}/recording",
    ApiDescription "/api/v1/openapi.json",
    ApiShares "/api/v1/shares",
    ApiRevokeShare "/api/v1/shares/revoke",
    Stream "/api/v1/stream",
    SignIn "/sign-in",
    SignInStart "/sign-in/start",
    SignInCallback "/sign-in/callback",
    SignOut "/sign-out",
    Shares "/shares",
    RevokeShare "/shares/revoke",
    Shared "/shared",
    SharedPreview "/shared/{preview}",
    SharedPicture "/shared/{preview}/preview.png",
    Healthz "/healthz",
    Readyz "/readyz",
    Metrics "/metrics",
    Playground "/playground",
    PlaygroundEvents "/playground/events",
}

/// A query parameter: its name, and the values that it takes, as an error message names them.
pub type Parameter = (&'static str, &'static str);

const TIME: &str = "a time such as 2026-11-21T14:02:05.250Z, or milliseconds since 1970";
/// Format of date fields in forms.
const DATE: &str = "a time such as 2026-11-21 02:00";
const REVISION: &str = "the number of a revision, 1 or more";
const NUMBER: &str = "a number";

/// Parameters of lists and of walls.
const LIST: &[Parameter] = &[
    ("show", "trouble, moving, finished or stable"),
    ("by", "namespace or verdict"),
    ("sort", "status, name, available or since"),
    ("order", "asc or desc"),
    ("from", NUMBER),
    ("rotate", "seconds, 2 to 3600"),
    ("columns", "1 to 4"),
    ("sound", "on or off"),
    ("theme", "dark, light or auto"),
    ("zone", "utc, own, or the name of a time zone such as Europe/Berlin"),
];
const OF_WORKLOAD: &[Parameter] = &[
    ("uid", "the UID of a Deployment"),
    ("rollout", NUMBER),
    ("revision", REVISION),
    ("at", TIME),
    ("with", NUMBER),
    ("tz", "utc, or an offset from UTC such as +02:00"),
    ("format", "html or jsonl"),
    ("redact", "yes"),
];
const HISTORY: &[Parameter] = &[
    ("q", "at most eight words without a key, and 1,000 characters"),
    ("kind", "rollout, scaling, recovery, failure, deletion, or several with commas"),
    ("outcome", "complete, failed, scaled-to-zero, superseded, deleted or in-progress"),
    ("trouble", "yes"),
    ("longer", "30s, 2m, 10m or 1h"),
    ("when", "hour, day, today, last-night, yesterday, week or month"),
    ("since", DATE),
    ("until", DATE),
    ("tz", "utc, or an offset from UTC such as +02:00"),
    ("after", "the value of the previous page"),
    ("limit", "a number from 1 to 500"),
];

impl Route {
    /// Parameters whose values are checked. Others are free text.
    pub const fn parameters(self) -> &'static [Parameter] {
        match self {
            Self::AllDeployments | Self::Cluster | Self::Namespace | Self::Wall => LIST,
            Self::History | Self::ApiRollouts => HISTORY,
            Self::QrCode => &[("path", "the path of a page of this server")],
            _ => OF_WORKLOAD,
        }
    }

    /// Returns whether the address is a picture of a workload.
    pub const fn is_picture(self) -> bool {
        matches!(self, Self::Badge | Self::PreviewSvg | Self::PreviewPng)
    }
}
