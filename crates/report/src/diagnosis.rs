//! A diagnosis as text for a terminal, JSON and one self-contained HTML page.

use linerate_record::diagnosis::{BEYOND_LINKS, Diagnosis, OutlierReading, ResourceUse, Suspect};
use linerate_record::readings::AbsentReading;
use linerate_record::sanitize::named_some;
use linerate_record::units::{count, percent};

use crate::colour::Colour;
use crate::diagnosis_sentences::{
    NOTHING_TO_SEND, fullest_racks, load, of_members, of_rack, of_rack_pair, of_sent_again, of_sockets, waits, window,
    worst,
};
use crate::line_budget::{LINES, Line, fits, fitted, line, whole_line};
use crate::phrases::{self, plural};
use crate::terminal::{TextStyle, hanging_in};

/// Suspects in a line each.
const SUSPECTS_SHOWN: usize = 2;
/// Lines that a part of the answer has at the most.
const EACH: usize = 2;
/// Parts that stay whatever else is said: window, load and answer.
const ANSWER_LINES: usize = 3;
/// Columns before what a line says.
const LEAD: usize = 12;
/// Odd readings that are listed below the answer.
const OUTLIER_SHOWN: usize = 5;
/// Pairs of racks, and racks, that have a line each.
const RACKS_SHOWN: usize = 8;
/// Suspects of less weight have no line.
const LEAST_SHOWN: f64 = 0.01;

/// The diagnosis as pretty JSON, with a line feed at its end. Reading it back gives an equal diagnosis.
///
/// # Panics
/// Never: a diagnosis has text keys only, which is all that JSON asks.
#[must_use]
pub fn json(diagnosis: &Diagnosis) -> String {
    crate::json::pretty(diagnosis).expect("a diagnosis has text keys only")
}

/// The diagnosis as one self-contained page. Figures carry `data-field` and `data-value`, as those of a plan.
#[must_use]
pub fn html(diagnosis: &Diagnosis) -> String {
    crate::html::diagnosis::page(diagnosis)
}

/// Ten lines that answer, and the odd ones below them. With `why`, everything: the readings behind each suspect, what
/// is lacking, what such readings cannot tell, and every caveat.
#[must_use]
pub fn text(diagnosis: &Diagnosis, why: bool, look: TextStyle) -> String {
    let mut text = answer(diagnosis, why, look);
    let shown = if why { diagnosis.outlier.len() } else { OUTLIER_SHOWN.min(diagnosis.outlier.len()) };
    if shown > 0 {
        text.push('\n');
    }
    for outlier in &diagnosis.outlier[..shown] {
        text.push_str(&hanging_in(Colour::Dim, " odd", LEAD, &in_full(outlier, why), look));
    }
    let left = diagnosis.outlier.len() - shown;
    if left > 0 {
        let more = format!("{}: --why shows them", plural(left as u64, "more odd reading"));
        text.push_str(&hanging_in(Colour::Dim, "", LEAD, &more, look));
    }
    if why { text + &behind(diagnosis, look) } else { text }
}

/// An odd reading as people read it.
fn in_full(outlier: &OutlierReading, why: bool) -> String {
    if why {
        format!("{} ({:.1} standard errors, chance {:.0e})", outlier.claim, outlier.sigmas, outlier.chance)
    } else {
        outlier.claim.clone()
    }
}

