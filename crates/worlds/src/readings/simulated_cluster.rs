//! A cluster, its clients and what is beside them, as drawn: everything that a cause can change.

use std::fmt::Write as _;

use super::scraper::{ClockJump, Scraper};
use crate::rng::SeededRng;

/// A direction of a plane's link: out of the public one, into it, and the same of the private one.
pub(super) const WAYS: usize = 4;
pub(super) const PUBLIC_OUT: usize = 0;
pub(super) const PUBLIC_IN: usize = 1;
pub(super) const PRIVATE_OUT: usize = 2;
pub(super) const PRIVATE_IN: usize = 3;

/// How nodes keep objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RedundancyScheme {
    /// Shards go to nodes by the private plane, and are read by it.
    Sets,
    /// Gateways ask stores by the public plane; stores copy by the private one.
    Gateways,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct SimulatedDrive {
    /// What it does of what such a drive should do.
    pub(super) pace: f64,
    /// What it takes for a request that waits for nobody, in seconds.
    pub(super) alone_s: f64,
    /// What others read of it, in bytes a second.
    pub(super) others_read: f64,
    /// What others write to it.
    pub(super) others_write: f64,
}

#[derive(Clone, Debug)]
pub(super) struct SimulatedNode {
    /// Share of requests that come to it, against the mean.
    pub(super) entry: f64,
    /// Share of what is kept, against the mean.
    pub(super) kept: f64,
    /// What it takes of processors, against the mean.
    pub(super) effort: f64,
    /// What each link carries of what such a link should carry.
    pub(super) link: [f64; WAYS],
    /// What each plane's link says that its speed is, against the site.
    pub(super) said_speed: [f64; 2],
    /// Share of the bytes that the busiest member carries, out of and into each plane.
    pub(super) busiest: [f64; WAYS],
    /// What others send on each link, in bytes a second.
    pub(super) others_link: [f64; WAYS],
    /// Cores that others keep busy.
    pub(super) others_cores: f64,
    /// Cores that a hypervisor gives to others.
    pub(super) stolen: f64,
    /// Cores that the engine may use.
    pub(super) quota: Option<f64>,
    /// Share of its segments that are lost.
    pub(super) lost: f64,
    /// Whether what is lost shows as errors of an interface, or as drops.
    pub(super) shows_errors: bool,
    /// Share of the time in which memory is waited for.
    pub(super) memory: f64,
    /// Seconds that each of its requests takes of one thing that only one can have at a time.
    pub(super) alone_s: f64,
    pub(super) drives: Vec<SimulatedDrive>,
    /// The clock of what scrapes it.
    pub(super) jump: ClockJump,
    /// A counter that stands still, by its measure.
    pub(super) stuck: Option<&'static str>,
}

/// What holds all requests back alike, and no host counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SharedLimit {
    /// Requests a second at the most; none where it is 0.
    pub(super) most_per_s: f64,
    /// By how much the most varies from instant to instant, as a logarithm.
    pub(super) wanders: f64,
    /// Whether those that wait for it are known to the engine, as in flight; else they are with clients.
    pub(super) is_within: bool,
    /// Whether the engine tells them as waiting.
    pub(super) is_queue: bool,
}

#[derive(Clone, Debug)]
pub(super) struct SimulatedCluster {
    pub(super) keeping: RedundancyScheme,
    pub(super) planes: usize,
    pub(super) members: usize,
    pub(super) racks: usize,
    /// Of one port, in bits a second.
    pub(super) port_bits_per_s: f64,
    /// Bytes that one interface of a plane counts at the most.
    pub(super) link_bytes_per_s: f64,
    pub(super) cores: f64,
    pub(super) read_bytes_per_s: f64,
    pub(super) write_bytes_per_s: f64,
    /// Drives that objects are read from, and those of parity.
    pub(super) shards: (u32, u32),
    pub(super) object_bytes: f64,
    /// Share of requests that read.
    pub(super) gets: f64,
    /// Core-seconds of a byte where it comes in, and where it is kept.
    pub(super) effort: [f64; 2],
    /// Seconds of a request that nobody here takes: ways, clients.
    pub(super) apart_s: f64,
    /// Requests under way at the most.
    pub(super) requests: f64,
    pub(super) shared: SharedLimit,
    /// What a rack's uplinks carry of its nodes' traffic with others, against all of it: of one rack.
    pub(super) uplink: Option<(usize, f64)>,
    /// Share of segments that all nodes send again anyway, and by how much each differs.
    pub(super) again: f64,
    /// Nodes that have that so many times more.
    pub(super) again_times: Vec<f64>,
    /// By how much all links' capacity wanders: what is beside them on a switch.
    pub(super) links_wander: f64,
    pub(super) nodes: Vec<SimulatedNode>,
    pub(super) scraper: Scraper,
    /// By how much the share of a node wanders from instant to instant.
    pub(super) wander: f64,
    /// Readings that nobody scrapes.
    pub(super) lacking: Vec<&'static str>,
    /// Whether machines are told by addresses.
    pub(super) by_address: bool,
    /// When the engine's counters begin anew, in seconds, on one node.
    pub(super) anew: Option<(usize, f64)>,
    /// Shares of the window at which the load begins to rise, is there, and ends.
    pub(super) phases: [f64; 3],
}

