//! The recorded hours that are committed, for the tests that replay them.

use std::path::Path;

use linerate_worlds::RecordedSeries;

/// Every committed hour, by name.
pub(crate) fn hours() -> Vec<(String, RecordedSeries)> {
    let runs = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../runs"));
    let listed = |folder: &Path| folder.read_dir().into_iter().flatten().map(|entry| entry.expect("listed").path());
    let mut found = Vec::new();
    for path in listed(runs).flat_map(|folder| listed(&folder)) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if let Some(name) = name.strip_suffix(".bins.csv.gz") {
            let series = RecordedSeries::read(&std::fs::read(&path).expect("it is read")).expect("it is a recording");
            found.push((name.to_owned(), series));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}
