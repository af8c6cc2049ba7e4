//! The files that deploy a site, and what they say.

mod foundations;
mod observed;
mod promql;
mod provisioned;
mod rendered;
mod settings;
mod variants;
