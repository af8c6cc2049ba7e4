//! The table as a whole: what holds of every row.

mod following;
mod sources;

use std::collections::BTreeSet;

use linerate_record::knob::{CurrentText, Domain, Knob, Locator, Scope, TakesEffect, fits};

use super::{KNOBS, find};
use crate::profiles::{PROFILES, Value};

fn knobs() -> impl Iterator<Item = &'static Knob> {
    KNOBS.iter().map(|row| &row.knob)
}

#[test]
fn ids_are_unique_and_lower_case() {
    let mut seen = BTreeSet::new();
    for knob in knobs() {
        assert!(seen.insert(knob.id), "{} is there twice", knob.id);
        let plain = knob.id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c));
        assert!(plain && knob.id.contains('.'), "{}", knob.id);
    }
    assert!(seen.len() >= 150, "{} rows", seen.len());
}

#[test]
fn every_row_says_what_it_is_why_what_it_relieves_and_risks_and_where_that_is_from() {
    for knob in knobs() {
        let id = knob.id;
        for (what, text) in [("summary", knob.summary), ("why", knob.why), ("default", knob.default)] {
            assert!(!text.trim().is_empty(), "{id}: no {what}");
            assert!(!text.contains("  ") && text.trim() == text, "{id}: spaces in {what}: {text:?}");
        }
        assert!(!knob.relieves.is_empty() && !knob.risk.is_empty(), "{id}");
        assert!([knob.summary, knob.why, knob.risk].iter().all(|text| text.ends_with('.')), "{id}: full stops");
        assert!(!knob.sources.is_empty() && knob.sources.iter().all(|source| source.len() >= 8), "{id}: sources");
    }
}

/// What a profile sets, and what is advised wherever the tests of this room advise, lies within what the row takes.
#[test]
fn every_value_of_a_profile_is_one_that_its_knob_takes() {
    for profile in PROFILES {
        for pick in profile.picks {
            let Value::Literal(value) = pick.value else { continue };
            let knob = &find(pick.knob).expect(pick.knob).knob;
            assert_eq!(fits(knob, &CurrentText::default(), value), Ok(()), "{} of {}", pick.knob, profile.name);
        }
    }
}

#[test]
fn what_no_kernel_takes_is_refused() {
    for (id, values) in [
        ("bond.xmit_hash_policy", &["layer9", "1"][..]),
        ("bond.lacp_rate", &["banana"]),
        ("bond.mode", &["7", "802.3"]),
        ("net.core.default_qdisc", &["nonsense"]),
        ("net.core.somaxconn", &["0", "2147483648"]),
        ("net.core.rmem_max", &["1", "2303", "4294967296"]),
        ("net.core.wmem_default", &["4607"]),
        ("kernel.numa_balancing", &["9", "-1"]),
        ("kernel.pid_max", &["1", "300", "4194305"]),
        ("nic.mtu", &["0", "67", "99999"]),
        ("block.nr_requests", &["0", "99999"]),
        ("block.rq_affinity", &["3"]),
        ("nic.rps_cpus", &["", "g"]),
        ("nic.tso", &["1", "yes"]),
        ("net.ipv4.tcp_sack", &["2"]),
        ("vm.zone_reclaim_mode", &["8"]),
        ("xfs.logbsize", &["48k"]),
        ("limits.nofile", &["infinity", "-1"]),
    ] {
        let knob = &find(id).expect(id).knob;
        for value in values {
            let why = fits(knob, &CurrentText::default(), value).expect_err(id);
            assert!(why.contains(&format!("{value:?}")), "{id}: {why}");
        }
    }
}

#[test]
fn every_domain_says_what_to_give_and_holds_its_own_bounds() {
    for knob in knobs() {
        let id = knob.id;
        let bounds: Vec<String> = match knob.takes {
            Domain::Number { least, most } => [least, most].map(|bound| bound.to_string()).into(),
            Domain::Rising { count, least, most } => {
                [least, most].map(|bound| vec![bound.to_string(); count].join(" ")).into()
            }
            Domain::Words(words) => words.iter().map(|word| (*word).to_owned()).collect(),
            Domain::WordsOrNumber { words, least, most } => {
                let numbers = [least, most].map(|bound| bound.to_string());
                words.iter().map(|word| (*word).to_owned()).chain(numbers).collect()
            }
            Domain::Processors => vec!["ff".to_owned(), "0".to_owned()],
            Domain::Ports => vec!["9000,30000-30100".to_owned()],
            Domain::Text(what) => vec![what.to_owned()],
        };
        assert!(!bounds.is_empty() && !knob.takes.to_string().is_empty(), "{id}");
        for bound in bounds {
            assert_eq!(fits(knob, &CurrentText::default(), &bound), Ok(()), "{id}");
        }
    }
}

