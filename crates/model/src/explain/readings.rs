//! What can be read of a cluster, and what each hypothesis expects to be seen: one function a reading.

mod links;
mod loads;

use linerate_record::readings::ReadMeasure;
use linerate_record::site::Site;

use super::forecast::HypotheticalSite;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadingId {
    /// Bytes of each member of each bond.
    BondMembers,
    /// Bytes of each plane's link.
    PlaneBytes,
    /// Mode and state of bonds.
    BondMode,
    /// Negotiated speed of ports.
    LinkSpeed,
    /// Largest packet.
    Mtu,
    /// TCP timestamps.
    Timestamps,
    Encapsulation,
    /// Shards of data and parity.
    Layout,
    /// How busy drives are.
    DriveUse,
    /// How busy processors are.
    CpuUse,
    /// How busy clients' links are.
    ClientBytes,
    /// How busy uplinks of racks are.
    RackUplinks,
    /// How bytes are spread over nodes.
    NodeSpread,
    /// What links carry in each direction.
    EachWay,
    Cryptography,
    /// What machines are made of, and objects.
    Inventory,
}

/// What a hypothesis expects a reading to show.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ExpectedReading {
    /// Figures that are compared one by one; where there are none, the words are.
    pub(super) figures: Vec<f64>,
    /// The same of the other load, where nothing says which it will be.
    pub(super) instead: Vec<f64>,
    pub(super) words: String,
}

/// A site under a hypothesis while something is read: reads or writes run.
#[derive(Clone, Debug)]
pub(super) struct LoadedSite<'a> {
    pub(super) world: &'a HypotheticalSite<'a>,
    pub(super) reads: bool,
    /// What a node of each group gives its own clients, in bytes per second, in the site's order.
    pub(super) given: Vec<f64>,
}

/// A row: what is read, the file, counter or command, and what it shows.
pub(super) struct DiagnosticReading {
    id: ReadingId,
    pub(super) what: &'static str,
    /// The file, counter or command.
    pub(super) how: &'static str,
    /// What it takes of a reader's time, in minutes, where nodes are reached by SSH: a judgement.
    pub(super) minutes: f64,
    /// Measures of nodes that tell the same where all of them were read; none where no measure does.
    by: &'static [ReadMeasure],
    /// What is expected of a world that deviates from the stated site; nothing where the reading says nothing of it.
    pub(super) expected: fn(&Site, &LoadedSite) -> Option<ExpectedReading>,
}

const BYTES: &[ReadMeasure] = &[ReadMeasure::LinkSent, ReadMeasure::LinkReceived];

/// What was read already, so that nobody is to be told to read it next.
#[derive(Clone, Debug, Default)]
pub(crate) struct AlreadyRead {
    /// Measures that were read of every node.
    pub(crate) of_nodes: Vec<ReadMeasure>,
    /// Whether the links of clients were.
    pub(crate) are_clients: bool,
}

impl DiagnosticReading {
    /// Whether that has been read.
    pub(super) fn is_read(&self, read: &AlreadyRead) -> bool {
        match self.id {
            ReadingId::ClientBytes => read.are_clients,
            _ => !self.by.is_empty() && self.by.iter().all(|of| read.of_nodes.contains(of)),
        }
    }
}

