//! A real Kubernetes with two nodes, in namespaces of its own: `make kubernetes` builds it, and `KUBERNETES` names the
//! folder. Tests that need it share it; it ends with the last of them, and with the process too, however that ends.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use libtest_mimic::Failed;

use super::minio::{keys, program};
use crate::running::{eventually_within, linerate, shown};

/// What a Kubernetes needs.
pub(crate) const NEEDS: &[&str] =
    &["a Kubernetes", "root", "control groups of version 1", "ip", "unshare", "nsenter", "mount", "openssl", "curl"];

/// The same with a MinIO in it.
pub(crate) const WITH_MINIO: &[&str] = &[
    "a Kubernetes",
    "MinIO",
    "root",
    "control groups of version 1",
    "ip",
    "unshare",
    "nsenter",
    "mount",
    "openssl",
    "curl",
];

/// Nodes of the one that tests share.
const NODES: u32 = 2;

/// Kubelets and pods of a machine that does something else as well.
const LONG_TIMEOUT: Duration = Duration::from_secs(60);

/// A node that no longer tells how it is counts as gone after 10 s, and its controller looks every 2 s.
const MISSED: Duration = Duration::from_secs(40);

/// The one that tests share.
static SHARED: Mutex<Option<Kubernetes>> = Mutex::new(None);

type Check = fn() -> Result<(), Failed>;

/// Names of the checks of the Kubernetes itself, and the checks. The last takes it down: no test that needs it comes
/// after.
pub(crate) const CHECKS: [(&str, &[&str], Check); 5] = [
    ("kubernetes_runs_a_pod_of_linerate_on_each_node", NEEDS, runs_pods),
    ("kubernetes_pods_reach_a_minio_of_another_node_by_its_service", WITH_MINIO, serves_minio),
    ("kubernetes_keeps_pods_while_its_api_server_is_restarted", NEEDS, restarts),
    ("kubernetes_notices_nodes_that_are_cut_off_or_crash", NEEDS, loses_nodes),
    ("kubernetes_leaves_nothing_when_it_is_taken_down", NEEDS, leaves_nothing),
];

/// The folder that `make kubernetes` has built.
pub(crate) fn built() -> Option<PathBuf> {
    std::env::var_os("KUBERNETES")
        .map(PathBuf::from)
        .filter(|path| ["bin/kubelet", "debian/usr/sbin/runc", "pause"].iter().all(|part| path.join(part).exists()))
}

/// Whether control groups are of the version in which the script makes those of nodes.
pub(crate) fn has_groups() -> bool {
    Path::new("/sys/fs/cgroup/memory").is_dir()
}

/// A Kubernetes; all of it is gone with the value.
pub(crate) struct Kubernetes {
    /// Holds it, and ends it when its input ends, which the kernel does where this process cannot.
    holder: Child,
    folder: PathBuf,
    /// Whether a node has MinIO's image.
    has_minio: AtomicBool,
}

