//! AWS Signature Version 4, for requests at hundreds of thousands per second.
//!
//! The signing key changes once a day and the date string once a second; both are kept, the key as an HMAC whose two
//! padded blocks are already compressed. What remains per request is one SHA-256 over the canonical request and one
//! keyed HMAC over 150 bytes: about a microsecond, and no allocation once the scratch buffer has grown.
//!
//! Source: "Authenticating Requests (AWS Signature Version 4)" of the Amazon S3 API reference, whose examples are
//! tests below.

use std::fmt;
use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use linerate_record::load::Payload;
use sha2::{Digest, Sha256};

/// SHA-256 of nothing, in hex: the payload hash of a request without a body.
pub const EMPTY_SHA256_HEX: &[u8; 64] = b"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// The payload hash of a request whose body is not signed.
pub const UNSIGNED_PAYLOAD: &[u8] = b"UNSIGNED-PAYLOAD";

/// What `x-amz-content-sha256` says of a body that is sent so, where it is not the body's own hash.
#[must_use]
pub const fn content_sha256(payload: Payload) -> Option<&'static [u8]> {
    match payload {
        Payload::Signed => None,
        Payload::Unsigned => Some(UNSIGNED_PAYLOAD),
        Payload::Streaming => Some(b"STREAMING-AWS4-HMAC-SHA256-PAYLOAD"),
        Payload::StreamingTrailer => Some(b"STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"),
        Payload::UnsignedTrailer => Some(b"STREAMING-UNSIGNED-PAYLOAD-TRAILER"),
    }
}

/// Length of `x-amz-date`: `20130524T000000Z`.
const AMZ_DATE_BYTES: usize = 16;

/// A value that never shows itself in logs, debug output or panics.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    #[must_use]
    pub const fn new(value: String) -> Self {
        Secret(value)
    }

    /// The value itself: for signatures, and for the environment of a child process.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// Access key id: public by design, and still kept out of run folders.
    pub access_key: String,
    pub secret_key: Secret,
    /// Session token of temporary credentials.
    pub session_token: Option<Secret>,
    /// Where they were found, for advice.
    pub from: Arc<KeyNames>,
}

/// Where each of some keys was found, as whoever gave it knows it: a flag, a variable, or a place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyNames {
    /// Of the access key.
    pub access_key: String,
    /// Of the secret key.
    pub secret_key: String,
    /// Of the session token.
    pub session_token: String,
}

impl Default for KeyNames {
    fn default() -> Self {
        let [access_key, secret_key, session_token] =
            ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"].map(str::to_owned);
        KeyNames { access_key, secret_key, session_token }
    }
}

/// Bytes in a row that are told of no key.
const RUN_BYTES: usize = 8;

impl Credentials {
    /// What may be told of words that a server chose: nothing of them where they repeat a part of a key.
    #[must_use]
    pub fn redacted(&self, words: String) -> String {
        let token = self.session_token.as_ref().map(Secret::reveal);
        let keys = [Some(self.access_key.as_str()), Some(self.secret_key.reveal()), token];
        let holds = |run: &[u8]| words.as_bytes().windows(RUN_BYTES).any(|window| window == run);
        let repeats = keys.into_iter().flatten().any(|key| key.as_bytes().windows(RUN_BYTES).any(holds));
        if repeats { "reply that repeats a key".to_owned() } else { words }
    }
}

/// A request as SigV4 sees it.
#[derive(Clone, Copy, Debug)]
pub struct Canonical<'a> {
    /// `GET`, `PUT`, …
    pub method: &'a str,
    /// Path, URI-encoded once.
    pub path: &'a [u8],
    /// Query string, encoded and sorted by name; empty where there is none.
    pub query: &'a [u8],
    /// Headers to sign: lower-case names in rising order, values trimmed.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// Hex SHA-256 of the body, or [`UNSIGNED_PAYLOAD`].
    pub payload_hash: &'a [u8],
}

