//! How the view's values read: the wording that the terminal and the page share.

pub(crate) mod audit;
mod bounds;
pub(crate) mod client_growth;
pub(crate) mod comparison;
pub(crate) mod experiment;
pub(crate) mod gist;
pub(crate) mod hypotheses;
pub(crate) mod members;
pub(crate) mod net;
pub(crate) mod rollout;
mod server;
pub(crate) mod site_and_plan;

use linerate_analysis::compare::SeriesComparison;
use linerate_analysis::knee::{Knee, KneeOutcome, Unsteady};
use linerate_analysis::view::{
    Best, Bottleneck, ClientCeiling, Estimate, Latency, Measure, Point, PredictedCurve, RunSummary, Series, View,
};
use linerate_analysis::visit_times::{VISIT_MS, VISITS_ENOUGH};
use linerate_record::finding::{Confidence, Finding, Severity};
use linerate_record::load::Workload;
use linerate_record::machine::{Machine, MachineNic};
use linerate_record::run::{MaybeKnown, PointSizes, StopReason, Target, TargetKind, TlsUsed};
use linerate_record::threshold::Quantile;
pub(crate) use linerate_record::units::grouped;
use linerate_record::units::{Bytes, bits_per_s, bytes_per_s_iec, count, duration_ns};

pub(crate) use bounds::{best_at, bounds, held_but_for, outcome, share_over, sustained};
pub(crate) use server::server;

/// What stands in place of a figure that is not known.
pub(crate) const ABSENT: &str = "–";

/// What stands for facts that whoever measured did not write down.
pub(crate) const NOT_RECORDED: &str = "not recorded";

/// `GET 4 MiB`; the workload is left as it is where it names a mix, and the size where it is a distribution.
pub(crate) fn series_label(workload: &MaybeKnown<Workload>, size: &MaybeKnown<PointSizes>) -> String {
    let name = workload.to_string();
    let workload = if workload.kind() != name { name } else { name.to_uppercase() };
    let size = size.bytes().map_or_else(|| size.to_string(), |bytes| Bytes(bytes).to_string());
    if size.is_empty() { workload } else { format!("{workload} {size}") }
}

/// `GET 4 MiB`, and `GET 4 MiB, 28 clients` where their number was varied.
pub(crate) fn series_name(series: &Series) -> String {
    let label = series_label(&series.workload, &series.size);
    match series.clients {
        Some(clients) => format!("{label}, {}", plural(u64::from(clients), "client")),
        None => label,
    }
}

/// The same of a ceiling.
pub(crate) fn ceiling_name(ceiling: &ClientCeiling) -> String {
    series_name(&Series::empty(&ceiling.workload, &ceiling.size, ceiling.clients))
}

/// The same of a series of two arms.
pub(crate) fn compared_name(series: &SeriesComparison) -> String {
    series_name(&Series::empty(&series.workload, &series.size, series.clients))
}

/// `11.3 GiB/s` or `1204 req/s`.
pub(crate) fn throughput(point: &Point, measure: Measure) -> String {
    match measure {
        Measure::Bytes => bytes_per_s_iec(point.bytes_per_s.mean),
        Measure::Requests => requests_per_s(point.requests_per_s.mean),
    }
}

/// A latency; absent where nothing was measured of it.
pub(crate) fn latency(of: &Latency, ns: u64) -> String {
    if of.count == 0 { ABSENT.to_owned() } else { quantile(ns, of.at_least_ns) }
}

/// A quantile of latencies, of which those from `at_least_ns` on are at least what they are.
pub(crate) fn quantile(ns: u64, at_least_ns: Option<u64>) -> String {
    let bound = if at_least_ns.is_some_and(|least| ns >= least) { "≥" } else { "" };
    format!("{bound}{}", duration_ns(ns as f64))
}

/// The 99.9th percentile; absent where too few requests were measured for one.
pub(crate) fn p999(of: &Latency) -> String {
    if of.count < Quantile::P999.requests_min() { ABSENT.to_owned() } else { latency(of, of.p999_ns) }
}