impl Kubernetes {
    /// Begins one of a tier, such as `nodes 2`, and waits until every node is ready. Its logs stay in the folder.
    fn start(tier: &str) -> Result<Self, Failed> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kubernetes");
        fs::create_dir_all(&folder)?;
        let mut command = script();
        command.arg("hold").arg(&folder).args(tier.split(' '));
        command.env("LINERATE", linerate().get_program());
        let mut holder = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let said = BufReader::new(holder.stdout.take().expect("piped"));
        let mut kubernetes = Kubernetes { holder, folder, has_minio: AtomicBool::new(false) };
        // The images that nodes import are told before.
        if said.lines().map_while(Result::ok).any(|line| line == "ready") {
            return Ok(kubernetes);
        }
        let status = kubernetes.holder.wait()?;
        Err(format!("the Kubernetes did not begin ({status}): see {}", kubernetes.folder.join("logs").display()).into())
    }

    /// What a test does with the one that tests share, which begins with the first of them.
    pub(crate) fn shared(check: impl FnOnce(&Kubernetes) -> Result<(), Failed>) -> Result<(), Failed> {
        let mut shared = SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if shared.is_none() {
            *shared = Some(Kubernetes::start(&format!("nodes {NODES}"))?);
        }
        check(shared.as_ref().expect("it was begun"))
    }

    /// Credentials of its administrator; the address is in its network alone.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    /// A program in its network, and with all else of this machine; `KUBECONFIG` is set.
    pub(crate) fn inside(&self, program: &Path) -> Command {
        let mut command = script();
        command.arg("in").arg(&self.folder).arg(program).stdin(Stdio::null());
        command
    }

    /// What kubectl says, which must end well.
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        let output = self.kubectl_ended(arguments);
        assert!(output.status.success(), "kubectl {arguments:?}: {}", shown(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn kubectl_ended(&self, arguments: &[&str]) -> Output {
        self.inside(Path::new("kubectl")).args(arguments).output().expect("the script runs")
    }

    /// Makes what a manifest describes.
    pub(crate) fn create(&self, manifest: &str) {
        let mut command = self.inside(Path::new("kubectl"));
        command.args(["create", "--filename", "-"]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        child.stdin.take().expect("piped").write_all(manifest.as_bytes()).expect("it reads");
        assert!(child.wait().expect("it ends").success(), "{manifest}");
    }

    /// A command of the script: `restart-api`, `crash 1`, `boot 1`, `cut 1`, `heal 1`.
    pub(crate) fn act(&self, words: &[&str]) {
        let (name, arguments) = words.split_first().expect("a command");
        let output = script().arg(name).arg(&self.folder).args(arguments).output().expect("the script runs");
        assert!(output.status.success(), "{words:?}: {}", shown(&output));
    }

    /// Gives a node an image of a program, under a name.
    pub(crate) fn load(&self, node: u32, name: &str, program: &Path) {
        let archive = self.folder.join("image.tar");
        let output = script().args(["image", name]).arg(program).arg(&archive).output().expect("the script runs");
        assert!(output.status.success(), "{name}: {}", shown(&output));
        self.act(&["load", &node.to_string(), &archive.to_string_lossy()]);
        fs::remove_file(archive).expect("it was written");
    }

    /// The same, asked for as often as is of use to those who wait.
    fn is_ready_later(&self, node: &str) -> bool {
        std::thread::sleep(Duration::from_millis(500));
        self.is_ready(node)
    }

    fn is_ready(&self, node: &str) -> bool {
        let status = r#"jsonpath={.status.conditions[?(@.type=="Ready")].status}"#;
        self.kubectl(&["get", "node", node, "--output", status]) == "True"
    }
}

impl Drop for Kubernetes {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}

/// Ends the one that tests share, where it was begun.
pub(crate) fn end() {
    drop(SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take());
}

fn script() -> Command {
    let parts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/system_parts/kubernetes");
    Command::new(parts.join("kubernetes.sh"))
}

/// A pod of the image of linerate that serves nothing on port 9001, as a cluster takes it that admits the least.
fn pod(name: &str, node: &str) -> String {
    serde_json::json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "nodeName": node,
            "terminationGracePeriodSeconds": 1,
            "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{
                "name": "linerate",
                "image": "linerate.local/linerate:test",
                "args": ["target", "null", "--listen", "0.0.0.0:9001"],
                "stdin": true,
                "env": [{"name": "LINERATE_STATE", "value": "/tmp/state"}],
                "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
            }],
        },
    })
    .to_string()
}

/// Exec into a pod, as one types it.
fn exec(kubernetes: &Kubernetes, pod: &str, command: &str) -> String {
    let words = format!("exec {pod} -- {command}");
    kubernetes.kubectl(&words.split_whitespace().collect::<Vec<_>>())
}

/// A short load of a server from a pod.
const LOAD: &str = "--yes-load --concurrent 2 --objects 10 --duration 1s --warmup 100ms --no-ceiling --obj.size 4096";

/// One on each node, where a test before has not begun it.
fn begin_pods(kubernetes: &Kubernetes) {
    for node in 1..=NODES {
        let name = format!("pod{node}");
        if !kubernetes.kubectl_ended(&["get", "pod", &name]).status.success() {
            kubernetes.create(&pod(&name, &format!("n{node}")));
        }
    }
    kubernetes.kubectl(&["wait", "--for=condition=Ready", "pod/pod1", "pod/pod2", "--timeout=60s"]);
}

