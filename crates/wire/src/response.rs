//! HTTP/1.1 responses: where a head ends, and how its body is framed.
//!
//! The tokens are `httparse`'s; what they mean for a body (RFC 9112, section 6.3) is decided here.

use std::mem::MaybeUninit;

use httparse::ParserConfig;

/// Longest response head taken: what servers send is a tenth of it.
pub const HEAD_BYTES_MAX: usize = 64 << 10;

/// Most headers of a response.
const HEADERS_MAX: usize = 96;

/// A response that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Not HTTP/1.x.
    #[error("the reply is not HTTP/1.x")]
    Syntax,
    /// More headers than are taken.
    #[error("the reply has more than {HEADERS_MAX} headers")]
    TooManyHeaders,
    /// A head without end.
    #[error("the reply's head exceeds {HEAD_BYTES_MAX} bytes")]
    TooLong,
    /// Two lengths, or one that is no number, or one beside a transfer coding.
    #[error("the reply's length is ambiguous")]
    Length,
    /// Bytes behind the reply, which no request asked for.
    #[error("bytes follow the reply")]
    Surplus,
    /// A chunk that is none.
    #[error("the reply's chunks are malformed")]
    Chunk,
}

/// How long a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFraming {
    /// So many bytes; 0 for no body at all.
    Length(u64),
    /// `Transfer-Encoding: chunked`.
    Chunked,
    /// Until the server closes.
    UntilClose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub status: u16,
    /// Bytes of the head, its blank line included.
    pub head_bytes: usize,
    /// How long its body is.
    pub framing: BodyFraming,
    /// Whether the connection may carry another request.
    pub keep_alive: bool,
    /// What `Content-Length` says, of a reply to HEAD too.
    pub content_length: Option<u64>,
    /// What `Content-Range` says.
    pub content_range: Option<ContentRange>,
}

/// Which part of an object a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentRange {
    /// Its first byte.
    pub first: u64,
    /// Its last byte.
    pub last: u64,
    /// The whole object's length, where it is told.
    pub whole: Option<u64>,
}

impl ContentRange {
    /// Reads `bytes FIRST-LAST/WHOLE`; `None` where it is none.
    fn read(value: &[u8]) -> Option<Self> {
        let value = std::str::from_utf8(value).ok()?.trim();
        let (range, whole) = value.strip_prefix("bytes ")?.split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let number = |text: &str| decimal(text.as_bytes());
        let whole = if whole == "*" { None } else { Some(number(whole)?) };
        Some(ContentRange { first: number(first)?, last: number(last)?, whole })
    }
}

/// Reads a response's head from `bytes`; `None` where it is not whole yet. `to_head` says that the request was `HEAD`,
/// whose response has a length and no body. Interim responses (1xx) come back as heads of their own.
///
/// # Errors
/// [`Malformed`] where no continuation could make it a response.
pub fn head(bytes: &[u8], to_head: bool) -> Result<Option<Head>, Malformed> {
    // Not cleared beforehand: clearing three kilobytes per response would show.
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut []);
    let parsed = ParserConfig::default().parse_response_with_uninit_headers(&mut response, bytes, &mut headers);
    let head_bytes = match parsed {
        Ok(httparse::Status::Complete(n)) => n,
        Ok(httparse::Status::Partial) if bytes.len() >= HEAD_BYTES_MAX => return Err(Malformed::TooLong),
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Malformed::TooManyHeaders),
        Err(_) => return Err(Malformed::Syntax),
    };
    let (Some(status), Some(version)) = (response.code, response.version) else { return Err(Malformed::Syntax) };
    let (mut length, mut chunked, mut keep_alive) = (None, false, version == 1);
    let mut content_range = None;
    for header in response.headers.iter() {
        let name = header.name;
        if name.eq_ignore_ascii_case("content-length") {
            let value = decimal(header.value).ok_or(Malformed::Length)?;
            if length.replace(value).is_some_and(|before| before != value) {
                return Err(Malformed::Length);
            }
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            chunked = header.value.trim_ascii().eq_ignore_ascii_case(b"chunked");
            if !chunked {
                return Err(Malformed::Length);
            }
        } else if name.eq_ignore_ascii_case("content-range") {
            content_range = ContentRange::read(header.value);
        } else if name.eq_ignore_ascii_case("connection") {
            let says =
                |word: &[u8]| header.value.split(|&b| b == b',').any(|t| t.trim_ascii().eq_ignore_ascii_case(word));
            keep_alive = !says(b"close") && (keep_alive || says(b"keep-alive"));
        }
    }
    let framing = if to_head || status < 200 || status == 204 || status == 304 {
        BodyFraming::Length(0)
    } else {
        match (length, chunked) {
            (Some(_), true) => return Err(Malformed::Length),
            (None, true) => BodyFraming::Chunked,
            (Some(n), false) => BodyFraming::Length(n),
            (None, false) => BodyFraming::UntilClose,
        }
    };
    let keep_alive = keep_alive && framing != BodyFraming::UntilClose;
    Ok(Some(Head { status, head_bytes, framing, keep_alive, content_length: length, content_range }))
}

