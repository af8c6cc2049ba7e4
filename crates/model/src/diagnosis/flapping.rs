//! Ports that flap: their speed changes and changes back, or they are down and up again. At no instant need they be
//! slower than others', and still their flows stall each time. One boot, one cable that is moved and one switch that is
//! renewed make each port do so once, and are none of it.

use std::collections::BTreeSet;
use std::ops::Range;

use linerate_record::diagnosis::Cause;
use linerate_record::readings::ReadMeasure;
use linerate_record::units::{bits_per_s, count};

use super::readings_grid::{Grid, Values};
use super::suspects::{BELOW_LIMITS, EXPLAINED, ScoredCause};

/// A speed that is so many times another is no rounding.
const OTHER_SPEED: f64 = 1.5;

/// Changed, changed back and changed again: a port that negotiates anew while its node boots does the first two.
const SPEEDS_LEAST: usize = 3;

/// Down and up twice: once is a cable that somebody moved.
const CARRIERS_LEAST: f64 = 4.0;

/// Changes of carrier that are nearer to each other than this are one event: a boot, or a plug that did not fit.
const APART_MS: u64 = 60_000;

/// A port that changes less often than this, per hour, stalls its flows too seldom to hold a site back.
const OFTEN_PER_HOUR: f64 = 3.0;

/// What each is worth, in log odds: that a speed changes is seen, and how long a port without carrier was down is not.
const OF_SPEED: f64 = 9.0;
const OF_CARRIER: f64 = 8.0;

/// A port that carries less than this of what the busiest one of its node does is none that the load passes: ports of
/// management controllers come and go.
const MATTERS: f64 = 0.01;

/// Where ports of more nodes than this flap, they are one suspect: what they share may do so.
const ALONE: usize = 2;

/// Sentences of evidence, and nodes of which there is one.
const MOST: usize = 8;

/// A port that flaps.
struct Flapping<'g> {
    node: usize,
    part: &'g str,
    changes: usize,
    /// The lowest speed and the highest, in bytes per second.
    speeds: Option<[f64; 2]>,
    carriers: Option<f64>,
}

impl Flapping<'_> {
    /// How often it changes, by what tells of more changes.
    fn most(&self) -> f64 {
        (self.changes as f64).max(self.carriers.unwrap_or(0.0))
    }
}

/// The steps from the first that is judged to the last: a port that is made ready before the load holds up nobody, and
/// while one stalls, the load may be less.
fn judged(grid: &Grid<'_>) -> Range<usize> {
    let first = grid.is_busy.iter().position(|busy| *busy).unwrap_or(0);
    first..grid.is_busy.iter().rposition(|busy| *busy).map_or(first, |last| last + 1)
}

fn within<'v>(values: &'v Values, judged: &Range<usize>) -> &'v Values {
    values.get(judged.clone()).unwrap_or_default()
}

/// How often a speed changes, and between what.
fn speeds(values: &Values) -> (usize, Option<[f64; 2]>) {
    let known: Vec<f64> = values.iter().copied().flatten().filter(|speed| *speed > 0.0).collect();
    let is_other = |pair: &&[f64]| pair[0].max(pair[1]) >= OTHER_SPEED * pair[0].min(pair[1]);
    let changes = known.windows(2).filter(is_other).count();
    let ends = [known.iter().copied().reduce(f64::min), known.iter().copied().reduce(f64::max)];
    (changes, ends[0].zip(ends[1]).map(|(low, high)| [low, high]))
}

/// How often a carrier changes.
fn carriers(grid: &Grid<'_>, values: &Values) -> f64 {
    values.iter().flatten().sum::<f64>() * grid.readings.step_ms as f64 / 1e3
}

/// Whether it changes at times that are apart. A rate has one change for as long as it is a mean over.
fn is_apart(grid: &Grid<'_>, values: &Values) -> bool {
    let changes = |rate: &Option<f64>| rate.is_some_and(|rate| rate > 0.0);
    let ends = values.iter().position(changes).zip(values.iter().rposition(changes));
    let (step_ms, over_ms) = (grid.readings.step_ms, grid.readings.rate_over_ms);
    let least_ms = over_ms.saturating_add(step_ms.max(APART_MS));
    ends.is_some_and(|(first, last)| (last - first) as u64 * step_ms >= least_ms)
}

