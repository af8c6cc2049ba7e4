//! What each of several clients did: for the best point of each series a strip of all of them, sorted, and a table for
//! all points.

use std::fmt::Write as _;

use linerate_analysis::view::{ClientFigures, Measure, Point, Series, View};
use linerate_record::units::{bytes_per_s_iec, count, percent};

use super::markup::{escaped, table};
use super::point_label;
use crate::phrases;

/// Rows beyond which only the best point of each series has rows.
const ROWS_MAX: usize = 1_000;

/// Bars that all strips of a page have at most.
const BARS_MAX: usize = 4_000;

/// Clients named below a strip.
const LABELS_MAX: usize = 6;

/// Clients from which a strip is worth its place.
const STRIP_MIN: usize = 3;

const HEADS: [&str; 14] = [
    "<Point",
    "<Client",
    "Share|of the throughput of all",
    "Req/s",
    "Throughput",
    "Failed",
    "p50",
    "p99",
    "Threads busy",
    "Machine busy",
    "NIC|its busiest interface, in its busier direction",
    "Retransmits/s|TCP segments that its machine sent again",
    "Of its ceiling|as a share of what it reached against the null target",
    "<Remark",
];

/// Strips and a table; nothing where there was one client.
pub(super) fn section(view: &View) -> String {
    let all: Vec<(&Series, &Point)> =
        view.series.iter().flat_map(|series| series.points.iter().map(move |point| (series, point))).collect();
    let rows_of = |of: &[(&Series, &Point)]| of.iter().map(|(_, point)| point.clients.len()).sum::<usize>();
    if rows_of(&all) == 0 {
        return String::new();
    }
    let best: Vec<(&Series, &Point)> =
        view.series.iter().filter_map(|series| Some((series, series.best_point()?))).collect();
    let (shown, note) = match rows_of(&all) {
        few if few <= ROWS_MAX => (all, ""),
        _ if rows_of(&best) <= ROWS_MAX => (best.clone(), "<p class=\"hint\">Best points; JSON has all.</p>\n"),
        _ => (Vec::new(), "<p class=\"hint\">So many rows: the JSON of the report has them.</p>\n"),
    };
    let mut rows = String::new();
    for (series, point) in shown {
        let label = point_label(series, point);
        let mut clients: Vec<&ClientFigures> = point.clients.iter().collect();
        if clients.len() > phrases::client_growth::ROWS_MAX {
            clients.sort_by(|a, b| a.throughput(series.measure).total_cmp(&b.throughput(series.measure)));
        }
        rows.extend(clients.into_iter().map(|client| row(&label, client)));
    }
    let rows = if rows.is_empty() { rows } else { table("Clients", &HEADS, &rows) };
    format!("<section id=\"clients\"><div class=\"bar-head\"><h2>Clients</h2>{}{note}{rows}</section>\n", strips(&best))
}

fn row(label: &str, client: &ClientFigures) -> String {
    let share = |share: Option<f64>| share.map_or_else(|| phrases::ABSENT.to_owned(), phrases::percent);
    let latency = |ns: u64| match client.requests {
        0 => phrases::ABSENT.to_owned(),
        _ => phrases::quantile(ns, client.total_at_least_ns),
    };
    let or_absent = |text: Option<String>| text.unwrap_or_else(|| phrases::ABSENT.to_owned());
    let figures = [
        percent(client.share),
        count(client.requests_per_s),
        bytes_per_s_iec(client.bytes_per_s),
        phrases::grouped(client.errors),
        latency(client.total_p50_ns),
        latency(client.total_p99_ns),
        share(client.busy),
        share(client.machine_busy),
        or_absent(phrases::client_growth::nic(client)),
        or_absent(phrases::client_growth::retransmits(client)),
        share(client.ceiling_share),
    ];
    let figures: String = figures.iter().map(|cell| format!("<td>{}", escaped(cell))).collect();
    let [label, name, state] = [label, &client.client, &phrases::client_growth::state(client)].map(escaped);
    format!("<tr><td class=\"l\">{label}<td class=\"l\">{name}</td>{figures}<td class=\"l\">{state}\n")
}

