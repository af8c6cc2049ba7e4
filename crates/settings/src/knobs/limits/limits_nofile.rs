//! `limits.nofile`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "limits.nofile",
        layer: Layer::Limits,
        locator: Locator::Limit { name: "Max open files" },
        scope: Scope::Process,
        takes_effect: TakesEffect::Restart,
        // `getrlimit(2)`: a `rlim_t`, or RLIM_INFINITY.
        takes: Domain::WordsOrNumber { words: &["unlimited"], least: 0, most: u64::MAX as i128 },
        default: "1024 soft, 524288 hard with systemd; for pods, the service of containerd decides",
        summary: "Hard limit of open files of the engine; Go and MinIO raise the soft limit to it themselves.",
        why: "A node needs a socket for each connection of clients and peers, and a file for each shard in flight. The \
            advice is twice the number of connections, at least 1048576, so that the limit is never reached.",
        relief: Relief::Engine,
        relieves: "the engine: \"too many open files\"",
        risk: "None: open files use memory, the limit does not.",
        sources: &["MinIO, cmd/server-rlimit.go", "getrlimit(2)"],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, site: &Site, place: &SettingPlace) -> Option<Advice> {
    facts::at_least(
        snapshot,
        place,
        (2 * facts::connections(site)).max(1_048_576),
        "twice the connections of a node, at least 1048576",
    )
}
