//! What exporters on nodes and in engines tell of what happens, as a scraper has it.

use super::simulated_cluster::{PRIVATE_IN, PRIVATE_OUT, PUBLIC_IN, PUBLIC_OUT, SimulatedCluster};
use super::window::{Moment, NodeMoment};
use super::{WorldNames, WorldSeries};
use crate::rng::SeededRng;

/// Bytes of a packet.
const PACKET: f64 = 9000.0;

/// Series of one node, as they come to be.
struct Exporter<'h> {
    simulated_cluster: &'h SimulatedCluster,
    node: usize,
    machine: String,
    looks: Vec<(f64, f64)>,
    rng: SeededRng,
    found: Vec<WorldSeries>,
}

impl Exporter<'_> {
    fn add(&mut self, of: &'static str, part: &str, values: Vec<Option<f64>>) {
        if !self.simulated_cluster.lacking.contains(&of) && values.iter().any(Option::is_some) {
            let (machine, part) = (self.machine.clone(), part.to_owned());
            self.found.push(WorldSeries { of, machine, part, values });
        }
    }

    /// A counter of so much a second in each part.
    fn rate(&mut self, of: &'static str, part: &str, mut per_s: Vec<f64>) {
        if self.simulated_cluster.nodes[self.node].stuck == Some(of) {
            per_s.fill(0.0);
        }
        let anew = self.simulated_cluster.anew.filter(|(node, _)| *node == self.node && of.starts_with("client"));
        let values = self.simulated_cluster.scraper.rates(&per_s, &self.looks, anew.map(|(_, at)| at));
        self.add(of, part, values);
    }

    /// One counter by another.
    fn ratio(&mut self, of: &'static str, part: &str, (above, below): (&[f64], &[f64])) {
        let scraper = self.simulated_cluster.scraper;
        let (above, below) = (scraper.rates(above, &self.looks, None), scraper.rates(below, &self.looks, None));
        let by = |(above, below): (&Option<f64>, &Option<f64>)| Some(((*above)?, (*below).filter(|b| *b > 0.0)?));
        let values = above.iter().zip(&below).map(|both| by(both).map(|(above, below)| above / below)).collect();
        self.add(of, part, values);
    }

    fn gauge(&mut self, of: &'static str, part: &str, values: &[f64]) {
        let values = self.simulated_cluster.scraper.gauge(values, &self.looks);
        self.add(of, part, values);
    }

    /// About a value, as it varies from part to part.
    fn about(&mut self, value: f64, by: f64) -> f64 {
        value * (by * self.rng.normal()).exp()
    }
}

/// Everything that is scraped of a cluster, and other names of its machines.
pub(super) fn exported(
    simulated_cluster: &SimulatedCluster,
    moments: &[Moment],
    rng: &mut SeededRng,
) -> (Vec<WorldSeries>, Vec<WorldNames>) {
    let (mut series, mut names) = (Vec::new(), Vec::new());
    for node in 0..simulated_cluster.nodes.len() {
        let mut rng = rng.fork();
        let name = format!("storage-{}", node + 1);
        let machine = if simulated_cluster.by_address {
            format!("10.0.{}.{}", simulated_cluster.rack(node), node + 10)
        } else {
            name.clone()
        };
        if simulated_cluster.by_address {
            names.push(WorldNames { machine: machine.clone(), name });
        }
        let looks = simulated_cluster.scraper.looks(&mut rng, simulated_cluster.nodes[node].jump);
        let mut exporter = Exporter { simulated_cluster, node, machine, looks, rng, found: Vec::new() };
        let of_node: Vec<&NodeMoment> = moments.iter().map(|moment| &moment.nodes[node]).collect();
        links(&mut exporter, &of_node);
        sent_again(&mut exporter, &of_node);
        processors(&mut exporter, &of_node);
        drives(&mut exporter, &of_node);
        engine(&mut exporter, &of_node);
        series.append(&mut exporter.found);
    }
    (series, names)
}

