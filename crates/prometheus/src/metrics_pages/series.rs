//! What one page said over a window: rates of counters, whose resets count, and gauges as they stood.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::readings::ReadMeasure;
use linerate_record::site::Product;

use super::{MetricsTarget, PagesRequest};
use crate::error::PrometheusError;
use crate::exposition::{MetricsPage, PageSample};
use crate::gather::rounded;
use crate::machine_labels::{host_without_port, naming_label};
use crate::series_table::{GATEWAYS, MetricExporter, PageValue, SourceRow, rows};

/// Most series of one page: of 484 servers, twenty each.
const SERIES_MAX: usize = 10_000;

/// Largest value that is one: no engine has served more bytes than that.
const VALUE_MAX: f64 = 1e15;

/// Remarks on one page that are kept.
const REMARKS_MAX: usize = 4;

/// One series of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct PageSeries {
    /// What it is a reading of.
    pub of: ReadMeasure,
    /// Place of its row in the table: of several rows for one reading, the first counts.
    pub row: usize,
    /// The machine that its labels name; empty where none does.
    pub machine: String,
    /// What tells it apart from others of that machine.
    pub labels: String,
    /// The gateway of Ceph that it is of, by its `instance_id`; empty otherwise.
    pub gateway: String,
    /// A value a step.
    pub values: Vec<Option<f64>>,
}

/// What tells series apart: the row, the machine, all labels, and the gateway among them.
type Key = (usize, String, String, String);

/// What looks at one page gave.
#[derive(Clone, Debug, Default)]
pub struct PageLooks {
    pub url: String,
    /// The node that its URL was made for.
    pub node: Option<String>,
    /// Its host, as the URL has it.
    pub host: String,
    /// Looks that gave a page.
    pub pages: u32,
    /// Pages that had a metric that is wanted.
    pub with_metrics: u32,
    /// Exporters whose metrics it had.
    pub exporters: BTreeSet<MetricExporter>,
    /// Looks that failed, and why the last of them did.
    pub failed: Option<(u32, PrometheusError)>,
    /// What was remarkable about its text, once each.
    pub remarks: Vec<String>,
    /// Hosts of gateways, by their `instance_id`.
    pub gateways: BTreeMap<String, String>,
    series: BTreeMap<Key, Vec<Option<f64>>>,
    last: BTreeMap<MetricExporter, LastLook>,
}

/// The last look at what one exporter says.
#[derive(Clone, Debug)]
struct LastLook {
    at_ms: u64,
    /// Whether rates may begin there: a page that is repeated may have been of any time before.
    is_fresh: bool,
    values: BTreeMap<Key, f64>,
}

/// Rows for an engine, with their places.
pub(super) fn rows_for(product: Product) -> impl Iterator<Item = (usize, &'static SourceRow)> {
    rows().enumerate().filter(move |(_, row)| row.page.is_some() && row.exporter.is_for_product(product))
}

/// Whether a metric of a page is one that it was asked for.
pub(super) fn is_wanted(requested: &PagesRequest, name: &str) -> bool {
    let is = |metric: &str| is_called(requested.names.resolve(metric), name);
    rows_for(requested.product).any(|(_, row)| is(row.metric))
        || (requested.product == Product::CephRgw && is(GATEWAYS))
}

/// OpenMetrics calls counters `…_total`.
fn is_called(metric: &str, name: &str) -> bool {
    name == metric || name.strip_suffix("_total") == Some(metric)
}

/// The series of a sample, which the row of this place reads.
fn key(requested: &PagesRequest, place: usize, row: &SourceRow, sample: &PageSample<'_>) -> Key {
    let machine = naming_label(row.machine, |label| sample.label(requested.names.resolve(label)));
    let mut labels: Vec<String> = sample.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    labels.sort();
    let gateway = match row.exporter {
        MetricExporter::Ceph => sample.label(requested.names.resolve("instance_id")).unwrap_or_default(),
        _ => "",
    };
    (place, host_without_port(machine.unwrap_or_default()).to_owned(), labels.join(","), gateway.to_owned())
}

impl PageLooks {
    pub(super) fn new(target: &MetricsTarget) -> PageLooks {
        let (url, host) = (target.address.url(), target.address.host.clone());
        PageLooks { url, node: target.node.clone(), host, ..PageLooks::default() }
    }

