//! Servers that misbehave in every way listed, at every call that linerate makes: none is waited for longer than its
//! limit, and none counts as a success.

mod behaviours;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use linerate_load::body::Bodies;
use linerate_load::bucket::{Bucket, BucketError, Removal};
use linerate_load::listing::KeyVersion;
use linerate_load::object_id::ObjectId;
use linerate_load::point::{PointDriver, drive};
use linerate_load::session::{PointPlan, Session};
use linerate_record::run::Op;
use linerate_wire::clock::Clock;
use linerate_wire::deadline::CancelToken;

use self::behaviours::Behaviour;
use crate::driving::{bodies, plan, session};
use crate::faults::server;
use crate::faults::server::{ReceivedRequest, Then, reply, serve, well};

/// Longest time for one request or one call.
const LIMIT: Duration = Duration::from_millis(150);

/// Limit where the answer comes.
const LONG_TIMEOUT: Duration = Duration::from_secs(20);

/// What any machine may take on top of it: a call that takes longer hangs.
const SLACK: Duration = Duration::from_secs(180);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Exists,
    Create,
    Remove,
    List,
    Versions,
    Uploads,
    Delete,
    Abort,
    Head,
    Get,
    Range,
    Put,
    Stat,
    LoadList,
    LoadDelete,
    Initiate,
    Part,
    Complete,
}

const CALLS: [Call; 18] = [
    Call::Exists,
    Call::Create,
    Call::Remove,
    Call::List,
    Call::Versions,
    Call::Uploads,
    Call::Delete,
    Call::Abort,
    Call::Head,
    Call::Get,
    Call::Range,
    Call::Put,
    Call::Stat,
    Call::LoadList,
    Call::LoadDelete,
    Call::Initiate,
    Call::Part,
    Call::Complete,
];

/// One server for all: the bucket's name says how it behaves, and at which call.
fn serve_all() -> SocketAddr {
    let behaviours = behaviours::all();
    serve(Arc::new(move |requested: &mut ReceivedRequest<'_>| {
        let bucket = requested.line.split(['/', '?', ' ']).nth(2).unwrap_or_default();
        let mut numbers = bucket.split('-').skip(1).filter_map(|n| n.parse::<usize>().ok());
        let (behaviour, call) = (numbers.next().expect("a behaviour"), CALLS[numbers.next().expect("a call")]);
        match before(call, requested) {
            Some(answer) => {
                requested.take_body()?;
                requested.say(answer)?;
                Ok(Then::Keep)
            }
            None => (behaviours[behaviour].answer)(requested),
        }
    }))
}

/// What a well-behaved server says to the calls that come before the one that is misbehaved at.
fn before(call: Call, requested: &ReceivedRequest<'_>) -> Option<Vec<u8>> {
    let (get, put) = (requested.line.starts_with("GET"), requested.line.starts_with("PUT"));
    let (initiates, part) = (requested.line.contains("?uploads="), put && requested.line.contains("partNumber="));
    match call {
        Call::Remove if get && initiates => Some(reply("200 OK", "", b"<ListMultipartUploadsResult/>")),
        Call::Remove if get => Some(reply("200 OK", "", b"<ListBucketResult/>")),
        Call::Part | Call::Complete if initiates => {
            let id = b"<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>";
            Some(reply("200 OK", "", id))
        }
        Call::Complete if part => Some(reply("200 OK", "ETag: \"e\"\r\n", b"")),
        _ => None,
    }
}

/// One request in flight.
fn one(op: Op) -> PointPlan {
    PointPlan { concurrency: 1, ..plan(op, 4096) }
}

/// Drives a load until something succeeded or failed; the successes, and how the failures are told.
fn driven(session: &Session, plan: &PointPlan) -> (bool, String) {
    let interrupted = AtomicBool::new(false);
    let with = PointDriver::new(session, Clock::start(), &interrupted);
    let (mut succeeded, mut reported) = (false, Vec::new());
    let outcome = drive(&with, plan, |figures| {
        for row in figures.rows.into_iter().filter(|row| row.requests > 0 || !row.errors.is_empty()) {
            // A part that is sent well is no object.
            succeeded |= row.requests > 0 && row.op != Op::Part;
            reported.extend(row.errors.into_keys());
            if succeeded || !reported.is_empty() {
                interrupted.store(true, Ordering::Relaxed);
            }
        }
        ControlFlow::Continue(())
    });
    outcome.expect("it drives");
    (succeeded, reported.join(", "))
}

