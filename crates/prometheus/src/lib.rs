//! Readings of a cluster out of a Prometheus, or of what answers as one does: nothing is changed there, and what is
//! read is bounded in bytes, series and time.
//!
//! [`table`] has the names: what is asked for, of which exporter, and what it is a reading of. [`gather`](gather())
//! asks for all of it over a window and makes [`Readings`](linerate_record::readings::Readings) of the answers.
//! [`pages`] reads engines' own pages by the same names, where no Prometheus does. No value is judged here.

pub mod address;
mod answer;
mod call;
pub mod exposition;
mod fault;
mod gather;
mod holes;
pub mod naming;
pub mod pages;
pub mod table;
mod unlabelled;
mod unread;

pub use call::{AskedPrometheus, PrometheusAccess, PrometheusServer};
pub use fault::PrometheusFault;
pub use gather::{GatheredWindow, gather};