fn answer(diagnosis: &Diagnosis, why: bool, look: TextStyle) -> String {
    let (contradictions, warnings): (Vec<&String>, Vec<&String>) =
        diagnosis.warnings.iter().partition(|warning| warning.ends_with(BEYOND_LINKS));
    let contradictions = contradictions.into_iter().map(|said| whole_line(Colour::Yellow, " warning", said));
    let mut lines: Vec<Line> = contradictions.collect();
    let (contradicted, warned) = (lines.len(), if why { warnings.len() } else { EACH.saturating_sub(lines.len()) });
    lines.push(line(Colour::Dim, " window", window(diagnosis)));
    lines.push(line(Colour::Dim, " load", load(diagnosis)));
    lines.extend(warnings.into_iter().take(warned).map(|warning| line(Colour::Yellow, " warning", warning)));
    lines.push(line(Colour::Green, " ▸", diagnosis.answer.clone()));
    let all = &diagnosis.suspects;
    let shown = if why { all.len() } else { SUSPECTS_SHOWN.min(all.len()) };
    for (place, suspect) in all[..shown].iter().enumerate() {
        // The answer has said what the first one is, if it leads.
        if place > 0 && suspect.weight < LEAST_SHOWN && !why {
            break;
        }
        let says = if suspect.claim == diagnosis.answer { of_first(suspect) } else { suspect.claim.clone() };
        lines.push(line(Colour::Dim, format!("  {}  {:>5}", place + 1, phrases::percent(suspect.weight)), says));
    }
    let rest = all.len() - shown;
    let unread = match diagnosis.unheard {
        0 => "",
        1 => ", a node that was not read",
        _ => ", nodes that were not read",
    };
    let mut none = format!("none of these: clients, switches{unread}, or what no reading here shows");
    if rest > 0 {
        none = format!("{none}; {} not shown", plural(rest as u64, "suspect"));
    }
    lines.push(line(Colour::Dim, format!("  –  {:>5}", phrases::percent(diagnosis.none_of_these)), none));
    if let Some(lacking) = lacking(&diagnosis.absent) {
        lines.push(line(Colour::Yellow, " lacking", lacking));
    }
    if !diagnosis.used.is_empty() {
        lines.push(line(Colour::Dim, " fullest", fullest(&diagnosis.used)));
    }
    if let Some(first) = all.first().filter(|first| first.weight > diagnosis.none_of_these) {
        let gives = first.gives.as_ref().map_or_else(String::new, |gives| format!("; gives {gives}"));
        lines.push(line(Colour::Dim, " try for 1", format!("{}{gives}", first.remedy)));
    }
    if let Some(next) = diagnosis.next.as_ref().filter(|next| all.first().is_none_or(|first| first.remedy != **next)) {
        lines.push(line(Colour::Dim, " read next", next.clone()));
    }
    // It gives way where there is more to say.
    if let Some(waits) = waits(&diagnosis.sockets).filter(|_| lines.len() < LINES) {
        let place = lines.iter().position(|line| line.lead == " fullest").map_or(lines.len(), |place| place + 1);
        lines.insert(place, line(Colour::Dim, " waits for", waits));
    }
    let whole = |line: &Line| hanging_in(line.ink, &line.lead, LEAD, &line.says, look);
    if why {
        return lines.iter().map(whole).collect();
    }
    // What comes last gives way to what is not cut.
    while contradicted > 0 && lines.len() > ANSWER_LINES + contradicted && !fits(&lines, LEAD, look) {
        lines.pop();
    }
    fitted(&lines, LEAD, look)
}

/// What the first suspect has beside the claim, which the answer has.
fn of_first(suspect: &Suspect) -> String {
    let alongside = suspect.evidence.iter().find(|evidence| **evidence != suspect.claim);
    alongside.cloned().unwrap_or_else(|| "the same".to_owned())
}

fn fullest(used: &[ResourceUse]) -> String {
    const SHOWN: usize = 3;
    let one = |used: &ResourceUse| {
        let most = if used.nodes > 1 {
            format!(" (most {} {})", used.most_node, phrases::percent(used.most_share))
        } else {
            String::new()
        };
        format!("{} {}{most}", used.resource.in_a_sentence(), phrases::percent(used.share))
    };
    used.iter().take(SHOWN).map(one).collect::<Vec<_>>().join(", ")
}

