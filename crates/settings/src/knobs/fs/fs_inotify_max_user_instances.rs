//! `fs.inotify.max_user_instances`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "fs.inotify.max_user_instances",
        layer: Layer::Fs,
        locator: Locator::Sysctl { name: "fs.inotify.max_user_instances" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `fs/notify/inotify/inotify_user.c: inotify_table`: 0 to INT_MAX.
        takes: domain::number(0, domain::INT_MAX),
        default: "128",
        summary: "Maximum number of inotify instances of a user, over all containers that run as that user.",
        why: "On a node with 200 pods, 128 is less than one for each pod. Programs then report \"too many open \
            files\", which suggests the wrong limit.",
        relief: Relief::Kubernetes,
        relieves: "Kubernetes: programs that fail to start",
        risk: "None known.",
        sources: &["Linux, fs/notify/inotify/inotify_user.c", "source 000, Kubernetes test (200 pods a node)"],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    facts::at_least(snapshot, place, 8192, "200 pods that run as root share one limit")
}
