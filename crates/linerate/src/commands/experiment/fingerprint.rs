//! What should not differ between cells: the machine's fingerprint, its settings, and who answered.

use std::net::IpAddr;

use linerate_experiment::disturbance;
use linerate_experiment::fingerprint as judged;
pub(super) use linerate_experiment::fingerprint::FingerprintTexts;
use linerate_host::{Root, fingerprint, setting};
use linerate_record::experiment::ArmSetup;
use linerate_record::fingerprint::of_setting;
use linerate_record::knob::{Missing, Space};
use linerate_settings::knobs::KNOBS;

use crate::run::catalogue;

#[derive(Clone, Debug, Default)]
pub(super) struct FingerprintScope {
    /// The target's process, where it is on this machine.
    pub(super) target_pid: Option<u32>,
    /// The addresses that are loaded.
    pub(super) hosts: Vec<IpAddr>,
    /// Namespaces whose settings are looked at, beside those of this process.
    pub(super) space: Space,
}

pub(super) fn start_fingerprint(root: &Root, sight: &FingerprintScope) -> fingerprint::FingerprintStart {
    fingerprint::begin(
        root,
        &fingerprint::FingerprintRequest { target_pid: sight.target_pid, target_hosts: &sight.hosts },
    )
}

/// What it was since then, settings included; and what happened meanwhile, which says nothing of the arm that was in
/// place and may differ from block to block.
pub(super) fn finish_fingerprint(
    begun: fingerprint::FingerprintStart,
    root: &Root,
    sight: &FingerprintScope,
) -> (FingerprintTexts, FingerprintTexts) {
    let ended = fingerprint::end(begun, root);
    let (mut print, mut moment) = (ended.static_keys, disturbance::in_words(&ended.meanwhile));
    moment.extend(ended.flaps);
    let spaces = [Space::Host, sight.space.clone()];
    let spaces = if spaces[0] == spaces[1] { &spaces[..1] } else { &spaces[..] };
    for space in spaces {
        for found in setting::read_all(root, space, KNOBS.iter().map(|row| &row.knob)) {
            let value = found.value.unwrap_or_else(|| match found.missing {
                Some(Missing::Absent) | None => "none".to_owned(),
                Some(Missing::NotPermitted) => "not permitted to read".to_owned(),
                Some(Missing::Unreadable(why)) => why,
            });
            print.insert(of_setting(&found.place), value);
        }
    }
    (print, moment)
}

/// What is not as an arm has it.
pub(super) fn setting_mismatch(print: &FingerprintTexts, all: &[ArmSetup], means: &ArmSetup) -> Option<String> {
    judged::displaced(print, all, means, &catalogue::find)
}

/// The keys in which arms are meant to differ.
pub(super) fn differing_factors(means: &[ArmSetup], prints: &[FingerprintTexts], restarts: bool) -> Vec<String> {
    judged::factors(means, prints, restarts, &catalogue::find, &fingerprint::is_moved_by)
}

#[cfg(test)]
mod tests {
    use linerate_record::knob::{Change, Scope, SettingId, TakesEffect};

    use super::*;

    #[test]
    fn an_arm_that_lost_a_change_and_one_that_got_anothers_are_told() {
        let place = SettingId { knob: "vm.swappiness".to_owned(), device: None, space: Space::Host };
        let change = Change {
            place,
            prior: "60".to_owned(),
            new: "1".to_owned(),
            scope: Scope::Host,
            takes_effect: TakesEffect::AtOnce,
            why: String::new(),
            risk: String::new(),
        };
        let all = [ArmSetup::default(), ArmSetup { changes: vec![change], ..ArmSetup::default() }];
        for (now, baseline_print, trial_print) in [("60", true, false), ("1", false, true), ("7", false, false)] {
            let print = print(&[("setting vm.swappiness", now)]);
            assert_eq!(setting_mismatch(&print, &all, &all[0]).is_none(), baseline_print, "{now}");
            assert_eq!(setting_mismatch(&print, &all, &all[1]).is_none(), trial_print, "{now}");
        }
        assert!(
            setting_mismatch(&FingerprintTexts::new(), &all, &all[1])
                .is_some_and(|reported| reported.contains("not \"1\""))
        );
    }

    fn print(pairs: &[(&str, &str)]) -> FingerprintTexts {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn what_arms_were_seen_to_differ_in_is_a_factor() {
        let first = print(&[("kernel", "6.1"), ("nic.eth0.mtu", "1500")]);
        let other = print(&[("kernel", "6.1"), ("nic.eth0.mtu", "9000")]);
        let means = [ArmSetup::default(), ArmSetup::default()];
        assert_eq!(differing_factors(&means, &[first.clone(), other], false), ["nic.eth0.mtu"]);
        assert_eq!(differing_factors(&means, &[first.clone(), first], true), ["target.started"]);
    }
}
