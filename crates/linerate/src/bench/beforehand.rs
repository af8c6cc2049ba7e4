//! What a load writes before it: how many objects, and how that is told to whoever must consent to it.

use linerate_record::load::{Levels, Load, Server, Sizes, WorkloadSizes};
use linerate_record::units::{Bytes, bytes_iec, count};

/// What is written beforehand for reading, per size, unless `--objects` says otherwise.
const READ_SET_BYTES: f64 = (512u64 << 20) as f64;

/// Objects written beforehand for one point of deletes, unless `--objects` says otherwise.
const DELETE_SET_OBJECTS: u64 = 5_000;

/// Objects to write beforehand for operations that read.
pub(super) fn read_set_objects(load: &Load, sizes: &Sizes) -> u64 {
    let fitting = (READ_SET_BYTES / sizes.mean().max(1.0)) as u64;
    load.objects.count.unwrap_or(fitting.clamp(16, 1_000))
}

/// Objects to write beforehand for one point of deletes.
pub(super) fn delete_set_objects(load: &Load) -> u64 {
    load.objects.count.unwrap_or(DELETE_SET_OBJECTS)
}

/// What is written beforehand in all: objects and bytes, those for one point of deletes counted once. What is written
/// by the load itself nobody knows before.
fn beforehand(load: &Load) -> (u64, f64) {
    let of = |work: &WorkloadSizes, sizes: &Sizes| match (load.objects.list_existing, work.workload.deletes_only()) {
        (false, true) => delete_set_objects(load),
        (false, false) if work.workload.reads() => read_set_objects(load, sizes),
        _ => 0,
    };
    let each = load.work.iter().flat_map(|work| work.sizes.iter().map(move |sizes| (work, sizes)));
    each.map(|(work, sizes)| (of(work, sizes), sizes.mean()))
        .fold((0, 0.0), |(objects, bytes), (n, mean)| (objects + n, n as f64 * mean + bytes))
}

/// The target in words.
pub(super) fn target_in_words(load: &Load) -> String {
    match &load.endpoint.server {
        Server::Hosts { authorities, .. } => authorities.join(", "),
        Server::Own { kind, .. } => format!("linerate's own {kind} target, started for the run"),
    }
}

/// The load and what it writes in words, for whoever must consent to it.
pub(super) fn in_words(load: &Load) -> String {
    format!("{} would load it {}; {}", what_in_words(load), cap_in_words(load), written_in_words(load))
}

/// The load in words.
pub(super) fn load_in_words(load: &Load) -> String {
    format!("{}, {}", what_in_words(load), cap_in_words(load))
}

fn cap_in_words(load: &Load) -> String {
    match &load.levels {
        Levels::Rates { per_s, .. } => {
            let rate = count(per_s.last().copied().unwrap_or(0.0));
            let beside = if beforehand(load).0 > 0 { ", and as fast as it can before and after" } else { "" };
            format!("with up to {rate} requests per second{beside}")
        }
        _ if load.max_rate.is_some() => "capped by --max-rate".to_owned(),
        _ => "as fast as it can".to_owned(),
    }
}

fn what_in_words(load: &Load) -> String {
    let names: Vec<String> = load.work.iter().map(|work| work.workload.to_string()).collect();
    let (names, most) = (names.join(", "), load.levels.highest());
    let (series, largest) = (load.series(), Bytes(load.largest_bytes()));
    let many = |n: usize, one: &str, more: &str| format!("{n} {}", if n == 1 { one } else { more });
    let points = |n: usize| many(n, "point", "points");
    let searches = many(series, "search", "searches");
    let what = match &load.levels {
        Levels::Given(all) => format!("{} of {names}", points(series * all.len())),
        Levels::Rates { per_s, .. } => format!("{} of {names}", points(series * per_s.len())),
        Levels::HighestRate { .. } => format!("{searches} for the highest rate of {names}"),
        Levels::Searched { .. } => format!("{searches} for the knee of {names}"),
    };
    let in_flight = many(most as usize, "request", "requests");
    format!("{what} with up to {in_flight} in flight and objects up to {largest}")
}

/// What would be written, in words.
pub(super) fn written_in_words(load: &Load) -> String {
    let (objects, bytes) = beforehand(load);
    let before = (objects > 0).then(|| {
        let deletes = load.work.iter().any(|work| work.workload.deletes_only());
        let again = if deletes { ", those to delete anew for each point" } else { "" };
        format!("{} in {objects} objects beforehand{again}", bytes_iec(bytes))
    });
    let writing = load.work.iter().filter(|work| work.workload.writes());
    let writing: Vec<String> = writing.map(|work| work.workload.to_string()).collect();
    let by_load = (!writing.is_empty()).then(|| format!("by {} what the target takes in its time", writing.join(", ")));
    let all: Vec<String> = before.into_iter().chain(by_load).collect();
    let end = if load.objects.noclear { "which stays" } else { "which is deleted again" };
    if all.is_empty() {
        "nothing would be written".to_owned()
    } else {
        format!("written: {}, {end}", all.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::resolve::tests::load;

    #[test]
    fn what_would_be_written_is_told_before() {
        for (flags, reported) in [
            ("--op get --concurrent 2", "written: 574 MiB in 1128 objects beforehand, which is deleted again"),
            ("--op stat --noclear", "written: 3.91 MiB in 1000 objects beforehand, which stays"),
            ("--op delete", "19.5 MiB in 5000 objects beforehand, those to delete anew for each point"),
            ("--op put --obj.size 1MiB", "written: by put what the target takes in its time, which is deleted again"),
            ("--op get,put --obj.size 1MiB --objects 10", "10.0 MiB in 10 objects beforehand and by put what"),
            ("--op get --list-existing", "nothing would be written"),
            ("--op get --max-concurrent 32", "2 searches for the knee of get with up to 32"),
            ("--op get --obj.size 1MiB", "1 search for the knee of get with up to 256 requests in flight"),
            ("--op put --obj.size 1MiB --concurrent 1", "1 point of put with up to 1 request in flight"),
            ("--op put --obj.size 1MiB --slo p99=1s", "1 search for the highest rate of put"),
        ] {
            let words = in_words(&load(flags));
            assert!(words.contains(reported), "{flags}: {words}");
        }
    }

    #[test]
    fn read_sets_are_half_a_gigabyte_or_as_asked() {
        let size = |text: &str| text.parse::<Sizes>().unwrap();
        assert_eq!(read_set_objects(&load(""), &size("4MiB")), 128);
        assert_eq!(read_set_objects(&load(""), &size("4KiB")), 1_000);
        assert_eq!(read_set_objects(&load(""), &size("1GiB")), 16);
        assert_eq!(read_set_objects(&load("--objects 7"), &size("4MiB")), 7);
    }
}
