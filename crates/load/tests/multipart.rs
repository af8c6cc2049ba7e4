//! Multipart uploads against a server that answers by a script: what fails is aborted, once, and counted once.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use linerate_load::multipart::Parts;
use linerate_load::point::{PointDriver, PointOutcome, drive};
use linerate_load::session::{EndCondition, PointPlan, Session, Source};
use linerate_load::sigv4::{Credentials, Secret};
use linerate_record::run::Op;
use linerate_wire::clock::Clock;

use crate::driving;

/// Method, path and query of a request, and its body.
type Seen = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// A reply: status, `ETag`, body, and how long it takes.
type Reply = (u16, &'static str, String, Duration);

const CREATED: &str = "<InitiateMultipartUploadResult><UploadId>up/1</UploadId></InitiateMultipartUploadResult>";
const COMPLETED: &str = "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>";

fn ok(body: &str) -> Reply {
    (200, "\"e\"", body.to_owned(), Duration::ZERO)
}

/// What a server says to whom all is well.
fn usual(line: &str) -> Reply {
    match line {
        _ if line.contains("uploads=") => ok(CREATED),
        _ if line.starts_with("POST") => ok(COMPLETED),
        _ if line.starts_with("DELETE") => (204, "", String::new(), Duration::ZERO),
        _ => ok(""),
    }
}

fn serve(script: fn(&str) -> Reply) -> (SocketAddr, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("as the test sets it up");
    let (address, seen) = (listener.local_addr().expect("as the test sets it up"), Seen::default());
    let of_server = Arc::clone(&seen);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = Arc::clone(&of_server);
            std::thread::spawn(move || _ = serve_one(stream, script, &seen));
        }
    });
    (address, seen)
}

fn serve_one(mut stream: TcpStream, script: fn(&str) -> Reply, seen: &Seen) -> std::io::Result<()> {
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        let head_end = bytes.windows(4).position(|w| w == b"\r\n\r\n").map(|at| at + 4);
        let Some(head_end) = head_end else {
            match stream.read(&mut buffer)? {
                0 => return Ok(()),
                n => bytes.extend_from_slice(&buffer[..n]),
            }
            continue;
        };
        let head = String::from_utf8_lossy(&bytes[..head_end]).to_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|l| l.strip_prefix("content-length: "))
            .map_or(0, |v| v.parse().expect("as the test sets it up"));
        while bytes.len() < head_end + length {
            match stream.read(&mut buffer)? {
                0 => return Ok(()),
                n => bytes.extend_from_slice(&buffer[..n]),
            }
        }
        let line =
            String::from_utf8_lossy(&bytes[..head_end]).lines().next().expect("as the test sets it up").to_owned();
        let (status, etag, body, delay) = script(&line);
        let reported = line.rsplit_once(' ').expect("as the test sets it up").0.to_owned();
        seen.lock().expect("as the test sets it up").push((reported, bytes[head_end..head_end + length].to_vec()));
        bytes.drain(..head_end + length);
        std::thread::sleep(delay);
        let etag = if etag.is_empty() { String::new() } else { format!("ETag: {etag}\r\n") };
        write!(stream, "HTTP/1.1 {status} X\r\n{etag}Content-Length: {}\r\n\r\n{body}", body.len())?;
    }
}

const SIZE: u64 = 250_000;
const PART: u64 = 100_000;

/// Requests, bytes and moved bytes of an operation, and its errors.
type Row = (u64, u64, i64, BTreeMap<String, u64>);

/// Drives uploads of 250,000 bytes in parts of 100,000: `count` of them, or for some tenths of a second.
fn driven(
    address: SocketAddr,
    concurrent: u32,
    until: EndCondition,
    concurrency: u32,
) -> (PointOutcome, BTreeMap<Op, Row>) {
    let key = Credentials {
        access_key: "AK".into(),
        secret_key: Secret::new("s".into()),
        session_token: None,
        from: Arc::default(),
    };
    let plain = driving::session(address, Duration::from_secs(10), &driving::bodies());
    let session = Session { credentials: Some(key), ..plain };
    let plan = PointPlan {
        concurrency,
        source: Source::Set { set: 0, count: 0 },
        parts: Parts { bytes: PART, concurrent },
        until,
        interval_ns: 100_000_000,
        ..driving::plan(Op::Multipart, SIZE)
    };
    let interrupted = AtomicBool::new(false);
    let with = PointDriver::new(&session, Clock::start(), &interrupted);
    let mut rows = BTreeMap::<Op, Row>::new();
    let outcome = drive(&with, &plan, |figures| {
        for row in figures.rows {
            let sum = rows.entry(row.op).or_default();
            (sum.0, sum.1, sum.2) = (sum.0 + row.requests, sum.1 + row.bytes, sum.2 + row.moved_bytes);
            row.errors.into_iter().for_each(|(kind, n)| *sum.3.entry(kind).or_default() += n);
        }
        ControlFlow::Continue(())
    });
    (outcome.expect("as the test sets it up"), rows)
}

