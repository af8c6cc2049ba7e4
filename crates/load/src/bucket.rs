//! The cold path: bucket calls before and after a load, one at a time over a blocking connection.
//!
//! Nothing that a server answers is believed for its status alone: a document has the root that S3 gives it, and what
//! was deleted is what a later listing no longer shows. A call has one deadline, whatever it waits for.

mod call;
mod deletion;
mod errors;
mod leftover_objects;
mod listing_progress;
mod paging;
mod removal;
mod request_text;
mod stored_samples;
mod sweep;
mod uploads;
mod versions;

use std::time::{Duration, Instant};

use linerate_wire::deadline::CancelToken;
use linerate_wire::tls::{Negotiated, Stream};

use crate::listing::{self, Page};
use crate::session::{Existing, Session};
use call::{Answer, BucketCall};
use deletion::Deletions;

pub use deletion::Refusals;
pub use errors::{BucketError, TimeLimit};
pub use leftover_objects::{Leftover, is_of_run};
pub use listing_progress::{ListingLooks, ListingProgress};
pub use paging::Pages;
pub use removal::{BucketContents, Removal};
pub use request_text::written;
pub use stored_samples::Stored;
pub use sweep::ContinueCheck;
pub use versions::{DefaultLock, Versioning};

/// Keys per `DeleteObjects` call: S3's own limit.
pub const DELETE_KEYS_MAX: usize = 1000;

const BODY_BYTES_MAX: usize = 16 << 20;

/// Longest time for a connection and its TLS handshake, where `--timeout` gives more.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest time for finding a host that answers.
const ANY_HOST_MAX: Duration = Duration::from_secs(30);

/// How often a bucket is looked for that is said not to be there, and how long it is waited between.
const ABSENT_LOOKS: u32 = 3;
const ABSENT_PAUSE: Duration = Duration::from_millis(300);

/// Pauses between looks for a bucket that was just made, of all hosts together: some nine seconds.
const APPEAR_LOOKS: u32 = 30;

/// What a listing still shows of a run that was to go.
#[derive(Debug, Default)]
pub struct LeftObjects {
    /// Objects, versions or uploads.
    pub objects: u64,
    /// The sizes of objects together.
    pub bytes: u64,
    /// Objects, versions or uploads that listings have shown in all, deleted since or not.
    pub seen: u64,
    /// Whether there may be more: they were not all counted.
    pub more: bool,
    /// Whether listings contradict each other: these are the most that one of them showed again, and another did not.
    pub wavers: bool,
    /// What the target said last of a deletion that it did not make.
    pub why: Option<BucketError>,
}

/// A connection to one host for bucket calls; made anew where the host closed it.
pub struct Bucket<'a> {
    session: &'a Session,
    host: usize,
    stream: Option<Stream>,
    cancel: CancelToken,
    deletions: Deletions,
}

impl<'a> Bucket<'a> {
    /// Connects to host number `host`.
    ///
    /// # Errors
    /// [`BucketError`], where there is no connection.
    pub fn connect(session: &'a Session, host: usize) -> Result<Self, BucketError> {
        Self::connect_heeding(session, host, &CancelToken::Nothing)
    }

    /// The same, with a flag that ends it and its calls before their time.
    ///
    /// # Errors
    /// [`BucketError`], where there is no connection.
    pub fn connect_heeding(session: &'a Session, host: usize, cancel: &CancelToken) -> Result<Self, BucketError> {
        let mut bucket =
            Bucket { session, host, stream: None, cancel: cancel.clone(), deletions: Deletions::default() };
        bucket.stream = Some(bucket.open(bucket.deadline())?);
        Ok(bucket)
    }

    /// Connects to the first host that can be reached.
    ///
    /// # Errors
    /// That of the last one tried.
    pub fn connect_any(session: &'a Session) -> Result<Self, BucketError> {
        Self::connect_any_heeding(session, &CancelToken::Nothing)
    }

