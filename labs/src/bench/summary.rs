//! Medians, paired ratios, tables, and the judgement.

use serde_json::{Value, json};

use super::CONCURRENCY;
use super::clients::{Client, Measure};
use super::options::{Cell, Op, TargetKind, say_size};
use crate::median::median;

/// Client processor time that linerate may take for each unit of the bare loop's.
const RATIO_MAX: f64 = 1.25;

/// Seconds of processor time for each GiB over TLS that linerate may take, where there is no bare loop.
const TLS_GET_MAX: f64 = 0.30;
const TLS_PUT_MAX: f64 = 0.40;

/// What one client gave in one round of one cell.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) cell: Cell,
    pub(super) client: Client,
    pub(super) round: usize,
    pub(super) outcome: Result<Measure, String>,
}

pub(super) struct Summary {
    pub(super) text: String,
    /// Why the bench fails; empty where it does not.
    pub(super) faults: Vec<String>,
}

impl Row {
    pub(super) fn to_json(&self) -> Value {
        let measure = match &self.outcome {
            Ok(measure) => measure.to_json(),
            Err(error) => json!({"error": error}),
        };
        json!({
            "round": self.round,
            "target": self.cell.target.name(),
            "op": if self.cell.op == Op::Get { "GET" } else { "PUT" },
            "size_bytes": self.cell.size_bytes,
            "client": self.client.name(),
            "measure": measure,
        })
    }
}

/// Tables of every target and operation, and what is at fault.
pub(super) fn summarize(rows: &[Row], skipped: &[String]) -> Summary {
    let mut text = format!(
        "# Client processor time: linerate, a bare epoll loop, and others\n\nConcurrency {CONCURRENCY}; medians over \
         rounds (least–most); ratios within rounds. Sizes up to 64 KiB in µs per request, larger in s per GiB.\n"
    );
    for target in [TargetKind::MinIo, TargetKind::Null, TargetKind::NullTls] {
        for op in [Op::Get, Op::Put] {
            let cells = distinct(rows.iter().map(|row| row.cell).filter(|cell| (cell.target, cell.op) == (target, op)));
            if !cells.is_empty() {
                let op = if op == Op::Get { "GET" } else { "PUT" };
                text += &format!("\n## {op}, {} target\n\n{}", target.name(), table(rows, &cells));
            }
        }
    }
    let cells = distinct(rows.iter().map(|row| row.cell));
    let is_pair = |client: &Client| matches!(client, Client::Linerate | Client::LinerateUnsigned | Client::Bare);
    let mut faults = failures(rows, is_pair);
    let mut notes = failures(rows, |client| !is_pair(client));
    notes.extend(skipped.iter().map(|what| format!("skipped {what}")));
    let (over_tls, plain): (Vec<Cell>, Vec<Cell>) =
        cells.into_iter().partition(|cell| cell.target == TargetKind::NullTls);
    let (alongside_bare, kept_plain) = judged_alongside_bare(rows, &plain);
    let (of_tls, kept_tls) = judged_over_tls(rows, &over_tls);
    faults.extend(alongside_bare.into_iter().chain(of_tls));
    text += "\n## Judgement\n\n";
    for line in kept_plain.iter().chain(&kept_tls) {
        text += &format!("- {line}\n");
    }
    for line in faults.iter().chain(&notes) {
        text += &format!("- {line}\n");
    }
    Summary { text, faults }
}