/// How long a run took, where it got as far as to measure something.
pub(crate) fn elapsed(run: &RunSummary) -> String {
    if run.elapsed_ms == 0 { "nothing measured".to_owned() } else { duration_ns(run.elapsed_ms as f64 * 1e6) }
}

/// `1204 req/s`.
pub(crate) fn requests_per_s(rate: f64) -> String {
    format!("{} req/s", count(rate))
}

/// The half width as a share of the mean: `± 1.1 %`. Of an interval that reaches from nothing to more than twice the
/// mean, its width says no more than that.
pub(crate) fn plus_minus(estimate: &Estimate) -> String {
    match estimate.half_width_share() {
        Some(_) if estimate.is_unsteady() => "unsteady".to_owned(),
        Some(share) => {
            let percent = 100.0 * share;
            let decimals = usize::from(percent < 99.95);
            format!("± {percent:.decimals$} %")
        }
        None => ABSENT.to_owned(),
    }
}

/// A share of 1 in percent: `21 %`, and `0.4 %` below one.
pub(crate) fn percent(share: f64) -> String {
    let percent = crate::json::unsigned_zero(100.0 * share);
    match percent {
        few if few > 0.0 && few < 0.95 => format!("{few:.1} %"),
        many if (10_000.0..1e15).contains(&many) => format!("{} %", grouped(many.round() as u64)),
        of => format!("{of:.0} %"),
    }
}

/// A change as a share of 1, signed: `+6.6 %`, `−12.0 %`, `+150 %`, `+13 785 %`.
pub(crate) fn change(share: f64) -> String {
    let percent = 100.0 * share;
    if (10_000.0..1e15).contains(&percent) {
        return format!("+{} %", grouped(percent.round() as u64));
    }
    let decimals = usize::from(percent.abs() < 99.95);
    let sign = if percent < 0.0 { '−' } else { '+' };
    format!("{sign}{:.decimals$} %", percent.abs())
}

/// A number with the decimals that it deserves: `1204`, `31.2`, `0.42`.
pub(crate) fn decimal(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 100.0 || v == 0.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 0.1 => 2,
        _ => 4,
    };
    format!("{value:.decimals$}")
}

/// Who bound a point, in a word or two.
pub(crate) const fn bound(bound: Bottleneck) -> &'static str {
    match bound {
        Bottleneck::Client => "linerate",
        Bottleneck::Machine => "this machine",
        Bottleneck::Disturbed => "disturbed",
        Bottleneck::Nic => "NIC",
        Bottleneck::RateCap => "rate cap",
        Bottleneck::RequestedRate => "rate asked for",
        Bottleneck::Slots => "requests in flight",
        Bottleneck::Backoff => "rests after failures",
        Bottleneck::Hanging => "requests that hang",
        Bottleneck::Target => "target",
        Bottleneck::Unread => "not known",
    }
}

/// Why a point ended, as JSON has it.
pub(crate) const fn ended_key(ended: StopReason) -> &'static str {
    match ended {
        StopReason::Duration => "duration",
        StopReason::Precise => "precise",
        StopReason::ObjectsExhausted => "objects-exhausted",
        StopReason::Interrupted => "interrupted",
        StopReason::NoSuccess => "no-success",
        StopReason::ErrorLimit => "error-limit",
        StopReason::Canary => "canary",
        StopReason::ClientsLost => "clients-lost",
    }
}

/// Why a point ended, for people.
pub(crate) const fn ended(ended: Option<StopReason>) -> &'static str {
    match ended {
        Some(StopReason::Duration) => "time was up",
        Some(StopReason::Precise) => "precise",
        Some(StopReason::ObjectsExhausted) => "objects ran out",
        Some(StopReason::Interrupted) => "interrupted",
        Some(StopReason::NoSuccess) => "no request succeeded",
        Some(StopReason::ErrorLimit) => "too many errors",
        Some(StopReason::Canary) => "ended by the canary",
        Some(StopReason::ClientsLost) => "clients were lost",
        None => "killed",
    }
}

