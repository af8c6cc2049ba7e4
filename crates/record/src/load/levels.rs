//! How much: at which concurrencies, or at which rates, each series is measured.

use serde::{Deserialize, Serialize};

use super::InvalidLoad;
use super::choice::Spacing;
use crate::slo::Slo;
use crate::units::Rate;

/// Most requests in flight.
pub const CONCURRENCY_MAX: u32 = 65_536;

/// Most requests per second of an open loop: even gaps of more are shorter than any wake-up.
pub const RATE_MAX: f64 = 10_000_000.0;

/// At which concurrencies or rates a series is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Levels {
    /// A closed loop at these numbers of requests in flight, rising.
    Given(Vec<u32>),
    /// A closed loop at those that the search for the knee asks for.
    Searched {
        /// The most that it tries.
        highest: u32,
    },
    /// An open loop at these rates.
    Rates {
        /// Most requests in flight.
        concurrency: u32,
        /// How requests are spaced.
        spacing: Spacing,
        /// Requests per second, rising.
        per_s: Vec<f64>,
        /// Bounds on latencies that each is held against.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slo: Option<Slo>,
    },
    /// An open loop at the rates that the search for the highest one asks for at which bounds hold.
    #[serde(rename = "highest-rate")]
    RateSearch {
        /// Most requests in flight.
        concurrency: u32,
        /// How requests are spaced.
        spacing: Spacing,
        /// The highest rate that it tries, in requests per second.
        highest_per_s: f64,
        slo: Slo,
    },
}

/// What differs from point to point of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Requests in flight; in an open loop, the most.
    pub concurrency: u32,
    /// Requests due per second, in an open loop.
    pub rate_per_s: Option<f64>,
}

impl Levels {
    /// The most requests in flight that there may be.
    #[must_use]
    pub fn highest(&self) -> u32 {
        match self {
            Levels::Given(all) => all.last().copied().unwrap_or(1),
            Levels::Searched { highest } => *highest,
            Levels::Rates { concurrency, .. } | Levels::RateSearch { concurrency, .. } => *concurrency,
        }
    }

    /// Those that are known beforehand; `None` where a search chooses them.
    #[must_use]
    pub fn given(&self) -> Option<Vec<Level>> {
        match self {
            Levels::Given(all) => {
                Some(all.iter().map(|&concurrency| Level { concurrency, rate_per_s: None }).collect())
            }
            Levels::Rates { concurrency, per_s, .. } => {
                let at = |&rate| Level { concurrency: *concurrency, rate_per_s: Some(rate) };
                Some(per_s.iter().map(at).collect())
            }
            Levels::Searched { .. } | Levels::RateSearch { .. } => None,
        }
    }

    /// Whether requests fall due by a schedule, and how that spaces them.
    #[must_use]
    pub const fn spacing(&self) -> Option<Spacing> {
        match self {
            Levels::Given(_) | Levels::Searched { .. } => None,
            Levels::Rates { spacing, .. } | Levels::RateSearch { spacing, .. } => Some(*spacing),
        }
    }

    /// Whether requests fall due by a schedule.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.spacing().is_some()
    }

    /// Bounds on latencies, in an open loop that has some.
    #[must_use]
    pub const fn slo(&self) -> Option<&Slo> {
        match self {
            Levels::Given(_) | Levels::Searched { .. } => None,
            Levels::Rates { slo, .. } => slo.as_ref(),
            Levels::RateSearch { slo, .. } => Some(slo),
        }
    }

    /// What is wrong with them, whoever wrote them.
    #[must_use]
    pub fn mistake(&self) -> Option<String> {
        let is_concurrency = |n: &u32| (1..=CONCURRENCY_MAX).contains(n);
        let is_rate = |per_s: &f64| *per_s > 0.0 && *per_s <= RATE_MAX;
        let is_good = match self {
            Levels::Given(all) => !all.is_empty() && all.iter().all(is_concurrency) && all.is_sorted(),
            Levels::Searched { highest } => is_concurrency(highest),
            Levels::Rates { concurrency, per_s, .. } => {
                is_concurrency(concurrency) && !per_s.is_empty() && per_s.iter().all(is_rate) && per_s.is_sorted()
            }
            Levels::RateSearch { concurrency, highest_per_s, .. } => {
                is_concurrency(concurrency) && is_rate(highest_per_s)
            }
        };
        (!is_good).then(|| {
            format!(
                "invalid levels: write rising concurrencies from 1 to {CONCURRENCY_MAX}, or rising rates above 0 and \
                 up to {RATE_MAX} per second"
            )
        })
    }
}

