//! Named sets of knobs: what linerate advises for a kind of node, and what the sources set, value for value.
//!
//! A profile says which knobs are looked at. The sources' own sets are here to be compared and tried, not followed.

mod picks;

use picks::{
    KUBERNETES_NODE, S3_CLIENT_NODE, S3_STORAGE_NODE, SOURCE_000_CILIUM, SOURCE_000_KUBERNETES, SOURCE_000_OS,
    SOURCE_000_TUNED, SOURCE_002_CILIUM, SOURCE_003_FULL,
};

/// A named set of knob values.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// What flags call it.
    pub name: &'static str,
    /// What it is for.
    pub summary: &'static str,
    /// Its knobs, each at most once.
    pub picks: &'static [Pick],
}

/// One knob of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    pub knob: &'static str,
    /// What it is to be.
    pub value: Value,
}

/// What a profile wants of a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// What the row advises for the machine.
    Advised,
    Literal(&'static str),
}

impl Profile {
    /// Its pick of a knob.
    #[must_use]
    pub fn pick(&self, knob: &str) -> Option<&'static Pick> {
        self.picks.iter().find(|pick| pick.knob == knob)
    }

    /// How many of its picks come before that of a knob: the order in which its sources set them.
    #[must_use]
    pub fn position(&self, knob: &str) -> Option<usize> {
        self.picks.iter().position(|pick| pick.knob == knob)
    }
}

pub static PROFILES: &[Profile] = &[
    Profile {
        name: "s3-storage-node",
        summary: "A storage node: all settings of the machine, as advised.",
        picks: S3_STORAGE_NODE,
    },
    Profile {
        name: "s3-client-node",
        summary: "A client node: buffers, queues, ports and power, as advised.",
        picks: S3_CLIENT_NODE,
    },
    Profile {
        name: "kubernetes-node",
        summary: "A Kubernetes node and its cluster, for any workload: limits, tables, ports, components and the \
            values of the CNI.",
        picks: KUBERNETES_NODE,
    },
    Profile {
        name: "source-000-os",
        summary: "The OS table of source 000, unchanged; its two misspelt names are corrected.",
        picks: SOURCE_000_OS,
    },
    Profile {
        name: "source-000-tuned",
        summary: "The tuned profile of source 000, unchanged; its conntrack timeouts have no values.",
        picks: SOURCE_000_TUNED,
    },
    Profile {
        name: "source-000-kubernetes",
        summary: "The Kubernetes values of source 000.",
        picks: SOURCE_000_KUBERNETES,
    },
    Profile { name: "source-000-cilium", summary: "The Cilium values of source 000.", picks: SOURCE_000_CILIUM },
    Profile { name: "source-002-cilium", summary: "The network settings of source 002.", picks: SOURCE_002_CILIUM },
    Profile { name: "source-003-full", summary: "The full parameters of source 003.", picks: SOURCE_003_FULL },
];

/// The profile of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs;

    #[test]
    fn every_pick_is_a_knob_and_is_there_once() {
        for profile in PROFILES {
            let mut ids: Vec<&str> = profile.picks.iter().map(|pick| pick.knob).collect();
            for id in &ids {
                let row = knobs::find(id);
                assert!(row.is_some(), "{}: {id}", profile.name);
                assert!(row.is_some_and(|row| row.knob.owned_by.is_none()), "{}: {id} is not ours", profile.name);
            }
            let count = ids.len();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), count, "{}", profile.name);
        }
    }

    #[test]
    fn a_client_is_a_storage_node_without_disks_and_what_listens() {
        let ids = |name| find(name).expect("a profile").picks.iter().map(|pick| pick.knob).collect::<Vec<_>>();
        let (storage, client) = (ids("s3-storage-node"), ids("s3-client-node"));
        let of_both: Vec<&str> = storage.iter().copied().filter(|id| client.contains(id)).collect();
        assert_eq!((storage.len(), client.len(), &of_both), (109, 84, &client));
        for (id, is_clients) in [("block.scheduler", false), ("net.core.somaxconn", false), ("nic.mtu", true)] {
            assert_eq!(client.contains(&id), is_clients, "{id}");
        }
    }

    #[test]
    fn sources_have_values_and_our_own_have_advice() {
        for profile in PROFILES {
            let literal = profile.name.starts_with("source-");
            for pick in profile.picks {
                assert_eq!(matches!(pick.value, Value::Literal(_)), literal, "{}: {}", profile.name, pick.knob);
            }
        }
    }

    #[test]
    fn a_profile_is_found_by_its_name_alone() {
        assert_eq!(find("s3-storage-node").map(|profile| profile.name), Some("s3-storage-node"));
        assert!(find("s3").is_none());
    }

    #[test]
    fn source_003_sets_its_24_values() {
        let full = find("source-003-full").expect("a profile");
        assert_eq!(full.picks.len(), 24);
        let window = Pick { knob: "net.ipv4.tcp_rmem", value: Value::Literal("67108864 134217728 268435456") };
        assert!(full.picks.contains(&window));
    }
}
