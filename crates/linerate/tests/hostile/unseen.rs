//! What these keys may not see, or a target does not tell: it is told as unknown, and nothing is removed for it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use linerate_record::finding::{FindingKind, Severity};
use tempfile::tempdir;

use super::deletions::makes;
use super::server::{Hostile, Manner, ReceivedRequest, Said, listing, reply, well};
use super::versioned::{keeps, keeps_for_ever};
use super::{OBJECTS, bench, clean, flags, keys, says, says_403, shown, view};

/// Noted where a bucket was removed with all that is in it.
const REMOVED: &str = "removed";

fn is_removed(hostile: &Hostile) -> bool {
    hostile.objects.lock().expect("nobody panicked").contains_key(REMOVED)
}

/// Has a bucket once it is made, and removes it with whatever is in it.
fn removes_all(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    if requested.method == "DELETE" && requested.key.is_empty() && requested.query.is_empty() {
        objects.insert(REMOVED.into(), 0);
        return says("");
    }
    let is_gone = requested.method == "GET" && objects.contains_key(REMOVED);
    let gone = || Said::Answer(reply("404 Not Found", "<Error><Code>NoSuchBucket</Code></Error>"));
    is_gone.then(gone).or_else(|| makes(requested, objects))
}

fn lists_versions_of_all(requested: &ReceivedRequest) -> bool {
    requested.query.contains("versions=") && !requested.query.contains("prefix=linerate")
}

/// In which somebody else's object lies below a delete marker, behind a page that shows nothing.
fn holds_a_foreign_version(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    if lists_versions_of_all(requested) && requested.query.contains("key-marker=z") {
        return says(
            "<ListVersionsResult><DeleteMarker><Key>theirs</Key><VersionId>2</VersionId></DeleteMarker>\
             <Version><Key>theirs</Key><VersionId>1</VersionId></Version></ListVersionsResult>",
        );
    }
    if lists_versions_of_all(requested) {
        return says(
            "<ListVersionsResult><IsTruncated>true</IsTruncated><NextKeyMarker>z</NextKeyMarker>\
             <NextVersionIdMarker>1</NextVersionIdMarker></ListVersionsResult>",
        );
    }
    let is_of_run = requested.query.contains("versions=");
    if is_of_run { says("<ListVersionsResult/>") } else { removes_all(requested, objects) }
}

/// In which versions and uploads may lie that these keys may not list.
fn denies_versions_of_all(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    let is_denied =
        lists_versions_of_all(requested) || (requested.query == "versioning=" && objects.contains_key("bucket"));
    let denied = is_denied.then(|| says_403("AccessDenied")).flatten();
    denied.or_else(|| holds_a_foreign_version(requested, objects))
}

/// The same, and the target does not know of a listing of versions.
fn lists_no_versions(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    if requested.query.contains("versions=") {
        return Some(Said::Answer(reply("501 Not Implemented", "<Error><Code>NotImplemented</Code></Error>")));
    }
    let is_denied = requested.query == "versioning=" && objects.contains_key("bucket");
    let denied = is_denied.then(|| says_403("AccessDenied")).flatten();
    denied.or_else(|| removes_all(requested, objects))
}

/// The same of uploads.
fn denies_uploads_of_all(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    let denied = requested.query.contains("uploads=").then(|| says_403("AccessDenied")).flatten();
    denied.or_else(|| removes_all(requested, objects))
}

/// In which somebody's object is, that every second listing shows.
fn shows_a_foreign_object_late(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    if requested.lists() && requested.query.ends_with("prefix=") && !objects.contains_key(REMOVED) {
        let is_first = objects.insert("looked/once".into(), 0).is_none();
        let text = "<ListBucketResult><Contents><Key>theirs</Key><Size>1</Size></Contents></ListBucketResult>";
        return says(if is_first { "<ListBucketResult/>" } else { text });
    }
    removes_all(requested, objects)
}

