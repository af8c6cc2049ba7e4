//! A target that confirmed what it does not show: a proxy or a cache may have answered in place of a store.
//!
//! A listing may lag behind, which is why whoever asks repeats it; requests that ended uncounted may have stored or
//! deleted more than was confirmed, so that only too few objects count after writes, and only too many after deletions.

use std::fmt;

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::units::grouped;

/// What the target confirmed of a set of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConfirmedSet {
    /// Objects have numbers below this.
    pub until: u64,
    /// Objects that it said that it stored; absent where that was not counted.
    pub stored: Option<u64>,
    /// Objects that it said that it deleted.
    pub deleted: u64,
}

/// What a listing shows of the set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownSet {
    pub objects: u64,
    /// Whether the listing was read to its end.
    pub whole: bool,
    /// An object that has another size than was written: its key, and its size there.
    pub wrong: Option<(String, u64)>,
}

/// What a listing shows that cannot be.
#[must_use]
pub fn against_listing(confirmed: &ConfirmedSet, shown: &ShownSet) -> Option<String> {
    if let Some((key, size_bytes)) = &shown.wrong {
        return Some(format!("{key:?} is listed with {size_bytes} bytes"));
    }
    let (objects, deleted, stored) = (shown.objects, confirmed.deleted, confirmed.stored?);
    if deleted > 0 {
        let most = confirmed.until.saturating_sub(deleted);
        return (objects > most).then(|| {
            format!("a listing shows {} objects, but at most {} can be left", grouped(objects), grouped(most))
        });
    }
    (shown.whole && objects < stored).then(|| {
        format!("a listing shows {} of {} objects that the target confirmed", grouped(objects), grouped(stored))
    })
}

/// What HEAD says that cannot be of an object that a listing has just shown: the length that it told, where it found
/// one.
#[must_use]
pub fn against_head(seq: u64, size_bytes: u64, reported_bytes: Option<u64>) -> Option<String> {
    match reported_bytes {
        Some(length) if length == size_bytes => None,
        Some(length) => Some(format!("HEAD says {length} bytes of object {seq}, which has {size_bytes}")),
        None => Some(format!("HEAD does not find object {seq}, which a listing shows")),
    }
}

/// That HEAD does not find some of `of` objects, drawn from all that the target confirmed.
#[must_use]
pub fn against_heads(missing: &[u64], of: usize) -> Option<String> {
    let (first, found_none) = (missing.first()?, missing.len());
    Some(format!("HEAD does not find {found_none} of {of} objects that the target confirmed, such as object {first}"))
}

/// What is told of a set of which the target shows what cannot be.
#[must_use]
pub fn not_stored(evidence: String) -> Finding {
    Finding {
        kind: FindingKind::NotStored,
        severity: Severity::Critical,
        confidence: Confidence::Certain,
        points: Vec::new(),
        claim: "the target does not show what it confirmed".into(),
        evidence,
        remedy: "do not use these figures until you know what answers there: a proxy, a cache, a full disk?".into(),
    }
}

/// What is reported of a set that could not be looked at: what is not known to be right is no success. Permissions help
/// where they were denied.
#[must_use]
pub fn not_checked(why: impl fmt::Display, is_denied: bool) -> Finding {
    let remedy = if is_denied {
        "allow these keys s3:ListBucket and s3:GetObject below the run's prefix"
    } else {
        "find out in the target's log why it did not answer, and run again"
    };
    Finding {
        claim: "it is not known whether the target did what it confirmed".into(),
        remedy: remedy.into(),
        ..not_stored(why.to_string())
    }
}

/// What is told of a set whose objects are listed as they were written, but may not be read by HEAD with these keys.
#[must_use]
pub fn not_headed(why: impl fmt::Display) -> Finding {
    Finding {
        severity: Severity::Warning,
        claim: "what the target confirmed is checked by a listing only".into(),
        remedy: "allow these keys s3:GetObject below the run's prefix".into(),
        ..not_stored(why.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_held_against_what_was_said() {
        let shown = |objects, whole| ShownSet { objects, whole, wrong: None };
        for (until, stored, deleted, shown, is_wrong) in [
            (10, Some(10), 0, shown(10, true), false),
            (10, Some(8), 0, shown(8, true), false),
            (10, Some(8), 0, shown(10, true), false),
            (10, Some(10), 0, shown(9, true), true),
            (5000, Some(5000), 0, shown(2000, false), false),
            (10, None, 0, shown(0, true), false),
            (10, Some(10), 4, shown(6, true), false),
            (10, Some(10), 4, shown(5, true), false),
            (10, Some(10), 4, shown(7, true), true),
            (10, Some(10), 10, shown(1, false), true),
            (10, None, 0, ShownSet { wrong: Some(("k".into(), 1)), ..shown(1, true) }, true),
        ] {
            let confirmed = ConfirmedSet { until, stored, deleted };
            assert_eq!(against_listing(&confirmed, &shown).is_some(), is_wrong, "{stored:?} {deleted} {shown:?}");
        }
    }

    #[test]
    fn head_is_held_against_the_size_that_was_written() {
        for (reported_bytes, reported) in [
            (Some(7), None),
            (Some(6), Some("HEAD says 6 bytes of object 3, which has 7")),
            (None, Some("HEAD does not find object 3, which a listing shows")),
        ] {
            assert_eq!(against_head(3, 7, reported_bytes).as_deref(), reported);
        }
        assert_eq!(against_heads(&[], 64), None);
        let reported = "HEAD does not find 2 of 64 objects that the target confirmed, such as object 5";
        assert_eq!(against_heads(&[5, 8], 64).as_deref(), Some(reported));
    }

    #[test]
    fn what_was_not_looked_at_is_no_success_either() {
        assert_eq!(not_stored(String::new()).severity, Severity::Critical);
        for (why, is_denied) in [("timeout", false), ("HTTP 403", true)] {
            let unknown = not_checked(why, is_denied);
            assert_eq!((unknown.severity, unknown.evidence.as_str()), (Severity::Critical, why));
            assert_eq!(unknown.remedy.contains("s3:ListBucket and s3:GetObject"), is_denied, "{unknown:?}");
        }
        assert_eq!(not_headed("forbidden").severity, Severity::Warning);
    }
}
