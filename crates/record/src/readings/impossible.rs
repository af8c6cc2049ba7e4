//! Values that no reading can be: they are left out, counted and told.

use std::collections::{BTreeMap, BTreeSet};

use super::{ReadMeasure, Readings, VALUE_MAX};
use crate::sanitize::named_some;

/// Whether a value can be one of a reading.
#[must_use]
pub fn is_reading(value: f64) -> bool {
    (0.0..=VALUE_MAX).contains(&value)
}

/// What was left out, by what it would be a reading of.
#[derive(Clone, Debug, Default)]
pub struct ImpossibleValues(BTreeMap<ReadMeasure, (u64, BTreeSet<String>)>);

impl ImpossibleValues {
    pub fn add(&mut self, of: ReadMeasure, machine: &str) {
        let (count, machines) = self.0.entry(of).or_default();
        *count += 1;
        if !machines.contains(machine) {
            machines.insert(machine.to_owned());
        }
    }

    /// What is to be told of them, a sentence for each measure.
    pub fn remarks(&self) -> impl Iterator<Item = String> + '_ {
        self.0.iter().map(|(of, (count, machines))| {
            let machines = named_some(machines.iter().map(String::as_str));
            let what = if *count == 1 { "value" } else { "values" };
            format!("{count} {what} of {:?} of {machines} cannot be (below 0, or above 1e15): left out", of.name())
        })
    }
}

impl Readings {
    /// Leaves out values that no reading can be, with a remark that counts them.
    pub fn leave_out_impossible(&mut self) {
        let mut left_out = ImpossibleValues::default();
        for series in &mut self.series {
            for cell in &mut series.values {
                if cell.is_some_and(|value| !is_reading(value)) {
                    *cell = None;
                    left_out.add(series.of, &series.machine);
                }
            }
        }
        self.remarks.extend(left_out.remarks());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readings::ReadSeries;

    #[test]
    fn values_that_cannot_be_are_left_out_counted_and_named() {
        let one = |machine: &str, values: &[f64]| ReadSeries {
            of: ReadMeasure::ClientSent,
            machine: machine.to_owned(),
            part: String::new(),
            values: values.iter().copied().map(Some).collect(),
        };
        let series = vec![one("n1", &[-5.0, 7.0]), one("n2", &[1e308, f64::NAN]), one("n3", &[0.0, VALUE_MAX])];
        let mut readings = Readings { schema: 1, step_ms: 1_000, steps: 2, series, ..Readings::default() };
        assert!(readings.check().is_err());
        readings.leave_out_impossible();
        assert_eq!(readings.check(), Ok(()));
        assert_eq!(readings.series[0].values, [None, Some(7.0)]);
        assert_eq!(
            readings.remarks,
            ["3 values of \"sent to clients\" of n1, n2 cannot be (below 0, or above 1e15): left out"]
        );
    }
}
