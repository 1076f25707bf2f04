//! Tests of the links of one Rollcast. Tests on a real database cover links that several servers share.

use axum::http::header;
use timeline::Workload;

use super::*;
use crate::access::Subjects;
use crate::access::scope::{LinkScope, WorkloadName};
use crate::kube::review::Subject;

const DAY: Millis = 24 * SHORTEST_LIFETIME;

fn viewer(user: &str) -> Viewer {
    Viewer::signed_in(user.into(), Subjects::Same(Subject { user: user.to_owned(), ..Subject::default() }))
}

fn web() -> LinkScope {
    LinkScope::Workload(WorkloadName::of(&Workload::deployment("prod", "shop", "web")))
}

fn wanted(scope: LinkScope, to: &str, lasts_millis: Millis) -> LinkRequest {
    LinkRequest { scope, to: to.to_owned(), lasts_millis, allows_preview: false }
}

fn shown(secret: &str) -> HeaderMap {
    let cookie = HeaderValue::from_str(&format!("__Host-rollcast-link={secret}")).unwrap();
    HeaderMap::from_iter([(header::COOKIE, cookie)])
}

#[tokio::test]
async fn a_link_opens_one_thing_until_it_ends_or_is_revoked_by_who_made_it() {
    let shares = Shares::open(SessionKeys::generate(), None).unwrap();
    let (ann, ben) = (viewer("ann"), viewer("ben"));
    let (share, secret) = shares.make(&ann, wanted(web(), "/x", DAY), 1_000).await.unwrap();
    let opened = shares.viewer(&shown(&secret), 1_000 + DAY - 1).await.unwrap().unwrap();
    assert_eq!((&*opened.name, opened.link.as_ref().unwrap().scope.clone()), ("ann", web()));
    assert_eq!(opened.subjects, ann.subjects, "with its maker's rights");
    assert!(shares.viewer(&shown(&secret), 1_000 + DAY).await.unwrap().is_none(), "it has ended");
    for changed in
        [secret.to_uppercase(), secret[1..].to_owned(), format!("{secret}A"), share.id.clone(), String::new()]
    {
        assert!(shares.find_by_secret(&changed, 1_000).await.unwrap().is_none(), "{changed}");
    }
    let others = Shares::open(SessionKeys::generate(), None).unwrap();
    let (_, foreign) = others.make(&ann, wanted(web(), "/x", DAY), 1_000).await.unwrap();
    assert!(shares.find_by_secret(&foreign, 1_000).await.unwrap().is_none(), "made elsewhere");
    assert_eq!((shares.list(&ann, Reach::Own, 1_000).len(), shares.list(&ben, Reach::Own, 1_000).len()), (1, 0));
    assert!(!shares.revoke(&ben, Reach::Own, &share.id).await.unwrap());
    assert!(!shares.revoke(&opened, Reach::All, &share.id).await.unwrap(), "not by who came by it");
    assert!(shares.find_by_secret(&secret, 1_000).await.unwrap().is_some());
    assert_eq!(shares.list(&ben, Reach::All, 1_000).len(), 1, "whoever sees everything sees all links");
    assert!(shares.revoke(&ann, Reach::Own, &share.id).await.unwrap());
    assert!(shares.find_by_secret(&secret, 1_000).await.unwrap().is_none());
}

#[tokio::test]
async fn only_who_signed_in_makes_links_and_not_without_end() {
    let shares = Shares::open(SessionKeys::generate(), None).unwrap();
    let ann = viewer("ann");
    let (_, secret) = shares.make(&ann, wanted(web(), "/x", DAY), 0).await.unwrap();
    let by_link = shares.viewer(&shown(&secret), 0).await.unwrap().unwrap();
    for maker in [by_link, Viewer::anonymous()] {
        assert!(matches!(shares.make(&maker, wanted(web(), "/x", DAY), 0).await, Err(ShareError::NotSignedIn)));
    }
    for lasts in [0, SHORTEST_LIFETIME - 1, LONGEST_LIFETIME + 1, Millis::MAX, -DAY] {
        assert!(matches!(shares.make(&ann, wanted(web(), "/x", lasts), 0).await, Err(ShareError::Time)), "{lasts}");
    }
    for _ in 1..LINKS_PER_MAKER {
        shares.make(&ann, wanted(web(), "/x", DAY), 0).await.unwrap();
    }
    assert!(matches!(shares.make(&ann, wanted(web(), "/x", DAY), 0).await, Err(ShareError::TooMany)));
    assert!(shares.make(&viewer("ben"), wanted(web(), "/x", DAY), 0).await.is_ok());
    assert!(shares.make(&ann, wanted(web(), "/x", DAY), DAY).await.is_ok(), "those that have ended do not count");
}

