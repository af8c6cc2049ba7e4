//! What was asked, of what, on which machine.

use linerate_analysis::view::{RunSummary, Series};
use linerate_record::load::Workload;
use linerate_record::machine::{Machine, MachineNic};
use linerate_record::run::{LoadRequest, MaybeKnown, PointSizes, SeriesSpec, Target};
use linerate_record::units::{bits_per_s, bytes_iec, count, duration_ns};

use super::markup;
use crate::phrases;

/// Hosts named in full; beyond, the rest are counted.
const HOSTS_NAMED_MAX: usize = 24;

/// Clients of one make that are named; beyond, the rest are counted.
const CLIENTS_NAMED_MAX: usize = 8;

/// Three lists of facts.
pub(super) fn facts(run: &RunSummary) -> String {
    format!(
        "<article class=\"card\"><h3>Asked</h3>{}</article>\n<article class=\"card\"><h3>Target</h3>{}</article>\n\
         {}",
        markup::facts(&requested(&run.requested, run.interval_ms)),
        markup::facts(&target(&run.target)),
        machines(run)
    )
}

/// The machine, or that of each of several clients.
fn machines(run: &RunSummary) -> String {
    let card = |head: &str, of: &Machine| {
        let (head, facts) = (markup::escaped(head), markup::facts(&machine(of)));
        format!("<article class=\"card\"><h3>{head}</h3>{facts}</article>\n")
    };
    if run.clients.is_empty() {
        return card("This machine", &run.machine);
    }
    // Clients of one make have one card.
    let mut makes: Vec<(&Machine, Vec<&str>)> = Vec::new();
    for client in &run.clients {
        match makes.iter_mut().find(|(machine, _)| **machine == client.machine) {
            Some((_, names)) => names.push(&client.name),
            None => makes.push((&client.machine, vec![client.name.as_str()])),
        }
    }
    makes.iter().map(|(machine, names)| card(&clients(names), machine)).collect()
}

/// `Client a`, or `Clients a, b, c and 192 more`.
fn clients(names: &[&str]) -> String {
    let shown = names[..names.len().min(CLIENTS_NAMED_MAX)].join(", ");
    match (names.len(), names.len().saturating_sub(CLIENTS_NAMED_MAX)) {
        (1, _) => format!("Client {shown}"),
        (_, 0) => format!("Clients {shown}"),
        (_, more) => format!("Clients {shown} and {more} more"),
    }
}

