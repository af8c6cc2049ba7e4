//! What is wrong with a load as a whole, whoever described it: reported at once, before anything is reached or made.

use std::time::Duration;

use linerate_analysis::{thresholds, warm_up};
use linerate_load::hosts::{self, NamedHosts, Recorded};
use linerate_load::multipart::{PART_BYTES_MIN, PARTS_MAX, Parts};
use linerate_load::naming::{check_bucket, check_old_bucket, check_prefix, check_region, reserved};
use linerate_record::load::sizes::PUT_BYTES_MAX;
use linerate_record::load::stops::CANARY_PER_S;
use linerate_record::load::{Levels, Load, OwnTarget, Payload, Server, Unique, Write};
use linerate_record::run::Op;
use linerate_record::units::{Bytes, Rate, bytes_iec};
use linerate_wire::sys::process_cpu_ns;

use super::work::too_many_visits;
use crate::commands::bench::flags::{AutoTerm, BenchFlags, FlagSource};
use crate::credentials::endpoint::flags::TargetChoice;
use crate::files::limited_read;
use crate::run::point_timing::timeout_error;
use crate::terminal::failure::Failure;

/// Longest body with words of its own all over that is hashed whole before it is sent: some tenths of a second, in
/// which a thread does nothing else.
const HASHED_BYTES_MAX: u64 = 256 << 20;

