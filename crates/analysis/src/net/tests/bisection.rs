//! What racks carry at once, of fleets whose uplinks are known.

use linerate_record::finding::Severity;
use linerate_record::net::{NetRun, NetVisit, NetWay};
use linerate_worlds::SeededRng;

use super::super::view::{NetBisection, NetBisectionOutcome, NetFinding, NetFindingKind, NetView};
use super::super::{splits, turns, view};
use super::world::{self, LinkWorld, USUAL};

fn rack_per_machine(sizes: &[usize]) -> Vec<usize> {
    sizes.iter().enumerate().flat_map(|(rack, size)| vec![rack; *size]).collect()
}

fn run(sizes: &[usize], visits: u32) -> NetRun {
    let racks = rack_per_machine(sizes);
    let nodes = racks.len() as u32;
    let healthy = LinkWorld::healthy(nodes, 1);
    let mut run = world::run(&LinkWorld { visits, way: NetWay::Bisection, streams: vec![4], ..healthy });
    for (node, rack) in run.nodes.iter_mut().zip(racks) {
        node.rack = Some(format!("r{rack}"));
    }
    run
}

/// Visits of racks that carry so much of what their machines send, by the rack that sends and the one that receives.
fn visits(run: &NetRun, sizes: &[usize], carries: impl Fn(usize, usize) -> f64) -> Vec<NetVisit> {
    let racks = rack_per_machine(sizes);
    let split_rounds = splits(&racks, 16, run.seed);
    let mut rng = SeededRng::new(run.seed, 78);
    let mut pair = |&(from, to): &(u32, u32)| {
        let (a, b) = (racks[from as usize], racks[to as usize]);
        let rate = USUAL * if a == b { 1.0 } else { carries(a, b) } * (0.01 * rng.normal()).exp();
        world::pair(from, to, 4, vec![(0.5 * rate) as u64; 20])
    };
    let order = turns(split_rounds.rounds.len(), &run.load.streams, run.load.visits, run.seed);
    let visit = |(number, turn): (u32, &crate::net::NetVisitPlan)| {
        world::of_turn(number, turn, split_rounds.rounds[turn.round as usize].iter().map(&mut pair).collect())
    };
    (1..).zip(&order).map(visit).collect()
}

fn viewed(sizes: &[usize], carries: impl Fn(usize, usize) -> f64) -> NetView {
    let run = run(sizes, 3);
    view(&run, &visits(&run, sizes, carries))
}

fn bisected(view: &NetView) -> &NetBisection {
    view.bisected().expect("racks were measured")
}

fn finding(view: &NetView) -> Option<&NetFinding> {
    view.findings.iter().find(|finding| finding.kind == NetFindingKind::Oversubscription)
}

fn is_near(value: f64, expected: f64) -> bool {
    (value / expected - 1.0).abs() < 0.03
}

#[test]
fn racks_that_carry_half_are_named_with_sums_of_each_rack_and_direction() {
    let view = viewed(&[4, 4], |_, _| 0.5);
    let bisection = bisected(&view);
    assert_eq!(
        (bisection.outcome, bisection.lacking.as_str()),
        (NetBisectionOutcome::Oversubscribed, ""),
        "{bisection:?}"
    );
    assert!(
        is_near(bisection.ratio.unwrap().ratio.mean, 0.5) && is_near(bisection.oversubscription.unwrap().mean, 2.0),
        "{bisection:?}"
    );
    assert!(is_near(bisection.across_per_s.unwrap().mean, 4.0 * USUAL), "{bisection:?}");
    assert!(is_near(bisection.within_per_s.unwrap().mean, 8.0 * USUAL), "{bisection:?}");
    for rack in &bisection.racks {
        for side in [&rack.sends, &rack.receives] {
            assert!(is_near(side.across_per_s.unwrap().mean, 2.0 * USUAL), "{rack:?}");
            assert!(is_near(side.ratio.unwrap().ratio.mean, 0.5), "{rack:?}");
        }
    }
    let [split] = bisection.splits.as_slice() else { panic!("{:?}", bisection.splits) };
    assert_eq!((split.pairs, split.first.as_slice()), (8, &[0][..]));
    assert!(
        is_near(split.there_per_s.unwrap().mean, 2.0 * USUAL) && is_near(split.back_per_s.unwrap().mean, 2.0 * USUAL)
    );
    assert!(
        view.answer.starts_with("racks carry 0.50 of what their machines can send: 2.0:1 (95 % by 3"),
        "{}",
        view.answer
    );
    let finding = finding(&view).unwrap();
    assert!(
        finding.severity == Severity::Warning && finding.claim.contains("to each other at once: 2.0:1"),
        "{finding:?}"
    );
    assert!(view.slow.nodes.is_empty() && view.slow.pairs.is_empty() && view.slow.lacking.contains("on purpose"));
}

