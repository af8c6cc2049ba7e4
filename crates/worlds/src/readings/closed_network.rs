//! How much passes when so many requests are under way: stations that serve them one after the other, in a closed loop.
//!
//! A request visits every station for the mean time that a request takes of it. What waits where follows from mean
//! values (Schweitzer, 1979): one that comes finds what is there on average, but for itself.

/// Requests a second and what stands at each station, kept from one instant to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Circulation {
    /// Requests a second.
    pub(super) per_s: f64,
    /// Requests that wait at each station or are served by it.
    pub(super) queued: Vec<f64>,
}

/// Looks at the stations again and again until so little changes.
const SETTLED: f64 = 2e-4;

const ROUNDS: usize = 400;

impl Circulation {
    /// Settles with `requests` under way, each of which takes `demands` of stations and `apart_s` of nobody.
    pub(super) fn settle(&mut self, demands: &[f64], requests: f64, apart_s: f64) {
        if self.queued.len() != demands.len() {
            let all: f64 = demands.iter().sum::<f64>().max(f64::MIN_POSITIVE);
            self.queued = demands.iter().map(|demand| 0.5 * requests * demand / all).collect();
            self.per_s = 0.0;
        }
        let others = (requests - 1.0).max(0.0) / requests.max(1e-9);
        for _ in 0..ROUNDS {
            let mut takes_s = apart_s;
            for (demand, queued) in demands.iter().zip(&mut self.queued) {
                *queued = demand * (1.0 + others * *queued);
                takes_s += *queued;
            }
            let per_s = requests / takes_s.max(f64::MIN_POSITIVE);
            self.queued.iter_mut().for_each(|queued| *queued *= per_s);
            let is_settled = (per_s - self.per_s).abs() <= SETTLED * per_s;
            self.per_s = per_s;
            if is_settled {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_requests_take_their_time_alone_and_many_fill_the_narrowest_station() {
        let demands = [0.01, 0.02, 0.005];
        let mut flow = Circulation::default();
        flow.settle(&demands, 1.0, 0.065);
        assert!((flow.per_s - 10.0).abs() < 0.01, "{}", flow.per_s);
        flow.settle(&demands, 400.0, 0.065);
        assert!((flow.per_s - 50.0).abs() < 0.5, "{}", flow.per_s);
        assert!(flow.queued[1] > 350.0, "{:?}", flow.queued);
        let under_way: f64 = flow.queued.iter().sum::<f64>() + 0.065 * flow.per_s;
        assert!((under_way - 400.0).abs() < 1.0, "{under_way}");
    }

    #[test]
    fn stations_alike_share_what_waits() {
        let mut flow = Circulation::default();
        flow.settle(&[0.01; 8], 80.0, 0.0);
        // Known exactly for balanced ones: N / (N + M − 1) of the most.
        assert!((flow.per_s / 100.0 - 80.0 / 87.0).abs() < 0.01, "{}", flow.per_s);
    }
}
