//! Settings that contradict each other: one takes away what the other gives.

use linerate_record::audit::{AuditCheck, AuditFinding};
use linerate_record::finding::{Confidence, Severity};
use linerate_record::knob::{SettingId, Snapshot, Space};
use linerate_record::site::Site;

use super::finding;
use crate::knobs::facts;

/// Settings in one namespace, and the machine's own where the namespace has none.
struct Values<'s> {
    snapshot: &'s Snapshot,
    space: &'s Space,
}

impl Values<'_> {
    fn text(&self, knob: &str) -> Option<&str> {
        let place = |space: &Space| SettingId { knob: knob.to_owned(), device: None, space: space.clone() };
        facts::text(self.snapshot, &place(self.space)).or_else(|| facts::text(self.snapshot, &place(&Space::Host)))
    }

    fn number(&self, knob: &str) -> Option<u64> {
        self.text(knob)?.trim().parse().ok()
    }

    fn numbers(&self, knob: &str) -> Vec<u64> {
        self.text(knob).unwrap_or_default().split_whitespace().filter_map(|word| word.parse().ok()).collect()
    }
}

type Check = fn(&Values<'_>) -> Vec<AuditFinding>;

const PER_NAMESPACE: [Check; 4] = [windows, requested_windows, syn_queue, ports];
const OF_HOST: [Check; 4] = [defaults_above_most, budget, writeback, reserve];

pub(super) fn check(snapshot: &Snapshot, _site: &Site) -> Vec<AuditFinding> {
    let mut spaces: Vec<&Space> = vec![&Space::Host];
    for setting in snapshot.settings.iter().filter(|setting| setting.place.knob.starts_with("net.")) {
        if !spaces.contains(&&setting.place.space) {
            spaces.push(&setting.place.space);
        }
    }
    let mut found = Vec::new();
    for space in spaces {
        let values = Values { snapshot, space };
        let of_host: &[Check] = if *space == Space::Host { &OF_HOST } else { &[] };
        for reported in of_host.iter().chain(&PER_NAMESPACE).flat_map(|check| check(&values)) {
            let claim = match space {
                Space::Host => reported.claim,
                Space::Pid(pid) => format!("in the namespaces of process {pid}, {}", reported.claim),
                Space::Netns(name) => format!("in network namespace {name}, {}", reported.claim),
            };
            found.push(AuditFinding { claim, ..reported });
        }
    }
    found
}

fn contradiction(
    severity: Severity,
    confidence: Confidence,
    claim: String,
    evidence: String,
    remedy: String,
) -> AuditFinding {
    finding(AuditCheck::Contradiction, severity, confidence, claim, evidence, remedy)
}

/// `tcp_rmem` and `tcp_wmem`: their order, and a minimum that is no minimum. The first is what a socket keeps when
/// memory is short (`net/ipv4/tcp.c`, `tcp_under_memory_pressure`), so that it must be small; the second is what each
/// begins with, of which the remedy leaves no more than the kernel's own (`tcp_init`).
fn windows(values: &Values<'_>) -> Vec<AuditFinding> {
    let mut reported = Vec::new();
    for knob in ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"] {
        let [least, first, most] = values.numbers(knob)[..] else { continue };
        let evidence = format!("{knob} = {least} {first} {most}");
        if least > first || first > most {
            let claim = format!("the three values of {knob} are not in ascending order");
            let remedy = "write the minimum, the initial and the maximum size, in this order".to_owned();
            reported.push(contradiction(Severity::Critical, Confidence::Certain, claim, evidence, remedy));
        } else if guarantees_much(knob, &least.to_string()) {
            let each = facts::size(least);
            let claim = format!("{knob} guarantees {each} to each socket even when memory is short");
            let initial = if knob == "net.ipv4.tcp_rmem" { 131_072 } else { 16_384 };
            let remedy = format!("sysctl -w '{knob}=4096 {} {most}'", first.min(initial));
            reported.push(contradiction(Severity::Warning, Confidence::Likely, claim, evidence, remedy));
        }
    }
    reported
}

