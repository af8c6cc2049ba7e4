//! Every format of what links do.

use linerate_analysis::net::view::{NetFinding, NetOffloadFigures, NetView};
use linerate_record::net::{NetGso, NetOffloads};
use linerate_report::net::{csv, html, json, text};
use linerate_report::openmetrics;
use linerate_report::terminal::TextStyle;

use crate::golden_file::same_as_golden;
use crate::linked::{connected, datagrams, empty, failed, largest, linked, placed, probed, racked, requested};

#[path = "../src/openmetrics/parser.rs"]
mod parsed;

fn plain(width: usize) -> TextStyle {
    TextStyle { color: false, width, whole: false }
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
fn the_remedy_of_the_first_finding_is_whole_and_it_is_said_where_the_others_are() {
    let mut view = linked(4);
    let first = view.findings[0].clone();
    let more = |number: usize| NetFinding { claim: format!("claim {number}"), ..first.clone() };
    view.findings.extend((0..4).map(more));
    for columns in [100, 140, 200] {
        let shown = text(&view, plain(columns), false);
        let (answer, _) = shown.split_once("\n\n").unwrap();
        let words = answer.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&format!("remedy: {}", first.remedy)), "{columns}: {shown}");
        assert_eq!(words.matches("remedy: ").count(), 1, "{columns}: {shown}");
        assert!(words.contains("and the remedies of all: --all and report.html have them"), "{columns}: {shown}");
        assert!(answer.lines().count() <= 10, "{shown}");
    }
    assert!(text(&view, plain(200), false).contains("claim 1"), "where there is room, claims of others");
    view.findings.truncate(2);
    assert!(text(&view, plain(200), false).contains(" the remedies of the others: --all"));
    assert!(!text(&linked(4), plain(200), false).contains("the remedies of"));
}

#[test]
fn pairs_of_a_machine_that_is_slow_leave_room_for_others_among_the_slowest() {
    let shown = text(&linked(24), plain(100), false);
    let (_, rows) = shown.split_once("slowest pairs").unwrap();
    let (rows, _) = rows.split_once("\n\n").unwrap();
    let pairs: Vec<&str> = rows.lines().filter(|line| line.contains(" → ")).collect();
    assert_eq!(pairs.len(), 8, "{shown}");
    assert_eq!(pairs.iter().filter(|row| row.trim().starts_with("node02 →")).count(), 2, "{shown}");
    assert!(rows.ends_with("  and 21 more pairs of slow machines"), "{shown}");
}

#[test]
fn names_have_the_room_that_there_is_and_are_told_apart_where_there_is_none() {
    let mut view = linked(2);
    (view.nodes[0].name, view.nodes[1].name) = ("here".to_owned(), "10.77.0.123".to_owned());
    assert!(text(&view, plain(100), false).contains("      here 10.77.0.123\n"));
    let mut view = linked(8);
    for (number, node) in (1..).zip(&mut view.nodes) {
        node.name = format!("storage-node-{number:02}.example");
    }
    let shown = text(&view, plain(100), false);
    let head = shown.lines().find(|line| line.contains("…07…")).unwrap();
    let heads: Vec<&str> = head.split_whitespace().collect();
    assert_eq!(heads, ["…01…", "…02…", "…03…", "…04…", "…05…", "…06…", "…07…", "…08…"]);
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
    assert_eq!(lost, "node04,node01,8,0,,,,,,,,,3,,,,,,,,,");
}

