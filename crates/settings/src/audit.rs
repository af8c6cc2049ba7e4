//! An audit: a machine held against a profile, and against itself.
//!
//! Differences come from the catalogue: every setting that was read, of every knob that the profile names. Findings
//! come from checks, one a file, which look at how the machine is built and at settings that have no effect or
//! contradict each other.

mod bond_hash;
mod bond_members;
mod command;
mod contradictions;
mod cost;
mod default_site;
mod described_machine;
mod discard;
mod file_systems;
mod ignored_settings;
mod numa;
mod overridden_lines;
mod pcie;
mod profile_differences;
#[cfg(test)]
mod tests;
mod unreached;
mod unreadable;

use linerate_record::audit::{AUDIT_SCHEMA, Audit, AuditCheck, AuditFinding, Counts, Difference};
use linerate_record::finding::{Confidence, Severity};
use linerate_record::knob::{Missing, Snapshot, Space};
use linerate_record::site::Site;

use crate::profiles::Profile;

pub use cost::relief_weight;
pub use default_site::site_from_machine;

/// A check of a machine.
type Check = fn(&Snapshot, &Site) -> Vec<AuditFinding>;

const CHECKS: [Check; 9] = [
    numa::check,
    pcie::check,
    bond_hash::check,
    bond_members::check,
    file_systems::check,
    discard::check,
    contradictions::check,
    ignored_settings::check,
    overridden_lines::check,
];

/// The profile of machines that a site does not describe.
const CLIENT_PROFILE: &str = "s3-client-node";

/// Holds a machine against a profile.
#[must_use]
pub fn audit(snapshot: &Snapshot, site: &Site, profile: &Profile) -> Audit {
    let differences = profile_differences::differences(snapshot, site, profile);
    let mut findings: Vec<AuditFinding> = CHECKS.iter().flat_map(|check| check(snapshot, site)).collect();
    if profile.name != CLIENT_PROFILE {
        findings.extend(described_machine::check(snapshot, site));
    }
    give_one_advice(&mut findings, &differences);
    findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), std::cmp::Reverse(finding.confidence)));
    let count = |is: &dyn Fn(&linerate_record::knob::Setting) -> bool| {
        u32::try_from(snapshot.settings.iter().filter(|setting| is(setting)).count()).unwrap_or(u32::MAX)
    };
    Audit {
        schema: AUDIT_SCHEMA,
        profile: profile.name.to_owned(),
        machine: snapshot.machine.clone(),
        engines: snapshot.engines.clone(),
        settings: Counts {
            read: count(&|setting| setting.value.is_some()),
            judged: count(&|setting| setting.value.is_some() && profile.pick(&setting.place.knob).is_some()),
            absent: count(&|setting| setting.missing == Some(Missing::Absent)),
        },
        unreached: unreached::unreached(snapshot, site, profile),
        differences,
        findings,
        unreadable: unreadable::unreadable(snapshot),
        site: site.name.clone(),
        assumed: site.assumed.clone(),
    }
}

/// Has a finding about a setting that differs from the profile advise what the profile wants, unless that has the same
/// fault: of one setting, one value is advised.
fn give_one_advice(findings: &mut [AuditFinding], differences: &[Difference]) {
    let is_faulty = |difference: &Difference| contradictions::guarantees_much(&difference.knob, &difference.wanted);
    let of_host = differences.iter().filter(|difference| difference.space == Space::Host);
    for difference in of_host.filter(|difference| !is_faulty(difference)) {
        let [command] = &difference.commands[..] else { continue };
        let begins = format!("sysctl -w '{}=", difference.knob);
        let of_it = findings.iter_mut().filter(|finding| {
            finding.remedy.starts_with(&begins) || finding.remedy.starts_with(&begins.replace('\'', ""))
        });
        of_it.for_each(|finding| finding.remedy.clone_from(command));
    }
}

/// Whether a machine is not as a profile wants it: a setting differs, or a finding is a warning or worse.
#[must_use]
pub fn is_missed(audit: &Audit) -> bool {
    !audit.differences.is_empty() || audit.findings.iter().any(|finding| finding.severity >= Severity::Warning)
}

fn finding(
    check: AuditCheck,
    severity: Severity,
    confidence: Confidence,
    claim: impl Into<String>,
    evidence: impl Into<String>,
    remedy: impl Into<String>,
) -> AuditFinding {
    AuditFinding { check, severity, confidence, claim: claim.into(), evidence: evidence.into(), remedy: remedy.into() }
}

/// Names for a sentence: at most six, and how many more.
fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    const SHOWN: usize = 6;
    let names: Vec<&str> = names.into_iter().collect();
    match names.len().checked_sub(SHOWN) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..SHOWN].join(", ")),
    }
}