/// Faults of cells that have a bare loop, and what is said where there are none.
fn judged_alongside_bare(rows: &[Row], cells: &[Cell]) -> (Vec<String>, Option<String>) {
    let mut faults = Vec::new();
    for &cell in cells {
        let unsigned = median(&ratios(rows, cell, Client::LinerateUnsigned, Client::Bare));
        if let Some(ratio) = unsigned.filter(|&ratio| ratio > RATIO_MAX) {
            faults.push(format!("{cell}: linerate, payload unsigned / bareloop is {ratio:.2}, above {RATIO_MAX}"));
        }
        match median(&ratios(rows, cell, Client::Linerate, Client::Bare)) {
            Some(ratio) if ratio > RATIO_MAX => {
                faults.push(format!("{cell}: linerate / bareloop is {ratio:.2}, above {RATIO_MAX}"));
            }
            Some(_) => {}
            None => faults.push(format!("{cell}: no round has both linerate and bareloop")),
        }
    }
    let kept = (faults.is_empty() && !cells.is_empty())
        .then(|| format!("median linerate / bareloop is at most {RATIO_MAX} in every cell without TLS"));
    (faults, kept)
}

/// Faults of cells over TLS, and what each of the others takes.
fn judged_over_tls(rows: &[Row], cells: &[Cell]) -> (Vec<String>, Vec<String>) {
    let (mut faults, mut kept) = (Vec::new(), Vec::new());
    for &cell in cells {
        let most = if cell.op == Op::Get { TLS_GET_MAX } else { TLS_PUT_MAX };
        for client in [Client::Linerate, Client::LinerateUnsigned] {
            let (name, unit) = (client.name(), cell.unit());
            match median(&values(rows, cell, client, |measure| measure.cost(cell))) {
                Some(cost) if cost > most => {
                    faults.push(format!("{cell}: {name} takes {} {unit}, above {most:.2}", cell.digits(cost)));
                }
                Some(cost) => {
                    kept.push(format!("{cell}: {name} takes {} {unit}, at most {most:.2}", cell.digits(cost)));
                }
                None if client == Client::Linerate => faults.push(format!("{cell}: no round has {name}")),
                None => {}
            }
        }
    }
    (faults, kept)
}

fn table(rows: &[Row], cells: &[Cell]) -> String {
    let clients = distinct(rows.iter().filter(|row| cells.contains(&row.cell)).map(|row| row.client));
    let mut lines =
        vec![line("client processor time", cells, |cell| format!("{} ({})", say_size(cell.size_bytes), cell.unit()))];
    for &client in Client::ALL.iter().filter(|client| clients.contains(client)) {
        let costs = |cell: Cell| values(rows, cell, client, |measure| measure.cost(cell));
        lines.push(line(client.name(), cells, |cell| spread(&costs(cell), |cost| cell.digits(cost))));
    }
    for (above, below) in [
        (Client::Linerate, Client::Before),
        (Client::Linerate, Client::Bare),
        (Client::LinerateUnsigned, Client::Bare),
        (Client::Wrk, Client::Linerate),
        (Client::Warp, Client::Linerate),
        (Client::WarpUnsigned, Client::LinerateUnsigned),
        (Client::Linerate, Client::Cipher),
        (Client::LinerateUnsigned, Client::Cipher),
    ] {
        if clients.contains(&above) && clients.contains(&below) {
            let label = format!("**{} / {}**", above.name(), below.name());
            let cell_ratio = |cell| spread(&ratios(rows, cell, above, below), |ratio| format!("{ratio:.2}"));
            lines.push(line(&label, cells, cell_ratio));
        }
    }
    for (above, below) in [
        (Client::Linerate, Client::Cipher),
        (Client::LinerateUnsigned, Client::Cipher),
        (Client::Wrk, Client::Cipher),
        (Client::WarpUnsigned, Client::Cipher),
    ] {
        if clients.contains(&above) && clients.contains(&below) {
            let label = format!("**{} - {}**", above.name(), below.name());
            let cell_difference =
                |cell| spread(&pairs(rows, cell, above, below, |above, below| above - below), |s| cell.digits(s));
            lines.push(line(&label, cells, cell_difference));
        }
    }
    for &client in Client::ALL.iter().filter(|client| clients.contains(client)) {
        let costs = |cell: Cell| values(rows, cell, client, |measure| measure.server_cost(cell));
        let label = format!("server under {}", client.name());
        lines.push(line(&label, cells, |cell| spread(&costs(cell), |cost| cell.digits(cost))));
    }
    for &client in Client::ALL.iter().filter(|client| clients.contains(client)) {
        let label = format!("throughput of {}", client.name());
        lines.push(line(&label, cells, |cell| say_throughput(rows, cell, client)));
    }
    markdown(&lines)
}

