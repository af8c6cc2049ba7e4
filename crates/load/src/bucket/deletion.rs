//! Deletion of what a run wrote: as many keys in a call as its limit leaves time for. A refusal of some keeps none of
//! the others, and a target that refuses everything is not asked for ever.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use linerate_record::units::grouped;
use linerate_wire::deadline::WaitEnd;
use md5::{Digest, Md5};

use super::call::BucketCall;
use super::{Bucket, BucketError, DELETE_KEYS_MAX, TimeLimit, leftover_objects};
use crate::object_id::{ObjectId, push_key};

/// What a deletion among many may take: two seeks of a hard disk and a commit. A call deletes as many objects as that
/// leaves time for within its limit.
const ONE_DELETION: Duration = Duration::from_millis(20);

/// Refusals in a row after which a target is taken to refuse whatever is left. Some are held against deletion, and what
/// follows them is not; a target that refuses all of a million would be asked a million times.
const REFUSED_MAX: usize = 10_000;

/// Calls in a row that a target answered with being too busy, after which it is no longer asked; and how long it is
/// left alone after the first of them, twice as long after each, and five doublings at the most: 11 s together.
pub(super) const BUSY_MAX: u32 = 10;
const BUSY_REST: Duration = Duration::from_millis(50);
const BUSY_DOUBLINGS: u32 = 5;

/// How long a target is left alone that has said so often in a row that it is too busy.
pub(super) fn busy_rest(in_a_row: u32) -> Duration {
    BUSY_REST * (1 << in_a_row.saturating_sub(1).min(BUSY_DOUBLINGS))
}

/// How deletions of a host go.
#[derive(Debug, Default)]
pub(super) struct Deletions {
    /// So many per second at the most.
    pub(super) per_s: Option<f64>,
    /// Whether the host has said that it does not delete many objects in one call.
    singly: bool,
    /// Keys that were refused since the last that was not.
    refused_in_a_row: usize,
    /// Calls that were answered with being too busy since the last that was not.
    busy_in_a_row: u32,
}

/// What of the deletions that were asked for was refused, over as many calls and pages as they took.
#[derive(Debug, Default)]
pub struct Refusals {
    requested: usize,
    refused: usize,
    /// Calls that refused something.
    calls: usize,
    last: Option<BucketError>,
}

impl Refusals {
    /// How many were asked for, answered or not: none once a target is taken to refuse whatever is left.
    #[must_use]
    pub const fn requested(&self) -> usize {
        self.requested
    }

    /// Notes a deletion that is made by itself, and what was said of it.
    ///
    /// # Errors
    /// That of a call without an answer.
    pub fn note_one(&mut self, said: Result<(), BucketError>) -> Result<(), BucketError> {
        self.requested += 1;
        match said {
            Err(error) if error.is_an_answer() => {
                (self.refused, self.calls, self.last) = (self.refused + 1, self.calls + 1, Some(error));
                Ok(())
            }
            other => other,
        }
    }

    /// What was said last, and how much was refused where that does not tell.
    ///
    /// # Errors
    /// [`BucketError`], where some were refused.
    pub fn ended(self) -> Result<(), BucketError> {
        let Refusals { requested, refused, calls, last } = self;
        match last {
            None => Ok(()),
            Some(last) if calls == 1 && refused == requested => Err(last),
            Some(last) => Err(BucketError::Several { refused, requested, last: Box::new(last) }),
        }
    }
}