/// Pods of the image run on both nodes, and one that drives the other shows that exec and the pods' network work.
fn runs_pods() -> Result<(), Failed> {
    Kubernetes::shared(|kubernetes| {
        let known = fs::read_to_string(kubernetes.kubeconfig())?;
        assert!(known.contains("https://10.231.80.1:6443"), "{known}");
        kubernetes.kubectl(&["label", "namespace", "default", "pod-security.kubernetes.io/enforce=restricted"]);
        begin_pods(kubernetes);
        for node in 1..=NODES {
            assert!(kubernetes.is_ready(&format!("n{node}")), "n{node}");
            let name = format!("pod/pod{node}");
            let version = exec(kubernetes, &name, "/linerate --version");
            assert_eq!(version, shown(&linerate().arg("--version").output()?));
        }
        let address = kubernetes.kubectl(&["get", "pod/pod2", "--output", "jsonpath={.status.podIP}"]);
        let load = format!("/linerate bench --host {address}:9001 --anonymous --op get {LOAD} -o /runs/null");
        let said = exec(kubernetes, "pod/pod1", &load);
        assert!(said.contains("/runs/null/report.html"), "{said}");
        // From the network of the cluster, where a coordinator is.
        let mut curl = kubernetes.inside(Path::new("curl"));
        let output = curl.args(["--silent", "--include", &format!("http://{address}:9001/")]).output()?;
        assert!(shown(&output).starts_with("HTTP/1.1 "), "{}", shown(&output));
        Ok(())
    })
}

/// A MinIO in memory, and the service that leads to it.
fn minio() -> String {
    let keys: Vec<_> = ["MINIO_ROOT_USER", "MINIO_ROOT_PASSWORD"].into_iter().zip(keys()).collect();
    let mut environment: Vec<_> =
        keys.into_iter().map(|(name, (_, value))| serde_json::json!({"name": name, "value": value})).collect();
    for (name, value) in [("HOME", "/tmp"), ("MINIO_PROMETHEUS_AUTH_TYPE", "public")] {
        environment.push(serde_json::json!({"name": name, "value": value}));
    }
    let parts = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "minio", "labels": {"app": "minio"}},
            "spec": {
                "nodeName": "n1",
                "terminationGracePeriodSeconds": 1,
                "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
                "volumes": [{"name": "data", "emptyDir": {}}],
                "containers": [{
                    "name": "minio",
                    "image": "linerate.local/minio:test",
                    "args": ["server", "/data"],
                    "env": environment,
                    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                    "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
                }],
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "minio"},
            "spec": {"selector": {"app": "minio"}, "ports": [{"port": 9000}]},
        },
    ]});
    parts.to_string()
}

/// A MinIO in a pod, which is gone with the value.
pub(crate) struct ServedMinio<'k> {
    kubernetes: &'k Kubernetes,
    pub(crate) address: String,
}

impl Kubernetes {
    /// Begins a MinIO that has nothing, and waits until its Service leads to it from the network of the Kubernetes and
    /// from each node: one that has not heard that the pod is ready refuses connections.
    pub(crate) fn begin_minio(&self) -> ServedMinio<'_> {
        if !self.has_minio.swap(true, Ordering::Relaxed) {
            self.load(1, "linerate.local/minio:test", Path::new(&program()));
        }
        self.create(&minio());
        let of = "jsonpath={.spec.clusterIP}:9000";
        let mut served = ServedMinio { kubernetes: self, address: String::new() };
        served.address = self.kubectl(&["get", "service/minio", "--output", of]);
        self.kubectl(&["wait", "--for=condition=Ready", "pod/minio", "--timeout=60s"]);
        eventually_within(LONG_TIMEOUT, "MinIO to serve", || served.get("/minio/health/ready").is_some());
        for node in 1..=NODES {
            eventually_within(LONG_TIMEOUT, "the Service to lead to MinIO from each node", || {
                self.is_served(node, &served)
            });
        }
        served
    }

    fn is_served(&self, node: u32, minio: &ServedMinio<'_>) -> bool {
        let url = format!("http://{}/minio/health/ready", minio.address);
        let mut command = script();
        command.arg("on").arg(&self.folder).arg(node.to_string());
        command.args(["curl", "--silent", "--fail", "--max-time", "5", &url]).stdout(Stdio::null());
        command.status().expect("the script runs").success()
    }
}

