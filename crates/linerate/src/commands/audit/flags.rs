//! Flags of `linerate audit`.

use std::path::PathBuf;

use clap::Args;

use crate::files::output_format::{FormatFlags, OutputFormat};
use crate::remote::node_access::flags::ReachFlags;

const AFTER_HELP: &str = "\
It changes nothing, and needs root only for the namespaces of other users' processes. It reports what it cannot read.
Differences are sorted by the weight of the resource that they relieve times the confidence of the recommendation;
links and drives weigh most.

Examples:
  linerate audit
      this machine against s3-storage-node, with a site made from the machine itself
  linerate audit --site site.yaml --profile source-003-full
  linerate audit --pid 4711
      a server with another name, in its own namespaces
  linerate audit --root captures/numa-apart-6.1 --json
  linerate audit --check > audit.txt || echo differs
  linerate audit --format html -o audit.html
  linerate audit --fleet fleet.yaml
      all nodes of a fleet, and first how nodes of the same role differ from each other

Exit codes:
  0    audited, whatever it found
  1    this machine or a file cannot be read
  2    a site or fleet file has a mistake, a profile is unknown, or --root is not a captured machine
  3    a node of a fleet was not reached
  5    with --check: a setting differs, nodes of one role differ, or a finding is a warning or worse";

/// What needs --fleet: where that is excluded, clap does not say that they need it.
const FLEET_FLAGS: [&str; 2] = ["ReachFlags", "yes_exec"];

#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct AuditFlags {
    /// The profile to compare with; linerate knobs --profile shows one. [default: s3-storage-node, and s3-client-node
    /// for clients of a fleet]
    #[arg(long, value_name = "PROFILE")]
    pub(super) profile: Option<String>,
    /// Site file of the cluster, as for plan. [default: derived from the machine, with its assumptions reported]
    #[arg(long, value_name = "SITE")]
    pub(super) site: Option<PathBuf>,
    /// A process to treat as an S3 server, in addition to minio, rustfs, radosgw and garage, which are found by name.
    #[arg(long, value_name = "PID", conflicts_with = "root", conflicts_with_all = FLEET_FLAGS)]
    pub(super) pid: Vec<u32>,
    /// An additional network namespace to read, by its name in `ip netns`.
    #[arg(long, value_name = "NAME", conflicts_with = "root", conflicts_with_all = FLEET_FLAGS)]
    pub(super) netns: Option<String>,
    /// A captured machine to read instead of this one: a complete folder from linerate capture.
    #[arg(long, value_name = "CAPTURE", conflicts_with_all = FLEET_FLAGS)]
    pub(super) root: Option<PathBuf>,
    /// A fleet file: read all its nodes instead of this machine, and compare nodes of the same role with each other.
    #[arg(long, value_name = "FLEET", conflicts_with_all = ["root", "pid", "netns"])]
    pub(super) fleet: Option<PathBuf>,
    #[command(flatten)]
    pub(super) reach: ReachFlags,
    /// Consent to running the commands in the fleet file.
    #[arg(long, requires = "fleet")]
    pub(super) yes_exec: bool,
    /// Show everything: each finding, and each difference with its reason, risk and command; without it, the text fits
    /// a screen, with what weighs most.
    #[arg(long)]
    pub(super) all: bool,
    /// End with 5 if a setting differs or a finding is a warning or worse.
    #[arg(long)]
    pub(super) check: bool,
    #[command(flatten)]
    pub(super) shown: FormatFlags<OutputFormat>,
    /// File to write. [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}
