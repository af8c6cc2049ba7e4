//! What each output says of the same view.

use linerate_analysis::view::{BoundFigures, Latency, Measure, OpenLoop, Span, View};
use linerate_record::slo::Slo;
use linerate_report::terminal::{Look, open_table_header, point_line, render, table_header};
use linerate_report::{csv, html, json, junit};

mod fixture;

use fixture::{Extent, HOSTILE};

const PLAIN: Look = Look { color: false, width: 120 };

#[test]
fn json_reads_back_as_the_same_view() {
    let view = fixture::usual();
    assert_eq!(serde_json::from_str::<View>(&json(&view)).unwrap(), view);
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
    assert_eq!(of_put("requests"), put.requests.to_string());
    assert_eq!(of_put("total_p99_ns"), put.total.p99_ns.to_string());
    assert_eq!(of_put("bytes_per_s"), put.bytes_per_s.to_string());
    assert_eq!((of_put("ttfb_p50_ns").as_str(), all("ttfb_p99_ns").as_str()), ("", ""));
    assert_eq!(all("total_p50_ns"), point.total.p50_ns.to_string());
}

/// The usual view with its first series as an open loop, of which the rate was reached and one bound held.
fn open() -> View {
    let mut view = fixture::usual();
    let slo: Slo = "p99=50ms".parse().expect("it is a bound");
    for (i, point) in view.series[0].points.iter_mut().enumerate() {
        point.concurrency = 1024;
        let bound = BoundFigures {
            bound: slo.0[0],
            count: 1000,
            over: if i > 3 { 900 } else { 0 },
            effective: 1000.0,
            held: i <= 3,
            share_95: Some(if i > 3 { [0.8, 0.95] } else { [0.0, 0.004] }),
        };
        let open = OpenLoop {
            asked_per_s: 200.0 * (i + 1) as f64,
            at_random: false,
            due: 1000,
            backlog: 0,
            backlog_max: 0,
            outstanding_first: 0,
            outstanding_last: 0,
            bounds: vec![bound],
            intervals_with_backlog: 0,
            late: Latency::default(),
            ttfb_intended: point.ttfb.clone(),
            total_intended: point.total.clone(),
        };
        point.open = Some(open);
    }
    view.series[0].knee = None;
    view
}

#[test]
fn an_open_loop_is_told_by_its_rate_and_its_bounds() {
    let view = open();
    let text = render(&view, PLAIN);
    let table = text.split("GET 4 MiB").next().unwrap();
    assert!(table.contains("asked/s achieved/s") && !table.contains("conc"), "{table}");
    assert!(!text.contains("1024"), "{text}");
    let row = |n: usize| point_line("GET 4 MiB", &view.series[0].points[n], Measure::Bytes);
    assert!(row(0).contains("     200 ") && row(0).trim_end().ends_with("held"), "{}", row(0));
    assert!(row(6).contains("1400 ") && row(6).contains("missed"), "{}", row(6));
    let header = open_table_header();
    for end in ["asked/s", "achieved/s", "p99.9"] {
        let at = header.find(end).unwrap() + end.len();
        assert!(row(0).chars().nth(at - 1).is_some_and(|c| c != ' '), "{header}\n{}", row(0));
    }
    let csv = csv(&view);
    assert!(csv.lines().nth(1).unwrap().ends_with(",held") && csv.lines().nth(7).unwrap().ends_with(",missed"));
    let page = html(&view);
    assert!(page.contains(">200/s<") && page.contains("/s asked for") && !page.contains("1024 in flight"));
}

#[test]
fn a_mix_has_a_row_per_operation() {
    let view = fixture::usual();
    let text = render(&view, PLAIN);
    let mixed = text.split("mixed get=45,put=55 1 MiB\n").nth(1).unwrap();
    let rows: Vec<&str> = mixed.lines().skip(2).take(2).collect();
    assert!(rows[0].starts_with("   GET ") && rows[1].starts_with("   PUT "), "{rows:?}");
    assert!(!text.split("mixed").next().unwrap().contains("\n   GET "), "one operation has no row of its own");
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
                   total_intended_p999_high_ns,run,host,start,op,bound";
    assert_eq!(csv(&fixture::usual()).lines().next(), Some(columns));
}

