//! From flags, files and the environment to the description of a load, and from a description on standard input.
//!
//! The first stage is what a user wrote: a command line, a file of flags, an alias. The second is a [`Load`], in which
//! nothing is left to look up but names of hosts and keys. All that is wrong is reported at once.

pub(crate) mod check;
mod fleet;
mod unused_flags;
pub(crate) mod work;

use std::io::Read as _;
use std::path::Path;

use clap::{Args as _, Command};
use linerate_analysis::series_search::{KNEE_POINTS_MAX, RATE_POINTS_MAX};
use linerate_analysis::{visit_times, warm_up};
use linerate_load::hosts::{HostsError, NamedHosts};
use linerate_record::load::{
    BodyOptions, CanaryRules, Endpoint, Levels, Load, Objects, OwnTarget, Server, StopConditions, Time, TlsTrust,
    WorkloadSizes,
};
use linerate_record::units::whole_ns;

use super::alias;
use super::flags::{BenchFlags, FlagSource, WorkFlags};
use crate::credentials::endpoint::flags::TargetChoice;
use crate::credentials::{endpoint, keys};
use crate::terminal::failure::Failure;

/// What the visits of a series take together unless it is said, in milliseconds: a quick look.
const SERIES_MS: u64 = 120_000;

/// How long a point of a search takes unless it is said, in milliseconds.
const POINT_MS: u64 = 10_000;

/// How long a point of a search for the knee takes at the most unless it is said, in milliseconds: three visits.
const KNEE_POINT_MS_MAX: u64 = 30_000;

/// Largest description on standard input: thousands of levels and sizes.
const DESCRIPTION_BYTES_MAX: u64 = 1 << 20;

/// Flags that may be given with a description, by their ids: they are no part of the load.
const FLAGS_WITH_DESCRIPTION: [&str; 18] = [
    "description",
    "yes_load",
    "access_key",
    "secret_key",
    "session_token",
    "profile",
    "output",
    "json",
    "title",
    "quiet",
    "metrics",
    "dry_run",
    "no_ceiling",
    "fleet",
    "require_all",
    "become_by",
    "binary",
    "yes_exec",
];

/// The load that the flags ask for, and notes on flags without effect that do no harm.
///
/// # Errors
/// Every mistake of the flags, each with its fix; or, where there is none, what is wrong with the environment.
pub(crate) fn resolve(flags: &BenchFlags) -> Result<(Load, Vec<String>), Failure> {
    if flags.description.is_some() {
        return read_description(flags).map(|load| (load, Vec::new()));
    }
    let (mut load, notes) = check(flags)?;
    // A pipe can be read once, and is read here.
    let named = endpoint::named_hosts(&flags.target)?;
    if let Some(why) = named.as_ref().and_then(|(text, named)| check::check_trust(&flags.target, text, named)) {
        return Err(Failure::usage(why));
    }
    set_target(&mut load.endpoint, &flags.target, named.map(|(_, named)| named).as_ref(), false);
    load.endpoint.region = keys::region(&flags.keys)?;
    Ok((load, notes))
}

/// What is wrong with the flags, as far as it can be known without reading what can be read once. The region and, of
/// such hosts, their names are not in the load yet.
///
/// # Errors
/// Every mistake of the flags, each with its fix.
pub(crate) fn check(flags: &BenchFlags) -> Result<(Load, Vec<String>), Failure> {
    let mut mistakes = Vec::new();
    let mut add = |failure: Failure| mistakes.extend(failure.mistakes());
    let work = work::parse_work(&flags.work).map_err(&mut add).ok();
    let named = named_hosts(&flags.target).map_err(|error| add(error.into())).ok().flatten();
    let is_whole = work.is_some();
    let load = draft_load(flags, work, named.as_ref().map(|(_, named)| named));
    let check_trust = named.as_ref().and_then(|(text, named)| check::check_trust(&flags.target, text, named));
    check_trust.into_iter().for_each(|why| add(Failure::usage(why)));
    fleet::errors_with_fleet(flags, &load).into_iter().for_each(|why| add(Failure::usage(why)));
    check::check_flags(flags, &load).into_iter().for_each(|why| add(Failure::usage(why)));
    let (wrong, mut notes) = check::check_names(&load);
    wrong.into_iter().for_each(&mut add);
    notes.extend(work::repeated_values(&flags.work));
    notes.extend(check::early_ends(flags, &load));
    check::check_load(&load).into_iter().for_each(|why| add(Failure::usage(why)));
    check::check_time(flags, &load).into_iter().for_each(|why| add(Failure::usage(why)));
    if is_whole {
        check::check_work(&load).into_iter().for_each(&mut add);
        for (idle, given) in unused_flags::unused_flags(flags, &load) {
            match given {
                FlagSource::Typed if !idle.is_harmless => add(Failure::usage(idle.fix)),
                _ => notes.push(format!("{} has no effect: {}", idle.flag, idle.fix)),
            }
        }
    }
    if mistakes.is_empty() { Ok((load, notes)) } else { Err(Failure::from_errors(mistakes)) }
}