/// Whether a value of a setting guarantees each socket 1 MiB or more.
pub(super) fn guarantees_much(knob: &str, value: &str) -> bool {
    let least = value.split_whitespace().next().and_then(|least| least.parse::<u64>().ok());
    ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"].contains(&knob) && least.is_some_and(|least| least >= 1 << 20)
}

/// A program that requests a buffer (`SO_RCVBUF`) gets twice `rmem_max` at most and loses autotuning
/// (`net/core/sock.c`, `__sock_set_rcvbuf`): less than what TCP would have grown to. Reported only where somebody
/// raised TCP's bound.
fn requested_windows(values: &Values<'_>) -> Vec<AuditFinding> {
    let pairs = [
        ("net.ipv4.tcp_rmem", "net.core.rmem_max", "SO_RCVBUF", facts::tcp_rmem_default(values.snapshot)),
        ("net.ipv4.tcp_wmem", "net.core.wmem_max", "SO_SNDBUF", facts::tcp_wmem_default(values.snapshot)),
    ];
    let reported = pairs.into_iter().filter_map(|(tcp, bound, option, default)| {
        let (most, bound_bytes) = (*values.numbers(tcp).get(2)?, values.number(bound)?);
        (most > default && most > bound_bytes.saturating_mul(2)).then(|| {
            let claim = format!(
                "{tcp} grows to {}, but a program that sets {option} gets {} at most",
                facts::size(most),
                facts::size(bound_bytes.saturating_mul(2))
            );
            let remedy = format!("sysctl -w {bound}={}", most / 2);
            contradiction(Severity::Note, Confidence::Possible, claim, format!("{bound} = {bound_bytes}"), remedy)
        })
    });
    reported.collect()
}

/// The queue of half-open connections ends at the listener's backlog, which `somaxconn` bounds (`net/ipv4/inet_
/// connection_sock.h`, `inet_csk_reqsk_queue_is_full`): more is never reached.
fn syn_queue(values: &Values<'_>) -> Vec<AuditFinding> {
    let (Some(syn), Some(backlog)) =
        (values.number("net.ipv4.tcp_max_syn_backlog"), values.number("net.core.somaxconn"))
    else {
        return Vec::new();
    };
    // Before 5.4 the defaults were so.
    if syn <= backlog || facts::kernel(values.snapshot).is_some_and(|kernel| kernel < (5, 4)) {
        return Vec::new();
    }
    let claim = format!("tcp_max_syn_backlog of {syn} is never reached: somaxconn limits the queue to {backlog}");
    let evidence = format!("net.core.somaxconn = {backlog}, net.ipv4.tcp_max_syn_backlog = {syn}");
    let remedy = format!("sysctl -w net.core.somaxconn={syn}");
    vec![contradiction(Severity::Note, Confidence::Likely, claim, evidence, remedy)]
}

/// Ports of servers and of Kubernetes' services that connections of this machine may take before them.
const SERVED: [(u16, u16, &str); 3] =
    [(9000, 9001, "MinIO's"), (10_250, 10_250, "the kubelet's"), (30_000, 32_767, "NodePorts")];