fn pick(rng: &mut SeededRng, of: &[f64]) -> f64 {
    of[((rng.unit() * of.len() as f64) as usize).min(of.len() - 1)]
}

fn scraper(rng: &mut SeededRng) -> Scraper {
    Scraper {
        interval_s: pick(rng, &[15.0, 15.0, 30.0, 60.0]),
        steps: rng.between(40.0, 70.0) as usize,
        before: 5,
        over: 4.0,
        parts: 2,
        missed: pick(rng, &[0.0, 0.005, 0.02]),
    }
}

const SIZES: [usize; 10] = [4, 4, 6, 8, 8, 12, 16, 24, 32, 64];

impl SimulatedCluster {
    /// One that is drawn, with nothing the matter and its fullest resource at a share of what it can.
    pub(super) fn draw(rng: &mut SeededRng) -> Self {
        let count = SIZES[((rng.unit() * SIZES.len() as f64) as usize).min(SIZES.len() - 1)];
        let keeping = if rng.happens(0.65) { RedundancyScheme::Sets } else { RedundancyScheme::Gateways };
        let racks = if count >= 8 { 4 } else { 1 };
        let members = if rng.happens(0.65) { 2 } else { 1 };
        let port_bits_per_s = pick(rng, &[10e9, 25e9, 25e9, 100e9]);
        let link_bytes_per_s = members as f64 * port_bits_per_s / 8.0 * (9014.0 / 9038.0);
        let planes = if rng.happens(0.5) { 2 } else { 1 };
        let shards = match keeping {
            RedundancyScheme::Gateways if rng.happens(0.5) => (1, 2),
            // Sets take as many drives of each node.
            _ => match count {
                4 => (2, 2),
                6 | 12 => (4, 2),
                24 => (8, 4),
                _ => (6, 2),
            },
        };
        // No drive does more than 10 GB/s or so.
        let drives = pick(rng, &[2.0, 4.0, 4.0, 8.0]).max((link_bytes_per_s / 3.5e9).ceil()) as usize;
        let gets = pick(rng, &[1.0, 1.0, 0.0, 0.0, 0.6]);
        // What one node's drives do of what its link does, and what that takes of its processors.
        let of_drives = rng.factor(1.6, 3.0) * link_bytes_per_s / drives as f64;
        let cores = pick(rng, &[16.0, 32.0, 32.0, 64.0]);
        let effort = rng.between(0.25, 0.5) * cores / (2.0 * link_bytes_per_s);
        let nodes: Vec<SimulatedNode> = (0..count).map(|_| SimulatedNode::draw(rng, cores, drives)).collect();
        let scraper = scraper(rng);
        let phases = [rng.between(0.0, 0.15), rng.between(0.16, 0.35), rng.between(0.9, 1.2)];
        let mut simulated_cluster = SimulatedCluster {
            keeping,
            planes,
            members,
            racks,
            port_bits_per_s,
            link_bytes_per_s,
            cores,
            read_bytes_per_s: of_drives,
            write_bytes_per_s: of_drives * rng.between(0.7, 1.0),
            shards,
            object_bytes: pick(rng, &[1.0, 4.0, 16.0, 64.0]) * 1_048_576.0,
            gets,
            effort: [effort, 0.6 * effort],
            apart_s: rng.factor(2e-3, 2e-2),
            requests: 1.0,
            shared: SharedLimit::default(),
            uplink: None,
            again: rng.factor(2e-5, 4e-4),
            again_times: (0..count).map(|_| (0.4 * rng.normal()).exp()).collect(),
            links_wander: 0.0,
            nodes,
            scraper,
            wander: rng.factor(0.006, 0.03),
            lacking: lacking(rng),
            by_address: rng.happens(0.5),
            anew: None,
            phases,
        };
        if rng.happens(0.08) {
            simulated_cluster.anew =
                Some(((rng.unit() * count as f64) as usize, rng.between(0.2, 0.9) * simulated_cluster.lasts_s()));
        }
        simulated_cluster
    }

    /// With bonds of two ports.
    pub(super) fn bonded(&mut self) {
        if self.members == 1 {
            self.members = 2;
            self.link_bytes_per_s *= 2.0;
            self.read_bytes_per_s *= 2.0;
            self.write_bytes_per_s *= 2.0;
            self.effort.iter_mut().for_each(|effort| *effort /= 2.0);
        }
    }

    /// From the first part to the last, in seconds.
    pub(super) fn lasts_s(&self) -> f64 {
        self.scraper.all_parts() as f64 * self.scraper.part_s()
    }

