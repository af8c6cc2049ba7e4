//! Clients of another version of linerate than the run's, or than each other's.
//!
//! A fleet is one program on many machines. The protocol is versioned, so agents of another version may be spoken to
//! all the same; but how a version drives load, what it counts and what it costs may differ, and then figures of
//! clients do not compare.

use std::collections::BTreeMap;

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::lines::listed;
use linerate_record::run::Client;

use super::Run;

/// Clients of a version that are named.
const NAMED_MAX: usize = 5;

pub(super) fn of_run(run: &Run<'_>) -> Option<Finding> {
    let manifest = &run.records.manifest;
    client_versions(&manifest.linerate_version, &manifest.clients)
}

/// What is told of clients that run other versions of linerate than the one that leads them.
#[must_use]
pub fn client_versions(own: &str, clients: &[Client]) -> Option<Finding> {
    let mut others = BTreeMap::<&str, Vec<&str>>::new();
    for client in clients {
        let version = client.linerate_version.as_deref().unwrap_or(own);
        if version != own {
            others.entry(version).or_default().push(&client.name);
        }
    }
    if others.is_empty() {
        return None;
    }
    let count: usize = others.values().map(Vec::len).sum();
    let reported = others.iter().map(|(version, names)| format!("{version} on {}", listed(names, NAMED_MAX)));
    Some(Finding {
        kind: FindingKind::ClientVersion,
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        points: Vec::new(),
        claim: format!("{count} of {} clients run another version of linerate than this run", clients.len()),
        evidence: format!("linerate {}; the run {own}", reported.collect::<Vec<_>>().join(", ")),
        remedy: "use the same version on all: how versions drive load and count it may differ".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use linerate_record::machine::Machine;

    use super::*;

    fn clients(versions: &[Option<&str>]) -> Vec<Client> {
        let one = |(n, version): (usize, &Option<&str>)| Client {
            name: format!("c{n}"),
            linerate_version: version.map(str::to_owned),
            ..Client::local(Machine::default(), 1)
        };
        versions.iter().enumerate().map(one).collect()
    }

    #[test]
    fn clients_of_the_runs_version_are_no_finding() {
        assert_eq!(client_versions("1.0.0", &clients(&[None, Some("1.0.0")])), None);
    }

    #[test]
    fn clients_of_other_versions_are_named() {
        let found = client_versions("1.0.0", &clients(&[Some("1.0.0"), Some("0.9.0"), Some("1.1.0"), Some("0.9.0")]));
        let found = found.expect("a finding");
        assert_eq!(found.claim, "3 of 4 clients run another version of linerate than this run");
        assert_eq!(found.evidence, "linerate 0.9.0 on c1, c3, 1.1.0 on c2; the run 1.0.0");
        let many = client_versions("1.0.0", &clients(&[Some("2.0.0"); 9])).expect("a finding");
        assert!(many.evidence.contains("on c0, c1, c2, c3, c4 and 4 more; the run"), "{many:?}");
    }
}
