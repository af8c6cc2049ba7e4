//! What links between machines do, as text for a terminal, JSON, CSV and one self-contained HTML page.

mod classes;
mod columns;
mod comparison;
mod csv;
mod matrix;
mod paths;
mod racks;

use std::collections::BTreeMap;

use linerate_analysis::net::view::{NetPairFigures, NetPairMembers, NetView};
use linerate_record::finding::Severity;
use linerate_record::net::NetOp;

use crate::colour::Colour;
use crate::line_budget::{Line, fits, fitted, line, whole_line};
use crate::phrases::net::{measured, pair_rate, plus_minus, rate};
use crate::phrases::{ABSENT, members as bonds, net as words, plural};
use crate::terminal::{TextStyle, clean, cut, hanging_in, width};

use matrix::MatrixWidths;

pub use comparison::{comparison_csv, comparison_json, comparison_text};

/// Columns before what a line says.
const LEAD: usize = 12;

/// Pairs and machines that are listed where there are more.
const PAIRS_SHOWN: usize = 8;
const NODES_SHOWN: usize = 8;

/// Pairs of a slow machine among them.
const OF_SLOW_SHOWN: usize = 2;

/// Pairs of which members of bonds are told.
const BONDED_SHOWN: usize = 3;

/// What the answer has beside the first finding, from much to little: findings, limits, and whether streams.
const SHOWN: [AnswerRoom; 6] = [
    AnswerRoom { findings: 3, limits: 2, streams: true },
    AnswerRoom { findings: 3, limits: 1, streams: true },
    AnswerRoom { findings: 2, limits: 1, streams: true },
    AnswerRoom { findings: 2, limits: 0, streams: true },
    AnswerRoom { findings: 1, limits: 0, streams: true },
    AnswerRoom { findings: 1, limits: 0, streams: false },
];

/// How much of the answer is shown.
#[derive(Clone, Copy)]
struct AnswerRoom {
    findings: usize,
    limits: usize,
    streams: bool,
}

/// Columns that a machine's name may take in a matrix and in a table.
const NAME_MOST: usize = 20;

/// The view as pretty JSON, with a line feed at its end. Reading it back gives an equal view.
///
/// # Panics
/// Never: a view has text keys only, which is all that JSON asks.
#[must_use]
pub fn json(view: &NetView) -> String {
    crate::json::pretty(view).expect("a view has text keys only")
}

/// The view as one self-contained page. Figures carry `data-field` and `data-value`, as those of a plan.
#[must_use]
pub fn html(view: &NetView) -> String {
    crate::html::net::page(view)
}

/// One row per pair and number of streams, under a row of column names. A figure that is not known is empty. Columns
/// are those of what was measured.
#[must_use]
pub fn csv(view: &NetView) -> String {
    csv::whole(view)
}

/// Ten lines that answer, and below them a matrix of all pairs, or where there are too many machines for its width the
/// slowest pairs and machines. With `all`, everything: each pair with what limited it, every finding and remark.
#[must_use]
pub fn text(view: &NetView, look: TextStyle, all: bool) -> String {
    let mut text = if all {
        let lines = answer(view, None);
        lines.iter().map(|line| hanging_in(line.ink, &line.lead, LEAD, &line.says, look)).collect()
    } else {
        // As much as leaves the remedy of the first finding whole.
        let each = SHOWN.into_iter().map(|room| answer(view, Some(room)));
        let lines = each.reduce(|before, less| if fits(&before, LEAD, look) { before } else { less });
        fitted(&lines.unwrap_or_default(), LEAD, look)
    };
    if view.load.op == NetOp::Mtu {
        text.push_str(&paths::tables(view, look, all));
        return if all { text + &behind(view, look) } else { text };
    }
    let tables = match matrix(view, look) {
        Some(matrix) if all => [matrix, nodes(view, view.nodes.len())].concat(),
        Some(matrix) => matrix,
        None if all => nodes(view, view.nodes.len()),
        None => [slowest(view), nodes(view, NODES_SHOWN)].concat(),
    };
    text.push_str(&tables);
    text.push_str(&racks::table(view, all));
    text.push_str(&classes::tables(view, look, all));
    text.push_str(&members(view, look, all));
    if all { text + &every_pair(view) + &behind(view, look) } else { text }
}

