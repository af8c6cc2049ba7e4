//! What came of a cell: read from the run folder of its load.

use std::collections::BTreeMap;
use std::path::Path;

use linerate_analysis::build::together;
use linerate_analysis::findings::spoilt_by_others;
use linerate_analysis::view::View;
use linerate_experiment::error;
use linerate_experiment::outcome::{secondary, throughput};
use linerate_record::experiment::CellOutcome;
use linerate_record::fingerprint as keys;
use linerate_record::run::TargetKind;
use linerate_record::run::{Interval, PointLine, Purpose};

use crate::files::{run_folder, run_view};
use crate::terminal::failure::Failure;

/// Reads what came of a load. Times, fingerprint and the rest are the caller's.
pub(super) fn read_result(path: &Path, moves_bytes: bool) -> Result<CellOutcome, Failure> {
    let records = run_folder::read(path)?;
    let records = together(&records).map_err(|error| run_view::damaged_failure(path, &records, &error))?;
    let measured = records.points.iter().find_map(|line| match line {
        PointLine::Begin(begin) if begin.purpose == Purpose::Measure => Some(begin.point),
        _ => None,
    });
    let intervals: Vec<&Interval> = records.intervals.iter().filter(|i| Some(i.point) == measured).collect();
    let mut outcome = CellOutcome { interval_ns: records.manifest.interval_ms * 1_000_000, ..CellOutcome::default() };
    outcome.throughput_per_s = throughput(&intervals, records.manifest.interval_ms, moves_bytes);
    let view = run_view::read_view(path)?;
    if let Some(point) = view.series.first().and_then(|series| series.points.first()) {
        outcome.secondary = secondary(point, moves_bytes);
        outcome.fault = error::of_point(point);
    }
    // Where others had this machine, that is why no request ended.
    let spoilt = spoilt_by_others(&view).map(|found| format!("{}: {}", found.claim, found.evidence));
    outcome.fault = spoilt.or(outcome.fault).or_else(|| error::of_view(&view));
    outcome.fingerprint = server_identity(&view);
    Ok(outcome)
}

/// What the load knows of who answered it. The port of a server that bench starts is drawn anew each time, and says
/// nothing.
fn server_identity(view: &View) -> BTreeMap<String, String> {
    let target = &view.run.target;
    let tls = target.tls.as_ref().map(|tls| format!("{} {}", tls.version, tls.cipher));
    let is_started = !target.kind.is(&TargetKind::S3);
    let without_port = |host: &String| host.rsplit_once(':').map_or(host.as_str(), |(address, _)| address).to_owned();
    let hosts: Vec<String> =
        if is_started { target.hosts.iter().map(without_port).collect() } else { target.hosts.clone() };
    let found = [
        (keys::TARGET_SERVER, target.server.clone()),
        (keys::TARGET_TLS, tls),
        (keys::TARGET_HOSTS, Some(hosts.join(" "))),
    ];
    found.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use linerate_analysis::findings::not_stored;
    use linerate_record::finding::{Finding, FindingKind};

    use super::*;

    #[test]
    fn a_run_whose_target_does_not_show_what_it_confirmed_excludes_its_block() {
        let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded/bench-schema-3-mixed");
        let run = tempfile::tempdir().unwrap();
        for file in fs::read_dir(recorded).unwrap().map(Result::unwrap) {
            fs::copy(file.path(), run.path().join(file.file_name())).unwrap();
        }
        assert_eq!(read_result(run.path(), true).unwrap().fault, None);
        let findings = run.path().join("findings.jsonl");
        let found = serde_json::to_string(&not_stored("3 of 9".to_owned())).unwrap();
        let mut text = fs::read_to_string(&findings).unwrap();
        text.push_str(&format!("{found}\n"));
        fs::write(&findings, text).unwrap();
        let outcome = read_result(run.path(), true).unwrap();
        assert_eq!(outcome.fault.as_deref(), Some("the target does not show what it confirmed: 3 of 9"));
        assert!(!outcome.throughput_per_s.is_empty(), "its figures are kept");
        let disturbed = Finding {
            kind: FindingKind::Disturbed,
            claim: "disturbed by other load: no request ended".to_owned(),
            evidence: "others used 2.0 of 2 processors".to_owned(),
            ..not_stored(String::new())
        };
        fs::write(&findings, format!("{}\n", serde_json::to_string(&disturbed).unwrap())).unwrap();
        let fault = read_result(run.path(), true).unwrap().fault.unwrap();
        assert_eq!(fault, "disturbed by other load: no request ended: others used 2.0 of 2 processors");
    }
}
