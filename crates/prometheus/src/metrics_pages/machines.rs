//! Whose the series of pages are: nodes of a fleet, by the names that they go by.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::readings::{AbsentReading, ReadMeasure, ReadSeries};
use linerate_record::sanitize::named_some;
use linerate_record::site::Product;

use super::series::{PageLooks, PageSeries, rows_for};
use crate::error::PrometheusError;
use crate::gather::rounded;
use crate::name_map::NameMap;
use crate::series_table::{MetricExporter, SeriesNeed};

/// A machine that is known, with what it is called: a host's name, an address, a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownMachine {
    /// As its series are to have it.
    pub name: String,
    pub names: Vec<String>,
}

/// Readings of pages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageReadings {
    pub series: Vec<ReadSeries>,
    /// What no page had.
    pub absent: Vec<AbsentReading>,
    /// What was remarkable, in sentences.
    pub remarks: Vec<String>,
    /// What has to be known first.
    pub warnings: Vec<String>,
}

/// What pages said, as readings of the machines that are known.
#[must_use]
pub fn readings(pages: &[PageLooks], machines: &[KnownMachine], product: Product, names: &NameMap) -> PageReadings {
    let known = by_name(machines);
    let gateways: BTreeMap<&str, &str> =
        pages.iter().flat_map(|page| &page.gateways).map(|(id, host)| (id.as_str(), host.as_str())).collect();
    let first = first_rows(pages);
    // A series that several pages have is one: its most counts. Of a machine, they add up.
    let mut whole: BTreeMap<(ReadMeasure, String, String), Vec<Option<f64>>> = BTreeMap::new();
    let mut unknown_machines = BTreeSet::new();
    for page in pages {
        let all: Vec<PageSeries> = page.series().filter(|one| first.get(&one.of) == Some(&one.row)).collect();
        let reported: BTreeSet<&str> = all.iter().map(|one| one.machine.as_str()).collect();
        for one in &all {
            let by_gateway = gateways.get(one.gateway.as_str()).copied();
            let machine = machine_for(page, by_gateway.unwrap_or(&one.machine), reported.len() == 1, &known);
            if !machines.iter().any(|known| known.name == machine) {
                unknown_machines.insert(machine.clone());
            }
            let kept = whole.entry((one.of, machine, one.labels.clone()));
            let kept = kept.or_insert_with(|| vec![None; one.values.len()]);
            for (cell, value) in kept.iter_mut().zip(&one.values) {
                *cell = cell.map_or(*value, |before| Some(value.map_or(before, |value| before.max(value))));
            }
        }
    }
    let mut found = PageReadings { series: summed(whole), ..PageReadings::default() };
    found.absent = absent(&found.series, product, names);
    found.remarks = remarks(pages);
    found.warnings = warnings(pages);
    if !unknown_machines.is_empty() {
        let all = named_some(unknown_machines.iter().map(String::as_str));
        found.warnings.push(format!(
            "engine metrics count for nothing: the fleet has no node of the name, address or host's name {all}"
        ));
    }
    found
}

/// Of each reading, the first row that has series.
fn first_rows(pages: &[PageLooks]) -> BTreeMap<ReadMeasure, usize> {
    let mut first: BTreeMap<ReadMeasure, usize> = BTreeMap::new();
    for one in pages.iter().flat_map(PageLooks::series).filter(|one| one.values.iter().any(Option::is_some)) {
        let row = first.entry(one.of).or_insert(one.row);
        *row = one.row.min(*row);
    }
    first
}

/// Machines by all their names; a name of several is none's.
fn by_name(machines: &[KnownMachine]) -> BTreeMap<String, &str> {
    let mut all: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for machine in machines {
        for name in machine.names.iter().chain([&machine.name]).map(|name| canonical(name)) {
            all.entry(short(&name).to_owned()).or_default().insert(&machine.name);
            all.entry(name).or_default().insert(&machine.name);
        }
    }
    // A machine's own name is its own, whatever others say of theirs.
    for machine in machines {
        all.insert(canonical(&machine.name), BTreeSet::from([machine.name.as_str()]));
    }
    let alone = all.into_iter().filter_map(|(name, of)| Some((name, of.first().copied().filter(|_| of.len() == 1)?)));
    alone.collect()
}

