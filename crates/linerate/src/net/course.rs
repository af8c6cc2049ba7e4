//! The rounds of a run: which pairs are measured in which, how often, and how long that takes.

use std::time::Duration;

use linerate_analysis::net::{NetSplits, rounds, sampled, sampled_of_hosts, splits};
use linerate_fleet::description::FleetNode;
use linerate_record::net::NetWay;
use linerate_record::plan::Spread;

use super::flags::NetFlags;
use super::ways::{self, NetLeg};
use super::{BESIDE, racked, searched};
use crate::failure::Failure;
use crate::observed;

/// Rounds that are measured unless flags say otherwise: beyond, a sample says as much of machines in less time.
const ROUNDS: u32 = 16;

/// The same where machines share hosts: of those, few are in a round.
const ROUNDS_OF_HOSTS: u32 = 64;

/// Members of a bond before it is known how many those of the machines have: what most bonds have.
const MEMBERS_LEAST: u32 = 2;

/// The rounds of a run, and their order.
pub(super) struct NetCourse {
    pub(super) way: NetWay,
    pub(super) rounds: Vec<Vec<(u32, u32)>>,
    pub(super) all_rounds: usize,
    /// Rounds by each way to their receivers.
    pub(super) legs: Vec<NetLeg>,
    pub(super) seed: u64,
    /// Members at which streams are aimed in turn; 1 where they are not.
    pub(super) members: u32,
    /// How oversubscribed the site states that racks are, where these are measured.
    pub(super) stated: Option<f64>,
    /// What S3 traffic of the site gets of its bonds.
    pub(super) bonds_by_model: Vec<Spread>,
}

/// What is asked for, where all machines are there.
pub(super) fn course(flags: &NetFlags, of: &[&FleetNode], seed: u64) -> Result<NetCourse, Failure> {
    let course = course_of(flags, of, seed)?;
    match flags.rounds {
        Some(most) if most as usize > course.all_rounds => Err(Failure::usage(format!(
            "--rounds {most}: {} machines have {} rounds: leave it out",
            of.len(),
            course.all_rounds
        ))),
        _ => Ok(course),
    }
}

/// The same of any of them, with as many rounds as they have.
pub(super) fn course_of(flags: &NetFlags, of: &[&FleetNode], seed: u64) -> Result<NetCourse, Failure> {
    let (nodes, are_placed) = (of.len(), ways::are_placed(flags, of));
    // Who sends and receives at once on one host, or several of it, would each be measured with the other.
    let way = match flags.way(nodes) {
        NetWay::Ring if are_placed => NetWay::OneWay,
        way => way,
    };
    let most = flags.rounds.unwrap_or(if are_placed { ROUNDS_OF_HOSTS } else { ROUNDS }) as usize;
    let (all_rounds, rounds): (usize, Vec<Vec<(u32, u32)>>) = if way == NetWay::Bisection {
        let NetSplits { rounds, all_rounds } = splits(&racked::racks(of, are_placed)?, most, seed);
        (all_rounds, rounds)
    } else if are_placed && way != NetWay::Incast {
        let groups = ways::of_hosts(of, way);
        (groups.iter().map(Vec::len).sum(), sampled_of_hosts(&groups, most, seed))
    } else {
        let all = rounds(u32::try_from(nodes).unwrap_or(u32::MAX), way);
        (all.len(), if most >= all.len() { all } else { sampled(&all, most, seed) })
    };
    let members = if flags.members { MEMBERS_LEAST } else { 1 };
    let legs = ways::legs(&rounds, |through, to| ways::has_way(flags, of, (through, to)));
    let site = flags.into.as_deref().filter(|_| way == NetWay::Bisection);
    let stated = site.map(observed::stated_oversubscription).transpose()?.flatten();
    let bonds_by_model = observed::bonds_by_model(flags.site.as_deref(), flags.into.as_deref(), flags.plane)?;
    Ok(NetCourse { way, rounds, all_rounds, legs, seed, members, stated, bonds_by_model })
}

/// How many visits are made; of a search, in each step.
pub(super) fn visits(flags: &NetFlags, course: &NetCourse) -> usize {
    course.legs.len() * flags.numbers_of_streams().len() * flags.visits as usize * course.members as usize
}

/// How long all of it takes, at the least; of a search, each step.
pub(super) fn takes(flags: &NetFlags, course: &NetCourse) -> Duration {
    (flags.duration + flags.warmup + BESIDE) * u32::try_from(visits(flags, course)).unwrap_or(u32::MAX)
}

/// The same with all steps that a search may have.
pub(super) fn takes_most(flags: &NetFlags, course: &NetCourse) -> Duration {
    takes(flags, course) * searched::steps(flags.wished_streams())
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
        let refused = course(&flags("10"), &all, 1).err().map(|error| error.to_string());
        assert_eq!(refused.as_deref(), Some("--rounds 10: 10 machines have 9 rounds: leave it out"));
        let rounds = |course: Result<NetCourse, Failure>| course.map(|of| (of.rounds.len(), of.all_rounds)).ok();
        assert_eq!(rounds(course(&flags("9"), &all, 1)), Some((9, 9)));
        assert_eq!(rounds(course_of(&flags("9"), &all[1..], 1)), Some((8, 8)));
        assert_eq!(rounds(course_of(&flags("5"), &all[1..], 1)), Some((5, 8)));
    }
}
