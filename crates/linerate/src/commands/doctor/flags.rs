//! Flags of `linerate doctor`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::commands::explain::source_flags::live_time;
use crate::remote::node_access::flags::ReachFlags;

const AFTER_HELP: &str = "\
It reads all nodes of a fleet and answers, on one screen: what this cluster should do, what it does, what holds it
back, and what to change first. It is discover, plan, audit --fleet and explain --live in one command, and it only
reads: nothing is changed, and no load is sent. Run it while the cluster is under load.

What a load showed comes first, then what nodes contradict each other in, then what an audit finds. Settings come last:
whether they matter here, only an experiment tells.

Examples:
  linerate doctor --fleet fleet.yaml
  linerate doctor --fleet fleet.yaml --become 'sudo -n' --for 2m
  linerate doctor --fleet fleet.yaml --site site.yaml --json
  linerate doctor --fleet fleet.yaml --record readings.json --mask
      keeps what the nodes did, to be judged elsewhere: linerate explain SITE --replay readings.json
  linerate doctor --fleet fleet.yaml --no-live --check
      in a pipeline: 5 if nodes contradict each other or an audit finds something

Exit codes:
  0    checked, whatever was found
  1    a file cannot be read or written
  2    a fleet or site file has a mistake, or consent to its commands is missing
  3    a node was not reached; the answer is of the others
  5    with --check: something is proposed that is more than a setting
  130  interrupted; what was read until then was judged, if that was enough";

#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct DoctorFlags {
    /// The fleet file: nodes, their roles, and how each is reached. linerate discover --hosts writes one.
    #[arg(long, value_name = "FLEET")]
    pub(super) fleet: PathBuf,
    /// Site file of the cluster, for goals and what no node says, such as rates of drives. [default: what the nodes
    /// say]
    #[arg(long, value_name = "SITE")]
    pub(super) site: Option<PathBuf>,
    /// How long the nodes are read under the load that is there, from 5s to 1h.
    #[arg(long = "for", value_name = "TIME", default_value = "30s", value_parser = live_time)]
    pub(super) for_time: Duration,
    /// Do not read what the nodes do, only what they are.
    #[arg(long, conflicts_with_all = ["for_time", "record"])]
    pub(super) no_live: bool,
    /// File to keep what the nodes did in, for linerate explain --replay.
    #[arg(long, value_name = "FILE")]
    pub(super) record: Option<PathBuf>,
    /// With --record: replace each name and address of a machine in the file, always by the same one.
    #[arg(long, requires = "record")]
    pub(super) mask: bool,
    #[command(flatten)]
    pub(super) reach: ReachFlags,
    /// Consent to running the commands in the fleet file.
    #[arg(long)]
    pub(super) yes_exec: bool,
    /// Show all proposals with their evidence; without it, the first five on a screen.
    #[arg(long)]
    pub(super) all: bool,
    /// End with 5 if something is proposed that is more than a setting.
    #[arg(long)]
    pub(super) check: bool,
    /// JSON instead of text: the whole plan, audit and diagnosis.
    #[arg(long)]
    pub(super) json: bool,
}