/// What is said of a ceiling below what was measured: something held its measurement back.
pub(crate) fn failed_ceiling(series: &Series, ceiling: &ClientCeiling) -> String {
    let of_unit = |mean: f64| match series.measure {
        Measure::Bytes => bytes_per_s_iec(mean),
        Measure::Requests => format!("{} req/s", count(mean)),
    };
    let best = series.summary.best.map_or(0.0, |best| best.throughput.mean);
    format!(
        "the ceiling of the client could not be measured: {} is below the {} measured",
        of_unit(ceiling.point.throughput(series.measure).mean),
        of_unit(best)
    )
}

/// `knee at 35 (31–40)`: the least concurrency that gives nearly the best, and those that may be it.
pub(crate) fn knee(knee: &Knee) -> String {
    match knee.outcome {
        KneeOutcome::Nothing => String::new(),
        KneeOutcome::StillRising => format!("still rising at {}", knee.concurrency),
        KneeOutcome::Capped => "no knee reported: what levels off is the cap of --max-rate".to_owned(),
        KneeOutcome::Unsteady => match &knee.unsteady {
            Some(one) => format!("no knee reported: {}", unsteady(one)),
            None => "no knee reported: throughput is too unsteady".to_owned(),
        },
        KneeOutcome::Uneven => "no knee reported: throughput does not rise and level off".to_owned(),
        KneeOutcome::Found | KneeOutcome::Retrograde if knee.lowest == knee.highest => {
            format!("knee at {}", knee.concurrency)
        }
        KneeOutcome::Found | KneeOutcome::Retrograde => {
            format!("knee at {} ({}–{})", knee.concurrency, knee.lowest, knee.highest)
        }
    }
}

/// The concurrency that is too unsteady for a knee, and by how much.
fn unsteady(one: &Unsteady) -> String {
    if one.throughput.half_width_95.is_none() {
        return format!("the ± of throughput at {} in flight is not known", one.concurrency);
    }
    let is_reported = !one.throughput.is_unsteady() && one.throughput.half_width_share().is_some();
    let by = if is_reported { format!(" ({})", plus_minus(&one.throughput)) } else { String::new() };
    match one.visits {
        0 | 1 => format!("throughput at {} in flight is too unsteady{by}", one.concurrency),
        _ => format!("visits of {} in flight lie too far apart{by}", one.concurrency),
    }
}

/// How a point is loaded: `16 in flight`, or `200/s asked for`.
pub(crate) fn load(point: &Point) -> String {
    match &point.open {
        Some(open) => format!("{}/s asked for", count(open.requested_per_s)),
        None => format!("{} in flight", point.concurrency),
    }
}

/// What the site that was described can do of a series, and what was measured of that.
pub(crate) fn predicted(predicted: &PredictedCurve) -> String {
    let PredictedCurve { site, ceiling_bytes_per_s, bottleneck, .. } = predicted;
    let most = bytes_per_s_iec(*ceiling_bytes_per_s);
    let mut text = format!("{site} can do {most} at most; bottleneck then: {}", bottleneck.name());
    if let (Some(in_flight), Some(at), Some(of_curve), Some(of_ceiling)) =
        (predicted.in_flight, predicted.at_bytes_per_s, predicted.curve_share, predicted.ceiling_share)
    {
        text.push_str(&format!(
            "; with {in_flight} in flight {} are predicted: measured is {} of that, {} of the ceiling",
            bytes_per_s_iec(at),
            percent(of_curve),
            percent(of_ceiling)
        ));
    }
    text
}

/// How the points of a series ended, and what was cut from their beginnings.
pub(crate) fn times(series: &Series) -> String {
    let mut ends: Vec<(&str, u64)> = Vec::new();
    for point in &series.points {
        let end = ended(point.ended);
        match ends.iter_mut().find(|(known, _)| *known == end) {
            Some((_, times)) => *times += 1,
            None => ends.push((end, 1)),
        }
    }
    let ends: Vec<String> = ends.iter().map(|(end, times)| format!("{times} × {end}")).collect();
    let warmup = match series.summary.warmup_ms_max {
        0 => "no warm-up".to_owned(),
        most => format!("warm-up up to {}", duration_ns(most as f64 * 1e6)),
    };
    format!("{}; {warmup}", ends.join(", "))
}

