//! The cold path: bucket calls before and after a load, one at a time over a blocking connection.
//!
//! Nothing that a server answers is believed for its status alone: a document has the root that S3 gives it, and what
//! was deleted is what a later listing no longer shows. A call has one deadline, whatever it waits for.

mod call;
mod errors;
mod leftovers;
mod samples;
mod uploads;
mod versions;
mod written;

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use linerate_wire::patience::Heed;
use linerate_wire::tls::{Negotiated, Stream};
use md5::{Digest, Md5};

use crate::listing::{self, Page};
use crate::object::{ObjectId, push_key};
use crate::session::{Existing, Session};
use call::{Answer, BucketCall};

pub use errors::{BucketError, Lateness};
pub use leftovers::{Leftover, is_of_run};
pub use samples::Stored;
pub use versions::Keeping;
pub use written::written;

/// Keys per `DeleteObjects` call: S3's own limit.
pub const DELETE_KEYS_MAX: usize = 1000;

/// Longest answer taken.
const BODY_BYTES_MAX: usize = 16 << 20;

/// Longest time for a connection and its TLS handshake, where `--timeout` gives more.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// What a deletion among many may take: two seeks of a hard disk and a commit. A call deletes as many objects as that
/// leaves time for within `--timeout`.
const ONE_DELETION: Duration = Duration::from_millis(20);

/// Longest time for finding a host that answers.
const ANY_HOST_MAX: Duration = Duration::from_secs(30);

/// Pages in a row without an entry, after which a listing is taken not to end.
const EMPTY_PAGES_MAX: usize = 100;

/// Pages of a thousand that are counted of what could not be deleted: more would cost more than they tell.
const COUNTED_PAGES_MAX: usize = 100;

/// How often a bucket that was removed is looked for, and how long it is waited between.
const REMOVAL_LOOKS: u32 = 3;
const REMOVAL_PAUSE: Duration = Duration::from_millis(300);

/// What a listing still shows of a run that was to go.
#[derive(Debug, Default)]
pub struct Left {
    /// Objects.
    pub objects: u64,
    /// Their sizes together.
    pub bytes: u64,
    /// Whether there may be more: they were not all counted.
    pub more: bool,
    /// What the target said last of a deletion that it did not make.
    pub why: Option<BucketError>,
}

/// A connection to one host for bucket calls; made anew where the host closed it.
pub struct Bucket<'a> {
    session: &'a Session,
    host: usize,
    stream: Option<Stream>,
    heed: Heed,
    /// Whether the host has said that it does not delete many objects in one call.
    deletes_singly: bool,
}

impl<'a> Bucket<'a> {
    /// Connects to host number `host`.
    ///
    /// # Errors
    /// [`BucketError`], where there is no connection.
    pub fn connect(session: &'a Session, host: usize) -> Result<Self, BucketError> {
        Self::connect_heeding(session, host, &Heed::Nothing)
    }

    /// The same, with a flag that ends it and its calls before their time.
    ///
    /// # Errors
    /// [`BucketError`], where there is no connection.
    pub fn connect_heeding(session: &'a Session, host: usize, heed: &Heed) -> Result<Self, BucketError> {
        let mut bucket = Bucket { session, host, stream: None, heed: heed.clone(), deletes_singly: false };
        bucket.stream = Some(bucket.open(bucket.connecting())?);
        Ok(bucket)
    }

    /// Connects to the first host that can be reached.
    ///
    /// # Errors
    /// That of the last one tried.
    pub fn connect_any(session: &'a Session) -> Result<Self, BucketError> {
        Self::connect_any_heeding(session, &Heed::Nothing)
    }

    /// The same, with a flag that ends it and its calls before their time.
    ///
    /// # Errors
    /// That of the last one tried.
    pub fn connect_any_heeding(session: &'a Session, heed: &Heed) -> Result<Self, BucketError> {
        let begin = Instant::now();
        let mut last = Bucket::connect_heeding(session, 0, heed);
        for host in 1..session.hosts.len() {
            let over = matches!(last, Ok(_) | Err(BucketError::Stopped)) || begin.elapsed() > ANY_HOST_MAX;
            if over {
                break;
            }
            last = Bucket::connect_heeding(session, host, heed);
        }
        last
    }

