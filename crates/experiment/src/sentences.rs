//! What is said of an arm, in words.

use linerate_record::experiment::{Decision, Effect};

/// A share in percent with its sign: `+4.2 %`, `−0.3 %`.
pub(crate) fn signed(share: f64) -> String {
    let sign = if share < 0.0 { '−' } else { '+' };
    format!("{sign}{}", percent(share.abs()))
}

/// A share in percent: `4.2 %`, `0.05 %`, `120 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let decimals = if percent >= 99.95 { 0 } else { 1 + usize::from(percent > 0.0 && percent < 0.1) };
    format!("{percent:.decimals$} %")
}

/// `95 %` of a level of 0.05, `99.9 %` of 0.001.
pub(crate) fn confidence(alpha: f64) -> String {
    let text = format!("{:.3}", 100.0 * (1.0 - alpha));
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExperimentalUnit {
    /// Blocks that hold every arm once.
    Block,
    /// Runs of an arm.
    Run,
}

/// What else an effect may be.
pub(crate) const OR_TIME: &str = "by the arm or by time, cannot tell";
pub(crate) const OR_ALONGSIDE: &str = "whatever else changed with the arm shows in it";

/// The interval of an effect in brackets, with a space before it.
fn interval(effect: &Effect, alpha: f64) -> String {
    match (effect.low_share, effect.high_share) {
        (Some(low), Some(high)) => format!(" ({} to {} at {})", signed(low), signed(high), confidence(alpha)),
        _ => String::new(),
    }
}

/// `5.0 % higher than default (+4.1 % to +5.9 % at 95 %)`.
fn differs(effect: &Effect, baseline: &str, alpha: f64) -> String {
    let share = effect.share.unwrap_or(0.0);
    let way = if share < 0.0 { "lower" } else { "higher" };
    format!("{} {way} than {baseline}{}", percent(share.abs()), interval(effect, alpha))
}

/// The sentence of a decided effect.
pub(crate) fn sentence(
    effect: &Effect,
    baseline: &str,
    alpha: f64,
    matters_share: f64,
    unit: ExperimentalUnit,
) -> String {
    let is_zero_inside =
        effect.low_share.is_none_or(|low| low <= 0.0) && effect.high_share.is_none_or(|high| high >= 0.0);
    match effect.decision {
        Decision::Shown => differs(effect, baseline, alpha),
        Decision::RuledOut => {
            let most = effect.low_share.into_iter().chain(effect.high_share).map(f64::abs).fold(0.0, f64::max);
            format!("no effect larger than {} at {}", percent(most), confidence(alpha))
        }
        Decision::Confounded | Decision::Association if is_zero_inside => {
            let most = effect.low_share.into_iter().chain(effect.high_share).map(f64::abs).fold(0.0, f64::max);
            format!("no difference larger than {} at {}", percent(most), confidence(alpha))
        }
        Decision::Confounded | Decision::Association => differs(effect, baseline, alpha),
        Decision::Futile => format!(
            "dropped early: neither an effect of {} nor its absence could be shown in the blocks that were left{}",
            percent(matters_share),
            takes(effect, matters_share, unit)
        ),
        Decision::NotShown => {
            // What was measured must not be beyond what is said to be seen.
            let seen = effect.detectable_share.filter(|seen| effect.share.is_none_or(|share| share.abs() < *seen));
            let seen = seen.map_or_else(String::new, |share| {
                format!("; one of {} would have been, in four of five", percent(share))
            });
            format!("no effect shown{}{seen}{}", interval(effect, alpha), takes(effect, matters_share, unit))
        }
        Decision::CannotTell => {
            format!("cannot tell from {}{}", counted_runs(effect.runs, unit), takes(effect, matters_share, unit))
        }
        // Told with their reasons by `void`.
        Decision::ExcludesBlocks | Decision::CarriedOver | Decision::NotSettled | Decision::AtFirst => {
            "cannot tell".to_owned()
        }
        Decision::Refused => "refused: none of its figures is possible".to_owned(),
    }
}

/// What the blocks show, and why it does not hold.
pub(crate) fn void(effect: &Effect, baseline: &str, alpha: f64, window: &str, why: &str) -> String {
    format!("cannot tell: it measured {}{window}, but {why}", differs(effect, baseline, alpha))
}

/// Where no figures whatever could have been called: why, what would do, and what is known all the same. `ways` is how
/// many rearrangements there are, `spread` the standard deviation of runs of one arm, `order` how its runs came.
pub(crate) fn cannot_tell(
    effect: &Effect,
    ways: f64,
    spread: Option<f64>,
    order: Option<&str>,
    alpha: f64,
    unit: ExperimentalUnit,
) -> String {
    let at = confidence(alpha);
    let (own, base) = (counted_runs(effect.runs, unit), effect.baseline_runs);
    if effect.share.is_none() {
        return format!("cannot tell: {own}{}, so nothing can be compared", against(base, unit));
    }
    let least = match unit {
        ExperimentalUnit::Block => crate::design::least_blocks(alpha),
        ExperimentalUnit::Run => (2..).find(|&n| least_of_runs(n) <= alpha / 2.0).unwrap_or(u32::MAX),
    };
    let chance = if ways > 2.0 { format!(", 1 in {:.0}", ways / 2.0) } else { String::new() };
    let needs = match unit {
        ExperimentalUnit::Block => format!("at least {least} blocks are needed"),
        ExperimentalUnit::Run => format!("at least {least} interleaved runs each are needed"),
    };
    let spread =
        spread.map_or_else(String::new, |sd| format!("; runs of one arm differ by {} (sd)", percent(sd.exp_m1())));
    // What chance does, more runs mend; what time does, they do not.
    let order = order.map_or_else(String::new, |how| format!("{how}, by the arm or by time; and "));
    format!(
        "cannot tell: {order}{own}{} can differ by chance in any case{chance}, which does not allow {at}; \
         {needs}{spread}",
        against(base, unit)
    )
}

/// The probability of the most extreme of all ways to part two groups of `n` runs each.
fn least_of_runs(n: u32) -> f64 {
    1.0 / crate::permutation_test::arrangements(2 * n as usize, n as usize)
}

/// Where a difference is beyond chance by itself, and not beyond that of all that were looked at.
pub(crate) fn lost_in_family(effect: &Effect, baseline: &str, alpha: f64, tests: usize, asks: f64) -> String {
    format!(
        "on its own {}, but it is one of {tests} comparisons: its p of {} is not below the {} that these require",
        differs(effect, baseline, alpha),
        probability(effect.p.unwrap_or(1.0)),
        probability(asks)
    )
}

/// `0.031`, `0.00045`: two digits.
fn probability(p: f64) -> String {
    let decimals = if p > 0.0 { (1.0 - p.log10().floor()).clamp(2.0, 9.0) as usize } else { 2 };
    format!("{p:.decimals$}")
}

/// `2 blocks of larger`, `no block of default`.
pub(crate) fn counted(n: usize, arm: &str, blocked: bool) -> String {
    let unit = if blocked { "block" } else { "run" };
    match n {
        0 => format!("no {unit} of {arm}"),
        1 => format!("1 {unit} of {arm}"),
        n => format!("{n} {unit}s of {arm}"),
    }
}

fn counted_runs(n: u32, unit: ExperimentalUnit) -> String {
    let unit = if unit == ExperimentalUnit::Block { "block" } else { "run" };
    if n == 1 { format!("1 {unit}") } else { format!("{n} {unit}s") }
}

fn against(baseline_runs: u32, unit: ExperimentalUnit) -> String {
    if unit == ExperimentalUnit::Block { String::new() } else { format!(" against {baseline_runs}") }
}

/// What it would take to show what matters. Of runs without blocks it is the same for all arms, and told once by the
/// report.
fn takes(effect: &Effect, matters_share: f64, unit: ExperimentalUnit) -> String {
    if unit != ExperimentalUnit::Block {
        return String::new();
    }
    let Some(needed) = effect.runs_needed else { return String::new() };
    let time = effect
        .needed_ns
        .map_or_else(String::new, |ns| format!(", about {}", linerate_record::units::duration_ns(ns as f64)));
    format!("; {} takes about {needed} blocks{time}", percent(matters_share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_read_as_percent() {
        for (share, text) in [(0.042, "+4.2 %"), (-0.003, "−0.3 %"), (0.0005, "+0.05 %"), (1.2, "+120 %")] {
            assert_eq!(signed(share), text);
        }
        for (alpha, text) in [(0.05, "95 %"), (0.001, "99.9 %"), (0.1, "90 %")] {
            assert_eq!(confidence(alpha), text);
        }
    }
}
