//! Drives, in bytes and in operations.

use linerate_record::plan::{Input, Resource};
use linerate_record::site::{Drives, NodeGroup, Product, key};

use super::description::{Wording, derived, factor, group, nodes, path, rate, stated};
use super::{Case, Kind, ResourceLimit};

pub(super) const KIND: Kind =
    Kind { limits, explain, resources: &[Resource::DriveBandwidth, Resource::DriveOperations] };

fn limits(case: &Case, out: &mut Vec<ResourceLimit>) {
    for place in case.groups() {
        let (group, traffic) = (&case.site.groups[place], &case.traffic.nodes[place]);
        let (read, write) = (traffic.drive_read, traffic.drive_write);
        let capacity =
            slowest(case, group, |drives| shared(read, write, drives.read_bytes_per_s, drives.write_bytes_per_s));
        case.of_node(out, Resource::DriveBandwidth, place, read + write, capacity);
        let (read, write) = (traffic.drive_read_ops, traffic.drive_write_ops);
        let capacity = slowest(case, group, |drives| shared(read, write, drives.read_iops, drives.write_iops));
        let per_request = case.work.object_bytes as f64;
        if read + write > 0.0 {
            let demand = (read + write) * per_request;
            out.push(ResourceLimit {
                resource: Resource::DriveOperations,
                group: Some(place),
                limit_bytes_per_s: case.nodes * capacity / (read + write),
                demand,
                capacity,
            });
        }
    }
}

/// What a drive does per second when reads and writes take turns in these proportions: it spends its time on either.
fn shared(read: f64, write: f64, read_per_s: f64, write_per_s: f64) -> f64 {
    let time = |amount: f64, per_s: f64| if amount > 0.0 { amount / per_s } else { 0.0 };
    (read + write) / (time(read, read_per_s) + time(write, write_per_s))
}

/// What a node's drives do together when each has its share of the shards: the slowest kind decides.
fn slowest(case: &Case, group: &NodeGroup, one: impl Fn(&Drives) -> f64) -> f64 {
    let weight = |drives: &Drives| weight(case, drives);
    let all: f64 = group.drives.iter().map(|drives| f64::from(drives.count) * weight(drives)).sum();
    group
        .drives
        .iter()
        .filter(|drives| drives.count > 0 && weight(drives) > 0.0)
        .map(|drives| one(drives) * all / weight(drives))
        .fold(f64::INFINITY, f64::min)
}

/// By what drives of a node get shards: alike in a set, by capacity in CRUSH and in Garage.
pub(super) fn weight(case: &Case, drives: &Drives) -> f64 {
    match case.site.engine.product {
        Product::Minio | Product::Rustfs => 1.0,
        Product::CephRgw | Product::Garage => (drives.capacity_bytes as f64).max(1.0),
    }
}

fn explain(case: &Case, limit: &ResourceLimit) -> Wording {
    let site = case.site;
    let bytes = limit.resource == Resource::DriveBandwidth;
    let mut inputs = vec![nodes(site)];
    if let (Some(group), Some(place)) = (group(site, limit), limit.group) {
        inputs.extend(speeds(case, group, bytes));
        let traffic = &case.traffic.nodes[place];
        let size = case.work.object_bytes as f64;
        let (read, write, what) = if bytes {
            (traffic.drive_read, traffic.drive_write, "per client byte")
        } else {
            (traffic.drive_read_ops * size, traffic.drive_write_ops * size, "per request")
        };
        let capacity = if bytes { rate(limit.capacity) } else { format!("{:.0} op/s", limit.capacity) };
        inputs.push(derived("node's drives at this mix", capacity));
        for (name, amount) in [("read", read), ("written", write)] {
            if amount > 0.0 {
                inputs.push(derived(&format!("{name} {what}"), factor(amount)));
            }
        }
    }
    if bytes {
        return Wording {
            formula: "nodes × drives / (read / read speed + written / write speed)".to_owned(),
            inputs,
            source: "k shards' worth is read, n/k written, with hashes, metadata and journals; reads and writes take \
                     turns on a drive (docs/method/ceilings.md, \"Drives\")",
        };
    }
    inputs.push(stated(site, "object", io_size_in_words(case), key::DATA_OBJECT_SIZE.to_owned()));
    Wording {
        formula: "nodes × drives × operations per second × object / (operations per request)".to_owned(),
        inputs,
        source: "each shard file and each metadata file is one access, and one more per MiB; journals by estimate \
                 (docs/method/ceilings.md, \"Drives\")",
    }
}

fn io_size_in_words(case: &Case) -> String {
    linerate_record::units::bytes_iec(case.work.object_bytes as f64)
}

fn speeds(case: &Case, group: &NodeGroup, bytes: bool) -> Vec<Input> {
    let mut inputs = Vec::new();
    let used = |share: f64| share > 0.0;
    for (place, drives) in group.drives.iter().enumerate() {
        let at = |rest: &str| path(group, &format!("drives.{place}.{rest}"));
        inputs.push(stated(case.site, "drives", drives.count.to_string(), at("count")));
        let (read, write, keys) = if bytes {
            (rate(drives.read_bytes_per_s), rate(drives.write_bytes_per_s), ["read", "write"])
        } else {
            (
                format!("{:.0} op/s", drives.read_iops),
                format!("{:.0} op/s", drives.write_iops),
                ["read_iops", "write_iops"],
            )
        };
        if used(case.work.read_share) {
            inputs.push(stated(case.site, "read speed", read, at(keys[0])));
        }
        if used(1.0 - case.work.read_share) {
            inputs.push(stated(case.site, "write speed", write, at(keys[1])));
        }
    }
    inputs
}
