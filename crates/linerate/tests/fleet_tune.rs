//! `tune --fleet` over captured machines, each with an agent, journals and a watch of its own: applied in waves,
//! confirmed, lapsed, rolled back, and all of it with something that dies in between. Every file is compared.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use linerate_record::rollout::{FleetChanges, NodeState, RolloutReport};

use crate::running::agents::{Files, Place, agents, captured, end_all, files_below, kill, with_fleet};
use crate::running::{END, eventually_within, linerate, shown};

/// How long anything is waited for.
const WAITED: Duration = END;

/// Settings of each machine, before and after.
const SETTINGS: [(&str, &str, &str, &str); 4] = [
    ("vm.swappiness", "proc/sys/vm/swappiness", "60", "10"),
    ("vm.max_map_count", "proc/sys/vm/max_map_count", "65530", "262144"),
    ("net.core.rmem_max", "proc/sys/net/core/rmem_max", "212992", "16777216"),
    ("net.ipv4.tcp_rmem", "proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456", "4096 131072 33554432"),
];

/// Captured machines in racks of two, and their fleet file.
struct Machines {
    place: Place,
    fleet: PathBuf,
    count: usize,
}

impl Machines {
    fn make(count: usize) -> Machines {
        let place = Place::make();
        let files = SETTINGS.map(|(_, path, before, _)| (path, before));
        let node = |number: usize| captured(&place, number, &format!("role: storage, rack: r{}", number / 2), &files);
        let nodes: Vec<String> = (0..count).map(node).collect();
        let fleet = place.fleet(&nodes);
        Machines { place, fleet, count }
    }

    fn command(&self, words: &[&str]) -> Command {
        with_fleet(words, &self.fleet)
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("linerate runs")
    }

    fn done(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(output.status.success(), "{words:?}: {}", shown(&output));
        shown(&output)
    }

    /// The file of changes, made by the nodes.
    fn changes(&self) -> String {
        let path = self.place.path("changes.json").display().to_string();
        let mut words = vec!["tune".to_owned(), "diff".to_owned(), "-o".to_owned(), path.clone()];
        for (knob, _, _, after) in SETTINGS {
            words.extend(["--set".to_owned(), format!("{knob}={after}")]);
        }
        self.done(&words.iter().map(String::as_str).collect::<Vec<_>>());
        path
    }

    fn files(&self) -> Files {
        files_below((0..self.count).map(|n| self.place.path(&format!("root{n}"))).collect())
    }

    /// Journals of all nodes, and whatever else is beside them.
    fn journals(&self) -> Files {
        let folder = |node: usize| self.place.path(&format!("state{node}")).join("tune");
        files_below((0..self.count).map(folder).filter(|folder| folder.is_dir()).collect())
    }

    fn set(&self, node: usize, path: &str, text: &str) {
        fs::write(self.place.path(&format!("root{node}")).join(path), format!("{text}\n")).expect("a file");
    }

    fn value(&self, node: usize, path: &str) -> String {
        let text = fs::read_to_string(self.place.path(&format!("root{node}")).join(path)).expect("a file");
        text.trim_end().to_owned()
    }

    /// How many nodes have all of the new values.
    fn changed(&self) -> usize {
        let has = |node: &usize| SETTINGS.iter().all(|(_, path, _, after)| self.value(*node, path) == *after);
        (0..self.count).filter(has).count()
    }

    /// Takes out of the journals what those of an earlier version do not have.
    fn age_journals(&self) {
        let mut aged = 0;
        for node in 0..self.count {
            let folder = self.place.path(&format!("state{node}")).join("tune");
            for entry in fs::read_dir(folder).expect("a folder").flatten() {
                let path = entry.path();
                if path.extension().is_some_and(|extension| extension == "journal") {
                    let text = fs::read_to_string(&path).expect("a journal");
                    let old = without_number(&without_number(&text, ",\"at_ms\":"), ",\"wave\":");
                    aged += usize::from(old != text);
                    fs::write(&path, old).expect("a journal");
                }
            }
        }
        assert_eq!(aged, self.count);
    }

