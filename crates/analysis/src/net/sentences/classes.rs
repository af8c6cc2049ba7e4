//! One class of pairs against another, in a sentence: what was measured, what framing explains, and what the rest
//! costs.

use linerate_record::units::percent;

use super::super::view::{NetAgainst, NetCosts, NetRatio, NetRatioVerdict};
use super::plural;

pub(in crate::net) fn against(of: &NetAgainst) -> String {
    let (judged, base) = (of.requested.class.said(), of.requested.base.said());
    let Some(ratio) = &of.ratio else {
        return format!(
            "{judged} and {base} have no two hosts in common of which both have figures: nothing is compared"
        );
    };
    let streams = plural(of.streams as usize, "stream");
    let hosts = plural(of.pairs.len(), "pair");
    format!(
        "{judged} gives {} of {base} with {streams} over {hosts} of hosts{}",
        ratio_said(ratio, "repetition"),
        costs_said(&of.costs, ["the first", "the second"])
    )
}

/// `0.966 (95 %: 0.961 to 0.971; less beyond chance)`.
pub(in crate::net) fn ratio_said(of: &NetRatio, noun: &str) -> String {
    let verdict = match of.verdict {
        NetRatioVerdict::Less => "less beyond chance",
        NetRatioVerdict::More => "more beyond chance",
        NetRatioVerdict::Untold => "which may be chance",
    };
    let repetitions = plural(of.repetitions as usize, noun);
    match (of.ratio.low, of.ratio.high) {
        (Some(low), Some(high)) => {
            format!("{:.3} (95 % by {repetitions}: {low:.3} to {high:.3}; {verdict})", of.ratio.mean)
        }
        _ => format!("{:.3} ({repetitions}: no interval, and nothing can be said)", of.ratio.mean),
    }
}

/// What framing explains, and processor time of both, by their names; each part with a semicolon before it.
pub(in crate::net) fn costs_said(costs: &NetCosts, [first, second]: [&str; 2]) -> String {
    let mut said = String::new();
    if let (Some(framing), Some(rest)) = (costs.framing_ratio, costs.rest_ratio) {
        let segments = match costs.segment_bytes {
            [Some(one), Some(other)] => format!("segments of {one} bytes of {first} and {other} of {second}"),
            _ => "segments".to_owned(),
        };
        let overlay = match costs.overlay_bytes {
            None => "nothing known around packets".to_owned(),
            // Of segments alone it is not known how much that is.
            Some([one, other]) if one == other => "as much around packets of both".to_owned(),
            Some([one, 0]) => format!("{one} bytes around each packet of {first}"),
            Some([0, other]) => format!("{other} bytes around each packet of {second}"),
            Some([one, other]) => format!("{one} and {other} bytes around each packet"),
        };
        said.push_str(&format!(
            "; framing explains {framing:.3} on a full link ({segments}, {overlay}), and the rest is {rest:.3}{}",
            of_rest(rest)
        ));
    } else if costs.segment_bytes.iter().all(Option::is_some) {
        said.push_str(
            "; what framing explains is not known: segments differ by no encapsulation (say it by --overlay)",
        );
    }
    let sides = [
        ("sender's threads", costs.sender_cpu_s_per_gib),
        ("receiver's threads", costs.receiver_cpu_s_per_gib),
        ("sender's whole host", costs.sender_busy_s_per_gib),
        ("receiver's whole host", costs.receiver_busy_s_per_gib),
    ];
    let reported: Vec<String> = sides
        .into_iter()
        .filter_map(|(name, [one, other])| Some(format!("{name} {:.3} and {:.3}", one?, other?)))
        .collect();
    if !reported.is_empty() {
        said.push_str(&format!("; processor seconds for each GiB of {first} and of {second}: {}", reported.join(", ")));
    }
    said
}

/// What framing does not explain, where it is much.
fn of_rest(rest: f64) -> String {
    let share = rest - 1.0;
    if share.abs() < 0.02 {
        return String::new();
    }
    let way = if share < 0.0 { "less" } else { "more" };
    format!(", {} {way} than that: links were not full, or processors are the limit", percent(share.abs()))
}
