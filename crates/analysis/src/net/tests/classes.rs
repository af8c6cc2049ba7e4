//! Hosts with pods on them: what classes of pairs give, and one against another.

use linerate_record::net::{NetClass, NetClassComparison, NetLocation, NetRoute, NetRun, NetSpace, NetVisit};
use linerate_record::readings::{ReadMeasure, ReadValue};
use linerate_worlds::SeededRng;

use super::super::view::{NetClassFigures, NetFindingKind, NetRatioVerdict, NetView};
use super::super::{turns, view};
use super::world::{self, LinkWorld, USUAL};

/// Two hosts, each with two pods and an agent of its own: machines 0 to 2 and 3 to 5.
const HOSTS: [&str; 6] = ["n1", "n1", "n1", "n2", "n2", "n2"];

fn class(word: &str) -> NetClass {
    word.parse().unwrap()
}

fn run(visits: u32) -> NetRun {
    let mut run = world::run(&LinkWorld { visits, streams: vec![1], ..LinkWorld::healthy(6, 1) });
    for (place, node) in run.nodes.iter_mut().enumerate() {
        let space = if place % 3 == 2 { NetSpace::Host } else { NetSpace::Pod };
        let service = (space == NetSpace::Pod).then(|| format!("10.96.0.{place}:5301"));
        node.place = Some(NetLocation { host: HOSTS[place].to_owned(), space, service, second: None });
    }
    run
}

/// A visit of each pair alone, by both ways, with what a pair of a class gives of the usual in a repetition.
fn visits(run: &NetRun, mut gives: impl FnMut(NetClass, u32) -> f64) -> Vec<NetVisit> {
    let pairs: Vec<(u32, u32)> =
        (0..6).flat_map(|from| (0..6).map(move |to| (from, to))).filter(|(from, to)| from != to).collect();
    let has_service = |node: u32| run.nodes[node as usize].place.as_ref().unwrap().service.is_some();
    let direct = pairs.iter().map(|pair| (*pair, NetRoute::Direct));
    let service = pairs.iter().filter(|(_, to)| has_service(*to)).map(|pair| (*pair, NetRoute::Service));
    let legs: Vec<((u32, u32), NetRoute)> = direct.chain(service).collect();
    let visit = |(number, turn): (u32, crate::net::NetVisitPlan)| {
        let ((from, to), through) = legs[turn.round as usize];
        let class = run.class_of((from, to), through).unwrap();
        let bytes = (0.5 * USUAL * gives(class, turn.repetition)) as u64;
        let mut pair = world::pair(from, to, 1, vec![bytes; 20]);
        // A pod's packets to another host are encapsulated.
        pair.sent.segment_bytes = if class.is_same || class.from == NetSpace::Host { 1_448 } else { 1_398 };
        let busy = ReadValue { of: ReadMeasure::CoresBusy, part: String::new(), value: 2.0 };
        let machine = |node| linerate_record::net::NetMachine { values: vec![busy.clone()], ..world::machine(node) };
        NetVisit {
            visit: number,
            repetition: turn.repetition,
            round: turn.round,
            streams: 1,
            member: None,
            through,
            at_ms: 12_000 * u64::from(number),
            pairs: vec![pair],
            machines: vec![machine(from), machine(to)],
        }
    };
    (1..).zip(turns(legs.len(), &[1], run.load.visits, 1)).map(visit).collect()
}

fn viewed(run: &NetRun, gives: impl FnMut(NetClass, u32) -> f64) -> NetView {
    let visits = visits(run, gives);
    view(run, &run.checked(visits).unwrap())
}

fn figures<'v>(view: &'v NetView, word: &str) -> &'v NetClassFigures {
    view.classes.iter().find(|of| of.class == class(word)).unwrap_or_else(|| panic!("{word}: {:?}", view.classes))
}

/// What goes on in each repetition, for all alike.
fn weather(repetition: u32) -> f64 {
    [1.0, 0.7, 0.9, 0.8, 0.95][repetition as usize % 5]
}

/// A little that differs between classes in each repetition.
fn jitter(class: NetClass, repetition: u32) -> f64 {
    let number = repetition * 7 + u32::from(class.is_same) + 2 * class.from as u32 + 4 * class.to as u32;
    1.0 + 0.002 * (f64::from(number.wrapping_mul(2_654_435_769) >> 16) / 32_768.0 - 1.0)
}

