//! What each output says of the same view.

use linerate_analysis::slo::BoundVerdict;
use linerate_analysis::view::{
    Bottleneck, BoundFigures, ClientFigures, Latency, MachineSample, Measure, OpenLoop, OutstandingGrowth,
    TimelineSpan, View,
};
use linerate_record::finding::{Finding, FindingKind, Severity};
use linerate_record::run::{Client, PointSpec, RateSearchSpec, SeriesSpec};
use linerate_record::slo::Slo;
use linerate_report::terminal::{TextStyle, open_table_header, point_line, render, table_header};
use linerate_report::{csv, html, json};

use crate::fixture;
use crate::fixture::{Extent, HOSTILE};

pub(crate) const PLAIN: TextStyle = TextStyle { color: false, width: 120, whole: false };

#[test]
fn json_reads_back_as_the_same_view() {
    let view = fixture::usual();
    assert_eq!(serde_json::from_str::<View>(&json(&view)).unwrap(), view);
}

#[test]
fn growth_over_clients_is_told_with_who_stands_out_and_no_row_for_each_of_many() {
    let view = fixture::over_clients();
    assert_eq!(serde_json::from_str::<View>(&json(&view)).unwrap(), view);
    let text = render(&view, true, TextStyle { width: 80, ..PLAIN });
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for reported in [
        "GET 4 MiB, over clients",
        "195 clients give",
        "with 7 to 28 (clients' links, receiving, 8.15 GiB/s to 32.6 GiB/s), with 100 to 195 (public link, sending, ",
        "measured with 195 is 80 % of the ceiling",
        "slower than its peers: client003 (−60 %)",
        "figures come from 99 of 100 clients",
    ] {
        assert!(words.contains(reported), "{reported}: {text}");
    }
    let rows = text.lines().filter(|line| line.starts_with("   client0")).count();
    assert_eq!(rows, 6, "seven clients have rows, one of them another name: {text}");
    let page = html(&view);
    assert!(!page.contains(HOSTILE) && page.matches("<b class=\"slow\"").count() == 5, "a slow client in each strip");
    assert_eq!(page.matches("<b class=\"full\"").count(), 2);
    assert!(page.contains("<h3>Clients client000, client001, ") && page.contains("and 187 more</h3>"), "one make");
    assert!(page.len() < 1_500_000, "{}", page.len());
    let one = html(&fixture::usual());
    assert!(!one.contains("id=\"growth\"") && !one.contains("#clients"));
}

#[test]
fn several_clients_have_rows_in_every_format_and_one_has_none() {
    let one = fixture::usual();
    let mut two = one.clone();
    let named = |name: &str| Client { name: name.to_owned(), ..Client::local(one.run.machine.clone(), 4) };
    two.run.clients = vec![named("rack1"), named(HOSTILE)];
    (two.run.threads, two.run.processors) = (8, 16);
    let points = two.series.iter_mut().flat_map(|series| &mut series.points);
    for point in points {
        let row = |client: &Client| ClientFigures {
            client: client.name.clone(),
            requests: point.requests / 2,
            errors: 0,
            requests_per_s: point.requests_per_s.mean / 2.0,
            bytes_per_s: point.bytes_per_s.mean / 2.0,
            ttfb_p50_ns: point.ttfb.p50_ns,
            total_p50_ns: point.total.p50_ns,
            total_p99_ns: point.total.p99_ns,
            share: 0.5,
            busy: Some(0.5),
            ..ClientFigures::default()
        };
        point.clients = two.run.clients.iter().map(row).collect();
    }
    assert_eq!(serde_json::from_str::<View>(&json(&two)).unwrap(), two);
    assert!(!json(&one).contains("\"clients\"") && !html(&one).contains("id=\"clients\""));
    let count = two.series.iter().map(|series| series.points.len()).sum::<usize>();
    let (text, table, page) = (render(&two, true, PLAIN), csv(&two), html(&two));
    assert_eq!(text.lines().filter(|line| line.starts_with("   rack1 ")).count(), count, "{text}");
    assert!(text.contains("2 clients, each with 4 threads on a machine of 8 processors"), "{text}");
    let (old, new): (Vec<_>, Vec<_>) = (csv(&one).lines().map(str::to_owned).collect(), table.lines().collect());
    assert!(new[0].starts_with(&format!("{},client,clients,driven_by,share", old[0])), "{}", new[0]);
    assert_eq!(new.iter().filter(|row| row.contains(",client,") && row.contains(",rack1,,,0.5,0.5,")).count(), count);
    assert!(new.contains(&format!("{},,,,,,,,,,,,", old[1]).as_str()), "{table}");
    assert_eq!(page.matches("<td class=\"l\">rack1</td>").count(), count);
    assert!(page.contains("<h3>Clients rack1, ") && !page.contains(HOSTILE));
}

