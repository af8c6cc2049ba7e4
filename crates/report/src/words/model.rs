//! How sites, plans and explanations read.

use linerate_record::explanation::{Hypothesis, Observations, Quantity, Residual, Separator};
use linerate_record::plan::{
    Ceiling, Curve, CurvePoint, Input, LayoutPlan, Plan, Resource, ScalePoint, Spread, Tolerance, Work,
};
use linerate_record::site::{Clients, Entry, NodeGroup, Plane, Product, Protection, Site, TrafficPolicy};
use linerate_record::units::{Bytes, bits_per_s, bytes_iec, bytes_per_s_iec, bytes_si, count, duration_ns};
use serde_json::{Value, json};

use super::{ABSENT, change, decimal, grouped, percent, plural};

/// A resource, as the first words of a row.
pub(crate) const fn resource(resource: Resource) -> &'static str {
    match resource {
        Resource::PublicIngress => "public link, receiving",
        Resource::PublicEgress => "public link, sending",
        Resource::PrivateIngress => "private link, receiving",
        Resource::PrivateEgress => "private link, sending",
        Resource::RackUp => "rack uplinks, to the spines",
        Resource::RackDown => "rack uplinks, from the spines",
        Resource::ClientIngress => "clients' links, receiving",
        Resource::ClientEgress => "clients' links, sending",
        Resource::EntryNode => "the one entry node",
        Resource::DriveBandwidth => "drives, bandwidth",
        Resource::DriveOperations => "drives, operations",
        Resource::PcieNic => "PCIe of the NICs",
        Resource::PcieDrives => "PCIe of the drives",
        Resource::PcieSocket => "PCIe of a socket",
        Resource::Memory => "memory bandwidth",
        Resource::Cpu => "processors",
    }
}

/// Whether a resource is a link, which is sold in bits.
const fn is_link(resource: Resource) -> bool {
    matches!(
        resource,
        Resource::PublicIngress
            | Resource::PublicEgress
            | Resource::PrivateIngress
            | Resource::PrivateEgress
            | Resource::RackUp
            | Resource::RackDown
            | Resource::ClientIngress
            | Resource::ClientEgress
            | Resource::EntryNode
    )
}

/// A ceiling's resource, with the group where there is more than one.
pub(crate) fn ceiling(ceiling: &Ceiling, site: &Site) -> String {
    of_group(ceiling.resource, ceiling.group.as_deref(), site)
}

fn of_group(of: Resource, group: Option<&str>, site: &Site) -> String {
    match group {
        Some(group) if site.groups.len() > 1 => format!("{} ({group})", resource(of)),
        _ => resource(of).to_owned(),
    }
}

/// What one node, or one link, has of a resource: `24.8 Gb/s`, `120 k op/s`, `64 cores`.
pub(crate) fn capacity(ceiling: &Ceiling) -> String {
    match ceiling.unit.as_str() {
        "ns/s" => format!("{} cores", count(ceiling.capacity / 1e9)),
        "B/s" if is_link(ceiling.resource) => bits_per_s(8.0 * ceiling.capacity),
        "B/s" => bytes_per_s_iec(ceiling.capacity),
        unit => format!("{} {unit}", count(ceiling.capacity)),
    }
}

/// Whether a ceiling rests on a value that nobody stated.
pub(crate) fn rests_on_assumed(ceiling: &Ceiling) -> bool {
    ceiling.inputs.iter().any(|input| input.assumed)
}

/// The inputs of a ceiling that nobody stated: `drive read 6.00 GB/s, drives 8`.
pub(crate) fn assumed_inputs(ceiling: &Ceiling) -> String {
    let assumed = ceiling.inputs.iter().filter(|input| input.assumed);
    assumed.map(|input| format!("{} {}", input.name, input.value)).collect::<Vec<_>>().join(", ")
}

