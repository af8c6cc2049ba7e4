//! How sites, plans and explanations read.

use linerate_record::explanation::{
    DistinguishingReading, Explanation, Hypothesis, Kind, LeftOutFigure, Observations, Observed, Quantity,
};
use linerate_record::plan::{
    Ceiling, Curve, CurvePoint, FailureScope, Goal, Input, LayoutPlan, Plan, PoolLayout, Rebuild, Resource, ScalePoint,
    Sizing, Spread, Tolerance, Work, WorkPlan,
};
use linerate_record::site::{
    Clients, ClientsOn, Entry, NodeGroup, Plane, Product, Protection, Site, Tolerates, TrafficPolicy,
};
use linerate_record::units::{Bytes, Unit, bits_per_s, bytes_iec, bytes_per_s_iec, bytes_si, count, duration_ns};
use serde_json::{Value, json};

use super::hypotheses::marked;
use super::{ABSENT, decimal, grouped, percent, plural};

/// A ceiling's resource, with the group where there is more than one.
pub(crate) fn ceiling(ceiling: &Ceiling, site: &Site) -> String {
    of_group(ceiling.resource, ceiling.group.as_deref().filter(|_| site.groups.len() > 1))
}

/// A resource, with the kind of nodes that it is of where one is named.
pub(crate) fn of_group(of: Resource, group: Option<&str>) -> String {
    group.map_or_else(|| of.name().to_owned(), |group| format!("{} ({group})", of.name()))
}

/// What one node, or one link, has of a resource: `24.8 Gb/s`, `120 k op/s`, `64 cores`.
pub(crate) fn capacity(ceiling: &Ceiling) -> String {
    ceiling.resource.amount(ceiling.capacity)
}

/// Whether a ceiling depends on an assumed value.
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

/// A ceiling, in requests too where objects are small: `246 GiB/s (2.11 Tb/s, 4.03 M requests/s)`.
pub(crate) fn limit(ceiling: &Ceiling) -> String {
    let bytes_per_s = ceiling.limit_bytes_per_s;
    let Some(requests_per_s) = ceiling.limit_requests_per_s else { return rate(bytes_per_s) };
    let (bytes, bits) = (bytes_per_s_iec(bytes_per_s), bits_per_s(8.0 * bytes_per_s));
    format!("{bytes} ({bits}, {} requests/s)", count(requests_per_s))
}

/// The same without bits.
pub(crate) fn limit_in_brief(ceiling: &Ceiling) -> String {
    let requests = ceiling.limit_requests_per_s.map(|per_s| format!(" ({} requests/s)", count(per_s)));
    format!("{}{}", bytes_per_s_iec(ceiling.limit_bytes_per_s), requests.unwrap_or_default())
}

/// How far a ceiling is above the lowest: `+ 5.51 GiB/s`, and of the lowest that it is the bottleneck.
pub(crate) fn headroom(ceiling: &Ceiling, is_lowest: bool) -> String {
    if is_lowest { "bottleneck".to_owned() } else { format!("+ {}", bytes_per_s_iec(ceiling.headroom_bytes_per_s)) }
}

/// Capacity in both units that people use for it: `2.50 PiB (2.81 PB)`.
pub(crate) fn capacity_bytes(bytes: u64) -> String {
    format!("{} ({})", bytes_iec(bytes as f64), bytes_si(bytes as f64))
}

/// The same as people state goals: `1.00 PB`.
pub(crate) fn capacity_si(bytes: u64) -> String {
    bytes_si(bytes as f64)
}

/// What is moved per client byte or request: `1.98 B/B`, `3.20 op`, `0.42 ns/B`.
pub(crate) fn amplification(ceiling: &Ceiling) -> String {
    let demand = decimal(ceiling.demand);
    match ceiling.unit {
        Unit::BytesPerS => format!("{demand} B/B"),
        Unit::CoreNsPerS => format!("{demand} ns/B"),
        Unit::OperationsPerS => format!("{demand} op"),
        _ => demand,
    }
}