    /// What the nodes say of themselves.
    fn status(&self) -> (RolloutReport, Option<i32>) {
        let output = self.run(&["tune", "status", "--json"]);
        let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", shown(&output)));
        (report, output.status.code())
    }

    fn eventually(&self, files: &Files, within: Duration) {
        let until = Instant::now() + within;
        while self.files() != *files {
            assert!(Instant::now() < until, "not as before: {:?}", self.status());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn spawn(&self, words: &[&str]) -> Child {
        self.command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("linerate starts")
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        end_all(&self.place);
        if std::thread::panicking() {
            return;
        }
        // Watches end within moments of what they watch.
        let _ = self.run(&["tune", "rollback", "--kept"]);
    }
}

/// A text without a key of JSON and the number behind it, wherever it stands.
fn without_number(text: &str, key: &str) -> String {
    let mut parts = text.split(key);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

fn node_states(report: &RolloutReport) -> Vec<Option<NodeState>> {
    report.nodes.iter().map(|node| node.node_state).collect()
}

#[test]
fn a_fleet_is_changed_in_waves_confirmed_and_rolled_back() {
    let machines = Machines::make(4);
    let before = machines.files();
    let changes = machines.changes();
    let made: FleetChanges = serde_json::from_slice(&fs::read(&changes).expect("a file")).expect("changes");
    assert_eq!(made.nodes.len(), 4);
    assert!(made.nodes.iter().all(|node| node.set.changes.len() == SETTINGS.len() && !node.boot.is_empty()));
    let said = machines.done(&["tune", "apply", &changes, "--wave", "1,100%", "--dry-run"]);
    assert!(said.contains("wave 3") && said.contains("in rack r1"), "{said}");
    assert_eq!(machines.files(), before, "a plan changes nothing");

    let mark = machines.place.path("waves");
    let check = format!("echo $LINERATE_WAVE $LINERATE_NODES >>{}", mark.display());
    let apply = ["tune", "apply", &changes, "--confirm", "300s", "--wave", "1,100%", "--check", &check];
    let apply = [&apply[..], &["--check-within", "30s"]].concat();
    let said = machines.done(&apply);
    assert!(said.contains("4 pending") && said.contains("tune confirm --fleet"), "{said}");
    assert_eq!(fs::read_to_string(&mark).expect("a file"), "1 n0\n2 n1\n3 n2 n3\n");
    assert_eq!(machines.changed(), 4);
    let (report, code) = machines.status();
    assert_eq!(code, Some(0), "{report:?}");
    assert!(node_states(&report).iter().all(|node_state| node_state.is_some_and(NodeState::is_whole)), "{report:?}");
    assert!(
        report.nodes.iter().all(|node| node.reported.as_ref().is_some_and(|reported| reported.settings.len() == 4))
    );

    let again = machines.run(&apply);
    assert_eq!(again.status.code(), Some(3), "one waits: {}", shown(&again));
    assert!(shown(&again).contains("tune confirm --fleet or"), "{}", shown(&again));
    assert_eq!(machines.changed(), 4, "another rollout rolls back only its own");
    let mut alone = linerate();
    alone.env("LINERATE_STATE", machines.place.path("state1")).args(["tune", "confirm"]);
    let alone = alone.output().expect("linerate runs");
    assert!(alone.status.code() == Some(2) && shown(&alone).contains("on 4 nodes"), "{}", shown(&alone));
    assert_eq!(machines.status().1, Some(0), "it waits on each");

    let said = machines.done(&["tune", "confirm"]);
    assert!(said.contains("4 confirmed"), "{said}");
    let again = machines.run(&["tune", "confirm"]);
    assert!(again.status.code() == Some(2) && shown(&again).contains("confirmed on each"), "{}", shown(&again));
    let unnamed = machines.run(&["tune", "rollback"]);
    assert!(unnamed.status.code() == Some(2) && shown(&unnamed).contains("--kept"), "{}", shown(&unnamed));
    assert_eq!(machines.changed(), 4);
    let said = machines.done(&["tune", "rollback", "--kept"]);
    assert!(said.contains("4 as before"), "{said}");
    assert_eq!(machines.files(), before);
}

#[test]
fn a_page_shows_which_node_was_in_which_state_when_in_which_wave_and_why() {
    let machines = Machines::make(4);
    let before = machines.files();
    let changes = machines.changes();
    let path = machines.place.path("rollout.html").display().to_string();
    let page = |code: Option<i32>| {
        let output = machines.run(&["tune", "status", "--format", "html", "-o", &path]);
        let said = shown(&output);
        assert!(output.status.code() == code && said.contains(&format!("report  {path}")), "{said}");
        (fs::read_to_string(&path).expect("a page"), said)
    };
    let all = |page: &str, parts: &[&str]| {
        for part in ["n0", "n1", "n2", "n3", "storage, rack r0", "storage, rack r1"].iter().chain(parts) {
            assert!(page.contains(part), "{part}: {page}");
        }
    };
    let apply = ["tune", "apply", &changes, "--confirm", "300s", "--wave", "1,100%", "--check"];
    machines.done(&[&apply[..], &["true"]].concat());
    let (pending, said) = page(Some(0));
    assert!(said.contains("4 pending") && said.contains("rolls back by itself in"), "the text stays: {said}");
    all(&pending, &["<b class=\"applying\"", "<b class=\"pending ahead\"", "vm.max_map_count", "262144", "± "]);
    let (report, _) = machines.status();
    let waves: Vec<Option<u32>> =
        report.nodes.iter().map(|node| node.course().and_then(|course| course.wave)).collect();
    assert_eq!(waves, [Some(1), Some(2), Some(3), Some(3)]);
    for node in &report.nodes {
        let (reported, course) = (node.reported.as_ref().expect("it answers"), node.course().expect("it answers"));
        assert!(reported.began_ms <= course.made_ms && course.made_ms <= report.requested_ms, "{node:?}");
        assert!(course.until_ms > report.requested_ms && node.clock.is_some(), "{node:?}");
    }

    machines.done(&["tune", "confirm"]);
    let (confirmed, _) = page(Some(0));
    all(&confirmed, &["<b class=\"extended\"", "<b class=\"confirmed\"", "data-field=\"nodes.3.told.confirmed_ms\""]);
    assert!(!confirmed.contains("time not recorded"), "{confirmed}");

    // Journals of an earlier version are read, drawn and rolled back.
    machines.age_journals();
    let (old, _) = page(Some(0));
    all(&old, &["extended: time not recorded", "<b class=\"confirmed\""]);
    let said = machines.done(&["tune", "rollback", "--kept"]);
    assert!(said.contains("4 as before"), "{said}");
    assert_eq!(machines.files(), before);
    all(&page(Some(0)).0, &["<b class=\"rolled-back\""]);

    // The check behind the second wave fails: each journal says why, and two nodes never began.
    let failed = machines.run(&[&apply[..], &["[ $LINERATE_WAVE -lt 2 ]"]].concat());
    assert_eq!(failed.status.code(), Some(6), "{}", shown(&failed));
    let (failed, said) = page(Some(0));
    assert!(said.contains("2 as before"), "{said}");
    all(&failed, &["the check failed", "<b class=\"rolled-back\"", "<b class=\"not-begun\"", "never begun there"]);

    let lost = machines.run(&["tune", "status", "--format", "html", "-o", "/nowhere/rollout.html"]);
    assert!(!lost.status.success() && shown(&lost).contains("/nowhere/rollout.html"), "{}", shown(&lost));
    let alone = linerate().args(["tune", "status", "--format", "html"]).output().expect("linerate runs");
    assert!(alone.status.code() == Some(2) && shown(&alone).contains("--fleet"), "{}", shown(&alone));
}

#[test]
fn what_nobody_confirms_lapses_on_each_node() {
    let machines = Machines::make(2);
    let before = machines.files();
    let changes = machines.changes();
    machines.done(&["tune", "apply", &changes, "--confirm", "12s", "--wave", "100%"]);
    assert_eq!(machines.changed(), 2);
    machines.eventually(&before, Duration::from_secs(30));
    eventually_within(WAITED, "journals are closed", || machines.status().1 == Some(0));
    let (report, _) = machines.status();
    assert_eq!(node_states(&report), [Some(NodeState::Restored); 2]);
    let late = machines.run(&["tune", "confirm"]);
    assert!(late.status.code() == Some(6) && shown(&late).contains("cannot be confirmed"), "{}", shown(&late));
}

#[test]
fn a_node_that_refuses_or_a_check_that_fails_takes_all_back() {
    let machines = Machines::make(3);
    let changes = machines.changes();
    // One that is set behind the first wave, when all were looked at.
    machines.set(2, "proc/sys/vm/swappiness", "33");
    let before = machines.files();
    machines.set(2, "proc/sys/vm/swappiness", "60");
    let set = format!("echo 33 >{}", machines.place.path("root2/proc/sys/vm/swappiness").display());
    let refused = machines.run(&["tune", "apply", &changes, "--confirm", "300s", "--wave", "1", "--check", &set]);
    let said = shown(&refused);
    assert!(refused.status.code() == Some(6) && said.contains("n2: ") && said.contains("all nodes were"), "{said}");
    assert_eq!(machines.files(), before);
    machines.set(2, "proc/sys/vm/swappiness", "60");
    let before = machines.files();
    let check = "[ $LINERATE_WAVE -lt 2 ]";
    let apply = ["tune", "apply", &changes, "--confirm", "300s", "--wave", "1", "--check", check];
    let failed = machines.run(&apply);
    let said = shown(&failed);
    assert!(failed.status.code() == Some(6) && said.contains("the check failed"), "{said}");
    assert_eq!(machines.files(), before);
}

#[test]
fn what_a_node_of_the_last_wave_would_refuse_ends_it_before_any_node_is_changed() {
    let machines = Machines::make(3);
    let changes = machines.changes();
    let apply = ["tune", "apply", &changes, "--confirm", "120s", "--wave", "1"];
    let refused = |part: &str| {
        let before = (machines.files(), machines.journals());
        let output = machines.run(&apply);
        let said = shown(&output);
        assert!(output.status.code() == Some(3) && said.contains("nothing was changed on any node"), "{said}");
        assert!(said.contains("n2: ") && said.contains(part), "{part}: {said}");
        assert!((machines.files(), machines.journals()) == before, "nothing is written anywhere: {said}");
    };
    machines.set(2, "proc/sys/vm/swappiness", "33");
    refused("it is \"33\" now but was \"60\"");
    SETTINGS.iter().for_each(|(_, path, _, after)| machines.set(2, path, after));
    refused("somebody has made all of its changes");
    SETTINGS.iter().for_each(|(_, path, before, _)| machines.set(2, path, before));
    // It was rebooted, or its name leads to another machine by now.
    for (path, other, part) in [
        ("proc/sys/kernel/random/boot_id", "22222222-2222-2222-2222-222222222222", "rebooted since the file"),
        ("etc/machine-id", "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee", "it is another machine"),
    ] {
        let own = machines.value(2, path);
        machines.set(2, path, other);
        refused(part);
        machines.set(2, path, &own);
    }

    // Somebody else's rollout waits there.
    let text = fs::read_to_string(&machines.fleet).expect("a file");
    let some: Vec<&str> = text.lines().filter(|line| !line.contains("name: n") || line.contains("n2,")).collect();
    let fleet = machines.place.path("some.yaml");
    fs::write(&fleet, some.join("\n") + "\n").expect("a file");
    let other = machines.place.path("other.json").display().to_string();
    for words in [
        &["tune", "diff", "--set", "vm.max_map_count=100000", "-o", &other][..],
        &["tune", "apply", &other, "--confirm", "300s"],
    ] {
        let output = with_fleet(words, &fleet).output().expect("linerate runs");
        assert!(output.status.success(), "{words:?}: {}", shown(&output));
    }
    refused("tune confirm --fleet or");
    let output = with_fleet(&["tune", "rollback"], &fleet).output().expect("linerate runs");
    assert!(output.status.success(), "{}", shown(&output));
    machines.done(&apply);
    assert_eq!(machines.changed(), 3);
    machines.done(&["tune", "rollback"]);
}

#[test]
fn a_coordinator_that_is_killed_leaves_what_lapses_or_can_be_finished() {
    let machines = Machines::make(3);
    let before = machines.files();
    let changes = machines.changes();
    let apply = ["tune", "apply", &changes, "--confirm", "40s", "--wave", "1,100%", "--check", "sleep 9"];
    let apply = [&apply[..], &["--check-within", "9s"]].concat();
    let mut killed = machines.spawn(&apply);
    eventually_within(WAITED, "the first wave stands", || machines.changed() == 1);
    killed.kill().expect("it runs");
    killed.wait().expect("it ended");
    machines.eventually(&before, Duration::from_secs(60));

    // At moments spread over apply and confirm: whoever asks the nodes finishes it.
    for moment in 0..6_u32 {
        let apply = ["tune", "apply", &changes, "--confirm", "120s", "--wave", "1"];
        if moment < 3 {
            let mut killed = machines.spawn(&apply);
            std::thread::sleep(Duration::from_millis(400) * (moment + 1));
            killed.kill().expect("it runs");
            killed.wait().expect("it ended");
        } else {
            machines.done(&apply);
            let mut killed = machines.spawn(&["tune", "confirm"]);
            std::thread::sleep(Duration::from_millis(250) * (moment - 2));
            killed.kill().expect("it runs");
            killed.wait().expect("it ended");
        }
        // Agents end by themselves within their lease.
        eventually_within(WAITED, "agents end", || agents(&machines.place).is_empty());
        let (report, _) = machines.status();
        for (number, node) in report.nodes.iter().enumerate() {
            let is_new = SETTINGS.iter().any(|(_, path, before, _)| machines.value(number, path) != *before);
            let is_so = match node.node_state {
                Some(node_state) if node_state.is_as_before() => !is_new,
                Some(NodeState::Confirmed) => is_new,
                Some(_) => true,
                None => false,
            };
            assert!(is_so, "{moment}: {node:?}");
        }
        if report.rollout.is_some() {
            let rolled = machines.run(&["tune", "rollback", "--kept"]);
            assert!(rolled.status.success(), "{moment}: {}", shown(&rolled));
        }
        assert_eq!(machines.files(), before, "{moment}");
    }
}

#[test]
fn watches_alone_take_a_rollout_back_once_its_coordinator_and_agents_are_killed() {
    let machines = Machines::make(2);
    let before = machines.files();
    let changes = machines.changes();
    let apply = ["tune", "apply", &changes, "--confirm", "20s", "--wave", "100%", "--check", "sleep 9"];
    let mut killed = machines.spawn(&[&apply[..], &["--check-within", "9s"]].concat());
    eventually_within(WAITED, "every node is changed", || machines.changed() == 2);
    killed.kill().expect("it runs");
    killed.wait().expect("it ended");
    agents(&machines.place).into_iter().for_each(|agent| kill("KILL", agent));
    eventually_within(WAITED, "agents end", || agents(&machines.place).is_empty());
    // Nobody asks the nodes: any tune command would roll back what is overdue.
    let closed_by_watch = || {
        let journals = machines.journals();
        let is_lapsed = |text: &&Vec<u8>| String::from_utf8_lossy(text).contains(r#"{"closed":{"by":"lapse""#);
        journals.values().filter(is_lapsed).count()
    };
    eventually_within(WAITED, "journals are closed by watches", || closed_by_watch() == 2);
    assert_eq!(machines.files(), before);
    let (report, code) = machines.status();
    assert_eq!((node_states(&report), code), (vec![Some(NodeState::Restored); 2], Some(0)), "{report:?}");
}

#[test]
fn a_rollback_reaches_nodes_that_tell_of_another_rollout_and_tells_of_those_that_are_not_in_the_file() {
    let machines = Machines::make(2);
    let changes = machines.changes();
    let apply = |changes: &str| {
        machines.done(&["tune", "apply", changes, "--confirm", "300s", "--wave", "100%"]);
        machines.done(&["tune", "confirm"]);
    };
    apply(&changes);
    // What somebody else has set stays, and what was not restored is what a node tells of from then on.
    machines.set(0, "proc/sys/vm/swappiness", "33");
    let left = machines.run(&["tune", "rollback", "--kept"]);
    assert_eq!(left.status.code(), Some(6), "{}", shown(&left));
    let before = machines.files();
    apply(&machines.changes());
    assert_eq!(machines.changed(), 2);
    let (report, code) = machines.status();
    assert_eq!((node_states(&report), code), (vec![Some(NodeState::Confirmed); 2], Some(0)), "{report:?}");

    // With a file of one node, that one is restored, and the other is told of.
    let text = fs::read_to_string(&machines.fleet).expect("a file");
    let some: Vec<&str> = text.lines().filter(|line| !line.contains("name: n1,")).collect();
    let fleet = machines.place.path("some.yaml");
    fs::write(&fleet, some.join("\n") + "\n").expect("a file");
    let rollout = report.rollout.expect("a name").to_string();
    let output = with_fleet(&["tune", "rollback", &rollout], &fleet).output().expect("linerate runs");
    let said = shown(&output);
    assert!(output.status.code() == Some(6) && said.contains("at least 1 of 2 nodes"), "{said}");
    assert_eq!(machines.changed(), 1);

    let said = machines.done(&["tune", "rollback", &rollout]);
    assert!(said.contains("2 as before"), "{said}");
    assert_eq!(machines.files(), before);
}

#[test]
fn what_is_kept_is_rolled_back_though_a_later_rollout_failed() {
    let machines = Machines::make(2);
    let before = machines.files();
    let changes = machines.changes();
    machines.done(&["tune", "apply", &changes, "--confirm", "300s", "--wave", "100%"]);
    // What cannot be printed is done no less, and said elsewhere.
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("it is there");
    let output = machines.command(&["tune", "confirm"]).stdout(full).output().expect("linerate runs");
    assert!(output.status.code() == Some(1) && shown(&output).contains("2 confirmed"), "{}", shown(&output));
    let later = machines.place.path("later.json").display().to_string();
    machines.done(&["tune", "diff", "--set", "vm.swappiness=20", "-o", &later]);
    let apply = ["tune", "apply", &later, "--wave", "100%", "--check", "false", "--check-within", "5s"];
    let failed = machines.run(&apply);
    assert_eq!(failed.status.code(), Some(6), "{}", shown(&failed));
    assert_eq!(machines.changed(), 2, "what was confirmed before stays");
    let said = machines.done(&["tune", "rollback", "--kept"]);
    assert!(said.contains("2 as before"), "{said}");
    assert_eq!(machines.files(), before);
    let mistyped = machines.run(&["tune", "rollback", "r00f1e2d3c4b5a697n2"]);
    assert!(mistyped.status.code() == Some(2) && shown(&mistyped).contains("knows r00f1"), "{}", shown(&mistyped));
}

#[test]
fn a_rollout_on_top_of_another_is_named_and_rolled_back_first() {
    let machines = Machines::make(2);
    let before = machines.files();
    let changes = machines.changes();
    let apply = |changes: &str| {
        machines.done(&["tune", "apply", changes, "--confirm", "300s", "--wave", "100%"]);
        machines.done(&["tune", "confirm"]);
        machines.status().0.rollout.expect("a name").to_string()
    };
    let first = apply(&changes);
    let path = machines.place.path("later.json").display().to_string();
    machines.done(&["tune", "diff", "--set", "vm.swappiness=20", "-o", &path]);
    let later = apply(&path);
    let left = machines.run(&["tune", "rollback", &first]);
    let said = shown(&left);
    assert!(left.status.code() == Some(6) && said.contains(&later), "{said}");
    // What is left of the first does not hide what is kept.
    let said = machines.done(&["tune", "rollback", "--kept"]);
    assert!(said.contains(&later), "{said}");
    machines.done(&["tune", "rollback", &first]);
    assert_eq!(machines.files(), before);
}

#[test]
fn a_node_whose_agent_freezes_ends_the_rollout_for_all() {
    let machines = Machines::make(3);
    let before = machines.files();
    let changes = machines.changes();
    let apply = ["tune", "apply", &changes, "--confirm", "120s", "--wave", "1", "--check", "sleep 30"];
    let apply = [&apply[..], &["--check-within", "35s"]].concat();
    let mut command = machines.command(&apply);
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("linerate starts");
    eventually_within(WAITED, "the first wave stands", || machines.changed() == 1);
    let frozen = *agents(&machines.place).last().expect("agents");
    kill("STOP", frozen);
    let output = running.wait_with_output().expect("it ends");
    let said = shown(&output);
    assert!(output.status.code() == Some(6) && said.contains("froze"), "{said}");
    assert!(said.contains("3 as before") && said.contains("all nodes were rolled back"), "{said}");
    assert_eq!(machines.files(), before);
}

#[test]
fn agents_without_leave_processes_and_other_files_are_refused() {
    let machines = Machines::make(2);
    let changes = machines.changes();
    let place = &machines.place;
    let reads = format!("{{name: n0, role: storage, reach: 'exec:exec {} agent'}}", place.program.display());
    let fleet_of = |name: &str, node: &str| {
        let path = place.path(name);
        fs::write(&path, format!("nodes:\n  - {node}\n")).expect("a file");
        path
    };
    let run = |fleet: &Path, words: &[&str]| with_fleet(words, fleet).output().expect("linerate runs");
    let reads = fleet_of("reads.yaml", &reads);
    let output = run(&reads, &["tune", "status"]);
    assert!(output.status.code() == Some(3) && shown(&output).contains("--allow change"), "{}", shown(&output));
    let output = run(&reads, &["tune", "apply", &changes]);
    assert!(output.status.code() == Some(2) && shown(&output).contains("does not have"), "{}", shown(&output));
    let more = fs::read_to_string(&machines.fleet).expect("a file") + "  - {name: n9, role: storage, reach: here}\n";
    let grown = place.path("grown.yaml");
    fs::write(&grown, more).expect("a file");
    let output = run(&grown, &["tune", "apply", &changes]);
    assert!(output.status.code() == Some(2) && shown(&output).contains("nothing of n9"), "{}", shown(&output));
    let fleet = fleet_of("other.yaml", "{name: n0, role: storage, reach: 'pid://1'}");
    for words in [&["tune", "diff", "--set", "vm.swappiness=1"][..], &["tune", "apply", &changes], &["tune", "status"]]
    {
        let output = run(&fleet, words);
        assert!(output.status.code() == Some(2) && shown(&output).contains("go with it"), "{}", shown(&output));
    }
    let output = run(&machines.fleet, &["tune", "apply", &changes, "--confirm", "4s"]);
    assert!(output.status.code() == Some(2) && shown(&output).contains("write 5s to 24h"), "{}", shown(&output));
    let output = run(&machines.fleet, &["tune", "apply", &changes, "--wave", "0"]);
    assert!(output.status.code() == Some(2) && shown(&output).contains("1,5,25%"), "{}", shown(&output));
    let output = run(&machines.fleet, &["tune", "rollback", "20260102T030405Z-7"]);
    assert!(output.status.code() == Some(2) && shown(&output).contains("name of a rollout"), "{}", shown(&output));
    let output = linerate().args(["tune", "apply", "x.json", "--wave", "1"]).output().expect("linerate runs");
    assert!(output.status.code() == Some(2) && shown(&output).contains("--fleet"), "{}", shown(&output));
}
