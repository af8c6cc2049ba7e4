//! Restarts of the target on the nodes of a fleet: in rounds that leave what it needs, each behind the health of the
//! one before.

use std::cell::Cell;
use std::net::TcpStream;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use linerate_fleet::description::FleetNode;
use linerate_rollout::plan::{NamedGuard, WaveNode, placed, waves};
use linerate_rollout::waves::WaveSizes;

use super::ArmFleet;
use crate::experiment::cells::RESTARTING;
use crate::experiment::load;
use crate::experiment::place::{ArmPlaces, command_of_the_user};
use crate::failure::Failure;
use crate::interrupt::came;

/// How long beside its load a cell keeps its arm before nodes take it back by themselves: objects are written and
/// deleted meanwhile.
const BESIDE: Duration = Duration::from_secs(300);

/// How long the command of a round may take, as far as that is reckoned with.
const COMMAND: Duration = Duration::from_secs(60);

/// How often the target is looked at, and in how many looks on end it has to be well.
const LOOK: Duration = Duration::from_millis(500);
const WELL_LOOKS: u32 = 3;

/// How long a host may take to take a connection.
const CONNECTING: Duration = Duration::from_secs(1);

/// Which nodes are restarted together: no more than what they share can miss.
pub(super) fn rounds(nodes: &[FleetNode], guards: &[NamedGuard]) -> Vec<Vec<u32>> {
    let waved: Vec<WaveNode<'_>> =
        nodes.iter().map(|node| WaveNode { name: &node.name, rack: node.rack.as_deref() }).collect();
    waves(&waved, &WaveSizes::at_once(), &placed(&waved, guards))
}

/// What a cell may take beside its load.
pub(in crate::experiment) fn beside(fleet: &ArmFleet) -> Duration {
    let rounds = u32::try_from(fleet.about.rounds.len()).unwrap_or(u32::MAX);
    BESIDE.saturating_add((COMMAND + RESTARTING).saturating_mul(rounds))
}

/// Something done for a round: its number, from 1, and the names of its nodes.
type RoundDeed<'d> = &'d dyn Fn(u32, &str) -> Result<(), Failure>;

/// Restarts all nodes, a round behind the other.
pub(in crate::experiment) fn restart(
    (ground, fleet): (&ArmPlaces, &ArmFleet),
    command: &str,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let named = |round: &Vec<u32>| {
        let names = round.iter().filter_map(|place| fleet.about.nodes.get(*place as usize));
        names.map(String::as_str).collect::<Vec<&str>>().join(" ")
    };
    let rounds: Vec<String> = fleet.about.rounds.iter().map(named).collect();
    let told =
        |number: u32, names: &str| [("LINERATE_NODES", names.to_owned()), ("LINERATE_ROUND", number.to_string())];
    let restart = |number: u32, names: &str| command_of_the_user(ground, command, &told(number, names), stop);
    let is_well = |number: u32, names: &str| await_health((ground, fleet), &told(number, names), stop);
    in_rounds((&rounds, &fleet.unwell), &restart, &is_well)
}

/// One round behind the other, none before all is well: behind one that went wrong, the next would take more than the
/// target can miss, and so would the first one. Where one went wrong before, its nodes are begun with, since the target
/// misses them already.
fn in_rounds(
    (rounds, unwell): (&[String], &Cell<u32>),
    restart: RoundDeed<'_>,
    await_health: RoundDeed<'_>,
) -> Result<(), Failure> {
    let missed = unwell.get();
    if missed == 0 {
        await_health(0, "")?;
    }
    let mut all: Vec<(u32, &String)> = (1_u32..).zip(rounds).collect();
    all.sort_by_key(|(number, _)| *number != missed);
    for (number, names) in all {
        unwell.set(number);
        restart(number, names)?;
        await_health(number, names)?;
        unwell.set(0);
    }
    Ok(())
}

/// What keeps the target from being well: a host that takes no connection, whatever the command says, which may ask one
/// of many; else that the command fails.
fn unwell(
    (ground, fleet): (&ArmPlaces, &ArmFleet),
    told: &[(&str, String)],
    (left, stop): (Duration, &AtomicBool),
) -> Result<Option<String>, Failure> {
    let refusing = fleet.hosts.iter().find_map(|host| {
        let error = TcpStream::connect_timeout(host, CONNECTING).err()?;
        Some(format!("{host} takes no connection: {error}"))
    });
    let Some(command) = fleet.about.health.as_ref().filter(|_| refusing.is_none()) else { return Ok(refusing) };
    let ended = load::shell(command, told, &ground.folder.join("command.log"), (left, stop))?;
    Ok((ended.code != Some(0)).then(|| format!("{command:?} fails: {}", ended.said)))
}