#[test]
fn each_class_has_its_pairs_and_is_held_against_the_hosts_themselves() {
    let run = run(5);
    let view = viewed(&run, |class, repetition| {
        let overlay = if class.from == NetSpace::Pod && !class.is_same { 0.9 } else { 1.0 };
        let service = if class.through == NetRoute::Service { 0.99 } else { 1.0 };
        overlay * service * weather(repetition) * jitter(class, repetition)
    });
    let counts: Vec<(String, u32)> = view.classes.iter().map(|of| (of.class.to_string(), of.pairs)).collect();
    let expected = [
        ("other/host-host", 2),
        ("other/host-pod", 4),
        ("other/host-pod/service", 4),
        ("other/pod-host", 4),
        ("other/pod-pod", 8),
        ("other/pod-pod/service", 8),
        ("same/host-pod", 4),
        ("same/host-pod/service", 4),
        ("same/pod-host", 4),
        ("same/pod-pod", 4),
        ("same/pod-pod/service", 4),
    ];
    assert_eq!(counts, expected.map(|(word, pairs)| (word.to_owned(), pairs)));
    // The weather is in both, and so in no ratio.
    assert_eq!(figures(&view, "other/pod-pod").to_host_over, Some(2), "n1 to n2, and back");
    let overlay = figures(&view, "other/pod-pod").to_host.unwrap();
    assert!((overlay.ratio.mean - 0.9).abs() < 0.003, "{overlay:?}");
    assert_eq!((overlay.verdict, overlay.repetitions), (NetRatioVerdict::Less, 5));
    let wide = figures(&view, "other/pod-pod").per_s.unwrap();
    assert!(wide.high.unwrap() - wide.low.unwrap() > 0.2 * wide.mean, "{wide:?}");
    assert_eq!(figures(&view, "other/host-pod").to_host.unwrap().verdict, NetRatioVerdict::Untold);
    // On one host there are no two agents of the host.
    assert_eq!(figures(&view, "same/pod-pod").to_host, None);
    assert_eq!(figures(&view, "other/host-host").to_host, None);
    // Pairs are those at the machines' own addresses; classes are no peers.
    assert_eq!((view.pairs.len(), view.visits), (30, 5 * (30 + 20)));
    assert!(view.slow.lacking.contains("pairs of 7 classes"), "{}", view.slow.lacking);
    assert!(view.slow.nodes.is_empty() && view.slow.pairs.is_empty() && view.is_mixed());
    assert!(view.findings.iter().all(|finding| finding.kind != NetFindingKind::UnevenPorts));
    let text = serde_json::to_string(&view).unwrap();
    assert_eq!(serde_json::from_str::<NetView>(&text).unwrap(), view);
}

#[test]
fn one_class_against_another_says_what_framing_explains_and_what_the_rest_costs() {
    let mut run = run(5);
    let requested =
        NetClassComparison { class: class("other/pod-pod"), base: class("other/host-host"), overlay_bytes: None };
    run.against = Some(requested);
    let framing = 1_398.0 / 1_448.0;
    let gives = |class: NetClass, repetition: u32| {
        let part = if class.from == NetSpace::Pod && !class.is_same { 0.95 * framing } else { 1.0 };
        part * weather(repetition) * jitter(class, repetition)
    };
    let found = viewed(&run, gives);
    let [against] = found.against.as_slice() else { panic!("{:?}", found.against) };
    let ratio = against.ratio.unwrap();
    assert!((ratio.ratio.mean - 0.95 * framing).abs() < 0.003, "{ratio:?}");
    assert_eq!((ratio.verdict, against.pairs.len()), (NetRatioVerdict::Less, 2));
    let hosts: Vec<(&str, &str)> = against.pairs.iter().map(|of| (of.from.as_str(), of.to.as_str())).collect();
    assert_eq!(hosts, [("n1", "n2"), ("n2", "n1")]);
    let costs = against.costs;
    assert_eq!((costs.segment_bytes, costs.overlay_bytes), ([Some(1_398), Some(1_448)], Some([50, 0])));
    assert!((costs.framing_ratio.unwrap() - framing).abs() < 1e-9, "{costs:?}");
    assert!((costs.rest_ratio.unwrap() - 0.95).abs() < 0.003, "{costs:?}");
    let [one, other] = costs.sender_cpu_s_per_gib.map(Option::unwrap);
    assert!(one > other, "the same time for fewer bytes: {costs:?}");
    let [one, other] = costs.receiver_busy_s_per_gib.map(Option::unwrap);
    assert!((one / other - 1.0 / (0.95 * framing)).abs() < 0.02, "{costs:?}");
    for part in
        ["pod → pod on two hosts gives 0.91", "less beyond chance", "framing explains 0.965", "% less than that"]
    {
        assert!(against.said.contains(part), "{part}: {}", against.said);
    }
    // What was said of an encapsulation counts before what segments tell.
    run.against = Some(NetClassComparison { overlay_bytes: Some(70), ..requested });
    let said = viewed(&run, gives).against[0].costs;
    assert_eq!(said.overlay_bytes, Some([70, 0]));
    assert!(said.framing_ratio.unwrap() < framing);
}

