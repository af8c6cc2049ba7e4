//! What is done to MinIO besides load: buckets that anyone may read and write, objects to GET, and clearing away what
//! was written.

use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use linerate_record::rng::noise;
use linerate_wire::deadline::{CancelToken, Deadline};
use linerate_wire::http_call::{self, HttpPeer, HttpRequest};

use super::Failure;
use super::options::{Cell, Op, Options, TargetKind};
use super::servers::MinIo;

/// Where the objects to GET are.
pub(super) const BUCKET: &str = "bench";
/// What clients write goes here, and goes away with it.
pub(super) const SCRATCH_BUCKET: &str = "bench-scratch";

/// For a whole call, as curl has it below.
const CALL_LIMIT: Duration = Duration::from_secs(60);
/// MinIO's answers to these are errors of a few hundred bytes, or empty.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Objects to GET are called `{prefix}{i}-{size}`.
pub(super) fn get_prefix(size_bytes: u64) -> String {
    format!("get-{size_bytes}/")
}

pub(super) fn is_ready(addr: SocketAddr) -> bool {
    request(addr, "GET", "/minio/health/ready", &[]).is_ok()
}

/// Makes both buckets and the objects to GET.
pub(super) fn prepare(minio: &MinIo, options: &Options) -> Result<(), Failure> {
    make_bucket(minio, BUCKET)?;
    make_bucket(minio, SCRATCH_BUCKET)?;
    for &size_bytes in options.sizes() {
        let wanted = Cell { target: TargetKind::MinIo, op: Op::Get, size_bytes };
        if !options.cells().contains(&wanted) {
            continue;
        }
        let body = noise(usize::try_from(size_bytes)?);
        for object in 0..options.objects(size_bytes) {
            let path = format!("/{BUCKET}/{}{object}-{size_bytes}", get_prefix(size_bytes));
            request(minio.addr, "PUT", &path, &body)?;
        }
    }
    Ok(())
}

/// Removes what a client has written in a cell. MinIO moves what is deleted aside and frees it at leisure, so that some
/// minutes of PUT fill a disk: it is freed here at once.
pub(super) fn clear(minio: &MinIo, cell: Cell) -> Result<(), Failure> {
    if cell.target != TargetKind::MinIo {
        return Ok(());
    }
    curl(minio, &["-X", "DELETE", "-H", "x-minio-force-delete: true"], SCRATCH_BUCKET, None)?;
    empty_trash(minio);
    make_bucket(minio, SCRATCH_BUCKET)
}

/// Frees what MinIO has moved aside.
pub(super) fn empty_trash(minio: &MinIo) {
    for drive in &minio.drives {
        let Ok(entries) = fs::read_dir(drive.join(".minio.sys/tmp/.trash")) else { continue };
        for entry in entries.flatten() {
            // MinIO frees the same entries and may be first.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

pub(super) fn make_bucket(minio: &MinIo, bucket: &str) -> Result<(), Failure> {
    curl(minio, &["-X", "PUT"], bucket, None)?;
    let policy = serde_json::json!({
        "Version": "2012-10-17",
        "Statement": [{
            "Effect": "Allow",
            "Principal": {"AWS": ["*"]},
            "Action": ["s3:GetObject", "s3:PutObject"],
            "Resource": [format!("arn:aws:s3:::{bucket}/*")],
        }],
    });
    curl(minio, &["-X", "PUT"], &format!("{bucket}?policy="), Some(&policy.to_string()))
}

/// A signed request. Keys go through curl's standard input, so that no list of processes shows them.
fn curl(minio: &MinIo, args: &[&str], path: &str, body: Option<&str>) -> Result<(), Failure> {
    let mut command = Command::new("curl");
    command.args(["-sS", "--fail", "--max-time", "60", "--config", "-", "--noproxy", "*", "-o", "/dev/null"]);
    command.args(["--aws-sigv4", "aws:amz:us-east-1:s3", "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD"]).args(args);
    if let Some(body) = body {
        command.args(["-H", "content-type: application/json", "--data-binary", body]);
    }
    command.arg(format!("http://{}/{path}", minio.addr)).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let mut stdin = child.stdin.take().ok_or("curl has no standard input")?;
    writeln!(stdin, "user = \"{}:{}\"", minio.keys.access, minio.keys.secret)?;
    drop(stdin);
    let output = child.wait_with_output()?;
    if !output.status.success() {
        return Err(format!("curl {args:?} {path}: {}", String::from_utf8_lossy(&output.stderr).trim()).into());
    }
    Ok(())
}

/// A request that needs no signature, on a connection of its own.
fn request(address: SocketAddr, method: &str, path: &str, body: &[u8]) -> Result<(), Failure> {
    let length = body.len();
    let head =
        format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    let request = HttpRequest { head: head.as_bytes(), body, is_head: false, answer_bytes_max: ANSWER_BYTES_MAX };
    let peer = HttpPeer { address, source: None, tls: None };
    let deadline = Deadline::new(CALL_LIMIT, &CancelToken::Nothing);
    let answer = http_call::call(peer, &request, CALL_LIMIT, &deadline)?;
    if (200..300).contains(&answer.status) {
        return Ok(());
    }
    Err(format!("{method} {path}: {}", answer.first_line()).into())
}