/// A name as name services compare it.
fn canonical(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

/// The host's own part of a name, which may have a domain in one place and none in another; an address as it is.
fn short(name: &str) -> &str {
    let host = name.split('.').next().unwrap_or(name);
    if name.parse::<std::net::IpAddr>().is_ok() { name } else { host }
}

/// The machine of a series: that of its label where it is known, else the node that the page was looked for at if the
/// page names no other, else the label or the page's host as they are.
fn machine_for(page: &PageLooks, label: &str, is_alone: bool, known: &BTreeMap<String, &str>) -> String {
    let known_place = |name: &str| {
        let name = canonical(name);
        known.get(&name).or_else(|| known.get(short(&name))).map(|name| (*name).to_owned())
    };
    let by_label = Some(label).filter(|label| !label.is_empty());
    by_label
        .and_then(known_place)
        .or_else(|| page.node.clone().filter(|_| is_alone))
        .or_else(|| by_label.map(str::to_owned))
        .unwrap_or_else(|| known_place(&page.host).unwrap_or_else(|| page.host.clone()))
}

fn summed(whole: BTreeMap<(ReadMeasure, String, String), Vec<Option<f64>>>) -> Vec<ReadSeries> {
    let mut series: Vec<ReadSeries> = Vec::new();
    for ((of, machine, _), values) in whole {
        match series.last_mut().filter(|last| last.of == of && last.machine == machine) {
            Some(last) => {
                for (cell, value) in last.values.iter_mut().zip(values) {
                    let sum = cell.unwrap_or(0.0) + value.unwrap_or(0.0);
                    *cell = (cell.is_some() || value.is_some()).then_some(rounded(sum));
                }
            }
            None => series.push(ReadSeries { of, machine, part: String::new(), values }),
        }
    }
    series
}

fn absent(series: &[ReadSeries], product: Product, names: &NameMap) -> Vec<AbsentReading> {
    let mut absent: Vec<AbsentReading> = Vec::new();
    for (_, row) in rows_for(product).filter(|(_, row)| row.need != SeriesNeed::Rare) {
        let is_there = series.iter().any(|one| one.of == row.of) || absent.iter().any(|one| one.of == row.of);
        if !is_there {
            let (metric, from) = (names.resolve(row.metric).to_owned(), row.exporter.scraped().to_owned());
            absent.push(AbsentReading { of: row.of, metric, from, is_needed: false });
        }
    }
    absent
}

/// Names, of which the first are told.
fn some<'n>(names: impl Iterator<Item = &'n str>) -> String {
    const REPORTED: usize = 3;
    let mut names: Vec<&str> = names.collect();
    let more = names.len().saturating_sub(REPORTED);
    names.truncate(REPORTED);
    if more > 0 { format!("{} and {more} more", names.join(", ")) } else { names.join(", ") }
}

fn remarks(pages: &[PageLooks]) -> Vec<String> {
    let mut remarks = Vec::new();
    let mut said: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for page in pages {
        page.remarks.iter().for_each(|what| said.entry(what).or_default().push(&page.url));
    }
    remarks.extend(said.into_iter().map(|(what, urls)| format!("{}: {what}", some(urls.into_iter()))));
    // What failed now and then, and was read otherwise.
    for page in pages.iter().filter(|page| page.pages > 0) {
        if let Some((count, fault)) = &page.failed {
            remarks.push(format!("{} of {} looks failed: {}", count, count + page.pages, reason(page, fault)));
        }
    }
    remarks
}

/// Pages that gave nothing, by why.
fn warnings(pages: &[PageLooks]) -> Vec<String> {
    let mut by_reason: BTreeMap<&str, (Vec<&PageLooks>, String)> = BTreeMap::new();
    for page in pages {
        let (kind, why) = match &page.failed {
            Some((_, fault)) if page.pages == 0 => ("failed", reason(page, fault)),
            _ if page.pages > 0 && page.with_metrics == 0 => (
                "none",
                format!(
                    "no metric of requests is there: name a page that has, such as /minio/metrics/v3/api/requests, and \
                     read while there is a load ({})",
                    page.url
                ),
            ),
            _ if page.pages > 0 && page.series().next().is_none() => ("once", too_short(page)),
            _ => continue,
        };
        by_reason.entry(kind).or_insert_with(|| (Vec::new(), why)).0.push(page);
    }
    let reported = |(of, why): (Vec<&PageLooks>, String)| {
        let names = some(of.iter().map(|page| page.node.as_deref().unwrap_or(&page.host)));
        format!("engine metrics of {} of {} pages were not read ({names}): {why}", of.len(), pages.len())
    };
    by_reason.into_values().map(reported).collect()
}

