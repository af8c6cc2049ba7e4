//! What racks carry at once, in a sentence and as a claim.

use linerate_record::finding::{Confidence, Severity};

use super::super::view::{
    NetBisection, NetBisectionOutcome, NetFinding, NetFindingKind, NetInterval, NetRatio, NetView,
};
use super::plural;
use crate::net::streams::MATTERS;

/// `2.1:1`.
fn to_one(ratio: f64) -> String {
    format!("{ratio:.1}:1")
}

/// The interval of a ratio, and by what it is; empty with a single repetition.
fn around(of: &NetRatio, shown: NetInterval) -> String {
    let repetitions = plural(of.repetitions as usize, "repetition");
    match (shown.low, shown.high) {
        (Some(low), Some(high)) => format!(" (95 % by {repetitions}: {low:.2} to {high:.2})"),
        _ => String::new(),
    }
}

/// What the site says beside it.
fn stated(of: &NetBisection) -> String {
    let Some(stated) = of.stated else { return String::new() };
    let measured = of.oversubscription.filter(|_| of.outcome != NetBisectionOutcome::Untold);
    let than = match measured {
        Some(NetInterval { low: Some(low), .. }) if low > (1.0 + MATTERS) * stated => ", which is less",
        Some(NetInterval { high: Some(high), .. }) if high < (1.0 - MATTERS) * stated => ", which is more",
        _ => "",
    };
    format!("; the site states {}{than}", to_one(stated))
}

pub(in crate::net) fn said(of: &NetBisection) -> String {
    let Some(ratio) = &of.ratio else { return format!("what racks carry is not known: {}", of.lacking) };
    let carry = format!("racks carry {:.2} of what their machines can send", ratio.ratio.mean);
    let lacking = if of.lacking.is_empty() { String::new() } else { format!("; {}", of.lacking) };
    let whole = match of.outcome {
        NetBisectionOutcome::Oversubscribed => {
            let over = of.oversubscription.unwrap_or_default();
            format!("{carry}: {}{}", to_one(over.mean), around(ratio, over))
        }
        NetBisectionOutcome::Whole => format!("{carry}, or nearly all{}", around(ratio, ratio.ratio)),
        NetBisectionOutcome::Untold => format!("{carry}{}", around(ratio, ratio.ratio)),
    };
    format!("{whole}{}{lacking}", stated(of))
}

/// That of the number of streams that is compared.
pub(super) fn in_short(view: &NetView) -> String {
    let Some(of) = view.bisected() else { return "nothing was measured across racks".to_owned() };
    let streams = plural(of.streams as usize, "stream");
    format!("{}, with {streams} a pair", of.said)
}

/// Racks that carry less than their machines can send. As much as the site states is as it was built.
pub(super) fn finding(view: &NetView) -> Option<NetFinding> {
    let oversubscribed = view.bisected().filter(|of| of.outcome == NetBisectionOutcome::Oversubscribed)?;
    let (over, ratio) = (oversubscribed.oversubscription?, oversubscribed.ratio?);
    let is_stated = oversubscribed.stated.is_some_and(|stated| over.mean <= (1.0 + MATTERS) * stated);
    let sums = match (oversubscribed.across_per_s, oversubscribed.within_per_s) {
        (Some(across), Some(within)) => {
            format!("{} of all racks at once, and {} within them", view.rate(across.mean), view.rate(within.mean))
        }
        _ => String::new(),
    };
    let least = oversubscribed.least().and_then(|(rack, sends, side)| {
        let (name, does) = (&oversubscribed.racks.get(rack)?.name, if sends { "sends" } else { "receives" });
        let of_side = side.ratio?;
        Some(format!("; rack {name} {does} least, {:.2}{}", of_side.ratio.mean, around(&of_side, of_side.ratio)))
    });
    Some(NetFinding {
        kind: NetFindingKind::Oversubscription,
        severity: if is_stated { Severity::Note } else { Severity::Warning },
        confidence: Confidence::Likely,
        nodes: Vec::new(),
        claim: format!(
            "racks carry {:.2} of what their machines can send to each other at once: {}{}",
            ratio.ratio.mean,
            to_one(over.mean),
            stated(oversubscribed)
        ),
        evidence: format!("{sums}{}{}", around(&ratio, ratio.ratio), least.unwrap_or_default()),
        remedy: if is_stated {
            String::new()
        } else {
            "the uplinks of racks and what joins them: how many are up, their speed and errors, members of their bonds \
             and the hashes of switches (more --streams fill paths more evenly); plan counts with it once the site \
             states it (--into)"
                .to_owned()
        },
    })
}
