//! What an experiment wrote at targets that stay: deleted after the last cell with the keys that wrote it, or told with
//! the command that deletes it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use linerate_analysis::findings::left_behind;
use linerate_load::hosts;
use linerate_record::experiment::{ArmSetup, KeySource};
use linerate_record::load::Load;
use linerate_record::run::Manifest;
use linerate_record::sanitize::clause;

use super::arm_targets::{ArmTarget, ArmTargets};
use super::bench_process::ProcessEnd;
use super::cells::{ExperimentContext, POLL_INTERVAL, RESTART_TIMEOUT};
use crate::files::local_state::{self, Note};
use crate::files::run_folder;
use crate::files::run_view;
use crate::run::cleanup::cleanup_target::bucket_note;
use crate::run::cleanup::{CleanupRequest, clean, command};
use crate::terminal::failure::{Failure, code};
use crate::terminal::progress::{Progress, print_error};

/// From this exit code on, a signal ended a process.
const SIGNAL_EXIT_CODES_FROM: i32 = 128;

/// Clears what was written to be read, by this process or by one that was killed.
pub(super) fn clear_prepared_objects(experiment_context: &ExperimentContext, means: &[ArmSetup], progress: &Progress) {
    for (folder, manifest) in object_folders(&experiment_context.folder) {
        let arm = manifest.as_ref().ok().and_then(|manifest| {
            arm_that_wrote(&experiment_context.targets, manifest.load.as_ref(), &manifest.target.hosts)
        });
        // The embedded target goes with everything in it: of its bucket a note alone is left.
        if let Ok(manifest) = &manifest
            && went_with_embedded_target(&experiment_context.targets, arm, &manifest.target.hosts)
        {
            local_state::remove_note(Note::Bucket, &bucket_note(manifest));
            continue;
        }
        progress.live("deleting the objects that were read");
        let arm = arm.unwrap_or(0);
        let until = Instant::now() + RESTART_TIMEOUT;
        let mut done = clear_set(&experiment_context.targets.per_arm[arm], &folder);
        // A target that was restarted for the last time may not serve yet.
        while done.is_err() && experiment_context.environment.restart.is_some() && Instant::now() < until {
            std::thread::sleep(5 * POLL_INTERVAL);
            done = clear_set(&experiment_context.targets.per_arm[arm], &folder);
        }
        if let Err(error) = done {
            let keys = means.get(arm).map(|means| &means.keys);
            print_error(&format!(
                "warning: objects remain: {error}; delete them with {}",
                cleanup_command(&folder, &experiment_context.targets.per_arm[arm], keys)
            ));
        }
    }
}

/// The folders of objects that were written to be read. The one whose run made the bucket comes last: it is removed
/// when nothing is in it any more.
fn object_folders(experiment: &Path) -> Vec<(PathBuf, Result<Manifest, Failure>)> {
    let entries = std::fs::read_dir(experiment).into_iter().flatten().flatten();
    let is_objects = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("objects") && path.join("run.json").exists()
    };
    let folders = entries.map(|entry| entry.path()).filter(is_objects);
    let mut all: Vec<_> = folders.map(|folder| (folder.clone(), run_folder::read_manifest(&folder))).collect();
    let made_bucket = |manifest: &Result<Manifest, Failure>| manifest.as_ref().is_ok_and(|of| of.target.bucket_made);
    all.sort_by_key(|(folder, manifest)| (made_bucket(manifest), folder.clone()));
    all
}

/// The arm whose load wrote objects at these hosts or, where a version wrote them that did not describe its load, one
/// that loads where they are.
fn arm_that_wrote(targets: &ArmTargets, load: Option<&Load>, recorded: &[String]) -> Option<usize> {
    let recorded = hosts::recorded(recorded).unwrap_or_default();
    let is_there = |aim: &ArmTarget| recorded.iter().any(|host| aim.authorities().contains(&host.authority));
    let writing_arm = load.and_then(|load| targets.writing_arm(load));
    writing_arm.or_else(|| targets.per_arm.iter().position(is_there))
}

