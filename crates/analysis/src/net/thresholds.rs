//! A run of links held against thresholds that the user set afterwards.

use linerate_record::lines::listed;
use linerate_record::net::NetOp;
use linerate_record::threshold::{Fails, Threshold};
use linerate_record::units::{Rate, percent};

use super::sentences::{NAMED, pair_name};
use super::view::{NetPairFigures, NetView};
use crate::thresholds::missed_in_words;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetThresholdResult {
    /// As it was written.
    pub threshold: String,
    /// Whether the figure is beyond it. A run that does not have the figure misses it.
    pub missed: bool,
    pub reported: String,
}

/// Holds a run against thresholds.
///
/// # Errors
/// A threshold of what this load has not: it would never fail.
pub fn held<'t>(view: &NetView, thresholds: &'t [Threshold]) -> Result<Vec<NetThresholdResult>, &'t Threshold> {
    let one = |threshold: &'t Threshold| {
        let (missed, reported) = threshold_result(view, threshold).ok_or(threshold)?;
        Ok(NetThresholdResult { threshold: threshold.to_string(), missed, reported })
    };
    thresholds.iter().map(one).collect()
}

/// What is missed, on one line; `None` where nothing is.
#[must_use]
pub fn missed(held: &[NetThresholdResult]) -> Option<String> {
    missed_in_words(held.iter().filter(|held| held.missed).map(|held| (&*held.threshold, &*held.reported)))
}

fn threshold_result(view: &NetView, threshold: &Threshold) -> Option<(bool, String)> {
    if threshold.workload.is_some() {
        return None;
    }
    match (threshold.fails, view.load.op) {
        (
            Fails::ThroughputBelow(Rate::Bytes(bound)) | Fails::GoodputBelow(bound),
            NetOp::Stream | NetOp::Udp { .. },
        )
        | (Fails::ThroughputBelow(Rate::Requests(bound)), NetOp::Request { .. } | NetOp::Connect) => {
            Some(slowest(view, bound))
        }
        (Fails::ErrorsAbove(bound), _) => Some(errors(view, bound)),
        (Fails::LossAbove(bound), NetOp::Stream | NetOp::Request { .. } | NetOp::Udp { .. }) => Some(loss(view, bound)),
        (Fails::SlowAbove(bound), op) if op != NetOp::Mtu => Some(slow(view, bound)),
        _ => None,
    }
}

/// The pair that is slowest with the number of streams that is compared; one without figures is slower than any.
fn slowest(view: &NetView, bound: f64) -> (bool, String) {
    if let Some(pair) = view.compared().find(|pair| pair.per_s.is_none()) {
        let why = pair.reasons.first().map_or_else(String::new, |why| format!(": {why}"));
        return (true, format!("{} has no figures{why}", pair_name(view, pair.from, pair.to)));
    }
    let rates = view.compared().filter_map(|pair| Some((pair, pair.per_s?.mean)));
    match rates.min_by(|a, b| a.1.total_cmp(&b.1)) {
        None => (true, "no pair was measured".to_owned()),
        Some((pair, mean)) => {
            let name = pair_name(view, pair.from, pair.to);
            (mean.is_nan() || mean < bound, format!("the slowest pair, {name}, gave {}", view.rate(mean)))
        }
    }
}

/// Measurements of pairs without figures, with all numbers of streams, by all ways to receivers.
fn errors(view: &NetView, bound: f64) -> (bool, String) {
    let pairs = view.pairs.iter().map(|pair| (pair.failed, pair.visits));
    // Those at receivers' own addresses are among the pairs.
    let others = view.classes.iter().filter(|of| !of.class.through.is_direct());
    let each: Vec<(u32, u32)> = pairs.chain(others.map(|of| (of.failed_visits, of.visits))).collect();
    let failed: u64 = each.iter().map(|(failed, _)| u64::from(*failed)).sum();
    let all = failed + each.iter().map(|(_, visits)| u64::from(*visits)).sum::<u64>();
    if all == 0 {
        return (true, "no pair was measured".to_owned());
    }
    let share = failed as f64 / all as f64;
    (share > bound, format!("{failed} of {all} measurements of a pair failed, {}", percent(share)))
}

/// The pair that loses most: segments that were sent again, or datagrams that did not come.
fn loss(view: &NetView, bound: f64) -> (bool, String) {
    let lost = |pair: &NetPairFigures| pair.datagrams.map(|of| of.lost_share).or(pair.retransmitted_share);
    let worst = view.compared().filter_map(|pair| Some((pair, lost(pair)?))).max_by(|a, b| a.1.total_cmp(&b.1));
    match worst {
        None => (true, "no pair says what it lost".to_owned()),
        Some((pair, share)) => {
            let name = pair_name(view, pair.from, pair.to);
            (share.is_nan() || share > bound, format!("{name} lost most, {}", percent(share)))
        }
    }
}

