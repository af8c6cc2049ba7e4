//! Tables of which the answer is known.

use super::*;
use crate::table::read;
use linerate_record::rng::SeededRng;

/// A seed of an order in which neither arm came first or followed the other by chance.
const DRAWN: u64 = 5;

fn requested() -> AnalysisOptions {
    AnalysisOptions { link_bits_per_s: None, matters_share: 0.02, alpha: 0.05, seed: 1, drawn: true }
}

fn analyzed(text: &str) -> TableReport {
    analyze(&read(text).unwrap(), &requested()).unwrap()
}

/// Blocks of two arms in drawn order: the second is `share` faster, give or take a spread that changes sign each block.
fn blocks(n: u32, share: f64, spread: f64, column: &str) -> String {
    let mut rng = SeededRng::new(DRAWN, 0);
    let mut row = |i: u32| {
        let (level, away) = (100.0 + f64::from(i), if i.is_multiple_of(2) { spread } else { -spread });
        let late = u32::from(rng.bits() & 1 == 1);
        let (first, last) = (2 * i + late, 2 * i + 1 - late);
        format!("default,{i},{first},{level}\nlarger,{i},{last},{}\n", level * (1.0 + share + away))
    };
    format!("arm,{column},order,value\n{}", (0..n).map(&mut row).collect::<String>())
}

#[test]
fn blocks_show_an_effect_rule_one_out_or_say_what_they_would_have_seen() {
    for (n, share, spread, decision, part) in [
        (12, 0.05, 0.01, Decision::Shown, "5.0 % higher than default (+"),
        (12, 0.0, 0.005, Decision::RuledOut, "no effect larger than 0."),
        (12, 0.0, 0.05, Decision::NotShown, "no effect shown (−"),
        (5, 0.05, 0.01, Decision::CannotTell, "in any case, 1 in 16, which does not allow 95 %; at least 6 blocks"),
    ] {
        let report = analyzed(&blocks(n, share, spread, "block"));
        let effect = &report.series[0].effects[0];
        assert!(effect.decision == decision && effect.sentence.contains(part), "{effect:?}");
        assert_eq!(require_effects(&report), Ok(()));
    }
}

#[test]
fn what_was_not_drawn_is_an_association_and_what_came_first_is_confounded() {
    let text = blocks(12, 0.05, 0.01, "block");
    let undrawn = analyze(&read(&text).unwrap(), &AnalysisOptions { drawn: false, ..requested() }).unwrap();
    let effect = &undrawn.series[0].effects[0];
    assert_eq!(effect.decision, Decision::Association, "{effect:?}");
    assert_eq!(require_effects(&undrawn), Err(NoEffect));
    assert!(effect.sentence.starts_with("association: 5.0 % higher than default"), "{effect:?}");
    let without_order: String = text.replace(",order", "").lines().fold(String::new(), |text, line| {
        let cells: Vec<&str> = line.split(',').collect();
        let kept = if cells.len() == 4 { [cells[0], cells[1], cells[3]].join(",") } else { line.to_owned() };
        format!("{text}{kept}\n")
    });
    let effect = &analyzed(&without_order).series[0].effects[0];
    assert!(effect.decision == Decision::Association && effect.sentence.contains("column \"order\""), "{effect:?}");
    // The baseline first in each block, a block exchanged, and all of the baseline before: one of time each.
    let placed = |place: fn(u32, u32) -> u32| {
        let row = |i: u32| format!("default,{i},{},{}\nlarger,{i},{},{}\n", place(i, 0), 100 + i, place(i, 1), 106 + i);
        format!("arm,block,order,value\n{}", (0..12).map(row).collect::<String>())
    };
    for text in [
        placed(|i, arm| 2 * i + arm),
        placed(|i, arm| if i == 7 { 2 * i + 1 - arm } else { 2 * i + arm }),
        placed(|i, arm| i + 12 * arm),
    ] {
        let report = analyzed(&text);
        assert_eq!(report.series[0].effects[0].decision, Decision::Confounded, "{text}");
        assert!(report.remarks.iter().any(|r| r.kind == RemarkKind::ConfoundedWithTime && r.about == "arms"));
    }
}

