//! Names of sysctls.

use std::io;

use super::spot::invalid;

/// The path below `proc/sys`: `net.core.rmem_max` is `net/core/rmem_max`.
pub(super) fn path(name: &str) -> io::Result<String> {
    let is_part =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if name.split('.').count() > 1 && name.split('.').all(is_part) {
        return Ok(name.replace('.', "/"));
    }
    Err(invalid(format!("{name:?} is no name of a sysctl: write it as net.core.rmem_max")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_a_path_and_what_is_no_name_is_refused() {
        assert_eq!(path("net.core.rmem_max").unwrap(), "net/core/rmem_max");
        assert_eq!(path("net.bridge.bridge-nf-call-iptables").unwrap(), "net/bridge/bridge-nf-call-iptables");
        for name in ["", "vm", "vm.", ".vm", "vm..x", "net/core/x", "vm.../etc", "vm.a\n", "vm.a b", "../vm.x", "vm.é"]
        {
            assert!(path(name).is_err(), "{name:?}");
        }
    }
}
