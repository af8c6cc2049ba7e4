//! The page of links between machines: a map of all pairs, what is slow, who limited, goodput over streams. Members of
//! bonds: `net/members.rs`.

mod classes;

mod members;

mod paths;

mod racks;

use std::fmt::Write as _;

use linerate_analysis::net::view::{NetFinding, NetInterval, NetLimitedBy, NetNodeFigures, NetPairFigures, NetView};
use linerate_record::net::NetOp;
use linerate_record::units::bits_per_s;
use serde::Serialize;
use serde_json::{Value, json};

use super::NET_SCRIPT;
use super::charts::column;
use super::markup::{escaped, facts, table};
use super::page::{self, FindingRow, HtmlRow, Section, exact, named};
use crate::phrases::net::{
    against, counted, counted_title, enough_of_all, measured, micros, pair_rate, plus_minus, rate, side, way,
};
use crate::phrases::{self, ABSENT, percent, plural, utc};

/// Slowest pairs that the page lists.
const PAIRS_SHOWN: usize = 40;

/// Widest cell of the map, the widest map, and what names take beside it, in pixels.
const CELL_PIXELS: usize = 64;
const MAP_PIXELS: usize = 960;
const NAMES_PIXELS: usize = 170;

/// Most machines of a map whose cells have room for figures.
const FIGURES_MOST: usize = 16;

/// What the script draws.
#[derive(Serialize)]
struct Drawn<'v> {
    nodes: Vec<&'v str>,
    /// Names of limits, by the digits that cells have.
    limits: Vec<&'static str>,
    /// What rates are of, but where they are of bytes.
    unit: &'static str,
    title: &'static str,
    /// Rates of the number of streams that is compared: row by row, senders from top to bottom.
    map: Value,
    /// What limited each, a digit of 36 a cell.
    limited: String,
    /// Ends of the colours.
    range: [f64; 2],
    /// By what rates are divided that stand in cells; absent where these have no room for them.
    cell_scale: Option<f64>,
    /// Streams, mean, and the ends of its interval where they are known.
    streams: Vec<(u32, f64, Option<f64>, Option<f64>)>,
}

/// The page.
pub(crate) fn page(view: &NetView) -> String {
    let began = utc(u64::try_from(view.began_unix_ms).unwrap_or(0));
    let facts = [("Began", began), ("Measured", measured(view))];
    let sections = [
        ("answer", "What links do", answer(view)),
        ("map", "All pairs", map(view)),
        ("slow", "What is slow beyond chance", slow(view)),
        ("limits", "What limits the pairs", limits(view)),
        ("streams", over_streams(view), streams(view)),
        ("pairs", pairs_title(view), slowest(view)),
        ("racks", "What racks carry at once", racks::section(view)),
        ("classes", "Classes of pairs", classes::section(view)),
        ("members", "Members of bonds", members::section(view)),
        ("nodes", "Machines", nodes(view)),
        ("measured", "How it was measured", setup(view)),
    ];
    let sections = sections.map(|(id, title, html)| Section { id, title, html });
    let drawn = serde_json::to_string(&drawn(view)).unwrap_or_else(|_| "{}".to_owned());
    page::sheet("links", &page::header("Links between machines", &facts), &sections, &drawn, NET_SCRIPT)
}

/// The title of the table of pairs.
const fn pairs_title(view: &NetView) -> &'static str {
    match view.load.op {
        NetOp::Mtu => "How long packets may be",
        _ => "The slowest pairs",
    }
}

/// The title of rates over the number of streams.
const fn over_streams(view: &NetView) -> &'static str {
    match view.load.op {
        NetOp::Stream | NetOp::Udp { .. } => "Goodput over streams",
        NetOp::Request { .. } => "Requests over streams",
        NetOp::Connect => "Connections over streams",
        NetOp::Mtu => "",
    }
}

