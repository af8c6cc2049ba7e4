//! `linerate doctor`: what a running cluster should do, what it does, what holds it back, and what to change first.

pub(crate) mod flags;

use std::path::Path;
use std::process::ExitCode;

use linerate_discovery::{CheckupReadings, differences, proposals};
use linerate_fleet::description::FleetNode;
use linerate_model::plan::{PlanRequest, plan};
use linerate_record::audit::AuditCheck;
use linerate_record::checkup::{CHECKUP_SCHEMA, Checkup, ProposalBasis};
use linerate_record::diagnosis::Diagnosis;
use linerate_record::fleet::{FleetAudit, NodeRole};
use linerate_record::plan::Plan;
use linerate_record::shell;
use linerate_record::site::{NodeGroup, Site};
use linerate_record::units;
use linerate_report::checkup as report;
use linerate_settings::drift::PeerMachine;
use linerate_settings::fleet::fleet_audit;
use linerate_site::SiteError;

use crate::commands::explain::judge_live;
use crate::commands::explain::source_flags::LiveWindow;
use crate::files::{output_file, site_file};
use crate::remote::discovered_fleet::{DiscoveredFleet, discover_fleet, unread_failure};
use crate::remote::node_access;
use crate::run::catalogue;
use crate::terminal::failure::{Failure, code};
use crate::terminal::printing;
use flags::DoctorFlags;

/// What machines are held against, by their role.
const PROFILES: [(NodeRole, &str); 2] = [(NodeRole::Storage, "s3-storage-node"), (NodeRole::Client, "s3-client-node")];

/// What the plan of a cluster without a site file calls it.
const SITE_NAME: &str = "site";

/// What is wrong with what the flags name.
pub(crate) fn check(flags: &DoctorFlags) -> Result<(), Failure> {
    read_inputs(flags).map(drop)
}

/// The fleet and the site that the flags name, or everything that is wrong with them.
fn read_inputs(flags: &DoctorFlags) -> Result<(Vec<FleetNode>, Option<Site>), Failure> {
    let nodes = node_access::read_fleet(&flags.fleet);
    let site = flags.site.as_deref().map(site_file::read_site).transpose();
    let record = flags.record.as_deref().map_or(Ok(()), |record| check_record(record, flags));
    let unused = nodes.as_ref().ok().and_then(|nodes| flags.reach.check(nodes, &flags.fleet).err());
    match (nodes, site, record, unused) {
        (Ok(nodes), Ok(site), Ok(()), None) => Ok((nodes, site)),
        (nodes, site, record, unused) => Err(Failure::combine([nodes.err(), site.err(), record.err(), unused])),
    }
}

/// A record is no file that is read.
fn check_record(record: &Path, flags: &DoctorFlags) -> Result<(), Failure> {
    let place = |path: &Path| path.canonicalize().ok();
    let is_input = |path: &Path| place(path).is_some_and(|path| place(record).is_some_and(|record| record == path));
    if is_input(&flags.fleet) || flags.site.as_deref().is_some_and(is_input) {
        return Err(Failure::usage(format!(
            "--record {} is read too, and would be lost: name another file",
            record.display()
        )));
    }
    output_file::check_output(record)
}

pub(crate) fn run(flags: &DoctorFlags) -> Result<ExitCode, Failure> {
    let (nodes, given) = read_inputs(flags)?;
    node_access::consent_to_commands(&nodes, flags.yes_exec)?;
    let mut found = discover_fleet(&nodes, &flags.reach, SITE_NAME)?;
    let is_site_given = given.is_some();
    let mut warnings = Vec::new();
    // Where nodes say what no site can be, there is no plan; what they differ in is said all the same.
    let unreadable = |error: &SiteError| format!("no plan: a site file cannot say what the nodes say: {error}");
    if !is_site_given {
        warnings.extend(found.site.as_ref().err().map(unreadable));
    }
    let own = found.site.as_ref().ok().cloned();
    if let (Some(given), Some(own)) = (&given, &own) {
        found.discovered.differences = Some(differences(given, own));
    }
    let site = if is_site_given { given } else { own };
    warnings.extend(site.as_ref().and_then(unknown_speeds));
    let plan = site.as_ref().and_then(|site| planned(site, &mut warnings));
    let mut audit = audited(&found, site.as_ref())?;
    if !is_site_given {
        // The site is made of these machines: that one of them is another is a contradiction, and said as such.
        audit.findings.retain(|found| found.finding.check != AuditCheck::OtherMachine);
    }
    let (diagnosis, is_cut) = match &site {
        Some(site) if !flags.no_live => live(flags, site, &mut warnings)?,
        _ => (None, false),
    };
    let (fleet, site_path) = (fleet_words(flags), flags.site.as_deref().map(shell::path));
    let read = CheckupReadings {
        discovered: &found.discovered,
        audit: &audit,
        diagnosis: diagnosis.as_ref(),
        fleet: &fleet,
        site: site_path.as_deref(),
    };
    let proposals = proposals(&read);
    let checkup = Checkup {
        schema: CHECKUP_SCHEMA,
        unreached: found.unreached(),
        discovered: found.discovered,
        is_site_given,
        plan,
        audit,
        diagnosis,
        proposals,
        warnings,
    };
    let text = if flags.json {
        report::json(&checkup)
    } else {
        report::text(&checkup, &commands(flags), flags.all, printing::text_style())
    };
    printing::print(&text)?;
    outcome(flags, &checkup, nodes.len(), is_cut)
}

