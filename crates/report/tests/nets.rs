//! Every format of what links do.

use golden_file::same_as_golden;
use linerate_analysis::net::view::NetView;
use linerate_report::net::{csv, html, json, text};
use linerate_report::openmetrics;
use linerate_report::terminal::TextStyle;
use linked::{asked, connected, datagrams, empty, failed, largest, linked, probed};

mod golden_file;
mod linked;
#[path = "../src/openmetrics/parsed.rs"]
mod parsed;

fn plain(width: usize) -> TextStyle {
    TextStyle { color: false, width }
}

#[test]
fn the_text_answers_in_ten_lines_and_has_a_matrix_where_it_fits() {
    same_as_golden("net.txt", &text(&linked(4), plain(100), false));
    same_as_golden("net-all.txt", &text(&linked(4), plain(100), true));
    same_as_golden("net-many.txt", &text(&linked(24), plain(100), false));
    same_as_golden("net-failed.txt", &text(&failed(), plain(100), false));
    for (view, columns) in [(linked(4), 80), (linked(24), 120), (failed(), 60), (empty(), 80)] {
        let text = text(&view, plain(columns), false);
        let answer = text.split("\n\n").next().unwrap();
        assert!(answer.lines().count() <= 10, "{text}");
    }
    assert!(text(&empty(), plain(80), false).contains("no pair was measured"));
    assert!(text(&linked(4), plain(30), false).contains("slowest pairs"), "no room for a matrix");
}

#[test]
fn json_reads_back_as_it_was() {
    for view in [linked(4), failed(), empty()] {
        assert_eq!(serde_json::from_str::<NetView>(&json(&view)).unwrap(), view);
    }
}

#[test]
fn csv_has_a_row_for_each_pair_and_number_of_streams_and_nothing_where_nothing_was_measured() {
    let view = linked(4);
    let csv_of = csv(&view);
    let rows: Vec<&str> = csv_of.lines().collect();
    assert_eq!(rows.len(), 1 + 4 * 3 * 2);
    let columns = rows[0].split(',').count();
    assert!(rows.iter().all(|row| row.split(',').count() == columns), "{csv_of}");
    assert!(rows[0].starts_with("from,to,streams,visits,bytes_per_s,bytes_per_s_low_95,bytes_per_s_high_95,"));
    assert!(rows[1].starts_with("node01,node02,1,3,1") && rows[1].contains(",sender-processor,0,"), "{}", rows[1]);
    let failed = csv(&failed());
    let lost = failed.lines().find(|row| row.starts_with("node04,node01,")).unwrap();
    assert_eq!(lost, "node04,node01,8,0,,,,,,,,,3,,,,,,,,");
}

#[test]
fn loads_that_are_no_streams_have_figures_of_their_own_and_none_of_streams() {
    let cases = [
        ("net-request.txt", asked(), "requests_per_s,requests_per_s_low_95", "p99"),
        ("net-connect.txt", connected(), "connections_per_s,connections_per_s_low_95", "p99"),
        ("net-udp.txt", datagrams(), "sent_bytes_per_s,lost_share,socket_drops_share", "jitter"),
        ("net-mtu.txt", probed(), "verdict,carried_bytes,carried_most_bytes,lost_bytes", "lost from"),
    ];
    for (name, view, columns, own) in cases {
        let shown = text(&view, plain(100), true);
        same_as_golden(name, &shown);
        let table = csv(&view);
        let rows: Vec<&str> = table.lines().collect();
        assert!(rows[0].contains(columns) && !rows[0].contains("window_share"), "{}", rows[0]);
        let count = rows[0].split(',').count();
        assert!(rows.len() == 13 && rows.iter().all(|row| row.split(',').count() == count), "{table}");
        let page = html(&view);
        for said in [&shown, &page] {
            assert!(said.contains(own) && !said.contains("sent again") && !said.contains("s/GiB"), "{name}");
        }
        assert_eq!(serde_json::from_str::<NetView>(&json(&view)).unwrap(), view);
    }
}

#[test]
fn lost_packets_are_marked_where_nobody_tells_their_sender() {
    let view = probed();
    let short = text(&view, plain(100), false);
    for part in ["largest packet in bytes", "node01", "1500!", "9000\n", "1450", "critical"] {
        assert!(short.contains(part), "{part}: {short}");
    }
    assert_eq!(short.matches('!').count(), 1 + 3, "the legend and three pairs: {short}");
    assert!(text(&view, plain(30), false).contains("black hole !"), "no room for a matrix");
    let table = csv(&view);
    let row = |pair: &str| table.lines().find(|row| row.starts_with(pair)).unwrap().to_owned();
    assert_eq!(row("node01,node02,"), "node01,node02,8,3,black-hole,1500,,1501,9000,9000,9000,,,264,48,0");
    assert_eq!(row("node01,node04,"), "node01,node04,8,3,known,1450,,1451,9000,9000,1450,1450,10.0.9.1,264,48,0");
    let page = html(&view);
    assert!(page.contains("pairs.0.path.carried_bytes") && !page.contains("canvas class=\"heat\""));
    assert!(!page.contains("Slow machines"));
}

