//! Readings without what identifies machines: the same name by the same, in an order that keeps racks together.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use linerate_model::diagnosis::engine_word;
use linerate_record::readings::{
    OtherName, ReadMeasure, ReadSeries, Readings, SocketRead, SocketRemote, StatedMachine,
};

/// Digits as numbers: `n2` before `n10`, as people count.
fn natural_order(name: &str) -> (String, Vec<u64>) {
    let (mut text, mut numbers, mut digits) = (String::new(), Vec::new(), String::new());
    for c in name.chars().chain(['\0']) {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        if !digits.is_empty() {
            numbers.push(digits.parse().unwrap_or(u64::MAX));
            digits.clear();
            text.push('#');
        }
        text.push(c);
    }
    (text, numbers)
}

/// What stands for machines.
struct MachineMasks<'r>(BTreeMap<&'r str, String>);

/// What stands for racks, in the order of their names as people count.
fn rack_masks(stated: &[StatedMachine]) -> BTreeMap<&str, String> {
    let names: BTreeSet<&str> = stated.iter().filter_map(|one| one.rack.as_deref()).collect();
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_by_key(|name| natural_order(name));
    names.into_iter().enumerate().map(|(place, name)| (name, format!("rack-{}", place + 1))).collect()
}

impl<'r> MachineMasks<'r> {
    /// All that readings name anywhere, as their names are counted.
    fn for_readings(readings: &'r Readings) -> MachineMasks<'r> {
        let mut names = readings.machines();
        names.extend(readings.stated.iter().map(|one| one.machine.as_str()));
        for read in &readings.sockets {
            names.insert(&read.machine);
            names.extend(read.remotes.iter().filter_map(|remote| remote.machine.as_deref()));
        }
        let mut names: Vec<&str> = names.into_iter().collect();
        names.sort_by_key(|name| natural_order(name));
        let numbered = names.into_iter().enumerate();
        MachineMasks(numbered.map(|(place, name)| (name, format!("machine-{}", place + 1))).collect())
    }

    fn name(&self, name: &str) -> String {
        self.0.get(name).cloned().unwrap_or_default()
    }
}

/// What stands for addresses: those of machines first, each kind within a network of its own, so that who reads the
/// file tells them apart.
struct AddressMasks(BTreeMap<IpAddr, IpAddr>);

impl AddressMasks {
    fn for_sockets(sockets: &[SocketRead]) -> AddressMasks {
        let remotes = || sockets.iter().flat_map(|read| &read.remotes);
        let of_machines: BTreeSet<IpAddr> =
            remotes().filter(|remote| remote.machine.is_some()).map(|remote| remote.address).collect();
        let others: BTreeSet<IpAddr> =
            remotes().map(|remote| remote.address).filter(|address| !of_machines.contains(address)).collect();
        let machines =
            of_machines.into_iter().zip(1..).map(|(address, number)| (address, masked_address(address, 0, number)));
        let clients =
            others.into_iter().zip(1..).map(|(address, number)| (address, masked_address(address, 1, number)));
        AddressMasks(machines.chain(clients).collect())
    }

    fn address(&self, address: IpAddr) -> IpAddr {
        self.0.get(&address).copied().unwrap_or(address)
    }
}

/// An address of a kind: within 10.0.0.0/9 or 10.128.0.0/9, or 2001:db8::/48 or 2001:db8:1::/48.
fn masked_address(address: IpAddr, kind: u16, number: u32) -> IpAddr {
    match address {
        IpAddr::V4(_) => Ipv4Addr::from(0x0a00_0000 | (u32::from(kind) << 23) | (number & 0x7f_ffff)).into(),
        IpAddr::V6(_) => {
            let [high, low] = [(number >> 16) as u16, number as u16];
            Ipv6Addr::new(0x2001, 0xdb8, kind, 0, 0, 0, high, low).into()
        }
    }
}

/// What stands for parts of machines.
struct PartMasks<'r> {
    /// Names of machines in small letters, the longest first, each with what stands for it.
    names: Vec<(String, String)>,
    pods: BTreeMap<&'r str, String>,
    /// Addresses that are no machine's.
    addresses: BTreeMap<IpAddr, String>,
}

