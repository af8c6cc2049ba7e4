//! Tables of runs that people have, as CSV.
//!
//! A row is a figure of one run. Columns: `arm` and `value`; where there are several, `series` (such as `get`) and
//! `concurrency`; `run`, or `block` where every arm ran once in each; `order`, the place in time of a row among all.
//! Values are rates, such as `91.9Gb/s` or `95MiB/s`, or all of them bare numbers; a run that failed has none. Lines
//! that begin with `#` are comments.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use linerate_record::units::{BitRate, ByteRate};

/// A table that cannot be read: the line, and what to write there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct TableError {
    /// Counted from 1, comments included.
    pub line: u64,
    /// What is wrong, and the fix.
    pub fault: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TableRow {
    /// Line in the file.
    pub line: u64,
    pub arm: String,
    /// What was measured; empty where the table has no such column.
    pub series: String,
    pub concurrency: Option<u32>,
    /// Name of the run or the block.
    pub run: String,
    pub order: Option<u32>,
    /// Bits per second, or a bare number; 0 of a row without one.
    pub value: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Those with a value, in the order of the file.
    pub rows: Vec<TableRow>,
    pub missing: Vec<TableRow>,
    /// Whether values are bits per second, and not bare numbers.
    pub bits_per_s: bool,
    /// Whether rows are told by block.
    pub blocked: bool,
}

/// Columns that a table may have.
const COLUMNS: [&str; 7] = ["arm", "series", "concurrency", "run", "block", "order", "value"];

/// Rows and arms that a table may have: each arm is held against each other one, and each row is drawn many times.
const ROWS_MAX: usize = 4_000;
const ARMS_MAX: usize = 100;

/// What a value may be, in bits per second or as a bare number: ratios of such values are finite.
const VALUES: RangeInclusive<f64> = 1e-12..=1e18;

/// Reads a table.
///
/// # Errors
/// [`TableError`] at the first line that is not understood, or that is beyond what a table may have.
pub fn read(text: &str) -> Result<Table, TableError> {
    let mut reader = csv::ReaderBuilder::new();
    // Lines of too few or too many cells are told by their line.
    reader.flexible(true).comment(Some(b'#')).trim(csv::Trim::All);
    let mut reader = reader.from_reader(text.as_bytes());
    let heads = reader.headers().map_err(|e| of_csv(&e))?.clone();
    let head_line = reader.position().line().saturating_sub(1).max(1);
    let wrong = |line: u64, fault: String| TableError { line, fault };
    let unknown = heads.iter().find(|head| !COLUMNS.contains(&head.to_ascii_lowercase().as_str()));
    if let Some(head) = unknown {
        return Err(wrong(head_line, format!("unknown column {head:?}: write some of {}", COLUMNS.join(", "))));
    }
    let is_again = |at: &usize| heads.iter().take(*at).any(|head| head.eq_ignore_ascii_case(&heads[*at]));
    if let Some(twice) = (0..heads.len()).find(is_again) {
        return Err(wrong(head_line, format!("column {:?} is there twice: leave one", &heads[twice])));
    }
    let place = |name: &str| heads.iter().position(|head| head.eq_ignore_ascii_case(name));
    let (Some(arm), Some(value)) = (place("arm"), place("value")) else {
        let fix = "write a first line such as arm,concurrency,run,order,value";
        return Err(wrong(head_line, format!("no column \"arm\" or \"value\": {fix}")));
    };
    if place("run").is_some() && place("block").is_some() {
        return Err(wrong(head_line, "both \"run\" and \"block\": keep the one that tells rows apart".to_owned()));
    }
    let (mut rows, mut missing, mut bits_per_s) = (Vec::new(), Vec::new(), None);
    let mut arms = BTreeSet::new();
    for record in reader.records() {
        let record = record.map_err(|e| of_csv(&e))?;
        let line = record.position().map_or(0, |at| line_number(text, at));
        if record.len() != heads.len() {
            let (got, named) = (record.len(), heads.len());
            let fix = "write a cell for each column, empty if there is no value";
            return Err(wrong(line, format!("cells: {got}, and the first line names {named} columns: {fix}")));
        }
        let cell = |at: Option<usize>| at.and_then(|at| record.get(at)).unwrap_or_default();
        let whole = |name: &str| whole(cell(place(name)), name).map_err(|fault| wrong(line, fault));
        let name = cell(Some(arm)).to_owned();
        if name.is_empty() {
            return Err(wrong(line, "no arm: write its name in the column \"arm\"".to_owned()));
        }
        arms.insert(name.clone());
        if arms.len() > ARMS_MAX || rows.len() + missing.len() == ROWS_MAX {
            let fault = format!("a table has at most {ROWS_MAX} rows of {ARMS_MAX} arms: analyze its parts one by one");
            return Err(wrong(line, fault));
        }
        let (concurrency, order) = (whole("concurrency")?, whole("order")?);
        let run = cell(place("block").or(place("run"))).to_owned();
        let series = cell(place("series")).to_owned();
        let row = TableRow { line, arm: name, series, concurrency, run, order, value: 0.0 };
        if cell(Some(value)).is_empty() {
            missing.push(row);
            continue;
        }
        let (value, is_rate) = rate(cell(Some(value))).map_err(|fault| wrong(line, fault))?;
        if *bits_per_s.get_or_insert(is_rate) != is_rate {
            let fault = format!(
                "{:?} among values of another kind: write a unit in every row, or in none",
                cell(place("value"))
            );
            return Err(wrong(line, fault));
        }
        rows.push(TableRow { value, ..row });
    }
    let table = Table { rows, missing, bits_per_s: bits_per_s.unwrap_or(false), blocked: place("block").is_some() };
    require_once(&table)?;
    Ok(table)
}

