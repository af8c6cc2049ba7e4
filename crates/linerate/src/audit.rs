//! `linerate audit`: a machine held against a profile.

pub(crate) mod flags;
mod nodes;

use std::io::ErrorKind;
use std::process::ExitCode;

use linerate_host::{Root, SnapshotRequest, setting};
use linerate_record::knob::Space;
use linerate_record::site::Site;
use linerate_settings::audit::{is_missed, site_of};
use linerate_settings::profiles::Profile;

use crate::failure::{Failure, code};
use crate::output::OutputFormat;
use crate::{captured, catalogue, output, printing, sites};
use flags::AuditFlags;

/// What is wrong with what the flags name.
pub(crate) fn check(flags: &AuditFlags) -> Result<(), Failure> {
    if let Some(fleet) = &flags.fleet {
        return nodes::check(flags, fleet);
    }
    named(flags).map(|_| ())
}

/// Profiles that machines are held against unless another is named.
const OF_STORAGE: &str = "s3-storage-node";
const OF_CLIENTS: &str = "s3-client-node";

fn profile_of(flags: &AuditFlags) -> &str {
    flags.profile.as_deref().unwrap_or(OF_STORAGE)
}

/// What the flags name; what is wrong with any is told at once.
fn named(flags: &AuditFlags) -> Result<(&'static Profile, Option<Site>, Root), Failure> {
    let profile = catalogue::profile_named(profile_of(flags));
    let site = flags.site.as_deref().map(sites::read_site).transpose();
    let root = captured::root(flags.root.as_deref()).and_then(|root| places(flags, &root).map(|()| root));
    match (profile, site, root) {
        (Ok(profile), Ok(site), Ok(root)) => Ok((profile, site, root)),
        (profile, site, root) => Err(Failure::all_of([profile.err(), site.err(), root.err()])),
    }
}

/// Looks whether there is each process and namespace that was named. What may not be looked into is told in the audit.
fn places(flags: &AuditFlags, root: &Root) -> Result<(), Failure> {
    let netns = flags.netns.iter().map(|name| ("--netns", name.clone(), Space::Netns(name.clone())));
    let pids = flags.pid.iter().map(|pid| ("--pid", pid.to_string(), Space::Pid(*pid)));
    let missing = netns.chain(pids).filter_map(|(flag, word, space)| {
        let error = setting::identity(root, &space).err()?;
        let is_wrong = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput);
        is_wrong.then(|| format!("{flag} {word:?}: {error}"))
    });
    let missing: Vec<String> = missing.collect();
    if missing.is_empty() { Ok(()) } else { Err(Failure::of_mistakes(missing)) }
}

pub(crate) fn run(flags: &AuditFlags) -> Result<ExitCode, Failure> {
    if let Some(fleet) = &flags.fleet {
        return nodes::run(flags, fleet);
    }
    let (profile, site, root) = named(flags)?;
    let knobs = catalogue::knobs();
    let asked = SnapshotRequest { knobs: &knobs, pids: &flags.pid, netns: flags.netns.as_deref() };
    let snapshot = linerate_host::snapshot(&root, &asked);
    let site = site.unwrap_or_else(|| site_of(&snapshot));
    let audit = linerate_settings::audit::audit(&snapshot, &site, profile);
    let rendered = match flags.shown.chosen() {
        OutputFormat::Text => {
            linerate_report::audit::text(&audit, flags.all, printing::look_for_file(flags.output.is_some()))
        }
        OutputFormat::Json => linerate_report::audit::json(&audit),
        OutputFormat::Html => linerate_report::audit::html(&audit),
    };
    let done = output::put_out(&rendered, flags.output.as_deref())?;
    let (missed, from) = (flags.check && is_missed(&audit), profile_of(flags));
    let why = || format!("--check: settings differ from profile {from:?}, or a finding is a warning or worse");
    if missed { Err(Failure::Outcome { why: why(), code: code::MISSED }) } else { Ok(done) }
}
