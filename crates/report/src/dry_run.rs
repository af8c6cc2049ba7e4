//! A load in words, before it begins: for whoever must consent to it, and for a dry run.

use std::fmt::Write as _;

use linerate_analysis::knee::VISITS_IN_A_POINT;
use linerate_analysis::visit_times::{self, VISIT_MS, VISITS_ENOUGH};
use linerate_analysis::warm_up;
use linerate_record::lines::wrapped;
use linerate_record::load::{Levels, Load, Server};
use linerate_record::run::PointSizes;
use linerate_record::units::{Bytes, bytes_iec, count, duration_ns, grouped};

use crate::phrases::{SEARCH_MINUTES, minutes_of_visits};

/// What a load writes before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PreparedWrites {
    pub objects: u64,
    /// Their bytes.
    pub bytes: f64,
    /// What it writes itself, where a rate bounds that.
    pub by_load: Option<WrittenByLoad>,
    /// Longest time in which it writes.
    pub writing_s: f64,
}

/// What a load writes itself, as far as a rate bounds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WrittenByLoad {
    /// Objects, where they are bounded.
    pub objects: Option<u64>,
    /// Their bytes.
    pub bytes: f64,
    /// Whether it is the most that can be, and not what is to be expected.
    pub is_most: bool,
}

/// A run that is not begun.
#[derive(Clone, Copy, Debug)]
pub struct DryRun<'r> {
    /// What it would do.
    pub load: &'r Load,
    /// From how many numbers of clients each series is measured; 1 without clients.
    pub numbers: usize,
    pub id: &'r str,
    /// What it would write before.
    pub before: PreparedWrites,
    /// The longest that its points take.
    pub most_ms: u64,
    /// What consent it will want, if any.
    pub consent: Option<&'r str>,
    /// What must be said of it.
    pub notes: &'r [String],
}

/// What a point of a search takes whose visits are as long as those in rounds.
const SEARCH_POINT_NS: u64 = VISIT_MS * VISITS_IN_A_POINT * 1_000_000;

/// What a visit may take beyond its time. A search takes it from the time of its next visits.
const WAITS: &str = "for requests in flight at the end of a visit, at most 5 s or twice the longest latency";

/// Columns of what a line begins with.
const LEAD: usize = 9;

/// What a run would do, in lines of at most `columns` columns where that is said.
#[must_use]
pub fn dry_run(of: &DryRun<'_>, columns: Option<usize>) -> String {
    let (load, id) = (of.load, of.id);
    let line = |lead: &str, text: &str| {
        let text = columns.map_or_else(|| text.to_owned(), |columns| wrapped(text, columns, LEAD));
        format!("{lead:<LEAD$}{text}\n")
    };
    let target = target_in_words(load);
    let (bucket, prefix) = (&load.endpoint.bucket, &load.endpoint.prefix);
    let place = if load.objects.list_existing {
        format!("s3://{bucket}/{prefix}, existing objects")
    } else {
        format!("s3://{bucket}/{prefix}linerate-{id}-xxxxxxxx/, with random digits for each x")
    };
    let mut text = line("target", &target) + &line("objects", &place);
    text.push_str(&line("load", &load_in_words(load, of.numbers, of.before)));
    for work in &load.work {
        if load.objects.list_existing {
            let _ = writeln!(text, "           {} {}", work.workload, PointSizes::Existing);
            continue;
        }
        for size in &work.sizes {
            let _ = writeln!(text, "           {} {size}", work.workload);
        }
    }
    text.push_str(&line("writes", written_in_words(load, of.before).trim_start_matches("written: ")));
    let time = duration_ns(of.most_ms as f64 * 1e6);
    let writes = of.before.objects > 0 || load.work.iter().any(|work| work.workload.writes());
    let alongside = match (load.objects.list_existing, writes) {
        (true, _) => "listing objects and measuring ceilings",
        (false, true) => "writing objects, deleting them and measuring ceilings",
        (false, false) => "measuring ceilings",
    };
    let is_deleted = load.work.iter().any(|work| work.workload.is_delete_only());
    let early = if is_deleted { "; a visit of delete ends earlier where its objects are all deleted" } else { "" };
    let time = format!("{}, plus {alongside}{early}", time_in_words(load, &time));
    text.push_str(&line("time", &time));
    text.push_str(&line("waits", WAITS));
    quick_look(load).into_iter().for_each(|look| text.push_str(&line("±", &look)));
    of.consent.into_iter().for_each(|why| text.push_str(&line("consent", why)));
    of.notes.iter().for_each(|note| text.push_str(&line("note", note)));
    text.push_str("nothing was contacted, written or deleted\n");
    text
}