#[test]
fn csv_has_a_row_per_point_and_the_exact_figures() {
    let view = fixture::usual();
    let text = csv(&view);
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    let rows: Vec<&str> = lines.collect();
    let points = || view.series.iter().flat_map(|s| &s.points);
    let operations = points().filter(|p| p.ops.len() > 1).map(|p| p.ops.len()).sum::<usize>();
    assert_eq!(rows.len(), points().count() + operations + view.ceilings.len());
    assert_eq!(rows.iter().filter(|row| row.contains(",operation,")).count(), operations);
    assert_eq!(rows.iter().filter(|row| row.contains(",ceiling,")).count(), view.ceilings.len());

    let field = |row: &str, name: &str| {
        let at = columns.iter().position(|column| *column == name).unwrap();
        row.split(',').nth(at).unwrap().to_owned()
    };
    let point = &view.series[0].points[6];
    for (name, figure) in [
        ("workload", "get".to_owned()),
        ("concurrency", "64".to_owned()),
        ("ended", "duration".to_owned()),
        ("bytes_per_s", point.bytes_per_s.mean.to_string()),
        ("requests_per_s_half_width_95", point.requests_per_s.half_width_95.unwrap().to_string()),
        ("errors", "15".to_owned()),
        ("total_p999_ns", point.total.p999_ns.to_string()),
        ("target_cpu_cores", point.target_cpu.unwrap().cores.to_string()),
        ("purpose", "measure".to_owned()),
        ("warmup_ms", "1500".to_owned()),
        ("steady", "true".to_owned()),
        ("run", "1120-0931-get".to_owned()),
        ("host", view.run.target.hosts.join(" ")),
        ("op", String::new()),
    ] {
        assert_eq!(field(rows[6], name), figure, "{name}");
    }
    for name in ["bytes_per_s_half_width_95", "target_cpu_cores", "target_cpu_s_per_gib"] {
        assert_eq!(field(rows[0], name), "", "{name} of a point that has none");
    }
    assert!(rows[14].starts_with("\"mixed get=45,put=55\",1MiB,1,"), "{}", rows[14]);
    assert!(field(rows[6], "start").starts_with("2025-11-20T09:3"), "{}", field(rows[6], "start"));
}

#[test]
fn csv_is_empty_where_nothing_succeeded_and_where_there_are_no_bodies() {
    let mut view = fixture::usual();
    view.series.truncate(2);
    let none = linerate_analysis::view::Estimate { half_width_95: Some(0.0), ..Default::default() };
    let point = &mut view.series[0].points[0];
    (point.requests, point.bytes, point.moved_bytes, point.steady) = (0, 0, 0, true);
    (point.bytes_per_s, point.requests_per_s) = (none, none);
    point.errors.insert("http 503".to_owned(), 24);
    let text = csv(&view);
    let columns: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let field = |row: &str, name: &str| {
        row.split(',').nth(columns.iter().position(|column| *column == name).unwrap()).unwrap().to_owned()
    };
    let failed = text.lines().nth(1).unwrap();
    for (name, figure) in [
        ("errors", "24"),
        ("requests", "0"),
        ("requests_per_s", "0"),
        ("requests_per_s_half_width_95", ""),
        ("bytes_per_s", ""),
        ("bytes_per_s_half_width_95", ""),
        ("steady", ""),
    ] {
        assert_eq!(field(failed, name), figure, "{name} of a point of which all requests failed");
    }
    let stat = text.lines().find(|row| row.starts_with("stat,")).unwrap();
    assert!(field(stat, "bytes_per_s").is_empty() && !field(stat, "requests_per_s").is_empty(), "{stat}");
    assert_eq!(field(stat, "steady"), "true");
}

