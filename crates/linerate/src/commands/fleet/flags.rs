//! Flags of `linerate fleet`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use linerate_record::units::parse_duration;

use crate::remote::kube_cluster::ClusterFlags;
use crate::remote::lease_flag;
use crate::remote::node_access::flags::ReachFlags;

#[cfg(feature = "kube")]
const KUBE_HELP: &str = "";
#[cfg(not(feature = "kube"))]
const KUBE_HELP: &str = "\
This linerate was built without Kubernetes: kube:// reaches nothing, and manifest, up and down are refused.

";

const HELP: &str = "\
A fleet file lists nodes with their roles and how to reach them:

  nodes:
    - {name: 'node{01...56}', role: storage}
    - {name: 'client{1...7}', role: client, reach: 'ssh://admin@10.0.0.{11...17}'}
    - {name: me, role: client, reach: here}

Ways to reach a node: here, ssh://[USER@]HOST[:PORT] (with the system's OpenSSH; the default is ssh://NAME),
kube://NAMESPACE/POD[/CONTAINER] and kube://NAMESPACE/?LABEL=VALUE[,spec.nodeName=NODE] (in pods, by exec, with the
user's kubeconfig; a context goes first: kube://CONTEXT/NAMESPACE/POD/), netns://NAME, pid://NUMBER and exec:COMMAND.
linerate opens no port and installs nothing. With SSH, it copies itself into the user's cache there, under its SHA-256;
cache: /FOLDER of a node names another folder, and become: sudo -n gives its agent other rights.

Examples:
  linerate fleet check --fleet fleet.yaml
  linerate fleet check --fleet fleet.yaml --json
  linerate fleet clean --fleet fleet.yaml
  linerate audit --fleet fleet.yaml
  linerate fleet up --clients 8 --image registry.example/linerate:0.1.0 -o fleet.yaml
  linerate fleet manifest --change --storage-label example.com/storage --image registry.example/linerate:0.1.0
  linerate fleet down --fleet fleet.yaml

Exit codes:
  0    every node was reached
  1    this machine or a file cannot be read
  2    the fleet file has a mistake, or consent to its commands is missing
  3    a node or the API server was not reached, clients did not become ready, or not all of their objects were deleted
  130  interrupted; agents were ended";

#[derive(Args, Debug)]
#[command(after_help = [KUBE_HELP, HELP].concat())]
pub(crate) struct FleetFlags {
    #[command(subcommand)]
    pub(super) verb: FleetVerb,
}

#[derive(Subcommand, Debug)]
pub(super) enum FleetVerb {
    /// Reach each node, and report its version, clock offset, round trip, cores, memory, NICs and permissions.
    Check(CheckFlags),
    /// Remove linerate from the user's cache on nodes that are reached by SSH.
    Clean(FleetCleanFlags),
    /// Print clients in Kubernetes as YAML: what fleet up would apply, and why.
    Manifest(ManifestFlags),
    /// Start clients in Kubernetes, wait until they are ready, and write the fleet file that reaches them.
    Up(Box<UpFlags>),
    /// Delete what one fleet up created in Kubernetes, and check that nothing is left.
    Down(DownFlags),
}

#[derive(Args, Debug)]
pub(super) struct CheckFlags {
    /// Fleet file.
    #[arg(long, value_name = "FLEET")]
    pub(super) fleet: PathBuf,
    #[command(flatten)]
    pub(super) reach: ReachFlags,
    /// Consent to running the commands in the fleet file.
    #[arg(long)]
    pub(super) yes_exec: bool,
    /// Show a row for each node, even if many are alike.
    #[arg(long)]
    pub(super) all: bool,
    /// Print JSON instead of text.
    #[arg(long)]
    pub(super) json: bool,
    /// File to write. [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct FleetCleanFlags {
    /// Fleet file.
    #[arg(long, value_name = "FLEET")]
    pub(super) fleet: PathBuf,
}