    /// Any of the nodes.
    pub(super) fn any(&self, rng: &mut SeededRng) -> usize {
        ((rng.unit() * self.nodes.len() as f64) as usize).min(self.nodes.len() - 1)
    }

    /// Bytes kept of each that came.
    pub(super) fn kept_bytes(&self) -> f64 {
        let (data, parity) = (f64::from(self.shards.0), f64::from(self.shards.1));
        (data + parity) / data
    }

    /// The rack of a node.
    pub(super) fn rack(&self, node: usize) -> usize {
        node * self.racks / self.nodes.len()
    }

    /// The interface of a plane, and its members.
    pub(super) fn interfaces(&self, plane: usize) -> (String, Vec<String>) {
        if self.members == 1 {
            return (format!("eth{plane}"), Vec::new());
        }
        (format!("bond{plane}"), (0..2).map(|member| format!("eth{}", 2 * plane + member)).collect())
    }

    /// What its owner writes of it.
    pub(super) fn site(&self) -> String {
        let mut text = format!(
            "name: hall\nnodes:\n  name: storage\n  count: {}\n  racks: {}\n  cores: {}\n  memory: 256GiB\n  drives: \
             {{count: {}, capacity: 4TB, read: {:.0}MB/s, write: {:.0}MB/s}}\n  nics:\n",
            self.nodes.len(),
            self.racks,
            self.cores,
            self.nodes[0].drives.len(),
            self.read_bytes_per_s / 1e6,
            self.write_bytes_per_s / 1e6
        );
        let name = |plane: usize| if self.members == 1 { format!("eth{plane}") } else { format!("nic{plane}") };
        for plane in 0..self.planes {
            let (nic, speed) = (name(plane), self.port_bits_per_s / 1e9);
            let _ = writeln!(text, "    - {{name: {nic}, ports: {}, speed: {speed}Gb/s}}", self.members);
        }
        if self.members > 1 {
            text.push_str("  bonds:\n");
            (0..self.planes).for_each(|plane| {
                let _ = writeln!(text, "    - {{name: bond{plane}, nics: {}}}", name(plane));
            });
        }
        text.push_str("planes:\n");
        for (plane, called) in ["public", "private"].into_iter().enumerate().take(self.planes) {
            let _ = writeln!(text, "  {called}: {{link: {}, mtu: 9000}}", self.interfaces(plane).0);
        }
        let (data, parity) = self.shards;
        let engine = match self.keeping {
            RedundancyScheme::Sets => format!("{{product: minio, protection: {data}+{parity}}}"),
            RedundancyScheme::Gateways if data == 1 => "{product: ceph-rgw, protection: 3x}".to_owned(),
            RedundancyScheme::Gateways => format!("{{product: ceph-rgw, protection: {data}+{parity}}}"),
        };
        let size = self.object_bytes / 1_048_576.0;
        let _ = write!(text, "entry: client-side\nengine: {engine}\ndata: {{object_size: {size}MiB}}\n");
        text
    }
}

impl SimulatedNode {
    fn draw(rng: &mut SeededRng, cores: f64, drives: usize) -> Self {
        SimulatedNode {
            entry: (0.02 * rng.normal()).exp(),
            kept: (0.02 * rng.normal()).exp(),
            effort: (0.05 * rng.normal()).exp(),
            link: [1.0; WAYS],
            said_speed: [1.0; 2],
            busiest: std::array::from_fn(|_| 0.5 + (0.02 * rng.normal()).abs().min(0.1)),
            others_link: [0.0; WAYS],
            others_cores: cores * 0.01 * rng.exponential(),
            stolen: 0.0,
            quota: None,
            lost: 0.0,
            shows_errors: false,
            memory: 0.0,
            alone_s: 0.0,
            drives: (0..drives).map(|_| SimulatedDrive::draw(rng)).collect(),
            jump: ClockJump::default(),
            stuck: None,
        }
    }
}

impl SimulatedDrive {
    fn draw(rng: &mut SeededRng) -> Self {
        SimulatedDrive {
            pace: (0.02 * rng.normal()).exp(),
            alone_s: 2.5e-4 * (0.1 * rng.normal()).exp(),
            others_read: 0.0,
            others_write: 0.0,
        }
    }
}

/// What a scraper has not: each of what is optional, now and then.
fn lacking(rng: &mut SeededRng) -> Vec<&'static str> {
    let sets: [&[&str]; 6] = [
        &["client-sent", "client-received", "in-flight", "waiting"],
        &["in-flight", "waiting"],
        &["cpu-pressure", "io-pressure", "memory-pressure"],
        &["link-speed"],
        &["retransmitted"],
        &["link-received-drops", "link-sent-drops", "link-errors"],
    ];
    sets.into_iter().filter(|_| rng.happens(0.08)).flatten().copied().collect()
}
