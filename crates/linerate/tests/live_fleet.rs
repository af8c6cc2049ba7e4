//! `explain --live` of 484 nodes: each is a process that speaks the protocol of agents and makes its figures up. What
//! the coordinator needs for it, and how soon it answers.

mod pretended;
#[expect(dead_code, reason = "other tests use the rest")]
mod running;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use libtest_mimic::{Arguments, Failed, Trial};
use linerate_record::readings::{ReadMeasure, Readings};
use running::linerate;

/// Nodes, as many as the largest site of the examples.
const NODES: u32 = 484;
/// Most memory of the coordinator.
const RESIDENT_KIB_MAX: u64 = 512 << 10;
/// Most of a page.
const PAGE_BYTES_MAX: u64 = 5_000_000;
/// Steps of the window that is judged from a file.
const STEPS: u32 = 60;

fn main() {
    let given: Vec<String> = std::env::args().collect();
    if let [_, word, number, folder] = &given[..]
        && word == pretended::WORD
    {
        return pretended::agent(number.parse().expect("a number"), Path::new(folder));
    }
    let trials = vec![
        Trial::test("timed_agents_of_484_nodes_are_read_and_judged_in_time_and_in_little_memory", live),
        Trial::test("timed_a_minute_of_484_nodes_is_judged_from_its_file_in_time_and_its_page_is_small", replayed),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// How long the report may take behind the window. What tests are built with is slower than what is released, and
/// shares its processors with 484 processes.
fn within() -> Duration {
    Duration::from_secs(if cfg!(debug_assertions) { 40 } else { 5 })
}

/// What a process came to.
struct Ran {
    output: Output,
    /// The most memory that it was seen to have, by the kernel's own count.
    resident_kib: u64,
    ended: SystemTime,
}

fn resident_kib(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Runs it with its outputs in files, and looks at its memory meanwhile.
fn ran(command: &mut Command, folder: &Path) -> Result<Ran, Failed> {
    let files = [fs::File::create(folder.join("out"))?, fs::File::create(folder.join("err"))?];
    let [out, err] = files;
    let mut child = command.stdout(out).stderr(err).stdin(Stdio::null()).spawn()?;
    let (begun, mut most) = (Instant::now(), 0);
    let status = loop {
        most = resident_kib(&child).unwrap_or(0).max(most);
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if begun.elapsed() > Duration::from_secs(180) {
            child.kill()?;
            return Err(format!("no end after 180 s: {}", fs::read_to_string(folder.join("err"))?).into());
        }
        thread::sleep(Duration::from_millis(20));
    };
    let (stdout, stderr) = (fs::read(folder.join("out"))?, fs::read(folder.join("err"))?);
    let ended = SystemTime::now();
    Ok(Ran { output: Output { status, stdout, stderr }, resident_kib: most, ended })
}

fn site() -> String {
    format!("{}/../../examples/source-000-484-shared.yaml", env!("CARGO_MANIFEST_DIR"))
}

fn checked(is: bool, what: impl Into<String>) -> Result<(), Failed> {
    if is { Ok(()) } else { Err(what.into().into()) }
}

/// A page with all nodes and the rack that loses packets, within its size.
fn page_is_small(page: &Path) -> Result<u64, Failed> {
    let (bytes, text) = (fs::metadata(page)?.len(), fs::read_to_string(page)?);
    checked(bytes < PAGE_BYTES_MAX, format!("a page of {bytes} bytes"))?;
    checked(text.contains("id=\"sockets\"") && text.contains("484 nodes from top"), "a page without sockets or nodes")?;
    let answer = format!("the uplinks of rack row-{} lose packets", pretended::LOSSY_RACK);
    checked(text.contains(&answer), "a page without the rack whose uplinks lose packets")?;
    Ok(bytes)
}

/// Serves what engines of all nodes tell of their requests, each at a path of its name. Node 7's is refused.
fn metrics() -> Result<String, Failed> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let begun = Instant::now();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let (mut request, mut buffer) = (Vec::new(), [0; 2048]);
            while !request.ends_with(b"\r\n\r\n") {
                match stream.read(&mut buffer) {
                    Ok(0) | Err(_) => break,
                    Ok(read) => request.extend_from_slice(&buffer[..read]),
                }
            }
            let request = String::from_utf8_lossy(&request).into_owned();
            let node = request.split('/').nth(1).unwrap_or_default().to_owned();
            let (status, sent) =
                if node == "node7" { ("403 Forbidden", 0) } else { ("200 OK", begun.elapsed().as_millis()) };
            let body = format!(
                "minio_api_requests_traffic_sent_bytes{{server=\"{node}.s3:9000\",type=\"s3\"}} {}\n\
                 minio_api_requests_inflight_total{{name=\"GetObject\",server=\"{node}.s3:9000\",type=\"s3\"}} 3\n",
                sent * 1_000
            );
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len());
            let _ = stream.write_all((head + &body).as_bytes());
        }
    });
    Ok(address)
}

