//! Sysctls of a network namespace: which of them the engine's pods set, and what those of the machine hold for.

use linerate_record::knob::{Knob, Locator, Scope, TakesEffect};
use linerate_record::site::{Kubernetes, NodeGroup};
use linerate_settings::export::safe_since;
use linerate_settings::knobs::KnobRow;

use crate::catalogue::{advised, of_profile, reason};
use crate::deployment::Deployment;

/// The oldest Kubernetes that Cilium 1.18 is tested with: its documentation, "Kubernetes Compatibility". What is not
/// safe in it, a pod does not set unless the site states a version.
const OLDEST: (u32, u32) = (1, 30);

/// A sysctl of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PodSysctl {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    /// The knob, its reason, and what the source sets.
    pub(crate) why: String,
}

/// What the profile has for a network namespace, and a pod may set in a namespace that enforces `restricted`.
pub(crate) fn of_pods(deployment: &Deployment<'_>, group: &NodeGroup) -> Vec<PodSysctl> {
    let pod_sysctl = |row: &'static KnobRow| {
        let name = namespaced(&row.knob).filter(|name| is_safe(name, deployment.kubernetes))?;
        let (value, why) = advised(deployment.site, group, row)?;
        Some(PodSysctl { name, value, why: reason(row.knob.id, &why) })
    };
    of_profile().filter_map(pod_sysctl).collect()
}

/// Sentences behind the reason of a machine's setting: for whose sockets it holds, and what pods have. None for what is
/// of the whole machine, and where a pod starts with the same value.
pub(crate) fn reach(knob: &Knob, value: &str, kubernetes: &Kubernetes) -> Option<String> {
    let name = namespaced(knob)?;
    let set = if is_safe(name, kubernetes) { "; the engine's pods set it for themselves" } else { "" };
    // Linux, net/ipv4/devinet.c: devinet_init_net copies those of interfaces.
    if knob.takes_effect == TakesEffect::NewNamespace || name.starts_with("net.ipv4.conf.") {
        return Some(format!("Pods that are made afterwards start with a copy{set}"));
    }
    match set {
        "" if is_default(knob.default, value) => None,
        "" => Some(format!("Machine's own sockets; pods have the default: {}", knob.default)),
        set => Some(format!("Machine's own sockets{set}")),
    }
}

/// What is to be known of such sentences, once in a file.
pub(crate) const WHY_NOT_OF_PODS: &str = "\"Machine's own sockets\" are those of the kubelet, containerd, agents and \
    pods with hostNetwork: the namespace of any other pod starts from the kernel's default, whatever the machine has. \
    engine/stateful-sets.yaml sets what Kubernetes calls safe, and nothing else: the engine's namespace enforces \
    \"restricted\", which admits no other sysctl.";

/// The sysctl of a knob of sockets, of which each network namespace has a value. Those of netfilter hold for what the
/// machine tracks, which includes the packets of pods.
fn namespaced(knob: &Knob) -> Option<&'static str> {
    match knob.locator {
        Locator::Sysctl { name } if knob.scope == Scope::NetworkNamespace && !name.starts_with("net.netfilter.") => {
            Some(name)
        }
        _ => None,
    }
}

/// Whether kubelet and admission let any pod set a sysctl.
fn is_safe(sysctl: &str, kubernetes: &Kubernetes) -> bool {
    let stated = kubernetes.control_plane.as_ref().and_then(|plane| minor(&plane.version));
    safe_since(sysctl).and_then(minor).is_some_and(|since| since <= stated.unwrap_or(OLDEST))
}

/// `1.34` of `1.34.4`, as numbers.
fn minor(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

/// Whether a default, of which a version or a remark may stand behind the value, is a value.
fn is_default(default: &str, value: &str) -> bool {
    default
        .strip_prefix(value)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([',', ':', ';']) || rest.starts_with(" since"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_is_the_same_whatever_is_remarked_of_it() {
        for (default, value, expected) in [
            ("4096 since Linux 5.4, 128 before", "4096", true),
            ("4096 since Linux 5.4, 128 before", "16384", false),
            ("4294967295: no limit", "4294967295", true),
            ("32768 60999", "32768", false),
            ("0; 2 with systemd", "0", true),
            ("1", "1", true),
            ("1024 since Linux 4.1", "102", false),
        ] {
            assert_eq!(is_default(default, value), expected, "{default:?} {value:?}");
        }
    }

    #[test]
    fn versions_are_numbers_and_no_texts() {
        assert!(minor("1.9.11") < minor("1.32") && minor("1.34.4") == Some((1, 34)));
        assert_eq!([minor(""), minor("1"), minor("v1.34")], [None; 3]);
    }
}
