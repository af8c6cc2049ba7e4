//! How throughput over clients reads, and what single clients of many did.

use linerate_analysis::growth::{GrowthOutcome, GrowthPoint, GrowthVerdict, Range};
use linerate_analysis::view::{
    ClientFigures, ClientFull, ClientSpread, Growth, GrowthPlan, Measure, PlannedClients, Point, Series,
};
use linerate_record::lines::listed;
use linerate_record::units::{bits_per_s, bytes_per_s_iec, count};

use super::{decimal, percent, plural, requests_per_s};

/// Clients of which each has a row in text; of more, what they have in common is told.
pub(crate) const ROWS_MAX: usize = 8;

/// Slow or full clients that are named.
const NAMED_MAX: usize = 3;

/// Throughput in the measure of its series.
pub(crate) fn rate(throughput: f64, measure: Measure) -> String {
    match measure {
        Measure::Bytes => bytes_per_s_iec(throughput),
        Measure::Requests => requests_per_s(throughput),
    }
}

/// A multiple with its interval: `1.02 × (0.99–1.05)`.
pub(crate) fn times(of: &Range) -> String {
    format!("{} × ({}–{})", short(of.value), short(of.low), short(of.high))
}

/// A share with its interval: `52 % (50–54)`.
pub(crate) fn share(of: &Range) -> String {
    let whole = |share: f64| format!("{:.0}", 100.0 * share);
    format!("{} % ({}–{})", whole(of.value), whole(of.low), whole(of.high))
}

/// The same where there is little room, by the wider half of the interval: `52 ± 2 %`.
pub(crate) fn share_within(of: &Range) -> String {
    let half = (of.high - of.value).max(of.value - of.low);
    format!("{:.0} ± {:.0} %", 100.0 * of.value, (100.0 * half).ceil())
}

fn short(value: f64) -> String {
    if value < 9.995 { format!("{value:.2}") } else { decimal(value) }
}

/// Where growth over clients ended: the line that answers the run.
pub(crate) fn verdict(growth: &Growth) -> String {
    let growth_verdict = &growth.verdict;
    let Some(largest) = growth_verdict.points.last().map(|point| point.clients) else { return String::new() };
    let gave = match (&growth_verdict.largest_of_end, growth_verdict.points.iter().rev().nth(1)) {
        (Some(ratio), _) => format!("{} give {} of {}", plural_clients(largest), times(ratio), growth_verdict.ended_at),
        (None, Some(GrowthPoint { clients, .. })) => {
            match growth_verdict.points.last().and_then(|last| last.of_previous) {
                Some(ratio) => format!("{} give {} of {clients}", plural_clients(largest), times(&ratio)),
                None => plural_clients(largest),
            }
        }
        _ => plural_clients(largest),
    };
    let said = match growth_verdict.outcome {
        GrowthOutcome::Ended => format!("growth ended at {}", ended(growth_verdict)),
        GrowthOutcome::Falls => format!("growth ended at {}, and more clients give less", ended(growth_verdict)),
        GrowthOutcome::Rising => format!("throughput still grew at {largest}, the most that were measured"),
        GrowthOutcome::Undecided if growth_verdict.ended_at == largest => format!(
            "growth may have ended at {}, or go on beyond {largest}: measure longer, or with more clients",
            growth_verdict.lowest
        ),
        GrowthOutcome::Undecided => format!(
            "growth may have ended at {}, or go on to {largest}: measure longer, or with more clients",
            ended(growth_verdict)
        ),
        GrowthOutcome::Capped => "the cap of --max-rate levels throughput off: no end of growth is reported".to_owned(),
        GrowthOutcome::Unsteady => "throughput is too unsteady to say where growth ended".to_owned(),
    };
    let again = growth_verdict
        .rises_again
        .filter(|_| growth_verdict.outcome != GrowthOutcome::Unsteady)
        .map_or_else(String::new, |rise| {
            format!("; but throughput rises again from {} to {} clients", rise.low, rise.after)
        });
    format!("{gave}: {said}{again}")
}

/// `28 (14–28)`: the number at which growth ended, and those that may be it.
fn ended(of: &GrowthVerdict) -> String {
    if of.lowest == of.highest {
        of.ended_at.to_string()
    } else {
        format!("{} ({}–{})", of.ended_at, of.lowest, of.highest)
    }
}