impl<'r> PartMasks<'r> {
    fn new(machines: &MachineMasks<'_>, others: &BTreeMap<&str, String>) -> PartMasks<'r> {
        let of_machines = machines.0.iter().map(|(name, stands)| (*name, stands.as_str()));
        let all: Vec<(&str, &str)> =
            of_machines.chain(others.iter().map(|(name, stands)| (*name, stands.as_str()))).collect();
        // A host's name without its domain is its name too.
        let bare = |name: &'_ str| name.parse::<IpAddr>().is_err().then(|| name.split('.').next().unwrap_or("").len());
        let bare = all.iter().filter_map(|(name, stands)| Some((name.get(..bare(name)?)?, *stands)));
        let names = all.iter().copied().chain(bare).filter(|(name, _)| !name.is_empty());
        let mut names: Vec<(String, String)> =
            names.map(|(name, stands)| (name.to_ascii_lowercase(), stands.to_owned())).collect();
        names.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.0.cmp(&b.0)));
        names.dedup_by(|a, b| a.0 == b.0);
        PartMasks { names, pods: BTreeMap::new(), addresses: BTreeMap::new() }
    }

    fn part(&mut self, series: &'r ReadSeries) -> String {
        if series.of != ReadMeasure::Throttled {
            return series.part.split('/').map(|label| self.label(label)).collect::<Vec<_>>().join("/");
        }
        // Of a container: its namespace and its pod before its name, which says what it is; of its pod's, what engine
        // it is of. One label of these three may be missing, and then it is not known which. Agents have control
        // groups, whose names hold identifiers.
        let count = self.pods.len() + 1;
        let (pod, container) = match series.part.rsplit_once('/') {
            Some((pod, container)) if pod.contains('/') => (pod, Some(self.label(container))),
            Some(_) => (series.part.as_str(), Some(String::new())),
            None => (series.part.as_str(), None),
        };
        let Some(container) = container else {
            return self.pods.entry(pod).or_insert_with(|| format!("cgroup-{count}")).clone();
        };
        let word = engine_word(pod).map_or_else(String::new, |word| format!("{word}-"));
        format!("{}/{container}", self.pods.entry(pod).or_insert_with(|| format!("{word}pod-{count}")))
    }

    /// A label without names of machines, whole or between points and dashes, and without addresses.
    fn label(&mut self, label: &str) -> String {
        let small = label.to_ascii_lowercase();
        let is_end = |at: usize| small[at..].chars().next().is_none_or(|c| !c.is_ascii_alphanumeric());
        let (mut out, mut rest, mut at, mut is_begin) = (String::new(), String::new(), 0, true);
        while let Some(sign) = label[at..].chars().next() {
            let is_here = |(name, _): &&(String, String)| small[at..].starts_with(name) && is_end(at + name.len());
            if let Some((name, stands)) = is_begin.then(|| self.names.iter().find(is_here)).flatten() {
                let stands = stands.clone();
                at += name.len();
                out += &self.without_addresses(&std::mem::take(&mut rest));
                out += &stands;
                is_begin = false;
                continue;
            }
            rest.push(sign);
            is_begin = !sign.is_ascii_alphanumeric();
            at += sign.len_utf8();
        }
        out + &self.without_addresses(&rest)
    }

    fn without_addresses(&mut self, text: &str) -> String {
        let mut stands = |word: &str| {
            let bare = word.trim_matches(['[', ']']);
            let of_socket = |word: &str| word.parse::<SocketAddr>().ok().map(|socket| socket.ip());
            let address = bare.parse::<IpAddr>().ok().or_else(|| of_socket(word));
            let Some(address) = address else { return word.to_owned() };
            let count = self.addresses.len() + 1;
            self.addresses.entry(address).or_insert_with(|| format!("address-{count}")).clone()
        };
        let words = text.split_inclusive(['-', '_', '@']).map(|word| {
            let end = word.len() - word.trim_end_matches(['-', '_', '@']).len();
            let (word, end) = word.split_at(word.len() - end);
            stands(word) + end
        });
        words.collect()
    }
}

