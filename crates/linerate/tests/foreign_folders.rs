//! Folders that somebody else may have made: what they say is held against rules, asked about, or refused. No root,
//! nothing changed on the machine.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use crate::running::{ACCESS_KEY, SECRET_KEY, Served, bench, eventually_within, files_below, linerate, shown, words};

/// How long a machine that does other things as well may take for a cell.
const LONG: Duration = Duration::from_secs(120);

/// A run that leaves an object and a bucket.
const LEAVES: &str = "--op stat --obj.size 10 --concurrent 1 --duration 100ms --warmup 0s --no-ceiling --objects 1 \
                      --quiet --noclear";

fn clean(run: &Path, flags: &[&str], state: Option<&Path>) -> Output {
    let mut command = linerate();
    command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    command.env("AWS_SESSION_TOKEN", "a-token-of-the-tests");
    command.envs(state.map(|state| ("LINERATE_STATE", state)));
    command.arg("clean").arg(run).args(flags).output().expect("linerate runs")
}

/// The manifest of a run that left something, and the target that has it.
struct Left {
    run: TempDir,
    target: Served,
    _drive: TempDir,
}

impl Left {
    fn by(flags: &str) -> Left {
        let (drive, run) = (tempdir().expect("a folder"), tempdir().expect("a folder"));
        let target = Served::embedded(drive.path());
        let output = bench(run.path(), &format!("{} {LEAVES}", flags.replace("TARGET", &target.address)));
        assert!(output.status.success(), "{}", shown(&output));
        Left { run, target, _drive: drive }
    }

    /// A copy of the folder in which fields of its manifest say something else.
    fn forged(&self, fields: &[(&str, Value)]) -> TempDir {
        let folder = tempdir().expect("a folder");
        let text = fs::read_to_string(self.run.path().join("run.json")).expect("it is there");
        let mut manifest: Value = serde_json::from_str(&text).expect("JSON");
        for (field, value) in fields {
            *manifest.pointer_mut(field).unwrap_or_else(|| panic!("{field}")) = value.clone();
        }
        fs::write(folder.path().join("run.json"), manifest.to_string()).expect("it is written");
        folder
    }

    fn said(&self, field: &str) -> String {
        let text = fs::read_to_string(self.run.path().join("run.json")).expect("it is there");
        let manifest: Value = serde_json::from_str(&text).expect("JSON");
        manifest.pointer(field).and_then(Value::as_str).expect("a text").to_owned()
    }

    fn bucket(&self, name: &str) -> std::path::PathBuf {
        self.target.root.as_deref().expect("it has a folder").join(name)
    }
}

#[test]
fn a_forged_manifest_leads_to_no_request() {
    let left = Left::by("--host TARGET");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let prefix = left.said("/resolved/prefix");
    let long = "x".repeat(1 << 20);
    let cases: Vec<(&str, Value, &str)> = vec![
        ("/load/endpoint/bucket", json!("data/backup/thesis.txt"), "invalid bucket name"),
        ("/load/endpoint/bucket", json!("data\r\nX-Injected: 1"), "invalid bucket name"),
        ("/load/endpoint/bucket", json!("data?delete"), "invalid bucket name"),
        ("/load/endpoint/bucket", json!(".."), "invalid bucket name"),
        ("/load/endpoint/bucket", json!(""), "invalid bucket name"),
        ("/load/endpoint/bucket", json!("192.0.2.1"), "invalid bucket name"),
        ("/load/endpoint/bucket", json!(long), "invalid bucket name"),
        ("/target/region", json!("us-east-1\r\nX-Injected: 1"), "invalid region"),
        ("/target/region", json!("us-east-1/s3"), "invalid region"),
        ("/target/region", json!(""), "invalid region"),
        ("/resolved/prefix", json!(format!("../other/{prefix}")), "invalid prefix"),
        ("/resolved/prefix", json!(format!("a\r\n{prefix}")), "invalid prefix"),
        ("/resolved/prefix", json!(format!("/{prefix}")), "invalid prefix"),
        ("/resolved/prefix", json!(format!("{prefix}backup/")), "not this run's own"),
        ("/resolved/prefix", json!(""), "not this run's own"),
        ("/id", json!("../backup"), "invalid id"),
        ("/id", json!(""), "invalid id"),
        ("/target/hosts", json!([]), "no host"),
        ("/target/hosts", json!([format!("{host}\r\nX-Injected: 1")]), "invalid host"),
        ("/target/hosts", json!([format!("{host} (192.0.2.1)")]), "invalid host"),
        ("/target/hosts", json!([format!("key:secret@{host}")]), "invalid host"),
        ("/target/hosts", json!([format!("{host}/bucket")]), "invalid host"),
        ("/target/lookup", json!("dns"), "invalid lookup"),
        ("/target/kind", json!("a\r\nb"), "invalid kind"),
    ];
    for (field, value, part) in cases {
        let forged = left.forged(&[("/target/hosts", json!([host])), (field, value.clone())]);
        for flags in [&[][..], &["--dry-run"], &["--yes-load", "--remove-bucket"]] {
            let output = clean(forged.path(), flags, None);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{field} {part}: {said}");
            assert!(said.contains(part) && said.lines().count() == 1 && said.len() < 2000, "{field} {part}: {said}");
            assert!(output.stdout.is_empty() && listener.accept().is_err(), "{field} {part}: {said}");
        }
    }
}

