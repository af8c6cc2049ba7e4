//! `limits.nproc`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect};
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
        summary: "Threads of the engine's user.",
        why: "A Go server takes a thread for each file operation that blocks: thousands when a drive hangs. The \
            count is per user over all containers that share it.",
        relieves: "the engine: fails to start a thread, and aborts",
        risk: "A fork bomb is bounded later; pids.max of the cgroup bounds it anyway.",
        sources: &["getrlimit(2)", "Linux, kernel/fork.c: set_max_threads"],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    facts::at_least(snapshot, place, 65_536, "a thread for each file operation that hangs")
}