/// The point that a series is known by, all of its visits together, with its throughput.
pub(crate) fn best(series: &Series) -> Option<(&Point, &Best)> {
    let best = series.summary.best.as_ref()?;
    series.headline_point().map(|point| (point, best))
}

/// Why a series has no best.
pub(crate) fn without_best(series: &Series) -> &'static str {
    if series.points.is_empty() {
        "nothing measured"
    } else if series.points.iter().any(Point::has_ended_requests) {
        "no best: fewer requests ended than were in flight"
    } else {
        "no request ended"
    }
}

/// What a search for the knee takes to visit what decides often enough, in minutes.
pub(crate) const SEARCH_MINUTES: u64 = 12;

/// How far a series' intervals reach, and the tails of its best.
pub(crate) fn reach(series: &Series) -> String {
    let Some((point, _)) = best(series) else { return String::new() };
    let latency = point.first_latency();
    let tails = if latency.count == 0 {
        String::new()
    } else {
        let at = load(point);
        let p99 = with_interval(latency, latency.p99_ns, latency.p99_95_ns);
        let p999 = match latency.count {
            n if n < Quantile::P999.requests_min() => format!("none of {} requests", grouped(latency.count)),
            _ => with_interval(latency, latency.p999_ns, latency.p999_95_ns),
        };
        format!("; at {at} p99 {p99}, p99.9 {p999}")
    };
    let ms = |ms: u64| duration_ns(ms as f64 * 1e6);
    let recurs = ms(series.summary.reach_ms);
    let covers = match (series.summary.quick_look, series.summary.lasts_ms) {
        (true, _) => {
            format!("a quick look: intervals cover no more than what recurs within {recurs}, and are not of 95 %")
        }
        (false, 0) => format!(
            "a point's intervals cover disturbances that recur within {recurs}, an eighth of its time, but not rarer \
             ones, nor a longer warm-up"
        ),
        (false, lasts_ms) => format!(
            "intervals of all visits cover disturbances that recur within {recurs}, a quarter of the time measured, \
             and states of similar length that last up to {} on average, but not rarer or longer ones",
            ms(lasts_ms)
        ),
    };
    format!("{covers}{tails}")
}

/// What must be said where intervals are of too few visits, or too little time; `None` where none is.
pub(crate) fn quick_look(view: &View) -> Option<String> {
    let requested = &view.run.requested;
    let quick = view.series.iter().filter(|series| series.summary.quick_look && !series.points.is_empty());
    let levels = quick.map(|series| series.at_each().len()).max()?;
    let visit_ms = requested.rounds_ms.map_or(0, |_| requested.duration_ms) + requested.warmup_ms.unwrap_or(0);
    let minutes = match requested.search {
        Some(_) => SEARCH_MINUTES,
        None => minutes_of_visits(levels, visit_ms),
    };
    let advice = format!("; --time {minutes}m gives these");
    let advice = if view.run.complete && !requested.is_imported() { advice.as_str() } else { "" };
    Some(format!("a quick look, without 95 % intervals{advice}"))
}

/// What six visits of each of so many levels take, in minutes, of which one takes so long, and 10 s at the least.
pub(crate) fn minutes_of_visits(levels: usize, visit_ms: u64) -> u64 {
    (levels as u64 * VISITS_ENOUGH * visit_ms.max(VISIT_MS)).div_ceil(60_000)
}

/// A quantile of latencies and how far it is known: `12.3 ms (11.8 to 13.1 ms)`, `≥12.4 s (no interval)`.
fn with_interval(of: &Latency, ns: u64, interval: Option<[u64; 2]>) -> String {
    let reported = latency(of, ns);
    match interval {
        Some([low, high]) => format!("{reported} ({} to {})", duration_ns(low as f64), duration_ns(high as f64)),
        None => format!("{reported} (no interval)"),
    }
}

/// How severe a finding is.
pub(crate) const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Critical => "critical",
    }
}

/// How sure linerate is of a finding.
pub(crate) const fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Possible => "possible",
        Confidence::Likely => "likely",
        Confidence::Certain => "certain",
    }
}

