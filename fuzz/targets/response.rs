//! Replies of targets: a head and chunks mean the same wherever they are cut.

#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_wire::response::{BodyFraming, Chunks, HEAD_BYTES_MAX, Head, head, header};

// The first byte says whether the request was HEAD, the second and third where the rest is cut.
fuzz_target!(|input: &[u8]| {
    let [flags, cut, step, bytes @ ..] = input else { return };
    let to_head = flags & 1 == 1;
    let whole = head(bytes, to_head);
    if bytes.len() < HEAD_BYTES_MAX {
        cut_head_agrees(bytes, to_head, usize::from(*cut));
    }
    if let Ok(Some(found)) = whole {
        assert!(found.head_bytes <= bytes.len());
        let _ = header(&bytes[..found.head_bytes], "server");
        if found.framing == BodyFraming::Chunked {
            chunks_agree(&bytes[found.head_bytes..], usize::from(*step) + 1);
        }
    }
    chunks_agree(bytes, usize::from(*step) + 1);
});

/// A part is not yet whole, or says what the whole says; it is never refused where the whole is taken.
fn cut_head_agrees(bytes: &[u8], to_head: bool, cut: usize) {
    let whole: Result<Option<Head>, _> = head(bytes, to_head);
    let part = head(&bytes[..cut.min(bytes.len())], to_head);
    match (part, whole) {
        (Ok(Some(part)), Ok(Some(whole))) => assert_eq!(part, whole),
        (Ok(Some(_)), other) => panic!("a part is a head, the whole is {other:?}"),
        (Err(part), Ok(whole)) => panic!("a part is refused as {part}, the whole is {whole:?}"),
        (Ok(None), _) | (Err(_), Err(_)) => {}
    }
}

/// Chunks that come in pieces are the same body, as long, and as wrong.
fn chunks_agree(bytes: &[u8], step: usize) {
    let read = |pieces: &mut dyn Iterator<Item = &[u8]>| {
        let (mut chunks, mut data, mut taken) = (Chunks::default(), Vec::new(), 0);
        for piece in pieces {
            match chunks.take(piece, |part| data.extend_from_slice(part)) {
                Ok(n) => taken += n,
                Err(error) => return Err(error),
            }
        }
        Ok((data, chunks.done(), taken))
    };
    let whole = read(&mut std::iter::once(bytes));
    assert_eq!(whole, read(&mut bytes.chunks(step)));
    if let Ok((data, done, taken)) = whole {
        assert!(data.len() <= taken && taken <= bytes.len() && (done || taken == bytes.len()));
    }
}
