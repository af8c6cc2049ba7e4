//! Flags that do nothing with others: refused where they were typed, reported where a file has them.

use linerate_record::load::{Levels, Load, Server, Write};
use linerate_record::run::Op;

use crate::commands::bench::flags::{BenchFlags, FlagSource};

/// A flag that does nothing in some runs.
pub(super) struct UnusedFlag {
    /// As clap has it.
    id: &'static str,
    pub(super) flag: &'static str,
    /// Whether it does nothing in a run.
    is_unused: fn(&Load) -> bool,
    /// What it is for, and what to do.
    pub(super) fix: &'static str,
    /// Whether nobody would take a figure for another because of it.
    pub(super) is_harmless: bool,
}

const fn unused_flag(
    id: &'static str,
    flag: &'static str,
    is_unused: fn(&Load) -> bool,
    fix: &'static str,
) -> UnusedFlag {
    UnusedFlag { id, flag, is_unused, fix, is_harmless: false }
}

const fn as_harmless(mut idle: UnusedFlag) -> UnusedFlag {
    idle.is_harmless = true;
    idle
}

const LISTS_EXISTING_TEXT: &str = "--list-existing reads existing objects as they are";

/// Every flag that may do nothing. One that does is refused where it was typed, and reported where a file has it.
const UNUSED_FLAGS: &[UnusedFlag] = &[
    unused_flag("mix", "--mix", has_no_mix, "--mix gives the weights of --op mixed: name mixed in --op, or drop --mix"),
    unused_flag(
        "get_distrib",
        "--get-distrib",
        has_no_mix,
        "--get-distrib is a weight of --op mixed: name it, or drop this",
    ),
    unused_flag(
        "stat_distrib",
        "--stat-distrib",
        has_no_mix,
        "--stat-distrib is a weight of --op mixed: name it, or drop this",
    ),
    unused_flag(
        "put_distrib",
        "--put-distrib",
        has_no_mix,
        "--put-distrib is a weight of --op mixed: name it, or drop this",
    ),
    unused_flag(
        "delete_distrib",
        "--delete-distrib",
        has_no_mix,
        "--delete-distrib is a weight of --op mixed: name it, or drop this",
    ),
    unused_flag(
        "range_size",
        "--range-size",
        has_no_get,
        "--range-size is for GET: name get in --op, or drop --range-size",
    ),
    unused_flag(
        "verify",
        "--verify",
        has_no_get,
        "--verify compares what GET reads: name get in --op, or drop --verify",
    ),
    unused_flag(
        "target_memory",
        "--target-memory",
        has_no_get,
        "--target-memory is compared with what GET reads: name get in --op, or drop --target-memory",
    ),
    unused_flag(
        "part_size",
        "--part.size",
        has_no_parts,
        "--part.size cuts uploads in parts: add --op multipart, or --write \
        multipart for what is read, or drop --part.size",
    ),
    unused_flag(
        "part_concurrent",
        "--part.concurrent",
        has_no_parts,
        "--part.concurrent is for uploads in parts: add --op \
        multipart, or --write multipart for what is read, or drop --part.concurrent",
    ),
    unused_flag(
        "write",
        "--write",
        prepares_nothing,
        "--write is for objects that are written beforehand to be read: name \
        get, stat, list or delete in --op, or use --op multipart",
    ),
    unused_flag(
        "max_concurrent",
        "--max-concurrent",
        has_no_search,
        "--max-concurrent bounds the search of --concurrent \
        auto: drop it, or give --concurrent a sweep such as 1..64",
    ),
    unused_flag(
        "warmup",
        "--warmup",
        warmup_of_deletions,
        "--warmup is for operations that can be repeated, and no object is deleted twice: drop --warmup",
    ),
    unused_flag(
        "canary_rate",
        "--canary-rate",
        has_no_canary,
        "--canary-rate paces the canary of --abort-if: add --abort-if, \
        such as p99>200ms, or drop --canary-rate",
    ),
    unused_flag(
        "write",
        "--write",
        prepares_nothing_to_list,
        "--write is for objects that are written beforehand, but --list-existing reads existing objects: drop --write",
    ),
    unused_flag(
        "noclear",
        "--noclear",
        reads_existing,
        "--noclear keeps what a run wrote, but --list-existing writes nothing: drop --noclear",
    ),
    as_harmless(unused_flag(
        "host_select",
        "--host-select",
        has_one_host,
        "it distributes requests over several hosts, but there is only one",
    )),
    as_harmless(unused_flag(
        "objects",
        "--objects",
        reads_nothing,
        "it is the number of objects written beforehand, or listed, for operations that read or delete",
    )),
    as_harmless(unused_flag(
        "noclear",
        "--noclear",
        uses_own_target,
        "linerate's own target is removed with all its objects",
    )),
    as_harmless(unused_flag("obj_size", "--obj.size", reads_existing, LISTS_EXISTING_TEXT)),
    as_harmless(unused_flag("payload", "--payload", reads_existing, LISTS_EXISTING_TEXT)),
    as_harmless(unused_flag("unique", "--unique", reads_existing, LISTS_EXISTING_TEXT)),
];

/// The flags given that do nothing, and who gave each.
pub(super) fn unused_flags<'a>(
    flags: &'a BenchFlags,
    load: &'a Load,
) -> impl Iterator<Item = (&'static UnusedFlag, FlagSource)> + 'a {
    UNUSED_FLAGS.iter().filter_map(move |idle| {
        let given = flags.given.get(idle.id)?;
        (idle.is_unused)(load).then_some((idle, given))
    })
}

fn has_no_mix(load: &Load) -> bool {
    !load.work.iter().any(|work| work.workload.is_mixed())
}

fn has_no_get(load: &Load) -> bool {
    !load.has(Op::Get)
}

fn has_no_parts(load: &Load) -> bool {
    !load.has_parts()
}

fn prepares_nothing(load: &Load) -> bool {
    load.objects.write != Write::Put && !load.needs_objects()
}

fn prepares_nothing_to_list(load: &Load) -> bool {
    load.objects.write != Write::Put && load.needs_objects() && reads_existing(load)
}

const fn has_one_host(load: &Load) -> bool {
    match &load.endpoint.server {
        Server::Hosts { authorities, every_address, .. } => authorities.len() == 1 && !*every_address,
        Server::Own { .. } => true,
    }
}

const fn has_no_search(load: &Load) -> bool {
    !matches!(load.levels, Levels::Searched { .. })
}

fn warmup_of_deletions(load: &Load) -> bool {
    let asks = load.time.warmup_ns.0.is_some_and(|ns| ns > 0);
    asks && load.work.iter().all(|work| work.workload.is_delete_only())
}

const fn has_no_canary(load: &Load) -> bool {
    load.stops.canary.is_none()
}

fn reads_nothing(load: &Load) -> bool {
    !load.needs_objects()
}

const fn uses_own_target(load: &Load) -> bool {
    load.endpoint.server.is_own()
}

const fn reads_existing(load: &Load) -> bool {
    load.objects.list_existing
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::definition::Cli;

    #[test]
    fn every_flag_that_may_do_nothing_is_one() {
        let command = Cli::command();
        let bench = command.find_subcommand("bench").expect("bench");
        for idle in UNUSED_FLAGS {
            let arg = bench.get_arguments().find(|arg| arg.get_id() == idle.id);
            let long = arg.and_then(clap::Arg::get_long).map(|name| format!("--{name}"));
            assert_eq!(long.as_deref(), Some(idle.flag));
            assert!(idle.is_harmless || idle.fix.contains(idle.flag), "{} names itself: {}", idle.flag, idle.fix);
        }
    }
}
