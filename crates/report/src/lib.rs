//! A view as JSON, CSV, terminal text, JUnit's XML and one self-contained HTML page; a run that goes on as OpenMetrics;
//! a plan and an explanation as JSON, text and page.
//!
//! Formats: every figure printed here stands in the [`View`] or another JSON of linerate, or is a method of its types,
//! rounded for people. What is computed here are other units of the same figure, the rest of a share, times of day, how
//! many rows a list has, which of them are shown, and where charts and bars put their figures. The HTML pages carry
//! each exact figure beside the rounded one, in `data-` attributes, so that the two can be compared.

pub mod audit;
pub mod checkup;
pub mod cleaning;
mod colour;
pub mod comparison;
mod csv;
pub mod diagnosis;
mod diagnosis_sentences;
pub mod discovery;
pub mod dry_run;
pub mod evidence;
pub mod experiment;
pub mod explanation;
pub mod fleet;
mod html;
mod json;
mod junit;
pub mod knobs;
mod line_budget;
pub mod net;
pub mod openmetrics;
mod phrases;
pub mod plan;
pub mod rollout;
pub mod runs;
pub mod terminal;
pub mod tune;

#[doc(no_inline)]
pub use linerate_analysis::view::View;

pub use crate::csv::csv;
pub use crate::html::html;
pub use crate::json::json;
pub use crate::junit::junit;