#[test]
fn a_bucket_in_which_something_of_others_is_or_may_be_is_not_removed() {
    let theirs = "versions or delete markers of 1 object that is not of this run are in it";
    let cases: [(&str, Manner, i32, &str); 5] = [
        ("a version", holds_a_foreign_version, 0, theirs),
        ("versions that are denied", denies_versions_of_all, 3, "not known whether something else is in it"),
        (
            "versions that are not listed",
            lists_no_versions,
            3,
            "the target does not list versions; and checking whether",
        ),
        ("uploads that are denied", denies_uploads_of_all, 3, "not known whether something else is in it"),
        ("an object that is shown late", shows_a_foreign_object_late, 0, "1 object that is not of this run is in it"),
    ];
    for (what, manner, code, part) in cases {
        let (hostile, out) = (Hostile::serve(manner), tempdir().unwrap());
        // Long enough for several requests on a machine that does much else.
        let longer = flags(&hostile, &format!("--op stat --objects {OBJECTS}")).replace("300ms", "1s");
        let output = bench(out.path(), &longer);
        assert!(!is_removed(&hostile), "{what}: {}", shown(&output));
        assert_eq!(output.status.code(), Some(code), "{what}: {}", shown(&output));
        assert!(String::from_utf8_lossy(&output.stderr).contains(part), "{what}: {}", shown(&output));
        hostile.objects.lock().unwrap().remove("looked/once");
        let output = clean(out.path(), &["--remove-bucket"]);
        assert!(!is_removed(&hostile), "{what}: {}", shown(&output));
        assert_eq!(output.status.code(), Some(code), "{what}: {}", shown(&output));
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("kept bucket") && said.contains(part), "{what}: {}", shown(&output));
        assert_eq!(said.contains("delete that with another tool"), code == 0, "{what}: {said}");
    }
    let (hostile, out) = (Hostile::serve(removes_all), tempdir().unwrap());
    let output = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS}")));
    assert!(output.status.success() && is_removed(&hostile), "an empty one is: {}", shown(&output));
}

fn fails_versions(requested: &ReceivedRequest, _: &mut BTreeMap<String, u64>) -> Option<Said> {
    let failed = "<Error><Code>InternalError</Code></Error>";
    requested.query.contains("versions=").then(|| Said::Answer(reply("500 Internal Server Error", failed)))
}

fn denies_versions(requested: &ReceivedRequest, _: &mut BTreeMap<String, u64>) -> Option<Said> {
    requested.query.contains("versions=").then(|| says_403("AccessDenied"))?
}

#[test]
fn that_versions_could_not_be_looked_for_is_told() {
    for (what, manner, severity) in
        [("failed", fails_versions as Manner, Severity::Warning), ("denied", denies_versions, Severity::Note)]
    {
        let (hostile, out) = (Hostile::serve(manner), tempdir().unwrap());
        let output = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS}")));
        assert!(output.status.success() && hostile.count() == 0, "{what}: {}", shown(&output));
        let found = view(out.path()).findings.into_iter().find(|f| f.kind == FindingKind::LeftBehind).unwrap();
        assert_eq!(found.severity, severity, "{what}: {found:?}");
        assert!(found.evidence.contains("could not confirm it: listing versions"), "{what}: {found:?}");
        let reported = String::from_utf8_lossy(&output.stderr);
        assert_eq!(reported.contains("could not confirm it"), severity == Severity::Warning, "{what}: {reported}");
    }
}

/// Says of versioning what S3 says nowhere of a bucket without versions.
fn of_versioning(requested: &ReceivedRequest, status: &str, body: &str) -> Option<Said> {
    let is_denied = requested.query.contains("versions=");
    let denied = is_denied.then(|| says_403("AccessDenied")).flatten();
    denied.or_else(|| (requested.query == "versioning=").then(|| Said::Answer(reply(status, body))))
}

#[test]
fn only_what_s3_says_of_a_bucket_without_versions_is_taken_for_it() {
    let unknown: [(&str, Manner); 4] = [
        ("400", |a, _| of_versioning(a, "400 Bad Request", "<Error><Code>InvalidRequest</Code></Error>")),
        ("401", |a, _| of_versioning(a, "401 Unauthorized", "")),
        ("404", |a, _| of_versioning(a, "404 Not Found", "")),
        ("HTML", |a, _| of_versioning(a, "200 OK", "<html></html>")),
    ];
    for (what, manner) in unknown {
        let (hostile, out) = (Hostile::serve(manner), tempdir().unwrap());
        let output = bench(out.path(), &flags(&hostile, "--op stat --objects 3"));
        let reported = String::from_utf8_lossy(&output.stderr);
        assert!(reported.contains("could not check whether the bucket keeps versions"), "{what}: {}", shown(&output));
    }
    let known: [(&str, Manner); 3] = [
        ("405", |a, _| of_versioning(a, "405 Method Not Allowed", "")),
        ("501", |a, _| of_versioning(a, "501 Not Implemented", "")),
        ("no status", |a, _| of_versioning(a, "200 OK", "<VersioningConfiguration/>")),
    ];
    for (what, manner) in known {
        let (hostile, out) = (Hostile::serve(manner), tempdir().unwrap());
        let output = bench(out.path(), &flags(&hostile, "--op stat --objects 3"));
        assert!(!shown(&output).contains("could not check"), "{what}: {}", shown(&output));
    }
}

