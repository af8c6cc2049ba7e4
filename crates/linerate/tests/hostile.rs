//! The binary against servers that lie and servers that say nothing: what it claims, how soon it gives up, and how soon
//! Ctrl-C ends it.

mod absent;
mod deletions;
mod losses;
pub(crate) mod server;
mod unseen;
mod versioned;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use linerate_record::finding::{FindingKind, Severity};
use linerate_record::run::failure_kind::FAILED_LATER;
use tempfile::tempdir;

use self::server::{Hostile, Manner, Said, reply, well};
use crate::running::{ACCESS_KEY, SECRET_KEY, bench, bench_command, bound, eventually, linerate, points, shown, view};

/// Objects of a run that is short and leaves what it wrote.
const OBJECTS: usize = 7;

/// Longer than anything takes that is given a second or so, and shorter than what used to be waited for.
const SOON: Duration = Duration::from_secs(25);

fn keys() -> [(&'static str, String); 2] {
    [("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()), ("AWS_SECRET_ACCESS_KEY", SECRET_KEY.to_owned())]
}

fn flags(hostile: &Hostile, more: &str) -> String {
    let short = "--concurrent 2 --threads 1 --duration 300ms --warmup 0s --no-ceiling --quiet";
    format!("--host {} --obj.size 1000 {short} {more}", hostile.address)
}

fn clean(folder: &Path, more: &[&str]) -> Output {
    linerate().envs(keys()).arg("clean").arg(folder).args(more).output().expect("linerate runs")
}

fn says(text: &'static str) -> Option<Said> {
    Some(Said::Answer(reply("200 OK", text)))
}

#[test]
fn clean_claims_only_what_a_later_listing_no_longer_shows() {
    let (hostile, out) = (Hostile::serve(well), tempdir().unwrap());
    let made = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS} --noclear")));
    assert!(made.status.success() && hostile.count() == OBJECTS, "{}", shown(&made));
    let lies: [(&str, Manner, &str); 8] = [
        ("an empty answer", |a, _| a.deletes_many().then(|| says(""))?, "7 below"),
        ("a page of HTML", |a, _| a.deletes_many().then(|| says("<html><br></html>"))?, "7 below"),
        ("what S3 says", |a, _| a.deletes_many().then(|| says("<DeleteResult/>"))?, "7 below"),
        (
            "an error in a namespace",
            |a, _| a.deletes_many().then(|| says("<s:Error xmlns:s='u'><s:Code>Held</s:Code></s:Error>"))?,
            "(Held)",
        ),
        (
            "a refusal of each",
            |a, _| {
                let text = "<DeleteResult xmlns='u'><Error><Code>AccessDenied</Code></Error></DeleteResult>";
                a.deletes_many().then(|| says(text))?
            },
            "(AccessDenied); check",
        ),
        ("listings of HTML", |a, _| (a.lists() && !a.looks()).then(|| says("<html></html>"))?, "html"),
        ("nothing but HTML", |_, _| says("<!DOCTYPE html><html></html>"), "DOCTYPE"),
        (
            "a deletion of half",
            |a, objects| {
                if a.deletes_many() {
                    let last = objects.keys().next_back().cloned();
                    objects.retain(|key, _| Some(key) == last.as_ref());
                    return says("<DeleteResult/>");
                }
                None
            },
            "1 below",
        ),
    ];
    for (what, manner, part) in lies {
        hostile.behave(manner);
        let output = clean(out.path(), &[]);
        assert_eq!(output.status.code(), Some(3), "{what}: {}", shown(&output));
        let reported = String::from_utf8_lossy(&output.stderr);
        assert!(reported.contains(part), "{what}: {}", shown(&output));
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(!said.contains("nothing is left") && !said.contains("deleted 7"), "{what}: {}", shown(&output));
    }
    hostile.behave(well);
    let output = clean(out.path(), &[]);
    assert!(output.status.success() && shown(&output).contains("deleted 1 object below"), "{}", shown(&output));
    assert_eq!(hostile.count(), 0);
    let output = clean(out.path(), &[]);
    assert!(output.status.success() && shown(&output).contains("nothing is left"), "{}", shown(&output));
}

#[test]
fn a_run_whose_objects_are_not_there_is_no_success() {
    let lies: [(&str, &str, Manner); 6] = [
        ("puts that store nothing", "--op put", |a, _| (a.method == "PUT").then(|| says(""))?),
        // No more than are looked through on a machine that does nothing else.
        ("puts that store every other object", "--op put --max-rate 1000/s", |a, objects| {
            // What is left out counts here too, so that the next one is taken.
            let left_out = a.method == "PUT" && objects.len() % 2 == 1;
            left_out.then(|| objects.insert(format!("left-out/{}", a.key), 0));
            left_out.then(|| says(""))?
        }),
        ("puts that store a part", "--op put", |a, objects| {
            if a.method == "PUT" {
                objects.insert(a.key.clone(), 999);
            }
            (a.method == "PUT").then(|| says(""))?
        }),
        ("heads of another length", "--op put", |a, _| {
            let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n".to_vec();
            (a.method == "HEAD").then_some(Said::Answer(head))
        }),
        ("heads that find nothing", "--op put", |a, _| {
            let head = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec();
            (a.method == "HEAD").then_some(Said::Answer(head))
        }),
        ("deletes that delete nothing", "--op delete --objects 50", |a, _| (a.method == "DELETE").then(|| says(""))?),
    ];
    for (what, op, manner) in lies {
        let (hostile, out) = (Hostile::serve(manner), tempdir().unwrap());
        // Long enough for several objects on a machine that does much else.
        let output = bench(out.path(), &flags(&hostile, op).replace("300ms", "1s"));
        assert_eq!(output.status.code(), Some(4), "{what}: {}", shown(&output));
        let reported = String::from_utf8_lossy(&output.stderr);
        assert!(reported.lines().last().is_some_and(|line| line.starts_with("error: ")), "{what}: {}", shown(&output));
        let found = view(out.path()).findings.into_iter().find(|f| f.kind == FindingKind::NotStored);
        assert!(found.as_ref().is_some_and(|f| f.severity == Severity::Critical), "{what}: {found:?}");
    }
    for op in ["--op put", "--op get", "--op delete --objects 50", "--op mixed --objects 50"] {
        let (hostile, out) = (Hostile::serve(well), tempdir().unwrap());
        let output = bench(out.path(), &flags(&hostile, op));
        assert!(output.status.success(), "{op}: {}", shown(&output));
        assert!(view(out.path()).findings.iter().all(|f| f.kind != FindingKind::NotStored), "{op}");
        assert_eq!(hostile.count(), 0, "{op}");
    }
}

#[test]
fn a_run_whose_objects_cannot_be_checked_is_no_success() {
    let heads: [(&str, Manner, i32, Severity); 3] = [
        ("no answer", |a, _| (a.method == "HEAD").then_some(Said::Nothing), 4, Severity::Critical),
        ("an error", |a, _| refuses_head(a, "503 Service Unavailable"), 4, Severity::Critical),
        // A listing shows that all is there, and the keys of a run of writes need not be allowed to read.
        ("forbidden", |a, _| refuses_head(a, "403 Forbidden"), 0, Severity::Warning),
    ];
    for (what, manner, code, severity) in heads {
        let (hostile, out) = (Hostile::serve(manner), tempdir().unwrap());
        let output = bench(out.path(), &flags(&hostile, "--op get --objects 5 --timeout 1s"));
        assert_eq!((output.status.code(), hostile.count()), (Some(code), 0), "{what}: {}", shown(&output));
        let found = view(out.path()).findings.into_iter().find(|f| f.kind == FindingKind::NotStored).expect(what);
        assert_eq!(found.severity, severity, "{what}: {found:?}");
        let (reported, is_severe) = (shown(&output), code == 4);
        assert_eq!(reported.contains("error: it is not known whether"), is_severe, "{what}: {reported}");
        assert!(!reported.contains("warning: it is not known"), "{what}: {reported}");
        assert_eq!(reported.contains("in the target's log why it did not answer"), is_severe, "{what}: {reported}");
        assert!(!reported.contains("s3:ListBucket and s3:GetObject"), "{what}: {reported}");
        assert!(!reported.contains("check the keys"), "{what}: {reported}");
        let report_as = |format: &str| {
            let output = linerate().arg("report").arg(out.path()).args(["--format", format]).output().unwrap();
            String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(report_as("junit").contains("failures=\"1\""), is_severe, "{what}: {}", report_as("junit"));
        assert!(report_as("text").contains(&found.claim), "{what}: {}", report_as("text"));
    }
}

/// A refusal of HEAD, which has no body.
fn refuses_head(requested: &server::ReceivedRequest, status: &str) -> Option<Said> {
    (requested.method == "HEAD").then(|| Said::Answer(reply(status, "")))
}

#[test]
fn a_run_that_leaves_something_says_what_and_where_and_ends_with_3() {
    let kept: [(&str, Manner, &[&str]); 5] = [
        (
            "a refusal",
            |a, _| a.deletes_many().then(|| says_403("AccessDenied"))?,
            &["7 objects of 6.84 KiB", "(AccessDenied)"],
        ),
        (
            "a refusal of each",
            |a, _| {
                let text = "<DeleteResult><Error><Key>k</Key><Code>Held</Code></Error></DeleteResult>";
                a.deletes_many().then(|| says(text))?
            },
            &["7 objects of 6.84 KiB", "(Held)"],
        ),
        ("a lie", |a, _| a.deletes_many().then(|| says("<DeleteResult/>"))?, &["7 objects of 6.84 KiB", "still shows"]),
        (
            "a deletion of all but one",
            |a, objects| {
                if a.deletes_many() {
                    let last = objects.keys().next_back().cloned();
                    objects.retain(|key, _| Some(key) == last.as_ref());
                }
                a.deletes_many().then(|| says("<DeleteResult/>"))?
            },
            &["1 object of 1000 B", "still shows"],
        ),
        (
            "deletions and listings that are refused",
            |a, objects| {
                if a.deletes_many() {
                    objects.insert("refuses".into(), 0);
                }
                objects.contains_key("refuses").then(|| says_403("AccessDenied"))?
            },
            &["up to 7 objects", "(AccessDenied)"],
        ),
    ];
    for (what, manner, parts) in kept {
        let (hostile, out) = (Hostile::serve(manner), tempdir().unwrap());
        let output = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS}")));
        assert_eq!(output.status.code(), Some(3), "{what}: {}", shown(&output));
        let reported = String::from_utf8_lossy(&output.stderr);
        let last = reported.lines().last().unwrap_or_default();
        assert!(last.starts_with("error: ") && last.contains("linerate clean"), "{what}: {}", shown(&output));
        let run = out.path().display();
        let (command, place) = (format!("linerate clean {run} "), "s3://linerate-bench/linerate-");
        let parts = parts.iter().copied().chain([command.as_str(), place]);
        parts.for_each(|part| assert!(reported.contains(part), "{what}, {part}: {}", shown(&output)));
        let found = view(out.path()).findings.into_iter().find(|f| f.kind == FindingKind::LeftBehind);
        assert!(found.is_some_and(|f| f.severity == Severity::Warning), "{what}");
        hostile.behave(well);
        hostile.objects.lock().unwrap().remove("refuses");
        assert!(clean(out.path(), &[]).status.success() && hostile.count() == 0, "{what}");
    }
    // What stays as it was asked for is no failure.
    let (hostile, out) = (Hostile::serve(well), tempdir().unwrap());
    let output = bench(out.path(), &flags(&hostile, "--op stat --objects 3 --noclear"));
    assert!(output.status.success(), "{}", shown(&output));

    // A bucket that was made, emptied, and may not be removed.
    let (hostile, out) = (Hostile::serve(of_bucket), tempdir().unwrap());
    let output = bench(out.path(), &flags(&hostile, "--op stat --objects 3"));
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    let reported = String::from_utf8_lossy(&output.stderr);
    let parts = ["\"linerate-bench\"", "(AccessDenied)", &format!("linerate clean {}", out.path().display())];
    parts.iter().for_each(|part| assert!(reported.contains(part), "{part}: {}", shown(&output)));
    assert!(view(out.path()).findings.iter().any(|f| f.kind == FindingKind::LeftBehind));
}

/// There is no bucket until one is made, and then it is not removed.
fn of_bucket(
    requested: &server::ReceivedRequest,
    objects: &mut std::collections::BTreeMap<String, u64>,
) -> Option<Said> {
    let of_bucket = requested.key.is_empty() && requested.query.is_empty();
    match requested.method.as_str() {
        "PUT" if of_bucket => {
            objects.insert("made".into(), 0);
            says("")
        }
        "DELETE" if of_bucket => says_403("AccessDenied"),
        "GET" if requested.lists() && requested.query.ends_with("prefix=") => says("<ListBucketResult/>"),
        "GET" if requested.lists() && !objects.contains_key("made") => {
            Some(Said::Answer(reply("404 Not Found", "<Error><Code>NoSuchBucket</Code></Error>")))
        }
        _ => None,
    }
}

#[test]
fn a_load_of_listings_that_are_not_what_the_run_wrote_fails() {
    let lies: [(&str, Manner, &str); 5] = [
        (
            "one object too many",
            |a, objects| {
                let last = objects.keys().last().cloned().filter(|_| of_the_load(a))?;
                objects.insert(format!("{last}zz"), 1);
                let page = server::listing(a, objects);
                objects.remove(&format!("{last}zz"));
                Some(Said::Answer(reply("200 OK", &page)))
            },
            "listing shows objects that the run did not write",
        ),
        ("an empty listing", |a, _| of_the_load(a).then(|| says("<ListBucketResult/>"))?, "listing lacks objects"),
        (
            "another bucket",
            |a, _| of_the_load(a).then(|| says("<ListBucketResult><Name>other</Name></ListBucketResult>"))?,
            "listing lists another bucket",
        ),
        (
            "another prefix",
            |a, _| of_the_load(a).then(|| says("<ListBucketResult><Prefix/></ListBucketResult>"))?,
            "listing lists another prefix",
        ),
        (
            "one object too few",
            |a, objects| {
                let first = objects.keys().next().cloned().filter(|_| of_the_load(a))?;
                let size = objects.remove(&first)?;
                let page = server::listing(a, objects);
                objects.insert(first, size);
                Some(Said::Answer(reply("200 OK", &page)))
            },
            "listing lacks objects",
        ),
    ];
    for (what, manner, kind) in lies {
        let (hostile, out) = (Hostile::serve(manner), tempdir().unwrap());
        let output = bench(out.path(), &flags(&hostile, "--op list --objects 7"));
        assert_eq!(output.status.code(), Some(4), "{what}: {}", shown(&output));
        let view = view(out.path());
        let point = points(&view)[0];
        let is_its = |k: &String| k.starts_with(kind) || k == FAILED_LATER;
        assert!(point.requests == 0 && point.errors.keys().all(is_its), "{what}: {:?}", point.errors);
        assert!(point.error_count() > 0, "{what}");
    }
    let (hostile, out) = (Hostile::serve(well), tempdir().unwrap());
    let output = bench(out.path(), &flags(&hostile, "--op list --objects 7"));
    assert!(output.status.success() && points(&view(out.path()))[0].requests > 0, "{}", shown(&output));
}

#[test]
fn a_point_that_is_never_answered_is_no_success_however_short() {
    let hangs: Manner = |a, _| (a.method == "GET" && !a.key.is_empty()).then_some(Said::Nothing);
    let (hostile, out) = (Hostile::serve(hangs), tempdir().unwrap());
    let output = bench(out.path(), &flags(&hostile, "--op get --objects 6"));
    let reported = shown(&output);
    assert_eq!(output.status.code(), Some(4), "{reported}");
    assert!(reported.contains("no request was answered in"), "{reported}");
}

/// Whether it lists the whole run, and not the folder of one set.
fn of_the_load(requested: &server::ReceivedRequest) -> bool {
    requested.lists() && !requested.looks() && requested.query.matches("%2F").count() == 1
}

#[test]
fn the_timeout_holds_for_every_call_and_is_told_by_its_length() {
    let cases: [(&str, Manner, &str); 3] = [
        ("--op put --timeout 2s", |_, _| Some(Said::Nothing), "access to bucket"),
        ("--op get --list-existing --timeout 2s", |a, _| (a.lists() && !a.looks()).then_some(Said::Nothing), "listing"),
        ("--op get --objects 5 --timeout 2s", |a, _| (a.method == "PUT").then_some(Said::Nothing), "timeout: "),
    ];
    for (more, manner, part) in cases {
        let (hostile, out) = (Hostile::serve(manner), tempdir().unwrap());
        let begin = Instant::now();
        let output = bench(&out.path().join("run"), &flags(&hostile, more));
        assert_eq!(output.status.code(), Some(3), "{more}: {}", shown(&output));
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(reported.contains(part), "{more}: {reported}");
        assert!(part == "timeout: " || reported.contains("timed out after 2 s"), "{more}: {reported}");
        assert!(begin.elapsed() < bound(SOON), "{more}: {:?}", begin.elapsed());
    }
    let (hostile, out) = (Hostile::serve(well), tempdir().unwrap());
    assert!(bench(out.path(), &flags(&hostile, "--op stat --objects 3 --noclear")).status.success());
    hostile.behave(|a, _| a.deletes_many().then_some(Said::Nothing));
    let begin = Instant::now();
    let output = clean(out.path(), &["--timeout", "1s"]);
    assert!(output.status.code() == Some(3) && begin.elapsed() < bound(SOON), "{}", shown(&output));
    assert!(shown(&output).contains("timed out after 1 s"), "however many it deletes: {}", shown(&output));
    // What was asked for may have been done.
    let again = format!("remains; clean again with linerate clean {}\n", out.path().display());
    for part in ["3 deletions below s3://linerate-bench/linerate-", &again] {
        assert!(shown(&output).contains(part), "{part}: {}", shown(&output));
    }
}

/// How a run that was interrupted ended.
#[derive(Debug)]
struct Interrupted {
    code: Option<i32>,
    said: String,
    /// How long after the first SIGINT it said so, or had ended.
    acknowledged: Duration,
    /// How long after the last SIGINT it had ended.
    took: Duration,
}

/// Starts a run, waits until the server was asked for what it does not answer, and sends SIGINT: once, or once more
/// where it has not ended by then.
fn interrupted(command: &mut Command, requested: impl FnMut() -> bool, times: u32) -> Interrupted {
    let mut run: Child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("linerate runs");
    let (said, stderr) = (Arc::new(Mutex::new(String::new())), run.stderr.take().expect("piped"));
    let heard = Arc::clone(&said);
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            *heard.lock().expect("nobody panicked") += &(line + "\n");
        }
    });
    eventually("the call that is not answered", requested);
    std::thread::sleep(Duration::from_millis(200));
    let pid = run.id().to_string();
    let signal = || Command::new("kill").args(["-INT", &pid]).status().map(|_| Instant::now()).expect("kill runs");
    let mut begin = signal();
    let mut status = None;
    eventually("the first signal to be acknowledged", || {
        status = run.try_wait().expect("it was begun");
        status.is_some() || said.lock().expect("nobody panicked").contains("interrupted")
    });
    let acknowledged = begin.elapsed();
    if times > 1 && status.is_none() {
        std::thread::sleep(Duration::from_millis(200));
        status = run.try_wait().expect("it was begun");
        if status.is_none() {
            begin = signal();
        }
    }
    eventually("the run to end", || {
        status = status.or(run.try_wait().expect("it was begun"));
        status.is_some()
    });
    let took = begin.elapsed();
    reader.join().expect("it ends with the run");
    let said = said.lock().expect("nobody panicked").clone();
    Interrupted { code: status.and_then(|status| status.code()), said, acknowledged, took }
}