#[test]
fn nothing_is_said_of_one_repetition_or_of_classes_without_hosts_in_common() {
    let mut run = run(1);
    run.against = Some(NetClassComparison {
        class: class("other/pod-pod"),
        base: class("other/host-host"),
        overlay_bytes: Some(50),
    });
    let once = viewed(&run, |class, _| if class.from == NetSpace::Pod { 0.5 } else { 1.0 });
    let ratio = figures(&once, "other/pod-pod").to_host.unwrap();
    assert_eq!((ratio.verdict, ratio.ratio.low), (NetRatioVerdict::Untold, None));
    assert!(once.against[0].said.contains("no interval, and nothing can be said"), "{}", once.against[0].said);
    run.against = Some(NetClassComparison {
        class: class("other/pod-pod/second"),
        base: class("other/pod-pod"),
        overlay_bytes: None,
    });
    let none = viewed(&run, |_, _| 1.0);
    assert!(none.against[0].ratio.is_none() && none.against[0].said.contains("nothing is compared"));
}

/// Lets one pair of a class fail in some repetitions.
fn fail(run: &NetRun, visits: &mut [NetVisit], word: &str, repetitions: std::ops::Range<u32>) {
    let is_of = |visit: &NetVisit| {
        let pair = &visit.pairs[0];
        run.class_of((pair.from, pair.to), visit.through) == Some(class(word))
    };
    let key = |visit: &NetVisit| (visit.pairs[0].from, visit.pairs[0].to);
    let first = visits.iter().filter(|visit| is_of(visit)).map(key).min().unwrap();
    let failed = visits.iter_mut().filter(|visit| is_of(visit) && key(visit) == first);
    for visit in failed.filter(|visit| repetitions.contains(&visit.repetition)) {
        visit.pairs[0].error = Some("it was refused".to_owned());
    }
}

#[test]
fn a_pair_that_failed_costs_itself_where_others_say_more_without_it() {
    let run = run(4);
    for (word, repetitions, of_pods, of_others) in [
        // One of four pods' pairs between two hosts is left out.
        ("other/pod-pod", 2..3, 4, 4),
        ("other/pod-pod", 2..5, 4, 4),
        // Without that of these hosts, half of all is left: a repetition is less.
        ("other/host-host", 2..3, 3, 3),
        // Where it lacks three of four, the other way between them alone is more.
        ("other/host-host", 2..5, 4, 4),
        ("other/pod-pod/service", 1..5, 4, 4),
    ] {
        let mut visits = visits(&run, jitter);
        fail(&run, &mut visits, word, repetitions.clone());
        let view = view(&run, &visits);
        let repetitions_of = |word: &str| figures(&view, word).to_host.unwrap().repetitions;
        let found = (repetitions_of("other/pod-pod"), repetitions_of("other/pod-host"));
        assert_eq!(found, (of_pods, of_others), "{word} {repetitions:?}");
        let class_figures = figures(&view, word);
        assert_eq!(class_figures.reasons, ["it was refused"], "{word}");
        assert_eq!(class_figures.failed, u32::from(repetitions.start == 1), "{word}");
        let warned = view.warnings.iter().any(|warning| warning.contains("it was refused"));
        assert!(warned, "{word}: {:?}", view.warnings);
    }
}

