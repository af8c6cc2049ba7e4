//! Flags of `linerate agent`.

use clap::{Args, ValueEnum};
use linerate_record::fleet::Allowed;

const AFTER_HELP: &str = "\
linerate fleet check, audit --fleet and bench --fleet start it, on this machine or by SSH. It ends when they tell it to,
when its input ends, after 2 s without a message, and on SIGTERM, SIGINT or SIGHUP; a load ends with it. It opens no
port, keeps no file and changes no setting. A reach of fleet.yaml can start it in other ways:

  reach: exec:docker exec -i minio linerate agent
  reach: exec:docker exec -i client linerate agent --allow load

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
    /// That, and load an S3 target.
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
#[command(after_help = AFTER_HELP)]
pub(crate) struct AgentFlags {
    /// The requests that it accepts.
    #[arg(long, value_enum, default_value_t = AllowFlag::Read)]
    pub(super) allow: AllowFlag,
    /// Enter the network, mount, UTS and IPC namespaces of this process first; needs root. [default: none]
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub(super) pid: Option<u32>,
}
