//! Before anything is loaded, each arm is put in place for a moment: what the kernel refuses, what reaches nobody and
//! what else it moves is told then, and not after an hour.

use linerate_experiment::arm_applicability::{ArmReach, NoTestableArm, judge, never_acts, of_sockets};
use linerate_experiment::fingerprint::{differ_besides, factors_of_targets, require_keys as require_keys_of};
use linerate_host::Root;
use linerate_record::experiment::{ArmSetup, NotTested};
use linerate_record::fingerprint::is_of_nic;
use linerate_record::fleet::NodeRole;
use linerate_record::knob::{Change, SettingId, Space};
use linerate_settings::change_plan::differ;

use super::arm_apply;
use super::arm_targets::ArmTarget;
use super::arms::{ArmList, ArmPlan};
use super::cells::{self, ExperimentContext};
use super::fingerprint::{self, FingerprintScope, FingerprintTexts};
use super::fleet::{ChangedFleet, node_apply};
use super::setting_reach::{self, LoadParties};
use crate::terminal::failure::{Failure, code};
use crate::terminal::progress::print_error;

/// What was seen of an arm that was in place.
#[derive(Default)]
pub(super) struct TrialResult {
    reached: Vec<(SettingId, ArmReach)>,
    print: FingerprintTexts,
    events: FingerprintTexts,
    /// Why it was not in place on all nodes, where it was not.
    refused: Option<String>,
}

/// The arms that are measured, and what is said of the others.
pub(super) struct KeptArms {
    pub(super) arms: Vec<ArmPlan>,
    pub(super) targets: Vec<ArmTarget>,
    pub(super) not_tested: Vec<NotTested>,
    pub(super) notes: Vec<String>,
    /// Keys of fingerprints in which the arms are meant to differ.
    pub(super) factors: Vec<String>,
}

/// Puts each arm in place for a moment.
pub(super) fn try_arms(
    experiment_context: &ExperimentContext,
    arms: &[ArmPlan],
    quiet: bool,
) -> Result<Vec<TrialResult>, Failure> {
    let is_slow =
        arms.iter().any(|arm| arm.means.command.is_some()) || experiment_context.environment.restart.is_some();
    let one = |(arm, aim): (&ArmPlan, &ArmTarget)| {
        if is_slow && !quiet {
            print_error(&format!("putting {} in place for a moment", arm.name));
        }
        let seen = arm_apply::with_arm_applied(
            &experiment_context.environment,
            &arm.means,
            experiment_context.environment.cell_overhead(),
            &experiment_context.interrupt.stop,
            || {
                cells::await_target(experiment_context, aim)?;
                match &experiment_context.environment.fleet {
                    Some(fleet) => observe_fleet(fleet, arms, &arm.means),
                    None => Ok(observe_here(experiment_context, &arm.means, aim)),
                }
            },
        );
        match seen {
            Err(Failure::NotInPlace(why)) => Ok(TrialResult { refused: Some(why), ..TrialResult::default() }),
            seen => seen,
        }
    };
    arms.iter().zip(&experiment_context.targets.per_arm).map(one).collect()
}

/// What there is to see of an arm that is in place on this machine.
fn observe_here(experiment_context: &ExperimentContext, means: &ArmSetup, aim: &ArmTarget) -> TrialResult {
    let root = &experiment_context.environment.root;
    let parties = LoadParties::find(root, &aim.hosts(), aim.is_here);
    let reached = setting_reach::setting_reaches(root, &means.changes, &parties);
    let fingerprint_scope =
        cells::fingerprint_scope(experiment_context, aim, || parties.server.as_ref().map(|server| server.pid));
    let (print, events) = fingerprint::finish_fingerprint(
        fingerprint::start_fingerprint(root, &fingerprint_scope),
        root,
        &fingerprint_scope,
    );
    TrialResult { reached, print, events, refused: None }
}