/// Notes under a key of its own that something was asked, and says nothing.
fn noted(objects: &mut std::collections::BTreeMap<String, u64>) -> Option<Said> {
    objects.insert("noted".into(), 0);
    Some(Said::Nothing)
}

/// Within a second, and what a busy machine takes beside it.
const AT_ONCE: Duration = Duration::from_secs(3);

/// One call of clearing up, and a second for what is in flight before it.
const ONE_CALL: Duration = Duration::from_secs(12);

/// Whether it lists one set of the run, to hold it against what was said.
fn holds(requested: &server::ReceivedRequest) -> bool {
    requested.lists() && requested.query.matches("%2F").count() == 2
}

/// What remains where signals end a phase.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Remains {
    /// Nothing was written yet.
    Nothing,
    /// Something, unless clearing up comes to its end before the second signal.
    UnlessCleared,
    Something,
}

#[test]
fn ctrl_c_acts_at_once_in_every_phase() {
    // What remains where signals end the phase.
    let cases: [(&str, &str, Manner, Remains); 10] = [
        ("the first call", "--op put", |_, o| noted(o), Remains::Nothing),
        (
            "making the bucket",
            "--op put",
            |a, o| {
                let made = a.method == "PUT" && a.key.is_empty();
                if made { noted(o) } else { of_bucket(a, o) }
            },
            Remains::Nothing,
        ),
        (
            "a listing",
            "--op get --list-existing",
            |a, o| (a.lists() && !a.looks()).then(|| noted(o))?,
            Remains::Nothing,
        ),
        ("writing ahead", "--op get --objects 50", |a, o| (a.method == "PUT").then(|| noted(o))?, Remains::Something),
        ("the load", "--op put", |a, o| (a.method == "PUT").then(|| noted(o))?, Remains::Something),
        (
            "a load of reads",
            "--op get --objects 5",
            |a, o| (a.method == "GET" && !a.lists()).then(|| noted(o))?,
            Remains::UnlessCleared,
        ),
        (
            "beginning uploads",
            "--op multipart --part.size 5MiB",
            |a, o| (a.method == "POST").then(|| noted(o))?,
            Remains::UnlessCleared,
        ),
        ("looking at what is stored", "--op put", |a, o| holds(a).then(|| noted(o))?, Remains::UnlessCleared),
        ("clearing up", "--op put", |a, o| a.deletes_many().then(|| noted(o))?, Remains::Something),
        (
            "removing the bucket",
            "--op put",
            |a, o| {
                let removed = a.method == "DELETE" && a.key.is_empty();
                if removed { noted(o) } else { of_bucket(a, o) }
            },
            Remains::Something,
        ),
    ];
    for (phase, more, manner, remains) in cases {
        for times in [2, 1] {
            let (hostile, out) = (Hostile::serve(manner), tempdir().unwrap());
            // A point that goes on for long, where it is the load that is interrupted.
            let loads = ["the load", "a load of reads", "beginning uploads"].contains(&phase);
            let flags = flags(&hostile, more).replace("--quiet", "");
            let flags = if loads { flags.replace("300ms", "60s") } else { flags };
            let mut command = bench_command(&out.path().join("run"), &flags, &keys());
            let requested = || hostile.objects.lock().unwrap().contains_key("noted");
            let ended = interrupted(&mut command, requested, times);
            assert_eq!(ended.code, Some(130), "{phase}: {ended:?}");
            assert!(ended.said.contains("interrupted") && ended.acknowledged < bound(AT_ONCE), "{phase}: {ended:?}");
            let clears_up = remains != Remains::Nothing && times == 1;
            assert!(ended.took < bound(if clears_up { ONE_CALL } else { AT_ONCE }), "{phase}, {times}: {ended:?}");
            let command = format!("linerate clean {}", out.path().join("run").display());
            let reported = ended.said.contains(&command) && ended.said.contains("linerate-bench");
            assert!(reported || remains != Remains::Something, "{phase}, {times}: {ended:?}");
        }
    }
}

