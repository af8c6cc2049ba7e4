//! The page of a diagnosis.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use linerate_record::diagnosis::{Diagnosis, Suspect};
use linerate_record::sanitize::named_some;
use linerate_record::units::{bits_per_s, bytes_iec, duration_ns, grouped, percent};
use serde::Serialize;

use super::DIAGNOSIS_SCRIPT;
use super::markup::{escaped, table};
use super::page::{self, HtmlRow, Section, exact, named};
use crate::diagnosis_sentences::{
    NOTHING_TO_SEND, load, of_members, of_path, of_rack_pair, of_sent_again, sender_time, waits, window, worst,
};
use crate::phrases;

/// What the script draws.
#[derive(Serialize)]
struct Drawn<'d> {
    nodes: Vec<&'d str>,
    heat: &'d linerate_record::diagnosis::HeatMap,
}

/// What sockets did, each column with what it means behind the line.
const SOCKET_HEADS: [&str; 10] = [
    "senders",
    "nothing to send|Share of the time for which sockets were there: the program had given them nothing",
    "something to send|The rest of that time",
    "of that: receive window|Share of the time with something to send in which the receiver's window was full",
    "send buffer|Share of the time with something to send in which the send buffer was full",
    "rest|Share of the time with something to send that is neither: congestion window, pacing, processors",
    "sent again|Share of segments",
    "round trip|The middle one, as the kernel smooths it",
    "sent|Bytes that were acknowledged",
    "sockets|Seen on the side that sends",
];

/// The page: what can have held the site back with the readings that show it, what is odd, the use of each resource
/// over time at each node, and what such readings cannot tell.
pub(crate) fn page(diagnosis: &Diagnosis) -> String {
    let facts = [("Window", window(diagnosis)), ("Load", load(diagnosis)), ("Site", diagnosis.site.clone())];
    let cards: String = diagnosis.suspects.iter().enumerate().map(|(place, one)| card(place, one)).collect();
    let warnings: String = diagnosis.warnings.iter().map(|warning| named("Warning", warning)).collect();
    let weights = format!(
        "{warnings}<p class=\"claim\">{}</p>\n<p class=\"hint\"><span{}>{}</span> of the weight for none of these: \
         clients, switches, or what no reading here shows. Weights compare suspects; they are not probabilities.</p>\n",
        escaped(&diagnosis.answer),
        exact("none_of_these", diagnosis.none_of_these),
        phrases::percent(diagnosis.none_of_these)
    );
    let next = diagnosis.next.as_ref().map_or_else(String::new, |next| named("Read next", next));
    let sections = [
        ("suspects", "What can have held it back", format!("{weights}<div class=\"cards\">{cards}</div>{next}")),
        ("odd", "What is unlike its peers", outlier(diagnosis)),
        ("used", "Resources against their ceilings", used(diagnosis)),
        ("sockets", "What senders wait for", sockets(diagnosis)),
        ("racks", "What is sent again from rack to rack", racks(diagnosis)),
        ("heat", "Use of each node's resources over time", heat(diagnosis)),
        ("lacking", "What is not read", lacking(diagnosis)),
        ("blind", "What such readings cannot tell", list(&diagnosis.blind)),
        ("caveats", "What this rests on", list(&diagnosis.caveats)),
    ];
    let sections = sections.map(|(id, title, html)| Section { id, title, html });
    let drawn = Drawn { nodes: diagnosis.nodes.iter().map(|node| node.name.as_str()).collect(), heat: &diagnosis.heat };
    let view = serde_json::to_string(&drawn).unwrap_or_else(|_| "{}".to_owned());
    page::sheet("diagnosis", &page::header("What held it back", &facts), &sections, &view, DIAGNOSIS_SCRIPT)
}

fn card(place: usize, suspect: &Suspect) -> String {
    let weight = phrases::percent(suspect.weight);
    let mut html = format!(
        "<article class=\"card\"><h3>{}</h3>\n<p class=\"best\"><strong{}>{}</strong> <span class=\"unit\">%</span> \
         <span class=\"pm\">of the weight</span></p>\n<div class=\"meter\" style=\"--w:{:.1}%\" \
         aria-hidden=\"true\"></div>\n<p class=\"claim\">{}</p>\n",
        place + 1,
        exact(&format!("suspects.{place}.weight"), suspect.weight),
        escaped(weight.trim_end_matches(" %")),
        100.0 * suspect.weight.clamp(0.0, 1.0),
        escaped(&suspect.claim),
    );
    for evidence in &suspect.evidence {
        html.push_str(&named("Shown by", evidence));
    }
    html.push_str(&named("Try", &suspect.remedy));
    html.push_str(&named("Gives", suspect.gives.as_deref().unwrap_or_default()));
    html.push_str("</article>\n");
    html
}

