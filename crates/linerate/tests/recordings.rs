//! Readings that were kept of four MinIO nodes with a planted cause, judged again: which cause leads, and all that is
//! said of it, held against golden files.
//!
//! `REGENERATE=1` writes the golden files anew. `cluster_causes_that_are_planted_are_named_live_and_by_prometheus` of
//! `make test-system` makes the readings, with `LINERATE_LIVE_OUT=captures/readings`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use linerate_record::diagnosis::{Cause, Diagnosis};

/// Which cause leads in what was read live, and at which node.
const PLANTED: [(&str, Cause, Option<&str>); 13] = [
    ("healthy-get", Cause::Full, None),
    ("healthy-put", Cause::Full, None),
    ("sends-slowly", Cause::SlowLinkSending, Some("node3")),
    ("receives-slowly", Cause::SlowLinkReceiving, Some("node3")),
    ("small-window", Cause::ReceiveWindow, None),
    ("quota", Cause::Quota, Some("node3")),
    ("slow-client", Cause::ClientLimit, None),
    ("slow-drive", Cause::SlowDrive, Some("node3")),
    ("losses", Cause::LossyLink, Some("node3")),
    ("mtu", Cause::Mtu, Some("node3")),
    ("one-node", Cause::UnevenLoad, Some("node1")),
    ("other-traffic", Cause::OtherWork, Some("node3")),
    ("healing", Cause::OtherWork, Some("node3")),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/readings")
}

fn explained(file: &str, flags: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate"));
    command.env("TZ", "UTC").arg("explain").arg(folder().join("site.yaml"));
    let output = command.arg("--replay").arg(folder().join(file)).args(flags).output().expect("linerate runs");
    assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn the_planted_cause_leads_in_what_was_kept() {
    for (name, cause, node) in PLANTED {
        let diagnosis: Diagnosis =
            serde_json::from_str(&explained(&format!("{name}-1.json"), &["--json"])).expect("a diagnosis");
        let first = diagnosis.suspects.first().expect("a suspect");
        assert!(first.weight > diagnosis.none_of_these, "{name}: {first:?}");
        assert_eq!((first.cause, first.node.as_deref()), (cause, node), "{name}: {first:?}");
    }
}

/// Bytes, speeds and MTU of links are in all of these: nobody is told to read them next.
#[test]
fn what_was_read_is_not_to_be_read_next() {
    let read = ["bytes per node", "bytes per plane, per node", "negotiated speed of each port", "MTU of each plane's"];
    for (name, ..) in PLANTED {
        for kept in [format!("{name}-1.json"), format!("{name}-1.recorded.json")] {
            let of: Diagnosis = serde_json::from_str(&explained(&kept, &["--json"])).expect("a diagnosis");
            let advised = of.explanation.and_then(|explanation| explanation.separator).map(|one| one.reading);
            for said in advised.into_iter().chain(of.next) {
                assert!(read.iter().all(|read| !said.starts_with(read)), "{kept}: {said}");
            }
        }
    }
}

#[test]
fn what_is_said_of_readings_is_as_it_was() {
    for (name, ..) in PLANTED {
        for kept in [format!("{name}-1"), format!("{name}-1.recorded")] {
            let golden = folder().join(format!("{kept}.txt"));
            let text = explained(&format!("{kept}.json"), &["--why"]);
            if std::env::var_os("REGENERATE").is_some() {
                fs::write(&golden, &text).expect("it can be written");
            }
            let known = fs::read_to_string(&golden).expect("a golden file");
            assert_eq!(text, known, "{kept}: REGENERATE=1 writes it anew");
        }
    }
}
