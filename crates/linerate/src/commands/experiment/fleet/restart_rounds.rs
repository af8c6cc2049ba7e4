//! Restarts of the target on the nodes of a fleet: in rounds that leave what it needs, each behind the health of the
//! one before.

use std::cell::Cell;
use std::net::TcpStream;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use linerate_fleet::description::FleetNode;
use linerate_rollout::plan::{NamedGuard, WaveNode, placed, waves};
use linerate_rollout::waves::WaveSizes;

use super::ChangedFleet;
use crate::commands::experiment::arm_apply::{ArmEnvironment, run_user_command};
use crate::commands::experiment::bench_process;
use crate::commands::experiment::cells::RESTART_TIMEOUT;
use crate::run::interrupt::is_set;
use crate::terminal::failure::Failure;

/// How long beside its load a cell keeps its arm before nodes roll it back by themselves: objects are written and
/// deleted meanwhile.
const OVERHEAD: Duration = Duration::from_secs(300);

/// How long the command of a round may take, as far as that is reckoned with.
const COMMAND_TIME: Duration = Duration::from_secs(60);

/// How often the target is looked at, and in how many looks on end it has to be well.
const HEALTH_POLL_INTERVAL: Duration = Duration::from_millis(500);
const HEALTHY_POLLS: u32 = 3;

/// How long a host may take to take a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Which nodes are restarted together: no more than what they share can miss.
pub(super) fn restart_rounds(nodes: &[FleetNode], guards: &[NamedGuard]) -> Vec<Vec<u32>> {
    let waved: Vec<WaveNode<'_>> =
        nodes.iter().map(|node| WaveNode { name: &node.name, rack: node.rack.as_deref() }).collect();
    waves(&waved, &WaveSizes::at_once(), &placed(&waved, guards))
}

/// What a cell may take beside its load.
pub(in crate::commands::experiment) fn cell_overhead(fleet: &ChangedFleet) -> Duration {
    let rounds = u32::try_from(fleet.recorded_fleet.rounds.len()).unwrap_or(u32::MAX);
    OVERHEAD.saturating_add((COMMAND_TIME + RESTART_TIMEOUT).saturating_mul(rounds))
}

/// Something done for a round: its number, from 1, and the names of its nodes.
type RoundAction<'d> = &'d dyn Fn(u32, &str) -> Result<(), Failure>;

/// Restarts all nodes, a round behind the other.
pub(in crate::commands::experiment) fn restart_in_rounds(
    environment: &ArmEnvironment,
    fleet: &ChangedFleet,
    command: &str,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let named = |round: &Vec<u32>| {
        let names = round.iter().filter_map(|place| fleet.recorded_fleet.nodes.get(*place as usize));
        names.map(String::as_str).collect::<Vec<&str>>().join(" ")
    };
    let rounds: Vec<String> = fleet.recorded_fleet.rounds.iter().map(named).collect();
    let round_environment =
        |number: u32, names: &str| [("LINERATE_NODES", names.to_owned()), ("LINERATE_ROUND", number.to_string())];
    let restart =
        |number: u32, names: &str| run_user_command(environment, command, &round_environment(number, names), stop);
    let is_well =
        |number: u32, names: &str| wait_until_healthy(environment, fleet, &round_environment(number, names), stop);
    run_rounds(&rounds, &fleet.unhealthy_after_round, &restart, &is_well)
}

/// One round behind the other, none before all is well: behind one that went wrong, the next would take more than the
/// target can miss, and so would the first one. Where one went wrong before, its nodes are begun with, since the target
/// misses them already.
fn run_rounds(
    rounds: &[String],
    unhealthy_after_round: &Cell<u32>,
    restart: RoundAction<'_>,
    await_health: RoundAction<'_>,
) -> Result<(), Failure> {
    let missed = unhealthy_after_round.get();
    if missed == 0 {
        await_health(0, "")?;
    }
    let mut all: Vec<(u32, &String)> = (1_u32..).zip(rounds).collect();
    all.sort_by_key(|(number, _)| *number != missed);
    for (number, names) in all {
        unhealthy_after_round.set(number);
        restart(number, names)?;
        await_health(number, names)?;
        unhealthy_after_round.set(0);
    }
    Ok(())
}

