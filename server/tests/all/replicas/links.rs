//! Links in a PostgreSQL database, which several Rollcasts share.

/// Left out as one where there is no PostgreSQL.
mod in_postgres {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use axum::http::{HeaderMap, HeaderValue, header};
    use server::access::cookie::{SealPurpose, SessionKeys};
    use server::access::scope::{LinkScope, WorkloadName};
    use server::access::share::{
        LinkRequest, LinkStoreError, LinksUnavailable, POLICY, Reach, RefreshPolicy, ShareError, Shares,
    };
    use server::access::{Subjects, Viewer};
    use server::database::address::DatabaseServer;
    use server::kube::review::Subject;
    use timeline::{Millis, Workload};

    use crate::common::postgres::{Postgres, shared};
    use crate::common::until::until;

    const DAY: Millis = 24 * 3_600_000;
    /// A link that is revoked at one of several is dead at all of them after this long, also where it is looked through already.
    const REVOKED_WITHIN: Duration = Duration::from_secs(5);

    fn now() -> Millis {
        server::telemetry::clock::now_millis()
    }

    fn viewer(user: &str) -> Viewer {
        Viewer::signed_in(user.into(), Subjects::Same(Subject { user: user.to_owned(), ..Subject::default() }))
    }

    fn wanted(name: &str) -> LinkRequest {
        let scope = LinkScope::Workload(WorkloadName::of(&Workload::deployment("prod", "shop", name)));
        LinkRequest { scope, to: format!("/{name}"), lasts_millis: DAY, allows_preview: true }
    }

    fn cookie(secret: &str) -> HeaderMap {
        let cookie = HeaderValue::from_str(&format!("__Host-rollcast-link={secret}")).unwrap();
        HeaderMap::from_iter([(header::COOKIE, cookie)])
    }

    /// A Rollcast that shares links, once it knows which there are.
    async fn one_of(server: &DatabaseServer, keys: &SessionKeys, policy: RefreshPolicy) -> Arc<Shares> {
        let shares = Shares::in_database(keys.clone(), server.clone(), policy);
        until("it knows which links there are", async || shares.check_current().is_ok()).await;
        shares
    }

    /// Two that share the same.
    async fn two(server: &DatabaseServer, policy: RefreshPolicy) -> (Arc<Shares>, Arc<Shares>) {
        let keys = SessionKeys::generate();
        (one_of(server, &keys, policy).await, one_of(server, &keys, policy).await)
    }

