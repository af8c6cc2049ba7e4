//! Audits of the fixture's machine.

use linerate_record::finding::Confidence;
use linerate_record::knob::{EngineProcess, Missing, Setting, SettingId, Snapshot, Space};

use super::*;
use crate::knobs::KNOBS;
use crate::knobs::fixtures::{machine, place_of, set, site};
use crate::profiles;

fn storage() -> &'static Profile {
    profiles::find("s3-storage-node").expect("a profile")
}

/// The fixture, with every knob of a machine read as a value that no advice has.
fn far_off() -> Snapshot {
    let mut snapshot = machine();
    for row in KNOBS {
        snapshot.settings.push(Setting {
            place: place_of(row, None),
            value: Some("3".to_owned()),
            choices: Vec::new(),
            missing: None,
        });
    }
    snapshot
}

fn put(snapshot: &mut Snapshot, knob: &str, space: Space, value: Option<&str>, missing: Option<Missing>) {
    let place = SettingId { knob: knob.to_owned(), device: None, space };
    snapshot.settings.retain(|setting| setting.place != place);
    snapshot.settings.push(Setting { place, value: value.map(str::to_owned), choices: Vec::new(), missing });
}

#[test]
fn a_machine_that_follows_the_profile_has_no_differences() {
    let mut snapshot = far_off();
    let first = audit(&snapshot, &site(), storage());
    assert!(first.differences.len() > 40, "{}", first.differences.len());
    for _ in 0..3 {
        for difference in audit(&snapshot, &site(), storage()).differences {
            for setting in snapshot.settings.iter_mut().filter(|setting| setting.place.knob == difference.knob) {
                setting.value = Some(difference.wanted.clone());
            }
            for nic in snapshot.machine.nics.iter_mut().filter(|nic| difference.devices.contains(&nic.name)) {
                match difference.knob.as_str() {
                    "nic.mtu" => nic.mtu_bytes = difference.wanted.parse().unwrap(),
                    "bond.mode" => nic.bond.as_mut().unwrap().mode.clone_from(&difference.wanted),
                    _ => {}
                }
            }
        }
    }
    let last = audit(&snapshot, &site(), storage());
    let left: Vec<String> = last.differences.iter().map(|d| format!("{} {} {}", d.knob, d.present, d.wanted)).collect();
    assert_eq!(left, [""; 0]);
}

#[test]
fn differences_are_told_by_weight_each_with_its_reason_and_a_command() {
    let audit = audit(&far_off(), &site(), storage());
    assert!(audit.differences.windows(2).all(|pair| pair[0].weight >= pair[1].weight));
    for difference in &audit.differences {
        assert!(!difference.why.is_empty() && !difference.commands.is_empty(), "{}", difference.knob);
        assert!(difference.commands.iter().all(|command| !command.contains('{')), "{:?}", difference.commands);
        assert!((0.0..=1.0).contains(&difference.weight), "{}", difference.knob);
    }
    let at = |knob: &str| audit.differences.iter().position(|difference| difference.knob == knob).expect(knob);
    assert!(at("bond.xmit_hash_policy") < at("vm.swappiness"));
}

#[test]
fn a_source_is_compared_value_for_value_and_only_possible() {
    let mut snapshot = machine();
    set(&mut snapshot, "net.ipv4.tcp_rmem", None, "4096\t131072\t6291456");
    let source = profiles::find("source-003-full").unwrap();
    let reported = audit(&snapshot, &site(), source).differences;
    assert_eq!((reported.len(), reported[0].wanted.as_str()), (1, "67108864 134217728 268435456"));
    assert_eq!(reported[0].confidence, Confidence::Possible);
    set(&mut snapshot, "net.ipv4.tcp_rmem", None, "67108864\t134217728\t268435456");
    assert_eq!(audit(&snapshot, &site(), source).differences, []);
}

