//! The one reading that tells the leading hypotheses apart best.

use linerate_record::explanation::Separator;
use linerate_record::site::Site;
use linerate_record::units::bytes_per_s_iec;

use super::forecast::{HypotheticalSite, OperationQuery, forecast};
use super::readings::{ExpectedReading, Moment, READINGS};

/// How many hypotheses it is to tell apart.
const LEADING: usize = 12;

/// From this share of the weight on, one hypothesis leads clearly.
pub(super) const CLEAR: f64 = 0.95;

/// Counters over ten seconds differ by so much from what a model says of them.
const READING_ERROR: f64 = 0.05;

/// So much less than the chance to tell two of them apart is nothing.
const NOTHING: f64 = 0.01;

/// A surviving hypothesis, as far as readings are concerned.
pub(super) struct Leader<'a> {
    /// Its name.
    pub(super) id: &'a str,
    /// Its weight.
    pub(super) weight: f64,
    /// The site under it.
    pub(super) world: &'a HypotheticalSite,
}

/// The best reading, or the measurement of the operation that nobody observed; nothing where one hypothesis leads
/// clearly, or no reading tells the leading ones apart.
pub(super) fn separator(
    stated: &Site,
    leaders: &[Leader],
    moment: Moment,
    unobserved: Option<bool>,
) -> Option<Separator> {
    let leaders = &leaders[..leaders.len().min(LEADING)];
    if leaders.len() < 2 || leaders[0].weight >= CLEAR {
        return None;
    }
    let mut best: Option<(f64, Separator)> = None;
    let mut offer = |reading: &str, how: String, expected: Vec<Option<ExpectedReading>>| {
        let power = power(leaders, &expected);
        if power > best.as_ref().map_or(NOTHING, |(least, _)| least * 1.001) {
            let reported =
                leaders.iter().zip(expected).filter_map(|(leader, seen)| Some((leader.id.to_owned(), seen?.words)));
            best = Some((power, Separator { reading: reading.to_owned(), how, expects: reported.collect() }));
        }
    };
    for row in &READINGS {
        let seen = leaders.iter().map(|leader| (row.expected)(stated, leader.world, moment)).collect();
        let verb = if moment.reads { "GET" } else { "PUT" };
        offer(row.what, format!("{}, while {verb} runs", row.how), seen);
    }
    if let Some(reads) = unobserved {
        let verb = if reads { "get" } else { "put" };
        let seen = leaders.iter().map(|leader| of_other_operation(leader.world, reads)).collect();
        offer(
            &format!("throughput of {} as well", verb.to_uppercase()),
            format!("linerate bench --op {verb}, then explain again with both figures"),
            seen,
        );
    }
    best.map(|(_, separator)| separator)
}

fn of_other_operation(world: &HypotheticalSite, reads: bool) -> Option<ExpectedReading> {
    let forecast = if reads {
        forecast(world, OperationQuery::Ceiling, OperationQuery::No)
    } else {
        forecast(world, OperationQuery::No, OperationQuery::Ceiling)
    };
    let limit = forecast.of(reads)?.even_bytes_per_s;
    Some(ExpectedReading { figures: vec![limit], words: format!("up to {}", bytes_per_s_iec(limit)) })
}

/// The chance that two hypotheses drawn by their weights are told apart.
fn power(leaders: &[Leader], expected: &[Option<ExpectedReading>]) -> f64 {
    let sum: f64 = leaders.iter().map(|leader| leader.weight).sum();
    let mut power = 0.0;
    for i in 0..leaders.len() {
        for j in 0..i {
            if let (Some(a), Some(b)) = (&expected[i], &expected[j]) {
                power += 2.0 * leaders[i].weight * leaders[j].weight / (sum * sum) * difference(a, b);
            }
        }
    }
    power
}

/// From 0, the same, to 1, told apart by three errors or by other words.
fn difference(a: &ExpectedReading, b: &ExpectedReading) -> f64 {
    if a.figures.is_empty() || b.figures.is_empty() {
        return f64::from(u8::from(a.words != b.words));
    }
    let most = a.figures.iter().zip(&b.figures).map(|(a, b)| (a - b).abs() / (READING_ERROR * a.max(*b).max(1e-9)));
    let errors = most.fold(0.0, f64::max);
    (errors / 3.0).powi(2).min(1.0)
}