/// Is busy where it is asked for the first time whether it keeps versions.
fn keeps_and_is_busy_once(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    let is_first = requested.query == "versioning=" && objects.insert("busy/once".into(), 0).is_none();
    let busy = is_first.then(|| Said::Answer(reply("429 Too Many Requests", "")));
    busy.or_else(|| keeps(requested, objects))
}

#[test]
fn a_target_that_is_busy_is_asked_again_whether_it_keeps_versions() {
    let (hostile, out) = (Hostile::serve(keeps_and_is_busy_once), tempdir().unwrap());
    let loud = flags(&hostile, &format!("--op stat --objects {OBJECTS}")).replace("--quiet", "");
    let output = bench(out.path(), &loud);
    assert!(output.status.success() && hostile.count() == 1, "{}: {}", hostile.count(), shown(&output));
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(reported.contains("keeps versions"), "{}", shown(&output));
    // What is said of the lock is not what S3 says of a bucket without one.
    assert!(reported.contains("not known whether the bucket locks what is written"), "{}", shown(&output));
}

/// A bucket that keeps versions, none of whose listings shows anything yet.
fn keeps_and_shows_nothing(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    if requested.query.contains("versions=") {
        return says("<ListVersionsResult/>");
    }
    if requested.lists() { says("<ListBucketResult/>") } else { keeps(requested, objects) }
}

#[test]
fn objects_that_were_confirmed_and_are_shown_by_no_listing_of_versions_are_told() {
    let (hostile, out) = (Hostile::serve(keeps_and_shows_nothing), tempdir().unwrap());
    let output = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS}")));
    assert!(!output.status.success() && hostile.count() == OBJECTS, "{}", shown(&output));
    let reported = String::from_utf8_lossy(&output.stderr);
    let part = "of 7 objects that the target confirmed, listings of versions have shown none";
    assert!(reported.contains(part), "{}", shown(&output));
}

/// Shows for a while longer what it has deleted.
fn lists_late(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_millis() as u64);
    if requested.deletes_many() {
        let body = String::from_utf8_lossy(&requested.body);
        let keys: Vec<String> = objects.keys().filter(|key| body.contains(&format!("<Key>{key}<"))).cloned().collect();
        for key in keys {
            objects.remove(&key);
            objects.insert(format!("gone/{key}"), now_ms);
        }
        return says("<DeleteResult/>");
    }
    if !requested.lists() || requested.looks() {
        return None;
    }
    objects.retain(|key, deleted_ms| !key.starts_with("gone/") || *deleted_ms + 1500 > now_ms);
    let all = objects.keys().map(|key| (key.trim_start_matches("gone/").to_owned(), 1000));
    Some(Said::Answer(reply("200 OK", &listing(requested, &all.collect()))))
}

#[test]
fn what_is_deleted_and_still_listed_for_a_while_is_not_said_to_remain() {
    let (hostile, out) = (Hostile::serve(lists_late), tempdir().unwrap());
    let output = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS}")));
    assert!(output.status.success() && hostile.count() == 0, "{}", shown(&output));
}