    async fn opens(shares: &Arc<Shares>, secret: &str) -> bool {
        // It may become known, or be revoked, between the two.
        loop {
            let by_cookie = shares.viewer(&cookie(secret), now()).await.unwrap().is_some();
            if shares.find_by_secret(secret, now()).await.unwrap().is_some() == by_cookie {
                return by_cookie;
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_made_at_one_opens_at_the_other_and_what_is_revoked_there_is_dead_soon() {
        let (one, other) = two(&shared().server(), POLICY).await;
        let ann = viewer("ann");
        for at in 0..3 {
            let (share, secret) = one.make(&ann, wanted("web"), now()).await.unwrap();
            // At once, whoever is asked first.
            match at {
                0 => assert!(opens(&other, &secret).await),
                1 => {
                    let preview = other.preview_of(&share).unwrap();
                    assert_eq!(other.find_preview(&preview, now()).await.unwrap().unwrap().0, share);
                }
                _ => {
                    other.refresh().await.unwrap();
                    assert!(other.list(&ann, Reach::Own, now()).contains(&share));
                }
            }
            assert!(opens(&one, &secret).await && opens(&other, &secret).await);
            assert!(!other.revoke(&viewer("ben"), Reach::Own, &share.id).await.unwrap(), "it is ann's at both");
            let began = Instant::now();
            assert!(other.revoke(&ann, Reach::Own, &share.id).await.unwrap());
            assert!(!opens(&other, &secret).await);
            until("it is dead at the other one", async || !opens(&one, &secret).await).await;
            assert!(began.elapsed() < REVOKED_WITHIN, "{:?}", began.elapsed());
            assert!(!one.revoke(&ann, Reach::Own, &share.id).await.unwrap(), "it is gone");
        }
        // One that the other has not heard of yet can be revoked there.
        let (share, secret) = one.make(&ann, wanted("web"), now()).await.unwrap();
        assert!(other.revoke(&ann, Reach::Own, &share.id).await.unwrap());
        until("it is dead", async || !opens(&one, &secret).await).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "nightly"]
    async fn the_links_of_somebody_are_limited_at_all_together() {
        let (one, other) = two(&shared().server(), POLICY).await;
        let make = |at: &Arc<Shares>, user: &'static str, count: usize| {
            let at = at.clone();
            tokio::spawn(async move {
                let mut made = Vec::new();
                for _ in 0..count {
                    match at.make(&viewer(user), wanted("web"), now()).await {
                        Ok((share, _)) => made.push(share.id),
                        Err(why) => assert!(matches!(why, ShareError::TooMany), "{why}"),
                    }
                }
                made
            })
        };
        let (ann, anns, ben) = tokio::join!(make(&one, "ann", 60), make(&other, "ann", 60), make(&other, "ben", 20));
        let (ann, ben) = ([ann.unwrap(), anns.unwrap()].concat(), ben.unwrap());
        assert_eq!((ann.len(), ben.len()), (100, 20));
        for at in [&one, &other] {
            at.refresh().await.unwrap();
            let names = |user| at.list(&viewer(user), Reach::Own, now()).into_iter().map(|share| share.id);
            let sorted = |mut ids: Vec<String>| {
                ids.sort();
                ids
            };
            assert_eq!(sorted(names("ann").collect()), sorted(ann.clone()));
            assert_eq!(sorted(names("ben").collect()), sorted(ben.clone()));
        }
        assert!(one.revoke(&viewer("ann"), Reach::Own, &ann[0]).await.unwrap());
        assert!(other.make(&viewer("ann"), wanted("web"), now()).await.is_ok(), "there is room again");
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "nightly"]
    async fn without_the_database_links_open_for_a_while_and_then_nothing_until_it_is_there_again() {
        let mut postgres = Postgres::start();
        let expire_after = Duration::from_secs(3);
        let (refresh_after, retry_after) = (Duration::from_millis(100), Duration::from_millis(100));
        let policy = RefreshPolicy { refresh_after, expire_after, retry_after };
        let (one, other) = two(&postgres.server(), policy).await;
        let ann = viewer("ann");
        let (first, first_secret) = one.make(&ann, wanted("web"), now()).await.unwrap();
        let (_, second_secret) = one.make(&ann, wanted("shop"), now()).await.unwrap();
        assert!(opens(&other, &first_secret).await && opens(&other, &second_secret).await);
        let began = Instant::now();
        postgres.stop();
        assert!(opens(&other, &first_secret).await, "it is known, and that is not long ago");
        let refused = one.make(&ann, wanted("web"), now()).await.unwrap_err();
        assert!(matches!(refused, ShareError::Store(LinkStoreError::Database(_))), "{refused}");
        assert!(!refused.to_string().contains("PostgreSQL at"), "where it is is nobody's business: {refused}");
        let unwritten = one.revoke(&ann, Reach::Own, &first.id).await.unwrap_err();
        assert!(matches!(unwritten, ShareError::Unwritten(_)), "{unwritten}");
        assert!(
            !matches!(one.find_by_secret(&first_secret, now()).await, Ok(Some(_))),
            "it is dead here, whatever comes"
        );
        // At the other one nobody can know: it opens until that is too long ago.
        until("nothing opens", async || {
            let opened =
                [other.find_by_secret(&first_secret, now()).await, other.find_by_secret(&second_secret, now()).await];
            opened == [Err(LinksUnavailable), Err(LinksUnavailable)]
        })
        .await;
        assert!(began.elapsed() < expire_after + Duration::from_secs(2), "{:?}", began.elapsed());
        assert_eq!(other.viewer(&cookie(&second_secret), now()).await.err(), Some(LinksUnavailable));
        assert_eq!(other.refresh().await, Err(LinksUnavailable));
        assert_eq!(
            other.viewer(&HeaderMap::new(), now()).await.unwrap().map(|_| ()),
            None,
            "who has no link is not asked"
        );
        postgres.start_again();
        until("links open again", async || matches!(other.find_by_secret(&second_secret, now()).await, Ok(Some(_))))
            .await;
        until("what was revoked meanwhile is dead", async || {
            matches!(other.find_by_secret(&first_secret, now()).await, Ok(None))
        })
        .await;
        until("what could not be made is nowhere", async || {
            one.refresh().await.is_ok() && one.list(&ann, Reach::Own, now()).len() == 1
        })
        .await;
        let (_, third) = one.make(&ann, wanted("web"), now()).await.unwrap();
        assert!(opens(&other, &third).await);
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "nightly"]
    async fn who_reads_or_writes_the_table_comes_by_no_link() {
        let (database, server) = shared().named_server();
        let keys = SessionKeys::generate();
        let one = one_of(&server, &keys, POLICY).await;
        let (share, secret) = one.make(&viewer("ann"), wanted("web"), now()).await.unwrap();
        let (other, other_secret) = one.make(&viewer("ben"), wanted("shop"), now()).await.unwrap();
        let rows = shared().sql(&database, "SELECT * FROM rollcast.links");
        assert!(rows.contains(&share.id) && rows.contains(&other.id));
        for hidden in ["ann", "ben", "web", "shop", "prod", secret.as_str(), other_secret.as_str()] {
            assert!(!rows.contains(hidden), "{hidden}: {rows}");
        }
        // What somebody else puts there is nothing: in plain, sealed with another key, or in the place of another one.
        let plain = serde_json::to_string(&share).unwrap().replace(&share.id, "planted");
        let foreign = SessionKeys::generate().seal_value(SealPurpose::StoredLink, &plain).unwrap();
        let of_other = shared().sql(&database, &format!("SELECT link FROM rollcast.links WHERE id = '{}'", other.id));
        for (edition, held) in [plain.as_str(), foreign.as_str(), of_other.as_str()].into_iter().enumerate() {
            shared().sql(
                &database,
                &format!(
                    "DELETE FROM rollcast.links WHERE id = 'planted';
                     INSERT INTO rollcast.links VALUES ('planted', {}, {}, 0, '{}')",
                    100 + edition,
                    i64::MAX,
                    held.replace('\'', "''")
                ),
            );
            let again = one_of(&server, &keys, POLICY).await;
            let known = |user| again.list(&viewer(user), Reach::All, now()).len();
            assert_eq!(known("ann"), 2, "{held}");
            let planted = keys.seal_value(SealPurpose::Link, "planted").unwrap();
            assert!(!opens(&again, &planted).await, "{held}");
            assert!(opens(&again, &secret).await);
        }
        // A Rollcast with other keys opens none of them, and has its own.
        let stranger = one_of(&server, &SessionKeys::generate(), POLICY).await;
        assert!(stranger.list(&viewer("ann"), Reach::All, now()).is_empty() && !opens(&stranger, &secret).await);
        shared().sql(&database, "UPDATE rollcast.links_edition SET edition = 1000");
        let (_, own) = stranger.make(&viewer("ann"), wanted("web"), now()).await.unwrap();
        assert!(opens(&stranger, &own).await && !opens(&one, &own).await);
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "nightly"]
    async fn keys_are_changed_without_an_end_of_links() {
        const OLD: &str = "0123456789abcdef0123456789abcdef";
        const NEW: &str = "fedcba9876543210fedcba9876543210";
        let keys = |lines: &[&str]| SessionKeys::parse(&lines.join("\n")).unwrap();
        let server = shared().server();
        let (old, both, new) = (keys(&[OLD]), keys(&[NEW, OLD]), keys(&[NEW]));
        let before = one_of(&server, &old, POLICY).await;
        let (share, secret) = before.make(&viewer("ann"), wanted("web"), now()).await.unwrap();
        let meanwhile = one_of(&server, &both, POLICY).await;
        assert!(opens(&meanwhile, &secret).await);
        // A browser was given its cookie anew, sealed with the new key.
        let anew = both.seal_value(SealPurpose::Link, &share.id).unwrap();
        let after = one_of(&server, &new, POLICY).await;
        assert!(opens(&after, &anew).await, "the link is read with the new key alone");
        assert!(!opens(&after, &secret).await, "what the old key sealed ends with it");
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "nightly"]
    async fn what_lasts_longer_at_one_does_at_the_other_and_rows_of_what_has_ended_go() {
        let (database, server) = shared().named_server();
        let (one, other) = two(&server, POLICY).await;
        let ann = viewer("ann");
        let wall = LinkRequest { scope: LinkScope::Wall { cluster: None, namespace: None }, ..wanted("wall") };
        let (share, secret) = one.make(&ann, wall, 0).await.unwrap();
        assert!(one.viewer(&cookie(&secret), DAY * 3 / 4).await.unwrap().is_some());
        let lasts =
            |shares: &Arc<Shares>| shares.list(&ann, Reach::Own, 0).iter().any(|it| it.until_millis == DAY * 7 / 4);
        assert!(lasts(&one) && share.until_millis == DAY);
        until("the other one knows", async || other.refresh().await.is_ok() && lasts(&other)).await;
        assert!(other.viewer(&cookie(&secret), DAY * 5 / 4).await.unwrap().is_some());
        // By the clock of the server that was long ago.
        let rows = || shared().sql(&database, "SELECT count(*) FROM rollcast.links");
        assert_eq!(rows(), "1");
        let (revoked, _) = other.make(&ann, wanted("web"), now()).await.unwrap();
        assert_eq!(rows(), "1", "what has ended makes room");
        assert!(one.revoke(&ann, Reach::Own, &revoked.id).await.unwrap());
        shared().sql(&database, "UPDATE rollcast.links SET until_millis = until_millis - 400000");
        other.make(&ann, wanted("shop"), now()).await.unwrap();
        assert_eq!(rows(), "1");
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "nightly"]
    async fn tables_of_a_later_version_open_nothing() {
        let (database, server) = shared().named_server();
        let keys = SessionKeys::generate();
        let before = one_of(&server, &keys, POLICY).await;
        let (_, secret) = before.make(&viewer("ann"), wanted("web"), now()).await.unwrap();
        shared().sql(&database, "UPDATE rollcast.links_migrations SET version = 99");
        let shares = Shares::in_database(keys, server, POLICY);
        assert_eq!(shares.find_by_secret(&secret, now()).await, Err(LinksUnavailable));
        let refused = shares.make(&viewer("ann"), wanted("web"), now()).await.unwrap_err();
        assert!(matches!(refused, ShareError::Store(LinkStoreError::Database(_))), "{refused}");
        assert_eq!(shares.refresh().await, Err(LinksUnavailable));
    }
}