fn outlier(diagnosis: &Diagnosis) -> String {
    let mut html = String::new();
    let rows = diagnosis.outlier.iter().enumerate().map(|(i, outlier)| {
        let at = |field: &str| format!("odd.{i}.{field}");
        HtmlRow::default()
            .name(&outlier.node)
            .sentence(&outlier.claim)
            .figure(&at("sigmas"), outlier.sigmas, &format!("{:.1}", outlier.sigmas))
            .figure(&at("chance"), outlier.chance, &format!("{:.0e}", outlier.chance))
            .whole()
    });
    let rows: String = rows.collect();
    html.extend(diagnosis.sent_again.iter().map(|again| named("Sent again", &of_sent_again(again))));
    if !rows.is_empty() {
        html.push_str(&table("Odd readings", &["node", "<reading", "standard errors", "chance"], &rows));
    }
    let _ = writeln!(
        html,
        "<p class=\"hint\"><span{}>{}</span> comparisons; of healthy windows, at most {} have something that is called \
         odd.</p>",
        exact("comparisons", diagnosis.comparisons),
        diagnosis.comparisons,
        phrases::percent(diagnosis.false_alarm_share)
    );
    html
}

fn used(diagnosis: &Diagnosis) -> String {
    if diagnosis.used.is_empty() {
        return String::new();
    }
    let rows = diagnosis.used.iter().enumerate().map(|(i, used)| {
        let at = |field: &str| format!("used.{i}.{field}");
        HtmlRow::default()
            .name(used.resource.name())
            .words(&used.group)
            .figure_bar(&at("share"), used.share, used.share, &phrases::percent(used.share))
            .figure_bar(&at("most_share"), used.most_share, used.most_share, &phrases::percent(used.most_share))
            .words(&used.most_node)
            .figure(&at("capacity"), used.capacity, &used.resource.amount(used.capacity))
            .figure(&at("full_nodes"), used.full_nodes, &format!("{} of {}", used.full_nodes, used.nodes))
            .whole()
    });
    let rows: String = rows.collect();
    let mut html = table(
        "Use of resources",
        &["resource", "<nodes", "middle node", "most", "<at", "of one node's", "full"],
        &rows,
    );
    for members in &diagnosis.members {
        html.push_str(&named("Members", &of_members(members)));
    }
    html
}

fn sockets(diagnosis: &Diagnosis) -> String {
    let mut html = String::new();
    if let Some(waits) = waits(&diagnosis.sockets) {
        let _ = writeln!(html, "<p class=\"claim\">{}</p>", escaped(&waits));
    }
    let rows = diagnosis.sockets.iter().enumerate().map(|(i, used)| {
        let at = |field: &str| format!("sockets.{i}.{field}");
        let time = sender_time(used);
        let share = |row: HtmlRow, field: &str, value: f64, of_all: f64| {
            row.figure_bar(&at(field), value, of_all, &phrases::percent(value))
        };
        let mut row = HtmlRow::default().name(of_path(used.path)).bar(time.nothing, &phrases::percent(time.nothing));
        row = row.figure(&at("busy_share"), used.busy_share, &phrases::percent(used.busy_share));
        row = share(row, "window_share", used.window_share, time.window);
        row = share(row, "buffer_share", used.buffer_share, time.buffer);
        let rest = (1.0 - used.window_share - used.buffer_share).max(0.0);
        row.bar(time.rest, &phrases::percent(rest))
            .figure(&at("retransmitted_share"), used.retransmitted_share, &phrases::percent(used.retransmitted_share))
            .figure(&at("round_trip_us"), used.round_trip_us, &duration_ns(used.round_trip_us as f64 * 1e3))
            .figure(&at("sent_bytes"), used.sent_bytes, &bytes_iec(used.sent_bytes as f64))
            .figure(&at("sockets"), used.sockets, &grouped(used.sockets))
            .whole()
    });
    let rows: String = rows.collect();
    if !rows.is_empty() {
        html.push_str(&table("What senders wait for", &SOCKET_HEADS, &rows));
        let _ = writeln!(
            html,
            "<p class=\"hint\">{} Bars are shares of the whole time; those of a row are all of it.</p>",
            escaped(NOTHING_TO_SEND)
        );
    }
    html.push_str(&named("Clients read", &diagnosis.clients.join(", ")));
    html
}

