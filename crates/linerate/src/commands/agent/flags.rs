//! Flags of `linerate agent`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use jiff::Timestamp;
use linerate_record::fleet::Allowed;

use crate::remote::lease_flag;
use crate::terminal::failure::Failure;

const AFTER_HELP: &str = "\
linerate fleet check, audit --fleet and bench --fleet start it, on this machine or by SSH. It ends when they tell it to,
when its input ends, after 2 s without a message, and on SIGTERM, SIGINT or SIGHUP; a load ends with it. It opens no
port, keeps no file and changes no setting. With --allow change, linerate tune --fleet has it change settings: each
application has a journal and a watch on its machine, which outlive the agent. A reach of fleet.yaml can start it in
other ways:

  reach: exec:docker exec -i minio linerate agent
  reach: exec:docker exec -i client linerate agent --allow load
  reach: exec:ssh node07 sudo -n /usr/local/bin/linerate agent --allow change

In a pod it is the container's command, with --listen: it serves one coordinator after the other. linerate agent
attach connects a stream to it. A coordinator whose stream breaks may come back with another one within --lease.

  linerate agent --listen /run/linerate/agent.sock --lease 30s

With --on-host, the pod of linerate fleet up --change hands each coordinator on to an agent that the systemd of its
machine starts. That agent's journals and watches are on the machine, and outlive the pod. Otherwise it refuses to
change anything from within a container, and says why.

Exit codes:
  0    its coordinator ended it, or its input ended
  1    no message for 2 s, or one that it does not understand
  2    standard input or output is a terminal
  3    attach: its input or output ended before the agent did
  130  a signal ended it";

/// What an agent may do, as a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AllowFlag {
    /// Read the machine and its settings.
    Read,
    /// Also load an S3 target.
    Load,
    /// Also change settings, each with a journal and a watch on this machine.
    Change,
}

impl AllowFlag {
    pub(crate) fn allowed(self) -> Allowed {
        match self {
            AllowFlag::Read => Allowed::Read,
            AllowFlag::Load => Allowed::Load,
            AllowFlag::Change => Allowed::Change,
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
    #[arg(long, value_parser = lease_flag::parse_lease, default_value = "2s", requires = "listen")]
    pub(super) lease: Duration,
    /// With --listen: end at this instant, such as 2026-11-24T08:00:00Z. [default: never]
    #[arg(long, value_name = "INSTANT", requires = "listen")]
    pub(super) until: Option<Timestamp>,
    /// With --allow change: read and change this captured machine instead of this one, to rehearse: a complete folder
    /// from linerate capture, with its etc/machine-id added.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["pid", "listen"])]
    pub(super) root: Option<PathBuf>,
    /// With --listen and --allow change, in a privileged pod with hostPID: have the machine's systemd start an agent on
    /// the machine for each coordinator, with the program, the journals and the watches there.
    #[arg(long, requires = "listen", conflicts_with_all = ["pid", "root"])]
    pub(super) on_host: bool,
    /// The agent behind process 1.
    #[arg(long, hide = true, requires = "listen")]
    pub(super) behind_init: bool,
    /// The agent that a pod has started on its machine, and for how long it goes on without a message.
    #[arg(long, hide = true, value_name = "LEASE", value_parser = lease_flag::parse_lease)]
    #[arg(conflicts_with_all = ["pid", "listen", "root"])]
    pub(super) of_pod: Option<Duration>,
}

impl AgentFlags {
    /// Refuses an agent that would change settings where nothing that it leaves behind could roll them back.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let changes = self.allow == AllowFlag::Change;
        let why = match (changes, self.pid.is_some(), self.listen.is_some(), self.root.is_some()) {
            (true, true, _, _) => {
                "--allow change with --pid: journals would be in the folders of that process, and go with it: start \
                 the agent on the machine, and name the namespace with tune diff --fleet --netns"
            }
            (true, _, true, _) if !self.on_host => {
                "--allow change with --listen: an agent that listens is one of a pod, and its watch would end with \
                 the pod: have the machine's systemd start it with --on-host, in a pod of linerate fleet up --change, \
                 or reach the machine by ssh://"
            }
            (false, _, true, _) if self.on_host => "--on-host starts agents that change settings: give --allow change",
            (false, _, _, true) => "--root is the machine whose settings are changed: give --allow change",
            _ => return Ok(()),
        };
        Err(Failure::usage(why))
    }
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
