//! The page of made-up rollouts.

use linerate_record::rollout::RolloutReport;
use linerate_report::rollout::{html, json};

use crate::golden_file::same_as_golden;
use crate::rolled::{confirmed, mixed};

/// A section of a page.
fn section<'p>(page: &'p str, id: &str) -> &'p str {
    let begin = format!("<section id=\"{id}\">");
    page.split_once(&begin).and_then(|(_, rest)| rest.split_once("</section>")).map_or("", |(section, _)| section)
}

/// Names of nodes in the picture, from top to bottom, each with its group.
fn rows(page: &str) -> Vec<(String, String)> {
    let (mut group, mut rows) = (String::new(), Vec::new());
    let text = |line: &str, from: &str| {
        let rest = line.split_once(from).map_or("", |(_, rest)| rest);
        rest.split('<').next().unwrap_or_default().trim().to_owned()
    };
    for line in section(page, "course").lines() {
        if line.starts_with("<tr class=\"group\">") {
            group = text(line, "colspan=\"4\">");
        } else if line.starts_with("<tr><th scope=\"row\">") {
            rows.push((group.clone(), text(line, "<th scope=\"row\">")));
        }
    }
    rows
}

#[test]
fn the_page_of_a_rollout_with_every_state_is_what_somebody_read_over() {
    let page = html(&mixed());
    let main = page.split_once("<main class=\"wrap\">\n").and_then(|(_, rest)| rest.split_once("</main>"));
    same_as_golden("rollout.html", main.unwrap().0);
}

#[test]
fn rows_are_in_the_order_of_racks_and_waves_and_what_is_not_known_comes_last() {
    let rows = rows(&html(&mixed()));
    let expected = [
        ("storage, rack r0", "first"),
        ("storage, rack r0", "second"),
        ("storage, rack r0", "refuses"),
        ("storage, rack r1", "late"),
        ("storage, rack r1", "left"),
        ("storage, rack r1", "keeps"),
        ("storage, rack r1", "waits"),
        ("storage, rack r1", "partly"),
        ("client", "boots"),
        ("client", "old"),
        ("client", "unbegun"),
        ("client", "gone"),
    ];
    let rows: Vec<(&str, &str)> = rows.iter().map(|(group, name)| (group.as_str(), name.as_str())).collect();
    assert_eq!(rows, expected);
}

#[test]
fn each_state_is_drawn_named_and_in_the_legend() {
    let page = html(&mixed());
    let picture = section(&page, "course");
    for state in [
        "not begun",
        "applying",
        "pending",
        "partly changed",
        "extended",
        "confirmed",
        "rolled back",
        "lapsed",
        "refused",
        "not restored",
        "rebooted",
        "not known",
    ] {
        let class = state.replace(' ', "-");
        assert!(picture.contains(&format!("<b class=\"{class}")), "{state}");
        assert!(picture.contains(&format!("<b class=\"{class}\"></b> {state}</span>")), "{state}: no legend");
    }
    for part in ["extended ahead", "partly-changed ahead", "pending untimed", "pending: time not recorded"] {
        assert!(picture.contains(part), "{part}");
    }
    assert!(picture.contains("first: not begun until 2025-11-24 16:00:00.000; applying from 2025-11-24 16:00:00.000"));
    assert!(picture.contains("waits: ") && picture.contains("rolled back by itself at 2025-11-24 16:11:00.000 unless"));
    let reasons = section(&page, "reasons");
    for part in
        ["the check failed behind wave 3", "second, refuses", "not reached: no answer for 2 s", "&quot;33&quot;"]
    {
        assert!(reasons.contains(part), "{part}: {reasons}");
    }
    let instants = section(&page, "instants");
    // An hour ahead of who asked.
    for part in ["2025-11-24 17:00:01.000", "+1 h 00 min", "± 1.50 ms", "time not recorded", "lapsed: not confirmed"] {
        assert!(instants.contains(part), "{part}: {instants}");
    }
    let changes = section(&page, "changes");
    for part in ["vm.swappiness", "&quot;60&quot;", "&quot;10&quot;", "as its journal says", "&quot;33&quot;"] {
        assert!(changes.contains(part), "{part}: {changes}");
    }
    let waves = section(&page, "waves");
    assert_eq!(waves.matches("<th scope=\"row\">").count(), 5, "{waves}");
}

#[test]
fn pages_of_one_16_and_484_nodes_name_each_and_stay_small() {
    for count in [1_usize, 16, 484] {
        let report = confirmed(count as u64);
        let page = html(&report);
        assert!(page.len() < 5 << 20, "{count}: {}", page.len());
        assert_eq!(section(&page, "course").matches("<span role=\"img\"").count(), count);
        assert_eq!(rows(&page).len(), count);
        assert!(page.contains(&format!("node{count:03}")) && !page.contains("src=\"http"), "{count}");
        assert_eq!(serde_json::from_str::<RolloutReport>(&json(&report)).unwrap(), report);
        assert_eq!(section(&page, "changes").matches("<th scope=\"row\">net.ipv4.setting_").count(), 40);
    }
    assert!(html(&confirmed(0)).contains("No node knows a rollout."));
}

#[test]
fn what_differs_on_each_node_takes_no_page_without_end() {
    let mut report = confirmed(484);
    for (number, node) in report.nodes.iter_mut().enumerate() {
        for setting in &mut node.reported.as_mut().unwrap().settings {
            setting.prior = format!("{number} {}", "x".repeat(10_000));
        }
        node.why = Some(format!("{number} {}", "y".repeat(1_000)));
    }
    let page = html(&report);
    assert!(page.len() < 5 << 20, "{}", page.len());
    assert!(section(&page, "changes").contains("17\u{202f}360 more: see --json"));
}

#[test]
fn what_others_named_is_text_and_no_markup() {
    let mut report = mixed();
    let evil = "</script><b onmouseover=\"x\">'\x1b[2J";
    let node = &mut report.nodes[1];
    (node.name, node.rack, node.why) = (evil.to_owned(), Some(evil.to_owned()), Some(evil.to_owned()));
    let reported = node.reported.as_mut().unwrap();
    reported.application = Some(evil.to_owned());
    reported.settings[0].place.knob = evil.to_owned();
    reported.settings[0].prior = evil.to_owned();
    reported.settings[0].now = Some(evil.to_owned());
    reported.refused = vec![(reported.settings[0].place.clone(), evil.to_owned())];
    reported.course.as_mut().unwrap().why = Some(evil.to_owned());
    let page = html(&report);
    assert!(!page.contains("</script><b") && !page.contains("onmouseover=\"x\"") && !page.contains('\x1b'));
    assert!(page.contains("&lt;/script&gt;&lt;b onmouseover=&quot;x&quot;&gt;&#39;\\u001b[2J"));
}

#[test]
fn instants_that_cannot_be_draw_a_page_all_the_same() {
    for ms in [0, 1, u64::MAX] {
        let mut report = mixed();
        for node in &mut report.nodes {
            if let Some(reported) = &mut node.reported {
                reported.put_on(|_| ms);
            }
        }
        report.requested_ms = Some(u64::MAX - ms);
        report.nodes[0].reported.as_mut().unwrap().closed_ms = Some(u64::MAX);
        let page = html(&report);
        assert_eq!(rows(&page).len(), report.nodes.len(), "{ms}");
        assert!(!page.contains("NaN") && !page.contains("inf%"), "{ms}");
    }
}