    pub fn series(&self) -> impl Iterator<Item = PageSeries> + '_ {
        self.series.iter().filter_map(|((row, machine, labels, gateway), values)| {
            let measure = rows().nth(*row)?.of;
            let (machine, labels, gateway) = (machine.clone(), labels.clone(), gateway.clone());
            Some(PageSeries { of: measure, row: *row, machine, labels, gateway, values: values.clone() })
        })
    }

    pub(super) fn fail(&mut self, fault: &PrometheusError) {
        let count = self.failed.as_ref().map_or(0, |(count, _)| *count);
        self.failed = Some((count + 1, fault.clone()));
    }

    fn remark(&mut self, what: String) {
        if !self.remarks.contains(&what) && self.remarks.len() < REMARKS_MAX {
            self.remarks.push(what);
        }
    }

    /// Takes a page, so long after the begin of the window.
    pub(super) fn take(&mut self, requested: &PagesRequest, page: &MetricsPage<'_>, at_ms: u64) {
        self.pages += 1;
        if let Some((_, first)) = page.unreadable.as_ref().filter(|_| self.remarks.is_empty()) {
            self.remark(format!("a line cannot be read: {first:?}"));
        }
        if page.is_cut {
            self.remark("it has more series of requests than are read: name a page of one node".to_owned());
        }
        self.take_gateways(requested, page);
        let mut found: BTreeMap<MetricExporter, BTreeMap<Key, f64>> = BTreeMap::new();
        for sample in &page.samples {
            let rows = rows_for(requested.product)
                .filter(|(_, row)| is_called(requested.names.resolve(row.metric), sample.name));
            for (place, row) in rows {
                if (0.0..=VALUE_MAX).contains(&sample.value) {
                    let values = found.entry(row.exporter).or_default();
                    self.sort_in(values, sample, key(requested, place, row, sample));
                } else {
                    self.remark(format!("{} is {}, which is no reading", sample.name, sample.value));
                }
            }
        }
        self.with_metrics += u32::from(!found.is_empty());
        for (exporter, mut values) in found {
            self.exporters.insert(exporter);
            lacking_gauges(requested.product, exporter, &mut values);
            self.look(requested, exporter, values, at_ms);
        }
    }

    /// Takes one sample into what an exporter said.
    fn sort_in(&mut self, values: &mut BTreeMap<Key, f64>, sample: &PageSample<'_>, key: Key) {
        if values.len() >= SERIES_MAX {
            return self.remark("it has more series of requests than are read: name a page of one node".to_owned());
        }
        if let Some(before) = values.insert(key.clone(), sample.value) {
            values.insert(key, before.max(sample.value));
            self.remark(format!("{} is there twice with the same labels", sample.name));
        }
    }

    fn take_gateways(&mut self, requested: &PagesRequest, page: &MetricsPage<'_>) {
        let is = |sample: &&PageSample<'_>| is_called(requested.names.resolve(GATEWAYS), sample.name);
        for sample in page.samples.iter().filter(is) {
            let label_value = |label: &str| sample.label(requested.names.resolve(label)).map(str::to_owned);
            if let (Some(id), Some(host)) = (label_value("instance_id"), label_value("hostname"))
                && self.gateways.len() < SERIES_MAX
            {
                self.gateways.insert(id, host);
            }
        }
    }

    /// What one exporter says at a look, after what it said at the last.
    fn look(&mut self, requested: &PagesRequest, exporter: MetricExporter, values: BTreeMap<Key, f64>, at_ms: u64) {
        let Some(last) = self.last.get(&exporter) else {
            self.last.insert(exporter, LastLook { at_ms, is_fresh: exporter.repeats_ms() == 0, values });
            return;
        };
        let since_ms = at_ms.saturating_sub(last.at_ms);
        if since_ms == 0 || (last.values == values && since_ms < exporter.repeats_ms()) {
            return;
        }
        if last.is_fresh {
            let first = step_at(requested, last.at_ms);
            let end = step_at(requested, at_ms).max(first);
            for (key, value) in &values {
                let is_full = self.series.len() >= SERIES_MAX && !self.series.contains_key(key);
                let reported = reported(key, *value, last, since_ms).filter(|value| *value <= VALUE_MAX && !is_full);
                let Some(value) = reported else { continue };
                let cells = self.series.entry(key.clone()).or_insert_with(|| vec![None; requested.steps as usize]);
                let span = cells.iter_mut().skip(first).take(end - first);
                span.for_each(|cell| *cell = Some(rounded(value)));
            }
        }
        self.last.insert(exporter, LastLook { at_ms, is_fresh: true, values });
    }
}

/// Steps that are over at an instant.
fn step_at(requested: &PagesRequest, at_ms: u64) -> usize {
    let steps = (at_ms + requested.step_ms / 2) / requested.step_ms.max(1);
    usize::try_from(steps).unwrap_or(usize::MAX).min(requested.steps as usize)
}

/// A rate, or a gauge as it is. A counter that is less than it was has begun anew, with all that it has now; one that
/// was not there before tells nothing yet.
fn reported(key: &Key, value: f64, last: &LastLook, since_ms: u64) -> Option<f64> {
    if rows().nth(key.0)?.page == Some(PageValue::Gauge) {
        return Some(value);
    }
    let before = *last.values.get(key)?;
    let grew = if value < before { value } else { value - before };
    Some(grew * 1e3 / since_ms as f64)
}

