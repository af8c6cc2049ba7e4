//! What of a run remains at the target once it has cleared up, and what deletes it.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::sanitize::clause;
use linerate_record::units::{bytes_iec, grouped};

/// How far a number of what remains is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountPrecision {
    /// It is that of a listing that was gone through to its end.
    Whole,
    /// There may be more: they were not all counted.
    AtLeast,
    /// It is the most that one listing showed, and another did not.
    Contradicted,
}

impl CountPrecision {
    /// From whether there may be more, and whether listings contradict each other.
    #[must_use]
    pub const fn from_listing(more: bool, wavers: bool) -> CountPrecision {
        match (wavers, more) {
            (true, _) => CountPrecision::Contradicted,
            (false, true) => CountPrecision::AtLeast,
            (false, false) => CountPrecision::Whole,
        }
    }

    const fn or_more(self) -> &'static str {
        match self {
            CountPrecision::AtLeast => " or more",
            CountPrecision::Whole | CountPrecision::Contradicted => "",
        }
    }
}

/// What remains, or may remain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftAtTarget {
    /// Objects that a listing still shows.
    Objects {
        count: u64,
        bytes: u64,
        /// How far that is known.
        known: CountPrecision,
        /// What the target said last of a deletion that it did not make.
        why: Option<String>,
    },
    /// Objects, of which even the number is not known, since the target did not list them.
    Unlisted {
        /// How many there can be at the most.
        most: u64,
        /// Why they were not listed.
        why: String,
    },
    /// Writes that may be stored yet.
    GivenUp {
        /// So many were given up.
        writes: u64,
        /// Of so many more at the most, nobody knows what became.
        unknown: u64,
    },
    /// Multipart uploads: those that a listing still shows, or whose abort was refused where there is no listing.
    Uploads {
        /// So many or more.
        count: u64,
        /// How far that is known.
        known: CountPrecision,
        /// What the target said last of an abort that it did not make.
        why: Option<String>,
    },
    /// Multipart uploads, perhaps: why they could not be aborted.
    UnseenUploads(String),
    /// Versions and delete markers.
    Versions {
        count: u64,
        /// How far that is known.
        known: CountPrecision,
        /// What the target said last of a deletion that it did not make.
        why: Option<String>,
    },
    /// Versions, perhaps: why they could not be deleted.
    UnseenVersions(String),
    /// Versions, where the bucket keeps them: why that is not known, and why none were listed.
    PerhapsVersions(String, String),
    /// Versions of a bucket that says that it keeps none, which a listing would confirm.
    UnlistedVersions {
        /// Whether these keys may not list them, and nothing else contradicts the bucket.
        is_forbidden: bool,
        /// Why none were listed.
        why: String,
    },
    /// The bucket, by name, and why.
    Bucket(String, String),
    /// The bucket, perhaps: by name, and why it is not known whether it is still there.
    UnseenBucket(String, String),
}

impl LeftAtTarget {
    fn evidence(&self) -> String {
        let shown = |why: &Option<String>| why.clone().unwrap_or_else(|| "a listing still shows them".to_owned());
        // What a target says may end with a point, and a remedy follows.
        clause(&self.words(shown)).to_owned()
    }

