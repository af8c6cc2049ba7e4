//! Where tables go.

pub(crate) use linerate_worlds::{HeldShare, tries};

/// Prints a table, which `cargo labs worlds` finds by its name.
pub(crate) fn publish(name: &str, heading: &str, columns: &[&str], rows: &[Vec<String>]) {
    println!("{}", linerate_worlds::table(name, heading, columns, rows));
}
