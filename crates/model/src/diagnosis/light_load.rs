//! Windows of which the load was light: nothing was near a ceiling, and little was asked for.

use linerate_record::diagnosis::{Diagnosis, ResourceUse};
use linerate_record::plan::Resource;
use linerate_record::readings::ReadMeasure;
use linerate_record::units::{count, percent};

use super::readings_grid::Grid;

/// Resources of which no node uses more than this have room.
const HALF: f64 = 0.5;

/// As many requests in flight as there are nodes, or fewer: most nodes have none for much of the time, whatever their
/// size.
const EACH: f64 = 1.0;

/// One member of a bond that is in use by more than this may be a limit, although the bond is not.
const MEMBER: f64 = 0.8;

/// Requests that wait within the engine, of all nodes of which that was read: they are asked for, and a limit of
/// requests holds them back.
pub(super) fn waiting(grid: &Grid<'_>) -> f64 {
    let of_node = |node: usize| grid.gauge_mean(node, grid.whole(ReadMeasure::Waiting, node)?);
    (0..grid.nodes.len()).filter_map(of_node).sum()
}

/// That the load was light, with the fullest resource. Where nobody read what was asked for, it is no more than that
/// resources had room, which a limit elsewhere leaves as well. `waiting` is how many requests wait besides.
pub(super) fn said(of: &Diagnosis, waiting: f64) -> Option<String> {
    let fullest = of.used.iter().max_by(|a, b| a.most_share.total_cmp(&b.most_share))?;
    let has_room = fullest.most_share < HALF && of.members.iter().all(|one| one.busiest_used_share < MEMBER);
    let is_link_read = of.used.iter().any(|one| one.resource.is_link());
    let in_flight = of.load.in_flight.filter(|_| has_room && is_link_read)?;
    let nodes = of.nodes.len();
    (in_flight + waiting <= EACH * nodes as f64).then(|| {
        format!(
            "the load was light: the highest utilisation is {}, with {} in flight at {nodes} {}; more requests would \
             give more, unless clients{} are at limits of their own",
            highest(fullest),
            match in_flight.round() {
                none if none < 1.0 => "less than 1 request".to_owned(),
                one if one <= 1.0 => "1 request".to_owned(),
                more => format!("{} requests", count(more)),
            },
            if nodes == 1 { "node" } else { "nodes" },
            unread(of),
        )
    })
}

/// What nodes have besides links and was not read: it may be full.
fn unread(of: &Diagnosis) -> &'static str {
    let is_read = |resource: Resource| of.used.iter().any(|one| one.resource == resource);
    match (is_read(Resource::Cpu), is_read(Resource::DriveBandwidth)) {
        (true, true) => "",
        (false, true) => ", or processors, which were not read,",
        (true, false) => ", or drives, which were not read,",
        (false, false) => ", or processors and drives, which were not read,",
    }
}

fn highest(used: &ResourceUse) -> String {
    format!("{} of {} ({})", percent(used.most_share), used.resource.in_a_sentence(), used.most_node)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use linerate_record::diagnosis::ReadNode;
    use linerate_record::readings::{ReadSeries, Readings};

    use super::super::diagnose;
    use super::super::machines::ReadMachine;
    use super::*;
    use crate::test_site::site;

    /// Sixteen nodes of which the fullest link is in use by so much, with so many requests in flight.
    fn diagnosis_with(most_share: f64, in_flight: Option<f64>) -> Diagnosis {
        let nobody = Readings { step_ms: 1_000, steps: 2, ..Readings::default() };
        let mut diagnosis = diagnose(&site(), &nobody, &[]).unwrap();
        let node = |number: u32| {
            let (name, group) = (format!("storage-{number}"), "storage".to_owned());
            ReadNode { name, group, machines: Vec::new() }
        };
        diagnosis.nodes = (1..=16).map(node).collect();
        diagnosis.load.in_flight = in_flight;
        diagnosis.used = vec![ResourceUse {
            resource: Resource::PublicEgress,
            group: "storage".to_owned(),
            part: "public".to_owned(),
            capacity: 1e10,
            share: 0.8 * most_share,
            most_share,
            most_node: "storage-3".to_owned(),
            full_nodes: 0,
            nodes: 16,
        }];
        diagnosis
    }

    #[test]
    fn a_load_is_light_where_all_has_room_and_little_was_asked_for() {
        let light = said(&diagnosis_with(0.31, Some(7.0)), 0.0).unwrap();
        let expected = "the load was light: the highest utilisation is 31.0 % of the public link, sending (storage-3), \
                        with 7 requests in flight at 16 nodes";
        assert!(light.starts_with(expected), "{light}");
        assert!(
            light
                .ends_with("unless clients, or processors and drives, which were not read, are at limits of their own")
        );
        assert!(said(&diagnosis_with(0.31, Some(0.2)), 0.0).unwrap().contains("less than 1 request in flight"));
        for (share, in_flight) in [(0.6, Some(7.0)), (0.31, Some(60.0)), (0.31, None)] {
            assert_eq!(said(&diagnosis_with(share, in_flight), 0.0), None, "{share} {in_flight:?}");
        }
        assert_eq!(said(&diagnosis_with(0.31, Some(7.0)), 40.0), None, "a limit of requests");
    }

    #[test]
    fn requests_that_wait_are_counted_over_all_nodes_of_which_they_were_read() {
        let series = |machine: &str, waiting: f64| ReadSeries {
            of: ReadMeasure::Waiting,
            machine: machine.to_owned(),
            part: String::new(),
            values: vec![Some(waiting); 3],
        };
        let series = vec![series("n1", 4.0), series("n3", 1.5)];
        let readings = Readings { step_ms: 1_000, steps: 3, series, ..Readings::default() };
        let node = |name: &str| {
            let (name, keys) = (name.to_owned(), BTreeSet::from([name.to_owned()]));
            ReadMachine { name, group: 0, keys }
        };
        let nodes = ["n1", "n2", "n3"].map(node);
        assert_eq!(waiting(&Grid::new(&readings, &nodes)), 5.5);
    }
}
