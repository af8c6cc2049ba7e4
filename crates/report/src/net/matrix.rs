//! What matrices of machines have in common: how wide their columns are, and their heads.

use linerate_analysis::net::view::NetView;

use super::NAME_MOST;
use crate::terminal::{TextStyle, clean, cut, width};

/// Most machines whose pairs are shown as a matrix.
const NODES_MOST: usize = 12;

/// Columns of a cell at the least: a figure of three digits with its mark.
const CELL: usize = 8;

/// Columns of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MatrixWidths {
    /// Those of the names of rows.
    pub(super) names: usize,
    /// Those of a cell.
    pub(super) cell: usize,
}

/// How wide a matrix of all machines is: cells grow with names as far as there is room. `None` where it does not fit.
pub(super) fn widths(view: &NetView, look: TextStyle) -> Option<MatrixWidths> {
    let count = view.nodes.len();
    let longest = view.nodes.iter().map(|node| width(&node.name)).max().unwrap_or(0);
    let names = longest.clamp(4, NAME_MOST);
    if !(2..=NODES_MOST).contains(&count) || 2 + names + count * CELL > look.width {
        return None;
    }
    let room = (look.width - 2 - names) / count;
    Some(MatrixWidths { names, cell: CELL.max((longest + 1).min(room)) })
}

/// The row of names above it.
pub(super) fn head(view: &NetView, widths: MatrixWidths) -> String {
    let MatrixWidths { names, cell } = widths;
    let heads: Vec<String> = view.nodes.iter().map(|node| clean(&node.name)).collect();
    let heads = shortened(&heads, cell - 1);
    let cells: String = heads.iter().map(|head| format!("{head:>cell$}")).collect();
    format!("  {:names$}{cells}\n", "")
}

/// Names within so many columns. Where they do not fit, what all of them begin or end with is left out, so that they
/// can be told apart.
fn shortened(names: &[String], columns: usize) -> Vec<String> {
    if names.iter().all(|name| width(name) <= columns) {
        return names.to_vec();
    }
    let least = names.iter().map(|name| width(name)).min().unwrap_or(0);
    let alike = |at: &dyn Fn(&str, usize) -> Option<char>| {
        let is_alike = |place: &usize| {
            let mut letters = names.iter().map(|name| at(name, *place));
            let first = letters.next().flatten();
            letters.all(|letter| letter == first)
        };
        // Something is left of the shortest.
        (0..least.saturating_sub(1)).take_while(is_alike).count()
    };
    // A number is not cut in two.
    let whole = |count: usize, at: &dyn Fn(&str, usize) -> Option<char>| {
        let is_digit =
            |place: usize| names.first().and_then(|name| at(name, place)).is_some_and(|c| c.is_ascii_digit());
        (0..=count).rev().find(|count| *count == 0 || !is_digit(count - 1)).unwrap_or(0)
    };
    let (from_begin, from_end) =
        (|name: &str, place: usize| name.chars().nth(place), |name: &str, place: usize| name.chars().rev().nth(place));
    let head = whole(alike(&from_begin), &from_begin);
    let tail = whole(alike(&from_end).min(least.saturating_sub(head + 1)), &from_end);
    let short = |name: &String| {
        let kept: String = name.chars().skip(head).take(width(name) - head - tail).collect();
        let begin = if head > 0 { "…" } else { "" };
        let end = if tail > 0 { "…" } else { "" };
        cut(&format!("{begin}{kept}{end}"), columns)
    };
    names.iter().map(short).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_do_not_fit_lose_what_all_of_them_have() {
        let cases: [(&[&str], usize, &[&str]); 7] = [
            (&["node01", "node02"], 7, &["node01", "node02"]),
            (&["storage-node-01", "storage-node-12"], 7, &["…01", "…12"]),
            (&["n1.rack-a.example", "n12.rack-b.example"], 10, &["…1.rack-a…", "…12.rack-…"]),
            (&["here", "10.77.0.123"], 7, &["here", "10.77.…"]),
            (&["a.example.org", "b.example.org"], 7, &["a…", "b…"]),
            (&["same-long-name", "same-long-name"], 7, &["…e", "…e"]),
            (&["machine-101", "machine-201"], 7, &["…101", "…201"]),
        ];
        for (names, columns, expected) in cases {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(shortened(&names, columns), expected, "{names:?}");
        }
    }
}
