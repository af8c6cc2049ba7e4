//! Names of sysctls.

use std::io;

use super::value_text::invalid;

/// The path below `proc/sys`: `net.core.rmem_max` is `net/core/rmem_max`. A slash is a dot in the name of an interface,
/// as `sysctl(8)` has it: `net.ipv6.conf.eth0/7.mtu` is `net/ipv6/conf/eth0.7/mtu`.
pub(super) fn path(name: &str) -> io::Result<String> {
    let is_part = |part: &str| {
        part.chars().any(|c| c != '/') && part.chars().all(|c| c.is_ascii_alphanumeric() || "_-/:@!+".contains(c))
    };
    if name.split('.').count() > 1 && name.split('.').all(is_part) {
        let parts: Vec<String> = name.split('.').map(|part| part.replace('/', ".")).collect();
        return Ok(parts.join("/"));
    }
    Err(invalid(format!("{name:?} is not the name of a sysctl: write it as net.core.rmem_max")))
}

/// An interface's name as a part of a sysctl's.
pub(super) fn part(device: &str) -> String {
    device.replace('.', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_a_path_and_what_is_no_name_is_refused() {
        assert_eq!(path("net.core.rmem_max").unwrap(), "net/core/rmem_max");
        assert_eq!(path("net.bridge.bridge-nf-call-iptables").unwrap(), "net/bridge/bridge-nf-call-iptables");
        assert_eq!(path(&format!("net.ipv6.conf.{}.mtu", part("eth0.7"))).unwrap(), "net/ipv6/conf/eth0.7/mtu");
        for name in [
            "",
            "vm",
            "vm.",
            ".vm",
            "vm..x",
            "net/core/x",
            "vm.../etc",
            "vm.a\n",
            "vm.a b",
            "../vm.x",
            "vm.é",
            "vm./",
            "vm.//.x",
        ] {
            assert!(path(name).is_err(), "{name:?}");
        }
    }
}
