//! Ways to misbehave, whatever is asked.

use std::io;
use std::time::Duration;

use super::Call;
use super::server::{ReceivedRequest, Then, error, reply};

/// A way to misbehave.
pub(crate) struct Behaviour {
    pub(crate) name: &'static str,
    pub(crate) answer: fn(&mut ReceivedRequest<'_>) -> io::Result<Then>,
    /// Calls to which it is a right answer.
    pub(crate) right_for: &'static [Call],
}

const fn behaviour(name: &'static str, answer: fn(&mut ReceivedRequest<'_>) -> io::Result<Then>) -> Behaviour {
    Behaviour { name, answer, right_for: &[] }
}

/// Calls that a success without a document answers rightly.
const DONE: &[Call] = &[Call::Create, Call::Abort, Call::Put, Call::LoadDelete];

const HTML: &[u8] = b"<html><head><title>Sign in</title><br></head></html>";

fn hang(_: &mut ReceivedRequest<'_>) -> io::Result<Then> {
    std::thread::sleep(Duration::from_secs(3));
    Ok(Then::Close)
}

/// Says something again and again, for longer than anybody waits: slowly, or some 4 MiB each second.
fn again(requested: &mut ReceivedRequest<'_>, text: &[u8], pause: Duration) -> io::Result<Then> {
    let times = if pause == SLOWLY { 1 } else { 4096_usize.div_ceil(text.len()) };
    let text = text.repeat(times);
    for _ in 0..20_000 {
        requested.say(&text)?;
        std::thread::sleep(pause);
    }
    Ok(Then::Close)
}

const AT_ONCE: Duration = Duration::from_millis(1);
const SLOWLY: Duration = Duration::from_millis(20);

fn keep(requested: &mut ReceivedRequest<'_>, bytes: impl AsRef<[u8]>) -> io::Result<Then> {
    requested.take_body()?;
    requested.say(bytes)?;
    Ok(Then::Keep)
}

fn chunked(requested: &mut ReceivedRequest<'_>, rest: &[u8]) -> io::Result<Then> {
    requested.take_body()?;
    requested.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
    requested.say(rest)?;
    Ok(Then::Keep)
}

fn ok(requested: &mut ReceivedRequest<'_>, body: &[u8]) -> io::Result<Then> {
    keep(requested, reply("200 OK", "", body))
}

fn status(requested: &mut ReceivedRequest<'_>, line: &str, headers: &str, body: &[u8]) -> io::Result<Then> {
    keep(requested, reply(line, headers, body))
}

pub(crate) fn all() -> Vec<Behaviour> {
    [silences(), heads(), framings(), chunks(), refusals(), lies(), listings()].into_iter().flatten().collect()
}

fn silences() -> Vec<Behaviour> {
    vec![
        behaviour("closes without a word", |_| Ok(Then::Close)),
        behaviour("resets", |_| Ok(Then::Reset)),
        behaviour("takes everything and says nothing", |a| a.take_body().and_then(|()| hang(a))),
        behaviour("reads nothing and says nothing", hang),
        behaviour("stops behind the version", |a| a.say("HTTP/1.1 ").and_then(|()| hang(a))),
        behaviour("stops in a header", |a| a.say("HTTP/1.1 200 OK\r\nContent-Le").and_then(|()| hang(a))),
        behaviour("stops in the body", |a| {
            a.take_body()?;
            a.say("HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n<Li")?;
            hang(a)
        }),
        behaviour("closes in the head", |a| a.say("HTTP/1.1 200 OK\r\nServer: x").map(|()| Then::Close)),
        behaviour("closes in the body", |a| {
            a.take_body()?;
            a.say("HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n<ListBucketResult/>")?;
            Ok(Then::Close)
        }),
        behaviour("resets in the body", |a| {
            a.take_body()?;
            a.say("HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n<ListBucketResult/>")?;
            Ok(Then::Reset)
        }),
        behaviour("a byte of the head at a time", |a| {
            a.say("HTTP/1.1 200 OK\r\nX: ")?;
            again(a, b"y", SLOWLY)
        }),
        behaviour("a byte of the body at a time", |a| {
            a.say("HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n")?;
            again(a, b"y", SLOWLY)
        }),
        behaviour("a body until a close that never comes", |a| {
            a.say("HTTP/1.1 200 OK\r\n\r\n")?;
            again(a, b"y", SLOWLY)
        }),
    ]
}

