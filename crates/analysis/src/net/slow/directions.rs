//! Two machines have no peers: each of their two directions is held against the other, by Welch's t over their visits
//! (Welch, Biometrika 34, 1947).

use super::super::pairs::mean_and_interval;
use super::super::streams::MATTERS;
use super::super::view::{NetPairFigures, NetSlow, NetSlowPair};
use super::median_polish::NetCell;
use super::too_few::{VISITS_LEAST, VISITS_USUAL};
use super::{FALSE_ALARMS, NetCompared, nothing};
use crate::student;

/// Half the width of the difference's interval, of logarithms, from which on half the goodput would not be told.
const BLUNT: f64 = std::f64::consts::LN_2;

/// What rounding leaves of rates that are the same, as a share.
const ROUNDING: f64 = 1e-9;

/// Holds both directions against each other.
pub(super) fn compared([one, other]: [&NetCell; 2], pairs: &[&NetPairFigures]) -> NetCompared {
    if one.visits.len().min(other.visits.len()) < VISITS_LEAST {
        let why = format!(
            "the two directions are not compared: each needs figures of {VISITS_LEAST} visits, and --visits \
             {VISITS_USUAL} says more"
        );
        return nothing(2, why);
    }
    let (less, more) = if one.value <= other.value { (one, other) } else { (other, one) };
    let [(low, low_error), (high, high_error)] = [less, more].map(of_visits);
    // Where nothing scatters at all, a difference is one of any number of errors.
    let error = low_error.hypot(high_error).max(ROUNDING);
    let degrees = degrees([low_error, high_error], [less.visits.len(), more.visits.len()]);
    let sigmas = (high - low) / error;
    let chance = student::two_sided(sigmas, degrees);
    let less_share = -(low - high).exp_m1();
    let is_slow = less_share >= MATTERS && chance <= FALSE_ALARMS;
    let half = student::quantile(0.975, degrees) * error;
    let lacking = match is_slow {
        true => "",
        false if half >= BLUNT => {
            "visits differ too much to tell the two directions apart: more of them are needed, or longer ones \
             (--visits, --duration)"
        }
        false => "neither direction gives a tenth less than the other beyond chance",
    };
    let per_s = |cell: &NetCell| {
        let direction_pair = pairs.iter().find(|pair| (pair.from as usize, pair.to as usize) == (cell.from, cell.to));
        direction_pair.and_then(|pair| pair.per_s).map_or_else(|| cell.value.exp(), |rate| rate.mean)
    };
    let slow = is_slow.then(|| NetSlowPair {
        from: u32::try_from(less.from).unwrap_or(u32::MAX),
        to: u32::try_from(less.to).unwrap_or(u32::MAX),
        less_share,
        sigmas: -sigmas,
        chance,
        per_s: per_s(less),
        expected_per_s: per_s(more),
    });
    let nothing = nothing(2, lacking.to_owned());
    NetCompared {
        slow: NetSlow {
            comparisons: u32::from(is_slow || half < BLUNT),
            false_alarm_share: FALSE_ALARMS,
            pairs: slow.into_iter().collect(),
            ..nothing.slow
        },
        ..nothing
    }
}

/// The mean of a direction's visits, of logarithms, and its standard error.
fn of_visits(cell: &NetCell) -> (f64, f64) {
    let logs: Vec<f64> = cell.visits.iter().map(|(_, log)| *log).collect();
    let (mean, half) = mean_and_interval(&logs);
    let quantile = student::quantile(0.975, logs.len() as f64 - 1.0);
    (mean, half.unwrap_or(0.0) / quantile)
}

/// Degrees of freedom of a difference, by Welch and Satterthwaite; where nothing scatters, those of the fewer visits.
fn degrees(errors: [f64; 2], visits: [usize; 2]) -> f64 {
    let own = visits.map(|visits| visits as f64 - 1.0);
    let all = (errors[0].powi(2) + errors[1].powi(2)).powi(2);
    let each: f64 = errors.iter().zip(own).map(|(error, own)| error.powi(4) / own).sum();
    if each > 0.0 { all / each } else { own[0].min(own[1]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(from: usize, rates: &[f64]) -> NetCell {
        let visits: Vec<(usize, f64)> = rates.iter().map(|rate| rate.ln()).enumerate().collect();
        let value = visits.iter().map(|(_, log)| log).sum::<f64>() / visits.len() as f64;
        NetCell { from, to: 1 - from, value, visits, half: None }
    }

    /// What the first direction gives in its visits and what the other does, which is slow by how much, and what is
    /// said where none is.
    type Case<'c> = (&'c str, &'c [f64], &'c [f64], Option<(u32, f64)>, &'c str);

    #[test]
    fn a_direction_is_slow_where_it_gives_a_tenth_less_beyond_chance_and_else_it_is_said_why_not() {
        let cases: [Case<'_>; 8] = [
            ("half", &[9.9, 10.0, 10.1], &[5.0, 5.1, 5.2], Some((1, 0.49)), ""),
            ("the other", &[5.0, 5.1, 5.2], &[9.9, 10.0, 10.1], Some((0, 0.49)), ""),
            ("alike", &[9.9, 10.0, 10.1], &[9.8, 9.9, 10.0], None, "neither direction gives a tenth less"),
            (
                "less than a tenth",
                &[10.0, 10.0, 10.001],
                &[9.3, 9.3, 9.301],
                None,
                "neither direction gives a tenth less",
            ),
            ("chance", &[6.0, 10.0, 14.0], &[5.0, 7.0, 9.0], None, "differ too much to tell"),
            ("one visit", &[10.0], &[5.0], None, "--visits 3 says more"),
            ("nothing scatters", &[10.0, 10.0], &[5.0, 5.0], Some((1, 0.5)), ""),
            ("one and the same", &[10.0, 10.0], &[10.0, 10.0], None, "neither direction gives a tenth less"),
        ];
        for (case, there, back, slow, said) in cases {
            let found = compared([&cell(0, there), &cell(1, back)], &[]).slow;
            let called = found.pairs.first().map(|one| (one.from, (100.0 * one.less_share).round() / 100.0));
            assert_eq!(called, slow, "{case}: {found:?}");
            assert!(found.lacking.contains(said), "{case}: {found:?}");
            assert_eq!(found.lacking.is_empty(), slow.is_some(), "{case}: {found:?}");
            assert!(found.pairs.iter().all(|one| one.sigmas < 0.0 && one.per_s < one.expected_per_s), "{found:?}");
        }
    }

    #[test]
    fn degrees_are_those_of_the_direction_that_scatters() {
        assert!((degrees([0.1, 0.1], [3, 3]) - 4.0).abs() < 1e-9);
        assert!((degrees([0.1, 0.0], [3, 9]) - 2.0).abs() < 1e-9);
        assert!((degrees([0.0, 0.0], [3, 5]) - 2.0).abs() < 1e-9);
    }
}
