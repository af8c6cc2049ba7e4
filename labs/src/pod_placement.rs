//! `cargo labs placed`: what `linerate render` writes for hundreds of nodes, applied to a real API server and placed
//! by the real controllers and scheduler on nodes that kwok pretends. Racks and sets are computed anew here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Outcome;
use crate::kubernetes::Kubernetes;
use crate::processes::{Used, named};

pub(crate) const USAGE: &str = "usage: cargo labs placed [--linerate PATH] [--out FOLDER]
  484 nodes in 22 racks with 20 drives each, as render writes them: pods, sets and claims by a real scheduler; root,
  and make kubernetes-scale";

const NODES: usize = 484;
const RACKS: usize = 22;
const DRIVES: usize = 20;

/// 484 is 2² × 11²: the largest number of drives up to 16 that divides it is 11, and MinIO keeps 4 of 11 as parity.
const SET_DRIVES: usize = 11;
const PARITY: usize = 4;

/// How long the pods may take.
const PLACED_WITHIN: Duration = Duration::from_secs(3600);

const REQUESTED_EACH: Duration = Duration::from_secs(5);

/// As the kernel has their names, which it cuts at 15 letters.
const COMPONENTS: [&str; 4] = ["etcd", "kube-apiserver", "kube-controller", "kube-scheduler"];

type Error = Box<dyn std::error::Error>;

#[derive(Debug, Default)]
struct Measured {
    rendered: Duration,
    applied: Duration,
    placed: Duration,
    compared: Duration,
    /// Processor time and most memory of each component.
    used: BTreeMap<&'static str, Used>,
}

/// Places, prints, and fails where something is not as computed.
pub(crate) fn run(args: &[String]) -> Outcome {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("no repository")?.to_owned();
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let (mut linerate, mut out) = (target.join("debug/linerate"), root.join("runs/placed"));
    for pair in args.chunks(2) {
        match pair {
            [flag, value] if flag == "--linerate" => linerate = PathBuf::from(value),
            [flag, value] if flag == "--out" => out = PathBuf::from(value),
            _ => return Err(format!("{pair:?} is no flag with its value\n{USAGE}").into()),
        }
    }
    let linerate = linerate.canonicalize().map_err(|error| format!("{}: {error}", linerate.display()))?;
    fs::create_dir_all(&out)?;
    let kubernetes = Kubernetes::hold(&root, "placed", u32::try_from(NODES)?)?;
    let place = Place { gitops: kubernetes.folder.join("gitops"), kubernetes, linerate };
    let (measured, wrong) = place.measured()?;
    let text = page(&measured, &wrong);
    fs::write(out.join("README.md"), &text)?;
    println!("{text}");
    Ok(crate::success_if(wrong.is_empty()))
}

/// The site: machines have the names of kwok's nodes.
fn site() -> String {
    format!(
        "name: placed-{NODES}\n\
         nodes:\n  count: {NODES}\n  racks: {RACKS}\n  cores: 64\n  memory: 512GiB\n  drives: {{count: {DRIVES}, \
         capacity: 15.36TB}}\n  nics: {{name: eth0, speed: 100Gb/s}}\n\
         planes: {{public: {{link: eth0, mtu: 9000}}}}\n\
         clients: {{count: 484, speed: 100Gb/s}}\n\
         engine: minio\nentry: bgp\n\
         kubernetes:\n  namespace: object-store\n  image: quay.io/minio/minio:RELEASE.2025-04-22T22-12-26Z\n  \
         hosts:\n    names: k{{1...{NODES}}}\n    mounts: /data{{1...{DRIVES}}}\n  api_server: api.example.com\n  \
         pod_cidr: 10.240.0.0/13\n  native_cidr: 10.240.0.0/13\n  load_balancer: 192.0.2.0/28\n  \
         bgp: {{local_as: 65001, peer_as: 65000}}\n"
    )
}

struct Place {
    kubernetes: Kubernetes,
    gitops: PathBuf,
    linerate: PathBuf,
}