/// `GET 64 MiB`, or `70 % GET, 30 % PUT 64 MiB`.
pub(crate) fn work(work: &Work) -> String {
    let size = Bytes(work.object_bytes);
    let read = work.read_share;
    if read >= 1.0 {
        format!("GET {size}")
    } else if read <= 0.0 {
        format!("PUT {size}")
    } else {
        format!("{} GET, {} PUT {size}", percent(read), percent(1.0 - read))
    }
}

/// The same where the size is known: `GET`, `70 % GET`.
pub(crate) fn work_alone(work: &Work) -> String {
    match work.read_share {
        read if read >= 1.0 => "GET".to_owned(),
        read if read <= 0.0 => "PUT".to_owned(),
        read => format!("{} GET", percent(read)),
    }
}

/// Client work in both units that people use for it: `152 GiB/s (1.31 Tb/s)`.
pub(crate) fn rate(bytes_per_s: f64) -> String {
    format!("{} ({})", bytes_per_s_iec(bytes_per_s), bits_per_s(8.0 * bytes_per_s))
}

/// Capacity in both units that people use for it: `2.50 PiB (2.81 PB)`.
pub(crate) fn capacity_bytes(bytes: u64) -> String {
    format!("{} ({})", bytes_iec(bytes as f64), bytes_si(bytes as f64))
}

/// What is moved per client byte or request: `1.98 B/B`, `3.20 op`, `0.42 ns/B`.
pub(crate) fn moved(ceiling: &Ceiling) -> String {
    let demand = decimal(ceiling.demand);
    match ceiling.unit.as_str() {
        "B/s" => format!("{demand} B/B"),
        "ns/s" => format!("{demand} ns/B"),
        "op/s" => format!("{demand} op"),
        _ => demand,
    }
}

/// The knee, and what it takes: `90 % of it takes 495 requests in flight, 12.4 ms each (71 on each of 7 clients)`.
pub(crate) fn curve(curve: &Curve, site: &Site) -> String {
    let CurvePoint { in_flight, share, latency_ns, .. } = curve.knee;
    let mut told = format!(
        "{} of it takes {} in flight, {} each",
        percent(share),
        plural(in_flight, "request"),
        duration_ns(latency_ns)
    );
    if let Some(own) = &curve.clients {
        let (clients, each) = (u64::from(site.clients.count), u64::from(site.clients.connections));
        told.push_str(&format!(
            ", {} on each of {}; the site's {} × {} = {} give {}",
            grouped(in_flight.div_ceil(clients)),
            plural(clients, "client"),
            grouped(clients),
            grouped(each),
            grouped(own.in_flight),
            percent(own.share)
        ));
    }
    told
}

/// What a curve rests on.
pub(crate) fn curve_rests_on(curve: &Curve) -> String {
    format!(
        "one request alone takes {}, longest at: {}; cv² {}, {}",
        duration_ns(curve.alone_ns),
        resource(curve.alone_by),
        decimal(curve.variability),
        plural(u64::from(curve.stations), "station")
    )
}

/// Why a ceiling is where it is, in figures of one node or link.
pub(crate) fn demand(ceiling: &Ceiling) -> String {
    let demand = decimal(ceiling.demand);
    let moved = match ceiling.unit.as_str() {
        "B/s" => format!("moves {demand} bytes per client byte"),
        "ns/s" => format!("takes {demand} ns per client byte"),
        _ => format!("does {demand} operations per client request"),
    };
    format!("each has {} and {moved}", capacity(ceiling))
}

/// Where an input comes from: the path in the site, and why where nobody stated it.
pub(crate) fn origin(input: &Input, site: &Site) -> String {
    let path = input.path.as_deref().unwrap_or_default();
    // The reason may stand at a value within what the path names.
    let below = |key: &str| key.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    match (input.assumed, path) {
        (false, _) => path.to_owned(),
        (true, "") => "an estimate of the model".to_owned(),
        (true, _) => {
            let reason = site.assumed.iter().find(|(key, _)| below(key)).map(|(_, reason)| reason.as_str());
            format!("{path}, assumed: {}", reason.unwrap_or("not stated"))
        }
    }
}

