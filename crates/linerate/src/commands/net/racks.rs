//! In which racks the machines of a bisection are.

use linerate_fleet::description::FleetNode;
use linerate_record::lines::listed;

use crate::terminal::failure::Failure;

/// Machines that a message names.
const LISTED_MACHINES: usize = 4;

/// The rack of each machine, by a number; `depends_on_placement` where machines may share hosts.
///
/// # Errors
/// Why there is nothing to measure between racks, or to hold that against.
pub(super) fn rack_numbers(nodes: &[&FleetNode], depends_on_placement: bool) -> Result<Vec<usize>, Failure> {
    if depends_on_placement {
        return Err(Failure::usage(
            "--bisection is of machines that have their ports to themselves: name a fleet without host, network and \
             service",
        ));
    }
    let unknown: Vec<&str> = nodes.iter().filter(|node| node.rack.is_none()).map(|node| node.name.as_str()).collect();
    if !unknown.is_empty() {
        return Err(Failure::usage(format!(
            "--bisection: it is not known in which rack {} {}: write rack: for each machine into the fleet file, such \
             as rack: r{{1...2}}",
            listed(&unknown, LISTED_MACHINES),
            if unknown.len() == 1 { "is" } else { "are" }
        )));
    }
    let mut names: Vec<&str> = nodes.iter().filter_map(|node| node.rack.as_deref()).collect();
    names.sort_unstable();
    names.dedup();
    if let [name] = names[..] {
        return Err(Failure::usage(format!(
            "--bisection: all {} machines are in rack {name}, and it takes two racks: leave it out",
            nodes.len()
        )));
    }
    if names.len() == nodes.len() {
        return Err(Failure::usage(format!(
            "--bisection: each of {} machines has a rack to itself, so that nothing is to be measured within racks: \
             name two machines of a rack at the least",
            nodes.len()
        )));
    }
    let place = |node: &&FleetNode| node.rack.as_deref().and_then(|rack| names.binary_search(&rack).ok());
    Ok(nodes.iter().filter_map(place).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rows: &str) -> Result<Vec<usize>, String> {
        let fleet = linerate_fleet::description::read(&format!("nodes:\n{rows}"), "f.yaml").unwrap();
        let nodes: Vec<&FleetNode> = fleet.iter().collect();
        rack_numbers(&nodes, false).map_err(|failure| failure.to_string())
    }

    #[test]
    fn machines_are_in_racks_by_their_names_and_what_cannot_be_measured_is_refused() {
        let rows = "  - {name: 'a{1...2}', role: storage, rack: r2}\n  - {name: 'b{1...2}', role: client, rack: r1}\n";
        assert_eq!(found(rows), Ok(vec![1, 1, 0, 0]));
        for (rows, part) in [
            (
                "  - {name: 'a{1...2}', role: storage, rack: r2}\n  - {name: b, role: client}\n",
                "rack b is: write rack:",
            ),
            ("  - {name: 'a{1...6}', role: storage}\n", "a1, a2, a3, a4 and 2 more are"),
            ("  - {name: 'a{1...2}', role: storage, rack: r2}\n", "all 2 machines are in rack r2"),
            ("  - {name: 'a{1...2}', role: storage, rack: 'r{1...2}'}\n", "each of 2 machines has a rack to itself"),
        ] {
            let why = found(rows).unwrap_err();
            assert!(why.contains(part), "{rows}: {why}");
        }
        let fleet = linerate_fleet::description::read(&format!("nodes:\n{rows}"), "f.yaml").unwrap();
        let nodes: Vec<&FleetNode> = fleet.iter().collect();
        assert!(rack_numbers(&nodes, true).is_err_and(|why| why.to_string().contains("without host")));
    }
}
