//! Flags of `linerate discover`.

use std::path::PathBuf;

use clap::Args;

use crate::remote::node_access::flags::ReachFlags;

const AFTER_HELP: &str = "\
It reads processors, memory, drives, cards, bonds and the S3 server on each node of a fleet, and writes a site file.
A comment says where each value was read and on how many nodes. What nodes contradict each other in is listed.
It changes nothing on a node. Agents need root to see which drives and connections belong to the S3 server.

Examples:
  linerate discover --hosts 'node{01...56}' --fleet fleet.yaml -o site.yaml
      hosts that SSH reaches; it writes fleet.yaml too, for other commands
  linerate discover --fleet fleet.yaml --become 'sudo -n' -o site.yaml
  linerate plan site.yaml
      what the cluster should do
  linerate discover --fleet fleet.yaml -o site.yaml
      with a site file that exists: what the nodes say otherwise; it is not changed
  linerate discover --fleet fleet.yaml -o site.yaml --update

Exit codes:
  0    discovered, whatever was found
  1    this machine or a file cannot be read or written
  2    a fleet or site file has a mistake, or consent to its commands is missing
  3    a node was not reached; the site is that of the others
  5    with --check: nodes contradict each other, or the site file says something else
  130  interrupted; agents were ended";

#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct DiscoverFlags {
    /// The fleet file: nodes, their roles, and how each is reached.
    #[arg(long, value_name = "FLEET")]
    pub(super) fleet: PathBuf,
    /// Hosts to reach by SSH, with ranges and users but without ports: admin@node{1...4}. The fleet file is written of
    /// them; it must not exist.
    #[arg(long, value_name = "HOSTS", value_delimiter = ',')]
    pub(super) hosts: Vec<String>,
    /// The site file to write, or to compare with if it exists. [default: standard output]
    #[arg(long, short, value_name = "SITE")]
    pub(super) output: Option<PathBuf>,
    /// Write what the nodes say otherwise into an existing site file; comments, and what nobody can read, stay.
    #[arg(long, requires = "output")]
    pub(super) update: bool,
    /// The name of the site.
    #[arg(long, value_name = "NAME", default_value = "site", value_parser = site_name)]
    pub(super) name: String,
    #[command(flatten)]
    pub(super) reach: ReachFlags,
    /// Consent to running the commands in the fleet file.
    #[arg(long)]
    pub(super) yes_exec: bool,
    /// Show all values and findings; without it, the text fits a screen.
    #[arg(long)]
    pub(super) all: bool,
    /// End with 5 if nodes contradict each other, or the site file says something else.
    #[arg(long)]
    pub(super) check: bool,
    /// JSON instead of text: all values, each with its source.
    #[arg(long)]
    pub(super) json: bool,
}

fn site_name(text: &str) -> Result<String, String> {
    if linerate_site::is_name(text) {
        return Ok(text.to_owned());
    }
    Err("write letters, digits, \"-\", \"_\" and \".\", 63 at most, a letter or digit first".to_owned())
}
