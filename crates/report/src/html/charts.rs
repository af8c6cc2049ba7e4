//! What the charts draw: the view's columns, rounded, so that a page stays small whatever the run.
//!
//! A column of the timeline is `{"scale": s, "v": "…"}`: two characters per figure, which are digits of base 64 and
//! give `n` of `n × s`; 4095 stands for an absent figure. Points keep their figures unrounded.

use linerate_analysis::growth::{GrowthOutcome, GrowthPoint};
use linerate_analysis::knee::{Knee, KneeOutcome};
use linerate_analysis::view::{Estimate, Growth, GrowthPlan, Latency, MachineSample, Point, Series, Timeline, View};
use serde_json::{Value, json};

use crate::phrases;

/// Interfaces drawn: those that moved the most.
const NICS_MAX: usize = 12;

/// Block devices drawn: those that moved the most.
const DISKS_MAX: usize = 24;

/// Pairs of percentile and time up to which latency distributions are whole.
const DISTRIBUTION_PAIRS_MAX: usize = 16_000;

/// Lines in one chart of distributions: with more points, evenly chosen ones are drawn.
const LINES_MAX: usize = 48;

/// Largest digit pair of a column that stands for a figure.
const LEVEL_MAX: f64 = 4094.0;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Everything that `report.js` draws.
pub(super) fn json(view: &View) -> String {
    let document = json!({
        "elapsed_ms": view.run.elapsed_ms,
        "growth": view.growth.iter().map(growth).collect::<Vec<_>>(),
        "series": view.series.iter().map(|series| throughput(view, series)).collect::<Vec<_>>(),
        "latency": latencies(view),
        "spans": view.timeline.spans,
        "measured": measured(view),
        "load": load(&view.timeline),
        "machine": machine(&view.timeline.machine, &machine_clock(view)),
    });
    document.to_string()
}

/// When the first point began that was measured, and when the last ended: what linerate drove against the null target
/// before them is calibration. `null` where none was measured, or nothing else.
fn measured(view: &View) -> Option<[u64; 2]> {
    let is_measured = |number: u32| view.series.iter().flat_map(|s| &s.points).any(|point| point.point == number);
    let spans = || view.timeline.spans.iter().filter(|span| is_measured(span.point));
    let (from, to) = (spans().map(|span| span.from_ms).min()?, spans().map(|span| span.to_ms).max()?);
    (spans().count() < view.timeline.spans.len()).then_some([from, to])
}

/// Where each sample of this machine is drawn. One that begins in the calibration and ends in what was measured speaks
/// of both: it is drawn just before what was measured, or it would set the axes of that.
fn machine_clock(view: &View) -> Vec<u64> {
    let at: Vec<u64> = view.timeline.machine.iter().map(|sample| sample.at_ms).collect();
    let Some([from, _]) = measured(view) else { return at };
    let before = view.timeline.spans.iter().map(|span| span.to_ms).filter(|&to_ms| to_ms <= from);
    let calibrated = before.max().unwrap_or(0);
    let begun = std::iter::once(0).chain(at.iter().copied());
    let is_of_both = |begun: u64, at: u64| begun < calibrated && at > from;
    at.iter().zip(begun).map(|(&at, begun)| if is_of_both(begun, at) { from.saturating_sub(1) } else { at }).collect()
}

/// What differs from point to point: requests in flight, or the rate asked for of an open loop.
fn load_value(point: &Point) -> f64 {
    point.open.as_ref().map_or_else(|| f64::from(point.concurrency), |open| open.requested_per_s)
}

/// What its axis says.
fn load_name(points: &[Point]) -> &'static str {
    if points.iter().any(|point| point.open.is_some()) { "req/s asked for" } else { "in flight" }
}

fn first_ttfb(point: &Point) -> &Latency {
    point.open.as_ref().map_or(&point.ttfb, |open| &open.ttfb_intended)
}

fn throughput(view: &View, series: &Series) -> Value {
    let ceiling = view.ceiling_of(series);
    let estimate = |load: f64, estimate: &Estimate| json!([load, estimate.mean, estimate.half_width_95]);
    let of_point = |point: &Point| estimate(load_value(point), point.throughput(series.measure));
    let is_closed = series.points.iter().all(|point| point.open.is_none());
    // Where no request ended there is no throughput.
    let points: Vec<Value> = if is_closed {
        let has_ended = |at: u32| series.points.iter().any(|p| p.concurrency == at && p.has_ended_requests());
        let together = series.together().into_iter().filter(|(concurrency, _)| has_ended(*concurrency));
        together.map(|(concurrency, all)| estimate(f64::from(concurrency), &all)).collect()
    } else {
        series.at_each().into_iter().filter(|point| point.has_ended_requests()).map(of_point).collect()
    };
    // Points were numbered as they were measured.
    let mut again: Vec<&Point> = series.points.iter().filter(|p| series.visits_of(p).count() > 1).collect();
    again.sort_by_key(|point| point.point);
    json!({
        "label": phrases::series_name(series),
        "measure": series.measure,
        "load": load_name(&series.points),
        "knee": series.knee.as_ref().filter(|knee| is_found(knee)).map(knee),
        "plan": series.predicted.as_ref().map(|predicted| &predicted.points),
        "ceiling": ceiling.map(|ceiling| ceiling.point.throughput(series.measure).mean),
        "points": points,
        "visits": again.into_iter().map(of_point).collect::<Vec<_>>(),
    })
}

