//! The rounds of a run: which pairs are measured in which, how often, and how long that takes.

use std::time::Duration;

use linerate_analysis::net::{NetSplits, rounds, sampled, sampled_of_hosts, splits};
use linerate_fleet::description::FleetNode;
use linerate_record::net::NetWay;
use linerate_record::plan::Spread;

use super::flags::NetFlags;
use super::routes::{self, RoutedRound};
use super::{OVERHEAD, racks, stream_search};
use crate::files::site_update;
use crate::terminal::failure::Failure;

/// Rounds that are measured unless flags say otherwise: beyond, a sample says as much of machines in less time.
const DEFAULT_ROUNDS: u32 = 16;

/// The same where machines share hosts: of those, few are in a round.
const DEFAULT_ROUNDS_WITH_HOSTS: u32 = 64;

/// Members of a bond before it is known how many those of the machines have: what most bonds have.
const ASSUMED_MEMBERS: u32 = 2;

/// The rounds of a run, and their order.
pub(super) struct NetSchedule {
    pub(super) way: NetWay,
    pub(super) rounds: Vec<Vec<(u32, u32)>>,
    pub(super) all_rounds: usize,
    /// Rounds by each way to their receivers.
    pub(super) routed_rounds: Vec<RoutedRound>,
    pub(super) seed: u64,
    /// Members at which streams are aimed in turn; 1 where they are not.
    pub(super) members: u32,
    /// How oversubscribed the site states that racks are, where these are measured.
    pub(super) stated_oversubscription: Option<f64>,
    /// What S3 traffic of the site gets of its bonds.
    pub(super) bonds_by_model: Vec<Spread>,
}

/// What is asked for, where all machines are there.
pub(super) fn schedule(flags: &NetFlags, nodes_of_run: &[&FleetNode], seed: u64) -> Result<NetSchedule, Failure> {
    let schedule = schedule_of_present(flags, nodes_of_run, seed)?;
    match flags.rounds {
        Some(most) if most as usize > schedule.all_rounds => Err(Failure::usage(format!(
            "--rounds {most}: {} machines have {} rounds: leave it out",
            nodes_of_run.len(),
            schedule.all_rounds
        ))),
        _ => Ok(schedule),
    }
}

/// The same of any of them, with as many rounds as they have.
pub(super) fn schedule_of_present(flags: &NetFlags, of: &[&FleetNode], seed: u64) -> Result<NetSchedule, Failure> {
    let (nodes, depends_on_placement) = (of.len(), routes::depends_on_placement(flags, of));
    // Who sends and receives at once on one host, or several of it, would each be measured with the other.
    let way = match flags.way(nodes) {
        NetWay::Ring if depends_on_placement => NetWay::OneWay,
        way => way,
    };
    let most =
        flags.rounds.unwrap_or(if depends_on_placement { DEFAULT_ROUNDS_WITH_HOSTS } else { DEFAULT_ROUNDS }) as usize;
    let (all_rounds, rounds): (usize, Vec<Vec<(u32, u32)>>) = if way == NetWay::Bisection {
        let NetSplits { rounds, all_rounds } = splits(&racks::rack_numbers(of, depends_on_placement)?, most, seed);
        (all_rounds, rounds)
    } else if depends_on_placement && way != NetWay::Incast {
        let groups = routes::rounds_without_shared_hosts(of, way);
        (groups.iter().map(Vec::len).sum(), sampled_of_hosts(&groups, most, seed))
    } else {
        let all = rounds(u32::try_from(nodes).unwrap_or(u32::MAX), way);
        (all.len(), if most >= all.len() { all } else { sampled(&all, most, seed) })
    };
    let members = if flags.members { ASSUMED_MEMBERS } else { 1 };
    let routed_rounds = routes::routed_rounds(&rounds, |through, to| routes::has_route(flags, of, through, to));
    let site = flags.into.as_deref().filter(|_| way == NetWay::Bisection);
    let stated_oversubscription = site.map(site_update::stated_oversubscription).transpose()?.flatten();
    let bonds_by_model = site_update::bonds_by_model(flags.site.as_deref(), flags.into.as_deref(), flags.plane)?;
    Ok(NetSchedule { way, rounds, all_rounds, routed_rounds, seed, members, stated_oversubscription, bonds_by_model })
}

/// How many visits are made; of a search, in each step.
pub(super) fn visit_count(flags: &NetFlags, schedule: &NetSchedule) -> usize {
    schedule.routed_rounds.len() * flags.stream_counts().len() * flags.visits as usize * schedule.members as usize
}

/// How long all of it takes, at the least; of a search, each step.
pub(super) fn duration_min(flags: &NetFlags, schedule: &NetSchedule) -> Duration {
    (flags.duration + flags.warmup + OVERHEAD) * u32::try_from(visit_count(flags, schedule)).unwrap_or(u32::MAX)
}

/// The same with all steps that a search may have.
pub(super) fn duration_max(flags: &NetFlags, schedule: &NetSchedule) -> Duration {
    duration_min(flags, schedule) * stream_search::search_steps(flags.chosen_streams())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::super::flags::tests::Line;
    use super::*;

    #[test]
    fn more_rounds_than_there_are_are_refused_unless_machines_were_lost_since() {
        let text = "nodes:\n  - {name: 'n{0...9}', role: client}\n";
        let fleet = linerate_fleet::description::read(text, "f.yaml").unwrap();
        let all: Vec<&FleetNode> = fleet.iter().collect();
        let flags = |rounds: &str| Line::parse_from(["net", "--fleet", "f", "--rounds", rounds]).net;
        let refused = schedule(&flags("10"), &all, 1).err().map(|error| error.to_string());
        assert_eq!(refused.as_deref(), Some("--rounds 10: 10 machines have 9 rounds: leave it out"));
        let rounds = |schedule: Result<NetSchedule, Failure>| schedule.map(|of| (of.rounds.len(), of.all_rounds)).ok();
        assert_eq!(rounds(schedule(&flags("9"), &all, 1)), Some((9, 9)));
        assert_eq!(rounds(schedule_of_present(&flags("9"), &all[1..], 1)), Some((8, 8)));
        assert_eq!(rounds(schedule_of_present(&flags("5"), &all[1..], 1)), Some((5, 8)));
    }
}