/// The points a finding is about: `point 3`, `points 3, 4`, or nothing.
pub(crate) fn points(finding: &Finding) -> String {
    let numbers: Vec<String> = finding.points.iter().map(u32::to_string).collect();
    match numbers.as_slice() {
        [] => String::new(),
        [one] => format!("point {one}"),
        many => format!("points {}", many.join(", ")),
    }
}

/// `minio:9000`, `4 hosts`, or what stands in for hosts.
pub(crate) fn place(target: &Target) -> String {
    match (&target.kind, target.hosts.as_slice()) {
        (MaybeKnown::Known(TargetKind::S3), [one]) => one.clone(),
        (MaybeKnown::Known(TargetKind::S3), many) => format!("{} hosts", many.len()),
        (kind, _) => format!("{kind} target"),
    }
}

/// `4 hosts, Garage`, or what stands in for hosts.
pub(crate) fn target(target: &Target) -> String {
    let what = place(target);
    let server = target.server.as_deref().map_or_else(String::new, |named| format!(", {}", server(named)));
    let tls = target.tls.as_ref().map_or_else(String::new, |tls| format!(", {}", tls.version));
    let place = if target.on_this_machine { ", on this machine" } else { "" };
    format!("{what}{server}{tls}{place}")
}

/// `TLSv1.3, TLS_AES_128_GCM_SHA256, certificate verified`.
pub(crate) fn tls(tls: &TlsUsed) -> String {
    let verified = if tls.verified { "verified" } else { "not verified" };
    format!("{}, {}, certificate {verified}", tls.version, tls.cipher)
}

/// What a ceiling over TLS costs this machine's processors, beside one without; nothing where TLS is not spoken.
pub(crate) fn tls_cost(ceiling: &ClientCeiling, measure: Measure) -> String {
    let without = ceiling.plain.as_ref().and_then(|plain| plain.client_cpu);
    let Some((over, without)) = ceiling.point.client_cpu.zip(without) else { return String::new() };
    match (measure, over.s_per_gib, without.s_per_gib) {
        (Measure::Bytes, Some(over), Some(without)) => {
            format!(", over TLS, at {over:.2} s of processor time per GiB ({without:.2} without TLS)")
        }
        _ => format!(
            ", over TLS, at {:.1} µs of processor time per request ({:.1} without TLS)",
            over.us_per_request, without.us_per_request
        ),
    }
}

/// `16 threads on 32 processors, 2 × 25.0 Gb/s`.
pub(crate) fn client(threads: u32, machine: &Machine) -> String {
    if threads == 0 && machine.cpus == 0 {
        return NOT_RECORDED.to_owned();
    }
    let threads = plural(u64::from(threads), "thread");
    let cpus = plural(u64::from(machine.cpus), "processor");
    format!("{threads} on {cpus}{}", link_speeds(&machine.nics))
}

/// The client of a run, or how many there are and what they have together.
pub(crate) fn clients(run: &RunSummary) -> String {
    if run.clients.is_empty() {
        return client(run.requested.threads, &run.machine);
    }
    // Clients may share a machine, so that a sum of processors would count it several times.
    let threads = each(run.clients.iter().map(|client| client.threads), "thread");
    let cpus = each(run.clients.iter().map(|client| client.machine.cpus), "processor");
    format!("{} clients, each with {threads} on a machine of {cpus}", run.clients.len())
}

/// A number of things that each has: `2 threads`, or `2 to 4 threads` where they differ.
fn each(numbers: impl Iterator<Item = u32> + Clone, one: &str) -> String {
    let (low, high) = (numbers.clone().min().unwrap_or(0), numbers.max().unwrap_or(0));
    let high_in_words = plural(u64::from(high), one);
    if low == high { high_in_words } else { format!("{low} to {high_in_words}") }
}

/// Link speeds in the order in which interfaces come, equal ones counted; nothing where no driver states one.
fn link_speeds(nics: &[MachineNic]) -> String {
    let mut speeds: Vec<(u64, usize)> = Vec::new();
    for speed in nics.iter().filter_map(|nic| nic.speed_bits_per_s) {
        match speeds.iter_mut().find(|(known, _)| *known == speed) {
            Some((_, times)) => *times += 1,
            None => speeds.push((speed, 1)),
        }
    }
    let reported = speeds.iter().map(|&(speed, times)| match times {
        1 => format!(", {}", bits_per_s(speed as f64)),
        _ => format!(", {times} × {}", bits_per_s(speed as f64)),
    });
    reported.collect()
}

