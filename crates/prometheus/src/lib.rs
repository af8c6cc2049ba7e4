//! Readings of a cluster out of a Prometheus, or of what answers as one does: nothing is changed there, and what is
//! read is bounded in bytes, series and time.
//!
//! [`series_table`] has the names: what is asked for, of which exporter, and what it is a reading of.
//! [`gather`](gather()) asks for all of it over a window and makes [`Readings`](linerate_record::readings::Readings) of
//! the answers. [`metrics_pages`] reads engines' own pages by the same names, where no Prometheus does. No value is
//! judged here.

pub mod address;
mod api_response;
mod error;
pub mod exposition;
mod failed_queries;
mod gather;
mod http_call;
mod machine_labels;
pub mod metrics_pages;
mod missing_labels;
pub mod name_map;
mod scrape_gaps;
pub mod series_table;

pub use error::PrometheusError;
pub use gather::{GatheredWindow, gather};
pub use http_call::{ANSWERS_IN_ALL, PrometheusAccess, PrometheusRequest, PrometheusServer};