/// Puts what `--alias` stands for in the flags. Where that is wrong, what else is wrong with them is reported with it.
pub(crate) fn with_alias(flags: &mut BenchFlags) -> Result<(), Failure> {
    alias::apply(flags).map_err(|failure| Failure::combine([Some(failure), check(flags).err()]))
}

/// What is wrong with the flags and what `--alias` stands for in them.
pub(crate) fn check_with_alias(flags: &mut BenchFlags) -> Result<(), Failure> {
    with_alias(flags)?;
    check(flags).map(|_| ())
}

/// The load that stands on standard input. Whoever wrote it, it is held against the rules of flags.
fn read_description(flags: &BenchFlags) -> Result<Load, Failure> {
    // Groups of flags are called after their types.
    let mut ids = flags.given.0.keys().filter(|id| !id.starts_with(char::is_uppercase));
    if let Some(id) = ids.find(|id| !FLAGS_WITH_DESCRIPTION.contains(&id.as_str())) {
        let bench = BenchFlags::augment_args(Command::new("bench"));
        let flag = bench.get_arguments().find(|arg| arg.get_id() == id);
        let flag = flag.and_then(clap::Arg::get_long).unwrap_or(id);
        return Err(Failure::usage(format!("--description is the whole load: drop --{flag}")));
    }
    let mut text = Vec::new();
    let read = std::io::stdin().lock().take(DESCRIPTION_BYTES_MAX + 1).read_to_end(&mut text);
    read.map_err(|source| Failure::File { what: "read", path: "standard input".into(), source })?;
    if text.len() as u64 > DESCRIPTION_BYTES_MAX {
        return Err(Failure::usage("the description of a load on standard input is longer than 1 MiB"));
    }
    let load = parse_description(&text)?;
    let wrong = fleet::errors_with_fleet(flags, &load);
    if wrong.is_empty() { Ok(load) } else { Err(Failure::from_errors(wrong)) }
}

fn parse_description(text: &[u8]) -> Result<Load, Failure> {
    let load: Load = serde_json::from_slice(text)
        .map_err(|error| Failure::usage(format!("invalid description of a load on standard input: {error}")))?;
    check_described_load(&load)?;
    Ok(load)
}

/// Refuses a load that somebody described as flags would be refused that ask for it.
pub(crate) fn check_described_load(load: &Load) -> Result<(), Failure> {
    let (names, _) = check::check_names(load);
    let rest = check::check_load(load).into_iter().chain(check::check_description(load)).map(Failure::usage);
    let wrong: Vec<String> =
        names.into_iter().chain(rest).chain(check::check_work(load)).flat_map(Failure::mistakes).collect();
    if wrong.is_empty() { Ok(()) } else { Err(Failure::from_errors(wrong)) }
}

/// The hosts that are named. A pipe of hosts can be read once, and is left to the run, as is what is wrong with
/// those of the environment.
fn named_hosts(target: &TargetChoice) -> Result<Option<(String, NamedHosts)>, HostsError> {
    let is_pipe = |entry: &str| {
        let path = entry.trim().strip_prefix("file:").map(Path::new);
        path.is_some_and(|path| path.exists() && !path.is_file())
    };
    let text = target.host.clone().or_else(endpoint::host_of_environment);
    if text.is_some_and(|text| text.split(',').any(is_pipe)) {
        return Ok(None);
    }
    match endpoint::named_hosts(target) {
        Err(_) if target.host.is_none() => Ok(None),
        named => named,
    }
}

/// Whether a target of linerate's own would be loaded.
fn is_own_target(target: &TargetChoice) -> bool {
    let is_named = target.host.is_some() || target.alias.is_some();
    !is_named && (endpoint::is_own_target(target) || endpoint::host_of_environment().is_none())
}

