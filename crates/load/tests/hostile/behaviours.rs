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

const fn of(name: &'static str, answer: fn(&mut ReceivedRequest<'_>) -> io::Result<Then>) -> Behaviour {
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
fn again(asked: &mut ReceivedRequest<'_>, text: &[u8], pause: Duration) -> io::Result<Then> {
    let times = if pause == SLOWLY { 1 } else { 4096_usize.div_ceil(text.len()) };
    let text = text.repeat(times);
    for _ in 0..20_000 {
        asked.say(&text)?;
        std::thread::sleep(pause);
    }
    Ok(Then::Close)
}

const AT_ONCE: Duration = Duration::from_millis(1);
const SLOWLY: Duration = Duration::from_millis(20);

fn keep(asked: &mut ReceivedRequest<'_>, bytes: impl AsRef<[u8]>) -> io::Result<Then> {
    asked.take_body()?;
    asked.say(bytes)?;
    Ok(Then::Keep)
}

fn chunked(asked: &mut ReceivedRequest<'_>, rest: &[u8]) -> io::Result<Then> {
    asked.take_body()?;
    asked.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
    asked.say(rest)?;
    Ok(Then::Keep)
}

fn ok(asked: &mut ReceivedRequest<'_>, body: &[u8]) -> io::Result<Then> {
    keep(asked, reply("200 OK", "", body))
}

fn status(asked: &mut ReceivedRequest<'_>, line: &str, headers: &str, body: &[u8]) -> io::Result<Then> {
    keep(asked, reply(line, headers, body))
}

pub(crate) fn all() -> Vec<Behaviour> {
    [silences(), heads(), framings(), chunks(), refusals(), lies()].into_iter().flatten().collect()
}

fn silences() -> Vec<Behaviour> {
    vec![
        of("closes without a word", |_| Ok(Then::Close)),
        of("resets", |_| Ok(Then::Reset)),
        of("takes everything and says nothing", |a| a.take_body().and_then(|()| hang(a))),
        of("reads nothing and says nothing", hang),
        of("stops behind the version", |a| a.say("HTTP/1.1 ").and_then(|()| hang(a))),
        of("stops in a header", |a| a.say("HTTP/1.1 200 OK\r\nContent-Le").and_then(|()| hang(a))),
        of("stops in the body", |a| {
            a.take_body()?;
            a.say("HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n<Li")?;
            hang(a)
        }),
        of("closes in the head", |a| a.say("HTTP/1.1 200 OK\r\nServer: x").map(|()| Then::Close)),
        of("closes in the body", |a| {
            a.take_body()?;
            a.say("HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n<ListBucketResult/>")?;
            Ok(Then::Close)
        }),
        of("resets in the body", |a| {
            a.take_body()?;
            a.say("HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n<ListBucketResult/>")?;
            Ok(Then::Reset)
        }),
        of("a byte of the head at a time", |a| {
            a.say("HTTP/1.1 200 OK\r\nX: ")?;
            again(a, b"y", SLOWLY)
        }),
        of("a byte of the body at a time", |a| {
            a.say("HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n")?;
            again(a, b"y", SLOWLY)
        }),
        of("a body until a close that never comes", |a| {
            a.say("HTTP/1.1 200 OK\r\n\r\n")?;
            again(a, b"y", SLOWLY)
        }),
    ]
}

fn heads() -> Vec<Behaviour> {
    vec![
        of("100 Continue, slowly and without end", |a| again(a, b"HTTP/1.1 100 Continue\r\n\r\n", SLOWLY)),
        of("100 Continue, fast and without end", |a| again(a, b"HTTP/1.1 100 Continue\r\n\r\n", AT_ONCE)),
        of("102 with headers, without end", |a| again(a, b"HTTP/1.1 102 Processing\r\nX: y\r\n\r\n", AT_ONCE)),
        of("103 and nothing", |a| a.say("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n").and_then(|()| hang(a))),
        of("100 and a close", |a| a.say("HTTP/1.1 100 Continue\r\n\r\n").map(|()| Then::Close)),
        of("101 to another protocol", |a| {
            a.say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")?;
            hang(a)
        }),
        of("a header without end", |a| {
            a.say("HTTP/1.1 200 OK\r\nX: ")?;
            again(a, &[b'y'; 1024], AT_ONCE)
        }),
        of("headers without end", |a| {
            a.say("HTTP/1.1 200 OK\r\n")?;
            again(a, b"X: y\r\n", AT_ONCE)
        }),
        of("97 headers", |a| {
            let head = format!("HTTP/1.1 200 OK\r\n{}Content-Length: 0\r\n\r\n", "X: y\r\n".repeat(96));
            keep(a, head)
        }),
        of("SSH", |a| keep(a, "SSH-2.0-OpenSSH_9.2\r\n")),
        of("a TLS alert", |a| keep(a, b"\x15\x03\x01\x00\x02\x02\x28")),
        of("HTTP/2", |a| keep(a, "HTTP/2 200\r\ncontent-length: 0\r\n\r\n")),
        of("HTTP/2's frames", |a| keep(a, b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64")),
        of("HTTP/0.9", |a| keep(a, HTML).map(|_| Then::Close)),
        of("a status of two digits", |a| keep(a, "HTTP/1.1 99 Low\r\nContent-Length: 0\r\n\r\n")),
        of("a status in words", |a| keep(a, "HTTP/1.1 OK 200\r\nContent-Length: 0\r\n\r\n")),
        of("a NUL in a header", |a| keep(a, b"HTTP/1.1 200 OK\r\nX: \0\r\nContent-Length: 0\r\n\r\n")),
        of("a header without a colon", |a| keep(a, "HTTP/1.1 200 OK\r\nnonsense\r\nContent-Length: 0\r\n\r\n")),
        of("empty lines without end", |a| again(a, b"\r\n", AT_ONCE)),
        of("zeros", |a| again(a, &[0; 512], AT_ONCE)),
    ]
}

fn framings() -> Vec<Behaviour> {
    vec![
        of("two lengths", |a| keep(a, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\nhello")),
        of("a length below nothing", |a| keep(a, "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n")),
        of("a list of lengths", |a| keep(a, "HTTP/1.1 200 OK\r\nContent-Length: 0, 0\r\n\r\n")),
        of("a length beyond numbers", |a| keep(a, "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n")),
        of("the longest length", |a| {
            a.take_body()?;
            a.say(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n<ListBucketResult/>", u64::MAX))?;
            hang(a)
        }),
        of("a length and chunks", |a| {
            keep(a, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
        }),
        of("a coding that nobody asked for", |a| keep(a, "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nxx")),
        of("a reply and a half", |a| {
            let twice = [reply("403 Forbidden", "", &error("AccessDenied")), b"HTTP/1.1 2".to_vec()].concat();
            keep(a, twice)
        }),
    ]
}

fn chunks() -> Vec<Behaviour> {
    vec![
        of("chunks that are none", |a| chunked(a, b"none\r\n")),
        of("a chunk beyond numbers", |a| chunked(a, b"11111111111111111\r\n")),
        of("chunks that end with the connection", |a| chunked(a, b"5\r\n<List\r\n").map(|_| Then::Close)),
        of("chunks that stop", |a| chunked(a, b"5\r\n<List\r\n").and_then(|_| hang(a))),
        of("an extension without end", |a| chunked(a, b"5;").and_then(|_| again(a, &[b'x'; 512], AT_ONCE))),
        of("an extension without end, slowly", |a| chunked(a, b"5;").and_then(|_| again(a, b"x", SLOWLY))),
        of("trailers without end", |a| chunked(a, b"0\r\n").and_then(|_| again(a, b"X: y\r\n", AT_ONCE))),
        of("trailers without end, slowly", |a| chunked(a, b"0\r\n").and_then(|_| again(a, b"X: y\r\n", SLOWLY))),
        of("digits without end", |a| chunked(a, b"").and_then(|_| again(a, b"00000000", AT_ONCE))),
        of("chunks without end", |a| {
            let chunk = [&b"1000\r\n"[..], &[b'y'; 4096], b"\r\n"].concat();
            chunked(a, b"").and_then(|_| again(a, &chunk, AT_ONCE))
        }),
    ]
}

fn refusals() -> Vec<Behaviour> {
    let gone = |name, answer| Behaviour { right_for: &[Call::Abort], ..of(name, answer) };
    vec![
        of("300", |a| status(a, "300 Multiple Choices", "", b"")),
        of("301 elsewhere", |a| status(a, "301 Moved Permanently", "Location: http://203.0.113.1/\r\n", b"")),
        of("302 to itself", |a| status(a, "302 Found", "Location: /\r\n", b"")),
        of("304", |a| keep(a, "HTTP/1.1 304 Not Modified\r\n\r\n")),
        of("307 elsewhere", |a| status(a, "307 Temporary Redirect", "Location: http://203.0.113.1/b/k\r\n", b"")),
        of("400 with HTML", |a| status(a, "400 Bad Request", "", HTML)),
        of("401", |a| status(a, "401 Unauthorized", "WWW-Authenticate: Basic\r\n", b"")),
        of("403 InvalidAccessKeyId", |a| status(a, "403 Forbidden", "", &error("InvalidAccessKeyId"))),
        of("403 with HTML", |a| status(a, "403 Forbidden", "", HTML)),
        gone("404 with HTML", |a| status(a, "404 Not Found", "", HTML)),
        gone("404 NoSuchKey", |a| status(a, "404 Not Found", "", &error("NoSuchKey"))),
        of("405", |a| status(a, "405 Method Not Allowed", "", b"")),
        of("407", |a| status(a, "407 Proxy Authentication Required", "", b"")),
        of("408", |a| status(a, "408 Request Timeout", "", b"")),
        of("409", |a| status(a, "409 Conflict", "", &error("OperationAborted"))),
        of("411", |a| status(a, "411 Length Required", "", b"")),
        of("413", |a| status(a, "413 Content Too Large", "", b"")),
        of("416", |a| status(a, "416 Range Not Satisfiable", "Content-Range: bytes */1\r\n", b"")),
        of("429", |a| status(a, "429 Too Many Requests", "Retry-After: 99999999999\r\n", b"")),
        of("500", |a| status(a, "500 Internal Server Error", "", &error("InternalError"))),
        of("501", |a| status(a, "501 Not Implemented", "", &error("NotImplemented"))),
        of("502 of a proxy", |a| status(a, "502 Bad Gateway", "", HTML)),
        of("503 SlowDown", |a| status(a, "503 Slow Down", "Retry-After: 1\r\n", &error("SlowDown"))),
        of("511 of a portal", |a| status(a, "511 Network Authentication Required", "", HTML)),
        of("599", |a| status(a, "599 Nothing", "", b"")),
    ]
}

/// Entries of a listing.
fn entries(prefix: &str, count: u64) -> String {
    (0..count).map(|i| format!("<Contents><Key>{prefix}{i:04}</Key><Size>1</Size></Contents>")).collect()
}

fn lies() -> Vec<Behaviour> {
    let done = |name, answer| Behaviour { right_for: DONE, ..of(name, answer) };
    let page = |name, answer| Behaviour { right_for: &[Call::Exists, Call::List], ..of(name, answer) };
    vec![
        of("200 with HTML", |a| ok(a, HTML)),
        of("200 with HTML that is XML", |a| ok(a, b"<?xml version=\"1.0\"?><html xmlns=\"u\"><body/></html>")),
        of("200 with a document type, in chunks", |a| chunked(a, b"1d\r\n<!DOCTYPE html><html></html>\n\r\n0\r\n\r\n")),
        of("200 with an error", |a| ok(a, &error("InternalError"))),
        of("200 with an error in a namespace", |a| {
            ok(a, b"<Error xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Code>InternalError</Code></Error>")
        }),
        of("200 with an error in a prefixed namespace", |a| {
            ok(a, b"<s3:Error xmlns:s3=\"u\"><s3:Code>AccessDenied</s3:Code></s3:Error>")
        }),
        of("200 with an error behind blanks and a comment", |a| {
            ok(a, b"\n  <?xml version=\"1.0\"?>\r\n<!-- late -->\n <Error><Code>SlowDown</Code></Error>")
        }),
        of("200 with an error that is cut off", |a| ok(a, b"<Error><Code>Interna")),
        of("200 with an error until the close", |a| {
            a.take_body()?;
            a.say("HTTP/1.1 200 OK\r\n\r\n<Error><Code>InternalError</Code></Error>")?;
            Ok(Then::Close)
        }),
        done("200 with nothing", |a| ok(a, b"")),
        done("200 with blanks", |a| ok(a, b" \r\n\t")),
        of("200 with a word", |a| ok(a, b"OK")),
        of("200 with a word, in chunks", |a| chunked(a, b"2\r\n\r\n\r\n2\r\nOK\r\n0\r\n\r\n")),
        of("200 with a word behind many blanks", |a| ok(a, &[&[b' '; 5000][..], b"OK"].concat())),
        of("200 with JSON", |a| ok(a, b"{\"error\": \"AccessDenied\"}")),
        of("200 with HTML without a root", |a| ok(a, b"Sign in <a href=\"/\">here</a>")),
        of("200 with bytes of no alphabet", |a| ok(a, b"\xff\xfe\x00\xd8")),
        of("201 with JSON", |a| status(a, "201 Created", "", b"{\"Code\": 500}")),
        Behaviour {
            right_for: &[Call::Create, Call::Abort, Call::LoadDelete],
            ..of("204", |a| keep(a, "HTTP/1.1 204 No Content\r\n\r\n"))
        },
        Behaviour {
            right_for: &[Call::Create, Call::Abort],
            ..of("206 with nothing", |a| status(a, "206 Partial Content", "", b""))
        },
        of("200 with another document", |a| ok(a, b"<ListAllMyBucketsResult/>")),
        page("200 with an empty listing", |a| ok(a, b"<ListBucketResult><KeyCount>0</KeyCount></ListBucketResult>")),
        of("200 with a listing of another bucket", |a| {
            ok(a, format!("<ListBucketResult><Name>other</Name>{}</ListBucketResult>", entries("run/", 8)).as_bytes())
        }),
        of("200 with a listing of another prefix", |a| {
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
        of("200 with a listing that is cut off", |a| ok(a, b"<ListBucketResult><Contents>")),
        of("200 with a listing that goes on nowhere", |a| {
            ok(a, b"<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>")
        }),
        of("200 with a listing and an entity", |a| {
            ok(a, b"<ListBucketResult><Contents><Key>&bomb;</Key></Contents></ListBucketResult>")
        }),
        of("200 with an entity of a document type", |a| {
            ok(a, b"<!DOCTYPE x [<!ENTITY a \"b\">]><ListBucketResult><Name>&a;</Name></ListBucketResult>")
        }),
        of("200 with a listing of great depth", |a| {
            ok(a, format!("<ListBucketResult>{}", "<a>".repeat(10_000)).as_bytes())
        }),
        of("200 with two listings", |a| ok(a, b"<ListBucketResult/><ListBucketResult/>")),
    ]
}
