//! The one reading that tells the leading hypotheses apart best.

use linerate_record::explanation::DistinguishingReading;
use linerate_record::site::Site;
use linerate_record::units::bytes_per_s_iec;

use super::forecast::{HypotheticalSite, OperationQuery, forecast};
use super::readings::{AlreadyRead, ExpectedReading, LoadedSite, READINGS};
use super::score::SAME;

/// How many hypotheses it is to tell apart.
const LEADING: usize = 12;

/// From this share of the weight on, one hypothesis leads clearly.
pub(super) const CLEAR: f64 = 0.95;

/// Hypotheses with so much of the first one's weight lead together with it: a judgement.
const TOGETHER: f64 = 0.5;

/// A reading that tells those apart by so much less than another may be better for the others.
const MOSTLY: f64 = 0.9;

/// Counters over ten seconds differ by so much from what a model says of them.
const READING_ERROR: f64 = 0.05;

/// So much less than the chance to tell two of them apart is nothing.
const NOTHING: f64 = 0.01;

/// A surviving hypothesis, as far as readings are concerned.
pub(super) struct Leader<'a> {
    pub(super) id: &'a str,
    pub(super) weight: f64,
    /// The site under it.
    pub(super) world: &'a HypotheticalSite<'a>,
    /// The same while it is read: of each operation of which anything is known.
    pub(super) loaded: Vec<LoadedSite<'a>>,
}

/// The best reading while either operation runs, or the measurement of the one that nobody observed; nothing where no
/// reading tells the leading ones apart, or one hypothesis leads clearly, unless totals leave several families of causes
/// (`is_open`). What was read already is none of them.
pub(super) fn separator(
    stated: &Site,
    leaders: &[Leader],
    unobserved: Option<bool>,
    read: &AlreadyRead,
    is_open: bool,
) -> Option<DistinguishingReading> {
    let leaders = &leaders[..leaders.len().min(LEADING)];
    if leaders.len() < 2 || leaders[0].weight >= CLEAR && !is_open {
        return None;
    }
    let mut offers: Vec<(String, String, Vec<Option<ExpectedReading>>)> = Vec::new();
    for row in READINGS.iter().filter(|row| !row.is_read(read)) {
        for (verb, reads) in [("GET", true), ("PUT", false)] {
            let seen = |leader: &Leader| {
                let loaded = leader.loaded.iter().find(|loaded| loaded.reads == reads)?;
                (row.expected)(stated, loaded)
            };
            let seen = leaders.iter().map(seen).collect();
            offers.push((row.what.to_owned(), format!("{}, while {verb} runs", row.how), seen));
        }
    }
    if let Some(reads) = unobserved {
        let verb = if reads { "get" } else { "put" };
        offers.push((
            format!("throughput of {} as well", verb.to_uppercase()),
            format!("linerate bench --op {verb}, then explain again with both figures"),
            leaders.iter().map(|leader| of_other_operation(leader.world, reads)).collect(),
        ));
    }
    let weights: Vec<f64> = leaders.iter().map(|leader| leader.weight).collect();
    let place = best(&weights, &offers.iter().map(|(.., expected)| expected.as_slice()).collect::<Vec<_>>())?;
    let (reading, how, expected) = offers.swap_remove(place);
    let reported = leaders.iter().zip(expected).filter_map(|(leader, seen)| Some((leader.id.to_owned(), seen?.words)));
    Some(DistinguishingReading { reading, how, expects: reported.collect() })
}

/// The place of the reading that tells most hypotheses apart, the first of those that tell as much. It tells those
/// apart that lead together, where a reading does: among others by as much as the best of these.
fn best(weights: &[f64], offers: &[&[Option<ExpectedReading>]]) -> Option<usize> {
    let together = weights.iter().take_while(|weight| **weight >= TOGETHER * weights[0]).count();
    let of_together: Vec<f64> =
        offers.iter().map(|expected| power(&weights[..together], &expected[..together])).collect();
    let least = of_together.iter().copied().fold(0.0, f64::max) * MOSTLY;
    let mut best: Option<(f64, usize)> = None;
    for (place, expected) in offers.iter().enumerate() {
        if least > NOTHING && of_together[place] < least {
            continue;
        }
        let power = power(weights, expected);
        if power > best.map_or(NOTHING, |(most, _)| most * 1.001) {
            best = Some((power, place));
        }
    }
    best.map(|(_, place)| place)
}