#[test]
fn interleaved_runs_without_blocks_are_tested_less_sharply_and_separated_ones_are_confounded() {
    let report = analyzed(&blocks(12, 0.3, 0.01, "run"));
    assert_eq!(report.series[0].effects[0].decision, Decision::Shown, "{report:?}");
    let rows = |arm: &str, from: u32, level: u32| -> String {
        (0..6).map(|i| format!("{arm},{},{}\n", from + i, level + i)).collect()
    };
    // With two runs exchanged in time as well.
    for text in [
        format!("arm,order,value\n{}{}", rows("default", 0, 100), rows("larger", 6, 150)),
        format!("arm,order,value\n{}{}", rows("default", 0, 100), rows("larger", 6, 150))
            .replace("default,5,", "default,6 ,")
            .replace("larger,6,", "larger,5,"),
    ] {
        let report = analyzed(&text);
        assert_eq!(report.series[0].effects[0].decision, Decision::Confounded, "{report:?}");
    }
}

#[test]
fn an_arm_that_lacks_more_than_the_baseline_is_refused() {
    let whole = blocks(12, 0.05, 0.01, "block");
    let cut: String =
        whole.lines().filter(|line| !line.starts_with("larger,3,")).fold(String::new(), |t, l| t + l + "\n");
    let empty: String = whole.lines().fold(String::new(), |text, line| {
        let failed = line.starts_with("larger,3,");
        text + if failed { "larger,3,99," } else { line } + "\n"
    });
    for text in [&cut, &empty, &empty.replace(",block,", ",run,")] {
        let effect = &analyzed(text).series[0].effects[0];
        assert_eq!(effect.decision, Decision::Refused, "{effect:?}");
        assert!(effect.sentence.contains("of larger and no ") && effect.sentence.contains("slow ones"), "{effect:?}");
    }
    let both: String =
        cut.lines().filter(|line| !line.starts_with("default,5,")).fold(String::new(), |t, l| t + l + "\n");
    assert_eq!(analyzed(&both).series[0].effects[0].decision, Decision::Shown, "as much on either side");
}

#[test]
fn of_many_series_what_is_beyond_chance_by_itself_is_told_so_and_large_effects_are_called() {
    let row = |series: u32, i: u32, share: f64| {
        let order = [(0, 1), (3, 2), (5, 4), (6, 7), (8, 9), (11, 10), (13, 12), (14, 15)][i as usize];
        let away = 1.0 + 0.003 * f64::from((i * 7 + series) % 5);
        let (base, arm) = (100.0 * away, 100.0 * (1.0 + share) * (1.003 + 0.5 * (away - 1.0)));
        format!("default,s{series},{i},{},{base}\nlarger,s{series},{i},{},{arm}\n", order.0, order.1)
    };
    let table = |with: u32| -> String {
        let rows = (0..110).flat_map(|series| (0..8).map(move |i| (series, i)));
        let all = rows.map(|(series, i)| row(series, i, if series < with { 0.65 } else { 0.0 }));
        format!("arm,series,block,order,value\n{}", all.collect::<String>())
    };
    // Eight blocks: 1 of 128, where the best of 110 is asked for 0.00045.
    let one = analyzed(&table(1));
    let effect = &one.series[0].effects[0];
    assert!(effect.decision == Decision::NotShown && effect.sentence.starts_with("on its own 65"), "{effect:?}");
    let all = analyzed(&table(110));
    assert!(all.series.iter().all(|s| s.effects[0].decision == Decision::Shown), "{:?}", all.series[0]);
    assert!(draws(&read(&table(1)).unwrap(), 110, 0.05) >= 200_000);
}

#[test]
fn a_real_effect_is_not_two_kinds_of_runs_whatever_the_arm_and_two_kinds_are() {
    let reported = |text: &str, kind| analyzed(text).remarks.iter().any(|remark| remark.kind == kind);
    let row = |i: u32, share: f64, mode: f64| {
        let away = |k: u32| 1.0 + 0.004 * (f64::from(i * 7 + k).sin());
        let high = if i.is_multiple_of(3) { 1.0 + mode } else { 1.0 };
        let late = i >> 1 & 1;
        let (base, arm) = (100.0 * away(0) * high, 100.0 * (1.0 + share) * away(3) * high);
        format!("default,{i},{},{base}\nlarger,{i},{},{arm}\n", 2 * i + late, 2 * i + 1 - late)
    };
    for n in [3, 6, 16] {
        let rows = |share: f64, mode: f64| (0..n).map(|i| row(i, share, mode)).collect::<String>();
        let effect = format!("arm,run,order,value\n{}", rows(0.3, 0.0));
        assert!(!reported(&effect, RemarkKind::Bimodal) && !reported(&effect, RemarkKind::Outlying), "{n}: {effect}");
        let modes = format!("arm,run,order,value\n{}", rows(0.0, 0.2));
        assert!(n < 6 || reported(&modes, RemarkKind::Bimodal), "{n}: {modes}");
    }
}