#[test]
fn csv_has_a_row_per_operation_of_a_mix_and_nothing_where_nothing_was_measured() {
    let mut view = fixture::usual();
    let (put, point) = {
        let point = &mut view.series[2].points[0];
        point.ops[1].ttfb = Latency::default();
        point.ttfb = Latency::default();
        (point.ops[1].clone(), point.clone())
    };
    let text = csv(&view).replace("\"mixed get=45,put=55\"", "mix");
    let columns: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let row = |op: &str, purpose: &str| {
        let found = text.lines().map(|line| line.split(',').collect::<Vec<_>>()).find(|row| {
            let is = |name: &str, text: &str| row[columns.iter().position(|c| *c == name).unwrap()] == text;
            is("workload", "mix") && is("op", op) && is("purpose", purpose)
        });
        let found: Vec<String> = found.unwrap().into_iter().map(str::to_owned).collect();
        let columns = columns.clone();
        move |name: &str| found[columns.iter().position(|c| *c == name).unwrap()].clone()
    };
    let (all, of_put) = (row("", "measure"), row("put", "operation"));
    assert_eq!((of_put("requests"), of_put("bytes")), (put.requests.to_string(), put.bytes.to_string()));
    assert_eq!(of_put("total_p99_ns"), put.total.p99_ns.to_string());
    assert_eq!(of_put("bytes_per_s"), put.bytes_per_s.to_string());
    assert_eq!((of_put("ttfb_p50_ns").as_str(), all("ttfb_p99_ns").as_str()), ("", ""));
    assert_eq!(all("total_p50_ns"), point.total.p50_ns.to_string());
}

/// The usual view with its first series as an open loop, of which the rate was reached and one bound held.
pub(crate) fn open() -> View {
    let mut view = fixture::usual();
    let slo: Slo = "p99=50ms".parse().expect("it is a bound");
    for (i, point) in view.series[0].points.iter_mut().enumerate() {
        point.concurrency = 1024;
        let bound = BoundFigures {
            bound: slo.0[0],
            count: 1000,
            over: if i > 3 { 900 } else { 0 },
            measured_ms: None,
            over_share: if i > 3 { 0.9 } else { 0.0 },
            effective: 1000.0,
            freedom: None,
            held: i <= 3,
            verdict: if i > 3 { BoundVerdict::Missed } else { BoundVerdict::Held },
            share_95: Some(if i > 3 { [0.8, 0.95] } else { [0.0, 0.004] }),
            of_rate: None,
            stop_ruled_out_ms: Some(33.3),
        };
        let open = OpenLoop {
            requested_per_s: 200.0 * (i + 1) as f64,
            at_random: false,
            due: 1000,
            backlog: 0,
            backlog_max: 0,
            outstanding_first: 0,
            outstanding_last: 0,
            bounds: vec![bound],
            short_by_chance: 0.0,
            growth: OutstandingGrowth::default(),
            intervals_with_backlog: 0,
            late: Latency::default(),
            ttfb_intended: point.ttfb.clone(),
            total_intended: point.total.clone(),
        };
        point.open = Some(open);
    }
    let count = view.series[0].points.len();
    for (i, spec) in view.run.requested.points[..count].iter_mut().enumerate() {
        (spec.concurrency, spec.rate_per_s) = (1024, Some(200.0 * (i + 1) as f64));
    }
    view.series[0].knee = None;
    view.sum_up();
    view
}