/// Signs requests for one set of credentials, region and service.
pub struct Signer {
    credentials: Credentials,
    region: String,
    service: &'static str,
    unix_s: u64,
    amz_date: String,
    scope: Arc<str>,
    day_key: Hmac<Sha256>,
}

/// What signs the chunks of one request's body, each signature over the one before: the request's own date, scope and
/// key, which the signer may have left behind by the time that a later chunk is sent.
#[derive(Clone)]
pub struct ChunkSigner {
    amz_date: [u8; AMZ_DATE_BYTES],
    scope: Arc<str>,
    day_key: Hmac<Sha256>,
    last: [u8; 64],
}

impl ChunkSigner {
    /// The signature of the next chunk, by the chunk's SHA-256.
    pub fn chunk(&mut self, sha256: &[u8; 32]) -> [u8; 64] {
        self.sign(b"AWS4-HMAC-SHA256-PAYLOAD\n", &[EMPTY_SHA256_HEX, b"\n", &hex(sha256)])
    }

    /// The signature of the trailing headers, each `name:value` with a line feed at its end.
    pub fn trailer(&mut self, headers: &[u8]) -> [u8; 64] {
        self.sign(b"AWS4-HMAC-SHA256-TRAILER\n", &[&hex(&Sha256::digest(headers).into())])
    }

    fn sign(&mut self, algorithm: &[u8], what: &[&[u8]]) -> [u8; 64] {
        let mut mac = self.day_key.clone();
        for part in [algorithm, &self.amz_date, b"\n", self.scope.as_bytes(), b"\n", &self.last, b"\n"] {
            mac.update(part);
        }
        what.iter().for_each(|part| mac.update(part));
        self.last = hex(&mac.finalize().into_bytes().into());
        self.last
    }
}

impl Signer {
    /// A signer for S3.
    #[must_use]
    pub fn s3(credentials: Credentials, region: &str) -> Self {
        Self::for_service(credentials, region, "s3")
    }

    fn for_service(credentials: Credentials, region: &str, service: &'static str) -> Self {
        let mut signer = Signer {
            credentials,
            region: region.to_owned(),
            service,
            unix_s: u64::MAX,
            amz_date: String::new(),
            scope: "".into(),
            day_key: keyed(b"unset"),
        };
        signer.set_time(0);
        signer
    }

    /// Moves to a second; derives the key anew when the day changes.
    pub fn set_time(&mut self, unix_s: u64) {
        if unix_s == self.unix_s {
            return;
        }
        self.unix_s = unix_s;
        // A clock beyond the year 9999 cannot be written in this format; the epoch then makes every reply a clear 403.
        let at = i64::try_from(unix_s).ok().and_then(|s| jiff::Timestamp::from_second(s).ok()).unwrap_or_default();
        let amz_date = at.strftime("%Y%m%dT%H%M%SZ").to_string();
        let new_day = self.amz_date.get(..8) != amz_date.get(..8);
        self.amz_date = amz_date;
        if new_day {
            let day = &self.amz_date[..8];
            self.scope = format!("{day}/{}/{}/aws4_request", self.region, self.service).into();
            let mut key =
                hmac(&keyed(format!("AWS4{}", self.credentials.secret_key.reveal()).as_bytes()), day.as_bytes());
            for part in [self.region.as_str(), self.service, "aws4_request"] {
                key = hmac(&keyed(&key), part.as_bytes());
            }
            self.day_key = keyed(&key);
        }
    }

    /// The value of `x-amz-date` at the signer's time.
    #[must_use]
    pub fn amz_date(&self) -> &str {
        &self.amz_date
    }

    /// The session token, where the credentials have one.
    #[must_use]
    pub fn session_token(&self) -> Option<&Secret> {
        self.credentials.session_token.as_ref()
    }

