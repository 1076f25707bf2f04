//! Networks with IPv6 alone, and with both.

use server::web::connections::listen;
use tokio::net::{TcpListener, TcpStream};

use crate::common::until::until;
use crate::live::program::{Serving, get, kubeconfig_of};
use crate::live::support::shop;

#[tokio::test]
async fn server_and_cluster_may_have_ipv6_alone() {
    let api = shop().await;
    let listener = TcpListener::bind("[::1]:0").await.unwrap();
    let kubeconfig = kubeconfig_of(listener.local_addr().unwrap(), "six");
    api.listen(listener);
    let serving = Serving::start(&kubeconfig, "[::1]:0");
    assert!(serving.address.starts_with("[::1]:"), "{}", serving.address);
    until("it is live", async || {
        get(&serving.address, "/clusters/six/namespaces/shop/deployments/web").await.contains("Live")
    })
    .await;
    serving.end();
}

#[tokio::test]
async fn all_addresses_are_those_of_ipv4_and_ipv6() {
    let listener = listen("[::]:0".parse().unwrap()).unwrap();
    let port = listener.local_addr().unwrap().port();
    for address in ["127.0.0.1", "::1"] {
        let (accepted, connected) = tokio::join!(listener.accept(), TcpStream::connect((address, port)));
        assert_eq!(accepted.unwrap().1.ip().to_canonical().to_string(), address);
        connected.unwrap();
    }
}
