//! Which nodes answer a client: its connections to all others go to these, by address translation in its namespace.

use std::fmt::Write as _;

use crate::error::LabError;
use crate::names::{PORT, nodes};
use crate::programs::{is_installed, run_with_input};
use crate::spec::{LabSpec, Plane};

/// The table of nftables with its rules; nothing else is in it.
const TABLE: &str = "ip linerate-lab";

const PROGRAM: &str = "nft";

/// Has the first so many nodes answer a client in this namespace. Connections that are open stay where they are.
///
/// # Errors
/// [`LabError::Missing`] without nftables, [`LabError::Unsupported`] where the kernel has no address translation.
pub(crate) fn set_subset(namespace: &str, spec: &LabSpec, answering: u32) -> Result<(), LabError> {
    if !is_installed(PROGRAM) {
        return Err(LabError::Missing { program: PROGRAM.to_owned(), package: "nftables" });
    }
    apply(namespace, &format!("{}{}", no_table(), table(spec, answering)))
}

/// Has each node answer for itself.
///
/// # Errors
/// [`LabError::Unsupported`] where nftables is installed, and the kernel has none.
pub(crate) fn lift_subset(namespace: &str) -> Result<(), LabError> {
    // Without the program, none was ever set.
    if is_installed(PROGRAM) { apply(namespace, &no_table()) } else { Ok(()) }
}

fn apply(namespace: &str, rules: &str) -> Result<(), LabError> {
    let unsupported = |error: LabError| LabError::Unsupported {
        what: "a subset of nodes that answer".to_owned(),
        why: error.to_string(),
    };
    run_with_input("ip", &["netns", "exec", namespace, PROGRAM, "-f", "-"], rules).map(drop).map_err(unsupported)
}

/// Rules that remove the table, also where it is not there.
fn no_table() -> String {
    format!("add table {TABLE}\ndelete table {TABLE}\n")
}

fn table(spec: &LabSpec, answering: u32) -> String {
    let mut text = format!("table {TABLE} {{\nchain output {{\ntype nat hook output priority -100;\n");
    let addresses: Vec<_> = nodes(spec).map(|node| node.address(Plane::Public)).collect();
    let answering = answering.max(1) as usize;
    for (nth, address) in addresses.iter().enumerate().skip(answering) {
        let by = addresses[nth % answering];
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
        let text = table(&uniform(5, 1), 2);
        for line in [
            "ip daddr 10.231.1.3 tcp dport 9000 dnat to 10.231.1.1",
            "ip daddr 10.231.1.4 tcp dport 9000 dnat to 10.231.1.2",
            "ip daddr 10.231.1.5 tcp dport 9000 dnat to 10.231.1.1",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}: {text}");
        }
        assert_eq!(text.matches("dnat").count(), 3);
    }
}
