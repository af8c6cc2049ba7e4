//! Flags of `linerate lab`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use linerate_lab::engine::LabEngine;
use linerate_lab::faults::{FaultRequest, FaultSelection};
use linerate_lab::names::{LabName, Machine};
use linerate_record::units::{BitRate, ByteRate, Bytes};

const HELP: &str = "\
A lab is a cluster on this machine: each node and client is a network namespace with a shaped link, each drive a file
with limits. Its limits are far below the machine's, so its bottleneck is known. It needs root, and changes nothing
else: all parts have names of the lab, and `lab down` removes them, also after a kill.

Examples:
  linerate lab up --nodes 4 --drives 2 --link 200Mb/s --engine minio --binary /usr/local/bin/minio
  linerate lab exec client1 -- linerate bench --host '10.231.1.{1...4}:9000' --yes-load
  linerate lab fault 'node3 link.tx=60Mb/s'
  linerate lab heal
  linerate lab down
  linerate lab up --site site.yaml --engine minio --binary minio

Exit codes:
  0    done
  1    this machine failed, lacks what the lab needs, or already uses one of the lab's names
  2    bad usage
  3    the engine did not serve in time
  130  interrupted; what was made is removed";

/// Name of a lab, unless it is said.
pub(super) const NAME: &str = "lab";

/// Flags that say what a site file says.
const WITHOUT_SITE: [&str; 8] =
    ["drive_read", "drive_write", "link", "ports", "cores", "clients", "client_link", "mtu"];

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct LabFlags {
    #[command(subcommand)]
    pub(super) verb: LabVerb,
}

#[derive(Subcommand, Debug)]
pub(super) enum LabVerb {
    /// Make a lab, from a site file or from numbers, and wait until its engine serves.
    Up(Box<UpFlags>),
    /// Show the machines of a lab, its faults, and whether its engine serves.
    Status(StatusFlags),
    /// Run a command on a machine of a lab, with its drives, limits and keys.
    Exec(ExecFlags),
    /// Break something: 'node3 link.tx=60Mb/s'.
    Fault(FaultFlags),
    /// Lift faults: all of them, those of a machine, or those named.
    Heal(HealFlags),
    /// Remove a lab whole.
    Down(DownFlags),
    /// Send datagrams to an address, as another user of the machine's link does.
    #[command(hide = true)]
    Traffic(TrafficFlags),
}

/// Which lab.
#[derive(Args, Clone, Debug)]
pub(super) struct WhichLab {
    /// Name of the lab: 1 to 12 lower-case letters, digits and -.
    #[arg(long, value_name = "NAME", default_value = NAME)]
    pub(super) name: LabName,
    /// Folder of all labs; only its owner may write to it.
    #[arg(long, value_name = "DIR", default_value = linerate_lab::folder::STATE)]
    pub(super) state: PathBuf,
}

#[derive(Args, Debug)]
pub(super) struct UpFlags {
    #[command(flatten)]
    pub(super) lab: WhichLab,
    /// Site file to scale down: its nodes, racks, planes and drives, with all rates divided by one number.
    #[arg(long, value_name = "SITE", conflicts_with_all = WITHOUT_SITE)]
    pub(super) site: Option<PathBuf>,
    /// What the rates of the site are divided by: a number, or auto, by what this machine's processors carry.
    #[arg(long, value_name = "N", default_value = "auto", requires = "site", conflicts_with_all = WITHOUT_SITE)]
    pub(super) scale: ScaleFlag,
    /// Number of nodes, 1 to 64; with a site that has more, each kind keeps its share. [default: 4, or as the site has]
    #[arg(long, value_name = "N")]
    pub(super) nodes: Option<u32>,
    /// Number of drives of each node; with a site that has more, these have the performance of all of them. [default:
    /// 2, or as the site has]
    #[arg(long, value_name = "N")]
    pub(super) drives: Option<u32>,
    /// Size of each drive; its file grows as data is written.
    #[arg(long, value_name = "SIZE", default_value = "2GiB")]
    pub(super) drive_size: Bytes,
    /// What each drive reads at most. [default: not limited]
    #[arg(long, value_name = "RATE")]
    pub(super) drive_read: Option<ByteRate>,
    /// What each drive writes at most. [default: not limited]
    #[arg(long, value_name = "RATE")]
    pub(super) drive_write: Option<ByteRate>,
    /// Speed of each node's link, each way. [default: not shaped]
    #[arg(long, value_name = "RATE")]
    pub(super) link: Option<BitRate>,
    /// Ports of each node's link, 1 to 8, as a bond (LACP, by addresses and ports); needs the kernel's bonding.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(super) ports: u32,
    /// Processors that all processes of a node have together, such as 0.5. [default: not limited]
    #[arg(long, value_name = "N")]
    pub(super) cores: Option<f64>,
    /// Number of clients, 1 to 32.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(super) clients: u32,
    /// Speed of each client's link, each way. [default: not shaped]
    #[arg(long, value_name = "RATE")]
    pub(super) client_link: Option<BitRate>,
    /// MTU of all links.
    #[arg(long, value_name = "BYTES", default_value = "1500")]
    pub(super) mtu: u32,
    /// S3 engine to start on all nodes. [default: none]
    #[arg(long, value_name = "ENGINE", requires = "binary")]
    pub(super) engine: Option<EngineFlag>,
    /// Program of the engine.
    #[arg(long, value_name = "PATH", requires = "engine")]
    pub(super) binary: Option<PathBuf>,
    /// Shards of parity; of Garage, copies beyond the first. [default: those of the site, else the engine's own choice]
    #[arg(long, value_name = "N", requires = "engine")]
    pub(super) parity: Option<u32>,
    /// Show no progress.
    #[arg(long, short)]
    pub(super) quiet: bool,
}