/// `1 thread`, `16 threads`.
pub(crate) fn plural(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{} {noun}s", grouped(n)) }
}

/// So many figures that are each of one node: `1 more figure of a single node`.
pub(crate) fn of_single_nodes(n: u64, figure: &str) -> String {
    format!("{} {}", plural(n, figure), if n == 1 { "of a single node" } else { "of single nodes" })
}

/// The same as programs read it (RFC 3339): `2025-11-20T09:31:07.250Z`.
pub(crate) fn utc_exact(unix_ms: u64) -> String {
    let reported = utc(unix_ms).replacen(' ', "T", 1);
    reported.replace(" UTC", &format!(".{:03}Z", unix_ms % 1000))
}

/// A time of day in UTC: `2025-11-20 09:31:07 UTC`.
pub(crate) fn utc(unix_ms: u64) -> String {
    linerate_record::units::utc(unix_ms)
}

/// What a ceiling leaves out where bodies are compared: those of the null target are not worth comparing.
pub(crate) const fn ceiling_note(verify: bool) -> &'static str {
    if verify { ", bodies not compared" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (unix_s, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_763_631_067, "2025-11-20 09:31:07 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(utc(unix_s * 1000), text);
        }
        assert_eq!(utc_exact(1_763_631_067_250), "2025-11-20T09:31:07.250Z");
    }

    #[test]
    fn labels_read_as_people_say_them() {
        for (workload, size, label) in [
            ("get", "4MiB", "GET 4 MiB"),
            ("put", "4MiB:50,64KiB:50", "PUT 4MiB:50,64KiB:50"),
            ("mixed get=45,put=55", "64KiB", "mixed get=45,put=55 64 KiB"),
            ("list", "", "LIST"),
        ] {
            assert_eq!(series_label(&MaybeKnown::read(workload), &MaybeKnown::read(size)), label);
        }
    }

    #[test]
    fn equal_links_are_counted() {
        let nic = |speed| MachineNic { speed_bits_per_s: speed, ..MachineNic::default() };
        let nics = [nic(None), nic(Some(25_000_000_000)), nic(Some(25_000_000_000)), nic(Some(1_000_000_000))];
        let machine = Machine { cpus: 32, nics: nics.into(), ..Machine::default() };
        assert_eq!(client(1, &machine), "1 thread on 32 processors, 2 × 25.0 Gb/s, 1.00 Gb/s");
    }

    #[test]
    fn an_estimate_without_an_interval_claims_none() {
        let estimate = Estimate { mean: 200.0, half_width_95: Some(2.2), ..Estimate::default() };
        assert_eq!(plus_minus(&estimate), "± 1.1 %");
        assert_eq!(plus_minus(&Estimate { half_width_95: Some(200.0), ..estimate }), "± 100 %");
        assert_eq!(plus_minus(&Estimate { half_width_95: Some(2_364.0), ..estimate }), "unsteady");
        assert_eq!(plus_minus(&Estimate { half_width_95: None, ..estimate }), ABSENT);
        assert_eq!(plus_minus(&Estimate { mean: 0.0, ..estimate }), ABSENT);
    }

    #[test]
    fn what_is_too_unsteady_for_a_knee_is_named_with_visits_only_where_there_were_several() {
        let visit_in_words = |visits, half| {
            let throughput = Estimate { mean: 100.0, half_width_95: half, ..Estimate::default() };
            unsteady(&Unsteady { concurrency: 8, throughput, visits })
        };
        assert_eq!(visit_in_words(1, Some(43.0)), "throughput at 8 in flight is too unsteady (± 43.0 %)");
        assert_eq!(visit_in_words(1, Some(198.0)), "throughput at 8 in flight is too unsteady");
        assert_eq!(visit_in_words(3, Some(12.0)), "visits of 8 in flight lie too far apart (± 12.0 %)");
        assert_eq!(visit_in_words(1, None), "the ± of throughput at 8 in flight is not known");
    }
}
