//! Whether a soak was passed, in words and figures.

use super::options::Options;
use super::sample::{Counts, OPS, Sample};
use super::{CONCURRENCY, SIZE_BYTES_MAX};
use crate::median::median;

/// By how much the median of resident memory in the last quarter may exceed that in the second.
const RSS_GROWTH_MAX: f64 = 0.05;
/// By how many the most descriptors in the last quarter may exceed those in the second: a file that is open in passing.
const DESCRIPTORS_GROWTH_MAX: u64 = 2;
/// By how much client and server may differ, beyond the requests that were in flight when the run ended.
const DRIFT_MAX: f64 = 0.001;

/// Objects that were written before the load: the server counts them, and no figure does.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PreparedObjects {
    pub(super) objects: u64,
    pub(super) bytes: u64,
}

pub(super) struct Summary {
    pub(super) text: String,
    pub(super) passed: bool,
}

/// One bound and how it was kept.
struct Check {
    what: String,
    found: String,
    bound: String,
    kept: bool,
}

pub(super) fn summarize(
    options: &Options,
    samples: &[Sample],
    client: &Counts,
    server: &Counts,
    beforehand: &PreparedObjects,
    left: usize,
) -> Summary {
    let in_load: Vec<&Sample> = samples.iter().filter(|s| s.at_s <= options.duration().as_secs_f64()).collect();
    let mut checks = vec![time(options, &in_load), memory(&in_load), descriptors(&in_load)];
    checks.extend(drifts(client, server, beforehand));
    checks.push(Check {
        what: "requests that failed".into(),
        found: client.errors.to_string(),
        bound: "0".into(),
        kept: client.errors == 0 && client.requests.iter().all(|&n| n > 0),
    });
    checks.push(Check {
        what: "objects left by linerate clean".into(),
        found: left.to_string(),
        bound: "0".into(),
        kept: left == 0,
    });
    let passed = checks.iter().all(|check| check.kept);
    let rate = client.requests.iter().sum::<u64>() as f64 / options.duration().as_secs_f64();
    let mut text = format!(
        "# Soak of {} minutes\n\nA mixed load of {} requests/s on MinIO, {CONCURRENCY} in flight, every body compared; \
         {rate:.1} requests/s were reached. {} samples.\n\n| what | found | bound | |\n|---|---|---|---|\n",
        options.minutes,
        options.rate_per_s,
        samples.len()
    );
    for Check { what, found, bound, kept } in &checks {
        text += &format!("| {what} | {found} | {bound} | {} |\n", if *kept { "kept" } else { "MISSED" });
    }
    text += &format!("\n{}\n", if passed { "Every bound was kept." } else { "A bound was missed." });
    Summary { text, passed }
}

/// A load that ended early was no soak.
fn time(options: &Options, samples: &[&Sample]) -> Check {
    let (requested_s, last_s) = (options.duration().as_secs_f64(), samples.last().map_or(0.0, |s| s.at_s));
    Check {
        what: "time under load".into(),
        found: format!("{last_s:.0} s"),
        bound: format!("at least {:.0} s", requested_s - 2.0 * options.every.as_secs_f64()),
        kept: last_s >= requested_s - 2.0 * options.every.as_secs_f64(),
    }
}

