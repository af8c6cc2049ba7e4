//! Tables of what came of it, with the error of every share in them.

use std::env;
use std::fmt::Write as _;

/// How often a row is tried: `few`, unless `LINERATE_WORLDS` says it, since a table is to be made.
#[must_use]
pub fn tries(few: u64) -> u64 {
    env::var("LINERATE_WORLDS").ok().and_then(|text| text.parse().ok()).unwrap_or(few)
}

/// The largest share of `n` that 5 % gives but one time in two hundred.
#[must_use]
pub fn most_of_5_percent(n: u64) -> f64 {
    0.05 + 2.576 * (0.05 * 0.95 / n as f64).sqrt()
}

/// Whether something held, so and so many times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldShare {
    /// How often it was tried.
    pub count: u64,
    /// How often it held.
    pub held: u64,
}

impl HeldShare {
    pub fn add(&mut self, held: bool) {
        self.count += 1;
        self.held += u64::from(held);
    }

    /// The share, from 0 to 1.
    #[must_use]
    pub fn value(self) -> f64 {
        self.held as f64 / self.count.max(1) as f64
    }

    /// Its interval at 95 % (Wilson, JASA 22, 1927).
    #[must_use]
    pub fn interval(self) -> (f64, f64) {
        const Z: f64 = 1.96;
        let (n, p) = (self.count.max(1) as f64, self.value());
        let middle = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
        let half = Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
        ((middle - half).max(0.0), (middle + half).min(1.0))
    }

    /// In hundredths: `94.2 (92.1 to 95.8) of 700`.
    #[must_use]
    pub fn in_words(self) -> String {
        if self.count == 0 {
            return "none".to_owned();
        }
        let (low, high) = self.interval();
        format!("{:.1} ({:.1} to {:.1}) of {}", 100.0 * self.value(), 100.0 * low, 100.0 * high, self.count)
    }
}

/// A table in Markdown under its name, by which `cargo labs worlds` finds it among what tests print.
#[must_use]
pub fn table(name: &str, heading: &str, columns: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = format!("<!-- {name} -->\n# {heading}\n\n| {} |\n", columns.join(" | "));
    let _ = writeln!(text, "|{}", "---|".repeat(columns.len()));
    rows.iter().for_each(|row| text.push_str(&format!("| {} |\n", row.join(" | "))));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_told_with_wilsons_interval() {
        let mut share = HeldShare::default();
        assert_eq!(share.in_words(), "none");
        (0..20).for_each(|i| share.add(i < 19));
        assert_eq!(share.in_words(), "95.0 (76.4 to 99.1) of 20");
    }

    #[test]
    fn a_table_is_markdown_under_its_name() {
        let text = table("means", "Means", &["world", "covers"], &[vec!["calm".into(), "95".into()]]);
        assert_eq!(text, "<!-- means -->\n# Means\n\n| world | covers |\n|---|---|\n| calm | 95 |\n");
    }
}
