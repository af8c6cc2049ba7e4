//! Flags that are right one by one and wrong together: all that is wrong with them is told at once, before anything is
//! reached or made.

use std::time::Duration;

use linerate_load::naming::{check_bucket, check_prefix};
use linerate_load::session::Workload;
use linerate_load::sys::process_cpu_ns;
use linerate_record::run::Op;

use super::setup::{lookup, payload};
use super::{bodies, parts};
use crate::cli::{BenchFlags, Given, TargetKind, WriteFlag, name_of};
use crate::endpoint;
use crate::failure::Failure;
use crate::grid::{self, Grid};
use crate::timing::WarmUp;

/// The grid that the flags ask for, and what is to be told of flags without effect that do no harm.
///
/// # Errors
/// Every mistake of the flags, each with its fix.
pub(crate) fn check(flags: &BenchFlags) -> Result<(Grid, Vec<String>), Failure> {
    let mut mistakes = Vec::new();
    let mut add = |failure: Failure| mistakes.extend(failure.mistakes());
    let grid = Grid::parse(&flags.work).map_err(&mut add).ok();
    of_target(flags).into_iter().for_each(|why| add(Failure::usage(why)));
    let names = check_bucket(&flags.target.bucket, lookup(flags.target.lookup));
    names.map_err(|error| add(error.into())).ok();
    check_prefix(&flags.target.prefix).map_err(|error| add(error.into())).ok();
    of_work(flags).into_iter().for_each(|why| add(Failure::usage(why)));
    let mut notes = Vec::new();
    if let Some(grid) = &grid {
        of_grid(flags, grid).into_iter().for_each(&mut add);
        for (idle, given) in idle(flags, grid) {
            match given {
                Given::Typed if !idle.is_harmless => add(Failure::usage(idle.fix)),
                _ => notes.push(format!("{} has no effect: {}", idle.flag, idle.fix)),
            }
        }
    }
    match grid {
        Some(grid) if mistakes.is_empty() => Ok((grid, notes)),
        _ => Err(Failure::of_mistakes(mistakes)),
    }
}

/// What is wrong with whom the flags aim at.
fn of_target(flags: &BenchFlags) -> Vec<String> {
    let mut wrong = Vec::new();
    let (target, keys) = (&flags.target, &flags.keys);
    if is_own(flags) {
        for (is_given, flag) in [(target.ca_file.is_some(), "--ca-file"), (target.resolve_host, "--resolve-host")] {
            if is_given {
                wrong.push(format!("{flag} is for --host, and linerate's own target would be loaded"));
            }
        }
        let own = [
            (keys.access_key.is_some(), "--access-key"),
            (keys.secret_key.is_some(), "--secret-key"),
            (keys.session_token.is_some(), "--session-token"),
            (keys.profile.is_some(), "--profile"),
            (keys.anonymous, "--anonymous"),
        ];
        let is_typed = |flag: &str| flags.given.get(&flag.trim_start_matches('-').replace('-', "_"));
        for (_, flag) in own.iter().filter(|(is_set, flag)| *is_set && is_typed(flag) == Some(Given::Typed)) {
            wrong.push(format!("{flag} is for --host: linerate's own target gets keys made for the run; drop it"));
        }
        if target.insecure && !target.tls {
            wrong.push("--insecure is for TLS: give --tls too, or https:// in --host".to_owned());
        }
    }
    if target.target == Some(TargetKind::Null) && target.drive.is_some() {
        wrong.push("--drive is for --target embedded, and the null target stores nothing: drop one of them".to_owned());
    }
    if let Some(pid) = target.target_pid.filter(|&pid| process_cpu_ns(pid).is_err()) {
        wrong.push(format!("--target-pid {pid} is no process that can be looked at on this machine"));
    }
    wrong
}

/// Whether a target of linerate's own would be loaded.
fn is_own(flags: &BenchFlags) -> bool {
    let target = &flags.target;
    let is_named = target.host.is_some() || target.alias.is_some();
    !is_named && (endpoint::is_own(target) || endpoint::of_environment().is_none())
}