    /// The same, with a flag that ends it and its calls before their time.
    ///
    /// # Errors
    /// That of the last one tried.
    pub fn connect_any_heeding(session: &'a Session, cancel: &CancelToken) -> Result<Self, BucketError> {
        let begin = Instant::now();
        let mut last = Bucket::connect_heeding(session, 0, cancel);
        for host in 1..session.hosts.len() {
            let over = matches!(last, Ok(_) | Err(BucketError::Stopped)) || begin.elapsed() > ANY_HOST_MAX;
            if over {
                break;
            }
            last = Bucket::connect_heeding(session, host, cancel);
        }
        last
    }

    /// The same, held to so many deletions per second at the most, where there is a limit.
    #[must_use]
    pub fn held_to(mut self, per_s: Option<f64>) -> Self {
        self.deletions.per_s = per_s;
        self
    }

    /// What TLS agreed on, where it is spoken.
    #[must_use]
    pub fn negotiated(&self) -> Option<Negotiated> {
        match self.stream.as_ref()? {
            Stream::Plain(_) => None,
            Stream::Tls(stream) => Negotiated::from_connection(&stream.conn),
        }
    }

    /// Whether the bucket exists, and what the `Server` header says. It is listed and not headed: a refusal of HEAD
    /// carries no code, and its success no proof that S3 has answered.
    ///
    /// # Errors
    /// [`BucketError`], also where access is denied.
    pub fn exists(&mut self) -> Result<(bool, Option<String>), BucketError> {
        let names = vec![("list-type", "2"), ("max-keys", "1"), ("prefix", self.session.run_prefix.as_str())];
        let query = leftover_objects::query(names);
        let call = BucketCall {
            query: &query,
            ..BucketCall::new(format!("access to bucket {:?}", self.session.bucket), "GET")
        };
        let answer = self.call_with_deadline(&call)?;
        // What servers in Go say in plain HTTP on a port that speaks TLS.
        if answer.status == 400 && String::from_utf8_lossy(&answer.body).contains("HTTPS server") {
            return Err(BucketError::NotHttp { host: self.authority(), why: "it is an HTTPS server".into() });
        }
        let server = answer.server.clone();
        if answer.status == 404 && answer.code().as_deref() == Some("NoSuchBucket") {
            return Ok((false, server));
        }
        let own = |body: &[u8]| listing::objects(body)?.in_bucket(&self.session.bucket, Some(&self.session.run_prefix));
        page(answer, own).map(|_| (true, server))
    }

    /// The same. That it is not there is believed of several answers, some time apart: whoever made it, a run that does
    /// not find it takes it for its own.
    ///
    /// # Errors
    /// [`BucketError`], also where access is denied.
    pub fn is_there(&mut self) -> Result<(bool, Option<String>), BucketError> {
        for _ in 1..ABSENT_LOOKS {
            let found = self.exists()?;
            if found.0 {
                return Ok(found);
            }
            self.pause(ABSENT_PAUSE)?;
        }
        self.exists()
    }

    /// Waits until every host has a bucket that was just made, some nine seconds for all together: copies of the list
    /// of buckets may lag behind. Returns the numbers of hosts that do not have it by then.
    ///
    /// # Errors
    /// [`BucketError`] of the first host that fails, also where access is denied.
    pub fn late_hosts(session: &'a Session, cancel: &CancelToken) -> Result<Vec<usize>, BucketError> {
        Self::hosts_without_it(session, cancel, APPEAR_LOOKS)
    }

    /// The same with so many pauses at the most.
    fn hosts_without_it(
        session: &'a Session,
        cancel: &CancelToken,
        mut pauses: u32,
    ) -> Result<Vec<usize>, BucketError> {
        let mut late = Vec::new();
        for host in 0..session.hosts.len() {
            let mut bucket = Bucket::connect_heeding(session, host, cancel)?;
            let mut has_it = bucket.exists()?.0;
            while !has_it && pauses > 0 {
                bucket.pause(ABSENT_PAUSE)?;
                pauses -= 1;
                has_it = bucket.exists()?.0;
            }
            late.extend((!has_it).then_some(host));
        }
        Ok(late)
    }