/// What flows get of a bond or of several paths.
pub(crate) fn spread(spread: &Spread, site: &Site) -> String {
    let link = of_group(spread.resource, spread.group.as_deref(), site);
    let fill = match spread.flows_to_fill {
        Some(flows) => format!("95 % from {} on", plural(u64::from(flows), "flow")),
        None => "no number of flows fills them".to_owned(),
    };
    let (low, high) = (percent(spread.share_p5), percent(spread.share_p95));
    let range = if low == high { String::new() } else { format!(" (5th to 95th percentile {low} to {high})") };
    format!(
        "{link}: {} on {} get {} of their sum{range}; {fill}: {}",
        plural(u64::from(spread.flows), "flow"),
        plural(u64::from(spread.members), "member"),
        percent(spread.share_p50),
        spread.why
    )
}

/// `10 + 4: 32 sets of 14 drives`.
pub(crate) fn layout(layout: &LayoutPlan, protection: Protection) -> String {
    match protection {
        Protection::Replicas { copies: 1 } => "1 whole copy".to_owned(),
        Protection::Replicas { copies } => format!("{copies} whole copies"),
        Protection::Erasure { .. } => {
            format!("{} + {}, placed anew for each object", layout.data_shards, layout.parity_shards)
        }
        Protection::Sets { .. } => format!(
            "{} + {}: {} of {}",
            layout.data_shards,
            layout.parity_shards,
            plural(u64::from(layout.sets), "set"),
            plural(u64::from(layout.set_drives), "drive")
        ),
    }
}

/// What a layout leaves of the drives, and for how long.
pub(crate) fn usable(layout: &LayoutPlan) -> String {
    let share = if layout.raw_bytes > 0 { layout.usable_bytes as f64 / layout.raw_bytes as f64 } else { 0.0 };
    let years = match layout.years_to_full {
        Some(years) if years <= 0.0 => "; what is stored does not fit".to_owned(),
        Some(years) => format!("; full in {years:.1} years"),
        None => String::new(),
    };
    let (usable, raw) = (capacity_bytes(layout.usable_bytes), bytes_iec(layout.raw_bytes as f64));
    format!("{usable} usable, {} of {raw}{years}", percent(share))
}

/// `any 4 drives, 1 node, no rack`.
pub(crate) fn tolerance(tolerance: &Tolerance) -> String {
    let told = |n: u32, noun: &str| if n == 0 { format!("no {noun}") } else { plural(u64::from(n), noun) };
    format!(
        "any {}, {}, {}",
        told(tolerance.drives, "drive"),
        told(tolerance.nodes, "node"),
        told(tolerance.racks, "rack")
    )
}

/// The layout at a number of nodes: `14 (4)`.
pub(crate) fn set(point: &ScalePoint) -> String {
    format!("{} ({})", point.set_drives, point.parity_shards)
}

/// The rows of the scaling table: the ends, powers of two and the bends, as many as a reader takes in. All stand in
/// JSON.
pub(crate) fn scale_rows(plan: &Plan) -> Vec<(&ScalePoint, Vec<&str>)> {
    const ROWS_MAX: usize = 20;
    let Some(scaling) = &plan.scaling else { return Vec::new() };
    let ends = [scaling.points.first(), scaling.points.last()].map(|p| p.map(|p| p.nodes));
    let firm =
        |p: &ScalePoint| ends.contains(&Some(p.nodes)) || p.nodes.is_power_of_two() && !p.limits_bytes_per_s.is_empty();
    let mut room = ROWS_MAX.saturating_sub(scaling.points.iter().filter(|p| firm(p)).count());
    let mut rows = Vec::new();
    for point in &scaling.points {
        let bends = scaling.bends.iter().filter(|b| b.nodes == point.nodes);
        let bends: Vec<&str> = bends.map(|b| b.why.as_str()).collect();
        let bend = !firm(point) && !bends.is_empty() && room > 0;
        room -= usize::from(bend);
        if bend || firm(point) {
            rows.push((point, bends));
        }
    }
    rows
}

