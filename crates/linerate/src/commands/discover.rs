//! `linerate discover`: the nodes of a running cluster, as a site file.

pub(crate) mod flags;

use std::path::Path;
use std::process::ExitCode;

use linerate_discovery::differences;
use linerate_fleet::description::{self, FleetNode};
use linerate_record::discovery::{DiscoveredSite, DiscoveryKind, SiteDifference};
use linerate_record::fleet::FleetRow;
use linerate_record::site::Site;
use linerate_report::discovery as report;
use linerate_site::{quoted, written};

use crate::files::{output_file, site_file};
use crate::remote::discovered_fleet::{discover_fleet, unread_failure};
use crate::remote::node_access;
use crate::terminal::failure::{Failure, code};
use crate::terminal::{key_masks, printing};
use flags::DiscoverFlags;

/// Permissions of the files that it writes: they hold no secret.
const MODE: u32 = 0o644;

/// What is wrong with what the flags name.
pub(crate) fn check(flags: &DiscoverFlags) -> Result<(), Failure> {
    let nodes = fleet_nodes(flags);
    let site = match (existing(flags), output(flags)) {
        (Some(path), _) => site_file::read_site(path).map(drop),
        (None, Some(path)) => output_file::check_output(path),
        (None, None) => Ok(()),
    };
    let unused = nodes.as_ref().ok().and_then(|nodes| flags.reach.check(nodes, &flags.fleet).err());
    match (nodes, site, unused) {
        (Ok(_), Ok(()), None) => Ok(()),
        (nodes, site, unused) => Err(Failure::combine([nodes.err(), site.err(), unused])),
    }
}

/// The file of the site; none for standard output.
fn output(flags: &DiscoverFlags) -> Option<&Path> {
    flags.output.as_deref().filter(|path| path.as_os_str() != "-")
}

/// The site file that is there already.
fn existing(flags: &DiscoverFlags) -> Option<&Path> {
    output(flags).filter(|path| path.exists())
}

/// The nodes of the fleet file, or of the hosts that it will be written of.
fn fleet_nodes(flags: &DiscoverFlags) -> Result<Vec<FleetNode>, Failure> {
    match fleet_text(flags)? {
        Some(text) => description::read(&text, "--hosts").map_err(Failure::usage),
        None => node_access::read_fleet(&flags.fleet),
    }
}

/// The fleet file of `--hosts`: storage nodes that SSH reaches. `user@host` keeps the user.
fn fleet_text(flags: &DiscoverFlags) -> Result<Option<String>, Failure> {
    if flags.hosts.is_empty() {
        return Ok(None);
    }
    if flags.fleet.exists() {
        let path = flags.fleet.display();
        return Err(Failure::usage(format!("{path} exists: leave out --hosts, or name a new file with --fleet")));
    }
    let row = |entry: &String| {
        let (user, host) = entry.rsplit_once('@').map_or((None, entry.as_str()), |(user, host)| (Some(user), host));
        let reach =
            user.map_or_else(String::new, |user| format!(", reach: {}", quoted(&format!("ssh://{user}@{{name}}"))));
        format!("  - {{name: {}, role: storage{reach}}}\n", quoted(host))
    };
    let rows: String = flags.hosts.iter().map(row).collect();
    let head =
        "# Written by linerate discover. Clients are nodes with role: client; become: sudo -n gives agents root.\n";
    Ok(Some(format!("{head}nodes:\n{rows}")))
}

pub(crate) fn run(flags: &DiscoverFlags) -> Result<ExitCode, Failure> {
    let nodes = fleet_nodes(flags)?;
    flags.reach.check(&nodes, &flags.fleet)?;
    node_access::consent_to_commands(&nodes, flags.yes_exec)?;
    let mut found = discover_fleet(&nodes, &flags.reach, &flags.name)?;
    if let Some(text) = fleet_text(flags)? {
        write(&flags.fleet, &text)?;
    }
    if let (Some(path), Ok(own)) = (existing(flags), &found.site) {
        found.discovered.differences = Some(compare(path, own, flags.update)?);
    }
    if let Err(error) = &found.site {
        printing::print_error(&format!(
            "warning: a site file cannot say what the nodes say: correct these by hand: {error}\n"
        ));
    }
    let (site, unreached) = (&found.discovered, found.unreached());
    if let (None, Some(path)) = (existing(flags), output(flags)) {
        write(path, &site.site)?;
    }
    show(flags, site, &unreached)?;
    let is_missed = site.findings.iter().any(|finding| finding.kind != DiscoveryKind::Unread)
        || site.differences.as_ref().is_some_and(|differing| !differing.is_empty());
    if !unreached.is_empty() {
        return Err(unread_failure(unreached.len(), nodes.len()));
    }
    if flags.check && is_missed {
        let why = "--check: nodes contradict each other, or the site file says something else".to_owned();
        return Err(Failure::Outcome { why, code: code::MISSED });
    }
    Ok(ExitCode::SUCCESS)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    output_file::write_output(path, key_masks::mask_where_harmless(text).as_bytes(), MODE)
}

/// In what a site file that exists differs from the nodes; with `update`, what can be written into it is.
fn compare(path: &Path, own: &Site, update: bool) -> Result<Vec<SiteDifference>, Failure> {
    let (stated, file) = site_file::read_site_file(path)?;
    let mut differing = differences(&stated, own);
    if !update {
        return Ok(differing);
    }
    let mut text = file.text().to_owned();
    // Which link carries a plane is for a person to say: traffic on the wrong one is a fault, and not the site.
    for difference in differing.iter_mut().filter(|difference| !difference.path.ends_with(".link")) {
        let Ok(next) = written(&text, &difference.path, &difference.found) else { continue };
        // What was meant is what it reads as, and nothing else.
        if linerate_site::read(&next, &path.display().to_string()).is_ok() {
            text = next;
            difference.is_written = true;
        }
    }
    if text != file.text() {
        output_file::write_output(path, text.as_bytes(), MODE)?;
    }
    Ok(differing)
}

/// Prints the site where no file was named, and what was found.
fn show(flags: &DiscoverFlags, site: &DiscoveredSite, unreached: &[FleetRow]) -> Result<(), Failure> {
    if flags.json {
        return printing::print(&report::json(site));
    }
    let output = output(flags);
    let shown = report::ShownDiscovery { site, unreached, output, update: flags.update, all: flags.all };
    let text = report::text(&shown, printing::text_style());
    if output.is_some() {
        return printing::print(&text);
    }
    printing::print(&site.site)?;
    printing::print_error(&text);
    Ok(())
}
