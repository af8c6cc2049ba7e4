//! How often rows are tried, and where tables go.

use std::env;

pub(crate) use linerate_worlds::Share;

/// How many times each row is tried: few, unless a table is to be made of it.
pub(crate) fn runs(few: u64) -> u64 {
    env::var("LINERATE_WORLDS").ok().and_then(|text| text.parse().ok()).unwrap_or(few)
}

/// Prints a table, which `cargo xtask worlds` finds by its name.
pub(crate) fn publish(name: &str, heading: &str, columns: &[&str], rows: &[Vec<String>]) {
    println!("{}", linerate_worlds::table(name, heading, columns, rows));
}