/// The second and the last quarter: the first is when buffers grow.
fn quarters<'a>(samples: &'a [&'a Sample]) -> (&'a [&'a Sample], &'a [&'a Sample]) {
    let quarter = samples.len() / 4;
    (&samples[quarter..2 * quarter], &samples[samples.len() - quarter..])
}

fn memory(samples: &[&Sample]) -> Check {
    let bound = format!("at most {} more", percent(RSS_GROWTH_MAX));
    let what = "median resident memory, second and last quarter".into();
    let (second, last) = quarters(samples);
    let rss = |of: &[&Sample]| median(&of.iter().map(|s| s.rss_bytes as f64).collect::<Vec<_>>());
    let (Some(second), Some(last)) = (rss(second), rss(last)) else {
        return Check { what, found: "fewer than four samples".into(), bound, kept: false };
    };
    let growth = last / second - 1.0;
    let mib = f64::from(1 << 20);
    let found = format!(
        "{:.2} MiB, {:.2} MiB: {} ({:+.2} MiB an hour over both)",
        second / mib,
        last / mib,
        percent(growth),
        slope_bytes_per_s(&samples[samples.len() / 4..]) * 3600.0 / mib
    );
    Check { what, found, bound, kept: growth <= RSS_GROWTH_MAX }
}

fn descriptors(samples: &[&Sample]) -> Check {
    let (second, last) = quarters(samples);
    let most = |of: &[&Sample]| of.iter().map(|s| s.descriptors).max();
    let (second, last) = (most(second).unwrap_or(0), most(last).unwrap_or(u64::MAX));
    Check {
        what: "most descriptors open, second and last quarter".into(),
        found: format!("{second}, {last}"),
        bound: format!("at most {DESCRIPTORS_GROWTH_MAX} more"),
        kept: last <= second.saturating_add(DESCRIPTORS_GROWTH_MAX),
    }
}

/// Requests and bytes, each as the client and as the server counted it.
fn drifts(client: &Counts, server: &Counts, beforehand: &PreparedObjects) -> Vec<Check> {
    let mut checks = Vec::new();
    for (index, (op, _)) in OPS.iter().enumerate() {
        let unseen = if *op == "put" { beforehand.objects } else { 0 };
        checks.push(drift(&format!("{op} requests"), client.requests[index] + unseen, server.requests[index], 1));
    }
    checks.push(drift("bytes read", client.read_bytes, server.read_bytes, SIZE_BYTES_MAX));
    checks.push(drift("bytes written", client.written_bytes + beforehand.bytes, server.written_bytes, SIZE_BYTES_MAX));
    checks
}

fn drift(what: &str, client: u64, server: u64, unit: u64) -> Check {
    let (difference, in_flight) = (client.abs_diff(server), CONCURRENCY * unit);
    let share = difference as f64 / client.max(1) as f64;
    let sign = if server >= client { "+" } else { "−" };
    Check {
        what: format!("{what}, client and server"),
        found: format!("{client}, {server}: {sign}{}", percent(share)),
        bound: format!("{} and {in_flight} in flight", percent(DRIFT_MAX)),
        // What was in flight at the end is the server's only: it may have more by that, and never less.
        kept: client > 0
            && difference as f64 <= client as f64 * DRIFT_MAX + if server > client { in_flight as f64 } else { 0.0 },
    }
}

fn percent(share: f64) -> String {
    let digits = if share.abs() < 0.01 { 3 } else { 1 };
    format!("{:.digits$} %", share * 100.0)
}

/// Of the least-squares line through resident memory.
fn slope_bytes_per_s(samples: &[&Sample]) -> f64 {
    let count = samples.len() as f64;
    let mean = |extract: fn(&Sample) -> f64| samples.iter().map(|s| extract(s)).sum::<f64>() / count;
    let (mean_s, mean_bytes) = (mean(|s| s.at_s), mean(|s| s.rss_bytes as f64));
    let (mut above, mut below) = (0.0, 0.0);
    for sample in samples {
        above += (sample.at_s - mean_s) * (sample.rss_bytes as f64 - mean_bytes);
        below += (sample.at_s - mean_s).powi(2);
    }
    if below > 0.0 { above / below } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn samples(rss_bytes: impl Fn(u64) -> u64) -> Vec<Sample> {
        let at =
            |i: u64| Sample { at_s: 1.5 * i as f64, rss_bytes: rss_bytes(i), descriptors: 20, ..Sample::default() };
        (0..40).map(at).collect()
    }

    fn options() -> Options {
        let every = Duration::from_secs(10);
        Options { minutes: 1, rate_per_s: 1, every, out: None, data: None, linerate: None }
    }

    fn passed(samples: &[Sample], client: &Counts, server: &Counts) -> bool {
        summarize(&options(), samples, client, server, &PreparedObjects { objects: 5, bytes: 50 }, 0).passed
    }

    #[test]
    fn memory_may_grow_at_first_and_then_no_more() {
        let counts = Counts { requests: [9_000; 4], read_bytes: 900, written_bytes: 900, errors: 0 };
        let server = Counts { requests: [9_000, 9_000, 9_005, 9_000], written_bytes: 950, ..counts.clone() };
        assert!(passed(&samples(|i| 20_000 + 1_000 * i.min(9)), &counts, &server));
        assert!(!passed(&samples(|i| 20_000 + 100 * i), &counts, &server));
        assert!(!passed(&[], &counts, &server), "nothing was seen");
        let mut open = samples(|_| 20_000);
        open[39].descriptors = 23;
        assert!(!passed(&open, &counts, &server));
        assert!(!passed(&samples(|_| 20_000)[..20], &counts, &server), "it ended half way");
    }

    #[test]
    fn the_server_may_have_what_was_in_flight_and_the_client_nothing() {
        let level = samples(|_| 20_000);
        let client = Counts { requests: [10_000; 4], read_bytes: 1 << 40, written_bytes: 1 << 40, errors: 0 };
        for (more, kept) in
            [(0, true), (10 + CONCURRENCY as i64, true), (11 + CONCURRENCY as i64, false), (-10, true), (-11, false)]
        {
            let mut server = client.clone();
            server.requests[2] += 5;
            server.requests[0] = server.requests[0].saturating_add_signed(more);
            assert_eq!(passed(&level, &client, &server), kept, "{more}");
        }
        let failed = Counts { errors: 1, ..client.clone() };
        assert!(!passed(&level, &failed, &client));
    }

    #[test]
    fn a_slope_is_that_of_the_line() {
        let samples = samples(|i| 1_000 + 7 * i);
        let all: Vec<&Sample> = samples.iter().collect();
        assert!((slope_bytes_per_s(&all) - 7.0 / 1.5).abs() < 1e-9);
    }
}
