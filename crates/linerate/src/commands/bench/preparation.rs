//! What a load writes before it: how many objects, and how many bytes.

use linerate_record::load::{Levels, Load, Server, Sizes, Spacing, WorkloadSizes};
use linerate_report::dry_run::{PreparedWrites, WrittenByLoad};

use crate::run::point_timing::timing;

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
/// by the load itself nobody knows before, unless a rate bounds it. Each series is measured from so many numbers of
/// clients, or once; all read the same objects.
pub(super) fn prepared_data(load: &Load, client_counts: usize) -> PreparedWrites {
    let prepared_objects =
        |work: &WorkloadSizes, sizes: &Sizes| match (load.objects.list_existing, work.workload.is_delete_only()) {
            (false, true) => delete_set_objects(load),
            (false, false) if work.workload.reads() => read_set_objects(load, sizes),
            _ => 0,
        };
    let each = load.work.iter().flat_map(|work| work.sizes.iter().map(move |sizes| (work, sizes)));
    each.map(|(work, sizes)| (prepared_objects(work, sizes), sizes.mean())).fold(
        PreparedWrites {
            objects: 0,
            bytes: 0.0,
            by_load: written_by_load(load, client_counts),
            writing_s: longest_write_s(load, client_counts),
        },
        |before, (n, mean)| PreparedWrites {
            objects: before.objects + n,
            bytes: n as f64 * mean + before.bytes,
            ..before
        },
    )
}

/// The longest that all points take which write, warm-ups included.
fn longest_write_s(load: &Load, client_counts: usize) -> f64 {
    let series = load.work.iter().filter(|work| work.workload.writes()).map(|work| work.sizes.len()).sum::<usize>();
    let series_ms = timing(load, hosts(load)).map_or(0, |timing| timing.series_ms(&load.levels));
    (series * client_counts) as f64 * series_ms as f64 / 1e3
}

fn hosts(load: &Load) -> usize {
    match &load.endpoint.server {
        Server::Hosts { authorities, .. } => authorities.len(),
        Server::Own { .. } => 1,
    }
}

/// What the load writes by the rate at which its requests are due, warm-ups included; `None` without one, and of mixes.
/// A cap says less: what each thread asks first, at each point, is not held to it.
fn written_by_load(load: &Load, client_counts: usize) -> Option<WrittenByLoad> {
    let series_s = timing(load, hosts(load)).ok()?.series_ms(&load.levels) as f64 / 1e3;
    let writing = || load.work.iter().filter(|work| work.workload.writes());
    let each = || writing().flat_map(|work| &work.sizes);
    let Levels::Rates { per_s, .. } = &load.levels else { return None };
    if writing().any(|work| work.workload.is_mixed()) {
        return None;
    }
    let rate_s = series_s / per_s.len().max(1) as f64;
    let requests = per_s.iter().map(|per_s| (per_s * rate_s).ceil()).sum::<f64>() * client_counts as f64;
    // Requests at random times, visits in rounds, and objects of random sizes are as many, as long and as large as they
    // come out.
    let is_once = load.time.series_ns.is_none();
    let is_even = is_once && load.levels.spacing().is_none_or(|spacing| spacing == Spacing::Constant);
    let is_most = is_even && each().all(|sizes| sizes.max() as f64 <= sizes.mean());
    let bytes = each().map(|sizes| sizes.mean() * requests).sum();
    Some(WrittenByLoad { objects: Some(requests as u64 * each().count() as u64), bytes, is_most })
}

#[cfg(test)]
mod tests {
    use linerate_report::dry_run::in_words;

    use super::*;
    use crate::commands::bench::resolve::tests::load;