#[test]
fn hosts_that_are_not_this_machine_are_asked_about_before_a_key_goes_there() {
    let left = Left::by("--host TARGET");
    for (hosts, part) in [
        (json!(["192.0.2.1:9000"]), "192.0.2.1:9000 is not this machine"),
        // No name server is asked either where the folder says the address.
        (json!(["minio.invalid:9000 (192.0.2.1)", "127.0.0.1:9000"]), "minio.invalid:9000 (192.0.2.1)"),
    ] {
        let forged = left.forged(&[("/target/hosts", hosts), ("/target/on_this_machine", json!(true))]);
        for flags in [&[][..], &["--dry-run"], &["--remove-bucket"]] {
            let output = clean(forged.path(), flags, None);
            assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
            for part in [part, "--yes-load", &left.said("/resolved/prefix")] {
                assert!(shown(&output).contains(part), "{part}: {}", shown(&output));
            }
        }
    }
}

#[test]
fn names_of_a_folder_are_looked_up_only_after_consent() {
    let left = Left::by("--host TARGET");
    let here = left.said("/target/hosts/0");
    let port = here.rsplit(':').next().unwrap();
    // No name server knows it, so that a look-up ends with 3.
    let elsewhere = "leak-of-a-folder.invalid:9000";
    for hosts in [json!([elsewhere]), json!([here, elsewhere]), json!([format!("localhost:{port}"), elsewhere])] {
        let forged = left.forged(&[("/target/hosts", hosts)]);
        for flags in [&[][..], &["--dry-run"], &["--remove-bucket"]] {
            let reported = clean(forged.path(), flags, None);
            assert_eq!(reported.status.code(), Some(2), "{}", shown(&reported));
            for part in [&format!("{elsewhere} is not known to be this machine"), "--yes-load"] {
                assert!(shown(&reported).contains(part), "{part}: {}", shown(&reported));
            }
        }
        let looked_up = clean(forged.path(), &["--dry-run", "--yes-load"], None);
        assert!(looked_up.status.code() == Some(3) && shown(&looked_up).contains("resolve"), "{}", shown(&looked_up));
    }
    let forged = left.forged(&[("/target/hosts", json!([format!("localhost:{port}")]))]);
    let listed = clean(forged.path(), &["--dry-run"], None);
    assert!(listed.status.success(), "{}", shown(&listed));

    let out = tempdir().unwrap();
    let folder = out.path().join("forged");
    begun(&folder);
    let requested = folder.join("experiment.json");
    let mut forged: Value = serde_json::from_str(&fs::read_to_string(&requested).unwrap()).unwrap();
    let server = json!({ "hosts": { "authorities": [elsewhere], "every_address": false } });
    forged["load"]["endpoint"]["server"] = server;
    forged["target"] = json!(elsewhere);
    fs::write(&requested, forged.to_string()).unwrap();
    for (flags, code, part) in [
        (&["--yes-run"][..], 2, "is not known to be this machine"),
        (&["--yes-load"], 2, "--yes-run"),
        (&["--yes-run", "--yes-load"], 3, "resolve"),
    ] {
        let reported = linerate().args(["experiment", "resume"]).arg(&folder).args(flags).output().unwrap();
        assert_eq!(reported.status.code(), Some(code), "{flags:?}: {}", shown(&reported));
        assert!(
            shown(&reported).contains(part) && shown(&reported).contains(elsewhere),
            "{flags:?}: {}",
            shown(&reported)
        );
    }
}

