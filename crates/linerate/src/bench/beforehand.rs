//! What a load writes before it: how many objects, and how many bytes.

use linerate_record::load::{Load, Sizes, WorkloadSizes};
use linerate_report::foretold::WrittenBefore;

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
pub(super) fn beforehand(load: &Load) -> WrittenBefore {
    let of = |work: &WorkloadSizes, sizes: &Sizes| match (load.objects.list_existing, work.workload.deletes_only()) {
        (false, true) => delete_set_objects(load),
        (false, false) if work.workload.reads() => read_set_objects(load, sizes),
        _ => 0,
    };
    let each = load.work.iter().flat_map(|work| work.sizes.iter().map(move |sizes| (work, sizes)));
    each.map(|(work, sizes)| (of(work, sizes), sizes.mean())).fold(
        WrittenBefore { objects: 0, bytes: 0.0 },
        |WrittenBefore { objects, bytes }, (n, mean)| WrittenBefore {
            objects: objects + n,
            bytes: n as f64 * mean + bytes,
        },
    )
}

#[cfg(test)]
mod tests {
    use linerate_report::foretold::in_words;

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
            let load = load(flags);
            let words = in_words(&load, beforehand(&load));
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