#[test]
fn no_two_rows_share_a_locator_and_hardly_any_their_reasons() {
    let mut locators = BTreeSet::new();
    let mut reasons = BTreeSet::new();
    for knob in knobs() {
        assert!(locators.insert(knob.locator.to_string()), "{}: {} is there twice", knob.id, knob.locator);
        reasons.insert(knob.why);
    }
    // Both settings of busy polling, both default buffers, rate and burst of three clients, three tables of bridges.
    assert!(reasons.len() + 12 >= KNOBS.len(), "{} reasons for {} rows", reasons.len(), KNOBS.len());
}

#[test]
fn scope_follows_from_where_a_setting_lives() {
    for knob in knobs() {
        let allowed: &[Scope] = match knob.locator {
            Locator::Sysctl { name } if name.starts_with("net.") => &[Scope::Host, Scope::NetworkNamespace],
            Locator::Sysctl { .. } | Locator::KernelVersion | Locator::BootArgument { .. } | Locator::Timer { .. } => {
                &[Scope::Host]
            }
            Locator::Sysfs { .. } => &[Scope::Host, Scope::Device],
            Locator::MountOption { .. } => &[Scope::Mount],
            Locator::Limit { .. } => &[Scope::Process],
            Locator::HelmValue { .. } => &[Scope::Cluster],
            Locator::Component { component: "tuned", .. } => &[Scope::Host],
            Locator::Component { .. } => &[Scope::Cluster],
            _ => &[Scope::Device],
        };
        assert!(allowed.contains(&knob.scope), "{}: {} at {}", knob.id, knob.scope, knob.locator);
        let of_device = matches!(knob.scope, Scope::Device | Scope::Mount);
        assert_eq!(knob.locator.device_class().is_some(), of_device, "{}", knob.id);
        let at_boot = matches!(knob.locator, Locator::BootArgument { .. } | Locator::KernelVersion);
        assert!(!at_boot || knob.takes_effect == TakesEffect::Reboot, "{}", knob.id);
    }
}

#[test]
fn a_sysctl_is_called_by_its_name() {
    for knob in knobs() {
        if let Locator::Sysctl { name } = knob.locator {
            assert_eq!(knob.id, name);
        }
    }
}

/// How a setting of the initial namespace looks from others.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Seen {
    /// Absent there: one value for the machine.
    HostOnly,
    /// There, with the host's value, and not writable.
    Shared,
    /// There, with the kernel's default, whatever the host says.
    Fresh,
    /// There, with what the host had when the namespace was made.
    Copied,
}

/// Tried on Linux 6.18.44: each was changed on the host between making one namespace and another, and read in both. Not
/// tried, but from `addrconf_init_net` and `devinet_init_net`: `conf.all.disable_ipv6` and `ip_forward`.
const SEEN: [(&str, Seen); 59] = [
    ("net.core.rmem_max", Seen::Shared),
    ("net.core.wmem_max", Seen::Shared),
    ("net.core.rmem_default", Seen::Shared),
    ("net.core.wmem_default", Seen::Shared),
    ("net.core.optmem_max", Seen::Fresh),
    ("net.core.somaxconn", Seen::Fresh),
    ("net.core.netdev_max_backlog", Seen::HostOnly),
    ("net.core.netdev_budget", Seen::HostOnly),
    ("net.core.netdev_budget_usecs", Seen::HostOnly),
    ("net.core.busy_read", Seen::HostOnly),
    ("net.core.busy_poll", Seen::HostOnly),
    ("net.core.default_qdisc", Seen::HostOnly),
    ("net.core.rps_sock_flow_entries", Seen::HostOnly),
    ("net.ipv4.tcp_rmem", Seen::Copied),
    ("net.ipv4.tcp_wmem", Seen::Copied),
    ("net.ipv4.tcp_mem", Seen::HostOnly),
    ("net.ipv4.tcp_moderate_rcvbuf", Seen::Fresh),
    ("net.ipv4.tcp_mtu_probing", Seen::Fresh),
    ("net.ipv4.tcp_base_mss", Seen::Fresh),
    ("net.ipv4.tcp_fin_timeout", Seen::Fresh),
    ("net.ipv4.tcp_tw_reuse", Seen::Fresh),
    ("net.ipv4.tcp_max_tw_buckets", Seen::Fresh),
    ("net.ipv4.tcp_max_syn_backlog", Seen::Fresh),
    ("net.ipv4.tcp_syncookies", Seen::Fresh),
    ("net.ipv4.tcp_timestamps", Seen::Fresh),
    ("net.ipv4.tcp_sack", Seen::Fresh),
    ("net.ipv4.tcp_window_scaling", Seen::Fresh),
    ("net.ipv4.tcp_low_latency", Seen::HostOnly),
    ("net.ipv4.tcp_adv_win_scale", Seen::Fresh),
    ("net.ipv4.tcp_slow_start_after_idle", Seen::Fresh),
    ("net.ipv4.tcp_congestion_control", Seen::Copied),
    ("net.ipv4.tcp_notsent_lowat", Seen::Fresh),
    ("net.ipv4.tcp_keepalive_time", Seen::Fresh),
    ("net.ipv4.ip_local_port_range", Seen::Fresh),
    ("net.ipv4.ip_local_reserved_ports", Seen::Fresh),
    ("net.ipv4.conf.all.send_redirects", Seen::Copied),
    ("net.ipv4.conf.all.accept_redirects", Seen::Copied),
    ("net.ipv4.conf.all.accept_source_route", Seen::Copied),
    ("net.ipv6.conf.all.disable_ipv6", Seen::Fresh),
    ("net.ipv6.conf.default.disable_ipv6", Seen::Fresh),
    ("net.ipv4.neigh.default.gc_thresh1", Seen::HostOnly),
    ("net.ipv4.neigh.default.gc_thresh2", Seen::HostOnly),
    ("net.ipv4.neigh.default.gc_thresh3", Seen::HostOnly),
    ("net.netfilter.nf_conntrack_max", Seen::Shared),
    ("net.netfilter.nf_conntrack_buckets", Seen::Shared),
    ("net.netfilter.nf_conntrack_tcp_timeout_established", Seen::Fresh),
    ("net.netfilter.nf_conntrack_tcp_timeout_time_wait", Seen::Fresh),
    ("net.netfilter.nf_conntrack_tcp_timeout_close_wait", Seen::Fresh),
    ("net.netfilter.nf_conntrack_tcp_timeout_fin_wait", Seen::Fresh),
    ("net.netfilter.nf_conntrack_udp_timeout", Seen::Fresh),
    ("net.netfilter.nf_conntrack_udp_timeout_stream", Seen::Fresh),
    ("net.netfilter.nf_conntrack_icmp_timeout", Seen::Fresh),
    ("net.netfilter.nf_conntrack_generic_timeout", Seen::Fresh),
    ("net.ipv4.ip_forward", Seen::Copied),
    ("net.ipv4.conf.all.rp_filter", Seen::Copied),
    ("net.ipv4.conf.default.rp_filter", Seen::Copied),
    ("net.bridge.bridge-nf-call-iptables", Seen::Fresh),
    ("net.bridge.bridge-nf-call-ip6tables", Seen::Fresh),
    ("net.bridge.bridge-nf-call-arptables", Seen::Fresh),
];

