//! Flags that do nothing beside others: refused where they were typed, told where a file has them.

use linerate_record::load::{Levels, Load, Server, Write};
use linerate_record::run::Op;

use crate::bench::flags::{BenchFlags, FlagSource};

/// A flag that does nothing in some runs.
pub(super) struct Idle {
    /// As clap has it.
    id: &'static str,
    pub(super) flag: &'static str,
    /// Whether it does nothing in a run.
    is_idle: fn(&Load) -> bool,
    /// What it is for, and what to do.
    pub(super) fix: &'static str,
    /// Whether nobody would take a figure for another because of it.
    pub(super) is_harmless: bool,
}

const fn idle_flag(id: &'static str, flag: &'static str, is_idle: fn(&Load) -> bool, fix: &'static str) -> Idle {
    Idle { id, flag, is_idle, fix, is_harmless: false }
}

const fn harmless(mut idle: Idle) -> Idle {
    idle.is_harmless = true;
    idle
}

const WHAT_IS_THERE: &str = "--list-existing reads existing objects as they are";

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
        "--target-memory is compared with what GET reads: name get in --op, or drop --target-memory",
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
        "--part.concurrent is for uploads in parts: add --op \
        multipart, or --write multipart for what is read, or drop --part.concurrent",
    ),
    idle_flag(
        "write",
        "--write",
        writes_nothing_before,
        "--write is for objects that are written beforehand to be read: name \
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
        ends_no_point,
        "--precision ends points of a closed loop, and those of --rate and \
        --slo take their whole --duration: drop --precision",
    ),
    idle_flag(
        "warmup",
        "--warmup",
        deletes_only,
        "--warmup is for operations that can be repeated, and no object is deleted twice: drop --warmup",
    ),
    idle_flag(
        "canary_rate",
        "--canary-rate",
        no_canary,
        "--canary-rate paces the canary of --abort-if: add --abort-if, \
        such as p99>200ms, or drop --canary-rate",
    ),
    idle_flag(
        "write",
        "--write",
        writes_nothing_to_list,
        "--write is for objects that are written beforehand, but --list-existing reads existing objects: drop --write",
    ),
    idle_flag(
        "noclear",
        "--noclear",
        reads_existing,
        "--noclear keeps what a run wrote, but --list-existing writes nothing: drop --noclear",
    ),
    harmless(idle_flag(
        "host_select",
        "--host-select",
        one_host,
        "it distributes requests over several hosts, but there is only one",
    )),
    harmless(idle_flag(
        "objects",
        "--objects",
        reads_nothing,
        "it is the number of objects written beforehand, or listed, for operations that read or delete",
    )),
    harmless(idle_flag(
        "noclear",
        "--noclear",
        goes_with_its_target,
        "linerate's own target is removed with all its objects",
    )),
    harmless(idle_flag("obj_size", "--obj.size", reads_existing, WHAT_IS_THERE)),
    harmless(idle_flag("payload", "--payload", reads_existing, WHAT_IS_THERE)),
    harmless(idle_flag("unique", "--unique", reads_existing, WHAT_IS_THERE)),
];

/// The flags given that do nothing, and who gave each.
pub(super) fn idle<'a>(
    flags: &'a BenchFlags,
    load: &'a Load,
) -> impl Iterator<Item = (&'static Idle, FlagSource)> + 'a {
    IDLE.iter().filter_map(move |idle| {
        let given = flags.given.get(idle.id)?;
        (idle.is_idle)(load).then_some((idle, given))
    })
}

fn no_mix(load: &Load) -> bool {
    !load.work.iter().any(|work| work.workload.is_mixed())
}

/// An open loop takes all of its time, as `--precision none` has it.
fn ends_no_point(load: &Load) -> bool {
    open_loop(load) && load.time.precision.0.is_some()
}

fn no_get(load: &Load) -> bool {
    !load.has(Op::Get)
}

fn no_parts(load: &Load) -> bool {
    !load.has_parts()
}

fn writes_nothing_before(load: &Load) -> bool {
    load.objects.write != Write::Put && !load.needs_objects()
}

fn writes_nothing_to_list(load: &Load) -> bool {
    load.objects.write != Write::Put && load.needs_objects() && reads_existing(load)
}

const fn one_host(load: &Load) -> bool {
    match &load.endpoint.server {
        Server::Hosts { authorities, every_address } => authorities.len() == 1 && !*every_address,
        Server::Own { .. } => true,
    }
}

const fn no_search(load: &Load) -> bool {
    !matches!(load.levels, Levels::Searched { .. })
}

const fn open_loop(load: &Load) -> bool {
    load.levels.is_open() && load.time.precision.0.is_some()
}

fn deletes_only(load: &Load) -> bool {
    let asks = load.time.warmup_ns.0.is_some_and(|ns| ns > 0);
    asks && load.work.iter().all(|work| work.workload.deletes_only())
}

const fn no_canary(load: &Load) -> bool {
    load.stops.canary.is_none()
}

fn reads_nothing(load: &Load) -> bool {
    !load.needs_objects()
}

const fn goes_with_its_target(load: &Load) -> bool {
    load.endpoint.server.is_own()
}

const fn reads_existing(load: &Load) -> bool {
    load.objects.list_existing
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