/// The knee, and what it takes: `90 % of it takes 495 requests in flight, 12.4 ms each (71 on each of 7 clients)`.
pub(crate) fn curve(curve: &Curve, site: &Site) -> String {
    let CurvePoint { in_flight, share, latency_ns, .. } = curve.knee;
    let mut reported = format!(
        "{} of it takes {} in flight, {} each",
        percent(share),
        plural(in_flight, "request"),
        duration_ns(latency_ns)
    );
    if let Some((own, knee_each)) = curve.clients.as_ref().zip(curve.knee_in_flight_each) {
        let (clients, each) = (u64::from(site.askers()), u64::from(site.clients.connections));
        reported.push_str(&format!(
            ", {} on each of {}; the site's {} × {} = {} give {}",
            grouped(knee_each),
            plural(clients, "client"),
            grouped(clients),
            grouped(each),
            grouped(own.in_flight),
            percent(own.share)
        ));
    }
    reported
}

/// The same in a few words: `90 % at 235 in flight (its clients' 640: 96 %)`.
pub(crate) fn knee(curve: &Curve) -> String {
    let CurvePoint { in_flight, share, .. } = curve.knee;
    let own = curve
        .clients
        .as_ref()
        .map_or_else(String::new, |own| format!(" (its clients' {}: {})", grouped(own.in_flight), percent(own.share)));
    format!("{} at {} in flight{own}", percent(share), grouped(in_flight))
}

/// A goal that the ceiling allows, and the stated requests in flight of the site's clients do not give: `the ceiling
/// allows PUT 300 GiB/s (81 % of it); its clients' 320 in flight would give 85.0 GiB/s: it takes 1050`.
pub(crate) fn too_few_in_flight(of: &WorkPlan, goal: &Goal) -> Option<String> {
    let is_short = goal.within_reach && goal.within_clients_reach == Some(false);
    let own = of.curve.as_ref().and_then(|curve| curve.clients).filter(|_| is_short)?;
    let takes = goal.in_flight.map_or_else(String::new, |in_flight| format!(": it takes {}", grouped(in_flight)));
    Some(format!(
        "the ceiling allows {} {} ({} of it); its clients' {} in flight would give {}{takes}",
        work_alone(&of.work),
        bytes_per_s_iec(goal.bytes_per_s),
        percent(goal.ceiling_share),
        grouped(own.in_flight),
        bytes_per_s_iec(own.bytes_per_s)
    ))
}

/// What a curve rests on.
pub(crate) fn curve_rests_on(curve: &Curve) -> String {
    format!(
        "one request alone takes {}, longest at: {}; cv² {}, {}",
        duration_ns(curve.alone_ns),
        curve.alone_by.name(),
        decimal(curve.variability),
        plural(u64::from(curve.stations), "station")
    )
}

/// Why a ceiling is where it is, in figures of one node or link.
pub(crate) fn demand(ceiling: &Ceiling) -> String {
    let demand = decimal(ceiling.demand);
    let amplified = match ceiling.unit {
        Unit::BytesPerS => format!("moves {demand} bytes per client byte"),
        Unit::CoreNsPerS => format!("takes {demand} ns per client byte"),
        _ => format!("does {demand} operations per client request"),
    };
    format!("each has {} and {amplified}", capacity(ceiling))
}

/// Where an input comes from: the path in the site, and why where nobody stated it.
pub(crate) fn origin(input: &Input, site: &Site) -> String {
    let path = input.path.as_deref().unwrap_or_default();
    // The reason may stand at a value within what the path names.
    let below = |key: &str| key.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    match (input.assumed, path) {
        (false, _) => path.to_owned(),
        (true, "") => "an estimate of the model".to_owned(),
        (true, _) if !site.is_assumed(path) => format!("{path}, assumed to hold for this too"),
        (true, _) => {
            let reason = site.assumed.iter().find(|(key, _)| below(key)).map(|(_, reason)| reason.as_str());
            format!("{path}, assumed: {}", reason.unwrap_or("not stated"))
        }
    }
}

