//! Readings of a window judged: each resource against the ceiling that the model gives it, the odd ones among those
//! that should be alike, and what of that can have held the site back. `docs/method/readings.md` has the reasons.

mod answer;
mod bursts;
mod clients;
mod flapping;
mod heat_map;
mod idle_window;
mod impossible_counters;
mod interface_mapping;
mod joint_limits;
mod light_load;
mod links;
mod losses;
mod lost_members;
mod machines;
mod observations;
mod outlier_rows;
mod quotas;
mod racks;
mod readings_grid;
mod resources;
mod retransmissions;
mod sentences;
mod served_load;
mod sockets;
mod suspects;
mod unknown_nodes;

use std::borrow::Cow;

use linerate_analysis::outlier::FALSE_ALARMS;
use linerate_record::diagnosis::{
    DIAGNOSIS_SCHEMA, Diagnosis, MemberUse, ReadNode, ReadWindow, ResourceUse, SocketUse,
};
use linerate_record::explanation::{Explanation, Observations};
use linerate_record::readings::{ReadMeasure, Readings, is_drawn_id};
use linerate_record::site::Site;
use linerate_record::units::percent;

use crate::error::ModelError;
use crate::explain::{AlreadyRead, explain_alongside, with_members};
use answer::AnswerContext;
use machines::{Machines, machines};
pub use quotas::engine_word;
use readings_grid::Grid;

/// What readings say of a site. `links` has the interfaces of planes that do not have the name of their link: `public`
/// or `private`, and the interface.
///
/// # Errors
/// Where the engine does not run on such a site.
pub fn diagnose(site: &Site, readings: &Readings, links: &[(String, String)]) -> Result<Diagnosis, ModelError> {
    crate::plan::check(site)?;
    let Machines { nodes, clients, unknown_nodes, mut caveats } = machines(site, readings);
    let grid = Grid::new(readings, &nodes);
    let planes = links::planes(site);
    let interfaces = interfaces(&grid, site, &planes, links);
    let unknown = unknown_links(&grid, site, &interfaces, links);
    let (believed, beyond) = impossible_counters::without(readings, site, &grid, &grid.among(&clients), &interfaces);
    let mut grid = match &believed {
        Cow::Borrowed(_) => grid,
        Cow::Owned(without) => Grid::new(without, &nodes),
    };
    let readings = &*believed;
    let of_planes: Vec<Vec<&str>> =
        interfaces.iter().map(|of_node| of_node.iter().flatten().copied().collect()).collect();
    let carried = served_load::carried(&grid, &of_planes);
    let both: Vec<f64> = carried[0].iter().zip(&carried[1]).map(|(sent, received)| sent + received).collect();
    grid.judge_where(&both);
    let load = served_load::load(&grid, &carried);
    let uses = resources::node_uses(&grid, site, &interfaces);
    let used = resources::used(&grid, site, &uses);
    let members = resources::member_uses(&grid, site, &interfaces);
    let (outlier, comparisons) = outlier_rows::outlier(&grid, &interfaces, &uses);
    let of_clients = grid.among(&clients);
    let Seen { sockets, racks, alone } = seen(&grid, site, &of_clients, &uses);
    let is_at_rest = idle_window::is_at_rest(&used, &load);
    let (suspects, none) = suspects::suspects(&grid, site, &outlier, &uses, &used, &members, alone);
    let (suspects, none_of_these) = if is_at_rest { idle_window::at_rest(suspects, none) } else { (suspects, none) };
    let lacking = site.nodes().saturating_sub(nodes.len() as u32);
    let read = already_read(&grid, &of_clients);
    let explanation = backward(site, observations::observations(&grid, &load, lacking), &members, &read, &mut caveats)?;
    let (unjudged, unknown): (Vec<_>, Vec<_>) = unknown.into_iter().partition(|one| one.of_all);
    caveats.extend(unknown.into_iter().map(|one| one.said));
    let mut warnings = warnings(&grid, site, &nodes, &used, beyond);
    warnings.extend(unjudged.into_iter().map(|one| one.said));
    warnings.extend(interface_mapping::reported(&grid, site, &planes, &interfaces));
    let are_links_read = nodes.is_empty() || of_planes.iter().any(|of_node| !of_node.is_empty());
    let is_nameless = !are_links_read && !interface_mapping::lacks_label(readings, "instance");
    warnings.splice(0..0, nameless(&unknown_nodes).filter(|_| is_nameless));
    warnings.splice(0..0, drawn_ids(&unknown_nodes));
    let is_every_link_read = interfaces.iter().flatten().all(Option::is_some);
    warnings.splice(0..0, served_load::beyond_links(&load).filter(|_| is_every_link_read));
    caveats.extend(quotas::of_others(&grid));
    caveats.extend(racks.caveats);
    caveats.extend(still_counters(&grid, &interfaces));
    caveats.extend(readings.remarks.iter().cloned());
    let window = window(&grid);
    let mut diagnosis = Diagnosis {
        schema: DIAGNOSIS_SCHEMA,
        site: site.name.clone(),
        blind: sentences::blind(readings, &window, site),
        window,
        unheard: lacking,
        answer: String::new(),
        next: None,
        heat: heat_map::heat(&grid, &uses),
        nodes: nodes.iter().map(|node| read_node(site, node)).collect(),
        unknown_nodes,
        load,
        used,
        members,
        sockets,
        racks: racks.uses,
        rack_pairs: racks.pairs,
        clients: clients.iter().map(|client| client.name.clone()).collect(),
        sent_again: retransmissions::sent_again(&grid),
        outlier,
        suspects,
        none_of_these,
        explanation,
        comparisons,
        false_alarm_share: FALSE_ALARMS,
        absent: readings.absent.clone(),
        warnings,
        caveats,
    };
    let known = AnswerContext { are_links_read, are_clients_read: read.are_clients, is_at_rest };
    (diagnosis.answer, diagnosis.next) = answer::answered(&grid, site, &diagnosis, known);
    Ok(diagnosis)
}

