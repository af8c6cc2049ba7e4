//! What a scraper makes of counters: looks at them at its own times, misses some, and tells rates over several looks.

use crate::rng::SeededRng;

/// When each machine is looked at, and over what rates are told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scraper {
    /// Between two looks, in seconds.
    pub(super) interval_s: f64,
    /// Instants that are asked for, an interval apart.
    pub(super) steps: usize,
    /// Intervals before the first of them.
    pub(super) before: usize,
    /// Intervals that a rate is over.
    pub(super) over: f64,
    /// Parts of an interval that the world is told in.
    pub(super) parts: usize,
    /// Share of looks that fail.
    pub(super) missed: f64,
}

/// A clock that says so many seconds more from an instant on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClockJump {
    pub(super) from_s: f64,
    pub(super) by_s: f64,
}

impl Scraper {
    /// Parts that the world is told in.
    pub(super) fn all_parts(&self) -> usize {
        (self.before + self.steps) * self.parts
    }

    /// Seconds of a part.
    pub(super) fn part_s(&self) -> f64 {
        self.interval_s / self.parts as f64
    }

    /// Looks at one machine: the true time of each, and what the scraper takes it for.
    pub(super) fn looks(&self, rng: &mut SeededRng, jump: ClockJump) -> Vec<(f64, f64)> {
        let offset = rng.unit() * self.interval_s;
        let last = self.all_parts() as f64 * self.part_s();
        let mut looks: Vec<(f64, f64)> = Vec::new();
        for look in 0..self.before + self.steps {
            let at = (look as f64 * self.interval_s + offset + rng.between(0.0, 0.02 * self.interval_s)).min(last);
            if !rng.happens(self.missed) {
                let reported = if jump.by_s != 0.0 && at >= jump.from_s { at + jump.by_s } else { at };
                // What is older than what is there is refused.
                if looks.last().is_none_or(|(_, last)| reported > *last) {
                    looks.push((at, reported));
                }
            }
        }
        looks
    }

    /// The instants that are asked for.
    fn requested(&self) -> impl Iterator<Item = f64> {
        let (before, interval_s) = (self.before, self.interval_s);
        (0..self.steps).map(move |step| (before + step + 1) as f64 * interval_s)
    }

    /// The counter of a rate at each look: it may begin anew at an instant.
    fn counted(&self, per_s: &[f64], looks: &[(f64, f64)], anew_s: Option<f64>) -> Vec<f64> {
        let mut sums = Vec::with_capacity(per_s.len() + 1);
        sums.push(0.0);
        for rate in per_s {
            sums.push(sums[sums.len() - 1] + rate * self.part_s());
        }
        let at = |time: f64| {
            let place = (time / self.part_s()).clamp(0.0, per_s.len() as f64);
            let below = (place.floor() as usize).min(per_s.len().saturating_sub(1));
            sums[below] + (place - below as f64) * (sums[below + 1] - sums[below])
        };
        let since = |time: f64| anew_s.filter(|anew| time >= *anew).map_or(0.0, at);
        looks.iter().map(|(time, _)| at(*time) - since(*time)).collect()
    }

    /// Rates of a counter at the instants that are asked for: what it grew by between the first and the last look, with
    /// what it lost where it began anew; none of fewer than two looks.
    pub(super) fn rates(&self, per_s: &[f64], looks: &[(f64, f64)], anew_s: Option<f64>) -> Vec<Option<f64>> {
        let counted = self.counted(per_s, looks, anew_s);
        let rate = |now: f64| {
            let within = |reported: f64| reported > now - self.over * self.interval_s && reported <= now;
            let places: Vec<usize> = (0..looks.len()).filter(|place| within(looks[*place].1)).collect();
            let (first, last) = (*places.first()?, *places.last()?);
            let lasted = looks[last].1 - looks[first].1;
            if lasted <= 0.0 {
                return None;
            }
            let mut grew = counted[last] - counted[first];
            for pair in places.windows(2) {
                if counted[pair[1]] < counted[pair[0]] {
                    grew += counted[pair[0]];
                }
            }
            Some(grew / lasted)
        };
        self.requested().map(rate).collect()
    }

    /// A gauge at the instants that are asked for: as it was at the last look, if that is not long ago.
    pub(super) fn gauge(&self, values: &[f64], looks: &[(f64, f64)]) -> Vec<Option<f64>> {
        let at = |now: f64| {
            let last = looks.iter().rev().find(|(_, reported)| *reported <= now && now - reported < 300.0)?;
            values.get(((last.0 / self.part_s()) as usize).min(values.len() - 1)).copied()
        };
        self.requested().map(at).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRAPER: Scraper = Scraper { interval_s: 15.0, steps: 20, before: 4, over: 4.0, parts: 2, missed: 0.1 };

    #[test]
    fn a_steady_counter_has_its_rate_whatever_looks_fail_and_where_it_begins_anew() {
        let looks = SCRAPER.looks(&mut SeededRng::new(1, 1), ClockJump::default());
        let rates = SCRAPER.rates(&vec![100.0; SCRAPER.all_parts()], &looks, None);
        assert!(rates.len() == 20 && rates.iter().flatten().all(|rate| (rate - 100.0).abs() < 1e-6), "{rates:?}");
        let anew = SCRAPER.rates(&vec![100.0; SCRAPER.all_parts()], &looks, Some(200.0));
        let lost: Vec<f64> = anew.iter().flatten().copied().filter(|rate| *rate < 99.0).collect();
        // What was counted between the last look and the begin is lost, and nothing more.
        assert!(!lost.is_empty() && lost.len() <= 5 && lost.iter().all(|rate| *rate > 45.0), "{lost:?}");
    }

    #[test]
    fn a_clock_that_jumps_makes_a_rate_wrong_for_a_while() {
        let jump = ClockJump { from_s: 150.0, by_s: 20.0 };
        let looks = SCRAPER.looks(&mut SeededRng::new(1, 1), jump);
        let rates = SCRAPER.rates(&vec![100.0; SCRAPER.all_parts()], &looks, None);
        let wrong = rates.iter().filter(|rate| rate.is_none_or(|rate| (rate - 100.0).abs() > 5.0)).count();
        assert!((1..=5).contains(&wrong), "{rates:?}");
        assert_eq!(SCRAPER.gauge(&[3.0; 48], &looks).iter().flatten().count(), 20);
    }
}
