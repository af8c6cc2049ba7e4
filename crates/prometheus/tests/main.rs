//! What is asked of a Prometheus and what is read from its pages.

mod asked;
mod exported;
mod pages;