/// Readings that are lacking, by what they would come from; those that are needed first.
fn lacking(absent: &[AbsentReading]) -> Option<String> {
    let mut sorted: Vec<&AbsentReading> = absent.iter().collect();
    sorted.sort_by_key(|one| !one.is_needed);
    let first = sorted.first()?;
    let mut metrics: Vec<&str> =
        sorted.iter().filter(|one| one.from == first.from).map(|one| one.metric.as_str()).collect();
    let others = sorted.len() - metrics.len();
    metrics.dedup();
    let more = if others > 0 { format!("; {others} more") } else { String::new() };
    Some(format!("{}: scrape {}{more}", metrics.join(", "), first.from))
}

/// What is behind the answer.
fn behind(diagnosis: &Diagnosis, look: TextStyle) -> String {
    let mut text = String::from("\n");
    let mut add = |ink: Colour, lead: &str, says: &str| text.push_str(&hanging_in(ink, lead, LEAD, says, look));
    for (place, suspect) in diagnosis.suspects.iter().enumerate() {
        for evidence in &suspect.evidence {
            add(Colour::Dim, &format!(" shows {}", place + 1), evidence);
        }
        let gives = suspect.gives.as_ref().map_or_else(String::new, |gives| format!("; gives {gives}"));
        add(Colour::Dim, &format!(" try for {}", place + 1), &format!("{}{gives}", suspect.remedy));
    }
    for used in &diagnosis.used {
        let says = format!(
            "{} of {} nodes: {} of {} at the middle node, {} at {}; {} full",
            used.resource.in_a_sentence(),
            used.group,
            phrases::percent(used.share),
            used.resource.amount(used.capacity),
            phrases::percent(used.most_share),
            used.most_node,
            plural(u64::from(used.full_nodes), "node")
        );
        add(Colour::Dim, " used", &says);
    }
    for members in &diagnosis.members {
        add(Colour::Dim, " members", &of_members(members));
    }
    for again in &diagnosis.sent_again {
        add(Colour::Dim, " sent again", &of_sent_again(again));
    }
    for sockets in &diagnosis.sockets {
        add(Colour::Dim, " sockets", &of_sockets(sockets));
    }
    if !diagnosis.sockets.is_empty() {
        add(Colour::Dim, "", NOTHING_TO_SEND);
    }
    for said in racks(diagnosis) {
        add(Colour::Dim, " racks", &said);
    }
    if !diagnosis.clients.is_empty() {
        add(Colour::Dim, " clients", &format!("read as well: {}", diagnosis.clients.join(", ")));
    }
    for absent in &diagnosis.absent {
        add(Colour::Yellow, " lacking", &format!("{} ({}): scrape {}", absent.metric, absent.of.name(), absent.from));
    }
    if !diagnosis.unknown_nodes.is_empty() {
        add(
            Colour::Dim,
            " others",
            &format!(
                "machines that are no nodes of the site: {}",
                named_some(diagnosis.unknown_nodes.iter().map(String::as_str))
            ),
        );
    }
    for blind in &diagnosis.blind {
        add(Colour::Dim, " blind", blind);
    }
    let odds = format!(
        "{} comparisons; of healthy windows, at most {} have something that is called odd",
        count(diagnosis.comparisons as f64),
        phrases::percent(diagnosis.false_alarm_share)
    );
    add(Colour::Dim, " chance", &odds);
    for caveat in &diagnosis.caveats {
        add(Colour::Dim, " caveat", caveat);
    }
    if let Some(explanation) = &diagnosis.explanation {
        add(Colour::Dim, " figures", "by the model run backward, from what the engine served:");
        text.push_str(&crate::explanation::text(explanation, false, look));
    }
    text
}

/// What is sent again from rack to rack, the worst pairs first, and what crosses the fullest of them.
fn racks(diagnosis: &Diagnosis) -> Vec<String> {
    let (pairs, racks) = (worst(&diagnosis.rack_pairs), fullest_racks(&diagnosis.racks));
    let mut said: Vec<String> = pairs.iter().take(RACKS_SHOWN).map(|pair| of_rack_pair(pair)).collect();
    if let Some(next) = pairs.get(RACKS_SHOWN) {
        let more = plural((pairs.len() - RACKS_SHOWN) as u64, "more pair");
        said.push(format!("{more} of racks: at most {}; --json has them", percent(next.retransmitted_share)));
    }
    said.extend(racks.iter().take(RACKS_SHOWN).map(|rack| of_rack(rack)));
    if racks.len() > RACKS_SHOWN {
        let more = plural((racks.len() - RACKS_SHOWN) as u64, "more rack");
        said.push(format!("{more}, of which less crosses; --json has them"));
    }
    said
}

