//! What stands behind the name of a space: its number or name may be another's later.

use std::io;

use linerate_record::knob::{Space, SpaceIdentity};

use super::device::node_of_space;
use super::namespace::{identity, within};
use crate::owner;
use crate::root::{Root, text};

/// What stands behind a space now; none on a captured machine, where nothing is given again.
///
/// # Errors
/// Where there is no such process or namespace.
pub fn space_identity(root: &Root, space: &Space) -> io::Result<Option<SpaceIdentity>> {
    let Some(net) = identity(root, space)? else { return Ok(None) };
    let started_ticks = match space {
        Space::Pid(pid) => Some(owner::process_owner(*pid)?.started_ticks),
        Space::Host | Space::Netns(_) => None,
    };
    let boot = text(root, "proc/sys/kernel/random/boot_id", &mut Vec::new())?.trim().to_owned();
    let node = within(root, space, Some(net), |_| Ok(node_of_space())).ok().flatten();
    Ok(Some(SpaceIdentity { space: space.clone(), net, node, started_ticks, boot }))
}

/// The inode of the network namespace of a space, where it is the one that was meant: among what stood there, or, of
/// this process's own, in an older file.
///
/// # Errors
/// Where it is another's, or nobody has said what was meant.
pub(crate) fn identity_as_meant(root: &Root, space: &Space, meant: &[SpaceIdentity]) -> io::Result<Option<u64>> {
    let Some(now) = space_identity(root, space)? else { return Ok(None) };
    let why = match (meant.iter().find(|then| then.space == *space), space) {
        (Some(then), _) => differs(then, &now),
        (None, Space::Host) => None,
        (None, _) => Some("the file of changes does not say which namespace it means"),
    };
    match why {
        None => Ok(Some(now.net)),
        Some(why) => Err(io::Error::other(format!("{why}: make a new file"))),
    }
}

/// Whether the same stood behind a space at two moments. What could not be seen at one of them makes no difference.
#[must_use]
pub fn is_unmoved(then: Option<&SpaceIdentity>, now: Option<&SpaceIdentity>) -> bool {
    match (then, now) {
        (Some(then), Some(now)) => then.space == now.space && differs(then, now).is_none(),
        (then, now) => then.is_none() && now.is_none(),
    }
}

fn differs(then: &SpaceIdentity, now: &SpaceIdentity) -> Option<&'static str> {
    let is_same_boot = then.boot == now.boot;
    let is_same_net = then.net == now.net && (then.node == now.node || then.node.is_none() || now.node.is_none());
    match &now.space {
        // The machine's own is the machine's after a boot too, by whatever inode.
        Space::Host => (is_same_boot && !is_same_net)
            .then_some("the file of changes was made in a different network namespace from that of this process"),
        Space::Pid(_) if !is_same_boot || then.started_ticks != now.started_ticks => {
            Some("another process has that number since the file of changes was made")
        }
        Space::Pid(_) => {
            (!is_same_net).then_some("the process is in another network namespace than when the file was made")
        }
        Space::Netns(_) => (!is_same_boot || !is_same_net)
            .then_some("another network namespace has that name since the file of changes was made"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_space_is_the_one_meant_only_while_the_same_stands_there() {
        let root = Root::live();
        let pid = Space::Pid(std::process::id());
        let now = space_identity(&root, &pid).unwrap().unwrap();
        let reported = |space: &Space, meant: &[SpaceIdentity]| {
            identity_as_meant(&root, space, meant).map_err(|error| error.to_string())
        };
        assert_eq!(reported(&pid, std::slice::from_ref(&now)), Ok(Some(now.net)));
        let started_ticks = now.started_ticks.map(|ticks| ticks - 1);
        let host = SpaceIdentity { space: Space::Host, started_ticks: None, ..now.clone() };
        for (then, part) in [
            (SpaceIdentity { started_ticks, ..now.clone() }, "another process has that number"),
            (SpaceIdentity { boot: "another".to_owned(), ..now.clone() }, "another process has that number"),
            (SpaceIdentity { net: now.net + 1, ..now.clone() }, "in another network namespace than when"),
            (host.clone(), "does not say which namespace"),
        ] {
            assert!(reported(&pid, &[then]).unwrap_err().contains(part), "{part}");
        }
        let elsewhere = SpaceIdentity { net: host.net + 1, ..host.clone() };
        assert!(
            reported(&Space::Host, std::slice::from_ref(&elsewhere)).unwrap_err().contains("from that of this process")
        );
        let before_a_boot = SpaceIdentity { boot: "another".to_owned(), ..elsewhere };
        for meant in [vec![], vec![host], vec![before_a_boot]] {
            assert_eq!(reported(&Space::Host, &meant), Ok(Some(now.net)), "{meant:?}");
        }
        assert_eq!(identity_as_meant(&Root::captured("/none"), &Space::Pid(1), &[]).unwrap(), None);
    }

    #[test]
    fn a_name_given_again_is_another_namespace() {
        let identity = |net, boot: &str| {
            let space = Space::Netns("lab".to_owned());
            SpaceIdentity { space, net, node: Some(70), started_ticks: None, boot: boot.to_owned() }
        };
        let anew = SpaceIdentity { node: Some(71), ..identity(7, "b") };
        assert!(differs(&identity(7, "b"), &anew).is_some_and(|why| why.contains("has that name")), "its inode too");
        assert_eq!(
            differs(&SpaceIdentity { node: None, ..identity(7, "b") }, &anew),
            None,
            "a file of an earlier version"
        );
        assert_eq!(differs(&identity(7, "b"), &identity(7, "b")), None);
        let unseen = SpaceIdentity { node: None, ..identity(7, "b") };
        assert!(
            is_unmoved(Some(&identity(7, "b")), Some(&unseen)) && is_unmoved(None, None),
            "not seen is not replaced"
        );
        assert!(!is_unmoved(Some(&identity(7, "b")), Some(&anew)) && !is_unmoved(Some(&unseen), None));
        for now in [identity(8, "b"), identity(7, "c")] {
            assert!(differs(&identity(7, "b"), &now).is_some_and(|why| why.contains("has that name")), "{now:?}");
        }
    }
}