impl Place {
    fn measured(&self) -> Result<(Measured, Vec<String>), Error> {
        let mut measured = Measured::default();
        let (site, secret) = (self.kubernetes.folder.join("site.yaml"), self.kubernetes.folder.join("secret.yaml"));
        fs::write(&site, self::site())?;
        let begun = Instant::now();
        let mut render = Command::new(&self.linerate);
        render.arg("render").arg(&site).arg("-o").arg(&self.gitops).arg("--init-secrets").arg(&secret);
        ended(&render.output()?)?;
        measured.rendered = begun.elapsed();
        let begun = Instant::now();
        let apply = ["apply", "--server-side", "--validate=strict"];
        let path = |name: &str| self.gitops.join(name).display().to_string();
        self.kubectl(&[&apply[..], &["--filename", &path("engine/namespace.yaml")]].concat())?;
        self.kubectl(&[&apply[..], &["--filename", &secret.display().to_string()]].concat())?;
        for part in ["priority", "storage", "engine"] {
            self.kubectl(&[&apply[..], &["--kustomize", &path(part)]].concat())?;
        }
        measured.applied = begun.elapsed();
        let begun = Instant::now();
        self.wait_for_pods(begun + PLACED_WITHIN, &mut measured)?;
        measured.placed = begun.elapsed();
        let mut wrong = self.wrong()?;
        let begun = Instant::now();
        let mut diff = self.kubernetes.command(&self.linerate);
        let said = diff.arg("render").arg(&site).arg("--diff").output()?;
        measured.compared = begun.elapsed();
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let differs = |line: &&str| ["missing", "differs", "refused"].iter().any(|word| line.starts_with(word));
        wrong.extend(said.lines().filter(differs).map(|line| format!("render --diff: {line}")));
        self.sample(&mut measured);
        Ok((measured, wrong))
    }

    fn kubectl(&self, words: &[&str]) -> Result<Vec<u8>, Error> {
        let output = self.kubernetes.command(Path::new("kubectl")).args(words).output()?;
        ended(&output)?;
        Ok(output.stdout)
    }

    fn listed(&self, what: &str) -> Result<Vec<Value>, Error> {
        let said = self.kubectl(&["get", what, "--namespace", "object-store", "--output", "json"])?;
        let mut listed: Value = serde_json::from_slice(&said)?;
        Ok(serde_json::from_value(listed["items"].take())?)
    }

    fn wait_for_pods(&self, until: Instant, measured: &mut Measured) -> Result<(), Error> {
        let field = "--field-selector=status.phase=Running";
        loop {
            let names = self.kubectl(&["get", "pods", "--namespace", "object-store", field, "--output", "name"])?;
            let running = String::from_utf8_lossy(&names).lines().count();
            self.sample(measured);
            if running == NODES {
                return Ok(());
            }
            if Instant::now() > until {
                return Err(format!("{running} of {NODES} pods run after {} s", PLACED_WITHIN.as_secs()).into());
            }
            eprintln!("{running} of {NODES} pods run");
            thread::sleep(REQUESTED_EACH);
        }
    }

    fn sample(&self, measured: &mut Measured) {
        for name in COMPONENTS {
            let found = named(name, &self.kubernetes.folder).first().copied().and_then(Used::for_pid);
            let Some(now) = found else { continue };
            let most = measured.used.entry(name).or_default();
            *most = Used { cpu_s: now.cpu_s, rss_mib: most.rss_mib.max(now.rss_mib) };
        }
    }

    /// What is not as computed.
    fn wrong(&self) -> Result<Vec<String>, Error> {
        let manifest: Value = serde_json::from_slice(&fs::read(self.gitops.join(".linerate-render.json"))?)?;
        let bound: Vec<String> = serde_json::from_value(manifest["pools"]["minio"]["machines"].clone())?;
        let mut node_of = BTreeMap::new();
        for pod in self.listed("pods")? {
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            let ordinal = name.strip_prefix("minio-").and_then(|ordinal| ordinal.parse::<usize>().ok());
            let ordinal = ordinal.ok_or(format!("{name} is no pod of the set"))?;
            node_of.insert(ordinal, pod["spec"]["nodeName"].as_str().unwrap_or_default().to_owned());
        }
        let mut wrong = misplaced(&node_of, &bound);
        wrong.extend(crowded(&node_of));
        let claims = self.listed("persistentvolumeclaims")?;
        let is_bound = |claim: &&Value| claim["status"]["phase"] == "Bound";
        let bound_claims = claims.iter().filter(is_bound).count();
        if bound_claims != NODES * DRIVES {
            wrong.push(format!("{bound_claims} of {} claims are bound", NODES * DRIVES));
        }
        Ok(wrong)
    }
}

fn ended(output: &Output) -> Result<(), Error> {
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).chars().take(2000).collect::<String>().into())
}

