//! Flags of `linerate audit`.

use std::path::PathBuf;

use clap::Args;

use crate::output::OutputFormat;

const AFTER_HELP: &str = "\
It changes nothing, and needs root only for what root is needed for: the namespaces of other users' processes. What
cannot be read is reported. Differences stand by the weight of what they relieve times how sure it is; links and drives
weigh most.

Examples:
  linerate audit
      this machine against s3-storage-node, with a site made from the machine itself
  linerate audit --site site.yaml --profile source-003-full
  linerate audit --pid 4711
      a server of another name, in its own namespaces
  linerate audit --root captures/numa-apart-6.1 --json
  linerate audit --check > audit.txt || echo differs
  linerate audit --format html -o audit.html

Exit codes:
  0    audited, whatever is found
  1    this machine or a file cannot be read
  2    a site has a mistake, a profile is unknown, or --root is no captured machine
  5    with --check: a setting differs, or a finding is a warning or worse";

#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct AuditFlags {
    /// The profile to hold it against; linerate knobs --profile shows one.
    #[arg(long, value_name = "PROFILE", default_value = "s3-storage-node")]
    pub(super) profile: String,
    /// File that describes the cluster, as for plan. [default: made from the machine, and what it assumes is reported]
    #[arg(long, value_name = "SITE")]
    pub(super) site: Option<PathBuf>,
    /// A process to take for an S3 server, beside minio, rustfs, radosgw and garage, which are found.
    #[arg(long, value_name = "PID", conflicts_with = "root")]
    pub(super) pid: Vec<u32>,
    /// A network namespace to look into besides, as `ip netns` calls it.
    #[arg(long, value_name = "NAME", conflicts_with = "root")]
    pub(super) netns: Option<String>,
    /// A captured machine to read in place of this one: a folder that linerate capture made, whole.
    #[arg(long, value_name = "CAPTURE")]
    pub(super) root: Option<PathBuf>,
    /// Every difference with its reason and command; the text has the ten that weigh most.
    #[arg(long)]
    pub(super) all: bool,
    /// End with 5 where a setting differs or a finding is a warning or worse.
    #[arg(long)]
    pub(super) check: bool,
    /// JSON: the same as --format json.
    #[arg(long, conflicts_with = "format")]
    pub(super) json: bool,
    /// Format.
    #[arg(long, short, value_enum, default_value_t = OutputFormat::Text)]
    pub(super) format: OutputFormat,
    /// File to write. [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}
