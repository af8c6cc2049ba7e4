//! Flags of `linerate capture`.

use std::path::PathBuf;

use clap::Args;

const AFTER_HELP: &str = "\
The folder has the files that audit reads, under the same paths, and capture.json with the time, linerate's version, and
the answers of drivers and other namespaces. Host names, addresses, identifiers and serial numbers are replaced, each by
the same word everywhere. Of the kernel's command line, sysctl.d and /proc/cpuinfo, the folder contains only what audit
reads. Read it before you share it.

Example:
  linerate capture -o machine && linerate audit --root machine

Exit codes:
  0    recorded
  1    this machine cannot be read, or the folder cannot be written
  2    bad usage";

#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct CaptureFlags {
    /// Folder to create; it must not exist, or must be empty.
    #[arg(long, short, value_name = "DIR")]
    pub(super) output: PathBuf,
    /// A short description of the machine, stored unchanged.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(super) note: String,
    /// A process to treat as an S3 server, in addition to those that are found.
    #[arg(long, value_name = "PID")]
    pub(super) pid: Vec<u32>,
    /// A captured machine to capture again instead of this one.
    #[arg(long, value_name = "CAPTURE", conflicts_with = "pid")]
    pub(super) root: Option<PathBuf>,
}