/// What rates are divided by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ScaleFlag {
    Auto,
    Divisor(f64),
}

impl std::str::FromStr for ScaleFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<ScaleFlag, String> {
        if text == "auto" {
            return Ok(ScaleFlag::Auto);
        }
        let divisor = text.parse().ok().filter(|divisor: &f64| *divisor >= 1.0 && divisor.is_finite());
        divisor
            .map(ScaleFlag::Divisor)
            .ok_or_else(|| format!("{text:?}: write auto, or a number from 1 on such as 500"))
    }
}

/// Engines that a lab can run.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum EngineFlag {
    Minio,
    Garage,
}

impl EngineFlag {
    pub(super) const fn product(self) -> LabEngine {
        match self {
            EngineFlag::Minio => LabEngine::Minio,
            EngineFlag::Garage => LabEngine::Garage,
        }
    }
}

#[derive(Args, Debug)]
pub(super) struct StatusFlags {
    #[command(flatten)]
    pub(super) lab: WhichLab,
    /// Print JSON instead of text.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args, Debug)]
pub(super) struct ExecFlags {
    #[command(flatten)]
    pub(super) lab: WhichLab,
    /// Machine: node1, client1.
    #[arg(value_name = "MACHINE")]
    pub(super) machine: Machine,
    /// Command, with its arguments.
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(super) command: Vec<OsString>,
}

#[derive(Args, Debug)]
pub(super) struct FaultFlags {
    #[command(flatten)]
    pub(super) lab: WhichLab,
    /// Machine (node3, client1, nodes, clients) and what is broken: link.tx=60Mb/s, link.rx=60Mb/s, drive2=5MB/s,
    /// drive2.iops=100, cpu=20%, loss=1%, delay=2ms, mtu=1400, down, freeze, neighbour.tx=100Mb/s, window=64KiB,
    /// pauses=3s/20s; of clients subset=2.
    #[arg(value_name = "FAULT", required = true)]
    pub(super) faults: Vec<FaultRequest>,
}

#[derive(Args, Debug)]
pub(super) struct HealFlags {
    #[command(flatten)]
    pub(super) lab: WhichLab,
    /// Machines, or a fault with or without its value: node3, 'node3 link.tx', 'nodes loss'. [default: all]
    #[arg(value_name = "FAULT")]
    pub(super) faults: Vec<FaultSelection>,
}

#[derive(Args, Debug)]
pub(super) struct DownFlags {
    #[command(flatten)]
    pub(super) lab: WhichLab,
}

#[derive(Args, Debug)]
pub(super) struct TrafficFlags {
    /// By which it is found again.
    #[arg(value_name = "MARK")]
    pub(super) mark: String,
    /// Where it sends to.
    #[arg(value_name = "ADDRESS")]
    pub(super) to: SocketAddr,
    /// Bits per second.
    #[arg(value_name = "RATE")]
    pub(super) bits_per_s: u64,
}
