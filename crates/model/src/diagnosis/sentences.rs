//! Sentences of a diagnosis.

use linerate_record::diagnosis::{
    Cause, MemberUse, OutlierKind, OutlierReading, ReadWindow, ResourceUse, SocketPath, SocketUse,
};
use linerate_record::plan::Resource;
use linerate_record::readings::{ReadMeasure, Readings};
use linerate_record::site::Site;
use linerate_record::units::{bits_per_s, duration_ns, percent};

/// What a reading is of, with its part: `sent on eth0`.
fn named(of: ReadMeasure, part: &str) -> String {
    if part.is_empty() { of.name().to_owned() } else { format!("{} {part}", of.name()) }
}

/// An odd reading in one sentence.
pub(super) fn outlier(of: OutlierKind, node: &str, part: &str, value: f64, others: f64) -> String {
    match of {
        OutlierKind::Value(of) => {
            format!("{node}: {}: {}, the others {}", named(of, part), of.amount(value), of.amount(others))
        }
        OutlierKind::Steadiness(of) => format!(
            "{node}: what is {} varies by {}, that of the others by {}: it stays at a limit",
            named(of, part),
            percent(value),
            percent(others)
        ),
    }
}

/// A cause at a node in one sentence. `link` has what the link should carry and which share of that it did.
pub(super) fn cause(cause: Cause, node: &str, lead: &OutlierReading, link: Option<(f64, Option<f64>)>) -> String {
    let part = &lead.part;
    let held = |verb: &str| match link {
        Some((capacity, Some(share))) => format!(
            "the link {part} of {node} {verb} {} steadily, of {} that it should carry",
            bits_per_s(8.0 * capacity * share),
            bits_per_s(8.0 * capacity)
        ),
        _ => format!("the link {part} of {node} {verb} at a limit"),
    };
    match cause {
        Cause::SlowLinkSending => held("sends"),
        Cause::SlowLinkReceiving => held("receives"),
        Cause::LinkSpeed => format!(
            "the port {part} of {node} negotiated {}, the others {}",
            ReadMeasure::LinkSpeed.amount(lead.value),
            ReadMeasure::LinkSpeed.amount(lead.others)
        ),
        Cause::FlappingLink => format!("the port {part} of {node} flaps"),
        Cause::LossyLink => format!("the link of {node} loses packets"),
        Cause::RackUplinks | Cause::RackPath | Cause::Fabric => {
            format!("what leads to the rack of {node} loses packets")
        }
        Cause::SlowDrive if lead.of == OutlierKind::Value(ReadMeasure::DriveTemperature) => format!(
            "the drive {part} of {node} is at {}, the others at {}: drives that are hot slow themselves",
            ReadMeasure::DriveTemperature.amount(lead.value),
            ReadMeasure::DriveTemperature.amount(lead.others)
        ),
        Cause::SlowDrive if part.is_empty() => format!("drives of {node} are slower than those of others"),
        Cause::SlowDrive => format!("the drive {part} of {node} is slower than others"),
        Cause::BusyProcessors if lead.of == OutlierKind::Value(ReadMeasure::CpuPressure) => format!(
            "tasks of {node} wait for processors for {} of the time, those of others for {}",
            percent(lead.value),
            percent(lead.others)
        ),
        Cause::BusyProcessors => format!("the processors of {node} are busier than those of others"),
        Cause::StolenProcessors => format!("the hypervisor gives processors of {node} to others"),
        Cause::Quota => format!("a container of {node} is out of its processor quota"),
        Cause::Memory => format!("{node} is short of memory"),
        Cause::UnevenLoad => format!("{node} has more of the requests than others"),
        Cause::OtherWork => format!(
            "{} of {node} does more than those of others, and not for clients",
            if part.is_empty() { "something".to_owned() } else { format!("{part:?}").replace('"', "") }
        ),
        Cause::SlowNode => format!("{node} is slower than others, and no resource that was read shows why"),
        Cause::Mtu => format!(
            "the interface {part} of {node} has an MTU of {}, those of the others {}",
            ReadMeasure::LinkMtu.amount(lead.value),
            ReadMeasure::LinkMtu.amount(lead.others)
        ),
        Cause::Paused => format!("the switch tells {part} of {node} to wait, by pause frames"),
        Cause::SlowProcessors => format!(
            "busy cores of {node} run at {} of their highest frequency, those of the others at {}",
            percent(lead.value),
            percent(lead.others)
        ),
        Cause::BondMembers
        | Cause::Full
        | Cause::ReceiveWindow
        | Cause::SendBuffer
        | Cause::ClientLimit
        | Cause::PacedLoad
        | Cause::BusyThread => format!("{node} is at a ceiling"),
    }
}

