//! Flags of `linerate capture`.

use std::path::PathBuf;

use clap::Args;

const AFTER_HELP: &str = "\
The folder has the files that audit reads, below the paths that they have here, and capture.json: when and by which
linerate it was made, and what drivers and other namespaces answer. Host names, addresses, identifiers and serial
numbers are replaced, each by the same word wherever it stands. Of the kernel's command line, of sysctl.d and of
/proc/cpuinfo it has only what audit reads. Look it over before you give it away.

Example:
  linerate capture -o machine && linerate audit --root machine

Exit codes:
  0    recorded
  1    this machine cannot be read, or the folder not written
  2    bad usage";

#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct CaptureFlags {
    /// Folder to make; it must not exist, or be empty.
    #[arg(long, short, value_name = "DIR")]
    pub(super) output: PathBuf,
    /// What the machine is, in a few words that are kept as they are.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(super) note: String,
    /// A process to take for an S3 server, beside those that are found.
    #[arg(long, value_name = "PID")]
    pub(super) pid: Vec<u32>,
    /// A captured machine to take again in place of this one.
    #[arg(long, value_name = "CAPTURE", conflicts_with = "pid")]
    pub(super) root: Option<PathBuf>,
}