/// Pods that are not where render computed, and nodes that have two.
fn misplaced(node_of: &BTreeMap<usize, String>, computed: &[String]) -> Vec<String> {
    let mut wrong = Vec::new();
    if node_of.len() != NODES || computed.len() != NODES {
        wrong.push(format!("{} pods, {} computed", node_of.len(), computed.len()));
    }
    let distinct: BTreeSet<&String> = node_of.values().collect();
    if distinct.len() != node_of.len() {
        wrong.push(format!("{} pods on {} nodes", node_of.len(), distinct.len()));
    }
    for ((ordinal, node), computed) in node_of.iter().zip(computed) {
        if node != computed {
            wrong.push(format!("minio-{ordinal} is on {node}, and not on {computed}"));
        }
    }
    wrong
}

/// Sets of which a rack has more than may be lost. Machines are in racks in the order of their names, 22 in each.
fn crowded(node_of: &BTreeMap<usize, String>) -> Vec<String> {
    let rack = |ordinal: usize| {
        let number = node_of.get(&ordinal).and_then(|node| node.strip_prefix('k')?.parse::<usize>().ok());
        number.map(|number| (number - 1) / (NODES / RACKS))
    };
    let mut wrong = Vec::new();
    for set in 0..NODES * DRIVES / SET_DRIVES {
        let mut of_rack: BTreeMap<Option<usize>, usize> = BTreeMap::new();
        for endpoint in set * SET_DRIVES..(set + 1) * SET_DRIVES {
            *of_rack.entry(rack(endpoint % NODES)).or_default() += 1;
        }
        let most = of_rack.values().copied().max().unwrap_or(0);
        if most > PARITY || of_rack.contains_key(&None) {
            wrong.push(format!("set {set}: a rack has {most} of {SET_DRIVES} shards, and {PARITY} may be lost"));
        }
    }
    wrong
}

fn page(measured: &Measured, wrong: &[String]) -> String {
    let seconds = |duration: Duration| format!("{:.1} s", duration.as_secs_f64());
    let mut text = format!(
        "# {NODES} nodes in {RACKS} racks, placed by a real scheduler\n\n`make placed`: {DRIVES} drives a node, {} \
         volumes, sets of {SET_DRIVES} with {PARITY} of parity. etcd, the API\nserver, controllers and the scheduler \
         are real; nodes and the running of pods are pretended by kwok.\n\n| what | |\n|---|---|\n",
        NODES * DRIVES
    );
    let verdict = if wrong.is_empty() { "all".to_owned() } else { format!("{} wrong", wrong.len()) };
    let rows = [
        ("one pod a node, as computed; no rack with more of a set than may be lost; claims bound", verdict),
        ("render, until the files are written", seconds(measured.rendered)),
        ("kubectl apply --server-side of all of it", seconds(measured.applied)),
        ("until the last pod runs", seconds(measured.placed)),
        ("render --diff, everything compared", seconds(measured.compared)),
    ];
    rows.iter().for_each(|(what, value)| text.push_str(&format!("| {what} | {value} |\n")));
    for (name, used) in &measured.used {
        let name = if *name == "kube-controller" { "kube-controller-manager" } else { name };
        text.push_str(&format!(
            "| {name} | {:.0} s of processor time, {:.0} MiB at the most |\n",
            used.cpu_s, used.rss_mib
        ));
    }
    wrong.iter().take(20).for_each(|line| text.push_str(&format!("\n- {line}")));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Racks in turn: each set of eleven is in eleven racks.
    fn round() -> BTreeMap<usize, String> {
        let node = |ordinal: usize| (ordinal % RACKS) * (NODES / RACKS) + ordinal / RACKS;
        (0..NODES).map(|ordinal| (ordinal, format!("k{}", node(ordinal) + 1))).collect()
    }

    #[test]
    fn a_set_in_few_racks_is_found() {
        assert_eq!(crowded(&round()), Vec::<String>::new());
        let in_order: BTreeMap<usize, String> = (0..NODES).map(|i| (i, format!("k{}", i + 1))).collect();
        assert_eq!(crowded(&in_order).len(), NODES * DRIVES / SET_DRIVES);
    }

    #[test]
    fn a_pod_elsewhere_is_found() {
        let computed: Vec<String> = round().into_values().collect();
        assert_eq!(misplaced(&round(), &computed), Vec::<String>::new());
        let mut moved = round();
        moved.insert(3, computed[4].clone());
        let wrong = misplaced(&moved, &computed);
        assert!(wrong.len() == 2 && wrong[1].starts_with("minio-3 is on "), "{wrong:?}");
    }
}