/// The line of a record: the reader's place is that of the comments before it.
fn line_number(text: &str, at: &csv::Position) -> u64 {
    let rest = usize::try_from(at.byte()).ok().and_then(|byte| text.get(byte..)).unwrap_or_default();
    at.line() + rest.lines().take_while(|line| line.is_empty() || line.starts_with('#')).count() as u64
}

fn of_csv(error: &csv::Error) -> TableError {
    TableError { line: error.position().map_or(1, csv::Position::line), fault: error.to_string() }
}

fn whole(cell: &str, name: &str) -> Result<Option<u32>, String> {
    if cell.is_empty() {
        return Ok(None);
    }
    cell.parse().map(Some).map_err(|_| format!("invalid {name} {cell:?}: write a whole number, such as 16"))
}

/// Bits per second and true, or a bare number and false.
fn rate(cell: &str) -> Result<(f64, bool), String> {
    let bare = cell.parse::<f64>().ok().map(|value| (value, false));
    let bits = || cell.parse::<BitRate>().ok().map(|rate| (rate.0, true));
    let bytes = || cell.parse::<ByteRate>().ok().map(|rate| (8.0 * rate.0, true));
    let positive = |(value, _): &(f64, bool)| value.is_finite() && *value > 0.0;
    let (value, is_rate) = bare.or_else(bits).or_else(bytes).filter(positive).ok_or_else(|| {
        format!("invalid value {cell:?}: write a rate above 0 such as 91.9Gb/s or 95MiB/s, or a number without a unit")
    })?;
    if VALUES.contains(&value) {
        return Ok((value, is_rate));
    }
    let (least, most) = (VALUES.start(), VALUES.end());
    Err(format!("value {cell:?} is out of range: write {least:e} to {most:e}, such as 91.9Gb/s"))
}