#[test]
fn loads_that_are_no_streams_have_figures_of_their_own_and_none_of_streams() {
    let cases = [
        ("net-request.txt", requested(), "requests_per_s,requests_per_s_low_95", "p99"),
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
fn what_kernels_did_of_what_was_asked_of_them_is_told_in_every_format() {
    let with = |mut view: NetView, offloads, figures| {
        view.load.offloads = offloads;
        view.pairs.iter_mut().for_each(|pair| pair.offloads = Some(figures));
        view
    };
    let at_once = NetOffloadFigures {
        datagrams_per_send: Some(44.0),
        datagrams_per_read: Some(22.0),
        ..NetOffloadFigures::default()
    };
    let uncopied =
        NetOffloadFigures { uncopied_sends: Some(1_000), copied_share: Some(1.0), ..NetOffloadFigures::default() };
    let bursts = with(datagrams(), NetOffloads { gso: NetGso::On, ..NetOffloads::default() }, at_once);
    let cases = [
        (bursts.clone(), "over UDP, 44.0 sent at once (GSO), 22.0 read at once (GRO)", ",44,22"),
        (
            with(linked(4), NetOffloads { zerocopy: true, ..NetOffloads::default() }, uncopied),
            "without a copy (MSG_ZEROCOPY), of which 100 % was copied",
            ",1",
        ),
        (
            with(linked(4), NetOffloads { reads: true, ..NetOffloads::default() }, NetOffloadFigures::default()),
            "at once, read by receivers",
            ",",
        ),
    ];
    for (view, said, row_ends) in cases {
        let shown = text(&view, plain(600), false);
        assert!(shown.contains(said) && html(&view).contains(said), "{said}: {shown}");
        let table = csv(&view);
        assert!(table.lines().skip(1).all(|row| row.ends_with(row_ends)), "{row_ends}: {table}");
        assert_eq!(serde_json::from_str::<NetView>(&json(&view)).unwrap(), view);
    }
    let json: serde_json::Value = serde_json::from_str(&json(&bursts)).unwrap();
    assert_eq!(json["load"]["offloads"]["gso"], "on");
    assert_eq!(json["pairs"][0]["offloads"]["datagrams_per_send"], 44.0);
    assert!(!text(&linked(4), plain(600), true).contains("MSG_ZEROCOPY"));
}

#[test]
fn classes_of_pairs_have_a_table_and_one_is_held_against_another() {
    let view = placed();
    let short = text(&view, plain(120), false);
    let rows: Vec<&str> =
        short.lines().filter(|line| line.starts_with("  other/") || line.starts_with("  same/")).collect();
    // Of the number of streams that is compared.
    let names: Vec<&str> = rows.iter().filter_map(|row| row.split_whitespace().next()).collect();
    let expected =
        ["other/host-host", "other/host-pod", "other/pod-host", "other/pod-pod", "same/host-pod", "same/pod-host"];
    assert_eq!(names, expected);
    for part in ["class ", "by host", " compared", "pod → pod on two hosts gives ", "framing explains 0.99", "n1 → n2"]
    {
        assert!(short.contains(part), "{part}: {short}");
    }
    assert_eq!(text(&view, plain(120), true).matches("\n  other/pod-pod ").count(), 2, "of each number of streams");
    let page = html(&view);
    for part in ["Classes of pairs", "classes.3.to_host.ratio.mean", "against.1.pairs.0.costs.framing_ratio"] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(serde_json::from_str::<NetView>(&json(&view)).unwrap(), view);
    assert!(!text(&linked(4), plain(120), true).contains("by host"));
    let table = csv(&view);
    let (head, rows) = table.split_once('\n').unwrap();
    assert!(
        head.ends_with(",copied_share,class")
            && rows.lines().all(|row| row.contains("/host-") || row.contains("/pod-"))
    );
    assert!(rows.lines().next().unwrap().ends_with(",other/host-host"), "{rows}");
    assert!(!csv(&linked(4)).contains(",class"));
}

#[test]
fn a_page_lists_hosts_of_which_pairs_fell_most_and_says_how_many_are_left() {
    let mut view = placed();
    let first = view.against[0].pairs[0].clone();
    view.against[0].pairs = (0..60)
        .map(|number| {
            let mut pair = first.clone();
            pair.from = format!("from{number:02}");
            pair.ratio.ratio.mean = 1.0 - 0.01 * f64::from(number);
            pair
        })
        .collect();
    let page = html(&view);
    assert!(page.contains("from59") && page.contains("from20") && !page.contains("from19"));
    assert!(page.contains("20 pairs that fell less or rose"));
    assert!(page.contains("against.0.pairs.59.ratio.ratio.mean"));
}

#[test]
fn compared_runs_with_classes_say_each_by_itself() {
    use linerate_analysis::net::comparison::compare;
    use linerate_report::net::{comparison_csv, comparison_text};

    let found = compare(&placed(), &placed()).unwrap();
    let shown = comparison_text(&found, plain(100));
    let parts: Vec<&str> = shown.lines().filter(|line| line.contains("/pod-pod: with ")).collect();
    assert_eq!(parts.len(), 2, "{shown}");
    assert!(shown.contains(" ▸          other/host-host: with 1 stream B gives as much as A"), "{shown}");
    let table = comparison_csv(&found);
    assert!(
        table.lines().next().unwrap().ends_with(",b_visits,class") && table.contains(",other/pod-pod\n"),
        "{table}"
    );
    let plain_runs = compare(&linked(4), &linked(4)).unwrap();
    assert!(!comparison_csv(&plain_runs).contains("class"));
}

#[test]
fn what_racks_carry_is_told_in_every_format_and_nothing_of_it_where_they_were_not_measured() {
    let view = racked();
    let short = text(&view, plain(600), false);
    for part in
        ["of what their machines can send: ", "the site states 1.5:1", "2 of 3 ways to halve the racks", "--seed 7"]
    {
        assert!(short.contains(part), "{part}: {short}");
    }
    let rows: Vec<&str> = short.lines().filter(|line| line.starts_with("  r")).collect();
    assert!(rows[0].starts_with("  racks, 8 streams") && rows.len() == 1 + 4, "{short}");
    assert_eq!(text(&view, plain(120), true).matches(" and the others, 8 pairs at once: ").count(), 2 * 2);
    let page = html(&view);
    for part in
        ["What racks carry at once", "bisection.1.racks.3.receives.ratio.ratio.mean", "bisection.0.splits.1.pairs"]
    {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(serde_json::from_str::<NetView>(&json(&view)).unwrap(), view);
    let metrics = openmetrics::net("1.2.3", Some(&view));
    assert_eq!(samples(&metrics, "linerate_net_oversubscription_ratio").len(), 2, "of each number of streams");
    assert_eq!(samples(&metrics, "linerate_net_rack_across_bytes_per_second").len(), 2 * 4 * 2);
    assert_eq!(samples(&metrics, "linerate_net_rack_carried_ratio")[0].0, "r0");
    let over = samples(&metrics, "linerate_net_oversubscription_ratio")[1].1;
    assert_eq!(Some(over), view.bisection[1].oversubscription.map(|over| over.mean));
    for (shown, part) in [(text(&linked(4), plain(120), true), "racks, "), (html(&linked(4)), "What racks carry")] {
        assert!(!shown.contains(part), "{part}");
    }
    assert!(!openmetrics::net("1.2.3", Some(&linked(4))).contains("linerate_net_rack"));
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
fn members_of_bonds_are_columns_behind_the_others_where_there_are_any() {
    use linerate_analysis::net::view::{NetArrives, NetLeaves, NetMemberReceives, NetMemberSends, NetPairMembers};
    use linerate_record::net::NetStray;

    let mut view = linked(4);
    assert!(!csv(&view).contains("leaves_by"));
    let sends = |name: &str, predicted: f64, carried_share| NetMemberSends {
        name: name.to_owned(),
        predicted_share: Some(predicted),
        carried_share,
        ..NetMemberSends::default()
    };
    let leaves = NetLeaves {
        bond: "bond0".to_owned(),
        visits: 3,
        left_out: 1,
        members: vec![sends("a0", 1.0, 0.875), sends("a1", 0.0, 0.125)],
        alone_streams: 24,
        strayed_streams: 3,
        strayed_share: Some(0.125),
        strays: vec![
            NetStray { port: 40_001, ..NetStray::default() },
            NetStray { port: 40_005, ..NetStray::default() },
        ],
        ..NetLeaves::default()
    };
    let arrives = NetArrives {
        bond: "bond1".to_owned(),
        streams: 24,
        members: vec![NetMemberReceives {
            name: "b0".to_owned(),
            streams: 24,
            carried_share: 1.0,
            ..NetMemberReceives::default()
        }],
        chance: 0.25,
        ..NetArrives::default()
    };
    let pair_members = NetPairMembers { from: 0, to: 1, streams: 8, leaves: Some(leaves), arrives: Some(arrives) };
    view.members = vec![pair_members];
    let table = csv(&view);
    let rows: Vec<&str> = table.lines().collect();
    assert!(
        rows[0].contains(",link_share,copied_share,leaves_by,leaves_visits,") && rows[0].ends_with(",arrives_chance")
    );
    let columns = rows[0].split(',').count();
    assert!(rows.iter().all(|row| row.split(',').count() == columns), "{table}");
    let row = |pair: &str| rows.iter().find(|row| row.starts_with(pair)).copied().unwrap();
    let said = ",,bond0,3,1,a0=1 a1=0,a0=0.875 a1=0.125,24,3,0.125,40001 40005,0,bond1,b0=24,b0=1,untold,0.25";
    assert!(row("node01,node02,8,").ends_with(said), "{table}");
    assert!(row("node01,node03,8,").ends_with(&",".repeat(15)), "{table}");
    let shown = text(&view, plain(600), true);
    assert!(shown.contains("port 40001 by"), "{shown}");
}

#[test]
fn what_s3_traffic_gets_of_bonds_stands_beside_what_was_measured() {
    use linerate_analysis::net::view::NetBondByModel;
    use linerate_record::plan::{Resource, Spread};

    let mut view = linked(4);
    assert!(!text(&view, plain(600), true).contains("S3 traffic") && !html(&view).contains("S3 traffic"));
    let spread = Spread {
        resource: Resource::PublicEgress,
        group: Some("all".to_owned()),
        members: 2,
        counted_members: None,
        flows: 448,
        share_p5: 0.88,
        share_p50: 0.93,
        share_p95: 0.97,
        flows_to_fill: Some(620),
        why: "layer3+4 looks at ports".to_owned(),
    };
    let bond_by_model = |measured_share| NetBondByModel { spread: spread.clone(), measured_share };
    view.bonds_by_model = vec![bond_by_model(Some(0.625)), bond_by_model(None)];
    let streams = view.compared_streams.unwrap();
    let model = "(all): 448 flows on 2 members get 93 % of their sum (5th to 95th percentile 88 % to 97 %); 95 % from \
                 620 flows on: layer3+4 looks at ports";
    let measured = format!("; measured here: {streams} streams of the median pair get 62 % of their bonds");
    let shown = text(&view, plain(900), false);
    for said in [&shown, &html(&view)] {
        assert_eq!((said.matches(model).count(), said.matches(&measured).count()), (2, 1), "{said}");
    }
    assert!(shown.contains(" S3 traffic by the model, "), "{shown}");
    assert_eq!(serde_json::from_str::<NetView>(&json(&view)).unwrap(), view);
}

#[test]
fn why_a_search_ended_stands_beside_goodputs() {
    use linerate_analysis::net::view::NetSearchEnd;

    let mut view = linked(4);
    assert!(!text(&view, plain(600), false).contains("a search"));
    view.load.max_bytes_per_s = Some(125e6);
    for (ended, said) in [
        (NetSearchEnd::NoMore, "a search ended at 8 streams: its last steps show no more"),
        (
            NetSearchEnd::MaxRate,
            "ended at 8 streams, where pairs have the --max-rate of 1.00 Gb/s: without it, more may give more",
        ),
        (NetSearchEnd::MostStreams, "ended at 8 streams, the most that a pair may have"),
        (NetSearchEnd::NoFigures, "ended at 8 streams, which brought no figures"),
        (NetSearchEnd::CutShort, "a search was cut short at 8 streams"),
    ] {
        view.search_ended = Some(ended);
        for shown in [text(&view, plain(900), false), html(&view)] {
            assert_eq!(shown.matches(said).count(), 1, "{said}: {shown}");
        }
        assert_eq!(serde_json::from_str::<NetView>(&json(&view)).unwrap(), view);
    }
}

#[test]
fn words_of_arrivals_in_csv_are_those_of_json() {
    for says in linerate_analysis::net::view::NetArrival::ALL {
        assert_eq!(serde_json::to_value(says).unwrap(), says.key());
    }
}

#[test]
fn words_of_limits_in_csv_are_those_of_json() {
    for by in linerate_analysis::net::view::NetLimitedBy::ALL {
        assert_eq!(serde_json::to_value(by).unwrap(), by.key());
    }
}

#[test]
fn cells_of_a_small_map_have_their_figures() {
    for (nodes, scale, said) in [(8, "125000000.0", true), (16, "125000000.0", true), (24, "null", false)] {
        let page = html(&linked(nodes));
        assert!(page.contains(&format!("\"cell_scale\":{scale}")), "{nodes}");
        assert_eq!(page.contains("to right receive; figures are in Gb/s"), said, "{nodes}");
    }
    assert!(html(&probed()).contains("\"cell_scale\":null"), "lengths have no map");
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
    let samples_named = parsed::parse(text).samples.into_iter().filter(|(sampled, ..)| sampled == name);
    samples_named
        .map(|(_, labels, value)| (labels.first().map_or_else(String::new, |(_, label)| label.clone()), value))
        .collect()
}

#[test]
fn every_load_is_openmetrics_with_its_own_figures_and_so_is_a_run_of_which_nothing_is_known() {
    for (view, rate, own) in [
        (linked(4), "linerate_net_goodput_bytes_per_second", "linerate_net_round_trip_seconds"),
        (requested(), "linerate_net_answered_requests_per_second", "linerate_net_p99_seconds"),
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
