//! What a cleaning found and deleted, as text.

use std::fmt::Write as _;

use linerate_record::units::grouped;

/// What was found of a run, and deleted; in a dry run, what was found.
#[derive(Clone, Debug)]
pub struct Cleaning<'c> {
    /// Where the run wrote.
    pub place: &'c str,
    /// Name of the bucket.
    pub bucket: &'c str,
    /// Whether it was a dry run.
    pub dry_run: bool,
    pub objects: usize,
    /// Versions and delete markers.
    pub versions: usize,
    pub uploads: usize,
    /// How many are still there.
    pub left: usize,
    /// Whether it is not known what became of these: listings contradict each other, or do not end.
    pub is_unsettled: bool,
    /// What could not be looked for, and why; no reason where the target does not list such.
    pub unlisted: &'c [(&'static str, Option<String>)],
    /// What may be left that could not be looked for.
    pub unknown: Option<&'c str>,
    /// What became of the bucket.
    pub bucket_end: BucketEnd,
    /// What else is in the bucket, or may be, where that keeps it.
    pub others: &'c str,
}

/// What became of a bucket when what a run left in it was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BucketEnd {
    /// It was to stay.
    Stays,
    /// Its folder says that the run made it, and this machine does not.
    NotNoted,
    Removed,
    /// It would be, unless something else is in it.
    WouldBeRemoved,
    /// Something else is in it.
    InUse,
    /// Something may be in it, and no listing shows what.
    Unseen,
    /// What the run left is still in it.
    HoldsOwn,
    /// The target refused to remove it, which is told as an error.
    Refused,
}

/// What was found and deleted, what was not looked for, and what became of the bucket.
#[must_use]
pub fn cleaned(of: &Cleaning<'_>) -> String {
    let parts: Vec<String> = [
        (of.objects, "object", "objects"),
        (of.versions, "version or delete marker", "versions and delete markers"),
        (of.uploads, "unfinished upload", "unfinished uploads"),
    ]
    .into_iter()
    .filter(|(n, ..)| *n > 0)
    .map(|(n, one, many)| format!("{} {}", grouped(n as u64), if n == 1 { one } else { many }))
    .collect();
    let (place, name) = (of.place, of.bucket);
    let is_in_doubt = of.unknown.is_some() || of.is_unsettled || of.unlisted.iter().any(|(_, why)| why.is_some());
    let mut text = match (parts.is_empty(), of.dry_run) {
        (true, false) if of.left > 0 && of.is_unsettled => {
            format!("it is not known whether anything was deleted below {place}\n")
        }
        (true, false) if of.left > 0 => format!("nothing could be deleted below {place}\n"),
        (true, _) if is_in_doubt => format!("no listing shows anything below {place}\n"),
        (true, _) => format!("nothing is left below {place}\n"),
        (false, true) => format!("would delete {} below {place}\n", parts.join(", ")),
        (false, false) => format!("deleted {} below {place}\n", parts.join(", ")),
    };
    for (what, why) in of.unlisted {
        let why = why.as_deref().unwrap_or("this target does not list them");
        let _ = writeln!(text, "{what} were not looked for: {why}");
    }
    let _ = of.unknown.map_or(Ok(()), |unknown| writeln!(text, "{unknown}"));
    let _ = match of.bucket_end {
        BucketEnd::Stays | BucketEnd::Refused => Ok(()),
        BucketEnd::Removed => writeln!(text, "removed bucket {name:?}"),
        BucketEnd::WouldBeRemoved => writeln!(text, "would remove bucket {name:?}, if nothing else is in it"),
        BucketEnd::InUse => writeln!(
            text,
            "kept bucket {name:?}: {}; delete that with another tool if nobody needs it, then clean again, or keep the \
             bucket",
            of.others
        ),
        BucketEnd::Unseen => {
            writeln!(text, "kept bucket {name:?}: {}; clean again once listings show what is in it", of.others)
        }
        BucketEnd::HoldsOwn => writeln!(text, "kept bucket {name:?}: something of this run is still in it"),
        BucketEnd::NotNoted => writeln!(
            text,
            "kept bucket {name:?}: run.json says that the run created it, but this machine has no note of that; \
             --remove-bucket removes it if it is empty"
        ),
    };
    text
}

/// What is said where the bucket of a run is not there.
#[must_use]
pub fn no_bucket(name: &str) -> String {
    format!("nothing is left: there is no bucket {name:?}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_deleted_is_counted_and_what_became_of_the_bucket_is_said() {
        let none = Cleaning {
            place: "s3://b/p/",
            bucket: "b",
            dry_run: false,
            objects: 0,
            versions: 0,
            uploads: 0,
            left: 0,
            is_unsettled: false,
            unlisted: &[],
            unknown: None,
            bucket_end: BucketEnd::Stays,
            others: "1 object is in it",
        };
        let unlisted = [("versions", None), ("unfinished uploads", Some("denied".to_owned()))];
        for (of, expected) in [
            (none.clone(), "nothing is left below s3://b/p/\n"),
            (Cleaning { left: 2, ..none.clone() }, "nothing could be deleted below s3://b/p/\n"),
            (
                Cleaning { left: 2, is_unsettled: true, ..none.clone() },
                "it is not known whether anything was deleted below s3://b/p/\n",
            ),
            (
                Cleaning { unknown: Some("versions may be left"), ..none.clone() },
                "no listing shows anything below s3://b/p/\nversions may be left\n",
            ),
            (Cleaning { left: 2, dry_run: true, ..none.clone() }, "nothing is left below s3://b/p/\n"),
            (
                Cleaning { objects: 2, versions: 1, uploads: 1, ..none.clone() },
                "deleted 2 objects, 1 version or delete marker, 1 unfinished upload below s3://b/p/\n",
            ),
            (
                Cleaning { objects: 1, versions: 2, uploads: 2, dry_run: true, left: 5, ..none.clone() },
                "would delete 1 object, 2 versions and delete markers, 2 unfinished uploads below s3://b/p/\n",
            ),
            (
                Cleaning { unlisted: &unlisted, ..none.clone() },
                "no listing shows anything below s3://b/p/\nversions were not looked for: this target does \
                    not list them\n\
                 unfinished uploads were not looked for: denied\n",
            ),
        ] {
            assert_eq!(cleaned(&of), expected);
        }
        for (bucket_end, expected) in [
            (BucketEnd::Refused, ""),
            (BucketEnd::Removed, "removed bucket \"b\"\n"),
            (BucketEnd::WouldBeRemoved, "would remove bucket \"b\", if nothing else is in it\n"),
            (
                BucketEnd::InUse,
                "kept bucket \"b\": 1 object is in it; delete that with another tool if nobody needs it, \
                 then clean again, or keep the bucket\n",
            ),
            (BucketEnd::Unseen, "kept bucket \"b\": 1 object is in it; clean again once listings show what is in it\n"),
            (BucketEnd::HoldsOwn, "kept bucket \"b\": something of this run is still in it\n"),
            (
                BucketEnd::NotNoted,
                "kept bucket \"b\": run.json says that the run created it, but this machine has no note of that; \
                 --remove-bucket removes it if it is empty\n",
            ),
        ] {
            let text = cleaned(&Cleaning { bucket_end, ..none.clone() });
            assert_eq!(text, format!("nothing is left below s3://b/p/\n{expected}"), "{bucket_end:?}");
        }
        assert_eq!(no_bucket("b"), "nothing is left: there is no bucket \"b\"\n");
    }
}