/// What flags say, where what could not be read of them is left empty.
fn draft_load(flags: &BenchFlags, work: Option<(Vec<WorkloadSizes>, Levels)>, named: Option<&NamedHosts>) -> Load {
    let (target, work_flags) = (&flags.target, &flags.work);
    let (work, levels) = work.unwrap_or_else(|| (Vec::new(), Levels::Given(Vec::new())));
    let mut endpoint = Endpoint {
        server: Server::Own { kind: OwnTarget::Embedded, drive: None },
        tls: None,
        anonymous: flags.keys.anonymous,
        region: String::new(),
        bucket: target.bucket.clone(),
        prefix: target.prefix.clone(),
        lookup: target.lookup,
        host_select: target.host_select,
        source: target.source.clone(),
        pid: target.target_pid,
        memory_bytes: target.target_memory.map(|memory| memory.0),
    };
    set_target(&mut endpoint, target, named, named.is_none() && !is_own_target(target));
    Load {
        endpoint,
        work,
        objects: Objects {
            count: work_flags.objects,
            write: work_flags.write,
            list_existing: work_flags.list_existing,
            noclear: work_flags.noclear,
        },
        bodies: BodyOptions {
            payload: work_flags.payload,
            unique: work_flags.unique,
            part_bytes: work_flags.part_size.0,
            part_concurrent: work_flags.part_concurrent,
            range_bytes: work_flags.range_size.map(|range| range.0),
            verify: work_flags.verify,
        },
        time: point_times(work_flags, &levels),
        levels,
        max_rate: work_flags.max_rate,
        threads: work_flags.threads,
        stops: stop_rules(work_flags),
    }
}

/// Aims an endpoint at the hosts that were named, at hosts that are not known yet, or at a target of linerate's own.
fn set_target(endpoint: &mut Endpoint, target: &TargetChoice, named: Option<&NamedHosts>, is_unknown: bool) {
    let trust = || TlsTrust { insecure: target.insecure, ca_file: target.ca_file.clone() };
    let is_tls = named.map_or(target.tls, |named| named.tls);
    endpoint.tls = is_tls.then(trust);
    endpoint.server = if named.is_some() || is_unknown {
        let authorities = named.map_or_else(Vec::new, |named| named.authorities.clone());
        Server::named(authorities, target.resolve_host)
    } else {
        Server::Own { kind: target.target.unwrap_or(OwnTarget::Embedded), drive: target.drive.clone() }
    };
}

/// How long series and their visits run. Who says how long a visit takes, and not how long all of them, gets one of
/// each level, and a search as many as it needs.
fn point_times(flags: &WorkFlags, levels: &Levels) -> Time {
    let [time_ms, duration_ms] = [flags.time, flags.duration].map(|time| time.map(|time| whole_ns(time) / 1_000_000));
    let in_rounds = |count: usize| {
        let series_ms = time_ms.or(duration_ms.is_none().then_some(SERIES_MS));
        let warmup_ms = warm_up::known_ms(flags.warmup, levels, visit_times::VISIT_MS).unwrap_or(0);
        (series_ms, visit_times::visit_ms(series_ms.unwrap_or(SERIES_MS), count, warmup_ms))
    };
    let (series_ms, visit_ms) = match levels {
        Levels::Given(all) => in_rounds(all.len()),
        Levels::Rates { per_s, .. } => in_rounds(per_s.len()),
        Levels::Searched { .. } => {
            let share_ms = |ms: u64| (ms / KNEE_POINTS_MAX as u64).min(KNEE_POINT_MS_MAX);
            (time_ms, time_ms.map_or(POINT_MS, share_ms))
        }
        Levels::RateSearch { .. } => (time_ms, time_ms.map_or(POINT_MS, |ms| ms / RATE_POINTS_MAX as u64)),
    };
    Time {
        duration_ns: flags.duration.map_or(visit_ms * 1_000_000, whole_ns),
        series_ns: series_ms.map(|ms| ms * 1_000_000),
        warmup_ns: flags.warmup,
        precision: flags.precision,
    }
}

fn stop_rules(flags: &WorkFlags) -> StopConditions {
    let canary = |abort_if| CanaryRules { per_s: flags.canary_rate, abort_if };
    StopConditions {
        timeout_ns: whole_ns(flags.timeout),
        retries: flags.retries,
        error_limit: flags.error_limit,
        canary: flags.abort_if.clone().map(canary),
    }
}

#[cfg(test)]
pub(crate) mod tests;
