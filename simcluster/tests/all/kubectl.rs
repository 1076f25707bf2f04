//! kubectl itself against the simulated cluster: everything that people and stories type.
//!
//! `ROLLCAST_KUBECTL` names the program (and a first argument, if it needs one); `cargo xtask test` sets it.

use std::fmt::Debug;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use simcluster::action::{Action, Choice};
use simcluster::api::{self, Cluster};
use simcluster::{Key, Object, Resource, Settings, World, story};

struct Kubectl {
    kubeconfig: PathBuf,
    cluster: Cluster,
}

impl Kubectl {
    async fn begin(name: &str) -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap();
        let mut world = World::new(1, i64::try_from(now.as_millis()).unwrap(), Settings::default());
        world.create(Object::read(Resource::Deployment, story::manifest("default", "web", 3)).unwrap()).unwrap();
        let cluster = Cluster::new(world);
        cluster.set_speed(5.0);
        let listener = api::listen(0).await.unwrap();
        let kubeconfig = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("kubectl-{name}"));
        std::fs::write(&kubeconfig, api::kubeconfig("sim", listener.local_addr().unwrap())).unwrap();
        tokio::spawn(cluster.clone().run());
        tokio::spawn(cluster.clone().serve(listener));
        Self { kubeconfig, cluster }
    }

    /// kubectl, which talks to this cluster.
    fn command(&self) -> Command {
        let program = program();
        let mut words = program.split(' ');
        let mut command = Command::new(words.next().unwrap());
        command.args(words).arg("--kubeconfig").arg(&self.kubeconfig);
        command
    }

    /// Runs it; what it prints, and whether it succeeded.
    fn output(&self, arguments: &[&str], input: &str, editor: &str) -> (bool, String) {
        Self::told(self.command().args(arguments).env("EDITOR", editor), input)
    }

    /// What a line does that is pasted into a shell, in which kubectl talks to this cluster.
    fn pasted(&self, line: &str) -> (bool, String) {
        let function = format!("kubectl() {{ {} \"$@\"; }}", program());
        let mut shell = Command::new("sh");
        Self::told(shell.arg("-c").arg(format!("{function}\n{line}")).env("KUBECONFIG", &self.kubeconfig), "")
    }

    fn told(command: &mut Command, input: &str) -> (bool, String) {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    /// Runs a line that must succeed.
    fn run(&self, line: &str) -> String {
        let (is_good, text) = self.output(&line.split(' ').collect::<Vec<_>>(), "", "true");
        assert!(is_good, "kubectl {line}: {text}");
        text
    }

    fn apply(&self, manifest: &str) -> (bool, String) {
        self.output(&["apply", "-f", "-"], manifest, "true")
    }

    fn settle(&self) {
        self.run("rollout status deployment/web --timeout=60s");
    }

    fn choice(&self) -> Choice {
        self.cluster.with(|world| Choice::of(world, &Key::new("default", "web")).unwrap())
    }

    fn get(&self, path: &str) -> String {
        self.run(&format!("get {path}"))
    }

    /// Watches; each line as it comes.
    fn watch(&self, line: &str) -> Watching {
        let mut child = self.command().args(line.split(' ')).stdout(Stdio::piped()).spawn().unwrap();
        let (told, lines) = mpsc::channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| told.send(line)));
        Watching { child, lines }
    }

    /// Waits until a line, which must succeed, prints what it should.
    fn until_told(&self, line: &str, is: impl Fn(&str) -> bool) {
        until(line, || self.run(line), |text: &String| is(text));
    }

    /// Waits until what can be chosen is so.
    fn until(&self, what: &str, is: impl Fn(&Choice) -> bool) {
        until(what, || self.choice(), is);
    }
}

fn until<T: Debug>(what: &str, look: impl Fn() -> T, is: impl Fn(&T) -> bool) {
    let begun = Instant::now();
    loop {
        let now = look();
        if is(&now) {
            return;
        }
        assert!(begun.elapsed() < LONGEST, "never came: {what}; it is {now:?}");
        std::thread::sleep(Duration::from_millis(20)); // between two looks
    }
}

/// kubectl, and a first argument where it needs one.
fn program() -> String {
    std::env::var("ROLLCAST_KUBECTL").expect("ROLLCAST_KUBECTL names kubectl")
}