/// A header's value, by name, of a head that [`head`] has taken: for the cold paths that want one.
#[must_use]
pub fn header<'a>(bytes: &'a [u8], name: &str) -> Option<&'a str> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    response.parse(bytes).ok()?;
    let found = response.headers.iter().find(|h| h.name.eq_ignore_ascii_case(name))?;
    std::str::from_utf8(found.value).ok()
}

/// Digits only: a sign, a blank inside or a list is no length.
fn decimal(value: &[u8]) -> Option<u64> {
    let value = value.trim_ascii();
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// Takes the chunked coding apart as bytes arrive, at whatever places they are cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chunks {
    state: ChunkState,
    /// Bytes of sizes, extensions and trailers since the last data.
    framing_bytes: u32,
}

/// Most bytes of a chunked body that hold no data: an extension or a trailer may be without end.
const FRAMING_BYTES_MAX: u32 = HEAD_BYTES_MAX as u32;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ChunkState {
    /// Nothing of the size line yet.
    #[default]
    SizeStart,
    /// In the digits of the size line.
    Size(u64),
    /// In an extension, up to the line's end.
    Extension(u64),
    /// After the carriage return of the size line.
    SizeEnd(u64),
    /// So many bytes of data left.
    Data(u64),
    /// After the data: carriage return, then line feed.
    DataEnd,
    DataEndLine,
    /// At the start of a trailer line, the last of which is empty.
    TrailerStart,
    /// In a trailer line.
    Trailer,
    /// After the carriage return of the empty line.
    LastLine,
    Done,
}

impl Chunks {
    /// Takes `bytes`, hands data to `sink`, and returns how many bytes belonged to this body.
    ///
    /// # Errors
    /// [`Malformed::Chunk`].
    pub fn take(&mut self, bytes: &[u8], mut sink: impl FnMut(&[u8])) -> Result<usize, Malformed> {
        let mut at = 0;
        while at < bytes.len() && self.state != ChunkState::Done {
            if let ChunkState::Data(left) = self.state {
                let n = left.min((bytes.len() - at) as u64);
                sink(&bytes[at..at + n as usize]);
                at += n as usize;
                self.framing_bytes = 0;
                self.state = if n == left { ChunkState::DataEnd } else { ChunkState::Data(left - n) };
            } else {
                self.state = next(self.state, bytes[at])?;
                self.framing_bytes += 1;
                at += 1;
                if self.framing_bytes > FRAMING_BYTES_MAX {
                    return Err(Malformed::Chunk);
                }
            }
        }
        Ok(at)
    }

    /// Whether the body is whole.
    #[must_use]
    pub fn done(&self) -> bool {
        self.state == ChunkState::Done
    }
}

