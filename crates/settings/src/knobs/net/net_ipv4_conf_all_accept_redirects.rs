//! `net.ipv4.conf.all.accept_redirects`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.conf.all.accept_redirects",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.ipv4.conf.all.accept_redirects" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::AtOnce,
        // `net/ipv4/devinet.c: devinet_conf_proc` takes any `int` and tells 0 from others.
        takes: domain::SWITCH,
        default: "1",
        summary: "Whether the host accepts ICMP redirects.",
        why: "Source 003 sets 0 for security; it does not affect performance. On a node that forwards, the kernel \
            accepts redirects only if both `all` and the interface allow it, so 0 here is enough for every interface, \
            also those of a CNI. A new namespace copies the value from the initial one \
            (net.core.devconf_inherit_init_net = 0).",
        relief: Relief::Nothing,
        relieves: "nothing: hardening",
        risk: "Hosts that rely on redirects do not follow them.",
        sources: &[
            "source 003, full parameters",
            "Linux, Documentation/networking/ip-sysctl.rst",
            "Linux, net/ipv4/devinet.c: devinet_init_net; measured on 6.18: copied when a namespace is made",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(0, "hardening, as in source 003; no effect on performance")
}