fn line(label: &str, cells: &[Cell], cell_text: impl Fn(Cell) -> String) -> Vec<String> {
    std::iter::once(label.to_owned()).chain(cells.iter().map(|&cell| cell_text(cell))).collect()
}

/// Columns as wide as their widest entry, so that the text reads as well as its rendering.
fn markdown(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (i, line) in lines.iter().enumerate() {
        for (entry, width) in line.iter().zip(&widths) {
            text += &format!("| {entry:width$} ");
        }
        text += "|\n";
        if i == 0 {
            text += &widths.iter().map(|width| format!("|{:-<1$}", "", width + 2)).collect::<String>();
            text += "|\n";
        }
    }
    text
}

fn say_throughput(rows: &[Row], cell: Cell, client: Client) -> String {
    let (unit, extract): (_, fn(&Measure) -> f64) = if cell.per_request() {
        ("/s", |measure| measure.requests / measure.seconds)
    } else {
        ("MiB/s", |measure| measure.bytes / measure.seconds / (1u64 << 20) as f64)
    };
    let rates = values(rows, cell, client, |measure| Some(extract(measure)));
    median(&rates).map_or_else(|| "–".into(), |rate| format!("{rate:.0} {unit}"))
}

fn spread(values: &[f64], digits: impl Fn(f64) -> String) -> String {
    let (least, most) =
        values.iter().fold((f64::MAX, f64::MIN), |(least, most), &value| (value.min(least), value.max(most)));
    median(values)
        .map_or_else(|| "–".into(), |median| format!("{} ({}–{})", digits(median), digits(least), digits(most)))
}

fn values(rows: &[Row], cell: Cell, client: Client, extract: impl Fn(&Measure) -> Option<f64>) -> Vec<f64> {
    let wanted = rows.iter().filter(|row| row.cell == cell && row.client == client);
    wanted.filter_map(|row| extract(row.outcome.as_ref().ok()?)).collect()
}

/// One client's cost over another's, round by round.
fn ratios(rows: &[Row], cell: Cell, above: Client, below: Client) -> Vec<f64> {
    pairs(rows, cell, above, below, |above, below| above / below)
}

/// What becomes of two clients' costs, round by round.
fn pairs(rows: &[Row], cell: Cell, above: Client, below: Client, combine: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let cost = |client: Client, round: usize| {
        let row = rows.iter().find(|row| (row.cell, row.client, row.round) == (cell, client, round))?;
        row.outcome.as_ref().ok()?.cost(cell)
    };
    let rounds = distinct(rows.iter().map(|row| row.round));
    rounds.into_iter().filter_map(|round| Some(combine(cost(above, round)?, cost(below, round)?))).collect()
}

/// What failed, once each; without the two that are judged, the bench has lost a peer and nothing else.
fn failures(rows: &[Row], is_of_client: impl Fn(&Client) -> bool) -> Vec<String> {
    let failed = |row: &Row| Some((row.cell, row.client, row.outcome.as_ref().err()?.clone()));
    distinct(rows.iter().filter(|row| is_of_client(&row.client)).filter_map(failed))
        .into_iter()
        .map(|(cell, client, error)| format!("{cell}: {} failed: {error}", client.name()))
        .collect()
}

fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.collect::<std::collections::BTreeSet<T>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: Cell = Cell { target: TargetKind::Null, op: Op::Get, size_bytes: 4096 };

    fn row(client: Client, round: usize, client_cpu_s: f64, requests: f64) -> Row {
        let measure = Measure { requests, bytes: requests * 4096.0, seconds: 1.0, client_cpu_s, server_cpu_s: 0.5 };
        Row { cell: CELL, client, round, outcome: Ok(measure) }
    }

    /// A bare loop at 10 µs per request in each round, and linerate at so many times that.
    fn rounds(ratios: &[f64], requests: f64) -> Vec<Row> {
        let both = |(round, ratio): (usize, &f64)| {
            let bare_s = requests * 10e-6 * (round + 1) as f64;
            [row(Client::Bare, round, bare_s, requests), row(Client::Linerate, round, bare_s * ratio, requests)]
        };
        ratios.iter().enumerate().flat_map(both).collect()
    }

    #[test]
    fn the_median_of_paired_ratios_is_judged() {
        for (ratios, faults) in [(&[1.0, 1.2, 9.0][..], 0), (&[1.3, 1.2, 1.4], 1), (&[1.2, 1.4], 1)] {
            let summary = summarize(&rounds(ratios, 1000.0), &[]);
            assert_eq!(summary.faults.len(), faults, "{ratios:?}: {}", summary.text);
        }
    }

    #[test]
    fn over_tls_what_a_gibibyte_takes_is_judged_and_no_bare_loop_is_named() {
        for (op, cost_s, is_fault) in
            [(Op::Get, 0.29, false), (Op::Get, 0.31, true), (Op::Put, 0.39, false), (Op::Put, 0.41, true)]
        {
            let cell = Cell { target: TargetKind::NullTls, op, size_bytes: 4 << 20 };
            let measure = Measure {
                requests: 256.0,
                bytes: (1u64 << 30) as f64,
                seconds: 1.0,
                client_cpu_s: cost_s,
                server_cpu_s: 0.5,
            };
            let row = Row { cell, client: Client::Linerate, round: 0, outcome: Ok(measure) };
            let Summary { text, faults } = summarize(&[row], &[]);
            assert_eq!(faults.len(), usize::from(is_fault), "{text}");
            let judgement = text.split_once("## Judgement").unwrap().1;
            let reported =
                format!("{cell}: linerate takes {cost_s:.4} s/GiB, {}", if is_fault { "above" } else { "at most" });
            assert!(judgement.contains(&reported) && !judgement.contains("bareloop"), "{reported}: {judgement}");
        }
    }

    #[test]
    fn ratios_pair_within_rounds_though_rounds_differ() {
        let found = ratios(&rounds(&[1.1, 1.3], 1000.0), CELL, Client::Linerate, Client::Bare);
        assert!(found.iter().zip([1.1, 1.3]).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?}");
    }

    #[test]
    fn a_failure_of_the_two_judged_is_a_fault_and_that_of_a_peer_a_note() {
        let mut rows = rounds(&[1.0], 1000.0);
        rows[1].outcome = Err("no answer".into());
        rows.push(Row { cell: CELL, client: Client::Wrk, round: 0, outcome: Err("timeout".into()) });
        let Summary { text, faults } = summarize(&rows, &[]);
        assert!(text.contains("wrk failed: timeout") && !faults.iter().any(|fault| fault.contains("wrk")), "{text}");
        assert!(faults.iter().any(|fault| fault.contains("no answer")), "{faults:?}");
        assert!(faults.iter().any(|fault| fault.contains("no round has both")), "{faults:?}");
    }

    #[test]
    fn a_table_tells_median_and_spread() {
        let text = summarize(&rounds(&[1.0, 2.0, 3.0], 1000.0), &["wrk: not on PATH".into()]).text;
        assert!(text.contains("| **linerate / bareloop** | 2.00 (1.00–3.00)"), "{text}");
        assert!(text.contains("| bareloop                | 20.0 (10.0–30.0)"), "{text}");
        assert!(text.contains("skipped wrk: not on PATH"), "{text}");
    }
}