/// Throughput over clients, in the shape of a series: where growth ended stands for the knee.
fn growth(growth: &Growth) -> Value {
    let verdict = &growth.verdict;
    let is_ended = matches!(verdict.outcome, GrowthOutcome::Ended | GrowthOutcome::Falls);
    let end = verdict.points.iter().find(|point| is_ended && point.clients == verdict.ended_at);
    let point = |p: &GrowthPoint| json!([p.clients, p.throughput.mean, p.throughput.half_width_95]);
    let planned =
        |plan: &GrowthPlan| plan.points.iter().map(|p| json!([p.clients, p.ceiling_bytes_per_s])).collect::<Vec<_>>();
    json!({
        "label": phrases::series_label(&growth.workload, &growth.size),
        "measure": growth.measure,
        "load": "clients",
        "knee": end.map(|p| json!([verdict.ended_at, verdict.lowest, verdict.highest, p.throughput.mean])),
        "plan": growth.planned.as_ref().map(planned),
        "ceiling": null,
        "points": verdict.points.iter().map(point).collect::<Vec<_>>(),
        "visits": [],
    })
}

/// Whether the search came to a knee.
const fn is_found(knee: &Knee) -> bool {
    matches!(knee.outcome, KneeOutcome::Found | KneeOutcome::Retrograde)
}

/// Where the knee is drawn: concurrency, those that may be it, and throughput.
fn knee(knee: &Knee) -> Value {
    json!([knee.concurrency, knee.lowest, knee.highest, knee.throughput.mean])
}

/// What the latency charts can show: each series, and each operation of a mixed one.
fn latencies(view: &View) -> Vec<Value> {
    let selectable: Vec<Selectable<'_>> = view.series.iter().flat_map(selectable).collect();
    let drawn = selectable.iter().flat_map(|entry| entry.points.iter().filter(|point| point.drawn));
    let pairs: usize = drawn.map(|point| point.total.distribution.len() + point.ttfb.distribution.len()).sum();
    let stride = pairs.div_ceil(DISTRIBUTION_PAIRS_MAX).max(1);
    let entry = |entry: &Selectable<'_>| {
        let points: Vec<Value> = entry.points.iter().map(|point| latency(point, stride)).collect();
        json!({ "label": entry.label, "load": entry.load, "points": points })
    };
    selectable.iter().map(entry).collect()
}

/// An entry of the selector above the latency charts.
struct Selectable<'a> {
    label: String,
    load: &'static str,
    points: Vec<LatencyAt<'a>>,
}

struct LatencyAt<'a> {
    load: f64,
    /// Whether it has a line in the chart of distributions.
    drawn: bool,
    total: &'a Latency,
    ttfb: &'a Latency,
}

fn selectable(series: &Series) -> Vec<Selectable<'_>> {
    let label = phrases::series_name(series);
    let each = series.at_each();
    let drawn = drawn(each.len());
    let at = |i: usize, point: &Point, total, ttfb| LatencyAt { load: load_value(point), drawn: drawn[i], total, ttfb };
    let points = || each.iter().copied().enumerate();
    let whole = points().map(|(i, point)| at(i, point, point.first_latency(), first_ttfb(point))).collect();
    let ops = series.points.first().map_or(&[][..], |point| &point.ops);
    let of_ops = ops.iter().filter(|_| ops.len() > 1).map(|figures| {
        let of_op = points().filter_map(|(i, point)| {
            let op = point.ops.iter().find(|op| op.op == figures.op)?;
            Some(at(i, point, &op.total, &op.ttfb))
        });
        let label = format!("{label}: {}", figures.op.name().to_uppercase());
        Selectable { label, load: load_name(&series.points), points: of_op.collect() }
    });
    [Selectable { label: label.clone(), load: load_name(&series.points), points: whole }]
        .into_iter()
        .chain(of_ops)
        .collect()
}

/// Which of so many loads have a line: of too many evenly chosen ones and the last.
fn drawn(loads: usize) -> Vec<bool> {
    let every = loads.div_ceil(LINES_MAX).max(1);
    (1..=loads).map(|n| n.is_multiple_of(every) || n == loads).collect()
}