#[test]
fn hosts_that_differ_are_no_difference_of_classes() {
    let run = run(5);
    let mut visits = visits(&run, |class, repetition| weather(repetition) * jitter(class, repetition));
    // What n2 sends is slow, and of pods it is not in the sample.
    let key = |visit: &NetVisit| (visit.pairs[0].from, visit.pairs[0].to);
    let is_back = |visit: &NetVisit| key(visit).0 >= 3 && key(visit).1 < 3;
    visits.retain(|visit| !(is_back(visit) && run.class_of(key(visit), visit.through) == Some(class("other/pod-pod"))));
    for visit in visits.iter_mut().filter(|visit| is_back(visit)) {
        visit.pairs[0].received_bytes.iter_mut().for_each(|bytes| *bytes /= 2);
    }
    let view = view(&run, &visits);
    let class_figures = figures(&view, "other/pod-pod");
    let rates = [class_figures, figures(&view, "other/host-host")].map(|of| of.per_s.unwrap().mean);
    assert!(rates[0] > 1.3 * rates[1], "{rates:?}");
    let ratio = class_figures.to_host.unwrap();
    assert!((ratio.ratio.mean - 1.0).abs() < 0.005, "{ratio:?}");
    assert_eq!((class_figures.to_host_over, figures(&view, "other/pod-host").to_host_over), (Some(1), Some(2)));
}

#[test]
fn what_is_around_packets_is_of_both_classes_where_both_go_to_pods_and_nothing_on_one_host() {
    let mut run = run(2);
    let mut costs = |compared: [&str; 2], overlay_bytes: Option<u32>| {
        let [class, base] = compared.map(class);
        run.against = Some(NetClassComparison { class, base, overlay_bytes });
        viewed(&run, |_, _| 1.0).against[0].costs
    };
    for (compared, said, around) in [
        (["other/pod-pod", "other/host-host"], Some(50), Some([50, 0])),
        (["other/pod-pod/service", "other/pod-pod"], Some(50), Some([50, 50])),
        (["other/pod-pod", "other/pod-host"], Some(50), Some([50, 0])),
        (["other/pod-pod", "same/pod-pod"], Some(50), Some([50, 0])),
        (["same/pod-pod", "same/host-pod"], Some(50), Some([0, 0])),
        (["same/pod-pod", "same/host-pod"], None, Some([0, 0])),
        (["other/pod-pod", "other/host-host"], None, Some([50, 0])),
        (["same/pod-pod", "other/pod-pod"], None, None),
    ] {
        assert_eq!(costs(compared, said).overlay_bytes, around, "{compared:?} {said:?}");
    }
    // Segments of both are alike, and so is what is around them.
    let alike = costs(["other/pod-pod/service", "other/pod-pod"], Some(50));
    assert_eq!(alike.framing_ratio, Some(1.0));
    // An address of IPv6 in front has longer headers behind it.
    for node in &mut run.nodes {
        let place = node.place.as_mut().unwrap();
        place.service = place.service.take().map(|_| "[fd00::7]:5301".to_owned());
    }
    let [class, base] = ["other/pod-pod/service", "other/pod-pod"].map(class);
    run.against = Some(NetClassComparison { class, base, overlay_bytes: Some(50) });
    let costs = viewed(&run, |_, _| 1.0).against[0].costs;
    assert!((costs.framing_ratio.unwrap() - 1_538.0 / 1_558.0).abs() < 1e-9, "{costs:?}");
}

#[test]
fn each_number_of_streams_is_a_comparison_more() {
    let mut run = run(3);
    let compared = ["other/pod-pod", "other/host-host"].map(class);
    run.against = Some(NetClassComparison { class: compared[0], base: compared[1], overlay_bytes: None });
    let rate_at = |class: NetClass, repetition: u32| {
        let part = if class == compared[0] { [0.90, 0.95, 0.93][repetition as usize % 3] } else { 1.0 };
        part * weather(repetition)
    };
    let visits = visits(&run, rate_at);
    assert_eq!(view(&run, &visits).against[0].ratio.unwrap().verdict, NetRatioVerdict::Less);
    run.load.streams = vec![1, 2, 4, 8, 16, 32, 64, 128];
    let view = view(&run, &visits);
    assert_eq!(view.against.len(), 8);
    assert_eq!(view.against[0].ratio.unwrap().verdict, NetRatioVerdict::Untold);
}

#[test]
fn healthy_classes_are_rarely_called() {
    // Classes that are alike; each pair scatters in each visit.
    let mut called = 0;
    for seed in 0..40 {
        let mut rng = SeededRng::new(seed, 5);
        let view = viewed(&run(3), |_, _| (0.05 * rng.normal()).exp());
        let is_called = |of: &NetClassFigures| of.to_host.is_some_and(|ratio| ratio.verdict != NetRatioVerdict::Untold);
        called += u32::from(view.classes.iter().any(is_called));
    }
    assert!(called <= 6, "{called} of 40 runs");
}