#[cfg(test)]
pub(crate) mod tests {
    use linerate_record::diagnosis::{
        Cause, DIAGNOSIS_SCHEMA, HeatMap, HeatRows, OutlierKind, RackPair, RackUse, ReadLoad, ReadNode, ReadWindow,
        RetransmittingNode, SocketPath, SocketUse,
    };
    use linerate_record::plan::Resource;
    use linerate_record::readings::ReadMeasure;

    use super::*;

    fn read_window() -> ReadWindow {
        ReadWindow {
            source: "prometheus".to_owned(),
            begin_unix_ms: 1_795_673_177_000,
            end_unix_ms: 1_795_673_190_000,
            step_ms: 1000,
            interval_ms: 1000,
            rate_over_ms: 4000,
            steps: 10,
            busy_steps: 9,
            busy_begin_unix_ms: 1_795_673_178_000,
            busy_end_unix_ms: 1_795_673_190_000,
        }
    }

    /// A path of which senders had something to send for so much of the time, and a full window for so much of that.
    pub(crate) fn sends(path: SocketPath, busy_share: f64, window_share: f64) -> SocketUse {
        SocketUse {
            path,
            sockets: 480,
            sent_bytes: 12 << 30,
            busy_share,
            window_share,
            buffer_share: 0.1,
            retransmitted_share: 0.0002,
            round_trip_us: 210,
        }
    }

    /// The same of so many racks, of which the second loses what enters it, the more the later it is sent from.
    pub(crate) fn of_racks(racks: usize) -> Diagnosis {
        let name = |rack: usize| format!("row-{rack}");
        let mut racks_diagnosis = diagnosis(4);
        racks_diagnosis.racks = (1..=racks)
            .map(|rack| RackUse {
                name: name(rack),
                machines: 16,
                sent_bytes_per_s: 1e9,
                received_bytes_per_s: 1e9 + rack as f64,
                uplinks_bits_per_s: Some(4e10),
                sent_share: Some(0.2),
                received_share: Some(0.21),
            })
            .collect();
        let pairs = (1..=racks).flat_map(|from| (1..=racks).map(move |to| (from, to)));
        racks_diagnosis.rack_pairs = pairs
            .map(|(from, to)| RackPair {
                from: name(from),
                to: name(to),
                node_pairs: 256,
                sent_segments: 1_000_000,
                retransmitted_segments: 20_000,
                retransmitted_share: if to == 2 && from != 2 { 0.02 + 1e-4 * from as f64 } else { 1e-4 },
                is_too_few: false,
            })
            .collect();
        racks_diagnosis
    }