fn latency(point: &LatencyAt<'_>, stride: usize) -> Value {
    let LatencyAt { load, drawn, total, ttfb } = point;
    let mut latency = json!({
        "concurrency": load,
        "count": total.count,
        "quantiles": [ttfb.p50_ns, total.p50_ns, total.p90_ns, total.p99_ns],
    });
    if *drawn {
        latency["total"] = distribution(total, stride);
        latency["ttfb"] = distribution(ttfb, stride);
    }
    latency
}

/// Percentiles and nanoseconds, every `stride`th pair and the last.
fn distribution(latency: &Latency, stride: usize) -> Value {
    let last = latency.distribution.len().saturating_sub(1);
    let kept = latency.distribution.iter().enumerate().filter(|(i, _)| i % stride == 0 || *i == last);
    let (percentiles, ns): (Vec<f64>, Vec<u64>) =
        // Seven decimals tell 99.99999 from 100, beyond which no run has the requests.
        kept.map(|(_, &[percentile, ns])| ((percentile * 1e7).round() / 1e7, ns.round() as u64)).unzip();
    json!([percentiles, ns])
}

fn load(timeline: &Timeline) -> Value {
    let load = &timeline.load;
    json!({
        "at_ms": load.iter().map(|sample| sample.at_ms).collect::<Vec<_>>(),
        "point": load.iter().map(|sample| sample.point).collect::<Vec<_>>(),
        "warmup": load.iter().map(|sample| u8::from(sample.warmup)).collect::<Vec<_>>(),
        "bytes_per_s": column(load.iter().map(|sample| Some(sample.bytes_per_s))),
        "requests_per_s": column(load.iter().map(|sample| Some(sample.requests_per_s))),
        "errors_per_s": column(load.iter().map(|sample| Some(sample.errors_per_s))),
        // On a logarithmic axis small figures matter as much as large ones: these are not scaled.
        "p50_ns": load.iter().map(|sample| sample.p50_ns).collect::<Vec<_>>(),
        "p99_ns": load.iter().map(|sample| sample.p99_ns).collect::<Vec<_>>(),
    })
}

fn machine(samples: &[MachineSample], clock: &[u64]) -> Value {
    let nics = names(samples, NICS_MAX, |sample| {
        sample.nics.iter().map(|nic| (nic.name.as_str(), nic.rx_bytes_per_s.max(nic.tx_bytes_per_s))).collect()
    });
    let disks = names(samples, DISKS_MAX, |sample| {
        sample
            .disks
            .iter()
            .map(|disk| (disk.name.as_str(), disk.read_bytes_per_s.max(disk.write_bytes_per_s)))
            .collect()
    });
    let sample_column = |figure: fn(&MachineSample) -> Option<f64>| column(samples.iter().map(figure));
    json!({
        "at_ms": clock,
        "cpu_busy": sample_column(|sample| Some(sample.cpu_busy)),
        "cpu_busiest": sample_column(|sample| Some(sample.cpu_busiest)),
        "softirq": sample_column(|sample| Some(sample.softirq)),
        "steal": sample_column(|sample| Some(sample.steal)),
        "retransmits_per_s": sample_column(|sample| Some(sample.retransmits_per_s)),
        "memory_available_bytes": sample_column(|sample| Some(sample.memory_available_bytes as f64)),
        "pressure_cpu": sample_column(|sample| sample.pressure_cpu),
        "pressure_io": sample_column(|sample| sample.pressure_io),
        "pressure_memory": sample_column(|sample| sample.pressure_memory),
        "nics": nics.shown.iter().map(|name| nic(samples, name)).collect::<Vec<_>>(),
        "nics_left_out": nics.left_out,
        "disks": disks.shown.iter().map(|name| disk(samples, name)).collect::<Vec<_>>(),
        "disks_left_out": disks.left_out,
    })
}

fn nic(samples: &[MachineSample], name: &str) -> Value {
    let found = |sample: &MachineSample| sample.nics.iter().find(|nic| nic.name == name).cloned();
    let nics: Vec<_> = samples.iter().map(found).collect();
    json!({
        "name": name,
        "rx": column(nics.iter().map(|nic| Some(nic.as_ref()?.rx_bytes_per_s))),
        "tx": column(nics.iter().map(|nic| Some(nic.as_ref()?.tx_bytes_per_s))),
        "drops": column(nics.iter().map(|nic| Some(nic.as_ref()?.drops_per_s))),
    })
}

fn disk(samples: &[MachineSample], name: &str) -> Value {
    let found = |sample: &MachineSample| sample.disks.iter().find(|disk| disk.name == name).cloned();
    let disks: Vec<_> = samples.iter().map(found).collect();
    json!({
        "name": name,
        "read": column(disks.iter().map(|disk| Some(disk.as_ref()?.read_bytes_per_s))),
        "write": column(disks.iter().map(|disk| Some(disk.as_ref()?.write_bytes_per_s))),
        "busy": column(disks.iter().map(|disk| Some(disk.as_ref()?.busy))),
    })
}

