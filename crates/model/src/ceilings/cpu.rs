//! Processors of a node: what they do per byte.

use linerate_record::plan::Resource;
use linerate_record::site::{Site, key};

use super::description::{Wording, derived, estimate, factor, group, nodes, path, rate, stated, way_in};
use super::one_node::ResourceDemand;
use super::{Case, Kind, ResourceLimit};
use crate::traffic::Passes;

pub(super) const KIND: Kind = Kind { limits, explain, resources: &[Resource::Cpu] };

/// A kind of work, and what one core does of it.
struct Cost {
    what: &'static str,
    /// Bytes per second of one core. Generations of processors differ by a factor of two either way.
    bytes_per_s: f64,
    amount: fn(&Passes) -> f64,
}

/// Where these come from is in `docs/method/ceilings.md`, "Processors".
const COSTS: &[Cost] = &[
    Cost { what: "TCP, receiving", bytes_per_s: 5.25e9, amount: |passes| passes.received },
    Cost { what: "TCP, sending", bytes_per_s: 11.1e9, amount: |passes| passes.sent },
    Cost { what: "AES-GCM", bytes_per_s: 4.0e9, amount: |passes| passes.encrypted },
    Cost { what: "HighwayHash256", bytes_per_s: 11.9e9, amount: |passes| passes.highway },
    Cost { what: "MD5", bytes_per_s: 0.68e9, amount: |passes| passes.md5 },
    Cost { what: "BLAKE2b", bytes_per_s: 0.97e9, amount: |passes| passes.blake2 },
    Cost { what: "CRC-32C", bytes_per_s: 20.0e9, amount: |passes| passes.crc32c },
    Cost { what: "Reed–Solomon, per parity shard", bytes_per_s: 16.8e9, amount: |passes| passes.coded },
    Cost { what: "zstd", bytes_per_s: 0.5e9, amount: |passes| passes.compressed },
];

/// Nanoseconds that a core has in a second.
const NS_PER_S: f64 = 1e9;

fn limits(case: &Case, out: &mut Vec<ResourceLimit>) {
    for place in case.groups() {
        let load = load(case, place, &case.traffic.nodes[place].passes);
        case.of_node(out, load.resource, place, load.demand, load.capacity);
    }
}

pub(super) fn load(case: &Case, place: usize, passes: &Passes) -> ResourceDemand {
    let capacity = f64::from(case.site.groups[place].cores) * NS_PER_S;
    ResourceDemand { resource: Resource::Cpu, demand: demand_ns(case.site, passes), capacity }
}

/// Nanoseconds of a core per client byte.
pub(super) fn demand_ns(site: &Site, passes: &Passes) -> f64 {
    let own: f64 = COSTS.iter().map(|cost| (cost.amount)(passes) / cost.bytes_per_s * NS_PER_S).sum();
    own + site.clients.per_core_bytes_per_s.map_or(0.0, |per_core| passes.requested / per_core * NS_PER_S)
}

fn explain(case: &Case, limit: &ResourceLimit) -> Wording {
    let mut inputs = vec![nodes(case.site)];
    if let (Some(group), Some(place)) = (group(case.site, limit), limit.group) {
        inputs.push(stated(case.site, "cores", group.cores.to_string(), path(group, "cores")));
        let passes = &case.traffic.nodes[place].passes;
        for cost in COSTS {
            let amount = (cost.amount)(passes);
            if amount > 0.0 {
                inputs.push(derived(&format!("bytes of {}", cost.what), factor(amount)));
                inputs.push(estimate(cost.what, format!("{:.2} GB/s per core", cost.bytes_per_s / 1e9)));
            }
        }
        if let Some(per_core) = case.site.clients.per_core_bytes_per_s {
            inputs.push(derived("bytes of the node's own client", factor(passes.requested)));
            let value = format!("{} per core", rate(per_core));
            inputs.push(stated(case.site, "a client's own work", value, key::CLIENTS_PER_CORE.to_owned()));
        }
    }
    inputs.extend(way_in(case.site));
    inputs.push(derived("core time per client byte", format!("{:.3} ns", limit.demand)));
    Wording {
        formula: "nodes × cores / (bytes of each kind of work / bytes per second of a core, summed)".to_owned(),
        inputs,
        source: "published figures per core, within a factor of two; nothing per request, nothing of the engine's own \
                 code: an upper limit (docs/method/ceilings.md, \"Processors\")",
    }
}