impl ServedMinio<'_> {
    /// What it answers to its owner; nothing where that is an error.
    pub(crate) fn get(&self, path: &str) -> Option<String> {
        self.answer("GET", path)
    }

    pub(crate) fn make_bucket(&self, name: &str) {
        assert!(self.answer("PUT", &format!("/{name}")).is_some(), "{name}");
    }

    fn answer(&self, method: &str, path: &str) -> Option<String> {
        let [(_, access), (_, secret)] = &keys()[..] else { panic!("two keys") };
        let mut curl = self.kubernetes.inside(Path::new("curl"));
        curl.args([
            "--silent",
            "--fail",
            "--max-time",
            "5",
            "--aws-sigv4",
            "aws:amz:us-east-1:s3",
            "--request",
            method,
        ]);
        let output = curl
            .args(["--user".to_owned(), format!("{access}:{secret}"), format!("http://{}{path}", self.address)])
            .output();
        let output = output.expect("the script runs");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for ServedMinio<'_> {
    fn drop(&mut self) {
        self.kubernetes.kubectl_ended(&["delete", "service/minio", "pod/minio", "--wait"]);
    }
}

fn serves_minio() -> Result<(), Failed> {
    Kubernetes::shared(|kubernetes| {
        let minio = kubernetes.begin_minio();
        let address = &minio.address;
        kubernetes.create(&pod("client", "n2"));
        kubernetes.kubectl(&["wait", "--for=condition=Ready", "pod/client", "--timeout=60s"]);
        let [(_, access), (_, secret)] = &keys()[..] else { panic!("two keys") };
        let keys = format!("--access-key {access} --secret-key {secret}");
        let load = format!("/linerate bench --host {address} {keys} --op get,put {LOAD} -o /runs/minio");
        let arguments: Vec<&str> = ["exec", "pod/client", "--"].into_iter().chain(load.split_whitespace()).collect();
        let said = shown(&kubernetes.kubectl_ended(&arguments));
        assert!(said.contains("/runs/minio/report.html"), "{said}");
        kubernetes.kubectl(&["delete", "pod/client", "--wait"]);
        Ok(())
    })
}

/// Containers of all pods and how often each has begun.
fn containers(kubernetes: &Kubernetes) -> String {
    let path = "jsonpath={range .items[*].status.containerStatuses[*]}{.containerID} {.restartCount}\n{end}";
    kubernetes.kubectl(&["get", "pods", "--output", path])
}

fn restarts() -> Result<(), Failed> {
    Kubernetes::shared(|kubernetes| {
        begin_pods(kubernetes);
        let before = containers(kubernetes);
        assert_eq!(before.lines().count(), NODES as usize, "{before}");
        let answers = || {
            let output = kubernetes.kubectl_ended(&["exec", "pod/pod1", "--", "/linerate", "--version"]);
            output.status.success()
        };
        let began = || {
            let metrics = kubernetes.kubectl(&["get", "--raw", "/metrics"]);
            let line = metrics.lines().find(|line| line.starts_with("process_start_time_seconds "));
            line.expect("the API server tells when it began").to_owned()
        };
        let first = began();
        kubernetes.act(&["restart-api", "1"]);
        assert_ne!(began(), first, "another process serves");
        eventually_within(LONG_TIMEOUT, "exec through the API server that was begun again", answers);
        assert_eq!(containers(kubernetes), before, "no container was begun again");
        Ok(())
    })
}

fn loses_nodes() -> Result<(), Failed> {
    Kubernetes::shared(|kubernetes| {
        for (lose, regain) in [("cut", "heal"), ("crash", "boot")] {
            kubernetes.act(&[lose, "2"]);
            eventually_within(MISSED, lose, || !kubernetes.is_ready_later("n2"));
            assert!(kubernetes.is_ready("n1"), "{lose}");
            kubernetes.act(&[regain, "2"]);
            eventually_within(LONG_TIMEOUT, regain, || kubernetes.is_ready_later("n2"));
        }
        Ok(())
    })
}