fn links(exporter: &mut Exporter<'_>, of_node: &[&NodeMoment]) {
    let (simulated_cluster, node) = (exporter.simulated_cluster, &exporter.simulated_cluster.nodes[exporter.node]);
    for plane in 0..simulated_cluster.planes {
        let (interface, members) = simulated_cluster.interfaces(plane);
        for (of, way) in
            [("link-sent", [PUBLIC_OUT, PRIVATE_OUT][plane]), ("link-received", [PUBLIC_IN, PRIVATE_IN][plane])]
        {
            let whole: Vec<f64> = of_node.iter().map(|now| now.link[way]).collect();
            for (member, share) in members.iter().zip([node.busiest[way], 1.0 - node.busiest[way]]) {
                exporter.rate(of, member, whole.iter().map(|bytes| share * bytes).collect());
            }
            exporter.rate(of, &interface, whole);
        }
        let port = simulated_cluster.port_bits_per_s / 8.0;
        let said = simulated_cluster.members as f64 * port * node.said_speed[plane];
        exporter.gauge("link-speed", &interface, &vec![said; of_node.len()]);
        let is_lost = node.busiest[[PUBLIC_OUT, PRIVATE_OUT][plane]] >= 1.0;
        for member in members.iter().take(if is_lost { 1 } else { 2 }) {
            let said = if is_lost { port } else { port * node.said_speed[plane] };
            exporter.gauge("link-speed", member, &vec![said; of_node.len()]);
        }
        let way = [PUBLIC_IN, PRIVATE_IN][plane];
        let wrong: Vec<f64> = of_node
            .iter()
            .map(|now| if node.shows_errors { node.lost * now.link[way] / PACKET } else { 0.0 })
            .collect();
        exporter.rate("link-errors", &interface, wrong);
        // Now and then a packet that nobody here wants.
        let stray = 0.05 * exporter.rng.exponential();
        let unwanted: Vec<f64> = of_node.iter().map(|_| stray).collect();
        exporter.rate("link-received-drops", &interface, unwanted);
        exporter.rate("link-sent-drops", &interface, vec![0.0; of_node.len()]);
    }
}

/// Segments that are sent again: some always, more where a link is full, and what a lossy link at either end costs.
fn sent_again(exporter: &mut Exporter<'_>, of_node: &[&NodeMoment]) {
    let (simulated_cluster, place) = (exporter.simulated_cluster, exporter.node);
    let all: f64 = simulated_cluster.nodes.iter().map(|node| node.lost).sum();
    // What others send to a lossy node is a share of what they send to each other; clients send again what they sent.
    let towards = all * among(simulated_cluster) / (simulated_cluster.nodes.len() - 1) as f64;
    let lost = if simulated_cluster.nodes[place].lost > 0.0 { simulated_cluster.nodes[place].lost } else { towards };
    let (mut again, mut sent) = (Vec::new(), Vec::new());
    for now in of_node {
        let segments: f64 = [PUBLIC_OUT, PRIVATE_OUT].iter().map(|way| now.link[*way]).sum::<f64>() / PACKET + 20.0;
        let full = now.link_use[PUBLIC_OUT].max(now.link_use[PRIVATE_OUT]);
        let crowded = 1e-3 * ((full - 0.9) / 0.1).clamp(0.0, 1.0);
        let share =
            exporter.about(simulated_cluster.again * simulated_cluster.again_times[place], 0.3) + crowded + lost;
        again.push(segments * share.min(0.5));
        sent.push(segments);
    }
    exporter.ratio("retransmitted", "", (&again, &sent));
}

/// Share of what nodes send that goes to other nodes.
fn among(simulated_cluster: &SimulatedCluster) -> f64 {
    let stored = simulated_cluster.kept_bytes();
    let (gets, puts) = (simulated_cluster.gets, 1.0 - simulated_cluster.gets);
    (gets + puts * stored) / (2.0 * gets + puts * stored)
}

