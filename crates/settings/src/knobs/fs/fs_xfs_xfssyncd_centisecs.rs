//! `fs.xfs.xfssyncd_centisecs`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "fs.xfs.xfssyncd_centisecs",
        layer: Layer::Fs,
        locator: Locator::Sysctl { name: "fs.xfs.xfssyncd_centisecs" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `fs/xfs/xfs_globals.c: xfs_params.syncd_timer`: a second to two hours.
        takes: domain::number(100, 720_000),
        default: "3000",
        summary: "Interval, in hundredths of a second, of XFS's background worker, which covers an idle log and pushes \
            the log's tail; 100 to 720000.",
        why: "Source 000 sets 72000 (12 minutes), once under the name xfsyncd_centisecs, which does not exist, so one \
            of its two settings fails. The worker does not flush data and is not involved in fsync; it costs each file \
            system one log force every 30 s. With 12 minutes, recovery after a crash replays more log, and idle file \
            systems stay dirty longer, while nobody has measured a saving. The default is advised.",
        relief: Relief::Drives,
        relieves: "drives: one log force every 30 s",
        risk: "Longer: more log to replay after a crash, and asynchronous metadata reaches the disk later.",
        sources: &[
            "source 000, tuned profile",
            "source 000, OS table",
            "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
            "Linux, fs/xfs/xfs_globals.c: syncd_timer (100, 3000, 720000); fs/xfs/xfs_log.c: xfs_log_worker; \
            Documentation/admin-guide/xfs.rst",
        ],
        since: None,
        until: None,
        also_called: &["fs.xfs.xfsyncd_centisecs"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(
        3000,
        "the default: 12 minutes would save one log force every 30 s and write asynchronous metadata later",
    )
}
