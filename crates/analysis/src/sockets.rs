//! Whose connections the sockets of each machine are: what all of them saw, laid together.

use core::net::IpAddr;
use std::collections::BTreeMap;

use linerate_record::readings::{OpenedBy, RemoteSums, SocketGroup, SocketRead, SocketRemote, SocketsSeen};
use linerate_record::units::{duration_ns, grouped};

/// Hashes are gone through by their highest bits: of a fleet of 484 machines with 65,536 hashes each, 7,744 at a time
/// instead of 31,719,424.
const SLICE_BITS: u32 = 12;

/// Names the group and the machine behind each address.
///
/// An address is a machine's where its sockets have it and no other's do. Connections that come from one are that
/// machine's where it has at least half of them too; else it only passes on those of clients, under its own address
/// (SNAT, a proxy of the node). That is not said where it cannot be known: where one of the two told not all of its
/// sockets, or they looked at no port in common. Groups are of whole addresses: where a machine passes on connections
/// of clients and has its own, they are taken for what most of them are.
///
/// Connections of a machine to itself are told once, at the end that was connected to: the other may be a client's.
///
/// Each machine's hashes are sorted, as [`SocketsSeen::check`] demands.
#[must_use]
pub fn join(machines: &[(String, SocketsSeen)]) -> Vec<SocketRead> {
    let owners = owners(machines);
    let shared = shared(machines);
    let of_one = |(at, (name, seen)): (usize, &(String, SocketsSeen))| {
        let remotes = seen.remotes.iter().filter_map(|sums| {
            let owner = owners.get(&sums.address).copied().flatten();
            let is_itself = owner == Some(at) || sums.address.is_loopback();
            if is_itself && sums.opened_by == OpenedBy::Us {
                return None;
            }
            let group = match (sums.opened_by, owner) {
                (OpenedBy::Us, _) => SocketGroup::ToPeer,
                (OpenedBy::Them, Some(other)) if other != at => {
                    let both = shared.get(&(at, other)).copied().unwrap_or(0);
                    incoming(sums, seen, &machines[other].1, both)
                }
                (OpenedBy::Them, _) => SocketGroup::Client,
            };
            Some(remote(sums, group, owner.map(|owner| machines[owner].0.clone())))
        });
        SocketRead {
            machine: name.clone(),
            over_ms: seen.over_ms,
            looks: seen.looks,
            interval_ms: seen.interval_ms,
            sockets: seen.sockets,
            took_us: seen.took_us,
            remotes: remotes.collect(),
        }
    };
    machines.iter().enumerate().map(of_one).collect()
}

/// What is remarkable about what a machine saw, in sentences.
#[must_use]
pub fn remarks(machine: &str, seen: &SocketsSeen, requested_ms: u64) -> Vec<String> {
    let mut all = Vec::new();
    if seen.left_out > 0 {
        let left_out = grouped(seen.left_out);
        all.push(format!("{machine} has {left_out} sockets of the engine that are in no sum: there are too many"));
    }
    if seen.is_more {
        all.push(format!("{machine} has more sockets than it tells one by one: whose they are is known of some alone"));
    }
    // A look may be late by a little where a machine is busy.
    if requested_ms > 0 && seen.interval_ms > 2 * requested_ms {
        let shown = |ms: u64| duration_ns(ms as f64 * 1e6);
        all.push(format!(
            "sockets of {machine} were looked at up to {} apart instead of {}: it has {}, and looks are to cost little",
            shown(seen.interval_ms),
            shown(requested_ms),
            grouped(u64::from(seen.sockets))
        ));
    }
    all
}

/// The machine that has an address; none where several say that they have it, or where every machine has it.
fn owners(machines: &[(String, SocketsSeen)]) -> BTreeMap<IpAddr, Option<usize>> {
    let mut owners: BTreeMap<IpAddr, Option<usize>> = BTreeMap::new();
    for (at, (_, seen)) in machines.iter().enumerate() {
        for address in seen.addresses.iter().filter(|address| !address.is_loopback() && !address.is_unspecified()) {
            let owner = owners.entry(*address).or_insert(Some(at));
            *owner = owner.filter(|owner| *owner == at);
        }
    }
    owners
}

/// How many connections one machine met of those that another made.
fn shared(machines: &[(String, SocketsSeen)]) -> BTreeMap<(usize, usize), u32> {
    let mut shared = BTreeMap::new();
    let mut met_at = vec![0; machines.len()];
    let mut made_at = vec![0; machines.len()];
    let mut made: Vec<(u64, usize)> = Vec::new();
    for slice in 0..1_u64 << SLICE_BITS {
        made.clear();
        for (machine, ((_, seen), at)) in machines.iter().zip(&mut made_at).enumerate() {
            made.extend(of_slice(&seen.made, at, slice).iter().map(|hash| (*hash, machine)));
        }
        made.sort_unstable();
        for (machine, ((_, seen), at)) in machines.iter().zip(&mut met_at).enumerate() {
            for hash in of_slice(&seen.met, at, slice) {
                let first = made.partition_point(|(other, _)| other < hash);
                for (_, other) in made[first..].iter().take_while(|(other, _)| other == hash) {
                    *shared.entry((machine, *other)).or_default() += 1;
                }
            }
        }
    }
    shared
}