/// What keeps the target from being well: a host that takes no connection, whatever the command says, which may ask one
/// of many; else that the command fails.
fn why_unhealthy(
    environment: &ArmEnvironment,
    fleet: &ChangedFleet,
    round_environment: &[(&str, String)],
    left: Duration,
    stop: &AtomicBool,
) -> Result<Option<String>, Failure> {
    let refusing = fleet.hosts.iter().find_map(|host| {
        let error = TcpStream::connect_timeout(host, CONNECT_TIMEOUT).err()?;
        Some(format!("{host} takes no connection: {error}"))
    });
    let Some(command) = fleet.recorded_fleet.health.as_ref().filter(|_| refusing.is_none()) else {
        return Ok(refusing);
    };
    let ended =
        bench_process::run_shell(command, round_environment, &environment.folder.join("command.log"), left, stop)?;
    Ok((ended.code != Some(0)).then(|| format!("{command:?} fails: {}", ended.last_message)))
}

/// Waits until the target is well, several looks long: what was told to restart may not have begun to.
fn wait_until_healthy(
    environment: &ArmEnvironment,
    fleet: &ChangedFleet,
    round_environment: &[(&str, String)],
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let (until, mut looks) = (Instant::now() + RESTART_TIMEOUT, 0);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let why = why_unhealthy(environment, fleet, round_environment, left, stop)?;
        looks = if why.is_none() { looks + 1 } else { 0 };
        if looks == HEALTHY_POLLS {
            return Ok(());
        }
        if is_set(stop) {
            return Err(Failure::Interrupted);
        }
        if Instant::now() > until {
            let (nodes, s) = (round_environment.first().map_or("", |(_, names)| names), RESTART_TIMEOUT.as_secs());
            let when = if nodes.is_empty() { "nothing is restarted".to_owned() } else { format!("{nodes} restarted") };
            let why = why.unwrap_or_else(|| "it is not for long enough".to_owned());
            return Err(Failure::Load(format!("the target is not well for {s} s ({when}): {why}")));
        }
        std::thread::sleep(HEALTH_POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use linerate_record::fleet::NodeRole;

    use super::*;

    /// What is done in three rounds, where the target is not well behind one of them, or a restart fails, and one went
    /// wrong before; and which went wrong then.
    fn rounds_done(unwell_behind: Option<u32>, fails: Option<u32>, missed: u32) -> (Vec<String>, u32) {
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
        let unhealthy_after_round = Cell::new(missed);
        let is_failed = run_rounds(&rounds, &unhealthy_after_round, &restart, &is_well).is_err();
        assert_eq!(is_failed, unwell_behind.is_some() || fails.is_some());
        (done.into_inner(), unhealthy_after_round.into_inner())
    }

    #[test]
    fn no_round_is_begun_before_the_target_is_well_behind_the_one_before() {
        let all = ["well 0", "1: a b", "well 1", "2: c", "well 2", "3: d", "well 3"];
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
        assert_eq!(rounds_done(None, None, 0), (words(&all), 0));
        assert_eq!(rounds_done(Some(0), None, 0), (words(&all[..1]), 0), "what an earlier restart left");
        assert_eq!(rounds_done(Some(2), None, 0), (words(&all[..5]), 2));
        assert_eq!(rounds_done(None, Some(2), 0), (words(&all[..4]), 2));
        // What it misses already is restarted first, whether it is well or not.
        let behind = ["2: c", "well 2", "1: a b", "well 1", "3: d", "well 3"];
        assert_eq!(rounds_done(None, None, 2), (words(&behind), 0));
        assert_eq!(rounds_done(Some(2), None, 2), (words(&behind[..2]), 2));
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
        assert_eq!(restart_rounds(&nodes, &[guard(1)]), [[0], [1], [2], [3], [4]]);
        assert_eq!(restart_rounds(&nodes, &[guard(2)]), [vec![0, 1], vec![2, 3], vec![4]]);
    }
}
