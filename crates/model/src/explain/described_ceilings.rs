//! Each figure against the site as described: its bottleneck, what the figure takes of that, and what is there.

use linerate_record::explanation::{DescribedCeiling, FigureAgainstCeiling, HighestPrediction, Quantity};
use linerate_record::plan::Resource;
use linerate_record::site::{NodeGroup, Site};
use linerate_record::units::{bytes_per_s_iec, grouped, share_in_words};

use super::deviation::Variant;
use super::forecast::{OperationCeiling, all_limits};
use super::hypothesis::Search;
use super::likelihood::above_sigmas;
use super::mixed_node_kinds::LoadSpread;
use super::predictions::NodeCeilings;
use super::score::{self, ObservedFigures};
use super::sentences;
use super::total_forecast::binding;
use crate::ceilings::ResourceLimit;

/// All figures of the whole site, and those of single nodes of what nothing says for the whole.
pub(super) fn figures_against_ceilings(
    evidence: &ObservedFigures,
    search: &Search,
    variants: &[Variant],
) -> Vec<FigureAgainstCeiling> {
    let site_figure = |&(reads, observed, sigma): &(bool, f64, f64)| {
        let (world, forecast) = &search.described;
        let limits = all_limits(world, reads);
        let ceiling = forecast.ceiling_for(reads)?;
        let of_kinds = binding(evidence, world, ceiling, reads, observed);
        let (limit, spread) = of_kinds.or_else(|| Some((*limits.first()?, LoadSpread::Even)))?;
        let mut figure_row = of_figure(&limit, reads, observed, sigma);
        figure_row.bottleneck = sentences::resource_in_words(world, limit.resource, limit.group);
        figure_row.ceilings = limits.iter().map(|limit| described(limit, &world.site)).collect();
        let goals = &world.site.goals;
        figure_row.goal_bytes_per_s = if reads { goals.get_bytes_per_s } else { goals.put_bytes_per_s };
        let most = figure_row.above_sigmas.and_then(|_| most(search, variants, reads));
        let (most, of_most) = most.unzip();
        figure_row.most = most;
        let places = places_with_kind(&limit, &world.site);
        figure_row.needs = needs(&figure_row, limit.resource, &places);
        let in_flight = evidence.in_flight[usize::from(!reads)];
        figure_row.claim = claim(&figure_row, limit.resource, &places, spread, in_flight, ceiling, of_most.as_deref());
        Some(figure_row)
    };
    let mut found: Vec<FigureAgainstCeiling> = evidence.totals.iter().filter_map(site_figure).collect();
    found.extend([true, false].into_iter().flat_map(|reads| of_nodes(evidence, search, reads)));
    found
}

/// Each node's figure against what one node can give.
fn of_nodes(evidence: &ObservedFigures, search: &Search, reads: bool) -> Vec<FigureAgainstCeiling> {
    let (world, forecast) = &search.described;
    let Some(level) = NodeCeilings::new(evidence, world, forecast, reads) else { return Vec::new() };
    let figures = evidence.nodes(reads);
    let count = evidence.get.nodes.len() + evidence.put.nodes.len();
    let node_figure = |(node, observed, sigma): (&str, f64, f64)| {
        let (limit, ceiling) = level.of_node(node)?;
        let (share, resource) = (observed / ceiling, limit.resource);
        let node = node.to_owned();
        let mut figure_row = FigureAgainstCeiling {
            what: if reads { Quantity::NodeGet { node } } else { Quantity::NodePut { node } },
            observed_bytes_per_s: observed,
            ceiling_bytes_per_s: ceiling,
            share,
            above_sigmas: above_sigmas(share, sigma, count),
            bottleneck: resource.name().to_owned(),
            needed: share * limit.capacity,
            there: limit.capacity,
            unit: resource.unit(),
            needs: String::new(),
            claim: String::new(),
            most: None,
            ceilings: Vec::new(),
            goal_bytes_per_s: None,
        };
        let places = places_with_kind(&limit, &world.site);
        let places = (level.spread_of(&limit, ceiling) == LoadSpread::Even).then_some(&places);
        figure_row.claim = claim_of_node(&figure_row, resource, places, figures.alone);
        figure_row.needs =
            places.map_or_else(|| figure_row.claim.clone(), |places| needs(&figure_row, resource, places));
        Some(figure_row)
    };
    figures.rates().filter_map(node_figure).collect()
}