/// The answer: all of it, or as much as there is room for.
fn answer(view: &NetView, room: Option<AnswerRoom>) -> Vec<Line> {
    let all = room.is_none();
    let mut lines = vec![whole_line(Colour::Dim, " measured", measured(view))];
    let warned = if all { view.warnings.len() } else { view.warnings.len().min(2) };
    lines.extend(view.warnings[..warned].iter().map(|warning| line(Colour::Yellow, " warning", warning.clone())));
    lines.push(line(Colour::Green, " ▸", view.answer.clone()));
    let shown = room.map_or(view.findings.len(), |room| room.findings.min(view.findings.len()));
    for (place, finding) in view.findings[..shown].iter().enumerate() {
        let (ink, lead) = match finding.severity {
            Severity::Critical => (Colour::Red, " critical"),
            Severity::Warning => (Colour::Yellow, " finding"),
            Severity::Note => (Colour::Dim, " note"),
        };
        let remedy = if finding.remedy.is_empty() { String::new() } else { format!("; remedy: {}", finding.remedy) };
        lines.push(match (all, place) {
            (true, _) => line(ink, lead, format!("{} ({}){remedy}", finding.claim, finding.evidence)),
            (false, 0) => whole_line(ink, lead, finding.claim.clone() + &remedy),
            (false, _) => line(ink, lead, finding.claim.clone()),
        });
    }
    if !all && view.findings.len() > 1 {
        let what = match view.findings.len() - shown {
            0 => "the remedies of the others".to_owned(),
            left => format!("{}, and the remedies of all", plural(left as u64, "more finding")),
        };
        lines.push(line(Colour::Dim, "", format!("{what}: --all and report.html have them")));
    }
    if view.streams.len() > 1 && room.is_none_or(|room| room.streams) {
        lines.push(line(Colour::Dim, " streams", words::over_streams(view)));
    }
    let limits = view.limits.iter().take(room.map_or(view.limits.len(), |room| room.limits));
    lines.extend(limits.map(|limit| line(Colour::Dim, " limited by", words::limit_count(limit))));
    lines
}

