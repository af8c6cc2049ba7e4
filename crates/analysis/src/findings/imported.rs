//! Figures of another tool, and what of its file they leave out.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::run::Op;
use linerate_record::units::{bytes_iec, duration_ns, grouped};

use crate::imported_record::BodySizes;

/// What a file of warp was taken to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedFile {
    pub name: String,
    /// Requests that it holds.
    pub requests: u64,
    /// Operations that are not measured, with their requests.
    pub left_out: Vec<(String, u64)>,
    /// Most objects of one request.
    pub objects_per_request: u64,
    /// Bodies that were moved; nothing where none was.
    pub sizes: Option<BodySizes>,
    /// Whether what is measured is the time in which all threads were at work.
    pub all_at_work: bool,
    /// How long the measured time is, and the whole of what these operations took, in milliseconds.
    pub measured_ms: u64,
    pub whole_ms: u64,
    /// When the first thread began its last request, in milliseconds since the begin.
    pub first_end_ms: u64,
}

/// A figure of less than this share of the time is said with what it covers, and why.
const MOST: f64 = 0.8;

/// What is told of a run that was imported.
#[must_use]
pub fn imported(file: &ImportedFile) -> Finding {
    let mut evidence = format!("{} holds {} requests of warp", file.name, grouped(file.requests));
    for (op, n) in &file.left_out {
        evidence.push_str(&format!("; {} of {op} are left out", grouped(*n)));
        let prepared = op.to_ascii_lowercase().parse::<Op>().is_ok();
        evidence.push_str(if prepared { ", being preparation" } else { ", which linerate does not have" });
    }
    if file.objects_per_request > 1 {
        evidence.push_str(&format!("; a request has up to {} objects, and counts as one", file.objects_per_request));
    }
    if let Some(sizes) = file.sizes.filter(BodySizes::differ) {
        let [least, most, mean] = [sizes.least, sizes.most, sizes.mean()].map(|bytes| bytes_iec(bytes as f64));
        evidence.push_str(&format!("; bodies have {least} to {most}, {mean} on average"));
    }
    let mut claim = "measured by warp and imported by linerate".to_owned();
    if !file.all_at_work {
        evidence.push_str("; its threads were not all busy for 300 ms, so the figures include its beginning and end");
    }
    if file.all_at_work && file.whole_ms > 0 {
        let seconds = |ms: u64| duration_ns(ms as f64 * 1e6);
        let (measured, whole) = (seconds(file.measured_ms), seconds(file.whole_ms));
        evidence.push_str(&format!("; figures cover the {measured} of {whole} in which every thread was busy"));
        if (file.measured_ms as f64) < MOST * file.whole_ms as f64 {
            claim.push_str(&format!("; figures cover {measured} of {whole}"));
            evidence.push_str(&format!(", as a thread began its last request at {}", seconds(file.first_end_ms)));
        }
    }
    Finding {
        kind: FindingKind::Imported,
        severity: Severity::Note,
        confidence: Confidence::Certain,
        points: Vec::new(),
        claim,
        evidence,
        remedy: "its client's processor time and machine are unknown, so its bottleneck is not known".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_imported_run_says_what_its_figures_leave_out() {
        let whole = ImportedFile { name: "a.csv".into(), requests: 7, all_at_work: true, ..ImportedFile::default() };
        assert_eq!(imported(&whole).evidence, "a.csv holds 7 requests of warp");
        let most_left_out = ImportedFile { measured_ms: 1_100, whole_ms: 8_200, first_end_ms: 1_150, ..whole.clone() };
        let Finding { claim, evidence, .. } = imported(&most_left_out);
        assert_eq!(claim, "measured by warp and imported by linerate; figures cover 1.10 s of 8.20 s");
        let covered = ImportedFile { measured_ms: 6_600, ..most_left_out.clone() };
        assert_eq!(imported(&covered).claim, "measured by warp and imported by linerate");
        let sizes = BodySizes::one_body(4096).with(BodySizes::one_body(8192));
        let differing = imported(&ImportedFile { sizes: Some(sizes), ..whole.clone() }).evidence;
        assert!(differing.contains("; bodies have 4.00 KiB to 8.00 KiB, 6.00 KiB on average"), "{differing}");
        for part in ["figures cover the 1.10 s of 8.20 s", "as a thread began its last request at 1.15 s"] {
            assert!(evidence.contains(part), "{evidence}");
        }
        let left_out = vec![("PUT".to_owned(), 3), ("SELECT".to_owned(), 1)];
        let part = ImportedFile { left_out, objects_per_request: 100, all_at_work: false, ..whole };
        let evidence = imported(&part).evidence;
        for part in [
            "; 3 of PUT are left out, being preparation",
            "; 1 of SELECT are left out, which linerate does not have",
            "; a request has up to 100 objects, and counts as one",
            "; its threads were not all busy for 300 ms",
        ] {
            assert!(evidence.contains(part), "{evidence}");
        }
    }
}