fn too_short(page: &PageLooks) -> String {
    let repeats_ms = page.exporters.iter().map(|exporter| exporter.repeats_ms()).max().unwrap_or(0);
    let v2 = page.exporters.contains(&MetricExporter::MinioV2);
    let or = if v2 { ", or name /minio/metrics/v3/api/requests, which is read anew each time" } else { "" };
    match repeats_ms {
        0 => format!("read once in the window: read for longer with --for ({})", page.url),
        _ => format!(
            "what is read is repeated for {} s, and there were no two readings in the window: read for 60s or more \
             with --for{or} ({})",
            repeats_ms / 1_000,
            page.url
        ),
    }
}

/// Why a page was not read, with what to do; its address is last, since a first screen has no room for all.
fn reason(page: &PageLooks, fault: &PrometheusError) -> String {
    let why = match fault {
        PrometheusError::Forbidden { status, why, .. } => format!(
            "answered {status}{why}: give a token with --bearer-file (MinIO's: mc admin prometheus generate), or start \
             the engine with MINIO_PROMETHEUS_AUTH_TYPE=public"
        ),
        PrometheusError::NoSuchPath { why, .. } => format!(
            "answered 404{why}: check the path; MinIO's are /minio/metrics/v3/api/requests and /minio/v2/metrics/node"
        ),
        PrometheusError::Moved { status, location, .. } => {
            format!("answered {status} and points to {location:?}, which is not followed: give that URL")
        }
        PrometheusError::Status { status, why, .. } => format!("answered {status}{why}"),
        PrometheusError::Name { why, .. } => {
            format!("the name is not found ({why}): it is looked up where linerate explain runs")
        }
        PrometheusError::Unreachable { why, .. } => {
            format!("not reached: {why}: it is reached from where linerate explain runs, not from the node")
        }
        PrometheusError::Tls { why, .. } => format!("TLS failed: {why}: give its authority with --ca-file"),
        PrometheusError::Late { limit_s, .. } => format!("timed out after {limit_s} s"),
        PrometheusError::TooLarge { most, .. } => format!("larger than {most}: name a page of one node"),
        PrometheusError::NotHttp { why, .. } => {
            format!("does not answer in HTTP ({why}): check the port, and https:// against http://")
        }
        // It has the address.
        other => return other.to_string(),
    };
    format!("{why} ({})", page.url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::PrometheusAddress;
    use crate::metrics_pages::MetricsTarget;

    #[test]
    fn a_series_is_of_the_node_that_its_label_or_its_page_names() {
        let machine = |name: &str, names: &[&str]| KnownMachine {
            name: name.to_owned(),
            names: names.iter().map(ToString::to_string).collect(),
        };
        let machines =
            [machine("node1", &["10.0.0.1", "box", "minio-0"]), machine("node2", &["10.0.0.2", "box", "s2.example"])];
        let known = by_name(&machines);
        let page = |node: Option<&str>| {
            let address = PrometheusAddress::page("http://10.0.0.2:9000/metrics").unwrap();
            PageLooks::new(&MetricsTarget { address, node: node.map(str::to_owned) })
        };
        for (node, label, is_alone, expected) in [
            (None, "10.0.0.1", true, "node1"),
            (Some("node2"), "NODE1", false, "node1"),
            (Some("node2"), "minio-0.minio-hl.storage.svc", false, "node1"),
            (None, "s2", false, "node2"),
            (None, "S2.example.", false, "node2"),
            (Some("node2"), "pod-7", true, "node2"),
            (Some("node2"), "pod-7", false, "pod-7"),
            (Some("node1"), "", true, "node1"),
            (None, "box", true, "box"),
            (None, "", true, "node2"),
        ] {
            assert_eq!(machine_for(&page(node), label, is_alone, &known), expected, "{node:?} {label}");
        }
    }
}
