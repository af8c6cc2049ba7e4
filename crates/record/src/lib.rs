//! The words of linerate that cross a disk or a wire.
//!
//! Admission test: does this type end up in a run folder, in a report's JSON, or on a command line, or do rooms agree
//! on it that do not know each other (the catalogue and the machine, on a [`knob::Knob`])? If not, it lives with the
//! code that uses it. There is no behaviour here but parsing, units, comparing, display, the counts of intervals, and
//! draws from a seed.

pub mod audit;
pub mod canary;
pub mod checkup;
pub mod device_name;
pub mod diagnosis;
pub mod discovery;
pub mod experiment;
pub mod explanation;
pub mod finding;
pub mod fingerprint;
pub mod fleet;
pub mod histogram;
pub mod journal;
pub mod knob;
pub mod lines;
pub mod load;
pub mod machine;
pub mod maybe_known;
pub mod net;
pub mod op;
pub mod plan;
pub mod plausibility;
pub mod ranges;
pub mod reading;
pub mod readings;
pub mod rng;
pub mod rollout;
pub mod run;
pub mod sanitize;
pub mod shell;
pub mod site;
pub mod slo;
pub mod tcp_info;
pub mod threshold;
pub mod units;

/// Whether a field may be left out of a file: it has the value that it gets where it is missing.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
