//! What a loss between racks is said to be, and what it is worth.

use linerate_record::diagnosis::{Cause, RackUse, Suspect};
use linerate_record::units::{bits_per_s, percent};

use super::super::sentences;
use super::super::sockets::ONE_WAY;
use super::super::suspects::ScoredCause;
use super::faults::{RackFault, RackPlace};

/// From such a share on, as a mean of the window, uplinks are full, and below the other they are not.
const FULL: f64 = 0.8;
const ROOMY: f64 = 0.5;

/// What losses both ways are worth, and what they add by their share of segments, in log odds.
const BOTH_WAYS: f64 = 6.0;
const MORE: f64 = 3.0;

/// A fault as a suspect. `fullest_link` is the most that the link of any node is in use.
pub(super) fn scored(fault: &RackFault<'_>, uses: &[RackUse], fullest_link: f64) -> ScoredCause {
    let concerned = concerned(fault, uses);
    let is_full = is_full(fault, &concerned);
    let (cause, part) = match fault.place {
        RackPlace::Uplinks(rack) => (Cause::RackUplinks, rack.to_owned()),
        RackPlace::Path((a, b)) => (Cause::RackPath, format!("{a}, {b}")),
        RackPlace::Between(_) | RackPlace::All | RackPlace::Some(..) => (Cause::Fabric, String::new()),
    };
    let may_be_full = !is_full && is_nearly_full(fault, &concerned);
    let mut one = ScoredCause::new(cause, None, &part, claim(fault, is_full, may_be_full), worth(fault));
    one.suspect.evidence.extend(concerned.iter().map(|of| carried(of)));
    let gives = if is_full { gives(fault, uses, fullest_link) } else { None };
    ScoredCause { suspect: Suspect { gives, ..one.suspect }, ..one }
}

/// Racks whose uplinks what is lost has to pass, the fullest first: of all of them, the first two.
fn concerned<'u>(fault: &RackFault<'_>, uses: &'u [RackUse]) -> Vec<&'u RackUse> {
    let is_it = |of: &&RackUse| match fault.place {
        RackPlace::Uplinks(rack) => of.name == rack,
        RackPlace::Path((a, b)) | RackPlace::Between((a, b)) => of.name == a || of.name == b,
        RackPlace::All | RackPlace::Some(..) => true,
    };
    let mut all: Vec<&RackUse> = uses.iter().filter(is_it).collect();
    let most = |of: &RackUse| of.sent_bytes_per_s.max(of.received_bytes_per_s);
    all.sort_by(|a, b| most(b).total_cmp(&most(a)));
    all.truncate(2);
    all
}

/// How full uplinks are in the directions that lose.
fn fullness(fault: &RackFault<'_>, of: &RackUse) -> Option<f64> {
    let ways = [(fault.at(&of.name, true), of.sent_share), (fault.at(&of.name, false), of.received_share)];
    ways.into_iter().filter_map(|(lost, share)| lost.and(share)).reduce(f64::max)
}

/// Whether what loses is what is full. One path of several is none of the uplinks.
fn is_full(fault: &RackFault<'_>, concerned: &[&RackUse]) -> bool {
    let at = |of: &&RackUse| fullness(fault, of).is_some_and(|share| share >= FULL);
    !matches!(fault.place, RackPlace::Path(_)) && !concerned.is_empty() && concerned.iter().all(at)
}

/// Whether bursts may fill what loses, although it is not full as a mean.
fn is_nearly_full(fault: &RackFault<'_>, concerned: &[&RackUse]) -> bool {
    let at = |of: &&RackUse| fullness(fault, of).is_some_and(|share| share >= ROOMY);
    matches!(fault.place, RackPlace::Uplinks(_)) && concerned.iter().any(at)
}

fn worth(fault: &RackFault<'_>) -> f64 {
    let by_share = (100.0 * fault.lost()).min(MORE);
    match fault.place {
        // Nodes of the rack may be at fault, unless what they send each other tells that they are not.
        RackPlace::Uplinks(_) if !fault.is_both() && !fault.is_clean_within => ONE_WAY,
        RackPlace::Uplinks(_) if !fault.is_both() => BOTH_WAYS,
        RackPlace::Path(_) | RackPlace::Between(_) if !fault.is_both() => ONE_WAY,
        RackPlace::Some(..) => ONE_WAY,
        _ => BOTH_WAYS + by_share,
    }
}