/// Whether objects went with the embedded target that held them: that of this process, or one of a process that was
/// killed, at whose address no arm is loaded.
fn went_with_embedded_target(targets: &ArmTargets, arm: Option<usize>, recorded: &[String]) -> bool {
    let is_loopback =
        |host: &hosts::Recorded| host.authority.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_loopback());
    let is_of_own =
        || targets.embedded.is_some() && hosts::recorded(recorded).is_ok_and(|all| all.iter().all(is_loopback));
    arm.map_or_else(is_of_own, |arm| targets.is_own(arm))
}

/// Clears one set, with the keys and the trust of the arm that wrote it.
fn clear_set(aim: &ArmTarget, folder: &Path) -> Result<(), Failure> {
    let order = CleanupRequest {
        run: folder,
        dry_run: false,
        yes_load: false,
        remove_bucket: false,
        source: None,
        trust: aim.load.endpoint.tls.clone().unwrap_or_default(),
        timeout: Duration::from_nanos(aim.load.stops.timeout_ns),
        region: None,
        // Who consented to the load did so to its end, and to no other host that a folder names.
        consented: aim.pinned_hosts(),
        command: cleanup_command(folder, aim, None),
    };
    let (_, left) = clean(&order, |_| Ok(aim.credentials.clone()))?;
    left.map_or(Ok(()), Err)
}

/// Tells what the load of a cell left at a target that stays, where it says so or could not clear up.
pub(super) fn report_leftovers(
    experiment_context: &ExperimentContext,
    folder: &Path,
    ended: &ProcessEnd,
    arm: usize,
    keys: &KeySource,
) {
    if ended.code == Some(0) || experiment_context.targets.is_own(arm) || !folder.join("run.json").exists() {
        return;
    }
    let is_killed =
        ended.code.is_none_or(|found| found > SIGNAL_EXIT_CODES_FROM && found != i32::from(code::INTERRUPTED));
    let found = || Some(left_behind(&run_view::read_view(folder).ok()?)?.evidence.clone());
    let why = if is_killed { Some("its process was killed".to_owned()) } else { found() };
    if let Some(why) = why {
        let (cell, cleaning) =
            (folder.display(), cleanup_command(folder, &experiment_context.targets.per_arm[arm], Some(keys)));
        print_error(&format!(
            "warning: objects of {cell} may remain at the target: {}; delete them with {cleaning}",
            clause(&why)
        ));
    }
}