#[test]
fn an_open_loop_is_told_by_its_rate_and_its_bounds() {
    let view = open();
    let text = render(&view, true, PLAIN);
    let table = text.split("GET 4 MiB").next().unwrap();
    assert!(table.contains("asked/s    achieved/s") && !table.contains("conc"), "{table}");
    assert!(!text.contains("1024"), "{text}");
    let row = |n: usize| point_line("GET 4 MiB", &view.series[0].points[n], Measure::Bytes);
    assert!(row(0).contains("     200 ") && row(0).trim_end().ends_with("held"), "{}", row(0));
    assert!(row(6).contains("1400 ") && row(6).contains("missed"), "{}", row(6));
    // Without reasons, too, what is held says what so short a time does not rule out.
    let short = render(&view, false, PLAIN);
    let held = "   held           but for rare stalls that each make over 33.3 ms of requests too slow\n";
    assert!(short.contains(held), "{short}");
    let header = open_table_header();
    for end in ["asked/s", "achieved/s", "p99.9"] {
        let at = header.find(end).unwrap() + end.len();
        assert!(row(0).chars().nth(at - 1).is_some_and(|c| c != ' '), "{header}\n{}", row(0));
    }
    let csv = csv(&view);
    assert!(
        csv.lines().nth(1).unwrap().ends_with(",held,,0,0,0,,,false")
            && csv.lines().nth(7).unwrap().ends_with(",missed,,0,0,0,,,false")
    );
    let page = html(&view);
    assert!(page.contains(">200/s<") && page.contains("/s asked for") && !page.contains("1024 in flight"));
    let setup = page.split("<h3>Asked</h3>").nth(1).and_then(|rest| rest.split("</article>").next()).unwrap();
    assert!(setup.contains("GET 4 MiB at 200/s, 400/s, 600/s") && setup.contains("at most 1024"), "{setup}");
    assert!(setup.contains("STAT 4 KiB × 1, 2") && !setup.contains("× 1024"), "{setup}");
    let mut searched = view;
    let PointSpec { workload, size, clients, .. } = searched.run.requested.points.swap_remove(0);
    let series = vec![SeriesSpec { workload, size, clients }];
    let (lowest_per_s, highest_per_s) = (1.0, 500.0);
    let (precision, series_ms, concurrency) = (0.05, 60_000, Some(2048));
    let search = RateSearchSpec { lowest_per_s, highest_per_s, concurrency, precision, series_ms, series };
    searched.run.requested.points.clear();
    searched.run.requested.rate_search = Some(search.clone());
    let page = html(&searched);
    assert!(page.contains("GET 4 MiB at 1/s to 500/s, searched") && page.contains("at most 2048"));
    // Folders of before do not say it.
    let of_before = RateSearchSpec { concurrency: None, ..search };
    let written = serde_json::to_string(&of_before).unwrap();
    assert!(!written.contains("concurrency"));
    assert_eq!(serde_json::from_str::<RateSearchSpec>(&written).unwrap(), of_before);
    searched.run.requested.rate_search = Some(of_before);
    assert!(!html(&searched).contains("Requests in flight"));
}

/// The figure in large is not one of a rate that missed its bound, unless all did, and then it says so.
#[test]
fn the_headline_of_an_open_loop_is_of_a_rate_that_kept_its_bounds() {
    let mut view = open();
    let headline = |view: &View| {
        let page = html(view);
        let at = page.split("<p class=\"at\">").nth(1).expect("a card");
        at.split(" ·").next().unwrap_or_default().to_owned()
    };
    assert_eq!(headline(&view), "best within p99=50ms, at 800/s asked for");
    for point in &mut view.series[0].points {
        for bound in point.open.iter_mut().flat_map(|open| &mut open.bounds) {
            (bound.held, bound.verdict) = (false, BoundVerdict::Missed);
        }
    }
    view.sum_up();
    assert!(headline(&view).ends_with("/s asked for, where p99=50ms is missed"), "{}", headline(&view));
}

