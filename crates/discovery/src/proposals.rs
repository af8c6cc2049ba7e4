//! What to change first on a running cluster, by what was read of it: what a load showed before what nodes contradict
//! each other in, that before what an audit finds, and settings last, since nothing shows that they matter here.

use linerate_record::checkup::{Proposal, ProposalBasis};
use linerate_record::diagnosis::{Diagnosis, NO_LOAD, Suspect};
use linerate_record::discovery::{DiscoveredSite, DiscoveryKind, SiteDifference};
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
    /// The fleet file with the flags by which it is reached, for commands.
    pub fleet: &'a str,
    /// The site file that was given.
    pub site: Option<&'a str>,
}

/// What to change, the first first.
#[must_use]
pub fn proposals(read: &CheckupReadings<'_>) -> Vec<Proposal> {
    let measured = read.diagnosis.and_then(leader).map(measured);
    let other_site = read.discovered.differences.as_deref().and_then(|all| other_site(all, read));
    let contradictions = read.discovered.findings.iter().filter(|finding| finding.kind != DiscoveryKind::Unread);
    let contradictions = contradictions.map(|finding| Proposal {
        basis: ProposalBasis::Contradiction,
        claim: finding.claim.clone(),
        evidence: "the nodes' own description".to_owned(),
        remedy: finding.remedy.clone(),
        gives: None,
        nodes: finding.nodes.clone(),
    });
    let mut all: Vec<Proposal> = measured.into_iter().chain(other_site).chain(contradictions).collect();
    let is_worth = |finding: &&FleetFinding| finding.finding.severity >= Severity::Warning;
    all.extend(read.audit.findings.iter().filter(is_worth).map(audited));
    all.extend(settings(read));
    all
}

/// Values that a proposal names.
const NAMED_VALUES: usize = 2;

/// What a site file that was given says otherwise than the nodes: the plan is of the file.
fn other_site(all: &[SiteDifference], read: &CheckupReadings<'_>) -> Option<Proposal> {
    let in_words = |one: &SiteDifference| format!("{} {}, on the nodes {}", one.path, one.stated, one.found);
    let named: Vec<String> = all.iter().take(NAMED_VALUES).map(in_words).collect();
    let more = if all.len() > named.len() { "; …" } else { "" };
    let site = read.site.filter(|_| !all.is_empty())?;
    Some(Proposal {
        basis: ProposalBasis::Contradiction,
        claim: format!("{site}, by which is planned, differs from the nodes: {}{more}", named.join("; ")),
        evidence: "the nodes' own description".to_owned(),
        remedy: format!("linerate discover --fleet {} -o {site} --update", read.fleet),
        gives: None,
        nodes: Vec::new(),
    })
}