/// What a figure takes of the bottleneck, and what that has.
fn needs(figure_row: &FigureAgainstCeiling, resource: Resource, (way, has): &Places) -> String {
    let whose = match &figure_row.what {
        Quantity::Get => "GET".to_owned(),
        Quantity::Put => "PUT".to_owned(),
        Quantity::NodeGet { node } => format!("GET of {node}, and as much of every node,"),
        Quantity::NodePut { node } => format!("PUT of {node}, and as much of every node,"),
    };
    format!("{whose} needs {} {way}; {has} {}", resource.amount(figure_row.needed), resource.amount(figure_row.there))
}

/// How one node stands, in one sentence.
fn claim_of_node(
    figure_row: &FigureAgainstCeiling,
    resource: Resource,
    places: Option<&Places>,
    alone: bool,
) -> String {
    let (verb, node) = match &figure_row.what {
        Quantity::NodeGet { node } => ("GET", node.as_str()),
        Quantity::NodePut { node } => ("PUT", node.as_str()),
        Quantity::Get | Quantity::Put => ("", ""),
    };
    let (observed, ceiling) =
        (bytes_per_s_iec(figure_row.observed_bytes_per_s), bytes_per_s_iec(figure_row.ceiling_bytes_per_s));
    let share = share_in_words(figure_row.share, 1);
    if alone {
        return format!("{verb} of {node} alone, {observed}, is {share} what one node can give alone, {ceiling}");
    }
    let Some((way, has)) = places else {
        return format!(
            "{verb} of {node}, {observed}, is {share} what a node of its kind can give with as many requests at each \
             node, {ceiling}"
        );
    };
    let (needed, there) = (resource.amount(figure_row.needed), resource.amount(figure_row.there));
    format!(
        "{verb} of {node}, {observed}, is {share} one node's ceiling, {ceiling}: if all nodes give as much, \
         that is {needed} {way}; {has} {there}"
    )
}

fn of_figure(limit: &ResourceLimit, reads: bool, observed: f64, sigma: f64) -> FigureAgainstCeiling {
    let share = observed / limit.limit_bytes_per_s;
    FigureAgainstCeiling {
        what: if reads { Quantity::Get } else { Quantity::Put },
        observed_bytes_per_s: observed,
        ceiling_bytes_per_s: limit.limit_bytes_per_s,
        share,
        above_sigmas: above_sigmas(share, sigma, 1),
        bottleneck: String::new(),
        needed: share * limit.capacity,
        there: limit.capacity,
        unit: limit.resource.unit(),
        needs: String::new(),
        claim: String::new(),
        most: None,
        ceilings: Vec::new(),
        goal_bytes_per_s: None,
    }
}

/// A limit as the page of an explanation draws it.
fn described(limit: &ResourceLimit, site: &Site) -> DescribedCeiling {
    let group = limit.group.and_then(|place| site.groups.get(place)).filter(|_| site.groups.len() > 1);
    DescribedCeiling {
        resource: limit.resource,
        group: group.map(|group| group.name.clone()),
        limit_bytes_per_s: limit.limit_bytes_per_s,
    }
}

/// With what the hypothesis says.
fn most(search: &Search, variants: &[Variant], reads: bool) -> Option<(HighestPrediction, String)> {
    let highest = search.highest[usize::from(!reads)].as_ref()?;
    let ceiling_bytes_per_s = highest.most_bytes_per_s(reads)?;
    Some((HighestPrediction { ceiling_bytes_per_s, id: highest.name(variants) }, highest.claim(variants)))
}

/// What nodes that are asked in turn give more than nodes asked at random, from which on it is told.
const MORE_IN_TURN: f64 = 1.02;