/// What the engine's own metrics gave, of all nodes but the one that refused.
fn engines_are_read(readings: &Readings) -> Result<(), Failed> {
    let series_with = |series_with: ReadMeasure| readings.series.iter().filter(move |series| series.of == series_with);
    let read = series_with(ReadMeasure::InFlight).filter(|series| series.values.contains(&Some(3.0))).count() as u32;
    checked(read == NODES - 1, format!("requests in flight of {read} nodes: {:?}", readings.warnings))?;
    let refused = readings
        .warnings
        .iter()
        .any(|warning| warning.contains("of 1 of 484 pages were not read (node7)") && warning.contains("answered 403"));
    checked(refused, format!("{:?}", readings.warnings))
}

fn live() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let own = std::env::current_exe()?;
    let node = |number: u32| {
        let reach = format!("exec:exec {} {} {number} {}", own.display(), pretended::WORD, folder.path().display());
        let rack = pretended::rack(number);
        format!("  - {{name: node{number}, role: storage, rack: row-{rack}, reach: '{reach}'}}\n")
    };
    let fleet = folder.path().join("fleet.yaml");
    fs::write(&fleet, format!("nodes:\n{}", (1..=NODES).map(node).collect::<String>()))?;
    pretended::prepare(NODES, folder.path())?;
    let page = folder.path().join("page.html");
    let mut command = linerate();
    command.args(["explain", &site(), "--live", "--for", "10s", "--yes-exec", "--format", "html", "--fleet"]);
    command
        .arg(&fleet)
        .args(["--engine-metrics", &format!("http://{}/{{name}}/minio/metrics/v3/api/requests", metrics()?)]);
    command.arg("--output").arg(&page).arg("--record").arg(folder.path().join("readings.json"));
    let Ran { output, resident_kib, ended } = ran(&mut command, folder.path())?;
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    checked(output.status.success(), reported.clone())?;
    let readings: Readings = serde_json::from_slice(&fs::read(folder.path().join("readings.json"))?)?;
    let first = readings.remarks.first().cloned().unwrap_or_default();
    checked(readings.machines().len() as u32 == NODES && readings.sockets.len() as u32 == NODES, first)?;
    let (end_ns, bytes) = pretended::reported(folder.path(), 1)?;
    let end = UNIX_EPOCH + Duration::from_nanos(end_ns);
    let behind = ended.duration_since(end).unwrap_or_default();
    let page_bytes = page_is_small(&page)?;
    let racks = readings.stated.iter().zip(1..).filter(|(one, number)| {
        one.rack.as_ref().is_some_and(|rack| *rack == format!("row-{}", pretended::rack(*number)))
    });
    checked(racks.count() as u32 == NODES, "a node that was recorded without its rack")?;
    eprintln!(
        "{NODES} nodes: {behind:?} behind the window, {resident_kib} KiB, a page of {page_bytes} bytes; {bytes} bytes \
         of one agent"
    );
    checked(readings.steps == 10, format!("{} steps", readings.steps))?;
    engines_are_read(&readings)?;
    let is_of_engine =
        |of: ReadMeasure| matches!(of, ReadMeasure::InFlight | ReadMeasure::Waiting | ReadMeasure::ClientSent);
    let by_agents = readings.series.iter().filter(|series| !is_of_engine(series.of));
    let gaps = by_agents.flat_map(|series| &series.values).filter(|value| value.is_none()).count();
    checked(gaps == 0, format!("{gaps} values are missing"))?;
    checked(behind <= within(), format!("the report came {behind:?} behind the window"))?;
    checked(resident_kib <= RESIDENT_KIB_MAX, format!("{resident_kib} KiB of the coordinator: {reported}"))
}

fn replayed() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (file, page) = (folder.path().join("readings.json"), folder.path().join("page.html"));
    fs::write(&file, serde_json::to_vec(&pretended::readings(NODES, STEPS))?)?;
    let mut command = linerate();
    command.args(["explain", &site(), "--format", "html", "--replay"]).arg(&file).arg("--output").arg(&page);
    let begun = SystemTime::now();
    let Ran { output, resident_kib, ended } = ran(&mut command, folder.path())?;
    checked(output.status.success(), String::from_utf8_lossy(&output.stderr))?;
    let (took, page_bytes) = (ended.duration_since(begun).unwrap_or_default(), page_is_small(&page)?);
    eprintln!(
        "a file of {} bytes: judged in {took:?}, {resident_kib} KiB, a page of {page_bytes} bytes",
        fs::metadata(&file)?.len()
    );
    checked(took <= within(), format!("judging took {took:?}"))?;
    checked(resident_kib <= RESIDENT_KIB_MAX, format!("{resident_kib} KiB"))
}
