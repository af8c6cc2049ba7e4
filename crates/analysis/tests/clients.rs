//! Folders of many clients, made without this code, and what the view says of them.

use linerate_analysis::build::build;
use linerate_analysis::growth::GrowthOutcome;
use linerate_analysis::records::Records;
use linerate_analysis::view::{ClientFull, Point, View};
use linerate_record::finding::{Finding, FindingKind};
use linerate_record::run::{LostClient, PointLine};
use linerate_worlds::{ClientFault, Fleet, FleetFolder};

fn records(folder: &FleetFolder) -> Records {
    fn lines<T: serde::de::DeserializeOwned>(text: &str) -> Vec<T> {
        text.lines().map(|line| serde_json::from_str(line).expect("a line of the folder")).collect()
    }
    Records {
        manifest: serde_json::from_str(&folder.run).expect("a manifest"),
        points: lines(&folder.points),
        intervals: lines(&folder.intervals),
        readings: lines(&folder.readings),
        canary: Vec::new(),
        findings: Vec::new(),
    }
}

fn built(fleet: &Fleet) -> (View, FleetFolder) {
    let folder = fleet.folder();
    (build(&records(&folder)).expect("histograms are whole"), folder)
}

fn point(view: &View, number: u32) -> &Point {
    let mut all = view.series.iter().flat_map(|series| &series.points);
    all.find(|point| point.point == number).unwrap_or_else(|| panic!("no point {number}"))
}

fn found(view: &View, kind: FindingKind) -> Vec<&Finding> {
    view.findings.iter().filter(|finding| finding.kind == kind).collect()
}

/// Whether a point gives what its clients gave together at their level, within so many hundredths.
fn assert_near(view: &View, folder: &FleetFolder, number: u32, hundredths: f64) {
    let (mean, truth) = (point(view, number).bytes_per_s.mean, folder.truth[&number]);
    assert!((mean / truth - 1.0).abs() < hundredths / 100.0, "point {number}: {mean} of {truth}");
}

#[test]
fn clients_that_begin_and_end_seconds_apart_count_while_all_are_there() {
    let client_faults = vec![ClientFault::Late { client: 3, ms: 2_800 }, ClientFault::Early { client: 9, ms: 3_700 }];
    let fleet = Fleet { client_faults, unlike: 0.0, scatter: 0.01, ..Fleet::with_clients(&[16], 1) };
    let (view, folder) = built(&fleet);
    assert_near(&view, &folder, 0, 0.5);
    let all = point(&view, 0);
    // 20 s, less both, less the warm-up from when all were there; up to an interval is lost at each end.
    assert!((11_500..=12_500).contains(&all.measured_ms), "{}", all.measured_ms);
    assert_eq!(all.driven_by, Some(16));
    let sum: f64 = all.clients.iter().map(|row| row.bytes_per_s).sum();
    assert!((sum / all.bytes_per_s.mean - 1.0).abs() < 1e-3, "{sum} of {}", all.bytes_per_s.mean);
    assert!((all.clients.iter().map(|row| row.share).sum::<f64>() - 1.0).abs() < 1e-9);
    let [apart] = found(&view, FindingKind::ClientMissing)[..] else { panic!("{:?}", view.findings) };
    assert!(apart.claim.starts_with("clients c003, c009: "), "{apart:?}");
    // How long, of each.
    assert!(apart.evidence.starts_with("c003: 3.0 s") && apart.evidence.contains("; c009: 4.0 s"), "{apart:?}");
}

#[test]
fn time_in_which_one_of_many_clients_still_warms_up_counts_for_none() {
    let client_faults = vec![ClientFault::Ramp { client: 5, ms: 6_000, share: 0.3 }];
    let fleet = Fleet { client_faults, unlike: 0.0, scatter: 0.03, warmup_ms: None, ..Fleet::with_clients(&[56], 2) };
    let (view, folder) = built(&fleet);
    let all = point(&view, 0);
    // Behind what the ramp takes, the rule for the sum may cut more, at most half of the point.
    assert!((5_500..=10_000).contains(&all.warmup_ms), "{}", all.warmup_ms);
    assert_near(&view, &folder, 0, 0.3);
    assert!((56.0 * all.clients[5].share - 1.0).abs() < 0.03, "{:?}", all.clients[5]);
    assert!(found(&view, FindingKind::ClientSlow).is_empty(), "{:?}", view.findings);
    // Without it nothing is cut.
    let (view, _) = built(&Fleet { client_faults: Vec::new(), ..fleet.clone() });
    assert!(point(&view, 0).warmup_ms <= 1_000, "{}", point(&view, 0).warmup_ms);
    // A warm-up that was given stays.
    let (view, _) = built(&Fleet { warmup_ms: Some(1_000), ..fleet });
    assert_eq!(point(&view, 0).warmup_ms, 1_000);
}