fn lines(seen: &Seen) -> Vec<String> {
    seen.lock().expect("as the test sets it up").iter().map(|(line, _)| line.clone()).collect()
}

#[test]
fn an_object_is_created_sent_in_parts_and_completed() {
    let (address, seen) = serve(usual);
    let (outcome, rows) = driven(address, 1, EndCondition::Written(1), 1);
    let at = "/bucket/run/001/00000000-250000?";
    let expected = [
        format!("POST {at}uploads="),
        format!("PUT {at}partNumber=1&uploadId=up%2F1"),
        format!("PUT {at}partNumber=2&uploadId=up%2F1"),
        format!("PUT {at}partNumber=3&uploadId=up%2F1"),
        format!("POST {at}uploadId=up%2F1"),
    ];
    assert_eq!(lines(&seen), expected);
    let lengths: Vec<usize> = seen.lock().unwrap()[1..4].iter().map(|(_, body)| body.len()).collect();
    assert_eq!(lengths, [100_000, 100_000, 50_000]);
    assert_eq!(rows[&Op::Multipart], (1, SIZE, SIZE as i64, BTreeMap::new()));
    assert_eq!(rows[&Op::Part], (3, SIZE, SIZE as i64, BTreeMap::new()));
    assert!(outcome.unfinished.is_empty() && outcome.unended_writes == 0);
}

#[test]
fn parts_of_one_object_go_out_together_and_every_object_is_completed() {
    let (address, seen) = serve(|line| {
        let (status, etag, body, _) = usual(line);
        (status, etag, body, Duration::from_millis(5))
    });
    let (outcome, rows) = driven(address, 3, EndCondition::Written(20), 4);
    assert_eq!((rows[&Op::Multipart].0, rows[&Op::Part].0), (20, 60));
    assert!(outcome.unfinished.is_empty());
    assert_eq!(lines(&seen).len(), 20 * 5);
}

/// What a script leads to: errors of objects, errors of parts, and calls that abort.
#[test]
fn what_fails_is_counted_once_aborted_and_taken_back() {
    type Case = (fn(&str) -> Reply, &'static str, u64, bool);
    let cases: [Case; 4] = [
        (
            |line| {
                let broken = line.contains("partNumber=2");
                if broken {
                    (503, "", "<Error><Code>SlowDown</Code></Error>".into(), Duration::ZERO)
                } else {
                    usual(line)
                }
            },
            "http 503 SlowDown",
            1,
            true,
        ),
        (
            |line| {
                let broken = line.starts_with("POST") && !line.contains("uploads=");
                if broken { ok("  <?xml?><Error><Code>InternalError</Code></Error>") } else { usual(line) }
            },
            "http 200 InternalError",
            0,
            true,
        ),
        (
            |line| if line.contains("uploads=") { (403, "", String::new(), Duration::ZERO) } else { usual(line) },
            "http 403",
            0,
            false,
        ),
        (
            |line| {
                let broken = line.contains("partNumber=3");
                if broken { (200, "", String::new(), Duration::ZERO) } else { usual(line) }
            },
            "reply without an ETag",
            1,
            true,
        ),
    ];
    for (script, kind, of_parts, aborts) in cases {
        let (address, seen) = serve(script);
        let (outcome, rows) = driven(address, 1, EndCondition::Written(3), 1);
        let (requests, bytes, moved_bytes, errors) = &rows[&Op::Multipart];
        assert_eq!((*requests, *bytes, *moved_bytes), (0, 0, 0), "{kind}");
        assert_eq!(errors, &BTreeMap::from([(kind.to_owned(), 3)]), "{kind}: one per object");
        let part_errors: u64 = rows.get(&Op::Part).map_or(0, |row| row.3.values().sum());
        assert_eq!(part_errors, 3 * of_parts, "{kind}");
        let aborted = lines(&seen).iter().filter(|l| l.starts_with("DELETE") && l.contains("uploadId=up%2F1")).count();
        assert_eq!(aborted, if aborts { 3 } else { 0 }, "{kind}");
        assert!(outcome.unfinished.is_empty(), "{kind}: {:?}", outcome.unfinished);
    }
}

#[test]
fn uploads_under_way_when_a_point_ends_are_told() {
    let (address, seen) = serve(|line| {
        let (status, etag, body, _) = usual(line);
        (status, etag, body, Duration::from_millis(400))
    });
    let (outcome, _) = driven(address, 1, EndCondition::Intervals(2), 2);
    // Uploads that were in flight at the end are waited for, under load: what that load began is given up.
    assert!(!outcome.unfinished.is_empty());
    for upload in &outcome.unfinished {
        assert!(upload.id.seq >= 2, "those in flight at the end have ended: {upload:?}");
        assert_eq!((upload.size_bytes, upload.upload_id.as_deref()), (SIZE, Some("up/1")));
    }
    assert_eq!(outcome.unended_writes, 0, "their creation was waited for");
    assert!(lines(&seen).len() > 2);
}