fn drawn(view: &NetView) -> Drawn<'_> {
    let count = view.nodes.len();
    let mut cells = vec![None; if view.whole().is_some() { count * count } else { 0 }];
    let mut limited = vec!['.'; cells.len()];
    for pair in view.compared() {
        let at = pair.from as usize * count + pair.to as usize;
        // Paths have no rate, and no map.
        let Some(cell) = cells.get_mut(at) else { continue };
        *cell = pair.per_s.map(|rate| rate.mean);
        if let Some(limit) = &pair.limit {
            let place = NetLimitedBy::ALL.into_iter().position(|by| by == limit.by);
            limited[at] = place.and_then(|place| char::from_digit(u32::try_from(place).ok()?, 36)).unwrap_or('.');
        }
    }
    Drawn {
        nodes: view.nodes.iter().map(|node| node.name.as_str()).collect(),
        limits: NetLimitedBy::ALL.into_iter().map(NetLimitedBy::name).collect(),
        unit: match view.load.op {
            NetOp::Stream | NetOp::Udp { .. } => "",
            NetOp::Request { .. } => "requests/s",
            NetOp::Connect => "connections/s",
            NetOp::Mtu => "bytes",
        },
        title: over_streams(view),
        map: if cells.is_empty() { json!(null) } else { column(cells.into_iter()) },
        limited: limited.into_iter().collect(),
        range: range(view),
        cell_scale: in_cells(view).map(|(_, scale)| scale),
        streams: view.streams.iter().map(|of| (of.streams, of.per_s.mean, of.per_s.low, of.per_s.high)).collect(),
    }
}

/// Between which goodputs colours change: all that there are, and a tenth of the fastest at the least, so that links
/// that are alike look alike.
fn range(view: &NetView) -> [f64; 2] {
    view.whole().map_or([0.0, 1.0], |of| [of.slowest_per_s.min(0.9 * of.fastest_per_s), of.fastest_per_s])
}

fn answer(view: &NetView) -> String {
    let warnings: String = view.warnings.iter().map(|warning| named("Warning", warning)).collect();
    let row = |finding: &'_ NetFinding| {
        let below = format!("{}{}", named("Shown by", &finding.evidence), named("Remedy", &finding.remedy));
        let alongside = format!(" {}", phrases::confidence(finding.confidence));
        (finding.severity, alongside, below)
    };
    let rows: Vec<_> = view.findings.iter().map(|finding| (finding, row(finding))).collect();
    let findings = page::findings(rows.iter().map(|(finding, (severity, alongside, below))| FindingRow {
        severity: *severity,
        alongside: alongside.clone(),
        claim: &finding.claim,
        below: below.clone(),
    }));
    let findings = if view.findings.is_empty() { String::new() } else { findings };
    format!("{warnings}<p class=\"claim\">{}</p>\n{findings}", escaped(&view.answer))
}

/// In which unit figures stand in cells; `None` where they do not.
fn in_cells(view: &NetView) -> Option<(&'static str, f64)> {
    view.whole().filter(|_| view.nodes.len() <= FIGURES_MOST).map(|_| phrases::net::unit(view))
}

fn map(view: &NetView) -> String {
    let Some(whole) = view.whole() else { return String::new() };
    let figures = in_cells(view).map_or_else(String::new, |(unit, _)| format!("; figures are in {unit}"));
    let [low, high] = range(view);
    let widest = view.nodes.len().saturating_mul(CELL_PIXELS).min(MAP_PIXELS) + NAMES_PIXELS;
    format!(
        "<figure><figcaption>{} with {}: {} from top to bottom send, the same from left to right receive{figures}\
         </figcaption>\n<div class=\"pairs\" style=\"max-width:{widest}px\"><div class=\"across\" aria-hidden=\"true\">\
         </div><div class=\"down\" aria-hidden=\"true\"></div><div class=\"cells\">\
         <canvas class=\"heat\" tabindex=\"0\" role=\"application\" \
         aria-label=\"{} of each pair: arrow keys move from cell to cell, and the line below says what it is\">\
         </canvas><i class=\"spot\" hidden></i></div></div>\n<p class=\"hint told\" aria-live=\"polite\">\
         point at a cell, or move there with the arrow keys, for names and figures</p>\n<p class=\"hint\">{} \
         <span aria-hidden=\"true\" style=\"display:inline-block;width:160px;height:10px;background:\
         linear-gradient(90deg,var(--h3),var(--h2),var(--h1),var(--h0))\"></span> {}; grey: not measured</p>\
         </figure>\n",
        counted_title(view),
        plural(u64::from(whole.streams), "stream"),
        plural(view.nodes.len() as u64, "machine"),
        counted_title(view),
        escaped(&rate(view, low)),
        escaped(&rate(view, high))
    )
}

