//! Which congestion controls this kernel has.

use linerate_record::knob::Space;

use super::kernel_build::KernelBuild;
use super::namespace::within;
use super::resolved_locator::{self, ResolvedLocator};

/// The sysctl of the one that new connections take.
pub(super) const NAME: &str = "net.ipv4.tcp_congestion_control";

/// Refuses one that this kernel has neither loaded nor as a module, which it would load (`net/ipv4/tcp_cong.c:
/// tcp_ca_find_autoload`). What is not told is for the kernel to refuse.
pub(super) fn offered(built: &KernelBuild<'_>, space: &Space, name: &str) -> Result<(), String> {
    let list = ResolvedLocator::Sysctl("net/ipv4/tcp_available_congestion_control".to_owned());
    let Ok((there, _)) = within(built.root, space, None, |in_namespace| resolved_locator::read(in_namespace, &list))
    else {
        return Ok(());
    };
    let there: Vec<&str> = there.split_whitespace().collect();
    if there.is_empty() || there.contains(&name) || built.has_module(&format!("tcp_{name}")) {
        return Ok(());
    }
    Err(format!(
        "{name:?} is unknown to this kernel, which has {}; a congestion control that is a module must be there, and \
         loaded: modprobe tcp_{}",
        there.join(", "),
        name.escape_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::Root;

    #[test]
    fn a_congestion_control_that_the_kernel_does_not_have_is_refused_with_those_that_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("proc/sys/kernel/osrelease", "6.18.0\n");
        let offered = |name: &str| offered(&KernelBuild::new(&root), &Space::Host, name);
        assert_eq!(offered("no-such"), Ok(()), "nobody says what there is");
        write("proc/sys/net/ipv4/tcp_available_congestion_control", "reno cubic\n");
        assert_eq!(offered("cubic"), Ok(()));
        for name in ["bbr", "cubi", "", "a b"] {
            let why = offered(name).unwrap_err();
            assert!(why.contains(&format!("{name:?} is unknown to this kernel, which has reno, cubic;")), "{why}");
        }
        write("lib/modules/6.18.0/modules.dep", "kernel/net/ipv4/tcp_bbr.ko.xz:\nkernel/net/ipv4/tcp_bbr2.ko: a.ko\n");
        assert_eq!((offered("bbr"), offered("bbr2")), (Ok(()), Ok(())));
        assert!(offered("bb").is_err() && offered("a").is_err());
    }
}
