//! Buckets that keep versions, keys that may not do everything, deletions that nobody answers.

use std::collections::BTreeMap;

use linerate_record::finding::FindingKind;
use tempfile::tempdir;

use super::deletions::makes;
use super::server::{Hostile, ReceivedRequest, Said, reply, well};
use super::{OBJECTS, bench, bench_command, clean, flags, interrupted, keys, says, says_403, shown, view};

/// Below it stays what was deleted without its version.
const HIDDEN: &str = "hidden/";

/// A bucket that keeps versions.
pub(crate) fn keeps(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    let body = String::from_utf8_lossy(&requested.body);
    if requested.query == "versioning=" {
        return says("<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>");
    }
    if requested.query == "object-lock=" {
        return Some(Said::Answer(reply("404 Not Found", "<Error><Code>NoSuchLock</Code></Error>")));
    }
    if requested.query.contains("versions=") {
        let version = |key: &String| {
            let key = key.trim_start_matches(HIDDEN);
            format!("<Version><Key>{key}</Key><VersionId>1</VersionId></Version>")
        };
        let all: String = objects.keys().filter(|key| *key != "bucket").map(version).collect();
        return Some(Said::Answer(reply("200 OK", &format!("<ListVersionsResult>{all}</ListVersionsResult>"))));
    }
    if requested.deletes_many() {
        let keys: Vec<String> =
            objects.keys().filter(|key| body.contains(key.trim_start_matches(HIDDEN))).cloned().collect();
        for key in keys {
            let size = objects.remove(&key).unwrap_or_default();
            if !body.contains("<VersionId>") {
                objects.insert(format!("{HIDDEN}{}", key.trim_start_matches(HIDDEN)), size);
            }
        }
        return says("<DeleteResult/>");
    }
    None
}

/// The same, with keys that may not delete versions.
pub(crate) fn keeps_for_ever(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    let by_version = requested.deletes_many() && String::from_utf8_lossy(&requested.body).contains("<VersionId>");
    if by_version { says_403("AccessDenied") } else { keeps(requested, objects) }
}

/// The same, with a lock on whatever is written.
fn locks(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    if requested.query == "object-lock=" {
        return says(
            "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule><DefaultRetention>\
             <Mode>COMPLIANCE</Mode><Days>30</Days></DefaultRetention></Rule></ObjectLockConfiguration>",
        );
    }
    keeps_for_ever(requested, objects)
}

#[test]
fn a_bucket_that_keeps_versions_keeps_none_of_the_run() {
    let (hostile, out) = (Hostile::serve(keeps), tempdir().unwrap());
    let loud = flags(&hostile, &format!("--op stat --objects {OBJECTS}")).replace("--quiet", "");
    let output = bench(out.path(), &loud);
    assert!(output.status.success() && hostile.count() == 0, "{} left: {}", hostile.count(), shown(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains("keeps versions"), "{}", shown(&output));

    let (hostile, out) = (Hostile::serve(keeps_for_ever), tempdir().unwrap());
    let output = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS}")));
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    let reported = String::from_utf8_lossy(&output.stderr);
    for part in ["7 versions and delete markers", "s3:DeleteObjectVersion", "linerate clean "] {
        assert!(reported.contains(part), "{part}: {}", shown(&output));
    }
    assert!(view(out.path()).findings.iter().any(|f| f.kind == FindingKind::LeftBehind));
    hostile.behave(keeps);
    assert!(clean(out.path(), &[]).status.success() && hostile.count() == 0);
}

#[test]
fn a_bucket_that_locks_what_is_written_wants_consent() {
    let (hostile, out) = (Hostile::serve(locks), tempdir().unwrap());
    let requested = flags(&hostile, "--op stat --objects 3");
    let output = bench(&out.path().join("run"), &requested);
    assert!(output.status.code() == Some(2) && hostile.count() == 0, "{}", shown(&output));
    for part in ["COMPLIANCE, 30 days", "--yes-load"] {
        assert!(shown(&output).contains(part), "{part}: {}", shown(&output));
    }
    let output = bench(&out.path().join("run"), &format!("{requested} --yes-load"));
    assert!(output.status.code() == Some(3) && hostile.count() > 0, "{}", shown(&output));
}

