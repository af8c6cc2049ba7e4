//! What nodes, drives, racks and clients show.

use linerate_record::plan::Resource;
use linerate_record::site::{Entry, Site, copies_name};
use linerate_record::units::{bytes_iec, bytes_per_s_iec};

use super::{ExpectedReading, LoadedSite};
use crate::explain::deviation::OutlierNodes;
use crate::explain::forecast::fullest;
use crate::explain::mixed_node_kinds::peers;
use crate::layout::{Geometry, GeometryKind};

/// What a node gives less than another by so much is seen to be lower: counters over ten seconds differ by less.
const LOWER: f64 = 0.05;

/// How full the fullest of some resources is.
fn fullest_use(loaded: &LoadedSite, resources: &[Resource], what: &str) -> Option<ExpectedReading> {
    let (share, group) = fullest(loaded.world, loaded.reads, &loaded.given, resources)?;
    // Within the error of a measurement a figure may be above a ceiling, and nothing is more than busy.
    let share = share.min(1.0);
    let outlier = loaded.world.outlier.as_ref().filter(|outlier| group == Some(outlier.group));
    let whose = outlier.map(OutlierNodes::who).unwrap_or_default();
    let suffix = if whose.is_empty() { String::new() } else { format!(" of {whose}") };
    let words = format!("{what}{suffix} {:.0} % busy", share * 100.0);
    Some(ExpectedReading::figures(vec![share], words))
}

pub(super) fn drives(_: &Site, loaded: &LoadedSite) -> Option<ExpectedReading> {
    fullest_use(loaded, &[Resource::DriveBandwidth, Resource::DriveOperations], "drives")
}

pub(super) fn processors(_: &Site, loaded: &LoadedSite) -> Option<ExpectedReading> {
    fullest_use(loaded, &[Resource::Cpu], "processors")
}

pub(super) fn clients(_: &Site, loaded: &LoadedSite) -> Option<ExpectedReading> {
    let seen = fullest_use(loaded, &[Resource::ClientIngress, Resource::ClientEgress], "clients' ports")?;
    let clients = &loaded.world.site.clients;
    let words = format!("{} of {} clients at {} of a port", seen.words, clients.count, clients.ports);
    Some(ExpectedReading { words, ..seen })
}

pub(super) fn rack_uplinks(_: &Site, loaded: &LoadedSite) -> Option<ExpectedReading> {
    let idle = ExpectedReading::figures(vec![0.0], "rack uplinks not full".to_owned());
    let uplinks = [Resource::RackUp, Resource::RackDown, Resource::ClientRackUp, Resource::ClientRackDown];
    Some(fullest_use(loaded, &uplinks, "rack uplinks").unwrap_or(idle))
}

pub(super) fn layout(_: &Site, loaded: &LoadedSite) -> Option<ExpectedReading> {
    let shards_in_words = |cut: &Geometry| match cut.kind {
        GeometryKind::Replicas => copies_name(cut.shards),
        _ => format!("{}+{} shards", cut.data, cut.parity),
    };
    let mut pools: Vec<String> = loaded.world.geometries.pools().iter().map(shards_in_words).collect();
    pools.dedup();
    Some(ExpectedReading::words(pools.join(" and ")))
}

pub(super) fn node_spread(_: &Site, loaded: &LoadedSite) -> Option<ExpectedReading> {
    let (world, given) = (loaded.world, &loaded.given);
    if let Some(requested) = world.requested_alone() {
        let words = format!("one node serves all, {}, and the others nothing", bytes_per_s_iec(given[requested]));
        return Some(ExpectedReading::words(words));
    }
    let through_one = matches!(world.site.entry, Entry::L2Announcement { .. });
    let is_lower = |outlier: &&OutlierNodes| match peers(world) {
        Some(like) => outlier.is_seen_there && given[outlier.group] < (1.0 - LOWER) * given[like],
        None => outlier.is_seen_there,
    };
    let kinds = world.site.groups.iter().zip(given).enumerate().filter(|(place, (group, _))| {
        group.count > 0 && world.outlier.as_ref().is_none_or(|outlier| outlier.group != *place)
    });
    let rates: Vec<f64> = kinds.map(|(_, (_, rate))| *rate).collect();
    let (least, most) = rates.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), rate| (a.min(*rate), b.max(*rate)));
    let words = match world.outlier.as_ref().filter(is_lower) {
        Some(outlier) => format!("{} lower than the others", outlier.who()),
        None if through_one && world.outlier.is_none() => "one node carries as much as the others together".to_owned(),
        None if least < (1.0 - LOWER) * most => "all nodes of a kind alike".to_owned(),
        None => "every node alike".to_owned(),
    };
    Some(ExpectedReading::words(words))
}

pub(super) fn cryptography(_: &Site, loaded: &LoadedSite) -> Option<ExpectedReading> {
    let engine = &loaded.world.site.engine;
    let word = |on: bool| if on { "on" } else { "off" };
    let (clients, nodes, rest) = (word(engine.tls), word(engine.internal_tls), word(engine.encryption));
    let words = format!("TLS with clients {clients}, TLS among nodes {nodes}, encryption at rest {rest}");
    Some(ExpectedReading::words(words))
}

pub(super) fn inventory(_: &Site, loaded: &LoadedSite) -> Option<ExpectedReading> {
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
    let outlier = loaded.world.outlier.as_ref().map(|outlier| outlier.group);
    let groups = loaded.world.site.groups.iter().enumerate().filter(|(i, _)| Some(*i) != outlier);
    let mut words: Vec<String> = groups.map(|(_, group)| of_group(group)).collect();
    words.push(format!("objects of {}", bytes_iec(loaded.world.site.data.object_bytes as f64)));
    Some(ExpectedReading::words(words.join("; ")))
}