/// What was read of every node, and of clients: no reading that is to be taken next.
fn already_read(nodes: &Grid<'_>, clients: &Grid<'_>) -> AlreadyRead {
    let of_all = |grid: &Grid<'_>, of: ReadMeasure| {
        !grid.nodes.is_empty() && (0..grid.nodes.len()).all(|node| !grid.parts(of, node).is_empty())
    };
    AlreadyRead {
        of_nodes: ReadMeasure::ALL.into_iter().filter(|of| of_all(nodes, *of)).collect(),
        are_clients: of_all(clients, ReadMeasure::LinkSent) && of_all(clients, ReadMeasure::LinkReceived),
    }
}

/// The model run backward from what was served, where that is told; else a caveat says why not.
fn backward(
    site: &Site,
    observed: Result<Observations, String>,
    members: &[MemberUse],
    read: &AlreadyRead,
    caveats: &mut Vec<String>,
) -> Result<Option<Explanation>, ModelError> {
    let observed = match observed {
        Ok(observed) => observed,
        Err(why) => {
            caveats.push(why);
            return Ok(None);
        }
    };
    match explain_alongside(site, &observed, read) {
        Ok(explanation) => Ok(Some(with_members(explanation, members))),
        Err(ModelError::Observed(faults)) => {
            caveats.extend(faults.into_iter().map(|fault| format!("the model was not run backward: {fault}")));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// What is seen without a comparison of nodes.
struct Seen {
    sockets: Vec<SocketUse>,
    racks: racks::Racks,
    alone: suspects::DirectObservations,
}

fn seen(grid: &Grid<'_>, site: &Site, of_clients: &Grid<'_>, uses: &[resources::NodeUse]) -> Seen {
    let (readings, nodes) = (grid.readings, grid.nodes);
    let is_whole = sockets::are_all_read(readings, nodes, site.nodes() as usize);
    let rows = sockets::rows(&readings.sockets, nodes, of_clients.nodes, is_whole);
    let pairs = sockets::pairs(&rows);
    let (sockets, mut found) = sockets::sockets(&rows, &pairs);
    let links = uses.iter().filter(|one| one.resource.is_link()).filter_map(|one| grid.median(&one.shares));
    let fullest_link = links.fold(0.0, f64::max);
    let roomy = clients::roomy(of_clients, site);
    let mut racks = racks::racks(grid, site, &rows, &pairs, &mut found, fullest_link, &roomy);
    found.append(&mut racks.suspects);
    found.extend(clients::suspect(of_clients, site, uses, &sockets, grid));
    found.extend(suspects::busy_thread(grid));
    let not_lossy = sockets::not_lossy(&readings.sockets, nodes, &found);
    let (behind_uplinks, gone) = (std::mem::take(&mut racks.behind_uplinks), std::mem::take(&mut racks.gone));
    Seen { sockets, racks, alone: suspects::DirectObservations { suspects: found, not_lossy, behind_uplinks, gone } }
}

fn read_node(site: &Site, node: &machines::ReadMachine) -> ReadNode {
    ReadNode {
        name: node.name.clone(),
        group: site.groups[node.group].name.clone(),
        machines: node.keys.iter().cloned().collect(),
    }
}

fn window(grid: &Grid<'_>) -> ReadWindow {
    let readings = grid.readings;
    let busy = || grid.is_busy.iter().enumerate().filter(|(_, busy)| **busy).map(|(step, _)| step);
    let at = |step: Option<usize>| readings.at_unix_ms(step.unwrap_or(0));
    ReadWindow {
        source: readings.source.clone(),
        begin_unix_ms: readings.begin_unix_ms,
        end_unix_ms: readings.at_unix_ms((readings.steps as usize).saturating_sub(1)),
        step_ms: readings.step_ms,
        interval_ms: readings.interval_ms,
        rate_over_ms: readings.rate_over_ms,
        steps: readings.steps,
        busy_steps: busy().count() as u32,
        busy_begin_unix_ms: at(busy().next()),
        busy_end_unix_ms: at(busy().next_back()),
    }
}

/// What has to be known before the answer is believed.
fn warnings(
    grid: &Grid<'_>,
    site: &Site,
    nodes: &[machines::ReadMachine],
    used: &[ResourceUse],
    beyond: Vec<String>,
) -> Vec<String> {
    let readings = grid.readings;
    let mut warnings = readings.warnings.clone();
    warnings.extend(beyond);
    warnings.extend(unknown_nodes::reported(site, readings, nodes));
    warnings.extend(racks::disagreements(site, &readings.stated));
    warnings.extend((!grid.has_halves()).then(|| {
        let judged = grid.is_busy.iter().filter(|busy| **busy).count();
        format!(
            "the load is near its most at {judged} of {} instants, too few for a suspect: choose a window in which it \
             lasts",
            readings.steps
        )
    }));
    for one in used.iter().filter(|one| one.resource.is_link() && one.most_share > impossible_counters::ABOVE) {
        warnings.push(format!(
            "{} carries {} of what the site says that it can, at {}: its speed or ports in the site are wrong",
            one.resource.in_a_sentence(),
            percent(one.most_share),
            one.most_node
        ));
    }
    warnings
}

/// A link that is not judged.
struct UnknownLink {
    /// On all nodes: nothing is said of that plane, and the answer is of the rest.
    of_all: bool,
    said: String,
}

/// Planes of which no interface is known.
fn unknown_links(
    grid: &Grid<'_>,
    site: &Site,
    interfaces: &[Vec<Option<&str>>],
    given: &[(String, String)],
) -> Vec<UnknownLink> {
    let planes = links::planes(site);
    // Whose label has another name has no interface by any: that is told with what to map, and needs no second warning.
    if interface_mapping::lacks_label(grid.readings, "device") {
        return Vec::new();
    }
    let unknown = planes.iter().enumerate().filter_map(|(place, plane)| {
        let lacking: Vec<usize> = (0..interfaces.len()).filter(|node| interfaces[*node][place].is_none()).collect();
        let first = *lacking.first()?;
        let seen: Vec<&str> = grid.parts(ReadMeasure::LinkSent, first).iter().map(|(name, _)| *name).collect();
        let seen = if seen.is_empty() { "none".to_owned() } else { seen.join(", ") };
        let said = format!(
            "{} of {} nodes have no interface {:?} for the {} plane, so that its link is not judged there: interfaces \
             of {} are {seen}; say which with --link {}=INTERFACE",
            lacking.len(),
            interfaces.len(),
            given.iter().find(|(of, _)| of == plane.name).map_or(&plane.plane.link, |(_, interface)| interface),
            plane.name,
            grid.nodes[first].name,
            plane.name
        );
        Some(UnknownLink { of_all: lacking.len() == interfaces.len(), said })
    });
    let no_plane = |(name, interface): &&(String, String)| {
        let is_there = planes.iter().any(|plane| plane.name == name);
        let said =
            || format!("the site has no link of its own for the {name} plane: --link {name}={interface} says nothing");
        (!is_there).then(|| UnknownLink { of_all: true, said: said() })
    };
    unknown.chain(given.iter().filter_map(|one| no_plane(&one))).collect()
}

/// The interface of each node for each plane, where it is known.
fn interfaces<'r>(
    grid: &Grid<'r>,
    site: &Site,
    planes: &[links::LinkPlane<'_>],
    given: &[(String, String)],
) -> Vec<Vec<Option<&'r str>>> {
    let of_node = |node| planes.iter().map(|plane| links::interface(grid, node, site, plane, given)).collect();
    (0..grid.nodes.len()).map(of_node).collect()
}

/// Machines that may be the nodes whose links are lacking, by names that nobody joins.
fn nameless(unknown_nodes: &[String]) -> Option<String> {
    let named: Vec<&String> = unknown_nodes.iter().filter(|name| !is_drawn_id(name)).collect();
    let first = named.first()?;
    Some(format!(
        "{} machines that were read are no node by any of their names, such as {first}: is node_uname_info scraped, or \
         does --map name a label that has nodes' names?",
        named.len()
    ))
}

/// What is known by ids alone that software drew for itself.
fn drawn_ids(unknown_nodes: &[String]) -> Option<String> {
    let drawn: Vec<&String> = unknown_nodes.iter().filter(|name| is_drawn_id(name)).collect();
    let first = drawn.first()?;
    let count = match drawn.len() {
        1 => "1 instance of the engine counts".to_owned(),
        many => format!("{many} instances of the engine count"),
    };
    Some(format!(
        "{count} for no node: ids of pods name no machine ({first}): send service.instance.id with the node's name, or \
         name a label that has it with --map service_instance_id=LABEL"
    ))
}

/// Counters of bytes that stand still while the same link carries something the other way: even acknowledgements move
/// them, so that they are no readings.
fn still_counters(grid: &Grid<'_>, interfaces: &[Vec<Option<&str>>]) -> Vec<String> {
    use ReadMeasure as M;
    let mut found = Vec::new();
    for (node, links) in interfaces.iter().enumerate() {
        for link in links.iter().flatten() {
            let mean = |of: M| grid.part(of, node, link).and_then(|values| grid.mean(values));
            let (sent, received) = (mean(M::LinkSent), mean(M::LinkReceived));
            let is_still = |one: Option<f64>, other: Option<f64>| one == Some(0.0) && other.is_some_and(|o| o > 0.0);
            let ways = [("sent", is_still(sent, received)), ("received", is_still(received, sent))];
            let node = &grid.nodes[node].name;
            found.extend(ways.into_iter().filter(|(_, is_still)| *is_still).map(|(which, _)| {
                format!(
                    "the counter of bytes {which} on {link} of {node} stands still, and the link is in use: it is no \
                     reading"
                )
            }));
        }
    }
    found
}