#[test]
fn what_cannot_be_told_says_why_and_no_detectable_effect() {
    let report = analyzed("arm,value\na,14.8\na,14.9\nb,91.9\nb,92.4\nb,90.5\n");
    let effect = &report.series[0].effects[0];
    assert!(effect.decision == Decision::CannotTell && effect.detectable_share.is_none(), "{effect:?}");
    let part = "3 runs against 2 can differ by chance in any case, 1 in 5, which does not allow 95 %; at least 4";
    assert!(effect.sentence.contains(part) && !effect.sentence.contains("detectable"), "{effect:?}");
    let report = analyzed("arm,order,value\na,1,14.8\na,2,14.9\nb,3,91.9\nb,4,92.4\n");
    let effect = &report.series[0].effects[0];
    let first = "cannot tell: all its runs came after those of a, by the arm or by time; and 2 runs";
    assert!(effect.sentence.starts_with(first), "{effect:?}");
}

#[test]
fn three_runs_against_three_are_answered_as_compare_answers_them() {
    let report = analyzed("arm,value\na,14.8\na,14.9\na,14.8\nb,91.9\nb,92.4\nb,90.5\n");
    let effect = &report.series[0].effects[0];
    assert_eq!(effect.decision, Decision::Association, "{effect:?}");
    assert!(effect.sentence.starts_with("association: 518 % higher than a (+"), "{effect:?}");
    assert!(effect.sentence.contains("(Welch's t)"), "{effect:?}");
    let drawn = "arm,order,value\na,1,14.8\nb,2,91.9\nb,3,92.4\na,4,14.9\na,5,14.8\nb,6,90.5\n";
    assert_eq!(analyzed(drawn).series[0].effects[0].decision, Decision::Shown);
    // All of the baseline first: what came with time is said before anything else.
    let effect = &analyzed("arm,order,value\na,1,14.8\na,2,14.9\na,3,14.8\nb,4,91.9\nb,5,92.4\nb,6,90.5\n").series[0];
    assert_eq!(effect.effects[0].decision, Decision::Confounded, "{effect:?}");
    let equal = "arm,value\na,14.8\na,14.9\na,14.7\nb,14.85\nb,14.7\nb,14.9\n";
    assert_eq!(analyzed(equal).series[0].effects[0].decision, Decision::Association, "no difference of 2 %");
}

#[test]
fn what_an_arm_leaves_behind_is_not_what_it_does() {
    let mut shown = [0, 0];
    for seed in 0..100 {
        for (carry, shown) in [0.0, -0.05].into_iter().zip(&mut shown) {
            let (mut rng, mut last, mut order) = (SeededRng::new(seed, 1), "", 0);
            let mut text = String::from("arm,block,order,value\n");
            for block in 0..20 {
                let arms = if rng.bits() & 1 == 1 { ["default", "larger"] } else { ["larger", "default"] };
                for arm in arms {
                    let after = if last == "larger" { carry } else { 0.0 };
                    let effect = if carry == 0.0 && arm == "larger" { 0.05 } else { 0.0 };
                    let noise = 0.01 * ((0..12).map(|_| rng.unit()).sum::<f64>() - 6.0);
                    text += &format!("{arm},{block},{order},{}\n", 100.0 * (effect + after + noise).exp());
                    (last, order) = (arm, order + 1);
                }
            }
            *shown += u32::from(analyzed(&text).series[0].effects[0].decision == Decision::Shown);
        }
    }
    assert!(shown[0] >= 85 && shown[1] <= 5, "a true effect of +5 %, and carry-over of -5 % alone: {shown:?}");
}

#[test]
fn nothing_to_compare_is_an_error() {
    let table = |text: &str| read(text).unwrap();
    assert_eq!(analyze(&table("arm,value\n"), &requested()), Err(AnalyzeError::Empty));
    assert_eq!(analyze(&table("arm,value\na,1\na,2\n"), &requested()), Err(AnalyzeError::OneArm("a".to_owned())));
    let link = AnalysisOptions { link_bits_per_s: Some(1e9), ..requested() };
    assert_eq!(analyze(&table("arm,value\na,1\nb,2\n"), &link), Err(AnalyzeError::NoUnit));
}
