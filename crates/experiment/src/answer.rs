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

/// The sentence of a decided effect. `unit` is what is counted: `block`, or `run` of an arm.
pub(crate) fn sentence(effect: &Effect, baseline: &str, alpha: f64, matters_share: f64, unit: &str) -> String {
    let at = confidence(alpha);
    let interval = match (effect.low_share, effect.high_share) {
        (Some(low), Some(high)) => format!(" ({} to {} at {at})", signed(low), signed(high)),
        _ => String::new(),
    };
    let share = effect.share.unwrap_or(0.0);
    let way = if share < 0.0 { "lower" } else { "higher" };
    match effect.decision {
        Decision::Shown => format!("{} {way} than {baseline}{interval}", percent(share.abs())),
        Decision::RuledOut => {
            let most = effect.low_share.into_iter().chain(effect.high_share).map(f64::abs).fold(0.0, f64::max);
            format!("no effect larger than {} at {at}", percent(most))
        }
        Decision::Futile => format!(
            "dropped early: neither an effect of {} nor its absence could be shown in the blocks that were left{}",
            percent(matters_share),
            takes(effect, matters_share, unit)
        ),
        Decision::NotShown => {
            let seen = effect.detectable_share.map_or_else(String::new, |share| {
                format!("; one of {} would have been, in four of five", percent(share))
            });
            format!("no effect shown{interval}{seen}{}", takes(effect, matters_share, unit))
        }
        Decision::CannotTell => cannot_tell(effect, matters_share, unit),
        Decision::Confounded => format!(
            "{} {way} than {baseline}{interval}, but all its runs came before or after all of {baseline}: \
             by the arm or by time, cannot tell",
            percent(share.abs())
        ),
        Decision::Refused => "refused: no figure of it can be what it is said to be".to_owned(),
    }
}

fn cannot_tell(effect: &Effect, matters_share: f64, unit: &str) -> String {
    let runs = |n: u32| if n == 1 { format!("1 {unit}") } else { format!("{n} {unit}s") };
    let detectable = effect.detectable_share.map_or_else(
        || "detectable effect unknown: nothing ran twice and differed".to_owned(),
        |share| format!("detectable effect {}", percent(share)),
    );
    let against = if unit == "block" { String::new() } else { format!(" against {}", effect.baseline_runs) };
    format!("cannot tell; {detectable} ({}{against}){}", runs(effect.runs), takes(effect, matters_share, unit))
}

/// What it would take to show what matters. Of runs without blocks it is the same for all arms, and told once by the
/// report.
fn takes(effect: &Effect, matters_share: f64, unit: &str) -> String {
    if unit != "block" {
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