    /// What signs the chunks of a request that this signer has just signed; `seed` is the request's signature.
    #[must_use]
    pub fn chunks(&self, seed: [u8; 64]) -> ChunkSigner {
        let mut amz_date = [0; AMZ_DATE_BYTES];
        amz_date.copy_from_slice(self.amz_date.as_bytes());
        ChunkSigner { amz_date, scope: Arc::clone(&self.scope), day_key: self.day_key.clone(), last: seed }
    }

    /// Appends the value of the `Authorization` header for a request to `out`, and returns the signature in it;
    /// `scratch` is overwritten.
    pub fn authorize(&self, request: &Canonical<'_>, scratch: &mut Vec<u8>, out: &mut Vec<u8>) -> [u8; 64] {
        let signature = self.signature(request, scratch);
        out.extend_from_slice(b"AWS4-HMAC-SHA256 Credential=");
        out.extend_from_slice(self.credentials.access_key.as_bytes());
        out.push(b'/');
        out.extend_from_slice(self.scope.as_bytes());
        out.extend_from_slice(b", SignedHeaders=");
        push_names(request.headers, out);
        out.extend_from_slice(b", Signature=");
        out.extend_from_slice(&signature);
        signature
    }

    fn signature(&self, request: &Canonical<'_>, text: &mut Vec<u8>) -> [u8; 64] {
        text.clear();
        for part in [request.method.as_bytes(), b"\n", request.path, b"\n", request.query, b"\n"] {
            text.extend_from_slice(part);
        }
        for (name, value) in request.headers {
            for part in [name.as_bytes(), b":", value, b"\n"] {
                text.extend_from_slice(part);
            }
        }
        text.push(b'\n');
        push_names(request.headers, text);
        text.push(b'\n');
        text.extend_from_slice(request.payload_hash);
        let canonical_hash = hex(&Sha256::digest(&*text).into());

        text.clear();
        for part in [b"AWS4-HMAC-SHA256\n", self.amz_date.as_bytes(), b"\n", self.scope.as_bytes(), b"\n"] {
            text.extend_from_slice(part);
        }
        text.extend_from_slice(&canonical_hash);
        hex(&hmac(&self.day_key, text))
    }
}

fn push_names(headers: &[(&str, &[u8])], out: &mut Vec<u8>) {
    for (i, (name, _)) in headers.iter().enumerate() {
        if i > 0 {
            out.push(b';');
        }
        out.extend_from_slice(name.as_bytes());
    }
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    #[expect(clippy::expect_used, reason = "HMAC takes keys of every length")]
    Hmac::new_from_slice(key).expect("HMAC takes keys of every length")
}

fn hmac(key: &Hmac<Sha256>, message: &[u8]) -> [u8; 32] {
    let mut mac = key.clone();
    mac.update(message);
    mac.finalize().into_bytes().into()
}

/// Lower-case hex of a SHA-256.
#[must_use]
pub fn hex(bytes: &[u8; 32]) -> [u8; 64] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = [0; 64];
    for (pair, byte) in out.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    out
}

/// URI-encodes a path as SigV4 wants it for S3: once, `/` kept, and only unreserved characters plain.
pub fn push_encoded_path(text: &str, out: &mut Vec<u8>) {
    push_encoded(text, true, out);
}

/// URI-encodes a query value: `/` is encoded too.
pub fn push_encoded_query(text: &str, out: &mut Vec<u8>) {
    push_encoded(text, false, out);
}