/// The suspect that leads, where one does.
#[must_use]
pub fn leader(diagnosis: &Diagnosis) -> Option<&Suspect> {
    let is_idle = diagnosis.answer.starts_with(NO_LOAD);
    let first = diagnosis.suspects.first().filter(|_| !is_idle);
    first.filter(|first| first.weight >= LEADS && first.weight > diagnosis.none_of_these)
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

#[cfg(test)]
mod tests {
    use linerate_record::discovery::DiscoveryFinding;
    use serde_json::json;

    use super::*;

    fn diagnosis(weight: f64, none_of_these: f64) -> Diagnosis {
        let suspect = json!({
            "cause": "slow-link-sending", "node": "node3", "part": "bond0", "claim": "bond0 of node3 is full",
            "weight": weight, "evidence": ["24.1 of 24.8 Gb/s"], "remedy": "look at its hash", "gives": "GET 1.2 times"
        });
        let window = json!({
            "source": "live", "begin_unix_ms": 0, "end_unix_ms": 9, "step_ms": 1, "interval_ms": 1, "rate_over_ms": 1,
            "steps": 9, "busy_steps": 9, "busy_begin_unix_ms": 0, "busy_end_unix_ms": 9
        });
        let load = json!({
            "get_bytes_per_s": null, "put_bytes_per_s": null, "sent_bytes_per_s": 0.0, "received_bytes_per_s": 0.0,
            "in_flight": null, "turn": null
        });
        serde_json::from_value(json!({
            "schema": 1, "site": "s", "window": window, "nodes": [], "strangers": [], "unheard": 0, "load": load,
            "used": [], "members": [], "odd": [], "suspects": [suspect], "none_of_these": none_of_these, "answer": "a",
            "explanation": null, "comparisons": 0, "false_alarm_share": 0.05, "absent": [], "blind": [], "caveats": [],
            "next": null, "heat": {"begin_unix_ms": 0, "column_ms": 1, "columns": 0, "maps": []}
        }))
        .expect("a diagnosis")
    }

    fn audit() -> FleetAudit {
        let finding = |severity: &str, claim: &str| {
            json!({
                "check": "bond-members", "severity": severity, "confidence": "certain", "claim": claim,
                "evidence": "e", "remedy": "r", "nodes": ["node1"]
            })
        };
        let difference = |knob: &str, node: &str| {
            json!({
                "knob": knob, "space": "host", "present": "1", "wanted": "2", "why": "w", "relieves": "links",
                "weight": 1.0, "confidence": "certain", "scope": "host", "takes_effect": "at-once", "risk": "none",
                "commands": [], "nodes": [node]
            })
        };
        let differences = ["a", "b", "a", "c", "d"].map(|knob| difference(knob, &format!("n{knob}")));
        serde_json::from_value(json!({
            "schema": 1, "audited": [{"name": "n", "role": "storage", "profile": "s3-storage-node", "unreadable": 0}],
            "unreached": [], "unlike": [], "compared": 0,
            "findings": [finding("warning", "one member"), finding("note", "worth knowing")],
            "differences": differences
        }))
        .expect("an audit")
    }

    fn discovered() -> DiscoveredSite {
        let finding = |kind, claim: &str| DiscoveryFinding {
            kind,
            claim: claim.to_owned(),
            remedy: "make them alike".to_owned(),
            nodes: vec!["node7".to_owned()],
        };
        DiscoveredSite {
            schema: 1,
            nodes_read: 1,
            nodes: 1,
            values: Vec::new(),
            findings: vec![finding(DiscoveryKind::Contradiction, "MTU"), finding(DiscoveryKind::Unread, "fd")],
            site: String::new(),
            differences: None,
        }
    }

    fn claims(diagnosis: Option<&Diagnosis>) -> Vec<String> {
        let (discovered, audit) = (discovered(), audit());
        let read = CheckupReadings { discovered: &discovered, audit: &audit, diagnosis, fleet: "f.yaml", site: None };
        proposals(&read).into_iter().map(|proposal| proposal.claim).collect()
    }

    #[test]
    fn what_a_load_showed_comes_first_and_settings_last() {
        let rest = ["MTU", "one member (node1)", "4 settings differ from s3-storage-node: a, b, c, …"];
        assert_eq!(claims(Some(&diagnosis(0.7, 0.2)))[0], "bond0 of node3 is full");
        assert_eq!(claims(Some(&diagnosis(0.7, 0.2)))[1..], rest);
        assert_eq!(claims(None), rest);
    }

    #[test]
    fn a_suspect_that_does_not_lead_is_no_proposal() {
        for (weight, none_of_these) in [(0.59, 0.1), (0.6, 0.6), (0.0, 1.0)] {
            assert!(leader(&diagnosis(weight, none_of_these)).is_none(), "{weight} {none_of_these}");
        }
    }

    #[test]
    fn settings_are_one_proposal_with_the_command_that_changes_them_undoably() {
        let (discovered, audit) = (discovered(), audit());
        let read =
            CheckupReadings { discovered: &discovered, audit: &audit, diagnosis: None, fleet: "f.yaml", site: None };
        let last = proposals(&read).pop().expect("settings");
        assert_eq!(last.remedy, "linerate tune diff --fleet f.yaml --profile s3-storage-node -o changes.json");
        assert_eq!(
            (last.basis, last.nodes),
            (ProposalBasis::Settings, ["na", "nb", "nc", "nd"].map(str::to_owned).to_vec())
        );
    }
}
