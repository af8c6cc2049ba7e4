//! An experiment made by hand: figures are plausible, and what is said of them is not decided by any test.

use std::collections::BTreeMap;

use linerate_record::experiment::{
    Arm, ArmSetup, ArmVerdict, BaselineLoad, Block, Decision, Design, EXPERIMENT_SCHEMA, Effect, Experiment,
    ExperimentReport, ExperimentStopReason, InterimLook, MeasuredCell, NotTested, Remark, RemarkKind, Report, Role,
    SecondaryMetric,
};
use linerate_record::knob::{Change, Scope, SettingId, Space, TakesEffect};
use linerate_record::load::LoadPatch;

/// What a user may call an arm, and no page may take as markup.
pub(crate) const HOSTILE: &str = "</script><b onclick=\"alert('x')\">&{{view}}\x1b[2J";

const ALPHA: f64 = 0.05;
const MATTERS: f64 = 0.02;
const SECOND: u64 = 1_000_000_000;

/// An arm: its name, its role, its true effect, what was decided of it, and after how many blocks that count.
type Tried = (&'static str, Role, f64, Decision, u32);

const TRIED: [Tried; 7] = [
    ("as it is", Role::Baseline, 0.0, Decision::NotShown, 14),
    ("as it is again", Role::Same, 0.0, Decision::NotShown, 14),
    ("net.ipv4.tcp_rmem=16MiB", Role::Trial, 0.062, Decision::Shown, 10),
    ("net.core.netdev_budget=600", Role::Trial, 0.001, Decision::RuledOut, 14),
    ("net.core.rmem_max=65536 and net.core.wmem_max=65536", Role::Trial, -0.13, Decision::Shown, 10),
    (HOSTILE, Role::Trial, 0.012, Decision::NotShown, 14),
    ("--threads 4", Role::Trial, -0.006, Decision::Futile, 12),
];

/// Blocks that were excluded, by place.
const EXCLUDED: [u32; 2] = [3, 11];

/// Six arms over 16 blocks, with everything that a report can hold.
pub(crate) fn experiment() -> ExperimentReport {
    let blocks: Vec<Block> = (0..16).map(block).collect();
    let effects: Vec<Effect> = (2..TRIED.len() as u32).map(|arm| effect(&blocks, arm)).collect();
    let secondary = (2..TRIED.len()).flat_map(secondary).collect();
    ExperimentReport {
        experiment: requested(),
        report: Report {
            schema: EXPERIMENT_SCHEMA,
            design: design(),
            ended: ExperimentStopReason::Decided,
            ended_by_own_rules: None,
            elapsed_ns: elapsed_ns(&blocks),
            blocks,
            counted_blocks: 14,
            excluded_blocks: 2,
            confidence: 1.0 - ALPHA,
            rounds: Vec::new(),
            looks: looks(),
            effects,
            secondary,
            remarks: remarks(),
            settle_ns: 6 * SECOND,
        },
        advice: vec![Change {
            why: "6.2 % higher than as it is (+4.1 % to +8.3 % at 95 %)".to_owned(),
            ..change("net.ipv4.tcp_rmem", "4096 131072 6291456", "4096 131072 16777216")
        }],
    }
}

/// From the beginning of the first cell to the end of the last.
fn elapsed_ns(blocks: &[Block]) -> u64 {
    let ends = blocks.iter().flat_map(|block| &block.cells).map(|cell| cell.ended_ns);
    ends.max().unwrap_or(0) - blocks[0].cells[0].started_ns
}

/// The same after its first block, interrupted there.
pub(crate) fn begun() -> ExperimentReport {
    let mut reported = experiment();
    reported.report.ended = ExperimentStopReason::NotYet;
    reported.report.blocks.truncate(1);
    (reported.report.counted_blocks, reported.report.excluded_blocks) = (1, 0);
    reported.report.elapsed_ns = elapsed_ns(&reported.report.blocks);
    reported.report.looks.clear();
    reported.report.secondary.clear();
    reported.report.remarks.clear();
    for effect in &mut reported.report.effects {
        *effect = Effect {
            runs: 1,
            baseline_runs: 1,
            low_share: None,
            high_share: None,
            p: None,
            detectable_share: None,
            runs_needed: None,
            needed_ns: None,
            effective: None,
            decision: Decision::CannotTell,
            verdict: ArmVerdict::Running,
            sentence: "cannot tell from 1 block".to_owned(),
            ..effect.clone()
        };
    }
    reported.advice.clear();
    reported.experiment.not_tested.clear();
    reported.experiment.notes.clear();
    reported
}

/// Nothing was measured.
pub(crate) fn empty() -> ExperimentReport {
    let mut reported = begun();
    reported.report.blocks.clear();
    (reported.report.counted_blocks, reported.report.elapsed_ns) = (0, 0);
    for effect in &mut reported.report.effects {
        (effect.runs, effect.baseline_runs, effect.share) = (0, 0, None);
    }
    reported
}

/// From −1 to 1, the same each time.
fn noise(n: u32) -> f64 {
    2.0 * ((f64::from(n) * 12.9898).sin() * 43_758.545_3).rem_euclid(1.0) - 1.0
}

fn block(number: u32) -> Block {
    let arms = TRIED.len() as u32;
    let counted = number + 1 - EXCLUDED.iter().filter(|excluded| **excluded < number).count() as u32;
    let runs: Vec<u32> =
        (0..arms).map(|i| (i + 3 * number) % arms).filter(|arm| counted <= TRIED[*arm as usize].4).collect();
    let start_ns = u64::from(number) * 130 * SECOND;
    let cells = (0..).zip(runs).map(|(position, arm)| cell(number, arm, start_ns + position * 18 * SECOND));
    let excluded = match number {
        3 => vec!["as it is: kernel is \"6.12.9\", and was \"6.12.8\" at first".to_owned()],
        11 => vec![format!("{HOSTILE}: 14.1 GiB/s is above what the link carries, 11.6 GiB/s (100 Gb/s)")],
        _ => Vec::new(),
    };
    Block { cells: cells.collect(), excluded }
}

fn cell(block: u32, arm: u32, started_ns: u64) -> MeasuredCell {
    let drift = -0.002 * f64::from(block);
    let outlying = if (block, arm) == (8, 3) { 0.07 } else { 0.0 };
    let effect = TRIED[arm as usize].2 + outlying + drift + 0.02 * noise(block * 17 + arm * 5 + 3);
    let throughput_per_s = Some(9.1e9 * effect.exp());
    MeasuredCell {
        arm,
        started_ns,
        ended_ns: started_ns + 16 * SECOND,
        throughput_per_s,
        settled_ns: (block > 0).then_some(4 * SECOND),
        trend: None,
        later: None,
        settle_ns: 0,
        faulty: false,
        secondary: BTreeMap::from([("errors".to_owned(), 0.0), ("total_p99_ns".to_owned(), 2.1e7)]),
    }
}

/// Means and their spread of the blocks above; the rest is said, and not found.
fn effect(blocks: &[Block], arm: u32) -> Effect {
    let (name, role, _, decision, runs) = TRIED[arm as usize];
    let figure = |block: &Block, arm: u32| block.cells.iter().find(|cell| cell.arm == arm)?.throughput_per_s;
    let counted = blocks.iter().filter(|block| block.excluded.is_empty());
    let logs: Vec<f64> = counted.filter_map(|block| Some((figure(block, arm)? / figure(block, 0)?).ln())).collect();
    assert_eq!(logs.len(), runs as usize, "{name}");
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let sd = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    let half = 2.4 * sd / n.sqrt();
    let needs = matches!(decision, Decision::NotShown | Decision::Futile);
    Effect {
        lasting: None,
        arm: name.to_owned(),
        role,
        runs,
        baseline_runs: runs,
        share: Some(mean.exp_m1()),
        low_share: Some((mean - half).exp_m1()),
        high_share: Some((mean + half).exp_m1()),
        p: Some(if decision == Decision::Shown { 0.0004 } else { 0.31 + 0.1 * f64::from(arm) }),
        detectable_share: Some(3.2 * sd / n.sqrt()),
        runs_needed: Some(31 + arm),
        needed_ns: Some(u64::from(31 + arm) * 130 * SECOND),
        effective: Some(n),
        decision,
        verdict: match decision {
            Decision::Shown if mean < 0.0 => ArmVerdict::Slower,
            Decision::Shown => ArmVerdict::Helps,
            Decision::RuledOut => ArmVerdict::RuledOut,
            _ => ArmVerdict::Unknown,
        },
        sentence: sentence(decision, needs),
    }
}

fn sentence(decision: Decision, needs: bool) -> String {
    let takes = if needs { "; 2.0 % takes about 36 blocks, about 78 min 00 s" } else { "" };
    match decision {
        Decision::Shown => "differs from as it is".to_owned(),
        Decision::RuledOut => "no effect larger than 1.8 % at 95 %".to_owned(),
        Decision::Futile => format!("dropped early: neither could be shown in the blocks that were left{takes}"),
        _ => format!("no effect shown; one of 2.4 % would have been, in four of five{takes}"),
    }
}

fn secondary(arm: usize) -> Vec<SecondaryMetric> {
    let one = |figure: &str, baseline: f64, change: f64| SecondaryMetric {
        arm: TRIED[arm].0.to_owned(),
        figure: figure.to_owned(),
        blocks: TRIED[arm].4,
        baseline,
        value: baseline * (1.0 + change),
        share: Some(change),
        low_share: Some(change - 0.021),
        high_share: Some(change + 0.024),
        p_more: Some(0.5),
    };
    let errors = SecondaryMetric {
        value: f64::from(u8::from(arm == 5)),
        share: None,
        low_share: None,
        high_share: None,
        ..one("errors", 0.0, 0.0)
    };
    let at = arm as f64;
    vec![
        one("client_cpu_s_per_gib", 0.31, 0.01 * at),
        errors,
        one("requests_per_s", 2170.0, 0.02 - 0.005 * at),
        one("target_cpu_s_per_gib", 0.62, -0.013 * at),
        one("total_p99_ns", 2.1e7, 0.11 - 0.04 * at),
    ]
}

fn looks() -> Vec<InterimLook> {
    let look = |blocks, alpha_spent, decided: &[(u32, Decision)]| InterimLook {
        blocks,
        alpha_spent,
        decided: decided.to_vec(),
    };
    vec![
        look(10, 0.0009, &[(2, Decision::Shown), (4, Decision::Shown)]),
        look(12, 0.0027, &[(6, Decision::Futile)]),
        look(14, 0.0062, &[(3, Decision::RuledOut), (5, Decision::NotShown)]),
    ]
}

fn remarks() -> Vec<Remark> {
    let remark =
        |kind, about: &str, sentence: &str| Remark { kind, about: about.to_owned(), sentence: sentence.to_owned() };
    vec![
        remark(
            RemarkKind::Excluded,
            "block 4",
            "does not count: as it is: kernel is \"6.12.9\", and was \"6.12.8\" at first",
        ),
        remark(RemarkKind::Excluded, "block 12", &format!("does not count: {HOSTILE}: above what the link carries")),
        remark(RemarkKind::Outlying, TRIED[3].0, "block 9 differs by +8.3 %, far from the others"),
        remark(RemarkKind::Drift, "blocks", "figures fall by 2.8 % from the first block to the last"),
        remark(
            RemarkKind::NotSettled,
            "cells",
            "7 of 101 cells were still on their way when they ended: measure longer",
        ),
    ]
}

fn design() -> Design {
    Design {
        schema: EXPERIMENT_SCHEMA,
        arms: TRIED.iter().map(|(name, role, ..)| Arm { name: (*name).to_owned(), role: *role }).collect(),
        seed: 4711,
        alpha: ALPHA,
        matters_share: MATTERS,
        blocks_max: 24,
        time_max_ns: Some(3600 * SECOND),
        looks: vec![10, 12, 14, 16, 19, 21, 24],
        draws: 20_000,
        settle_first_ns: 5 * SECOND,
        measure_ns: 10 * SECOND,
        lasting_ns: 0,
        link_bytes_per_s: Some(12.5e9),
        factors: vec!["net.ipv4.tcp_rmem".to_owned()],
    }
}

const LOAD: &str = r#"{
    "endpoint": {
        "server": { "hosts": { "authorities": ["10.0.0.1:9000", "10.0.0.2:9000"], "every_address": false } },
        "anonymous": false, "region": "us-east-1", "bucket": "bench", "prefix": "", "lookup": "path",
        "host_select": "round-robin"
    },
    "work": [{ "workload": "get", "sizes": ["4MiB"] }],
    "objects": { "write": "put", "list_existing": false, "noclear": false },
    "bodies": { "payload": "signed", "unique": "full", "part_bytes": 1, "part_concurrent": 1, "verify": false },
    "levels": { "given": [16] },
    "time": { "duration_ns": 1 },
    "stops": { "timeout_ns": 60000000000, "retries": 0 }
}"#;