/// What the points take together in words, which are visited in rounds or not.
fn time_in_words(load: &Load, time: &str) -> String {
    let (Some(levels), Some(series_ns)) = (load.levels.given(), load.time.series_ns) else {
        return format!("at most {time}");
    };
    let visit = duration_ns(visit_ns(load) as f64);
    let rounds = visit_times::rounds(series_ns, levels.len(), visit_ns(load));
    let all = if rounds == 1 { "1 round".to_owned() } else { format!("{rounds} rounds") };
    format!("about {time} in {all} of visits of {visit}")
}

/// A visit of a load, its warm-up included.
fn visit_ns(load: &Load) -> u64 {
    let measured_ms = load.time.duration_ns / 1_000_000;
    let warmup_ms = warm_up::known_ms(load.time.warmup_ns, &load.levels, measured_ms);
    load.time.duration_ns + warmup_ms.unwrap_or(0) * 1_000_000
}

/// What must be said of intervals of too few visits; `None` where there are enough.
fn quick_look(load: &Load) -> Option<String> {
    quick_look_minutes(load)
        .map(|minutes| format!("a quick look, without 95 % intervals; --time {minutes}m gives these"))
}

/// The same in a line before a load starts.
#[must_use]
pub fn quick_look_beforehand(load: &Load) -> Option<String> {
    quick_look_minutes(load)
        .map(|minutes| format!("a quick look: its ± is not a 95 % interval; --time {minutes}m gives one"))
}

/// The minutes of `--time` that give enough visits, where there are too few for an interval of 95 %.
fn quick_look_minutes(load: &Load) -> Option<u64> {
    match (&load.levels, load.time.series_ns) {
        (Levels::Given(levels), Some(series_ns)) => {
            let rounds = visit_times::rounds(series_ns, levels.len(), visit_ns(load));
            let minutes = minutes_of_visits(levels.len(), visit_ns(load) / 1_000_000);
            (rounds < VISITS_ENOUGH).then_some(minutes)
        }
        (Levels::Searched { .. }, _) => (load.time.duration_ns < SEARCH_POINT_NS).then_some(SEARCH_MINUTES),
        _ => None,
    }
}

/// The load and what it writes in words, for whoever must consent to it; each of its series is measured from so many
/// numbers of clients, or once.
#[must_use]
pub fn in_words(load: &Load, numbers: usize, before: PreparedWrites) -> String {
    let (what, cap, written) =
        (what_in_words(load, numbers), cap_in_words(load, before), written_in_words(load, before));
    format!("{what} would load it {cap}; {written}")
}

/// What must be said of a load of several clients; `each` says what counts for each of them.
#[must_use]
pub fn clients_in_words(names: &str, counts: &[u32], each: &str) -> String {
    let counts: Vec<String> = counts.iter().map(u32::to_string).collect();
    let counts = counts.join(", ");
    format!("the load comes from {names}, each series from {counts} of them; {each}")
}

/// The target in words.
fn target_in_words(load: &Load) -> String {
    match &load.endpoint.server {
        Server::Hosts { authorities, .. } => authorities.join(", "),
        Server::Own { kind, .. } => format!("linerate's own {kind} target, started for the run"),
    }
}

fn load_in_words(load: &Load, numbers: usize, before: PreparedWrites) -> String {
    format!("{}, {}", what_in_words(load, numbers), cap_in_words(load, before))
}