#[test]
fn the_command_that_is_named_for_a_folder_of_any_name_can_be_typed() {
    let names: [&[u8]; 4] = [b"plain", b"my run's", b"a$b;`c`", b"x\xff\ny"];
    for name in names {
        let (hostile, out) = (Hostile::serve(keeps_for_ever), tempdir().unwrap());
        let run = out.path().join(OsStr::from_bytes(name));
        let output = bench(&run, &flags(&hostile, &format!("--op stat --objects {OBJECTS}")));
        let reported = String::from_utf8_lossy(&output.stderr);
        let ending = reported.lines().last().unwrap_or_default();
        let command = ending.split("; ").last().and_then(|said| said.split(" deletes what is below").next()).unwrap();
        assert!(output.status.code() == Some(3) && command.starts_with("linerate clean "), "{}", shown(&output));
        hostile.behave(keeps);
        let binary = Path::new(env!("CARGO_BIN_EXE_linerate")).parent().unwrap().display();
        let typed = format!("PATH={binary}:$PATH {command}");
        let output = Command::new("bash").args(["-c", &typed]).envs(keys()).output().unwrap();
        assert!(output.status.success() && hostile.count() == 0, "{typed}: {}", shown(&output));
    }
}

#[test]
fn the_command_that_is_named_signs_as_the_run_did() {
    let (hostile, out) = (Hostile::serve(well), tempdir().unwrap());
    let home = out.path().join("home");
    std::fs::create_dir_all(home.join(".aws")).unwrap();
    let profile = "[prof  x]\naws_access_key_id=AAAAAAAAAAAAAAAA\naws_secret_access_key=BBBBBBBBBBBBBBBBBB\n";
    std::fs::write(home.join(".aws/credentials"), profile).unwrap();
    let address = &hostile.address;
    std::fs::create_dir_all(home.join(".mc")).unwrap();
    let alias =
        |place: &str| format!(r#"{{"url": "http://{place}", "accessKey": "AAAAAAAAAAAA", "secretKey": "BBBBBBB"}}"#);
    let aliases = format!(r#"{{"aliases": {{"s3": {}, "other": {}}}}}"#, alias(address), alias("127.0.0.1:1"));
    std::fs::write(home.join(".mc/config.json"), aliases).unwrap();
    let cases: [(&str, &[&str], &str); 3] = [
        ("nobody", &["--anonymous"], "--anonymous"),
        ("a profile", &["--profile", "prof  x"], "--profile 'prof  x'"),
        ("an alias", &["--alias", "s3"], "--alias s3"),
    ];
    for (what, given, part) in cases {
        let run = out.path().join(what.replace(' ', "  "));
        let flags = flags(&hostile, &format!("--op stat --objects {OBJECTS} --noclear"));
        // An alias names the host, too.
        let host = format!("--host {address} ");
        let flags = if what == "an alias" { flags.replace(&host, "") } else { flags };
        let made = super::bench_command(&run, &flags, &[]).args(given).env("HOME", &home).output().unwrap();
        assert!(made.status.success() && hostile.count() == OBJECTS, "{what}: {}", shown(&made));
        let found = view(&run).findings.into_iter().find(|f| f.kind == FindingKind::LeftBehind).unwrap();
        assert!(found.remedy.contains(part), "{what}: {found:?}");
        // As the report has it, on a line of its own.
        let output = super::linerate().arg("report").arg(&run).args(["--format", "text"]).output().unwrap();
        let reported = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = reported.lines().find(|line| line.contains("linerate clean ")).unwrap_or_default();
        let command = &line[line.find("linerate clean ").unwrap()..];
        let command = command.split(" when").next().unwrap();
        let binary = Path::new(env!("CARGO_BIN_EXE_linerate")).parent().unwrap().display();
        let typed = format!("PATH={binary}:$PATH {command}");
        let output = Command::new("bash").args(["-c", &typed]).env("HOME", &home).output().unwrap();
        assert!(output.status.success() && hostile.count() == 0, "{typed}: {}", shown(&output));
        if what == "an alias" {
            let mut other = super::linerate();
            let output = other.arg("clean").arg(&run).args(["--alias", "other"]).env("HOME", &home).output().unwrap();
            let said = format!("mc alias \"other\" stands for 127.0.0.1:1, but the run loaded {address}");
            assert!(output.status.code() == Some(2) && shown(&output).contains(&said), "{}", shown(&output));
        }
    }
}

/// Lists uploads of others, ten thousand a page, and never comes to an end.
fn lists_uploads_of_others(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    if !requested.query.contains("uploads=") {
        return None;
    }
    if requested.query.contains("prefix=linerate") {
        return says("<ListMultipartUploadsResult/>");
    }
    let page = objects.entry("pages".into()).and_modify(|page| *page += 1).or_insert(0);
    let upload = |i| format!("<Upload><Key>theirs/{page}-{i}</Key><UploadId>u</UploadId></Upload>");
    let all: String = (0..10_000).map(upload).collect();
    let next = format!("<NextKeyMarker>{page}</NextKeyMarker><NextUploadIdMarker>u</NextUploadIdMarker>");
    let text = format!("<ListMultipartUploadsResult><IsTruncated>true</IsTruncated>{next}{all}");
    Some(Said::Answer(reply("200 OK", &(text + "</ListMultipartUploadsResult>"))))
}

#[test]
fn uploads_behind_very_many_of_others_are_not_said_to_be_gone() {
    let (hostile, out) = (Hostile::serve(well), tempdir().unwrap());
    let made = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS} --noclear")));
    assert!(made.status.success() && hostile.count() == OBJECTS, "{}", shown(&made));
    hostile.behave(lists_uploads_of_others);
    let output = clean(out.path(), &[]);
    // One is where the pages are counted.
    assert_eq!((output.status.code(), hostile.count()), (Some(3), 1), "{}", shown(&output));
    for part in ["deleted 7 objects", "not all unfinished uploads were looked through", "100\u{202f}000 uploads"] {
        assert!(shown(&output).contains(part), "{part}: {}", shown(&output));
    }
}

/// A file system behind S3: lists each folder of what was written as an object of no bytes, which cannot be deleted.
fn lists_folders(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    let key = &requested.key;
    if requested.method == "PUT" {
        objects.extend(key.match_indices('/').map(|(at, _)| (key[..=at].to_owned(), 0)));
    }
    if requested.deletes_many() || (requested.method == "DELETE" && !key.is_empty()) {
        let body = String::from_utf8_lossy(&requested.body).into_owned();
        let is_deleted = |one: &String| body.contains(&format!("<Key>{one}<")) || one == key;
        objects.retain(|one, _| one.ends_with('/') || !is_deleted(one));
        return says("<DeleteResult/>");
    }
    None
}

#[test]
fn folders_that_a_target_lists_are_no_objects_of_the_run() {
    let (hostile, out) = (Hostile::serve(lists_folders), tempdir().unwrap());
    let output = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS} --prefix a/b/")));
    assert!(output.status.success() && !shown(&output).contains("remain"), "{}", shown(&output));
    let keys: Vec<String> = hostile.objects.lock().unwrap().keys().cloned().collect();
    assert!(keys.iter().all(|key| key.ends_with('/')) && keys.len() >= 4, "{keys:?}");
    let output = clean(out.path(), &[]);
    assert!(output.status.success() && shown(&output).contains("nothing is left"), "{}", shown(&output));
}

