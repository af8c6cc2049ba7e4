//! Journals that cannot be read among others: none of them is believed or changed, and none keeps the others from being
//! confirmed and rolled back.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use linerate_host::apply::{TuneError, confirm, confirm_only, rollback, would_apply};
use linerate_host::journal::JournalContent;
use linerate_record::knob::ChangeSet;

use super::machine::{Machine, made};

fn nothing(_: linerate_host::apply::ApplyStep) {}

/// Makes the journal at a path unreadable.
type Damage = fn(&Machine, &Path);

/// Ways in which a journal comes to be unreadable, each with what is said of it.
const WAYS: [(&str, Damage); 5] = [
    ("cannot understand", |_, path| private(path, b"no journal\n")),
    ("cannot understand", |_, path| private(path, b"\xff\xfe\n")),
    ("chmod 600", |machine, path| {
        fs::copy(machine.state.path().join("5.journal"), path).expect("a folder of this test");
        fs::set_permissions(path, fs::Permissions::from_mode(0o666)).expect("a folder of this test");
    }),
    ("under another name", |machine, path| {
        fs::copy(machine.state.path().join("5.journal"), path).expect("a folder of this test");
    }),
    ("not a regular file", |_, path| fs::create_dir(path).expect("a folder of this test")),
];

fn private(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("a folder of this test");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("a folder of this test");
}

fn part(machine: &Machine, first: usize, count: usize) -> ChangeSet {
    let mut set = machine.changes();
    set.changes = set.changes.drain(first..first + count).collect();
    set
}

fn removed(path: &PathBuf) {
    if path.is_dir() {
        fs::remove_dir(path).expect("a folder of this test")
    } else {
        fs::remove_file(path).expect("a file of this test")
    }
}

#[test]
fn a_journal_that_cannot_be_read_keeps_no_other_from_being_confirmed_and_rolled_back() {
    for (said, damage) in WAYS {
        for (damaged, by_name) in [("3", false), ("7", false), ("3", true), ("7", true)] {
            let (_dir, machine) = made();
            let before = machine.files();
            let context = machine.apply_context();
            machine.apply(&part(&machine, 0, 4), "5", &mut nothing).unwrap();
            let path = machine.state.path().join(format!("{damaged}.journal"));
            damage(&machine, &path);
            let bytes = fs::read(&path).ok();
            let waits = machine.state.newest(JournalContent::is_pending).unwrap();
            assert_eq!(waits.journal.unwrap().begin.id, "5", "{said} {damaged}");
            let all = machine.state.unreadable().unwrap();
            let why = all[0].error.to_string();
            assert!(all.len() == 1 && all[0].id == damaged && why.contains(said), "{why}");
            assert!(why.contains(&path.display().to_string()) && why.contains("move it to another folder"), "{why}");
            let refused = machine.apply(&part(&machine, 4, 4), "8", &mut nothing).unwrap_err();
            assert!(matches!(&refused, TuneError::Pending(id) if id == "5"), "{refused}");
            let kept = if by_name { confirm_only(&context, "5") } else { confirm(&context) };
            assert!(kept.unwrap().is_kept(), "{said} {damaged}");
            rollback(&context, Some("5"), false, &mut nothing).unwrap();
            assert_eq!((machine.files(), fs::read(&path).ok()), (before, bytes), "{said} {damaged}");
        }
    }
}

#[test]
fn nothing_is_applied_and_nothing_unnamed_rolled_back_while_what_cannot_be_read_may_wait() {
    for (said, damage) in WAYS {
        let (_dir, machine) = made();
        let context = machine.apply_context();
        let (first, second) = (part(&machine, 0, 4), part(&machine, 4, 4));
        machine.apply(&first, "5", &mut nothing).unwrap();
        confirm(&context).unwrap();
        let (older, newer) = (machine.state.path().join("3.journal"), machine.state.path().join("7.journal"));
        damage(&machine, &newer);
        let kept = machine.files();
        let terms = super::looked::terms("8", None);
        let why = [
            machine.apply(&second, "8", &mut nothing).unwrap_err(),
            would_apply(&context, &second, &terms).unwrap_err(),
            rollback(&context, None, false, &mut nothing).unwrap_err(),
            confirm(&context).unwrap_err(),
        ];
        for why in why {
            let is_unreadable = matches!(why, TuneError::Unreadable(_));
            assert!(is_unreadable && why.to_string().contains(said), "{why}");
        }
        let why = confirm_only(&context, "5").unwrap_err().to_string();
        assert!(why.contains("5 is not pending"), "{why}");
        assert_eq!(machine.files(), kept, "{said}");
        removed(&newer);

        // What is kept was begun while nothing waited.
        damage(&machine, &older);
        would_apply(&context, &second, &terms).unwrap();
        assert!(machine.apply(&second, "8", &mut nothing).unwrap().is_pending, "{said}");
        assert_eq!(rollback(&context, None, false, &mut nothing).unwrap().id, "8");
    }
}

#[test]
fn a_file_whose_name_no_application_can_have_is_no_journal() {
    let (_dir, machine) = made();
    machine.apply(&machine.changes(), "5", &mut nothing).unwrap();
    for copy in ["5 (copy)", "5.old", "\u{fc}"] {
        fs::copy(machine.state.path().join("5.journal"), machine.state.path().join(format!("{copy}.journal"))).unwrap();
    }
    assert_eq!(machine.state.ids().unwrap(), ["5"]);
    confirm(&machine.apply_context()).unwrap();
}