/// Makes a call; whether it counts as a success, and what is told.
fn called(session: &Session, call: Call) -> (bool, String) {
    let mut bucket = match Bucket::connect(session, 0) {
        Ok(bucket) => bucket,
        Err(error) => return (false, error.to_string()),
    };
    let id = ObjectId { set: 1, seq: 1 };
    let upload = KeyVersion { key: "run/a".into(), id: "u".into() };
    let reported = |result: Result<bool, BucketError>| match result {
        Ok(succeeded) => (succeeded, "nothing".to_owned()),
        Err(error) => (false, error.to_string()),
    };
    match call {
        Call::Exists => reported(bucket.exists().map(|_| true)),
        Call::Create => reported(bucket.create()),
        Call::Remove => reported(bucket.remove().map(|removal| removal == Removal::Removed)),
        Call::List => reported(bucket.list("run/", 5000).map(|_| true)),
        // A target that knows no such call says so.
        Call::Versions => reported(bucket.versions(None).map(|page| page.is_some())),
        Call::Uploads => reported(bucket.uploads().map(|uploads| uploads.is_some())),
        Call::Delete => reported(bucket.delete(&[(id, 4096)]).map(|()| true)),
        Call::Abort => reported(bucket.abort_upload(&upload).map(|()| true)),
        Call::Head => reported(bucket.head(id, 4096).map(|length| length == Some(4096))),
        Call::Get => driven(session, &one(Op::Get)),
        Call::Range => driven(session, &PointPlan { range_bytes: Some(1000), ..one(Op::Get) }),
        Call::Put => driven(session, &one(Op::Put)),
        Call::Stat => driven(session, &one(Op::Stat)),
        Call::LoadList => driven(session, &one(Op::List)),
        Call::LoadDelete => driven(session, &one(Op::Delete)),
        Call::Initiate | Call::Part | Call::Complete => driven(session, &one(Op::Multipart)),
    }
}

/// One case: what is wrong about it, if anything.
fn wrong(
    address: SocketAddr,
    bodies: &Arc<Bodies>,
    (i, behaviour): (usize, &Behaviour),
    call: usize,
) -> Option<String> {
    let session = Session { bucket: format!("bucket-{i}-{call}"), ..session(address, LIMIT, bodies) };
    let (begin, call) = (Instant::now(), CALLS[call]);
    let (succeeded, reported) = called(&session, call);
    let took = begin.elapsed();
    let what = format!("{}, at {call:?}", behaviour.name);
    if succeeded && !behaviour.right_for.contains(&call) {
        return Some(format!("{what}: counted as a success"));
    }
    if took > LIMIT + SLACK {
        return Some(format!("{what}: took {took:?}: {reported}"));
    }
    (reported.is_empty() && !succeeded).then(|| format!("{what}: nothing was told"))
}

#[test]
fn no_server_hangs_a_call_and_none_makes_a_success_of_nothing() {
    let (address, bodies, behaviours) = (serve_all(), bodies(), behaviours::all());
    assert!(behaviours.len() >= 60, "{}", behaviours.len());
    let (next, faults) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..24 {
            scope.spawn(|| {
                loop {
                    let case = next.fetch_add(1, Ordering::Relaxed);
                    let (i, call) = (case / CALLS.len(), case % CALLS.len());
                    let Some(behaviour) = behaviours.get(i) else { return };
                    let fault = wrong(address, &bodies, (i, behaviour), call);
                    faults.lock().expect("nobody panicked").extend(fault);
                }
            });
        }
    });
    let faults = faults.into_inner().expect("nobody panicked");
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), behaviours.len() * CALLS.len(), faults.join("\n"));
    println!("{} behaviours at {} calls", behaviours.len(), CALLS.len());
}

/// Pages of a listing that never ends, by the number of the request.
type Pages = fn(u64) -> String;

fn entry(key: u64) -> String {
    format!("<Contents><Key>run/{key:09}</Key><Size>1</Size></Contents>")
}

/// A page that says that another follows.
fn page(entries: &str, token: &str) -> String {
    let more = format!("<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>");
    format!("<ListBucketResult>{entries}{more}</ListBucketResult>")
}

#[test]
fn listings_that_never_end_are_errors() {
    let cases: [(&str, Pages, &str); 3] = [
        ("empty pages", |n| page("", &n.to_string()), "page after page is empty"),
        ("the same token", |n| page(&entry(n), "t"), "begins where this one or an earlier one did"),
        ("the same page", |n| page(&entry(7), &n.to_string()), "two of its pages are the same"),
    ];
    let bodies = bodies();
    for (what, pages, why) in cases {
        let answer = move |a: &mut ReceivedRequest<'_>| {
            a.say(reply("200 OK", "", pages(a.number).as_bytes()))?;
            Ok(Then::Keep)
        };
        let session = session(serve(Arc::new(answer)), LONG_TIMEOUT, &bodies);
        let error = Bucket::connect(&session, 0).unwrap().list("run/", usize::MAX).expect_err(what);
        assert!(error.to_string().contains(why), "{what}: {error}");
        let error = Bucket::connect(&session, 0).unwrap().stored(0, 1_000_000).expect_err(what);
        assert!(error.to_string().contains(why), "{what}: {error}");
    }
}