/// What is wrong with flags that no load has: those of another target, and of another loop.
pub(super) fn check_flags(flags: &BenchFlags, load: &Load) -> Vec<String> {
    let mut wrong = Vec::new();
    let (target, keys) = (&flags.target, &flags.keys);
    if load.endpoint.server.is_own() {
        for (is_given, flag) in [(target.ca_file.is_some(), "--ca-file"), (target.resolve_host, "--resolve-host")] {
            if is_given {
                wrong.push(format!("{flag} is for --host, but linerate's own target would be loaded"));
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
        for (_, flag) in own.iter().filter(|(is_set, flag)| *is_set && is_typed(flag) == Some(FlagSource::Typed)) {
            wrong.push(format!("{flag} is for --host: linerate's own target gets keys made for the run; drop it"));
        }
        if target.insecure && !target.tls {
            wrong.push("--insecure is for TLS: give --tls too, or https:// in --host".to_owned());
        }
    }
    if target.target == Some(OwnTarget::Null) && target.drive.is_some() {
        wrong.push("--drive is for --target embedded, and the null target stores nothing: drop one of them".to_owned());
    }
    if let Some(pid) = load.endpoint.pid.filter(|&pid| process_cpu_ns(pid).is_err()) {
        wrong.push(format!("--target-pid {pid} is not a process that can be read on this machine"));
    }
    if flags.work.arrivals.is_some() && flags.work.rate.is_none() && flags.work.slo.is_none() {
        wrong.push("--arrivals spaces the requests of an open loop: add --rate or --slo".to_owned());
    }
    let kinds: Vec<&str> = load.work.iter().map(|work| work.workload.kind()).collect();
    let without_series = flags.output.fail_if.iter().filter(|threshold| !thresholds::applies(threshold, &kinds));
    wrong.extend(without_series.map(|threshold| {
        format!("--fail-if '{threshold}' is of nothing that is measured: this run has {}", kinds.join(", "))
    }));
    wrong
}

/// What is wrong with `--time` beside what it is shared among.
pub(super) fn check_time(flags: &BenchFlags, load: &Load) -> Vec<String> {
    let Some(time) = flags.work.time else { return Vec::new() };
    let mut wrong: Vec<String> = too_many_visits(load).into_iter().collect();
    let Some(duration) = flags.work.duration else { return wrong };
    match load.levels.given() {
        Some(levels) => {
            let duration_ms = load.time.duration_ns / 1_000_000;
            let warmup_ms = warm_up::known_ms(load.time.warmup_ns, &load.levels, duration_ms);
            let warmup = Duration::from_millis(warmup_ms.unwrap_or(0));
            let round = (duration + warmup) * u32::try_from(levels.len()).unwrap_or(u32::MAX);
            let is_short = round > time + time / 10;
            wrong.extend(is_short.then(|| {
                format!("--time {time:?} is too short for one round of --duration {duration:?}: give {round:?} or more")
            }));
        }
        None => {
            let is_short = duration > time;
            wrong.extend(
                is_short.then(|| format!("--time {time:?} is shorter than --duration {duration:?}: give more")),
            );
        }
    }
    wrong
}

/// Notes on what once ended points, or ends them in warp: here they take their time.
pub(super) fn early_ends(flags: &BenchFlags, load: &Load) -> Vec<String> {
    let AutoTerm { autoterm, autoterm_dur, autoterm_pct } = &flags.work.autoterm;
    let given = [
        (load.time.precision.0.is_some(), "--precision"),
        (*autoterm, "--autoterm"),
        (autoterm_dur.is_some(), "--autoterm.dur"),
        (autoterm_pct.is_some(), "--autoterm.pct"),
    ];
    let given: Vec<&str> = given.iter().filter(|(is_given, _)| *is_given).map(|(_, flag)| *flag).collect();
    let note =
        || format!("{}: no point ends early any more; each takes its time (--time, --duration)", given.join(", "));
    (!given.is_empty()).then(note).into_iter().collect()
}

/// What is wrong with whom to believe: nobody proves himself over plain HTTP.
pub(super) fn check_trust(target: &TargetChoice, text: &str, named: &NamedHosts) -> Option<String> {
    let flag = match (named.tls, target.insecure, &target.ca_file) {
        (false, true, _) => "--insecure",
        (false, false, Some(_)) => "--ca-file",
        _ => return None,
    };
    Some(format!("{flag} is for TLS, and {text:?} is plain HTTP: write https://, or --tls"))
}

/// What is wrong with the names of bucket and prefix, and notes on them.
pub(super) fn check_names(load: &Load) -> (Vec<Failure>, Vec<String>) {
    let (mut wrong, mut notes) = (Vec::new(), Vec::new());
    let (bucket, lookup) = (&load.endpoint.bucket, load.endpoint.lookup);
    // What is listed is there; what is not there is made.
    let name = if load.objects.list_existing { Ok(()) } else { check_bucket(bucket) };
    wrong.extend(name.and_then(|()| check_old_bucket(bucket, lookup)).map_err(Failure::from).err());
    match aws_reserved_name(load) {
        Some((true, why)) => wrong.push(Failure::usage(why)),
        Some((false, note)) => notes.push(note),
        None => {}
    }
    wrong.extend(check_prefix(&load.endpoint.prefix).map_err(Failure::from).err());
    (wrong, notes)
}

/// What is to be said of the name of a bucket that AWS keeps for itself, and whether the target is known to refuse it.
/// What is listed is there.
fn aws_reserved_name(load: &Load) -> Option<(bool, String)> {
    let name = &load.endpoint.bucket;
    let kept = reserved(name).filter(|_| !load.objects.list_existing)?;
    let begins = if kept.is_end { "ends with" } else { "begins with" };
    let others = if kept.others.is_empty() {
        String::new()
    } else {
        format!(", and so {} {}", if kept.others.contains(" and ") { "do" } else { "does" }, kept.others)
    };
    let what = format!("bucket {name:?} {begins} {:?}", kept.part);
    let Server::Hosts { authorities, .. } = &load.endpoint.server else {
        // s3s refuses what is no plain name of a host.
        let is_refused = !load.endpoint.server.is_null() && kept.part == "xn--";
        return is_refused.then(|| (true, format!("{what}, which the embedded target refuses: give another --bucket")));
    };
    let is_of_aws = |authority: &String| {
        let host = authority.rsplit_once(':').map_or(authority.as_str(), |(host, _)| host);
        [".amazonaws.com", ".amazonaws.com.cn"].iter().any(|end| host.ends_with(end))
    };
    if authorities.iter().any(is_of_aws) {
        return Some((true, format!("{what}, which AWS reserves: give another --bucket")));
    }
    Some((false, format!("{what}: AWS refuses such names{others}; MinIO and Ceph accept them")))
}

/// What is wrong with the load, whatever the operations.
pub(super) fn check_load(load: &Load) -> Vec<String> {
    let (bodies, objects) = (&load.bodies, &load.objects);
    let mut wrong = Vec::new();
    if bodies.verify && objects.list_existing {
        wrong.push("--verify needs objects that the run wrote: drop --list-existing or --verify".to_owned());
    }
    if bodies.verify && load.endpoint.server.is_null() {
        wrong.push("--verify has nothing to compare with on --target null, which stores nothing".to_owned());
    }
    if load.endpoint.anonymous && bodies.payload.is_chunked() {
        let name = bodies.payload;
        wrong.push(format!("--payload {name} needs credentials: drop --anonymous, or use unsigned"));
    }
    let timeout = Duration::from_nanos(load.stops.timeout_ns);
    wrong.extend(timeout_error(timeout));
    if bodies.range_bytes == Some(0) {
        wrong.push("--range-size 0 reads nothing: give a length such as 64KiB".to_owned());
    }
    wrong
}

/// What is wrong with the work for these operations.
pub(super) fn check_work(load: &Load) -> Vec<Failure> {
    let writes = load.work.iter().any(|work| !work.workload.is_read_only());
    let is_read_only = || Failure::usage("--list-existing only reads: use it with --op get, stat or list");
    let existing = if load.objects.list_existing && writes { Err(is_read_only()) } else { Ok(()) };
    [
        existing,
        check_parts(load),
        check_hashed_bodies(load),
        check_ranges(load),
        check_rate_cap(load),
        check_bounds(load),
    ]
    .into_iter()
    .filter_map(Result::err)
    .collect()
}

/// Whether there is an address of every host, and of no other.
fn are_of_hosts(addresses: &[String], authorities: &[String]) -> bool {
    let Ok(found) = hosts::recorded(addresses) else { return false };
    let is_found = |name: &String| found.iter().any(|host| host.authority == *name);
    let is_host = |host: &Recorded| host.address.is_some() && authorities.contains(&host.authority);
    authorities.iter().all(is_found) && found.iter().all(is_host)
}

/// What no flag can ask for: the parser of flags has refused it already.
pub(super) fn check_description(load: &Load) -> Vec<String> {
    let mut wrong: Vec<String> = load.levels.mistake().into_iter().collect();
    wrong.extend(check_region(&load.endpoint.region).err().map(|error| error.to_string()));
    if let Server::Hosts { authorities, addresses, .. } = &load.endpoint.server {
        if !addresses.is_empty() && !are_of_hosts(addresses, authorities) {
            let form = "write each host at least once, and no other, as name:port (address)";
            wrong.push(format!("invalid addresses: {form}"));
        }
        let parsed = hosts::parse(&authorities.join(","), load.endpoint.tls.is_some(), limited_read::read_text);
        match parsed {
            Ok(named) if named.authorities == *authorities => {}
            Ok(_) => wrong.push("invalid hosts: write host:port of each".to_owned()),
            Err(error) => wrong.push(error.to_string()),
        }
    }
    if load.work.is_empty() || load.work.iter().any(|work| work.sizes.is_empty()) {
        wrong.push("invalid work: write at least one workload, each with a size".to_owned());
    }
    wrong.extend(too_many_visits(load));
    if load.threads.is_some_and(|threads| !(1..=1024).contains(&threads)) {
        wrong.push("invalid threads: write a number from 1 to 1024".to_owned());
    }
    if !(1..=10_000).contains(&load.bodies.part_concurrent) {
        wrong.push("invalid part_concurrent: write a number from 1 to 10000".to_owned());
    }
    if load.stops.retries > 100 {
        wrong.push("invalid retries: write a number up to 100".to_owned());
    }
    if load.stops.canary.as_ref().is_some_and(|canary| !CANARY_PER_S.contains(&canary.per_s)) {
        wrong.push("invalid rate of the canary: write requests per second from 2 to 100".to_owned());
    }
    wrong
}

/// Sizes and parts that S3 would refuse.
fn check_parts(load: &Load) -> Result<(), Failure> {
    let largest = load.largest_bytes();
    let parts = Parts { bytes: load.bodies.part_bytes, concurrent: load.bodies.part_concurrent };
    if load.has_parts() {
        let size = Bytes(parts.bytes);
        if !(PART_BYTES_MIN..=PUT_BYTES_MAX).contains(&parts.bytes) {
            return Err(Failure::usage(format!(
                "--part.size {size} is not a valid part size: S3 accepts 5 MiB to 5 GiB"
            )));
        }
        if parts.count_for(largest) > PARTS_MAX {
            let needed = Bytes(largest.div_ceil(PARTS_MAX).next_multiple_of(1 << 20));
            let count = parts.count_for(largest);
            return Err(Failure::usage(format!(
                "an object of {} would have {count} parts, but S3 accepts {PARTS_MAX}: give --part.size {needed} or \
                 more",
                Bytes(largest)
            )));
        }
    }
    let puts =
        load.has(Op::Put) || (load.objects.write == Write::Put && !load.objects.list_existing && load.needs_objects());
    if puts && largest > PUT_BYTES_MAX {
        return Err(Failure::usage(format!(
            "object size {} exceeds the 5 GiB of one PutObject: use --op multipart, or --write multipart for reading",
            Bytes(largest)
        )));
    }
    Ok(())
}

/// A range that is longer than every object of a size would read whole objects under another name.
fn check_ranges(load: &Load) -> Result<(), Failure> {
    let Some(range) = load.bodies.range_bytes.filter(|_| !load.objects.list_existing) else { return Ok(()) };
    let reading = load.work.iter().filter(|work| work.workload.ops().any(|op| op == Op::Get));
    let shorter: Vec<String> = reading
        .flat_map(|work| &work.sizes)
        .filter(|sizes| sizes.max() < range)
        .map(|sizes| sizes.to_string().parse::<Bytes>().map_or_else(|_| sizes.to_string(), |size| size.to_string()))
        .collect();
    if shorter.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "--range-size {} is longer than objects of {}: give a shorter range, or longer objects with --obj.size",
        Bytes(range),
        shorter.join(", ")
    )))
}