fn next(state: ChunkState, byte: u8) -> Result<ChunkState, Malformed> {
    use ChunkState as S;
    let digit = |before: u64| -> Option<u64> {
        let value = u64::from((byte as char).to_digit(16)?);
        before.checked_mul(16)?.checked_add(value)
    };
    Ok(match (state, byte) {
        (S::SizeStart, _) => S::Size(digit(0).ok_or(Malformed::Chunk)?),
        (S::Size(n) | S::Extension(n), b'\r') => S::SizeEnd(n),
        (S::Size(n), b';' | b' ' | b'\t') => S::Extension(n),
        (S::Size(n), _) => S::Size(digit(n).ok_or(Malformed::Chunk)?),
        (S::Extension(n), _) if byte != b'\n' => S::Extension(n),
        (S::SizeEnd(0), b'\n') => S::TrailerStart,
        (S::SizeEnd(n), b'\n') => S::Data(n),
        (S::DataEnd, b'\r') => S::DataEndLine,
        (S::DataEndLine, b'\n') => S::SizeStart,
        (S::TrailerStart, b'\r') => S::LastLine,
        (S::Trailer, b'\n') => S::TrailerStart,
        (S::TrailerStart | S::Trailer, _) => S::Trailer,
        (S::LastLine, b'\n') => S::Done,
        _ => return Err(Malformed::Chunk),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Result<Option<Head>, Malformed> {
        head(text.as_bytes(), false)
    }

    #[test]
    fn framing_follows_the_rfc() {
        for (text, framing, keep_alive) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", BodyFraming::Length(5), true),
            ("HTTP/1.1 200 OK\r\ncontent-length:5\r\nContent-Length: 5\r\n\r\n", BodyFraming::Length(5), true),
            ("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", BodyFraming::Length(0), true),
            ("HTTP/1.1 100 Continue\r\n\r\n", BodyFraming::Length(0), true),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n", BodyFraming::Chunked, true),
            ("HTTP/1.1 200 OK\r\n\r\n", BodyFraming::UntilClose, false),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: x, Close\r\n\r\n", BodyFraming::Length(5), false),
            ("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n", BodyFraming::Length(5), false),
            ("HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\n", BodyFraming::Length(5), true),
        ] {
            let head = parsed(text).unwrap().unwrap();
            assert_eq!((head.framing, head.keep_alive, head.head_bytes), (framing, keep_alive, text.len()), "{text}");
        }
        let to_head = head(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true).unwrap().unwrap();
        assert_eq!((to_head.framing, to_head.content_length), (BodyFraming::Length(0), Some(5)));
    }

    #[test]
    fn what_could_hide_a_second_response_is_refused() {
        for text in [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        ] {
            assert_eq!(parsed(text), Err(Malformed::Length), "{text}");
        }
        assert_eq!(parsed("SSH-2.0-OpenSSH_9.2\r\n"), Err(Malformed::Syntax));
        assert_eq!(parsed("HTTP/2 200\r\n\r\n"), Err(Malformed::Syntax));
        let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "a".repeat(HEAD_BYTES_MAX));
        assert_eq!(parsed(&endless), Err(Malformed::TooLong));
    }

    #[test]
    fn more_headers_than_are_taken_are_told_as_such() {
        let with = |headers: usize| format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(headers));
        assert!(parsed(&with(HEADERS_MAX)).unwrap().is_some());
        let error = parsed(&with(HEADERS_MAX + 1)).unwrap_err();
        assert_eq!(error.to_string(), "the reply has more than 96 headers");
    }

    #[test]
    fn ranges_are_read_as_they_are_told() {
        let range = |first, last, whole| Some(ContentRange { first, last, whole });
        for (value, expected) in [
            ("bytes 0-9/100", range(0, 9, Some(100))),
            (" bytes 5-6/*", range(5, 6, None)),
            ("bytes */100", None),
            ("bytes 0-9", None),
            ("bytes 0-9/", None),
            ("bytes 0--9/9", None),
            ("items 0-9/100", None),
            ("", None),
        ] {
            let text = format!("HTTP/1.1 206 Partial Content\r\nContent-Range: {value}\r\n\r\n");
            assert_eq!(parsed(&text).unwrap().unwrap().content_range, expected, "{value}");
        }
    }

    #[test]
    fn a_head_cut_anywhere_is_not_yet_whole() {
        let text = "HTTP/1.1 200 OK\r\nServer: MinIO\r\nContent-Length: 5\r\n\r\n";
        for cut in 0..text.len() {
            assert_eq!(parsed(&text[..cut]), Ok(None), "{cut}");
        }
        assert_eq!(header(text.as_bytes(), "server"), Some("MinIO"));
        assert_eq!(header(text.as_bytes(), "etag"), None);
    }

    fn unchunk(pieces: &[&[u8]]) -> Result<(Vec<u8>, bool, usize), Malformed> {
        let (mut chunks, mut data, mut taken) = (Chunks::default(), Vec::new(), 0);
        for piece in pieces {
            taken += chunks.take(piece, |d| data.extend_from_slice(d))?;
        }
        Ok((data, chunks.done(), taken))
    }

    #[test]
    fn chunks_come_apart_wherever_they_are_cut() {
        let text = b"5\r\nhello\r\nA;x=y\r\n, world...\r\n0\r\nX-Trailer: 1\r\n\r\nHTTP/1.1";
        for cut in 0..text.len() {
            let (data, done, taken) = unchunk(&[&text[..cut], &text[cut..]]).unwrap();
            assert_eq!((data.as_slice(), done, taken), (&b"hello, world..."[..], true, text.len() - 8), "{cut}");
        }
    }

    #[test]
    fn chunks_that_are_none_are_refused() {
        for text in ["", "x\r\n", "5\r\nhelloX", "5\rX", "-1\r\n", "11111111111111111\r\n", "\r\n"] {
            let result = unchunk(&[text.as_bytes()]);
            let unfinished = matches!(result, Ok((_, false, _))) && text.is_empty();
            assert!(unfinished || result == Err(Malformed::Chunk), "{text:?}: {result:?}");
        }
    }

    #[test]
    fn framing_without_end_is_refused() {
        let long = "x".repeat(FRAMING_BYTES_MAX as usize);
        for begin in ["5;", "0\r\nX: ", "0000"] {
            let filler = if begin == "0000" { "0".repeat(long.len()) } else { long.clone() };
            let text = format!("{begin}{filler}");
            assert_eq!(unchunk(&[text.as_bytes()]), Err(Malformed::Chunk), "{begin}");
        }
        // Each chunk has room of its own.
        let many = format!("1;{}\r\ny\r\n", "x".repeat(1000)).repeat(100);
        assert_eq!(unchunk(&[many.as_bytes()]).unwrap().0.len(), 100);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), to_head in any::<bool>()) {
            let _ = head(&bytes, to_head);
            let _ = unchunk(&[&bytes]);
            let mut with_start = b"HTTP/1.1 200 OK\r\n".to_vec();
            with_start.extend(&bytes);
            if let Ok(Some(head)) = head(&with_start, to_head) {
                prop_assert!(head.head_bytes <= with_start.len());
            }
        }
    }
}
