//! Runs against MinIO that end in other ways than well: the folder is true as far as it goes, and cleaned is clean.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use libtest_mimic::Failed;
use linerate_record::finding::FindingKind;
use linerate_record::run::Interval;
use tempfile::tempdir;

use super::Minio;
use super::tune::wait_until;
use crate::running::{bench_command, eventually, eventually_within, linerate, points, shown, view};

const CONCURRENCY: u64 = 4;

/// How long a machine that is short of processors may take for what takes a moment.
const LONG_TIMEOUT: Duration = Duration::from_secs(120);

/// Writes for so long that only what the test does ends them.
const PUTS: &str = "--op put --obj.size 50000 --concurrent 4 --duration 1000s --warmup 1s --no-ceiling --quiet";

fn intervals(folder: &Path) -> Vec<Interval> {
    let text = std::fs::read_to_string(folder.join("intervals.jsonl")).unwrap_or_default();
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.map(|line| serde_json::from_str(line).expect("an interval")).collect()
}

fn requests(interval: &Interval) -> u64 {
    interval.rows.iter().map(|r| r.requests).sum()
}

/// The exit code of a run that ends by itself: it has its time to run, and to clear up.
fn ended(run: &mut Child) -> Option<i32> {
    for _ in 0..1200 {
        if let Ok(Some(status)) = run.try_wait() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let _ = run.kill();
    let _ = run.wait();
    None
}

fn clean(minio: &Minio, run: &Path) -> Output {
    linerate().envs(minio.keys()).arg("clean").arg(run).output().expect("linerate runs")
}

/// The server counted what is recorded, what was in flight, and what ended after the last line.
pub(crate) fn killed_with_9() -> Result<(), Failed> {
    let minio = Minio::start(&[]);
    minio.make_bucket("counted");
    let out = tempdir()?;
    let mut command =
        bench_command(out.path(), &format!("--host {} --bucket counted {PUTS}", minio.address), &minio.keys());
    let mut run = command.spawn()?;
    eventually_within(LONG_TIMEOUT, "intervals with requests", || {
        let all = intervals(out.path());
        all.len() >= 3 && all.iter().any(|interval| requests(interval) > 0)
    });
    run.kill()?;
    run.wait()?;
    let recorded: u64 = intervals(out.path()).iter().map(requests).sum();
    let most = intervals(out.path()).iter().map(requests).max().unwrap_or(0);
    let counted = minio.counters("counted").puts;
    assert!(recorded > 0 && recorded <= counted, "{recorded} recorded, {counted} counted");
    assert!(counted <= recorded + CONCURRENCY + 4 * most.max(CONCURRENCY), "{recorded} recorded, {counted} counted");
    assert!(!view(out.path()).run.complete && !minio.objects("counted").is_empty());
    // A machine that is short of processors may store what was in flight later than clean waits for: then once more.
    let mut last = String::new();
    let is_clean = || {
        let cleaned = clean(&minio, out.path());
        assert!(cleaned.status.success(), "{}", shown(&cleaned));
        last = format!("{:?} are left after: {}", minio.objects("counted"), shown(&cleaned));
        minio.objects("counted").is_empty()
    };
    assert!(wait_until(is_clean, 2 * LONG_TIMEOUT), "{last}");
    assert!(minio.has_bucket("counted"), "the run did not make it");
    Ok(())
}

/// Versions, delete markers and unfinished uploads go; those of others stay.
pub(crate) fn versions_and_uploads() -> Result<(), Failed> {
    let minio = Minio::start(&[]);
    minio.make_versioned_bucket("versions");
    let out = tempdir()?;
    let short = "--op put --obj.size 1000 --concurrent 4 --duration 300ms --warmup 0s --no-ceiling --quiet";
    let flags = format!("--host {} --bucket versions --prefix a/ {short}", minio.address);
    for op in ["get,put,delete,mixed", "multipart --part.size 5MiB"] {
        let of_all = flags.replace("--op put", &format!("--op {op} --objects 40"));
        minio.bench(tempdir()?.path(), &of_all)?;
        assert_eq!(minio.objects("versions"), [""; 0], "{op}: no version is left of a run that went well");
    }
    minio.bench(out.path(), &format!("{flags} --noclear"))?;
    assert!(!minio.objects("versions").is_empty(), "they were to stay");
    let manifest: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(out.path().join("run.json"))?)?;
    let prefix = manifest["resolved"]["prefix"].as_str().ok_or("a prefix")?;
    minio.begin_upload(&format!("versions/{prefix}large"));
    minio.begin_upload("versions/a/foreign");
    minio.put("versions/a/foreign", "not the run's");
    let cleaned = clean(&minio, out.path());
    let said = shown(&cleaned);
    assert!(cleaned.status.success() && said.contains(" objects, 1 unfinished upload below"), "{said}");
    assert_eq!(minio.objects("versions"), ["a/foreign/xl.meta"]);
    let uploads = minio.listed_uploads("versions");
    assert!(uploads.contains("<Key>a/foreign</Key>") && !uploads.contains("large"), "{uploads}");
    let again = clean(&minio, out.path());
    assert!(again.status.success() && shown(&again).contains("nothing is left"), "{}", shown(&again));
    Ok(())
}

