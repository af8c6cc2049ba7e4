//! What is asked of a Prometheus and what is read from its pages.

mod exported;
mod pages;
mod requested;