fn heads() -> Vec<Behaviour> {
    vec![
        behaviour("100 Continue, slowly and without end", |a| again(a, b"HTTP/1.1 100 Continue\r\n\r\n", SLOWLY)),
        behaviour("100 Continue, fast and without end", |a| again(a, b"HTTP/1.1 100 Continue\r\n\r\n", AT_ONCE)),
        behaviour("102 with headers, without end", |a| again(a, b"HTTP/1.1 102 Processing\r\nX: y\r\n\r\n", AT_ONCE)),
        behaviour("103 and nothing", |a| a.say("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n").and_then(|()| hang(a))),
        behaviour("100 and a close", |a| a.say("HTTP/1.1 100 Continue\r\n\r\n").map(|()| Then::Close)),
        behaviour("101 to another protocol", |a| {
            a.say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")?;
            hang(a)
        }),
        behaviour("a header without end", |a| {
            a.say("HTTP/1.1 200 OK\r\nX: ")?;
            again(a, &[b'y'; 1024], AT_ONCE)
        }),
        behaviour("headers without end", |a| {
            a.say("HTTP/1.1 200 OK\r\n")?;
            again(a, b"X: y\r\n", AT_ONCE)
        }),
        behaviour("97 headers", |a| {
            let head = format!("HTTP/1.1 200 OK\r\n{}Content-Length: 0\r\n\r\n", "X: y\r\n".repeat(96));
            keep(a, head)
        }),
        behaviour("SSH", |a| keep(a, "SSH-2.0-OpenSSH_9.2\r\n")),
        behaviour("a TLS alert", |a| keep(a, b"\x15\x03\x01\x00\x02\x02\x28")),
        behaviour("HTTP/2", |a| keep(a, "HTTP/2 200\r\ncontent-length: 0\r\n\r\n")),
        behaviour("HTTP/2's frames", |a| keep(a, b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64")),
        behaviour("HTTP/0.9", |a| keep(a, HTML).map(|_| Then::Close)),
        behaviour("a status of two digits", |a| keep(a, "HTTP/1.1 99 Low\r\nContent-Length: 0\r\n\r\n")),
        behaviour("a status in words", |a| keep(a, "HTTP/1.1 OK 200\r\nContent-Length: 0\r\n\r\n")),
        behaviour("a NUL in a header", |a| keep(a, b"HTTP/1.1 200 OK\r\nX: \0\r\nContent-Length: 0\r\n\r\n")),
        behaviour("a header without a colon", |a| keep(a, "HTTP/1.1 200 OK\r\nnonsense\r\nContent-Length: 0\r\n\r\n")),
        behaviour("empty lines without end", |a| again(a, b"\r\n", AT_ONCE)),
        behaviour("zeros", |a| again(a, &[0; 512], AT_ONCE)),
    ]
}

fn framings() -> Vec<Behaviour> {
    vec![
        behaviour("two lengths", |a| keep(a, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\nhello")),
        behaviour("a length below nothing", |a| keep(a, "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n")),
        behaviour("a list of lengths", |a| keep(a, "HTTP/1.1 200 OK\r\nContent-Length: 0, 0\r\n\r\n")),
        behaviour("a length beyond numbers", |a| {
            keep(a, "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n")
        }),
        behaviour("the longest length", |a| {
            a.take_body()?;
            a.say(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n<ListBucketResult/>", u64::MAX))?;
            hang(a)
        }),
        behaviour("a length and chunks", |a| {
            keep(a, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
        }),
        behaviour("a coding that nobody asked for", |a| {
            keep(a, "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nxx")
        }),
        behaviour("a reply and a half", |a| {
            let twice = [reply("403 Forbidden", "", &error("AccessDenied")), b"HTTP/1.1 2".to_vec()].concat();
            keep(a, twice)
        }),
    ]
}

fn chunks() -> Vec<Behaviour> {
    vec![
        behaviour("chunks that are none", |a| chunked(a, b"none\r\n")),
        behaviour("a chunk beyond numbers", |a| chunked(a, b"11111111111111111\r\n")),
        behaviour("chunks that end with the connection", |a| chunked(a, b"5\r\n<List\r\n").map(|_| Then::Close)),
        behaviour("chunks that stop", |a| chunked(a, b"5\r\n<List\r\n").and_then(|_| hang(a))),
        behaviour("an extension without end", |a| chunked(a, b"5;").and_then(|_| again(a, &[b'x'; 512], AT_ONCE))),
        behaviour("an extension without end, slowly", |a| chunked(a, b"5;").and_then(|_| again(a, b"x", SLOWLY))),
        behaviour("trailers without end", |a| chunked(a, b"0\r\n").and_then(|_| again(a, b"X: y\r\n", AT_ONCE))),
        behaviour("trailers without end, slowly", |a| chunked(a, b"0\r\n").and_then(|_| again(a, b"X: y\r\n", SLOWLY))),
        behaviour("digits without end", |a| chunked(a, b"").and_then(|_| again(a, b"00000000", AT_ONCE))),
        behaviour("chunks without end", |a| {
            let chunk = [&b"1000\r\n"[..], &[b'y'; 4096], b"\r\n"].concat();
            chunked(a, b"").and_then(|_| again(a, &chunk, AT_ONCE))
        }),
    ]
}

fn refusals() -> Vec<Behaviour> {
    let gone = |name, answer| Behaviour { right_for: &[Call::Abort], ..behaviour(name, answer) };
    vec![
        behaviour("300", |a| status(a, "300 Multiple Choices", "", b"")),
        behaviour("301 elsewhere", |a| status(a, "301 Moved Permanently", "Location: http://203.0.113.1/\r\n", b"")),
        behaviour("302 to itself", |a| status(a, "302 Found", "Location: /\r\n", b"")),
        behaviour("304", |a| keep(a, "HTTP/1.1 304 Not Modified\r\n\r\n")),
        behaviour("307 elsewhere", |a| {
            status(a, "307 Temporary Redirect", "Location: http://203.0.113.1/b/k\r\n", b"")
        }),
        behaviour("400 with HTML", |a| status(a, "400 Bad Request", "", HTML)),
        behaviour("401", |a| status(a, "401 Unauthorized", "WWW-Authenticate: Basic\r\n", b"")),
        behaviour("403 InvalidAccessKeyId", |a| status(a, "403 Forbidden", "", &error("InvalidAccessKeyId"))),
        behaviour("403 with HTML", |a| status(a, "403 Forbidden", "", HTML)),
        gone("404 with HTML", |a| status(a, "404 Not Found", "", HTML)),
        gone("404 NoSuchKey", |a| status(a, "404 Not Found", "", &error("NoSuchKey"))),
        behaviour("405", |a| status(a, "405 Method Not Allowed", "", b"")),
        behaviour("407", |a| status(a, "407 Proxy Authentication Required", "", b"")),
        behaviour("408", |a| status(a, "408 Request Timeout", "", b"")),
        behaviour("409", |a| status(a, "409 Conflict", "", &error("OperationAborted"))),
        behaviour("411", |a| status(a, "411 Length Required", "", b"")),
        behaviour("413", |a| status(a, "413 Content Too Large", "", b"")),
        behaviour("416", |a| status(a, "416 Range Not Satisfiable", "Content-Range: bytes */1\r\n", b"")),
        behaviour("429", |a| status(a, "429 Too Many Requests", "Retry-After: 99999999999\r\n", b"")),
        behaviour("500", |a| status(a, "500 Internal Server Error", "", &error("InternalError"))),
        behaviour("501", |a| status(a, "501 Not Implemented", "", &error("NotImplemented"))),
        behaviour("502 of a proxy", |a| status(a, "502 Bad Gateway", "", HTML)),
        behaviour("503 SlowDown", |a| status(a, "503 Slow Down", "Retry-After: 1\r\n", &error("SlowDown"))),
        behaviour("511 of a portal", |a| status(a, "511 Network Authentication Required", "", HTML)),
        behaviour("599", |a| status(a, "599 Nothing", "", b"")),
    ]
}

/// Entries of a listing.
fn entries(prefix: &str, count: u64) -> String {
    (0..count).map(|i| format!("<Contents><Key>{prefix}{i:04}</Key><Size>1</Size></Contents>")).collect()
}

fn lies() -> Vec<Behaviour> {
    let done = |name, answer| Behaviour { right_for: DONE, ..behaviour(name, answer) };
    vec![
        behaviour("200 with HTML", |a| ok(a, HTML)),
        behaviour("200 with HTML that is XML", |a| ok(a, b"<?xml version=\"1.0\"?><html xmlns=\"u\"><body/></html>")),
        behaviour("200 with a document type, in chunks", |a| {
            chunked(a, b"1d\r\n<!DOCTYPE html><html></html>\n\r\n0\r\n\r\n")
        }),
        behaviour("200 with an error", |a| ok(a, &error("InternalError"))),
        behaviour("200 with an error in a namespace", |a| {
            ok(a, b"<Error xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Code>InternalError</Code></Error>")
        }),
        behaviour("200 with an error in a prefixed namespace", |a| {
            ok(a, b"<s3:Error xmlns:s3=\"u\"><s3:Code>AccessDenied</s3:Code></s3:Error>")
        }),
        behaviour("200 with an error behind blanks and a comment", |a| {
            ok(a, b"\n  <?xml version=\"1.0\"?>\r\n<!-- late -->\n <Error><Code>SlowDown</Code></Error>")
        }),
        behaviour("200 with an error that is cut off", |a| ok(a, b"<Error><Code>Interna")),
        behaviour("200 with an error until the close", |a| {
            a.take_body()?;
            a.say("HTTP/1.1 200 OK\r\n\r\n<Error><Code>InternalError</Code></Error>")?;
            Ok(Then::Close)
        }),
        done("200 with nothing", |a| ok(a, b"")),
        done("200 with blanks", |a| ok(a, b" \r\n\t")),
        behaviour("200 with a word", |a| ok(a, b"OK")),
        behaviour("200 with a word, in chunks", |a| chunked(a, b"2\r\n\r\n\r\n2\r\nOK\r\n0\r\n\r\n")),
        behaviour("200 with a word behind many blanks", |a| ok(a, &[&[b' '; 5000][..], b"OK"].concat())),
        behaviour("200 with JSON", |a| ok(a, b"{\"error\": \"AccessDenied\"}")),
        behaviour("200 with HTML without a root", |a| ok(a, b"Sign in <a href=\"/\">here</a>")),
        behaviour("200 with bytes of no alphabet", |a| ok(a, b"\xff\xfe\x00\xd8")),
        behaviour("201 with JSON", |a| status(a, "201 Created", "", b"{\"Code\": 500}")),
        Behaviour {
            right_for: &[Call::Create, Call::Abort, Call::LoadDelete],
            ..behaviour("204", |a| keep(a, "HTTP/1.1 204 No Content\r\n\r\n"))
        },
        Behaviour {
            right_for: &[Call::Create, Call::Abort],
            ..behaviour("206 with nothing", |a| status(a, "206 Partial Content", "", b""))
        },
        behaviour("200 with another document", |a| ok(a, b"<ListAllMyBucketsResult/>")),
    ]
}

/// Listings that are not what was asked for.
fn listings() -> Vec<Behaviour> {
    let page = |name, answer| Behaviour { right_for: &[Call::Exists, Call::List], ..behaviour(name, answer) };
    vec![
        page("200 with an empty listing", |a| ok(a, b"<ListBucketResult><KeyCount>0</KeyCount></ListBucketResult>")),
        behaviour("200 with a listing of another bucket", |a| {
            ok(a, format!("<ListBucketResult><Name>other</Name>{}</ListBucketResult>", entries("run/", 8)).as_bytes())
        }),
        behaviour("200 with a listing of another prefix", |a| {
            ok(a, format!("<ListBucketResult><Prefix>ru</Prefix>{}</ListBucketResult>", entries("run/", 8)).as_bytes())
        }),
        page("200 with a listing without one object", |a| {
            ok(a, format!("<ListBucketResult>{}</ListBucketResult>", entries("run/", 7)).as_bytes())
        }),
        page("200 with a listing of objects elsewhere", |a| {
            ok(a, format!("<ListBucketResult>{}</ListBucketResult>", entries("walk/", 8)).as_bytes())
        }),
        page("200 with a listing of one object many times", |a| {
            ok(a, format!("<ListBucketResult>{}</ListBucketResult>", entries("run/", 1).repeat(8)).as_bytes())
        }),
        page("200 with a listing that counts another number", |a| {
            let entries = entries("run/", 8);
            ok(a, format!("<ListBucketResult><KeyCount>9</KeyCount>{entries}</ListBucketResult>").as_bytes())
        }),
        page("200 with a listing of too many objects", |a| {
            ok(a, format!("<ListBucketResult>{}</ListBucketResult>", entries("run/", 1001)).as_bytes())
        }),
        behaviour("200 with a listing that is cut off", |a| ok(a, b"<ListBucketResult><Contents>")),
        behaviour("200 with a listing that goes on nowhere", |a| {
            ok(a, b"<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>")
        }),
        behaviour("200 with a listing and an entity", |a| {
            ok(a, b"<ListBucketResult><Contents><Key>&bomb;</Key></Contents></ListBucketResult>")
        }),
        behaviour("200 with an entity of a document type", |a| {
            ok(a, b"<!DOCTYPE x [<!ENTITY a \"b\">]><ListBucketResult><Name>&a;</Name></ListBucketResult>")
        }),
        behaviour("200 with a listing of great depth", |a| {
            ok(a, format!("<ListBucketResult>{}", "<a>".repeat(10_000)).as_bytes())
        }),
        behaviour("200 with two listings", |a| ok(a, b"<ListBucketResult/><ListBucketResult/>")),
    ]
}