/// A cap that lets no request start in the time of a point.
fn check_rate_cap(load: &Load) -> Result<(), Failure> {
    let is_cap = matches!(load.levels, Levels::Given(_) | Levels::Searched { .. });
    let Some(rate) = load.max_rate.filter(|_| is_cap && !load.objects.list_existing) else { return Ok(()) };
    let time_s = (load.time.duration_ns + load.time.warmup_ns.0.unwrap_or_default()) as f64 / 1e9;
    let too_slow = || format!("--max-rate {rate} is too low to measure anything");
    let (allowed, most) = match rate {
        Rate::Requests(per_s) if per_s * time_s < 1.0 => {
            return Err(Failure::usage(format!(
                "{} in {time_s} s: give --duration {:.0}s or more, or a higher rate",
                too_slow(),
                (1.0 / per_s).ceil()
            )));
        }
        Rate::Requests(_) => return Ok(()),
        Rate::Bytes(per_s) => (per_s * time_s, load.bodies.part_bytes),
    };
    for work in load.work.iter().filter(|work| work.workload.ops().any(Op::moves_bodies)) {
        let ranges = load.bodies.range_bytes.filter(|_| work.workload.ops().all(|op| op == Op::Get));
        let parts = work.workload.ops().all(|op| op == Op::Multipart).then_some(most);
        for sizes in &work.sizes {
            let bytes = ranges.or(parts).map_or(sizes.mean(), |bytes| sizes.mean().min(bytes as f64));
            if bytes > allowed {
                return Err(Failure::usage(format!(
                    "{}: one body of {} takes more than the {time_s} s of a point; give a higher rate, a longer \
                     --duration or smaller objects",
                    too_slow(),
                    bytes_iec(bytes)
                )));
            }
        }
    }
    Ok(())
}

