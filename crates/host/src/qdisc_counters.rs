//! The queues of interfaces for what is to be sent, as `tc -s qdisc` shows them: packets that they dropped, and how
//! often they held packets back.
//!
//! By netlink, of the network namespace of the thread that asks. Needs no privilege. The queue of an interface itself
//! is told, which counts with its own what queues below it did (`mq_dump`, `htb_enqueue`, `htb_dequeue`). Counters have
//! 32 bits and begin anew with a queue that is replaced.

use crate::setting::{QueueCount, interface_name, queue_counts};

/// The counters of all queues at one instant.
#[derive(Clone, Debug, Default)]
pub struct QueuesNow(Vec<QueueCount>);

/// What the queue of an interface did between two instants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueDelta {
    pub interface: String,
    /// What `tc` calls the queue: `fq`, `tbf`.
    pub discipline: String,
    /// Packets that it dropped; several that the kernel kept as one (GSO) count as one.
    pub dropped: u64,
    /// How often it held packets back for its rate.
    pub held_back: u64,
}

/// All queues; none where the kernel cannot be asked.
#[must_use]
pub fn queues() -> QueuesNow {
    QueuesNow(queue_counts().unwrap_or_default())
}

/// Queues that dropped packets or held them back since, in the order of interfaces. One that came since is left out.
#[must_use]
pub fn did(then: &QueuesNow, now: &QueuesNow) -> Vec<QueueDelta> {
    grown(then, now, |index| interface_name(index).ok())
}

fn grown(then: &QueuesNow, now: &QueuesNow, name: impl Fn(u32) -> Option<String>) -> Vec<QueueDelta> {
    let did = |now: &QueueCount| {
        let is_it =
            |then: &&QueueCount| (then.interface, &then.kind, then.handle) == (now.interface, &now.kind, now.handle);
        let then = then.0.iter().find(is_it)?;
        let dropped = u64::from(now.dropped.wrapping_sub(then.dropped));
        let held_back = u64::from(now.held_back.wrapping_sub(then.held_back));
        let interface = if dropped + held_back > 0 { name(now.interface)? } else { return None };
        Some(QueueDelta { interface, discipline: now.kind.clone(), dropped, held_back })
    };
    now.0.iter().filter_map(did).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grew_is_told_by_the_name_of_its_interface_and_what_is_new_or_did_nothing_is_not() {
        let queue = |interface, kind: &str, dropped, held_back| QueueCount {
            interface,
            kind: kind.to_owned(),
            handle: 0x8001_0000,
            dropped,
            held_back,
        };
        let then = [queue(2, "tbf", 7, 100), queue(3, "fq", u32::MAX, 0), queue(4, "fq", 5, 5), queue(5, "mq", 1, 0)];
        let now = [queue(2, "tbf", 9, 130), queue(3, "fq", 1, 0), queue(4, "fq", 5, 5), queue(5, "fq", 9, 0)];
        let name = |index: u32| Some(if index == 3 { "p0".to_owned() } else { format!("eth{index}") });
        let found = grown(&QueuesNow(then.to_vec()), &QueuesNow(now.to_vec()), name);
        let found: Vec<(&str, &str, u64, u64)> =
            found.iter().map(|of| (of.interface.as_str(), of.discipline.as_str(), of.dropped, of.held_back)).collect();
        assert_eq!(found, [("eth2", "tbf", 2, 30), ("p0", "fq", 2, 0)]);
        assert_eq!(grown(&QueuesNow::default(), &QueuesNow(now.to_vec()), name), []);
    }
}