/// The same on the nodes of a fleet: who is changed is known by their role.
fn observe_fleet(fleet: &ChangedFleet, arms: &[ArmPlan], means: &ArmSetup) -> Result<TrialResult, Failure> {
    let all: Vec<ArmSetup> = arms.iter().map(|arm| arm.means.clone()).collect();
    let seen = node_apply::observe_nodes(fleet, &all, means)?;
    let reach = |change: &Change| match (never_acts(change), fleet.recorded_fleet.on) {
        (Some(why), _) => ArmReach::Nowhere(why),
        (None, NodeRole::Storage) => ArmReach::Server,
        (None, NodeRole::Client) => ArmReach::Client,
    };
    let reached = means.changes.iter().map(|change| (change.place.clone(), reach(change))).collect();
    Ok(TrialResult { reached, print: seen.print, events: FingerprintTexts::new(), refused: seen.mismatch })
}

/// Refuses keys of `--may-differ` that no fingerprint has: what they are to excuse would not be excused. Those of a
/// target that each cell starts are not known yet.
pub(super) fn require_keys(wanted: &[String], trial_results: &[TrialResult]) -> Result<(), Failure> {
    let known = trial_results.iter().flat_map(|one| one.print.keys().chain(one.events.keys())).collect();
    require_keys_of(wanted, &known, |_| false).map_err(Failure::usage)
}

/// The same before anybody is loaded: by which interfaces the targets are reached is not known yet either.
pub(super) fn require_keys_here(wanted: &[String], root: &Root, space: &Space) -> Result<(), Failure> {
    if wanted.is_empty() {
        return Ok(());
    }
    let fingerprint_scope = FingerprintScope { space: space.clone(), ..FingerprintScope::default() };
    let (print, events) = fingerprint::finish_fingerprint(
        fingerprint::start_fingerprint(root, &fingerprint_scope),
        root,
        &fingerprint_scope,
    );
    let known = print.keys().chain(events.keys()).collect();
    require_keys_of(wanted, &known, is_of_nic).map_err(Failure::usage)
}

/// Leaves out the arms that reach nobody.
pub(super) fn keep_effective_arms(
    experiment_context: &ExperimentContext,
    arm_list: &ArmList,
    trial_results: &[TrialResult],
) -> Result<KeptArms, Failure> {
    let baseline = &arm_list.arms[0];
    if let Some(why) = &trial_results[0].refused {
        let why = format!("the baseline is not in place on all nodes, and nothing is tested: {why}");
        return Err(Failure::Tune { why, code: code::UNCHANGED });
    }
    let mut kept = KeptArms {
        arms: vec![baseline.clone()],
        targets: vec![experiment_context.targets.per_arm[0].clone()],
        not_tested: arm_list.not_tested.clone(),
        notes: arm_list.notes.clone(),
        factors: Vec::new(),
    };
    let mut prints = vec![trial_results[0].print.clone()];
    for ((arm, aim), seen) in arm_list.arms.iter().zip(&experiment_context.targets.per_arm).zip(trial_results).skip(1) {
        if let Some(why) = &seen.refused {
            kept.not_tested.push(NotTested { arm: arm.name.clone(), why: why.clone() });
            continue;
        }
        let differ = differ(&baseline.means.changes, &arm.means.changes);
        let verdict = judge(&arm.name, &trial_results[0].reached, &seen.reached, &differ);
        kept.notes.extend(verdict.notes);
        match verdict.not_tested {
            Some(left_out) => kept.not_tested.push(left_out),
            None => {
                kept.arms.push(arm.clone());
                kept.targets.push(aim.clone());
                prints.push(seen.print.clone());
            }
        }
    }
    if kept.arms.len() == 1 {
        return Err(Failure::usage(NoTestableArm(kept.not_tested)));
    }
    let means: Vec<_> = kept.arms.iter().map(|arm| arm.means.clone()).collect();
    kept.factors = fingerprint::differing_factors(&means, &prints, experiment_context.environment.restart.is_some());
    if experiment_context.environment.restart.is_none() {
        kept.notes.extend(of_sockets(kept.arms.iter().flat_map(|arm| &arm.means.changes)));
    }
    kept.notes.extend(differ_besides(&means, &kept.factors));
    let differ = kept.targets.iter().any(|aim| aim.load != kept.targets[0].load);
    kept.factors.extend(factors_of_targets(differ, experiment_context.targets.embedded.is_some()));
    kept.factors.sort();
    kept.factors.dedup();
    Ok(kept)
}
