//! Run folders: whatever they hold gives a view and reports of it, or an error.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use linerate_analysis::build::build;
use linerate_analysis::records::Records;
use linerate_record::run::Manifest;
use linerate_report::terminal::{TextStyle, render};
use serde_json::from_slice;

/// Longest page of a folder of some kilobytes: the page itself, and some samples of each track.
const PAGE_BYTES_MAX: usize = 8 << 20;

// run.json and the five files of lines, with a zero between each two. Lines that cannot be read are passed over.
fuzz_target!(|input: &[u8]| -> Corpus {
    let mut files = input.split(|&byte| byte == 0);
    let Some(Ok(manifest)) = files.next().map(from_slice::<Manifest>) else { return Corpus::Reject };
    let mut lines = || files.next().unwrap_or_default().split(|&byte| byte == b'\n');
    let records = Records {
        manifest,
        points: lines().filter_map(|line| from_slice(line).ok()).collect(),
        intervals: lines().filter_map(|line| from_slice(line).ok()).collect(),
        readings: lines().filter_map(|line| from_slice(line).ok()).collect(),
        findings: lines().filter_map(|line| from_slice(line).ok()).collect(),
        canary: lines().filter_map(|line| from_slice(line).ok()).collect(),
    };
    if records.unsound().is_some() {
        return Corpus::Reject;
    }
    if let Ok(view) = build(&records) {
        let _ = linerate_analysis::findings::requests_failed(&view);
        let json = linerate_report::json(&view);
        assert!(serde_json::from_str::<linerate_analysis::view::View>(&json).is_ok(), "{json}");
        assert!(linerate_report::html(&view).len() < PAGE_BYTES_MAX);
        let _ = linerate_report::csv(&view);
        let _ = render(&view, TextStyle { color: true, width: 100 });
    }
    Corpus::Keep
});
