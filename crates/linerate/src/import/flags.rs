//! Flags of `linerate import`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Args, Debug)]
#[command(after_help = "\
Figures are those of the time in which every thread was at work: from when the last of them had ended its first request
to when the first began its last. Bodies count as they moved, evenly from the first byte (of a GET) or the start to the
end of a request. Objects that were written or deleted before and after are left out.
Memory: 60 KiB per host, operation and interval that the longest request spans.

Example:
  linerate import warp get.csv.zst -o runs/imported

Exit codes:
  0    a run folder was made
  1    a file cannot be read or written
  2    the file is none of that tool's, quoted with its line")]
pub(crate) struct ImportFlags {
    /// Tool that measured.
    #[arg(value_enum)]
    pub(super) tool: Tool,
    /// File that it wrote. For warp, the .csv.zst of `warp … --full`, or the same unpacked.
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// Run folder to write, which must not exist yet. [default: runs/ and the file's name]
    #[arg(long, short, value_name = "DIR")]
    pub(super) output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tool {
    /// warp 1.x, by its records per request.
    Warp,
}
