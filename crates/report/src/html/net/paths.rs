//! How long packets may be between machines: rows of pairs, those that carry least first.

use linerate_analysis::net::view::{NetPairFigures, NetPathFigures, NetView};

use super::PAIRS_SHOWN;
use crate::html::markup::table;
use crate::html::page::HtmlRow;
use crate::phrases::ABSENT;

/// The table; nothing where nothing was measured.
pub(super) fn pairs(view: &NetView) -> String {
    let compared = view.pairs.iter().enumerate().filter(|(_, pair)| Some(pair.streams) == view.compared_streams);
    let mut pairs: Vec<(usize, &NetPairFigures)> = compared.collect();
    pairs.sort_by_key(|(_, pair)| pair.path.as_ref().and_then(|path| path.carried_bytes).unwrap_or(0));
    pairs.truncate(PAIRS_SHOWN);
    let rows: String = pairs.into_iter().map(|(place, pair)| row(view, place, pair)).collect();
    let heads = [
        "pair",
        "largest|Bytes of the largest packet that came, headers included",
        "lost from|Bytes of the smallest packet beyond it that never came",
        "sender's|MTU of the interface by which it is sent",
        "receiver's|MTU of the receiver's interface",
        "taken|What the sender's kernel takes for the MTU of the path",
        "by ICMP|The least MTU that somebody on the path said",
        "<said by",
        "probes|Sent",
        "came",
        "<verdict",
    ];
    if rows.is_empty() { rows } else { table("The largest packets of pairs, in bytes", &heads, &rows) }
}

fn row(view: &NetView, place: usize, pair: &NetPairFigures) -> String {
    let name = format!("{} → {}", view.name(pair.from), view.name(pair.to));
    let row = HtmlRow::default().name(&name);
    let Some(path) = &pair.path else {
        let row = (0..6).fold(row, |row, _| row.number(ABSENT)).words("");
        return row.number(ABSENT).number(ABSENT).sentence(&pair.reasons.join("; ")).whole();
    };
    figures(row, place, path).whole()
}

fn figures(row: HtmlRow, place: usize, path: &NetPathFigures) -> HtmlRow {
    let bytes = [
        ("carried_bytes", path.carried_bytes),
        ("lost_bytes", path.lost_bytes),
        ("interface_bytes", Some(path.interface_bytes)),
        ("receiver_interface_bytes", path.receiver_interface_bytes),
        ("taken_bytes", path.taken_bytes),
        ("icmp_bytes", path.icmp_bytes),
    ];
    let at = |field: &str| format!("pairs.{place}.path.{field}");
    let row = bytes.into_iter().fold(row, |row, (field, bytes)| match bytes {
        Some(bytes) => row.figure(&at(field), bytes, &bytes.to_string()),
        None => row.number(ABSENT),
    });
    let best = path.carried_most_bytes.map_or_else(String::new, |bytes| format!(", other streams {bytes}"));
    row.words(path.icmp_by.as_deref().unwrap_or_default())
        .figure(&at("probes_sent"), path.probes_sent, &path.probes_sent.to_string())
        .figure(&at("probes_received"), path.probes_received, &path.probes_received.to_string())
        .words(&format!("{}{best}", path.verdict.name()))
}
