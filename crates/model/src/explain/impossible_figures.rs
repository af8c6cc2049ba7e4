//! Figures that cannot be: told all at once, before anything is explained.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use linerate_record::explanation::{Observations, Observed, Quantity};
use linerate_record::site::Site;
use linerate_record::units::{bits_per_s, bytes_per_s_iec};

use super::likelihood::REFUTED_SIGMAS_OF_NODES;
use super::node_figures::group_of;
use super::unknown_nodes::unknown_nodes;
use crate::bond::{line_rate_bits_per_s, nics_of};

/// Relative standard errors that a figure may have.
pub const ERROR_SHARES: RangeInclusive<f64> = 0.0005..=0.3;

/// What is wrong with a relative standard error, if anything.
#[must_use]
pub fn wrong_error(share: f64) -> Option<String> {
    let text = || {
        let (least, most) = (100.0 * ERROR_SHARES.start(), 100.0 * ERROR_SHARES.end());
        let given = in_percent(share);
        format!("a measuring error of {given} % is out of range: write {least} % to {most} %, such as 2%")
    };
    (!ERROR_SHARES.contains(&share)).then(text)
}

/// A share in percent, without the digits that only its rounding has.
fn in_percent(share: f64) -> String {
    let percent = 100.0 * share;
    let short = format!("{percent:.6}");
    let short = short.trim_end_matches('0').trim_end_matches('.');
    if short.trim_start_matches('-') == "0" && percent != 0.0 { format!("{percent:.1e}") } else { short.to_owned() }
}

/// Everything that is wrong with what was observed, in itself and beside the site. A figure that is none is held
/// against no other.
pub(super) fn faults(site: &Site, observations: &Observations) -> Vec<String> {
    let mut found: Vec<String> = wrong_error(observations.error_share).into_iter().collect();
    found.extend(observations.figures.iter().filter_map(of_figure));
    found.extend(twice(observations));
    let unknown = unknown_nodes(site, observations);
    // Whose names are none of its nodes' are not counted among these.
    found.extend(too_many(site, observations, &unknown.names));
    found.extend(unknown.reported);
    let figures = observations.figures.iter().filter(|figure| is_rate(figure)).cloned();
    let figures = figures.map(|figure| Observed { error_share: figure.error_share.map(usable), ..figure }).collect();
    let sound = Observations { figures, error_share: usable(observations.error_share), ..observations.clone() };
    found.extend(sound.figures.iter().filter_map(|figure| above_line_rate(site, &sound, figure)));
    if !observations.nodes_alone && sound.figures.len() == observations.figures.len() {
        found.extend([true, false].into_iter().filter_map(|reads| against_total(site, &sound, reads)));
    }
    found
}

/// An error that is out of range, as the end of the range that is nearer.
fn usable(share: f64) -> f64 {
    share.clamp(*ERROR_SHARES.start(), *ERROR_SHARES.end())
}

/// Whether a figure is a throughput at all.
fn is_rate(figure: &Observed) -> bool {
    figure.bytes_per_s.is_finite() && figure.bytes_per_s > 0.0
}

/// As a person gives it: `get@node3`.
fn name(what: &Quantity) -> String {
    match what {
        Quantity::Get => "get".to_owned(),
        Quantity::Put => "put".to_owned(),
        Quantity::NodeGet { node } => format!("get@{node}"),
        Quantity::NodePut { node } => format!("put@{node}"),
    }
}

/// The node and whether it is reads, where a figure is of one.
fn node_and_operation(what: &Quantity) -> Option<(&str, bool)> {
    match what {
        Quantity::NodeGet { node } => Some((node, true)),
        Quantity::NodePut { node } => Some((node, false)),
        Quantity::Get | Quantity::Put => None,
    }
}

fn relative_error(observations: &Observations, figure: &Observed) -> f64 {
    figure.error_share.unwrap_or(observations.error_share)
}

/// What is wrong with a figure by itself. The error of those that state none is wrong once.
fn of_figure(figure: &Observed) -> Option<String> {
    let (name, rate) = (name(&figure.what), figure.bytes_per_s);
    if !is_rate(figure) {
        return Some(format!(
            "{name:?}: an observed throughput of {rate} B/s is none: give one above 0, such as 152GiB/s"
        ));
    }
    figure.error_share.and_then(wrong_error).map(|why| format!("{name:?}: {why}"))
}

fn twice(observations: &Observations) -> Vec<String> {
    let (mut known, mut reported) = (BTreeSet::new(), BTreeSet::new());
    for figure in &observations.figures {
        let name = name(&figure.what);
        if !known.insert(name.clone()) {
            reported.insert(name);
        }
    }
    let given_twice = |name| {
        format!(
            "{name:?} is given twice, by --observed, --nodes and --run together: give each figure once, or the mean \
             if it was measured several times"
        )
    };
    reported.into_iter().map(given_twice).collect()
}

