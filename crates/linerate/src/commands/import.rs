//! `linerate import`: what another tool measured, as a run folder.

pub(crate) mod flags;
mod intervals;
mod tab_records;
mod warp_csv;
mod zstd_frames;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use linerate_analysis::findings::{ImportedFile, imported};
use linerate_analysis::view::View;
use linerate_record::load::{HostSelect, Lookup, Workload};
use linerate_record::machine::Machine;
use linerate_record::run::{
    Client, LoadRequest, Manifest, MaybeKnown, PointBegin, PointEnd, PointLine, PointSizes, PointSpec, Purpose, SCHEMA,
    StopReason, Target, TargetKind,
};
use linerate_record::units::{Bytes, sizes_of_warp};

use crate::files::{run_folder, run_view};
use crate::terminal::failure::Failure;
use crate::terminal::printing;

use flags::{ImportFlags, Tool};
use intervals::{ImportLayout, OpenIntervals};
use warp_csv::{Survey, WarpFlags};

pub(crate) fn run(flags: &ImportFlags) -> Result<ExitCode, Failure> {
    let Tool::Warp = flags.tool;
    let stem = name_of_file(&flags.file);
    let path = flags.output.clone().unwrap_or_else(|| Path::new("runs").join(&stem));
    run_folder::require_free(&path)?;
    let survey = warp_csv::survey(&flags.file)?;
    let Some(layout) = ImportLayout::from_survey(&survey) else {
        return Err(refused(&flags.file, "it contains no requests of get, put, stat, delete or list"));
    };
    run_folder::create_folder(&path)?;
    // A folder that is not whole would be read by nobody.
    let view = record(flags, &path, &survey, &layout, stem).inspect_err(|_| run_folder::remove_run(&path))?;
    let html = run_view::write_html(&path, &view)?;
    printing::print(&linerate_report::terminal::render(&view, false, printing::text_style()))?;
    printing::print(&linerate_report::terminal::page_written(&html))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the run folder, and reads it back.
fn record(
    flags: &ImportFlags,
    path: &Path,
    survey: &Survey,
    layout: &ImportLayout,
    stem: String,
) -> Result<View, Failure> {
    let id = path.file_name().map_or(stem, |name| name.to_string_lossy().into_owned());
    let warp_flags = survey.warp_flags();
    let spec = spec(layout, &warp_flags);
    let mut folder = run_folder::create_run(path, &manifest(id, layout, &warp_flags, &spec))?;
    folder.findings.push(&imported(&imported_file(&flags.file, survey, layout)))?;
    let begin = PointBegin { point: 0, at_ms: 0, purpose: Purpose::Measure, spec, read_set_bytes: None };
    folder.points.push(&PointLine::Begin(begin))?;
    let mut recorded = OpenIntervals::new(layout);
    warp_csv::for_each_request(&flags.file, |row| recorded.row(row, |interval| folder.intervals.push(&interval)))?;
    recorded.end(|interval| folder.intervals.push(&interval))?;
    let (at_ms, ended) = (layout.end_ms, StopReason::Duration);
    // Which intervals are warm-up, at both ends, each says itself.
    let end = PointEnd {
        point: 0,
        at_ms,
        ended,
        connections: 0,
        warmup_ms: None,
        alongside: None,
        in_flight: None,
        lost: Vec::new(),
    };
    folder.points.push(&PointLine::End(end))?;
    run_view::read_view(path)
}

/// How many intervals a file makes, read as a whole and written nowhere.
pub(crate) fn intervals_of(file: &Path) -> Result<u64, Failure> {
    let survey = warp_csv::survey(file)?;
    let Some(layout) = ImportLayout::from_survey(&survey) else { return Ok(0) };
    let mut intervals = 0;
    let mut recorded = OpenIntervals::new(&layout);
    warp_csv::for_each_request(file, |row| {
        recorded.row(row, |_| {
            intervals += 1;
            Ok(())
        })
    })?;
    recorded.end(|_| {
        intervals += 1;
        Ok(())
    })?;
    Ok(intervals)
}

fn refused(file: &Path, why: &str) -> Failure {
    Failure::Usage(format!("{}: {why}", file.display()))
}

/// The file's name without what tells its form, of signs that run folders use.
fn name_of_file(file: &Path) -> String {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = name.trim_end_matches(".zst").trim_end_matches(".csv");
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '-' };
    let stem: String = stem.chars().map(plain).take(64).collect();
    if stem.trim_matches('.').is_empty() { "imported".to_owned() } else { stem }
}