#[test]
fn intervals_that_a_client_merged_are_held_against_those_of_the_others() {
    let client_faults =
        vec![ClientFault::Merged { client: 1, from: 7, intervals: 9 }, ClientFault::Late { client: 2, ms: 250 }];
    let fleet = Fleet { client_faults, unlike: 0.0, scatter: 0.02, ..Fleet::with_clients(&[8], 3) };
    let (view, folder) = built(&fleet);
    let (all, alone) = (point(&view, 0), built(&Fleet { client_faults: Vec::new(), ..fleet }).0);
    assert_near(&view, &folder, 0, 0.5);
    assert!(point(&alone, 0).measured_ms - all.measured_ms <= 1_000, "{}", all.measured_ms);
    let [merged, whole] = [all, point(&alone, 0)].map(|p| p.bytes_per_s.half_width_95.unwrap() / p.bytes_per_s.mean);
    assert!(merged < 2.5 * whole, "{merged} {whole}: one long interval must not take the others' place");
    assert!(all.bytes_per_s.intervals >= 28, "{:?}", all.bytes_per_s);
}

#[test]
fn a_client_that_died_leaves_its_points_to_the_rest() {
    for (at_ms, driven_by, measured_ms) in [(12_000, 8, 10_000..=11_000), (1_600, 7, 16_000..=17_600)] {
        let client_faults = vec![ClientFault::Dies { client: 4, point: 1, at_ms }];
        let fleet = Fleet { client_faults, unlike: 0.0, scatter: 0.01, ..Fleet::with_clients(&[4, 8, 8], 4) };
        let (view, folder) = built(&fleet);
        let died = point(&view, 1);
        assert_eq!(died.driven_by, Some(driven_by), "{at_ms}");
        assert!(measured_ms.contains(&died.measured_ms), "{at_ms}: {}", died.measured_ms);
        let of_level = died.bytes_per_s.mean / (folder.truth[&1] / 8.0 * f64::from(driven_by));
        assert!((of_level - 1.0).abs() < 0.005, "{at_ms}: {of_level}");
        assert_eq!((point(&view, 0).driven_by, point(&view, 2).driven_by), (Some(4), Some(7)));
        assert_near(&view, &folder, 2, 0.5);
        let missing = found(&view, FindingKind::ClientMissing);
        assert_eq!((missing.len(), &missing[0].points[..]), (1, &[1, 2][..]), "{missing:?}");
        // Whoever ran it may have said what became of it: then that is told.
        let mut known = records(&folder);
        known.findings.push(Finding {
            kind: FindingKind::ClientLost,
            claim: "client c004 was lost at 01:12".into(),
            ..missing[0].clone()
        });
        let view = build(&known).unwrap();
        assert!(found(&view, FindingKind::ClientMissing).is_empty(), "{:?}", view.findings);
        assert_eq!(found(&view, FindingKind::ClientLost).len(), 1);
    }
}

/// Intervals of a client arrive seconds late: it drove load until it was lost, and not until its last one ended.
#[test]
fn time_in_which_a_lost_client_may_still_have_driven_load_counts_for_none() {
    let client_faults = vec![ClientFault::Dies { client: 4, point: 1, at_ms: 1_600 }];
    let fleet = Fleet { client_faults, unlike: 0.0, scatter: 0.01, ..Fleet::with_clients(&[4, 8, 8], 4) };
    let (before, folder) = built(&fleet);
    let mut known = records(&folder);
    let begun_ms = known.points.iter().find_map(|line| match line {
        PointLine::Begin(begin) if begin.point == 1 => Some(begin.at_ms),
        _ => None,
    });
    let at_ms = begun_ms.unwrap() + 8_000;
    for line in &mut known.points {
        if let PointLine::End(end) = line
            && end.point == 1
        {
            end.lost = vec![LostClient { client: 4, at_ms }];
        }
    }
    let after = build(&known).unwrap();
    let [before, after] = [&before, &after].map(|view| point(view, 1));
    assert_eq!((before.driven_by, after.driven_by), (Some(7), Some(7)));
    let less_ms = before.measured_ms - after.measured_ms;
    assert!((5_000..=8_000).contains(&less_ms), "{} {}", before.measured_ms, after.measured_ms);
}