impl Bucket<'_> {
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
    pub(super) fn key(&self, id: ObjectId, size_bytes: u64) -> String {
        let mut key = Vec::new();
        push_key(&self.session.run_prefix, id, size_bytes, &mut key);
        String::from_utf8_lossy(&key).into_owned()
    }

    /// Keys, each with its version where one is meant: as many in a call as its limit leaves time for. A refusal of
    /// some does not keep the others.
    pub(super) fn delete_keys(&mut self, keys: &[(String, Option<String>)]) -> Result<(), BucketError> {
        let mut refusals = Refusals::default();
        self.delete_noting(keys, &mut refusals)?;
        refusals.ended()
    }

    /// The same, with what was refused noted beside what was before.
    pub(super) fn delete_noting(
        &mut self,
        keys: &[(String, Option<String>)],
        refusals: &mut Refusals,
    ) -> Result<(), BucketError> {
        let mut rest = keys;
        while !rest.is_empty() && !self.refuses_all() {
            // Anew for each call: a signal leaves it less time than the one before.
            let most = keys_per_call(self.deadline().limit()).min(self.deletions.burst());
            let (some, others) = rest.split_at(most.min(rest.len()));
            self.pause(self.deletions.pause(some.len()))?;
            self.delete_some(some, refusals)?;
            rest = others;
        }
        Ok(())
    }

    pub(super) fn pause(&self, so_long: Duration) -> Result<(), BucketError> {
        self.cancel.pause(so_long).map_err(|ended| match ended {
            WaitEnd::Stopped => BucketError::Stopped,
            ended => BucketError::Late {
                call: "deleting objects of this run".to_owned(),
                host: self.authority(),
                ended: TimeLimit(ended),
            },
        })
    }

    /// Rests as long as the limit on deletions demands of one.
    pub(super) fn rest_for_one(&self) -> Result<(), BucketError> {
        self.pause(self.deletions.pause(1))
    }

    /// Whether so much was refused in a row that nothing is to be expected of asking for more.
    #[must_use]
    pub const fn refuses_all(&self) -> bool {
        self.deletions.refused_in_a_row >= REFUSED_MAX || self.deletions.busy_in_a_row >= BUSY_MAX
    }

    /// Has what was refused asked for again: some time has passed.
    pub const fn ask_again(&mut self) {
        (self.deletions.refused_in_a_row, self.deletions.busy_in_a_row) = (0, 0);
    }

    /// In one call, or in one for each key of a host that knows no such call.
    fn delete_some(&mut self, keys: &[(String, Option<String>)], refusals: &mut Refusals) -> Result<(), BucketError> {
        if !self.deletions.singly {
            match leftover_objects::known(self.delete_together(keys)) {
                Ok(None) => self.deletions.singly = true,
                Ok(Some(refused)) => return self.note(keys.len(), refused, refusals),
                Err(error) if error.is_an_answer() => {
                    return self.note(keys.len(), Some((keys.len(), error)), refusals);
                }
                Err(error) => {
                    refusals.requested += keys.len();
                    return Err(error);
                }
            }
        }
        for (key, version) in keys {
            let refused = match self.delete_one(key, version.as_deref()) {
                Err(error) if error.is_an_answer() => Some((1, error)),
                Err(error) => {
                    refusals.requested += 1;
                    return Err(error);
                }
                Ok(()) => None,
            };
            self.note(1, refused, refusals)?;
            if self.refuses_all() {
                break;
            }
        }
        Ok(())
    }

    /// Notes how many keys of a call were refused, and leaves a host alone for a while that says that it is too busy.
    fn note(
        &mut self,
        requested: usize,
        refused: Option<(usize, BucketError)>,
        refusals: &mut Refusals,
    ) -> Result<(), BucketError> {
        refusals.requested += requested;
        let deletions = &mut self.deletions;
        let Some((count, error)) = refused else {
            (deletions.refused_in_a_row, deletions.busy_in_a_row) = (0, 0);
            return Ok(());
        };
        let count = count.min(requested);
        deletions.refused_in_a_row = if count < requested { 0 } else { deletions.refused_in_a_row + requested };
        refusals.refused += count;
        refusals.calls += 1;
        let busy = error.is_busy();
        refusals.last = Some(error);
        if !busy {
            deletions.busy_in_a_row = 0;
            return Ok(());
        }
        deletions.busy_in_a_row += 1;
        self.pause(busy_rest(self.deletions.busy_in_a_row))
    }

    fn delete_one(&mut self, key: &str, version: Option<&str>) -> Result<(), BucketError> {
        let query = version.map_or_else(Vec::new, |version| leftover_objects::query(vec![("versionId", version)]));
        let call = BucketCall { key, query: &query, ..BucketCall::new(format!("deleting {key:?}"), "DELETE") };
        let answer = self.call(&call)?;
        if answer.status == 404 { Ok(()) } else { answer.done(self.session) }
    }

    /// How many of the keys were refused, where some were, and why the first of them.
    fn delete_together(
        &mut self,
        keys: &[(String, Option<String>)],
    ) -> Result<Option<(usize, BucketError)>, BucketError> {
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
            ..BucketCall::new(format!("deleting {} of this run", counted(keys)), "POST")
        };
        let answer = self.call(&call)?;
        let (requested, status, keys) = (answer.requested.clone(), answer.status, Arc::clone(&answer.keys));
        let (mut code, mut refused) = (None::<String>, 0);
        answer.document(&["DeleteResult"], |parent, name, text| {
            refused += usize::from(name == "Error");
            if parent == Some("Error") && name == "Code" {
                code.get_or_insert_with(|| text.chars().filter(char::is_ascii_alphanumeric).take(64).collect());
            }
            Ok(())
        })?;
        Ok((refused > 0).then_some((refused, BucketError::Refused { call: requested, status, code, keys })))
    }
}

