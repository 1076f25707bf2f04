//! Networks with IPv6 alone, and machines without it.

use std::process::Command;

use serde_json::json;
use server::web::connections::listen;
use tokio::net::TcpListener;

use crate::common::until::until;
use crate::live::program::{Serving, get};
use crate::live::support::shop;

#[tokio::test]
async fn server_and_cluster_may_have_ipv6_alone() {
    let (api, folder) = (shop().await, tempfile::tempdir().unwrap());
    let listener = TcpListener::bind("[::1]:0").await.unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    api.listen(listener);
    let config = json!({ "apiVersion": "v1", "kind": "Config", "current-context": "six",
        "contexts": [{ "name": "six", "context": { "cluster": "c", "user": "u" } }],
        "clusters": [{ "name": "c", "cluster": { "server": server } }], "users": [{ "name": "u", "user": {} }] });
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, config.to_string()).unwrap();
    let serving = Serving::start(&kubeconfig.display().to_string(), "[::1]:0");
    assert!(serving.address.starts_with("[::1]:"), "{}", serving.address);
    until("it is live", async || {
        get(&serving.address, "/clusters/six/namespaces/shop/deployments/web").await.contains("Live")
    })
    .await;
    serving.end();
}

/// Set for the process in the network of its own.
const INSIDE: &str = "ROLLCAST_TEST_WITHOUT_IPV6";

#[test]
fn without_ipv6_all_addresses_are_those_of_ipv4() {
    if std::env::var_os(INSIDE).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _guard = runtime.enter();
        assert!(std::net::TcpListener::bind("[::]:0").is_err(), "there is no IPv6 here");
        assert!(listen("[::]:0".parse().unwrap()).unwrap().local_addr().unwrap().is_ipv4());
        assert!(listen("[::1]:0".parse().unwrap()).is_err(), "one address is meant");
        return;
    }
    let mut command = Command::new("unshare");
    let disable = "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6 && exec \"$@\"";
    command.args(["--map-root-user", "--net", "sh", "-c", disable, "sh"]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "live::listening::without_ipv6_all_addresses_are_those_of_ipv4", "--nocapture"]);
    let ended = command.env(INSIDE, "yes").output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout) + String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && said.contains("1 passed"), "{said}");
}
