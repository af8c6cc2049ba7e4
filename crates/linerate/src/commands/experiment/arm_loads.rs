//! From flags of bench to the loads of the arms: the baseline's, described, and a patch of it for each arm. What
//! follows knows no flag.

use linerate_record::load::{Load, LoadPatch};

use super::arm_targets::ArmLoad;
use super::arms::ArmPlan;
use super::bench_process::bench_flags;
use super::flags::ExperimentRunFlags;
use crate::commands::bench::flags::BenchParser;
use crate::commands::bench::{alias, resolve};
use crate::terminal::failure::Failure;

/// Describes the load of each arm, in their order.
pub(super) fn describe_arms(
    flags: &ExperimentRunFlags,
    arms: &[ArmPlan],
    read: BenchParser,
) -> Result<Vec<ArmLoad>, Failure> {
    let one = |arm: &ArmPlan| {
        let mut parsed = bench_flags(&flags.load, &arm_flags(flags, arm), read)?;
        alias::apply(&mut parsed)?;
        let keys = parsed.keys.source();
        let (load, _) = resolve::resolve(&parsed)?;
        Ok(ArmLoad { load, keys, yes_load: flags.yes_load || parsed.target.yes_load })
    };
    arms.iter().map(one).collect()
}

/// Puts the loads into what puts the arms in place: of each, what it has otherwise than the baseline.
pub(super) fn attach_loads(arms: &mut [ArmPlan], loads: &[ArmLoad]) {
    let base: Option<&Load> = loads.first().map(|baseline| &baseline.load);
    for (arm, own) in arms.iter_mut().zip(loads) {
        arm.means.patch = base.map(|base| LoadPatch::between(base, &own.load)).unwrap_or_default();
        arm.means.keys = own.keys.clone();
    }
}

/// Refuses flags of bench that bench would refuse, those of every arm at once; what is wrong with all is told once.
pub(super) fn require_bench_flags(
    flags: &ExperimentRunFlags,
    arms: &[ArmPlan],
    read: BenchParser,
) -> Result<(), Failure> {
    let arm_mistakes = |arm: &ArmPlan| {
        bench_flags(&flags.load, &arm_flags(flags, arm), read).err().map(Failure::mistakes).unwrap_or_default()
    };
    let each: Vec<Vec<String>> = arms.iter().map(arm_mistakes).collect();
    let is_common_mistake = |why: &String| each.iter().all(|wrong| wrong.contains(why));
    let common_mistakes = each.first().into_iter().flatten().filter(|why| is_common_mistake(why)).cloned();
    let own = arms.iter().zip(&each).flat_map(|(arm, wrong)| {
        let own = wrong.iter().filter(|why| !is_common_mistake(why));
        own.map(|why| format!("arm {:?}: {why}", arm.name))
    });
    let mistakes: Vec<String> = common_mistakes.chain(own).collect();
    if mistakes.is_empty() { Ok(()) } else { Err(Failure::from_errors(mistakes)) }
}

/// The flags of bench of an arm: those of all, and its own.
fn arm_flags(flags: &ExperimentRunFlags, arm: &ArmPlan) -> Vec<String> {
    let host = flags.host.iter().flat_map(|host| ["--host", host]).map(str::to_owned);
    flags.flags.iter().cloned().chain(host).chain(arm.flags.iter().cloned()).collect()
}