#[test]
fn a_mix_has_a_row_per_operation() {
    let view = fixture::usual();
    let text = render(&view, true, PLAIN);
    let mixed = text.split("mixed get=45,put=55 1 MiB\n").nth(1).unwrap();
    let rows: Vec<&str> = mixed.lines().skip(1).take(2).collect();
    assert!(rows[0].starts_with("   GET ") && rows[1].starts_with("   PUT "), "{rows:?}");
    assert!(!text.split("mixed").next().unwrap().contains("\n   GET "), "one operation has no row of its own");
}

#[test]
fn a_range_that_is_read_in_place_of_objects_stands_in_text_csv_and_json() {
    let mut view = fixture::usual();
    assert!(!json(&view).contains("range_bytes\": 65536") && !render(&view, true, PLAIN).contains("each GET reads"));
    view.series[0].range_bytes = Some(65_536);
    let reported = "ranges   each GET reads 64 KiB at a random place of an object that is longer";
    assert_eq!(render(&view, true, PLAIN).matches(reported).count(), 1, "{}", render(&view, true, PLAIN));
    let json: serde_json::Value = serde_json::from_str(&json(&view)).unwrap();
    assert_eq!(json.pointer("/series/0/range_bytes"), Some(&65_536.into()));
    let points = view.series[0].points.len();
    let rows = csv(&view);
    let with_range = rows.lines().filter(|row| row.contains(",65536,0,0,0,,,") && row.starts_with("get,")).count();
    assert!(with_range >= points && rows.lines().nth(1).unwrap().contains(",65536,0,0,0,,,"), "{rows}");
}

#[test]
fn csv_columns_are_those_that_scripts_know() {
    let columns = "workload,size,concurrency,measured_ms,ended,bytes_per_s,bytes_per_s_half_width_95,requests_per_s,\
                   requests_per_s_half_width_95,requests,bytes,errors,ttfb_p50_ns,ttfb_p90_ns,ttfb_p99_ns,total_p50_ns,\
                   total_p90_ns,total_p99_ns,total_p999_ns,total_max_ns,client_cpu_cores,client_cpu_us_per_request,\
                   client_cpu_s_per_gib,target_cpu_cores,target_cpu_us_per_request,target_cpu_s_per_gib,purpose,\
                   warmup_ms,steady,retries,throttled,rate_per_s,due,backlog,late_p99_ns,ttfb_intended_p50_ns,\
                   ttfb_intended_p99_ns,total_intended_p50_ns,total_intended_p90_ns,total_intended_p99_ns,\
                   total_intended_p999_ns,total_p99_low_ns,total_p99_high_ns,total_p999_low_ns,total_p999_high_ns,\
                   total_intended_p99_low_ns,total_intended_p99_high_ns,total_intended_p999_low_ns,\
                   total_intended_p999_high_ns,run,host,start,op,bound,range_bytes,rested_share,paused_share,\
                   warmup_errors,open_requests,bytes_per_s_with_open,quick_look";
    assert_eq!(csv(&fixture::usual()).lines().next(), Some(columns));
}

#[test]
fn the_terminal_tells_the_story_of_each_series() {
    let text = render(&fixture::usual(), true, PLAIN);
    for reported in [
        "target  2 hosts, MinIO <b>",
        "client  4 threads on 8 processors, 2 × 25.0 Gb/s",
        "run     1120-0931-get, 2025-11-20 09:31:07 UTC",
        "← knee at 16 (8–32)\n",
        "← still rising at 64",
        "stop reason    3 × precise, 4 × time was up; warm-up up to 1.50 s",
        "▸ the target, or the network path to it, is the bottleneck",
        "why            busiest thread 63 %",
        "linerate alone drives 22.3 GiB/s against the null target, 64 in flight",
        "15 failed",
        "critical linerate itself is the bottleneck of these points",
        "(points 11, 12, 13)",
        "try  give linerate more threads (--threads 16)",
        "mixed get=45,put=55 1 MiB\n",
    ] {
        assert!(text.contains(reported), "{reported:?} is not in\n{text}");
    }
    assert!(!text.contains("warnings"), "{text}");
}