/// The command that cleans after a load of an arm, with what no folder may hold: whom to trust, and whose keys to take.
fn cleanup_command(folder: &Path, aim: &ArmTarget, keys: Option<&KeySource>) -> String {
    let endpoint = &aim.load.endpoint;
    let keys = keys.unwrap_or(&KeySource::Environment);
    command(folder, &endpoint.tls.clone().unwrap_or_default(), endpoint.anonymous, keys)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use linerate_record::load::{Endpoint, Server, TlsTrust};
    use serde_json::{from_value, json};

    use super::*;
    use crate::commands::experiment::arm_targets::{self, ArmLoad, HostSource};

    fn load(change: impl Fn(&mut Endpoint)) -> Load {
        let mut load: Load = from_value(json!({
            "endpoint": {
                "server": { "hosts": { "authorities": ["127.0.0.1:9"], "every_address": false } }, "anonymous": true,
                "region": "r", "bucket": "one", "prefix": "", "lookup": "path", "host_select": "round-robin",
            },
            "work": [{ "workload": "get", "sizes": ["1KiB"] }],
            "objects": { "write": "put", "list_existing": false, "noclear": false },
            "bodies": {
                "payload": "signed", "unique": "tail", "part_bytes": 5, "part_concurrent": 1, "verify": false,
            },
            "levels": { "given": [1] },
            "time": { "duration_ns": 1, "warmup_ns": null, "precision": null },
            "stops": { "timeout_ns": 1, "retries": 0 },
        }))
        .unwrap();
        change(&mut load.endpoint);
        load
    }

    fn at(authority: &'static str) -> impl Fn(&mut Endpoint) {
        move |endpoint| {
            endpoint.server = Server::named(vec![authority.to_owned()], false);
        }
    }

    fn targets(loads: &[Load]) -> ArmTargets {
        let arm_load = |load: &Load| ArmLoad { load: load.clone(), keys: KeySource::Environment, yes_load: true };
        arm_targets::resolve_targets(&loads.iter().map(arm_load).collect::<Vec<_>>(), HostSource::Flags, false).unwrap()
    }

    #[test]
    fn objects_are_of_the_arm_that_wrote_them_and_not_of_another_at_the_same_hosts() {
        let in_bucket = |bucket: &'static str| load(move |endpoint| bucket.clone_into(&mut endpoint.bucket));
        let loads = [in_bucket("one"), in_bucket("one"), in_bucket("two"), load(at("127.0.0.2:9"))];
        let targets = targets(&loads);
        let here = ["127.0.0.1:9".to_owned()];
        for (written, expected) in [(0, 0), (1, 0), (2, 2)] {
            assert_eq!(arm_that_wrote(&targets, Some(&loads[written]), &here), Some(expected), "{written}");
        }
        assert_eq!(
            arm_that_wrote(&targets, None, &["127.0.0.2:9".to_owned()]),
            Some(3),
            "a load that nobody described"
        );
        assert_eq!(arm_that_wrote(&targets, None, &["127.0.0.3:9".to_owned()]), None);
        assert!(
            !went_with_embedded_target(&targets, Some(2), &here)
                && !went_with_embedded_target(&targets, None, &["127.0.0.3:9".to_owned()])
        );
    }

    #[test]
    fn the_folder_whose_run_made_the_bucket_is_cleared_last() {
        let experiment = tempfile::tempdir().unwrap();
        let recorded = include_str!("../../../tests/recorded/bench-schema-3-mixed/run.json");
        let mut manifest: serde_json::Value = serde_json::from_str(recorded).unwrap();
        for (name, bucket_made) in [("objects", true), ("objects-2", false), ("objects-3", false)] {
            let folder = experiment.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            manifest["target"]["bucket_made"] = bucket_made.into();
            std::fs::write(folder.join("run.json"), manifest.to_string()).unwrap();
        }
        let names = object_folders(experiment.path()).into_iter().map(|(folder, manifest)| {
            assert!(manifest.is_ok(), "{manifest:?}");
            folder.file_name().unwrap().to_string_lossy().into_owned()
        });
        assert_eq!(names.collect::<Vec<_>>(), ["objects-2", "objects-3", "objects"]);
    }

    #[test]
    fn the_command_that_cleans_says_whom_to_trust_and_whose_keys_to_take() {
        let tls = |insecure, ca_file: Option<&str>| TlsTrust { insecure, ca_file: ca_file.map(PathBuf::from) };
        let mut targets = targets(&[
            load(|endpoint| endpoint.tls = Some(tls(false, Some("ca.pem")))),
            load(|endpoint| endpoint.tls = Some(tls(true, None))),
        ]);
        // Whose requests are signed has keys, which this machine need not have.
        targets.per_arm[0].load.endpoint.anonymous = false;
        let command_for =
            |arm: usize, keys: &KeySource| cleanup_command(Path::new("x/objects"), &targets.per_arm[arm], Some(keys));
        let profile = KeySource::Profile("storage".to_owned());
        assert_eq!(command_for(0, &profile), "linerate clean x/objects --ca-file ca.pem --profile storage");
        let alias = KeySource::Alias("storage".to_owned());
        assert_eq!(command_for(0, &alias), "linerate clean x/objects --ca-file ca.pem --alias storage");
        assert_eq!(command_for(1, &profile), "linerate clean x/objects --insecure --anonymous");
        assert_eq!(command_for(1, &alias), "linerate clean x/objects --insecure --anonymous");
    }
}