/// That plan and diagnosis rest on a speed that no node states.
fn unknown_speeds(site: &Site) -> Option<String> {
    let is_assumed = |group: &NodeGroup| site.is_assumed(&format!("nodes.{}.nics.*.speed", group.name));
    let group = site.groups.iter().find(|group| is_assumed(group))?;
    let bits_per_s = group.nics.first().map_or(0.0, |nic| nic.speed_bits_per_s);
    Some(format!(
        "no node states the speed of its links: {} is assumed, and what the cluster should do, and whether a link is \
         full, rest on it; write the speed into a site file, and give it with --site",
        units::bits_per_s(bits_per_s)
    ))
}

/// What the cluster should do; where nothing tells, why not.
fn planned(site: &Site, warnings: &mut Vec<String>) -> Option<Plan> {
    let request = PlanRequest { seed: site_file::SEED, ..PlanRequest::default() };
    plan(site, &request).map_err(|error| warnings.push(format!("no plan: {error}"))).ok()
}

/// The machines, each held against the profile of its role.
fn audited(found: &DiscoveredFleet, site: Option<&Site>) -> Result<FleetAudit, Failure> {
    let [storage, client] = PROFILES.map(|(_, name)| catalogue::profile_named(name));
    let (storage, client) = (storage?, client?);
    let peers: Vec<PeerMachine<'_>> = found
        .read()
        .map(|(row, state)| PeerMachine { name: &row.name, role: row.role, site_node: row.site_node.as_deref(), state })
        .collect();
    let profile = |role| if role == NodeRole::Client { client } else { storage };
    Ok(fleet_audit(&peers, found.unreached(), profile, site))
}

/// What the nodes do now, judged. That nothing could be judged is no reason to say nothing of the rest.
fn live(flags: &DoctorFlags, site: &Site, warnings: &mut Vec<String>) -> Result<(Option<Diagnosis>, bool), Failure> {
    let window = LiveWindow {
        fleet: &flags.fleet,
        reach: &flags.reach,
        for_time: flags.for_time,
        record: flags.record.as_deref(),
        mask: flags.mask,
    };
    match judge_live(&window, site) {
        Ok((diagnosis, is_cut)) => Ok((Some(diagnosis), is_cut)),
        Err(failure @ Failure::Outcome { code: code::INTERRUPTED, .. }) => Err(failure),
        Err(failure) => {
            warnings.push(format!("what the nodes do could not be judged: {failure}"));
            Ok((None, false))
        }
    }
}

/// The fleet file, and the flags by which its nodes are reached.
fn fleet_words(flags: &DoctorFlags) -> String {
    let become_by = flags.reach.become_by.as_ref().map(|by| format!(" --become {}", shell::word(by.to_string())));
    let consent = if flags.yes_exec { " --yes-exec" } else { "" };
    format!("{}{}{consent}", shell::path(&flags.fleet), become_by.unwrap_or_default())
}

/// Commands that say more of each part.
fn commands(flags: &DoctorFlags) -> report::MoreCommands {
    let (fleet, site) = (fleet_words(flags), flags.site.as_deref().unwrap_or(Path::new("site.yaml")));
    let site = shell::path(site);
    report::MoreCommands {
        site: flags.site.is_none().then(|| format!("linerate discover --fleet {fleet} -o {site}")),
        plan: format!("linerate plan {site} --why"),
        live: format!("linerate explain {site} --live --fleet {fleet} --for 60s --why"),
        audit: format!("linerate audit --fleet {fleet} --site {site} --all"),
    }
}

fn outcome(flags: &DoctorFlags, checkup: &Checkup, nodes: usize, is_cut: bool) -> Result<ExitCode, Failure> {
    if is_cut {
        let why = "interrupted: the answer is of what was read until then".to_owned();
        return Err(Failure::Outcome { why, code: code::INTERRUPTED });
    }
    if !checkup.unreached.is_empty() {
        return Err(unread_failure(checkup.unreached.len(), nodes));
    }
    if flags.check && checkup.proposals.iter().any(|proposal| proposal.basis != ProposalBasis::Settings) {
        let why = "--check: something is proposed that is more than a setting".to_owned();
        return Err(Failure::Outcome { why, code: code::MISSED });
    }
    Ok(ExitCode::SUCCESS)
}