    /// A diagnosis with something of everything, of so many nodes.
    pub(crate) fn diagnosis(nodes: usize) -> Diagnosis {
        let claim = "the link eth0 of node3 sends 96.0 Mb/s steadily and never more, of 200 Mb/s that it should carry";
        Diagnosis {
            schema: DIAGNOSIS_SCHEMA,
            site: "four".to_owned(),
            window: read_window(),
            nodes: (1..=nodes)
                .map(|node| ReadNode {
                    name: format!("node{node}"),
                    group: "node".to_owned(),
                    machines: vec![format!("node{node}")],
                })
                .collect(),
            unknown_nodes: vec!["client".to_owned()],
            unheard: 0,
            load: ReadLoad { get_bytes_per_s: Some(4e7), put_bytes_per_s: Some(0.0), ..ReadLoad::default() },
            used: vec![ResourceUse {
                resource: Resource::PublicEgress,
                group: "node".to_owned(),
                part: "eth0".to_owned(),
                capacity: 2.5e7,
                share: 0.58,
                most_share: 0.61,
                most_node: "node4".to_owned(),
                full_nodes: 0,
                nodes: nodes as u32,
            }],
            members: Vec::new(),
            sockets: Vec::new(),
            racks: Vec::new(),
            rack_pairs: Vec::new(),
            clients: Vec::new(),
            sent_again: vec![RetransmittingNode { node: "node2".to_owned(), share: 0.027, others_share: Some(0.0004) }],
            outlier: (1..=7)
                .map(|node| OutlierReading {
                    of: OutlierKind::Steadiness(ReadMeasure::LinkSent),
                    node: format!("node{node}"),
                    part: "eth0".to_owned(),
                    value: 0.003,
                    others: 0.2,
                    sigmas: -9.0,
                    chance: 1e-5,
                    is_lasting: true,
                    claim: format!("node{node}: what is sent on eth0 varies by 0.3 %, that of the others by 20 %"),
                })
                .collect(),
            suspects: vec![Suspect {
                cause: Cause::SlowLinkSending,
                node: Some("node3".to_owned()),
                part: "eth0".to_owned(),
                claim: claim.to_owned(),
                weight: 0.95,
                evidence: vec!["node3: what is sent on eth0 varies by 0.3 %".to_owned()],
                remedy: "ethtool eth0 (Speed)".to_owned(),
                gives: Some("up to 1.64 times the throughput".to_owned()),
            }],
            none_of_these: 0.05,
            answer: claim.to_owned(),
            explanation: None,
            comparisons: 72,
            false_alarm_share: 0.01,
            absent: Vec::new(),
            blind: vec!["rates are means over 4.00 s".to_owned()],
            warnings: Vec::new(),
            caveats: vec!["the model was not run backward".to_owned()],
            next: None,
            heat: HeatMap {
                begin_unix_ms: 1_795_673_177_000,
                column_ms: 1000,
                columns: 120,
                maps: vec![HeatRows {
                    name: Resource::PublicEgress.name().to_owned(),
                    rows: vec!["k".repeat(120); nodes],
                }],
            },
        }
    }

    #[test]
    fn the_answer_has_ten_lines_and_names_the_first_suspect_and_the_odd_ones_below() {
        for width in [60, 80, 120] {
            let text = text(&diagnosis(4), false, TextStyle { color: false, width, whole: false });
            let (answer, outlier) = text.split_once("\n\n").unwrap();
            assert!(answer.lines().count() <= LINES, "{text}");
            assert!(answer.contains("▸") && answer.contains("the link eth0 of node3 sends"), "{text}");
            assert!(answer.contains("95 %") && answer.contains("none of these"), "{text}");
            assert!(outlier.contains("2 more odd readings: --why"), "{text}");
        }
    }