fn denies_uploads(requested: &ReceivedRequest, _: &mut BTreeMap<String, u64>) -> Option<Said> {
    requested.query.contains("uploads=").then(|| says_403("AccessDenied"))?
}

fn denies_versions(requested: &ReceivedRequest, _: &mut BTreeMap<String, u64>) -> Option<Said> {
    requested.query.contains("versions=").then(|| says_403("AccessDenied"))?
}

/// A bucket without versions, of which a listing of versions shows each object, and from which nothing goes.
fn keeps_all(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    if requested.query.contains("versions=") {
        let version = |key: &String| format!("<Version><Key>{key}</Key><VersionId>null</VersionId></Version>");
        let all: String = objects.keys().map(version).collect();
        return Some(Said::Answer(reply("200 OK", &format!("<ListVersionsResult>{all}</ListVersionsResult>"))));
    }
    if requested.method == "DELETE" && requested.key.is_empty() {
        return Some(Said::Answer(reply("409 Conflict", "<Error><Code>BucketNotEmpty</Code></Error>")));
    }
    requested.deletes_many().then(|| says_403("AccessDenied"))?
}

#[test]
fn objects_that_are_not_deleted_are_counted_once_and_are_the_runs_own() {
    let (hostile, out) = (Hostile::serve(well), tempdir().unwrap());
    let made = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS} --noclear")));
    assert!(made.status.success() && hostile.count() == OBJECTS, "{}", shown(&made));
    hostile.behave(keeps_all);
    let output = clean(out.path(), &["--remove-bucket"]);
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains(&format!("{OBJECTS} below")), "{}", shown(&output));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("something of this run is still in it"), "{}", shown(&output));
    hostile.objects.lock().unwrap().insert("foreign".to_owned(), 1);
    let output = clean(out.path(), &["--remove-bucket"]);
    assert!(shown(&output).contains("1 object that is not of this run is in it, \"foreign\""), "{}", shown(&output));
}

/// Keeps versions from the birth of its bucket on, which is made and removed as others are.
fn keeps_from_birth(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    let hidden = objects.keys().any(|key| key.starts_with(HIDDEN));
    let of_bucket = requested.key.is_empty() && requested.query.is_empty();
    if of_bucket && requested.method == "DELETE" && hidden {
        return Some(Said::Answer(reply("409 Conflict", "<Error><Code>BucketNotEmpty</Code></Error>")));
    }
    let versioned = if objects.contains_key("bucket") { keeps(requested, objects) } else { None };
    versioned.or_else(|| makes(requested, objects))
}

#[test]
fn a_bucket_that_keeps_versions_from_its_birth_on_keeps_none_of_the_run() {
    let (hostile, out) = (Hostile::serve(keeps_from_birth), tempdir().unwrap());
    let loud = flags(&hostile, &format!("--op stat --objects {OBJECTS}")).replace("--quiet", "");
    let output = bench(out.path(), &loud);
    assert!(output.status.success() && hostile.count() == 0, "{}: {}", hostile.count(), shown(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains("keeps versions"), "{}", shown(&output));
}

/// A bucket without versions, of which a listing of versions goes on to show what was deleted by its key.
fn shows_as_null(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    if requested.query.contains("versions=") {
        let version = |key: &String| {
            let key = key.trim_start_matches(HIDDEN);
            format!("<Version><Key>{key}</Key><VersionId>null</VersionId></Version>")
        };
        let all: String = objects.keys().map(version).collect();
        return Some(Said::Answer(reply("200 OK", &format!("<ListVersionsResult>{all}</ListVersionsResult>"))));
    }
    if requested.deletes_many() { keeps(requested, objects) } else { None }
}

/// The same, and deletes nothing by its version.
fn shows_as_null_for_ever(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    let by_version = requested.deletes_many() && String::from_utf8_lossy(&requested.body).contains("<VersionId>");
    if by_version { says("<DeleteResult/>") } else { shows_as_null(requested, objects) }
}

#[test]
fn what_only_a_listing_of_versions_shows_is_deleted_or_told() {
    for (manner, code, part) in
        [(shows_as_null as super::Manner, 0, "deleted 7 objects below"), (shows_as_null_for_ever, 3, "7 below")]
    {
        let (hostile, out) = (Hostile::serve(well), tempdir().unwrap());
        let made = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS} --noclear")));
        assert!(made.status.success() && hostile.count() == OBJECTS, "{}", shown(&made));
        hostile.behave(manner);
        let output = clean(out.path(), &[]);
        assert_eq!((output.status.code(), hostile.count() == 0), (Some(code), code == 0), "{}", shown(&output));
        assert!(shown(&output).contains(part), "{part}: {}", shown(&output));
        // A run that clears up after itself is held to the same.
        let (hostile, out) = (Hostile::serve(manner), tempdir().unwrap());
        let output = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS}")));
        assert_eq!((output.status.code(), hostile.count() == 0), (Some(code), code == 0), "{}", shown(&output));
    }
}

