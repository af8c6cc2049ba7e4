//! Which of several clients is slower than its peers, beyond chance.
//!
//! Clients that share a target alike differ in throughput by chance, by their place in the network and by their
//! machines. What that spread is, the clients themselves say. The slowest is held against the mean and the standard
//! deviation of all, then the slowest of the rest against those of the rest, and so on for up to a quarter of them: the
//! last that lies too far below makes itself and all before it slow. So several slow ones do not hide each other behind
//! the spread that they make (the generalised extreme studentized deviate: Rosner, Technometrics 25, 1983). Too far is
//!
//! - what the slowest of clients that are alike exceeds in one run of a hundred, over all points that are looked at
//!   (Bonferroni), with a spread that is taken to be no less than the standard error of a client's own mean;
//! - and a tenth below the median: less is no reason to look at a machine.
//!
//! Below [`PEERS_MIN`] clients there is no spread to be told. How often it calls one of clients that are alike:
//! `docs/method/clients.md`.

use crate::median::median;
use crate::student;

/// Fewest clients of which one can be told apart.
pub const PEERS_MIN: usize = 5;

/// Share of the median by which a client must be slower.
pub const SLOWER: f64 = 0.10;

/// Probability that one of clients that are alike is called slow, in a run.
const FALSE_CALLS: f64 = 0.01;

/// One client in so many can be slow: of more, nobody says which are the usual ones.
const SLOW_MOST: usize = 4;

/// The throughput of one client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeerRate {
    pub throughput: f64,
    /// The standard error of that; `None` where it is not known.
    pub error: Option<f64>,
}

/// What all clients have in common, and which of them have less.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerSpread {
    pub median: f64,
    /// Below it a client is slower than those that are not.
    pub bound: f64,
    /// Which are, by their place.
    pub slow: Vec<usize>,
}

/// Which of the clients of one point are slower than their peers, where so many points are looked at; `None` with too
/// few clients.
#[must_use]
pub fn slower(peers: &[PeerRate], points: usize) -> Option<PeerSpread> {
    if peers.len() < PEERS_MIN {
        return None;
    }
    let median = median(peers.iter().map(|peer| peer.throughput).collect())?;
    let own = crate::median::median(peers.iter().filter_map(|peer| peer.error).collect()).unwrap_or(0.0);
    let mut order: Vec<usize> = (0..peers.len()).collect();
    order.sort_by(|&a, &b| peers[a].throughput.total_cmp(&peers[b].throughput));
    let sorted: Vec<f64> = order.iter().map(|&place| peers[place].throughput).collect();
    let bound = |slow: usize| {
        let of_rest = least_by_chance(&sorted[slow..], own, points);
        of_rest.min((1.0 - SLOWER) * median)
    };
    let slow = (0..peers.len() / SLOW_MOST).rev().find(|&at| sorted[at] < bound(at)).map_or(0, |last| last + 1);
    order.truncate(slow);
    order.sort_unstable();
    Some(PeerSpread { median, bound: bound(slow), slow: order })
}

/// What the slowest of clients that are alike falls short of with the probability of a false call: by Rosner's critical
/// value, from their mean.
fn least_by_chance(rest: &[f64], own_error: f64, points: usize) -> f64 {
    let n = rest.len() as f64;
    let mean = rest.iter().sum::<f64>() / n;
    let variance = rest.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let t = student::quantile(1.0 - FALSE_CALLS / (n * points.max(1) as f64), n - 2.0);
    let most = (n - 1.0) * t / ((n - 2.0 + t * t) * n).sqrt();
    mean - most * variance.sqrt().max(own_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peers(throughputs: &[f64]) -> Vec<PeerRate> {
        throughputs.iter().map(|&throughput| PeerRate { throughput, error: Some(1.0) }).collect()
    }

    #[test]
    fn a_client_at_a_third_is_slower_than_its_peers_and_none_of_alike_ones_is() {
        let mut of_eight = vec![100.0, 101.0, 99.0, 100.5, 98.0, 102.0, 100.0, 33.0];
        let found = slower(&peers(&of_eight), 1).unwrap();
        assert_eq!((found.median, &found.slow[..]), (100.0, &[7][..]), "{found:?}");
        of_eight[7] = 97.0;
        assert!(slower(&peers(&of_eight), 1).unwrap().slow.is_empty());
    }

    #[test]
    fn what_is_little_and_what_is_one_of_two_kinds_is_no_slow_client() {
        let mut many = vec![100.0; 64];
        many[9] = 91.0;
        assert!(slower(&peers(&many), 1).unwrap().slow.is_empty(), "nine hundredths");
        many[9] = 85.0;
        assert_eq!(slower(&peers(&many), 1).unwrap().slow, [9]);
        let halves: Vec<f64> = (0..64).map(|i| if i % 2 == 0 { 50.0 } else { 100.0 }).collect();
        assert!(slower(&peers(&halves), 1).unwrap().slow.is_empty());
        assert_eq!(slower(&peers(&[100.0, 100.0, 100.0, 10.0]), 1), None, "too few to say who is");
    }

    #[test]
    fn several_slow_ones_do_not_hide_each_other() {
        let mut many: Vec<f64> = (0..195).map(|i| 200.0 + f64::from(i % 7)).collect();
        (many[3], many[77], many[140]) = (70.0, 120.0, 60.0);
        assert_eq!(slower(&peers(&many), 5).unwrap().slow, [3, 77, 140]);
    }

    #[test]
    fn clients_whose_own_means_are_vague_are_not_told_apart() {
        let vague: Vec<PeerRate> = [100.0, 100.0, 100.0, 100.0, 100.0, 60.0]
            .map(|throughput| PeerRate { throughput, error: Some(20.0) })
            .into();
        assert!(slower(&vague, 1).unwrap().slow.is_empty());
    }
}
