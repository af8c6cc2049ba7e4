//! Text made of lines with columns, as the kernel writes it, and what to say of lines that it does not write.

use crate::root::Parsed;

/// What is wrong with a line.
pub(crate) type LineFault = &'static str;

/// Characters of a line that a fault quotes.
const QUOTED_CHARS: usize = 40;

/// The rows of a text. A line that is about something else gives `Ok(None)`; a line at fault is left out and the first
/// such line is told, so that one odd line costs its own row only.
pub(crate) fn rows<T>(text: &str, parse: impl Fn(&str) -> Result<Option<T>, LineFault>) -> Parsed<Vec<T>> {
    let mut found = Vec::new();
    let mut first_fault = None;
    let mut faults = 0_usize;
    for (index, line) in text.lines().enumerate() {
        match parse(line) {
            Ok(row) => found.extend(row),
            Err(fault) => {
                faults += 1;
                first_fault.get_or_insert((index + 1, fault, line));
            }
        }
    }
    let reported = first_fault.map(|(number, fault, line)| {
        let quoted: String = line.trim().chars().take(QUOTED_CHARS).collect();
        let others = if faults > 1 { format!(", and {} lines more", faults - 1) } else { String::new() };
        format!("line {number} {quoted:?}: {fault}{others}")
    });
    (found, reported)
}

/// As [`rows`], for a text that holds at least one row on every machine.
pub(crate) fn some_rows<T>(
    text: &str,
    none: LineFault,
    parse: impl Fn(&str) -> Result<Option<T>, LineFault>,
) -> Parsed<Vec<T>> {
    let (found, fault) = rows(text, parse);
    let fault = if found.is_empty() { fault.or_else(|| Some(none.to_owned())) } else { fault };
    (found, fault)
}

/// The number in a column that must be there.
pub(crate) fn number(column: Option<&str>) -> Result<u64, LineFault> {
    column.ok_or("a column is missing")?.parse().map_err(|_| "a column is not a whole number from 0 to 2^64 - 1")
}

/// The number in a column that old kernels do not write: 0 where it is missing.
pub(crate) fn number_if_any(column: Option<&str>) -> Result<u64, LineFault> {
    column.map_or(Ok(0), |column| number(Some(column)))
}

/// The value after `name:` or `name :` at the start of a line.
pub(crate) fn value_after<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// How many members a kernel list has: `0-3,8` has five. `None` where the text is no such list.
pub(crate) fn list_length(text: &str) -> Option<u32> {
    text.trim().split(',').try_fold(0_u32, |length, range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        length.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Pair = (u64, u64);

    fn pair(line: &str) -> Result<Option<Pair>, LineFault> {
        let mut columns = line.split_whitespace();
        if columns.next() != Some("pair") {
            return Ok(None);
        }
        Ok(Some((number(columns.next())?, number_if_any(columns.next())?)))
    }

    #[test]
    fn an_odd_line_costs_its_own_row_and_is_told() {
        let cases: [(&str, &[Pair], Option<&str>); 6] = [
            ("", &[], None),
            ("head\npair 1 2\npair 3", &[(1, 2), (3, 0)], None),
            ("pair 1\npair\npair 2", &[(1, 0), (2, 0)], Some("line 2 \"pair\": a column is missing")),
            (
                "pair -1\npair 1 x\npair 7",
                &[(7, 0)],
                Some("line 1 \"pair -1\": a column is not a whole number from 0 to 2^64 - 1, and 1 lines more"),
            ),
            ("pair 18446744073709551615", &[(u64::MAX, 0)], None),
            (
                "pair 18446744073709551616",
                &[],
                Some("line 1 \"pair 18446744073709551616\": a column is not a whole number from 0 to 2^64 - 1"),
            ),
        ];
        for (text, expected, fault) in cases {
            let (found, reported) = rows(text, pair);
            assert_eq!(found, expected, "{text:?}");
            assert_eq!(reported.as_deref(), fault, "{text:?}");
        }
        assert_eq!(some_rows("head\n", "no pair", pair), (vec![], Some("no pair".to_owned())));
    }

    #[test]
    fn a_kernel_list_is_counted() {
        let cases = [
            ("0\n", Some(1)),
            ("0-1", Some(2)),
            ("0-55,112-167", Some(112)),
            ("0,2,4-5", Some(4)),
            ("", None),
            ("\n", None),
            ("5-3", None),
            ("0-4294967295", None),
            ("0-4294967294,0-4294967294", None),
            ("-1", None),
            ("a-b", None),
        ];
        for (text, expected) in cases {
            assert_eq!(list_length(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_value_is_found_by_its_whole_name() {
        let text = "MemTotalX: 1\nmodel name\t: Some CPU: 2 GHz\nMemTotal:   3 kB\n";
        assert_eq!(value_after(text, "MemTotal"), Some("3 kB"));
        assert_eq!(value_after(text, "model name"), Some("Some CPU: 2 GHz"));
        assert_eq!(value_after(text, "model"), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_a_list_panic(text in "[-0-9, \n]{0,40}|.*") {
            list_length(&text);
        }
    }
}