#[test]
fn racks_that_carry_everything_are_told_so_and_what_is_not_known_is_not_called() {
    let whole = viewed(&[3, 3, 3], |_, _| 1.0);
    assert_eq!((bisected(&whole).outcome, finding(&whole)), (NetBisectionOutcome::Whole, None), "{}", whole.answer);
    assert!(whole.answer.contains("or nearly all"), "{}", whole.answer);
    // Each of three racks is one half, and the other two take turns to rest.
    assert_eq!(bisected(&whole).splits.len(), 3);
    assert!(bisected(&whole).racks.iter().all(|rack| rack.sends.ratio.is_some() && rack.receives.ratio.is_some()));

    let once = run(&[4, 4], 1);
    let once = view(&once, &visits(&once, &[4, 4], |_, _| 0.5));
    let bisection = bisected(&once);
    assert_eq!((bisection.outcome, finding(&once)), (NetBisectionOutcome::Untold, None));
    assert!(once.answer.contains("one repetition has no interval: --visits 3"), "{}", once.answer);

    let mut capped = run(&[4, 4], 3);
    capped.load.max_bytes_per_s = Some(USUAL);
    let capped = view(&capped, &visits(&capped, &[4, 4], |_, _| 0.5));
    assert_eq!((bisected(&capped).outcome, finding(&capped)), (NetBisectionOutcome::Untold, None));
    assert!(capped.answer.contains("each pair was capped"), "{}", capped.answer);

    assert!(viewed(&[4, 4], |_, _| 0.95).findings.iter().all(|of| of.kind != NetFindingKind::Oversubscription));
}

#[test]
fn a_rack_whose_uplinks_carry_least_is_named_and_one_without_all_of_its_machines_is_not_judged() {
    let view = viewed(&[4, 4, 4, 4], |from, _| if from == 2 { 0.3 } else { 0.8 });
    let bisection = bisected(&view);
    let (rack, sends, side) = bisection.least().unwrap();
    assert_eq!((bisection.racks[rack].name.as_str(), sends), ("r2", true), "{bisection:?}");
    assert!(is_near(side.ratio.unwrap().ratio.mean, 0.3), "{side:?}");
    assert!(finding(&view).unwrap().evidence.contains("rack r2 sends least, 0.30"), "{:?}", finding(&view));

    let run = run(&[4, 4, 2], 3);
    let mut visits = visits(&run, &[4, 4, 2], |_, _| 0.5);
    for pair in visits.iter_mut().flat_map(|visit| &mut visit.pairs).filter(|pair| pair.from == 8) {
        pair.error = Some("refused".to_owned());
    }
    let view = super::super::view(&run, &visits);
    let bisection = bisected(&view);
    assert!(bisection.lacking.contains("do all machines have figures of: r2"), "{bisection:?}");
    assert_eq!(bisection.racks[2].sends.ratio, None);
}

#[test]
fn a_rack_of_which_a_machine_never_has_figures_leaves_nothing_of_two() {
    let run = run(&[4, 4], 3);
    let mut visits = visits(&run, &[4, 4], |_, _| 0.5);
    for pair in visits.iter_mut().flat_map(|visit| &mut visit.pairs).filter(|pair| pair.from == 0 || pair.to == 0) {
        pair.error = Some("refused".to_owned());
    }
    let view = super::super::view(&run, &visits);
    assert_eq!((bisected(&view).ratio, finding(&view)), (None, None));
    assert!(view.answer.contains("what racks carry is not known: no rack has figures of all"), "{}", view.answer);
}

#[test]
fn what_a_site_states_stands_beside_what_was_measured() {
    for (stated, severity, part) in [
        (2.0, Severity::Note, "the site states 2.0:1"),
        (1.2, Severity::Warning, "the site states 1.2:1, which is less"),
        (4.0, Severity::Note, "the site states 4.0:1, which is more"),
    ] {
        let mut run = run(&[4, 4], 5);
        run.stated_oversubscription = Some(stated);
        let view = view(&run, &visits(&run, &[4, 4], |_, _| 0.5));
        let finding = finding(&view).unwrap();
        assert!(finding.severity == severity && finding.claim.ends_with(part), "{stated}: {finding:?}");
        assert!(view.answer.contains(part), "{}", view.answer);
    }
}