/// What flows get of a bond or of several paths.
pub(crate) fn spread(spread: &Spread, site: &Site) -> String {
    let link = of_group(spread.resource, spread.group.as_deref().filter(|_| site.groups.len() > 1));
    spread_in_words(&link, spread)
}

/// The same, of a link by its name.
pub(crate) fn spread_in_words(link: &str, spread: &Spread) -> String {
    let fill = match spread.flows_to_fill {
        Some(flows) => format!("95 % from {} on", plural(u64::from(flows), "flow")),
        None => "no number of flows fills them".to_owned(),
    };
    let (low, high) = (percent(spread.share_p5), percent(spread.share_p95));
    let counted = spread.counted_members.map_or(String::new(), |counted| {
        format!("; ceilings count {counted} of {}", plural(u64::from(spread.members), "member"))
    });
    let range = if low == high { String::new() } else { format!(" (5th to 95th percentile {low} to {high})") };
    format!(
        "{link}: {} on {} get {} of their sum{range}; {fill}: {}{counted}",
        plural(u64::from(spread.flows), "flow"),
        plural(u64::from(spread.members), "member"),
        percent(spread.share_p50),
        spread.why
    )
}

/// `10 + 4: 32 sets of 14 drives`; of pools that are laid out differently each: `12 + 4: 16 sets of 16 drives (large);
/// 4 + 4: 1 set of 8 drives (small)`.
pub(crate) fn layout(layout: &LayoutPlan, protection: Protection) -> String {
    let name = |data, parity| protection.layout_name(data, parity);
    let own = name(layout.data_shards, layout.parity_shards);
    let sets = |name: &str, sets: u32, drives: u32| {
        format!("{name}: {} of {}", plural(u64::from(sets), "set"), plural(u64::from(drives), "drive"))
    };
    let cut = |pool: &PoolLayout| (pool.set_drives, pool.data_shards);
    match protection {
        Protection::Replicas { .. } => own,
        Protection::Erasure { .. } => format!("{own}, placed anew for each object"),
        Protection::Sets { .. } if layout.pools.windows(2).any(|pair| cut(&pair[0]) != cut(&pair[1])) => {
            let reported = |pool: &PoolLayout| {
                let name = name(pool.data_shards, pool.parity_shards);
                format!("{} ({})", sets(&name, pool.sets, pool.set_drives), pool.groups.join(", "))
            };
            layout.pools.iter().map(reported).collect::<Vec<String>>().join("; ")
        }
        Protection::Sets { .. } => sets(&own, layout.sets, layout.set_drives),
    }
}

/// What a layout leaves of the drives, and for how long.
pub(crate) fn usable(layout: &LayoutPlan) -> String {
    let (usable, raw) = (capacity_bytes(layout.usable_bytes), bytes_iec(layout.raw_bytes as f64));
    let full = full_in(layout).map_or(String::new(), |full| format!("; {full}"));
    format!("{usable} usable, {} of {raw}{full}", percent(layout.usable_share))
}

/// For how long what is usable lasts, where the site says how much is stored.
pub(crate) fn full_in(layout: &LayoutPlan) -> Option<String> {
    let years = layout.years_to_full?;
    Some(if years <= 0.0 { "the stored data does not fit".to_owned() } else { format!("full in {years:.1} years") })
}

/// `any 4 drives, 1 node, no rack`.
pub(crate) fn tolerance(tolerance: &Tolerance) -> String {
    let reported = |n: u32, noun: &str| if n == 0 { format!("no {noun}") } else { plural(u64::from(n), noun) };
    if (tolerance.drives, tolerance.nodes, tolerance.racks) == (0, 0, 0) {
        return "no drive".to_owned();
    }
    format!(
        "any {}, {}, {}",
        reported(tolerance.drives, "drive"),
        reported(tolerance.nodes, "node"),
        reported(tolerance.racks, "rack")
    )
}

