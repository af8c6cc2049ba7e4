//! A part of a window: what happened before it and behind it takes part in nothing, as far as rates are over times that
//! are shorter than it.

use super::Readings;
use crate::units::{duration_ns, utc};

/// Fewest instants of which anything can be said.
const STEPS_LEAST: usize = 4;

/// A part that is so many times as long as a rate is a mean over begins with the first rate that is of it alone, as
/// windows that are asked for do.
const RATES_LEAST: i64 = 3;

fn at(unix_ms: i64) -> String {
    utc(u64::try_from(unix_ms).unwrap_or(0))
}

impl Readings {
    /// Keeps the instants from one to another, in milliseconds since 1970, both included; one that is not given is the
    /// end of the window. The first instants of a part are left out where their rates reach before it; of a short part
    /// they stay, with a warning. What sockets did is known of the whole window alone: of a part, it is left out, with
    /// a warning. Series without a value in the part are none of it.
    ///
    /// # Errors
    /// Where fewer than four instants are left: what was asked for, and the window.
    pub fn narrow(&mut self, from_unix_ms: Option<i64>, to_unix_ms: Option<i64>) -> Result<(), String> {
        let (begin, steps) = (self.begin_unix_ms, self.steps as usize);
        let last = self.at_unix_ms(steps.saturating_sub(1));
        let (from, to) = (from_unix_ms.unwrap_or(begin), to_unix_ms.unwrap_or(last));
        let span = |from: i64| {
            let is_within = |step: &usize| (from..=to).contains(&self.at_unix_ms(*step));
            let first = (0..steps).find(is_within).unwrap_or(steps);
            (first, (first..steps).take_while(is_within).count())
        };
        let over_ms = i64::try_from(self.rate_over_ms).unwrap_or(i64::MAX);
        let reaches_before = from > begin && over_ms > 0;
        let is_long = to.min(last).saturating_sub(from) >= over_ms.saturating_mul(RATES_LEAST);
        let of_it = Some(from.saturating_add(over_ms)).filter(|_| reaches_before && is_long).map(span);
        let of_it = of_it.filter(|(_, kept)| *kept >= STEPS_LEAST);
        let (first, kept) = of_it.unwrap_or_else(|| span(from));
        if kept < STEPS_LEAST {
            return Err(format!(
                "{kept} of its instants are from {} to {}, and {STEPS_LEAST} are needed: it has {steps}, from {} to {}",
                at(from),
                at(to),
                at(begin),
                at(last)
            ));
        }
        if kept == steps {
            return Ok(());
        }
        for series in &mut self.series {
            series.values = series.values.get(first..first + kept).map(<[_]>::to_vec).unwrap_or_default();
        }
        // Of a machine that was not read meanwhile, nothing is known: as where that part had been asked for.
        self.series.retain(|series| series.values.iter().any(Option::is_some));
        if !self.warnings.is_empty() {
            self.warnings.push(
                "the warnings before this are of the whole recording: times that they name may be outside of this part"
                    .to_owned(),
            );
        }
        if reaches_before && of_it.is_none() {
            self.warnings.push(format!(
                "this part of the recording is short: rates are means over {}, and its first ones reach before it",
                duration_ns(self.rate_over_ms as f64 * 1e6)
            ));
        }
        self.begin_unix_ms = self.at_unix_ms(first);
        self.steps = u32::try_from(kept).unwrap_or(u32::MAX);
        if !self.sockets.is_empty() {
            self.sockets.clear();
            self.warnings.push(
                "what sockets did was read as sums over the whole recording: of a part of it they tell nothing, and \
                 are left out"
                    .to_owned(),
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readings::{READINGS_SCHEMA, ReadMeasure, ReadSeries, SocketRead};

    fn recorded() -> Readings {
        let values = (0..10).map(|step| Some(f64::from(step))).collect();
        let series = ReadSeries { of: ReadMeasure::LinkSent, machine: "n1".to_owned(), part: String::new(), values };
        Readings {
            schema: READINGS_SCHEMA,
            begin_unix_ms: 1_000_000,
            step_ms: 1_000,
            steps: 10,
            series: vec![series],
            sockets: vec![SocketRead::default()],
            ..Readings::default()
        }
    }

    #[test]
    fn a_part_of_a_window_has_its_instants_alone() {
        for (from, to, first, steps) in [
            (Some(1_002_000), Some(1_006_999), 2, 5),
            (None, Some(1_003_000), 0, 4),
            (Some(1_005_500), None, 6, 4),
            (None, None, 0, 10),
            (Some(0), Some(i64::MAX), 0, 10),
        ] {
            let mut readings = recorded();
            assert_eq!(readings.narrow(from, to), Ok(()), "{from:?} {to:?}");
            assert_eq!((readings.begin_unix_ms, readings.steps), (1_000_000 + 1_000 * first, steps));
            assert_eq!(readings.series[0].values[0], Some(first as f64), "{from:?} {to:?}");
            assert_eq!(readings.check(), Ok(()));
            // Sums over the whole are none of a part.
            assert_eq!((readings.sockets.len(), readings.warnings.len()), if steps == 10 { (1, 0) } else { (0, 1) });
        }
    }

    #[test]
    fn rates_that_reach_before_a_part_are_none_of_it_unless_it_is_short() {
        for (rate_over_ms, from, to, first, steps, warnings) in [
            (2_000, Some(1_002_000), None, 4, 6, 0),
            (1_000, Some(1_002_000), Some(1_008_000), 3, 6, 0),
            // Of the recording, the first rates are of it alone.
            (2_000, None, Some(1_006_000), 0, 7, 0),
            (4_000, Some(1_002_000), None, 2, 8, 1),
            (1_000, Some(1_006_000), None, 6, 4, 1),
        ] {
            let mut readings = Readings { rate_over_ms, sockets: Vec::new(), ..recorded() };
            assert_eq!(readings.narrow(from, to), Ok(()), "{rate_over_ms} {from:?} {to:?}");
            let found = (readings.begin_unix_ms, readings.steps, readings.warnings.len());
            assert_eq!(found, (1_000_000 + 1_000 * first, steps, warnings), "{rate_over_ms} {from:?} {to:?}");
            assert_eq!(readings.check(), Ok(()));
        }
    }

    #[test]
    fn a_machine_that_was_not_read_in_a_part_is_none_of_it_and_older_warnings_are_told_apart() {
        let mut readings = recorded();
        let mut gone = readings.series[0].clone();
        gone.machine = "n2".to_owned();
        gone.values[5..].fill(None);
        readings.series.push(gone);
        readings.warnings.push("nothing is known of n2 from 1970-01-01 00:16:45 UTC on".to_owned());
        let mut begin = readings.clone();
        assert_eq!((readings.narrow(Some(1_006_000), None), begin.narrow(None, Some(1_004_000))), (Ok(()), Ok(())));
        assert_eq!((readings.machines().len(), begin.machines().len()), (1, 2));
        assert!(readings.warnings[1].contains("are of the whole recording"), "{:?}", readings.warnings);
    }

    #[test]
    fn a_part_that_holds_too_little_is_refused_with_both_windows() {
        for (from, to) in [(Some(1_007_000), None), (Some(2_000_000), None), (Some(1_008_000), Some(1_002_000))] {
            let mut readings = recorded();
            let why = readings.narrow(from, to).unwrap_err();
            assert!(why.contains("it has 10, from 1970-01-01 00:16:40 UTC to 1970-01-01 00:16:49 UTC"), "{why}");
            assert_eq!(readings, recorded(), "what is refused stays as it was");
        }
    }
}
