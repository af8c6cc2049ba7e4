use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_sigv4::sign::v4::{SigningParams, sign_chunk, sign_trailer};
use proptest::prelude::*;

use linerate_record::load::Unique;

use super::*;
use crate::object_id::ObjectId;
use crate::sigv4::{Credentials, Secret, Signer, hex};

const SECRET_KEY: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
const UNIX_S: u64 = 1_369_353_600;

fn signer(seed: &str) -> ChunkSigner {
    let secret_key = Secret::new(SECRET_KEY.into());
    let key = Credentials {
        access_key: "AKIAIOSFODNN7EXAMPLE".into(),
        secret_key,
        session_token: None,
        from: Arc::default(),
    };
    let mut signer = Signer::s3(key, "us-east-1");
    signer.set_time(UNIX_S);
    signer.chunks(seed.as_bytes().try_into().unwrap())
}

/// The examples of the S3 API reference: 65 KiB of the letter a, on 24 May 2013, by the signatures of their requests.
#[test]
fn the_examples_of_the_s3_reference_hold() {
    let sha256 = |bytes: usize| <[u8; 32]>::from(Sha256::digest(vec![b'a'; bytes]));
    for (seed, chunks, trailer) in [
        (
            "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9",
            [
                "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
                "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
                "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
            ],
            None,
        ),
        (
            "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e",
            [
                "b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2",
                "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7",
                "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992",
            ],
            Some("d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435"),
        ),
    ] {
        let mut signer = signer(seed);
        for (bytes, signature) in [65_536, 1_024, 0].into_iter().zip(chunks) {
            assert_eq!(signer.chunk(&sha256(bytes)), signature.as_bytes(), "{seed}: {bytes}");
        }
        if let Some(trailer) = trailer {
            assert_eq!(signer.trailer(b"x-amz-checksum-crc32c:sOO8/Q==\n"), trailer.as_bytes());
        }
    }
    assert_eq!(STANDARD.encode(crc32c::crc32c(&vec![b'a'; 66_560]).to_be_bytes()), "sOO8/Q==");
}