struct Watching {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Watching {
    fn line(&self) -> String {
        self.lines.recv_timeout(LONGEST).expect("kubectl tells another line")
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Kubectl {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.kubeconfig);
    }
}

/// A wait that only a defect reaches.
const LONGEST: Duration = Duration::from_secs(60);
const REPLICAS: &str = "deployment/web -o jsonpath={.spec.replicas}";
const IMAGE: &str = "deployment/web -o jsonpath={.spec.template.spec.containers[0].image}";
const RESTARTED: &str =
    "deployment/web -o jsonpath={.spec.template.metadata.annotations.kubectl\\.kubernetes\\.io/restartedAt}";
const POD: &str = "pods -l app=web -o jsonpath={.items[0].metadata.name}";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs kubectl; `cargo xtask test` brings it"]
async fn kubectl_gets_watches_and_describes() {
    let kubectl = Kubectl::begin("look").await;
    kubectl.settle();
    assert!(kubectl.get("deployments").contains("3/3"));
    let wide = kubectl.get("deployments,replicasets,pods -o wide");
    assert!(wide.contains("web:v1") && wide.contains("pod-template-hash="), "{wide}");
    assert!(kubectl.get("nodes").contains("Ready"));
    assert!(kubectl.get("namespaces").contains("kube-system"));
    assert!(kubectl.get("events").contains("Scaled up replica set"));
    assert!(kubectl.get("pods --field-selector=status.phase=Pending").contains("No resources found"));
    assert_eq!(kubectl.get("pods -l app!=web -o name"), "");
    assert_eq!(kubectl.get("pods --chunk-size=1 -o name").lines().count(), 3);
    let pods = kubectl.choice().pods;
    let watching = kubectl.watch("get pods --watch --no-headers");
    let mut there: Vec<String> = (0..pods.len()).map(|_| watching.line()).collect();
    there.sort();
    for (line, pod) in there.iter().zip(pods.iter().collect::<std::collections::BTreeSet<_>>()) {
        assert!(line.starts_with(pod) && line.contains("Running"), "each pod once: {there:?}");
    }
    kubectl.run(&format!("delete pod {} --wait=false", pods[0]));
    let line = watching.line();
    assert!(line.starts_with(&pods[0]) && line.contains("Terminating"), "then what changes: {line}");
    drop(watching);
    kubectl.settle();
    let described = kubectl.run("describe deployment web");
    assert!(described.contains("NewReplicaSetAvailable") && described.contains("ScalingReplicaSet"), "{described}");
    assert!(kubectl.run(&format!("describe pod {}", kubectl.get(POD))).contains("Started"));
    assert!(kubectl.run("describe node node-1").contains("Allocatable"));
    assert!(kubectl.run("version").contains("simcluster"));
    assert!(kubectl.run("api-resources").contains("endpointslices"));
    assert_eq!(kubectl.run("auth can-i delete pods"), "yes\n");
    for (line, words) in [
        ("get secrets", "doesn't have a resource type"),
        ("get deployment nothing", "deployments.apps \"nothing\" not found"),
        ("create deployment x --image=x", "reads JSON only"),
        ("get pods -l a(b", "unable to parse"),
        ("get pods --field-selector=spec.nothing=x", "field label not supported"),
    ] {
        let (is_good, text) = kubectl.output(&line.split(' ').collect::<Vec<_>>(), "", "true");
        assert!(!is_good && text.contains(words), "{line}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs kubectl; `cargo xtask test` brings it"]
async fn kubectl_changes_a_deployment_and_takes_changes_back() {
    let kubectl = Kubectl::begin("change").await;
    let manifest = |replicas: i32, image: &str| {
        let mut manifest = story::manifest("default", "web", replicas);
        manifest["spec"]["template"]["spec"]["containers"][0]["image"] = image.into();
        manifest.to_string()
    };
    kubectl.settle();
    assert!(kubectl.apply(&manifest(2, "web:v2")).0);
    kubectl.settle();
    assert_eq!((kubectl.get(REPLICAS), kubectl.get(IMAGE)), ("2".to_owned(), "web:v2".to_owned()));
    assert!(kubectl.apply(&manifest(2, "web:v2")).1.contains("unchanged"));
    assert!(
        kubectl.output(&["apply", "--server-side", "--force-conflicts", "-f", "-"], &manifest(3, "web:v2"), "true").0
    );
    kubectl.run("set image deployment/web web=web:v3");
    kubectl.run("set env deployment/web COLOUR=blue");
    kubectl.settle();
    assert!(kubectl.run("rollout history deployment/web").contains("REVISION"));
    assert!(kubectl.run("rollout history deployment/web --revision=2").contains("web:v2"));
    kubectl.run("rollout undo deployment/web --to-revision=2");
    kubectl.settle();
    assert_eq!(kubectl.get(IMAGE), "web:v2");
    kubectl.run("rollout undo deployment/web");
    assert_eq!(kubectl.get(IMAGE), "web:v3");
    assert_eq!(kubectl.get(RESTARTED), "");
    kubectl.run("rollout restart deployment/web");
    kubectl.settle();
    assert_ne!(kubectl.get(RESTARTED), "");
    kubectl.run("rollout pause deployment/web");
    assert!(!kubectl.output(&["rollout", "undo", "deployment/web"], "", "true").0, "a paused one cannot be undone");
    kubectl.run("rollout resume deployment/web");
    kubectl.run("scale deployment/web --replicas=5");
    kubectl.settle();
    assert_eq!(kubectl.get(REPLICAS), "5");
    let (is_good, text) = kubectl.output(&["edit", "deployment/web"], "", "sed -i s/replicas:\\ 5/replicas:\\ 4/");
    assert!(is_good, "{text}");
    assert_eq!(kubectl.get(REPLICAS), "4");
    kubectl.run("annotate deployment/web kubernetes.io/change-cause=because");
    // The controller copies it to the ReplicaSet.
    kubectl.until_told("rollout history deployment/web", |told| told.contains("because"));
    kubectl.settle();
    let pod = kubectl.choice().pods[0].clone(); // not one that is terminating
    kubectl.run(&format!("label pod {pod} app-"));
    kubectl.until("it is released and replaced", |now| now.out_of_rotation == [pod.clone()] && now.pods.len() == 4);
    kubectl.run(&format!("label pod {pod} app=web"));
    kubectl
        .until("it is adopted again, and one is too many", |now| now.out_of_rotation.is_empty() && now.pods.len() == 4);
    kubectl.settle();
    let pod = kubectl.choice().pods[0].clone();
    kubectl.run(&format!("delete pod {pod} --timeout=60s"));
    kubectl.settle();
    assert!(!kubectl.get("pods -o name").contains(&pod), "it is gone, and another one is there");
    kubectl.run("taint node node-1 a=b:NoSchedule");
    let taints = "node node-1 -o jsonpath={.spec.taints[*].key}={.spec.taints[*].value}:{.spec.taints[*].effect}";
    assert_eq!(kubectl.get(taints), "a=b:NoSchedule");
    let pod = kubectl.choice().pods[0].clone();
    let node = kubectl.get(&format!("pod {pod} -o jsonpath={{.spec.nodeName}}"));
    let drained = kubectl.run(&format!("drain {node} --timeout=60s"));
    assert!(drained.contains("evicting pod default/web-") && drained.contains("drained"), "{drained}");
    kubectl.settle();
    assert!(!kubectl.get("pods -l app=web -o wide").contains(&format!(" {node} ")), "its pods are elsewhere");
    let unschedulable = |node: &str| kubectl.get(&format!("node {node} -o jsonpath={{.spec.unschedulable}}"));
    assert_eq!(unschedulable(&node), "true");
    kubectl.run(&format!("uncordon {node}"));
    assert_eq!(unschedulable(&node), "");
    kubectl.run("cordon node-2");
    assert_eq!(unschedulable("node-2"), "true");
    kubectl.run("delete deployment web --cascade=orphan --timeout=60s");
    assert_ne!(kubectl.get("pods -o name"), "");
    kubectl.run("delete replicaset --all --cascade=background --timeout=60s");
    assert_eq!(kubectl.get("replicasets -o name"), "");
    kubectl.until_told("get pods -l app=web -o name", str::is_empty);
    assert!(kubectl.apply(&manifest(1, "web:v9")).0);
    kubectl.settle();
    kubectl.run("delete deployment web --cascade=foreground --timeout=60s");
    assert_eq!(kubectl.get("replicasets,pods -l pod-template-hash -o name"), "");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs kubectl; `cargo xtask test` brings it"]
async fn wrong_manifests_are_refused_with_the_field() {
    let kubectl = Kubectl::begin("wrong").await;
    let wrong = |path: &str, value: serde_json::Value| {
        let mut manifest = story::manifest("default", "wrong", 1);
        *manifest.pointer_mut(path).unwrap() = value;
        kubectl.apply(&manifest.to_string())
    };
    for (path, value, words) in [
        ("/spec/replicas", (-1).into(), "spec.replicas: Invalid value: -1: must be greater than or equal to 0"),
        ("/metadata/name", "Wrong_".into(), "metadata.name: Invalid value: \"Wrong_\": a lowercase RFC 1123 subdomain"),
        ("/spec/template/spec/containers/0/image", "".into(), "spec.template.spec.containers[0].image: Required value"),
        (
            "/spec/template/metadata/labels",
            serde_json::json!({ "app": "x" }),
            "`selector` does not match template `labels`",
        ),
        ("/spec/template", serde_json::json!({ "speck": 1 }), "unknown field \"spec.template.speck\""),
        ("/metadata/namespace", "nowhere".into(), "namespaces \"nowhere\" not found"),
    ] {
        let (is_good, text) = wrong(path, value);
        assert!(!is_good && text.contains(words), "{path}: {text}");
    }
}

/// A command that a button shows, pasted into a shell, does what the button does. Every action is here.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs kubectl; `cargo xtask test` brings it"]
async fn commands_do_what_they_stand_for() {
    let kubectl = Kubectl::begin("commands").await;
    kubectl.settle();
    let of = Key::new("default", "web");
    let quota = simcluster::action::quota("default", 50);
    kubectl.cluster.with(|world| world.create(Object::read(Resource::ResourceQuota, quota).unwrap()).unwrap());
    let run = |action: &Action| {
        let command = kubectl.cluster.with(|world| action.command(world, &of));
        let (is_good, text) = kubectl.pasted(&command);
        assert!(is_good, "{command}: {text}");
    };
    let choice = || kubectl.choice();
    run(&Action::Image(choice().next_image("")));
    assert_eq!(choice().image, "web:v2");
    kubectl.settle();
    run(&Action::Scale(4));
    assert_eq!(choice().replicas, 4);
    run(&Action::Pause);
    assert!(choice().is_paused);
    run(&Action::Resume);
    kubectl.settle();
    run(&Action::Undo(Some(1)));
    assert_eq!(choice().image, "web:v1");
    run(&Action::Undo(None));
    assert_eq!(choice().image, "web:v2");
    kubectl.settle();
    let (before, revision) = (choice().pods, choice().newest);
    run(&Action::Restart);
    kubectl.settle();
    assert_ne!(kubectl.get(RESTARTED), "");
    assert!(choice().image == "web:v2" && choice().newest != revision, "the same image in a new revision");
    kubectl.until("every pod is a new one", |now| now.pods.iter().all(|pod| !before.contains(pod)));
    let pod = choice().pods[0].clone();
    run(&Action::Unlabel(pod.clone()));
    kubectl.settle(); // its ReplicaSet lets go of it in its own time
    assert_eq!(choice().out_of_rotation, std::slice::from_ref(&pod));
    run(&Action::Label(pod.clone()));
    kubectl.settle();
    assert!(choice().out_of_rotation.is_empty());
    let pod = choice().pods[0].clone();
    run(&Action::KillPod(pod.clone()));
    assert!(!choice().pods.contains(&pod));
    kubectl.settle();
    let (set, before) = (choice().newest.unwrap(), choice().pods);
    let uid = || kubectl.get(&format!("replicaset/{set} --ignore-not-found -o jsonpath={{.metadata.uid}}"));
    let deleted = uid();
    run(&Action::DeleteReplicaSet(set.clone()));
    kubectl.until("the Deployment makes it anew, and its pods", |now| {
        now.newest.as_ref() == Some(&set) && now.pods.len() == 4 && !now.pods.iter().any(|pod| before.contains(pod))
    });
    assert_ne!(uid(), deleted, "the same template, so the same name, and another ReplicaSet");
    run(&Action::Quota(7));
    assert_eq!(choice().quota, 7);
    run(&Action::Drain("node-3".to_owned()));
    assert_eq!(choice().drained, ["node-3"]);
    run(&Action::Uncordon("node-3".to_owned()));
    assert!(choice().drained.is_empty());
    run(&Action::LoseNode("node-4".to_owned()));
    assert_eq!(choice().lost, ["node-4"]);
    run(&Action::AddNode("node-4".to_owned()));
    assert!(choice().lost.is_empty());
    kubectl.until("the node takes pods", |now| now.nodes.contains(&"node-4".to_owned()));
}