/// Waits until the target is well, several looks long: what was told to restart may not have begun to.
fn await_health(
    (ground, fleet): (&ArmPlaces, &ArmFleet),
    told: &[(&str, String)],
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let (until, mut looks) = (Instant::now() + RESTARTING, 0);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let why = unwell((ground, fleet), told, (left, stop))?;
        looks = if why.is_none() { looks + 1 } else { 0 };
        if looks == WELL_LOOKS {
            return Ok(());
        }
        if came(stop) {
            return Err(Failure::Interrupted);
        }
        if Instant::now() > until {
            let (nodes, s) = (told.first().map_or("", |(_, names)| names), RESTARTING.as_secs());
            let when = if nodes.is_empty() { "nothing is restarted".to_owned() } else { format!("{nodes} restarted") };
            let why = why.unwrap_or_else(|| "it is not for long enough".to_owned());
            return Err(Failure::Load(format!("the target is not well for {s} s ({when}): {why}")));
        }
        std::thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use linerate_record::fleet::NodeRole;

    use super::*;

    /// What is done in three rounds, where the target is not well behind one of them, or a restart fails, and one went
    /// wrong before; and which went wrong then.
    fn done(unwell_behind: Option<u32>, fails: Option<u32>, missed: u32) -> (Vec<String>, u32) {
        let done = RefCell::new(Vec::new());
        let rounds = ["a b", "c", "d"].map(str::to_owned);
        let failed = |is_so: bool| if is_so { Err(Failure::Load("it is not well".to_owned())) } else { Ok(()) };
        let restart = |number: u32, names: &str| {
            done.borrow_mut().push(format!("{number}: {names}"));
            failed(fails == Some(number))
        };
        let is_well = |number: u32, _: &str| {
            done.borrow_mut().push(format!("well {number}"));
            failed(unwell_behind == Some(number))
        };
        let unwell = Cell::new(missed);
        let is_failed = in_rounds((&rounds, &unwell), &restart, &is_well).is_err();
        assert_eq!(is_failed, unwell_behind.is_some() || fails.is_some());
        (done.into_inner(), unwell.into_inner())
    }

    #[test]
    fn no_round_is_begun_before_the_target_is_well_behind_the_one_before() {
        let all = ["well 0", "1: a b", "well 1", "2: c", "well 2", "3: d", "well 3"];
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
        assert_eq!(done(None, None, 0), (words(&all), 0));
        assert_eq!(done(Some(0), None, 0), (words(&all[..1]), 0), "what an earlier restart left");
        assert_eq!(done(Some(2), None, 0), (words(&all[..5]), 2));
        assert_eq!(done(None, Some(2), 0), (words(&all[..4]), 2));
        // What it misses already is restarted first, whether it is well or not.
        let behind = ["2: c", "well 2", "1: a b", "well 1", "3: d", "well 3"];
        assert_eq!(done(None, None, 2), (words(&behind), 0));
        assert_eq!(done(Some(2), None, 2), (words(&behind[..2]), 2));
    }

    #[test]
    fn a_round_has_no_more_nodes_than_can_be_missed_and_each_is_in_one() {
        let node = |number: usize| FleetNode {
            name: format!("n{number}"),
            role: NodeRole::Storage,
            reach: "here".parse().unwrap(),
            site_node: None,
            rack: None,
            host: None,
            network: None,
            service: None,
        };
        let nodes: Vec<FleetNode> = (0..5).map(node).collect();
        let guard = |at_once| NamedGuard {
            what: "sets".to_owned(),
            nodes: nodes.iter().map(|node| node.name.clone()).collect(),
            at_once,
        };
        assert_eq!(rounds(&nodes, &[guard(1)]), [[0], [1], [2], [3], [4]]);
        assert_eq!(rounds(&nodes, &[guard(2)]), [vec![0, 1], vec![2, 3], vec![4]]);
    }
}
