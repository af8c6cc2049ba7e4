use std::collections::BTreeSet;

use super::*;
use crate::test_site::site;

const QUIET: f64 = 1e-4;
const LOSSY: f64 = 0.02;

/// Ways among so many racks, of which some lose.
fn across(racks: &[&'static str], is_lossy: impl Fn(&str, &str) -> bool) -> BTreeMap<RackWay<'static>, f64> {
    let mut all = BTreeMap::new();
    for from in racks {
        for to in racks.iter().filter(|to| *to != from) {
            all.insert((*from, *to), if is_lossy(from, to) { LOSSY } else { QUIET });
        }
    }
    all
}

fn places(across: &BTreeMap<RackWay<'static>, f64>, own: Option<&'static str>) -> Vec<RackPlace<'static>> {
    let racks: BTreeSet<&'static str> = across.keys().map(|(from, _)| *from).collect();
    let within = racks.into_iter().map(|rack| (rack, if own == Some(rack) { LOSSY } else { QUIET })).collect();
    faults(across, &within, Some(QUIET)).into_iter().map(|fault| fault.place).collect()
}

const FOUR: [&str; 4] = ["r1", "r2", "r3", "r4"];

#[test]
fn what_lossy_ways_share_is_what_loses() {
    let touches = |rack: &'static str| move |from: &str, to: &str| from == rack || to == rack;
    let uplinks = [RackPlace::Uplinks("r2")];
    for racks in [&FOUR[..3], &FOUR] {
        assert_eq!(places(&across(racks, |_, _| false), None), []);
        assert_eq!(places(&across(racks, |_, _| true), None), [RackPlace::All]);
        assert_eq!(places(&across(racks, touches("r2")), None), uplinks);
        assert_eq!(places(&across(racks, |from, _| from == "r2"), None), uplinks);
        assert_eq!(places(&across(racks, |_, to| to == "r2"), None), uplinks);
        let path = [RackPlace::Path(("r1", "r3"))];
        assert_eq!(places(&across(racks, |from, to| from == "r1" && to == "r3"), None), path);
        assert_eq!(places(&across(racks, |from, to| from != "r2" && to != "r2" && from.max(to) == "r3"), None), path);
        assert_eq!(places(&across(racks, touches("r2")), Some("r2")), [], "what its own nodes lose is no uplink's");
    }
    let both = |from: &str, to: &str| from == "r2" || to == "r3";
    assert_eq!(places(&across(&FOUR, both), None), [RackPlace::Uplinks("r2"), RackPlace::Uplinks("r3")]);
    let some = |from: &str, to: &str| [("r1", "r2"), ("r2", "r3"), ("r3", "r4")].contains(&(from, to));
    assert_eq!(places(&across(&FOUR, some), None), [RackPlace::Some(3, 12)]);
}

#[test]
fn two_racks_do_not_tell_which_and_what_all_have_alike_is_no_racks() {
    for is_lossy in [(true, true), (true, false), (false, true)] {
        let ways = across(&FOUR[..2], |from, _| if from == "r1" { is_lossy.0 } else { is_lossy.1 });
        assert_eq!(places(&ways, None), [RackPlace::Between(("r1", "r2"))], "{is_lossy:?}");
    }
    let all = across(&FOUR, |_, _| true);
    let within = FOUR.into_iter().map(|rack| (rack, LOSSY)).collect();
    assert_eq!(faults(&all, &within, Some(LOSSY)), [], "nodes lose as much within their racks");
    assert_eq!(faults(&all, &BTreeMap::new(), None), [], "nothing to compare with");
    assert_eq!(faults(&BTreeMap::new(), &within, Some(QUIET)), []);
}

#[test]
fn the_middle_is_what_more_than_half_have() {
    assert_eq!(lower_middle(Vec::new()), None);
    for (values, middle) in [(vec![3.0], 3.0), (vec![9.0, 1.0], 1.0), (vec![9.0, 9.0, 1.0], 9.0), (vec![0.0; 4], 0.0)] {
        assert_eq!(lower_middle(values.clone()), Some(middle), "{values:?}");
    }
}

fn stated(machine: &str, rack: Option<&str>) -> StatedMachine {
    StatedMachine { machine: machine.to_owned(), is_client: false, kind: None, rack: rack.map(str::to_owned) }
}

#[test]
fn racks_of_a_fleet_that_are_not_those_of_the_site_are_told() {
    let fleet = |racks: usize, without: usize| -> Vec<StatedMachine> {
        let rack = |node: usize| format!("r{}", node % racks);
        (0..16)
            .map(|node| stated(&format!("storage-{node}"), (node >= without).then(|| rack(node)).as_deref()))
            .collect()
    };
    let site = site();
    assert_eq!(site.groups[0].racks, 4);
    assert_eq!(disagreements(&site, &fleet(4, 0)), [""; 0]);
    assert_eq!(disagreements(&site, &fleet(4, 16)), [""; 0], "no racks, nothing to say");
    for (fleet, part) in [
        (fleet(3, 0), "names 3 racks for nodes of the kind \"storage\", and the site states 4"),
        (fleet(1, 0), "names 1 rack for nodes"),
        (fleet(4, 5), "names no rack of 5 of 16 nodes of the kind \"storage\", storage-0 first"),
    ] {
        let reported = disagreements(&site, &fleet);
        assert!(reported.len() == 1 && reported[0].contains(part), "{part}: {reported:?}");
    }
    assert_eq!(disagreements(&site, &fleet(5, 2)).len(), 2, "more than the site has, even where some are lacking");
    let mut unstated = site;
    unstated.assumed.insert("nodes.storage.racks".to_owned(), "racks are not described".to_owned());
    assert_eq!(disagreements(&unstated, &fleet(3, 0)), [""; 0]);
}