/// Senders by receivers, with a mark at what is slow; `None` where it does not fit.
fn matrix(view: &NetView, look: TextStyle) -> Option<String> {
    let count = view.nodes.len();
    view.whole()?;
    let widths = matrix::widths(view, look)?;
    let MatrixWidths { names, cell } = widths;
    let (unit, scale) = words::unit(view);
    let streams = plural(u64::from(view.compared_streams.unwrap_or(0)), "stream");
    let mut text = format!("\n {unit} with {streams}, rows send, columns receive; ! is slow beyond chance\n");
    text.push_str(&matrix::head(view, widths));
    for (from, sender) in (0_u32..).zip(&view.nodes) {
        let mut row = format!("  {:names$}", cut(&clean(&sender.name), names));
        for to in (0_u32..).take(count) {
            let pair = view.compared().find(|pair| (pair.from, pair.to) == (from, to));
            let rate = pair.and_then(|pair| pair.per_s);
            let shown = rate.map_or_else(|| ABSENT.to_owned(), |rate| words::three_digits(rate.mean / scale));
            let mark = if rate.is_some() && words::is_slow(view, from, to) { "!" } else { "" };
            row.push_str(&format!("{:>cell$}", format!("{shown}{mark}")));
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
    Some(text)
}

/// The slowest pairs. Of a machine that is slow itself, which has a row of its own, a few stand for all.
fn slowest(view: &NetView) -> String {
    let mut pairs: Vec<&NetPairFigures> = view.compared().filter(|pair| pair.per_s.is_some()).collect();
    pairs.sort_by(|a, b| pair_rate(a).total_cmp(&pair_rate(b)));
    let mut of_slow: BTreeMap<u32, usize> = BTreeMap::new();
    let mut left = 0;
    pairs.retain(|pair| {
        let Some(node) = words::slow_machine(view, pair.from, pair.to) else { return true };
        let count = of_slow.entry(node).or_default();
        *count += 1;
        left += u64::from(*count > OF_SLOW_SHOWN);
        *count <= OF_SLOW_SHOWN
    });
    pairs.truncate(PAIRS_SHOWN);
    let table = pair_table(view, "slowest pairs", &pairs);
    if left == 0 { table } else { format!("{table}  and {} of slow machines\n", plural(left, "more pair")) }
}

fn every_pair(view: &NetView) -> String {
    pair_table(view, "pairs", &view.pairs.iter().collect::<Vec<_>>())
}

fn pair_table(view: &NetView, head: &str, pairs: &[&NetPairFigures]) -> String {
    if pairs.is_empty() {
        return String::new();
    }
    let name = |pair: &NetPairFigures| {
        let mark = if words::is_slow(view, pair.from, pair.to) { " !" } else { "" };
        format!(
            "{} → {}{mark}",
            cut(&clean(view.name(pair.from)), NAME_MOST),
            cut(&clean(view.name(pair.to)), NAME_MOST)
        )
    };
    let names = pairs.iter().map(|pair| width(&name(pair))).max().unwrap_or(0).max(width(head));
    let cells = |first: &str, [streams, rate, around]: [&str; 3], rest: &[String], last: &str| {
        let rest: String = rest.iter().map(|cell| format!(" {cell:>10}")).collect();
        let row = format!("  {first:<names$} {streams:>7} {rate:>10} {around:>8}{rest}  {last}");
        format!("{}\n", row.trim_end())
    };
    let columns = columns::columns_for(view.load.op);
    let heads: Vec<String> = columns.iter().map(|column| column.head.to_owned()).collect();
    let mut text = format!("\n{}", cells(head, ["streams", words::counted(view), ""], &heads, "limited by"));
    for pair in pairs {
        let shown = pair.per_s.map_or_else(|| "failed".to_owned(), |per_s| rate(view, per_s.mean));
        let around = pair.per_s.map_or_else(String::new, plus_minus);
        let last = match &pair.limit {
            Some(limit) => limit.by.name().to_owned(),
            None => pair.reasons.first().map_or_else(String::new, |reason| clean(reason)),
        };
        let rest: Vec<String> = columns.iter().map(|column| (column.cell)(pair)).collect();
        text.push_str(&cells(&name(pair), [&pair.streams.to_string(), &shown, &around], &rest, &last));
    }
    text
}

/// Machines by what they send and receive, the slowest first.
fn nodes(view: &NetView, most: usize) -> String {
    let mut places: Vec<usize> = (0..view.nodes.len()).collect();
    let least = |place: &usize| {
        let node = &view.nodes[*place];
        let both = [node.sent_per_s, node.received_per_s];
        both.into_iter().flatten().fold(f64::INFINITY, f64::min)
    };
    places.sort_by(|a, b| least(a).total_cmp(&least(b)));
    places.truncate(most);
    if view.whole().is_none() {
        return String::new();
    }
    let names = places.iter().map(|place| width(&view.nodes[*place].name)).max().unwrap_or(0).clamp(16, NAME_MOST);
    let head = if places.len() < view.nodes.len() { "slowest machines" } else { "machines" };
    let mut text = format!("\n  {head:<names$} {:>10} {:>8} {:>10}\n", "sends", "", "receives");
    for place in places {
        let node = &view.nodes[place];
        let rate = |per_s: Option<f64>| per_s.map_or_else(|| ABSENT.to_owned(), |per_s| rate(view, per_s));
        let share = |share: Option<f64>| share.map_or_else(String::new, words::against);
        let row = format!(
            "  {:<names$} {:>10} {:>8} {:>10} {:>8}",
            cut(&clean(&node.name), names),
            rate(node.sent_per_s),
            share(node.sends_share),
            rate(node.received_per_s),
            share(node.receives_share)
        );
        text.push_str(&format!("{}\n", row.trim_end()));
    }
    text
}

/// Members of bonds, of the pairs first of which most strayed; with `all`, of all pairs.
fn members(view: &NetView, look: TextStyle, all: bool) -> String {
    let is_shown = |of: &&NetPairMembers| all || Some(of.streams) == view.compared_streams;
    let mut pairs: Vec<&NetPairMembers> = view.members.iter().filter(is_shown).collect();
    let strayed = |of: &NetPairMembers| of.leaves.as_ref().and_then(|of| of.strayed_share).unwrap_or(0.0);
    pairs.sort_by(|a, b| strayed(b).total_cmp(&strayed(a)));
    let count = pairs.len();
    pairs.truncate(if all { count } else { BONDED_SHOWN });
    let is_nothing = pairs.is_empty() && view.bonds_by_model.is_empty();
    let mut text = if is_nothing { String::new() } else { "\n".to_owned() };
    let mut add = |lead: &str, says: &str| text.push_str(&hanging_in(Colour::Dim, lead, LEAD, says, look));
    for of in &pairs {
        let pair = format!("{} → {}, {}", view.name(of.from), view.name(of.to), plural(of.streams.into(), "stream"));
        if let Some(leaves) = &of.leaves {
            let said = [bonds::sent(leaves), bonds::leaves_said(leaves)];
            let said: Vec<String> = said.into_iter().filter(|part| !part.is_empty()).collect();
            add(" leaves by", &format!("{}, {pair}: {}", bonds::bond(leaves), said.join("; ")));
        }
        if let Some(arrives) = &of.arrives {
            let said = [bonds::received(arrives), bonds::arrives_said(arrives)];
            add(" arrives on", &format!("{}, {pair}: {}", arrives.bond, said.join("; ")));
        }
    }
    if count > pairs.len() {
        add("", &format!("{}: --all shows them", plural((count - pairs.len()) as u64, "more pair")));
    }
    for of in &view.bonds_by_model {
        add(" S3 traffic", &format!("by the model, {}", bonds::by_model(view, of)));
    }
    text
}

/// What is behind the answer.
fn behind(view: &NetView, look: TextStyle) -> String {
    let mut text = String::from("\n");
    let mut add = |ink: Colour, lead: &str, says: &str| text.push_str(&hanging_in(ink, lead, LEAD, says, look));
    for limit in &view.limits {
        add(Colour::Dim, " look at", &format!("{}: {}", limit.by.name(), limit.look_at));
    }
    if view.load.op != NetOp::Mtu {
        add(Colour::Dim, " chance", &words::chance(view));
    }
    for remark in &view.remarks {
        add(Colour::Dim, " remark", remark);
    }
    text
}