/// The readings with `machine-1`, `rack-1`, `pod-1` and so on in place of names and addresses. Interfaces, drives and
/// kinds of nodes keep theirs, since the site file has them, but for names of machines and addresses within. Remarks
/// and warnings, which may quote anything, are left out, and how many warnings there were is reported.
pub(super) fn mask_readings(readings: &Readings) -> Readings {
    let machines = MachineMasks::for_readings(readings);
    // Two machines that are one are still known as one.
    let mut others: BTreeMap<&str, String> = BTreeMap::new();
    let mut names = Vec::new();
    for OtherName { machine, name } in &readings.names {
        let count = others.len() + 1;
        // Another exporter may call a machine by that name, whose readings are to be joined still.
        let of_machine = || machines.0.get(name.as_str()).cloned().unwrap_or_else(|| format!("host-{count}"));
        let other = others.entry(name).or_insert_with(of_machine).clone();
        let known = machines.0.get(machine.as_str());
        names.extend(known.map(|machine| OtherName { machine: machine.clone(), name: other }));
    }
    let mut parts = PartMasks::new(&machines, &others);
    let mut series: Vec<ReadSeries> = Vec::with_capacity(readings.series.len());
    for one in &readings.series {
        let (machine, part) = (machines.name(&one.machine), parts.part(one));
        series.push(ReadSeries { of: one.of, machine, part, values: one.values.clone() });
    }
    series.sort_by(|a, b| (a.of, &a.machine, &a.part).cmp(&(b.of, &b.machine, &b.part)));
    let racks = rack_masks(&readings.stated);
    let stated = readings.stated.iter().map(|one| StatedMachine {
        machine: machines.name(&one.machine),
        rack: one.rack.as_deref().and_then(|rack| racks.get(rack).cloned()),
        ..one.clone()
    });
    Readings {
        series,
        names,
        remarks: Vec::new(),
        warnings: masked_warnings(&readings.warnings),
        stated: stated.collect(),
        sockets: masked_sockets(&readings.sockets, &machines),
        ..readings.clone()
    }
}

/// That something was to be known before the answer is believed, and not what: it names nodes, and quotes them.
fn masked_warnings(warnings: &[String]) -> Vec<String> {
    let count = warnings.len();
    let counted = if count == 1 { "1 warning".to_owned() } else { format!("{count} warnings") };
    let reported = format!("{counted} of whoever read this cluster, such as nodes that were not read, were masked");
    (count > 0).then_some(reported).into_iter().collect()
}

/// What sockets did, in the order of what stands for their machines.
fn masked_sockets(read: &[SocketRead], machines: &MachineMasks<'_>) -> Vec<SocketRead> {
    let addresses = AddressMasks::for_sockets(read);
    let remote = |remote: &SocketRemote| SocketRemote {
        address: addresses.address(remote.address),
        machine: remote.machine.as_deref().map(|machine| machines.name(machine)),
        ..remote.clone()
    };
    let mut read: Vec<SocketRead> = read
        .iter()
        .map(|one| SocketRead {
            machine: machines.name(&one.machine),
            remotes: one.remotes.iter().map(remote).collect(),
            ..one.clone()
        })
        .collect();
    read.sort_by(|a, b| a.machine.cmp(&b.machine));
    read
}

#[cfg(test)]
mod tests {
    use linerate_record::readings::SocketGroup;

    use super::*;

    fn remote(address: &str, machine: Option<&str>) -> SocketRemote {
        SocketRemote {
            address: address.parse().unwrap(),
            group: if machine.is_some() { SocketGroup::ToPeer } else { SocketGroup::Client },
            machine: machine.map(str::to_owned),
            sockets: 3,
            sent_bytes: 4,
            received_bytes: 5,
            sent_segments: 6,
            retransmitted_segments: 7,
            busy_us: 8,
            window_limited_us: 9,
            buffer_limited_us: 10,
            open_us: 11,
            round_trip_us: 12,
            delivery_bytes_per_s: 13,
        }
    }