fn keeps_and_denies(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    denies_versions(requested, objects).or_else(|| keeps(requested, objects))
}

fn denies_both(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    let versioning = (requested.query == "versioning=").then(|| says_403("AccessDenied")).flatten();
    versioning.or_else(|| keeps_and_denies(requested, objects))
}

#[test]
fn clean_does_not_say_that_nothing_is_left_where_versions_may_be() {
    let (hostile, out) = (Hostile::serve(well), tempdir().unwrap());
    let made = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS} --noclear")));
    assert!(made.status.success() && hostile.count() == OBJECTS, "{}", shown(&made));
    let hidden =
        |hostile: &Hostile| hostile.objects.lock().unwrap().keys().filter(|key| key.starts_with(HIDDEN)).count();
    hostile.behave(keeps_and_denies);
    let output = clean(out.path(), &[]);
    assert_eq!((output.status.code(), hidden(&hostile)), (Some(3), 0), "{}", shown(&output));
    for part in ["7 objects below", "were not deleted", "the bucket keeps versions", "s3:ListBucketVersions"] {
        assert!(String::from_utf8_lossy(&output.stderr).contains(part), "{part}: {}", shown(&output));
    }
    hostile.behave(denies_both);
    let output = clean(out.path(), &[]);
    assert_eq!((output.status.code(), hidden(&hostile)), (Some(3), OBJECTS), "{}", shown(&output));
    for _ in 0..2 {
        let output = clean(out.path(), &[]);
        assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
        let reported = String::from_utf8_lossy(&output.stderr);
        for part in ["it is not known what remains below", "s3:ListBucketVersions", "s3:GetBucketVersioning"] {
            assert!(reported.contains(part), "{part}: {}", shown(&output));
        }
        assert!(shown(&output).contains("not known whether the bucket keeps versions"), "{}", shown(&output));
        assert!(!shown(&output).contains("nothing is left"), "{}", shown(&output));
    }
}

#[test]
fn objects_whose_versions_may_not_be_listed_are_counted_where_a_listing_shows_them() {
    let (hostile, out) = (Hostile::serve(keeps_and_denies), tempdir().unwrap());
    let output = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS}")));
    assert_eq!((output.status.code(), hostile.count()), (Some(3), OBJECTS), "{}", shown(&output));
    let reported = String::from_utf8_lossy(&output.stderr);
    for part in ["run remain at the target", "7 objects of 6.84 KiB together", "s3:ListBucketVersions"] {
        assert!(reported.contains(part), "{part}: {}", shown(&output));
    }
}

/// A bucket that keeps versions, and whose listing of them lags behind.
fn keeps_and_shows_none(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    let is_listing = requested.query.contains("versions=");
    if is_listing { says("<ListVersionsResult></ListVersionsResult>") } else { keeps(requested, objects) }
}