/// `may_be_full` is of uplinks that are not full as a mean, and have little room: bursts fill them.
fn claim(fault: &RackFault<'_>, is_full: bool, may_be_full: bool) -> String {
    let does = if is_full { "are full" } else { "lose packets" };
    let does = if may_be_full { "lose packets, or are full at moments that a mean does not show" } else { does };
    let lost = percent(fault.lost());
    let others = format!("{} {}", fault.compared, percent(fault.others));
    match fault.place {
        RackPlace::Uplinks(rack) => {
            let ways = [(fault.at(rack, true), "leave"), (fault.at(rack, false), "enter")];
            let said =
                ways.into_iter().filter_map(|(lost, verb)| Some(format!("{} of those that {verb} it", percent(lost?))));
            let alike = if fault.is_of_clients { "; bursts to the ports of its clients look alike" } else { "" };
            format!(
                "the uplinks of rack {rack} {does}: of segments between it and any other rack, {} are sent again; \
                 {others}{alike}",
                said.collect::<Vec<_>>().join(" and ")
            )
        }
        RackPlace::Path((a, b)) => {
            let said = fault.lossy.iter().map(|((from, to), lost)| format!("{} from {from} to {to}", percent(*lost)));
            format!(
                "the path between racks {a} and {b} loses packets: of segments, {} are sent again; {others}",
                said.collect::<Vec<_>>().join(" and ")
            )
        }
        RackPlace::Between((a, b)) => {
            let way = match fault.lossy.keys().next() {
                Some((from, to)) if !fault.is_both() => format!("from rack {from} to {to}"),
                _ => format!("between racks {a} and {b}"),
            };
            format!(
                "of segments {way}, {lost} are sent again, {others}: the uplinks of one {does_one}, or what \
                 connects them; two racks do not tell which",
                does_one = if is_full { "are full" } else { "lose them" }
            )
        }
        RackPlace::All => format!(
            "{}: of segments from any rack to any other, {lost} are sent again, {others}",
            if is_full { "the uplinks of racks are full" } else { "what connects the racks loses packets" }
        ),
        RackPlace::Some(some, all) => format!(
            "a part of what connects the racks loses packets: of segments on {some} of {all} ways from one rack to \
             another, {lost} are sent again, {others}"
        ),
    }
}

/// What uplinks carried, and what that says of them.
fn carried(of: &RackUse) -> String {
    let (sent, received) = (bits_per_s(8.0 * of.sent_bytes_per_s), bits_per_s(8.0 * of.received_bytes_per_s));
    let (Some(uplinks), Some(out), Some(into)) = (of.uplinks_bits_per_s, of.sent_share, of.received_share) else {
        return format!(
            "{sent} left rack {} and {received} entered it; the site does not state its uplinks \
             (fabric.rack_uplinks), so that full ones are not told from faulty ones",
            of.name
        );
    };
    let says = match out.max(into) {
        most if most >= FULL => "they are full, and drop what does not fit",
        most if most >= ROOMY => "as a mean of the window, so that they may be full at moments",
        _ => "they have room, so that a fault loses packets, or bursts of moments do",
    };
    format!(
        "uplinks of {} carried {} of {} out of it and {} into it: {says}",
        of.name,
        percent(out),
        bits_per_s(uplinks),
        percent(into)
    )
}

/// What uplinks that are full would give if they were not: until the fullest link of a node is, or those of another
/// rack are.
fn gives(fault: &RackFault<'_>, uses: &[RackUse], fullest_link: f64) -> Option<String> {
    let others = uses.iter().filter(|of| matches!(fault.place, RackPlace::Uplinks(rack) if of.name != rack));
    let shares = others.flat_map(|of| [of.sent_share, of.received_share]).flatten();
    let next = shares.fold(fullest_link, f64::max);
    (next > 0.0 && next < 1.0).then(|| sentences::gives(1.0 / next))
}
