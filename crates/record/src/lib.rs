//! The words of linerate that cross a disk or a wire.
//!
//! Admission test: does this type end up in a run folder, in a report's JSON, or on a command line? If not, it lives
//! with the code that uses it. There is no behaviour here but parsing, units and display.

pub mod audit;
pub mod canary;
pub mod experiment;
pub mod explanation;
pub mod finding;
pub mod journal;
pub mod knob;
pub mod machine;
pub mod plan;
pub mod reading;
pub mod run;
pub mod shown;
pub mod site;
pub mod slo;
pub mod threshold;
pub mod units;