    /// Makes the bucket; `false` where somebody else has just made it.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn create(&mut self) -> Result<bool, BucketError> {
        let region = &self.session.region;
        let body = if region == "us-east-1" {
            String::new()
        } else {
            let namespace = "http://s3.amazonaws.com/doc/2006-03-01/";
            format!(
                "<CreateBucketConfiguration xmlns=\"{namespace}\"><LocationConstraint>{region}</LocationConstraint>\
                 </CreateBucketConfiguration>"
            )
        };
        let what = format!("making bucket {:?}", self.session.bucket);
        let call = BucketCall { body: body.as_bytes(), ..BucketCall::new(what, "PUT") };
        let answer = self.call(&call)?;
        if answer.status == 409 && answer.code().as_deref() == Some("BucketAlreadyOwnedByYou") {
            return Ok(false);
        }
        answer.done(self.session).map(|()| true)
    }

    /// Objects below `prefix`, up to `most` of them.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn list(&mut self, prefix: &str, most: usize) -> Result<Vec<Existing>, BucketError> {
        let (mut objects, mut pages) = (Vec::new(), Pages::default());
        while objects.len() < most {
            let page = self.objects(prefix, pages.from())?;
            let first = page.entries.first().map(|object| object.key.clone());
            let entries = page.entries.len();
            objects.extend(page.entries);
            if !pages.turn(entries, first, page.next)? {
                break;
            }
        }
        objects.truncate(most);
        Ok(objects)
    }

    /// One page of the objects below `prefix`, from `token` on.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn objects(&mut self, prefix: &str, token: Option<&String>) -> Result<Page<Existing, String>, BucketError> {
        let mut names = vec![("list-type", "2"), ("max-keys", "1000"), ("prefix", prefix)];
        names.extend(token.map(|token| ("continuation-token", token.as_str())));
        let session = self.session;
        let own = |body: &[u8]| listing::objects(body)?.in_bucket(&session.bucket, Some(prefix));
        self.page(&leftover_objects::query(names), &format!("listing {prefix:?}"), own)
    }

    fn page<T>(
        &mut self,
        query: &[u8],
        what: &str,
        parse: impl FnOnce(&[u8]) -> Result<T, String>,
    ) -> Result<T, BucketError> {
        let call = BucketCall { query, ..BucketCall::new(what, "GET") };
        page(self.call_with_deadline(&call)?, parse)
    }
}

/// A page of a listing.
fn page<T>(answer: Answer, parse: impl FnOnce(&[u8]) -> Result<T, String>) -> Result<T, BucketError> {
    let answer = answer.ok()?;
    parse(&answer.body).map_err(|why| BucketError::Answer { call: answer.requested, why })
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{SocketAddr, TcpListener};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::hosts::Host;

    /// A host that has no bucket at so many looks, and counts these.
    fn host(absent: u32) -> (SocketAddr, Arc<AtomicU32>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, looks) = (listener.local_addr().unwrap(), Arc::new(AtomicU32::new(0)));
        let counted = Arc::clone(&looks);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                // One request fits what is read at once.
                while stream.read(&mut [0; 16 << 10]).is_ok_and(|read| read > 0) {
                    let is_absent = counted.fetch_add(1, Ordering::Relaxed) < absent;
                    let (status, body) = match is_absent {
                        true => ("404 Not Found", "<Error><Code>NoSuchBucket</Code></Error>"),
                        false => ("200 OK", "<ListBucketResult/>"),
                    };
                    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                    if stream.write_all(answer.as_bytes()).is_err() {
                        break;
                    }
                }
            }
        });
        (address, looks)
    }

    #[test]
    fn every_host_is_waited_for_and_one_that_never_has_the_bucket_hides_no_other() {
        let all_looks = |absent: &[u32], pauses| {
            let hosts: Vec<_> = absent.iter().map(|absent| host(*absent)).collect();
            let each = hosts.iter().map(|(address, _)| Host { authority: address.to_string(), address: *address });
            let session = Session { hosts: each.collect(), ..crate::test_session::session() };
            let late = Bucket::hosts_without_it(&session, &CancelToken::Nothing, pauses).unwrap();
            (late, hosts.iter().map(|(_, looks)| looks.load(Ordering::Relaxed)).collect::<Vec<u32>>())
        };
        assert_eq!(all_looks(&[0, 2, 1], 10), (vec![], vec![1, 3, 2]));
        // By then, another may have it.
        assert_eq!(all_looks(&[u32::MAX, 0, u32::MAX], 2), (vec![0, 2], vec![3, 1, 1]));
    }
}
