use super::*;

fn visit(concurrency: u32, mean: f64, relative_half_width: f64) -> Measured {
    let half_width_95 = Some(mean * relative_half_width);
    let throughput = Estimate { mean, half_width_95, intervals: 40, effective: 30.0 };
    Measured { concurrency, throughput, p50_ns: 1_000, p99_ns: 9_000, spent_ms: 5_000 }
}

fn curve(points: &[(u32, f64)], half_width: f64) -> Knee {
    let visits: Vec<Measured> = points.iter().map(|&(c, x)| visit(c, x, half_width)).collect();
    judge(&visits, points[0].0, points[points.len() - 1].0)
}

#[test]
fn the_grid_steps_by_the_root_of_two_and_holds_both_ends() {
    assert_eq!(grid(1, 256), [1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256]);
    assert_eq!(grid(5, 20), [5, 6, 8, 11, 16, 20]);
    assert_eq!(grid(7, 7), [7]);
    assert_eq!(grid(0, 1), [1]);
}

#[test]
fn the_knee_is_the_least_concurrency_near_the_best() {
    let minio = [(1, 761.0), (2, 1098.0), (3, 1240.0), (4, 1320.0), (8, 1315.0), (16, 1289.0), (32, 1281.0)];
    let knee = curve(&minio, 0.01);
    assert_eq!((knee.outcome, knee.concurrency, knee.best_concurrency), (Outcome::Found, 4, 4));
    assert!(knee.lowest >= 3 && knee.highest <= 4, "{knee:?}");
    let rising = curve(&[(1, 10.0), (2, 20.0), (3, 30.0), (4, 40.0)], 0.02);
    assert_eq!((rising.outcome, rising.concurrency), (Outcome::StillRising, 4));
    let falling = curve(&[(4, 103.0), (6, 95.0), (8, 89.0), (16, 83.0), (32, 69.0)], 0.02);
    assert_eq!((falling.outcome, falling.concurrency, falling.lowest), (Outcome::Retrograde, 4, 4));
}

#[test]
fn an_uncertain_curve_has_a_wide_interval() {
    let points = [(1, 50.0), (2, 80.0), (3, 98.0), (4, 100.0), (6, 101.0), (8, 100.0)];
    let (sharp, vague) = (curve(&points, 0.005), curve(&points, 0.08));
    assert_eq!((sharp.lowest, sharp.highest), (3, 3), "{sharp:?}");
    assert!(vague.lowest <= 3 && vague.highest >= 4, "{vague:?}");
}