/// Nodes of a group: `storage: 56 nodes in 7 racks, each with 8 × 15.4 TB, 2 × 25.0 Gb/s`.
pub(crate) fn group(group: &NodeGroup) -> String {
    let mut each: Vec<String> =
        group.drives.iter().map(|d| format!("{} × {}", d.count, bytes_si(d.capacity_bytes as f64))).collect();
    each.extend(
        group.nics.iter().map(|nic| format!("{} {} × {}", nic.name, nic.ports, bits_per_s(nic.speed_bits_per_s))),
    );
    let (nodes, racks) = (plural(u64::from(group.count), "node"), plural(u64::from(group.racks), "rack"));
    format!("{}: {nodes} in {racks}, each with {}", group.name, each.join(", "))
}

/// A plane: `bond0 (802.3ad, layer2), MTU 1500, vxlan`.
pub(crate) fn plane(plane: &Plane, site: &Site) -> String {
    let bond = site.groups.iter().flat_map(|g| &g.bonds).find(|bond| bond.name == plane.link);
    let bond = bond.map_or_else(String::new, |bond| {
        format!(" ({}, {})", called(&json!(bond.mode)), called(&json!(bond.transmit_hash)))
    });
    let around = match called(&json!(plane.encapsulation)).as_str() {
        "none" => String::new(),
        encapsulation => format!(", {encapsulation}"),
    };
    format!("{}{bond}, MTU {}{around}", plane.link, plane.mtu_bytes)
}

/// All planes of a site.
pub(crate) fn planes(site: &Site) -> String {
    match &site.planes.private {
        Some(private) => format!("public {}; private {}", plane(&site.planes.public, site), plane(private, site)),
        None => format!("one for all traffic, {}", plane(&site.planes.public, site)),
    }
}

/// What serves, and how one reaches it: `MinIO, TLS; clients spread over all nodes`.
pub(crate) fn engine(site: &Site) -> String {
    let product = match site.engine.product {
        Product::Minio => "MinIO",
        Product::Rustfs => "RustFS",
        Product::CephRgw => "Ceph RGW",
        Product::Garage => "Garage",
    };
    let tls = if site.engine.tls { "TLS" } else { "no TLS" };
    let encryption = if site.engine.encryption { ", encrypted at rest" } else { "" };
    format!("{product}, {tls}{encryption}; {}", entry(site.entry))
}

fn entry(entry: Entry) -> String {
    let policy = |policy: TrafficPolicy| match policy {
        TrafficPolicy::Cluster => "policy Cluster",
        TrafficPolicy::Local => "policy Local",
    };
    match entry {
        Entry::ClientSide => "clients spread over all nodes".to_owned(),
        Entry::Bgp { policy: p } => format!("by BGP and ECMP, {}", policy(p)),
        Entry::L2Announcement { dsr, policy: p } => {
            format!("by one node that announces the address{}, {}", if dsr { ", DSR" } else { "" }, policy(p))
        }
        Entry::NodePort { policy: p } => format!("by node ports, {}", policy(p)),
        Entry::ClusterMesh => "by a cluster mesh".to_owned(),
    }
}

/// Who asks; nothing where the site does not say.
pub(crate) fn clients(clients: &Clients) -> String {
    if clients.count == 0 {
        return "not described, never the limit".to_owned();
    }
    let speed = bits_per_s(clients.speed_bits_per_s);
    format!("{} with {} × {speed} each", plural(u64::from(clients.count), "client"), clients.ports)
}

/// What a choice is called in a file.
fn called(value: &Value) -> String {
    value.as_str().unwrap_or(ABSENT).to_owned()
}

/// What was measured: `GET`, `PUT of node3`.
pub(crate) fn quantity(quantity: &Quantity) -> String {
    match quantity {
        Quantity::Get => "GET".to_owned(),
        Quantity::Put => "PUT".to_owned(),
        Quantity::NodeGet { node } => format!("GET of {node}"),
        Quantity::NodePut { node } => format!("PUT of {node}"),
    }
}

/// Whether a figure is of the whole site.
pub(crate) const fn of_site(quantity: &Quantity) -> bool {
    matches!(quantity, Quantity::Get | Quantity::Put)
}

