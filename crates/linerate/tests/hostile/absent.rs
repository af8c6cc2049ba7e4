//! Buckets of which a target says that they are not there, though they are.

use std::collections::BTreeMap;

use tempfile::tempdir;

use super::deletions::makes;
use super::server::{Hostile, ReceivedRequest, Said, reply, well};
use super::{OBJECTS, bench, clean, flags, says, shown};

fn no_such_bucket() -> Option<Said> {
    Some(Said::Answer(reply("404 Not Found", "<Error><Code>NoSuchBucket</Code></Error>")))
}

/// Says once that there is no such bucket.
fn is_absent_once(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    let is_first = requested.method == "GET" && objects.insert("asked/once".to_owned(), 0).is_none();
    is_first.then(no_such_bucket).flatten()
}

#[test]
fn that_there_is_no_bucket_is_believed_of_several_answers() {
    let (hostile, out) = (Hostile::serve(well), tempdir().unwrap());
    let made = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS} --noclear")));
    assert!(made.status.success() && hostile.count() == OBJECTS, "{}", shown(&made));
    hostile.behave(is_absent_once);
    let output = clean(out.path(), &[]);
    assert!(shown(&output).contains(&format!("deleted {OBJECTS} objects")), "{}", shown(&output));
}

/// The same, lets its owner make the bucket that is there, as us-east-1 does, and notes where it is made or removed.
fn is_absent_once_and_is_made_again(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    if requested.key.is_empty() && requested.query.is_empty() && ["PUT", "DELETE"].contains(&requested.method.as_str())
    {
        objects.insert(format!("bucket/{}", requested.method), 0);
        return says("");
    }
    is_absent_once(requested, objects)
}

#[test]
fn a_bucket_that_is_not_found_once_does_not_become_the_runs_own() {
    let (hostile, out) = (Hostile::serve(is_absent_once_and_is_made_again), tempdir().unwrap());
    let output = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS}")));
    let objects = hostile.objects.lock().unwrap();
    let of_bucket: Vec<&String> = objects.keys().filter(|key| key.starts_with("bucket/")).collect();
    assert!(output.status.success() && of_bucket.is_empty(), "{of_bucket:?}: {}", shown(&output));
}

fn is_absent(_: &ReceivedRequest, _: &mut BTreeMap<String, u64>) -> Option<Said> {
    no_such_bucket()
}

#[test]
fn a_bucket_that_a_run_made_is_its_own_also_after_it_was_not_found() {
    let (hostile, out) = (Hostile::serve(makes), tempdir().unwrap());
    let made = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS} --noclear")));
    assert!(made.status.success() && hostile.count() == OBJECTS + 1, "{}", shown(&made));
    hostile.behave(is_absent);
    let output = clean(out.path(), &[]);
    assert!(output.status.success() && shown(&output).contains("there is no bucket"), "{}", shown(&output));
    hostile.behave(makes);
    let output = clean(out.path(), &[]);
    assert!(output.status.success() && hostile.count() == 0, "{}", shown(&output));
    assert!(shown(&output).contains("removed bucket"), "{}", shown(&output));
}

/// How often a bucket that was made is not found yet.
const LATE_LOOKS: usize = 3;

/// Has a bucket once it is made, and knows of it after some looks only: copies of the list of buckets lag behind.
fn has_it_late(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<Said> {
    let looks = objects.keys().filter(|key| key.starts_with("late/")).count();
    let is_of_bucket = requested.key.is_empty() && requested.query.is_empty();
    if objects.contains_key("bucket") && looks < LATE_LOOKS && !is_of_bucket {
        if requested.looks() {
            objects.insert(format!("late/{looks}"), 0);
        }
        return no_such_bucket();
    }
    makes(requested, objects)
}

#[test]
fn a_bucket_that_was_made_is_waited_for_before_anything_is_written_to_it() {
    let (hostile, out) = (Hostile::serve(has_it_late), tempdir().unwrap());
    let output = bench(out.path(), &flags(&hostile, &format!("--op stat --objects {OBJECTS}")));
    assert!(output.status.success(), "{}", shown(&output));
    let late = hostile.objects.lock().unwrap().keys().filter(|key| key.starts_with("late/")).count();
    assert_eq!(late, LATE_LOOKS, "it was asked until it had it");
}

#[test]
fn a_bucket_that_was_made_is_waited_for_on_each_host() {
    let first = Hostile::serve(makes);
    let (second, out) = (first.other_host(has_it_late), tempdir().unwrap());
    let both = format!("{},{}", first.address, second.address);
    let flags = flags(&first, &format!("--op stat --objects {OBJECTS}")).replace(&first.address, &both);
    let output = bench(out.path(), &flags);
    assert!(output.status.success(), "{}", shown(&output));
    let late = first.objects.lock().unwrap().keys().filter(|key| key.starts_with("late/")).count();
    assert_eq!(late, LATE_LOOKS, "the second host was looked at until it had the bucket");
}