#[test]
fn one_value_is_advised_of_a_setting_that_differs_and_contradicts_itself() {
    let mut snapshot = machine();
    set(&mut snapshot, "net.ipv4.tcp_rmem", None, "67108864 134217728 134217728");
    let remedy = |audit: &Audit| {
        let is_of_it = |finding: &&AuditFinding| finding.claim.contains("tcp_rmem guarantees 64 MiB");
        audit.findings.iter().find(is_of_it).expect("a finding").remedy.clone()
    };
    let audit_of_ours = audit(&snapshot, &site(), storage());
    let difference = audit_of_ours.differences.iter().find(|one| one.knob == "net.ipv4.tcp_rmem").expect("it differs");
    assert_eq!(remedy(&audit_of_ours), difference.commands[0]);
    // A source that wants the same fault is not advised for it.
    let of_source = audit(&snapshot, &site(), profiles::find("source-003-full").unwrap());
    assert_eq!(remedy(&of_source), "sysctl -w 'net.ipv4.tcp_rmem=4096 131072 134217728'");
}

#[test]
fn what_an_engine_does_not_get_of_the_host_is_told_with_both_values() {
    let mut snapshot = machine();
    snapshot.engines.push(EngineProcess { pid: 7, program: "minio".to_owned(), own_network: true });
    put(&mut snapshot, "net.core.somaxconn", Space::Host, Some("65535"), None);
    put(&mut snapshot, "net.core.somaxconn", Space::Pid(7), Some("128"), None);
    put(&mut snapshot, "net.ipv4.tcp_sack", Space::Host, Some("1"), None);
    put(&mut snapshot, "net.ipv4.tcp_sack", Space::Pid(7), Some("1"), None);
    put(&mut snapshot, "net.core.rmem_max", Space::Host, Some("1"), None);
    put(&mut snapshot, "net.core.rmem_max", Space::Pid(7), None, Some(Missing::Absent));
    let reported = audit(&snapshot, &site(), storage());
    assert_eq!(reported.unreached.len(), 1, "{:?}", reported.unreached);
    let unreached = &reported.unreached[0];
    assert_eq!((unreached.host.as_str(), unreached.engine_value.as_str()), ("65535", "128"));
    assert!(unreached.wanted.is_some());
    let of_engine = reported.differences.iter().find(|d| d.space == Space::Pid(7)).expect("a difference");
    assert_eq!(of_engine.confidence, Confidence::Certain);
    assert!(of_engine.commands[0].starts_with("nsenter -t 7 -n sysctl -w net.core.somaxconn="));
    assert!(reported.differences.iter().filter(|d| d.knob == "net.core.somaxconn").all(|d| d.present != "65535"));
}

#[test]
fn what_cannot_be_read_is_gathered_by_reason_and_what_is_absent_is_counted() {
    let mut snapshot = machine();
    for knob in ["vm.swappiness", "vm.dirty_ratio"] {
        put(&mut snapshot, knob, Space::Host, None, Some(Missing::NotPermitted));
    }
    put(&mut snapshot, "vm.zone_reclaim_mode", Space::Host, None, Some(Missing::Absent));
    snapshot.unreadable.push("cannot read proc/7/ns/net: not permitted".to_owned());
    let reported = audit(&snapshot, &site(), storage());
    assert_eq!(reported.settings.absent, 1);
    assert_eq!(reported.unreadable.len(), 2);
    assert_eq!(reported.unreadable[0].what, ["vm.swappiness", "vm.dirty_ratio"]);
    assert_eq!(
        (reported.unreadable[1].what[0].as_str(), reported.unreadable[1].why.as_str()),
        ("proc/7/ns/net", "not permitted")
    );
}

#[test]
fn an_audit_crosses_json_unchanged() {
    let audit = audit(&far_off(), &site(), storage());
    let back: Audit = serde_json::from_str(&serde_json::to_string(&audit).unwrap()).unwrap();
    assert_eq!(back, audit);
}