/// What to look at and to change.
pub(super) fn remedy(cause: Cause, part: &str) -> String {
    match cause {
        Cause::SlowLinkSending | Cause::SlowLinkReceiving => format!(
            "ethtool {part} (Speed), tc -s qdisc show dev {part} and the switch's port: a lower speed, a shaper, a \
             policer, or a bond with a member down; linerate net measures it alone. If that is as fast as it should \
             be, the engine of that node is at a limit of its own"
        ),
        Cause::LinkSpeed => format!("ethtool {part}; reseat or replace the cable or the module, then the port"),
        Cause::FlappingLink => format!(
            "dmesg and the switch's log for {part} (link is down, link is up), ethtool -m {part} (power and heat of \
             its module); replace the cable or the module, then the port, and fix the speed at both ends"
        ),
        Cause::LossyLink => "ethtool -S of its ports (crc, symbol and discard counters), the switch's port, cable and \
                             module, and its MTU; netstat -s for what is sent again"
            .to_owned(),
        Cause::RackUplinks | Cause::RackPath | Cause::Fabric => between_racks(cause, part),
        Cause::SlowDrive => "smartctl -x and iostat -x of the drive; replace it, or take it out of the set".to_owned(),
        Cause::BusyProcessors => {
            "top and perf top on the node: another program, a lower frequency (turbostat), or more \
                                  work of interrupts"
                .to_owned()
        }
        Cause::StolenProcessors => "pin the machine's processors, or move it from its host".to_owned(),
        Cause::Quota => {
            "raise or remove the processor limit of the container (resources.limits.cpu), and keep its request"
                .to_owned()
        }
        Cause::Memory => "free -m and the largest processes; the engine's own limit of memory".to_owned(),
        Cause::UnevenLoad => {
            "how requests reach nodes: the balancer, DNS, externalTrafficPolicy, or one entry node".to_owned()
        }
        Cause::OtherWork => {
            "what is under way on the node beside the engine's clients: healing, a scrub, a rebalance, a \
                             backup, another program (iotop -o, ss -tinp); later, or slower"
                .to_owned()
        }
        Cause::SlowNode => {
            "linerate audit --fleet of that node beside another, and its processors, drives and links during a load"
                .to_owned()
        }
        Cause::BondMembers => format!(
            "/proc/net/bonding/{part}: mode, transmit hash policy and live members; the switch's hash for what is \
             received (knob bond.xmit_hash)"
        ),
        Cause::Full => "see linerate plan for what relieves it".to_owned(),
        Cause::Mtu => format!(
            "ip link show {part}: one MTU on all nodes, clients and switch ports of a plane (knob nic.mtu); ping -M do \
             -s with its size less 28 shows what passes"
        ),
        Cause::Paused => "ethtool -a and ethtool -S of its ports, and the switch's counters: what is behind that port \
                          is full, or flow control is on where it should not be"
            .to_owned(),
        Cause::SlowProcessors => {
            "cpupower frequency-info and turbostat: the governor, a power limit, or heat (knob cpu.governor)".to_owned()
        }
        Cause::ReceiveWindow => {
            "where it receives: the third value of net.ipv4.tcp_rmem and net.core.rmem_max, a fixed SO_RCVBUF, and \
             whether the program reads as fast as it gets (knob net.ipv4.tcp_rmem)"
                .to_owned()
        }
        Cause::SendBuffer => {
            "where it sends: the third value of net.ipv4.tcp_wmem, a fixed SO_SNDBUF (knob net.ipv4.tcp_wmem)"
                .to_owned()
        }
        Cause::ClientLimit => {
            "more clients, or clients with faster links and more cores: linerate bench --clients shows where growth \
             ends"
                .to_owned()
        }
        Cause::PacedLoad => {
            "ask for more: without --rate or --max-rate, or with a higher one; of other programs, their own limits of \
             a rate. If nobody set one, look for a shaper on the clients' way"
                .to_owned()
        }
        Cause::BusyThread => {
            "perf top -t of that thread: one that waits for nobody is a limit whatever the other cores do".to_owned()
        }
    }
}