/// Whether an interface stands on others: a bond, a bridge, a VLAN. Readings have no kinds of interfaces: its name
/// decides.
fn is_upper(part: &str) -> bool {
    part.contains('.') || ["bond", "br", "team", "vlan", "vmbr"].iter().any(|name| part.starts_with(name))
}

/// Ports of a node that flap and carry something, those that change most first; of equals, the one that others stand
/// on.
fn of_node<'g>(grid: &'g Grid<'_>, node: usize, judged: &Range<usize>) -> Vec<Flapping<'g>> {
    let carried = |part: &str| {
        let bytes = |of| grid.part(of, node, part).and_then(|values| grid.mean(values)).unwrap_or(0.0);
        bytes(ReadMeasure::LinkSent) + bytes(ReadMeasure::LinkReceived)
    };
    let counters = grid.parts(ReadMeasure::LinkCarrierChanges, node);
    let ports = counters.iter().filter(|(part, _)| !is_upper(part));
    let of_ports: f64 = ports.map(|(_, values)| carriers(grid, within(values, judged))).sum();
    let flapping_port = |part: &'g str| {
        let speeds_of = |values| speeds(within(values, judged));
        let (changes, ends) = grid.part(ReadMeasure::LinkSpeed, node, part).map_or((0, None), speeds_of);
        // A member that goes and comes makes its bond slower and faster: it tells by itself.
        let changes = if is_upper(part) && changes as f64 <= of_ports + 0.5 { 0 } else { changes };
        let counted = grid.part(ReadMeasure::LinkCarrierChanges, node, part).map(|values| within(values, judged));
        let carriers = counted.map(|values| carriers(grid, values));
        let is_apart = counted.is_some_and(|values| is_apart(grid, values));
        let is_lost = is_apart && carriers.is_some_and(|changes| changes.round() >= CARRIERS_LEAST);
        let speeds = ends.filter(|_| changes >= SPEEDS_LEAST);
        (is_lost || speeds.is_some()).then_some(Flapping { node, part, changes, speeds, carriers })
    };
    let measures = [ReadMeasure::LinkSpeed, ReadMeasure::LinkCarrierChanges];
    let parts: BTreeSet<&str> = measures.iter().flat_map(|of| grid.parts(*of, node)).map(|(part, _)| *part).collect();
    let mut found: Vec<Flapping<'g>> = parts.into_iter().filter_map(flapping_port).collect();
    if found.is_empty() {
        return found;
    }
    let busiest = grid.parts(ReadMeasure::LinkSent, node).iter().map(|(part, _)| carried(part)).fold(0.0, f64::max);
    found.retain(|one| {
        let carried = carried(one.part);
        carried > 0.0 && carried >= MATTERS * busiest
    });
    found.sort_by(|a, b| b.most().total_cmp(&a.most()).then(is_upper(a.part).cmp(&is_upper(b.part))));
    found
}

fn claim(grid: &Grid<'_>, one: &Flapping<'_>) -> String {
    let (part, node) = (one.part, &grid.nodes[one.node].name);
    let carriers = one.carriers.filter(|changes| *changes >= 1.0).map(|changes| count(changes.round()));
    match (one.speeds, carriers) {
        (Some([low, high]), carriers) => format!(
            "the port {part} of {node} flaps: its speed changed {} times, between {} and {}{}",
            one.changes,
            bits_per_s(8.0 * low),
            bits_per_s(8.0 * high),
            carriers.map_or_else(String::new, |changes| format!(", and its carrier {changes} times"))
        ),
        (None, carriers) => format!(
            "the port {part} of {node} flaps: its carrier was lost or found {} times",
            carriers.unwrap_or_else(|| "several".to_owned())
        ),
    }
}

