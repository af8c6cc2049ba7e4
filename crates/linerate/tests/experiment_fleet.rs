//! `experiment --fleet` over captured machines, each with an agent, journals and a watch of its own, with the load from
//! two agents of this machine: arms in place on all nodes or on none, and every file as before whatever ends it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use linerate_record::experiment::{ExperimentReport, FLEET_EXPERIMENT_SCHEMA, OutcomeLine};
use tempfile::{TempDir, tempdir};

use crate::running::agents::{Files, Place, agents, captured, end_all, files_below, kill, loader, with_fleet};
use crate::running::{ACCESS_KEY, END, SECRET_KEY, Served, eventually, linerate, objects, shown, words};

const SWAPPINESS: &str = "proc/sys/vm/swappiness";
const MAP_COUNT: &str = "proc/sys/vm/max_map_count";

const COUNT: usize = 3;

/// Cells as short as they can be over agents.
const SHORT: &str = "--load get:16KiB@2 --settle 200ms --lasting 0s --no-same --alpha 0.45 --seed 7 --yes-load";

/// Why a cell may not count on a machine that does other things too: no request ended in so short a time.
const TOO_BUSY: &str = "nothing was measured once the time to settle was over";

/// Captured machines that store, two clients, and the target that these load.
struct Machines {
    place: Place,
    fleet: PathBuf,
    target: Served,
    _drive: TempDir,
}

impl Machines {
    fn make() -> Machines {
        let (place, drive) = (Place::make(), tempdir().expect("a folder"));
        let target = Served::embedded(drive.path());
        let node = |number: usize| {
            let connections = if number == 0 { "4096" } else { "128" };
            let mut files = vec![(SWAPPINESS, "60"), ("proc/sys/net/core/somaxconn", connections)];
            // The last node lacks it.
            if number + 1 < COUNT {
                files.push((MAP_COUNT, "65530"));
            }
            captured(&place, number, "role: storage", &files)
        };
        let mut nodes: Vec<String> = (0..COUNT).map(node).collect();
        nodes.extend([loader(&place, "c1"), loader(&place, "c2")]);
        let fleet = place.fleet(&nodes);
        Machines { place, fleet, target, _drive: drive }
    }

    /// `linerate experiment` with its fleet, and what it says to be read.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = with_fleet(&[&["experiment"][..], words].concat(), &self.fleet);
        command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// An experiment into the folder `out`.
    fn experiment(&self, flags: &str) -> Command {
        let mut command = self.command(&["--on", "storage", "--host", &self.target.address]);
        command.args(words(SHORT)).args(words(flags)).arg("-o").arg(self.out()).args(["--", "--objects", "8"]);
        command
    }

    fn resume(&self) -> Child {
        let out = self.out().display().to_string();
        self.command(&["resume", &out, "--yes-load"]).spawn().expect("it starts")
    }

    fn out(&self) -> PathBuf {
        self.place.path("out")
    }

    fn files(&self) -> Files {
        files_below((0..COUNT).map(|n| self.place.path(&format!("root{n}"))).collect())
    }

    /// How many nodes have this value.
    fn count_of(&self, path: &str, value: &str) -> usize {
        let has = |node: &usize| {
            let file = self.place.path(&format!("root{node}")).join(path);
            fs::read_to_string(file).is_ok_and(|text| text.trim_end() == value)
        };
        (0..COUNT).filter(has).count()
    }