/// More nodes than the site has, of all kinds or of one.
fn too_many(site: &Site, observations: &Observations, unknown: &BTreeSet<&str>) -> Vec<String> {
    const QUOTED: usize = 4;
    let all = observations.figures.iter().filter_map(|figure| node_and_operation(&figure.what)).map(|(node, _)| node);
    let named: BTreeSet<&str> = all.filter(|node| !unknown.contains(node)).collect();
    let reported = |nodes: &[&&str], of: &str, has: u32| {
        let quoted: Vec<String> = nodes.iter().take(QUOTED).map(|node| format!("{node:?}")).collect();
        let more = if nodes.len() > QUOTED { ", …" } else { "" };
        format!(
            "there are figures of {} nodes{of} and the site has {has}: {}{more}: leave out names that are not its \
             nodes, or correct the count",
            nodes.len(),
            quoted.join(", ")
        )
    };
    if named.len() > site.nodes() as usize {
        return vec![reported(&named.iter().collect::<Vec<_>>(), "", site.nodes())];
    }
    let of_group = |(place, group): (usize, &linerate_record::site::NodeGroup)| {
        let nodes: Vec<&&str> = named.iter().filter(|node| group_of(site, node) == Some(place)).collect();
        (nodes.len() > group.count as usize).then(|| reported(&nodes, &format!(" of {:?}", group.name), group.count))
    };
    site.groups.iter().enumerate().filter_map(of_group).collect()
}

/// A node's figure above what its ports carry in bits on the wire, where their speed was stated. What a node gives to
/// its own client is on no port.
fn above_line_rate(site: &Site, observations: &Observations, figure: &Observed) -> Option<String> {
    let (node, _) = node_and_operation(&figure.what).filter(|_| !site.has_clients_on_nodes())?;
    let link = &site.planes.public.link;
    let places: Vec<usize> = group_of(site, node).map_or((0..site.groups.len()).collect(), |place| vec![place]);
    let rate = |&place: &usize| {
        let group = &site.groups[place];
        let mut places = nics_of(group, link).map(|(place, _)| place);
        let unknown = places.any(|nic| site.is_assumed(&format!("nodes.{}.nics.{nic}.speed", group.name)));
        if unknown { f64::INFINITY } else { line_rate_bits_per_s(group, link) }
    };
    let line = places.iter().map(rate).fold(0.0, f64::max);
    let (reported, most) =
        (8.0 * figure.bytes_per_s, 1.0 + REFUTED_SIGMAS_OF_NODES * relative_error(observations, figure));
    (line > 0.0 && reported > line * most).then(|| {
        format!(
            "{:?} of {} is {}, and {link:?} of that node runs at {}: correct the figure, or speed and ports \
             in the site",
            name(&figure.what),
            bytes_per_s_iec(figure.bytes_per_s),
            bits_per_s(reported),
            bits_per_s(line)
        )
    })
}

