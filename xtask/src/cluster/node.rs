//! A real node: kubelet, containerd and runc on this machine.
//!
//! Kubelet and containerd live in a PID namespace and a mount namespace of their own: when the process ends that made them,
//! so does everything in them, containers too, and their mounts are gone. Whatever else was made is removed by [`remove`]: the
//! bridge, the cgroups, changed kernel settings and empty folders. Pods reach this machine and each other, and nothing beyond:
//! there is no route, no masquerading and no forwarding.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use crate::process;

/// The process that holds the namespaces. It forwards no signals, so it is killed.
pub const PART: &str = "node";
pub const NAME: &str = "real-1";
/// Key of its label, and of the taint that keeps other pods away; the value is "true".
pub const KEY: &str = "rollcast.dev/real-node";
/// Bridges and cgroups have a number, so that several clusters have room side by side.
const MOST_NODES: u8 = 8;
const MOST_PODS: u32 = 200;
const CGROUPS: &str = "/sys/fs/cgroup";
/// Folders with fixed names; what is written there is in the mount namespace.
const FOLDERS: [&str; 2] = ["/var/lib/kubelet", "/var/lib/cni"];
/// Settings that a kubelet makes for the whole machine.
const SETTINGS: [&str; 4] = ["vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops"];
const REMOVE_LIMIT: Duration = Duration::from_secs(20);

