//! Deletions that are refused, confirmed without being made, or shown by listings that contradict each other.

use std::collections::BTreeMap;

use linerate_record::finding::{Confidence, FindingKind};
use tempfile::tempdir;

use super::server::{Hostile, ReceivedRequest, Said, listing, reply, well};
use super::versioned::{keeps, keeps_for_ever};
use super::{OBJECTS, bench, clean, flags, says, says_403, shown, view};

/// Knows no deletion of several objects, and holds every third against deletion.
fn holds_some(requested: &ReceivedRequest, _: &mut BTreeMap<String, u64>) -> Option<Said> {
    if requested.deletes_many() {
        return Some(Said::Answer(reply("501 Not Implemented", "<Error><Code>NotImplemented</Code></Error>")));
    }
    let seq: Option<u64> = requested.key.rsplit('/').next().and_then(|name| name.split('-').next()?.parse().ok());
    (requested.method == "DELETE" && seq.is_some_and(|seq| seq.is_multiple_of(3))).then(|| says_403("AccessDenied"))?
}

#[test]
fn an_object_that_is_not_deleted_keeps_no_other_and_is_told_once() {
    let (hostile, out) = (Hostile::serve(holds_some), tempdir().unwrap());
    let output = bench(out.path(), &flags(&hostile, "--op stat --objects 9"));
    assert_eq!((output.status.code(), hostile.count()), (Some(3), 3), "{}", shown(&output));
    let reported = String::from_utf8_lossy(&output.stderr);
    for part in ["3 objects of 2.93 KiB", "3 of 3 deletions were refused", "(AccessDenied)"] {
        assert_eq!(reported.matches(part).count(), 1, "{part}: {reported}");
    }
    let output = clean(out.path(), &[]);
    assert_eq!((output.status.code(), hostile.count()), (Some(3), 3), "{}", shown(&output));
    assert!(shown(&output).contains("nothing could be deleted"), "{}", shown(&output));
    assert!(shown(&output).contains("3 of 3 deletions were refused"), "{}", shown(&output));
    hostile.behave(well);
    let output = clean(out.path(), &[]);
    assert!(output.status.success() && shown(&output).contains("deleted 3 objects below"), "{}", shown(&output));
}

/// Confirms deletions and makes none; every other listing shows nothing.
fn wavers(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    if requested.deletes_many() {
        return says("<DeleteResult/>");
    }
    if !requested.lists() || requested.looks() {
        return None;
    }
    let is_second = objects.remove("listed").is_some();
    if !is_second {
        objects.insert("listed".into(), 0);
    }
    is_second.then(|| says("<ListBucketResult/>"))?
}

#[test]
fn what_listings_show_again_was_not_deleted() {
    let (hostile, out) = (Hostile::serve(well), tempdir().unwrap());
    let made = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS} --noclear")));
    assert!(made.status.success() && hostile.count() == OBJECTS, "{}", shown(&made));
    hostile.behave(wavers);
    let output = clean(out.path(), &[]);
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("not known whether anything was deleted") && !said.contains("deleted 7"), "{said}");
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(reported.contains("7 below") && reported.contains("show again what they no longer showed"), "{reported}");
}

#[test]
fn a_run_whose_listings_show_again_what_they_no_longer_showed_is_no_success() {
    let (hostile, out) = (Hostile::serve(wavers), tempdir().unwrap());
    let output = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS}")));
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    let reported = String::from_utf8_lossy(&output.stderr);
    for part in ["may remain at the target", "a listing showed 7 objects that another did not show", "linerate clean "]
    {
        assert!(reported.contains(part), "{part}: {reported}");
    }
    let found = view(out.path()).findings.into_iter().find(|f| f.kind == FindingKind::LeftBehind).unwrap();
    assert_eq!(found.confidence, Confidence::Likely, "{found:?}");
}

