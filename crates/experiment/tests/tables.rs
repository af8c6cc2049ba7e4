//! Tables of runs from worlds of which the truth is known, every one said to be drawn: how often `analyze` calls an
//! effect that is none, how often it finds one, and how often its intervals hold it. `LINERATE_WORLDS=N` takes N tables
//! of each.

use linerate_experiment::analyze::{AnalysisOptions, analyze};
use linerate_experiment::table::read;
use linerate_record::experiment::{Decision, Effect};
use linerate_worlds::{
    Hazard, HeldShare, Order, SeededRng, TRIALS, Trial, TrialCells, most_of_5_percent, table as table_of, tries,
};

/// Blocks of a table that has them.
const BLOCKS: u32 = 12;

/// Runs in the order in which they were made: whether of the arm, and their name.
fn order(hazard: &Hazard, blocked: bool, rng: &mut SeededRng) -> Vec<(bool, u32)> {
    let [arms, bases] = if blocked { [BLOCKS; 2] } else { hazard.runs };
    let is_drawn = hazard.order == Order::Drawn;
    let mut order: Vec<(bool, u32)> = Vec::new();
    if blocked {
        for block in 0..arms {
            let is_arm_first = is_drawn && rng.happens(0.5);
            order.extend([(is_arm_first, block), (!is_arm_first, block)]);
        }
    } else {
        order.extend((0..bases).map(|run| (false, run)).chain((0..arms).map(|run| (true, run))));
        if is_drawn {
            for last in (1..order.len()).rev() {
                order.swap(last, (rng.unit() * (last + 1) as f64) as usize);
            }
        }
    }
    if hazard.order == Order::OneSwapped {
        let middle = if blocked { arms & !1 } else { bases - 1 } as usize;
        order.swap(middle, middle + 1);
    }
    order
}

/// The text of a table.
fn table(trial: &Trial, effect: f64, blocked: bool, seed: u64) -> String {
    let mut rng = SeededRng::new(seed, 8);
    let hazard = (trial.draw)(&mut rng);
    let order = order(&hazard, blocked, &mut rng);
    let mut cells = TrialCells::new(hazard, effect, rng);
    let mut rows: Vec<(bool, u32, usize, f64, bool)> = Vec::new();
    for (place, (is_arm, run)) in order.into_iter().enumerate() {
        let cell = cells.next(is_arm, place % 2 == 0, 1);
        rows.push((is_arm, run, place, 1000.0 * cell.intervals[0], cell.fails));
    }
    let mut slowest: Vec<f64> = rows.iter().filter(|row| row.0).map(|row| row.3).collect();
    slowest.sort_by(f64::total_cmp);
    let bound = if hazard.lost > 0 { slowest[hazard.lost - 1] } else { 0.0 };
    let line = |(is_arm, run, place, value, fails): &(bool, u32, usize, f64, bool)| {
        let name = if *is_arm { "new" } else { "default" };
        let value = if *fails { String::new() } else { format!("{value:.4}") };
        format!("{name},{run},{place},{value}\n")
    };
    // In blocks a lost run leaves a gap; without, it is a row without a figure.
    let kept = rows.iter().filter(|row| !blocked || !row.0 || row.3 > bound);
    let lost = |row: &(bool, u32, usize, f64, bool)| (row.0, row.1, row.2, row.3, row.4 || (row.0 && row.3 <= bound));
    let column = if blocked { "block" } else { "run" };
    format!("arm,{column},order,value\n{}", kept.map(|row| line(&lost(row))).collect::<String>())
}

fn judged(trial: &Trial, effect: f64, blocked: bool, seed: u64) -> Effect {
    let requested = AnalysisOptions { link_bits_per_s: None, matters_share: 0.02, alpha: 0.05, seed, drawn: true };
    let report =
        analyze(&read(&table(trial, effect, blocked, seed)).expect("a table that a world writes reads"), &requested)
            .expect("it has arms and runs");
    report.series[0].effects[0].clone()
}

/// Shares of tables in which an effect is called and, of those that are neither refused nor confounded, in which the
/// interval leaves the truth out.
fn shares(trial: &Trial, effect: f64, blocked: bool) -> (f64, f64, Vec<String>) {
    let n = tries(200);
    let effects: Vec<Effect> = (0..n).map(|seed| judged(trial, effect, blocked, seed)).collect();
    let share = |is: &dyn Fn(&Effect) -> bool| effects.iter().filter(|e| is(e)).count() as f64 / n as f64;
    let called = share(&|e| e.decision == Decision::Shown);
    let is_void = |e: &Effect| matches!(e.decision, Decision::Refused | Decision::Confounded);
    let truth = effect.exp_m1();
    let holds =
        |e: &Effect| e.low_share.is_none_or(|low| low <= truth) && e.high_share.is_none_or(|high| high >= truth);
    let missed = share(&|e| !is_void(e) && !holds(e));
    let reported = |share: f64| HeldShare { count: n, held: (share * n as f64).round() as u64 }.in_words();
    let row = vec![
        trial.name.to_owned(),
        if blocked { "blocks" } else { "runs" }.to_owned(),
        format!("{:+.0} %", 100.0 * effect),
        reported(called),
        reported(share(&is_void)),
        reported(missed),
    ];
    (called, missed, row)
}

