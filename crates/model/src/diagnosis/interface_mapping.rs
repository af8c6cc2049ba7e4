//! Interfaces that are taken for links of planes and can hardly be these: one for two planes, or one that does not
//! carry what clients get and put.

use linerate_record::readings::{ReadMeasure, Readings};
use linerate_record::site::Site;
use linerate_record::units::bytes_per_s_iec;

use super::links::{LinkPlane, LinkWay, capacity};
use super::readings_grid::{Grid, Values};

/// A link that carries less than this of what clients get or put is none of theirs; what clients on the nodes
/// themselves ask passes no link.
const NEARLY_NOTHING: f64 = 0.1;

/// Less of the links' ceiling that clients get or put tells nothing.
const MATTERS: f64 = 0.01;

/// Interfaces that are named as those that carry more.
const NAMED: usize = 4;

/// Whether a warning of whoever read tells that a label has another name there.
pub(super) fn lacks_label(readings: &Readings, label: &str) -> bool {
    let advised = format!("--map {label}=");
    readings.warnings.iter().any(|warning| warning.contains(&advised))
}

/// What is wrong with the interfaces of planes. `interfaces` has one a plane for each node.
pub(super) fn reported(
    grid: &Grid<'_>,
    site: &Site,
    planes: &[LinkPlane<'_>],
    interfaces: &[Vec<Option<&str>>],
) -> Vec<String> {
    let public = planes.first().into_iter().flat_map(|plane| plane.ways.map(|way| (plane, way)));
    let idle = public.filter_map(|(plane, way)| idle(grid, site, plane, way, interfaces)).take(1);
    twice(grid, planes, interfaces).into_iter().chain(idle).collect()
}

/// Two planes of which one interface is read.
fn twice(grid: &Grid<'_>, planes: &[LinkPlane<'_>], interfaces: &[Vec<Option<&str>>]) -> Option<String> {
    let [one, other] = planes else { return None };
    let shared = |node: &usize| interfaces[*node][0].filter(|interface| interfaces[*node][1] == Some(*interface));
    let nodes: Vec<usize> = (0..interfaces.len()).filter(|node| shared(node).is_some()).collect();
    let (first, interface) = (*nodes.first()?, shared(nodes.first()?)?);
    Some(format!(
        "the {} and the {} plane are both read from {interface}, on {} of {} nodes ({} first): the site has two links, \
         {} and {}; name the interface of each with --link {}=INTERFACE and --link {}=INTERFACE",
        one.name,
        other.name,
        nodes.len(),
        interfaces.len(),
        grid.nodes[first].name,
        one.plane.link,
        other.plane.link,
        one.name,
        other.name
    ))
}

/// A public link that does not carry what clients get, or put.
fn idle(
    grid: &Grid<'_>,
    site: &Site,
    plane: &LinkPlane<'_>,
    way: LinkWay,
    interfaces: &[Vec<Option<&str>>],
) -> Option<String> {
    let (of_clients, verb) = match way.measure {
        ReadMeasure::LinkSent => (ReadMeasure::ClientSent, "get"),
        _ => (ReadMeasure::ClientReceived, "put"),
    };
    let (mut served, mut carried, mut ceiling) = (0.0, 0.0, 0.0);
    for (node, links) in interfaces.iter().enumerate() {
        served += grid.mean(grid.whole(of_clients, node)?)?;
        carried += grid.mean(grid.part(way.measure, node, links.first().copied().flatten()?)?)?;
        ceiling += capacity(&site.groups[grid.nodes[node].group], plane.plane, way.direction);
    }
    if served < MATTERS * ceiling || carried >= NEARLY_NOTHING * served {
        return None;
    }
    let interface = interfaces.first()?.first().copied().flatten()?;
    let bytes = |values: &Values| grid.mean(values).unwrap_or(0.0);
    let fuller =
        grid.parts(way.measure, 0).iter().filter(|(_, values)| bytes(values) > carried / interfaces.len() as f64);
    let names: Vec<&str> = fuller.map(|(name, _)| *name).filter(|name| *name != interface).take(NAMED).collect();
    let more = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Some(format!(
        "clients {verb} {} of these nodes, and the interfaces that are read as the {} link, such as {interface} of {}, \
         carry {} together: they are not that link, unless clients run on these nodes themselves; those that carry \
         more there: {more} (--link {}=INTERFACE)",
        bytes_per_s_iec(served),
        plane.name,
        grid.nodes[0].name,
        bytes_per_s_iec(carried),
        plane.name
    ))
}

#[cfg(test)]
mod tests {
    use linerate_record::readings::ReadSeries;

    use super::super::diagnose;
    use super::*;
    use crate::test_site::site;

    /// Sixteen nodes that send so much to clients by the first of two bonds.
    fn readings() -> Readings {
        let mut readings = Readings { step_ms: 1_000, steps: 4, ..Readings::default() };
        for node in 1..=16 {
            let mut add = |of: ReadMeasure, part: &str, value: f64| {
                let (machine, part) = (format!("storage-{node}"), part.to_owned());
                readings.series.push(ReadSeries { of, machine, part, values: vec![Some(value); 4] });
            };
            for (bond, sent) in [("bond0", 4e9), ("bond1", 1e7)] {
                add(ReadMeasure::LinkSent, bond, sent);
                add(ReadMeasure::LinkReceived, bond, 0.5 * sent);
            }
            add(ReadMeasure::ClientSent, "", 3e9);
            add(ReadMeasure::ClientReceived, "", 0.0);
        }
        readings
    }

    fn warned(links: &[(&str, &str)]) -> Vec<String> {
        let links: Vec<(String, String)> =
            links.iter().map(|(plane, interface)| ((*plane).to_owned(), (*interface).to_owned())).collect();
        diagnose(&site(), &readings(), &links).unwrap().warnings
    }

    #[test]
    fn links_that_are_read_from_the_right_interfaces_are_no_warning() {
        assert_eq!(warned(&[("public", "bond0"), ("private", "bond1")]), [""; 0]);
    }

    #[test]
    fn one_interface_for_two_planes_is_a_warning() {
        let warnings = warned(&[("public", "bond0"), ("private", "bond0")]);
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        assert!(
            warning.starts_with("the public and the private plane are both read from bond0, on 16 of 16"),
            "{warning}"
        );
    }

    #[test]
    fn a_public_link_that_carries_nothing_of_what_clients_get_is_a_warning() {
        let warnings = warned(&[("public", "bond1"), ("private", "bond0")]);
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        for part in ["clients get 44.7 GiB/s", "bond1 of storage-1", "carry 153 MiB/s", "carry more there: bond0"] {
            assert!(warning.contains(part), "{part}: {warning}");
        }
    }

    #[test]
    fn a_label_with_another_name_is_told_once() {
        let mut relabelled = readings();
        relabelled.series.iter_mut().for_each(|one| one.part.clear());
        relabelled.warnings.push("no series of a has a label \"device\": say which, --map device=NEWNAME".to_owned());
        let reported = diagnose(&site(), &relabelled, &[]).unwrap();
        assert_eq!(reported.warnings, relabelled.warnings, "{:?}", reported.caveats);
        assert!(reported.caveats.iter().all(|caveat| !caveat.contains("--link")), "{:?}", reported.caveats);
    }
}