/// What is wrong with the work, whatever the operations.
fn of_work(flags: &BenchFlags) -> Vec<String> {
    let work = &flags.work;
    let mut wrong = Vec::new();
    if work.verify && work.list_existing {
        wrong.push("--verify needs objects that the run wrote: drop --list-existing or --verify".to_owned());
    }
    if work.verify && flags.target.target == Some(TargetKind::Null) {
        wrong.push("--verify has nothing to compare with on --target null, which stores nothing".to_owned());
    }
    if work.arrivals.is_some() && !work.is_open() {
        wrong.push("--arrivals spaces the requests of an open loop: add --rate or --slo".to_owned());
    }
    if flags.keys.anonymous && payload(work.payload).is_chunked() {
        let name = name_of(work.payload);
        wrong.push(format!("--payload {name} needs credentials: drop --anonymous, or use unsigned"));
    }
    if work.timeout < Duration::from_millis(1) {
        wrong.push(format!("--timeout {:?} fails every request: give 1ms or more", work.timeout));
    }
    if work.range_size.is_some_and(|r| r.0 == 0) {
        wrong.push("--range-size 0 reads nothing: give a length such as 64KiB".to_owned());
    }
    wrong
}

/// What is wrong with the work for these operations.
fn of_grid(flags: &BenchFlags, grid: &Grid) -> Vec<Failure> {
    let work = &flags.work;
    let writes = grid.workloads.iter().any(|w| !matches!(w.name.as_str(), "get" | "stat" | "list"));
    let reads_only = || Failure::usage("--list-existing only reads: use it with --op get, stat or list");
    let only_reads = if work.list_existing && writes { Err(reads_only()) } else { Ok(()) };
    [only_reads, parts::check(work, grid), bodies::check(work, grid)].into_iter().filter_map(Result::err).collect()
}

/// A flag that does nothing in some runs.
struct Idle {
    /// As clap has it.
    id: &'static str,
    flag: &'static str,
    /// Whether it does nothing in a run.
    is_idle: fn(&BenchFlags, &Grid) -> bool,
    /// What it is for, and what to do.
    fix: &'static str,
    /// Whether nobody would take a figure for another because of it.
    is_harmless: bool,
}

const fn idle_flag(
    id: &'static str,
    flag: &'static str,
    is_idle: fn(&BenchFlags, &Grid) -> bool,
    fix: &'static str,
) -> Idle {
    Idle { id, flag, is_idle, fix, is_harmless: false }
}

const fn harmless(mut idle: Idle) -> Idle {
    idle.is_harmless = true;
    idle
}

const WHAT_IS_THERE: &str = "--list-existing reads what is there, as it is";

/// Every flag that may do nothing. One that does is refused where it was typed, and told where a file has it.
const IDLE: &[Idle] = &[
    idle_flag("mix", "--mix", no_mix, "--mix gives the weights of --op mixed: name mixed in --op, or drop --mix"),
    idle_flag("get_distrib", "--get-distrib", no_mix, "--get-distrib is a weight of --op mixed: name it, or drop this"),
    idle_flag(
        "stat_distrib",
        "--stat-distrib",
        no_mix,
        "--stat-distrib is a weight of --op mixed: name it, or drop this",
    ),
    idle_flag("put_distrib", "--put-distrib", no_mix, "--put-distrib is a weight of --op mixed: name it, or drop this"),
    idle_flag(
        "delete_distrib",
        "--delete-distrib",
        no_mix,
        "--delete-distrib is a weight of --op mixed: name it, or drop this",
    ),
    idle_flag("range_size", "--range-size", no_get, "--range-size is for GET: name get in --op, or drop --range-size"),
    idle_flag("verify", "--verify", no_get, "--verify compares what GET reads: name get in --op, or drop --verify"),
    idle_flag(
        "target_memory",
        "--target-memory",
        no_get,
        "--target-memory is held against what GET reads: name get in --op, or drop --target-memory",
    ),
    idle_flag(
        "part_size",
        "--part.size",
        no_parts,
        "--part.size cuts uploads in parts: add --op multipart, or --write \
        multipart for what is read, or drop --part.size",
    ),
    idle_flag(
        "part_concurrent",
        "--part.concurrent",
        no_parts,
        "--part.concurrent is of uploads in parts: add --op \
        multipart, or --write multipart for what is read, or drop --part.concurrent",
    ),
    idle_flag(
        "write",
        "--write",
        writes_nothing_before,
        "--write says how objects to read are written beforehand: name \
        get, stat, list or delete in --op, or use --op multipart",
    ),
    idle_flag(
        "max_concurrent",
        "--max-concurrent",
        no_search,
        "--max-concurrent bounds the search of --concurrent \
        auto: drop it, or give --concurrent a sweep such as 1..64",
    ),
    idle_flag(
        "precision",
        "--precision",
        open_loop,
        "--precision ends points of a closed loop, and those of --rate and \
        --slo take their whole --duration: drop --precision",
    ),
    idle_flag(
        "warmup",
        "--warmup",
        deletes_only,
        "--warmup is for what can be done again, and nothing is deleted twice: \
        drop --warmup",
    ),
    idle_flag(
        "canary_rate",
        "--canary-rate",
        no_canary,
        "--canary-rate paces the canary of --abort-if: add --abort-if, \
        such as p99>200ms, or drop --canary-rate",
    ),
    harmless(idle_flag(
        "objects",
        "--objects",
        reads_nothing,
        "it counts what is written beforehand, or listed, for \
        operations that read or delete",
    )),
    harmless(idle_flag(
        "noclear",
        "--noclear",
        goes_with_its_target,
        "linerate's own target goes with all that is in it",
    )),
    harmless(idle_flag("obj_size", "--obj.size", reads_existing, WHAT_IS_THERE)),
    harmless(idle_flag("payload", "--payload", reads_existing, WHAT_IS_THERE)),
    harmless(idle_flag("unique", "--unique", reads_existing, WHAT_IS_THERE)),
];