#[test]
fn without_reasons_findings_that_do_not_fit_a_screen_are_counted_and_what_stands_above_is_not_said_again() {
    let mut view = fixture::usual();
    view.series.truncate(1);
    view.series[0].predicted = None;
    view.series[0].points.truncate(5);
    view.sum_up();
    let one = view.findings[0].clone();
    let finding = |kind, severity, claim: &str| Finding { kind, severity, claim: claim.to_owned(), ..one.clone() };
    let warning = |kind| finding(kind, Severity::Warning, &format!("of this kind: {kind:?}"));
    let kinds = [
        FindingKind::FellBehind,
        FindingKind::SloMissed,
        FindingKind::SloInDoubt,
        FindingKind::TooShort,
        FindingKind::LateStarts,
        FindingKind::RequestErrors,
        FindingKind::Disturbed,
    ];
    view.findings = kinds.into_iter().map(warning).collect();
    view.findings.push(finding(FindingKind::LeftBehind, Severity::Warning, "objects may remain"));
    let lines = |view: &View| render(view, false, TextStyle { width: 80, ..PLAIN }).lines().count();
    let short = render(&view, false, TextStyle { width: 80, ..PLAIN });
    assert!(lines(&view) <= 22 && short.contains("objects may remain"), "{short}");
    let named = kinds.iter().filter(|kind| short.contains(&format!("of this kind: {kind:?}"))).count();
    assert!(named >= 1 && short.contains(&format!("{} more findings with --why", kinds.len() - named)), "{short}");
    let full = render(&view, true, PLAIN);
    assert!(kinds.iter().all(|kind| full.contains(&format!("of this kind: {kind:?}"))), "{full}");
    // The bottleneck says that the run was disturbed.
    view.findings = vec![warning(FindingKind::Disturbed)];
    assert!(render(&view, false, PLAIN).contains("of this kind: Disturbed"));
    view.series[0].limit.as_mut().unwrap().bound = Bottleneck::Disturbed;
    assert!(!render(&view, false, PLAIN).contains("of this kind: Disturbed"));
}

#[test]
fn of_several_series_without_reasons_each_has_its_bottleneck_in_a_sentence() {
    let mut view = fixture::usual();
    let has = |text: &str, word: &str| text.lines().any(|line| line.starts_with(&format!("   {word} ")));
    let all = render(&view, false, PLAIN);
    assert!(all.contains("▸ the target, or the network path to it, is the bottleneck"), "{all}");
    assert!(!has(&all, "why") && !has(&all, "try"), "{all}");
    view.series.truncate(1);
    let one = render(&view, false, PLAIN);
    assert!(has(&one, "why") && has(&one, "try"), "{one}");
}

#[test]
fn a_page_begins_with_a_sentence_and_is_not_called_complete_beside_critical_findings() {
    let mut view = fixture::usual();
    view.run.complete = true;
    let top = |view: &View| html(view).split("<dl class=\"strip\">").next().unwrap().to_owned();
    let critical = top(&view);
    assert!(critical.contains("<p class=\"gist\">Do not rely on these figures yet, because of "), "{critical}");
    assert!(!critical.contains(">complete<"), "{critical}");
    view.findings.retain(|found| found.severity != Severity::Critical);
    let fine = top(&view);
    assert!(fine.contains("<p class=\"gist\">The storage delivered ") && fine.contains(">complete<"), "{fine}");
}

#[test]
fn rows_stand_under_their_header_whatever_the_figures() {
    let view = fixture::usual();
    for series in &view.series {
        let header = table_header(series.measure);
        let p99_end = header.find("p99").unwrap() + 3;
        for point in &series.points {
            let row: Vec<char> = point_line("GET 4 MiB", point, series.measure).chars().collect();
            assert!(row[p99_end - 1] == 's' && row[p99_end] == ' ', "{header}\n{}", row.iter().collect::<String>());
        }
    }
}

