//! Reports as text, HTML, JSON, CSV and metrics.

mod bounded;
mod experiments;
mod fixture;
mod golden_file;
mod junit_cases;
mod linked;
mod listed;
mod nets;
mod outputs;
mod planned;
mod plans;
mod rolled;
mod rollouts;
mod screens;
mod tried;
mod visits;