/// What is left without a node: `290 GiB/s (2.49 Tb/s) with one node down, 212 GiB/s (…) while it is restored`.
pub(crate) fn degraded(degraded: f64, rebuilding: Option<f64>) -> String {
    let rebuilding = rebuilding.map_or(String::new(), |left| format!(", {} while it is restored", rate(left)));
    format!("{} with one node down{rebuilding}", rate(degraded))
}

/// What restoring takes: `a node: 184 TB in 21.1 h or more, 3.5 d at 25 % of the private link, receiving`.
pub(crate) fn rebuild(rebuild: &Rebuild) -> String {
    let what = match rebuild.lost {
        FailureScope::Drive => "a drive",
        FailureScope::Node => "a node",
    };
    format!(
        "{what}: {}{} restored in {} or more, {} at {}{} of: {}",
        bytes_si(rebuild.restored_bytes),
        if rebuild.taken_full { " (full)" } else { "" },
        long(rebuild.alone_s),
        long(rebuild.shared_s),
        percent(rebuild.share),
        if rebuild.share_assumed { " (assumed)" } else { "" },
        rebuild.bottleneck.name()
    )
}

/// The same with why.
pub(crate) fn rebuild_at_length(rebuild: &Rebuild) -> String {
    format!(
        "{}; {} alone, {} bytes read per byte; {}; by {}",
        self::rebuild(rebuild),
        bytes_per_s_iec(rebuild.alone_bytes_per_s),
        decimal(rebuild.read_bytes_per_byte),
        rebuild.why,
        rebuild.source
    )
}

/// Seconds that may be days: `42.0 min`, `21.1 h`, `3.5 d`.
fn long(seconds: f64) -> String {
    match seconds {
        s if s < 60.0 => format!("{s:.0} s"),
        s if s < 3_600.0 => format!("{:.1} min", s / 60.0),
        s if s < 48.0 * 3_600.0 => format!("{:.1} h", s / 3_600.0),
        s => format!("{:.1} d", s / 86_400.0),
    }
}

/// What a size tolerates, and what would do if nothing had to be tolerated.
pub(crate) fn tolerated(sizing: &Sizing, protection: Protection) -> Option<String> {
    let keeps = losses(sizing.tolerates.as_ref()?);
    let instead = sizing.intolerant.as_ref().map_or(String::new(), |other| {
        format!(
            "; without that, {} of {} are enough, which tolerate {}",
            plural(u64::from(other.nodes), "node"),
            protection.layout_name(other.data_shards, other.parity_shards),
            losses(&other.tolerates)
        )
    });
    Some(format!("{keeps}{instead}"))
}

/// Drives whose loss costs no data, and nodes without which service goes on: `any 2 drives without loss of data, any 1
/// node without a stop`.
fn losses(tolerated: &Tolerates) -> String {
    let reported = |n: u32, noun: &str| match n {
        0 => format!("no {noun}"),
        n => format!("any {}", plural(u64::from(n), noun)),
    };
    format!(
        "{} without loss of data, {} without a stop",
        reported(tolerated.drives, "drive"),
        reported(tolerated.nodes, "node")
    )
}

/// The layout at a number of nodes: `14 (4)`.
pub(crate) fn set(point: &ScalePoint) -> String {
    format!("{} ({})", point.set_drives, point.parity_shards)
}

/// Rows of the scaling table that a reader takes in.
pub(crate) const SCALE_ROWS: usize = 20;