/// What a body looks like on the wire, written down chunk by chunk and signed by `aws-sigv4`.
fn reference(payload: Payload, body: &[u8], seed: &str) -> Vec<u8> {
    let identity =
        aws_credential_types::Credentials::new("AKIAIOSFODNN7EXAMPLE", SECRET_KEY, None, None, "test").into();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(UNIX_S);
    let params = SigningParams::builder().identity(&identity).region("us-east-1").name("s3").time(time).settings(());
    let params = params.build().unwrap();
    let (mut out, mut last) = (Vec::new(), seed.to_owned());
    for chunk in body.chunks(CHUNK_BYTES as usize).chain([&b""[..]]) {
        out.extend_from_slice(format!("{:x}", chunk.len()).as_bytes());
        if payload.signs() {
            last = sign_chunk(&bytes::Bytes::copy_from_slice(chunk), &last, &params).unwrap().signature().to_owned();
            out.extend_from_slice(format!(";chunk-signature={last}").as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(chunk);
        if !chunk.is_empty() {
            out.extend_from_slice(b"\r\n");
        }
    }
    if payload.has_trailer() {
        let checksum = STANDARD.encode(crc32c::crc32c(body).to_be_bytes());
        out.extend_from_slice(format!("x-amz-checksum-crc32c:{checksum}\r\n").as_bytes());
        if payload.signs() {
            let mut headers = aws_smithy_runtime_api::http::Headers::new();
            headers.insert("x-amz-checksum-crc32c", checksum);
            last = sign_trailer(&headers, &last, &params).unwrap().signature().to_owned();
            out.extend_from_slice(format!("x-amz-trailer-signature:{last}\r\n").as_bytes());
        }
    }
    out.extend_from_slice(b"\r\n");
    out
}

const MODES: [Payload; 3] = [Payload::Streaming, Payload::StreamingTrailer, Payload::UnsignedTrailer];

/// All of a body on the wire, taken in steps of `steps` bytes at most, in turn.
fn sent(payload: Payload, span: BodySpan, bodies: &Bodies, seed: &str, steps: &[usize], made_bytes: usize) -> Vec<u8> {
    let layout = BodyLayout::new(payload, span.length);
    let mut stream = ChunkStream::default();
    stream.begin(payload.signs().then(|| signer(seed)));
    let (mut out, mut made, mut step) = (Vec::new(), vec![0; made_bytes], 0);
    while (out.len() as u64) < layout.wire_bytes() {
        let mut pieces = [Piece::Made { start: 0, end: 0 }; STREAM_PIECES_MAX];
        let count = stream.gather(layout, span, out.len() as u64, bodies, &mut pieces, &mut made);
        assert!(count > 0, "something is left to send");
        let mut room = steps[step % steps.len()];
        step += 1;
        for piece in &pieces[..count] {
            let bytes = match *piece {
                Piece::Pool { offset, length } => bodies.resident(span.size_bytes, offset, length),
                Piece::Made { start, end } => &made[start..end],
            };
            let taken = bytes.len().min(room);
            out.extend_from_slice(&bytes[..taken]);
            room -= taken;
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn the_wire_is_that_of_the_reference_wherever_sends_are_cut(
        mode in 0usize..3,
        full in any::<bool>(),
        size in prop_oneof![0u64..300, 65_500u64..65_600, 0u64..700_000, Just(131_072), Just(131_088)],
        part in 0.0f64..1.0,
        aligned in any::<bool>(),
        seq in 0u64..1 << 40,
        steps in prop::collection::vec(1usize..200_000, 1..8),
        made_bytes in prop_oneof![Just(400usize), Just(256 << 10)],
    ) {
        let unique = if full { Unique::Full } else { Unique::Tail };
        let bodies = Bodies::new(11, unique, &[], None);
        let id = ObjectId { set: 2, seq };
        let start = (part * size as f64) as u64;
        let start = if aligned { start - start % CHUNK_BYTES } else { start };
        let span = BodySpan { id, size_bytes: size, start, length: size - start };
        let mut body = vec![0; span.length as usize];
        bodies.fill(id, size, start, &mut body);
        let seed = String::from_utf8(hex(&[7; 32]).to_vec()).unwrap();
        let expected = reference(MODES[mode], &body, &seed);
        let layout = BodyLayout::new(MODES[mode], span.length);
        prop_assert_eq!(layout.wire_bytes(), expected.len() as u64);
        let got = sent(MODES[mode], span, &bodies, &seed, &steps, made_bytes);
        prop_assert!(got == expected, "{:?} {:?}", MODES[mode], span);
    }
}

#[test]
fn body_bytes_are_counted_without_their_frames() {
    for payload in MODES {
        for length in [0, 1, 65_535, 65_536, 65_537, 200_000] {
            let layout = BodyLayout::new(payload, length);
            let bodies = Bodies::new(1, Unique::Tail, &[], None);
            let span = BodySpan::whole(ObjectId { set: 0, seq: 0 }, length);
            let mut stream = ChunkStream::default();
            stream.begin(payload.signs().then(|| signer(std::str::from_utf8(&hex(&[0; 32])).unwrap())));
            let (mut wire, mut data, mut made) = (0, 0, vec![0; 1 << 10]);
            let frames = |piece: &Piece| matches!(piece, Piece::Made { .. });
            while wire < layout.wire_bytes() {
                assert_eq!(layout.body_bytes(wire), data, "{payload:?} {length} at {wire}");
                let mut pieces = [Piece::Made { start: 0, end: 0 }; 1];
                assert_eq!(stream.gather(layout, span, wire, &bodies, &mut pieces, &mut made), 1);
                let at_frame = layout.frame_at(layout.frame_before(wire)) == wire;
                let bytes = match pieces[0] {
                    Piece::Pool { length, .. } => length,
                    Piece::Made { start, end } => (end - start) as u64,
                };
                assert!(!at_frame || frames(&pieces[0]), "a frame is no data");
                data += if at_frame { 0 } else { bytes };
                wire += bytes;
            }
            assert_eq!((layout.body_bytes(wire), data), (length, length), "{payload:?} {length}");
        }
    }
}