#[test]
fn objects_are_not_hidden_where_a_listing_of_versions_lags_behind() {
    let hidden =
        |hostile: &Hostile| hostile.objects.lock().unwrap().keys().filter(|key| key.starts_with(HIDDEN)).count();
    let (hostile, out) = (Hostile::serve(keeps_and_shows_none), tempdir().unwrap());
    let output = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS}")));
    assert_eq!((output.status.code(), hidden(&hostile)), (Some(3), 0), "{}", shown(&output));
    assert!(shown(&output).contains("show 7 objects of the run, and one of versions shows none"), "{}", shown(&output));
    let output = clean(out.path(), &[]);
    assert_eq!((output.status.code(), hidden(&hostile)), (Some(3), 0), "{}", shown(&output));
    // None of them was asked to be deleted, so that none was confirmed.
    assert!(shown(&output).contains("a listing of them shows none of these objects"), "{}", shown(&output));
    hostile.behave(keeps);
    let output = clean(out.path(), &[]);
    assert!(output.status.success() && hostile.count() == 0, "{}", shown(&output));
}

/// As proxies refuse: without a code.
fn refuses_versions_barely(requested: &ReceivedRequest, _: &mut BTreeMap<String, u64>) -> Option<Said> {
    requested.query.contains("versions=").then(|| Said::Answer(reply("403 Forbidden", "")))
}

#[test]
fn a_listing_that_is_refused_without_a_code_does_not_end_clean() {
    let (hostile, out) = (Hostile::serve(well), tempdir().unwrap());
    let made = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS} --noclear")));
    assert!(made.status.success() && hostile.count() == OBJECTS, "{}", shown(&made));
    hostile.behave(refuses_versions_barely);
    let output = clean(out.path(), &[]);
    assert!(output.status.success() && hostile.count() == 0, "{}", shown(&output));
    assert!(shown(&output).contains("versions were not looked for"), "{}", shown(&output));
}

/// Keeps a note of each deletion that it is asked for, and does not answer.
fn deletes_never(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    if !requested.deletes_many() {
        return None;
    }
    objects.insert(format!("asked/{}", objects.len()), 0);
    Some(Said::Nothing)
}

#[test]
fn clean_goes_on_where_it_may_not_list_uploads_or_versions() {
    for (denied, permission) in [("uploads=", "s3:ListBucketMultipartUploads"), ("versions=", "s3:ListBucketVersions")]
    {
        let (hostile, out) = (Hostile::serve(well), tempdir().unwrap());
        let made = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS} --noclear")));
        assert!(made.status.success() && hostile.count() == OBJECTS, "{}", shown(&made));
        hostile.behave(if denied == "uploads=" { denies_uploads } else { denies_versions });
        let output = clean(out.path(), &[]);
        assert!(output.status.success() && hostile.count() == 0, "{denied}: {}", shown(&output));
        assert!(shown(&output).contains(permission), "{denied}: {}", shown(&output));
    }
}

#[test]
fn a_deletion_that_is_not_answered_is_not_made_again() {
    let (hostile, out) = (Hostile::serve(deletes_never), tempdir().unwrap());
    let output = bench(out.path(), &flags(&hostile, "--op stat --objects 3 --timeout 1s"));
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    let requested = hostile.objects.lock().unwrap().keys().filter(|key| key.starts_with("asked/")).count();
    // Once after the point, and once at the end of the run.
    assert!(requested <= 2, "{requested}: {}", shown(&output));
    assert!(shown(&output).contains("timed out after 1 s"), "{}", shown(&output));
}

#[test]
fn the_first_ctrl_c_names_the_command_that_cleans_also_with_quiet() {
    let (hostile, out) = (Hostile::serve(well), tempdir().unwrap());
    let run = out.path().join("run");
    let flags = flags(&hostile, "--op put").replace("300ms", "60s");
    let ended = interrupted(&mut bench_command(&run, &flags, &keys()), || hostile.count() > 20, 1);
    assert!(ended.said.contains(&format!("linerate clean {}", run.display())), "{ended:?}");
    assert!(ended.said.lines().last().is_some_and(|line| line.starts_with("error: ")), "{ended:?}");
}