fn slow(view: &NetView) -> String {
    if view.load.op == NetOp::Mtu {
        return String::new();
    }
    let chance = |chance: f64| format!("{chance:.0e}");
    let nodes = view.slow.nodes.iter().enumerate().map(|(i, slow)| {
        let at = |field: &str| format!("slow.nodes.{i}.{field}");
        HtmlRow::default()
            .name(view.name(slow.node))
            .words(side(slow.side))
            .figure(&at("less_share"), slow.less_share, &percent(slow.less_share))
            .figure(&at("per_s"), slow.per_s, &rate(view, slow.per_s))
            .figure(&at("others_per_s"), slow.others_per_s, &rate(view, slow.others_per_s))
            .figure(&at("sigmas"), slow.sigmas, &format!("{:.1}", slow.sigmas))
            .figure(&at("chance"), slow.chance, &chance(slow.chance))
            .whole()
    });
    let nodes: String = nodes.collect();
    let pairs = view.slow.pairs.iter().enumerate().take(PAIRS_SHOWN).map(|(i, slow)| {
        let at = |field: &str| format!("slow.pairs.{i}.{field}");
        HtmlRow::default()
            .name(&format!("{} → {}", view.name(slow.from), view.name(slow.to)))
            .figure(&at("less_share"), slow.less_share, &percent(slow.less_share))
            .figure(&at("per_s"), slow.per_s, &rate(view, slow.per_s))
            .figure(&at("expected_per_s"), slow.expected_per_s, &rate(view, slow.expected_per_s))
            .figure(&at("sigmas"), slow.sigmas, &format!("{:.1}", slow.sigmas))
            .figure(&at("chance"), slow.chance, &chance(slow.chance))
            .whole()
    });
    let pairs: String = pairs.collect();
    let mut html = String::new();
    if !nodes.is_empty() {
        let heads = ["machine", "<slow", "less by", "median pair", "of others", "standard errors", "chance"];
        html.push_str(&table("Slow machines", &heads, &nodes));
    }
    if !pairs.is_empty() {
        let expected = if view.has_two_directions() { "the other way" } else { "expected by its machines" };
        let heads = ["pair", "less by", counted(view), expected, "standard errors", "chance"];
        html.push_str(&table("Slow pairs", &heads, &pairs));
    }
    if html.is_empty() {
        html.push_str("<p class=\"none\">Nothing.</p>\n");
    }
    let _ = writeln!(
        html,
        "<p class=\"hint\"><span{}>{}</span> comparisons; of healthy fleets, at most <span{}>{}</span> have anything \
         that is called slow, and less than <span{}>{}</span> is not. {}</p>",
        exact("slow.comparisons", view.slow.comparisons),
        view.slow.comparisons,
        exact("slow.false_alarm_share", view.slow.false_alarm_share),
        percent(view.slow.false_alarm_share),
        exact("slow.least_share", view.slow.least_share),
        percent(view.slow.least_share),
        escaped(&view.slow.lacking)
    );
    html
}

fn limits(view: &NetView) -> String {
    let all: u32 = view.limits.iter().map(|limit| limit.pairs).sum();
    let rows = view.limits.iter().enumerate().map(|(i, limit)| {
        let share = f64::from(limit.pairs) / f64::from(all.max(1));
        HtmlRow::default()
            .name(limit.by.name())
            .figure_bar(&format!("limits.{i}.pairs"), limit.pairs, share, &limit.pairs.to_string())
            .sentence(&limit.evidence)
            .sentence(&limit.look_at)
            .whole()
    });
    let rows: String = rows.collect();
    let heads = ["limit", "pairs", "<readings of the median one", "<look at"];
    if rows.is_empty() { rows } else { table("What limits how many pairs", &heads, &rows) }
}