#[test]
fn a_bucket_goes_only_where_this_machine_noted_that_the_run_made_it() {
    let left = Left::by("--host TARGET");
    let (bucket, elsewhere) = (left.bucket("linerate-bench"), tempdir().unwrap());
    // Somebody's bucket that happens to be empty.
    fs::create_dir(left.bucket("theirs")).unwrap();
    let forged = left.forged(&[("/load/endpoint/bucket", json!("theirs")), ("/target/bucket_made", json!(true))]);
    let kept = clean(forged.path(), &[], None);
    assert!(kept.status.success() && shown(&kept).contains("--remove-bucket"), "{}", shown(&kept));
    assert!(left.bucket("theirs").exists());

    // Another machine, as it were: it deletes what is below the prefix, and the bucket stays.
    let is_object = |file: &String| !file.split('/').any(|part| part.starts_with('.'));
    let objects = || files_below(&bucket).iter().filter(|file| is_object(file)).count();
    assert_eq!(objects(), 1);
    let kept = clean(left.run.path(), &[], Some(elsewhere.path()));
    assert!(kept.status.success() && shown(&kept).contains("no note of that"), "{}", shown(&kept));
    assert!(bucket.exists() && objects() == 0, "{}", shown(&kept));
    let reported = clean(left.run.path(), &["--dry-run", "--remove-bucket"], Some(elsewhere.path()));
    assert!(shown(&reported).contains("would remove bucket") && bucket.exists(), "{}", shown(&reported));
    let removed = clean(left.run.path(), &["--remove-bucket"], Some(elsewhere.path()));
    assert!(shown(&removed).contains("removed bucket") && !bucket.exists(), "{}", shown(&removed));
}

#[test]
fn a_note_is_this_users_own_and_goes_with_the_bucket() {
    let (drive, run, state) = (tempdir().unwrap(), tempdir().unwrap(), tempdir().unwrap());
    let target = Served::embedded(drive.path());
    let notes = state.path().join("buckets");
    let bench = |folder: &Path, flags: &str| {
        let mut command = linerate();
        command.env("LINERATE_STATE", state.path());
        command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
        command.arg("bench").args(["--host", &target.address]).args(words(flags)).arg("-o").arg(folder);
        let output = command.output().expect("linerate runs");
        assert!(output.status.success(), "{}", shown(&output));
    };
    bench(&run.path().join("a"), LEAVES.trim_end_matches("--noclear"));
    assert_eq!(files_below(&notes), Vec::<String>::new(), "the run removed its bucket itself");
    bench(&run.path().join("b"), LEAVES);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let [note]: [String; 1] = files_below(&notes).try_into().unwrap();
    assert_eq!((mode(&notes), mode(&notes.join(&note))), (0o700, 0o600));

    // What others can write to proves nothing.
    fs::set_permissions(&notes, fs::Permissions::from_mode(0o777)).unwrap();
    let kept = clean(&run.path().join("b"), &[], Some(state.path()));
    assert!(shown(&kept).contains("no note of that"), "{}", shown(&kept));
    fs::set_permissions(&notes, fs::Permissions::from_mode(0o700)).unwrap();
    let removed = clean(&run.path().join("b"), &[], Some(state.path()));
    assert!(shown(&removed).contains("removed bucket"), "{}", shown(&removed));
    assert_eq!(files_below(&notes), Vec::<String>::new());
}

#[test]
fn runs_are_cleaned_by_the_addresses_that_they_loaded_from_and_to() {
    // Hosts that share a name are told by their addresses, as those of --resolve-host are.
    for flags in ["--host TARGET,TARGET", "--host TARGET,TARGET --source 127.0.0.2", "--host TARGET --source 127.0.0.3"]
    {
        let left = Left::by(flags);
        let cleaned = clean(left.run.path(), &[], None);
        assert!(cleaned.status.success() && shown(&cleaned).contains("deleted 1 object"), "{}", shown(&cleaned));
        assert!(!left.bucket("linerate-bench").exists(), "{flags}: {}", shown(&cleaned));
    }
    let left = Left::by("--host TARGET --source 127.0.0.2");
    let forged = left.forged(&[("/resolved/sources", json!(["192.0.2.7"]))]);
    let reported = clean(forged.path(), &["--dry-run"], None);
    assert!(reported.status.success() && shown(&reported).contains("warning: connections use"), "{}", shown(&reported));
    let refused = clean(forged.path(), &["--source", "192.0.2.7"], None);
    assert!(refused.status.code() == Some(2) && shown(&refused).contains("192.0.2.7"), "{}", shown(&refused));
}