fn processors(exporter: &mut Exporter<'_>, of_node: &[&NodeMoment]) {
    let (simulated_cluster, node) = (exporter.simulated_cluster, &exporter.simulated_cluster.nodes[exporter.node]);
    let each = |exporter: &mut Exporter<'_>, by: f64, extract: &dyn Fn(&NodeMoment) -> f64| -> Vec<f64> {
        of_node.iter().map(|now| exporter.about(extract(now), by)).collect()
    };
    let busy =
        each(exporter, 0.03, &|now| now.cores).into_iter().map(|cores| cores.min(simulated_cluster.cores)).collect();
    exporter.rate("cores-busy", "", busy);
    exporter.gauge("cores", "", &vec![simulated_cluster.cores; of_node.len()]);
    let busiest =
        each(exporter, 0.05, &|now| 0.1 + 1.2 * now.cores_use).into_iter().map(|share| share.min(1.0)).collect();
    exporter.rate("busiest-core", "", busiest);
    let soft = each(exporter, 0.05, &|now| 0.12 * now.cores);
    exporter.rate("cores-softirq", "", soft);
    let stolen = each(exporter, 0.1, &|_| node.stolen);
    exporter.rate("cores-stolen", "", stolen);
    // Tasks wait more often than not only where processors are nearly all busy.
    let waits = each(exporter, 0.2, &|now| (0.004 + 0.5 * now.cores_use.powi(8)).min(0.9));
    exporter.rate("cpu-pressure", "", waits);
    let waits = each(exporter, 0.2, &|now| 1.0 - (-0.03 * now.at_drive.iter().sum::<f64>()).exp());
    exporter.rate("io-pressure", "", waits);
    let waits = each(exporter, 0.3, &|_| node.memory.max(1e-4));
    exporter.rate("memory-pressure", "", waits);
    let left = if node.memory > 0.0 { 0.02 } else { 0.55 };
    exporter.gauge("memory-available", "", &vec![left; of_node.len()]);
}

/// Bytes of a request to a drive.
const IO_BYTES: f64 = 524_288.0;

fn drives(exporter: &mut Exporter<'_>, of_node: &[&NodeMoment]) {
    let node = &exporter.simulated_cluster.nodes[exporter.node];
    for (place, drive) in node.drives.iter().enumerate() {
        let name = format!("nvme{place}n1");
        let (mut served, mut spent) = (Vec::new(), Vec::new());
        for now in of_node {
            let ios = (now.read[place] + now.written[place]) / IO_BYTES + 0.5;
            let alone = exporter.about(drive.alone_s, 0.15);
            served.push(ios);
            spent.push(ios * alone + now.at_drive[place]);
        }
        exporter.rate("drive-read", &name, of_node.iter().map(|now| now.read[place]).collect());
        exporter.rate("drive-written", &name, of_node.iter().map(|now| now.written[place]).collect());
        exporter.rate("drive-busy", &name, spent.iter().map(|spent| 1.0 - (-spent).exp()).collect());
        exporter.ratio("drive-latency", &name, (&spent, &served));
        exporter.rate("drive-queue", &name, spent);
    }
}

fn engine(exporter: &mut Exporter<'_>, of_node: &[&NodeMoment]) {
    exporter.rate("client-sent", "", of_node.iter().map(|now| now.client_sent).collect());
    exporter.rate("client-received", "", of_node.iter().map(|now| now.client_received).collect());
    let counted: Vec<f64> = of_node.iter().map(|now| exporter.rng.poisson(now.in_flight) as f64).collect();
    exporter.gauge("in-flight", "", &counted);
    let counted: Vec<f64> = of_node.iter().map(|now| exporter.rng.poisson(now.waiting) as f64).collect();
    exporter.gauge("waiting", "", &counted);
    if exporter.simulated_cluster.nodes[exporter.node].quota.is_some() {
        // Ten periods a second, and a series only where some are out of it.
        let out: Vec<f64> = of_node.iter().map(|now| 10.0 * exporter.about(now.out_of_quota, 0.1).min(1.0)).collect();
        let before = exporter.found.len();
        exporter.ratio("throttled", "s3/minio-0/minio", (&out, &vec![10.0; of_node.len()]));
        for series in &mut exporter.found[before..] {
            series.values.iter_mut().for_each(|value| *value = value.filter(|share| *share > 0.05));
        }
    }
}
