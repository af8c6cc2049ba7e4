//! The profile that results: the changes that were shown to help.

use linerate_record::experiment::{
    Decision, Design, Effect, Experiment, Remark, RemarkKind, Report, Role, SecondaryMetric,
};
use linerate_record::knob::Change;

use crate::long_cells;
use crate::sentences::percent;

/// How much longer the 99th percentile may come to be, at the far end of its interval, for a faster arm to be advised.
const P99_MARGIN: f64 = 0.1;

/// How improbable it must be that as many more blocks have more failed requests, for errors to count as more.
const MORE_ERRORS: f64 = 0.05;

/// Whether an arm was shown to be faster.
fn is_faster(effect: &Effect) -> bool {
    effect.role == Role::Trial && effect.decision == Decision::Shown && effect.share.is_some_and(|share| share > 0.0)
}

/// Why an arm that was shown to be faster is not advised all the same: long cells were asked for and not run, its 99th
/// percentile is not known to be no worse (a test of non-inferiority: the upper end of its interval), or more of its
/// requests fail.
pub(crate) fn unguarded(effect: &Effect, design: &Design, secondary: &[SecondaryMetric]) -> Option<Remark> {
    if !is_faster(effect) {
        return None;
    }
    let figure = |name: &str| secondary.iter().find(|row| row.arm == effect.arm && row.figure == name);
    let most = percent(P99_MARGIN);
    let latency = match figure("total_p99_ns").map(|row| row.high_share) {
        Some(Some(high)) if high <= P99_MARGIN => None,
        Some(Some(high)) => {
            Some(format!("its p99 may be up to {} longer, and {most} is the most for advice", percent(high)))
        }
        _ => Some(format!("its p99 is not shown to be at most {most} longer")),
    };
    let errors =
        figure("errors").filter(|row| row.value > row.baseline && row.p_more.is_some_and(|p| p <= MORE_ERRORS));
    let errors = errors.map(|row| {
        format!("more of its requests fail: {:.1} a block, where the baseline has {:.1}", row.value, row.baseline)
    });
    let is_unknown = design.lasting_ns > 0 && effect.lasting.is_none();
    let lasting = is_unknown.then(|| long_cells::NOT_LOOKED_AT.to_owned());
    let why: Vec<String> = lasting.into_iter().chain(latency).chain(errors).collect();
    (!why.is_empty()).then(|| Remark {
        kind: RemarkKind::NotAdvised,
        about: effect.arm.clone(),
        sentence: format!("faster, and not advised: {}", why.join("; ")),
    })
}