/// Errors are counted, the run goes on, and the time without the target is told.
pub(crate) fn restarted() -> Result<(), Failed> {
    let mut minio = Minio::start(&[]);
    let out = tempdir()?;
    let flags = format!(
        "--host {} --op put --obj.size 50000 --concurrent 4 --max-rate 300/s --duration 20s --warmup 1s --no-ceiling \
         --quiet",
        minio.address
    );
    let mut run = bench_command(out.path(), &flags, &minio.keys()).stderr(Stdio::null()).spawn()?;
    // Behind the warm-up, of which failures are told apart.
    eventually("intervals", || intervals(out.path()).last().is_some_and(|last| last.from_ms > 1_500));
    minio.stop();
    let before = intervals(out.path()).len();
    eventually("the target to be missed", || intervals(out.path()).iter().filter(|i| requests(i) == 0).count() >= 3);
    minio.go_on();
    eventually("the run to go on", || {
        let all = intervals(out.path());
        all.len() >= before + 4 && all.iter().rev().take(2).all(|i| requests(i) > 0)
    });
    assert_eq!(ended(&mut run), Some(4), "errors are grave");
    let view = view(out.path());
    let point = points(&view)[0];
    assert!(point.requests > 0 && point.error_count() > 0, "{:?}", point.errors);
    let reported = view.findings.iter().find(|f| f.kind == FindingKind::TargetLost).ok_or("the loss is told")?;
    let reported_s: f64 = reported.claim.split(' ').find_map(|word| word.parse().ok()).ok_or("in seconds")?;
    let silent = |i: &&Interval| !i.warmup && i.rows.iter().all(|r| r.requests == 0 && r.moved_bytes <= 0);
    let failed = |i: &&Interval| silent(i) && i.rows.iter().any(|r| !r.errors.is_empty());
    let all = intervals(out.path());
    let seconds = |of: Vec<&Interval>| of.iter().map(|i| i.to_ms - i.from_ms).sum::<u64>() as f64 / 1e3;
    let (least_s, most_s) =
        (seconds(all.iter().filter(failed).collect()), seconds(all.iter().filter(silent).collect()));
    // Rounded to a tenth.
    assert!((least_s - 0.06..most_s + 0.06).contains(&reported_s), "{least_s} to {most_s}: {reported:?}");
    assert_eq!(minio.objects("linerate-bench"), Vec::<String>::new());
    Ok(())
}

/// Runs a script in which `$PLACE` is a file system of its own, gone with it, and `$OUT` is for what should stay.
fn in_small_file_system(minio: &Minio, out: &Path, script: &str) -> Result<Output, Failed> {
    let place = tempdir()?;
    let script = format!("mount -t tmpfs -o size=192k linerate-test \"$PLACE\" || exit 99\n{script}");
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", &script]).envs(minio.keys());
    command.env("PLACE", place.path()).env("OUT", out).env("LINERATE", linerate().get_program());
    command.env("FLAGS", format!("--host {} {PUTS}", minio.address));
    Ok(command.stdin(Stdio::null()).output()?)
}

/// One error that names the file and the space; the bucket is cleared; what was measured is kept.
pub(crate) fn full_disk() -> Result<(), Failed> {
    let (minio, out) = (Minio::start(&[]), tempdir()?);
    // Another file takes what is free once the run goes on.
    let script = r#"
        ( until [ -s "$PLACE/run/intervals.jsonl" ]; do sleep 0.1; done
          sleep 2; head -c 1m /dev/zero >"$PLACE/other" ) 2>/dev/null &
        timeout 60 "$LINERATE" bench $FLAGS -o "$PLACE/run"
        code=$?
        "$LINERATE" report "$PLACE/run" >"$OUT/text" || exit 98
        cp -r "$PLACE/run" "$OUT/run"
        exit $code"#;
    let output = in_small_file_system(&minio, out.path(), script)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let errors: Vec<&str> = said.lines().filter(|l| l.starts_with("error:")).collect();
    assert_eq!(errors.len(), 1, "{said}");
    for part in ["/run/", ".jsonl: the disk is full", "of 192 KiB are free"] {
        assert!(errors[0].contains(part), "{part}: {said}");
    }
    assert!(std::fs::metadata(out.path().join("text"))?.len() > 0);
    let view = view(&out.path().join("run"));
    assert!(view.timeline.load.iter().any(|s| s.requests_per_s > 0.0), "what was measured is kept");
    assert!(!minio.has_bucket("linerate-bench"), "cleared: {said}");
    Ok(())
}

/// Nothing is written at the target where nothing can be written here.
pub(crate) fn read_only() -> Result<(), Failed> {
    let (minio, out) = (Minio::start(&[]), tempdir()?);
    let script = r#"
        mkdir "$PLACE/empty"; mount -o remount,ro "$PLACE" || exit 98
        "$LINERATE" bench $FLAGS -o "$PLACE/$FOLDER""#;
    for (folder, part) in [("new", "failed to make run folder"), ("empty", "failed to write to")] {
        let output = in_small_file_system(&minio, out.path(), &script.replace("$FOLDER", folder))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{folder}: {said}");
        assert!(said.contains(part) && said.contains(folder) && said.lines().count() == 1, "{folder}: {said}");
        assert!(!minio.has_bucket("linerate-bench"), "{folder}: {said}");
    }
    Ok(())
}
