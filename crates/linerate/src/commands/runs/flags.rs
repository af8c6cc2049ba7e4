//! Flags of `linerate runs`.

use std::path::PathBuf;

use clap::Args;

const RUNS_HELP: &str = "\
Examples:
  linerate runs
  linerate runs runs/nightly

Exit codes:
  0    listed
  2    bad usage; the folder does not exist, or contains no run";

#[derive(Args, Debug)]
#[command(after_help = RUNS_HELP)]
pub(crate) struct RunsFlags {
    /// Folder that contains run folders.
    #[arg(value_name = "FOLDER", default_value = "runs")]
    pub(crate) folder: PathBuf,
}
