//! What to change first on a running cluster, by what was read of it: what a load showed before what nodes contradict
//! each other in, that before what an audit finds, and settings last, since nothing shows that they matter here.

use linerate_record::checkup::{Proposal, ProposalBasis};
use linerate_record::diagnosis::{Diagnosis, Suspect};
use linerate_record::discovery::{DiscoveredSite, DiscoveryKind};
use linerate_record::finding::Severity;
use linerate_record::fleet::{FleetAudit, FleetDifference, FleetFinding};

use crate::votes::named;

/// The weight from which a suspect leads: of less, the others are as good.
const LEADS: f64 = 0.6;

/// Settings that one proposal names.
const NAMED_SETTINGS: usize = 3;

/// What was read of a cluster.
#[derive(Clone, Copy, Debug)]
pub struct CheckupReadings<'a> {
    pub discovered: &'a DiscoveredSite,
    pub audit: &'a FleetAudit,
    pub diagnosis: Option<&'a Diagnosis>,
    /// The fleet file, for commands.
    pub fleet: &'a str,
}

/// What to change, the first first.
#[must_use]
pub fn proposals(read: &CheckupReadings<'_>) -> Vec<Proposal> {
    let measured = read.diagnosis.and_then(leader).map(measured);
    let contradictions = read.discovered.findings.iter().filter(|finding| finding.kind != DiscoveryKind::Unread);
    let contradictions = contradictions.map(|finding| Proposal {
        basis: ProposalBasis::Contradiction,
        claim: finding.claim.clone(),
        evidence: "the nodes' own description".to_owned(),
        remedy: finding.remedy.clone(),
        gives: None,
        nodes: finding.nodes.clone(),
    });
    let mut all: Vec<Proposal> = measured.into_iter().chain(contradictions).collect();
    let is_worth = |finding: &&FleetFinding| finding.finding.severity >= Severity::Warning;
    all.extend(read.audit.findings.iter().filter(is_worth).map(audited));
    all.extend(settings(read));
    all
}

/// The suspect that leads, where one does.
#[must_use]
pub fn leader(diagnosis: &Diagnosis) -> Option<&Suspect> {
    diagnosis.suspects.first().filter(|first| first.weight >= LEADS && first.weight > diagnosis.none_of_these)
}

fn measured(suspect: &Suspect) -> Proposal {
    Proposal {
        basis: ProposalBasis::Measured,
        claim: suspect.claim.clone(),
        evidence: suspect.evidence.join("; "),
        remedy: suspect.remedy.clone(),
        gives: suspect.gives.clone(),
        nodes: suspect.node.iter().cloned().collect(),
    }
}

fn audited(found: &FleetFinding) -> Proposal {
    let nodes: Vec<&str> = found.nodes.iter().map(String::as_str).collect();
    Proposal {
        basis: ProposalBasis::Audit,
        claim: format!("{} ({})", found.finding.claim, named(&nodes)),
        evidence: found.finding.evidence.clone(),
        remedy: found.finding.remedy.clone(),
        gives: None,
        nodes: found.nodes.clone(),
    }
}

/// Settings that differ from their profiles, as one proposal: those that weigh most are named.
fn settings(read: &CheckupReadings<'_>) -> Option<Proposal> {
    let differences = &read.audit.differences;
    let mut names: Vec<&str> = Vec::new();
    let mut nodes: Vec<String> = Vec::new();
    for FleetDifference { difference, nodes: own, .. } in differences {
        if !names.contains(&difference.knob.as_str()) {
            names.push(&difference.knob);
        }
        nodes.extend(own.iter().filter(|node| !nodes.contains(node)).cloned().collect::<Vec<_>>());
    }
    let most = names.get(..NAMED_SETTINGS.min(names.len())).filter(|names| !names.is_empty())?;
    let profile = &read.audit.audited.first()?.profile;
    let more = if names.len() > most.len() { ", …" } else { "" };
    Some(Proposal {
        basis: ProposalBasis::Settings,
        claim: format!("{} settings differ from {profile}: {}{more}", names.len(), most.join(", ")),
        evidence: "settings as agents read them; nothing shows that they matter under this load".to_owned(),
        remedy: format!("linerate tune diff --fleet {} --profile {profile} -o changes.json", read.fleet),
        gives: None,
        nodes,
    })
}