fn requested() -> Experiment {
    let changed = |changes: Vec<Change>| ArmSetup { changes, ..ArmSetup::default() };
    Experiment {
        schema: EXPERIMENT_SCHEMA,
        id: "2026-03-01T10-20-30-quiet".to_owned(),
        linerate_version: "0.9.0".to_owned(),
        started_unix_ms: 1_772_360_430_000,
        design: design(),
        means: vec![
            ArmSetup::default(),
            ArmSetup::default(),
            changed(vec![change("net.ipv4.tcp_rmem", "4096 131072 6291456", "4096 131072 16777216")]),
            changed(vec![change("net.core.netdev_budget", "300", "600")]),
            changed(vec![
                change("net.core.rmem_max", "212992", "65536"),
                change("net.core.wmem_max", "212992", "65536"),
            ]),
            ArmSetup { command: Some(format!("set-it {HOSTILE}")), ..ArmSetup::default() },
            ArmSetup { patch: LoadPatch { threads: Some(Some(4)), ..LoadPatch::default() }, ..ArmSetup::default() },
        ],
        not_tested: vec![NotTested {
            arm: "vm.swappiness=1".to_owned(),
            why: "the target is on another machine, and this setting acts on the one that it is set on".to_owned(),
        }],
        notes: vec!["net.ipv4.tcp_rmem acts on sockets made after it: every cell makes new connections".to_owned()],
        load: BaselineLoad::Described(serde_json::from_str(LOAD).expect("it describes a load")),
        bytes_per_s: true,
        target: "10.0.0.{1...4}:9000".to_owned(),
        addresses: Vec::new(),
        flags: Vec::new(),
        restart: Some("systemctl restart minio".to_owned()),
        space: Space::Netns("minio".to_owned()),
        spaces: Vec::new(),
        fleet: None,
    }
}

fn change(knob: &str, prior: &str, new: &str) -> Change {
    Change {
        place: SettingId { knob: knob.to_owned(), device: None, space: Space::Host },
        prior: prior.to_owned(),
        new: new.to_owned(),
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::NewSocket,
        why: "asked for".to_owned(),
        risk: "memory per socket".to_owned(),
    }
}
