//! Readings of clusters whose truth is known: what a scraper of node and engine exporters has after a window, from a
//! seed.
//!
//! A world is a cluster with its clients in a closed loop: shares of links, processors and drives follow from a network
//! of queues (`readings/closed_network.rs`), instant by instant, while shares of nodes, the load and other load wander.
//! An [`InjectedFault`] is a row of [`READ_FAULTS`]: it changes something of the cluster, and says by which names a
//! judge may name it, or that no judge of such readings can. What is exported is counted, scraped at times that jitter,
//! and reported as rates over several scrapes.

mod closed_network;
mod exporters;
mod faults;
mod scraper;
mod simulated_cluster;
mod window;

use crate::rng::SeededRng;
use simulated_cluster::{RedundancyScheme, SimulatedCluster};

pub use faults::READ_FAULTS;

/// A cause, or a way to be healthy.
pub struct InjectedFault {
    pub name: &'static str,
    /// What real thing it stands for.
    pub stands_for: &'static str,
    /// By which names a judge may tell it, in the words of JSON; none where no reading tells it from others.
    pub causes: &'static [&'static str],
    /// What else looks the same at the same place to whoever scrapes.
    pub alike: &'static [&'static str],
    /// Readings that are there, since nothing else tells it.
    pub needs: &'static [&'static str],
    /// Whether nothing is the matter.
    pub is_healthy: bool,
    injected_fault: fn(&mut SimulatedCluster, &mut SeededRng) -> FaultLocation,
}

/// Where a cause is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct FaultLocation {
    node: Option<usize>,
    part: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct WorldSeries {
    /// What is read, in the words of JSON.
    pub of: &'static str,
    pub machine: String,
    /// Of which part of it.
    pub part: String,
    /// A value an instant.
    pub values: Vec<Option<f64>>,
}

/// Another name of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldNames {
    /// As series have it.
    pub machine: String,
    pub name: String,
}

/// Readings of a window, with their truth.
#[derive(Clone, Debug)]
pub struct ReadingsWorld {
    /// What the owner writes of the cluster, in YAML.
    pub site: String,
    /// What was drawn, for a message.
    pub reported: String,
    /// The node at which the cause is.
    pub node: Option<String>,
    /// The part at which it is.
    pub part: Option<String>,
    /// Between two instants, and between two scrapes.
    pub step_ms: u64,
    /// Over how long a rate is.
    pub rate_over_ms: u64,
    pub steps: u32,
    /// Everything that was read.
    pub series: Vec<WorldSeries>,
    /// Other names of machines.
    pub names: Vec<WorldNames>,
}

impl InjectedFault {
    /// A cluster with this cause, watched for a window.
    #[must_use]
    pub fn draw(&self, seed: u64) -> ReadingsWorld {
        let stream = self.name.bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
        let mut rng = SeededRng::new(seed, stream);
        let mut simulated_cluster = SimulatedCluster::draw(&mut rng);
        let place = (self.injected_fault)(&mut simulated_cluster, &mut rng);
        simulated_cluster.lacking.retain(|of| !self.needs.contains(of));
        let moments = simulated_cluster.watched(&mut rng);
        let (series, names) = exporters::exported(&simulated_cluster, &moments, &mut rng);
        let interval_ms = (1000.0 * simulated_cluster.scraper.interval_s) as u64;
        ReadingsWorld {
            site: simulated_cluster.site(),
            reported: simulated_cluster.reported(self.name, seed),
            node: place.node.map(|node| format!("storage-{}", node + 1)),
            part: place.part,
            step_ms: interval_ms,
            rate_over_ms: (simulated_cluster.scraper.over * 1000.0 * simulated_cluster.scraper.interval_s) as u64,
            steps: simulated_cluster.scraper.steps as u32,
            series,
            names,
        }
    }
}

impl SimulatedCluster {
    fn reported(&self, name: &str, seed: u64) -> String {
        let kept = if self.keeping == RedundancyScheme::Sets { "sets" } else { "gateways" };
        format!(
            "{name}, seed {seed}: {} nodes of {} drives, {} planes of {} x {:.0} Gb/s, {kept} {}+{}, {} MiB, {:.0} % \
             GET, {:.0} in flight, every {} s, without {:?}",
            self.nodes.len(),
            self.nodes[0].drives.len(),
            self.planes,
            self.members,
            self.port_bits_per_s / 1e9,
            self.shards.0,
            self.shards.1,
            self.object_bytes / 1_048_576.0,
            100.0 * self.gets,
            self.requests,
            self.scraper.interval_s,
            self.lacking
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_readings_and_values_are_numbers() {
        for injected_fault in &READ_FAULTS {
            assert!(!injected_fault.stands_for.is_empty());
            let (one, again) = (injected_fault.draw(1), injected_fault.draw(1));
            assert_eq!((&one.series, &one.site), (&again.series, &again.site), "{}", one.reported);
            for series in &one.series {
                assert_eq!(series.values.len(), one.steps as usize, "{}: {}", one.reported, series.of);
                let is_number = |value: &f64| value.is_finite() && *value >= 0.0;
                assert!(series.values.iter().flatten().all(is_number), "{}: {series:?}", one.reported);
            }
        }
    }

    #[test]
    fn names_of_faults_are_their_own_and_three_in_ten_are_in_no_table() {
        let causes: Vec<&InjectedFault> =
            READ_FAULTS.iter().filter(|injected_fault| !injected_fault.is_healthy).collect();
        let outside = causes.iter().filter(|injected_fault| injected_fault.causes.is_empty()).count();
        assert!(10 * outside >= 3 * causes.len(), "{outside} of {}", causes.len());
        for (place, injected_fault) in READ_FAULTS.iter().enumerate() {
            assert!(
                READ_FAULTS[..place].iter().all(|other| other.name != injected_fault.name),
                "{}",
                injected_fault.name
            );
        }
    }
}
