//! How forecasts read.

use linerate_record::units::bytes_per_s_iec;

use super::forecast::{Forecast, HypotheticalSite, OperationCeiling};
use super::nodes::joined;

/// So many nodes are named in a sentence.
const MOST_NAMED: usize = 4;

/// The bottleneck, and where that is not everywhere.
pub(super) fn bottleneck(world: &HypotheticalSite, ceiling: &OperationCeiling) -> String {
    let what = ceiling.bottleneck.name();
    match (&world.odd, ceiling.group) {
        (Some(odd), Some(group)) if odd.group == group => {
            format!("{what}, of {}", odd.who())
        }
        (_, Some(group)) if world.site.groups.iter().filter(|group| group.count > 0).count() > 1 => {
            format!("{what}, of {}", world.site.groups[group].name)
        }
        _ => what.to_owned(),
    }
}

/// What the model gives for the site as described, where it differs from the hypothesis: from what this says of reads
/// (`true`) and of writes where it explains what was measured. Nodes that stay slow would go on holding others back.
pub(super) fn gives(
    described: (&HypotheticalSite, &Forecast),
    forecast: &Forecast,
    left_slow: &[String],
    now_given: impl Fn(bool, &OperationCeiling) -> Option<f64>,
) -> String {
    let (mut reported, mut is_faster, mut leaves_all) = (Vec::new(), false, true);
    for (reads, verb) in [(true, "GET"), (false, "PUT")] {
        let (Some(now), Some(then)) = (forecast.of(reads), described.1.of(reads)) else { continue };
        // What it does not explain is not mended with it.
        let Some(now) = now_given(reads, now) else {
            continue;
        };
        leaves_all = false;
        is_faster |= now > then.even_bytes_per_s * 1.001;
        let [up_to, instead] = [then.even_bytes_per_s, now].map(bytes_per_s_iec);
        // What reads alike is no gain that is worth a word.
        if then.even_bytes_per_s > now * 1.001 && up_to != instead {
            let bottleneck = bottleneck(described.0, then);
            reported.push(format!("{verb} up to {up_to} instead of {instead}; bottleneck then: {bottleneck}"));
        }
    }
    if leaves_all {
        return "unknown: it explains none of the totals".to_owned();
    }
    match (reported.is_empty(), is_faster) {
        (true, true) => "nothing: the site is faster than described".to_owned(),
        (true, false) => "nothing: the site is no worse than described".to_owned(),
        (false, _) if left_slow.is_empty() => reported.join("; "),
        (false, _) if left_slow.len() > MOST_NAMED => {
            format!(
                "{}; only once the {} nodes that it does not explain are as fast",
                reported.join("; "),
                left_slow.len()
            )
        }
        (false, _) => {
            let verb = if left_slow.len() == 1 { "is" } else { "are" };
            format!("{}; only once {} {verb} as fast as the others", reported.join("; "), joined(left_slow))
        }
    }
}