fn push_encoded(text: &str, keep_slash: bool, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in text.as_bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || (keep_slash && byte == b'/') {
            out.push(byte);
        } else {
            out.extend_from_slice(&[b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use aws_sigv4::http_request::{
        PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings,
        UriPathNormalizationMode, sign,
    };
    use proptest::prelude::*;

    use super::*;

    fn credentials(access: &str, secret: &str, token: Option<&str>) -> Credentials {
        Credentials {
            access_key: access.into(),
            secret_key: Secret::new(secret.into()),
            session_token: token.map(|t| Secret::new(t.into())),
            from: Arc::default(),
        }
    }

    /// The four examples of the S3 API reference, 24 May 2013, 00:00:00 UTC.
    #[test]
    fn words_that_repeat_a_part_of_a_key_are_not_told() {
        let (secret_key, token) = (Secret::new("0123456789abcdef".into()), Secret::new("FwoGTOKENtoken".into()));
        let keys = Credentials {
            access_key: "AKIAEXAMPLE".into(),
            secret_key,
            session_token: Some(token),
            from: Arc::default(),
        };
        for words in ["x AKIAEXAM…", "23456789", "reply is not S3's: \"FwoGTOKEN"] {
            assert_eq!(keys.redacted(words.to_owned()), "reply that repeats a key");
        }
        for words in ["", "http 503 SlowDown", "0123456 AKIAEXA"] {
            assert_eq!(keys.redacted(words.to_owned()), words);
        }
        let short = Credentials {
            access_key: "ab".into(),
            secret_key: Secret::new("c".into()),
            session_token: None,
            from: Arc::default(),
        };
        assert_eq!(short.redacted("abc".into()), "abc");
    }

    #[test]
    fn the_examples_of_the_s3_reference_hold() {
        const HOST: (&str, &[u8]) = ("host", b"examplebucket.s3.amazonaws.com");
        const DATE: (&str, &[u8]) = ("x-amz-date", b"20130524T000000Z");
        const EMPTY: (&str, &[u8]) = ("x-amz-content-sha256", EMPTY_SHA256_HEX);
        const PUT_HASH: &[u8] = b"44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072";
        type Case<'a> = (&'a str, &'a [u8], &'a [u8], &'a [(&'a str, &'a [u8])], &'a [u8], &'a str);
        let cases: [Case<'_>; 4] = [
            (
                "GET",
                b"/test.txt",
                b"",
                &[HOST, ("range", b"bytes=0-9"), EMPTY, DATE],
                EMPTY_SHA256_HEX,
                "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
            ),
            (
                "PUT",
                b"/test%24file.text",
                b"",
                &[
                    ("date", b"Fri, 24 May 2013 00:00:00 GMT"),
                    HOST,
                    ("x-amz-content-sha256", PUT_HASH),
                    DATE,
                    ("x-amz-storage-class", b"REDUCED_REDUNDANCY"),
                ],
                PUT_HASH,
                "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
            ),
            (
                "GET",
                b"/",
                b"lifecycle=",
                &[HOST, EMPTY, DATE],
                EMPTY_SHA256_HEX,
                "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
            ),
            (
                "GET",
                b"/",
                b"max-keys=2&prefix=J",
                &[HOST, EMPTY, DATE],
                EMPTY_SHA256_HEX,
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
            ),
        ];
        for (method, path, query, headers, payload_hash, signature) in cases {
            let key = credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", None);
            let mut signer = Signer::s3(key, "us-east-1");
            signer.set_time(1_369_353_600);
            let mut out = Vec::new();
            signer.authorize(&Canonical { method, path, query, headers, payload_hash }, &mut Vec::new(), &mut out);
            let out = String::from_utf8(out).unwrap();
            assert!(out.ends_with(&format!(", Signature={signature}")), "{method} {}: {out}", path.escape_ascii());
            assert!(out.contains("Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "), "{out}");
        }
    }

    /// `get-vanilla` of the AWS Signature Version 4 test suite.
    #[test]
    fn the_vanilla_vector_of_the_test_suite_holds() {
        let key = credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", None);
        let mut signer = Signer::for_service(key, "us-east-1", "service");
        signer.set_time(1_440_938_160);
        let request = Canonical {
            method: "GET",
            path: b"/",
            query: b"",
            headers: &[("host", b"example.amazonaws.com"), ("x-amz-date", b"20150830T123600Z")],
            payload_hash: EMPTY_SHA256_HEX,
        };
        assert_eq!(
            &signer.signature(&request, &mut Vec::new()),
            b"5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
        );
    }

    #[test]
    fn a_new_day_derives_a_new_key_and_an_old_one_comes_back() {
        let request = Canonical {
            method: "GET",
            path: b"/",
            query: b"",
            headers: &[("host", b"h")],
            payload_hash: UNSIGNED_PAYLOAD,
        };
        let mut signer = Signer::s3(credentials("a", "b", None), "r");
        let mut at = |unix_s| {
            signer.set_time(unix_s);
            signer.signature(&request, &mut Vec::new())
        };
        let before_midnight = at(86_399);
        let after = at(86_400);
        assert_ne!(before_midnight, after);
        assert_eq!(at(86_399), before_midnight);
    }

    #[test]
    fn secrets_do_not_show_in_debug_output() {
        let shown = format!("{:?}", credentials("AK", "hunter2", Some("token-of-mine")));
        assert!(!shown.contains("hunter2") && !shown.contains("token-of-mine"), "{shown}");
    }

    /// What `aws-sigv4` makes of a request, as the hex signature.
    fn reference(method: &str, uri: &str, key: &Credentials, region: &str, unix_s: u64, hash: &str) -> String {
        let identity = aws_credential_types::Credentials::new(
            key.access_key.clone(),
            key.secret_key.reveal(),
            key.session_token.as_ref().map(|t| t.reveal().to_owned()),
            None,
            "test",
        )
        .into();
        let mut settings = SigningSettings::default();
        settings.percent_encoding_mode = PercentEncodingMode::Single;
        settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        let params = aws_sigv4::sign::v4::SigningParams::builder()
            .identity(&identity)
            .region(region)
            .name("s3")
            .time(SystemTime::UNIX_EPOCH + Duration::from_secs(unix_s))
            .settings(settings)
            .build()
            .unwrap()
            .into();
        let body = SignableBody::Precomputed(hash.to_owned());
        let request = SignableRequest::new(method, uri, std::iter::empty(), body).unwrap();
        sign(request, &params).unwrap().signature().to_owned()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]
        #[test]
        fn agrees_with_aws_sigv4(
            method in prop::sample::select(vec!["GET", "PUT", "HEAD", "DELETE", "POST"]),
            key in "[ -~]{1,40}",
            prefix in "[ -~]{0,20}",
            secret in "[A-Za-z0-9/+]{20,40}",
            token in prop::option::of("[A-Za-z0-9/+=]{1,60}"),
            region in "[a-z]{2}-[a-z]{4,9}-[0-9]",
            unix_s in 0u64..4_000_000_000,
            hash in "[0-9a-f]{64}",
        ) {
            let credentials = credentials("AKID", &secret, token.as_deref());
            let (mut path, mut query) = (b"/bucket/".to_vec(), b"list-type=2&prefix=".to_vec());
            push_encoded_path(&key, &mut path);
            push_encoded_query(&prefix, &mut query);
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let uri = format!("http://host:9000{}?{}", text(&path), text(&query));
            let expected = reference(method, &uri, &credentials, &region, unix_s, &hash);

            let mut signer = Signer::s3(credentials, &region);
            signer.set_time(unix_s);
            let date = signer.amz_date().to_owned();
            let mut headers: Vec<(&str, &[u8])> = vec![
                ("host", b"host:9000"), ("x-amz-content-sha256", hash.as_bytes()), ("x-amz-date", date.as_bytes())];
            if let Some(token) = &token {
                headers.push(("x-amz-security-token", token.as_bytes()));
            }
            let payload_hash = hash.as_bytes();
            let request = Canonical { method, path: &path, query: &query, headers: &headers, payload_hash };
            let ours = signer.signature(&request, &mut Vec::new());
            prop_assert_eq!(std::str::from_utf8(&ours).unwrap(), expected);
        }
    }
}