/// Script that runs in the namespaces, with the folder of the programs as `$1`, that of the node as `$2` and the
/// Kubernetes binary as `$3`. The shell stays: orphaned processes need a parent that reaps them.
const SCRIPT: &str = r#"
set -e
for folder in /run /var/log /var/lib/kubelet /var/lib/cni; do mkdir -p "$folder"; mount -t tmpfs tmpfs "$folder"; done
printf 'hosts: files\n' > "$2/nsswitch.conf" # no name server is asked
mount --bind "$2/nsswitch.conf" /etc/nsswitch.conf
printf '127.0.0.1 localhost registry.secure\n' > "$2/hosts" # containerd asks localhost without looking at its certificate
mount --bind "$2/hosts" /etc/hosts
PATH="$1:$PATH"
containerd --config "$2/containerd.toml" > "$2/containerd.log" 2>&1 &
until ctr version > /dev/null 2>&1; do sleep 0.1; done
for image in "$2"/images/*.tar; do ctr --namespace k8s.io images import "$image"; done
"$3" kubelet --config "$2/kubelet.json" --kubeconfig "$2/../kubeconfig" --hostname-override "$4" --node-ip "$5" \
  --node-labels "$6=true" --root-dir "$2/kubelet" --cert-dir "$2/certificates" &
wait $!
"#;

/// Prepares a node below the cluster's folder, with more images in archives, and returns the command that runs it until it is killed.
pub fn command(
    folder: &Path,
    programs: &Path,
    kubernetes: &Path,
    port: u16,
    archives: &[PathBuf],
) -> Result<(PathBuf, Vec<String>)> {
    let (node, images) = (folder.join("node"), folder.join("node/images"));
    fs::create_dir_all(node.join("cni"))?;
    fs::create_dir_all(&images)?;
    for (number, archive) in archives.iter().enumerate() {
        fs::copy(archive, images.join(format!("{number}.tar")))?;
    }
    let number = (0..MOST_NODES)
        .find(|number| !bridge_file(*number).exists())
        .context("too many real nodes run on this machine")?;
    let settings: serde_json::Map<_, _> = SETTINGS
        .iter()
        .filter_map(|setting| Some(((*setting).to_owned(), fs::read_to_string(setting_file(setting)).ok()?.into())))
        .collect();
    // Written first, so that everything created later is removed.
    fs::write(node.join("made.json"), json!({ "number": number, "settings": settings }).to_string())?;
    let address = address(number);
    let bridge = name(number);
    for line in [
        format!("link add {bridge} type bridge"),
        format!("address add {address}/24 dev {bridge}"),
        format!("link set {bridge} up"),
    ] {
        process::output(process::command("ip", &[]).args(line.split(' ')))?;
    }
    for hierarchy in hierarchies() {
        fs::create_dir_all(hierarchy.join(&bridge))?;
        let _ = fs::write(hierarchy.join("cgroup.subtree_control"), "+cpu +cpuset +memory +pids"); // cgroup v2
    }
    process::output(process::command(programs.join("app"), &["image"]).arg(images.join("tests.tar")))?;
    fs::write(node.join("containerd.toml"), containerd(&node, programs))?;
    fs::write(node.join("cni/10-bridge.conflist"), network(number, &node).to_string())?;
    fs::write(node.join("kubelet.json"), kubelet(folder, &bridge, port).to_string())?;
    let mut arguments: Vec<String> =
        ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", SCRIPT, "node"]
            .map(String::from)
            .into();
    arguments.extend([programs, &node, kubernetes].map(|path| path.display().to_string()));
    arguments.extend([NAME.to_owned(), address, KEY.to_owned()]);
    Ok(("unshare".into(), arguments))
}

/// Removes the remains of a node whose processes were stopped.
pub fn remove(folder: &Path) -> Result<()> {
    let Ok(made) = fs::read_to_string(folder.join("node/made.json")) else { return Ok(()) };
    let made: serde_json::Value = serde_json::from_str(&made)?;
    let number = number_of(&made)?;
    for cgroup in hierarchies().map(|hierarchy| hierarchy.join(name(number))) {
        process::poll(REMOVE_LIMIT, || {
            ensure!(!cgroup.exists() || remove_cgroup(&cgroup), "the cgroup {} is still in use", cgroup.display());
            Ok(())
        })?;
    }
    let _ = process::command("ip", &["link", "delete", &name(number)]).stderr(Stdio::null()).status();
    if !(0..MOST_NODES).any(|number| bridge_file(number).exists()) {
        FOLDERS.map(fs::remove_dir).into_iter().for_each(drop); // those that are empty; other nodes may use them
    }
    for (setting, value) in made.get("settings").and_then(serde_json::Value::as_object).into_iter().flatten() {
        let _ = fs::write(setting_file(setting), value.as_str().unwrap_or_default());
    }
    Ok(())
}

/// Returns the address of this machine for the pods of a node, one of the names in the API server's certificate (certificates.go).
fn address(number: u8) -> String {
    format!("10.77.{number}.1")
}

/// Returns the address of this machine for the pods of the node below a cluster's folder.
pub fn gateway(folder: &Path) -> Result<String> {
    let made: serde_json::Value = serde_json::from_str(&fs::read_to_string(folder.join("node/made.json"))?)?;
    Ok(address(number_of(&made)?))
}

fn number_of(made: &serde_json::Value) -> Result<u8> {
    let number = made.get("number").and_then(serde_json::Value::as_u64).context("no number")?;
    Ok(u8::try_from(number)?)
}

/// Returns the name of the bridge and the cgroups.
fn name(number: u8) -> String {
    format!("rollcast{number}")
}

fn bridge_file(number: u8) -> PathBuf {
    Path::new("/sys/class/net").join(name(number))
}

fn setting_file(setting: &str) -> PathBuf {
    Path::new("/proc/sys").join(setting)
}

/// Returns the hierarchies of cgroup v1, or the one of v2.
fn hierarchies() -> impl Iterator<Item = PathBuf> {
    let below = fs::read_dir(CGROUPS).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_unified = Path::new(CGROUPS).join("cgroup.procs").exists();
    let below = below.filter(move |path| !is_unified && path.join("cgroup.procs").exists() && !path.is_symlink());
    is_unified.then(|| PathBuf::from(CGROUPS)).into_iter().chain(below)
}

/// Removes a cgroup with those below it; false while one of them is in use.
fn remove_cgroup(cgroup: &Path) -> bool {
    let below = fs::read_dir(cgroup).into_iter().flatten().flatten().map(|entry| entry.path());
    let removed = below.filter(|path| path.is_dir()).all(|path| remove_cgroup(&path));
    removed && fs::remove_dir(cgroup).is_ok()
}

fn containerd(node: &Path, programs: &Path) -> String {
    format!(
        r#"version = 3
root = "{node}/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri"]
[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = "registry.local/pause:3.10"
[plugins.'io.containerd.cri.v1.runtime']
restrict_oom_score_adj = true # a lower value needs CAP_SYS_RESOURCE
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
SystemdCgroup = false
[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ["{programs}"]
conf_dir = "{node}/cni"
use_internal_loopback = true
"#,
        node = node.display(),
        programs = programs.display(),
    )
}

fn network(number: u8, node: &Path) -> serde_json::Value {
    json!({
        "cniVersion": "1.0.0", "name": "rollcast",
        "plugins": [{
            "type": "bridge", "bridge": name(number), "isGateway": false, "ipMasq": false,
            "ipam": {
                "type": "host-local", "dataDir": node.join("addresses"),
                "ranges": [[{ "subnet": format!("10.77.{number}.0/24"), "gateway": format!("10.77.{number}.1") }]],
            },
        }],
    })
}

fn kubelet(folder: &Path, cgroup: &str, port: u16) -> serde_json::Value {
    let nothing = json!({ "memory.available": "0%", "nodefs.available": "0%", "nodefs.inodesFree": "0%", "imagefs.available": "0%", "imagefs.inodesFree": "0%" });
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "address": "127.0.0.1", "port": port, "healthzPort": 0,
        "authentication": {
            "anonymous": { "enabled": false }, "webhook": { "enabled": false },
            "x509": { "clientCAFile": folder.join("pki/ca.crt") },
        },
        "authorization": { "mode": "AlwaysAllow" },
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "registerWithTaints": [{ "key": KEY, "value": "true", "effect": "NoSchedule" }],
        "cgroupDriver": "cgroupfs", "cgroupRoot": format!("/{cgroup}"), "failCgroupV1": false,
        "enforceNodeAllocatable": [], "failSwapOn": false, "makeIPTablesUtilChains": false,
        "maxPods": MOST_PODS, "serializeImagePulls": false, "imagePullCredentialsVerificationPolicy": "NeverVerify",
        "featureGates": { "KubeletEnsureSecretPulledImages": true, "ImageVolume": true }, // off in 1.34
        "resolvConf": "",
        "evictionHard": nothing, "imageGCHighThresholdPercent": 100, // a full disk is not what is tested
        "volumePluginDir": folder.join("node/volume-plugins"), "podLogsDir": "/var/log/pods",
    })
}
