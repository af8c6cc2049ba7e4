//! What a run comes to, in a sentence for who does not know the field.

use linerate_analysis::view::{Bottleneck, Measure, Series, View};
use linerate_record::finding::Severity;
use linerate_record::units::{bytes_per_s_iec, count};

use super::{plural, series_name};

/// The best of all series and what limited it; where findings are critical, that the figures should not be used.
pub(crate) fn gist(view: &View) -> String {
    let critical = || view.findings.iter().filter(|found| found.severity == Severity::Critical);
    if let Some(first) = critical().next() {
        let problems = plural(critical().count() as u64, "critical problem");
        return format!("Do not rely on these figures yet, because of {problems}: {}.", first.claim);
    }
    let mean = |series: &Series| series.summary.best.map(|best| best.throughput.mean);
    let most_of = |measure: Measure| {
        let measured = view.series.iter().filter(|series| series.measure == measure && mean(series).is_some());
        measured.max_by(|a, b| mean(a).unwrap_or(0.0).total_cmp(&mean(b).unwrap_or(0.0)))
    };
    let Some(series) = most_of(Measure::Bytes).or_else(|| most_of(Measure::Requests)) else {
        return "Nothing was measured.".to_owned();
    };
    let best = mean(series).unwrap_or(0.0);
    let best = match series.measure {
        Measure::Bytes => bytes_per_s_iec(best),
        Measure::Requests => format!("{} requests per second", count(best)),
    };
    let limit = series.limit.as_ref().map_or_else(String::new, |limit| format!("; {}", limited_by(limit.bound)));
    format!("The storage delivered {best} at best ({}){limit}.", series_name(series))
}

const fn limited_by(bound: Bottleneck) -> &'static str {
    match bound {
        Bottleneck::Client => "the machine that tested it was at its limit, so the storage may be faster",
        Bottleneck::Machine => "it ran on the machine that tested it, and the two shared its processors",
        Bottleneck::Disturbed => "other work on the machine that tested it took part, so the storage may be faster",
        Bottleneck::Nic => "the network card of the machine that tested it was at its limit",
        Bottleneck::RateCap => "no more was asked of it",
        Bottleneck::RequestedRate => "it was not seen to fall behind what was asked of it",
        Bottleneck::Slots => "the test kept no more requests in flight, so the storage may be faster",
        Bottleneck::Backoff => "the test had to pause after failures",
        Bottleneck::Hanging => "some requests to it were never answered",
        Bottleneck::Target => "the limit is the storage itself, or the network to it",
        Bottleneck::Unread => "the limit is the storage itself, or the machine that tested it if it ran there",
    }
}
