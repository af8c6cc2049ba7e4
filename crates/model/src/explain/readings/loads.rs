//! What nodes, drives, racks and clients show.

use linerate_record::plan::Resource;
use linerate_record::site::{Entry, Site, copies_name};
use linerate_record::units::bytes_iec;

use super::{ExpectedReading, Moment};
use crate::explain::deviation::Odd;
use crate::explain::forecast::{HypotheticalSite, all_limits};
use crate::layout::{Geometry, GeometryKind};

/// How full the fullest of some resources is.
fn use_of(world: &HypotheticalSite, moment: Moment, resources: &[Resource], what: &str) -> Option<ExpectedReading> {
    let all = all_limits(world, moment.reads);
    let lowest = all.iter().find(|limit| resources.contains(&limit.resource))?;
    // Within the error of a measurement a figure may be above a ceiling, and nothing is more than busy.
    let share = (moment.bytes_per_s / lowest.limit_bytes_per_s).min(1.0);
    let odd = world.odd.as_ref().filter(|odd| lowest.group == Some(odd.group));
    let whose = odd.map(Odd::who).unwrap_or_default();
    let of = if whose.is_empty() { String::new() } else { format!(" of {whose}") };
    let words = format!("{what}{of} {:.0} % busy", share * 100.0);
    Some(ExpectedReading { figures: vec![share], words })
}

pub(super) fn drives(_: &Site, world: &HypotheticalSite, moment: Moment) -> Option<ExpectedReading> {
    use_of(world, moment, &[Resource::DriveBandwidth, Resource::DriveOperations], "drives")
}

pub(super) fn processors(_: &Site, world: &HypotheticalSite, moment: Moment) -> Option<ExpectedReading> {
    use_of(world, moment, &[Resource::Cpu], "processors")
}

pub(super) fn clients(_: &Site, world: &HypotheticalSite, moment: Moment) -> Option<ExpectedReading> {
    let seen = use_of(world, moment, &[Resource::ClientIngress, Resource::ClientEgress], "clients' ports")?;
    let clients = &world.site.clients;
    let words = format!("{} of {} clients at {} of a port", seen.words, clients.count, clients.ports);
    Some(ExpectedReading { words, ..seen })
}

pub(super) fn rack_uplinks(_: &Site, world: &HypotheticalSite, moment: Moment) -> Option<ExpectedReading> {
    let idle = ExpectedReading { figures: vec![0.0], words: "rack uplinks not full".to_owned() };
    Some(use_of(world, moment, &[Resource::RackUp, Resource::RackDown], "rack uplinks").unwrap_or(idle))
}

pub(super) fn layout(_: &Site, world: &HypotheticalSite, _: Moment) -> Option<ExpectedReading> {
    let of = |cut: &Geometry| match cut.kind {
        GeometryKind::Replicas => copies_name(cut.shards),
        _ => format!("{}+{} shards", cut.data, cut.parity),
    };
    let mut pools: Vec<String> = world.geometries.pools().iter().map(of).collect();
    pools.dedup();
    Some(ExpectedReading::words(pools.join(" and ")))
}

pub(super) fn node_spread(_: &Site, world: &HypotheticalSite, _: Moment) -> Option<ExpectedReading> {
    let through_one = matches!(world.site.entry, Entry::L2Announcement { .. });
    let words = match &world.odd {
        Some(odd) if odd.is_seen_there => format!("{} lower than the others", odd.who()),
        None if through_one => "one node carries as much as the others together".to_owned(),
        _ => "every node alike".to_owned(),
    };
    Some(ExpectedReading::words(words))
}

pub(super) fn cryptography(_: &Site, world: &HypotheticalSite, _: Moment) -> Option<ExpectedReading> {
    let engine = &world.site.engine;
    let word = |on: bool| if on { "on" } else { "off" };
    let (clients, nodes, rest) = (word(engine.tls), word(engine.internal_tls), word(engine.encryption));
    let words = format!("TLS with clients {clients}, TLS among nodes {nodes}, encryption at rest {rest}");
    Some(ExpectedReading::words(words))
}

pub(super) fn inventory(_: &Site, world: &HypotheticalSite, _: Moment) -> Option<ExpectedReading> {
    let of_group = |group: &linerate_record::site::NodeGroup| {
        let lanes: Vec<String> =
            group.nics.iter().map(|nic| format!("Gen{} × {}", nic.generation, nic.lanes)).collect();
        format!(
            "{}: {} sockets, {} cores, {} drives, Gen{} × {} lanes a socket, NICs {}, memory {}/s",
            group.name,
            group.sockets,
            group.cores,
            group.drives_per_node(),
            group.pcie.generation,
            group.pcie.lanes_per_socket,
            lanes.join(", "),
            bytes_iec(group.memory_bytes_per_s)
        )
    };
    // What befalls one node is told by other readings.
    let odd = world.odd.as_ref().map(|odd| odd.group);
    let groups = world.site.groups.iter().enumerate().filter(|(i, _)| Some(*i) != odd);
    let mut words: Vec<String> = groups.map(|(_, group)| of_group(group)).collect();
    words.push(format!("objects of {}", bytes_iec(world.site.data.object_bytes as f64)));
    Some(ExpectedReading::words(words.join("; ")))
}
