//! The page of links between machines: a map of all pairs, what is slow, who limited, goodput over streams.

use std::fmt::Write as _;

use linerate_analysis::net::view::{NetFinding, NetInterval, NetLimitedBy, NetNodeFigures, NetPairFigures, NetView};
use linerate_record::units::{bits_per_s, duration_ns};
use serde::Serialize;
use serde_json::{Value, json};

use super::NET_SCRIPT;
use super::charts::column;
use super::markup::{escaped, facts, table};
use super::sheet::{self, FindingRow, HtmlRow, Section, exact, named};
use crate::words::net::{against, enough, goodput, measured, plus_minus, rate, side, way};
use crate::words::{self, ABSENT, percent, plural, utc};

/// Slowest pairs that the page lists.
const PAIRS_SHOWN: usize = 40;

/// What the script draws.
#[derive(Serialize)]
struct Drawn<'v> {
    nodes: Vec<&'v str>,
    /// Names of limits, by the digits that cells have.
    limits: Vec<&'static str>,
    /// Goodputs of the number of streams that is compared: row by row, senders from top to bottom.
    map: Value,
    /// What limited each, a digit a cell.
    limited: String,
    /// Ends of the colours, in bytes per second.
    range: [f64; 2],
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
        ("streams", "Goodput over streams", streams(view)),
        ("pairs", "The slowest pairs", slowest(view)),
        ("nodes", "Machines", nodes(view)),
        ("measured", "How it was measured", setup(view)),
    ];
    let sections = sections.map(|(id, title, html)| Section { id, title, html });
    let drawn = serde_json::to_string(&drawn(view)).unwrap_or_else(|_| "{}".to_owned());
    sheet::sheet("links", &sheet::header("Links between machines", &facts), &sections, &drawn, NET_SCRIPT)
}

fn drawn(view: &NetView) -> Drawn<'_> {
    let count = view.nodes.len();
    let mut cells = vec![None; if view.whole().is_some() { count * count } else { 0 }];
    let mut limited = vec!['.'; cells.len()];
    for pair in view.compared() {
        let at = pair.from as usize * count + pair.to as usize;
        cells[at] = pair.bytes_per_s.map(|rate| rate.mean);
        if let Some(limit) = &pair.limit {
            let place = NetLimitedBy::ALL.into_iter().position(|by| by == limit.by);
            limited[at] = place.and_then(|place| char::from_digit(u32::try_from(place).ok()?, 10)).unwrap_or('.');
        }
    }
    Drawn {
        nodes: view.nodes.iter().map(|node| node.name.as_str()).collect(),
        limits: NetLimitedBy::ALL.into_iter().map(NetLimitedBy::name).collect(),
        map: if cells.is_empty() { json!(null) } else { column(cells.into_iter()) },
        limited: limited.into_iter().collect(),
        range: range(view),
        streams: view
            .streams
            .iter()
            .map(|of| (of.streams, of.bytes_per_s.mean, of.bytes_per_s.low, of.bytes_per_s.high))
            .collect(),
    }
}

/// Between which goodputs colours change: all that there are, and a tenth of the fastest at the least, so that links
/// that are alike look alike.
fn range(view: &NetView) -> [f64; 2] {
    view.whole()
        .map_or([0.0, 1.0], |of| [of.slowest_bytes_per_s.min(0.9 * of.fastest_bytes_per_s), of.fastest_bytes_per_s])
}

fn answer(view: &NetView) -> String {
    let warnings: String = view.warnings.iter().map(|warning| named("Warning", warning)).collect();
    let row = |finding: &'_ NetFinding| {
        let below = format!("{}{}", named("Shown by", &finding.evidence), named("Remedy", &finding.remedy));
        let beside = format!(" {}", words::confidence(finding.confidence));
        (finding.severity, beside, below)
    };
    let rows: Vec<_> = view.findings.iter().map(|finding| (finding, row(finding))).collect();
    let findings = sheet::findings(rows.iter().map(|(finding, (severity, beside, below))| FindingRow {
        severity: *severity,
        beside: beside.clone(),
        claim: &finding.claim,
        below: below.clone(),
    }));
    let findings = if view.findings.is_empty() { String::new() } else { findings };
    format!("{warnings}<p class=\"claim\">{}</p>\n{findings}", escaped(&view.answer))
}

fn map(view: &NetView) -> String {
    let Some(whole) = view.whole() else { return String::new() };
    let [low, high] = range(view);
    format!(
        "<figure><figcaption>Goodput with {}: {} from top to bottom send, the same from left to right receive\
         </figcaption>\n<canvas class=\"heat\" style=\"width:min(100%,960px);image-rendering:pixelated\" role=\"img\" \
         aria-label=\"Goodput of each pair\"></canvas>\n<p class=\"hint told\">point at a cell for names and \
         figures</p>\n<p class=\"hint\">{} <span aria-hidden=\"true\" style=\"display:inline-block;width:160px;\
         height:10px;background:linear-gradient(90deg,var(--h3),var(--h2),var(--h1),var(--h0))\"></span> {}; grey: not \
         measured</p></figure>\n",
        plural(u64::from(whole.streams), "stream"),
        plural(view.nodes.len() as u64, "machine"),
        escaped(&rate(low)),
        escaped(&rate(high))
    )
}

