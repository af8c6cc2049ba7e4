//! What each output says of the same view.

use linerate_analysis::view::{Measure, View};
use linerate_report::terminal::{Look, point_line, render, table_header};
use linerate_report::{csv, html, json};

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
    assert_eq!(rows.len(), view.series.iter().map(|s| s.points.len()).sum::<usize>() + view.ceilings.len());
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
    ] {
        assert_eq!(field(rows[6], name), figure, "{name}");
    }
    for name in ["bytes_per_s_half_width_95", "target_cpu_cores", "target_cpu_s_per_gib"] {
        assert_eq!(field(rows[0], name), "", "{name} of a point that has none");
    }
    assert!(rows[14].starts_with("\"mixed get=45,put=55\",1MiB,1,"), "{}", rows[14]);
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
                   total_intended_p999_high_ns";
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
