//! The profile that results: the changes that were shown to help.

use linerate_record::experiment::{Decision, Experiment, Report, Role};
use linerate_record::knob::Change;

/// The changes of every arm that was shown to be faster, as far as it differs from the baseline in them: what both have
/// was not compared. Where two arms change one setting, that of the larger effect. Nothing where the baseline differs
/// from itself: then no effect can be trusted.
#[must_use]
pub fn advice(experiment: &Experiment, report: &Report) -> Vec<Change> {
    if report.effects.iter().any(|effect| effect.role == Role::Same && effect.decision == Decision::Shown) {
        return Vec::new();
    }
    let helps = |effect: &&linerate_record::experiment::Effect| {
        effect.role == Role::Trial
            && effect.decision == Decision::Shown
            && effect.share.is_some_and(|share| share > 0.0)
    };
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
    use crate::design::{design, tests::asked};
    use crate::state;
    use linerate_record::experiment::{EXPERIMENT_SCHEMA, Means};
    use linerate_record::knob::{Place, Scope, Space, TakesEffect};

    fn change(new: &str) -> Change {
        Change {
            place: Place { knob: "net.ipv4.tcp_rmem".to_owned(), device: None, space: Space::Host },
            prior: "1".to_owned(),
            new: new.to_owned(),
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::NewSocket,
            why: "asked".to_owned(),
            risk: "memory".to_owned(),
        }
    }

    #[test]
    fn of_two_values_that_help_the_better_is_advised_and_none_where_the_baseline_differs_from_itself() {
        let design =
            design(&crate::design::Asked { trials: vec!["4".to_owned(), "8".to_owned(), "16".to_owned()], ..asked() })
                .unwrap();
        let means = |value: &str| Means { changes: vec![change(value)], ..Means::default() };
        let experiment = Experiment {
            schema: EXPERIMENT_SCHEMA,
            id: "1".to_owned(),
            linerate_version: String::new(),
            started_unix_ms: 0,
            means: vec![Means::default(), Means::default(), means("4"), means("8"), means("16")],
            design: design.clone(),
            not_tested: Vec::new(),
            notes: Vec::new(),
            load: String::new(),
            bytes_per_s: true,
            target: String::new(),
            flags: Vec::new(),
            restart: None,
            space: Space::Host,
        };
        let mut report = state::report(&state::begin(design));
        for (effect, (share, decision)) in report.effects.iter_mut().zip([
            (0.0, Decision::NotShown),
            (0.1, Decision::Shown),
            (0.3, Decision::Shown),
            (-0.5, Decision::Shown),
        ]) {
            (effect.share, effect.decision) = (Some(share), decision);
        }
        let advised = advice(&experiment, &report);
        assert_eq!(advised.iter().map(|change| change.new.as_str()).collect::<Vec<_>>(), ["8"]);
        let mut other = change("1");
        other.place.knob = "net.ipv4.tcp_wmem".to_owned();
        let mut shared = experiment.clone();
        shared.means.iter_mut().for_each(|means| means.changes.push(other.clone()));
        assert_eq!(advice(&shared, &report), advised, "what the baseline has too was not compared");
        report.effects[0].decision = Decision::Shown;
        assert_eq!(advice(&experiment, &report), []);
    }
}