/// The same with a bucket that the run makes, and that stays while folders are in it.
fn makes_and_lists_folders(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    lists_folders(requested, objects).or_else(|| makes(requested, objects))
}

/// The same, and removes a bucket with its folders.
fn removes_folders(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    if requested.method == "DELETE" && requested.key.is_empty() {
        objects.retain(|key, _| !key.ends_with('/'));
    }
    makes_and_lists_folders(requested, objects)
}

#[test]
fn a_bucket_that_only_folders_of_the_run_keep_is_said_to_hold_these() {
    for prefix in ["", "--prefix a/b/"] {
        let (hostile, out) = (Hostile::serve(makes_and_lists_folders), tempdir().unwrap());
        let output = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS} {prefix}")));
        assert!(output.status.success() && hostile.count() > 1, "{prefix}: {}", shown(&output));
        for output in [output, clean(out.path(), &[])] {
            let reported = shown(&output);
            assert!(output.status.success() && !reported.contains("not of this run"), "{prefix}: {reported}");
            assert!(reported.contains("empty folders of this run are in it"), "{prefix}: {reported}");
        }
        // Somebody else's folder is an object of others.
        hostile.objects.lock().unwrap().insert("theirs/".into(), 0);
        let output = clean(out.path(), &[]);
        let part = "1 object that is not of this run is in it, \"theirs/\"";
        assert!(output.status.success() && shown(&output).contains(part), "{prefix}: {}", shown(&output));
        hostile.objects.lock().unwrap().remove("theirs/");
        hostile.behave(removes_folders);
        let output = clean(out.path(), &[]);
        assert!(shown(&output).contains("removed bucket") && hostile.count() == 0, "{prefix}: {}", shown(&output));
    }
}