#[test]
fn requests_come_first_where_they_are_the_measure() {
    let view = fixture::usual();
    let header = table_header(Measure::Requests);
    assert!(header.find("req/s") < header.find("throughput"), "{header}");
    let bytes_header = table_header(Measure::Bytes);
    assert!(bytes_header.find("throughput") < bytes_header.find("req/s"), "{bytes_header}");
    let line = point_line("STAT 4 KiB", &view.series[1].points[6], Measure::Requests);
    assert!(line.contains("47.1 k ± 2.1 %") && !line.contains("B/s"), "{line}");
}

#[test]
fn colour_is_used_only_where_it_is_asked_for_and_changes_no_word() {
    let mut view = fixture::usual();
    view.run.id.push_str("\x1b[2J");
    let plain = render(&view, true, PLAIN);
    let mut colored = render(&view, true, TextStyle { color: true, ..PLAIN });
    assert!(!plain.contains('\x1b'), "{plain}");
    for code in ["\x1b[31m", "\x1b[33m", "\x1b[2m", "\x1b[0m"] {
        assert!(colored.contains(code), "{code:?}");
        colored = colored.replace(code, "");
    }
    assert_eq!(colored, plain);
}

#[test]
fn without_findings_the_terminal_says_so() {
    let mut view = fixture::usual();
    view.findings.clear();
    assert!(render(&view, true, PLAIN).ends_with(" warnings  none\n"));
}

#[test]
fn a_narrow_terminal_gets_narrow_sentences() {
    let text = render(&fixture::usual(), true, TextStyle { color: false, width: 80, whole: false });
    for line in text.lines() {
        let figures = line.ends_with("failed");
        assert!(figures || line.chars().count() <= 80, "{line}");
    }
    assert!(text.contains("busiest event-loop thread ran 99 % of its time"), "{text}");
}

#[test]
fn nothing_in_a_view_becomes_markup() {
    let page = html(&fixture::usual());
    assert!(!page.contains(HOSTILE) && !page.contains("<b onclick") && !page.contains("MinIO <b>"));
    assert_eq!(page.matches("<script").count(), 4);
    assert_eq!(page.matches("</script>").count(), 4);
    assert!(
        page.contains(
            "requests failed with &lt;/script&gt;&lt;b onclick=&quot;alert(&#39;x&#39;)&quot;&gt;&amp;{{view}}"
        )
    );
}

#[test]
fn the_page_shows_charts_before_findings_and_points_before_calibration() {
    let mut view = fixture::usual();
    assert!(html(&view).contains("\"measured\":null"), "there is nothing else");
    let (from_ms, to_ms) = view.timeline.spans.last().map(|span| (span.to_ms, span.to_ms + 700)).unwrap();
    let span = TimelineSpan { point: view.ceilings[0].point.point, label: "get 4MiB × 64".to_owned(), from_ms, to_ms };
    view.timeline.spans.push(span);
    let page = html(&view);
    let at = |id: &str| page.find(&format!("<section id=\"{id}\"")).unwrap();
    let order = ["verdict", "throughput", "latency", "timeline", "findings", "points"].map(at);
    assert!(order.is_sorted(), "{order:?}");
    assert!(page[at("verdict")..at("throughput")].contains("<a href=\"#findings\">1 critical finding, "));
    let span_at = |point: u32| view.timeline.spans.iter().find(|span| span.point == point).unwrap();
    let (first, last) = (&view.series[0].points[0], view.series[2].points.last().unwrap());
    let measured = format!("\"measured\":[{},{}]", span_at(first.point).from_ms, span_at(last.point).to_ms);
    assert!(page.contains(&measured), "{measured}");
}

