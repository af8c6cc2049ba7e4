//! `fs.inotify.max_user_watches`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
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
        summary: "Maximum number of inotify watches of a user, over all containers that run as that user.",
        why: "kubelet, containerd and every log collector watch files, all as root. On a node with 200 pods (as in \
            source 000's test) they exhaust the limit together, and log collection stops without an error.",
        relief: Relief::Kubernetes,
        relieves: "Kubernetes: log collection, updates of secrets",
        risk: "1 KiB of kernel memory for each watch in use.",
        sources: &["Linux, fs/notify/inotify/inotify_user.c", "source 000, Kubernetes test (200 pods a node)"],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    facts::at_least(snapshot, place, 524_288, "the root processes of all pods share one limit")
}