#[test]
fn scopes_of_net_settings_are_those_that_were_seen() {
    let net: BTreeSet<&str> = knobs().map(|knob| knob.id).filter(|id| id.starts_with("net.")).collect();
    assert_eq!(net, SEEN.iter().map(|(id, _)| *id).collect());
    for (id, seen) in SEEN {
        let knob = &find(id).expect(id).knob;
        let is_host = matches!(seen, Seen::HostOnly | Seen::Shared);
        assert_eq!(knob.scope == Scope::Host, is_host, "{id}: {:?} but {seen:?}", knob.scope);
        // Settings of `conf` are copied too, but act at once wherever they are written.
        let copied = seen == Seen::Copied && !id.contains(".conf.") && id != "net.ipv4.ip_forward";
        let new_namespace = knob.takes_effect == TakesEffect::NewNamespace && knob.scope == Scope::NetworkNamespace;
        assert!(copied == new_namespace || id == "net.ipv6.conf.default.disable_ipv6", "{id}: {seen:?}");
    }
}

#[test]
fn what_the_cni_owns_is_marked_and_nothing_else() {
    let owned: BTreeSet<&str> = knobs().filter(|knob| knob.owned_by.is_some()).map(|knob| knob.id).collect();
    let is_cnis = |id: &str| id.ends_with("ip_forward") || id.ends_with("rp_filter") || id.contains("bridge-nf-call-");
    let expected: BTreeSet<&str> = knobs().map(|knob| knob.id).filter(|id| is_cnis(id)).collect();
    assert_eq!(owned, expected);
    assert_eq!(owned.len(), 6);
}

#[test]
fn a_knob_that_never_acts_is_advised_nothing_and_says_until_when_it_did() {
    for row in KNOBS.iter().filter(|row| row.knob.takes_effect == TakesEffect::Never) {
        assert!(row.knob.until.is_some(), "{}", row.knob.id);
    }
}

#[test]
fn a_default_is_a_number_only_where_it_is_one_on_every_machine() {
    let number = |id: &str| knobs().find(|knob| knob.id == id).expect("a row").default_number();
    assert_eq!(number("net.ipv4.tcp_adv_win_scale"), Some("1"));
    let prose: Vec<&Knob> = knobs().filter(|knob| knob.default.contains(" since Linux")).collect();
    assert!(prose.len() > 3, "{}", prose.len());
    for knob in prose {
        assert_eq!(knob.default_number(), None, "{}: {}", knob.id, knob.default);
    }
    for knob in knobs().filter(|knob| knob.until.is_some() || knob.takes_effect == TakesEffect::Never) {
        assert!(knob.default_number().is_some(), "{}: what is set without effect cannot be told", knob.id);
    }
}

#[test]
fn rows_stand_in_the_order_of_their_layers() {
    assert!(knobs().map(|knob| knob.layer).is_sorted());
}