/// The rows of the scaling table: the ends, powers of two and the first bends, and of all other numbers of nodes that
/// the engine starts on as many as have room, evenly over the range. All stand in JSON.
pub(crate) fn scale_rows(plan: &Plan, rows_max: usize) -> Vec<(&ScalePoint, Vec<&str>)> {
    let Some(scaling) = &plan.scaling else { return Vec::new() };
    let ends = [scaling.points.first(), scaling.points.last()].map(|p| p.map(|p| p.nodes));
    let firm = |p: &&ScalePoint| ends.contains(&Some(p.nodes)) || p.nodes.is_power_of_two() && starts(p);
    let (firm, others): (Vec<&ScalePoint>, Vec<&ScalePoint>) = scaling.points.iter().partition(firm);
    let bends = |nodes: u32| scaling.bends.iter().filter(move |b| b.nodes == nodes).map(|b| b.why.as_str());
    let (bent, others): (Vec<&ScalePoint>, Vec<&ScalePoint>) =
        others.into_iter().partition(|p| bends(p.nodes).next().is_some());
    let others: Vec<&ScalePoint> = others.into_iter().filter(|p| starts(p)).collect();
    let bent = bent.into_iter().take(rows_max.saturating_sub(firm.len()));
    let mut rows: Vec<&ScalePoint> = firm.iter().copied().chain(bent).collect();
    let room = rows_max.saturating_sub(rows.len()).min(others.len());
    rows.extend((0..room).map(|place| others[place * others.len() / room]));
    rows.sort_by_key(|p| p.nodes);
    rows.into_iter().map(|p| (p, bends(p.nodes).collect())).collect()
}

/// Whether the engine starts on so many nodes.
pub(crate) fn starts(point: &ScalePoint) -> bool {
    !point.limits_bytes_per_s.is_empty()
}

/// What stands in place of figures where it does not.
pub(crate) fn unfit(protection: Protection) -> &'static str {
    match protection {
        Protection::Sets { set_drives: None, .. } => "no layout fits",
        _ => "this layout does not fit",
    }
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
        Product::CephRgw => "Ceph RGW (S3 only: librados and RBD are not modelled)",
        Product::Garage => "Garage",
    };
    let tls = if site.engine.tls { "TLS" } else { "no TLS" };
    let encryption = if site.engine.encryption { ", encrypted at rest" } else { "" };
    let on_nodes = if site.has_clients_on_nodes() { "clients on the nodes: " } else { "" };
    format!("{product}, {tls}{encryption}; {on_nodes}{}", entry(site))
}

fn entry(site: &Site) -> String {
    let policy = |policy: TrafficPolicy| match policy {
        TrafficPolicy::Cluster => "policy Cluster",
        TrafficPolicy::Local => "policy Local",
    };
    match site.entry {
        Entry::ClientSide if site.has_clients_on_nodes() => "each spreads over all".to_owned(),
        Entry::ClientSide => "clients spread over all nodes".to_owned(),
        Entry::Bgp { policy: p } => format!("by BGP and ECMP, {}", policy(p)),
        Entry::L2Announcement { dsr, policy: p } => {
            format!("one entry node{}, {}", if dsr { ", DSR" } else { "" }, policy(p))
        }
        Entry::NodePort { policy: p } => format!("by node ports, {}", policy(p)),
        Entry::ClusterMesh => "by a cluster mesh".to_owned(),
        Entry::Local => "each asks its own".to_owned(),
    }
}

