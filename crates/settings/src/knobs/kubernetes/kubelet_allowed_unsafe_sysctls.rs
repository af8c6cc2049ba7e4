//! `kubelet.allowed_unsafe_sysctls`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "kubelet.allowed_unsafe_sysctls",
        layer: Layer::Kubernetes,
        locator: Locator::Component { component: "kubelet", key: "allowedUnsafeSysctls" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // Kubernetes, "Using sysctls in a Kubernetes Cluster".
        takes: Domain::Text("names of sysctls, where a final * stands for any ending"),
        default: "empty",
        summary: "Sysctls beyond the safe ones that pods may set in their own namespaces.",
        why: "No source mentions it, but without it most of their net.* settings never reach the engine, because its \
            namespace starts from the kernel's defaults. These are safe without it: ip_local_port_range, \
            ip_local_reserved_ports, ip_unprivileged_port_start, ping_group_range, tcp_syncookies, tcp_keepalive_*, \
            tcp_fin_timeout and, since Kubernetes 1.32, tcp_rmem and tcp_wmem. A namespace that enforces the Pod \
            Security Standard baseline or restricted admits no others, whatever the kubelet allows: linerate render \
            writes such a namespace, and leaves this empty.",
        relief: Relief::Links,
        relieves: "links and accepting: settings that never reach the engine",
        risk: "Pods may change these sysctls, each in its own namespace.",
        sources: &[
            "Kubernetes, pkg/kubelet/sysctl/safe_sysctls.go",
            "Kubernetes, pod-security-admission/policy/check_sysctls.go",
        ],
        since: None,
        until: None,
        also_called: &["allowedUnsafeSysctls"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(
        "net.core.somaxconn,net.ipv4.tcp_*",
        "a pod's namespace starts from the kernel's defaults, not from the host's values",
    )
}