/// Within a block, an arm is measured once in each series and at each concurrency; no two of its rows have one place
/// in time.
fn require_once(table: &Table) -> Result<(), TableError> {
    let (mut places, mut all) = (BTreeSet::new(), table.rows.iter().chain(&table.missing));
    let again = all.find(|&row| match row.order {
        Some(order) => !places.insert((&row.series, row.concurrency, order)),
        None => false,
    });
    if let Some((row, order)) = again.and_then(|row| Some((row, row.order?))) {
        let fix = "number the rows of a series in the order in which they ran";
        return Err(TableError { line: row.line, fault: format!("order {order} is there before: {fix}") });
    }
    let mut seen = BTreeSet::new();
    let mut all = table.rows.iter().chain(&table.missing);
    match all.find(|&row| !seen.insert((&row.arm, &row.series, row.concurrency, &row.run))) {
        Some(row) if table.blocked => Err(TableError {
            line: row.line,
            fault: format!("{:?} is twice in block {:?}: give each block every arm once", row.arm, row.run),
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_of_any_unit_become_bits_and_numbers_stay() {
        let table = read("# by hand\nArm, Value ,order\na,1Gb/s,1\nb,125MB/s,2\n").unwrap();
        assert_eq!(table.rows.iter().map(|row| row.value).collect::<Vec<_>>(), [1e9, 1e9]);
        assert!(table.bits_per_s && !table.blocked && table.rows[1].order == Some(2) && table.rows[1].line == 4);
        let failed = read("arm,value\na,95\nb,\n").unwrap();
        assert_eq!((failed.rows.len(), failed.missing.len(), failed.missing[0].line), (1, 1, 3));
        let bare = read("arm,value\na,95\n").unwrap();
        assert!(!bare.bits_per_s && bare.rows[0].value == 95.0);
    }

    #[test]
    fn a_mistake_is_told_with_its_line_and_the_fix() {
        for (text, line, part) in [
            ("arm,value,value\na,1,2\n", 1, "column \"value\" is there twice: leave one"),
            ("arm,value,order\na,1,1\nb,2,1\n", 3, "order 1 is there before"),
            ("arm,value\na,1\nb\n", 3, "cells: 1, and the first line names 2 columns: write a cell for each"),
            ("arm,value\na,1,2\n", 2, "cells: 3, and the first line names 2 columns: write a cell"),
            ("arm,speed\na,1\n", 1, "unknown column \"speed\": write some of arm"),
            ("arm,run\na,1\n", 1, "no column \"arm\" or \"value\""),
            ("arm,run,block,value\na,1,1,1\n", 1, "both \"run\" and \"block\""),
            ("arm,value\na,1\n,2\n", 3, "no arm"),
            ("arm,value\n# more\na,fast\n", 3, "invalid value \"fast\": write a rate above 0"),
            ("arm,value\na,-1\n", 2, "invalid value \"-1\""),
            ("arm,value\na,1\nb,1e300\n", 3, "value \"1e300\" is out of range: write 1e-12 to 1e18"),
            ("arm,value\na,1\nb,2Gb/s\n", 3, "\"2Gb/s\" among values of another kind"),
            ("arm,concurrency,value\na,many,1\n", 2, "invalid concurrency \"many\""),
            ("arm,block,value\na,1,1\na,1,2\n", 3, "\"a\" is twice in block \"1\""),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.line == line && error.fault.contains(part), "{text:?}: {error}");
        }
    }

    #[test]
    fn tables_beyond_their_bounds_are_refused_at_the_first_line_that_is_too_much() {
        let table = |rows: u32, arms: u32| {
            let row = |n: u32| format!("a{},{n},1\n", n % arms);
            "arm,run,value\n".to_owned() + &(0..rows).map(row).collect::<String>()
        };
        assert_eq!(read(&table(4_000, 2)).map(|table| table.rows.len()), Ok(4_000));
        assert_eq!(read(&table(100, 100)).map(|table| table.rows.len()), Ok(100));
        for (text, line) in [(table(4_001, 2), 4_002), (table(101, 101), 102)] {
            let error = read(&text).unwrap_err();
            assert!(error.line == line && error.fault.contains("at most 4000 rows of 100 arms"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC*", rows in proptest::collection::vec("[a-z0-9,#\"./ ]{0,20}", 0..9)) {
            let _ = read(&text);
            let _ = read(&format!("arm,block,value\n{}", rows.join("\n")));
        }
    }
}