    #[test]
    fn sockets_and_what_was_stated_have_neither_names_nor_addresses_and_still_fit_together() {
        let read =
            |machine: &str, remotes| SocketRead { machine: machine.to_owned(), remotes, ..SocketRead::default() };
        let stated = |machine: &str, is_client, rack: Option<&str>| StatedMachine {
            machine: machine.to_owned(),
            is_client,
            kind: None,
            rack: rack.map(str::to_owned),
        };
        let of_two = vec![
            remote("192.0.2.10", Some("secret10")),
            remote("203.0.113.7", None),
            remote("2001:db8:aa::7", None),
            remote("192.0.2.99", Some("secret-client")),
        ];
        let readings = Readings {
            sockets: vec![
                read("secret10", vec![remote("192.0.2.2", Some("secret2")), remote("203.0.113.7", None)]),
                read("secret2", of_two),
            ],
            stated: vec![
                stated("secret2", false, Some("secret-row-10")),
                stated("secret10", false, Some("secret-row-9")),
                stated("secret-client", true, None),
            ],
            warnings: vec!["1 of 4 nodes were not reached (secret7): no route to 192.0.2.7".to_owned()],
            ..Readings::default()
        };
        let masked = mask_readings(&readings);
        let text = serde_json::to_string(&masked).unwrap();
        for name in ["secret", "192.0.2.", "203.0.113.", "db8:aa"] {
            assert!(!text.contains(name), "{name}: {text}");
        }
        assert!(matches!(&masked.warnings[..], [one] if one.starts_with("1 warning of")), "{:?}", masked.warnings);
        let machines: Vec<&str> = masked.stated.iter().map(|one| one.machine.as_str()).collect();
        assert_eq!(machines, ["machine-1", "machine-2", "machine-3"], "2 before 10");
        assert!(masked.stated[2].is_client);
        let racks: Vec<Option<&str>> = masked.stated.iter().map(|one| one.rack.as_deref()).collect();
        assert_eq!(racks, [Some("rack-2"), Some("rack-1"), None], "9 before 10");
        let reported = |read: &SocketRead| -> Vec<(String, Option<String>)> {
            read.remotes.iter().map(|remote| (remote.address.to_string(), remote.machine.clone())).collect()
        };
        let at = |address: &str, machine: Option<&str>| (address.to_owned(), machine.map(str::to_owned));
        assert_eq!(masked.sockets[0].machine, "machine-1");
        assert_eq!(
            reported(&masked.sockets[0]),
            [
                at("10.0.0.2", Some("machine-2")),
                at("10.128.0.1", None),
                at("2001:db8:1::2", None),
                at("10.0.0.3", Some("machine-3")),
            ]
        );
        assert_eq!(reported(&masked.sockets[1]), [at("10.0.0.1", Some("machine-1")), at("10.128.0.1", None)]);
        let mut same = masked.sockets[1].remotes[1].clone();
        same.address = readings.sockets[0].remotes[1].address;
        assert_eq!(same, readings.sockets[0].remotes[1], "what sockets did stays");
    }

    #[test]
    fn no_name_is_left_and_the_same_stands_for_the_same() {
        let one = |of, machine: &str, part: &str| ReadSeries {
            of,
            machine: machine.to_owned(),
            part: part.to_owned(),
            values: vec![Some(1.0)],
        };
        let readings = Readings {
            series: vec![
                one(ReadMeasure::LinkSent, "secret10", "bond0"),
                one(ReadMeasure::LinkSent, "secret9", "bond0"),
                one(ReadMeasure::Throttled, "secret9", "tenant/secret-pod/minio"),
                one(ReadMeasure::Throttled, "secret9", "tenant/secret-minio-0/server"),
                one(ReadMeasure::Throttled, "secret9", "cri-containerd-secret.scope"),
                one(ReadMeasure::Throttled, "secret9", "tenant/secret-without-container"),
                one(ReadMeasure::LinkReceived, "secret9", "enp1s0.secret10"),
                one(ReadMeasure::LinkReceived, "secret9", "192.0.2.7"),
                one(ReadMeasure::DriveBusy, "secret9", "vg-secret-nine/ip-192.0.2.7:3260-lun-1"),
            ],
            names: vec![OtherName { machine: "secret9".to_owned(), name: "secret-nine".to_owned() }],
            remarks: vec!["secret".to_owned()],
            ..Readings::default()
        };
        let masked = mask_readings(&readings);
        let text = serde_json::to_string(&masked).unwrap();
        assert!(!text.contains("secret") && !text.contains("tenant") && !text.contains("192.0.2."), "{text}");
        let found: Vec<(&str, &str)> =
            masked.series.iter().map(|one| (one.machine.as_str(), one.part.as_str())).collect();
        assert_eq!(
            found,
            [
                ("machine-1", "address-1"),
                ("machine-1", "enp1s0.machine-2"),
                ("machine-1", "bond0"),
                ("machine-2", "bond0"),
                ("machine-1", "vg-host-1/ip-address-1-lun-1"),
                ("machine-1", "cgroup-3"),
                ("machine-1", "minio-pod-2/server"),
                ("machine-1", "pod-1/minio"),
                ("machine-1", "pod-4/"),
            ]
        );
        assert_eq!(masked.names[0].machine, "machine-1");
    }
}