/// The hashes of a slice, which begin at a place; the place is behind them then.
fn of_slice<'h>(hashes: &'h [u64], at: &mut usize, slice: u64) -> &'h [u64] {
    let rest = hashes.get(*at..).unwrap_or_default();
    let length = rest.iter().take_while(|hash| **hash >> (u64::BITS - SLICE_BITS) <= slice).count();
    *at += length;
    &rest[..length]
}

/// Whose connections are that come from the address of another machine, which has so many of them too.
fn incoming(sums: &RemoteSums, here: &SocketsSeen, there: &SocketsSeen, both: u32) -> SocketGroup {
    let overlap = here.ports.iter().any(|a| there.ports.iter().any(|b| a.first <= b.last && b.first <= a.last));
    let is_known = !here.is_more && !there.is_more && overlap;
    match is_known && u64::from(both) * 2 < u64::from(sums.sockets) {
        true => SocketGroup::Translated,
        false => SocketGroup::FromPeer,
    }
}

fn remote(sums: &RemoteSums, group: SocketGroup, machine: Option<String>) -> SocketRemote {
    SocketRemote {
        address: sums.address,
        group,
        machine,
        sockets: sums.sockets,
        sent_bytes: sums.sent_bytes,
        received_bytes: sums.received_bytes,
        sent_segments: sums.sent_segments,
        retransmitted_segments: sums.retransmitted_segments,
        busy_us: sums.busy_us,
        window_limited_us: sums.window_limited_us,
        buffer_limited_us: sums.buffer_limited_us,
        open_us: sums.open_us,
        round_trip_us: sums.round_trip_us,
        delivery_bytes_per_s: sums.delivery_bytes_per_s,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use linerate_record::readings::{PortRange, pair_hash};

    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn sums(address: &str, opened_by: OpenedBy, sockets: u32) -> RemoteSums {
        let json = format!(
            r#"{{"address":"{address}","opened_by":"us","sockets":{sockets},"sent_bytes":1000,"received_bytes":2,
            "sent_segments":3,"retransmitted_segments":4,"busy_us":5,"window_limited_us":6,"buffer_limited_us":7,
            "open_us":8,"round_trip_us":9,"delivery_bytes_per_s":10}}"#
        );
        RemoteSums { opened_by, ..serde_json::from_str(&json).unwrap() }
    }

    /// A machine with these addresses, and what it saw: the address of the other, who connected, how many sockets there
    /// were, and of how many of them a hash is told. Ports of clients count up from 40,000.
    fn machine(name: &str, addresses: &[&str], saw: &[(&str, OpenedBy, u32, u32)]) -> (String, SocketsSeen) {
        let mut seen = SocketsSeen {
            addresses: addresses.iter().map(|address| ip(address)).collect(),
            ports: vec![PortRange { first: 9000, last: 9000 }],
            ..SocketsSeen::default()
        };
        for (address, by, sockets, hashes) in saw {
            seen.remotes.push(sums(address, *by, *sockets));
            for port in (40_000..).take(*hashes as usize) {
                let (here, there) = (ip(addresses[0]), ip(address));
                match by {
                    OpenedBy::Them => seen.met.push(pair_hash((here, 9000), (there, port))),
                    OpenedBy::Us => seen.made.push(pair_hash((there, 9000), (here, port))),
                }
            }
        }
        seen.met.sort_unstable();
        seen.made.sort_unstable();
        assert_eq!(seen.check(), Ok(()));
        (name.to_owned(), seen)
    }

    fn groups(read: &SocketRead) -> Vec<(String, SocketGroup, Option<&str>)> {
        let row = |of: &SocketRemote| (of.address.to_string(), of.group);
        read.remotes.iter().map(|of| (row(of).0, row(of).1, of.machine.as_deref())).collect()
    }

    #[test]
    fn a_node_that_lacks_the_other_end_is_clients_behind_translation() {
        use OpenedBy::{Them, Us};
        let machines = [
            machine(
                "n1",
                &["10.0.0.1"],
                &[
                    ("10.0.0.2", Them, 10, 10),
                    ("10.0.0.3", Them, 500, 500),
                    ("10.0.1.9", Them, 30, 30),
                    ("10.0.0.2", Us, 4, 4),
                    ("10.9.9.9", Us, 1, 1),
                ],
            ),
            machine("n2", &["10.0.0.2"], &[("10.0.0.1", Us, 10, 10), ("10.0.0.1", Them, 4, 4)]),
            machine("n3", &["10.0.0.3"], &[("10.0.0.1", Us, 20, 20)]),
        ];
        let read = join(&machines);
        assert_eq!(
            groups(&read[0]),
            [
                ("10.0.0.2".to_owned(), SocketGroup::FromPeer, Some("n2")),
                ("10.0.0.3".to_owned(), SocketGroup::Translated, Some("n3")),
                ("10.0.1.9".to_owned(), SocketGroup::Client, None),
                ("10.0.0.2".to_owned(), SocketGroup::ToPeer, Some("n2")),
                ("10.9.9.9".to_owned(), SocketGroup::ToPeer, None),
            ]
        );
        assert_eq!(groups(&read[1])[1], ("10.0.0.1".to_owned(), SocketGroup::FromPeer, Some("n1")));
        let remote = &read[0].remotes[1];
        assert_eq!(
            (remote.sockets, remote.sent_bytes, remote.open_us, remote.delivery_bytes_per_s),
            (500, 1000, 8, 10)
        );
    }

    #[test]
    fn what_cannot_be_known_is_not_called_translated() {
        let with = |change: &dyn Fn(&mut SocketsSeen, &mut SocketsSeen)| {
            let mut one = machine("n1", &["10.0.0.1"], &[("10.0.0.2", OpenedBy::Them, 9, 9)]);
            let mut other = machine("n2", &["10.0.0.2"], &[]);
            change(&mut one.1, &mut other.1);
            join(&[one, other])[0].remotes[0].group
        };
        let other_port = vec![PortRange { first: 80, last: 8999 }];
        assert_eq!(with(&|_, _| ()), SocketGroup::Translated);
        assert_eq!(with(&|one, _| one.is_more = true), SocketGroup::FromPeer);
        assert_eq!(with(&|_, other| other.is_more = true), SocketGroup::FromPeer);
        assert_eq!(with(&|_, other| other.ports = other_port.clone()), SocketGroup::FromPeer);
    }

    #[test]
    fn an_address_of_several_machines_is_nobodys() {
        let saw = [("10.0.0.9", OpenedBy::Them, 2, 2), ("127.0.0.1", OpenedBy::Them, 3, 3)];
        let own =
            [("127.0.0.1", OpenedBy::Us, 3, 3), ("10.0.0.1", OpenedBy::Us, 1, 1), ("10.0.0.1", OpenedBy::Them, 1, 1)];
        let machines = [
            machine("n1", &["10.0.0.1", "10.0.0.9", "127.0.0.1"], &[&saw[..], &own].concat()),
            machine("n2", &["10.0.0.2", "10.0.0.9"], &[]),
        ];
        assert_eq!(
            groups(&join(&machines)[0]),
            [
                ("10.0.0.9".to_owned(), SocketGroup::Client, None),
                ("127.0.0.1".to_owned(), SocketGroup::Client, None),
                ("10.0.0.1".to_owned(), SocketGroup::Client, Some("n1")),
            ]
        );
        assert_eq!(join(&[]), []);
    }

    #[test]
    fn what_is_remarkable_is_said() {
        let seen = SocketsSeen { left_out: 1234, is_more: true, interval_ms: 5000, ..SocketsSeen::default() };
        let text = remarks("n1", &seen, 2000).join("\n");
        for part in ["n1 has 1234 sockets", "more sockets than it tells", "up to 5.00 s apart instead of 2.00 s"] {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(remarks("n1", &SocketsSeen { interval_ms: 2100, ..SocketsSeen::default() }, 2000), [""; 0]);
    }

    /// Each machine makes connections to every other, and meets one from each: a tenth of the hashes that a machine may
    /// tell, so that it takes little time without optimisation.
    #[test]
    fn timed_a_large_fleet_is_joined_in_bounded_time() {
        const MACHINES: u64 = 484;
        const HASHES: u64 = 4096;
        let mix = |a: u64, b: u64, n: u64| {
            let text = |of: u64| IpAddr::from(std::net::Ipv4Addr::from(0x0a00_0000 + of as u32));
            pair_hash((text(a), 9000), (text(b), (n % 65_536) as u16))
        };
        let each = HASHES / (MACHINES - 1) + 1;
        let mut machines: Vec<(String, SocketsSeen)> = Vec::new();
        for own in 0..MACHINES {
            let others =
                (0..MACHINES).filter(|other| *other != own).flat_map(|other| (0..each).map(move |n| (other, n)));
            let mut met: Vec<u64> = others.clone().map(|(other, n)| mix(own, other, n)).collect();
            let mut made: Vec<u64> = others.map(|(other, n)| mix(other, own, n)).collect();
            met.sort_unstable();
            made.sort_unstable();
            machines.push((format!("n{own}"), SocketsSeen { met, made, ..SocketsSeen::default() }));
        }
        let begun = Instant::now();
        let shared = shared(&machines);
        let took = begun.elapsed();
        println!("{MACHINES} machines with {} hashes each way: {took:?}", machines[0].1.met.len());
        assert_eq!(shared.len() as u64, MACHINES * (MACHINES - 1));
        assert!(shared.values().all(|both| u64::from(*both) == each));
        assert!(took < Duration::from_secs(120), "{took:?}");
    }
}
