//! What each output says of the same plan, and of the same explanation.

use linerate_record::explanation::{Explanation, LeftOutFigure, Quantity};
use linerate_record::plan::{Plan, PoolLayout};
use linerate_record::site::Protection;
use linerate_record::units::bytes_per_s_iec;
use linerate_report::terminal::TextStyle;
use linerate_report::{explanation, plan};

use crate::golden_file::same_as_golden;
use crate::planned;
use crate::planned::HOSTILE;

const PLAIN: TextStyle = TextStyle { color: false, width: 120, whole: false };

#[test]
fn json_reads_back_as_the_same() {
    let (plan, explanation) = (planned::plan(), planned::explanation());
    assert_eq!(serde_json::from_str::<Plan>(&plan::json(&plan)).unwrap(), plan);
    assert_eq!(serde_json::from_str::<Explanation>(&explanation::json(&explanation)).unwrap(), explanation);
}

#[test]
fn texts_are_those_that_were_read_over() {
    same_as_golden("plan.txt", &plan::text(&planned::plan(), false, PLAIN));
    same_as_golden("plan-why.txt", &plan::text(&planned::plan(), true, PLAIN));
    same_as_golden("plan-bare.txt", &plan::text(&planned::bare(), false, PLAIN));
    same_as_golden("explanation.txt", &explanation::text(&planned::explanation(), false, PLAIN));
    same_as_golden("explanation-why.txt", &explanation::text(&planned::explanation(), true, PLAIN));
}