    fn words(&self, shown: impl Fn(&Option<String>) -> String) -> String {
        match self {
            LeftAtTarget::Objects { count, known: CountPrecision::Contradicted, why, .. } => {
                contradicted(*count, ["object", "objects"], why)
            }
            LeftAtTarget::Objects { count, bytes, known, why } => {
                let more = known.or_more();
                let objects = match count {
                    1 if more.is_empty() => "1 object".to_owned(),
                    count => format!("{}{more} objects", grouped(*count)),
                };
                let bytes = bytes_iec(*bytes as f64);
                format!("{objects} of {bytes}{more} together could not be deleted: {}", shown(why))
            }
            LeftAtTarget::Unlisted { most: 0, why } => format!("could not check whether anything is left: {why}"),
            LeftAtTarget::Unlisted { most, why } => {
                let most = match most {
                    1 => "1 object".to_owned(),
                    most => format!("{} objects", grouped(*most)),
                };
                format!("up to {most}; the number could not be determined: {why}")
            }
            LeftAtTarget::GivenUp { writes, unknown } => {
                let given_up = match writes {
                    1 => "1 write was given up".to_owned(),
                    writes => format!("{} writes were given up", grouped(*writes)),
                };
                let writes = match (writes, unknown) {
                    (_, 0) => given_up,
                    (0, 1) => "the outcome of 1 write is unknown".to_owned(),
                    (0, most) => format!("the outcome of up to {} writes is unknown", grouped(*most)),
                    (_, most) => {
                        format!("{given_up}, and the outcome of up to {} more is unknown", grouped(*most))
                    }
                };
                format!("{writes}; the target may still store them")
            }
            LeftAtTarget::Uploads { count, known: CountPrecision::Contradicted, why } => {
                contradicted(*count, ["multipart upload", "multipart uploads"], why)
            }
            LeftAtTarget::Uploads { count, why, .. } => {
                let uploads = if *count == 1 { "upload" } else { "uploads" };
                format!("{} or more multipart {uploads} could not be aborted: {}", grouped(*count), shown(why))
            }
            LeftAtTarget::UnseenUploads(why) => format!("aborting multipart uploads: {why}"),
            LeftAtTarget::Versions { count, known: CountPrecision::Contradicted, why } => {
                contradicted(*count, ["version or delete marker", "versions and delete markers"], why)
            }
            LeftAtTarget::Versions { count: 1, known: CountPrecision::Whole, why } => {
                format!("1 version or delete marker could not be deleted: {}", shown(why))
            }
            LeftAtTarget::Versions { count, known, why } => {
                let (count, more) = (grouped(*count), known.or_more());
                format!("{count}{more} versions and delete markers could not be deleted: {}", shown(why))
            }
            LeftAtTarget::UnseenVersions(why) => format!("versions of what the run wrote: {why}"),
            LeftAtTarget::PerhapsVersions(unknown, why) => {
                let unknown = clause(unknown);
                format!("could not check whether the bucket keeps versions: {unknown}; and {why}")
            }
            LeftAtTarget::UnlistedVersions { why, .. } => {
                format!("the bucket says that it keeps no versions, but a listing of them could not confirm it: {why}")
            }
            LeftAtTarget::Bucket(name, why) | LeftAtTarget::UnseenBucket(name, why) => {
                format!("bucket {name:?}: {why}")
            }
        }
    }

    /// How grave it is: that keys may not ask for what the bucket says anyway is worth knowing, and no more.
    const fn severity(&self) -> Severity {
        match self {
            LeftAtTarget::UnlistedVersions { is_forbidden: true, .. } => Severity::Note,
            _ => Severity::Warning,
        }
    }

    /// How sure it is: a listing or a refusal tells what is there. What was written and could not be looked for is as
    /// likely there as not deleted, and so is what listings show and do not show; what was given up, or may have no
    /// versions, may as well have gone.
    const fn confidence(&self) -> Confidence {
        match self {
            LeftAtTarget::GivenUp { .. }
            | LeftAtTarget::PerhapsVersions(..)
            | LeftAtTarget::UnlistedVersions { .. } => Confidence::Possible,
            LeftAtTarget::Unlisted { .. }
            | LeftAtTarget::UnseenUploads(_)
            | LeftAtTarget::UnseenVersions(_)
            | LeftAtTarget::UnseenBucket(..) => Confidence::Likely,
            LeftAtTarget::Objects { known, .. }
            | LeftAtTarget::Uploads { known, .. }
            | LeftAtTarget::Versions { known, .. } => match known {
                CountPrecision::Contradicted => Confidence::Likely,
                CountPrecision::Whole | CountPrecision::AtLeast => Confidence::Certain,
            },
            LeftAtTarget::Bucket(..) => Confidence::Certain,
        }
    }
}

/// What is told where a listing shows what another does not, with what was said of deletions.
fn contradicted(count: u64, [one, many]: [&str; 2], why: &Option<String>) -> String {
    let what = if count == 1 { format!("1 {one}") } else { format!("{} {many}", grouped(count)) };
    let why = why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    format!("a listing showed {what} that another did not show, so it is not known what remains{why}")
}

/// What is told of what remains. `command` deletes what is below `place`.
#[must_use]
pub fn left_at_target(left: &LeftAtTarget, command: &str, place: &str) -> Finding {
    let confidence = left.confidence();
    let remain = if confidence == Confidence::Certain { "remain" } else { "may remain" };
    Finding {
        kind: FindingKind::LeftBehind,
        severity: left.severity(),
        confidence,
        points: Vec::new(),
        claim: format!("objects or a bucket of this run {remain} at the target"),
        evidence: left.evidence(),
        remedy: format!("{command} deletes what is below {place}"),
    }
}

