//! Promises of `docs/reference/security.md`: each row of its tables names the tests that hold it, and each of these is
//! there.

/// The page.
pub(super) const PAGE: &str = "docs/reference/security.md";

pub(super) const RULE: &str = "promise";
pub(super) const WHAT_TO_DO: &str =
    "end the row with links such as [`name_of_the_test`](../../crates/load/tests/faults.rs) to tests that are there";

/// The lines of the page whose row names no test, or one that is not there. `read` gives the text of a file by its path
/// in the repository.
pub(super) fn lines_at_fault(page: &str, read: impl Fn(&str) -> Option<String>) -> Vec<usize> {
    let is_head = |line: &str| line.contains("held by") || line.chars().all(|sign| "|-: ".contains(sign));
    let rows = page.lines().enumerate().filter(|(_, line)| line.starts_with('|') && !is_head(line));
    let is_at_fault = |row: &str| {
        let cell = row.trim_end().trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        let tests = links(cell);
        tests.is_empty() || !tests.iter().all(|(name, target)| is_there(name, target, &read))
    };
    rows.filter(|(_, row)| is_at_fault(row)).map(|(index, _)| index + 1).collect()
}

/// Every [`NAME`](TARGET) of a cell.
fn links(cell: &str) -> Vec<(&str, &str)> {
    let link = |rest: &'_ str| -> Option<(usize, usize, usize)> {
        let name = rest.find("`](")?;
        Some((name, name + 3, name + 3 + rest[name + 3..].find(')')?))
    };
    cell.split("[`").skip(1).filter_map(|rest| link(rest).map(|(n, from, to)| (&rest[..n], &rest[from..to]))).collect()
}

/// Whether a file holds a test of that name, or is a fuzz target of that name.
fn is_there(name: &str, target: &str, read: &impl Fn(&str) -> Option<String>) -> bool {
    let Some(path) = target.strip_prefix("../../") else { return false };
    let Some(text) = read(path) else { return false };
    let is_name = !name.is_empty() && name.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_');
    let is_fuzz_target = path == format!("fuzz/targets/{name}.rs") && text.contains("fuzz_target!");
    is_name && (is_fuzz_target || text.contains(&format!("fn {name}(")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> Option<String> {
        match path {
            "crates/a/tests/b.rs" => Some("#[test]\nfn it_holds() {}\n".to_owned()),
            "fuzz/targets/folder.rs" => Some("fuzz_target!(|input: &[u8]| {});".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn a_row_names_tests_that_are_there() {
        let head = "# Title\n\n| promise | held by |\n|---|---|\n";
        for (row, holds) in [
            ("| a | [`it_holds`](../../crates/a/tests/b.rs) |", true),
            ("| a | [`it_holds`](../../crates/a/tests/b.rs), [`folder`](../../fuzz/targets/folder.rs) |", true),
            ("| a | [`it_holds`](../../crates/a/tests/b.rs), [`it_held`](../../crates/a/tests/b.rs) |", false),
            ("| a | [`it_hold`](../../crates/a/tests/b.rs) |", false),
            ("| a | [`it_holds`](../../crates/a/tests/c.rs) |", false),
            ("| a | [`it_holds`](crates/a/tests/b.rs) |", false),
            ("| a | [`words`](../../fuzz/targets/folder.rs) |", false),
            ("| [`it_holds`](../../crates/a/tests/b.rs) | by nobody |", false),
            ("| a | |", false),
            ("What is no row.", true),
        ] {
            let faults = lines_at_fault(&format!("{head}{row}\n"), read);
            assert_eq!(faults, if holds { vec![] } else { vec![5] }, "{row}");
        }
    }
}
