//! The clients: how each is started, and how its own report and its processor time become one measure.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::meter::{Watched, watch};
use super::options::{Cell, Op, TargetKind, say_size};
use super::programs::{Programs, output};
use super::servers::Keys;
use super::store::{BUCKET, SCRATCH_BUCKET, get_prefix};
use super::{CONCURRENCY, Failure, THREADS, WARMUP};

/// Beyond the time measured: start, connections, the objects that linerate and warp write first, and their sums after.
const ALLOWANCE: Duration = Duration::from_secs(60);
const GIB: f64 = (1u64 << 30) as f64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Client {
    /// As by default: requests and their bodies are signed.
    Linerate,
    LinerateUnsigned,
    /// Another build of linerate, such as that of an earlier tree.
    Before,
    Bare,
    Wrk,
    Warp,
    WarpUnsigned,
    /// OpenSSL's own measure of the cipher that linerate's TLS prefers, on one processor.
    Cipher,
    /// The same of the hash that signs bodies.
    Digest,
}

/// One client in one cell.
pub(super) struct Run<'a> {
    pub(super) cell: Cell,
    pub(super) addr: SocketAddr,
    pub(super) server_pid: u32,
    pub(super) seconds: u64,
    pub(super) objects: u64,
    pub(super) programs: &'a Programs,
    pub(super) keys: &'a Keys,
    pub(super) scratch: &'a Path,
}

/// What a client moved in how long, and what that took. Times are of the same window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measure {
    pub(super) requests: f64,
    pub(super) bytes: f64,
    pub(super) seconds: f64,
    pub(super) client_cpu_s: f64,
    pub(super) server_cpu_s: f64,
}

impl Client {
    pub(super) const ALL: [Client; 9] = [
        Client::Linerate,
        Client::LinerateUnsigned,
        Client::Before,
        Client::Bare,
        Client::Wrk,
        Client::Warp,
        Client::WarpUnsigned,
        Client::Cipher,
        Client::Digest,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Client::Linerate => "linerate",
            Client::LinerateUnsigned => "linerate, payload unsigned",
            Client::Before => "linerate before",
            Client::Bare => "bareloop",
            Client::Wrk => "wrk",
            Client::Warp => "warp",
            Client::WarpUnsigned => "warp, payload unsigned",
            Client::Cipher => "AES-128-GCM of openssl speed",
            Client::Digest => "SHA-256 of openssl speed",
        }
    }
}

impl Measure {
    /// Processor time of the client in the cell's unit; absent where nothing was moved.
    pub(super) fn cost(&self, cell: Cell) -> Option<f64> {
        self.per_unit(cell, self.client_cpu_s)
    }

    /// The same of the server.
    pub(super) fn server_cost(&self, cell: Cell) -> Option<f64> {
        self.per_unit(cell, self.server_cpu_s)
    }

    fn per_unit(&self, cell: Cell, cpu_s: f64) -> Option<f64> {
        let cost = if cell.per_request() { cpu_s * 1e6 / self.requests } else { cpu_s / (self.bytes / GIB) };
        cost.is_finite().then_some(cost)
    }

    pub(super) fn to_json(self) -> Value {
        json!({
            "requests": self.requests,
            "bytes": self.bytes,
            "seconds": self.seconds,
            "client_cpu_s": self.client_cpu_s,
            "server_cpu_s": self.server_cpu_s,
        })
    }
}

/// The command line of a client; keys are in its environment alone.
pub(super) fn command(client: Client, run: &Run<'_>) -> Command {
    match client {
        Client::Linerate | Client::Before => linerate_command(client, run, "signed"),
        Client::LinerateUnsigned => linerate_command(client, run, "unsigned"),
        Client::Bare => bare_command(run),
        Client::Wrk => wrk_command(run),
        Client::Warp => warp_command(run),
        Client::WarpUnsigned => {
            let mut command = warp_command(run);
            command.arg("--disable-sha256-payload");
            command
        }
        Client::Cipher => openssl_command(run, "aes-128-gcm"),
        Client::Digest => openssl_command(run, "sha256"),
    }
}

/// Runs a client and reads its measure.
pub(super) fn measure(client: Client, run: &Run<'_>) -> Result<Measure, Failure> {
    if matches!(client, Client::Linerate | Client::LinerateUnsigned | Client::Before) {
        // It refuses to write into the run of before, and says itself what was left of it.
        let _ = fs::remove_dir_all(run.scratch.join("linerate"));
    }
    let limit = Duration::from_secs(run.seconds) + ALLOWANCE;
    let watched = watch(&mut command(client, run), run.server_pid, run.scratch, limit)?;
    match client {
        Client::Linerate | Client::LinerateUnsigned | Client::Before => linerate_measure(client, run),
        Client::Bare => bare_measure(run, &watched),
        Client::Wrk => wrk_measure(run, &watched),
        Client::Warp | Client::WarpUnsigned => warp_measure(run, &watched),
        Client::Cipher | Client::Digest => openssl_measure(run, &watched),
    }
}

