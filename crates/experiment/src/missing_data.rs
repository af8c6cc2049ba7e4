//! Figures that a table lacks. Slow runs are those that time out, so that what is left of an arm may be its better
//! runs: where one arm lacks more than the other, no comparison of the rest says anything of the arm.

use std::collections::BTreeSet;

use crate::table::TableRow;

/// Rows of one series at one concurrency, by what became of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConcurrencyRows<'a> {
    /// Those with a figure that counts.
    pub(crate) rows: Vec<&'a TableRow>,
    /// Those above what the link carries.
    pub(crate) refused: Vec<&'a TableRow>,
    /// Those without a figure.
    pub(crate) missing: Vec<&'a TableRow>,
}

impl<'a> ConcurrencyRows<'a> {
    /// Every row, whatever became of it.
    pub(crate) fn all(&self) -> impl Iterator<Item = &'a TableRow> + '_ {
        self.rows.iter().chain(&self.refused).chain(&self.missing).copied()
    }

    fn labels(&self, arm: &str) -> BTreeSet<&'a str> {
        self.rows.iter().filter(|row| row.arm == arm).map(|row| row.run.as_str()).collect()
    }
}

/// Figures that the arm lacks and the baseline has, and the other way round. In blocks: blocks in which one alone was
/// measured. Else: rows without a figure that counts, and runs that figures elsewhere in the series show to have been.
pub(crate) fn lacking(
    cells: &ConcurrencyRows<'_>,
    elsewhere: &[&ConcurrencyRows<'_>],
    arm: &str,
    baseline: &str,
    blocked: bool,
) -> [usize; 2] {
    if blocked {
        let (of_arm, of_base) = (cells.labels(arm), cells.labels(baseline));
        return [of_base.difference(&of_arm).count(), of_arm.difference(&of_base).count()];
    }
    [arm, baseline].map(|arm| {
        let of_arm = |row: &&TableRow| row.arm == arm;
        let reported = cells.all().filter(of_arm).count() - cells.rows.iter().copied().filter(of_arm).count();
        reported + not_written(cells, elsewhere, arm)
    })
}

/// Runs of an arm that most other places of the series have, and this one has no row of. Nothing where each place names
/// its runs anew.
fn not_written(cells: &ConcurrencyRows<'_>, elsewhere: &[&ConcurrencyRows<'_>], arm: &str) -> usize {
    let written = |cells: &ConcurrencyRows<'_>| -> BTreeSet<String> {
        let of_arm = cells.all().filter(|row| row.arm == arm && !row.run.is_empty());
        of_arm.map(|row| row.run.clone()).collect()
    };
    let here = written(cells);
    let others: Vec<BTreeSet<String>> = elsewhere.iter().map(|cells| written(cells)).collect();
    let known: BTreeSet<&String> = others.iter().flatten().collect();
    if known.iter().all(|label| !here.contains(*label)) {
        return 0;
    }
    let in_most = |label: &&String| 2 * others.iter().filter(|other| other.contains(*label)).count() > others.len();
    known.into_iter().filter(in_most).filter(|label| !here.contains(*label)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::read;

    fn cells(table: &crate::table::Table, concurrency: u32) -> ConcurrencyRows<'_> {
        let here = |row: &&TableRow| row.concurrency == Some(concurrency);
        let rows = table.rows.iter().filter(here).collect();
        ConcurrencyRows { rows, refused: Vec::new(), missing: table.missing.iter().filter(here).collect() }
    }

    #[test]
    fn what_one_arm_lacks_and_the_other_has_is_counted() {
        for (text, blocked, expected) in [
            ("a,4,1,9\nb,4,1,9\na,4,2,9\nb,4,2,\n", true, [1, 0]),
            ("a,4,1,9\nb,4,1,9\na,4,2,\nb,4,2,\n", true, [0, 0]),
            ("a,4,1,9\nb,4,1,9\nb,4,2,9\n", true, [0, 1]),
            ("a,4,1,9\na,4,2,9\nb,4,3,9\nb,4,4,\n", false, [1, 0]),
            // Run 2 of b is at 8 and 16, and not at 4; that a has one run more is its plan.
            ("a,4,1,9\na,4,2,9\nb,4,1,9\nb,8,1,9\nb,8,2,9\nb,16,1,9\nb,16,2,9\n", false, [1, 0]),
            ("a,4,1,9\na,4,2,9\na,4,3,9\nb,4,1,9\nb,8,1,9\na,8,1,9\na,8,2,9\na,8,3,9\n", false, [0, 0]),
            // Names that are used once say nothing of other places.
            ("a,4,1,9\nb,4,2,9\nb,8,3,9\na,8,4,9\n", false, [0, 0]),
        ] {
            let column = if blocked { "block" } else { "run" };
            let table = read(&format!("arm,concurrency,{column},value\n{text}")).unwrap();
            let others = [cells(&table, 8), cells(&table, 16)];
            let elsewhere: Vec<&ConcurrencyRows<'_>> =
                others.iter().filter(|cells| cells.all().next().is_some()).collect();
            assert_eq!(lacking(&cells(&table, 4), &elsewhere, "b", "a", blocked), expected, "{text:?}");
        }
    }
}
