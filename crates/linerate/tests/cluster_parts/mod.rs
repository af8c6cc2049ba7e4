//! A real Kubernetes in namespaces of its own: one whose network is a real Cilium, with a router (FRR) and a client
//! behind it, and one with drives for a real MinIO. `make cilium` and `make kubernetes` build them, and `KUBERNETES`,
//! `CILIUM`, `MINIO`, `XFS` and `COREDNS` name what was built.

pub(crate) mod hosted;
pub(crate) mod links;
pub(crate) mod loss;
pub(crate) mod machines;
pub(crate) mod minio;
pub(crate) mod objects;
pub(crate) mod reach;

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;

use crate::running::{eventually_within, linerate, shown};

/// Agents, routes and pods of a machine that does something else as well, or that is emulated by one that does.
pub(crate) const LONG_TIMEOUT: Duration = Duration::from_secs(600);

/// Nodes of a cluster.
pub(crate) const NODES: u32 = 2;

/// Whether the folder that a variable names has a part.
fn has(variable: &str, part: &str) -> bool {
    std::env::var_os(variable).is_some_and(|folder| Path::new(&folder).join(part).exists())
}

/// What this machine lacks, by name, beside a Cilium or a MinIO.
fn missing() -> Vec<&'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = |program: &str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let is_root = fs::metadata("/proc/self").is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0);
    let mut lacks = Vec::new();
    for (name, is_there) in [
        ("a Kubernetes", has("KUBERNETES", "bin/kubelet") && has("KUBERNETES", "debian")),
        ("control groups of version 1", Path::new("/sys/fs/cgroup/memory").is_dir()),
        ("root", is_root),
    ] {
        lacks.extend((!is_there).then_some(name));
    }
    let programs = ["ethtool", "ip", "tc", "unshare", "nsenter", "mount", "openssl", "curl"];
    lacks.extend(programs.into_iter().filter(|program| !on_path(program)));
    lacks
}

/// What it lacks for a Cilium.
pub(crate) fn missing_for_cilium() -> Vec<&'static str> {
    let mut lacks = missing();
    let is_built = has("CILIUM", "bin/helm") && has("CILIUM", "debian") && has("CILIUM", "answer");
    lacks.extend((!is_built).then_some("a Cilium"));
    let has_both = Path::new("/sys/fs/cgroup/unified").is_dir();
    lacks.extend((!has_both).then_some("control groups of both versions"));
    lacks
}

