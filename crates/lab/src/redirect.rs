//! Which nodes answer a client: its connections to all others go to these, by address translation in its namespace.

use std::fmt::Write as _;

use crate::error::LabError;
use crate::names::{PORT, nodes};
use crate::programs::{is_installed, run_with_input};
use crate::spec::{LabSpec, Plane};

/// The table of nftables with its rules; nothing else is in it.
const TABLE: &str = "ip linerate-lab";

const PROGRAM: &str = "nft";

/// Has the first so many nodes answer a client in this namespace; each answers for itself without a number.
/// Connections that are open stay where they are.
///
/// # Errors
/// [`LabError::Missing`] without nftables, [`LabError::Unsupported`] where the kernel has no address translation.
pub(crate) fn set_subset(namespace: &str, spec: &LabSpec, answering: Option<u32>) -> Result<(), LabError> {
    let what = match (answering, is_installed(PROGRAM)) {
        // Without it, none was ever set.
        (None, false) => return Ok(()),
        (Some(_), false) => return Err(LabError::Missing { program: PROGRAM.to_owned(), package: "nftables" }),
        (_, true) => rules(spec, answering),
    };
    let unsupported = |error: LabError| LabError::Unsupported {
        what: "a subset of nodes that answer".to_owned(),
        why: error.to_string(),
    };
    run_with_input("ip", &["netns", "exec", namespace, PROGRAM, "-f", "-"], &what).map(drop).map_err(unsupported)
}

/// Removes the table, and makes it anew where some nodes are not to answer.
fn rules(spec: &LabSpec, answering: Option<u32>) -> String {
    let mut text = format!("add table {TABLE}\ndelete table {TABLE}\n");
    let Some(answering) = answering.filter(|answering| *answering > 0) else { return text };
    let addresses: Vec<_> = nodes(spec).map(|node| node.address(Plane::Public)).collect();
    let _ = writeln!(text, "table {TABLE} {{\nchain output {{\ntype nat hook output priority -100;");
    for (nth, address) in addresses.iter().enumerate().skip(answering as usize) {
        let by = addresses[nth % answering as usize];
        let _ = writeln!(text, "ip daddr {address} tcp dport {PORT} dnat to {by}");
    }
    text + "}\n}\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::tests::uniform;

    #[test]
    fn other_nodes_are_answered_for_in_turn() {
        let text = rules(&uniform(5, 1), Some(2));
        for line in [
            "ip daddr 10.231.1.3 tcp dport 9000 dnat to 10.231.1.1",
            "ip daddr 10.231.1.4 tcp dport 9000 dnat to 10.231.1.2",
            "ip daddr 10.231.1.5 tcp dport 9000 dnat to 10.231.1.1",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}: {text}");
        }
        assert_eq!(text.matches("dnat").count(), 3);
        assert_eq!(rules(&uniform(5, 1), None).lines().count(), 2, "an empty table is removed");
    }
}
