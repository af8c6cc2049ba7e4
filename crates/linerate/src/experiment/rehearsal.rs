//! Before anything is loaded, each arm is put in place for a moment: what the kernel refuses, what reaches nobody and
//! what else it moves is told then, and not after an hour.

use std::collections::BTreeSet;

use linerate_experiment::reach::{Reach, judge, of_sockets};
use linerate_host::Root;
use linerate_record::experiment::NotTested;
use linerate_record::fingerprint as keys;
use linerate_record::knob::{SettingPlace, Space};
use linerate_settings::changes::differ;

use super::aim::ArmTarget;
use super::arms::{Lineup, Planned};
use super::cells::{self, Scene};
use super::fingerprint::{self, Print, Sight};
use super::place;
use super::reach::{self, Parties};
use crate::failure::Failure;
use crate::progress::say;

/// What was seen of an arm that was in place.
pub(super) struct Rehearsed {
    reached: Vec<(SettingPlace, Reach)>,
    print: Print,
    moment: Print,
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
        place::within(&scene.ground, &arm.means, cells::BESIDE, &scene.interrupt.stop, || {
            cells::await_target(scene, aim)?;
            let root = &scene.ground.root;
            let parties = Parties::find(root, &aim.hosts, aim.is_here);
            let reached = reach::reaches(root, &arm.means.changes, &parties);
            let sight = cells::sight(scene, aim, || parties.server.as_ref().map(|server| server.pid));
            let (print, moment) = fingerprint::end(fingerprint::begin(root, &sight), root, &sight);
            Ok(Rehearsed { reached, print, moment })
        })
    };
    arms.iter().zip(&scene.aims.of_arms).map(one).collect()
}

/// Refuses keys of `--may-differ` that no fingerprint has: what they are to excuse would not be excused. Those of a
/// target that each cell starts are not known yet.
pub(super) fn require_keys(wanted: &[String], rehearsed: &[Rehearsed]) -> Result<(), Failure> {
    let known = rehearsed.iter().flat_map(|one| one.print.keys().chain(one.moment.keys())).collect();
    require_among(wanted, &known, |_| false)
}

/// The same before anybody is loaded: by which interfaces the targets are reached is not known yet either.
pub(super) fn require_keys_here(wanted: &[String], root: &Root, space: &Space) -> Result<(), Failure> {
    if wanted.is_empty() {
        return Ok(());
    }
    let sight = Sight { space: space.clone(), ..Sight::default() };
    let (print, moment) = fingerprint::end(fingerprint::begin(root, &sight), root, &sight);
    require_among(wanted, &print.keys().chain(moment.keys()).collect(), keys::is_of_nic)
}

fn require_among(wanted: &[String], known: &BTreeSet<&String>, is_taken: fn(&str) -> bool) -> Result<(), Failure> {
    let is_known = |key: &String| known.contains(key) || keys::is_of_target(key) || is_taken(key);
    let Some(unknown) = wanted.iter().find(|key| !is_known(key)) else { return Ok(()) };
    // Settings are some hundreds.
    let names = known.iter().filter(|key| !keys::is_of_setting(key)).map(|key| key.as_str());
    let names = names.collect::<Vec<_>>().join(", ");
    Err(Failure::usage(format!(
        "--may-differ {unknown:?} is not a key of the fingerprint: write one of {names}, or \"setting KNOB\""
    )))
}

/// Leaves out the arms that reach nobody.
pub(super) fn keep(scene: &Scene, lineup: &Lineup, rehearsed: &[Rehearsed]) -> Result<Kept, Failure> {
    let baseline = &lineup.arms[0];
    let mut kept = Kept {
        arms: vec![baseline.clone()],
        aims: vec![scene.aims.of_arms[0].clone()],
        not_tested: Vec::new(),
        notes: lineup.notes.clone(),
        factors: Vec::new(),
    };
    let mut prints = vec![rehearsed[0].print.clone()];
    for ((arm, aim), seen) in lineup.arms.iter().zip(&scene.aims.of_arms).zip(rehearsed).skip(1) {
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
        let whys: Vec<String> = kept.not_tested.iter().map(|left| format!("{}: {}", left.arm, left.why)).collect();
        return Err(Failure::usage(format!("nothing is tested: {}", whys.join("; "))));
    }
    let means: Vec<_> = kept.arms.iter().map(|arm| arm.means.clone()).collect();
    kept.factors = fingerprint::factors(&means, &prints, scene.ground.restart.is_some());
    if scene.ground.restart.is_none() {
        kept.notes.extend(of_sockets(kept.arms.iter().flat_map(|arm| &arm.means.changes)));
    }
    kept.notes.extend(moved_besides(&means, &kept.factors));
    // Who answers is known of a load only; arms that load different targets differ in that.
    if kept.aims.iter().any(|aim| aim.hosts != kept.aims[0].hosts || aim.load != kept.aims[0].load) {
        kept.factors.extend([keys::TARGET_SERVER, keys::TARGET_TLS, keys::TARGET_HOSTS].map(str::to_owned));
    }
    // An experiment that goes on starts another.
    if scene.aims.own.is_some() {
        kept.factors.extend([keys::TARGET_HOSTS, keys::TARGET_STARTED].map(str::to_owned));
    }
    kept.factors.sort();
    kept.factors.dedup();
    Ok(kept)
}

/// What arms move besides what they change.
fn moved_besides(means: &[linerate_record::experiment::Means], factors: &[String]) -> Option<String> {
    let asked: Vec<String> =
        means.iter().flat_map(|means| &means.changes).map(|change| keys::of_setting(&change.place)).collect();
    let besides: Vec<&str> =
        factors.iter().filter(|key| !asked.contains(key) && *key != keys::TARGET_STARTED).map(String::as_str).collect();
    (!besides.is_empty()).then(|| format!("the arms differ in {} as well", besides.join(", ")))
}