fn cap_in_words(load: &Load, before: PreparedWrites) -> String {
    match &load.levels {
        Levels::Rates { per_s, .. } => {
            let rate = count(per_s.last().copied().unwrap_or(0.0));
            let alongside = if before.objects > 0 { ", and as fast as it can before and after" } else { "" };
            format!("with up to {rate} requests per second{alongside}")
        }
        _ if load.max_rate.is_some() => "capped by --max-rate".to_owned(),
        _ => "as fast as it can".to_owned(),
    }
}

fn what_in_words(load: &Load, numbers: usize) -> String {
    let names: Vec<String> = load.work.iter().map(|work| work.workload.to_string()).collect();
    let (names, most) = (names.join(", "), load.levels.highest());
    let (series, largest) = (load.series() * numbers.max(1), Bytes(load.largest_bytes()));
    let many = |n: usize, one: &str, more: &str| format!("{n} {}", if n == 1 { one } else { more });
    let points = |n: usize| many(n, "point", "points");
    let searches = many(series, "search", "searches");
    let what = match &load.levels {
        Levels::Given(all) => format!("{} of {names}", points(series * all.len())),
        Levels::Rates { per_s, .. } => format!("{} of {names}", points(series * per_s.len())),
        Levels::RateSearch { .. } => format!("{searches} for the highest rate of {names}"),
        Levels::Searched { .. } => format!("{searches} for the knee of {names}"),
    };
    let in_flight = many(most as usize, "request", "requests");
    if load.objects.list_existing {
        return format!("{what} with up to {in_flight} in flight, on existing objects");
    }
    format!("{what} with up to {in_flight} in flight and objects up to {largest}")
}

/// What would be written, in words.
fn written_in_words(load: &Load, before: PreparedWrites) -> String {
    let PreparedWrites { objects, bytes, by_load, writing_s } = before;
    let before = (objects > 0).then(|| {
        let deletes = load.work.iter().any(|work| work.workload.is_delete_only());
        let again = if deletes { ", those to delete anew for each visit" } else { "" };
        format!("{} in {} objects beforehand{again}", bytes_iec(bytes), grouped(objects))
    });
    let writing = load.work.iter().filter(|work| work.workload.writes());
    let writing: Vec<String> = writing.map(|work| work.workload.to_string()).collect();
    let most = by_load.map_or_else(|| taken_in_words(writing_s), by_load_in_words);
    let by_load = (!writing.is_empty()).then(|| format!("by {} {most}", writing.join(", ")));
    let all: Vec<String> = before.into_iter().chain(by_load).collect();
    let is_own = matches!(load.endpoint.server, Server::Own { .. });
    let end = match load.objects.noclear {
        true if is_own => "which is removed with the run's own target",
        true => "which stays",
        false => "which is deleted again",
    };
    if all.is_empty() {
        "nothing would be written".to_owned()
    } else {
        format!("written: {}, {end}", all.join(" and "))
    }
}

/// What nothing bounds but the target: how much that is, by what it takes in a second.
fn taken_in_words(writing_s: f64) -> String {
    let most = bytes_iec(writing_s * (1_u64 << 30) as f64);
    format!("what the target takes in its time, at most {most} for each GiB/s that it takes")
}

fn by_load_in_words(written: WrittenByLoad) -> String {
    let WrittenByLoad { objects, bytes, is_most } = written;
    let (about, bytes) = (if is_most { "at most" } else { "about" }, bytes_iec(bytes));
    match objects {
        Some(1) => format!("{about} {bytes} in 1 object"),
        Some(n) => format!("{about} {bytes} in {} objects", grouped(n)),
        None => format!("{about} {bytes}"),
    }
}

#[cfg(test)]
mod tests {
    use linerate_record::load::{
        BodyOptions, Endpoint, HostSelect, Lookup, Objects, OwnTarget, Payload, Precision, Spacing, StopConditions,
        Time, Unique, WarmUp, WorkloadSizes, Write,
    };

    use super::*;