/// Pairs of racks that are told beside the table.
const WORST_SHOWN: usize = 5;

/// A cell's bar is full from such a share of segments on, or from what the worst pair has.
const FULL_BAR: f64 = 0.01;

fn racks(diagnosis: &Diagnosis) -> String {
    let pairs = &diagnosis.rack_pairs;
    let reported = worst(pairs).into_iter().take(WORST_SHOWN).map(|pair| named("Most", &of_rack_pair(pair)));
    let mut html: String = reported.collect();
    let most = pairs.iter().map(|pair| pair.retransmitted_share).fold(FULL_BAR, f64::max);
    let at: BTreeMap<(&str, &str), usize> =
        pairs.iter().enumerate().map(|(i, pair)| ((pair.from.as_str(), pair.to.as_str()), i)).collect();
    let names: Vec<&str> = diagnosis.racks.iter().map(|rack| rack.name.as_str()).collect();
    let row = |from: &&str| {
        let cell = |row: HtmlRow, to: &&str| {
            let Some((i, pair)) = at.get(&(*from, *to)).and_then(|i| Some((*i, pairs.get(*i)?))) else {
                return row.number("");
            };
            let share = pair.retransmitted_share;
            if pair.is_too_few {
                return row.number(&format!("too few pairs ({})", pair.node_pairs));
            }
            row.figure_bar(&format!("rack_pairs.{i}.retransmitted_share"), share, share / most, &percent(share))
        };
        names.iter().fold(HtmlRow::default().name(from), cell).whole()
    };
    if !pairs.is_empty() {
        let heads: Vec<&str> = ["from, to"].into_iter().chain(names.iter().copied()).collect();
        html.push_str(&table("Segments sent again", &heads, &names.iter().map(row).collect::<String>()));
        html.push_str(
            "<p class=\"hint\">Rows send, columns receive. A cell has the share of segments that the middle pair of \
             nodes sent again: a node whose own link loses is not in it, unless it is most of its rack.</p>\n",
        );
    }
    html + &uplinks(diagnosis)
}

fn uplinks(diagnosis: &Diagnosis) -> String {
    if diagnosis.racks.is_empty() {
        return String::new();
    }
    let rows = diagnosis.racks.iter().enumerate().map(|(i, rack)| {
        let at = |field: &str| format!("racks.{i}.{field}");
        let share = |row: HtmlRow, field: &str, share: Option<f64>| match share {
            Some(share) => row.figure_bar(&at(field), share, share, &phrases::percent(share)),
            None => row.number(phrases::ABSENT),
        };
        let rate = |row: HtmlRow, field: &str, bytes_per_s: f64| {
            row.figure(&at(field), bytes_per_s, &bits_per_s(8.0 * bytes_per_s))
        };
        let row =
            HtmlRow::default().name(&rack.name).figure(&at("machines"), rack.machines, &rack.machines.to_string());
        let row = rate(row, "sent_bytes_per_s", rack.sent_bytes_per_s);
        let row = share(row, "sent_share", rack.sent_share);
        let row = rate(row, "received_bytes_per_s", rack.received_bytes_per_s);
        share(row, "received_share", rack.received_share).whole()
    });
    let heads = ["rack", "machines", "out of it", "of its uplinks", "into it", "of its uplinks"];
    table("What crosses uplinks", &heads, &rows.collect::<String>())
}

fn heat(diagnosis: &Diagnosis) -> String {
    let mut html = String::new();
    for (place, map) in diagnosis.heat.maps.iter().enumerate() {
        let _ = writeln!(
            html,
            "<figure><figcaption>{}, {} from top to bottom</figcaption><canvas class=\"heat\" data-map=\"{place}\" \
             style=\"width:100%;image-rendering:pixelated\" role=\"img\" aria-label=\"{} of each node over \
             time\"></canvas><p class=\"hint told\">blue is little, red is full; point at a cell</p></figure>",
            escaped(&map.name),
            phrases::plural(map.rows.len() as u64, "node"),
            escaped(&map.name)
        );
    }
    html
}

