//! `linerate discover`: the nodes of a running cluster, as a site file.

pub(crate) mod flags;

use std::path::Path;
use std::process::ExitCode;

use linerate_discovery::{SiteDifference, differences};
use linerate_fleet::description::{self, FleetNode};
use linerate_record::discovery::{DiscoveredSite, DiscoveryKind};
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
    let site = existing(flags).map(|path| site_file::read_site(path).map(drop)).transpose();
    let unused = nodes.as_ref().ok().and_then(|nodes| flags.reach.check(nodes, &flags.fleet).err());
    match (nodes, site, unused) {
        (Ok(_), Ok(_), None) => Ok(()),
        (nodes, site, unused) => Err(Failure::combine([nodes.err(), site.err(), unused])),
    }
}

/// The site file that is there already.
fn existing(flags: &DiscoverFlags) -> Option<&Path> {
    flags.output.as_deref().filter(|path| path.as_os_str() != "-" && path.exists())
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
    let found = discover_fleet(&nodes, &flags.reach, &flags.name)?;
    let (site, unreached) = (&found.discovered, found.unreached());
    if let Some(text) = fleet_text(flags)? {
        write(&flags.fleet, &text)?;
    }
    let differing = match (existing(flags), &found.site) {
        (Some(path), Ok(own)) => Some(compare(path, own, flags.update)?),
        _ => None,
    };
    if let Err(error) = &found.site {
        printing::print_error(&format!(
            "warning: a site file cannot say what the nodes say: correct these by hand: {error}\n"
        ));
    }
    if let (None, Some(path)) = (existing(flags), &flags.output)
        // Standard output has JSON instead of the site, where that was requested.
        && !(flags.json && path.as_os_str() == "-")
    {
        write(path, &site.site)?;
    }
    show(flags, site, &unreached, differing.as_deref())?;
    let is_missed = site.findings.iter().any(|finding| finding.kind != DiscoveryKind::Unread)
        || differing.as_ref().is_some_and(|differing| !differing.is_empty());
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
fn show(
    flags: &DiscoverFlags,
    site: &DiscoveredSite,
    unreached: &[FleetRow],
    differing: Option<&[SiteDifference]>,
) -> Result<(), Failure> {
    if flags.output.is_none() && !flags.json {
        printing::print(&site.site)?;
    }
    if flags.json {
        return printing::print(&report::json(site));
    }
    let look = printing::text_style();
    let shown = report::ShownDiscovery {
        site,
        unreached,
        differing: differing.map(rows),
        output: flags.output.as_deref(),
        all: flags.all,
    };
    let text = report::text(&shown, look);
    if flags.output.is_some() {
        return printing::print(&text);
    }
    printing::print_error(&text);
    Ok(())
}

/// Differences as the report has them.
fn rows(differing: &[SiteDifference]) -> Vec<report::DifferenceRow> {
    let row = |difference: &SiteDifference| report::DifferenceRow {
        path: difference.path.clone(),
        stated: difference.stated.clone(),
        found: difference.found.clone(),
        is_written: difference.is_written,
    };
    differing.iter().map(row).collect()
}