/// What this machine has of a Kubernetes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Traces {
    /// Processes that were begun for its folder.
    processes: Vec<u32>,
    /// Namespaces of those processes, and of any that has mounts of `known` ones or is in one.
    spaces: BTreeSet<PathBuf>,
    groups: Vec<PathBuf>,
    /// Mounts and links of this machine that are its own.
    mounts: Vec<String>,
    links: Vec<String>,
}

fn traces(folder: &Path, holder: u32, known: &BTreeSet<PathBuf>) -> Traces {
    let mut found = Traces::default();
    let own = spaces_of("self");
    let mark = format!("FOLDER={}", folder.display());
    for process in entries("/proc").iter().filter_map(|path| path.file_name()?.to_str()?.parse::<u32>().ok()) {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        let is_its = environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes());
        let spaces = spaces_of(&process.to_string());
        if is_its {
            found.processes.push(process);
        }
        found
            .spaces
            .extend(spaces.into_iter().filter(|space| !own.contains(space) && (is_its || known.contains(space))));
    }
    for kind in entries("/sys/fs/cgroup") {
        let group = kind.join(format!("linerate-kubernetes-{holder}"));
        found.groups.extend(group.exists().then_some(group));
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mounts are told");
    let is_its = |line: &&str| {
        line.contains(&*folder.to_string_lossy()) || known.iter().any(|space| line.contains(&*space.to_string_lossy()))
    };
    found.mounts.extend(mounts.lines().filter(is_its).map(str::to_owned));
    let names = ["switch", "to-n1", "to-n2"].into_iter();
    found.links.extend(names.filter(|name| Path::new("/sys/class/net").join(name).exists()).map(str::to_owned));
    found
}

fn entries(folder: impl AsRef<Path>) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// `net:[4026532000]` and the like.
fn spaces_of(process: &str) -> BTreeSet<PathBuf> {
    let kinds = ["net", "mnt", "pid", "uts", "ipc"].iter();
    kinds.filter_map(|kind| fs::read_link(format!("/proc/{process}/ns/{kind}")).ok()).collect()
}

/// However it ends: with its input, as where the process is killed that began it; and killed itself.
fn leaves_nothing() -> Result<(), Failed> {
    Kubernetes::shared(|_| Ok(()))?;
    let kubernetes = SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take().expect("it was begun");
    let (folder, holder) = (kubernetes.folder.clone(), kubernetes.holder.id());
    let running = traces(&folder, holder, &BTreeSet::new());
    assert!(running.processes.len() > 10 && !running.groups.is_empty(), "{running:?}");
    let networks = running.spaces.iter().filter(|space| space.to_string_lossy().starts_with("net:")).count();
    assert_eq!(networks, 1 + NODES as usize, "its own and one a node: {running:?}");
    assert!(running.mounts.is_empty() && running.links.is_empty(), "it is in its own namespaces: {running:?}");
    drop(kubernetes);
    assert_eq!(traces(&folder, holder, &running.spaces), Traces::default());
    let left: Vec<_> = entries(&folder).into_iter().filter(|path| !path.ends_with("logs")).collect();
    assert!(left.is_empty(), "{left:?}");

    let mut kubernetes = Kubernetes::start("api")?;
    let holder = kubernetes.holder.id();
    let running = traces(&folder, holder, &BTreeSet::new());
    assert!(!running.processes.is_empty() && !running.groups.is_empty(), "{running:?}");
    let refused = script().args(["hold"]).arg(&folder).arg("api").stdin(Stdio::null()).output()?;
    assert!(!refused.status.success() && shown(&refused).contains("already"), "{}", shown(&refused));
    kubernetes.holder.kill()?;
    kubernetes.holder.wait()?;
    kubernetes.act(&["down"]);
    assert_eq!(traces(&folder, holder, &running.spaces), Traces::default());
    assert!(!folder.exists(), "{:?}", entries(&folder));
    Ok(())
}