    /// What TLS agreed on, where it is spoken.
    #[must_use]
    pub fn negotiated(&self) -> Option<Negotiated> {
        match self.stream.as_ref()? {
            Stream::Plain(_) => None,
            Stream::Tls(stream) => Negotiated::of(&stream.conn),
        }
    }

    /// Whether the bucket exists, and what the `Server` header says. It is listed and not headed: a refusal of HEAD
    /// carries no code, and its success no proof that S3 has answered.
    ///
    /// # Errors
    /// [`BucketError`], also where access is denied.
    pub fn exists(&mut self) -> Result<(bool, Option<String>), BucketError> {
        let names = vec![("list-type", "2"), ("max-keys", "1"), ("prefix", self.session.run_prefix.as_str())];
        let query = leftovers::query(names);
        let call = BucketCall {
            query: &query,
            ..BucketCall::new(format!("access to bucket {:?}", self.session.bucket), "GET")
        };
        let answer = self.call(&call)?;
        // What servers in Go say in plain HTTP on a port that speaks TLS.
        if answer.status == 400 && String::from_utf8_lossy(&answer.body).contains("HTTPS server") {
            return Err(BucketError::NotHttp { host: self.authority(), why: "it is an HTTPS server".into() });
        }
        let server = answer.server.clone();
        if answer.status == 404 && answer.code().as_deref() == Some("NoSuchBucket") {
            return Ok((false, server));
        }
        let own = |body: &[u8]| listing::objects(body)?.of(&self.session.bucket, Some(&self.session.run_prefix));
        page(answer, own).map(|_| (true, server))
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

    /// Removes the bucket where it is empty; `false` where it is not. It is looked into first: there are targets that
    /// remove a bucket with everything in it. It is looked for afterwards: it is removed where it is no longer there.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn remove(&mut self) -> Result<bool, BucketError> {
        if !self.list("", 1)?.is_empty() || self.has_uploads()? {
            return Ok(false);
        }
        let call = BucketCall::new(format!("removing bucket {:?}", self.session.bucket), "DELETE");
        let answer = self.call(&call)?;
        if answer.status == 409 && answer.code().as_deref() == Some("BucketNotEmpty") {
            return Ok(false);
        }
        answer.done(self.session)?;
        for look in 0..REMOVAL_LOOKS {
            if !self.exists()?.0 {
                return Ok(true);
            }
            if look + 1 < REMOVAL_LOOKS {
                std::thread::sleep(REMOVAL_PAUSE);
            }
        }
        Err(BucketError::Answer {
            call: format!("{} at {}", call.what, self.authority()),
            why: "the target confirmed it, but the bucket is still there".into(),
        })
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
            objects.extend(page.entries);
            if !pages.turn(first, page.next)? {
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
        let own = |body: &[u8]| listing::objects(body)?.of(&session.bucket, Some(prefix));
        self.page(&leftovers::query(names), &format!("listing {prefix:?}"), own)
    }

    fn page<T>(
        &mut self,
        query: &[u8],
        what: &str,
        parse: impl FnOnce(&[u8]) -> Result<T, String>,
    ) -> Result<T, BucketError> {
        let call = BucketCall { query, ..BucketCall::new(what, "GET") };
        page(self.call(&call)?, parse)
    }

    /// Asks for objects of the run to be deleted: `ids` with their sizes, at most [`DELETE_KEYS_MAX`]. Whether they are
    /// gone, a listing tells.
    ///
    /// # Errors
    /// [`BucketError`], also where the target says that some were not deleted.
    pub fn delete(&mut self, ids: &[(ObjectId, u64)]) -> Result<(), BucketError> {
        let mut keys = Vec::new();
        for &(id, size_bytes) in ids {
            keys.push((self.key(id, size_bytes), None));
        }
        self.delete_keys(&keys)
    }

    /// The key of an object of the run.
    fn key(&self, id: ObjectId, size_bytes: u64) -> String {
        let mut key = Vec::new();
        push_key(&self.session.run_prefix, id, size_bytes, &mut key);
        String::from_utf8_lossy(&key).into_owned()
    }

    /// Keys, each with its version where one is meant: as many in a call as its limit leaves time for. A refusal of
    /// some does not keep the others.
    fn delete_keys(&mut self, keys: &[(String, Option<String>)]) -> Result<(), BucketError> {
        let mut last = Ok(());
        for keys in keys.chunks(keys_per_call(self.limit())) {
            match self.delete_some(keys) {
                Err(error) if error.is_an_answer() => last = Err(error),
                other => other?,
            }
        }
        last
    }

    /// In one call, or in one for each key of a host that knows no such call.
    fn delete_some(&mut self, keys: &[(String, Option<String>)]) -> Result<(), BucketError> {
        if !self.deletes_singly {
            match leftovers::known(self.delete_together(keys))? {
                Some(()) => return Ok(()),
                None => self.deletes_singly = true,
            }
        }
        keys.iter().try_for_each(|(key, version)| self.delete_one(key, version.as_deref()))
    }

    fn delete_one(&mut self, key: &str, version: Option<&str>) -> Result<(), BucketError> {
        let query = version.map_or_else(Vec::new, |version| leftovers::query(vec![("versionId", version)]));
        let call = BucketCall { key, query: &query, ..BucketCall::new(format!("deleting {key:?}"), "DELETE") };
        let answer = self.call(&call)?;
        if answer.status == 404 { Ok(()) } else { answer.done(self.session) }
    }

    fn delete_together(&mut self, keys: &[(String, Option<String>)]) -> Result<(), BucketError> {
        let mut body = String::from("<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>");
        for (key, version) in keys {
            body.push_str("<Object><Key>");
            body.push_str(&quick_xml::escape::escape(key.as_str()));
            body.push_str("</Key>");
            if let Some(version) = version {
                body.push_str("<VersionId>");
                body.push_str(&quick_xml::escape::escape(version.as_str()));
                body.push_str("</VersionId>");
            }
            body.push_str("</Object>");
        }
        body.push_str("</Delete>");
        let digest = STANDARD.encode(Md5::digest(body.as_bytes()));
        let headers = [("Content-MD5", digest.as_str())];
        let call = BucketCall {
            query: b"delete=",
            headers: &headers,
            body: body.as_bytes(),
            ..BucketCall::new(format!("deleting {} objects of this run", keys.len()), "POST")
        };
        let answer = self.call(&call)?;
        let (asked, status, keys) = (answer.asked.clone(), answer.status, Arc::clone(&answer.keys));
        let (mut code, mut refused) = (None::<String>, false);
        answer.document(&["DeleteResult"], |parent, name, text| {
            refused |= name == "Error";
            if parent == Some("Error") && name == "Code" {
                code.get_or_insert_with(|| text.chars().filter(char::is_ascii_alphanumeric).take(64).collect());
            }
            Ok(())
        })?;
        if refused { Err(BucketError::Refused { call: asked, status, code, keys }) } else { Ok(()) }
    }

    /// Deletes whatever is left below the run's own prefix, `batch` objects at a time, until a listing shows nothing,
    /// shows the same again and again, or `goes_on` says otherwise, which is told after how many; tells what a last
    /// listing still shows.
    ///
    /// # Errors
    /// [`BucketError`], where there is no answer, or no listing.
    pub fn sweep_up(&mut self, batch: usize, goes_on: &mut dyn FnMut(u64) -> bool) -> Result<Left, BucketError> {
        let prefix = self.session.run_prefix.clone();
        let (mut before, mut stuck, mut why) = (Vec::new(), 0, None);
        loop {
            let left = self.list(&prefix, batch.clamp(1, DELETE_KEYS_MAX))?;
            // A listing that ignored its prefix must not lead to a deletion outside it.
            let own = left.into_iter().map(|o| o.key).filter(|k| k.starts_with(&prefix));
            let keys: Vec<_> = own.map(|key| (key, None)).collect();
            stuck = if keys == before { stuck + 1 } else { 0 };
            if keys.is_empty() {
                return Ok(Left::default());
            }
            if stuck == 2 {
                break;
            }
            why = match self.delete_keys(&keys) {
                Err(error) if error.is_an_answer() => Some(error),
                other => other.map(|()| None)?,
            };
            if !goes_on(keys.len() as u64) {
                why = why.or(Some(BucketError::Stopped));
                break;
            }
            before = keys;
        }
        let left = self.count(&prefix)?;
        Ok(if left.objects == 0 { left } else { Left { why, ..left } })
    }

    /// What a listing shows below `prefix`, as far as it is gone through.
    fn count(&mut self, prefix: &str) -> Result<Left, BucketError> {
        let (mut left, mut pages) = (Left { more: true, ..Left::default() }, Pages::default());
        for _ in 0..COUNTED_PAGES_MAX {
            let page = self.objects(prefix, pages.from())?;
            let first = page.entries.first().map(|object| object.key.clone());
            for object in page.entries.iter().filter(|object| object.key.starts_with(prefix)) {
                left.objects += 1;
                left.bytes = left.bytes.saturating_add(object.size_bytes);
            }
            if !pages.turn(first, page.next)? {
                left.more = false;
                break;
            }
        }
        Ok(left)
    }
}

/// How many objects a call of so long a limit deletes.
fn keys_per_call(limit: Duration) -> usize {
    let fit = limit.as_millis() / ONE_DELETION.as_millis();
    fit.clamp(1, DELETE_KEYS_MAX as u128) as usize
}

/// A page of a listing.
fn page<T>(answer: Answer, parse: impl FnOnce(&[u8]) -> Result<T, String>) -> Result<T, BucketError> {
    let answer = answer.ok()?;
    parse(&answer.body).map_err(|why| BucketError::Answer { call: answer.asked, why })
}

/// Goes through the pages of a listing, as long as they lead anywhere.
pub struct Pages<Next> {
    from: Option<Next>,
    /// What the page before began with.
    first: Option<String>,
    empty: usize,
}

impl<Next> Default for Pages<Next> {
    fn default() -> Self {
        Pages { from: None, first: None, empty: 0 }
    }
}

impl<Next: PartialEq> Pages<Next> {
    /// Where the page to ask for begins; nowhere for the first.
    #[must_use]
    pub const fn from(&self) -> Option<&Next> {
        self.from.as_ref()
    }