/// The one point of the file.
fn spec(layout: &ImportLayout, warp_flags: &WarpFlags) -> PointSpec {
    let workload = match layout.ops.as_slice() {
        [(op, _)] => Workload::Single(*op).into(),
        many => {
            let all: u64 = many.iter().map(|(_, n)| n).sum();
            let share = |n: u64| ((n * 100 + all / 2) / all.max(1)).max(1);
            let parts: Vec<String> = many.iter().map(|(op, n)| format!("{op}={}", share(*n))).collect();
            MaybeKnown::read(&format!("mixed {}", parts.join(",")))
        }
    };
    PointSpec {
        workload,
        size: size(layout, warp_flags),
        concurrency: layout.concurrency,
        rate_per_s: None,
        clients: None,
    }
}

/// Flags of warp that change a load and have no member of a manifest, with their defaults. Those that have the words of
/// a user are noted as set.
const LOAD_FLAGS: [(&str, &str); 26] = [
    ("versions", "1"),
    ("encrypt", ""),
    ("sse-s3-encrypt", ""),
    ("checksum", ""),
    ("md5", ""),
    ("disable-sha256-payload", ""),
    ("disable-multipart", ""),
    ("disable-http-keepalive", ""),
    ("http2", ""),
    ("ktls", ""),
    ("tls", ""),
    ("signature", "S3V4"),
    ("sndbuf", "32768"),
    ("rcvbuf", "32768"),
    ("noprefix", ""),
    ("storage-class", ""),
    ("obj.generator", "random"),
    ("range", ""),
    ("part.size", ""),
    ("part.concurrent", ""),
    ("parts", "200"),
    ("list-flat", ""),
    ("metadata", ""),
    ("max-keys", "100"),
    ("batch", "100"),
    ("post", ""),
];
const SET_FLAGS: [&str; 3] = ["add-metadata", "tag", "warp-client"];

/// Those of a command line.
fn load_flags(warp_flags: &WarpFlags) -> BTreeMap<String, String> {
    let changes = |value: &&str, default: &str| !["", "false", default].contains(value);
    let valued = LOAD_FLAGS.into_iter().filter_map(|(name, default)| {
        let value = warp_flags.get(name).filter(|value| changes(value, default))?;
        let bytes =
            || sizes_of_warp(value).parse::<Bytes>().map_or_else(|_| value.to_owned(), |size| size.0.to_string());
        Some((name.to_owned(), if name == "part.size" { bytes() } else { value.to_owned() }))
    });
    let set = SET_FLAGS.into_iter().filter(|name| warp_flags.get(name).is_some_and(|value| changes(&value, "")));
    valued.chain(set.map(|name| (name.to_owned(), "set".to_owned()))).collect()
}

/// The size of objects as warp's flags say it, or the mean of what was moved. Sizes that warp draws, which are no
/// distribution of linerate's, are not compared with those of fixed ones.
fn size(layout: &ImportLayout, warp_flags: &WarpFlags) -> MaybeKnown<PointSizes> {
    let is_existing = warp_flags.is_set("list-existing");
    let Some(stated) = warp_flags.get("obj.size").filter(|_| !is_existing).map(sizes_of_warp) else {
        let mean = Bytes(layout.sizes.map_or(0, |sizes| sizes.mean())).to_string().replace(' ', "");
        return match layout.sizes {
            _ if warp_flags.is_set("obj.randsize") && !is_existing => {
                MaybeKnown::Other("random up to 10MiB".to_owned())
            }
            Some(sizes) if sizes.differ() => MaybeKnown::Other(format!("differing, mean {mean}")),
            _ => MaybeKnown::read(&mean),
        };
    };
    let range = stated.split_once(',').filter(|_| !stated.contains(':'));
    let drawn = match range {
        Some((least, most)) => Some(format!("random from {least} to {most}")),
        None => warp_flags.is_set("obj.randsize").then(|| format!("random up to {stated}")),
    };
    let ranges = warp_flags.is_set("range") && warp_flags.get("range-size").is_none();
    match (drawn, ranges) {
        (None, false) => MaybeKnown::read(&stated),
        (drawn, false) => MaybeKnown::Other(drawn.unwrap_or(stated)),
        (drawn, true) => MaybeKnown::Other(format!("random ranges of {}", drawn.unwrap_or(stated))),
    }
}

