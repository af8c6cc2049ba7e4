//! Whether a process that this one leaves behind is ended with a container.

use std::os::unix::fs::MetadataExt as _;

use crate::owner;

/// What a container would take with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContainerScope {
    /// Another PID namespace than the one in which the machine booted.
    #[error(
        "this process is in its own PID namespace, as in a container: when that ends, the kernel kills every process \
         in it, including the watch, and the changes would stay"
    )]
    Numbers,
    /// Another root folder than that of the machine's first process, whose number it sees.
    #[error(
        "this process has a different root folder from the machine's first process, as in a container: when that ends, \
         the watch ends too, and the changes would stay"
    )]
    Root,
}

/// Whether every process that this one starts ends with a container, whoever is its parent by then.
#[must_use]
pub fn numbers() -> Option<ContainerScope> {
    (!owner::is_in_initial_pid_namespace()).then_some(ContainerScope::Numbers)
}

/// The same where the container sees the machine's processes: it ends those of its cgroup. A namespace of mounts alone,
/// such as `ip netns exec` makes, has the same root folder. Where the kernel does not let this process look at the
/// first one's, nothing is known, and nothing is refused.
#[must_use]
pub fn confined() -> Option<ContainerScope> {
    let folder = |path: &str| std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
    let has_another_root = || folder("/proc/1/root/").is_some_and(|first| Some(first) != folder("/"));
    numbers().or_else(|| has_another_root().then_some(ContainerScope::Root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_confined_is_told_what_would_end_the_watch() {
        for confined in [ContainerScope::Numbers, ContainerScope::Root] {
            let text = confined.to_string();
            assert!(text.contains("watch") && text.contains("would stay"), "{text}");
        }
        let is_initial = owner::pid_namespace().unwrap() == 0xEFFF_FFFC;
        assert_eq!(numbers().is_none(), is_initial);
    }
}