    #[test]
    fn bytes_of_clients_beyond_those_of_links_come_first_and_whole() {
        let beyond = format!("GET 17.9 GiB/s exceeds the 4.47 GiB/s that the nodes' links sent: {BEYOND_LINKS}");
        let warnings = vec!["4 of 8 nodes were not read".to_owned(), beyond.clone(), "a second one".to_owned()];
        let contradicted = Diagnosis { warnings, ..diagnosis(4) };
        for (width, why) in [(60, false), (80, false), (120, false), (60, true)] {
            let text = text(&contradicted, why, TextStyle { color: false, width, whole: false });
            let (answer, _) = text.split_once("\n\n").unwrap();
            let words = answer.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.starts_with(&format!("warning {beyond} window")), "{width}: {text}");
            assert!(answer.contains("▸") && words.contains("4 of 8 nodes were not read"), "{width}: {text}");
            assert!(why || answer.lines().count() <= LINES, "{width}: {text}");
        }
    }

    #[test]
    fn in_a_file_no_sentence_is_cut() {
        let look = TextStyle { color: false, width: 60, whole: true };
        assert!(!text(&diagnosis(4), false, look).contains('…'));
        assert!(text(&diagnosis(4), false, TextStyle { whole: false, ..look }).contains('…'), "on a screen one is");
    }

    #[test]
    fn with_why_everything_is_there() {
        let text = text(&diagnosis(4), true, TextStyle { color: false, width: 100, whole: false });
        for part in ["shows 1", "ethtool eth0", "72 comparisons", "client", "means over 4.00 s", "not run backward"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let again = "sent again node2 sends 2.70 % of its TCP segments again, the middle one of the others 0.0400 %";
        assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(again), "{text}");
        assert_eq!(serde_json::from_str::<Diagnosis>(&json(&diagnosis(4))).unwrap(), diagnosis(4));
    }

    #[test]
    fn racks_are_told_with_why_and_of_many_the_worst_first() {
        let look = TextStyle { color: false, width: 100, whole: false };
        for (racks, worst) in [(3, "row-3 to row-2: 2.03 %"), (64, "row-64 to row-2: 2.64 %")] {
            let text = text(&of_racks(racks), true, look);
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(" racks")).collect();
            assert!(lines[0].contains(worst), "{text}");
            assert!(words.contains("the middle one of 256 pairs of nodes"), "{text}");
            assert!(words.contains("16 machines: 8.00 Gb/s (20 %) out of it"), "{text}");
            assert!(lines.len() <= 2 * RACKS_SHOWN + 2, "{text}");
            assert_eq!(words.contains("4088 more pairs of racks: at most 2.56 %"), racks == 64, "{text}");
            assert_eq!(words.contains("56 more racks, of which less crosses"), racks == 64, "{text}");
        }
        assert!(!text(&diagnosis(4), true, look).contains(" racks"));
        assert_eq!(serde_json::from_str::<Diagnosis>(&json(&of_racks(3))).unwrap(), of_racks(3));
    }

    #[test]
    fn what_senders_wait_for_has_a_line_and_clients_are_counted() {
        let look = TextStyle { color: false, width: 100, whole: false };
        let both = vec![sends(SocketPath::ToClients, 0.12, 0.02), sends(SocketPath::AmongNodes, 0.9, 0.8)];
        let mut live = Diagnosis { sockets: both, clients: vec!["client1".to_owned()], ..diagnosis(4) };
        live.window.source = "live".to_owned();
        let answer = text(&live, false, look);
        for part in [
            "looks 1.00 s apart; 4 of 4 nodes read, and 1 client",
            "nodes to clients: nothing to send for 88 %; among nodes: full receive window for 72 %",
        ] {
            assert!(answer.contains(part), "{part}: {answer}");
        }
        assert!(!answer.contains("drives, processors or few requests"), "{answer}");
        let why = text(&live, true, look);
        for part in ["480 sockets sent 12.0 GiB", "the send buffer for 10 %", "round trip 210 µs", "as well: client1"]
        {
            assert!(why.split_whitespace().collect::<Vec<_>>().join(" ").contains(part), "{part}: {why}");
        }
        // Requests are small, and of their senders nobody asks for more.
        let requests = SocketUse { sent_bytes: 1 << 20, ..sends(SocketPath::FromClients, 0.001, 0.0) };
        live.sockets = vec![sends(SocketPath::ToClients, 0.12, 0.02), requests];
        let answer = text(&live, false, look);
        assert!(answer.contains("nothing to send for 88 % of the time: drives, processors or few"), "{answer}");
        assert!(!answer.contains("clients to nodes"), "{answer}");
        // Idle connections hide no full window of those in use.
        live.sockets = vec![sends(SocketPath::ToClients, 0.08, 0.47)];
        let answer = text(&live, false, look);
        assert!(answer.contains("nothing to send for 92 %, else full receive window for 47 %"), "{answer}");
        assert!(!answer.contains("few requests"), "{answer}");
        assert!(!text(&diagnosis(4), true, look).contains("sockets"));
    }
}
