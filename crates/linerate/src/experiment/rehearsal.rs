//! Before anything is loaded, each arm is put in place for a moment: what the kernel refuses, what reaches nobody and
//! what else it moves is told then, and not after an hour.

use linerate_experiment::fingerprint::{differ_besides, factors_of_targets, require_keys as require_keys_of};
use linerate_experiment::reach::{NothingTested, Reach, judge, never_acts, of_sockets};
use linerate_host::Root;
use linerate_record::experiment::{Means, NotTested};
use linerate_record::fingerprint::is_of_nic;
use linerate_record::fleet::NodeRole;
use linerate_record::knob::{Change, SettingPlace, Space};
use linerate_settings::changes::differ;

use super::aim::ArmTarget;
use super::arms::{Lineup, Planned};
use super::cells::{self, Scene};
use super::fingerprint::{self, Print, Sight};
use super::fleet::{ArmFleet, placing};
use super::place;
use super::reach::{self, Parties};
use crate::failure::{Failure, code};
use crate::progress::say;

/// What was seen of an arm that was in place.
#[derive(Default)]
pub(super) struct Rehearsed {
    reached: Vec<(SettingPlace, Reach)>,
    print: Print,
    moment: Print,
    /// Why it was not in place on all nodes, where it was not.
    refused: Option<String>,
}

/// The arms that are measured, and what is said of the others.
pub(super) struct Kept {
    pub(super) arms: Vec<Planned>,
    pub(super) aims: Vec<ArmTarget>,
    pub(super) not_tested: Vec<NotTested>,
    pub(super) notes: Vec<String>,
    /// Keys of fingerprints in which the arms are meant to differ.
    pub(super) factors: Vec<String>,
}

/// Puts each arm in place for a moment.
pub(super) fn rehearse(scene: &Scene, arms: &[Planned], quiet: bool) -> Result<Vec<Rehearsed>, Failure> {
    let is_slow = arms.iter().any(|arm| arm.means.command.is_some()) || scene.ground.restart.is_some();
    let one = |(arm, aim): (&Planned, &ArmTarget)| {
        if is_slow && !quiet {
            say(&format!("putting {} in place for a moment", arm.name));
        }
        let seen = place::within(&scene.ground, &arm.means, scene.ground.beside(), &scene.interrupt.stop, || {
            cells::await_target(scene, aim)?;
            match &scene.ground.fleet {
                Some(fleet) => seen_on(fleet, arms, &arm.means),
                None => Ok(seen_here(scene, &arm.means, aim)),
            }
        });
        match seen {
            Err(Failure::NotInPlace(why)) => Ok(Rehearsed { refused: Some(why), ..Rehearsed::default() }),
            seen => seen,
        }
    };
    arms.iter().zip(&scene.aims.of_arms).map(one).collect()
}

/// What there is to see of an arm that is in place on this machine.
fn seen_here(scene: &Scene, means: &Means, aim: &ArmTarget) -> Rehearsed {
    let root = &scene.ground.root;
    let parties = Parties::find(root, &aim.hosts, aim.is_here);
    let reached = reach::reaches(root, &means.changes, &parties);
    let sight = cells::sight(scene, aim, || parties.server.as_ref().map(|server| server.pid));
    let (print, moment) = fingerprint::end(fingerprint::begin(root, &sight), root, &sight);
    Rehearsed { reached, print, moment, refused: None }
}

/// The same on the nodes of a fleet: who is changed is known by their role.
fn seen_on(fleet: &ArmFleet, arms: &[Planned], means: &Means) -> Result<Rehearsed, Failure> {
    let all: Vec<Means> = arms.iter().map(|arm| arm.means.clone()).collect();
    let seen = placing::seen(fleet, &all, means)?;
    let reach = |change: &Change| match (never_acts(change), fleet.about.on) {
        (Some(why), _) => Reach::Nowhere(why),
        (None, NodeRole::Storage) => Reach::Server,
        (None, NodeRole::Client) => Reach::Client,
    };
    let reached = means.changes.iter().map(|change| (change.place.clone(), reach(change))).collect();
    Ok(Rehearsed { reached, print: seen.print, moment: Print::new(), refused: seen.fault })
}

/// Refuses keys of `--may-differ` that no fingerprint has: what they are to excuse would not be excused. Those of a
/// target that each cell starts are not known yet.
pub(super) fn require_keys(wanted: &[String], rehearsed: &[Rehearsed]) -> Result<(), Failure> {
    let known = rehearsed.iter().flat_map(|one| one.print.keys().chain(one.moment.keys())).collect();
    require_keys_of(wanted, &known, |_| false).map_err(Failure::usage)
}

/// The same before anybody is loaded: by which interfaces the targets are reached is not known yet either.
pub(super) fn require_keys_here(wanted: &[String], root: &Root, space: &Space) -> Result<(), Failure> {
    if wanted.is_empty() {
        return Ok(());
    }
    let sight = Sight { space: space.clone(), ..Sight::default() };
    let (print, moment) = fingerprint::end(fingerprint::begin(root, &sight), root, &sight);
    let known = print.keys().chain(moment.keys()).collect();
    require_keys_of(wanted, &known, is_of_nic).map_err(Failure::usage)
}

/// Leaves out the arms that reach nobody.
pub(super) fn keep(scene: &Scene, lineup: &Lineup, rehearsed: &[Rehearsed]) -> Result<Kept, Failure> {
    let baseline = &lineup.arms[0];
    if let Some(why) = &rehearsed[0].refused {
        let why = format!("the baseline is not in place on all nodes, and nothing is tested: {why}");
        return Err(Failure::Tune { why, code: code::UNCHANGED });
    }
    let mut kept = Kept {
        arms: vec![baseline.clone()],
        aims: vec![scene.aims.of_arms[0].clone()],
        not_tested: lineup.not_tested.clone(),
        notes: lineup.notes.clone(),
        factors: Vec::new(),
    };
    let mut prints = vec![rehearsed[0].print.clone()];
    for ((arm, aim), seen) in lineup.arms.iter().zip(&scene.aims.of_arms).zip(rehearsed).skip(1) {
        if let Some(why) = &seen.refused {
            kept.not_tested.push(NotTested { arm: arm.name.clone(), why: why.clone() });
            continue;
        }
        let differ = differ(&baseline.means.changes, &arm.means.changes);
        let verdict = judge(&arm.name, &rehearsed[0].reached, &seen.reached, &differ);
        kept.notes.extend(verdict.notes);
        match verdict.not_tested {
            Some(left_out) => kept.not_tested.push(left_out),
            None => {
                kept.arms.push(arm.clone());
                kept.aims.push(aim.clone());
                prints.push(seen.print.clone());
            }
        }
    }
    if kept.arms.len() == 1 {
        return Err(Failure::usage(NothingTested(kept.not_tested)));
    }
    let means: Vec<_> = kept.arms.iter().map(|arm| arm.means.clone()).collect();
    kept.factors = fingerprint::factors(&means, &prints, scene.ground.restart.is_some());
    if scene.ground.restart.is_none() {
        kept.notes.extend(of_sockets(kept.arms.iter().flat_map(|arm| &arm.means.changes)));
    }
    kept.notes.extend(differ_besides(&means, &kept.factors));
    let differ = kept.aims.iter().any(|aim| aim.hosts != kept.aims[0].hosts || aim.load != kept.aims[0].load);
    kept.factors.extend(factors_of_targets(differ, scene.aims.own.is_some()));
    kept.factors.sort();
    kept.factors.dedup();
    Ok(kept)
}
