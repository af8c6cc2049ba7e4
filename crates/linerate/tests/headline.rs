//! What a run says first: who disturbed it, how it was loaded, and what scripts make of it afterwards.

mod running;

use std::process::{Child, Command, Stdio};
use std::thread::available_parallelism;

use linerate_analysis::view::Bound;
use linerate_record::finding::FindingKind;
use running::bench_view;
use tempfile::tempdir;

/// Programs that use all processors, until they are dropped.
struct Busy(Vec<Child>);

impl Busy {
    fn all() -> Self {
        let each =
            || Command::new("sh").args(["-c", "while :; do :; done"]).stdout(Stdio::null()).spawn().expect("sh runs");
        Busy((0..2 * available_parallelism().map_or(2, |n| n.get())).map(|_| each()).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn other_programs_that_take_the_processors_are_named_and_the_run_is_called_disturbed() {
    let out = tempdir().unwrap();
    let busy = Busy::all();
    let flags = "--op get --obj.size 4KiB --concurrent 2 --objects 50 --duration 3s --warmup 1s --precision none";
    let view = bench_view(out.path(), &format!("{flags} --no-ceiling"));
    drop(busy);
    let limit = view.series[0].limit.as_ref().unwrap();
    assert_eq!(limit.bound, Bound::Disturbed, "{limit:?}");
    assert!(limit.evidence.contains("other programs used") && limit.evidence.contains("(sh "), "{limit:?}");
    let found = view.findings.iter().find(|found| found.kind == FindingKind::Disturbed).unwrap();
    assert!(found.claim.contains("the run was disturbed") && found.evidence.contains("(sh "), "{found:?}");
}
