//! Machines of a fleet, each held against its profile and all against each other.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use linerate_record::audit::{Audit, AuditCheck, Difference};
use linerate_record::fleet::{
    AuditedNode, FLEET_SCHEMA, FleetAudit, FleetDifference, FleetFinding, FleetRow, NodeRole,
};
use linerate_record::knob::Space;
use linerate_record::site::Site;

use crate::audit::{audit, site_from_machine};
use crate::drift::{PeerMachine, alike};
use crate::profiles::Profile;

/// Audits each machine with the profile of its role, and puts together what is the same of several. Without a site,
/// each has one that is made from it.
#[must_use]
pub fn fleet_audit(
    peers: &[PeerMachine<'_>],
    unreached: Vec<FleetRow>,
    profile: impl Fn(NodeRole) -> &'static Profile,
    site: Option<&Site>,
) -> FleetAudit {
    let (unlike, compared) = alike(peers);
    let mut all = FleetAudit {
        schema: FLEET_SCHEMA,
        audited: Vec::new(),
        unreached,
        unlike,
        compared,
        findings: Vec::new(),
        differences: Vec::new(),
    };
    let mut rows = Rows::default();
    for peer in peers {
        let snapshot = &peer.state.snapshot;
        let own = site.is_none().then(|| site_from_machine(snapshot));
        let Some(site) = site.or(own.as_ref()) else { continue };
        let profile = profile(peer.role);
        let audit = audit(snapshot, site, profile);
        all.audited.push(AuditedNode {
            name: peer.name.to_owned(),
            role: peer.role,
            profile: profile.name.to_owned(),
            unreadable: u32::try_from(audit.unreadable.len()).unwrap_or(u32::MAX),
        });
        rows.take(audit, peer.name, &mut all);
    }
    all.findings.sort_by_key(|one| {
        let finding = &one.finding;
        (std::cmp::Reverse(finding.severity), std::cmp::Reverse(finding.confidence), std::cmp::Reverse(one.nodes.len()))
    });
    all.differences
        .sort_by(|a, b| b.difference.weight.total_cmp(&a.difference.weight).then(b.nodes.len().cmp(&a.nodes.len())));
    all
}

/// Where rows stand that several nodes may have.
#[derive(Default)]
struct Rows {
    differences: BTreeMap<DifferenceKey, usize>,
    findings: BTreeMap<(AuditCheck, String), usize>,
}

/// Knob, program, devices, value and wanted value.
type DifferenceKey = (String, Option<String>, Vec<String>, String, String);

impl Rows {
    fn take(&mut self, audit: Audit, name: &str, all: &mut FleetAudit) {
        let program = |pid| audit.engines.iter().find(|engine| engine.pid == pid).map(|engine| engine.program.clone());
        for difference in audit.differences {
            // Of servers of one program, the same is said whatever their numbers are.
            let engine = if let Space::Pid(pid) = difference.space { program(pid) } else { None };
            let Difference { knob, devices, present, wanted, .. } = difference.clone();
            match self.differences.entry((knob, engine.clone(), devices, present, wanted)) {
                Entry::Occupied(known) => also(&mut all.differences[*known.get()].nodes, name),
                Entry::Vacant(free) => {
                    free.insert(all.differences.len());
                    all.differences.push(FleetDifference { difference, engine, nodes: vec![name.to_owned()] });
                }
            }
        }
        for finding in audit.findings {
            match self.findings.entry((finding.check, finding.claim.clone())) {
                Entry::Occupied(known) => also(&mut all.findings[*known.get()].nodes, name),
                Entry::Vacant(free) => {
                    free.insert(all.findings.len());
                    all.findings.push(FleetFinding { finding, nodes: vec![name.to_owned()] });
                }
            }
        }
    }
}

/// Names a node once.
fn also(nodes: &mut Vec<String>, name: &str) {
    if nodes.last().is_none_or(|last| last != name) {
        nodes.push(name.to_owned());
    }
}

/// Whether nodes of one role and kind differ, a setting is not as a profile wants it, or a finding is a warning or
/// worse.
#[must_use]
pub fn is_missed(audit: &FleetAudit) -> bool {
    let warns = |one: &FleetFinding| one.finding.severity >= linerate_record::finding::Severity::Warning;
    !audit.unlike.is_empty() || !audit.differences.is_empty() || audit.findings.iter().any(warns)
}

#[cfg(test)]
mod tests {
    use linerate_record::fleet::MachineState;

    use super::*;
    use crate::knobs::fixtures::{machine, set, site};

    #[test]
    fn what_several_nodes_have_is_one_row_with_their_names() {
        let state = |value: &str| {
            let mut snapshot = machine();
            set(&mut snapshot, "net.core.somaxconn", None, value);
            MachineState { snapshot, ..MachineState::default() }
        };
        let states = [state("128"), state("65535"), state("128"), state("256")];
        let names = ["a", "b", "c", "d"];
        let peers: Vec<PeerMachine<'_>> = names
            .iter()
            .zip(&states)
            .map(|(name, state)| PeerMachine { name, role: NodeRole::Storage, site_node: None, state })
            .collect();
        let profile = |_| crate::profiles::find("s3-storage-node").expect("a profile");
        let found = fleet_audit(&peers, Vec::new(), profile, Some(&site()));
        let rows = found.differences.iter().filter(|one| one.difference.knob == "net.core.somaxconn");
        let rows: Vec<_> = rows.map(|one| (one.difference.present.as_str(), one.nodes.join(" "))).collect();
        assert_eq!(rows, [("128", "a c".to_owned()), ("256", "d".to_owned())]);
        assert_eq!(found.unlike.len(), 1, "{:?}", found.unlike);
        assert_eq!(found.audited.len(), 4);
        assert!(is_missed(&found));
    }
}