#[test]
fn a_run_over_tls_tells_the_flags_that_clean_it_and_no_folder_gives_them() {
    let (drive, run) = (tempdir().unwrap(), tempdir().unwrap());
    let target = Served::start("embedded", Some(drive.path()), "--tls");
    let output = bench(run.path(), &format!("--host https://{} --ca-file {} {LEAVES}", target.address, target.ca));
    assert!(output.status.success(), "{}", shown(&output));
    let command = format!("linerate clean {} --ca-file {}", run.path().display(), target.ca);
    let findings = fs::read_to_string(run.path().join("findings.jsonl")).unwrap();
    assert!(findings.contains(&command), "{findings}");
    let refused = clean(run.path(), &[], None);
    assert!(refused.status.code() == Some(3) && shown(&refused).contains("--ca-file"), "{}", shown(&refused));
    let cleaned = clean(run.path(), &["--ca-file", &target.ca], None);
    assert!(cleaned.status.success() && shown(&cleaned).contains("removed bucket"), "{}", shown(&cleaned));
}

#[test]
fn what_others_can_write_to_is_read_and_not_acted_upon() {
    let left = Left::by("--host TARGET");
    let (run, manifest) = (left.run.path(), left.run.path().join("run.json"));
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    for (path, open, own) in [(run, 0o777, 0o700), (run, 0o770, 0o700), (&manifest, 0o666, 0o644)] {
        mode(path, open);
        let refused = clean(run, &["--dry-run"], None);
        assert_eq!(refused.status.code(), Some(2), "{open:o}: {}", shown(&refused));
        assert!(shown(&refused).contains("chmod go-w"), "{open:o}: {}", shown(&refused));
        let read = linerate().arg("report").arg(run).output().unwrap();
        assert!(read.status.success(), "{open:o}: {}", shown(&read));
        mode(path, own);
    }
    assert!(clean(run, &["--dry-run"], None).status.success());

    let folder = tempdir().unwrap();
    fs::write(folder.path().join("experiment.json"), "{}").unwrap();
    mode(folder.path(), 0o777);
    let refused = linerate().args(["experiment", "resume"]).arg(folder.path()).output().unwrap();
    assert!(refused.status.code() == Some(2) && shown(&refused).contains("chmod go-w"), "{}", shown(&refused));
}

#[test]
fn what_others_can_put_another_in_the_place_of_is_read_and_not_acted_upon() {
    let left = Left::by("--host TARGET");
    let above = tempdir().unwrap();
    let shared = above.path().join("shared");
    let (run, experiment) = (shared.join("mine/run"), shared.join("mine/experiment"));
    for folder in [&run, &experiment] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::copy(left.run.path().join("run.json"), run.join("run.json")).unwrap();
    fs::write(experiment.join("experiment.json"), "{}").unwrap();
    fs::write(shared.join("mine/changes.json"), "{}").unwrap();
    std::os::unix::fs::symlink(shared.join("mine"), above.path().join("link")).unwrap();
    let linked = above.path().join("link/run");
    let resume = |folder: &Path| linerate().args(["experiment", "resume"]).arg(folder).output().unwrap();
    let apply = || linerate().args(["tune", "apply"]).arg(shared.join("mine/changes.json")).output().unwrap();
    let begin = || {
        let mut command = linerate();
        command.args(["experiment", "--arm", "one=true", "--arm", "other=true", "--load", "put:16KiB@2", "-o"]);
        command.arg(shared.join("new")).output().unwrap()
    };
    let mode = |mode| fs::set_permissions(&shared, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o777);
    for (what, refused) in [
        ("clean", clean(&run, &["--dry-run"], None)),
        ("clean behind a link", clean(&linked, &["--dry-run"], None)),
        ("resume", resume(&experiment)),
        ("apply", apply()),
        ("begin", begin()),
    ] {
        let reported = shown(&refused);
        assert_eq!(refused.status.code(), Some(2), "{what}: {reported}");
        let fix = format!("chmod go-w {}", shared.canonicalize().unwrap().display());
        assert!(reported.contains(&fix) && reported.contains("others could replace"), "{what}: {reported}");
    }
    assert!(!shared.join("new").exists());
    let read = linerate().arg("report").arg(&run).output().unwrap();
    assert!(read.status.success(), "{}", shown(&read));
    // In a sticky folder nobody moves what is another's.
    for safe in [0o1777, 0o755] {
        mode(safe);
        let listed = clean(&linked, &["--dry-run"], None);
        assert!(listed.status.success(), "{safe:o}: {}", shown(&listed));
        for other in [resume(&experiment), apply()] {
            assert!(!shown(&other).contains("others could replace"), "{safe:o}: {}", shown(&other));
        }
    }
}