/// Machines and pairs that are slow beyond chance. Where nothing could be called, that is not shown.
fn slow(view: &NetView, bound: u32) -> (bool, String) {
    let slow_view = &view.slow;
    if slow_view.comparisons == 0 {
        return (true, format!("nothing was compared: {}", slow_view.lacking));
    }
    let count = slow_view.nodes.len() + slow_view.pairs.len();
    let names = slow_view.nodes.iter().map(|one| view.name(one.node).to_owned());
    let names: Vec<String> = names.chain(slow_view.pairs.iter().map(|one| pair_name(view, one.from, one.to))).collect();
    let said = if names.is_empty() { String::new() } else { format!(": {}", listed(&names, NAMED)) };
    let lacking = if slow_view.lacking.is_empty() { String::new() } else { format!("; {}", slow_view.lacking) };
    let what = if count == 1 { "1 is".to_owned() } else { format!("{count} are") };
    (count > bound as usize, format!("of machines and pairs, {what} slow beyond chance{said}{lacking}"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{viewed_rounds, viewed_with_slow_sender, viewed_world};
    use super::*;
    use crate::net::view::NetClassFigures;

    fn reported(view: &NetView, text: &str) -> (bool, String) {
        let all = [text.parse::<Threshold>().unwrap()];
        let held = held(view, &all).unwrap();
        assert!(held.len() == 1 && held[0].threshold == text, "{held:?}");
        (held[0].missed, held[0].reported.clone())
    }

    #[test]
    fn the_slowest_pair_losses_failures_and_what_is_slow_are_held_against_their_bounds() {
        // 16 Gb/s of each pair, but of what the third machine sends.
        let (healthy, slow) = (viewed_world(6, 3, 1), viewed_with_slow_sender(6, 2, 0.5));
        for (text, of_healthy, of_slow) in [
            ("goodput<14Gb/s", false, true),
            ("goodput<1Gb/s", false, false),
            ("goodput<20Gb/s", true, true),
            ("throughput<1GiB/s", false, true),
            ("errors>0", false, false),
            ("loss>0.1%", false, false),
            ("slow>0", false, true),
            ("slow>1", false, false),
        ] {
            assert_eq!(reported(&healthy, text).0, of_healthy, "{text}: {}", reported(&healthy, text).1);
            assert_eq!(reported(&slow, text).0, of_slow, "{text}: {}", reported(&slow, text).1);
        }
        assert!(reported(&slow, "slow>0").1.contains("1 is slow beyond chance: n3"), "{}", reported(&slow, "slow>0").1);
    }

    #[test]
    fn a_pair_without_figures_misses_what_it_gives_and_counts_as_a_failure() {
        let mut view = viewed_world(4, 3, 1);
        let pair = view.pairs.last_mut().unwrap();
        (pair.per_s, pair.failed, pair.visits, pair.reasons) = (None, 3, 0, vec!["refused".to_owned()]);
        pair.retransmitted_share = None;
        assert!(reported(&view, "goodput<1Mb/s").1.ends_with("has no figures: refused"));
        let (missed, said) = reported(&view, "errors>5%");
        assert!(missed && said.starts_with("3 of 36 measurements"), "{said}");
        assert!(!reported(&view, "errors>10%").0 && !reported(&view, "loss>1%").0);
        view.pairs.iter_mut().for_each(|pair| pair.retransmitted_share = Some(0.02));
        assert!(reported(&view, "loss>1%").0 && !reported(&view, "loss>3%").0);
        view.slow.comparisons = 0;
        assert!(reported(&view, "slow>0").0, "nothing was shown");
        view.pairs.clear();
        for text in ["goodput<1Mb/s", "errors>10%", "loss>1%"] {
            assert!(reported(&view, text).0, "{text}");
        }
    }

    #[test]
    fn failures_on_other_ways_than_the_direct_one_count() {
        let mut view = viewed_world(4, 3, 1);
        let class = |text: &str| NetClassFigures {
            class: text.parse().unwrap(),
            streams: 1,
            pairs: 0,
            failed: 2,
            visits: 5,
            failed_visits: 6,
            reasons: Vec::new(),
            per_s: None,
            least_round_trip_us: None,
            sender_cpu_s_per_gib: None,
            receiver_cpu_s_per_gib: None,
            to_host: None,
            to_host_over: None,
        };
        view.classes = vec![class("other/pod-pod")];
        assert!(!reported(&view, "errors>0").0, "pairs have those");
        view.classes.push(class("other/pod-pod/service"));
        let (missed, said) = reported(&view, "errors>0");
        assert!(missed && said.starts_with("6 of 47 measurements"), "{said}");
    }

    #[test]
    fn what_could_not_be_called_is_not_shown_to_be_fast() {
        for (visits, rounds, is_missed) in [(1, 1, true), (2, 1, false), (1, 7, false), (3, 7, false)] {
            let view = viewed_rounds(8, visits, rounds, 2);
            let (missed, said) = reported(&view, "slow>0");
            assert_eq!(missed, is_missed, "{visits} {rounds}: {said}");
            assert_eq!(view.slow.lacking.starts_with("nothing can be called slow"), is_missed, "{}", view.slow.lacking);
        }
    }

    #[test]
    fn what_a_load_has_not_is_refused() {
        let mut view = viewed_world(4, 3, 1);
        for (op, text) in [
            (NetOp::Stream, "get.errors>0"),
            (NetOp::Stream, "throughput<5/s"),
            (NetOp::Connect, "goodput<1Gb/s"),
            (NetOp::Connect, "loss>0"),
            (NetOp::Mtu, "goodput<1Gb/s"),
            (NetOp::Mtu, "slow>0"),
        ] {
            view.load.op = op;
            let none = [text.parse::<Threshold>().unwrap()];
            assert_eq!(held(&view, &none), Err(&none[0]), "{text}");
        }
        view.load.op = NetOp::Connect;
        assert!(reported(&view, "throughput<1k/s").1.contains("connections/s"));
    }
}