/// How it stands, in one sentence: with what some requests in flight reach, and what the hypothesis says that allows
/// most.
fn claim(
    figure_row: &FigureAgainstCeiling,
    resource: Resource,
    (way, has): &Places,
    spread: LoadSpread,
    in_flight: Option<u64>,
    &OperationCeiling { reach, most_reach, .. }: &OperationCeiling,
    of_most: Option<&str>,
) -> String {
    let verb = if figure_row.what == Quantity::Get { "GET" } else { "PUT" };
    let (needed, there) = (resource.amount(figure_row.needed), resource.amount(figure_row.there));
    let mut reported = format!(
        "{verb} of {} is {} its ceiling, {}: it needs {needed} {way}; {has} {there}",
        bytes_per_s_iec(figure_row.observed_bytes_per_s),
        share_in_words(figure_row.share, 1),
        bytes_per_s_iec(figure_row.ceiling_bytes_per_s),
    );
    reported.push_str(match spread {
        LoadSpread::Even => "",
        LoadSpread::Measured => "; that is of a load that is spread over nodes as their figures show",
        LoadSpread::AsMany => "; that is of a load with as many requests at each node: spread evenly, they give less",
    });
    if let Some(flight) = in_flight {
        let (reached, error) = (share_in_words(reach, 0), score::curve_error(reach) * 100.0);
        let flight = grouped(flight);
        reported.push_str(&format!("; by the curve, {flight} in flight give {reached} the ceiling, "));
        reported.push_str(&format!("which is known to ± {error:.1} %"));
        if most_reach > reach * MORE_IN_TURN {
            let most = (most_reach * 100.0).floor();
            reported.push_str(&format!(", and up to {most:.0} % if clients ask nodes in turn"));
        }
    }
    let Some(sigmas) = figure_row.above_sigmas else { return reported };
    reported.push_str(&format!("; it is {sigmas:.1} standard errors above"));
    if let Some((most, claim)) = figure_row.most.as_ref().zip(of_most) {
        let allows = bytes_per_s_iec(most.ceiling_bytes_per_s);
        reported.push_str(&format!(", and the most that any hypothesis allows is {allows} ({claim})"));
    }
    reported
}

/// Where a resource is needed, and what has it.
type Places = (String, &'static str);

/// The same as [`places`] has it, with the kind of the nodes where there are several.
fn places_with_kind(limit: &ResourceLimit, site: &Site) -> Places {
    let (way, has) = places(limit.resource);
    let several = site.groups.iter().filter(|group| group.count > 0).count() > 1;
    let group = limit.group.and_then(|place| site.groups.get(place)).filter(|_| several);
    let of_kind = |group: &NodeGroup| match way.contains("each node's") {
        true => way.replace("each node's", &format!("the {} nodes'", group.name)),
        false => way.replace("each node", &format!("each node of {}", group.name)),
    };
    (group.map_or_else(|| way.to_owned(), of_kind), has)
}

/// Where a resource is needed, and what has it. Links have what framing leaves of them.
fn places(resource: Resource) -> (&'static str, &'static str) {
    match resource {
        Resource::PublicIngress => ("into each node on the public plane", "that link carries"),
        Resource::PublicEgress => ("out of each node on the public plane", "that link carries"),
        Resource::PrivateIngress => ("into each node on the private plane", "that link carries"),
        Resource::PrivateEgress => ("out of each node on the private plane", "that link carries"),
        Resource::RackUp => ("out of each rack", "its uplinks carry"),
        Resource::RackDown => ("into each rack", "its uplinks carry"),
        Resource::ClientRackUp => ("out of each rack of clients", "its uplinks carry"),
        Resource::ClientRackDown => ("into each rack of clients", "its uplinks carry"),
        Resource::ClientIngress => ("into each client", "its ports carry"),
        Resource::ClientEgress => ("out of each client", "its ports carry"),
        Resource::EntryNode => ("over the one node that takes every connection", "it carries"),
        Resource::DriveBandwidth | Resource::DriveOperations => ("of each node's drives", "they give"),
        Resource::PcieNic => ("over the slot of a NIC", "it carries"),
        Resource::PcieDrives => ("over the lanes of each node's drives", "they carry"),
        Resource::PcieSocket => ("over the PCIe lanes of each node", "they carry"),
        Resource::Memory => ("of each node's memory", "it gives"),
        Resource::Cpu => ("of each node", "it has"),
    }
}
