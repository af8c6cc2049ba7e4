//! `cpu.force_latency`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "cpu.force_latency",
        layer: Layer::Cpu,
        locator: Locator::Component { component: "tuned", key: "force_latency" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // TuneD's plugin_cpu: microseconds, or the state by its number or name.
        takes: Domain::Text("microseconds such as 1, or an idle state as TuneD names it: cstate.id:1"),
        default: "none: the idle governor decides",
        summary: "Maximum exit latency of idle states, in microseconds, that tuned requests by holding \
            /dev/cpu_dma_latency open.",
        why: "Source 000 sets 1, which permits no idle state deeper than C1. Idle cores then use power that busy cores \
            could use for turbo. Leaving C6 takes 0.1 ms or more, while a transfer of 64 MiB takes 20 ms, so the \
            default is right for large objects. For 4 KiB objects at low load, it is worth an experiment. The value is \
            a request of a running process, not the content of a file: it ends when tuned ends.",
        relief: Relief::Latency,
        relieves: "latency: wake-up of idle cores",
        risk: "Power and heat when idle; less turbo under partial load.",
        sources: &[
            "source 000, tuned profile",
            "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
            "Linux, Documentation/power/pm_qos_interface.rst",
        ],
        since: None,
        until: None,
        also_called: &["force_latency", "/dev/cpu_dma_latency"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, site: &Site, _place: &SettingPlace) -> Option<Advice> {
    // 256 KiB: 0.1 ms at 20 Gb/s, the exit latency of the deepest states.
    let small = (1..=256 << 10).contains(&site.data.object_bytes);
    small.then(|| facts::advice(1, "objects are so small that the wake-up of a core adds to their latency")).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn only_small_objects_are_worth_shallow_sleep() {
        let mut site = site();
        assert_eq!(advised_of(&ROW, &machine(), &site), None);
        site.data.object_bytes = 4096;
        assert_eq!(advised_of(&ROW, &machine(), &site).as_deref(), Some("1"));
    }
}