/// Ports of one node as a suspect, or those of many, of which the first flaps most.
fn scored(grid: &Grid<'_>, found: &[Vec<Flapping<'_>>], is_often: bool) -> ScoredCause {
    let first = &found[0][0];
    let worth = if first.speeds.is_some() { OF_SPEED } else { OF_CARRIER };
    let worth = if is_often { worth } else { BELOW_LIMITS };
    let (node, first_claim) = (grid.nodes[first.node].name.clone(), claim(grid, first));
    let [_] = found else {
        let claim = format!(
            "ports of {} of {} nodes flap, each by itself or by what they share, such as a switch; most of all, \
             {first_claim}",
            found.len(),
            grid.nodes.len()
        );
        let mut one = ScoredCause::new(Cause::FlappingLink, None, "", claim, worth);
        one.suspect.evidence = found.iter().take(MOST).map(|of| self::claim(grid, &of[0])).collect();
        return one;
    };
    ScoredCause::new(Cause::FlappingLink, Some(node), first.part, first_claim, worth)
}

/// Takes what is told of these ports into it: that such a port is slower than others, or stays at a level, is how it
/// flaps; and what is under way then is lost.
fn join(all: &mut Vec<ScoredCause>, one: &mut ScoredCause, grid: &Grid<'_>, found: &[Vec<Flapping<'_>>]) {
    let is_link = |cause: Cause| matches!(cause, Cause::LinkSpeed | Cause::SlowLinkSending | Cause::SlowLinkReceiving);
    let ports: BTreeSet<(&str, &str)> =
        found.iter().flatten().map(|of| (grid.nodes[of.node].name.as_str(), of.part)).collect();
    let nodes: BTreeSet<&str> = ports.iter().map(|(node, _)| *node).collect();
    let is_it = |other: &ScoredCause| {
        let node = other.suspect.node.as_deref();
        is_link(other.suspect.cause) && node.is_some_and(|node| ports.contains(&(node, other.suspect.part.as_str())))
    };
    let (same, rest): (Vec<ScoredCause>, Vec<ScoredCause>) = std::mem::take(all).into_iter().partition(is_it);
    *all = rest;
    for other in same {
        one.log_odds = one.log_odds.max(other.log_odds);
        one.shows_as_well(other.suspect.evidence);
        one.suspect.evidence.truncate(MOST);
    }
    for other in all.iter_mut().filter(|other| other.suspect.cause == Cause::LossyLink) {
        if other.suspect.node.as_deref().is_some_and(|node| nodes.contains(node)) {
            other.log_odds = other.log_odds.min(one.log_odds - EXPLAINED);
        }
    }
}

/// Adds ports that flap.
pub(super) fn joined(all: &mut Vec<ScoredCause>, grid: &Grid<'_>) {
    let judged = judged(grid);
    let hours = (judged.len() as f64 * grid.readings.step_ms as f64 / 3.6e6).max(1.0);
    let mut found: Vec<Vec<Flapping<'_>>> =
        (0..grid.nodes.len()).map(|node| of_node(grid, node, &judged)).filter(|of| !of.is_empty()).collect();
    found.sort_by(|a, b| b[0].most().total_cmp(&a[0].most()));
    let each = if found.len() > ALONE { found.len() } else { 1 };
    for of in found.chunks(each) {
        let is_often = of[0][0].most() >= OFTEN_PER_HOUR * hours;
        let mut one = scored(grid, of, is_often);
        if is_often {
            join(all, &mut one, grid, of);
        }
        all.push(one);
    }
}

#[cfg(test)]
mod tests {
    use linerate_record::diagnosis::Suspect;
    use linerate_record::readings::{ReadSeries, Readings};

    use super::super::diagnose;
    use super::super::machines::ReadMachine;
    use super::*;
    use crate::test_site::site;

    const STEPS: usize = 40;

    /// Sixteen nodes of one link, of which the third one's port has these speeds and so many changes of its carrier a
    /// second.
    fn readings(speeds: &[f64], carriers: f64) -> Readings {
        let (step_ms, steps) = (15_000, STEPS as u32);
        let mut readings =
            Readings { step_ms, steps, interval_ms: 15_000, rate_over_ms: 60_000, ..Readings::default() };
        for node in 1..=16 {
            let mut add = |of: ReadMeasure, value: &dyn Fn(usize) -> f64| {
                let (machine, part) = (format!("storage-{node}"), "public".to_owned());
                let values = (0..STEPS).map(|step| Some(value(step))).collect();
                readings.series.push(ReadSeries { of, machine, part, values });
            };
            let is_it = node == 3;
            let about = |step: usize| 1.0 + 0.2 * ((step * 7 + node * 13) % 11) as f64 / 11.0;
            add(ReadMeasure::LinkSent, &|step| 8e9 * about(step));
            add(ReadMeasure::LinkReceived, &|step| 4e9 * about(step + 3));
            add(ReadMeasure::LinkSpeed, &|step| if is_it { speeds[step % speeds.len()] } else { 25e9 });
            add(ReadMeasure::LinkCarrierChanges, &|_| if is_it { carriers } else { 0.0 });
        }
        readings
    }