/// Bounds that no request of a visit can be known to miss: each begins with nothing in flight.
fn check_bounds(load: &Load) -> Result<(), Failure> {
    let slo = match &load.levels {
        Levels::Rates { slo: Some(slo), .. } | Levels::RateSearch { slo, .. } => slo,
        _ => return Ok(()),
    };
    let duration_ns = load.time.duration_ns;
    let Some(bound) = slo.0.iter().find(|bound| bound.bound_ns >= duration_ns) else { return Ok(()) };
    let [visit, longer] = [duration_ns, bound.bound_ns.saturating_mul(2)].map(Duration::from_nanos);
    Err(Failure::usage(format!(
        "--slo {bound} is no shorter than a visit of {visit:?}, in which nobody knows of a request that takes so long: \
         give --duration {longer:?} or more"
    )))
}

/// Bodies with words of their own all over that are hashed whole are short, or it is an error.
fn check_hashed_bodies(load: &Load) -> Result<(), Failure> {
    if load.bodies.unique != Unique::Full || load.bodies.payload != Payload::Signed {
        return Ok(());
    }
    let whole = load.largest_bytes();
    let puts = load.has(Op::Put) || (load.objects.write == Write::Put && load.needs_objects());
    let longest = if puts { whole } else { whole.min(load.bodies.part_bytes) };
    if longest <= HASHED_BYTES_MAX {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "--unique full with --payload signed hashes a body of {} before it is sent, at most {}: give --payload \
         streaming, which is signed chunk by chunk, or smaller sizes or parts",
        bytes_iec(longest as f64),
        bytes_iec(HASHED_BYTES_MAX as f64)
    )))
}
