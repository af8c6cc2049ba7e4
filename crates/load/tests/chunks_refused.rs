//! A server that checks signatures and checksums of chunks takes what linerate makes, and refuses it once changed.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use linerate_load::bucket::Bucket;
use linerate_load::local_target::embedded;
use linerate_load::session::Session;
use linerate_load::sigv4::{Canonical, Credentials, Secret, Signer, content_sha256};
use linerate_record::load::Payload;
use sha2::{Digest, Sha256};

use crate::driving;

fn credentials() -> Credentials {
    Credentials {
        access_key: "AK".into(),
        secret_key: Secret::new("secret".into()),
        session_token: None,
        from: Arc::default(),
    }
}

/// The embedded target on a thread of this process; it ends with the process.
fn serve(root: &std::path::Path) -> SocketAddr {
    let (tell, reported) = std::sync::mpsc::channel();
    let root = root.to_owned();
    std::thread::spawn(move || {
        let address = ([127, 0, 0, 1], 0).into();
        embedded::serve(&root, address, &credentials(), None, |address| tell.send(address).expect("the test waits"))
    });
    reported.recv().expect("it listens")
}

fn session(address: SocketAddr) -> Session {
    let plain = driving::session(address, Duration::from_secs(10), &driving::bodies());
    Session { credentials: Some(credentials()), payload: Payload::StreamingTrailer, ..plain }
}

/// One PUT with a signed trailer, made by hand; `change` may alter what follows the head. Returns the status.
fn put(address: SocketAddr, change: impl FnOnce(&mut Vec<u8>)) -> u16 {
    let mut signer = Signer::s3(credentials(), "us-east-1");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("as the test sets it up");
    signer.set_time(now.as_secs());
    let (host, date) = (address.to_string(), signer.amz_date().to_owned());
    let payload_hash: &[u8] = content_sha256(Payload::StreamingTrailer).expect("as the test sets it up");
    let headers: [(&str, &[u8]); 5] = [
        ("host", host.as_bytes()),
        ("x-amz-content-sha256", payload_hash),
        ("x-amz-date", date.as_bytes()),
        ("x-amz-decoded-content-length", b"5"),
        ("x-amz-trailer", b"x-amz-checksum-crc32c"),
    ];
    let canonical = Canonical { method: "PUT", path: b"/bucket/x", query: b"", headers: &headers, payload_hash };
    let mut authorization = Vec::new();
    let seed = signer.authorize(&canonical, &mut Vec::new(), &mut authorization);
    let mut chunks = signer.chunks(seed);
    let text = |signature: [u8; 64]| String::from_utf8(signature.to_vec()).expect("as the test sets it up");
    let data = text(chunks.chunk(&Sha256::digest(b"hello").into()));
    let last = text(chunks.chunk(&Sha256::digest(b"").into()));
    // CRC-32C of "hello": 0x9A71BB4C.
    let trailer = text(chunks.trailer(b"x-amz-checksum-crc32c:mnG7TA==\n"));
    let mut body = format!(
        "5;chunk-signature={data}\r\nhello\r\n0;chunk-signature={last}\r\nx-amz-checksum-crc32c:mnG7TA==\r\n\
         x-amz-trailer-signature:{trailer}\r\n\r\n"
    )
    .into_bytes();
    change(&mut body);
    let mut request = b"PUT /bucket/x HTTP/1.1\r\n".to_vec();
    for (name, value) in headers {
        request.extend_from_slice(format!("{name}: {}\r\n", String::from_utf8_lossy(value)).as_bytes());
    }
    request.extend_from_slice(b"Content-Encoding: aws-chunked\r\nConnection: close\r\nAuthorization: ");
    request.extend_from_slice(&authorization);
    request.extend_from_slice(format!("\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes());
    request.extend_from_slice(&body);
    let mut stream = TcpStream::connect(address).expect("as the test sets it up");
    stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).expect("as the test sets it up");
    stream.write_all(&request).expect("as the test sets it up");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("as the test sets it up");
    String::from_utf8_lossy(&answer)
        .split(' ')
        .nth(1)
        .expect("as the test sets it up")
        .parse()
        .expect("as the test sets it up")
}

/// Replaces the byte behind the first place where `marker` ends.
fn flip(body: &mut [u8], marker: &str) {
    let at = body.windows(marker.len()).position(|w| w == marker.as_bytes()).expect("it is there") + marker.len();
    body[at] = if body[at] == b'0' { b'1' } else { b'0' };
}

#[test]
fn any_change_of_data_signatures_or_trailer_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let address = serve(root.path());
    assert!(Bucket::connect(&session(address), 0).unwrap().create().unwrap());
    assert_eq!(put(address, |_| {}), 200, "unchanged");
    for marker in ["5;chunk-signature=", "hell", "0;chunk-signature=", "crc32c:", "x-amz-trailer-signature:"] {
        let status = put(address, |body| flip(body, marker));
        assert!(status >= 400, "changed behind {marker:?}: HTTP {status}");
    }
    assert_eq!(std::fs::read(root.path().join("bucket/x")).unwrap(), b"hello");
}
