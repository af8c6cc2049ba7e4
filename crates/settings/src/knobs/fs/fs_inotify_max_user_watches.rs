//! `fs.inotify.max_user_watches`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "fs.inotify.max_user_watches",
        layer: Layer::Fs,
        locator: Locator::Sysctl { name: "fs.inotify.max_user_watches" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `fs/notify/inotify/inotify_user.c: inotify_table`: 0 to INT_MAX.
        takes: domain::number(0, domain::INT_MAX),
        default: "1 % of memory, from 8192 to 1048576",
        summary: "Watches of one user, over all containers that share that user.",
        why: "kubelet, containerd and every log collector watch files, all as root: on a node of 200 pods (source \
            000's test) they run out together, and log collection stops in silence.",
        relieves: "Kubernetes: log collection, secret updates",
        risk: "1 KiB of kernel memory for each watch that is used.",
        sources: &["Linux, fs/notify/inotify/inotify_user.c", "source 000, Kubernetes test (200 pods a node)"],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    facts::at_least(snapshot, place, 524_288, "all pods' root processes share one count")
}