/// Adds gauges that a page leaves out where they are 0, as MinIO's version 3 does with requests in flight.
fn lacking_gauges(product: Product, exporter: MetricExporter, values: &mut BTreeMap<Key, f64>) {
    let machines: BTreeSet<String> = values.keys().map(|(_, machine, ..)| machine.clone()).collect();
    let gauges = rows_for(product).filter(|(_, row)| row.exporter == exporter && row.page == Some(PageValue::Gauge));
    for (place, _) in gauges {
        for machine in &machines {
            let lacking = (place, machine.clone(), String::new(), String::new());
            let is_there = values.range(lacking.clone()..).next();
            if !is_there.is_some_and(|((found, of, ..), _)| *found == place && of == machine) {
                values.insert(lacking, 0.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use linerate_wire::tls::{TlsClient, Trust};

    use super::*;
    use crate::address::PrometheusAddress;
    use crate::exposition::page;
    use crate::http_call::PrometheusAccess;
    use crate::name_map::{NameMap, pair};

    fn requested(product: Product, names: NameMap) -> PagesRequest {
        let (access, tls) = (PrometheusAccess::Open, TlsClient::new(Trust::Anything).unwrap());
        PagesRequest {
            targets: Vec::new(),
            access,
            headers: Vec::new(),
            tls,
            names,
            product,
            step_ms: 1_000,
            steps: 30,
        }
    }

    fn looks(requested: &PagesRequest, pages: &[(u64, String)]) -> PageLooks {
        let address = PrometheusAddress::page("http://n1:9000/metrics").unwrap();
        let mut looks = PageLooks::new(&MetricsTarget { address, node: Some("n1".to_owned()) });
        for (at_ms, text) in pages {
            looks.take(requested, &page(text.as_bytes(), |name| is_wanted(requested, name)), *at_ms);
        }
        looks
    }

    fn series_values(looks: &PageLooks, of: ReadMeasure) -> Vec<Vec<Option<f64>>> {
        looks.series().filter(|series| series.of == of).map(|series| series.values).collect()
    }

    const SENT: &str = "minio_api_requests_traffic_sent_bytes{server=\"n1:9000\",type=\"s3\"}";

    #[test]
    fn counters_are_rates_whose_resets_count_and_gauges_stand_until_the_next_look() {
        let minio = requested(Product::Minio, NameMap::default());
        let inflight = |value: u32| {
            format!("minio_api_requests_inflight_total{{name=\"GetObject\",server=\"n1:9000\",type=\"s3\"}} {value}\n")
        };
        let pages =
            [(0, 100), (5_000, 600), (10_000, 50)].map(|(at, sent)| (at, inflight(4) + &format!("{SENT} {sent}")));
        let found = looks(&minio, &pages);
        let mut expected = vec![Some(100.0); 5];
        expected.extend([Some(10.0); 5]);
        expected.resize(30, None);
        assert_eq!(series_values(&found, ReadMeasure::ClientSent), [expected]);
        assert_eq!(series_values(&found, ReadMeasure::InFlight)[0][..11], [&[Some(4.0); 10][..], &[None]].concat());
        assert_eq!(series_values(&found, ReadMeasure::Waiting)[0][..2], [Some(0.0); 2], "left out is none");
    }

    #[test]
    fn a_page_that_is_repeated_is_no_new_look() {
        let minio = requested(Product::Minio, NameMap::default());
        let text = |sent: u64| format!("minio_s3_traffic_sent_bytes{{server=\"n1:9000\"}} {sent}\n");
        let sent = [7_u64, 7, 1_000, 1_000, 1_000, 13_000, 13_000];
        let pages: Vec<(u64, String)> = (0..).step_by(4_000).zip(sent.map(text)).collect();
        let sent = series_values(&looks(&minio, &pages), ReadMeasure::ClientSent).remove(0);
        assert_eq!(sent.iter().position(Option::is_some), Some(8), "the first page may be of any time");
        assert_eq!((sent[8], sent[19], sent[20]), (Some(1_000.0), Some(1_000.0), None));
    }

    #[test]
    fn names_may_be_others_and_those_of_openmetrics() {
        let pairs = ["server=node", "minio_api_requests_traffic_sent_bytes=sent"].map(|text| pair(text).unwrap());
        let text = |value: u32| format!("sent_total{{node=\"n7:9000\",type=\"s3\"}} {value}\n");
        let requested = requested(Product::Minio, NameMap::new(pairs, &[]));
        let found = looks(&requested, &[(0, text(0)), (1_000, text(10))]);
        let series: Vec<PageSeries> = found.series().filter(|one| one.of == ReadMeasure::ClientSent).collect();
        assert_eq!((series[0].machine.as_str(), series[0].values[0]), ("n7", Some(10.0)));
    }

    #[test]
    fn what_cannot_be_is_no_reading_and_is_told_once() {
        let minio = requested(Product::Minio, NameMap::default());
        let text = format!("{SENT} NaN\n{SENT} -5\n{SENT} 1e300\n{SENT} +Inf\n{SENT} 5\n{SENT} 7\n{{ 1\n");
        let found = looks(&minio, &[(0, text.clone()), (1_000, text)]);
        assert_eq!(series_values(&found, ReadMeasure::ClientSent)[0][0], Some(0.0));
        assert!(
            found.remarks.len() <= REMARKS_MAX && found.remarks[0].contains("cannot be read"),
            "{:?}",
            found.remarks
        );
    }
}
