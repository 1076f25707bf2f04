//! Whom the program speaks to: API servers of the kubeconfig and viewers, and nobody else. Held in a network of its own, in which the
//! kernel counts every connection that is begun and every datagram that is sent, also those that lead nowhere.

use std::net::{TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;

use crate::common::addresses::named;
use crate::common::until::until;
use crate::live::program::{Serving, get, kubeconfig};
use crate::live::secrets::streamed;
use crate::live::support::shop;

/// Set for the process in the network of its own.
const INSIDE: &str = "ROLLCAST_TEST_INSIDE";

/// What the kernel counted in this network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counted {
    /// TCP connections that were begun, and those that somebody accepted.
    begun: u64,
    accepted: u64,
    /// Those that nobody listened for.
    refused: u64,
    /// Datagrams, as questions for names are.
    datagrams: u64,
    /// What there was no way for: this network leads nowhere.
    lost: u64,
}

fn counted() -> Counted {
    let snmp = std::fs::read_to_string("/proc/self/net/snmp").unwrap();
    let of = |protocol: &str, name: &str| -> u64 {
        let mut lines = snmp.lines().filter_map(|line| line.strip_prefix(protocol)).map(str::split_whitespace);
        let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
        names.zip(values).find(|(known, _)| *known == name).unwrap().1.parse().unwrap()
    };
    let snmp6 = std::fs::read_to_string("/proc/self/net/snmp6").unwrap_or_default(); // there may be no IPv6
    let of6 = |name: &str| -> u64 {
        let found = snmp6.lines().find_map(|line| line.strip_prefix(name));
        found.map_or(0, |value| value.trim().parse().unwrap())
    };
    Counted {
        begun: of("Tcp: ", "ActiveOpens"),
        accepted: of("Tcp: ", "PassiveOpens"),
        refused: of("Tcp: ", "AttemptFails"),
        datagrams: of("Udp: ", "OutDatagrams") + of6("Udp6OutDatagrams"),
        lost: of("Ip: ", "OutNoRoutes") + of6("Ip6OutNoRoutes"),
    }
}

#[test]
fn nobody_is_spoken_to_but_api_servers_and_viewers() {
    if std::env::var_os(INSIDE).is_some() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        return runtime.block_on(inside());
    }
    // A network with nothing in it but this machine's own addresses. Its file system of devices is how that is switched on.
    let enter = "mount -t sysfs none /sys && echo 0x9 > /sys/class/net/lo/flags && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--net", "--mount", "sh", "-c", enter, "sh"]);
    command.arg(std::env::current_exe().unwrap());
    command.args(["--exact", "live::egress::nobody_is_spoken_to_but_api_servers_and_viewers", "--nocapture"]);
    let ended = command.env(INSIDE, "yes").output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout) + String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && said.contains("1 passed"), "{said}");
}

async fn inside() {
    let quiet = counted();
    assert_eq!(quiet, Counted { begun: 0, accepted: 0, refused: 0, datagrams: 0, lost: 0 }, "nothing happened yet");
    let api = shop().await;
    let folder = tempfile::tempdir().unwrap();
    let serving = Serving::keeping(&kubeconfig(&api, "shop"), folder.path());
    until("it is live", async || get(&serving.address, "/api/v1/deployments").await.contains("\"web\"")).await;
    for pattern in crate::common::addresses::patterns() {
        get(&serving.address, &named(&pattern, "shop", "shop")).await;
    }
    streamed(&serving.address, "shop").await;
    serving.end();
    let playground = Serving::playground(&["--speed", "100"]);
    until("there is something in it", async || {
        get(&playground.address, "/api/v1/deployments").await.contains("\"namespace\"")
    })
    .await;
    playground.end();
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces/rollover.jsonl");
    let played = Serving::replay(&[&recording.display().to_string()]);
    get(&played.address, "/").await;
    played.end();
    let spoken = counted();
    assert!(spoken.begun > 50, "{spoken:?}");
    assert_eq!(spoken, Counted { begun: spoken.begun, accepted: spoken.begun, ..quiet }, "who was asked was here");

    // What would be seen of a program that speaks to others.
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.send_to(b"?", "127.0.0.1:53").unwrap();
    assert!(UdpSocket::bind("0.0.0.0:0").unwrap().send_to(b"?", "192.0.2.1:53").is_err());
    assert!(TcpStream::connect("192.0.2.1:443").is_err());
    assert!(TcpStream::connect("127.0.0.1:1").is_err());
    let seen = counted();
    assert_eq!((seen.datagrams, seen.refused), (1, 1), "{seen:?}");
    assert!(seen.lost >= 2, "{seen:?}");
}