/// The program of a client that is linerate.
fn linerate(client: Client, programs: &Programs) -> &Path {
    let before = programs.before.as_deref().filter(|_| client == Client::Before);
    before.unwrap_or(&programs.linerate)
}

fn linerate_command(client: Client, run: &Run<'_>, payload: &str) -> Command {
    let mut command = Command::new(linerate(client, run.programs));
    command.args(["bench", "--op", run.op(), "--payload", payload, "--no-ceiling", "--quiet"]);
    command.args(["--host", &run.addr.to_string(), "--bucket", SCRATCH_BUCKET]);
    command.args(["--obj.size", &run.size(), "--objects", &run.objects.to_string()]);
    command.args(["--concurrent", &CONCURRENCY.to_string(), "--threads", &THREADS.to_string()]);
    command.args(["--duration", &format!("{}s", run.seconds), "--warmup", &format!("{}ms", WARMUP.as_millis())]);
    command.args(run.is_tls().then_some("--tls")).args(run.is_tls().then_some("--insecure"));
    command.args(["--target-pid", &run.server_pid.to_string()]).arg("-o").arg(run.scratch.join("linerate"));
    command.envs([("AWS_ACCESS_KEY_ID", &run.keys.access), ("AWS_SECRET_ACCESS_KEY", &run.keys.secret)]);
    command
}

fn bare_command(run: &Run<'_>) -> Command {
    let (bucket, prefix) = match run.cell.op {
        Op::Get => (BUCKET, get_prefix(run.cell.size_bytes)),
        Op::Put => (SCRATCH_BUCKET, "put/".into()),
    };
    let mut command = Command::new(&run.programs.bareloop);
    command.args(["--addr", &run.addr.to_string(), "--bucket", bucket, "--op", run.op(), "--prefix", &prefix]);
    command.args(["--size", &run.cell.size_bytes.to_string(), "--objects", &run.objects.to_string()]);
    command.args(["--concurrency", &CONCURRENCY.to_string(), "--threads", &THREADS.to_string()]);
    command.args(["--seconds", &run.seconds.to_string()]);
    command
}

/// One object, because a script that cycles over more would be charged to wrk.
fn wrk_command(run: &Run<'_>) -> Command {
    let mut command = Command::new(run.programs.wrk.as_deref().unwrap_or(Path::new("wrk")));
    command.args(["-t", &THREADS.to_string(), "-c", &CONCURRENCY.to_string(), "-d", &format!("{}s", run.seconds + 1)]);
    // By itself it takes two seconds for one large body to be a failure.
    command.args(["--timeout", "30s"]);
    let (prefix, size) = (get_prefix(run.cell.size_bytes), run.cell.size_bytes);
    let scheme = if run.is_tls() { "https" } else { "http" };
    command.arg(format!("{scheme}://{}/{BUCKET}/{prefix}0-{size}", run.addr));
    command
}

fn warp_command(run: &Run<'_>) -> Command {
    let mut command = Command::new(run.programs.warp.as_deref().unwrap_or(Path::new("warp")));
    command.args([run.op(), "--host", &run.addr.to_string(), "--lookup", "path", "--noclear", "--no-color"]);
    command.args(["--obj.size", &run.size(), "--concurrent", &CONCURRENCY.to_string()]);
    command.args(["--duration", &format!("{}s", run.seconds)]);
    command.args(run.is_tls().then_some("--tls")).args(run.is_tls().then_some("--insecure"));
    match run.cell.op {
        Op::Get => {
            // The null target lists nothing: there it writes objects first, whose size the prefix says.
            let prefix = get_prefix(run.cell.size_bytes);
            command.args(["--bucket", BUCKET, "--prefix", &prefix, "--objects", &run.objects.to_string()]);
            command.args((!run.is_tls()).then_some("--list-existing"))
        }
        Op::Put => command.args(["--bucket", SCRATCH_BUCKET, "--disable-multipart"]),
    };
    command.arg("--benchdata").arg(run.scratch.join("warp"));
    command.envs([("WARP_ACCESS_KEY", &run.keys.access), ("WARP_SECRET_KEY", &run.keys.secret)]);
    command
}

/// Records of TLS hold 16 KiB.
fn openssl_command(run: &Run<'_>, algorithm: &str) -> Command {
    let mut command = Command::new(run.programs.openssl.as_deref().unwrap_or(Path::new("openssl")));
    command.args(["speed", "-bytes", "16384", "-seconds", &run.seconds.to_string(), "-evp", algorithm]);
    command
}