fn of_other_operation(world: &HypotheticalSite, reads: bool) -> Option<ExpectedReading> {
    let forecast = if reads {
        forecast(world, OperationQuery::Ceiling, OperationQuery::No)
    } else {
        forecast(world, OperationQuery::No, OperationQuery::Ceiling)
    };
    let ceiling = forecast.ceiling_for(reads)?;
    let (even, own) = (ceiling.even_bytes_per_s, ceiling.own_bytes_per_s);
    let (even_words, own_words) = (bytes_per_s_iec(even).to_string(), bytes_per_s_iec(own).to_string());
    let is_one = own <= even * (1.0 + SAME) || even_words == own_words;
    let (instead, words) = match is_one {
        true => (Vec::new(), format!("up to {even_words}")),
        false => {
            let words = format!("up to {even_words} (nodes asked in turn) or {own_words} (as many requests at each)");
            (vec![own], words)
        }
    };
    Some(ExpectedReading { figures: vec![even], instead, words })
}

/// The chance that two hypotheses drawn by their weights are told apart.
fn power(weights: &[f64], expected: &[Option<ExpectedReading>]) -> f64 {
    let sum: f64 = weights.iter().sum();
    let mut power = 0.0;
    for i in 0..weights.len() {
        for j in 0..i {
            if let (Some(a), Some(b)) = (&expected[i], &expected[j]) {
                power += 2.0 * weights[i] * weights[j] / (sum * sum) * difference(a, b);
            }
        }
    }
    power
}

/// From 0, the same, to 1, told apart by three errors or by other words: whichever load there will be.
fn difference(a: &ExpectedReading, b: &ExpectedReading) -> f64 {
    if a.figures.is_empty() || b.figures.is_empty() {
        return f64::from(u8::from(a.words != b.words));
    }
    let loads =
        |of: &'_ ExpectedReading| [of.figures.clone(), of.instead.clone()].into_iter().filter(|of| !of.is_empty());
    let least = loads(a).flat_map(|a| loads(b).map(move |b| errors(&a, &b))).fold(f64::INFINITY, f64::min);
    (least / 3.0).powi(2).min(1.0)
}

/// By how many errors the figures differ that differ most.
fn errors(a: &[f64], b: &[f64]) -> f64 {
    let each = a.iter().zip(b).map(|(a, b)| (a - b).abs() / (READING_ERROR * a.max(*b).max(1e-9)));
    each.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(figures: &[f64]) -> Vec<Option<ExpectedReading>> {
        figures.iter().map(|figure| of_loads(&[*figure])).collect()
    }

    /// What is seen of one load, or of another.
    fn of_loads(figures: &[f64]) -> Option<ExpectedReading> {
        let (first, instead) = figures.split_at(1);
        Some(ExpectedReading { figures: first.to_vec(), instead: instead.to_vec(), words: String::new() })
    }

    #[test]
    fn what_either_load_may_show_tells_no_hypotheses_apart_that_share_a_figure() {
        for (a, b, apart) in [
            (&[1.0][..], &[0.5, 1.0][..], 0.0),
            (&[1.0], &[0.5], 1.0),
            (&[1.0], &[0.5, 0.7], 1.0),
            (&[1.0, 2.0], &[0.5, 2.0], 0.0),
        ] {
            let found = power(&[0.5, 0.5], &[of_loads(a), of_loads(b)]);
            assert!((found - apart / 2.0).abs() < 1e-9, "{a:?} {b:?}: {found}");
        }
    }

    #[test]
    fn what_leads_together_is_told_apart_though_more_others_were_by_another_reading() {
        // Two directions of one link, and many others that are less likely.
        let weights = [0.13, 0.12, 0.06, 0.06, 0.06, 0.06, 0.06, 0.06, 0.06, 0.06, 0.06];
        let both_alike = seen(&[1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]);
        let each_way = seen(&[1.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        assert!(power(&weights, &both_alike) > power(&weights, &each_way));
        assert_eq!(best(&weights, &[&both_alike, &each_way]), Some(1));
        // Of readings that tell them apart, the one that tells most besides.
        let more = seen(&[1.0, 0.5, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(best(&weights, &[&both_alike, &each_way, &more]), Some(2));
        // Where none tells them apart, or one leads, what tells most.
        assert_eq!(best(&weights, &[&both_alike]), Some(0));
        let one_leads = [0.7, 0.12, 0.06, 0.06, 0.06, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let of_first = seen(&[2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(best(&one_leads, &[&both_alike, &of_first]), Some(1));
        assert_eq!(best(&weights, &[&seen(&[1.0; 11])]), None);
    }
}