fn ports(values: &Values<'_>) -> Vec<AuditFinding> {
    let [low, high] = values.numbers("net.ipv4.ip_local_port_range")[..] else { return Vec::new() };
    let reserved = values.text("net.ipv4.ip_local_reserved_ports").unwrap_or_default();
    let reserved: Vec<(u64, u64)> = reserved.split(',').filter_map(range).collect();
    let is_free = |port: &u64| !reserved.iter().any(|(first, last)| (first..=last).contains(&port));
    let taken = |(first, last, _): &&(u16, u16, &str)| {
        (u64::from(*first)..=u64::from(*last)).any(|port| (low..=high).contains(&port) && is_free(&port))
    };
    let taken: Vec<String> = SERVED
        .iter()
        .filter(taken)
        .map(
            |(first, last, whose)| {
                if first == last { format!("{whose} {first}") } else { format!("{whose} {first}-{last}") }
            },
        )
        .collect();
    if taken.is_empty() {
        return Vec::new();
    }
    let claim = format!("connections may use ports that servers bind: {}", taken.join(", "));
    let evidence = format!("net.ipv4.ip_local_port_range = {low} {high}, without these reserved");
    let remedy = "sysctl -w net.ipv4.ip_local_reserved_ports=9000-9001,10250,30000-32767".to_owned();
    vec![contradiction(Severity::Warning, Confidence::Likely, claim, evidence, remedy)]
}

fn range(text: &str) -> Option<(u64, u64)> {
    let (first, last) = text.trim().split_once('-').unwrap_or((text.trim(), text.trim()));
    Some((first.parse().ok()?, last.parse().ok()?))
}

fn defaults_above_most(values: &Values<'_>) -> Vec<AuditFinding> {
    let pairs = [("net.core.rmem_default", "net.core.rmem_max"), ("net.core.wmem_default", "net.core.wmem_max")];
    let reported = pairs.into_iter().filter_map(|(first, most)| {
        let (first_bytes, most_bytes) = (values.number(first)?, values.number(most)?);
        (first_bytes > most_bytes).then(|| {
            let claim = format!("{first} exceeds {most}: a program that requests more gets less");
            let evidence = format!("{first} = {first_bytes}, {most} = {most_bytes}");
            contradiction(
                Severity::Warning,
                Confidence::Certain,
                claim,
                evidence,
                format!("sysctl -w {first}={most_bytes}"),
            )
        })
    });
    reported.collect()
}

/// A round of `net_rx_action` ends at the packets or at the time, whichever comes first (`net/core/dev.c`). The time is
/// two ticks by default, which 300 packets are meant for: 2 ms at 1,000 ticks a second. The 8 ms of 250 are what is
/// advised for more packets.
fn budget(values: &Values<'_>) -> Vec<AuditFinding> {
    let pair = (values.number("net.core.netdev_budget"), values.number("net.core.netdev_budget_usecs"));
    let (Some(packets), Some(usecs)) = pair else { return Vec::new() };
    if packets < 600 || usecs != 2000 {
        return Vec::new();
    }
    let claim = format!("netdev_budget is {packets}, but a round still ends after {usecs} µs");
    let evidence = format!("net.core.netdev_budget_usecs = {usecs}, a default");
    let remedy = format!("sysctl -w net.core.netdev_budget_usecs={}", usecs.saturating_mul(packets) / 300);
    vec![contradiction(Severity::Note, Confidence::Likely, claim, evidence, remedy)]
}

/// Background writeback that begins no sooner than writers are stopped: the kernel then takes half
/// (`mm/page-writeback.c`, `domain_dirty_limits`).
fn writeback(values: &Values<'_>) -> Vec<AuditFinding> {
    let reported = |kind: &str| {
        let names = (format!("vm.dirty_background_{kind}"), format!("vm.dirty_{kind}"));
        let (begin, stop) = (values.number(&names.0)?, values.number(&names.1)?);
        (begin > 0 && stop > 0 && begin >= stop).then(|| {
            let claim = format!("{} is not less than {}: the kernel takes half of it", names.0, names.1);
            let evidence = format!("{} = {begin}, {} = {stop}", names.0, names.1);
            let remedy = format!("sysctl -w {}={}", names.0, stop / 2);
            contradiction(Severity::Note, Confidence::Certain, claim, evidence, remedy)
        })
    };
    reported("bytes").into_iter().chain(reported("ratio")).collect()
}

