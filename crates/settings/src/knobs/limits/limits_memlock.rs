//! `limits.memlock`.

use linerate_record::knob::{Domain, Knob, Layer, Locator, Relief, Scope, TakesEffect};

use crate::knobs::KnobRow;

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "limits.memlock",
        layer: Layer::Limits,
        locator: Locator::Limit { name: "Max locked memory" },
        scope: Scope::Process,
        takes_effect: TakesEffect::Restart,
        // `getrlimit(2)`: a `rlim_t`, or RLIM_INFINITY.
        takes: Domain::WordsOrNumber { words: &["unlimited"], least: 0, most: u64::MAX as i128 },
        default: "8 MiB since Linux 5.16, 64 KiB before",
        summary: "Maximum amount of memory that a process may lock.",
        why: "S3 servers lock no memory. io_uring was charged to this limit before 5.12, and eBPF before 5.11. There \
            is no advice for the engine; the knob is listed because many lists of limits include it.",
        relief: Relief::Nothing,
        relieves: "nothing on these kernels",
        risk: "None.",
        sources: &["Linux 5.16, include/uapi/linux/resource.h; getrlimit(2)"],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: None,
};
