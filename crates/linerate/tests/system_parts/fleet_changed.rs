//! `tune --fleet` on the real kernel: nodes that are network namespaces, each with a machine id, journals and a lock of
//! its own, changed as one and back; on full disks too. What happens at random moments is in `fleet_moments.rs`.

use std::fs;
use std::process::Command;
use std::time::Duration;

use libtest_mimic::Failed;

use super::fleet_nodes::{NAMES, Nodes, mounted};
use super::tune::wait_until;
use crate::NamedCheck;
use crate::running::shown;

/// What a fleet of namespaces needs.
pub(super) const NEEDS: &[&str] = &["root", "ip", "tc", "ethtool", "unshare", "mount"];

/// What is checked, and what each needs.
pub(crate) const CHECKS: [NamedCheck; 2] = [
    ("tune_fleet_there_and_back_over_16_namespaces", NEEDS, there_and_back),
    ("tune_fleet_on_full_disks_leaves_nothing", NEEDS, full_disks),
];

fn there_and_back() -> Result<(), Failed> {
    let nodes = Nodes::make("t", 16)?;
    let changes = nodes.diff();
    let before = nodes.values();
    let first = nodes.sysctl(&nodes.names[0], NAMES[0]);
    let apply = ["tune", "apply", &changes, "--confirm", "600s", "--wave", "1,5,25%"];
    let said = nodes.done(&apply);
    assert!(said.contains("16 pending") && nodes.changed(&first) == 16, "{said}");
    let said = nodes.done(&["tune", "confirm"]);
    assert!(said.contains("16 confirmed"), "{said}");
    let after = nodes.values();
    assert!(after.iter().zip(&before).all(|(after, before)| after != before), "each node is changed");
    let said = nodes.done(&["tune", "rollback", "--kept"]);
    assert!(said.contains("16 as before"), "{said}");
    assert!(nodes.values() == before, "confirmed, then rolled back");

    nodes.done(&["tune", "apply", &changes, "--confirm", "60s", "--wave", "100%"]);
    assert_eq!(nodes.changed(&first), 16);
    assert!(
        wait_until(|| nodes.values() == before, Duration::from_secs(120)),
        "nobody confirmed: {:?}",
        nodes.status()
    );
    nodes.finished(&before, "lapsed");
    Ok(())
}

/// One node has its journals on disks of one page, two, and so on, until the whole rollout fits.
fn full_disks() -> Result<(), Failed> {
    let nodes = Nodes::make("d", 4)?;
    let changes = nodes.diff();
    let before = nodes.values();
    let text = fs::read_to_string(&changes)?;
    fs::write(&changes, text.replace("set by hand", &"by hand ".repeat(400)))?;
    let state = nodes.path(&nodes.names[2]).join("state");
    // By two: what cannot be noted is tried again for half a minute each time.
    for pages in (1..200).step_by(2) {
        mounted(&state, &format!("size={}k,mode=700", pages * 4))?;
        let applied = nodes.run(&["tune", "apply", &changes, "--confirm", "120s", "--wave", "1"]);
        let mut is_done = applied.status.success();
        if is_done {
            let confirmed = nodes.run(&["tune", "confirm"]);
            is_done = confirmed.status.success();
            assert!(is_done || shown(&confirmed).contains("rolled back"), "{pages}: {}", shown(&confirmed));
        } else {
            let said = shown(&applied);
            assert!(matches!(applied.status.code(), Some(3 | 6)), "{pages}: {said}");
        }
        // What it could not note while the disk was full it can note on a larger one.
        let larger = Command::new("mount").args(["-o", "remount,size=16m"]).arg(&state).status()?;
        assert!(larger.success());
        nodes.finished(&before, &format!("{pages} pages"));
        Command::new("umount").arg("-l").arg(&state).status()?;
        if is_done {
            println!("{} full disks: every node as before", pages - 1);
            assert!(pages > 2, "{pages}");
            return Ok(());
        }
    }
    Err("the whole rollout fits at last".into())
}