#[test]
fn what_a_listing_still_shows_is_not_deleted_whatever_the_target_says() {
    let bodies = bodies();
    for (said, why) in [
        ("<DeleteResult/>", None),
        ("<DeleteResult><Error><Key>run/a</Key><Code>AccessDenied</Code></Error></DeleteResult>", Some("AccessDenied")),
        ("<d:DeleteResult xmlns:d='u'><d:Error><d:Code>Held</d:Code></d:Error></d:DeleteResult>", Some("Held")),
        ("", Some("no DeleteResult")),
        ("<html/>", Some("no DeleteResult")),
    ] {
        let answer = move |a: &mut ReceivedRequest<'_>| {
            a.take_body()?;
            let listing = "<ListBucketResult><Contents><Key>run/a</Key><Size>1</Size></Contents></ListBucketResult>";
            let body = if a.line.starts_with("POST") { said } else { listing };
            a.say(reply("200 OK", "", body.as_bytes()))?;
            Ok(Then::Keep)
        };
        let session = session(serve(Arc::new(answer)), LONG_TIMEOUT, &bodies);
        let left = Bucket::connect(&session, 0).unwrap().sweep_up(false, &mut |_| Ok(())).unwrap();
        let reported = left.why.map(|error| error.to_string());
        assert_eq!((left.objects, left.bytes, left.more), (1, 1, false), "{said}: {reported:?}");
        assert_eq!(reported.is_some(), why.is_some(), "{said}: {reported:?}");
        assert!(
            why.is_none_or(|why| reported.as_ref().is_some_and(|reported| reported.contains(why))),
            "{said}: {reported:?}"
        );
    }
}

#[test]
fn wrong_keys_are_told_by_the_code_of_s3() {
    let bodies = bodies();
    for (code, part) in [
        ("InvalidAccessKeyId", "HTTP 403 (InvalidAccessKeyId); the target does not know this access key"),
        ("SignatureDoesNotMatch", "HTTP 403 (SignatureDoesNotMatch); the secret key is not that of this access key"),
    ] {
        // As servers do: HEAD has no body to hold a code.
        let answer = move |a: &mut ReceivedRequest<'_>| {
            let error = server::error(code);
            a.say(reply("403 Forbidden", "", if a.line.starts_with("HEAD") { b"" } else { &error }))?;
            Ok(Then::Keep)
        };
        let session = session(serve(Arc::new(answer)), LIMIT, &bodies);
        let reported = Bucket::connect(&session, 0).unwrap().exists().unwrap_err().to_string();
        assert!(reported.contains(part), "{reported}");
    }
}

/// A listener whose queue is full, so that no connection is made to it; and what fills it.
fn deaf() -> (TcpListener, Vec<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    rustix::net::listen(&listener, 0).expect("it listens");
    let address = listener.local_addr().expect("bound");
    let brief = Duration::from_millis(200);
    let queued = (0..8).map_while(|_| TcpStream::connect_timeout(&address, brief).ok()).collect();
    (listener, queued)
}

#[test]
fn a_flag_ends_a_call_in_any_phase_and_a_limit_does_so_by_its_name() {
    let bodies = bodies();
    let (listener, _queued) = deaf();
    let silent = serve(Arc::new(|a: &mut ReceivedRequest<'_>| {
        std::thread::sleep(Duration::from_secs(5));
        a.take_body().map(|()| Then::Close)
    }));
    for (phase, address) in [("connecting", listener.local_addr().unwrap()), ("access to bucket", silent)] {
        let requested = |cancel: &CancelToken, limit: Duration| {
            let session = session(address, limit, &bodies);
            let result = Bucket::connect_heeding(&session, 0, cancel).and_then(|mut bucket| bucket.exists());
            result.map(|_| ()).expect_err(phase)
        };
        let late = requested(&CancelToken::Nothing, LIMIT);
        let reported = late.to_string();
        assert!(reported.starts_with(phase) && reported.ends_with("timed out after 150 ms"), "{reported}");

        let flag = Arc::new(AtomicBool::new(false));
        let raised = Arc::clone(&flag);
        let raise = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            raised.store(true, Ordering::Relaxed);
        });
        // Were the flag not looked at, this limit would end it by its name.
        let stopped = requested(&CancelToken::Stop(flag), Duration::from_secs(60));
        raise.join().unwrap();
        assert!(matches!(stopped, BucketError::Stopped), "{phase}: {stopped}");
    }
}

#[test]
fn a_well_behaved_server_is_taken_for_one() {
    let answer: fn(&mut ReceivedRequest<'_>) -> io::Result<Then> = |a| match a.line {
        line if line.contains("list-type=2") => {
            let bucket = "<Name>bucket</Name><Prefix>run/</Prefix><IsTruncated>false</IsTruncated>";
            let page =
                format!("<ListBucketResult>{bucket}{}</ListBucketResult>", (0..8).map(entry).collect::<String>());
            a.say(reply("200 OK", "Server: good\r\n", page.as_bytes()))?;
            Ok(Then::Keep)
        }
        _ => well(a),
    };
    let (bodies, address) = (bodies(), serve(Arc::new(answer)));
    let session = session(address, LONG_TIMEOUT, &bodies);
    let mut bucket = Bucket::connect(&session, 0).unwrap();
    assert_eq!(bucket.exists().unwrap(), (true, Some("good".into())));
    assert!(bucket.create().unwrap() && bucket.list("run/", 10).unwrap().len() == 8);
    for op in [Op::Get, Op::Put, Op::Delete, Op::List] {
        let (succeeded, reported) = driven(&session, &one(op));
        assert!(succeeded && reported.is_empty(), "{op}: {reported}");
    }
}
