//! Flags of `linerate fleet`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

const HELP: &str = "\
A fleet file lists nodes with their roles and how to reach them:

  nodes:
    - {name: 'node{01...56}', role: storage}
    - {name: 'client{1...7}', role: client, reach: 'ssh://admin@10.0.0.{11...17}'}
    - {name: me, role: client, reach: here}

Ways to reach a node: here, ssh://[USER@]HOST[:PORT] (with the system's OpenSSH; the default is ssh://NAME),
netns://NAME, pid://NUMBER and exec:COMMAND. linerate opens no port and installs nothing. With SSH, it copies itself
into the user's cache there, under its SHA-256.

Examples:
  linerate fleet check --fleet fleet.yaml
  linerate fleet check --fleet fleet.yaml --json
  linerate fleet clean --fleet fleet.yaml
  linerate audit --fleet fleet.yaml

Exit codes:
  0    every node was reached
  1    this machine or a file cannot be read
  2    the fleet file has a mistake, or consent to its commands is missing
  3    a node was not reached
  130  interrupted; agents were ended";

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct FleetFlags {
    #[command(subcommand)]
    pub(super) verb: FleetVerb,
}

#[derive(Subcommand, Debug)]
pub(super) enum FleetVerb {
    /// Reach each node, and report its version, clock offset, round trip, cores, memory, NICs and permissions.
    Check(CheckFlags),
    /// Remove linerate from the user's cache on nodes that are reached by SSH.
    Clean(FleetCleanFlags),
}

#[derive(Args, Debug)]
pub(super) struct CheckFlags {
    /// Fleet file.
    #[arg(long, value_name = "FLEET")]
    pub(super) fleet: PathBuf,
    /// Consent to running the commands in the fleet file.
    #[arg(long)]
    pub(super) yes_exec: bool,
    /// Show a row for each node, even if many are alike.
    #[arg(long)]
    pub(super) all: bool,
    /// Print JSON instead of text.
    #[arg(long)]
    pub(super) json: bool,
    /// File to write. [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct FleetCleanFlags {
    /// Fleet file.
    #[arg(long, value_name = "FLEET")]
    pub(super) fleet: PathBuf,
}
