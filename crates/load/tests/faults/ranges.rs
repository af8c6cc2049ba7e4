//! Parts of objects, wholes in place of parts, and codes of refusals that come in pieces.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use linerate_load::session::PointPlan;

use super::server::{ReceivedRequest, Then, reply, serve, well};
use super::{GET, LONG_TIMEOUT, PUT, driven, plan};

/// Answers a range of an object of 4096 bytes with 1000 of them, and says of them what `reported` makes of the
/// range asked.
fn ranged(reported: fn(u64, u64) -> String) -> impl Fn(&mut ReceivedRequest<'_>) -> io::Result<Then> + Send + Sync {
    move |a| {
        let requested = a.range.as_deref().and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
        let (first, last) = requested.expect("a range");
        let reported = reported(first.parse().expect("a number"), last.parse().expect("a number"));
        a.say(reply("206 Partial Content", &reported, &[b'x'; 1000]))?;
        Ok(Then::Keep)
    }
}

#[test]
fn a_range_is_the_one_that_was_asked_for_and_nothing_else() {
    let plan = PointPlan { range_bytes: Some(1000), ..plan(GET, 4096) };
    let seen = driven(serve(Arc::new(well)), LONG_TIMEOUT, &plan, |s| s.failed() >= 4);
    assert_eq!((seen.requests, seen.kinds()), (0, vec!["wrong range"]), "a whole object");
    for reported in [
        |_: u64, _: u64| String::new(),
        |first, last| format!("Content-Range: bytes {}-{}/4096\r\n", first + 1, last + 1),
        |first, last| format!("Content-Range: bytes {first}-{last}/4097\r\n"),
        |first, last| format!("Content-Range: bytes {first}-{}/4096\r\n", last + 1),
        |first, last| format!("Content-Range: pages {first}-{last}/4096\r\n"),
    ] {
        let seen =
            driven(serve(Arc::new(ranged(reported))), LONG_TIMEOUT, &plan, |s| s.failed() >= 4 || s.requests > 0);
        assert_eq!((seen.requests, seen.kinds()), (0, vec!["wrong range"]), "{}", reported(5, 1004));
    }
    for reported in [
        |first: u64, last: u64| format!("Content-Range: bytes {first}-{last}/4096\r\n"),
        |first, last| format!("content-range:bytes {first}-{last}/*\r\n"),
    ] {
        let seen = driven(serve(Arc::new(ranged(reported))), LONG_TIMEOUT, &plan, |s| s.failed() + s.requests >= 4);
        assert!(seen.requests >= 4 && seen.errors.is_empty(), "{}: {seen:?}", reported(5, 1004));
    }
}

#[test]
fn a_part_is_no_whole_object() {
    let part = |a: &mut ReceivedRequest<'_>| {
        a.say(reply("206 Partial Content", "Content-Range: bytes 0-4095/4096\r\n", &[b'x'; 4096]))?;
        Ok(Then::Keep)
    };
    let seen = driven(serve(Arc::new(part)), LONG_TIMEOUT, &plan(GET, 4096), |s| s.failed() >= 4 || s.requests > 0);
    assert_eq!((seen.requests, seen.kinds()), (0, vec!["wrong range"]));
}

#[test]
fn the_code_of_a_refusal_is_read_in_whatever_pieces_it_comes() {
    let in_pieces = |a: &mut ReceivedRequest<'_>| {
        a.take_body()?;
        a.say("HTTP/1.1 403 Forbidden\r\nContent-Length: 72\r\n\r\n")?;
        for piece in ["<?xml version=\"1.0\"?>\n<Error xmlns=\"u\"><Co", "de>AccessDen", "ied</Code></Error>"] {
            std::thread::sleep(Duration::from_millis(5));
            a.say(piece)?;
        }
        Ok(Then::Keep)
    };
    for op in [GET, PUT] {
        let seen = driven(serve(Arc::new(in_pieces)), LONG_TIMEOUT, &plan(op, 4096), |s| s.failed() >= 4);
        assert_eq!((seen.requests, seen.kinds()), (0, vec!["http 403 AccessDenied"]));
    }
}