#[test]
fn the_terminal_tells_the_story_of_each_series() {
    let text = render(&fixture::usual(), PLAIN);
    for told in [
        "target  2 hosts, MinIO <b>",
        "client  4 threads on 8 processors, 2 × 25.0 Gb/s",
        "run     1120-0931-get, 2025-11-20 09:31:07 UTC",
        "← knee at 16 (8–32)\n",
        "← still rising at 64",
        "law  Universal Scalability Law: contention 7 % (6 %–8 %), coherency 2.0e-4 (0–4.0e-4); no peak to be seen",
        "the Universal Scalability Law does not describe these points",
        "end  3 × precise, 4 × time was up; warm-up up to 1.50 s",
        "▸ the target, or the way to it, bound it",
        "why  busiest thread 63 %",
        "linerate alone drives 22.3 GiB/s against the null target, 64 in flight",
        "15 failed",
        "serious  linerate itself bound these points",
        "(points 11, 12, 13)",
        "try  give linerate more threads (--threads 16)",
        "mixed get=45,put=55 1 MiB\n",
    ] {
        assert!(text.contains(told), "{told:?} is not in\n{text}");
    }
    assert!(!text.contains("warnings"), "{text}");
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
    let plain = render(&view, PLAIN);
    let mut colored = render(&view, Look { color: true, ..PLAIN });
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
    assert!(render(&view, PLAIN).ends_with(" warnings  none\n"));
}

#[test]
fn a_narrow_terminal_gets_narrow_sentences() {
    let text = render(&fixture::usual(), Look { color: false, width: 80 });
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
    let span = Span { point: view.ceilings[0].point.point, label: "get 4MiB × 64".to_owned(), from_ms, to_ms };
    view.timeline.spans.push(span);
    let page = html(&view);
    let at = |id: &str| page.find(&format!("<section id=\"{id}\"")).unwrap();
    let order = ["verdict", "throughput", "latency", "timeline", "findings", "points"].map(at);
    assert!(order.is_sorted(), "{order:?}");
    assert!(page[at("verdict")..at("throughput")].contains("<a href=\"#findings\">1 serious finding, "));
    let of = |point: u32| view.timeline.spans.iter().find(|span| span.point == point).unwrap();
    let (first, last) = (&view.series[0].points[0], view.series[2].points.last().unwrap());
    let measured = format!("\"measured\":[{},{}]", of(first.point).from_ms, of(last.point).to_ms);
    assert!(page.contains(&measured), "{measured}");
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
fn junit_has_a_case_per_threshold_and_fails_those_that_are_missed() {
    let mut view = fixture::usual();
    view.run.title = Some("nightly <\u{1b}> & \"co\"".to_owned());
    let thresholds: Vec<_> =
        ["get.throughput<1MiB/s", "get.throughput<1TiB/s", "errors>50%"].map(|text| text.parse().unwrap()).into();
    let held = linerate_analysis::thresholds::held(&view, &thresholds).unwrap();
    let xml = junit(&view, &held);
    assert!(
        xml.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"6\" failures=\"1\">"),
        "{xml}"
    );
    assert!(xml.contains("name=\"nightly &lt;\u{fffd}&gt; &amp; &quot;co&quot;\""), "{xml}");
    assert!(xml.contains("name=\"not get.throughput&lt;1MiB/s\"/>"), "{xml}");
    assert!(xml.contains("name=\"not get.throughput&lt;1TiB/s\"><failure message=\"the best throughput was "), "{xml}");
    assert_eq!(xml.matches("<testcase ").count(), xml.matches("/>").count(), "{xml}");
    view.findings.clear();
    assert!(junit(&view, &[]).contains("name=\"requests succeed\"/>"));
}