fn publish(name: &str, heading: &str, rows: &[Vec<String>]) {
    let columns = ["trial", "table", "effect", "called, %", "refused or confounded, %", "missed by the interval, %"];
    println!("{}", table_of(name, heading, &columns, rows));
}

/// What a table cannot show: the arm leaves something behind, and rows do not say what ran when it settled.
fn shows_in_a_table(trial: &&Trial) -> bool {
    !["carry-over", "fading carry-over", "settling", "shallow ramp", "ramp of changes", "wander"].contains(&trial.name)
}

#[test]
fn no_world_without_an_effect_is_called_more_often_than_alpha_though_the_draw_is_only_claimed() {
    let mut rows = Vec::new();
    for trial in TRIALS.iter().filter(shows_in_a_table) {
        for blocked in [true, false] {
            let (called, missed, row) = shares(trial, 0.0, blocked);
            rows.push(row);
            assert!(called <= most_of_5_percent(tries(200)), "{}, blocked {blocked}: {called} called", trial.name);
            assert!(missed <= most_of_5_percent(tries(200)), "{}, blocked {blocked}: {missed} missed", trial.name);
        }
    }
    publish("tables-equal", "Tables whose arms are alike, said to be drawn", &rows);
}

#[test]
fn what_is_drawn_and_large_is_found_and_intervals_hold() {
    let mut rows = Vec::new();
    for trial in TRIALS.iter().filter(|trial| ["calm", "wide arm", "narrow arm"].contains(&trial.name)) {
        for blocked in [true, false] {
            let (called, missed, row) = shares(trial, 0.1, blocked);
            rows.push(row);
            assert!(called > 0.75, "{}, blocked {blocked}: {called} called", trial.name);
            assert!(missed <= most_of_5_percent(tries(200)), "{}, blocked {blocked}: {missed} missed", trial.name);
        }
    }
    publish("tables-better", "Tables whose arm is 10 % faster", &rows);
}

/// A table in drawn blocks of a baseline and two arms that slow the cell after them, of which the second does something
/// as well.
fn of_two_arms(left_share: f64, effect: f64, seed: u64) -> String {
    let mut rng = SeededRng::new(seed, 9);
    let (mut text, mut before, mut order) = ("arm,block,order,value\n".to_owned(), "default", 0);
    for block in 0..2 * BLOCKS {
        let mut arms = ["default", "one", "two"];
        for last in (1..arms.len()).rev() {
            arms.swap(last, (rng.unit() * (last + 1) as f64) as usize);
        }
        for arm in arms {
            let left = if before == "default" { 0.0 } else { left_share };
            let own = if arm == "two" { effect } else { 0.0 };
            text.push_str(&format!("{arm},{block},{order},{:.4}\n", 1000.0 * (left + own + 0.02 * rng.normal()).exp()));
            (before, order) = (arm, order + 1);
        }
    }
    text
}

/// In how many of such tables an arm is called: any, or the second.
fn called_of_two_arms(left_share: f64, effect: f64) -> HeldShare {
    let n = tries(200);
    let is_called = |seed: &u64| {
        let options =
            AnalysisOptions { link_bits_per_s: None, matters_share: 0.02, alpha: 0.05, seed: *seed, drawn: true };
        let table = read(&of_two_arms(left_share, effect, *seed)).expect("a table that a world writes reads");
        let found = analyze(&table, &options).expect("it has arms and runs");
        let is_of_it = |found: &&Effect| effect == 0.0 || found.arm == "two";
        found.series[0].effects.iter().filter(is_of_it).any(|found| found.decision == Decision::Shown)
    };
    HeldShare { count: n, held: (0..n).filter(is_called).count() as u64 }
}

#[test]
fn what_several_arms_leave_behind_is_called_seldom() {
    let mut rows = Vec::new();
    for left_share in [0.0, -0.015, -0.03, -0.06] {
        let (none, true_effect) = (called_of_two_arms(left_share, 0.0), called_of_two_arms(left_share, 0.04));
        rows.push(vec![format!("{:+.1} %", 100.0 * left_share), none.in_words(), true_effect.in_words()]);
        let share = none.held as f64 / none.count as f64;
        assert!(share <= most_of_5_percent(none.count), "{left_share}: {share} called");
    }
    let heading = "Tables of two arms that leave something in the cell after them";
    let columns = ["left in the next cell", "no effect: an arm is called, %", "+4 % of the second: it is called, %"];
    println!("{}", table_of("tables-left-behind", heading, &columns, &rows));
}