#[tokio::test]
async fn a_walls_link_lasts_for_as_long_as_it_is_used() {
    let shares = Shares::open(SessionKeys::generate(), None).unwrap();
    let wall = LinkScope::Wall { cluster: None, namespace: None };
    let (_, secret) = shares.make(&viewer("ann"), wanted(wall.clone(), "/wall", DAY), 0).await.unwrap();
    for half_days in 1..20 {
        assert!(
            shares.viewer(&shown(&secret), half_days * DAY / 2 + half_days).await.unwrap().is_some(),
            "{half_days}"
        );
    }
    assert!(
        shares.viewer(&shown(&secret), 11 * DAY).await.unwrap().is_none(),
        "nobody looked for longer than it lasts"
    );
    let (_, secret) = shares.make(&viewer("ann"), wanted(wall, "/wall", DAY), 0).await.unwrap();
    let mut lasted = 0;
    while shares.viewer(&shown(&secret), (lasted + 1) * DAY / 2 + lasted + 1).await.unwrap().is_some() {
        lasted += 1;
    }
    assert_eq!(lasted, 179, "90 days in all");
}

#[tokio::test]
async fn links_outlive_the_program_where_they_are_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let (keys, file) = (SessionKeys::generate(), folder.path().join("links.json"));
    let shares = Shares::open(keys.clone(), Some(file.clone())).unwrap();
    let ann = viewer("ann");
    let (first, secret) = shares.make(&ann, wanted(web(), "/x", DAY), 0).await.unwrap();
    let (second, _) = shares.make(&ann, wanted(web(), "/y", DAY), 0).await.unwrap();
    shares.revoke(&ann, Reach::Own, &second.id).await.unwrap();
    let again = Shares::open(keys.clone(), Some(file.clone())).unwrap();
    assert_eq!(again.list(&ann, Reach::Own, 0), [first]);
    assert!(again.find_by_secret(&secret, 0).await.unwrap().is_some());
    assert!(!std::fs::read_to_string(&file).unwrap().contains(&secret), "secrets are not written down");
    let text = std::fs::read_to_string(&file).unwrap();
    for wrong in [text.replace("\"version\":2", "\"version\":3"), text[..text.len() / 2].to_owned(), "[]".into()] {
        std::fs::write(&file, wrong).unwrap();
        assert!(matches!(Shares::open(keys.clone(), Some(file.clone())), Err(ShareError::Unreadable(..))));
    }
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert!(Shares::open(keys, Some(file)).is_err());
    assert!(matches!(
        shares.make(&ann, wanted(web(), "/x", DAY), 0).await,
        Err(ShareError::Store(LinkStoreError::File(_)))
    ));
    assert_eq!(shares.list(&ann, Reach::Own, 0).len(), 1, "one that is not written down is not made");
}

#[tokio::test]
async fn a_preview_is_there_where_the_maker_allowed_it_until_the_link_ends_and_opens_nothing_else() {
    let (shares, ann) = (Shares::open(SessionKeys::generate(), None).unwrap(), viewer("ann"));
    let (quiet, _) = shares.make(&ann, wanted(web(), "/x", DAY), 0).await.unwrap();
    assert_eq!(shares.preview_of(&quiet), None);
    let shown_before = LinkRequest { allows_preview: true, ..wanted(web(), "/x", DAY) };
    let (share, secret) = shares.make(&ann, shown_before, 0).await.unwrap();
    let preview = shares.preview_of(&share).unwrap();
    let (found, viewer) = shares.find_preview(&preview, 1).await.unwrap().unwrap();
    assert_eq!((found.id.as_str(), viewer.link.as_ref().unwrap().scope.clone()), (share.id.as_str(), web()));
    let sealed_for_another = shares.keys.seal_value(SealPurpose::Link, &share.id).unwrap();
    for other in [&secret, &share.id, &preview[1..].to_owned(), &String::new(), &sealed_for_another] {
        let other = other.replace('+', "-").replace('/', "_").replace('=', ".");
        assert!(shares.find_preview(&other, 1).await.unwrap().is_none(), "{other}");
    }
    let spelled = [("+", "-"), ("/", "_"), ("=", ".")].map(|(sealed, shown)| preview.replace(shown, sealed));
    for other in spelled.iter().filter(|other| **other != preview) {
        assert!(shares.find_preview(other, 1).await.unwrap().is_none(), "another spelling: {other}");
    }
    assert!(
        shares.find_by_secret(&preview, 1).await.unwrap().is_none()
            && shares.viewer(&self::shown(&preview), 1).await.unwrap().is_none()
    );
    assert!(shares.find_preview(&preview, DAY).await.unwrap().is_none(), "it has ended");
    shares.revoke(&ann, Reach::Own, &share.id).await.unwrap();
    assert!(shares.find_preview(&preview, 1).await.unwrap().is_none());
}