    fn judged_as(readings: &Readings) -> Vec<Suspect> {
        let mut site = site();
        site.planes.private = None;
        diagnose(&site, readings, &[]).unwrap().suspects
    }

    fn judged(speeds: &[f64], carriers: f64) -> Option<(Cause, Option<String>, String)> {
        let first = judged_as(&readings(speeds, carriers)).into_iter().next()?;
        Some((first.cause, first.node, first.claim))
    }

    /// Which series of [`readings`]: a measure of one node, by its number.
    struct NodeSeries {
        of: ReadMeasure,
        node: usize,
    }

    const fn carrier_of(node: usize) -> NodeSeries {
        NodeSeries { of: ReadMeasure::LinkCarrierChanges, node }
    }

    /// Sets a series at some steps.
    fn set(readings: &mut Readings, series: &NodeSeries, steps: Range<usize>, value: f64) {
        let NodeSeries { of, node } = *series;
        let machine = format!("storage-{node}");
        for series in readings.series.iter_mut().filter(|series| series.of == of && series.machine == machine) {
            series.values[steps.clone()].fill(Some(value));
        }
    }

    #[test]
    fn a_port_that_changes_its_speed_again_and_again_is_named_once() {
        let (cause, node, claim) = judged(&[25e9, 25e9, 25e9, 1.25e8], 0.02).unwrap();
        assert_eq!((cause, node.as_deref()), (Cause::FlappingLink, Some("storage-3")));
        for part in
            ["the port public of storage-3 flaps", "changed 19 times, between 1.00 Gb/s and 200 Gb/s", "12 times"]
        {
            assert!(claim.contains(part), "{part}: {claim}");
        }
        // At the lower speed for most of the time, it is slower than others as well: that is how it flaps.
        let found = diagnose(&site(), &readings(&[12.5e9, 12.5e9, 25e9], 0.0), &[]).unwrap();
        assert_eq!(found.suspects[0].cause, Cause::FlappingLink, "{:#?}", found.suspects);
        let of_speed = found.suspects.iter().filter(|one| one.cause == Cause::LinkSpeed).count();
        assert_eq!(of_speed, 0, "{:#?}", found.suspects);
    }

    #[test]
    fn a_port_that_is_down_and_up_again_is_named_and_one_that_was_so_once_is_not() {
        let (cause, _, claim) = judged(&[25e9], 0.01).unwrap();
        assert!(cause == Cause::FlappingLink && claim.contains("lost or found 6 times"), "{claim}");
        assert_eq!(judged(&[25e9], 2.0 / 600.0), None);
        assert_eq!(judged(&[25e9], 0.0), None);
    }

    #[test]
    fn a_boot_is_no_port_that_flaps_whatever_its_counter_begins_with() {
        // It comes back at a lower speed first, and its counter begins anew with six changes, all in one rate.
        let mut once = readings(&[25e9], 0.0);
        set(&mut once, &NodeSeries { of: ReadMeasure::LinkSpeed, node: 3 }, 10..12, 1.25e8);
        set(&mut once, &carrier_of(3), 10..14, 0.1);
        assert_eq!(judged_as(&once), []);
        // The same again five minutes later is none of a boot.
        set(&mut once, &NodeSeries { of: ReadMeasure::LinkSpeed, node: 3 }, 30..32, 1.25e8);
        set(&mut once, &carrier_of(3), 30..34, 0.1);
        assert_eq!(judged_as(&once)[0].cause, Cause::FlappingLink);
    }