/// Whether a request is one of the queries that S3 has for versions, and for uploads that were begun.
fn is_of_versions(requested: &ReceivedRequest) -> bool {
    requested.method == "GET" && requested.key.is_empty() && requested.query.contains("version")
}

fn is_of_uploads(requested: &ReceivedRequest) -> bool {
    requested.method == "GET" && requested.key.is_empty() && requested.query.contains("uploads=")
}

/// Ignores queries that it does not know, and lists the bucket.
fn ignores_queries(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    let is_ignored = is_of_versions(requested) || is_of_uploads(requested);
    let own = || objects.iter().filter(|(key, _)| *key != "bucket").map(|(key, size)| (key.clone(), *size)).collect();
    let ignored = is_ignored.then(|| Said::Answer(reply("200 OK", &listing(requested, &own()))));
    ignored.or_else(|| makes(requested, objects))
}

/// Refuses them.
fn refuses_queries(
    requested: &ReceivedRequest,
    objects: &mut BTreeMap<String, u64>,
    (status, body): (&str, &str),
) -> Option<Said> {
    let is_refused = is_of_versions(requested) || is_of_uploads(requested);
    is_refused.then(|| Said::Answer(reply(status, body))).or_else(|| makes(requested, objects))
}

#[test]
fn a_target_that_does_not_know_versions_has_none() {
    const INVALID: &str = "<Error><Code>InvalidArgument</Code></Error>";
    const UNKNOWN: &str = "<Error><Code>NotImplemented</Code></Error>";
    let manners: [(&str, Manner); 6] = [
        ("lists the bucket", ignores_queries),
        ("400 NotImplemented, and lists the bucket", |a, objects| match a.query.contains("versions=") {
            true => Some(Said::Answer(reply("400 Bad Request", UNKNOWN))),
            false => ignores_queries(a, objects),
        }),
        ("400 InvalidArgument", |a, objects| refuses_queries(a, objects, ("400 Bad Request", INVALID))),
        ("404", |a, objects| refuses_queries(a, objects, ("404 Not Found", ""))),
        ("404 NoSuchKey", |a, objects| {
            refuses_queries(a, objects, ("404 Not Found", "<Error><Code>NoSuchKey</Code></Error>"))
        }),
        ("405", |a, objects| refuses_queries(a, objects, ("405 Method Not Allowed", ""))),
    ];
    for (what, manner) in manners {
        let (hostile, out) = (Hostile::serve(manner), tempdir().unwrap());
        let load = flags(&hostile, &format!("--op stat --objects {OBJECTS}")).replace("300ms", "1s");
        let output = bench(out.path(), &load);
        assert!(output.status.success() && hostile.count() == 0, "{what}: {}", shown(&output));
        let reported = String::from_utf8_lossy(&output.stderr);
        assert!(!reported.contains("warning") && !reported.contains("remain"), "{what}: {}", shown(&output));
        let out = tempdir().unwrap();
        let kept = bench(out.path(), &format!("{load} --noclear"));
        assert!(kept.status.success() && hostile.count() == OBJECTS + 1, "{what}: {}", shown(&kept));
        let output = clean(out.path(), &[]);
        assert!(output.status.success() && hostile.count() == 0, "{what}: {}", shown(&output));
    }
}

/// Keeps versions, and refuses to list any.
fn keeps_and_lists_no_versions(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    let refused = || Said::Answer(reply("400 Bad Request", "<Error><Code>InvalidArgument</Code></Error>"));
    requested.query.contains("versions=").then(refused).or_else(|| keeps(requested, objects))
}

#[test]
fn a_bucket_that_keeps_versions_holds_some_though_the_target_lists_none() {
    let (hostile, out) = (Hostile::serve(well), tempdir().unwrap());
    let made = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS} --noclear")));
    assert!(made.status.success() && hostile.count() == OBJECTS, "{}", shown(&made));
    hostile.behave(keeps_and_lists_no_versions);
    let output = clean(out.path(), &[]);
    assert_eq!((output.status.code(), hostile.count()), (Some(3), OBJECTS), "{}", shown(&output));
}
