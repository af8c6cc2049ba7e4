//! `linerate tune` on interfaces that are renamed, moved away and replaced while they are changed.

use std::process::Command;
use std::time::Duration;

use libtest_mimic::Failed;

use super::tune::{Ground, wait_until};
use crate::NamedCheck;
use crate::running::shown;

/// What is checked, and what each needs.
pub(crate) const CHECKS: [NamedCheck; 2] = [
    ("tune_restores_the_interface_and_not_its_name", &["root", "ip"], interfaces),
    ("tune_restores_the_interface_and_not_its_index", &["root", "ip"], of_the_same_index),
];

fn ip(words: &str) {
    let output = Command::new("ip").args(words.split(' ')).output().expect("ip runs");
    assert!(output.status.success(), "{words}: {}", shown(&output));
}

fn mtu(ground: &Ground, device: &str) -> String {
    let text = ground.link(&["show", device]);
    text.split(" mtu ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_default().to_owned()
}

/// Changes the MTU of `lab0` to 1400, with a macvlan on top, and lets nobody confirm.
fn applied(ground: &Ground) -> String {
    let file = ground.state.path().join("changes.json");
    let (path, name) = (file.to_str().unwrap_or_default(), ground.namespace.as_deref().unwrap_or_default());
    let said = ground.done(&["tune", "diff", "--netns", name, "--set", "nic.mtu@lab0=1400", "-o", path]);
    assert!(said.contains("changes with it: the MTU of top0, 1500 → 1400"), "{said}");
    let said = ground.done(&["tune", "apply", path, "--confirm", "4s"]);
    assert!(said.contains("changed with it: /sys/class/net/top0/mtu \"1500\" → \"1400\""), "{said}");
    assert_eq!((mtu(ground, "lab0"), mtu(ground, "top0")), ("1400".to_owned(), "1400".to_owned()));
    let said = ground.done(&["tune", "status"]);
    assert!(said.contains("changed with it: /sys/class/net/top0/mtu"), "{said}");
    said.split("  ").next().unwrap_or_default().to_owned()
}

fn lapses(ground: &Ground) -> String {
    let is_over = || ground.newest_application().contains("rolled back: not");
    assert!(wait_until(is_over, Duration::from_secs(60)), "{}", ground.done(&["tune", "log"]));
    ground.newest_application()
}

/// Renamed: restored under the new names. Replaced: the other is left alone. Moved away: told, and restored when back.
fn interfaces() -> Result<(), Failed> {
    let ground = Ground::namespace("n");
    let name = ground.namespace.clone().unwrap_or_default();
    ip(&format!("-n {name} link add link lab0 name top0 type macvlan"));

    applied(&ground);
    ip(&format!("-n {name} link set lab0 name was0"));
    ip(&format!("-n {name} link set top0 name was1"));
    ip(&format!("-n {name} link add lab0 mtu 1400 type veth peer name other"));
    assert!(ground.run(&["tune", "status"]).stdout.windows(4).any(|four| four == b"was0"), "status says its name");
    let line = lapses(&ground);
    assert!(!line.contains("except"), "{line}");
    let all = ["was0", "was1", "lab0"].map(|device| mtu(&ground, device));
    assert_eq!(all, ["1500", "1500", "1400"], "the changed one, what is on it, and another of its name");
    ip(&format!("-n {name} link del lab0"));
    ip(&format!("-n {name} link set was0 name lab0"));
    ip(&format!("-n {name} link set was1 name top0"));

    let id = applied(&ground);
    let elsewhere = Ground::namespace("m");
    let away = elsewhere.namespace.clone().unwrap_or_default();
    ip(&format!("-n {away} link del lab0"));
    ip(&format!("-n {name} link del top0"));
    ip(&format!("-n {name} link set lab0 netns {away}"));
    let line = lapses(&ground);
    assert!(line.contains("except 1 setting"), "{line}");
    assert_eq!(mtu(&elsewhere, "lab0"), "1400");
    // The watch tries again for a moment.
    let mut output = ground.run(&["tune", "rollback", &id]);
    let is_let = || {
        output = ground.run(&["tune", "rollback", &id]);
        output.status.code() != Some(1)
    };
    assert!(wait_until(is_let, Duration::from_secs(30)));
    assert_eq!(output.status.code(), Some(6), "{}", shown(&output));
    assert!(shown(&output).contains("not restored: it is not there"), "{}", shown(&output));
    ip(&format!("-n {away} link set lab0 netns {name}"));
    let said = ground.done(&["tune", "rollback"]);
    assert!(said.contains("1 of 1 setting of"), "{said}");
    assert_eq!(mtu(&ground, "lab0"), "1500");
    assert!(ground.done(&["tune", "status"]).contains("nothing is applied"));
    println!("renamed, replaced and moved away: the interface is restored, and no other");
    Ok(())
}

/// An index is given by hand to an interface that was made anew, of the same name and value: it is another.
fn of_the_same_index() -> Result<(), Failed> {
    let ground = Ground::namespace("i");
    let name = ground.namespace.clone().unwrap_or_default();
    let index = || ground.link(&["show", "lab0"]).split(':').next().unwrap_or_default().to_owned();
    let number = index();
    for is_on_top in [true, false] {
        ip(&format!("-n {name} link add link lab0 name top0 type macvlan"));
        let on_top = ground.link(&["show", "top0"]).split(':').next().unwrap_or_default().to_owned();
        applied(&ground);
        if is_on_top {
            ip(&format!("-n {name} link del top0"));
            ip(&format!("-n {name} link add link lab0 name top0 index {on_top} mtu 1400 type macvlan"));
            let line = lapses(&ground);
            assert!(!line.contains("except"), "{line}");
            assert_eq!((mtu(&ground, "lab0"), mtu(&ground, "top0")), ("1500".to_owned(), "1400".to_owned()));
            ip(&format!("-n {name} link del top0"));
            continue;
        }
        ip(&format!("-n {name} link del lab0"));
        ip(&format!("-n {name} link add lab0 index {number} mtu 1400 type veth peer name lab1"));
        assert_eq!(index(), number);
        let line = lapses(&ground);
        assert!(line.contains("except 1 setting"), "{line}");
        assert_eq!(mtu(&ground, "lab0"), "1400", "another's");
    }
    println!("an interface of the index of one that was changed is left alone");
    Ok(())
}
