//! `linerate audit`: a machine held against a profile.

pub(crate) mod flags;
mod fleet_audit;

use std::io::ErrorKind;
use std::process::ExitCode;

use linerate_host::setting::KernelBuild;
use linerate_host::{Root, SnapshotRequest, setting};
use linerate_record::knob::Space;
use linerate_record::shell;
use linerate_record::site::Site;
use linerate_settings::audit::{is_missed, site_from_machine};
use linerate_settings::profiles::Profile;

use crate::files::output_format::OutputFormat;
use crate::files::{captured_machine, output_format, site_file};
use crate::run::catalogue;
use crate::run::wanted_changes::reason_left_out;
use crate::terminal::failure::{Failure, code};
use crate::terminal::printing;
use flags::AuditFlags;

/// What is wrong with what the flags name.
pub(crate) fn check(flags: &AuditFlags) -> Result<(), Failure> {
    if let Some(fleet) = &flags.fleet {
        return fleet_audit::check(flags, fleet);
    }
    read_inputs(flags).map(|_| ())
}

/// Profiles that machines are held against unless another is named.
const STORAGE_PROFILE: &str = "s3-storage-node";
const CLIENT_PROFILE: &str = "s3-client-node";

fn profile_name(flags: &AuditFlags) -> &str {
    flags.profile.as_deref().unwrap_or(STORAGE_PROFILE)
}

/// What the flags name; what is wrong with any is told at once.
fn read_inputs(flags: &AuditFlags) -> Result<(&'static Profile, Option<Site>, Root), Failure> {
    let profile = catalogue::profile_named(profile_name(flags));
    let site = flags.site.as_deref().map(site_file::read_site).transpose();
    let root =
        captured_machine::root(flags.root.as_deref()).and_then(|root| require_spaces(flags, &root).map(|()| root));
    match (profile, site, root) {
        (Ok(profile), Ok(site), Ok(root)) => Ok((profile, site, root)),
        (profile, site, root) => Err(Failure::combine([profile.err(), site.err(), root.err()])),
    }
}

/// Looks whether there is each process and namespace that was named. What may not be looked into is told in the audit.
fn require_spaces(flags: &AuditFlags, root: &Root) -> Result<(), Failure> {
    let netns = flags.netns.iter().map(|name| ("--netns", name.clone(), Space::Netns(name.clone())));
    let pids = flags.pid.iter().map(|pid| ("--pid", pid.to_string(), Space::Pid(*pid)));
    let missing = netns.chain(pids).filter_map(|(flag, word, space)| {
        let error = setting::identity(root, &space).err()?;
        let is_wrong = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput);
        is_wrong.then(|| format!("{flag} {word:?}: {error}"))
    });
    let missing: Vec<String> = missing.collect();
    if missing.is_empty() { Ok(()) } else { Err(Failure::from_errors(missing)) }
}

/// What writes the changes that lead to the same profile with the same site.
fn changes_command(flags: &AuditFlags, profile: &Profile) -> String {
    let site = flags.site.as_deref().map_or_else(String::new, |site| format!(" --site {}", shell::path(site)));
    let there = if flags.root.is_some() { "on that machine: " } else { "" };
    format!("{there}linerate tune diff --profile {}{site} -o changes.json", profile.name)
}

pub(crate) fn run(flags: &AuditFlags) -> Result<ExitCode, Failure> {
    if let Some(fleet) = &flags.fleet {
        return fleet_audit::run(flags, fleet);
    }
    let (profile, site, root) = read_inputs(flags)?;
    let knobs = catalogue::knobs();
    let snapshot_request = SnapshotRequest { knobs: &knobs, pids: &flags.pid, netns: flags.netns.as_deref() };
    let snapshot = linerate_host::snapshot(&root, &snapshot_request);
    let site = site.unwrap_or_else(|| site_from_machine(&snapshot));
    let mut audit = linerate_settings::audit::audit(&snapshot, &site, profile);
    let built = KernelBuild::new(&root);
    for difference in &mut audit.differences {
        difference.not_in_changes = reason_left_out(&built, difference);
    }
    let rendered = match flags.shown.chosen() {
        OutputFormat::Text => {
            let look = printing::text_style_for_file(flags.output.is_some());
            linerate_report::audit::text(&audit, &changes_command(flags, profile), flags.all, look)
        }
        OutputFormat::Json => linerate_report::audit::json(&audit),
        OutputFormat::Html => linerate_report::audit::html(&audit),
    };
    let done = output_format::write_or_print(&rendered, flags.output.as_deref())?;
    let (missed, from) = (flags.check && is_missed(&audit), profile_name(flags));
    let why = || format!("--check: settings differ from profile {from:?}, or a finding is a warning or worse");
    if missed { Err(Failure::Outcome { why: why(), code: code::MISSED }) } else { Ok(done) }
}