#[test]
fn files_that_never_end_are_no_run_folder() {
    let left = Left::by("--host TARGET");
    for name in ["run.json", "points.jsonl", "intervals.jsonl", "readings.jsonl", "findings.jsonl"] {
        for target in ["/dev/zero", "fifo"] {
            let folder = left.forged(&[]);
            let made = Command::new("mkfifo").arg(folder.path().join("fifo")).status().expect("mkfifo runs");
            assert!(made.success());
            let path = folder.path().join(name);
            let _ = fs::remove_file(&path);
            std::os::unix::fs::symlink(target, &path).unwrap();
            for verb in ["report", "clean"] {
                // A folder whose points have no end is cleaned: only its manifest is read.
                if verb == "clean" && name != "run.json" {
                    continue;
                }
                let output = linerate().arg(verb).arg(folder.path()).output().expect("linerate runs");
                let code = output.status.code();
                assert!(matches!(code, Some(1 | 2)), "{verb} {name} {target}: {code:?} {}", shown(&output));
            }
        }
    }
}

#[test]
fn figures_that_cannot_have_been_measured_are_refused_by_their_line() {
    let left = Left::by("--host TARGET");
    let changed = |file: &str, field: &str, value: &str| {
        let folder = left.forged(&[]);
        let path = folder.path().join(file);
        let text = fs::read_to_string(left.run.path().join(file)).unwrap();
        let at = text.find(&format!("\"{field}\":")).expect("it is there") + field.len() + 3;
        let end = at + text[at..].find([',', ']', '}']).unwrap();
        fs::write(&path, format!("{}{value}{}", &text[..at], &text[end..])).unwrap();
        let output = linerate().arg("report").arg(folder.path()).output().expect("linerate runs");
        (output.status.code(), shown(&output))
    };
    for (file, field, value) in [
        ("intervals.jsonl", "to_ms", "0"),
        ("intervals.jsonl", "from_ms", "18446744073709551615"),
        ("intervals.jsonl", "thread_cpu_ns", "[18446744073709551615"),
        ("intervals.jsonl", "requests", "18446744073709551615"),
        ("readings.jsonl", "at_ms", "1099511627775"),
        ("readings.jsonl", "unix_ms", "18446744073709551615"),
    ] {
        let (code, reported) = changed(file, field, value);
        let line = format!("{file}, line ");
        assert!(
            code == Some(2) && reported.contains(&line) && !reported.contains("panic"),
            "{field} {value}: {code:?} {reported}"
        );
    }
}

/// An experiment that was interrupted after its first cells.
fn begun(folder: &Path) {
    let mut command = linerate();
    command.args(["experiment", "--arm", "one=true", "--arm", "other=true", "--blocks", "9", "--alpha", "0.1"]);
    command.args(words("--load put:16KiB@2 --settle 50ms --measure 200ms --seed 7 -o")).arg(folder);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("linerate runs");
    let outcomes = folder.join("outcomes.jsonl");
    eventually_within(LONG, "a cell", || fs::read_to_string(&outcomes).is_ok_and(|text| text.contains('\n')));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill runs").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", shown(&output));
}

#[test]
fn an_experiment_that_was_not_begun_here_runs_nothing_without_consent() {
    let out = tempdir().unwrap();
    let (folder, mark) = (out.path().join("forged"), out.path().join("mark"));
    begun(&folder);
    let resume = |flags: &[&str]| {
        let mut command = linerate();
        command.args(["experiment", "resume"]).arg(&folder).args(flags);
        command
    };
    let requested = folder.join("experiment.json");
    let mut forged: Value = serde_json::from_str(&fs::read_to_string(&requested).unwrap()).unwrap();
    let command = format!("touch {}", mark.display());
    for means in forged["means"].as_array_mut().unwrap() {
        means["command"] = json!(command);
    }
    fs::write(&requested, forged.to_string()).unwrap();
    for flags in [&[][..], &["--yes-load"]] {
        let refused = resume(flags).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{}", shown(&refused));
        for part in ["--yes-run", "did not begin the experiment", &command] {
            assert!(shown(&refused).contains(part), "{part}: {}", shown(&refused));
        }
        assert!(!mark.exists());
    }
    let mut child = resume(&["--yes-run"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    eventually_within(LONG, "the command to run", || mark.exists());
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    child.wait().unwrap();
}
