//! `net.ipv4.tcp_fin_timeout`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.tcp_fin_timeout",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.ipv4.tcp_fin_timeout" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::AtOnce,
        // `kernel/sysctl.c: proc_dointvec_jiffies`: seconds as an `int` of ticks, of which there are 100 at least; a
        // machine's own number is looked at where it is read.
        takes: domain::number(0, 21_474_836),
        default: "60",
        summary: "Seconds that an orphaned connection stays in FIN_WAIT_2.",
        why: "The sources set 20, 30 and 5 to shorten TIME_WAIT, but that is a constant of 60 s, which this does not \
            change. An orphaned connection only stays in FIN_WAIT_2 if the peer does not close, which is rare among S3 \
            clients. The default is right.",
        relief: Relief::Ports,
        relieves: "ports and memory: peers that do not close",
        risk: "Short: late data from slow peers is answered with a reset.",
        sources: &[
            "source 000, tuned profile",
            "source 002, network tuning",
            "source 003, full parameters",
            "Linux, Documentation/networking/ip-sysctl.rst",
            "Linux, include/net/tcp.h: TCP_TIMEWAIT_LEN; net/ipv4/tcp.c: tcp_fin_time",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(60, "the default: it does not shorten TIME_WAIT")
}
