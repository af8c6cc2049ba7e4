//! Flags of `linerate clean`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use linerate_record::units::parse_duration;

use crate::credentials::Keys;

#[derive(Args, Debug)]
#[command(after_help = "\
It deletes objects, their versions and unfinished uploads below the run's own prefix, and the bucket if nothing else is
in it and this machine noted that the run made it. Hosts, lookup, bucket, prefix and the local addresses are those that
run.json names, and so is the region unless --region names another; whom to trust it does not say: --ca-file and
--insecure are given again. Hosts that are not this machine are asked about, and names before they are looked up. A run
folder that belongs to somebody else, or that others can write to or put another in the place of, is refused. To clean
twice does no harm.

Examples:
  linerate clean runs/1120-0931-get --dry-run
  linerate clean runs/1120-0931-get

Exit codes:
  0    nothing of the run is left
  1    this machine failed: a file of the run cannot be read
  2    bad usage: the folder is no run, or is not to be believed
  3    the target could not be reached, or something is left
  130  interrupted; run it again")]
pub(crate) struct CleanFlags {
    /// Run folder.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// List what would be deleted, and delete nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Clean at hosts that are not this machine without asking: requests signed with your keys go to those that
    /// run.json names.
    #[arg(long)]
    pub(crate) yes_load: bool,
    /// Remove the bucket if nothing is in it, though nothing but run.json says that the run made it.
    #[arg(long)]
    pub(crate) remove_bucket: bool,
    /// Local addresses, or interfaces, that connections are made from, as for bench. [default: those of the run]
    #[arg(long, value_name = "ADDR|INTERFACE,…")]
    pub(crate) source: Option<String>,
    /// Certificates to trust beside the system's, in PEM, as for bench.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Do not verify the target's certificate.
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Longest time for one call; one that deletes many objects gets a minute where this is less.
    #[arg(long, value_parser = parse_duration, default_value = "60s")]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) keys: Keys,
}