#[test]
fn a_run_that_is_interrupted_deletes_what_it_wrote_and_says_how_that_goes_on() {
    let (hostile, out) = (Hostile::serve(well), tempdir().unwrap());
    let flags = flags(&hostile, "--op put").replace("--quiet", "").replace("300ms", "60s");
    let mut command = bench_command(&out.path().join("run"), &flags, &keys());
    let ended = interrupted(&mut command, || hostile.count() > 20, 1);
    assert!(ended.code == Some(130) && hostile.count() == 0, "{} objects: {ended:?}", hostile.count());
    for part in ["what the run wrote below s3://linerate-bench/linerate-", "deleting objects of this run"] {
        assert!(ended.said.contains(part), "{part}: {ended:?}");
    }
}

#[test]
fn ctrl_c_ends_a_handshake_and_a_cleaning_that_nobody_answers() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, out) = (silent.local_addr().unwrap(), tempdir().unwrap());
    silent.set_nonblocking(true).unwrap();
    let flags = format!("--host https://{address} --insecure --op put --concurrent 1 --no-ceiling");
    let mut command = bench_command(&out.path().join("run"), &flags, &keys());
    let mut taken = Vec::new();
    let requested = || {
        taken.extend(silent.accept());
        !taken.is_empty()
    };
    let ended = interrupted(&mut command, requested, 1);
    assert!(ended.code == Some(130) && ended.took < bound(AT_ONCE), "{ended:?}");

    let (hostile, out) = (Hostile::serve(well), tempdir().unwrap());
    assert!(bench(out.path(), &self::flags(&hostile, "--op stat --objects 3 --noclear")).status.success());
    hostile.behave(|a, o| a.deletes_many().then(|| noted(o))?);
    let mut command = linerate();
    command.envs(keys()).arg("clean").arg(out.path());
    let requested = || hostile.objects.lock().unwrap().contains_key("noted");
    let ended = interrupted(&mut command, requested, 1);
    assert!(ended.code == Some(130) && ended.took < bound(AT_ONCE), "{ended:?}");
    let last = ended.said.lines().last().unwrap_or_default();
    let again = format!("linerate clean {}", out.path().display());
    assert!(last.starts_with("error: interrupted: objects of the run may remain") && last.ends_with(&again), "{last}");
}