fn plural_clients(n: u32) -> String {
    plural(u64::from(n), "client")
}

/// What a site can do with so many clients: each bottleneck, and for which numbers.
pub(crate) fn planned(plan: &GrowthPlan) -> String {
    let stretch = |of: &[PlannedClients]| {
        let [first, .., last] = of else {
            return of.first().map_or_else(String::new, |one| format!("{} ({})", with(one.clients), at(one, one)));
        };
        format!("{} to {} ({})", with(first.clients), last.clients, at(first, last))
    };
    let parts: Vec<String> = plan.points.chunk_by(|a, b| a.bottleneck == b.bottleneck).map(stretch).collect();
    let last = plan.points.last().map_or_else(String::new, |last| {
        format!("; measured with {} is {} of the ceiling", last.clients, percent(last.measured_share))
    });
    format!("{}'s ceilings: {}{last}", plan.site, parts.join(", "))
}

fn with(clients: u32) -> String {
    format!("with {clients}")
}

fn at(first: &PlannedClients, last: &PlannedClients) -> String {
    let [low, high] = [first, last].map(|one| bytes_per_s_iec(one.ceiling_bytes_per_s));
    let limit = if low == high { low } else { format!("{low} to {high}") };
    format!("{}, {limit}", first.bottleneck.name())
}

/// By how many of its clients a point's figures are, where some did not drive load all the time.
pub(crate) fn driven_by(series: &Series, point: &Point) -> Option<String> {
    let (requested, driven) = (series.clients?, point.driven_by?);
    (driven < requested).then(|| {
        format!("figures come from {driven} of {requested} clients: the others did not drive load all the time")
    })
}

/// What many clients have in common at a point, and who has not.
pub(crate) fn spread(point: &Point, measure: Measure) -> String {
    let rows = &point.clients;
    let Some(ClientSpread { lowest, median, highest }) = point.client_spread else { return String::new() };
    let [low, middle, high] = [lowest, median, highest].map(|throughput| rate(throughput, measure));
    let slow = named(rows, |row| row.below_peers.map(|below| format!("−{}", percent(below))));
    let full = named(rows, |row| row.full.filter(|_| row.below_peers.is_none()).map(|full| full_by(row, full)));
    let reported = |what: &str, names: String| if names.is_empty() { names } else { format!("; {what}: {names}") };
    format!(
        "{} gave {low} to {high} each, median {middle}{}{}",
        plural(rows.len() as u64, "client"),
        reported("slower than its peers", slow),
        reported("full", full)
    )
}

/// Clients of which something is to be said, by name.
fn named(rows: &[ClientFigures], what: impl Fn(&ClientFigures) -> Option<String>) -> String {
    let all: Vec<String> = rows.iter().filter_map(|row| Some(format!("{} ({})", row.client, what(row)?))).collect();
    listed(&all, NAMED_MAX)
}

/// What of a client was full.
pub(crate) fn full_by(row: &ClientFigures, full: ClientFull) -> String {
    match full {
        ClientFull::Threads => "threads".to_owned(),
        ClientFull::NullTarget => "as fast as against the null target".to_owned(),
        ClientFull::Nic => row.nic.as_ref().map_or_else(|| "NIC".to_owned(), |nic| format!("NIC {}", nic.name)),
    }
}

/// A client's busiest interface: `eth0 97 %`, or what it carried where its speed is not known.
pub(crate) fn nic(row: &ClientFigures) -> Option<String> {
    let nic = row.nic.as_ref()?;
    let used = nic.utilisation.map_or_else(|| bits_per_s(nic.bits_per_s), percent);
    Some(format!("{} {used}", nic.name))
}

/// How each client of a point stands beside the others, for its row: `slow −66 %`, `full: NIC eth0`.
pub(crate) fn state(row: &ClientFigures) -> String {
    let slow = row.below_peers.map(|below| format!("slow −{}", percent(below)));
    let full = row.full.map(|full| format!("full: {}", full_by(row, full)));
    slow.into_iter().chain(full).collect::<Vec<_>>().join(", ")
}

/// Retransmitted segments per second.
pub(crate) fn retransmits(row: &ClientFigures) -> Option<String> {
    row.retransmits_per_s.map(count)
}
