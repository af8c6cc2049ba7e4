//! Flags of `linerate clean`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use linerate_record::units::parse_duration;

use crate::credentials::keys::Keys;

#[derive(Args, Debug)]
#[command(after_help = "\
It deletes objects, their versions and unfinished uploads below the run's own prefix. It deletes the bucket if it is
empty and this machine has a note that the run created it. run.json provides the hosts, lookup, bucket, prefix and local
addresses, and the region unless --region is given. It does not contain trusted certificates: give --ca-file or
--insecure again. linerate asks before it contacts hosts that are not this machine, and before it looks up names. It
refuses a run folder that belongs to another user, or that others can write to or replace. It is safe to clean twice.

Examples:
  linerate clean runs/1120-0931-get --dry-run
  linerate clean runs/1120-0931-get

Exit codes:
  0    listings show nothing of the run (of uploads, if they may be listed)
  1    this machine failed: a file of the run cannot be read
  2    bad usage: the folder is not a run folder, or cannot be trusted
  3    the target could not be reached, something is left, or it is not known what is left
  130  interrupted; run it again")]
pub(crate) struct CleanFlags {
    /// Run folder.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Count what would be deleted, name the first 20, and delete nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Contact hosts that are not this machine without asking: requests signed with your keys go to the hosts in
    /// run.json.
    #[arg(long)]
    pub(crate) yes_load: bool,
    /// Remove the bucket if it is empty, even if only run.json says that the run created it.
    #[arg(long)]
    pub(crate) remove_bucket: bool,
    /// Local addresses, or interfaces, to connect from, as for bench. [default: those of the run]
    #[arg(long, value_name = "ADDR|INTERFACE,…")]
    pub(crate) source: Option<String>,
    /// Certificates to trust in addition to the system's, in PEM, as for bench.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Do not verify the target's certificate.
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Time limit of one call. A call deletes up to 1,000 objects, but at most one for each 20 ms of this time.
    #[arg(long, value_parser = parse_duration, default_value = "60s")]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) keys: Keys,
    /// Keys of an alias of mc: `MC_HOST_<NAME>`, or config.json in MC_CONFIG_DIR or ~/.mc. It must stand for the hosts
    /// of the run.
    #[arg(long, value_name = "NAME", help_heading = "Credentials")]
    #[arg(conflicts_with_all = ["access_key", "secret_key", "session_token", "profile", "anonymous"])]
    pub(crate) alias: Option<String>,
}