#[test]
fn wrong_keys_are_told_by_the_code_of_s3() {
    let refused: [(Manner, &str); 2] = [
        (|_, _| says_403("InvalidAccessKeyId"), "(InvalidAccessKeyId); the target does not know this access key"),
        (|_, _| says_403("SignatureDoesNotMatch"), "(SignatureDoesNotMatch); the secret key is not that of"),
    ];
    for (manner, part) in refused {
        let (hostile, out) = (Hostile::serve(manner), tempdir().unwrap());
        let output = bench(&out.path().join("run"), &flags(&hostile, "--op put"));
        assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
        assert!(shown(&output).contains(part), "{}", shown(&output));
    }
}

fn says_403(code: &str) -> Option<Said> {
    Some(Said::Answer(reply("403 Forbidden", &format!("<Error><Code>{code}</Code></Error>"))))
}

#[test]
fn a_null_target_of_a_ceiling_is_left_no_key_of_the_user() {
    let (hostile, out) = (Hostile::serve(well), tempdir().unwrap());
    let flags = flags(&hostile, "--op put,get --objects 20").replace("--no-ceiling", "");
    let mut run = bench_command(out.path(), &flags, &keys()).stdout(Stdio::null()).spawn().expect("linerate runs");
    let children = format!("/proc/{0}/task/{0}/children", run.id());
    let mut environment = Vec::new();
    eventually("a null target to be started", || {
        let text = std::fs::read_to_string(&children).unwrap_or_default();
        for pid in text.split_whitespace() {
            let proc_file = |file: &str| std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            if String::from_utf8_lossy(&proc_file("cmdline")).contains("target\0null") {
                environment = proc_file("environ");
            }
        }
        !environment.is_empty() || run.try_wait().expect("it was begun").is_some()
    });
    assert!(run.wait().expect("it ends").success());
    let environment = String::from_utf8_lossy(&environment).into_owned();
    assert!(environment.contains("PATH="), "it was not seen: {environment}");
    assert!(!environment.contains(SECRET_KEY) && !environment.contains(ACCESS_KEY) && !environment.contains("AWS_"));
}