fn manifest(id: String, layout: &ImportLayout, warp_flags: &WarpFlags, spec: &PointSpec) -> Manifest {
    let text = |flag: &str| warp_flags.get(flag).unwrap_or_default().to_owned();
    let known = warp_flags.is_known();
    let host_select = match warp_flags.get("host-select") {
        Some("roundrobin") => HostSelect::RoundRobin.into(),
        _ if known => HostSelect::LeastOutstanding.into(),
        _ => MaybeKnown::unstated(),
    };
    let load_request = LoadRequest {
        points: vec![spec.clone()],
        search: None,
        rate_search: None,
        slo: None,
        rounds_ms: None,
        part_bytes: None,
        part_concurrent: None,
        write: None,
        arrivals: None,
        abort_if: None,
        canary_per_s: None,
        retries: 0,
        error_limit: None,
        sources: Vec::new(),
        target_memory_bytes: None,
        duration_ms: layout.measured * layout.interval_ms,
        warmup_ms: Some(layout.from_ms),
        // No processor time of the client is known, and so none of its threads.
        threads: 0,
        objects: warp_flags.get("objects").and_then(|n| n.parse().ok()).unwrap_or(0),
        bucket: warp_flags.get("bucket").unwrap_or(if known { "warp-benchmark-bucket" } else { "" }).to_owned(),
        prefix: text("prefix"),
        payload: MaybeKnown::unstated(),
        unique: MaybeKnown::unstated(),
        verify: false,
        range_bytes: warp_flags
            .get("range-size")
            .and_then(|size| sizes_of_warp(size).parse::<Bytes>().ok())
            .map(|size| size.0),
        max_rate: warp_flags.get("rps-limit").filter(|&n| n != "0").map(|n| MaybeKnown::read(&format!("{n}/s"))),
        host_select,
        noclear: warp_flags.is_set("noclear") || warp_flags.is_set("keep-data"),
        list_existing: warp_flags.is_set("list-existing"),
        warp_flags: known.then(|| load_flags(warp_flags)),
    };
    let target = Target {
        kind: TargetKind::S3.into(),
        hosts: layout.hosts.clone(),
        server: None,
        lookup: warp_flags.get("lookup").map_or(Lookup::Path.into(), MaybeKnown::read),
        region: text("region"),
        on_this_machine: false,
        bucket_made: false,
        tls: None,
    };
    Manifest {
        schema: SCHEMA,
        id,
        title: None,
        linerate_version: env!("CARGO_PKG_VERSION").into(),
        started_unix_ms: layout.zero_unix_ms,
        seed: 0,
        load: None,
        resolved: None,
        site: None,
        requested: load_request,
        target,
        clients: vec![Client::local(Machine::default(), 0)],
        interval_ms: layout.interval_ms,
        intervals_bytes_max: layout.bytes_max,
    }
}

/// What of the file its figures stand for.
fn imported_file(file: &Path, survey: &Survey, layout: &ImportLayout) -> ImportedFile {
    ImportedFile {
        name: file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        requests: survey.rows,
        left_out: layout.left_out.clone(),
        objects_per_request: survey.objects_per_request,
        sizes: layout.sizes,
        all_at_work: layout.all_at_work,
        measured_ms: layout.measured * layout.interval_ms,
        whole_ms: layout.end_ms,
        first_end_ms: layout.last_ms,
    }
}
