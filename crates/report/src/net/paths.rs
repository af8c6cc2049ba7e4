//! How long packets may be between machines, as a matrix and as rows.

use linerate_analysis::net::view::{NetPairFigures, NetPathFigures, NetView};

use super::matrix::{self, MatrixWidths};
use super::{NAME_MOST, PAIRS_SHOWN};
use crate::phrases::ABSENT;
use crate::terminal::{TextStyle, clean, cut, width};

/// The matrix where it fits, and with `all`, or where it does not, rows: those that carry least first.
pub(super) fn tables(view: &NetView, look: TextStyle, all: bool) -> String {
    match table(view, look) {
        Some(table) if all => table + &rows(view, view.pairs.iter().collect()),
        Some(table) => table,
        None if all => rows(view, view.pairs.iter().collect()),
        None => {
            let mut pairs: Vec<&NetPairFigures> = view.compared().filter(|pair| pair.path.is_some()).collect();
            pairs.sort_by_key(|pair| carried(pair));
            pairs.truncate(PAIRS_SHOWN);
            rows(view, pairs)
        }
    }
}

/// The largest packet that came; nothing is less than any.
fn carried(pair: &NetPairFigures) -> u32 {
    pair.path.as_ref().and_then(|path| path.carried_bytes).unwrap_or(0)
}

fn shown(bytes: Option<u32>) -> String {
    bytes.map_or_else(|| ABSENT.to_owned(), |bytes| bytes.to_string())
}

fn mark(path: &NetPathFigures) -> &'static str {
    if path.verdict.is_silent() { "!" } else { "" }
}

/// Senders by receivers; `None` where it does not fit, or nothing was probed.
fn table(view: &NetView, look: TextStyle) -> Option<String> {
    let count = view.nodes.len();
    view.compared().find(|pair| pair.path.is_some())?;
    let widths = matrix::widths(view, look)?;
    let MatrixWidths { names, cell: columns } = widths;
    let mut text = String::from(
        "\n largest packet in bytes, rows send, columns receive; ! longer ones are lost, and nobody says so\n",
    );
    text.push_str(&matrix::head(view, widths));
    for (from, sender) in (0_u32..).zip(&view.nodes) {
        let mut row = format!("  {:names$}", cut(&clean(&sender.name), names));
        for to in (0_u32..).take(count) {
            let pair = view.compared().find(|pair| (pair.from, pair.to) == (from, to));
            let path = pair.and_then(|pair| pair.path.as_ref());
            let cell = path
                .map_or_else(|| ABSENT.to_owned(), |path| format!("{}{}", path.carried_bytes.unwrap_or(0), mark(path)));
            row.push_str(&format!("{cell:>columns$}"));
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
    Some(text)
}

fn rows(view: &NetView, pairs: Vec<&NetPairFigures>) -> String {
    if pairs.is_empty() {
        return String::new();
    }
    let name = |pair: &NetPairFigures| {
        format!("{} → {}", cut(&clean(view.name(pair.from)), NAME_MOST), cut(&clean(view.name(pair.to)), NAME_MOST))
    };
    let names = pairs.iter().map(|pair| width(&name(pair))).max().unwrap_or(0);
    let row = |first: &str, cells: [&str; 6], last: &str| {
        let cells: String = cells.iter().map(|cell| format!(" {cell:>10}")).collect();
        let row = format!("  {first:<names$}{cells}  {last}");
        format!("{}\n", row.trim_end())
    };
    let heads = ["largest", "lost from", "sender's", "receiver's", "taken", "by ICMP"];
    let mut text = format!("\n{}", row("bytes", heads, ""));
    for pair in pairs {
        let Some(path) = &pair.path else {
            let why = pair.reasons.first().map_or_else(String::new, |reason| clean(reason));
            text.push_str(&row(&name(pair), [ABSENT; 6], &why));
            continue;
        };
        let cells = [
            path.carried_bytes,
            path.lost_bytes,
            Some(path.interface_bytes),
            path.receiver_interface_bytes,
            path.taken_bytes,
            path.icmp_bytes,
        ];
        let cells = cells.map(shown);
        let last = format!("{}{}", path.verdict.name(), if path.verdict.is_silent() { " !" } else { "" });
        text.push_str(&row(&name(pair), cells.each_ref().map(String::as_str), &last));
    }
    text
}