/// The flags given that do nothing, and who gave each.
fn idle<'a>(flags: &'a BenchFlags, grid: &'a Grid) -> impl Iterator<Item = (&'static Idle, Given)> + 'a {
    IDLE.iter().filter_map(move |idle| {
        let given = flags.given.get(idle.id)?;
        (idle.is_idle)(flags, grid).then_some((idle, given))
    })
}

fn has(grid: &Grid, op: Op) -> bool {
    grid.workloads.iter().any(|w| w.workload.has(op))
}

fn no_mix(_: &BenchFlags, grid: &Grid) -> bool {
    !grid.workloads.iter().any(|w| matches!(w.workload, Workload::Mixed(_)))
}

fn no_get(_: &BenchFlags, grid: &Grid) -> bool {
    !has(grid, Op::Get)
}

fn no_parts(flags: &BenchFlags, grid: &Grid) -> bool {
    !parts::wanted(&flags.work, grid)
}

fn writes_nothing_before(flags: &BenchFlags, grid: &Grid) -> bool {
    flags.work.write != WriteFlag::Put && !parts::reads(grid)
}

fn no_search(flags: &BenchFlags, _: &Grid) -> bool {
    flags.work.is_open() || grid::is_given(&flags.work)
}

fn open_loop(flags: &BenchFlags, _: &Grid) -> bool {
    flags.work.is_open() && flags.work.precision.0.is_some()
}

fn deletes_only(flags: &BenchFlags, grid: &Grid) -> bool {
    let asks = matches!(flags.work.warmup, WarmUp::Given(time) if !time.is_zero());
    asks && grid.workloads.iter().all(|w| w.workload == Workload::Single(Op::Delete))
}

fn no_canary(flags: &BenchFlags, _: &Grid) -> bool {
    flags.work.abort_if.is_none()
}

fn reads_nothing(_: &BenchFlags, grid: &Grid) -> bool {
    !parts::reads(grid)
}

fn goes_with_its_target(flags: &BenchFlags, _: &Grid) -> bool {
    is_own(flags)
}

fn reads_existing(flags: &BenchFlags, _: &Grid) -> bool {
    flags.work.list_existing
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_flag_that_may_do_nothing_is_one() {
        let command = Cli::command();
        let bench = command.find_subcommand("bench").expect("bench");
        for idle in IDLE {
            let arg = bench.get_arguments().find(|arg| arg.get_id() == idle.id);
            let long = arg.and_then(clap::Arg::get_long).map(|name| format!("--{name}"));
            assert_eq!(long.as_deref(), Some(idle.flag));
            assert!(idle.is_harmless || idle.fix.contains(idle.flag), "{} names itself: {}", idle.flag, idle.fix);
        }
    }
}
