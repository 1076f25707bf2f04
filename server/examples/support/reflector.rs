//! The reflector of kube-rs that Rollcast is compared with.

use futures::StreamExt;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{Event, Pod};
use kube_runtime::{WatchStreamExt, reflector, watcher};

fn reflected<K>(client: &kube::Client) -> reflector::Store<K>
where
    K: kube::Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned + Send + Sync + 'static,
{
    let (reader, writer) = reflector::store::<K>();
    let stream = watcher::watcher(kube::Api::<K>::all(client.clone()), watcher::Config::default());
    let reflected = reflector::reflector(writer, stream).default_backoff();
    tokio::spawn(reflected.for_each(|_| std::future::ready(())));
    reader
}

/// Runs a reflector of each kind, and reports when all of them have listed everything.
pub async fn reflect(address: &str) {
    let client = kube::Client::try_from(kube::Config::new(address.parse().unwrap())).unwrap();
    let (deployments, sets, pods, events) = (
        reflected::<Deployment>(&client),
        reflected::<ReplicaSet>(&client),
        reflected::<Pod>(&client),
        reflected::<Event>(&client),
    );
    deployments.wait_until_ready().await.unwrap();
    sets.wait_until_ready().await.unwrap();
    pods.wait_until_ready().await.unwrap();
    events.wait_until_ready().await.unwrap();
    println!("http://{}", pods.len());
    std::future::pending::<()>().await;
}
