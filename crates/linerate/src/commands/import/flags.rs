//! Flags of `linerate import`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Args, Debug)]
#[command(after_help = "\
Figures cover the time in which every thread was busy: from the moment when the last thread finishes its first request
to the moment when the first thread starts its last. The bytes of a body are spread evenly over its transfer, from the
first byte (of a GET) or from the start of the request to its end. Objects that were written or deleted before or after
the measurement are left out.
Memory: 60 KiB per host, operation and interval that the longest request spans.

Example:
  linerate import warp get.csv.zst -o runs/imported

Exit codes:
  0    a run folder was made
  1    a file cannot be read or written
  2    the file is not one of that tool's; the line at fault is quoted")]
pub(crate) struct ImportFlags {
    /// Tool that made the records.
    #[arg(value_enum)]
    pub(super) tool: Tool,
    /// Its file. For warp, the .csv.zst of `warp … --full`, or the same file uncompressed.
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// Run folder to write, which must not exist yet. [default: runs/ and the file's name]
    #[arg(long, short, value_name = "DIR")]
    pub(super) output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tool {
    /// warp 1.x, from its records per request.
    Warp,
}