    /// Notes what a page began with, where it showed something, and where the next one begins; `false` where there is
    /// none.
    ///
    /// # Errors
    /// [`BucketError::Answer`] for a listing that does not end.
    pub fn turn(&mut self, first: Option<String>, next: Option<Next>) -> Result<bool, BucketError> {
        let endless = |why: &str| Err(BucketError::Answer { call: "a listing".into(), why: why.into() });
        if first.is_some() && first == self.first {
            return endless("two of its pages are the same");
        }
        self.empty = if first.is_none() { self.empty + 1 } else { 0 };
        self.first = first.or_else(|| self.first.take());
        if next.is_none() {
            return Ok(false);
        }
        if next == self.from {
            return endless("its next page begins where this one does");
        }
        if self.empty > EMPTY_PAGES_MAX {
            return endless("page after page is empty, but more are announced");
        }
        self.from = next;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::{Read as _, Write as _};
    use std::net::{SocketAddr, TcpListener};
    use std::sync::mpsc;

    use super::*;
    use crate::hosts::Host;
    use crate::test_session;

    /// A host with these keys below `run/` that deletes one object a call, and answers `together` to a call for
    /// several. Tells the first line of each request.
    fn deleting_singly(keys: &[&str], together: u16) -> (SocketAddr, mpsc::Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut keys: BTreeSet<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        let (tell, reported) = mpsc::channel();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let (mut request, mut piece) = (Vec::new(), [0; 16 << 10]);
                while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                    let Ok(n @ 1..) = stream.read(&mut piece) else { break };
                    request.extend_from_slice(&piece[..n]);
                }
                let request = String::from_utf8_lossy(&request).into_owned();
                let line = request.lines().next().unwrap_or_default().to_owned();
                let entry = |key: &String| format!("<Contents><Key>{key}</Key><Size>1</Size></Contents>");
                let (status, body) = match line.split(' ').next() {
                    Some("POST") => (together, String::new()),
                    Some("DELETE") => {
                        keys.retain(|key| !line.contains(key.as_str()));
                        (204, String::new())
                    }
                    _ => {
                        let all: String = keys.iter().map(entry).collect();
                        let count = keys.len();
                        let head = format!("<Name>bucket</Name><Prefix>run/</Prefix><KeyCount>{count}</KeyCount>");
                        let rest = "<MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated>";
                        (200, format!("<ListBucketResult>{head}{rest}{all}</ListBucketResult>"))
                    }
                };
                let length = body.len();
                let reply =
                    format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
                let _ = stream.write_all(reply.as_bytes()).and_then(|()| stream.shutdown(std::net::Shutdown::Write));
                // What is left to be read would reset the connection.
                let _ = stream.read_to_end(&mut Vec::new());
                let _ = tell.send(line);
            }
        });
        (address, reported)
    }

    #[test]
    fn a_host_that_deletes_one_object_a_call_is_asked_so() {
        for (together, is_known) in [(501, true), (405, true), (500, false)] {
            let (address, reported) = deleting_singly(&["run/a", "run/b", "run/c"], together);
            let hosts = vec![Host { authority: address.to_string(), address }];
            let session = Session { hosts, timeout_ns: 20_000_000_000, ..test_session::session() };
            let left = Bucket::connect(&session, 0).and_then(|mut bucket| bucket.sweep_up(2, &mut |_| true)).unwrap();
            assert_eq!(left.objects, if is_known { 0 } else { 3 }, "{together}: {:?}", left.why);
            let lines: Vec<String> = reported.try_iter().collect();
            let count = |method: &str| lines.iter().filter(|line| line.starts_with(method)).count();
            assert_eq!(count("DELETE"), if is_known { 3 } else { 0 }, "{together}: {lines:?}");
            assert!(!is_known || count("POST") == 1, "{together}: it is not asked again: {lines:?}");
        }
    }

    #[test]
    fn what_is_left_is_deleted_to_its_end_or_until_the_time_is_over() {
        let keys: Vec<String> = (0..200).map(|n| format!("run/{n:03}")).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        for (limit, left_objects) in [(u64::MAX, 0), (50, 150)] {
            let (address, _reported) = deleting_singly(&keys, 501);
            let hosts = vec![Host { authority: address.to_string(), address }];
            let session = Session { hosts, timeout_ns: 20_000_000_000, ..test_session::session() };
            let mut bucket = Bucket::connect(&session, 0).unwrap();
            let mut asked = 0;
            let left = bucket.sweep_up(2, &mut |n| {
                asked += n;
                asked < limit
            });
            let left = left.unwrap();
            assert_eq!((left.objects, asked), (left_objects, limit.min(200)));
            assert_eq!(matches!(left.why, Some(BucketError::Stopped)), limit < 200, "{:?}", left.why);
        }
    }

    #[test]
    fn a_call_deletes_as_many_objects_as_its_limit_leaves_time_for() {
        for (limit_ms, expected) in
            [(1, 1), (20, 1), (150, 7), (1_000, 50), (3_000, 150), (20_000, 1_000), (60_000, DELETE_KEYS_MAX)]
        {
            assert_eq!(keys_per_call(Duration::from_millis(limit_ms)), expected, "{limit_ms} ms");
        }
        // A refusal of the first call does not keep the second from being made.
        let (address, reported) = deleting_singly(&[], 500);
        let hosts = vec![Host { authority: address.to_string(), address }];
        let session = Session { hosts, timeout_ns: 5_000_000_000, ..test_session::session() };
        let ids: Vec<_> = (0..400).map(|seq| (ObjectId { set: 0, seq }, 1)).collect();
        let refused = Bucket::connect(&session, 0).and_then(|mut bucket| bucket.delete(&ids)).unwrap_err();
        assert!(refused.to_string().starts_with("deleting 150 objects of this run"), "{refused}");
        let lines: Vec<_> = (0..2).map_while(|_| reported.recv_timeout(Duration::from_secs(20)).ok()).collect();
        assert!(lines.len() == 2 && lines.iter().all(|line| line.starts_with("POST")), "{lines:?}");
    }

    #[test]
    fn a_listing_that_leads_nowhere_is_an_error() {
        let first = |key: &str| Some(key.to_owned());
        let mut pages = Pages::default();
        assert!(pages.turn(first("a"), Some(1)).unwrap() && pages.from() == Some(&1));
        assert!(pages.turn(first("b"), Some(2)).unwrap() && !pages.turn(first("c"), None).unwrap());
        assert!(pages.turn(first("d"), Some(2)).is_err(), "the same place again");
        assert!(pages.turn(first("d"), Some(3)).is_err(), "the same page again");
        let mut pages = Pages::default();
        let turns = (0..1000).take_while(|&i| pages.turn(None, Some(i)).is_ok()).count();
        assert_eq!(turns, EMPTY_PAGES_MAX);
    }
}
