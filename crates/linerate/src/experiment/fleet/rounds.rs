//! Restarts of the target on the nodes of a fleet: in rounds that leave what it needs, each behind the health of the
//! one before.

use std::net::TcpStream;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use linerate_fleet::description::FleetNode;
use linerate_rollout::plan::{NamedGuard, WaveNode, placed, waves};
use linerate_rollout::waves::WaveSizes;

use super::ArmFleet;
use crate::experiment::cells::{LOOK, RESTARTING};
use crate::experiment::load;
use crate::experiment::place::{ArmPlaces, command_of_the_user};
use crate::failure::Failure;
use crate::interrupt::came;

/// How long beside its load a cell keeps its arm before nodes take it back by themselves: objects are written and
/// deleted meanwhile.
const BESIDE: Duration = Duration::from_secs(300);

/// How long the command of a round may take, as far as that is reckoned with.
const COMMAND: Duration = Duration::from_secs(60);

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
    in_rounds(&rounds, &restart, &is_well)
}

/// One round behind the other, none before all is well: behind one that went wrong, the next would take more than the
/// target can miss, and so would the first one.
fn in_rounds(rounds: &[String], restart: RoundDeed<'_>, await_health: RoundDeed<'_>) -> Result<(), Failure> {
    await_health(0, "")?;
    for (number, names) in (1_u32..).zip(rounds) {
        restart(number, names)?;
        await_health(number, names)?;
    }
    Ok(())
}

/// Waits until the target is well.
fn await_health(
    (ground, fleet): (&ArmPlaces, &ArmFleet),
    told: &[(&str, String)],
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let until = Instant::now() + RESTARTING;
    loop {
        let why = match &fleet.about.health {
            Some(command) => {
                let left = until.saturating_duration_since(Instant::now());
                let ended = load::shell(command, told, &ground.folder.join("command.log"), (left, stop))?;
                (ended.code != Some(0)).then(|| format!("{command:?} fails: {}", ended.said))
            }
            None => fleet.hosts.iter().find_map(|host| {
                let error = TcpStream::connect_timeout(host, CONNECTING).err()?;
                Some(format!("{host} takes no connection: {error}"))
            }),
        };
        let Some(why) = why else { return Ok(()) };
        if came(stop) {
            return Err(Failure::Interrupted);
        }
        if Instant::now() > until {
            let (nodes, s) = (told.first().map_or("", |(_, names)| names), RESTARTING.as_secs());
            let when = if nodes.is_empty() { "nothing is restarted".to_owned() } else { format!("{nodes} restarted") };
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

    /// What is done in three rounds, where the target is not well behind one of them, or a restart fails.
    fn done(unwell_behind: Option<u32>, fails: Option<u32>) -> Vec<String> {
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
        let is_failed = in_rounds(&rounds, &restart, &is_well).is_err();
        assert_eq!(is_failed, unwell_behind.is_some() || fails.is_some());
        done.into_inner()
    }

    #[test]
    fn no_round_is_begun_before_the_target_is_well_behind_the_one_before() {
        let all = ["well 0", "1: a b", "well 1", "2: c", "well 2", "3: d", "well 3"];
        assert_eq!(done(None, None), all);
        assert_eq!(done(Some(0), None), all[..1], "what an earlier restart left");
        assert_eq!(done(Some(2), None), all[..5]);
        assert_eq!(done(None, Some(2)), all[..4]);
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
