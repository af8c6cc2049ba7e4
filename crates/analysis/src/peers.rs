//! Which of several clients is slower than its peers, beyond chance.
//!
//! Clients that share a target alike differ in throughput by chance, by their place in the network and by their
//! machines. What that spread is, the clients themselves say: the median of all and the median distance from it
//! (Hampel, JASA 69, 1974), which a few slow ones do not move, and which is taken to be no less than the standard
//! error of a client's own mean. A client is slower than its peers where it lies below the median by more than
//!
//! - so many spreads as the slowest of `n` peers exceeds in one run of a hundred: Student's t at `0.37 (n − 1)` degrees
//!   of freedom, since a median distance is worth so little of a standard deviation, at one hundredth divided by `n`
//!   and by the number of points that are looked at (Bonferroni);
//! - and a tenth of the median: less is no reason to look at a machine.
//!
//! Below [`PEERS_MIN`] clients there is no spread to be told. How often it calls one of clients that are alike:
//! `docs/method/clients.md`.

use crate::student;

/// Fewest clients of which one can be told apart.
pub const PEERS_MIN: usize = 5;

/// Share of the median by which a client must be slower.
pub const SLOWER: f64 = 0.10;

/// Probability that one of clients that are alike is called slow, in a run.
const FALSE_CALLS: f64 = 0.01;

/// The median distance from the median, as a multiple of which it is a normal distribution's standard deviation.
const NORMAL: f64 = 1.4826;

/// Of how many degrees of freedom for each value the median distance knows: its asymptotic efficiency.
const EFFICIENCY: f64 = 0.37;

/// The throughput of one client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeerRate {
    /// Its mean.
    pub throughput: f64,
    /// The standard error of that; `None` where it is not known.
    pub error: Option<f64>,
}

/// What all clients have in common, and which of them have less.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerSpread {
    /// The median throughput.
    pub median: f64,
    /// Below it a client is slower than its peers.
    pub bound: f64,
    /// Which are, by their place.
    pub slow: Vec<usize>,
}

/// Which of the clients of one point are slower than their peers, where so many points are looked at; `None` with too
/// few clients.
#[must_use]
pub fn slower(peers: &[PeerRate], points: usize) -> Option<PeerSpread> {
    let n = peers.len();
    if n < PEERS_MIN {
        return None;
    }
    let median = median(peers.iter().map(|peer| peer.throughput).collect())?;
    let away = self::median(peers.iter().map(|peer| (peer.throughput - median).abs()).collect())?;
    let own = self::median(peers.iter().filter_map(|peer| peer.error).collect()).unwrap_or(0.0);
    let spread = (NORMAL * corrected(n) * away).max(own);
    let freedom = EFFICIENCY * (n - 1) as f64;
    let p = FALSE_CALLS / (n * points.max(1)) as f64;
    let bound = median - (student::quantile(1.0 - p, freedom) * spread).max(SLOWER * median);
    let slow = (0..n).filter(|&i| peers[i].throughput < bound).collect();
    Some(PeerSpread { median, bound, slow })
}

/// The median distance of few values is too small by this factor (Croux and Rousseeuw, COMPSTAT 1992, beyond nine).
fn corrected(n: usize) -> f64 {
    match n {
        5 => 1.206,
        6 => 1.200,
        7 => 1.140,
        8 => 1.129,
        9 => 1.107,
        _ => n as f64 / (n as f64 - 0.8),
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let (low, high) = (values.get(values.len().checked_sub(1)? / 2)?, values.get(values.len() / 2)?);
    Some(0.5 * (low + high))
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