/// A strip for the best point of each series, and a selector between them; without JavaScript all show.
fn strips(best: &[(&Series, &Point)]) -> String {
    let mut bars = 0;
    let shown = best.iter().filter(|(_, point)| point.clients.len() >= STRIP_MIN).take_while(|(_, point)| {
        bars += point.clients.len();
        bars <= BARS_MAX
    });
    let (mut options, mut strips, mut most) = (String::new(), String::new(), 0);
    for (series, point) in shown {
        let label = point_label(series, point);
        // The strip of most clients shows first.
        let selected = if point.clients.len() > most { " selected" } else { "" };
        most = most.max(point.clients.len());
        let _ = write!(options, "<option value=\"{}\"{selected}>{}</option>", point.point, escaped(&label));
        let _ =
            writeln!(strips, "<div data-clients-of=\"{}\">{}</div>", point.point, strip(&label, point, series.measure));
    }
    if strips.is_empty() {
        return "</div>\n".to_owned();
    }
    format!(
        "<label class=\"js-only\">Best point of <select id=\"clients-of\">{options}</select></label></div>\n<p \
         class=\"hint\">A bar for each client, the slowest first, as high as its throughput; the line is the median. \
         Coloured: slower than its peers beyond chance, or full itself.</p>\n{strips}"
    )
}

/// All clients of a point, sorted by throughput; those that stand out are named below their bars.
fn strip(label: &str, point: &Point, measure: Measure) -> String {
    let mut rows: Vec<&ClientFigures> = point.clients.iter().collect();
    rows.sort_by(|a, b| a.throughput(measure).total_cmp(&b.throughput(measure)));
    let most = rows.last().map_or(0.0, |row| row.throughput(measure)).max(f64::MIN_POSITIVE);
    let height = |throughput: f64| 100.0 * (throughput / most).clamp(0.0, 1.0);
    let mut bars = String::new();
    for row in &rows {
        let class = match (row.below_peers, row.full) {
            (Some(_), _) => " class=\"slow\"",
            (None, Some(_)) => " class=\"full\"",
            (None, None) => "",
        };
        let (name, at) = (escaped(&row.client), row.throughput(measure));
        let title = format!("{name}: {}", phrases::client_growth::rate(at, measure));
        let _ = write!(bars, "<b{class} style=\"--h:{:.1}%\" title=\"{title}\"></b>", height(at));
    }
    let middle = 0.5 * (rows[(rows.len() - 1) / 2].throughput(measure) + rows[rows.len() / 2].throughput(measure));
    format!(
        "<figure class=\"chart strip-of\"><figcaption>{} <small>{}</small></figcaption>\n<div class=\"strip-bars\" \
         role=\"img\" aria-label=\"Throughput of each client, sorted; the figures are in the table\">{bars}<i \
         style=\"bottom:{:.1}%\"></i></div>\n{}</figure>\n",
        escaped(label),
        escaped(&phrases::client_growth::spread(point, measure)),
        height(middle),
        labels(&rows, measure)
    )
}

/// The names of clients that stand out, each below its bar with a line up to it: to the right of the line in the left
/// half, the first lowest, and to its left in the right half, so that no name crosses a line.
fn labels(rows: &[&ClientFigures], measure: Measure) -> String {
    let stand_out = |row: &ClientFigures| row.below_peers.is_some() || row.full.is_some();
    let all: Vec<usize> = (0..rows.len()).filter(|&place| stand_out(rows[place])).collect();
    let named = &all[..all.len().min(LABELS_MAX)];
    let at = |place: usize| 100.0 * (place as f64 + 0.5) / rows.len() as f64;
    let (left, right): (Vec<usize>, Vec<usize>) = named.iter().copied().partition(|&place| at(place) < 50.0);
    let lines = left.len().max(right.len());
    let mut html = String::new();
    let mut label = |place: usize, line: usize, side: &str, edge: f64| {
        let row = rows[place];
        let text = format!(
            "{} {} {}",
            row.client,
            phrases::client_growth::rate(row.throughput(measure), measure),
            phrases::client_growth::state(row)
        );
        let _ = write!(
            html,
            "<span class=\"{side}\" style=\"{side}:{edge:.2}%;--line:{line}\">{}</span>",
            escaped(text.trim_end())
        );
    };
    left.iter().enumerate().for_each(|(i, &place)| label(place, left.len() - i, "left", at(place)));
    right.iter().enumerate().for_each(|(i, &place)| label(place, i + 1, "right", 100.0 - at(place)));
    let more = match all.len() - named.len() {
        0 => String::new(),
        more => format!("<p class=\"hint\">{more} more stand out: the table names them.</p>"),
    };
    if lines == 0 { more } else { format!("<div class=\"strip-names\" style=\"--lines:{lines}\">{html}</div>{more}\n") }
}