    #[test]
    fn what_would_be_written_is_told_before() {
        for (flags, reported) in [
            ("--op get --concurrent 2", "written: 574 MiB in 1128 objects beforehand, which is deleted again"),
            (
                "--op stat --noclear",
                "written: 3.91 MiB in 1000 objects beforehand, which is removed with the run's own",
            ),
            ("--op stat --noclear --host 127.0.0.1:9", "written: 3.91 MiB in 1000 objects beforehand, which stays"),
            ("--op delete", "19.5 MiB in 5000 objects beforehand, those to delete anew for each visit"),
            ("--op put --obj.size 1MiB", "written: by put what the target takes in its time, at most "),
            (
                "--op put --obj.size 1MiB --concurrent 1,2 --duration 5s --warmup 0s",
                "at most 10.0 GiB for each GiB/s that it takes, which is deleted again",
            ),
            ("--op get,put --obj.size 1MiB --objects 10", "10.0 MiB in 10 objects beforehand and by put what"),
            ("--op get --list-existing", "nothing would be written"),
            ("--op get --list-existing", "1 search for the knee of get with up to 256 requests in flight, on existing"),
            ("--op get,stat --list-existing --concurrent 1,2", "4 points of get, stat with up to 2 requests in flight"),
            (
                "--op put --obj.size 1MiB --rate 50/s --duration 10s --warmup 0s",
                "written: by put at most 500 MiB in 500 objects, which is deleted again",
            ),
            ("--op put --obj.size 1MiB --rate 50/s --duration 10s", "by put at most 550 MiB in 550 objects, which"),
            ("--op put --obj.size 1MiB --rate 50/s,100/s", "by put about 8.79 GiB in 9000 objects, which"),
            (
                "--op put --obj.size 1MiB,2MiB --rate 10/s,20/s --duration 10s --warmup 0s --arrivals poisson",
                "by put about 900 MiB in 600 objects",
            ),
            (
                "--op put --obj.size random:1MiB-3MiB --rate 50/s --duration 10s --warmup 0s",
                "by put about 1000 MiB in 500 objects",
            ),
            (
                "--op put --obj.size 1MiB --concurrent 1,2 --max-rate 5/s --duration 10s",
                "by put what the target takes in its time",
            ),
            (
                "--op put --obj.size 1MiB --concurrent 1 --max-rate 5MiB/s --duration 10s",
                "by put what the target takes in its time",
            ),
            ("--op mixed --obj.size 1MiB --rate 50/s --duration 10s", "what the target takes in its time"),
            (
                "--op get --obj.size 1MiB --rate 50/s --duration 10s",
                "written: 512 MiB in 512 objects beforehand, which",
            ),
            ("--op get --max-concurrent 32", "2 searches for the knee of get with up to 32"),
            ("--op get --obj.size 1MiB", "1 search for the knee of get with up to 256 requests in flight"),
            ("--op put --obj.size 1MiB --concurrent 1", "1 point of put with up to 1 request in flight"),
            ("--op put --obj.size 1MiB --slo p99=1s", "1 search for the highest rate of put"),
        ] {
            let load = load(flags);
            let words = in_words(&load, 1, prepared_data(&load, 1));
            assert!(words.contains(reported), "{flags}: {words}");
        }
    }

    #[test]
    fn what_is_measured_from_several_numbers_of_clients_counts_for_each() {
        for (flags, points, written) in [
            (
                "--op get,put --obj.size 1MiB --objects 10 --concurrent 2,4 --duration 5s --warmup 0s",
                "12 points of get, put",
                "10.0 MiB in 10 objects beforehand and by put what the target takes in its time, at most 30.0 GiB for",
            ),
            ("--op get --obj.size 1MiB --objects 10", "3 searches for the knee of get", "10.0 MiB in 10 objects"),
            (
                "--op put --obj.size 1MiB --rate 50/s --duration 10s --warmup 0s",
                "3 points of put",
                "by put at most 1.46 GiB in 1500 objects",
            ),
        ] {
            let load = load(flags);
            let words = in_words(&load, 3, prepared_data(&load, 3));
            assert!(words.contains(points) && words.contains(written), "{flags}: {words}");
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
