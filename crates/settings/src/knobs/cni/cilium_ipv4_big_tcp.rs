//! `cilium.ipv4_big_tcp`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "cilium.ipv4_big_tcp",
        layer: Layer::Cni,
        locator: Locator::HelmValue { chart: "cilium", path: "enableIPv4BIGTCP" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // Cilium, values.yaml: a boolean.
        takes: Domain::Words(&["true", "false"]),
        default: "false",
        summary: "Whether the network stack handles IPv4 packets larger than 64 KiB between socket and NIC.",
        why: "Source 000 sets true and notes that it needs testing. It pays off from 100 Gb/s on and requires Linux \
            6.3, native routing, and a NIC with the driver mlx4, mlx5 or ice.",
        relief: Relief::Processors,
        relieves: "processor: work per packet",
        risk: "Tools that parse packet headers see a length of 0.",
        sources: &[
            "source 000, Cilium values",
            "Cilium, install/kubernetes/cilium/values.yaml",
            "Cilium, Documentation/operations/performance/tuning.rst",
        ],
        since: None,
        until: None,
        also_called: &["enableIPv4BIGTCP"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    match facts::kernel(snapshot) {
        Some(kernel) if kernel < (6, 3) => facts::advice(false, "IPv4 BIG TCP requires Linux 6.3"),
        _ => facts::advice(true, "packets of up to 192 KiB within the node"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn big_tcp_waits_for_its_kernel() {
        let mut snapshot = machine();
        assert_eq!(advised(&ROW, &snapshot).as_deref(), Some("true"));
        snapshot.machine.kernel = "6.2.16".to_owned();
        assert_eq!(advised(&ROW, &snapshot).as_deref(), Some("false"));
    }
}
