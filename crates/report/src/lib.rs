//! A view as JSON, CSV, terminal text, JUnit's XML and one self-contained HTML page; a run that goes on as OpenMetrics;
//! a plan and an explanation as JSON, text and page.
//!
//! Formats; computes nothing: every figure printed here stands in the [`View`], the plan or the explanation, rounded
//! for people, or is a difference or a share of two that do. The HTML pages carry each exact figure beside the rounded
//! one, in `data-` attributes, so that the two can be compared.

pub mod audit;
pub mod comparison;
mod csv;
pub mod experiment;
pub mod explanation;
mod html;
mod json;
mod junit;
pub mod openmetrics;
pub mod plan;
pub mod runs;
pub mod terminal;
mod words;

#[doc(no_inline)]
pub use linerate_analysis::view::View;

pub use crate::csv::csv;
pub use crate::html::html;
pub use crate::json::json;
pub use crate::junit::junit;