/// The errors that figures are taken to have: `± 2 %`.
pub(crate) fn measuring_error(observations: &Observations) -> String {
    let own = observations.figures.iter().any(|figure| figure.error_share.is_some());
    format!("± {}{}", percent(observations.error_share), if own { " where none is stated" } else { "" })
}

/// What a hypothesis says, in one sentence.
pub(crate) fn hypothesis(hypothesis: &Hypothesis) -> String {
    if hypothesis.deviations.is_empty() {
        return "the site is as described".to_owned();
    }
    hypothesis.deviations.iter().map(|d| d.claim.as_str()).collect::<Vec<_>>().join(", and ")
}

/// What is left beside the hypotheses.
pub(crate) const NONE_OF_THESE: &str = "none of these: a cause that the model does not know";

/// How far the answer goes: what remains of what was looked at.
pub(crate) fn outcome(survivors: &[Hypothesis], considered: u32) -> String {
    let looked_at = grouped(u64::from(considered));
    match survivors.len() {
        0 => format!("none of {looked_at} hypotheses fits what was observed"),
        1 => format!("one of {looked_at} hypotheses fits what was observed"),
        n => format!("{n} of {looked_at} hypotheses fit what was observed; these figures alone do not tell them apart"),
    }
}

/// What a hypothesis says of one figure: `GET: 153 GiB/s predicted, 152 GiB/s measured, −0.9 %; binds …`.
pub(crate) fn residual(residual: &Residual) -> String {
    format!(
        "{}: {} predicted, {} measured, {}; {} would bind",
        quantity(&residual.what),
        bytes_per_s_iec(residual.predicted_bytes_per_s),
        bytes_per_s_iec(residual.observed_bytes_per_s),
        change(residual.residual_share),
        residual.binds
    )
}

/// Survivors that predict the same of everything that was observed, as places in their list: the weightiest first,
/// which stands for the others.
pub(crate) fn kinds(survivors: &[Hypothesis]) -> Vec<Vec<usize>> {
    let mut kinds: Vec<Vec<usize>> = Vec::new();
    for (place, hypothesis) in survivors.iter().enumerate() {
        let alike = |kind: &&mut Vec<usize>| {
            let first = &survivors[kind[0]];
            first.indistinguishable.contains(&hypothesis.id) || hypothesis.indistinguishable.contains(&first.id)
        };
        match kinds.iter_mut().find(alike) {
            Some(kind) => kind.push(place),
            None => kinds.push(vec![place]),
        }
    }
    kinds
}

/// The others of a kind: how many, their weight with that of the first, and what some of them say.
pub(crate) fn alike(kind: &[usize], survivors: &[Hypothesis]) -> String {
    const TOLD: usize = 3;
    let Some(others) = kind.get(1..).filter(|others| !others.is_empty()) else { return String::new() };
    let weight: f64 = kind.iter().map(|&place| survivors[place].weight).sum();
    let told: Vec<String> =
        others.iter().take(TOLD).map(|&place| format!("({}) {}", place + 1, hypothesis(&survivors[place]))).collect();
    let more = others.len().saturating_sub(TOLD);
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    format!("together {}, told apart by no figure here: {}{more}", percent(weight), told.join("; "))
}

/// What each hypothesis expects, those together that expect the same: `1 or 3` to the expectation.
pub(crate) fn expectations(separator: &Separator, survivors: &[Hypothesis]) -> Vec<(String, String)> {
    let mut told: Vec<(Vec<String>, &str)> = Vec::new();
    for (id, expectation) in &separator.expects {
        let place = survivors.iter().position(|hypothesis| hypothesis.id == *id);
        let name = place.map_or_else(|| id.clone(), |place| (place + 1).to_string());
        match told.iter_mut().find(|(_, known)| known == expectation) {
            Some((names, _)) => names.push(name),
            None => told.push((vec![name], expectation)),
        }
    }
    told.into_iter().map(|(names, expectation)| (names.join(" or "), expectation.to_owned())).collect()
}