/// What clients in Kubernetes are like.
#[derive(Args, Debug)]
pub(super) struct ClientFlags {
    /// Number of clients, 1 to 1000.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    #[arg(required_unless_present = "change")]
    pub(super) clients: Option<u32>,
    /// Image of linerate that the nodes can pull.
    #[arg(long, value_name = "IMAGE")]
    pub(super) image: String,
    /// Namespace of the clients, created if it does not exist.
    #[arg(long, value_name = "NAMESPACE", default_value = "linerate")]
    pub(super) namespace: String,
    /// Name that distinguishes this fleet from others. [default: drawn at random for up, manual for manifest]
    #[arg(long, value_name = "NAME")]
    pub(super) instance: Option<String>,
    /// Processors that each client requests, as a quantity of Kubernetes.
    #[arg(long, value_name = "QUANTITY", default_value = "2")]
    pub(super) cpu: String,
    /// Memory that each client requests.
    #[arg(long, value_name = "QUANTITY", default_value = "1Gi")]
    pub(super) memory: String,
    /// Time after which clients end by themselves, from 1m to 168h.
    #[arg(long, value_parser = parse_duration, default_value = "1h")]
    pub(super) deadline: Duration,
    /// How long a client continues without messages from its coordinator, from 2s to 5m: long enough for a restart of
    /// the API server.
    #[arg(long, value_parser = lease_flag::parse_lease, default_value = "30s")]
    pub(super) lease: Duration,
    /// Label of the storage nodes: no client runs on them. [default: none; clients may run on any node]
    #[arg(long, value_name = "LABEL[=VALUE]")]
    pub(super) storage_label: Option<String>,
    /// Also start so many clients in the network of their hosts, each on another host that has clients, in a separate
    /// namespace of privileged pods: what linerate net holds pods against.
    #[arg(long, value_name = "N", default_value = "0", conflicts_with = "storage")]
    pub(super) host_clients: u32,
    /// Also create a Service in front of each client, which leads to this port: linerate net --port PORT measures pairs
    /// through it too.
    #[arg(long, value_name = "PORT", conflicts_with = "storage")]
    #[arg(value_parser = clap::value_parser!(u16).range(1_024..))]
    pub(super) service_port: Option<u16>,
    /// Also read the storage nodes in full: a privileged DaemonSet in a separate namespace.
    #[arg(long, requires = "storage_label")]
    pub(super) storage: bool,
    /// Instead of clients: privileged pods, root on each storage node, through which linerate tune --fleet changes its
    /// settings. What changes them and rolls them back is started by the machine's systemd, and outlives the pods.
    #[arg(long, requires = "storage_label")]
    #[arg(conflicts_with_all = ["clients", "cpu", "memory", "host_clients", "service_port", "storage"])]
    pub(super) change: bool,
}

#[derive(Args, Debug)]
pub(super) struct ManifestFlags {
    #[command(flatten)]
    pub(super) clients: ClientFlags,
    /// File to write. [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct UpFlags {
    #[command(flatten)]
    pub(super) clients: ClientFlags,
    #[command(flatten)]
    pub(super) cluster: ClusterFlags,
    /// How long to wait until clients are ready.
    #[arg(long, value_parser = parse_duration, default_value = "5m")]
    pub(super) wait: Duration,
    /// Fleet file to write. [default: standard output]
    #[arg(long, short, value_name = "FLEET")]
    pub(super) output: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct DownFlags {
    /// Fleet file that fleet up wrote.
    #[arg(long, value_name = "FLEET", required_unless_present = "instance", conflicts_with = "instance")]
    pub(super) fleet: Option<PathBuf>,
    /// Name of the fleet, as fleet up printed it.
    #[arg(long, value_name = "NAME")]
    pub(super) instance: Option<String>,
    /// Namespace of the clients, with --instance.
    #[arg(long, value_name = "NAMESPACE", default_value = "linerate", conflicts_with = "fleet")]
    pub(super) namespace: String,
    #[command(flatten)]
    pub(super) cluster: ClusterFlags,
    /// How long to wait until everything is deleted.
    #[arg(long, value_parser = parse_duration, default_value = "2m")]
    pub(super) wait: Duration,
}