    /// A load of these operations on objects of these sizes.
    fn load(ops: &[&str], sizes: &[&str], levels: Levels) -> Load {
        let sizes: Vec<_> = sizes.iter().map(|size| size.parse().unwrap()).collect();
        let work = |op: &&str| WorkloadSizes { workload: op.parse().unwrap(), sizes: sizes.clone() };
        Load {
            endpoint: Endpoint {
                server: Server::named(vec!["a:9000".into(), "b:9000".into()], false),
                tls: None,
                anonymous: false,
                region: String::new(),
                bucket: "bucket".into(),
                prefix: "under/".into(),
                lookup: Lookup::Path,
                host_select: HostSelect::RoundRobin,
                source: None,
                pid: None,
                memory_bytes: None,
            },
            work: ops.iter().map(work).collect(),
            objects: Objects { count: None, write: Write::Put, list_existing: false, noclear: false },
            bodies: BodyOptions {
                payload: Payload::Unsigned,
                unique: Unique::Tail,
                part_bytes: 8 << 20,
                part_concurrent: 4,
                range_bytes: None,
                verify: false,
            },
            levels,
            max_rate: None,
            threads: None,
            time: Time { duration_ns: 1, series_ns: None, warmup_ns: WarmUp(None), precision: Precision(None) },
            stops: StopConditions { timeout_ns: 1, retries: 0, error_limit: None, canary: None },
        }
    }

    const NOTHING: PreparedWrites = PreparedWrites { objects: 0, bytes: 0.0, by_load: None, writing_s: 0.0 };

    #[test]
    fn visits_in_rounds_are_told_of_rates_as_of_concurrencies_and_what_ends_those_of_deletes() {
        let rates =
            Levels::Rates { concurrency: 1024, spacing: Spacing::Constant, per_s: vec![1.0, 2.0, 4.0], slo: None };
        for (levels, measured_ms) in [(Levels::Given(vec![1, 4, 16]), 13_333), (rates, 12_333)] {
            let mut load = load(&["get"], &["1MiB"], levels);
            (load.time.duration_ns, load.time.series_ns) = (measured_ms * 1_000_000, Some(120_000_000_000));
            assert_eq!(
                time_in_words(&load, "2 min"),
                "about 2 min in 3 rounds of visits of 13.3 s",
                "{:?}",
                load.levels
            );
        }
        let said = |op: &str| {
            let load = load(&[op], &["1MiB"], Levels::Given(vec![1]));
            let most_ms = 1;
            dry_run(
                &DryRun { load: &load, numbers: 1, id: "x", before: NOTHING, most_ms, consent: None, notes: &[] },
                None,
            )
        };
        let early = "; a visit of delete ends earlier where its objects are all deleted\n";
        assert!(said("delete").contains(early) && !said("get").contains("ends earlier"), "{}", said("delete"));
    }