/// Devices that have lines of their own, and how many have none.
struct Named<'a> {
    shown: Vec<&'a str>,
    left_out: usize,
}

/// The `most` devices with the highest figure, in the order in which the samples have them.
fn names<'a>(
    samples: &'a [MachineSample],
    most: usize,
    figures: impl Fn(&'a MachineSample) -> Vec<(&'a str, f64)>,
) -> Named<'a> {
    let mut peaks: Vec<(&str, f64)> = Vec::new();
    for (name, figure) in samples.iter().flat_map(figures) {
        match peaks.iter_mut().find(|(known, _)| *known == name) {
            Some((_, peak)) => *peak = peak.max(figure),
            None => peaks.push((name, figure)),
        }
    }
    let mut ranked: Vec<usize> = (0..peaks.len()).collect();
    ranked.sort_by(|&a, &b| peaks[b].1.total_cmp(&peaks[a].1));
    ranked.truncate(most);
    ranked.sort_unstable();
    let shown: Vec<&str> = ranked.into_iter().map(|i| peaks[i].0).collect();
    Named { left_out: peaks.len() - shown.len(), shown }
}

pub(super) fn column(figures: impl Iterator<Item = Option<f64>>) -> Value {
    let figures: Vec<Option<f64>> = figures.map(|figure| figure.filter(|f| f.is_finite() && *f >= 0.0)).collect();
    let largest = figures.iter().flatten().copied().fold(0.0, f64::max);
    let scale = largest / LEVEL_MAX;
    let mut text = String::with_capacity(2 * figures.len());
    for figure in figures {
        let level = match figure {
            Some(figure) if scale > 0.0 => (figure / scale).round() as usize,
            Some(_) => 0,
            None => 4095,
        };
        text.extend([level >> 6, level & 63].map(|digit| char::from(DIGITS[digit])));
    }
    json!({ "scale": scale, "v": text })
}

#[cfg(test)]
mod tests {
    use linerate_analysis::view::NicSample;

    use super::*;

    #[test]
    fn a_column_keeps_its_digits_and_its_gaps() {
        let column = column([Some(0.0), None, Some(2.5e9), Some(1.0e9), Some(f64::NAN)].into_iter());
        let scale = column["scale"].as_f64().unwrap();
        let digits: Vec<usize> = column["v"].as_str().unwrap().bytes().map(|b| digit(b).unwrap()).collect();
        let levels: Vec<usize> = digits.chunks(2).map(|pair| pair[0] * 64 + pair[1]).collect();
        assert_eq!((levels[0], levels[1], levels[2], levels[4]), (0, 4095, 4094, 4095));
        assert!((levels[3] as f64 * scale - 1.0e9).abs() < 2.5e9 / 4094.0);
    }

    fn digit(byte: u8) -> Option<usize> {
        DIGITS.iter().position(|known| *known == byte)
    }

    #[test]
    fn the_busiest_devices_are_drawn_and_the_rest_counted() {
        let nic = |name: &str, rx| NicSample { name: name.to_owned(), rx_bytes_per_s: rx, ..NicSample::default() };
        let samples = [
            MachineSample { nics: vec![nic("a", 1.0), nic("b", 5.0), nic("c", 2.0)], ..MachineSample::default() },
            MachineSample { nics: vec![nic("a", 9.0)], ..MachineSample::default() },
        ];
        let named = |most| {
            names(&samples, most, |sample| sample.nics.iter().map(|n| (n.name.as_str(), n.rx_bytes_per_s)).collect())
        };
        assert_eq!((named(2).shown, named(2).left_out), (vec!["a", "b"], 1));
        assert_eq!((named(3).shown, named(3).left_out), (vec!["a", "b", "c"], 0));
    }

    #[test]
    fn every_load_has_a_line_up_to_a_number_of_them() {
        assert_eq!(drawn(3), [true; 3]);
        let lines = drawn(100).into_iter().filter(|&drawn| drawn).count();
        assert!((LINES_MAX / 2..=LINES_MAX).contains(&lines) && drawn(100)[99], "{lines}");
        assert_eq!(drawn(0), [false; 0]);
    }

    #[test]
    fn a_thinned_distribution_keeps_its_ends() {
        let distribution_of = (0..10).map(|i| [10.0 * f64::from(i) + 10.0, f64::from(i)]).collect();
        let latency = Latency { distribution: distribution_of, ..Latency::default() };
        assert_eq!(distribution(&latency, 4), json!([[10.0, 50.0, 90.0, 100.0], [0, 4, 8, 9]]));
        assert_eq!(distribution(&Latency::default(), 1), json!([[], []]));
    }
}
