//! The one reading that tells most about the leading hypotheses for the reader's time.

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

/// Counters over ten seconds differ by so much from what a model says of them.
const READING_ERROR: f64 = 0.05;

/// Less information than this is none, in bits.
const NOTHING_BITS: f64 = 0.01;

/// To measure the other operation as well takes so many minutes.
const OTHER_OPERATION_MINUTES: f64 = 3.0;

/// A surviving hypothesis, as far as readings are concerned.
pub(super) struct Leader<'a> {
    pub(super) id: &'a str,
    pub(super) weight: f64,
    /// The site under it.
    pub(super) world: &'a HypotheticalSite<'a>,
    /// The same while it is read: of each operation of which anything is known.
    pub(super) loaded: Vec<LoadedSite<'a>>,
}

/// The reading that tells most for its time, while either operation runs, or the measurement of the one that nobody
/// observed; nothing where no reading tells the leading ones apart, or one hypothesis leads clearly, unless totals
/// leave several families of causes (`is_open`). What was read already is none of them.
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
    let mut offers: Vec<OfferedReading> = Vec::new();
    for row in READINGS.iter().filter(|row| !row.is_read(read)) {
        for (verb, reads) in [("GET", true), ("PUT", false)] {
            let expected = |leader: &Leader| {
                let loaded = leader.loaded.iter().find(|loaded| loaded.reads == reads)?;
                (row.expected)(stated, loaded)
            };
            offers.push(OfferedReading {
                reading: row.what.to_owned(),
                how: format!("{}, while {verb} runs", row.how),
                minutes: row.minutes,
                expected: leaders.iter().map(expected).collect(),
            });
        }
    }
    if let Some(reads) = unobserved {
        let verb = if reads { "get" } else { "put" };
        offers.push(OfferedReading {
            reading: format!("throughput of {} as well", verb.to_uppercase()),
            how: format!("linerate bench --op {verb}, then explain again with both figures"),
            minutes: OTHER_OPERATION_MINUTES,
            expected: leaders.iter().map(|leader| of_other_operation(leader.world, reads)).collect(),
        });
    }
    let weights: Vec<f64> = leaders.iter().map(|leader| leader.weight).collect();
    let (place, bits) = best(&weights, &offers)?;
    let OfferedReading { reading, how, minutes, expected } = offers.swap_remove(place);
    let reported = leaders.iter().zip(expected).filter_map(|(leader, seen)| Some((leader.id.to_owned(), seen?.words)));
    Some(DistinguishingReading { reading, how, bits, minutes, expects: reported.collect() })
}

/// A reading that could be taken next.
struct OfferedReading {
    reading: String,
    how: String,
    /// What it takes of the reader's time.
    minutes: f64,
    /// What each hypothesis expects.
    expected: Vec<Option<ExpectedReading>>,
}

/// The place of the reading that tells most for its time, the first of those that tell as much, with what it tells.
fn best(weights: &[f64], offers: &[OfferedReading]) -> Option<(usize, f64)> {
    let mut best: Option<(f64, usize, f64)> = None;
    for (place, offer) in offers.iter().enumerate() {
        let bits = information_bits(weights, &offer.expected);
        let rate = bits / offer.minutes;
        if bits > NOTHING_BITS && best.is_none_or(|(most, ..)| rate > most * 1.001) {
            best = Some((rate, place, bits));
        }
    }
    best.map(|(_, place, bits)| (place, bits))
}

/// What a reading is expected to tell about which hypothesis is true, in bits: H(w) − Σ P(o)·H(w|o). That is the
/// entropy of what is seen. Outcomes that look alike count as one, as far as they do: the entropy of Leinster and
/// Cobbold (Ecology 93, 2012), of order 1.
fn information_bits(weights: &[f64], expected: &[Option<ExpectedReading>]) -> f64 {
    let sum: f64 = weights.iter().sum();
    let of_one = |i: usize| {
        let alike = (0..weights.len()).map(|j| weights[j] / sum * likeness(&expected[i], &expected[j])).sum::<f64>();
        -weights[i] / sum * alike.log2()
    };
    (0..weights.len()).filter(|i| weights[*i] > 0.0).map(of_one).sum::<f64>().max(0.0)
}

/// From 0, distinct, to 1, the same. A reading that says nothing of a hypothesis may show what any other expects.
fn likeness(a: &Option<ExpectedReading>, b: &Option<ExpectedReading>) -> f64 {
    a.as_ref().zip(b.as_ref()).map_or(1.0, |(a, b)| 1.0 - difference(a, b))
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
        for (a, b, bits) in [
            (&[1.0][..], &[0.5, 1.0][..], 0.0),
            (&[1.0], &[0.5], 1.0),
            (&[1.0], &[0.5, 0.7], 1.0),
            (&[1.0, 2.0], &[0.5, 2.0], 0.0),
        ] {
            let found = information_bits(&[0.5, 0.5], &[of_loads(a), of_loads(b)]);
            assert!((found - bits).abs() < 1e-9, "{a:?} {b:?}: {found}");
        }
    }

    #[test]
    fn information_is_the_entropy_of_what_is_seen() {
        let four = [0.25; 4];
        let each = seen(&[1.0, 2.0, 3.0, 4.0]);
        for (weights, expected, bits) in [
            (four, &each, 2.0),
            (four, &seen(&[1.0, 1.0, 2.0, 2.0]), 1.0),
            (four, &seen(&[1.0; 4]), 0.0),
            // By a fifth of three errors, 5 % each, two of them are nearly alike.
            (four, &seen(&[1.0, 1.03, 2.0, 2.0]), 1.013),
            ([0.5, 0.5, 0.0, 0.0], &each, 1.0),
            // One that is nearly certain leaves little to tell.
            ([0.99, 0.01, 0.0, 0.0], &each, 0.0808),
        ] {
            let found = information_bits(&weights, expected);
            assert!((found - bits).abs() < 2e-2, "{weights:?}: {found}, not {bits}");
        }
        assert_eq!(information_bits(&four, &[None, None, None, None]), 0.0);
    }

    #[test]
    fn the_reading_that_tells_most_for_its_time_is_the_next_one() {
        let offer = |figures: &[f64], minutes: f64| OfferedReading {
            reading: String::new(),
            how: String::new(),
            minutes,
            expected: seen(figures),
        };
        let weights = [0.25; 4];
        let (whole, half) = ([1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 2.0, 2.0]);
        let chosen = |offers: &[OfferedReading]| best(&weights, offers).map(|(place, _)| place);
        assert_eq!(chosen(&[offer(&half, 1.0), offer(&whole, 1.0)]), Some(1));
        assert_eq!(chosen(&[offer(&half, 1.0), offer(&whole, 3.0)]), Some(0));
        assert_eq!(chosen(&[offer(&half, 1.0), offer(&half, 1.0)]), Some(0), "the first of equal ones");
        assert_eq!(chosen(&[offer(&[1.0; 4], 1.0)]), None);
    }
}