/// Who asks; nothing where the site does not say.
pub(crate) fn clients(clients: &Clients) -> String {
    if clients.on == ClientsOn::Nodes {
        return "one on each storage node, with the node's links, memory and processors".to_owned();
    }
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

/// What a figure has of an error or a width of its own: ` ± 5 %`, or nothing.
pub(crate) fn own_error(share: Option<f64>) -> String {
    share.map_or_else(String::new, |share| format!(" ± {}", percent(share)))
}

/// A figure as it was measured: `GET 152 GiB/s ± 5 % with 16 in flight`.
pub(crate) fn observed(figure: &Observed) -> String {
    let own = own_error(figure.error_share);
    let flight = figure.in_flight.map_or_else(String::new, |n| format!(" with {} in flight", grouped(n)));
    format!("{} {}{own}{flight}", quantity(&figure.what), rate(figure.bytes_per_s))
}

/// A figure of a run that is not used, and why: `PUT 4 MiB, 12.3 MiB/s ± 80 %: it is known to no better than …`.
pub(crate) fn left_out(figure: &LeftOutFigure) -> String {
    let width = own_error(figure.half_width_share);
    let rate = figure.bytes_per_s.map_or_else(String::new, |rate| format!(", {}{width}", bytes_per_s_iec(rate)));
    format!("{}{rate}: {}", figure.figure, figure.why)
}

/// Whether a figure is of the whole site.
pub(crate) const fn of_site(quantity: &Quantity) -> bool {
    matches!(quantity, Quantity::Get | Quantity::Put)
}

/// The errors that figures are taken to have: `± 2 %`, where one does not state its own.
pub(crate) fn figures_error(observations: &Observations) -> String {
    let is_own = observations.figures.iter().any(|figure| figure.error_share.is_some());
    format!("± {}{}", percent(observations.error_share), if is_own { " where none is stated" } else { "" })
}

/// The same with the most of the curve where some are held against it.
pub(crate) fn measuring_error(explanation: &Explanation) -> String {
    let Explanation { observations, curve_error_share, .. } = explanation;
    let measured = figures_error(observations);
    let Some(curve) = *curve_error_share else { return measured };
    let curve = percent(curve);
    format!("{measured}, and up to ± {curve} of the curve over requests in flight, less near to its ceiling")
}

/// What is left beside the hypotheses.
pub(crate) const NONE_OF_THESE: &str = "none of these: a cause that the model does not know";

/// What a weight is, and is not.
pub(crate) const WEIGHTS: &str = "weights compare these hypotheses, by how well they fit and by what each costs \
                                  beforehand; they are not probabilities that a cause is real";

/// Others of a kind that are named; the rest are counted.
pub(crate) const ALIKE_SHOWN: usize = 3;

/// The others of a kind: how many, their weight with that of the first, and what some of them say.
pub(crate) fn alike(kind: &Kind, survivors: &[Hypothesis]) -> String {
    let Some(others) = kind.survivors.get(1..).filter(|others| !others.is_empty()) else { return String::new() };
    let reported: Vec<String> = others
        .iter()
        .take(ALIKE_SHOWN)
        .map(|&place| format!("({}) {}", place + 1, marked(&survivors[place])))
        .collect();
    let more = others.len().saturating_sub(ALIKE_SHOWN);
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    format!("together {}, which no figure here tells apart: {}{more}", percent(kind.weight), reported.join("; "))
}

/// What each hypothesis expects, those together that expect the same: `1 or 3` to the expectation. Those that are not
/// shown beside it by their number are counted.
pub(crate) fn expectations(
    separator: &DistinguishingReading,
    survivors: &[Hypothesis],
    is_shown: impl Fn(usize) -> bool,
) -> Vec<(String, String)> {
    let mut reported: Vec<(Vec<String>, u64, &str)> = Vec::new();
    for (id, expectation) in &separator.expects {
        let place = survivors.iter().position(|hypothesis| hypothesis.id == *id);
        let name = place.filter(|place| is_shown(*place)).map(|place| (place + 1).to_string());
        let known = reported.iter().position(|(.., known)| known == expectation);
        let at = known.unwrap_or_else(|| {
            reported.push((Vec::new(), 0, expectation));
            reported.len() - 1
        });
        match name {
            Some(name) => reported[at].0.push(name),
            None => reported[at].1 += 1,
        }
    }
    let named = |(mut names, hidden, expectation): (Vec<String>, u64, &str)| {
        match (names.len(), hidden) {
            (_, 0) => {}
            (0, 1) => names.push("one that is not shown here".to_owned()),
            (0, n) => names.push(format!("one of {} that are not shown here", grouped(n))),
            (_, n) => names.push(format!("{} not shown here", plural(n, "other"))),
        }
        (names.join(" or "), expectation.to_owned())
    };
    reported.into_iter().map(named).collect()
}