fn streams(view: &NetView) -> String {
    if view.streams.len() < 2 {
        return String::new();
    }
    let rows = view.streams.iter().enumerate().map(|(i, of)| {
        let at = |field: &str| format!("streams.{i}.{field}");
        HtmlRow::default()
            .name_figure(&at("streams"), of.streams, &of.streams.to_string())
            .figure(&at("per_s.mean"), of.per_s.mean, &rate(view, of.per_s.mean))
            .number(&plus_minus(of.per_s))
            .figure(&at("slowest_per_s"), of.slowest_per_s, &rate(view, of.slowest_per_s))
            .figure(&at("median_per_s"), of.median_per_s, &rate(view, of.median_per_s))
            .figure(&at("fastest_per_s"), of.fastest_per_s, &rate(view, of.fastest_per_s))
            .figure(&at("pairs"), of.pairs, &of.pairs.to_string())
            .whole()
    });
    let rows: String = rows.collect();
    let heads = ["streams", "mean of pairs", "95 %", "slowest", "median", "fastest", "pairs"];
    format!(
        "<p class=\"claim\">{}</p>\n<div id=\"stream-charts\" class=\"js-only\"></div>\n{}",
        escaped(&enough_of_all(view)),
        table(over_streams(view), &heads, &rows)
    )
}

/// A cell of a figure that may be absent.
fn known(row: HtmlRow, field: &str, value: Option<f64>, shown: impl Fn(f64) -> String) -> HtmlRow {
    match value {
        Some(value) => row.figure(field, value, &shown(value)),
        None => row.number(ABSENT),
    }
}

fn slowest(view: &NetView) -> String {
    if view.load.op == NetOp::Mtu {
        return paths::pairs(view);
    }
    let compared = view.pairs.iter().enumerate().filter(|(_, pair)| Some(pair.streams) == view.compared_streams);
    let mut pairs: Vec<(usize, &NetPairFigures)> = compared.collect();
    pairs.sort_by(|a, b| pair_rate(a.1).total_cmp(&pair_rate(b.1)));
    pairs.truncate(PAIRS_SHOWN);
    let rows: String = pairs.into_iter().map(|(place, pair)| pair_row(view, place, pair)).collect();
    let heads: Vec<&str> = ["pair", counted(view), "95 %"]
        .into_iter()
        .chain(pair_heads(view.load.op).iter().copied())
        .chain(["<limited by"])
        .collect();
    if rows.is_empty() { rows } else { table("The slowest pairs", &heads, &rows) }
}

/// Columns of what each stream does.
const fn pair_heads(op: NetOp) -> &'static [&'static str] {
    match op {
        NetOp::Stream => &[
            "of link|What full packets of this goodput take of the fuller port, framing included",
            "sent again",
            "round trip",
            "fairness|Jain's index over streams: 1 where all got the same",
            "sender|Processor seconds for each GiB sent",
            "receiver|Processor seconds for each GiB received",
        ],
        NetOp::Request { .. } | NetOp::Connect => &["p50", "p90", "p99", "p99.9", "longest"],
        NetOp::Udp { .. } => &[
            "sent",
            "lost|Of the datagrams sent",
            "by socket|Of the datagrams sent, what the receiver's own sockets dropped",
            "reordered",
            "twice",
            "jitter|Of arrivals, by RFC 3550",
        ],
        NetOp::Mtu => &[],
    }
}

fn pair_row(view: &NetView, place: usize, pair: &NetPairFigures) -> String {
    let at = |field: &str| format!("pairs.{place}.{field}");
    let name = format!("{} → {}", view.name(pair.from), view.name(pair.to));
    let mean = |rate: NetInterval| rate.mean;
    let mut row = HtmlRow::default().name(&name);
    row = known(row, &at("per_s.mean"), pair.per_s.map(mean), |per_s| rate(view, per_s));
    row = row.number(&pair.per_s.map_or_else(|| ABSENT.to_owned(), plus_minus));
    row = match view.load.op {
        NetOp::Stream => stream_cells(row, &at, pair),
        NetOp::Request { .. } | NetOp::Connect => time_cells(row, &at, pair),
        NetOp::Udp { .. } => datagram_cells(row, &at, view, pair),
        NetOp::Mtu => row,
    };
    let said = match &pair.limit {
        Some(limit) => format!("{}: {}", limit.by.name(), limit.evidence),
        None => pair.reasons.join("; "),
    };
    row.sentence(&said).whole()
}