/// The same of a bond that lost a member.
pub(super) fn lost_member(bond: &str, member: &str) -> String {
    format!(
        "/proc/net/bonding/{bond} (MII status and link failures of {member}); ethtool {member}, then the cable or \
         module of {member} and its port at the switch"
    )
}

/// The same of what connects racks.
fn between_racks(cause: Cause, part: &str) -> String {
    match cause {
        Cause::RackUplinks => format!(
            "the uplink ports of rack {part}'s switches and the spines' ports to them: how many are up (LACP, ECMP), \
             and their counters of errors and discards. Errors are of a cable, a module or a port; discards at full \
             ports ask for more uplinks, or for fewer bytes across racks: linerate plan says what each gives"
        ),
        Cause::RackPath => format!(
            "the ports that racks {part} have in common: the spines over which the ECMP hash sends what goes between \
             them, their counters of errors and discards, and the fields that the hash takes (addresses and ports, not \
             addresses alone)"
        ),
        _ => "the spines' ports and the racks' uplinks: how many are up, counters of errors and discards, \
                          and how evenly the ECMP hash fills them; full ones ask for more uplinks (linerate plan)"
            .to_owned(),
    }
}

pub(super) fn gives(factor: f64) -> String {
    format!("up to {factor:.2} times the throughput, until the next resource is full")
}

/// A container out of its quota.
pub(super) fn throttled(container: &str, node: &str, share: f64) -> String {
    format!("{container} on {node} is out of its processor quota in {} of its periods", percent(share))
}

/// A resource that is full at the middle node.
pub(super) fn full(site: &Site, used: &ResourceUse) -> String {
    if used.nodes == 1 {
        return format!(
            "{}: the one node that was read uses {} of {}",
            used.resource.in_a_sentence(),
            percent(used.share),
            used.resource.amount(used.capacity)
        );
    }
    let whose = if site.groups.len() > 1 { format!("{} nodes use", used.group) } else { "nodes use".to_owned() };
    format!(
        "{}: {whose} {} of {} each, and {} of {} use {} or more",
        used.resource.in_a_sentence(),
        percent(used.share),
        used.resource.amount(used.capacity),
        used.full_nodes,
        used.nodes,
        percent(super::resources::FULL)
    )
}

/// What relieves a resource that is full.
pub(super) fn relief(used: &ResourceUse) -> String {
    match used.resource {
        resource if resource.is_link() => {
            "faster or more ports, a plane of its own for traffic among nodes, or fewer bytes among nodes: linerate \
             plan says what each gives"
                .to_owned()
        }
        Resource::Cpu => "fewer other programs, TLS or encryption that processors do faster, more cores".to_owned(),
        _ => "more or faster drives, or larger objects".to_owned(),
    }
}

pub(super) const fn path(path: SocketPath) -> &'static str {
    match path {
        SocketPath::ToClients => "from nodes to clients",
        SocketPath::FromClients => "from clients to nodes",
        SocketPath::AmongNodes => "among nodes",
    }
}

/// A window or a buffer that holds all senders of a path back.
pub(super) fn held_sockets(cause: Cause, of: SocketPath, share: f64) -> String {
    let receivers = match of {
        SocketPath::ToClients => "clients",
        SocketPath::FromClients | SocketPath::AmongNodes => "nodes",
    };
    match cause {
        Cause::SendBuffer => format!(
            "send buffers hold back what goes {} for {} of the time that there is something to send",
            path(of),
            percent(share)
        ),
        _ => format!(
            "the receive windows of {receivers} are full for {} of the time that there is something to send {}: a \
             small buffer, or a program that reads slowly",
            percent(share),
            path(of)
        ),
    }
}

/// What sockets of a path show.
pub(super) fn socket_evidence(used: &SocketUse) -> String {
    format!(
        "{} sockets {}: something to send for {} of the time; of that, the receive window is the limit for {}, the \
         send buffer for {}; {} sent again, round trip {}",
        used.sockets,
        path(used.path),
        percent(used.busy_share),
        percent(used.window_share),
        percent(used.buffer_share),
        percent(used.retransmitted_share),
        duration_ns(used.round_trip_us as f64 * 1e3)
    )
}