#[test]
fn pools_that_are_laid_out_differently_are_told_each_with_its_groups() {
    let mut made = planned::plan();
    let own = made.layout.pools[0].clone();
    made.layout.pools.push(PoolLayout { groups: vec!["old".to_owned()], sets: 3, ..own.clone() });
    made.layout.sets += 3;
    assert!(plan::text(&made, false, PLAIN).contains("10 + 4: 35 sets of 14 drives"), "alike: told together");
    let small =
        PoolLayout { groups: vec!["small".to_owned()], set_drives: 8, data_shards: 4, parity_shards: 4, sets: 1 };
    (made.layout.sets, made.layout.pools) = (32, vec![own, small]);
    let expected = "10 + 4: 32 sets of 14 drives (storage); 4 + 4: 1 set of 8 drives (small)";
    for text in [plan::text(&made, false, PLAIN), plan::text(&made, true, PLAIN), plan::html(&made)] {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn a_page_says_what_was_observed_of_the_site_where_anything_was() {
    let mut explanation = planned::explanation();
    assert!(explanation::html(&explanation).contains("<dt>Observed</dt><dd>"));
    let is_of_site = |what: &Quantity| matches!(what, Quantity::Get | Quantity::Put);
    explanation.observations.figures.retain(|figure| !is_of_site(&figure.what));
    assert!(!explanation::html(&explanation).contains("<dt>Observed</dt>"));
}

/// What heals the first of many causes is no advice where something unknown is likelier than it.
#[test]
fn a_brief_answer_advises_nothing_that_is_unlikely_and_gives_no_line_to_what_weighs_nothing() {
    let mut made = planned::explanation();
    made.of_run.clear();
    made.of_nodes.clear();
    let text = explanation::text(&made, false, PLAIN);
    assert!(text.contains(" try for 1") && text.contains("\n  2 "), "{text}");
    let whole = made.kinds[0].weight;
    assert!(words(&text).contains(&format!("; 1 alike, together {:.0} %", 100.0 * whole)), "{text}");
    let own = format!("\n  1  {:>3.0} %", 100.0 * made.survivors[0].weight);
    assert!(text.contains(&own), "{own}: {text}");
    (made.kinds[0].weight, made.kinds[1].weight, made.none_of_these) = (0.3, 0.004, 0.69);
    (made.verdict.outweighed, made.verdict.advised) = (true, None);
    let text = explanation::text(&made, false, PLAIN);
    assert!(!text.contains(" try for") && text.contains("read next"), "{text}");
    assert!(text.contains("\n  1 ") && !text.contains("\n  2 ") && text.contains("2 more hypotheses"), "{text}");
    made.kinds = vec![linerate_record::explanation::Kind { survivors: vec![0], weight: 0.002 }];
    assert!(explanation::text(&made, false, PLAIN).contains("\n  1 "), "the first always has its line");
}

#[test]
fn a_goal_of_latency_that_no_mean_rules_out_is_told_as_that() {
    use linerate_record::finding::Severity;
    use linerate_record::plan::SiteGoal;
    let mut made = planned::plan();
    assert!(!plan::text(&made, false, PLAIN).contains("p99"));
    made.site.goals.p99_ns = Some(20_000_000);
    let text = plan::text(&made, false, PLAIN);
    assert!(text.contains("not ruled out: p99 20.0 ms (GET, PUT, 70 % GET)"), "{text}");
    let (work, found) = (made.works[1].work, made.findings[0].clone());
    let goal = Some(SiteGoal::P99 { work, p99_ns: 20_000_000 });
    made.findings.push(linerate_record::plan::PlanFinding { goal, severity: Severity::Critical, ..found });
    let text = plan::text(&made, false, PLAIN);
    assert!(text.contains("out of reach: p99 20.0 ms (PUT)"), "{text}");
    assert!(text.contains("not ruled out: p99 20.0 ms (GET, 70 % GET)"), "{text}");
}

/// The ceiling allows it, and what the site states to be in flight does not give it: neither is said without the other.
#[test]
fn a_goal_that_the_stated_clients_do_not_reach_is_no_goal_within_reach() {
    use linerate_record::finding::Severity;
    use linerate_record::plan::{PlanFinding, SiteGoal};
    let mut made = planned::plan();
    let goal = made.works[0].goal.as_mut().expect("a goal of GET");
    (goal.in_flight, goal.within_clients_reach) = (Some(1_050), Some(false));
    let said =
        "the ceiling allows GET 200 GiB/s (65 % of it); its clients' 140 in flight would give 220 GiB/s: it takes";
    let text = words(&plan::text(&made, false, PLAIN));
    assert!(text.contains(&format!("goals {said} 1050")) && !text.contains("within reach"), "{text}");
    // The finding says the same; it is not on the first screen twice.
    let (work, found) = (made.works[0].work, made.findings[0].clone());
    let claim = "more than its clients keep".to_owned();
    let goal = Some(SiteGoal::InFlight { work });
    made.findings.insert(1, PlanFinding { goal, claim, severity: Severity::Warning, ..found });
    assert_eq!(words(&plan::text(&made, false, PLAIN)), text);
    assert!(plan::text(&made, true, PLAIN).contains("more than its clients keep"));
    assert!(plan::html(&made).contains("more than its clients keep"));
    made.works[0].goal.as_mut().expect("a goal of GET").within_clients_reach = None;
    assert!(plan::text(&made, false, PLAIN).contains("within reach: GET 200 GiB/s"), "nobody stated the requests");
}

/// What has a name that is wider than its column, and an input that the site states of something else.
#[test]
fn uplinks_of_the_clients_racks_are_named_and_what_they_are_assumed_to_have() {
    use linerate_record::plan::{Input, Resource};
    let mut made = planned::plan();
    let ceiling = &mut made.works[0].ceilings[0];
    ceiling.resource = Resource::ClientRackDown;
    let path = Some("fabric.rack_uplinks".to_owned());
    let (name, value) = ("uplinks of a clients' rack".to_owned(), "800 Gb/s".to_owned());
    ceiling.inputs.push(Input { name, value, path, assumed: true });
    let name = "uplinks of the clients' racks, from the spines";
    let [brief, why, page] = [plan::text(&made, false, PLAIN), plan::text(&made, true, PLAIN), plan::html(&made)];
    assert!(brief.contains(&format!("at most 307 GiB/s (2.64 Tb/s)*; bottleneck: {name}")), "{brief}");
    assert!(why.contains(&format!("\n ▸ {name}\n")), "a line of its own: {why}");
    let end = |lead: &str, rate: &str| {
        let row = why.lines().find(|line| line.starts_with(lead) && line.contains(rate));
        row.and_then(|row| Some(row[..row.find(rate)?].chars().count()))
    };
    assert_eq!(end("       ", "307 GiB/s*"), end("   private", "313 GiB/s"), "in one column: {why}");
    assert!(page.contains(&name.replace('\'', "&#39;")), "the page names it");
    for text in [why, page] {
        assert!(words(&text).contains("fabric.rack_uplinks, assumed to hold for this too"), "{text}");
    }
}

/// 10 + 4 on 40 to 64 nodes fits four numbers of them: each has its row, and the others are refused for it alone.
#[test]
fn each_number_of_nodes_that_the_engine_starts_on_has_a_row() {
    let mut made = planned::plan();
    made.site.engine.protection = Protection::Sets { set_drives: Some(14), parity: Some(4) };
    let mut scaling = planned::scaling(64);
    scaling.points.retain(|point| point.nodes >= 40);
    for point in scaling.points.iter_mut().filter(|point| point.nodes % 7 != 0) {
        (point.limits_bytes_per_s, point.bottlenecks) = (Vec::new(), Vec::new());
    }
    scaling.bends.clear();
    made.scaling = Some(scaling);
    for text in [plan::text(&made, false, PLAIN), plan::text(&made, true, PLAIN)] {
        for nodes in [42, 49, 56, 63] {
            let row = format!(
                "\n     {nodes}  {:>10} public link",
                bytes_per_s_iec(2.7 * f64::from(nodes) * 1_073_741_824.0)
            );
            assert!(text.contains(&row), "{row:?}: {text}");
        }
        assert!(text.contains("\n     40  this layout does not fit\n") && !text.contains("\n     41 "), "{text}");
        assert!(!text.contains("not shown"), "{text}");
    }
    assert!([42, 49, 56, 63].iter().all(|nodes| plan::html(&made).contains(&format!("data-value=\"{nodes}\""))));
}

#[test]
fn figures_with_requests_in_flight_are_said_to_have_the_curves_error_too() {
    let mut made = planned::explanation();
    (made.curve_error_share, made.observations.figures[0].in_flight) = (Some(0.08), Some(1_120));
    let rendered = |made: &Explanation| {
        let texts = [explanation::text(made, true, PLAIN), explanation::html(made)];
        texts.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    for text in rendered(&made) {
        assert!(text.contains("GET 152 GiB/s (1.31 Tb/s) with 1120 in flight"), "{text}");
        let expected = "± 2 % where none is stated, and up to ± 8 % of the curve over requests in flight, less near";
        assert!(text.contains(expected), "{text}");
    }
    made.observations.figures.iter_mut().for_each(|figure| figure.error_share = None);
    for text in rendered(&made) {
        assert!(text.contains("± 2 %, and up to ± 8 % of the curve over requests in flight, less near"), "{text}");
    }
}

#[test]
fn what_to_read_next_names_no_hypothesis_that_its_text_does_not_show() {
    let mut made = planned::explanation();
    let rendered = |made: &Explanation| explanation::text(made, true, PLAIN);
    assert!(rendered(&made).contains("all bytes on one member of each node: then it is 1 or 3"), "{}", rendered(&made));
    made.kinds[0].survivors = vec![0];
    assert!(rendered(&made).contains("of each node: then it is 1 or 1 other not shown here"), "{}", rendered(&made));
    made.kinds.remove(0);
    let text = rendered(&made);
    assert!(text.contains("then it is one of 2 that are not shown here") && text.contains("then it is 2"), "{text}");
    // The page shows all of them.
    assert!(explanation::html(&made).contains("1 or 3"));
}

#[test]
fn a_figure_that_nothing_explains_says_whose_prediction_it_is_held_against() {
    let mut made = planned::explanation();
    let rendered = |made: &Explanation| {
        let texts = [explanation::text(made, true, PLAIN), explanation::html(made)];
        texts.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let (nearest, described) =
        ("the nearest of all hypotheses that no figure refutes", "that is the site as described");
    for text in rendered(&made) {
        assert!(text.contains(nearest) && !text.contains(described), "{text}");
    }
    (made.survivors, made.kinds, made.separator) = (Vec::new(), Vec::new(), None);
    for text in rendered(&made) {
        assert!(text.contains(described) && !text.contains("nearest"), "{text}");
    }
}

#[test]
fn weights_are_said_to_be_no_probabilities_wherever_there_are_any() {
    let mut made = planned::explanation();
    let rendered = |made: &Explanation| {
        let texts = [explanation::text(made, true, PLAIN), explanation::html(made)];
        texts.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    for text in rendered(&made) {
        assert_eq!(text.matches("they are not probabilities that a cause is real").count(), 1, "{text}");
    }
    let brief =
        |made: &Explanation| explanation::text(made, false, PLAIN).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(brief(&made).contains("weights are not probabilities"), "{}", brief(&made));
    (made.survivors, made.kinds, made.separator) = (Vec::new(), Vec::new(), None);
    assert!(rendered(&made).iter().all(|text| !text.contains("not probabilities")));
    assert!(!brief(&made).contains("probabilities"));
}

#[test]
fn what_is_stated_and_is_not_so_is_marked_in_what_is_like_the_first_of_a_kind() {
    let mut made = planned::explanation();
    made.survivors[2].deviations[0].contradicts = vec!["nodes.storage.bonds.0.mode: 802.3ad".to_owned()];
    for text in [explanation::text(&made, true, PLAIN), explanation::html(&made)] {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let marked =
            "(3) bond0 runs as active-backup (contradicts what is stated: nodes.storage.bonds.0.mode: 802.3ad)";
        assert!(text.contains(marked), "{text}");
    }
}

#[test]
fn what_nobody_stated_is_marked_wherever_it_counts() {
    let made = planned::plan();
    let text = plan::text(&made, true, PLAIN);
    for line in text.lines().filter(|line| line.contains("/s")) {
        let rests = ["drive bandwidth", "drive operations", "memory bandwidth", "processors"]
            .iter()
            .any(|name| line.trim().starts_with(name));
        let marked = line.contains("iB/s*");
        assert!(rests == marked || line.contains("more ceilings"), "{line}");
    }
    let page = plan::html(&made);
    let stars = made.works.iter().flat_map(|w| &w.ceilings).flat_map(|c| &c.inputs).filter(|i| i.assumed);
    assert!(page.matches("class=\"assumed\"").count() >= stars.count(), "each assumed input has its mark");
}

#[test]
fn ten_lines_answer_and_small_objects_are_told_in_requests_too() {
    let mut made = planned::plan();
    (made.scaling, made.sizing) = (None, None);
    made.works.truncate(2);
    let lines = plan::text(&made, false, PLAIN).lines().count();
    assert!(lines <= 11, "{lines}: {}", plan::text(&made, false, PLAIN));
    assert!(!plan::text(&made, false, PLAIN).contains("requests/s"));
    // 307.1 GiB/s are 5,031,526 times 64 KiB.
    let ceiling = &mut made.works[0].ceilings[0];
    ceiling.limit_requests_per_s = Some(ceiling.limit_bytes_per_s / f64::from(64 << 10));
    made.works[0].work.object_bytes = 64 << 10;
    for text in [plan::text(&made, false, PLAIN), plan::text(&made, true, PLAIN), plan::html(&made)] {
        assert!(text.contains("5.03 M requests/s"), "{text}");
    }
}

#[test]
fn colour_changes_no_word_and_control_characters_never_reach_the_terminal() {
    let colored = TextStyle { color: true, ..PLAIN };
    let plain = |text: String| {
        ["\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[2m", "\x1b[0m"]
            .iter()
            .fold(text, |text, code| text.replace(code, ""))
    };
    for why in [false, true] {
        let text = plan::text(&planned::plan(), why, colored);
        assert!(text.contains("\x1b[31m") && text.contains("\x1b[33m"), "{text}");
        assert_eq!(plain(text), plan::text(&planned::plan(), why, PLAIN));
    }
    let text = explanation::text(&planned::explanation(), true, colored);
    assert!(text.contains("\x1b[32m"), "{text}");
    assert_eq!(plain(text), explanation::text(&planned::explanation(), true, PLAIN));
    assert!(!explanation::text(&planned::explanation(), true, PLAIN).contains('\x1b'));
}

#[test]
fn a_narrow_terminal_gets_narrow_sentences() {
    let narrow = TextStyle { color: false, width: 80, whole: false };
    // Tables over nodes have a row for each, as long as its works are many.
    let mut made = planned::plan();
    (made.scaling, made.sizing) = (None, None);
    for line in plan::text(&made, true, narrow).lines().chain(plan::text(&made, false, narrow).lines()) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let texts = [plan::text(&planned::plan(), false, narrow), explanation::text(&planned::explanation(), true, narrow)];
    for line in texts.iter().flat_map(|text| text.lines()) {
        let row = line.contains("iB/s  ") || line.contains("iB/s*") || line.contains("bottleneck  ");
        let row = row || line.contains("headroom") || line.trim_start().starts_with(|c: char| c.is_ascii_digit());
        assert!(row || line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn nothing_that_is_put_in_becomes_markup() {
    for page in [plan::html(&planned::plan()), explanation::html(&planned::explanation())] {
        assert!(!page.contains(HOSTILE) && !page.contains("<b onclick") && !page.contains("<nodes>"));
        assert_eq!(page.matches("<script").count(), 4);
        assert_eq!(page.matches("</script>").count(), 4);
        assert!(page.contains("&lt;/script&gt;&lt;b onclick=&quot;alert(&#39;x&#39;)&quot;&gt;&amp;{{view}}"));
    }
}

#[test]
fn the_pages_refer_to_nothing_outside_themselves() {
    for page in [plan::html(&planned::plan()), plan::html(&planned::bare()), explanation::html(&planned::explanation())]
    {
        assert!(page.contains("Content-Security-Policy\" content=\"default-src 'none'; "));
        for reference in ["src=\"", "@import", "url(", "href=\"http", "fetch(", "XMLHttpRequest"] {
            assert!(!page.contains(reference), "{reference}");
        }
        assert!(page.contains("Permission is hereby granted"), "the licence of the chart library is missing");
    }
}

#[test]
fn every_link_of_a_page_leads_to_a_section() {
    for page in [plan::html(&planned::plan()), plan::html(&planned::bare()), explanation::html(&planned::explanation())]
    {
        for id in page.split("<a href=\"#").skip(1).filter_map(|rest| rest.split_once('"')).map(|(id, _)| id) {
            assert!(page.contains(&format!("<section id=\"{id}\">")), "{id}");
        }
    }
}

#[test]
fn a_curve_of_many_numbers_of_nodes_is_told_in_few_rows() {
    let mut plan = planned::plan();
    let mut scaling = planned::scaling(484);
    scaling.bends =
        (1..=484).map(|nodes| linerate_record::plan::ScalingBend { nodes, why: format!("bend {nodes}") }).collect();
    plan.scaling = Some(scaling);
    let text = plan::text(&plan, false, PLAIN);
    assert!(text.contains("bend 484") && text.contains("bend 256"), "{text}");
    assert!(text.contains("464 numbers of nodes, 464 bends not shown; --why has all"), "{text}");
    let whole = plan::text(&plan, true, PLAIN);
    assert!((1..=484).all(|nodes| whole.contains(&format!("bend {nodes}\n"))) && !whole.contains("not shown"));
    assert!(text.lines().count() < 150, "{}", text.lines().count());
    assert!(plan::html(&plan).len() < 400_000, "{}", plan::html(&plan).len());
}

/// What is shown of an explanation in brief, in its lines and in one.
fn brief(explanation: &Explanation, width: usize) -> (Vec<String>, String) {
    let text = explanation::text(explanation, false, TextStyle { color: false, width, whole: false });
    (text.lines().map(str::to_owned).collect(), text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn fourteen_lines_answer_however_much_there_is_to_say() {
    let mut made = planned::explanation();
    let long = "word ".repeat(60);
    made.of_run.push(long.clone());
    made.of_nodes = vec![long.clone(), long.clone()];
    made.survivors[0].remedy.change = long.clone();
    made.survivors[0].deviations[0].claim = format!("first {long}");
    made.survivors[1].deviations[0].claim = format!("second {long}");
    made.described[0].above_sigmas = Some(4.0);
    for width in [60, 80, 100, 160] {
        let (lines, text) = brief(&made, width);
        assert!((10..=14).contains(&lines.len()), "{width}: {lines:#?}");
        assert!(lines.iter().all(|line| line.chars().count() <= width), "{width}: {lines:#?}");
        for part in ["first word", "second word", "GET needs 49.5", "PUT needs 105.8", "none of these", "more remark"] {
            assert!(text.contains(part), "{width}: {part}: {lines:#?}");
        }
    }
    // What is cut says so, and what fits is not cut.
    assert!(brief(&made, 80).1.contains("word …"), "{:#?}", brief(&made, 80).0);
    assert!(!brief(&planned::explanation(), 120).1.contains('…'), "{:#?}", brief(&planned::explanation(), 120).0);
}

/// A node without a figure may be the one that is down: a remark that short is followed by that of a slow one.
#[test]
fn a_short_remark_of_nodes_is_followed_by_the_next_one() {
    let mut made = planned::explanation();
    let absent = "no figure of 1 of 56 nodes (node17): it may be the one that is down";
    made.of_nodes = [absent, "node4 gives 50 %", "node5 gives 60 %"].map(str::to_owned).to_vec();
    let (lines, text) = brief(&made, 100);
    assert!(text.contains(&format!("nodes {absent}; node4 gives 50 %")) && !text.contains("node5"), "{lines:#?}");
    assert!(text.contains("1 more remark;") && lines.len() <= 14, "{lines:#?}");
    for whole in [words(&explanation::text(&made, true, PLAIN)), explanation::html(&made)] {
        assert!(whole.contains(absent) && whole.contains("node5 gives 60 %"), "{whole}");
    }
}

/// What refutes the description is among these lines: the resource, what a figure needs of it and what is there.
#[test]
fn a_figure_above_its_ceiling_says_in_brief_what_it_needs_and_what_is_there() {
    let mut made = planned::explanation();
    let (lines, text) = brief(&made, 80);
    let refuted = "refuted PUT needs 105.8 Gb/s out of each node; that link carries 99 Gb/s";
    assert!(text.contains(refuted) && !text.contains("GET needs"), "{lines:#?}");
    // Where nothing is left, with the most that anything allows; a figure that is left is above its ceiling.
    (made.survivors, made.kinds, made.separator) = (Vec::new(), Vec::new(), None);
    let (lines, text) = brief(&made, 80);
    assert!(text.contains(&format!("{refuted}; the most that any hypothesis allows is 90.0 GiB/s")), "{lines:#?}");
    // An unknown cause has its row there, too.
    made.none_of_these = 1.0;
    let none = "– 100 % none of these: an unknown cause; or the site, a figure or its error is other than given";
    assert!(brief(&made, 80).1.contains(none), "{:#?}", brief(&made, 80).0);
    assert!(explanation::text(&made, true, PLAIN).contains("–  100 %    none of these: a cause"));
    made.survivors = planned::explanation().survivors;
    made.survivors[0].deviations.clear();
    let (lines, text) = brief(&made, 80);
    assert!(text.contains("above PUT needs 105.8 Gb/s") && !text.contains("refuted PUT"), "{lines:#?}");
    // Of single nodes alone, the furthest.
    for (figure_row, (node, sigmas)) in made.described.iter_mut().zip([("n1", 4.0), ("n2", 5.0)]) {
        figure_row.what = Quantity::NodeGet { node: node.to_owned() };
        (figure_row.above_sigmas, figure_row.needs) = (Some(sigmas), format!("GET of {node} needs more"));
    }
    let (lines, text) = brief(&made, 80);
    assert!(text.contains("above GET of n2 needs more") && !text.contains("n1 needs"), "{lines:#?}");
}

/// Which lead together is the model's to say.
#[test]
fn two_hypotheses_of_about_one_weight_are_said_to_be_not_separated() {
    let mut made = planned::explanation();
    assert!(brief(&made, 80).1.contains("▸ 1 and 2 are not separated"), "{:#?}", brief(&made, 80).0);
    made.verdict.not_separated.clear();
    assert!(!brief(&made, 80).1.contains("separated"), "{:#?}", brief(&made, 80).0);
}

/// What a run measured and the answer does not use is on the first screen, and all of it wherever there is room.
#[test]
fn figures_that_are_not_used_are_on_the_first_screen_with_the_first_reason_and_a_count() {
    let mut made = planned::explanation();
    let left_out = |figure: &str, why: &str| LeftOutFigure {
        figure: figure.to_owned(),
        bytes_per_s: Some(12.5 * f64::from(1 << 20)),
        half_width_share: Some(0.8),
        why: why.to_owned(),
    };
    made.left_out =
        vec![left_out("PUT 4 MiB", "it is known to no better than ± 80 %"), left_out("STAT 4 MiB", HOSTILE)];
    let (lines, text) = brief(&made, 100);
    let first = "left out PUT 4 MiB, 12.5 MiB/s ± 80 %: it is known to no better than ± 80 %; 1 more with --why";
    assert!(text.contains(first) && lines.len() <= 14, "{lines:#?}");
    let whole = words(&explanation::text(&made, true, PLAIN));
    assert!(whole.contains("left out STAT 4 MiB, 12.5 MiB/s ± 80 %:") && !whole.contains('\u{1b}'), "{whole}");
    let page = explanation::html(&made);
    assert!(page.contains("PUT 4 MiB, 12.5 MiB/s") && page.contains("STAT 4 MiB") && !page.contains("<b onclick"));
    assert_eq!(serde_json::from_str::<Explanation>(&explanation::json(&made)).unwrap(), made);
}

/// Of many hypotheses the one that explains every figure may weigh little: its number and its row are shown.
#[test]
fn what_alone_explains_every_figure_is_named_and_has_its_row() {
    let mut made = planned::explanation();
    let like = |n: usize, weight: f64| {
        let mut survivor = planned::explanation().survivors.swap_remove(0);
        (survivor.weight, survivor.deviations[0].claim) = (weight, format!("cause {n}"));
        survivor
    };
    (made.of_run, made.of_nodes) = (Vec::new(), Vec::new());
    made.described.truncate(1);
    made.survivors = (1..=9).map(|n| like(n, 0.2 / n as f64)).collect();
    assert!(made.survivors.iter().all(|of| of.residuals.iter().any(|residual| !residual.explained)));
    let kind = |place: usize| linerate_record::explanation::Kind { survivors: vec![place], weight: 0.2 };
    made.kinds = (0..9).map(kind).collect();
    let texts = |made: &Explanation| [brief(made, 80).1, words(&explanation::text(made, true, PLAIN))];
    assert!(texts(&made).iter().all(|text| !text.contains("cause 8") && !text.contains("number")));
    made.survivors[7].residuals.iter_mut().for_each(|residual| residual.explained = true);
    made.verdict.whole = vec![7];
    assert!(texts(&made)[0].contains("1 of 1204 hypotheses explains every figure (number 8)"), "{}", texts(&made)[0]);
    assert!(texts(&made)[1].contains("; one explains every figure (number 8)"), "{}", texts(&made)[1]);
    for text in texts(&made) {
        assert!(text.contains(" 8 2 % cause 8") && !text.contains("cause 7"), "{text}");
    }
    assert!(texts(&made)[0].contains("6 more hypotheses"), "{}", texts(&made)[0]);
    assert!(texts(&made)[1].contains("3 more kinds, 3 hypotheses"), "{}", texts(&made)[1]);
    // Behind the first of its kind, too; of several, the first is named.
    made.kinds[6].survivors = vec![6, 7];
    made.kinds.remove(7);
    made.survivors[8].residuals.iter_mut().for_each(|residual| residual.explained = true);
    made.verdict.whole = vec![7, 8];
    for text in texts(&made) {
        assert!(text.contains("explain every figure (number 8 first)"), "{text}");
        assert!(text.contains(" 8 2 % cause 8") && !text.contains("cause 7"), "{text}");
    }
    assert!(explanation::html(&made).contains("2 explain every figure (number 8 first)"));
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