/// All readings, in the order in which they are preferred where several tell as much for their time.
pub(super) const READINGS: [DiagnosticReading; 16] = [
    DiagnosticReading {
        id: ReadingId::BondMembers,
        what: "bytes per bond member, per node",
        how: "/sys/class/net/<member>/statistics/{tx,rx}_bytes twice, 10 s apart under load (ip -s link show)",
        minutes: 1.0,
        by: &[],
        expected: links::bond_members,
    },
    DiagnosticReading {
        id: ReadingId::PlaneBytes,
        what: "bytes per plane, per node",
        how: "/sys/class/net/<link>/statistics/{tx,rx}_bytes of each plane's link twice, 10 s apart under load",
        minutes: 1.0,
        by: BYTES,
        expected: links::plane_bytes,
    },
    DiagnosticReading {
        id: ReadingId::NodeSpread,
        what: "bytes per node",
        how: "bytes of each node's public link under load, or throughput per host of the load",
        minutes: 1.0,
        by: BYTES,
        expected: loads::node_spread,
    },
    DiagnosticReading {
        id: ReadingId::BondMode,
        what: "mode and live members of each bond",
        how: "/proc/net/bonding/<bond>: Bonding Mode, Transmit Hash Policy, MII Status of each member",
        minutes: 1.0,
        by: &[],
        expected: links::bond_mode,
    },
    DiagnosticReading {
        id: ReadingId::LinkSpeed,
        what: "negotiated speed of each port",
        how: "ethtool <port>: Speed (/sys/class/net/<port>/speed)",
        minutes: 1.0,
        by: &[ReadMeasure::LinkSpeed],
        expected: links::link_speed,
    },
    DiagnosticReading {
        id: ReadingId::Mtu,
        what: "MTU of each plane's interface, on nodes and in the engine's pods",
        how: "ip link show, on the node and by nsenter in the engine's network namespace",
        minutes: 1.0,
        by: &[ReadMeasure::LinkMtu],
        expected: links::mtu,
    },
    DiagnosticReading {
        id: ReadingId::Timestamps,
        what: "TCP timestamps of the engine's connections",
        how: "ss -tin under load: ts among what a connection to the engine has; sysctl net.ipv4.tcp_timestamps in the \
              engine's network namespace",
        minutes: 1.0,
        by: &[],
        expected: links::timestamps,
    },
    DiagnosticReading {
        id: ReadingId::Encapsulation,
        what: "tunnels that carry the engine's traffic",
        how: "ip -d link show; cilium status --verbose: Routing, Encryption",
        minutes: 1.0,
        by: &[],
        expected: links::encapsulation,
    },
    DiagnosticReading {
        id: ReadingId::Layout,
        what: "shards of data and parity of an object",
        how: "mc admin info --json (MinIO, RustFS); ceph osd pool ls detail (Ceph); garage status (Garage)",
        minutes: 1.0,
        by: &[],
        expected: loads::layout,
    },
    DiagnosticReading {
        id: ReadingId::RackUplinks,
        what: "bytes of each rack's uplinks",
        how: "ifHCInOctets and ifHCOutOctets of the uplinks (IF-MIB), 10 s apart under load",
        minutes: 5.0,
        by: &[],
        expected: loads::rack_uplinks,
    },
    DiagnosticReading {
        id: ReadingId::ClientBytes,
        what: "bytes per client",
        how: "/sys/class/net/<port>/statistics/{tx,rx}_bytes on each client, 10 s apart under load",
        minutes: 2.0,
        by: &[],
        expected: loads::clients,
    },
    DiagnosticReading {
        id: ReadingId::DriveUse,
        what: "throughput and queue of each drive",
        how: "iostat -x 10 under load: rMB/s, wMB/s, aqu-sz of each drive",
        minutes: 1.0,
        by: &[ReadMeasure::DriveRead, ReadMeasure::DriveWritten, ReadMeasure::DriveQueue],
        expected: loads::drives,
    },
    DiagnosticReading {
        id: ReadingId::CpuUse,
        what: "processor time per node",
        how: "/proc/stat twice, 10 s apart under load; cpu.stat of the engine's cgroup",
        minutes: 1.0,
        by: &[ReadMeasure::CoresBusy],
        expected: loads::processors,
    },
    DiagnosticReading {
        id: ReadingId::EachWay,
        what: "what a node's link carries, each way",
        how: "iperf3 -P 8 from the node to another, then with -R; or the most that its ports' tx_bytes and rx_bytes \
              (/sys/class/net/<port>/statistics) gain in 10 s",
        minutes: 5.0,
        by: &[],
        expected: links::each_way,
    },
    DiagnosticReading {
        id: ReadingId::Cryptography,
        what: "what is encrypted",
        how: "https in what clients ask, and in the addresses that the engine's nodes are given of each other; mc \
              encrypt info (MinIO, RustFS); ceph-volume lvm list: encrypted (Ceph)",
        minutes: 2.0,
        by: &[],
        expected: loads::cryptography,
    },
    DiagnosticReading {
        id: ReadingId::Inventory,
        what: "the hardware of the nodes (links of cards, memory, processors), and the size of objects",
        how: "lscpu; lspci -vv: LnkSta; dmidecode -t memory; the load's object size",
        minutes: 3.0,
        by: &[],
        expected: loads::inventory,
    },
];

impl ReadingId {
    /// What is read and how, in one phrase.
    pub(super) fn in_words(self) -> String {
        let row = READINGS.iter().find(|row| row.id == self);
        row.map_or_else(String::new, |row| format!("{}: {}", row.what, row.how))
    }
}

impl LoadedSite<'_> {
    /// Client bytes per second of the whole site.
    pub(super) fn bytes_per_s(&self) -> f64 {
        self.world.site.groups.iter().zip(&self.given).map(|(group, rate)| f64::from(group.count) * rate).sum()
    }
}

impl ExpectedReading {
    fn figures(figures: Vec<f64>, words: String) -> ExpectedReading {
        ExpectedReading { figures, instead: Vec::new(), words }
    }

    /// What is told by words alone.
    fn words(words: String) -> ExpectedReading {
        ExpectedReading { figures: Vec::new(), instead: Vec::new(), words }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_of_all_nodes_is_known_by_its_measures() {
        let row = |id: ReadingId| READINGS.iter().find(|row| row.id == id).unwrap();
        let (sent, both) = (vec![ReadMeasure::LinkSent], vec![ReadMeasure::LinkReceived, ReadMeasure::LinkSent]);
        for (of_nodes, id, is_read) in [
            (sent, ReadingId::NodeSpread, false),
            (both.clone(), ReadingId::NodeSpread, true),
            (both.clone(), ReadingId::PlaneBytes, true),
            (both, ReadingId::LinkSpeed, false),
            (vec![ReadMeasure::CoresBusy], ReadingId::CpuUse, true),
            (ReadMeasure::ALL.to_vec(), ReadingId::Timestamps, false),
            (ReadMeasure::ALL.to_vec(), ReadingId::ClientBytes, false),
        ] {
            let read = AlreadyRead { of_nodes, are_clients: false };
            assert_eq!(row(id).is_read(&read), is_read, "{id:?} by {read:?}");
        }
        assert!(row(ReadingId::ClientBytes).is_read(&AlreadyRead { are_clients: true, ..AlreadyRead::default() }));
    }

    #[test]
    fn each_reading_has_one_row() {
        for (i, row) in READINGS.iter().enumerate() {
            assert!(READINGS[..i].iter().all(|other| other.id != row.id), "{}", row.what);
            assert_eq!(row.id.in_words(), format!("{}: {}", row.what, row.how));
        }
    }
}