/// A bond of which one member carries all.
pub(super) fn on_one(members: &MemberUse) -> String {
    format!(
        "one of {} members of {} carries {} of what nodes {}, at {} of its speed; so on {} of {} nodes",
        members.members,
        members.bond,
        percent(members.busiest_share),
        if members.is_sent { "send" } else { "receive" },
        percent(members.busiest_used_share),
        members.on_one_nodes,
        members.nodes
    )
}

/// What readings of such a window cannot tell.
pub(super) fn blind(readings: &Readings, window: &ReadWindow, site: &Site) -> Vec<String> {
    let s = |ms: u64| duration_ns(ms as f64 * 1e6);
    let is_live = readings.source == "live";
    let mut blind = vec![format!(
        "rates are means over {}, of {} {} apart: bursts, queues and pauses that are shorter do not show, and a \
         link that is full for a tenth of each second shows as one tenth full",
        s(window.rate_over_ms),
        if is_live { "looks" } else { "scrapes" },
        s(window.interval_ms)
    )];
    if let Some(longest) = readings.sockets.iter().map(|read| read.interval_ms).max() {
        blind.push(format!(
            "sockets are looked at up to {} apart: one that opens and closes between two looks is not seen, nor what \
             it did behind the last",
            s(longest)
        ));
    }
    blind.push(of_others(readings));
    let has = |of: ReadMeasure| readings.series.iter().any(|one| one.of == of);
    if has(ReadMeasure::Retransmitted) && site.kubernetes.is_some() {
        let whose = if is_live { "agents" } else { "node_exporter" };
        let sockets = if readings.sockets.is_empty() { "" } else { "; sockets are those of the engine's own" };
        blind.push(format!(
            "TCP counters of {whose} are of the host's network namespace: those of pods without hostNetwork are not \
             among them{sockets}"
        ));
    }
    if has(ReadMeasure::InFlight) {
        blind.push(
            "requests in flight are the engine's own gauge as it is at a look, which some engines renew more rarely: \
             clients may have more of them under way"
                .to_owned(),
        );
    }
    if has(ReadMeasure::DriveBusy) {
        blind.push(
            "the time that a drive is busy says little of NVMe, which serves many requests at once: its bytes are held \
             against what the site states"
                .to_owned(),
        );
    }
    blind
}

/// What those who are not read see.
fn of_others(readings: &Readings) -> String {
    let is_read = |name: &str| readings.series.iter().any(|one| one.machine == name);
    if readings.stated.iter().any(|one| one.is_client && is_read(&one.machine)) {
        return "hosts do not see what a switch drops or shapes; clients that are not in the fleet's file are not read"
            .to_owned();
    }
    "hosts do not see what a switch drops or shapes, nor what clients wait for: a client's own limit shows here as a \
     site that is not busy"
        .to_owned()
}

#[cfg(test)]
mod tests {
    use linerate_record::readings::{ReadSeries, SocketRead, StatedMachine};

    use super::*;

    fn said(readings: &Readings) -> String {
        let window = ReadWindow {
            source: readings.source.clone(),
            begin_unix_ms: 0,
            end_unix_ms: 59_000,
            step_ms: 1_000,
            interval_ms: 1_000,
            rate_over_ms: 1_000,
            steps: 60,
            busy_steps: 60,
            busy_begin_unix_ms: 0,
            busy_end_unix_ms: 59_000,
        };
        blind(readings, &window, &crate::test_site::site()).join("\n")
    }

    #[test]
    fn what_cannot_be_told_is_in_the_terms_of_where_readings_are_from() {
        let scraped = said(&Readings { source: "prometheus".to_owned(), ..Readings::default() });
        assert!(scraped.contains("scrapes 1.00 s apart") && !scraped.contains("sockets"), "{scraped}");
        let sockets = vec![SocketRead { interval_ms: 2_000, ..SocketRead::default() }];
        let stated = vec![StatedMachine { machine: "c1".to_owned(), is_client: true, kind: None, rack: None }];
        let mut live = Readings { source: "live".to_owned(), sockets, stated, ..Readings::default() };
        let text = said(&live);
        for part in ["looks 1.00 s apart", "up to 2.00 s apart", "nor what clients wait for"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        live.series = vec![ReadSeries {
            of: ReadMeasure::LinkSent,
            machine: "c1".to_owned(),
            part: "eth0".to_owned(),
            values: Vec::new(),
        }];
        let text = said(&live);
        assert!(text.contains("what a switch drops") && !text.contains("nor what clients wait for"), "{text}");
    }
}