/// What is told of objects that were to stay (`--noclear`). `command` deletes them.
#[must_use]
pub fn kept_at_target(command: &str) -> Finding {
    Finding {
        kind: FindingKind::LeftBehind,
        severity: Severity::Note,
        confidence: Confidence::Certain,
        points: Vec::new(),
        claim: "the objects of this run were kept at the target because of --noclear".into(),
        evidence: String::new(),
        remedy: format!("delete them with {command} when they are no longer needed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;
    use crate::build::tests::records;
    use crate::findings::{is_only_left_behind, left_behind};

    #[test]
    fn what_remains_is_counted_and_says_what_deletes_it() {
        let why = || "connection reset".to_owned();
        for (left, evidence) in [
            (
                LeftAtTarget::Objects { count: 1_000, bytes: 4_096_000, known: CountPrecision::Whole, why: None },
                "1000 objects of 3.91 MiB together could not be deleted: a listing still shows them",
            ),
            (
                LeftAtTarget::Objects { count: 7, bytes: 7, known: CountPrecision::AtLeast, why: Some(why()) },
                "7 or more objects of 7.00 B or more together could not be deleted: connection reset",
            ),
            (
                LeftAtTarget::Objects { count: 1, bytes: 1, known: CountPrecision::Whole, why: None },
                "1 object of 1.00 B together",
            ),
            (
                LeftAtTarget::Objects { count: 12_345, bytes: 12_345, known: CountPrecision::Whole, why: None },
                "12\u{202f}345 objects of 12.1 KiB together",
            ),
            (
                LeftAtTarget::Uploads { count: 2, known: CountPrecision::AtLeast, why: None },
                "2 or more multipart uploads could not be aborted: a listing still shows them",
            ),
            (
                LeftAtTarget::Uploads { count: 10_000, known: CountPrecision::AtLeast, why: Some("refused".into()) },
                "10\u{202f}000 or more multipart uploads could not be aborted: refused",
            ),
            (
                LeftAtTarget::Versions { count: 1, known: CountPrecision::Whole, why: None },
                "1 version or delete marker could not be deleted: a list",
            ),
            (
                LeftAtTarget::Versions { count: 2, known: CountPrecision::Whole, why: Some(why()) },
                "2 versions and delete markers could not be deleted: connection reset",
            ),
            (
                LeftAtTarget::Versions { count: 100_000, known: CountPrecision::AtLeast, why: None },
                "100\u{202f}000 or more versions and delete markers could not be deleted",
            ),
            (LeftAtTarget::Bucket("b".into(), why()), "bucket \"b\": connection reset"),
        ] {
            let found = left_at_target(&left, "linerate clean r", "s3://b/p/");
            assert!(found.evidence.starts_with(evidence), "{found:?}");
            assert_eq!((found.severity, found.confidence), (Severity::Warning, Confidence::Certain), "{found:?}");
            assert_eq!(found.claim, "objects or a bucket of this run remain at the target");
            assert_eq!(found.remedy, "linerate clean r deletes what is below s3://b/p/");
        }
    }

    #[test]
    fn what_a_target_says_ends_no_sentence_that_goes_on() {
        for end in ["", ".", "...", ";", ". ", ":", ".;"] {
            let (why, denied) = (format!("unknown entity &z{end}"), format!("denied{end}"));
            for left in [
                LeftAtTarget::Objects { count: 1, bytes: 1, known: CountPrecision::AtLeast, why: Some(why.clone()) },
                LeftAtTarget::Unlisted { most: 0, why: why.clone() },
                LeftAtTarget::Unlisted { most: 9, why: why.clone() },
                LeftAtTarget::GivenUp { writes: 1, unknown: 1 },
                LeftAtTarget::Uploads { count: 1, known: CountPrecision::AtLeast, why: Some(why.clone()) },
                LeftAtTarget::UnseenUploads(why.clone()),
                LeftAtTarget::Versions { count: 1, known: CountPrecision::Whole, why: Some(why.clone()) },
                LeftAtTarget::UnseenVersions(why.clone()),
                LeftAtTarget::PerhapsVersions(denied.clone(), why.clone()),
                LeftAtTarget::UnlistedVersions { is_forbidden: false, why: why.clone() },
                LeftAtTarget::Bucket("b".into(), why.clone()),
            ] {
                let Finding { claim, evidence, remedy, .. } = left_at_target(&left, "linerate clean r", "s3://b/p/");
                let reported = format!("{claim}: {evidence}; {remedy}");
                for doubled in ["..", ".;", ".:", ";.", ";;", "::", ":;", ": ;", " ;", ": :"] {
                    assert!(!reported.replace("s3://", "").contains(doubled), "{doubled}: {reported}");
                }
            }
        }
    }

    #[test]
    fn a_run_that_only_left_objects_is_told_from_one_that_also_broke_off() {
        let left =
            || left_at_target(&LeftAtTarget::Uploads { count: 2, known: CountPrecision::AtLeast, why: None }, "c", "p");
        for (found, is_complete, expected) in [
            (Some(left()), true, true),
            (Some(left()), false, false),
            (Some(kept_at_target("c")), true, false),
            (None, true, false),
        ] {
            let mut records = records(&[1], |_| 5);
            records.findings.extend(found);
            if !is_complete {
                records.points.pop();
            }
            let view = build(&records).unwrap();
            assert_eq!(is_only_left_behind(&view), expected, "{is_complete} {:?}", view.findings);
        }
    }

    #[test]
    fn what_could_not_be_looked_for_may_remain_and_is_no_success() {
        let why = || "connection reset".to_owned();
        for (left, evidence) in [
            (LeftAtTarget::Unlisted { most: 0, why: why() }, "could not check whether anything is left: connection"),
            (LeftAtTarget::Unlisted { most: 9, why: why() }, "up to 9 objects; the number could not be determined: c"),
            (
                LeftAtTarget::Unlisted { most: 99_999, why: why() },
                "up to 99\u{202f}999 objects; the number could not be determined: c",
            ),
            (LeftAtTarget::UnseenUploads(why()), "aborting multipart uploads: connection reset"),
            (LeftAtTarget::UnseenVersions(why()), "versions of what the run wrote: connection reset"),
            (LeftAtTarget::UnseenBucket("b".into(), why()), "bucket \"b\": connection reset"),
            (
                LeftAtTarget::Objects {
                    count: 7,
                    bytes: 7,
                    known: CountPrecision::from_listing(true, true),
                    why: None,
                },
                "a listing showed 7 objects that another did not show, so it is not known what remains",
            ),
            (
                LeftAtTarget::Versions { count: 1, known: CountPrecision::Contradicted, why: Some(why()) },
                "a listing showed 1 version or delete marker that another did not show, so it is not known what \
                 remains: connection reset",
            ),
            (
                LeftAtTarget::Uploads { count: 2, known: CountPrecision::Contradicted, why: None },
                "a listing showed 2 multipart uploads that another did not show",
            ),
        ] {
            let found = left_at_target(&left, "c", "p");
            assert!(found.evidence.starts_with(evidence) && found.confidence < Confidence::Certain, "{found:?}");
            assert_eq!(found.claim, "objects or a bucket of this run may remain at the target");
            let mut records = records(&[1], |_| 5);
            records.findings.push(found);
            assert!(left_behind(&build(&records).unwrap()).is_some(), "{left:?}");
        }
    }

    #[test]
    fn what_may_have_gone_is_possible_and_what_was_to_stay_a_note() {
        let given_up = |writes, unknown| LeftAtTarget::GivenUp { writes, unknown };
        let unlisted = |is_forbidden| LeftAtTarget::UnlistedVersions { is_forbidden, why: "denied".into() };
        let perhaps = LeftAtTarget::PerhapsVersions("denied".into(), "denied".into());
        for left in [given_up(3, 0), perhaps, unlisted(false), unlisted(true)] {
            let found = left_at_target(&left, "c", "p");
            assert_eq!(found.severity == Severity::Note, left == unlisted(true), "{found:?}");
            assert!(found.confidence == Confidence::Possible && found.claim.contains("may remain"), "{found:?}");
        }
        for (writes, unknown, expected) in [
            (3, 0, "3 writes were given up; the target may still store them"),
            (0, 8, "the outcome of up to 8 writes is unknown; the target may still store them"),
            (1, 0, "1 write was given up; the target may still store them"),
            (10_000, 0, "10\u{202f}000 writes were given up; the target may still store them"),
            (0, 10_000, "the outcome of up to 10\u{202f}000 writes is unknown; the target may still store them"),
            (
                3,
                8,
                "3 writes were given up, and the outcome of up to 8 more is unknown; the target may still store them",
            ),
        ] {
            assert_eq!(left_at_target(&given_up(writes, unknown), "c", "p").evidence, expected);
        }
        let kept = kept_at_target("linerate clean r");
        assert!(kept.severity == Severity::Note && kept.remedy.contains("linerate clean r"), "{kept:?}");
    }
}