    /// Waits until all nodes have had a value for a while, and cells are loaded.
    fn until_all_have(&self, value: &str, running: &mut Child) {
        let until = Instant::now() + END;
        let have = || {
            let cells = fs::read_dir(self.out().join("cells")).into_iter().flatten().flatten();
            cells.count() > 0 && self.count_of(SWAPPINESS, value) == COUNT
        };
        let mut since = Instant::now();
        while since.elapsed() < Duration::from_millis(300) {
            if !have() {
                since = Instant::now();
            }
            assert!(Instant::now() < until, "{value} is not in place");
            assert!(running.try_wait().expect("it can be waited for").is_none(), "it ended by itself");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the arm is in place.
    fn until_in_place(&self, running: &mut Child) {
        self.until_all_have("10", running);
    }

    /// That nothing is left on nodes, at the target, or running.
    fn assert_left(&self, before: &Files) {
        assert_eq!(self.files(), *before);
        assert_eq!(objects(&self.target), Vec::<String>::new());
        eventually("every agent to end", || agents(&self.place).is_empty());
    }

    fn outcomes(&self) -> Vec<OutcomeLine> {
        let text = fs::read_to_string(self.out().join("outcomes.jsonl")).expect("a file");
        text.lines().map(|line| serde_json::from_str(line).expect("a line")).collect()
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        end_all(&self.place);
    }
}

fn report(output: &Output) -> ExperimentReport {
    assert!(output.status.success(), "{}", shown(output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn arms_are_in_place_on_all_nodes_and_one_that_a_node_lacks_is_not_tested() {
    let machines = Machines::make();
    let before = machines.files();
    let planned = machines.experiment("--knob vm.swappiness=10 --measure 600ms --dry-run").output().expect("it runs");
    let said = shown(&planned);
    assert!(planned.status.success() && said.contains("vm.swappiness: \"60\" → \"10\""), "{said}");
    assert!(said.contains("changed: 3 storage nodes (n0, n1, n2); load from 2 clients (c1, c2)"), "{said}");
    machines.assert_left(&before);

    let flags = "--knob vm.swappiness=10 --knob vm.max_map_count=262144 --measure 600ms --blocks 4 -f json";
    let mut running = machines.experiment(flags).spawn().expect("it starts");
    machines.until_in_place(&mut running);
    let reported = report(&running.wait_with_output().expect("it ends"));
    machines.assert_left(&before);

    let experiment = &reported.experiment;
    let fleet = experiment.fleet.as_ref().expect("it is of a fleet");
    assert_eq!((experiment.schema, fleet.nodes.join(" ").as_str()), (FLEET_EXPERIMENT_SCHEMA, "n0 n1 n2"));
    assert_eq!(fleet.clients, ["c1", "c2"]);
    let arms: Vec<&str> = experiment.design.arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(arms, ["as it is", "vm.swappiness=10"]);
    let left = &experiment.not_tested[0];
    assert_eq!((experiment.not_tested.len(), left.arm.as_str()), (1, "vm.max_map_count=262144"));
    assert!(left.why.contains("1 of 3 nodes refuse it") && left.why.contains("n2: "), "{left:?}");
    assert!(experiment.notes.iter().any(|note| note.contains("net.core.somaxconn")), "{:?}", experiment.notes);
    assert_eq!(experiment.means[1].nodes.len(), COUNT);
    let outcomes = machines.outcomes();
    assert!(outcomes.len() >= 4, "{}", outcomes.len());
    for done in &outcomes {
        let fault = done.outcome.fault.as_deref().filter(|fault| *fault != TOO_BUSY);
        assert_eq!(fault, None, "{:?}", done.cell);
        let boots = done.outcome.fingerprint.keys().filter(|key| key.ends_with(" boot")).count();
        assert_eq!(boots, COUNT, "of each node");
    }
    let again = linerate().args(["experiment", "report"]).arg(machines.out()).output().expect("it runs");
    assert!(shown(&again).contains("3 storage nodes (n0, n1, n2); load from 2 clients (c1, c2)"), "{}", shown(&again));
}

#[test]
fn signals_roll_all_nodes_back_and_report_and_what_a_kill_leaves_is_restored_before_it_goes_on() {
    let machines = Machines::make();
    let before = machines.files();
    let flags = "--knob vm.swappiness=10 --measure 2s --blocks 4";
    let mut running = machines.experiment(flags).spawn().expect("it starts");
    machines.until_in_place(&mut running);
    kill("INT", running.id());
    let output = running.wait_with_output().expect("it ends");
    let said = shown(&output);
    assert!(output.status.code() == Some(130) && said.contains("experiment resume"), "{said}");
    let named = format!("--fleet {} continues", machines.fleet.display());
    assert!(said.contains(&named), "what goes on needs it: {said}");
    assert!(machines.out().join("report.html").exists(), "what was measured is shown");
    machines.assert_left(&before);

    let out = machines.out().display().to_string();
    let unnamed = linerate().args(["experiment", "resume", &out]).output().expect("it runs");
    assert!(unnamed.status.code() == Some(2) && shown(&unnamed).contains("give --fleet"), "{}", shown(&unnamed));
    let mut running = machines.resume();
    machines.until_in_place(&mut running);
    kill("TERM", running.id());
    let output = running.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", shown(&output));
    machines.assert_left(&before);

    let mut killed = machines.resume();
    machines.until_in_place(&mut killed);
    kill("KILL", killed.id());
    killed.wait().expect("it ended");
    assert_eq!(machines.count_of(SWAPPINESS, "10"), COUNT, "the nodes keep the arm for a while");
    let output = machines.resume().wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", shown(&output));
    machines.assert_left(&before);
}

#[test]
fn an_arm_that_a_node_refuses_in_a_later_cell_is_on_none_and_its_block_does_not_count() {
    let machines = Machines::make();
    let mut before = machines.files();
    let flags = "--knob vm.swappiness=10 --blocks 12 --measure 2s";
    let mut running = machines.experiment(flags).spawn().expect("it starts");
    // While the baseline is loaded, so that the node has nothing to roll back.
    machines.until_all_have("60", &mut running);
    let boot = machines.place.path("root2/proc/sys/kernel/random/boot_id");
    fs::write(&boot, "22222222-2222-2222-2222-222222222222\n").expect("a file");
    let output = running.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3), "the arm fails three times in a row: {}", shown(&output));
    before.insert(boot.clone(), fs::read(&boot).expect("a file"));
    machines.assert_left(&before);
    let outcomes = machines.outcomes();
    let refused: Vec<&OutcomeLine> = outcomes
        .iter()
        .filter(|done| {
            let fault = done.outcome.fault.as_deref().unwrap_or_default();
            fault.starts_with("the arm was not in place on all nodes: n2: it was rebooted")
        })
        .collect();
    assert_eq!(refused.len(), 3, "{outcomes:?}");
    assert!(refused.iter().all(|done| done.outcome.throughput_per_s.is_empty()), "nothing was loaded");
}

#[test]
fn the_target_is_restarted_in_rounds_and_none_is_begun_before_it_is_well() {
    let machines = Machines::make();
    let before = machines.files();
    let said = machines.place.path("rounds");
    let shown_to = |text: &str| format!("echo {text} >>{}", said.display());
    let mut command = machines.command(&["--on", "storage", "--host", &machines.target.address]);
    command.args(words(SHORT)).args(words("--knob vm.swappiness=10 --measure 600ms --blocks 3"));
    command.args(["--restart", &shown_to("$LINERATE_ROUND $LINERATE_NODES"), "--health", &shown_to("well")]);
    let output = command.arg("-o").arg(machines.out()).args(["--", "--objects", "8"]).output().expect("it runs");
    assert!(output.status.success(), "{}", shown(&output));
    machines.assert_left(&before);
    let said = fs::read_to_string(said).expect("a file");
    let mut lines: Vec<&str> = said.lines().collect();
    let looks = lines.iter().take_while(|line| **line == "well").count();
    assert!(looks >= 3, "it is looked at several times: {said}");
    lines.dedup();
    assert_eq!(lines.pop(), Some("well"), "{said}");
    let round = ["well", "1 n0", "well", "2 n1", "well", "3 n2"];
    // Each arm before anything is loaded, four cells, and twice with what was there before.
    assert!(lines.len() >= 8 * round.len(), "{said}");
    assert!(lines.chunks(round.len()).all(|lines| lines == round), "{said}");
}

#[test]
fn a_value_that_somebody_sets_meanwhile_is_left_to_them_and_ends_the_experiment() {
    let machines = Machines::make();
    let file = machines.place.path("root1").join(SWAPPINESS);
    let flags = "--knob vm.swappiness=10 --blocks 3 -f json --measure 3s";
    let mut running = machines.experiment(flags).spawn().expect("it starts");
    machines.until_in_place(&mut running);
    fs::write(&file, "33\n").expect("a file");
    let output = running.wait_with_output().expect("it ends");
    // What somebody else has set is left to them, and is no ground for another cell.
    assert_eq!(output.status.code(), Some(6), "{}", shown(&output));
    assert!(shown(&output).contains("n1"), "{}", shown(&output));
    assert_eq!(machines.count_of(SWAPPINESS, "60"), COUNT - 1);
    assert_eq!(machines.count_of(SWAPPINESS, "33"), 1);
}

#[test]
fn what_cannot_be_is_refused_before_any_node_is_asked() {
    let machines = Machines::make();
    let before = machines.files();
    let host = machines.target.address.clone();
    let refused = |fleet: Option<&Path>, flags: &[&str], part: &str| {
        let mut command = linerate();
        command.args(["experiment", "--knob", "vm.swappiness=10", "-o"]).arg(machines.out()).args(flags);
        fleet.iter().for_each(|fleet| {
            command.arg("--fleet").arg(fleet);
        });
        let output = command.output().expect("it runs");
        assert!(output.status.code() == Some(2) && shown(&output).contains(part), "{part}: {}", shown(&output));
        assert!(!machines.out().exists());
    };
    let fleet = Some(machines.fleet.as_path());
    refused(fleet, &["--host", &host], "--on storage or --on client");
    refused(None, &["--host", &host, "--on", "storage"], "--fleet");
    refused(fleet, &["--on", "storage", "--yes-exec"], "give --host");
    refused(fleet, &["--on", "client", "--host", &host, "--restart", "true"], "drop --restart");
    refused(fleet, &["--on", "storage", "--host", &host, "--health", "true"], "--restart");
    refused(None, &["--site", "site.yaml", "--host", &host], "give --profile or --fleet");
    let fleet_file = |name: &str, nodes: &str| {
        let path = machines.place.path(name);
        fs::write(&path, format!("nodes:\n{nodes}")).expect("a file");
        path
    };
    let pids = fleet_file("pids.yaml", "  - {name: a, role: storage, reach: 'pid://1'}\n  - {name: c, role: client}\n");
    refused(Some(&pids), &["--on", "storage", "--host", &host], "go with it");
    let alone = fleet_file("alone.yaml", "  - {name: a, role: storage, reach: here}\n");
    refused(Some(&alone), &["--on", "storage", "--host", &host], "no node with role: client");
    assert_eq!(machines.files(), before);
}
