//! `tune` over journals of which some cannot be read: each is named, and the others work.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use crate::running::agents::{Place, captured};
use crate::running::{linerate, shown};

/// A captured machine of one setting, and its journals.
struct Machine {
    place: Place,
}

impl Machine {
    fn make() -> Machine {
        let place = Place::make();
        captured(&place, 0, "role: storage", &[("proc/sys/vm/swappiness", "60")]);
        Machine { place }
    }

    fn tune(&self, words: &[&str]) -> Output {
        let mut command = linerate();
        command.arg("tune").args(words).env("LINERATE_STATE", self.place.path("state0"));
        command.output().expect("linerate runs")
    }

    fn done(&self, words: &[&str]) -> String {
        let output = self.tune(words);
        assert!(output.status.success(), "{words:?}: {}", shown(&output));
        shown(&output)
    }

    fn refused(&self, words: &[&str], code: i32, parts: &[&str]) {
        let output = self.tune(words);
        let said = shown(&output);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
        parts.iter().for_each(|part| assert!(said.contains(part), "{words:?}: {part}: {said}"));
    }

    /// Applies a file of changes, and gives the name of the application.
    fn apply(&self, changes: &str) -> String {
        let root = self.place.path("root0").display().to_string();
        self.done(&["apply", changes, "--root", &root, "--confirm", "300s"]);
        let said = self.done(&["status"]);
        said.split_whitespace().next().expect("a name").to_owned()
    }

    fn value(&self) -> String {
        let path = self.place.path("root0").join("proc/sys/vm/swappiness");
        fs::read_to_string(path).expect("a file").trim_end().to_owned()
    }

    fn damaged(&self, id: &str) -> PathBuf {
        let path = self.place.path("state0").join(format!("tune/{id}.journal"));
        fs::write(&path, "no journal\n").expect("a file");
        path
    }
}

#[test]
fn a_journal_that_cannot_be_read_is_named_by_status_and_the_others_are_confirmed_and_rolled_back() {
    let machine = Machine::make();
    let root = machine.place.path("root0").display().to_string();
    let changes = machine.place.path("changes.json").display().to_string();
    machine.done(&["diff", "--root", &root, "--set", "vm.swappiness=10", "-o", &changes]);
    let id = machine.apply(&changes);
    let all = ["20200101T000000000000Z-1", "29990101T000000000000Z-1"].map(|id| machine.damaged(id));
    let paths = all.each_ref().map(|path| path.display().to_string());
    let what = ["cannot understand", "move it to another folder", "cannot be read, so its state is not known"];
    machine.refused(&["status"], 6, &[&id, "vm.swappiness", &paths[0], &paths[1]]);
    machine.refused(&["status"], 6, &what);
    assert!(machine.done(&["log"]).contains(&id));
    machine.refused(&["log", "29990101T000000000000Z-1"], 1, &[&paths[1]]);
    machine.refused(&["confirm", "29990101T000000000000Z-1"], 1, &[&paths[1]]);
    machine.refused(&["confirm", "20260101T000000000000Z-9"], 2, &["no application of changes is named"]);

    assert!(machine.done(&["confirm", &id]).contains(&id));
    machine.refused(&["confirm", &id], 2, &["is not pending"]);
    machine.refused(&["status"], 6, &[&id, "confirmed", &paths[1]]);
    machine.refused(&["rollback", "--kept"], 1, &[&paths[1]]);
    assert_eq!(machine.value(), "10");
    machine.done(&["rollback", &id]);
    assert_eq!(machine.value(), "60");
    machine.refused(&["rollback"], 1, &[&paths[1], "move it to another folder"]);
    machine.refused(&["apply", &changes, "--root", &root], 1, &[&paths[1], "move it to another folder"]);
    assert_eq!(machine.value(), "60");

    for path in &all {
        assert_eq!(fs::read_to_string(path).expect("it is there"), "no journal\n");
        fs::remove_file(path).expect("it is there");
    }
    let id = machine.apply(&changes);
    machine.damaged("29990101T000000000000Z-1");
    assert!(machine.done(&["confirm"]).contains(&id), "without a name, what is pending");
    assert_eq!(machine.value(), "10");
    machine.done(&["rollback", &id]);
}