/// Figures of nodes that do not add up to the total of the same load.
fn against_total(site: &Site, observations: &Observations, reads: bool) -> Option<String> {
    let (what, verb) = if reads { (Quantity::Get, "get") } else { (Quantity::Put, "put") };
    let total = observations.figures.iter().find(|figure| figure.what == what)?;
    let nodes = observations.figures.iter().filter(|f| node_and_operation(&f.what).is_some_and(|(_, of)| of == reads));
    let nodes: Vec<&Observed> = nodes.collect();
    let sum: f64 = nodes.iter().map(|figure| figure.bytes_per_s).sum();
    // What figures of one load are wrong by, they may be wrong by together.
    let of_sum: f64 = nodes.iter().map(|figure| figure.bytes_per_s * relative_error(observations, figure)).sum();
    let bound = REFUTED_SIGMAS_OF_NODES * of_sum.hypot(total.bytes_per_s * relative_error(observations, total));
    let over = sum - total.bytes_per_s;
    let is_whole = nodes.len() == site.nodes() as usize;
    let contradicts = over > bound || is_whole && -over > bound;
    (contradicts && !nodes.is_empty()).then(|| {
        format!(
            "{verb:?} of {} is not what {} nodes give together, {}: give figures of one load, or --nodes-alone if \
             each node was measured separately",
            bytes_per_s_iec(total.bytes_per_s),
            nodes.len(),
            bytes_per_s_iec(sum)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_site::site;

    const GBIT: f64 = 1e9 / 8.0;

    /// Figures as `get@n1` or `put`, in Gb/s.
    fn observed(figures: &[(&str, f64)]) -> Observations {
        let parsed_figure = |&(name, gbit): &(&str, f64)| {
            let what = match name.split_once('@') {
                Some(("get", node)) => Quantity::NodeGet { node: node.to_owned() },
                Some((_, node)) => Quantity::NodePut { node: node.to_owned() },
                None if name == "get" => Quantity::Get,
                None => Quantity::Put,
            };
            Observed { what, bytes_per_s: gbit * GBIT, error_share: None, in_flight: None }
        };
        Observations { figures: figures.iter().map(parsed_figure).collect(), error_share: 0.02, nodes_alone: false }
    }

    /// Two kinds of two nodes, each on one port of 10 Gb/s.
    fn four() -> Site {
        let mut site = site();
        let group = &mut site.groups[0];
        (group.name, group.count) = ("fast".to_owned(), 2);
        group.nics.iter_mut().for_each(|nic| (nic.ports, nic.speed_bits_per_s) = (1, 10e9));
        let mut other = group.clone();
        other.name = "fast-old".to_owned();
        site.groups.push(other);
        site
    }

    #[test]
    fn figures_that_cannot_be_are_told_with_their_names() {
        let site = four();
        for (figures, expected) in [
            (&[("get@fast-1", 40.0)][..], "\"get@fast-1\" of 4.66 GiB/s is 40.0 Gb/s, and \"public\" of that node"),
            (&[("get", 8.0), ("get@fast-1", 5.0), ("get@fast-2", 5.0)], "is not what 2 nodes give together"),
            (&[("put", 8.0), ("put@a", 1.0), ("put@b", 1.0), ("put@c", 1.0), ("put@d", 1.0)], "\"put\" of 954 MiB/s"),
            (
                &[("get@a", 1.0), ("get@b", 1.0), ("get@c", 1.0), ("put@d", 1.0), ("put@e", 1.0)],
                "figures of 5 nodes and",
            ),
            (&[("get@fast-1", 1.0), ("get@fast-2", 1.0), ("get@fast-3", 1.0)], "figures of 3 nodes of \"fast\" and"),
            (&[("get@n1", 1.0), ("get@n1", 2.0)], "\"get@n1\" is given twice"),
            (&[("get", 1.0), ("get", 2.0)], "\"get\" is given twice"),
        ] {
            let reported = faults(&site, &observed(figures));
            assert!(reported.len() == 1 && reported[0].contains(expected), "{figures:?}: {reported:?}");
        }
        // A name that is no node's hides no kind of which there are too many.
        let both = [("get@fast-1", 1.0), ("get@fast-2", 1.0), ("get@fast-3", 1.0), ("put@foo", 1.0)];
        let reported = faults(&site, &observed(&both));
        assert!(reported.len() == 2 && reported[0].contains("figures of 3 nodes of \"fast\" and"), "{reported:?}");
        assert!(reported[1].starts_with("\"foo\" is not a node of this site"), "{reported:?}");
        let several = observed(&[("get@n1", 40.0), ("get@n2", 40.0), ("get@n2", 40.0)]);
        assert_eq!(faults(&site, &several).len(), 4, "{:?}", faults(&site, &several));
    }

    #[test]
    fn one_mistake_hides_no_other_and_an_error_that_all_figures_share_is_wrong_once() {
        let site = four();
        let mut several = observed(&[("get", 0.0), ("put", 1.0), ("put", 1.0), ("get@fast-1", 40.0)]);
        several.figures[1].error_share = Some(0.4);
        several.error_share = 0.5;
        let reported = faults(&site, &several);
        let expected = [
            "a measuring error of 50 % is out of range: write 0.05 % to 30 %",
            "\"get\": an observed throughput of 0 B/s is none",
            "\"put\": a measuring error of 40 % is out of range",
            "\"put\" is given twice",
            "\"get@fast-1\" of 4.66 GiB/s is 40.0 Gb/s",
        ];
        assert_eq!(reported.len(), expected.len(), "{reported:#?}");
        for (fault, begin) in reported.iter().zip(expected) {
            assert!(fault.starts_with(begin), "{begin}: {reported:#?}");
        }
    }

    #[test]
    fn figures_that_can_be_are_not_refused() {
        let site = four();
        for figures in [
            &[("get", 20.0), ("get@fast-1", 5.1), ("get@fast-2", 4.9), ("get@fast-old-1", 5.0)][..],
            &[("get", 20.0), ("get@a", 5.1), ("get@b", 4.9), ("get@c", 5.0), ("get@d", 4.4)],
            &[("get@fast-old-1", 10.5), ("put@fast-old-1", 1.0), ("put@fast-old-2", 1.0)],
        ] {
            assert_eq!(faults(&site, &observed(figures)), Vec::<String>::new(), "{figures:?}");
        }
        let mut alone = observed(&[("get", 8.0), ("get@fast-1", 5.0), ("get@fast-2", 5.0)]);
        alone.nodes_alone = true;
        assert_eq!(faults(&site, &alone), Vec::<String>::new());
        // A speed that nobody stated may be higher.
        let mut assumed = site;
        for group in ["fast", "fast-old"] {
            assumed.assumed.insert(format!("nodes.{group}.nics.0.speed"), "nobody stated it".to_owned());
        }
        assert_eq!(faults(&assumed, &observed(&[("get@fast-1", 40.0)])), Vec::<String>::new());
    }
}