fn slow(view: &NetView) -> String {
    let chance = |chance: f64| format!("{chance:.0e}");
    let nodes = view.slow.nodes.iter().enumerate().map(|(i, slow)| {
        let at = |field: &str| format!("slow.nodes.{i}.{field}");
        HtmlRow::default()
            .name(view.name(slow.node))
            .words(side(slow.side))
            .figure(&at("less_share"), slow.less_share, &percent(slow.less_share))
            .figure(&at("bytes_per_s"), slow.bytes_per_s, &rate(slow.bytes_per_s))
            .figure(&at("others_bytes_per_s"), slow.others_bytes_per_s, &rate(slow.others_bytes_per_s))
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
            .figure(&at("bytes_per_s"), slow.bytes_per_s, &rate(slow.bytes_per_s))
            .figure(&at("expected_bytes_per_s"), slow.expected_bytes_per_s, &rate(slow.expected_bytes_per_s))
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
        let heads = ["pair", "less by", "goodput", "expected by its machines", "standard errors", "chance"];
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
            .figure(&at("bytes_per_s.mean"), of.bytes_per_s.mean, &rate(of.bytes_per_s.mean))
            .number(&plus_minus(of.bytes_per_s))
            .figure(&at("slowest_bytes_per_s"), of.slowest_bytes_per_s, &rate(of.slowest_bytes_per_s))
            .figure(&at("median_bytes_per_s"), of.median_bytes_per_s, &rate(of.median_bytes_per_s))
            .figure(&at("fastest_bytes_per_s"), of.fastest_bytes_per_s, &rate(of.fastest_bytes_per_s))
            .figure(&at("pairs"), of.pairs, &of.pairs.to_string())
            .whole()
    });
    let rows: String = rows.collect();
    let heads = ["streams", "mean of pairs", "95 %", "slowest", "median", "fastest", "pairs"];
    format!(
        "<p class=\"claim\">{}</p>\n<div id=\"stream-charts\" class=\"js-only\"></div>\n{}",
        escaped(&enough(&view.enough)),
        table("Goodput over streams", &heads, &rows)
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
    let compared = view.pairs.iter().enumerate().filter(|(_, pair)| Some(pair.streams) == view.compared_streams);
    let mut pairs: Vec<(usize, &NetPairFigures)> = compared.collect();
    pairs.sort_by(|a, b| goodput(a.1).total_cmp(&goodput(b.1)));
    pairs.truncate(PAIRS_SHOWN);
    let rows: String = pairs.into_iter().map(|(place, pair)| pair_row(view, place, pair)).collect();
    let heads = [
        "pair",
        "goodput",
        "95 %",
        "of link|What full packets of this goodput take of the fuller port, framing included",
        "sent again",
        "round trip",
        "fairness|Jain's index over streams: 1 where all got the same",
        "sender|Processor seconds for each GiB sent",
        "receiver|Processor seconds for each GiB received",
        "<limited by",
    ];
    if rows.is_empty() { rows } else { table("The slowest pairs", &heads, &rows) }
}

fn pair_row(view: &NetView, place: usize, pair: &NetPairFigures) -> String {
    let at = |field: &str| format!("pairs.{place}.{field}");
    let name = format!("{} → {}", view.name(pair.from), view.name(pair.to));
    let mean = |rate: NetInterval| rate.mean;
    let mut row = HtmlRow::default().name(&name);
    row = known(row, &at("bytes_per_s.mean"), pair.bytes_per_s.map(mean), rate);
    row = row.number(&pair.bytes_per_s.map_or_else(|| ABSENT.to_owned(), plus_minus));
    row = known(row, &at("link_share"), pair.link_share, percent);
    row = known(row, &at("retransmitted_share"), pair.retransmitted_share, percent);
    row = known(row, &at("round_trip_us"), pair.round_trip_us, |us| duration_ns(1e3 * us));
    row = known(row, &at("fairness"), pair.fairness, |index| format!("{index:.2}"));
    let cpu = |seconds: f64| format!("{seconds:.2} s/GiB");
    row = known(row, &at("sender_cpu_s_per_gib"), pair.sender_cpu_s_per_gib, cpu);
    row = known(row, &at("receiver_cpu_s_per_gib"), pair.receiver_cpu_s_per_gib, cpu);
    let said = match &pair.limit {
        Some(limit) => format!("{}: {}", limit.by.name(), limit.evidence),
        None => pair.reasons.join("; "),
    };
    row.sentence(&said).whole()
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
        row = known(row, &at("sent_bytes_per_s"), node.sent_bytes_per_s, rate);
        row = known(row, &at("sends_share"), node.sends_share, against);
        row = known(row, &at("received_bytes_per_s"), node.received_bytes_per_s, rate);
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
        ("Streams", streams.join(", ")),
        ("Visits of each", load.visits.to_string()),
        ("Seed", view.seed.to_string()),
        ("linerate", view.linerate.clone()),
    ];
    let remarks: String = view.remarks.iter().map(|remark| named("Remark", remark)).collect();
    facts(&all) + &remarks
}