/// Has a bucket once it is made, and removes it only where nothing is in it.
pub(crate) fn makes(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    let of_bucket = requested.key.is_empty() && requested.query.is_empty();
    match requested.method.as_str() {
        "PUT" if of_bucket => {
            objects.insert("bucket".into(), 0);
            says("")
        }
        "DELETE" if of_bucket && objects.len() > 1 => {
            Some(Said::Answer(reply("409 Conflict", "<Error><Code>BucketNotEmpty</Code></Error>")))
        }
        "DELETE" if of_bucket => {
            objects.clear();
            Some(Said::Answer(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()))
        }
        "GET" if !objects.contains_key("bucket") => {
            Some(Said::Answer(reply("404 Not Found", "<Error><Code>NoSuchBucket</Code></Error>")))
        }
        "GET" if requested.lists() && requested.query.ends_with("prefix=") => {
            let own = objects.iter().filter(|(key, _)| *key != "bucket").map(|(key, size)| (key.clone(), *size));
            Some(Said::Answer(reply("200 OK", &listing(requested, &own.collect()))))
        }
        _ => None,
    }
}

/// The same, and confirms deletions that it does not make: a listing below a prefix shows nothing from then on.
fn hides_below_prefixes(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    if requested.deletes_many() {
        objects.insert("deleted".into(), 0);
        return says("<DeleteResult/>");
    }
    if requested.lists() && !requested.query.ends_with("prefix=") && objects.contains_key("deleted") {
        return says("<ListBucketResult/>");
    }
    makes(requested, objects)
}

#[test]
fn a_bucket_that_still_shows_objects_of_the_run_is_left_behind() {
    let (hostile, out) = (Hostile::serve(hides_below_prefixes), tempdir().unwrap());
    let output = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS}")));
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    let reported = String::from_utf8_lossy(&output.stderr);
    for part in ["objects or a bucket of this run remain", "something of this run", "which this run created, remains"] {
        assert!(reported.contains(part), "{part}: {reported}");
    }
    assert!(view(out.path()).findings.iter().any(|f| f.kind == FindingKind::LeftBehind));
}

#[test]
fn a_bucket_that_is_made_goes_and_takes_what_may_come_yet_with_it() {
    let (hostile, out) = (Hostile::serve(makes), tempdir().unwrap());
    let output = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS}")));
    assert!(output.status.success() && hostile.count() == 0, "{}", shown(&output));
    // A deletion that is not answered leaves what nobody listed; but the bucket is removed.
    let never = |requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>| {
        if requested.method == "PUT" && !requested.key.is_empty() && objects.len() > 30 {
            return Some(Said::Nothing);
        }
        makes(requested, objects)
    };
    let (hostile, out) = (Hostile::serve(never), tempdir().unwrap());
    let output = bench(out.path(), &flags(&hostile, "--op put --timeout 1s"));
    let reported = shown(&output);
    assert!(hostile.count() == 0 && !reported.contains("may remain"), "{reported}");
}

/// Is busy once, where it is looked for the bucket, where it lists uploads, and where it lists versions.
fn is_busy_once(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    let what = ["max-keys=1&", "uploads=", "versions="].into_iter().find(|what| requested.query.contains(what))?;
    let busy = "<Error><Code>SlowDown</Code></Error>";
    let is_first = objects.insert(format!("busy/{what}"), 0).is_none();
    is_first.then(|| Said::Answer(reply("503 Slow Down", busy)))
}

#[test]
fn a_target_that_is_busy_once_is_cleaned_all_the_same() {
    let (hostile, out) = (Hostile::serve(well), tempdir().unwrap());
    let made = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS} --noclear")));
    assert!(made.status.success() && hostile.count() == OBJECTS, "{}", shown(&made));
    hostile.behave(is_busy_once);
    let output = clean(out.path(), &[]);
    assert!(output.status.success() && hostile.count() == 3, "{}", shown(&output));
    assert!(shown(&output).contains("deleted 7 objects below"), "{}", shown(&output));
    // A run is no more put off by it; it looks for no uploads where it has begun none.
    hostile.objects.lock().unwrap().clear();
    let output = bench(&out.path().join("run"), &flags(&hostile, "--op stat --objects 3"));
    assert!(output.status.success() && hostile.count() == 2, "{}", shown(&output));
}

#[test]
fn a_bucket_is_not_removed_while_something_of_the_run_may_be_in_it() {
    let (hostile, out) = (Hostile::serve(well), tempdir().unwrap());
    let made = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS} --noclear")));
    assert!(made.status.success() && hostile.count() == OBJECTS, "{}", shown(&made));
    let removes_all = |requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>| {
        if requested.method == "DELETE" && requested.key.is_empty() {
            objects.clear();
        }
        wavers(requested, objects)
    };
    hostile.behave(removes_all);
    let output = clean(out.path(), &["--remove-bucket"]);
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    assert!(hostile.count() >= OBJECTS, "it is not removed: {}", shown(&output));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("something of this run is still in it"), "{said}");
    assert!(!said.contains("shows no objects"), "{said}");
}