/// Reads `16`, `1,2,4` and `1..64` (doubling, its end included).
///
/// # Errors
/// [`InvalidLoad`], quoting the text.
pub fn parse_concurrencies(text: &str) -> Result<Vec<u32>, InvalidLoad> {
    let fail = || {
        InvalidLoad(format!(
            "invalid concurrency {text:?}: write a number from 1 to {CONCURRENCY_MAX}, a list 1,2,4 or \
             a doubling sweep 1..64, or auto"
        ))
    };
    let number =
        |word: &str| word.trim().parse::<u32>().ok().filter(|n| (1..=CONCURRENCY_MAX).contains(n)).ok_or_else(fail);
    let mut all = Vec::new();
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        match part.split_once("..") {
            None => all.push(number(part)?),
            Some((from, to)) => {
                let (from, to) = (number(from)?, number(to)?);
                if from > to {
                    return Err(fail());
                }
                all.extend(std::iter::successors(Some(from), |&n| n.checked_mul(2)).take_while(|&n| n < to));
                all.push(to);
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    if all.is_empty() { Err(fail()) } else { Ok(all) }
}

/// Reads `500/s` and `100/s,200/s`.
///
/// # Errors
/// [`InvalidLoad`], quoting the text.
pub fn parse_rates(text: &str) -> Result<Vec<f64>, InvalidLoad> {
    let fail = || InvalidLoad(format!("invalid rate {text:?}: write requests per second such as 500/s or 100/s,200/s"));
    let mut all = Vec::new();
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        match part.parse() {
            Ok(Rate::Requests(per_s)) if per_s <= RATE_MAX => all.push(per_s),
            _ => return Err(fail()),
        }
    }
    all.sort_by(f64::total_cmp);
    all.dedup();
    if all.is_empty() { Err(fail()) } else { Ok(all) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_search_has_its_word_of_run_folders() {
        let (spacing, slo) = (Spacing::Constant, "p99=50ms".parse().unwrap());
        let levels = Levels::RateSearch { concurrency: 1024, spacing, highest_per_s: 100.0, slo };
        let written = serde_json::to_value(&levels).unwrap();
        assert_eq!(written["highest-rate"]["highest_per_s"], 100.0, "{written}");
        assert_eq!(serde_json::from_value::<Levels>(written).unwrap(), levels);
    }

    #[test]
    fn concurrency_reads_as_number_list_or_doubling() {
        for (text, expected) in
            [("16", vec![16]), ("4,1,4", vec![1, 4]), ("1..8", vec![1, 2, 4, 8]), ("3..10,64", vec![3, 6, 10, 64])]
        {
            assert_eq!(parse_concurrencies(text).unwrap(), expected, "{text}");
        }
        for text in ["", "0", "x", "8..2", "1..", "70000", "-1"] {
            let error = parse_concurrencies(text).unwrap_err().to_string();
            assert!(error.contains(&format!("{text:?}")) && error.contains("1..64"), "{error}");
        }
    }

    #[test]
    fn levels_that_no_flag_can_ask_for_are_mistakes() {
        let rates = |per_s: &[f64]| Levels::Rates {
            concurrency: 8,
            spacing: Spacing::Constant,
            per_s: per_s.to_vec(),
            slo: None,
        };
        for (levels, is_good) in [
            (Levels::Given(vec![1, 2]), true),
            (Levels::Given(Vec::new()), false),
            (Levels::Given(vec![0, 2]), false),
            (Levels::Given(vec![4, 2]), false),
            (Levels::Searched { highest: 70_000 }, false),
            (rates(&[0.5, 10.0]), true),
            (rates(&[]), false),
            (rates(&[-1.0]), false),
            (rates(&[f64::NAN]), false),
        ] {
            assert_eq!(levels.mistake().is_none(), is_good, "{levels:?}");
        }
    }
}