impl Run<'_> {
    fn is_tls(&self) -> bool {
        self.cell.target == TargetKind::NullTls
    }

    fn op(&self) -> &'static str {
        if self.cell.op == Op::Get { "get" } else { "put" }
    }

    fn size(&self) -> String {
        say_size(self.cell.size_bytes).replace(' ', "")
    }
}

/// linerate's own report of its one point: its window leaves out preparation and warm-up.
fn linerate_measure(client: Client, run: &Run<'_>) -> Result<Measure, Failure> {
    let folder = run.scratch.join("linerate").display().to_string();
    let report =
        output(&linerate(client, run.programs).display().to_string(), &["report", &folder, "--format", "json"])?;
    let view: Value = serde_json::from_str(&report)?;
    let point = &view["series"][0]["points"][0];
    if point["errors"].as_object().is_some_and(|errors| !errors.is_empty()) {
        return Err(format!("requests of linerate failed: {}", point["errors"]).into());
    }
    let seconds = number(point, "measured_ms")? / 1e3;
    Ok(Measure {
        requests: number(point, "requests")?,
        bytes: number(point, "moved_bytes")?,
        seconds,
        client_cpu_s: number(&point["client_cpu"], "cores")? * seconds,
        server_cpu_s: number(&point["target_cpu"], "cores")? * seconds,
    })
}

/// The bare loop's own window; the server's processor time is that of the same length from about the same moment.
fn bare_measure(run: &Run<'_>, watched: &Watched) -> Result<Measure, Failure> {
    let line = watched.stdout.lines().last().ok_or("bareloop printed nothing")?;
    let report: Value = serde_json::from_str(line)?;
    if number(&report, "non_2xx")? > 0.0 {
        return Err(format!("requests of bareloop failed: {line}").into());
    }
    let seconds = number(&report, "seconds")?;
    let (_, server_s) = window(watched, run.seconds as f64)?;
    Ok(Measure {
        requests: number(&report, "requests")?,
        bytes: number(&report, "bytes")?,
        seconds,
        client_cpu_s: number(&report, "cpu_s")?,
        server_cpu_s: server_s / run.seconds as f64 * seconds,
    })
}

/// wrk tells what it moved over its whole run, which is steady; its processor time is taken after a warm-up.
fn wrk_measure(run: &Run<'_>, watched: &Watched) -> Result<Measure, Failure> {
    let report = parse_wrk(&watched.stdout)?;
    let (client_s, server_s) = window(watched, run.seconds as f64)?;
    let windows = report.seconds / run.seconds as f64;
    Ok(Measure {
        requests: report.requests,
        bytes: report.bytes,
        seconds: report.seconds,
        client_cpu_s: client_s * windows,
        server_cpu_s: server_s * windows,
    })
}

/// Processor seconds of client and server over so many seconds after the warm-up.
fn window(watched: &Watched, seconds: f64) -> Result<(f64, f64), Failure> {
    let from_unix_s = watched.began_unix_s() + WARMUP.as_secs_f64();
    watched.between(from_unix_s, from_unix_s + seconds)
}

/// Of processor time, and not of time: `AES-128-GCM    4223387.97k` are thousands of bytes in a second of it.
fn openssl_measure(run: &Run<'_>, watched: &Watched) -> Result<Measure, Failure> {
    let rate = parse_openssl(&watched.stdout).ok_or_else(|| format!("openssl speed said {:?}", watched.stdout))?;
    let seconds = run.seconds as f64;
    let bytes = rate * seconds;
    Ok(Measure { requests: bytes / 16384.0, bytes, seconds, client_cpu_s: seconds, server_cpu_s: 0.0 })
}

fn parse_openssl(text: &str) -> Option<f64> {
    let rate = text.lines().last()?.split_whitespace().next_back()?.strip_suffix('k')?;
    rate.parse::<f64>().ok().map(|thousands| (thousands * 1e3).round())
}

struct WrkReport {
    requests: f64,
    bytes: f64,
    seconds: f64,
}

/// `  90531 requests in 4.00s, 394.11MB read`; errors are further lines.
fn parse_wrk(text: &str) -> Result<WrkReport, Failure> {
    let fault = |line: &&str| line.contains("Socket errors:") || line.contains("Non-2xx");
    if let Some(line) = text.lines().find(fault) {
        return Err(format!("requests of wrk failed: {}", line.trim()).into());
    }
    let line = text.lines().find(|line| line.contains(" requests in ")).ok_or("wrk printed no sum of its requests")?;
    let unread = || format!("cannot read wrk's {line:?}");
    let (requests, rest) = line.trim().split_once(" requests in ").ok_or_else(unread)?;
    let (time, read) = rest.trim_end_matches(" read").split_once(", ").ok_or_else(unread)?;
    let seconds = scaled(time, &[("ms", 1e-3), ("s", 1.0), ("m", 60.0)]).ok_or_else(unread)?;
    let (kb, mb, gb) = (1024.0, 1024.0 * 1024.0, GIB);
    let units = [("KB", kb), ("MB", mb), ("GB", gb), ("TB", gb * 1024.0), ("B", 1.0)];
    let bytes = scaled(read, &units).ok_or_else(unread)?;
    Ok(WrkReport { requests: requests.parse()?, bytes, seconds })
}

fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    units.iter().find_map(|(unit, factor)| Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * factor))
}

/// warp's requests between its first start and its last end, and the processor time between the same two moments: what
/// it does before and after is not held against it.
fn warp_measure(run: &Run<'_>, watched: &Watched) -> Result<Measure, Failure> {
    let written = |extension: &&str| run.scratch.join(extension).is_file();
    let file = ["warp.json.zst", "warp.csv.zst"].into_iter().find(written).ok_or("warp wrote no data")?;
    let (warp, file) = (run.programs.warp.as_deref().ok_or("no warp")?, run.scratch.join(file));
    let report = output(&warp.display().to_string(), &["analyze", "--json", &file.display().to_string()])?;
    fs::remove_file(&file)?;
    let start = report.find('{').ok_or("warp analyze printed no JSON")?;
    let report: Value = serde_json::Deserializer::from_str(&report[start..])
        .into_iter()
        .next()
        .ok_or("warp analyze printed no JSON")??;
    let total = &report["total"];
    if number(total, "total_errors")? > 0.0 {
        return Err(format!("requests of warp failed: {}", total["first_errors"]).into());
    }
    let moment = |key: &str| {
        let second = total[key].as_str().and_then(second_of_day).ok_or(format!("warp gives no {key}"))?;
        // The day is the one in which the client was started.
        let since = (second - watched.began_unix_s().rem_euclid(86_400.0)).rem_euclid(86_400.0);
        Ok::<_, Failure>(watched.began_unix_s() + since)
    };
    let (from, to) = (moment("start_time")?, moment("end_time")?);
    let (client_cpu_s, server_cpu_s) = watched.between(from, to)?;
    Ok(Measure {
        requests: number(total, "total_requests")?,
        bytes: number(total, "total_bytes")?,
        seconds: to - from,
        client_cpu_s,
        server_cpu_s,
    })
}

/// Seconds since midnight UTC of `2026-01-31T07:54:52.571687414Z`.
fn second_of_day(time: &str) -> Option<f64> {
    let clock = time.strip_suffix('Z')?.split_once('T')?.1;
    let mut parts = clock.splitn(3, ':').map(|part| part.parse::<f64>().ok());
    Some(parts.next()?? * 3600.0 + parts.next()?? * 60.0 + parts.next()??)
}

fn number(value: &Value, key: &str) -> Result<f64, Failure> {
    value[key].as_f64().ok_or_else(|| format!("{key} is missing in a report").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_of_wrk_is_read_in_any_unit_and_its_errors_are_not_passed_over() {
        for (text, expected) in [
            ("  90531 requests in 4.00s, 394.11MB read\n", Some((90_531.0, 394.11 * 1_048_576.0, 4.0))),
            ("  7 requests in 1.50m, 12.00B read\n", Some((7.0, 12.0, 90.0))),
            ("  64 requests in 900.00ms, 4.25GB read\n", Some((64.0, 4.25 * GIB, 0.9))),
            ("  9 requests in 1.00s, 1.00KB read\n  Non-2xx or 3xx responses: 9\n", None),
            ("  9 requests in 1.00s, 1.00KB read\n  Socket errors: connect 0, read 1, write 0, timeout 0\n", None),
            ("nothing", None),
        ] {
            let read = parse_wrk(text).ok().map(|report| (report.requests, report.bytes, report.seconds));
            assert_eq!(read, expected, "{text:?}");
        }
    }

    #[test]
    fn openssl_tells_thousands_of_bytes_per_second() {
        let text =
            "version: 3.0.19\nThe 'numbers' are in 1000s of bytes per second processed.\ntype          16384 bytes\n";
        assert_eq!(parse_openssl(&format!("{text}AES-128-GCM    4223387.97k\n")), Some(4_223_387_970.0));
        assert_eq!(parse_openssl(text), None);
        assert_eq!(parse_openssl(""), None);
    }

    #[test]
    fn a_moment_is_read_to_its_fraction() {
        assert_eq!(second_of_day("2026-01-31T07:54:52.5Z"), Some(28_492.5));
        assert_eq!(second_of_day("2026-01-31 07:54:52"), None);
    }
}
