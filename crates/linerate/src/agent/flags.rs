//! Flags of `linerate agent`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use jiff::Timestamp;
use linerate_record::fleet::Allowed;

use crate::leases;

const AFTER_HELP: &str = "\
linerate fleet check, audit --fleet and bench --fleet start it, on this machine or by SSH. It ends when they tell it to,
when its input ends, after 2 s without a message, and on SIGTERM, SIGINT or SIGHUP; a load ends with it. It opens no
port, keeps no file and changes no setting. A reach of fleet.yaml can start it in other ways:

  reach: exec:docker exec -i minio linerate agent
  reach: exec:docker exec -i client linerate agent --allow load

In a pod it is the container's command, with --listen: it serves one coordinator after the other. linerate agent
attach connects a stream to it. A coordinator whose stream breaks may come back with another one within --lease.

  linerate agent --listen /run/linerate/agent.sock --lease 30s

Exit codes:
  0    its coordinator ended it, or its input ended
  1    no message for 2 s, or one that it does not understand
  2    standard input or output is a terminal
  130  a signal ended it";

/// What an agent may do, as a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AllowFlag {
    /// Read the machine and its settings.
    Read,
    /// Also load an S3 target.
    Load,
}

impl AllowFlag {
    pub(crate) fn allowed(self) -> Allowed {
        match self {
            AllowFlag::Read => Allowed::Read,
            AllowFlag::Load => Allowed::Load,
        }
    }
}

#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct AgentFlags {
    #[command(subcommand)]
    pub(super) verb: Option<AgentVerb>,
    /// The requests that it accepts.
    #[arg(long, value_enum, default_value_t = AllowFlag::Read)]
    pub(super) allow: AllowFlag,
    /// Enter the network, mount, UTS and IPC namespaces of this process first; needs root. [default: none]
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub(super) pid: Option<u32>,
    /// Listen on this Unix socket, in a separate folder, and serve one coordinator after the other. [default: none]
    #[arg(long, value_name = "SOCKET")]
    pub(super) listen: Option<PathBuf>,
    /// With --listen: how long to continue while a stream is broken, from 2s to 5m.
    #[arg(long, value_parser = leases::parsed, default_value = "2s", requires = "listen")]
    pub(super) lease: Duration,
    /// With --listen: end at this instant, such as 2026-11-24T08:00:00Z. [default: never]
    #[arg(long, value_name = "INSTANT", requires = "listen")]
    pub(super) until: Option<Timestamp>,
    /// The agent behind process 1.
    #[arg(long, hide = true, requires = "listen")]
    pub(super) behind_init: bool,
}

#[derive(Subcommand, Debug)]
pub(super) enum AgentVerb {
    /// Connect standard input and output to an agent that listens on this machine.
    Attach(AttachFlags),
}

#[derive(Args, Debug)]
pub(super) struct AttachFlags {
    /// The socket on which the agent listens.
    #[arg(long, value_name = "SOCKET", default_value = super::attach::SOCKET)]
    pub(super) socket: PathBuf,
}