#[test]
fn growth_ends_where_the_target_is_full() {
    let fleet = Fleet { visits: 2, ..Fleet::with_clients(&[7, 14, 28, 56, 112], 5) };
    let (view, folder) = built(&fleet);
    assert_eq!(view.series.iter().map(|s| s.clients).collect::<Vec<_>>(), [7, 14, 28, 56, 112].map(Some));
    let [growth] = &view.growth[..] else { panic!("{:?}", view.growth) };
    let verdict = &growth.verdict;
    assert_eq!((verdict.outcome, verdict.ended_at, verdict.highest), (GrowthOutcome::Ended, 28, 28), "{verdict:?}");
    for (at, (point, number)) in verdict.points.iter().zip(0..).enumerate() {
        assert_eq!((point.visits, point.concurrency), (2, 16 * point.clients));
        let truth = |number| folder.truth[&number];
        assert!((point.throughput.mean / truth(number) - 1.0).abs() < 0.02, "{point:?}");
        if at > 0 {
            let (ratio, expected) = (point.of_previous.unwrap(), truth(number) / truth(number - 1));
            assert!(ratio.low < 1.005 * expected && 0.995 * expected < ratio.high, "{ratio:?} {expected}");
        }
    }
    assert!((verdict.points[4].efficiency.unwrap().value - 26.0 / 112.0 / 0.95).abs() < 0.01, "{verdict:?}");
    let up_to = built(&Fleet { visits: 2, ..Fleet::with_clients(&[7, 14, 28], 5) }).0;
    assert_eq!(up_to.growth[0].verdict.outcome, GrowthOutcome::Rising);
    assert!(built(&Fleet::with_clients(&[14], 5)).0.growth.is_empty(), "one number of clients");
}

#[test]
fn a_client_that_is_slower_or_whose_own_link_is_full_is_named() {
    let client_faults =
        vec![ClientFault::Link { client: 3, share: 1.0 / 3.0 }, ClientFault::Slow { client: 11, share: 0.7 }];
    let fleet = Fleet { client_faults, ceilings: true, ..Fleet::with_clients(&[8, 56], 6) };
    let (view, _) = built(&fleet);
    let [slow] = found(&view, FindingKind::ClientSlow)[..] else { panic!("{:?}", view.findings) };
    assert!(slow.claim.starts_with("2 of 56 clients were slower than their peers: c003, c011"), "{slow:?}");
    assert!(slow.evidence.contains("its NIC eth0") && slow.points == [1, 2], "{slow:?}");
    let [full] = found(&view, FindingKind::ClientAtCeiling)[..] else { panic!("{:?}", view.findings) };
    assert!(full.claim.starts_with("client c003: it could drive no more itself"), "{full:?}");
    let rows = &point(&view, 1).clients;
    assert_eq!(rows[3].full, Some(ClientFull::Nic));
    assert!((rows[3].below_peers.unwrap() - 2.0 / 3.0).abs() < 0.03, "{:?}", rows[3]);
    assert!((rows[3].ceiling_share.unwrap() - 0.95 / 0.97).abs() < 0.03, "{:?}", rows[3]);
    assert!(rows[0].nic.as_ref().is_some_and(|nic| nic.utilisation.is_some_and(|of| of > 0.9)), "{:?}", rows[0]);
    // Eight clients drove a ceiling that 56 drove: theirs is their part of it.
    let ceiling = view.ceiling_of(&view.series[0]).unwrap();
    assert_eq!((ceiling.clients, ceiling.point.clients.len(), ceiling.point.concurrency), (Some(8), 8, 8 * 16));
    assert!((ceiling.point.bytes_per_s.mean / (7.33 * 0.97e9) - 1.0).abs() < 0.02, "{:?}", ceiling.point.bytes_per_s);
}

#[test]
fn what_is_told_of_every_client_is_one_finding() {
    let fleet = Fleet {
        client_faults: (0..20).map(|client| ClientFault::Late { client, ms: 4_000 }).collect(),
        ..Fleet::with_clients(&[64], 7)
    };
    let (view, _) = built(&fleet);
    let [late] = found(&view, FindingKind::ClientMissing)[..] else { panic!("{:?}", view.findings) };
    assert!(late.claim.starts_with("clients c000, c001, c002 and 17 more: "), "{late:?}");
}