/// Whether links of a kind can be made.
pub(crate) fn has_links(kind: &str) -> bool {
    let mut command = Command::new("unshare");
    command.args(["--net", "ip", "link", "add", "tried", "type", kind, "id", "1", "remote", "127.0.0.1"]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// A cluster as `linerate render` describes it, with servers that tell which node answers to whom in the place of the
/// engine. All of it is gone with the value.
pub(crate) struct Cluster {
    /// Holds it, and ends it when its input ends, which the kernel does where this process cannot.
    holder: Child,
    folder: PathBuf,
    rendered: PathBuf,
}

/// The one that checks of a variant share.
static SHARED: Mutex<Option<(&'static str, Result<Cluster, String>)>> = Mutex::new(None);

/// What a check does with the cluster of a variant, or of `VARIANT+VALUES`, with these values beside the overlay, or of
/// `machines/SITE`, whose nodes are virtual machines. The name of a site is a variant's, or `VARIANT-KIND` of a kind of
/// it. It begins with the first of its checks, and ends with another's.
pub(crate) fn of_variant(
    variant: &'static str,
    check: impl FnOnce(&Cluster) -> Result<(), Failed>,
) -> Result<(), Failed> {
    shared(variant, Cluster::start, check)
}

/// What a check does with a cluster, which begins with the first of its checks, and ends with another's.
fn shared(
    name: &'static str,
    start: impl FnOnce(&'static str) -> Result<Cluster, String>,
    check: impl FnOnce(&Cluster) -> Result<(), Failed>,
) -> Result<(), Failed> {
    let mut shared = SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if shared.as_ref().is_none_or(|(of, _)| *of != name) {
        // Two at once would be too much of a small machine.
        drop(shared.take());
        // Where it panics, other checks of it need not try again.
        *shared = Some((name, Err("it did not begin".to_owned())));
        *shared = Some((name, start(name)));
    }
    check(shared.as_ref().expect("it was begun").1.as_ref()?)
}

/// Ends the one that checks share.
pub(crate) fn end() {
    drop(SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take());
}

impl Cluster {
    fn start(name: &str) -> Result<Self, String> {
        let (site, more) = name.split_once('+').map_or((name, None), |(variant, more)| (variant, Some(more)));
        let (tier, site) = site.split_once('/').unwrap_or(("cilium", site));
        let began = Instant::now();
        let reported = |what: &str| println!("{:6.1} s {what}", began.elapsed().as_secs_f64());
        let rendered = render(site, site.split_once('-').map_or(site, |(variant, _)| variant));
        let name = format!("cluster-{}", name.replace('/', "-"));
        let cluster = Cluster::hold(&name, rendered, [tier, &NODES.to_string()], &[])?;
        reported("control plane and kubelets");
        let mut values = vec![cluster.path("cilium/values.yaml"), parts("overlay.yaml")];
        values.extend((tier == "machines").then(|| parts("machines.yaml")));
        values.extend(more.map(|more| parts(&format!("{more}.yaml"))));
        cluster.act(&["cilium"].into_iter().chain(values.iter().map(String::as_str)).collect::<Vec<_>>());
        reported("every agent says OK");
        cluster.kubectl(&["wait", "--for=condition=Ready", "node", "--all", "--timeout=900s"]);
        // Definitions come from the operator. A variant without addresses and BGP has no resources.
        for part in ["addresses", "bgp", "l2-announcement"] {
            let path = cluster.path(&format!("cilium/{part}.yaml"));
            if Path::new(&path).exists() {
                let taken = || cluster.ended(&["apply", "--validate=strict", "--filename", &path]).status.success();
                eventually_within(LONG_TIMEOUT, "Cilium's resources to be taken", taken);
            }
        }
        cluster.kubectl(&["apply", "--validate=strict", "--filename", &cluster.path("engine/namespace.yaml")]);
        for part in ["services", "network-policy"] {
            cluster.kubectl(&[
                "apply",
                "--validate=strict",
                "--filename",
                &cluster.path(&format!("engine/{part}.yaml")),
            ]);
        }
        if tier == "cilium" {
            cluster.serve();
            reported("pods are ready");
        }
        Ok(cluster)
    }

    /// A control plane and kubelets of a tier of the script, in an environment.
    fn hold(name: &str, rendered: PathBuf, tier: [&str; 2], environment: &[(&str, &str)]) -> Result<Self, String> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(folder.join("logs"));
        fs::create_dir_all(&folder).expect("a folder");
        let mut command = script();
        command.arg("hold").arg(&folder).args(tier);
        command.env("LINERATE", linerate().get_program()).envs(environment.iter().copied());
        let mut holder = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the script runs");
        let said = BufReader::new(holder.stdout.take().expect("piped"));
        let mut cluster = Cluster { holder, folder, rendered };
        if said.lines().map_while(Result::ok).any(|line| line == "ready") {
            return Ok(cluster);
        }
        let status = cluster.holder.wait();
        Err(format!("the cluster did not begin ({status:?}): see {}", cluster.folder.join("logs").display()))
    }

    /// A file of what was rendered.
    pub(crate) fn path(&self, name: &str) -> String {
        self.rendered.join(name).display().to_string()
    }

    /// Servers on both nodes that the rendered services select. On machines each check begins with it.
    fn serve(&self) {
        self.apply(&servers());
        self.kubectl(&["rollout", "status", "daemonset/answer", "--namespace", "minio", "--timeout=900s"]);
    }

    /// Makes what a manifest describes, or makes it so.
    pub(crate) fn apply(&self, manifest: &str) {
        let mut command = self.inside("kubectl");
        command.args(["apply", "--validate=strict", "--filename", "-"]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        child.stdin.take().expect("piped").write_all(manifest.as_bytes()).expect("it reads");
        assert!(child.wait().expect("it ends").success(), "{manifest}");
    }

    /// What kubectl says, which must end well.
    pub(crate) fn kubectl(&self, words: &[&str]) -> String {
        let output = self.ended(words);
        assert!(output.status.success(), "kubectl {words:?}: {}", shown(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn ended(&self, words: &[&str]) -> Output {
        self.inside("kubectl").args(words).output().expect("the script runs")
    }

    /// Gives an image of a program to so many nodes.
    fn give(&self, image: &str, program: impl AsRef<OsStr>, nodes: u32) {
        let archive = self.folder.join("image.tar");
        let output = script().args(["image", image]).arg(program).arg(&archive).output().expect("the script runs");
        assert!(output.status.success(), "{image}: {}", shown(&output));
        thread::scope(|scope| {
            for node in 1..=nodes {
                let archive = &archive;
                scope.spawn(move || self.act(&["load", &node.to_string(), &archive.to_string_lossy()]));
            }
        });
        fs::remove_file(archive).expect("it was written");
    }

    /// A program in the network of the control plane; `KUBECONFIG` is set.
    fn inside(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = script();
        command.arg("in").arg(&self.folder).arg(program).stdin(Stdio::null());
        command
    }

    /// linerate in there, with these words.
    fn linerate(&self, words: &str) -> Command {
        let mut command = self.inside(linerate().get_program());
        command.args(words.split_whitespace());
        command
    }

    /// What a command of the script says: `cut 2`, `router 'show ip route'`, `on client curl …`.
    pub(crate) fn act(&self, words: &[&str]) -> String {
        let output = self.acted(words);
        assert!(output.status.success(), "{words:?}: {}", shown(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn acted(&self, words: &[&str]) -> Output {
        let (name, arguments) = words.split_first().expect("a command");
        script().arg(name).arg(&self.folder).args(arguments).stdin(Stdio::null()).output().expect("the script runs")
    }

    /// Where the network of the client is.
    pub(crate) fn network_of_client(&self) -> PathBuf {
        self.first().join("root/run/netns/client")
    }

    fn first(&self) -> PathBuf {
        let first = fs::read_to_string(self.folder.join("first")).expect("it runs");
        Path::new("/proc").join(first.split_whitespace().next().expect("a process"))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}

/// What the built program writes of a site, for a variant.
fn render(site: &str, variant: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cluster-rendered-{site}"));
    let _ = fs::remove_dir_all(&folder);
    let mut command = linerate();
    command.arg("render").arg(parts(&format!("sites/{site}.yaml"))).arg("-o").arg(&folder);
    let output = command.args(["--variant", variant]).output().expect("linerate runs");
    assert!(output.status.success(), "{}", shown(&output));
    folder
}

fn parts(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster_parts").join(name).display().to_string()
}

fn script() -> Command {
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/system_parts/kubernetes/kubernetes.sh"))
}

/// In the place of the engine's pods: with their labels, under the rules of their namespace.
fn servers() -> String {
    let labels = serde_json::json!({"app.kubernetes.io/name": "minio", "pool": "minio"});
    serde_json::json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "answer", "namespace": "minio"},
        "spec": {"selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels},
            "spec": {
                "terminationGracePeriodSeconds": 0,
                "tolerations": [{"operator": "Exists"}],
                "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
                "containers": [{
                    "name": "answer",
                    "image": "linerate.local/answer:test",
                    "args": ["serve", "9000"],
                    "env": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
                    "ports": [{"name": "s3", "containerPort": 9000}],
                    "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
                }],
            },
        }},
    })
    .to_string()
}