fn requested(requested: &LoadRequest, interval_ms: u64) -> Vec<(&'static str, String)> {
    let ms = |ms: u64| duration_ns(ms as f64 * 1e6);
    let mut facts = vec![
        ("Points", grid(requested)),
        ("Requests in flight", in_flight(requested)),
        ("Arrivals", requested.arrivals.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("Bounds", requested.slo.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("Each point", each_point(requested)),
        ("Interval", ms(interval_ms)),
        ("Threads", requested.threads.to_string()),
        ("Objects per size", phrases::grouped(requested.objects)),
        ("Bucket", requested.bucket.clone()),
        ("Prefix", requested.prefix.clone()),
        ("Payload", format!("{}, unique {}", requested.payload, requested.unique)),
        ("Bodies compared", yes(requested.verify)),
        ("Hosts taken", requested.host_select.to_string()),
        ("Objects left", yes(requested.noclear)),
        ("Existing objects read", yes(requested.list_existing)),
    ];
    if let Some(range) = requested.range_bytes {
        facts.push(("Range", bytes_iec(range as f64)));
    }
    if !requested.sources.is_empty() {
        facts.push((
            "Connections from",
            requested.sources.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        ));
    }
    if let Some(rate) = &requested.max_rate {
        facts.push(("Rate cap", rate.to_string()));
    }
    if requested.is_imported() {
        // Another tool measured, and wrote down no more than this.
        facts.retain(|(name, _)| {
            matches!(*name, "Points" | "Each point" | "Interval" | "Bucket" | "Hosts taken" | "Rate cap")
        });
    }
    facts.retain(|(_, fact)| !fact.is_empty());
    facts
}

/// `10 s, in rounds of 2 min; warm-up by what visits begin with`.
fn each_point(requested: &LoadRequest) -> String {
    let ms = |ms: u64| duration_ns(ms as f64 * 1e6);
    let in_rounds =
        requested.rounds_ms.map_or_else(String::new, |all_ms| format!(", in rounds of {} in all", ms(all_ms)));
    let time = format!("{}{in_rounds}", ms(requested.duration_ms));
    match requested.warmup_ms {
        Some(warmup_ms) => format!("{time}; after {} of warm-up", ms(warmup_ms)),
        None => format!("{time}; warm-up by what visits begin with"),
    }
}

/// The grid, series by series: `GET 4 MiB × 1, 2, 4; PUT 4 MiB × 1`, or `GET 4 MiB at 100/s, 200/s` of an open loop.
fn grid(requested: &LoadRequest) -> String {
    let names = |series: &[SeriesSpec]| {
        series.iter().map(|s| name(&s.workload, &s.size, s.clients)).collect::<Vec<_>>().join("; ")
    };
    if let Some(search) = &requested.search {
        let each = if search.series.iter().any(|s| s.clients.is_some()) { " from each client" } else { "" };
        return format!("{} × {} to {}{each}, searched", names(&search.series), search.lowest, search.highest);
    }
    if let Some(search) = &requested.rate_search {
        let (lowest, highest) = (count(search.lowest_per_s), count(search.highest_per_s));
        return format!("{} at {lowest}/s to {highest}/s, searched", names(&search.series));
    }
    let mut series: Vec<(String, Vec<String>)> = Vec::new();
    for point in &requested.points {
        let label = name(&point.workload, &point.size, point.clients);
        // The concurrency of an open loop is a bound, not a load.
        let (label, load) = match point.rate_per_s {
            Some(per_s) => (format!("{label} at"), format!("{}/s", count(per_s))),
            None => (format!("{label} ×"), point.concurrency.to_string()),
        };
        match series.iter_mut().find(|(known, _)| *known == label) {
            Some((_, all)) => all.push(load),
            None => series.push((label, vec![load])),
        }
    }
    let reported: Vec<String> = series.iter().map(|(label, all)| format!("{label} {}", all.join(", "))).collect();
    reported.join("; ")
}

/// How many requests of an open loop may be in flight; nothing where their number is the load.
fn in_flight(requested: &LoadRequest) -> String {
    let points = requested.points.iter().filter(|point| point.rate_per_s.is_some()).map(|point| point.concurrency);
    let most = points.chain(requested.rate_search.as_ref().and_then(|search| search.concurrency)).max();
    most.map_or_else(String::new, |most| format!("at most {}", phrases::grouped(most.into())))
}

fn name(workload: &MaybeKnown<Workload>, size: &MaybeKnown<PointSizes>, clients: Option<u32>) -> String {
    phrases::series_name(&Series::empty(workload, size, clients))
}

fn target(target: &Target) -> Vec<(&'static str, String)> {
    let named = target.hosts.iter().take(HOSTS_NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
    let rest = target.hosts.len().saturating_sub(HOSTS_NAMED_MAX);
    let hosts = if rest == 0 { named } else { format!("{named} and {rest} more") };
    vec![
        ("Kind", target.kind.to_string()),
        ("Hosts", if hosts.is_empty() { phrases::ABSENT.to_owned() } else { hosts }),
        ("Server", target.server.as_deref().map_or_else(|| phrases::ABSENT.to_owned(), phrases::server)),
        ("TLS", target.tls.as_ref().map_or_else(|| "no".to_owned(), phrases::tls)),
        ("Lookup", target.lookup.to_string()),
        ("Region", target.region.clone()),
        ("On this machine", yes(target.on_this_machine)),
    ]
}

fn machine(machine: &Machine) -> Vec<(&'static str, String)> {
    if machine.cpus == 0 {
        return vec![("Machine", phrases::NOT_RECORDED.to_owned())];
    }
    let nodes = phrases::plural(u64::from(machine.numa_nodes), "NUMA node");
    let mut facts = vec![
        ("Processor", machine.cpu_model.clone()),
        ("Processors", format!("{} on {nodes}", machine.cpus)),
        ("Memory", bytes_iec(machine.memory_bytes as f64)),
        ("Kernel", machine.kernel.clone()),
        ("Clock source", machine.clocksource.clone()),
        ("Virtual machine", yes(machine.virtualized)),
    ];
    facts.extend(machine.nics.iter().map(|interface| ("Interface", nic(interface))));
    facts
}

fn nic(nic: &MachineNic) -> String {
    let speed = nic.speed_bits_per_s.map_or_else(String::new, |speed| format!(", {}", bits_per_s(speed as f64)));
    let driver = nic.driver.as_ref().map_or_else(String::new, |driver| format!(", {driver}"));
    let node = nic.numa_node.map_or_else(String::new, |node| format!(", NUMA node {node}"));
    format!("{}{speed}, MTU {}{driver}{node}", nic.name, nic.mtu_bytes)
}

fn yes(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_owned()
}
