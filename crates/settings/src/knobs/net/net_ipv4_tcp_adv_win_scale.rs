//! `net.ipv4.tcp_adv_win_scale`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.tcp_adv_win_scale",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.ipv4.tcp_adv_win_scale" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::Never,
        // `net/ipv4/sysctl_net_ipv4.c: tcp_adv_win_scale_min, tcp_adv_win_scale_max`.
        takes: domain::number(-31, 31),
        default: "1",
        summary: "Share of the receive buffer that is reserved for overhead and not advertised as window.",
        why: "Sources 000 and 003 set 1, the default, which changes nothing on any kernel. Since 6.6 the kernel \
            measures the overhead of each socket and ignores the value, although the file still exists in each \
            namespace.",
        relief: Relief::Nothing,
        relieves: "nothing since Linux 6.6",
        risk: "None.",
        sources: &[
            "source 000, tuned profile",
            "source 003, full parameters",
            "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
            "Linux, Documentation/networking/ip-sysctl.rst (\"Obsolete since linux-6.6\")",
            "Linux 6.6, include/net/tcp.h (dfa2f0483360: tcp: get rid of sysctl_tcp_adv_win_scale)",
        ],
        since: None,
        until: Some((6, 6)),
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(1, "the default, on kernels that still use it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn kernels_that_measure_are_not_told() {
        let mut snapshot = machine();
        assert_eq!(advised(&ROW, &snapshot), None);
        snapshot.machine.kernel = "6.5.0".to_owned();
        assert_eq!(advised(&ROW, &snapshot).as_deref(), Some("1"));
    }
}