#[test]
fn an_object_in_a_bucket_that_keeps_versions_is_counted_once() {
    let (hostile, out) = (Hostile::serve(keeps_for_ever), tempdir().unwrap());
    let output = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS}")));
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(reported.contains("7 versions and delete markers could not be deleted"), "{reported}");
    assert!(!reported.contains("7 objects of 6.84 KiB"), "{reported}");
    // Nothing was hidden below a delete marker instead.
    let hidden = hostile.objects.lock().unwrap().keys().filter(|key| key.starts_with("hidden/")).count();
    assert_eq!(hidden, 0, "{reported}");
    let output = clean(out.path(), &[]);
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains("7 below"), "{}", shown(&output));

    hostile.behave(keeps);
    let dry = clean(out.path(), &["--dry-run"]);
    let lines = String::from_utf8_lossy(&dry.stdout).lines().count();
    assert!(shown(&dry).contains("would delete 7 objects below") && lines == OBJECTS + 1, "{}", shown(&dry));
    let output = clean(out.path(), &[]);
    assert!(output.status.success() && shown(&output).contains("deleted 7 objects below"), "{}", shown(&output));
    assert_eq!(hostile.count(), 0);
}

/// Lists three pages for ever, each behind another token.
fn goes_round(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    if !requested.lists() || requested.looks() {
        return None;
    }
    let n = objects.get("page").copied().unwrap_or_default();
    objects.insert("page".into(), n + 1);
    let prefix = objects.keys().find_map(|key| Some(key.split_once('/')?.0.to_owned()))?;
    let entry = format!("<Contents><Key>{prefix}/000/{}</Key><Size>1</Size></Contents>", n % 3);
    let more = format!("<IsTruncated>true</IsTruncated><NextContinuationToken>{n}</NextContinuationToken>");
    Some(Said::Answer(reply("200 OK", &format!("<ListBucketResult>{more}{entry}</ListBucketResult>"))))
}

#[test]
fn a_listing_that_goes_round_ends_a_cleaning_which_says_what_it_had_begun() {
    let (hostile, out) = (Hostile::serve(well), tempdir().unwrap());
    let made = bench(out.path(), &flags(&hostile, "--op stat --objects 3 --noclear"));
    assert!(made.status.success() && hostile.count() == 3, "{}", shown(&made));
    hostile.behave(goes_round);
    let output = clean(out.path(), &[]);
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    let reported = String::from_utf8_lossy(&output.stderr);
    for part in ["two of its pages are the same", "4 deletions below", "it is not known what remains"] {
        assert!(reported.contains(part), "{part}: {reported}");
    }
}

/// Begins uploads, completes none, lets none be aborted, and lists none.
fn keeps_uploads(requested: &ReceivedRequest, _: &mut BTreeMap<String, u64>) -> Option<Said> {
    let begun = "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>";
    match requested.method.as_str() {
        "POST" if requested.query.starts_with("uploads") => says(begun),
        "POST" if requested.query.contains("uploadId=") => {
            Some(Said::Answer(reply("500 Internal Server Error", "<Error><Code>InternalError</Code></Error>")))
        }
        "PUT" if requested.query.contains("partNumber=") => {
            Some(Said::Answer(b"HTTP/1.1 200 OK\r\nETag: \"x\"\r\nContent-Length: 0\r\n\r\n".to_vec()))
        }
        "DELETE" if requested.query.contains("uploadId=") => says_403("AccessDenied"),
        "GET" if requested.query.contains("uploads") => Some(Said::Answer(reply("501 Not Implemented", ""))),
        _ => None,
    }
}

#[test]
fn an_upload_whose_abort_is_refused_remains() {
    let (hostile, out) = (Hostile::serve(keeps_uploads), tempdir().unwrap());
    let of_parts = flags(&hostile, "--op multipart --part.size 5MiB").replace("--obj.size 1000", "--obj.size 6MiB");
    let output = bench(out.path(), &of_parts);
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{}", shown(&output));
    for part in ["this run remain at the target", "could not be aborted: giving up an upload", "(AccessDenied)"] {
        assert!(reported.contains(part), "{part}: {reported}");
    }
    assert!(!reported.contains("may remain"), "{reported}");
}
