//! A real Kubernetes whose network is a real Cilium, with a router (FRR) and a client behind it, all in namespaces of
//! their own: `make cilium` builds it, and `KUBERNETES` and `CILIUM` name the folders.

pub(crate) mod loss;
pub(crate) mod machines;
pub(crate) mod reach;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;

use crate::running::{eventually_within, linerate, shown};

/// Agents, routes and pods of a machine that does something else as well, or that is emulated by one that does.
pub(crate) const PATIENT: Duration = Duration::from_secs(600);

/// Nodes of a cluster.
pub(crate) const NODES: u32 = 2;

/// What this machine lacks, by name.
pub(crate) fn missing() -> Vec<&'static str> {
    let has = |variable: &str, part: &str| {
        std::env::var_os(variable).is_some_and(|folder| Path::new(&folder).join(part).exists())
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = |program: &str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let is_root = fs::metadata("/proc/self").is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0);
    let mut lacks = Vec::new();
    for (name, is_there) in [
        ("a Kubernetes", has("KUBERNETES", "bin/kubelet") && has("KUBERNETES", "debian")),
        ("a Cilium", has("CILIUM", "bin/helm") && has("CILIUM", "debian") && has("CILIUM", "answer")),
        ("control groups of both versions", Path::new("/sys/fs/cgroup/unified").is_dir()),
        ("root", is_root),
    ] {
        lacks.extend((!is_there).then_some(name));
    }
    let programs = ["ethtool", "ip", "unshare", "nsenter", "mount", "openssl", "curl"];
    lacks.extend(programs.into_iter().filter(|program| !on_path(program)));
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
    /// What was rendered.
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
    let mut shared = SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if shared.as_ref().is_none_or(|(of, _)| *of != variant) {
        // Two at once would be too much of a small machine.
        drop(shared.take());
        // Where it panics, other checks of it need not try again.
        *shared = Some((variant, Err("it did not begin".to_owned())));
        *shared = Some((variant, Cluster::start(variant)));
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
        let told = |what: &str| println!("{:6.1} s {what}", began.elapsed().as_secs_f64());
        let rendered = render(site);
        let cluster = Cluster::hold(&format!("cluster-{}", name.replace('/', "-")), tier, rendered)?;
        told("control plane and kubelets");
        let mut values = vec![cluster.path("cilium/values.yaml"), parts("overlay.yaml")];
        values.extend((tier == "machines").then(|| parts("machines.yaml")));
        values.extend(more.map(|more| parts(&format!("{more}.yaml"))));
        cluster.act(&["cilium"].into_iter().chain(values.iter().map(String::as_str)).collect::<Vec<_>>());
        told("every agent says OK");
        cluster.kubectl(&["wait", "--for=condition=Ready", "node", "--all", "--timeout=900s"]);
        // Definitions come from the operator. A variant without addresses and BGP has no resources.
        for part in ["addresses", "bgp", "l2-announcement"] {
            let path = cluster.path(&format!("cilium/{part}.yaml"));
            if Path::new(&path).exists() {
                let taken = || cluster.ended(&["apply", "--validate=strict", "--filename", &path]).status.success();
                eventually_within(PATIENT, "Cilium's resources to be taken", taken);
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
            told("pods are ready");
        }
        Ok(cluster)
    }

    /// A control plane, kubelets and a router, and no network yet.
    fn hold(name: &str, tier: &str, rendered: PathBuf) -> Result<Self, String> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(folder.join("logs"));
        fs::create_dir_all(&folder).expect("a folder");
        let mut command = script();
        command.arg("hold").arg(&folder).args([tier, &NODES.to_string()]);
        command.env("LINERATE", linerate().get_program());
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

    /// A program in the network of the control plane; `KUBECONFIG` is set.
    fn inside(&self, program: &str) -> Command {
        let mut command = script();
        command.arg("in").arg(&self.folder).arg(program).stdin(Stdio::null());
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
        let first = fs::read_to_string(self.folder.join("first")).expect("it runs");
        let first = first.split_whitespace().next().expect("a process");
        Path::new("/proc").join(first).join("root/run/netns/client")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}

/// What the built program writes of a site, whose name begins with its variant.
fn render(site: &str) -> PathBuf {
    let variant = site.split_once('-').map_or(site, |(variant, _)| variant);
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