    #[test]
    fn what_happens_before_the_load_holds_up_nobody() {
        let mut before = readings(&[25e9], 0.0);
        for node in 1..=16 {
            set(&mut before, &NodeSeries { of: ReadMeasure::LinkSent, node }, 0..15, 1e5);
            set(&mut before, &NodeSeries { of: ReadMeasure::LinkReceived, node }, 0..15, 1e5);
        }
        set(&mut before, &carrier_of(3), 0..12, 0.1);
        assert_eq!(judged_as(&before), []);
    }

    #[test]
    fn a_port_that_flaps_seldom_is_worth_less_than_any_limit_that_is_seen() {
        // Six changes in four hours, where often is twelve.
        let mut long = Readings { step_ms: 360_000, rate_over_ms: 360_000, ..readings(&[25e9], 0.0) };
        for step in [3, 20, 33] {
            set(&mut long, &carrier_of(3), step..step + 1, 2.0 / 360.0);
        }
        let found = judged_as(&long);
        assert!(found[0].cause == Cause::FlappingLink && found[0].weight < 0.8, "{found:#?}");
    }

    #[test]
    fn ports_of_many_nodes_that_flap_are_one_suspect_and_what_they_share_is_said() {
        let mut many = readings(&[25e9], 0.01);
        (4..=8).for_each(|node| set(&mut many, &carrier_of(node), 0..STEPS, 0.01));
        let found = judged_as(&many);
        assert_eq!((found[0].cause, found[0].node.as_deref()), (Cause::FlappingLink, None), "{found:#?}");
        assert!(found[0].claim.starts_with("ports of 6 of 16 nodes flap, each by itself or"), "{found:#?}");
        assert_eq!((found[0].evidence.len(), found.len()), (6, 1), "{found:#?}");
    }

    #[test]
    fn a_port_that_the_load_does_not_pass_is_none() {
        let mut alongside = readings(&[25e9], 0.0);
        let mut add = |of: ReadMeasure, value: &dyn Fn(usize) -> f64| {
            let (machine, part) = ("storage-3".to_owned(), "usb0".to_owned());
            let values = (0..STEPS).map(|step| Some(value(step))).collect();
            alongside.series.push(ReadSeries { of, machine, part, values });
        };
        add(ReadMeasure::LinkSent, &|_| 1e3);
        add(ReadMeasure::LinkReceived, &|_| 1e3);
        add(ReadMeasure::LinkSpeed, &|step| if step % 2 == 0 { 1.25e7 } else { 1.25e8 });
        add(ReadMeasure::LinkCarrierChanges, &|_| 0.05);
        assert_eq!(judged_as(&alongside), []);
    }

    #[test]
    fn a_bond_whose_members_come_and_go_is_told_by_these() {
        let flapping = |of_members: f64| -> Vec<String> {
            let mut series = Vec::new();
            let mut add = |of: ReadMeasure, part: &str, values: Vec<f64>| {
                let (machine, part) = ("n1".to_owned(), part.to_owned());
                let values = values.into_iter().map(Some).collect();
                series.push(ReadSeries { of, machine, part, values });
            };
            add(ReadMeasure::LinkSpeed, "bond0", vec![50.0, 25.0, 50.0, 50.0, 25.0, 50.0]);
            for (part, carried) in [("bond0", 20.0), ("eth0", 10.0), ("eth1", 10.0)] {
                add(ReadMeasure::LinkSent, part, vec![carried; 6]);
            }
            // Each goes and comes once, one behind the other, as where their switches are renewed.
            add(ReadMeasure::LinkCarrierChanges, "eth0", vec![0.0, of_members, 0.0, 0.0, 0.0, 0.0]);
            add(ReadMeasure::LinkCarrierChanges, "eth1", vec![0.0, 0.0, 0.0, 0.0, of_members, 0.0]);
            let readings = Readings { step_ms: 60_000, rate_over_ms: 60_000, steps: 6, series, ..Readings::default() };
            let keys = BTreeSet::from(["n1".to_owned()]);
            let nodes = [ReadMachine { name: "n1".to_owned(), group: 0, keys }];
            let grid = Grid::new(&readings, &nodes);
            of_node(&grid, 0, &super::judged(&grid)).iter().map(|one| one.part.to_owned()).collect()
        };
        assert_eq!(flapping(2.0 / 60.0), [""; 0]);
        assert_eq!(flapping(0.0), ["bond0"], "its protocol drops members whose carrier stays");
    }
}