fn reserve(values: &Values<'_>) -> Vec<AuditFinding> {
    let memory_kib = values.snapshot.machine.memory_bytes >> 10;
    let Some(kept) = values.number("vm.min_free_kbytes").filter(|kept| memory_kib > 0 && *kept > memory_kib / 10)
    else {
        return Vec::new();
    };
    let claim = "vm.min_free_kbytes reserves more than a tenth of memory".to_owned();
    let evidence = format!("{} of {}", facts::size(kept << 10), facts::size(values.snapshot.machine.memory_bytes));
    let remedy = format!("sysctl -w vm.min_free_kbytes={}", memory_kib / 50);
    vec![contradiction(Severity::Warning, Confidence::Certain, claim, evidence, remedy)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::{machine, set, site};

    fn findings_of(settings: &[(&str, &str)]) -> Vec<String> {
        let mut snapshot = machine();
        for (id, value) in settings {
            set(&mut snapshot, id, None, value);
        }
        check(&snapshot, &site()).into_iter().map(|finding| finding.claim).collect()
    }

    #[test]
    fn each_contradiction_is_told_and_its_neighbour_is_not() {
        type Settings<'s> = &'s [(&'s str, &'s str)];
        let cases: [(Settings, Settings, &str); 10] = [
            (
                &[("net.ipv4.tcp_rmem", "67108864 134217728 268435456"), ("net.core.rmem_max", "268435456")],
                &[("net.ipv4.tcp_rmem", "4096 131072 6291456")],
                "guarantees 64 MiB",
            ),
            (
                &[("net.ipv4.tcp_wmem", "4096 65536 1024")],
                &[("net.ipv4.tcp_wmem", "4096 65536 65536")],
                "not in ascending order",
            ),
            (
                &[("net.ipv4.tcp_rmem", "4096 131072 67108864"), ("net.core.rmem_max", "212992")],
                &[("net.ipv4.tcp_rmem", "4096 131072 67108864"), ("net.core.rmem_max", "67108864")],
                "SO_RCVBUF",
            ),
            (
                &[("net.ipv4.tcp_max_syn_backlog", "65536"), ("net.core.somaxconn", "4096")],
                &[("net.ipv4.tcp_max_syn_backlog", "4096"), ("net.core.somaxconn", "4096")],
                "never reached",
            ),
            (
                &[("net.ipv4.ip_local_port_range", "1024 65535")],
                &[
                    ("net.ipv4.ip_local_port_range", "1024 65535"),
                    ("net.ipv4.ip_local_reserved_ports", "9000-9001,10250,30000-32767"),
                ],
                "NodePorts",
            ),
            (
                &[("net.core.rmem_default", "400000"), ("net.core.rmem_max", "212992")],
                &[("net.core.rmem_default", "212992"), ("net.core.rmem_max", "212992")],
                "exceeds net.core.rmem_max",
            ),
            (
                &[("net.core.netdev_budget", "600"), ("net.core.netdev_budget_usecs", "2000")],
                &[("net.core.netdev_budget", "600"), ("net.core.netdev_budget_usecs", "4000")],
                "a round still ends",
            ),
            (
                &[("net.core.netdev_budget", "600"), ("net.core.netdev_budget_usecs", "2000")],
                &[("net.core.netdev_budget", "600"), ("net.core.netdev_budget_usecs", "8000")],
                "a round still ends",
            ),
            (
                &[("vm.dirty_background_bytes", "5"), ("vm.dirty_bytes", "5")],
                &[("vm.dirty_background_bytes", "5"), ("vm.dirty_bytes", "0")],
                "the kernel takes half",
            ),
            (&[("vm.min_free_kbytes", "67108864")], &[("vm.min_free_kbytes", "1048576")], "a tenth of memory"),
        ];
        for (contradictory, harmless, claim) in cases {
            let found = findings_of(contradictory);
            assert!(found.len() == 1 && found[0].contains(claim), "{contradictory:?}: {found:?}");
            assert_eq!(findings_of(harmless), [""; 0], "{harmless:?}");
        }
    }
}
