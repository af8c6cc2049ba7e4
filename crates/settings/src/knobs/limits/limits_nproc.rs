//! `limits.nproc`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "limits.nproc",
        layer: Layer::Limits,
        locator: Locator::Limit { name: "Max processes" },
        scope: Scope::Process,
        takes_effect: TakesEffect::Restart,
        // `getrlimit(2)`: a `rlim_t`, or RLIM_INFINITY.
        takes: Domain::WordsOrNumber { words: &["unlimited"], least: 0, most: u64::MAX as i128 },
        default: "half of kernel.threads-max",
        summary: "Maximum number of threads of the engine's user.",
        why: "A Go server needs a thread for each file operation that blocks: thousands when a drive hangs. Threads \
            are counted per user, over all containers that run as that user.",
        relief: Relief::Engine,
        relieves: "the engine: aborts because it cannot start a thread",
        risk: "A fork bomb is stopped later; pids.max of the cgroup still limits it.",
        sources: &["getrlimit(2)", "Linux, kernel/fork.c: set_max_threads"],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    facts::at_least(snapshot, place, 65_536, "each file operation that hangs occupies a thread")
}
