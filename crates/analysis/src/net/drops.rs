//! Where the machines of a pair dropped packets, and which queue held them back: of the interfaces alone that carry the
//! pair's packets.

use linerate_record::net::{NetMachine, NetQueue};
use linerate_record::readings::ReadMeasure;

/// Where a machine dropped packets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NetDrops {
    /// The interface, of packets that came: its rings had no room, or nobody took them.
    Received(String),
    /// The backlogs of processors.
    Backlog,
    /// The queue of an interface for what is to be sent: what `tc` calls it, and the interface.
    Queue(String, String),
    /// The interface, of packets that were to be sent.
    Sent(String),
}

impl NetDrops {
    /// Where, in a few words.
    pub(super) fn place(&self) -> String {
        match self {
            NetDrops::Received(interface) => format!("as they come by {interface}"),
            NetDrops::Backlog => "in the backlogs of its processors".to_owned(),
            NetDrops::Queue(discipline, interface) => format!("in the queue of {interface} ({discipline})"),
            NetDrops::Sent(interface) => format!("as they leave by {interface}"),
        }
    }

    /// What to look at there, on the sender or the receiver.
    pub(super) fn look_at(&self, end: &str) -> String {
        match self {
            NetDrops::Received(interface) => format!("nic.ring.rx and nic.channels of {interface} on the {end}"),
            NetDrops::Backlog => format!("net.core.netdev_max_backlog and nic.rps_cpus of the {end}"),
            NetDrops::Queue(_, interface) => format!(
                "the queue of {interface} on the {end} (tc -s qdisc show dev {interface}): its rate and its length, \
                 net.core.default_qdisc"
            ),
            NetDrops::Sent(interface) => format!("nic.ring.tx and nic.channels of {interface} on the {end}"),
        }
    }
}

/// Where the receiver dropped most packets per second, by what it did in each visit. What rings drop is in what
/// interfaces count.
pub(super) fn at_receiver(machines: &[&NetMachine], counting: &[String]) -> Option<(NetDrops, f64)> {
    let dropped = |machine: &NetMachine| -> Vec<(NetDrops, f64)> {
        let each = machine.values.iter().filter_map(|value| match value.of {
            ReadMeasure::LinkReceivedDrops if is_carrier(counting, &value.part) => {
                Some((NetDrops::Received(value.part.clone()), value.value))
            }
            ReadMeasure::QueueDrops => Some((NetDrops::Backlog, value.value)),
            _ => None,
        });
        each.collect()
    };
    most(machines, dropped)
}

/// The same of the sender.
pub(super) fn at_sender(machines: &[&NetMachine], [counting, carriers]: [&[String]; 2]) -> Option<(NetDrops, f64)> {
    let dropped = |machine: &NetMachine| -> Vec<(NetDrops, f64)> {
        let sent = machine.values.iter().filter(|value| value.of == ReadMeasure::LinkSentDrops);
        let sent = sent.filter(|value| is_carrier(counting, &value.part));
        let sent = sent.map(|value| (NetDrops::Sent(value.part.clone()), value.value));
        let queues = own_queues(machine, carriers).map(|of| {
            let place = NetDrops::Queue(of.discipline.clone(), of.interface.clone());
            (place, per_s(of.dropped, machine.over_ms))
        });
        sent.chain(queues).collect()
    };
    most(machines, dropped)
}

/// The sender's queue that held packets back most often: what `tc` calls it, its interface, and how often per second.
pub(super) fn held_back(machines: &[&NetMachine], carriers: &[String]) -> Option<(String, String, f64)> {
    let held = |machine: &NetMachine| -> Vec<((String, String), f64)> {
        let each = own_queues(machine, carriers).map(|of| {
            let queue = (of.discipline.clone(), of.interface.clone());
            (queue, per_s(of.held_back, machine.over_ms))
        });
        each.collect()
    };
    most(machines, held).map(|((discipline, interface), per_s)| (discipline, interface, per_s))
}

fn own_queues<'m>(machine: &'m NetMachine, carriers: &[String]) -> impl Iterator<Item = &'m NetQueue> {
    machine.queues.iter().filter(move |of| is_carrier(carriers, &of.interface))
}

/// Where the interface is not known, it may be any.
pub(super) fn is_carrier(carriers: &[String], name: &str) -> bool {
    carriers.is_empty() || carriers.iter().any(|of| of == name)
}

fn per_s(count: u64, over_ms: u64) -> f64 {
    if over_ms > 0 { 1e3 * count as f64 / over_ms as f64 } else { 0.0 }
}

/// What was most per second as a mean over visits, of those that are more than nothing.
fn most<K: Ord>(machines: &[&NetMachine], extract: impl Fn(&NetMachine) -> Vec<(K, f64)>) -> Option<(K, f64)> {
    let mut sums = std::collections::BTreeMap::new();
    for (key, per_s) in machines.iter().flat_map(|machine| extract(machine)) {
        *sums.entry(key).or_insert(0.0) += per_s;
    }
    let count = machines.len().max(1) as f64;
    let means = sums.into_iter().map(|(key, sum): (K, f64)| (key, sum / count)).filter(|(_, mean)| *mean > 0.0);
    means.max_by(|a, b| a.1.total_cmp(&b.1))
}