#[test]
fn words_of_verdicts_in_csv_are_those_of_json() {
    for verdict in linerate_analysis::net::view::NetPathVerdict::ALL {
        assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.key());
    }
}

#[test]
fn words_of_limits_in_csv_are_those_of_json() {
    for by in linerate_analysis::net::view::NetLimitedBy::ALL {
        assert_eq!(serde_json::to_value(by).unwrap(), by.key());
    }
}

#[test]
fn a_page_of_204_machines_is_below_a_megabyte_and_loads_nothing() {
    let view = largest();
    let page = html(&view);
    assert_eq!(view.pairs.len(), 204 * 203);
    assert!(page.len() < 1 << 20, "{}", page.len());
    assert!(
        page.contains("canvas class=\"heat\" tabindex=\"0\"")
            && page.contains("node204")
            && !page.contains("src=\"http")
    );
    assert_eq!(view.slow.nodes.iter().map(|slow| slow.node).collect::<Vec<_>>(), [1]);
}

#[test]
fn what_others_named_is_text_and_no_markup_nor_does_it_drive_a_terminal() {
    let mut view = failed();
    view.nodes[0].name = "</script><b>\x1b[2J".to_owned();
    view.remarks.push("<u>y".to_owned());
    view.pairs.iter_mut().for_each(|pair| pair.reasons = vec!["<i>z".to_owned()]);
    let page = html(&view);
    assert!(!page.contains("</script><b>") && !page.contains("<u>y") && !page.contains("<i>z"));
    for all in [false, true] {
        let text = text(&view, plain(100), all);
        assert!(!text.contains('\x1b'), "{text}");
    }
}

/// The samples of a family: the first label's value, and the figure.
fn samples(text: &str, name: &str) -> Vec<(String, f64)> {
    let of = parsed::parse(text).samples.into_iter().filter(|(sampled, ..)| sampled == name);
    of.map(|(_, labels, value)| (labels.first().map_or_else(String::new, |(_, label)| label.clone()), value)).collect()
}

#[test]
fn every_load_is_openmetrics_with_its_own_figures_and_so_is_a_run_of_which_nothing_is_known() {
    for (view, rate, own) in [
        (linked(4), "linerate_net_goodput_bytes_per_second", "linerate_net_round_trip_seconds"),
        (asked(), "linerate_net_answered_requests_per_second", "linerate_net_p99_seconds"),
        (connected(), "linerate_net_made_connections_per_second", "linerate_net_p50_seconds"),
        (datagrams(), "linerate_net_goodput_bytes_per_second", "linerate_net_lost_ratio"),
    ] {
        let text = openmetrics::net("1.2.3", Some(&view));
        let families = parsed::parse(&text).families;
        assert!(families.len() >= 14 && families.keys().all(|name| name.starts_with("linerate_")), "{families:?}");
        assert_eq!(samples(&text, rate).len(), view.pairs.len(), "{rate}");
        assert_eq!(samples(&text, own).len(), view.pairs.len(), "{own}");
        let (_, mean) = samples(&text, rate)[0];
        assert_eq!(Some(mean), view.pairs[0].per_s.map(|rate| rate.mean), "{rate}");
    }
    assert_eq!(parsed::parse(&openmetrics::net("1.2.3", None)).samples.len(), 1);
    let nothing = openmetrics::net("1.2.3", Some(&empty()));
    assert_eq!(samples(&nothing, "linerate_net_visits"), [(String::new(), 0.0)]);
    assert!(samples(&nothing, "linerate_net_goodput_bytes_per_second").is_empty());
}

#[test]
fn openmetrics_are_in_base_units_and_names_keep_their_signs() {
    let mut view = failed();
    view.nodes[0].name = "a \"quoted\"\\name\n".to_owned();
    let text = openmetrics::net("1.2.3", Some(&view));
    assert!(samples(&text, "linerate_net_goodput_bytes_per_second")[0].0.starts_with("a \"quoted\"\\name\n"));
    assert_eq!(samples(&text, "linerate_net_round_trip_seconds")[0].1, 0.000_21);
    let failures = samples(&text, "linerate_net_failed_visits");
    assert_eq!((failures.len(), failures.iter().map(|(_, count)| count).sum::<f64>()), (12, 3.0));
    let slow: Vec<String> =
        samples(&text, "linerate_net_slow_machine_ratio").into_iter().map(|(name, _)| name).collect();
    assert_eq!(slow, view.slow.nodes.iter().map(|slow| view.name(slow.node).to_owned()).collect::<Vec<_>>());
    assert_eq!(samples(&text, "linerate_net_began_seconds"), [(String::new(), 1_800_000_000.0)]);
    assert_eq!(samples(&text, "linerate_net_limit_info").len(), 11, "but for the pair that was never connected");
}