    #[test]
    fn a_dry_run_says_what_would_be_reached_and_written_and_that_nothing_was() {
        let load = load(&["get", "put"], &["1MiB", "4KiB"], Levels::Searched { highest: 256 });
        let before = PreparedWrites { objects: 1512, bytes: 540_966_912.0, by_load: None, writing_s: 480.0 };
        let notes = ["what is odd of it".to_owned()];
        let planned_run = DryRun {
            load: &load,
            numbers: 1,
            id: "x",
            before,
            most_ms: 480_000,
            consent: Some("it asks"),
            notes: &notes,
        };
        assert_eq!(
            dry_run(&planned_run, None),
            "target   a:9000, b:9000\n\
             objects  s3://bucket/under/linerate-x-xxxxxxxx/, with random digits for each x\n\
             load     4 searches for the knee of get, put with up to 256 requests in flight and objects up to 1 MiB, \
             as fast as it can\n           get 1MiB\n           get 4KiB\n           put 1MiB\n           put 4KiB\n\
             writes   516 MiB in 1512 objects beforehand and by put what the target takes in its time, at most 480 GiB \
             for each GiB/s that it takes, which is deleted again\n\
             time     at most 8 min 00 s, plus writing objects, deleting them and measuring ceilings\n\
             waits    for requests in flight at the end of a visit, at most 5 s or twice the longest latency\n\
             ±        a quick look, without 95 % intervals; --time 12m gives these\n\
             consent  it asks\nnote     what is odd of it\nnothing was contacted, written or deleted\n"
        );
        let of_clients = dry_run(&DryRun { numbers: 3, ..planned_run }, None);
        assert!(of_clients.contains("load     12 searches for the knee of get, put"), "{of_clients}");
        let mut own = load.clone();
        own.endpoint.server = Server::Own { kind: OwnTarget::Embedded, drive: None };
        own.objects.list_existing = true;
        own.work.truncate(1);
        let text = dry_run(&DryRun { load: &own, before: NOTHING, consent: None, notes: &[], ..planned_run }, None);
        for part in [
            "target   linerate's own embedded target, started for the run\n",
            "objects  s3://bucket/under/, existing objects\n",
            "in flight, on existing objects, as fast as it can\n           get existing\nwrites",
            "writes   nothing would be written\n",
            "plus listing objects and measuring ceilings\nwaits    for requests in flight at the end of a visit, at \
             most 5 s or twice the longest latency\n±        a quick look",
            "gives these\nnothing was contacted",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn a_load_of_several_clients_says_how_many_drive_each_series() {
        let note = clients_in_words("c1, c2, c3", &[1, 2, 3], "requests in flight are per client");
        assert_eq!(
            note,
            "the load comes from c1, c2, c3, each series from 1, 2, 3 of them; requests in flight are per client"
        );
    }

    #[test]
    fn lines_fit_a_terminal_and_are_whole_elsewhere() {
        let load = load(&["get", "put"], &["1MiB"], Levels::Searched { highest: 256 });
        let notes = ["a word ".repeat(30)];
        let planned_run = DryRun {
            load: &load,
            numbers: 1,
            id: "x",
            before: NOTHING,
            most_ms: 480_000,
            consent: None,
            notes: &notes,
        };
        let (narrow, whole) = (dry_run(&planned_run, Some(80)), dry_run(&planned_run, None));
        assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
        assert!(whole.lines().any(|line| line.chars().count() > 100), "{whole}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&narrow), words(&whole));
        assert!(narrow.lines().any(|line| line.starts_with("         ")), "what goes on is below what it goes on with");
    }

    #[test]
    fn who_must_consent_is_told_how_much_and_how_fast() {
        let rates = Levels::Rates { concurrency: 64, spacing: Spacing::Constant, per_s: vec![10.0, 20.0], slo: None };
        let before = PreparedWrites { objects: 512, bytes: (512_u64 << 20) as f64, ..NOTHING };
        assert_eq!(
            in_words(&load(&["get"], &["1MiB"], rates.clone()), 1, before),
            "2 points of get with up to 64 requests in flight and objects up to 1 MiB would load it with up to 20 \
             requests per second, and as fast as it can before and after; written: 512 MiB in 512 objects beforehand, \
             which is deleted again"
        );
        let mut kept = load(&["delete"], &["1MiB"], Levels::Given(vec![1]));
        (kept.objects.noclear, kept.max_rate) = (true, Some("10/s".parse().unwrap()));
        assert_eq!(
            in_words(&kept, 1, PreparedWrites { objects: 5000, bytes: (5000_u64 << 20) as f64, ..NOTHING }),
            "1 point of delete with up to 1 request in flight and objects up to 1 MiB would load it capped by \
             --max-rate; written: 4.88 GiB in 5000 objects beforehand, those to delete anew for each visit, which stays"
        );
        let bytes = (550_u64 << 20) as f64;
        for (objects, is_most, reported) in [
            (Some(550), true, "written: by put at most 550 MiB in 550 objects, which"),
            (Some(550), false, "written: by put about 550 MiB in 550 objects, which"),
            (None, true, "written: by put at most 550 MiB, which"),
        ] {
            let by_load = Some(WrittenByLoad { objects, bytes, is_most });
            let put = in_words(&load(&["put"], &["1MiB"], rates.clone()), 1, PreparedWrites { by_load, ..NOTHING });
            assert!(put.contains(reported), "{put}");
        }
        let put = in_words(&load(&["put"], &["1MiB"], rates), 1, NOTHING);
        assert!(put.contains("20 requests per second; written: by put what the target takes in its time"), "{put}");
    }
}