impl Deletions {
    /// Keys of one call at the most: a call of a thousand keys costs a target a thousand deletions.
    fn burst(&self) -> usize {
        self.per_s.map_or(DELETE_KEYS_MAX, |per_s| (per_s as usize).clamp(1, DELETE_KEYS_MAX))
    }

    /// How long to rest for so many.
    fn pause(&self, deletions: usize) -> Duration {
        self.per_s.map_or(Duration::ZERO, |per_s| {
            Duration::try_from_secs_f64(deletions as f64 / per_s).unwrap_or(Duration::MAX)
        })
    }
}

/// How many objects a call of so long a limit deletes.
fn keys_per_call(limit: Duration) -> usize {
    let fit = limit.as_millis() / ONE_DELETION.as_millis();
    fit.clamp(1, DELETE_KEYS_MAX as u128) as usize
}

/// So many objects, or versions of them.
fn counted(keys: &[(String, Option<String>)]) -> String {
    let what = if keys.iter().any(|(_, version)| version.is_some()) { "version" } else { "object" };
    if keys.len() == 1 { format!("1 {what}") } else { format!("{} {what}s", grouped(keys.len() as u64)) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::{Read as _, Write as _};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;
    use std::time::Instant;

    use linerate_wire::deadline::{CancelToken, ShutdownBudget};

    use super::*;
    use crate::hosts::Host;
    use crate::session::Session;
    use crate::test_session;

    /// A host that answers `together` to a call for several, lists a few objects a page, and keeps what is held.
    #[derive(Clone, Copy)]
    struct DeletingServer {
        together: u16,
        page: usize,
        held: fn(&str) -> bool,
        /// What it answers to the deletion of what is held.
        refusal: u16,
    }

    const PLAIN: DeletingServer = DeletingServer { together: 200, page: 1000, held: |_| false, refusal: 403 };

    /// The request's line and its body.
    fn read(stream: &mut TcpStream) -> (String, String) {
        let (mut request, mut piece) = (Vec::new(), [0; 16 << 10]);
        loop {
            let text = String::from_utf8_lossy(&request).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok());
                if body.len() >= length.unwrap_or(0) {
                    return (head.lines().next().unwrap_or_default().to_owned(), body.to_owned());
                }
            }
            let Ok(n @ 1..) = stream.read(&mut piece) else { return (String::new(), String::new()) };
            request.extend_from_slice(&piece[..n]);
        }
    }

    fn listing(line: &str, keys: &BTreeSet<String>, page: usize) -> String {
        let after = line.split("continuation-token=").nth(1).and_then(|rest| rest.split(['&', ' ']).next());
        let after = after.map(|token| token.replace("%2F", "/")).unwrap_or_default();
        let entry = |key: &&String| format!("<Contents><Key>{key}</Key><Size>1</Size></Contents>");
        let left: Vec<&String> = keys.iter().filter(|key| **key > after).collect();
        let shown: Vec<&String> = left.iter().copied().take(page).collect();
        let all: String = shown.iter().map(entry).collect();
        let more = match shown.last().filter(|_| left.len() > page) {
            Some(last) => {
                format!("<IsTruncated>true</IsTruncated><NextContinuationToken>{last}</NextContinuationToken>")
            }
            None => "<IsTruncated>false</IsTruncated>".to_owned(),
        };
        format!("<ListBucketResult><Name>bucket</Name><Prefix>run/</Prefix>{more}{all}</ListBucketResult>")
    }

    impl DeletingServer {
        fn answer(self, line: &str, body: &str, keys: &mut BTreeSet<String>) -> (u16, String) {
            match line.split(' ').next() {
                Some("POST") if self.together == 200 => {
                    let requested: Vec<&str> =
                        body.split("<Key>").skip(1).filter_map(|rest| rest.split("</Key>").next()).collect();
                    keys.retain(|key| !requested.contains(&key.as_str()) || (self.held)(key));
                    let error = |key: &&str| format!("<Error><Key>{key}</Key><Code>AccessDenied</Code></Error>");
                    let errors: String = requested.iter().filter(|key| (self.held)(key)).map(error).collect();
                    (200, format!("<DeleteResult>{errors}</DeleteResult>"))
                }
                Some("POST") => (self.together, String::new()),
                Some("DELETE") => {
                    let key = line.split(' ').nth(1).and_then(|path| path.strip_prefix("/bucket/")).unwrap_or_default();
                    if (self.held)(key) {
                        return (self.refusal, "<Error><Code>AccessDenied</Code></Error>".to_owned());
                    }
                    keys.remove(key);
                    (204, String::new())
                }
                _ => (200, listing(line, keys, self.page)),
            }
        }

        /// Serves these keys; tells the first line of each request.
        fn serve(self, keys: impl IntoIterator<Item = String>) -> (SocketAddr, mpsc::Receiver<String>) {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let mut keys: BTreeSet<String> = keys.into_iter().collect();
            let (tell, reported) = mpsc::channel();
            std::thread::spawn(move || {
                for mut stream in listener.incoming().flatten() {
                    let (line, body) = read(&mut stream);
                    let (status, body) = self.answer(&line, &body, &mut keys);
                    let length = body.len();
                    let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
                    let _ = stream.write_all((head + &body).as_bytes());
                    let _ = tell.send(line);
                }
            });
            (address, reported)
        }
    }

    fn session(address: SocketAddr, timeout_s: u64) -> Session {
        let hosts = vec![Host { authority: address.to_string(), address }];
        Session { hosts, timeout_ns: timeout_s * 1_000_000_000, ..test_session::session() }
    }

    fn numbered(n: usize) -> impl Iterator<Item = String> {
        (0..n).map(|i| format!("run/{i:06}"))
    }

    /// Requests that were made: the answer to the last may arrive before it is counted.
    fn count(lines: &mpsc::Receiver<String>, method: &str) -> usize {
        std::thread::sleep(Duration::from_millis(200));
        lines.try_iter().filter(|line| line.starts_with(method)).count()
    }

    #[test]
    fn a_host_that_deletes_one_object_a_call_is_asked_so() {
        for (together, is_known) in [(501, true), (405, true), (500, false)] {
            let (address, reported) = DeletingServer { together, ..PLAIN }.serve(numbered(3));
            let session = session(address, 20);
            let left =
                Bucket::connect(&session, 0).and_then(|mut bucket| bucket.sweep_up(false, &mut |_| Ok(()))).unwrap();
            assert_eq!(left.objects, if is_known { 0 } else { 3 }, "{together}: {:?}", left.why);
            let lines: Vec<String> = reported.try_iter().collect();
            let count = |method: &str| lines.iter().filter(|line| line.starts_with(method)).count();
            assert_eq!(count("DELETE"), if is_known { 3 } else { 0 }, "{together}: {lines:?}");
            assert!(!is_known || count("POST") == 1, "{together}: it is not asked again: {lines:?}");
        }
    }

    #[test]
    fn a_refusal_of_some_keeps_none_of_the_others_in_one_call_or_singly() {
        let third: fn(&str) -> bool = |key| key.ends_with(['0', '3', '6', '9']);
        let first: fn(&str) -> bool = |key| key < "run/000040";
        for together in [200, 501] {
            for (what, held, expected) in [("of ten four", third, 40), ("whole pages", first, 40)] {
                let (address, _reported) = DeletingServer { together, held, page: 10, ..PLAIN }.serve(numbered(100));
                let session = session(address, 20);
                let left = Bucket::connect(&session, 0)
                    .and_then(|mut bucket| bucket.sweep_up(false, &mut |_| Ok(())))
                    .unwrap();
                assert_eq!((left.objects, left.more), (expected, false), "{together}, {what}: {:?}", left.why);
                let why = left.why.unwrap().to_string();
                assert!(why.contains("(AccessDenied); check that these keys"), "{together}, {what}: {why}");
                // Of all pages, and not of the last.
                assert!(why.starts_with("40 of 40 deletions were refused"), "{together}, {what}: {why}");
            }
        }
        let (address, _reported) = DeletingServer { together: 501, held: third, ..PLAIN }.serve(numbered(100));
        let session = session(address, 20);
        let keys: Vec<_> = numbered(100).map(|key| (key, None)).collect();
        let refused = Bucket::connect(&session, 0).and_then(|mut bucket| bucket.delete_keys(&keys)).unwrap_err();
        assert!(refused.is_an_answer() && refused.is_denied(), "{refused}");
        let words = refused.to_string();
        assert!(
            words.starts_with("40 of 100 deletions were refused, the last of them: deleting \"run/000099\""),
            "{words}"
        );
    }

    #[test]
    fn a_target_that_refuses_everything_is_not_asked_for_ever() {
        let everything: fn(&str) -> bool = |_| true;
        let (address, reported) = DeletingServer { held: everything, ..PLAIN }.serve(numbered(15_000));
        let session = session(address, 20);
        let left = Bucket::connect(&session, 0).and_then(|mut bucket| bucket.sweep_up(false, &mut |_| Ok(()))).unwrap();
        assert_eq!((left.objects, left.more, count(&reported, "POST")), (15_000, false, REFUSED_MAX / DELETE_KEYS_MAX));
    }

    #[test]
    fn timed_a_target_that_is_too_busy_is_left_alone_for_longer_and_longer() {
        let everything: fn(&str) -> bool = |_| true;
        let (address, reported) =
            DeletingServer { together: 501, held: everything, refusal: 503, ..PLAIN }.serve(numbered(100));
        let session = self::session(address, 20);
        let begin = Instant::now();
        let left = Bucket::connect(&session, 0).and_then(|mut bucket| bucket.sweep_up(false, &mut |_| Ok(()))).unwrap();
        assert_eq!((left.objects, count(&reported, "DELETE")), (100, BUSY_MAX as usize), "{:?}", left.why);
        assert!(begin.elapsed() > Duration::from_secs(5), "{:?}", begin.elapsed());
    }

    #[test]
    fn what_is_left_is_deleted_to_its_end_or_until_whoever_waits_says_otherwise() {
        for (limit, left_objects) in [(u64::MAX, 0), (50, 150)] {
            let (address, _reported) = DeletingServer { together: 501, page: 10, ..PLAIN }.serve(numbered(200));
            let session = session(address, 20);
            let (mut requested, mut bucket) = (0, Bucket::connect(&session, 0).unwrap());
            let left = bucket.sweep_up(false, &mut |n| {
                requested += n;
                if requested < limit { Ok(()) } else { Err("that is enough".to_owned()) }
            });
            let left = left.unwrap();
            assert_eq!((left.objects, requested), (left_objects, limit.min(200)));
            let why = left.why.map(|why| why.to_string());
            assert_eq!(why.as_deref(), (limit < 200).then_some("that is enough"));
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
        let (address, reported) = DeletingServer { together: 500, ..PLAIN }.serve([]);
        let session = session(address, 5);
        let ids: Vec<_> = (0..400).map(|seq| (ObjectId { set: 0, seq }, 1)).collect();
        let refused = Bucket::connect(&session, 0).and_then(|mut bucket| bucket.delete(&ids)).unwrap_err();
        let words = refused.to_string();
        assert!(words.starts_with("400 of 400 deletions were refused, the last of them: deleting 1"), "{words}");
        let lines: Vec<_> = (0..2).map_while(|_| reported.recv_timeout(Duration::from_secs(120)).ok()).collect();
        assert!(lines.len() == 2 && lines.iter().all(|line| line.starts_with("POST")), "{lines:?}");
    }

    #[test]
    fn a_call_after_a_signal_deletes_what_five_seconds_leave_time_for() {
        let keys: Vec<_> = numbered(1000).map(|key| (key, None)).collect();
        for (is_raised, within_s, calls) in [(false, 60, 1..2), (true, 60, 4..6), (true, 2, 10..40)] {
            let (address, reported) = PLAIN.serve(numbered(1000));
            let session = session(address, 60);
            let flag = Arc::new(AtomicBool::new(is_raised));
            let shutdown_budget = ShutdownBudget::new(Arc::clone(&flag), Duration::from_secs(within_s));
            let mut bucket =
                Bucket::connect_heeding(&session, 0, &CancelToken::ShuttingDown(Arc::new(shutdown_budget))).unwrap();
            bucket.delete_keys(&keys).unwrap();
            let made = count(&reported, "POST");
            // The time that is left becomes less as it goes by.
            assert!(calls.contains(&made), "{is_raised}, {within_s}: {made}");
            flag.store(true, Ordering::Relaxed);
            assert!(bucket.deadline().limit() <= Duration::from_secs(5));
        }
    }

    #[test]
    fn deletions_end_with_the_time_that_a_signal_leaves_and_say_so() {
        let (address, _reported) = PLAIN.serve(numbered(10));
        let session = session(address, 60);
        let shutdown_budget = ShutdownBudget::new(Arc::new(AtomicBool::new(true)), Duration::from_secs(1));
        let bucket =
            Bucket::connect_heeding(&session, 0, &CancelToken::ShuttingDown(Arc::new(shutdown_budget))).unwrap();
        let keys: Vec<_> = numbered(10).map(|key| (key, None)).collect();
        // One deletion each minute is what it is held to.
        let error = bucket.held_to(Some(1.0 / 60.0)).delete_keys(&keys).unwrap_err();
        assert!(!error.is_an_answer(), "{error}");
        let words = error.to_string();
        assert!(words.ends_with("was given up at the end of the 1 s for calls after a signal"), "{words}");
    }
}