#[test]
fn a_reading_that_begins_in_the_calibration_is_drawn_before_what_was_measured() {
    let mut view = fixture::usual();
    let from = 2_000 + view.timeline.spans[0].from_ms;
    view.timeline
        .spans
        .iter_mut()
        .for_each(|span| (span.from_ms, span.to_ms) = (span.from_ms + 2_000, span.to_ms + 2_000));
    let sample = view.timeline.machine[0].clone();
    let at = |at_ms| MachineSample { at_ms, ..sample.clone() };
    view.timeline.machine = [1_000, from + 500, from + 1_500].map(at).to_vec();
    let drawn = |second| format!("\"at_ms\":[1000,{second},{}]", from + 1_500);
    assert!(html(&view).contains(&drawn(from + 500)), "nothing was calibrated");
    let point = view.ceilings[0].point.point;
    let span = TimelineSpan { point, label: "get 4MiB × 64".to_owned(), from_ms: 100, to_ms: 1_900 };
    view.timeline.spans.insert(0, span);
    assert!(html(&view).contains(&drawn(from - 1)));
}

#[test]
fn the_page_refers_to_nothing_outside_itself() {
    let page = html(&fixture::usual());
    assert!(page.contains("Content-Security-Policy\" content=\"default-src 'none'; "));
    for reference in ["src=\"", "@import", "url(", "href=\"http", "fetch(", "XMLHttpRequest"] {
        assert!(!page.contains(reference), "{reference}");
    }
    assert!(page.contains("Permission is hereby granted"), "the licence of the chart library is missing");
}

#[test]
fn the_page_stays_small_whatever_the_run() {
    let most =
        Extent { points: 32, hosts: 41, load: 1200, machine: 2000, cpus: 64, nics: 40, disks: 60, distribution: 160 };
    for (name, view) in [
        ("32 points, 100 hosts", fixture::largest()),
        ("98 points, 41 hosts, exact cells", fixture::view(most)),
        ("1022 points, 4 hosts", fixture::view(Extent { points: 340, hosts: 4, ..most })),
    ] {
        let bytes = html(&view).len();
        assert!(bytes < 2_000_000, "{name}: {bytes} bytes");
    }
}

#[test]
fn tables_hold_the_figures_without_a_script() {
    let view = fixture::usual();
    let page = html(&view);
    let tables = page.split("<section id=\"points\">").nth(1).unwrap().split("</section>").next().unwrap();
    for series in &view.series {
        for point in &series.points {
            let p99 = format!(
                "data-point=\"{}\" data-field=\"total.p99_ns\" data-value=\"{}\">",
                point.point, point.total.p99_ns
            );
            assert!(tables.contains(&p99), "{p99}");
        }
    }
    assert!(tables.contains("data-field=\"errors.http 503\" data-value=\"12\">12</span> http 503"));
}

#[test]
fn slots_that_rested_are_told_beside_their_point_and_nothing_measured_is_no_latency() {
    let mut view = fixture::usual();
    assert!(!render(&view, true, PLAIN).contains("rested"));
    let point = &mut view.series[0].points[0];
    (point.rested_share, point.paused_share) = (0.012, 0.0004);
    assert!(render(&view, true, PLAIN).contains("slots were paused 1.24 % of the time after failures"));
    // A point of which no request succeeded, on hosts that answered none.
    for point in view.series.iter_mut().flat_map(|series| &mut series.points) {
        (point.total, point.ttfb, point.warmup_ms, point.requests) = (Latency::default(), Latency::default(), 0, 0);
        for host in &mut point.hosts {
            (host.requests, host.total_p50_ns, host.total_p99_ns, host.ttfb_p50_ns) = (0, 0, 0, 0);
        }
    }
    (view.series[0].knee, view.ceilings) = (None, Vec::new());
    view.sum_up();
    let text = render(&view, true, PLAIN);
    assert!(!html(&view).contains(">0 ns<") && !text.contains(" 0 ns"), "{text}");
    view.run.elapsed_ms = 0;
    assert!(render(&view, true, PLAIN).contains(", nothing measured\n"), "{}", render(&view, true, PLAIN));
}
