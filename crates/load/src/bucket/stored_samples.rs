//! What the target holds of what it said that it stored: counts and sizes by a listing, a few objects by HEAD.

use super::call::BucketCall;
use super::{Bucket, BucketError, Pages};
use crate::object_id::{ObjectId, parse_object_key};

/// What a listing shows of one set of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// Objects of the set.
    pub objects: u64,
    /// Numbers of some of them, in the order of their keys.
    pub sample: Vec<u64>,
    /// Whether it was listed to its end.
    pub whole: bool,
    /// The first key whose size is another than it was written with, and that size.
    pub wrong: Option<(String, u64)>,
}

impl Bucket<'_> {
    /// Looks through the first pages of a set of the run, a page of a thousand objects each.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn stored(&mut self, set: u32, pages_max: u32) -> Result<Stored, BucketError> {
        let prefix = self.folder(set);
        let (mut stored, mut pages) = (Stored::default(), Pages::default());
        for _ in 0..pages_max {
            let page = self.objects(&prefix, pages.from())?;
            let own = |key: &str| parse_object_key(key.strip_prefix(&prefix)?);
            for object in &page.entries {
                let Some((seq, size_bytes)) = own(&object.key) else { continue };
                stored.objects += 1;
                // The first, the second, the fourth and so on: a few, of however many.
                if stored.objects.is_power_of_two() {
                    stored.sample.push(seq);
                }
                if size_bytes != object.size_bytes && stored.wrong.is_none() {
                    stored.wrong = Some((object.key.clone(), object.size_bytes));
                }
            }
            if !pages.turn(page.entries.len(), page.entries.first().map(|object| object.key.clone()), page.next)? {
                stored.whole = true;
                break;
            }
        }
        Ok(stored)
    }

    /// The length that HEAD tells of an object of the run; `None` where there is none.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn head(&mut self, id: ObjectId, size_bytes: u64) -> Result<Option<u64>, BucketError> {
        let key = self.key(id, size_bytes);
        let call = BucketCall { key: &key, ..BucketCall::new(format!("HEAD of {key:?}"), "HEAD") };
        let answer = self.call_with_deadline(&call)?;
        if answer.status == 404 {
            return Ok(None);
        }
        let length = answer.content_length;
        let requested = answer.ok()?.requested;
        length.map(Some).ok_or_else(|| BucketError::Answer { call: requested, why: "it states no length".into() })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::TcpListener;

    use crate::hosts::Host;
    use crate::session::Session;
    use crate::test_session;

    use super::*;

    #[test]
    fn a_head_that_is_refused_as_too_many_is_made_again() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let mut statuses = ["503 Slow Down", "503 Slow Down", "200 OK"].into_iter();
            for stream in listener.incoming() {
                let mut stream = BufReader::new(stream.unwrap());
                let mut line = String::new();
                while stream.read_line(&mut line).is_ok_and(|read| read > 0) {
                    let is_whole = line == "\r\n";
                    line.clear();
                    if is_whole && let Some(status) = statuses.next() {
                        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 7\r\n\r\n");
                        stream.get_mut().write_all(answer.as_bytes()).unwrap();
                    }
                }
            }
        });
        let hosts = vec![Host { authority: address.to_string(), address }];
        let session = Session { hosts, timeout_ns: 20_000_000_000, ..test_session::session() };
        let mut bucket = Bucket::connect(&session, 0).unwrap();
        assert_eq!(bucket.head(ObjectId { set: 0, seq: 1 }, 7).unwrap(), Some(7));
    }
}