fn lacking(diagnosis: &Diagnosis) -> String {
    let lacking = diagnosis
        .absent
        .iter()
        .map(|absent| named(&absent.metric, &format!("{}: scrape {}", absent.of.name(), absent.from)));
    let mut html: String = lacking.collect();
    if !diagnosis.unknown_nodes.is_empty() {
        html.push_str(&named("No nodes of the site", &named_some(diagnosis.unknown_nodes.iter().map(String::as_str))));
    }
    html
}

fn list(sentences: &[String]) -> String {
    if sentences.is_empty() {
        return String::new();
    }
    let items: String = sentences.iter().map(|one| format!("<li>{}</li>\n", escaped(one))).collect();
    format!("<ul>\n{items}</ul>\n")
}

#[cfg(test)]
mod tests {
    use linerate_record::diagnosis::SocketPath;

    use crate::diagnosis::tests::{diagnosis, of_racks, sends};

    use super::*;

    #[test]
    fn a_page_of_484_nodes_is_far_below_five_megabytes_and_loads_nothing() {
        let page = page(&diagnosis(484));
        assert!(page.len() < 1 << 20, "{}", page.len());
        assert!(page.contains("node484") && page.contains("canvas class=\"heat\""), "no map");
        assert!(!page.contains("src=\"http"), "it loads something");
    }

    #[test]
    fn what_senders_wait_for_has_a_section_and_is_left_out_where_nobody_read_it() {
        let without = page(&diagnosis(4));
        assert!(!without.contains("id=\"sockets\""));
        let sockets = vec![sends(SocketPath::ToClients, 0.12, 0.02)];
        let page = page(&Diagnosis { sockets, ..diagnosis(4) });
        for part in
            ["id=\"sockets\"", "data-field=\"sockets.0.busy_share\" data-value=\"0.12\"", "nothing to send for 88"]
        {
            assert!(page.contains(part), "{part}");
        }
    }

    #[test]
    fn racks_have_a_table_with_a_cell_a_pair_and_are_left_out_where_nobody_named_them() {
        assert!(!page(&diagnosis(4)).contains("id=\"racks\""));
        let few = page(&of_racks(3));
        for part in [
            "id=\"racks\"",
            "data-field=\"rack_pairs.7.retransmitted_share\" data-value=\"0.02",
            "data-field=\"racks.0.sent_share\" data-value=\"0.2\"",
            "row-3 to row-2: 2.03 % of segments",
            "<th scope=\"col\">row-3</th>",
        ] {
            assert!(few.contains(part), "{part}");
        }
        let many = page(&of_racks(64));
        assert_eq!(many.matches("data-field=\"rack_pairs.").count(), 64 * 64);
        assert!(many.len() < 1 << 20, "{}", many.len());
    }

    #[test]
    fn a_direction_of_which_too_few_pairs_tell_says_so() {
        let mut diagnosis = of_racks(3);
        (diagnosis.rack_pairs[7].is_too_few, diagnosis.rack_pairs[7].node_pairs) = (true, 1);
        let page = page(&diagnosis);
        assert!(page.contains("too few pairs (1)") && !page.contains("rack_pairs.7.retransmitted_share"));
        let said = of_rack_pair(&diagnosis.rack_pairs[7]);
        assert_eq!(said, "row-3 to row-2: not judged, 1 pair of nodes sent enough to tell: too few");
        assert_ne!(worst(&diagnosis.rack_pairs)[0].from, "row-3");
    }

    #[test]
    fn what_others_named_is_text_and_no_markup() {
        let mut diagnosis = diagnosis(1);
        diagnosis.nodes[0].name = "</script><b>".to_owned();
        diagnosis.outlier[0].node = "<i>x".to_owned();
        diagnosis.caveats.push("<u>y".to_owned());
        diagnosis.clients.push("<s>z".to_owned());
        let racks = of_racks(1);
        (diagnosis.racks, diagnosis.rack_pairs) = (racks.racks, racks.rack_pairs);
        diagnosis.racks[0].name = "<em>r".to_owned();
        diagnosis.rack_pairs[0].from = "<em>r".to_owned();
        let page = page(&diagnosis);
        assert!(!page.contains("</script><b>") && !page.contains("<i>x") && !page.contains("<u>y"));
        assert!(page.contains("&lt;em&gt;r") && !page.contains("<em>r"));
        assert!(page.contains("&lt;s&gt;z") && !page.contains("<s>z"));
    }
}
