//! A value of a reading, before it is one of a series.

use serde::{Deserialize, Serialize};

use super::ReadMeasure;

/// What one look at a machine gives of one part of it. A rate is over the time since the look before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadValue {
    pub of: ReadMeasure,
    /// Of which part of the machine: an interface, a drive, a program; empty where it is of the machine as a whole.
    pub part: String,
    /// In the measure's unit.
    pub value: f64,
}