/// The changes of every arm that was shown to be faster, as far as it differs from the baseline in them: what both have
/// was not compared. Where two arms change one setting, that of the larger effect. Nothing of an arm whose latency or
/// errors may pay for it.
#[must_use]
pub fn advice(experiment: &Experiment, report: &Report) -> Vec<Change> {
    let helps = |effect: &&Effect| is_faster(effect) && unguarded(effect, &report.design, &report.secondary).is_none();
    let mut helpful: Vec<_> = report.effects.iter().filter(helps).collect();
    helpful.sort_by(|a, b| b.share.unwrap_or(0.0).total_cmp(&a.share.unwrap_or(0.0)));
    let mut advised: Vec<Change> = Vec::new();
    for effect in helpful {
        let arm = experiment.design.arms.iter().position(|arm| arm.name == effect.arm);
        let changes = arm.and_then(|arm| experiment.means.get(arm)).map_or(&[][..], |means| &means.changes);
        let base = experiment.means.first().map_or(&[][..], |means| &means.changes);
        let is_base = |change: &Change| base.iter().any(|other| other.place == change.place && other.new == change.new);
        for change in changes.iter().filter(|change| !is_base(change)) {
            if advised.iter().all(|other| other.place != change.place) {
                advised.push(Change { why: effect.sentence.clone(), ..change.clone() });
            }
        }
    }
    advised
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{design, tests::requested};
    use crate::state;
    use linerate_record::experiment::{ArmSetup, BaselineLoad, EXPERIMENT_SCHEMA};
    use linerate_record::knob::{Scope, SettingId, Space, TakesEffect};

    fn change(new: &str) -> Change {
        Change {
            place: SettingId { knob: "net.ipv4.tcp_rmem".to_owned(), device: None, space: Space::Host },
            prior: "1".to_owned(),
            new: new.to_owned(),
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::NewSocket,
            why: "asked".to_owned(),
            risk: "memory".to_owned(),
        }
    }

    #[test]
    fn of_two_values_that_help_the_better_is_advised_and_none_whose_latency_or_errors_may_pay_for_it() {
        let design = design(&crate::design::DesignRequest {
            trials: vec!["4".to_owned(), "8".to_owned(), "16".to_owned()],
            ..requested()
        })
        .unwrap();
        let means = |value: &str| ArmSetup { changes: vec![change(value)], ..ArmSetup::default() };
        let experiment = Experiment {
            schema: EXPERIMENT_SCHEMA,
            id: "1".to_owned(),
            linerate_version: String::new(),
            started_unix_ms: 0,
            means: vec![ArmSetup::default(), ArmSetup::default(), means("4"), means("8"), means("16")],
            design: design.clone(),
            not_tested: Vec::new(),
            notes: Vec::new(),
            load: BaselineLoad::Shorthand(String::new()),
            bytes_per_s: true,
            target: String::new(),
            addresses: Vec::new(),
            flags: Vec::new(),
            restart: None,
            space: Space::Host,
            spaces: Vec::new(),
            fleet: None,
        };
        let mut report = crate::protocol::report(&state::begin(design));
        for (effect, (share, decision)) in
            report.effects.iter_mut().zip([(0.1, Decision::Shown), (0.3, Decision::Shown), (-0.5, Decision::Shown)])
        {
            (effect.share, effect.decision) = (Some(share), decision);
        }
        assert_eq!(advice(&experiment, &report), [], "nothing is known of the latency");
        let row = |arm: &str, figure: &str, high: Option<f64>| SecondaryMetric {
            arm: arm.to_owned(),
            figure: figure.to_owned(),
            blocks: 9,
            baseline: 1.0,
            value: 4.0,
            share: high,
            low_share: high.map(|high| high - 0.1),
            high_share: high,
            p_more: high.is_none().then_some(0.01),
        };
        report.secondary = ["4", "8", "16"].map(|arm| row(arm, "total_p99_ns", Some(0.04))).into();
        let advised = advice(&experiment, &report);
        assert_eq!(advised.iter().map(|change| change.new.as_str()).collect::<Vec<_>>(), ["8"]);
        let mut other = change("1");
        other.place.knob = "net.ipv4.tcp_wmem".to_owned();
        let mut shared = experiment.clone();
        shared.means.iter_mut().for_each(|means| means.changes.push(other.clone()));
        assert_eq!(advice(&shared, &report), advised, "what the baseline has too was not compared");
        for (at, spoil) in [row("8", "total_p99_ns", Some(0.3)), row("8", "errors", None)].into_iter().enumerate() {
            let mut guarded = report.clone();
            if at == 0 {
                guarded.secondary[1] = spoil
            } else {
                guarded.secondary.push(spoil)
            }
            let advised = advice(&experiment, &guarded);
            assert_eq!(advised.iter().map(|change| change.new.as_str()).collect::<Vec<_>>(), ["4"], "{guarded:?}");
            let reported = unguarded(&guarded.effects[1], &guarded.design, &guarded.secondary).expect("it is told");
            assert!(reported.sentence.starts_with("faster, and not advised: "), "{reported:?}");
        }
        let mut requested_for = report.clone();
        requested_for.design.lasting_ns = 1;
        assert_eq!(advice(&experiment, &requested_for), [], "it was not looked at whether they last");
        for decision in [Decision::CarriedOver, Decision::NotSettled, Decision::AtFirst, Decision::ExcludesBlocks] {
            let mut voided = report.clone();
            voided.effects.iter_mut().for_each(|effect| effect.decision = decision);
            assert_eq!(advice(&experiment, &voided), [], "{decision:?}");
        }
    }
}