fn stream_cells(row: HtmlRow, at: &dyn Fn(&str) -> String, pair: &NetPairFigures) -> HtmlRow {
    let mut row = known(row, &at("link_share"), pair.link_share, percent);
    row = known(row, &at("retransmitted_share"), pair.retransmitted_share, percent);
    row = known(row, &at("round_trip_us"), pair.round_trip_us, micros);
    row = known(row, &at("fairness"), pair.fairness, |index| format!("{index:.2}"));
    let cpu = |seconds: f64| format!("{seconds:.2} s/GiB");
    row = known(row, &at("sender_cpu_s_per_gib"), pair.sender_cpu_s_per_gib, cpu);
    known(row, &at("receiver_cpu_s_per_gib"), pair.receiver_cpu_s_per_gib, cpu)
}

fn time_cells(row: HtmlRow, at: &dyn Fn(&str) -> String, pair: &NetPairFigures) -> HtmlRow {
    let times = pair.times;
    let mut row = known(row, &at("times.p50_us"), times.map(|of| of.p50_us), micros);
    row = known(row, &at("times.p90_us"), times.map(|of| of.p90_us), micros);
    row = known(row, &at("times.p99_us"), times.map(|of| of.p99_us), micros);
    row = known(row, &at("times.p999_us"), times.map(|of| of.p999_us), micros);
    known(row, &at("times.max_us"), times.map(|of| of.max_us), micros)
}

fn datagram_cells(row: HtmlRow, at: &dyn Fn(&str) -> String, view: &NetView, pair: &NetPairFigures) -> HtmlRow {
    let datagrams = pair.datagrams;
    let mut row = known(row, &at("datagrams.sent_per_s"), datagrams.map(|of| of.sent_per_s), |per_s| rate(view, per_s));
    row = known(row, &at("datagrams.lost_share"), datagrams.map(|of| of.lost_share), percent);
    row = known(row, &at("datagrams.socket_drops_share"), datagrams.map(|of| of.socket_drops_share), percent);
    row = known(row, &at("datagrams.reordered_share"), datagrams.map(|of| of.reordered_share), percent);
    row = known(row, &at("datagrams.duplicated_share"), datagrams.map(|of| of.duplicated_share), percent);
    known(row, &at("datagrams.jitter_us"), datagrams.map(|of| of.jitter_us), micros)
}

fn nodes(view: &NetView) -> String {
    let row = |(place, node): (usize, &NetNodeFigures)| {
        let at = |field: &str| format!("nodes.{place}.{field}");
        let mut row = HtmlRow::default().name(&node.name).words(&node.interface);
        row = match node.speed_bits_per_s {
            Some(speed) => row.figure(&at("speed_bits_per_s"), speed, &bits_per_s(speed as f64)),
            None => row.number(ABSENT),
        };
        row = match node.mtu_bytes {
            Some(mtu) => row.figure(&at("mtu_bytes"), mtu, &mtu.to_string()),
            None => row.number(ABSENT),
        };
        row = known(row, &at("sent_per_s"), node.sent_per_s, |per_s| rate(view, per_s));
        row = known(row, &at("sends_share"), node.sends_share, against);
        row = known(row, &at("received_per_s"), node.received_per_s, |per_s| rate(view, per_s));
        row = known(row, &at("receives_share"), node.receives_share, against);
        row.figure(&at("failed"), node.failed, &format!("{} of {}", node.failed, node.tries)).whole()
    };
    let rows: String = view.nodes.iter().enumerate().map(row).collect();
    let heads = [
        "machine",
        "<interface",
        "speed",
        "MTU",
        "sends|The median of its pairs",
        "against others|To the same receivers, as the median machine sends",
        "receives|The median of its pairs",
        "against others|From the same senders, as the median machine receives",
        "failed",
    ];
    if rows.is_empty() { rows } else { table("Machines", &heads, &rows) }
}

fn setup(view: &NetView) -> String {
    let load = &view.load;
    let streams: Vec<String> = load.streams.iter().map(u32::to_string).collect();
    let all = [
        ("Command", view.command.join(" ")),
        ("Pairs of a round", way(load.way).to_owned()),
        ("Streams", streams.join(", ") + if load.is_searched { ", by a search" } else { "" }),
        ("Visits of each", load.visits.to_string() + if load.is_searched { " in each step" } else { "" }),
        ("Seed", view.seed.to_string()),
        ("linerate", view.linerate.clone()),
    ];
    let remarks: String = view.remarks.iter().map(|remark| named("Remark", remark)).collect();
    facts(&all) + &remarks
}
