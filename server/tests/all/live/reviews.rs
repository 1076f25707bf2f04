//! What a cluster is asked about people, and what is made of its answers.

use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use server::hub::Handle;
use server::kube::credentials::Credentials;
use server::kube::error::RequestError;
use server::kube::kubeconfig::Contexts;
use server::kube::review::{Reviewer, Subject, TokenSender};
use timeline::Retention;
use tokio::sync::watch;

use crate::common;
use crate::common::until::until;
use crate::live::secrets::careless;
use crate::live::support::{FakeApi, Fault, Verb, quick, shop};

/// A cluster that answers that, and what it was asked.
fn reviewer(status: u16, answer: &Value) -> (Reviewer, Arc<Mutex<Vec<Value>>>) {
    let (answer, asked) = (answer.to_string().into_bytes(), Arc::<Mutex<Vec<Value>>>::default());
    let all = asked.clone();
    let reviewer = common::reviewer::reviewer(quick(), move |question| {
        all.lock().unwrap().push(question);
        std::future::ready((status, answer.clone()))
    });
    (reviewer, asked)
}

fn ann() -> Subject {
    Subject {
        user: "ann".to_owned(),
        groups: vec!["dev".to_owned()],
        uid: Some("u-1".to_owned()),
        extra: [("scopes".to_owned(), vec!["read".to_owned()])].into(),
    }
}

fn allowed() -> Value {
    json!({ "metadata": {}, "spec": {}, "status": { "allowed": true } })
}

#[tokio::test]
async fn all_that_is_known_of_who_asks_is_told_to_the_cluster() {
    let (reviewer, asked) = reviewer(201, &allowed());
    assert!(reviewer.may_list_pods(&ann(), Some("shop")).await.unwrap());
    assert!(reviewer.may_list_pods(&Subject { user: "bob".to_owned(), ..Subject::default() }, None).await.unwrap());
    let asked: Vec<Value> = asked.lock().unwrap().iter().map(|question| question["spec"].clone()).collect();
    assert_eq!(
        asked,
        [
            json!({ "user": "ann", "groups": ["dev"], "uid": "u-1", "extra": { "scopes": ["read"] },
                "resourceAttributes": { "verb": "list", "resource": "pods", "namespace": "shop" } }),
            json!({ "user": "bob", "groups": [], "resourceAttributes": { "verb": "list", "resource": "pods" } }),
        ]
    );
}

#[tokio::test]
async fn what_a_cluster_answers_to_a_question_that_it_does_not_take_is_told_by_its_kind() {
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    for code in [403, 401, 500] {
        let status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "secret", "reason": "Why", "code": code });
        let (reviewer, _) = reviewer(code, &status);
        let error = reviewer.may_list_pods(&ann(), Some("shop")).await.unwrap_err();
        let told = match &error {
            RequestError::Forbidden(what) => (403, what.clone()),
            RequestError::Unauthorized(what) => (401, what.clone()),
            RequestError::Unreachable(why) => (500, why.clone()),
            other => panic!("{other}"),
        };
        let words = match code {
            403 => "Rollcast's account lacks create on subjectaccessreviews.authorization.k8s.io".to_owned(),
            401 => format!("POST {path}"),
            _ => "the API server responded 500".to_owned(),
        };
        assert_eq!(told, (code, words));
    }
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_not_read_to_its_end() {
    let mut answer = allowed();
    answer["padding"] = "x".repeat(2 << 20).into();
    let (reviewer, _) = reviewer(201, &answer);
    let told = reviewer.may_list_pods(&ann(), None).await;
    assert!(matches!(told, Err(RequestError::TooLong(_))), "{told:?}");
}

#[tokio::test]
async fn who_may_see_nothing_is_answered_by_the_same_cluster() {
    let (reviewer, asked) = reviewer(201, &allowed());
    let (mut hub, _) = Handle::start("prod", Arc::default(), Retention::default());
    hub.accent = 3;
    let empty = hub.with_reviewer(reviewer).empty();
    assert!(empty.reviewer.may_list_pods(&ann(), None).await.unwrap());
    assert_eq!((asked.lock().unwrap().len(), empty.name(), empty.accent), (1, "prod", 3));
}

#[tokio::test]
async fn a_review_without_an_answer_is_made_again_with_the_next_credentials() {
    const REVIEWS: &str = "subjectaccessreviews";
    let (api, folder) = (FakeApi::start().await, tempfile::tempdir().unwrap());
    let path = folder.path().join("kubeconfig");
    std::fs::write(&path, careless(&api, "one", false)).unwrap();
    let reviewer = by_kubeconfig(&path).await.0;
    api.fault(Verb::List, REVIEWS, Fault::Hang);
    api.fault(Verb::List, REVIEWS, Fault::Say(allowed().to_string()));
    let first = tokio::spawn({
        let reviewer = reviewer.clone();
        async move { reviewer.may_list_pods(&ann(), None).await }
    });
    until("a review that hangs", async || api.requests(Verb::List, REVIEWS) == 1).await;
    std::fs::write(&path, careless(&api, "two", false)).unwrap();
    api.take_only("two");
    let refused = reviewer.may_list_pods(&ann(), None).await;
    assert!(matches!(refused, Err(RequestError::Unauthorized(_))), "{refused:?}");
    assert!(first.await.unwrap().unwrap());
    assert_eq!(api.requests(Verb::List, REVIEWS), 3);
}

/// The cluster of a kubeconfig, and what is said of its safety.
async fn by_kubeconfig(path: &Path) -> (Reviewer, Vec<String>) {
    let contexts = Contexts::read(Some(path)).unwrap();
    let credentials = Credentials::new(contexts, Some("shop".to_owned()), "shop".to_owned());
    let target = credentials.target(&quick()).await.unwrap();
    (Reviewer::new(watch::channel(Some(target.access)).1), target.warnings)
}

#[tokio::test]
async fn a_token_is_not_sent_where_others_could_read_it() {
    let api = shop().await;
    api.take_only("good");
    for (is_careless, is_asked) in [(false, true), (true, false)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        std::fs::write(&path, careless(&api, "good", is_careless)).unwrap();
        let (reviewer, warnings) = by_kubeconfig(&path).await;
        let says = "shop: tokens of viewers (--auth token) are not sent to this cluster";
        assert_eq!(warnings.iter().any(|warning| warning.starts_with(says)), is_careless, "{warnings:?}");
        let before = api.all_requests();
        for sender in [TokenSender::Unverified, TokenSender::Known] {
            let whose = reviewer.review_token("somebody's", sender).await;
            assert!(is_asked || matches!(whose, Ok(None)), "{whose:?}");
        }
        assert_eq!(api.all_requests() - before, if is_asked { 2 } else { 0 });
        // What holds no secret is asked all the same.
        let _ = reviewer.may_list_pods(&ann(), None).await;
        assert_eq!(api.all_requests() - before, if is_asked { 3 } else { 1 });
    }
}
