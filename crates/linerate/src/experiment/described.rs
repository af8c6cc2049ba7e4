//! From flags of bench to the loads of the arms: the baseline's, described, and a patch of it for each arm. What
//! follows knows no flag.

use linerate_record::load::{Load, LoadPatch};

use super::aim::ArmLoad;
use super::arms::Planned;
use super::flags::ConductFlags;
use super::load::bench_flags;
use crate::bench::flags::Reader;
use crate::bench::{alias, resolve};
use crate::failure::Failure;

/// Describes the load of each arm, in their order.
pub(super) fn described(flags: &ConductFlags, arms: &[Planned], read: Reader) -> Result<Vec<ArmLoad>, Failure> {
    let one = |arm: &Planned| {
        let mut parsed = bench_flags(&flags.load, &flags_of(flags, arm), read)?;
        alias::apply(&mut parsed)?;
        let keys = parsed.keys.source();
        let (load, _) = resolve::resolve(&parsed)?;
        Ok(ArmLoad { load, keys, yes_load: flags.yes_load || parsed.target.yes_load })
    };
    arms.iter().map(one).collect()
}

/// Puts the loads into what puts the arms in place: of each, what it has otherwise than the baseline.
pub(super) fn put_in(arms: &mut [Planned], loads: &[ArmLoad]) {
    let base: Option<&Load> = loads.first().map(|baseline| &baseline.load);
    for (arm, own) in arms.iter_mut().zip(loads) {
        arm.means.patch = base.map(|base| LoadPatch::between(base, &own.load)).unwrap_or_default();
        arm.means.keys = own.keys.clone();
    }
}

/// Refuses flags of bench that bench would refuse, those of every arm at once; what is wrong with all is told once.
pub(super) fn require_flags(flags: &ConductFlags, arms: &[Planned], read: Reader) -> Result<(), Failure> {
    let of_arm = |arm: &Planned| {
        bench_flags(&flags.load, &flags_of(flags, arm), read).err().map(Failure::mistakes).unwrap_or_default()
    };
    let each: Vec<Vec<String>> = arms.iter().map(of_arm).collect();
    let is_of_all = |why: &String| each.iter().all(|wrong| wrong.contains(why));
    let of_all = each.first().into_iter().flatten().filter(|why| is_of_all(why)).cloned();
    let own = arms.iter().zip(&each).flat_map(|(arm, wrong)| {
        let own = wrong.iter().filter(|why| !is_of_all(why));
        own.map(|why| format!("arm {:?}: {why}", arm.name))
    });
    let mistakes: Vec<String> = of_all.chain(own).collect();
    if mistakes.is_empty() { Ok(()) } else { Err(Failure::of_mistakes(mistakes)) }
}

/// The flags of bench of an arm: those of all, and its own.
fn flags_of(flags: &ConductFlags, arm: &Planned) -> Vec<String> {
    let host = flags.host.iter().flat_map(|host| ["--host", host]).map(str::to_owned);
    flags.flags.iter().cloned().chain(host).chain(arm.flags.iter().cloned()).collect()
}
