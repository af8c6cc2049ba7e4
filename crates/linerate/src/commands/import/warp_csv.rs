//! warp's records: one request a line, separated by tabs, compressed with zstd. Read as a stream, twice: once to learn
//! what is there, once for the figures.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use jiff::Timestamp;
use linerate_analysis::imported_record::{BodySizes, ThreadSpan, Threads};
use linerate_load::hosts::HOSTS_MAX;
use linerate_record::units::Bytes;

use super::refused;
use super::tab_records::TabRecords;
use super::zstd_frames::{ZstdFrames, is_frame};
use crate::files::limited_read;
use crate::terminal::failure::Failure;

/// Most threads, hosts and operations that are told apart: what memory depends on.
const DISTINCT_MAX: usize = 100_000;

/// Most bytes of a body: objects of S3 have at most 50 TB.
const BYTES_MAX: u64 = 64 << 40;

/// Longest name of a thread, a host or an operation.
const NAME_BYTES_MAX: usize = 512;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WarpRequest<'a> {
    pub(super) op: &'a str,
    pub(super) host: &'a str,
    /// Empty where the request succeeded.
    pub(super) error: &'a str,
    pub(super) bytes: u64,
    /// Since the Unix epoch, as the others.
    pub(super) start_ns: i64,
    pub(super) first_byte_ns: Option<i64>,
    pub(super) end_ns: i64,
    thread: &'a str,
    client: &'a str,
    objects: u64,
}

/// What is in a file.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) rows: u64,
    /// Endpoints, in the order in which they come.
    pub(super) hosts: Vec<String>,
    /// Per operation and thread (of one of warp's clients).
    pub(super) threads_by_operation: BTreeMap<String, Threads>,
    /// Most objects of one request.
    pub(super) objects_per_request: u64,
    /// Per operation, what its successful requests moved.
    pub(super) sizes_by_operation: BTreeMap<String, BodySizes>,
    /// The last comment: the command that was run.
    comment: String,
}

impl Survey {
    /// The flags with which warp was called, where the file says so: `warp merge` writes its own in their place.
    pub(super) fn warp_flags(&self) -> WarpFlags {
        let mut words = self.comment.split(" --");
        let operation = words.next().and_then(|command| command.split_whitespace().next_back());
        let is_known = operation.is_some_and(|operation| operation != "merge");
        WarpFlags(is_known.then(|| words.map(str::to_owned).collect()))
    }
}

/// warp's flags, as `name=value`, where they are known. Not all of its secrets are blanked by warp, so that flags are
/// taken by name only.
pub(super) struct WarpFlags(Option<Vec<String>>);

impl WarpFlags {
    pub(super) fn get(&self, flag: &str) -> Option<&str> {
        self.0.iter().flatten().find_map(|word| word.strip_prefix(flag)?.strip_prefix('=')).map(str::trim)
    }

    pub(super) fn is_set(&self, flag: &str) -> bool {
        self.get(flag) == Some("true")
    }

    pub(super) const fn is_known(&self) -> bool {
        self.0.is_some()
    }
}

/// Reads what is in a file.
pub(super) fn survey(path: &Path) -> Result<Survey, Failure> {
    let mut survey = Survey::default();
    let (mut last_start_ns, mut threads) = (i64::MIN, 0);
    let mut whose = String::new();
    let comment = lines(path, |request| {
        if request.start_ns < last_start_ns {
            return Err("requests are not in the order of their start, as warp writes them".to_owned().into());
        }
        last_start_ns = request.start_ns;
        let names = [request.op, request.host, request.thread, request.client];
        if names.iter().any(|name| name.len() > NAME_BYTES_MAX) {
            return Err(format!("a name of more than {NAME_BYTES_MAX} bytes: warp has none").into());
        }
        survey.rows += 1;
        survey.objects_per_request = survey.objects_per_request.max(request.objects);
        if request.error.is_empty() {
            let body = BodySizes::one_body(request.bytes);
            match survey.sizes_by_operation.get_mut(request.op) {
                Some(sizes) => *sizes = sizes.with(body),
                None => {
                    survey.sizes_by_operation.insert(request.op.to_owned(), body);
                }
            }
        }
        if !survey.hosts.iter().any(|host| host == request.host) {
            if survey.hosts.len() == HOSTS_MAX {
                return Err(format!("more hosts than the {HOSTS_MAX} of one run").into());
            }
            survey.hosts.push(request.host.to_owned());
        }
        if !survey.threads_by_operation.contains_key(request.op) {
            survey.threads_by_operation.insert(request.op.to_owned(), BTreeMap::new());
        }
        whose.clear();
        whose.push_str(request.client);
        whose.push(' ');
        whose.push_str(request.thread);
        let Some(of_op) = survey.threads_by_operation.get_mut(request.op) else { return Ok(()) };
        if let Some(span) = of_op.get_mut(&whose) {
            span.add(request.start_ns, request.end_ns, request.bytes);
            return Ok(());
        }
        of_op.insert(whose.clone(), ThreadSpan::one_request(request.start_ns, request.end_ns, request.bytes));
        threads += 1;
        if threads + survey.hosts.len() > DISTINCT_MAX {
            return Err(format!("more than {DISTINCT_MAX} threads, operations and hosts: more than one run has").into());
        }
        Ok(())
    })?;
    survey.comment = comment;
    Ok(survey)
}

/// Hands on each request in order.
pub(super) fn for_each_request(
    path: &Path,
    mut take: impl FnMut(&WarpRequest<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    lines(path, |request| take(request).map_err(ReadStop::Failed)).map(|_| ())
}

/// Why reading stops: something about the line, or something else.
enum ReadStop {
    Line(String),
    Failed(Failure),
}

impl From<String> for ReadStop {
    fn from(why: String) -> Self {
        ReadStop::Line(why)
    }
}

/// Reads a file line by line; returns its last comment.
fn lines(path: &Path, mut take: impl FnMut(&WarpRequest<'_>) -> Result<(), ReadStop>) -> Result<String, Failure> {
    let failed = |source| Failure::File { what: "read", path: path.to_owned(), source };
    // It is read twice, so that a pipe will not do, and none is waited for.
    let mut file = limited_read::open_without_waiting(path).map_err(failed)?;
    let mut magic = [0; 4];
    let read = file.read(&mut magic).map_err(failed)?;
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    let packed_bytes = file.metadata().map_err(failed)?.len();
    let file = BufReader::with_capacity(1 << 18, file);
    let input: Box<dyn BufRead> = if is_frame(&magic[..read]) {
        let frames =
            ZstdFrames::new(file, packed_bytes).map_err(|error| refused(path, &format!("no zstd: {error}")))?;
        Box::new(BufReader::with_capacity(1 << 16, frames))
    } else {
        Box::new(file)
    };
    let (mut comment, mut columns) = (String::new(), None::<ColumnIndexes>);
    let mut record = TabRecords::new(input);
    loop {
        let at = record.next_line();
        let reported = |why: &str| Failure::Usage(format!("{}:{at}: {why}", path.display()));
        match record.read(columns.as_ref().and_then(|columns| columns.file)) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) if error.kind() == ErrorKind::FileTooLarge => return Err(reported(&error.to_string())),
            Err(error) => return Err(reported(&format!("not readable, or cut off: {error}"))),
        }
        let first = record.field(0).unwrap_or_default();
        if let Some(text) = first.strip_prefix("# ") {
            text.clone_into(&mut comment);
            continue;
        }
        let Some(columns) = &columns else {
            columns = Some(ColumnIndexes::read(&record).map_err(|why| reported(&why))?);
            continue;
        };
        let request = columns.request(&record).map_err(|why| reported(&why))?;
        take(&request).map_err(|stop| match stop {
            ReadStop::Line(why) => reported(&why),
            ReadStop::Failed(failure) => failure,
        })?;
    }
    match columns {
        Some(_) => Ok(comment),
        None => Err(refused(path, "it is empty")),
    }
}

/// Where each column stands.
struct ColumnIndexes {
    op: usize,
    bytes: usize,
    error: usize,
    start: usize,
    first_byte: usize,
    end: usize,
    thread: usize,
    objects: usize,
    // Of newer versions of warp alone.
    host: Option<usize>,
    client: Option<usize>,
    /// The one that warp writes as it is: a quote in it is a part of a key.
    file: Option<usize>,
}

impl ColumnIndexes {
    fn read(names: &TabRecords<impl BufRead>) -> Result<Self, String> {
        let find = |name: &str| (0..names.len()).find(|at| names.field(*at) == Some(name));
        if names.field(0).is_some_and(|first| first.starts_with('{')) {
            return Err("aggregated figures of warp, whose percentiles cannot be merged: measure with warp's --full, \
                        which writes .csv.zst"
                .to_owned());
        }
        let must = |name: &str| {
            find(name).ok_or_else(|| format!("no column {name:?}: give the .csv.zst that warp writes with --full"))
        };
        Ok(ColumnIndexes {
            op: must("op")?,
            bytes: must("bytes")?,
            error: must("error")?,
            start: must("start")?,
            first_byte: must("first_byte")?,
            end: must("end")?,
            thread: must("thread")?,
            objects: must("n_objects")?,
            host: find("endpoint"),
            client: find("client_id"),
            file: find("file"),
        })
    }

    fn request<'a>(&self, record: &'a TabRecords<impl BufRead>) -> Result<WarpRequest<'a>, String> {
        let field = |at: usize| record.field(at).ok_or_else(|| format!("{} fields, too few", record.len()));
        let number = |at: usize, what: &str| {
            let text = field(at)?;
            text.parse::<u64>().map_err(|_| format!("{what} {text:?} is not a whole number"))
        };
        let time = |at: usize| {
            let text = field(at)?;
            let parsed = text.parse::<Timestamp>().ok().and_then(|t| i64::try_from(t.as_nanosecond()).ok());
            parsed.ok_or_else(|| format!("{text:?} is not a time such as 2026-01-31T12:00:00.5Z"))
        };
        let first_byte_ns = if field(self.first_byte)?.is_empty() { None } else { Some(time(self.first_byte)?) };
        let (start_ns, end_ns) = (time(self.start)?, time(self.end)?);
        if end_ns < start_ns {
            return Err("a request ends before it starts".to_owned());
        }
        let bytes = number(self.bytes, "bytes")?;
        if bytes > BYTES_MAX {
            return Err(format!("bytes {bytes}: no object of S3 has more than {}", Bytes(BYTES_MAX)));
        }
        let host = self.host.map_or(Ok(""), field)?;
        Ok(WarpRequest {
            op: field(self.op)?,
            host: host.split_once("://").map_or(host, |(_, host)| host).trim_end_matches('/'),
            error: field(self.error)?,
            bytes,
            start_ns,
            // A clock that was set could put it outside.
            first_byte_ns: first_byte_ns.map(|ns| ns.clamp(start_ns, end_ns)),
            end_ns,
            thread: field(self.thread)?,
            client: self.client.map_or(Ok(""), field)?,
            objects: number(self.objects, "n_objects")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\tstart\tfirst_byte\tend\t\
                        duration_ns\tcat\n";

    fn read(text: &str) -> Result<Survey, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let name = file.path().display().to_string();
        survey(file.path()).map_err(|error| error.to_string().replace(&name, "F"))
    }

    fn line(start: &str, error: &str) -> String {
        format!("0\t3\tGET\tab\t1\t10\thttp://h:9000\tk\t{error}\t{start}\t\t2026-01-01T00:00:09.5+00:00\t1\t0\n")
    }

    #[test]
    fn lines_of_warp_are_read_with_their_flags() {
        let (a, b) = (line("2026-01-01T00:00:01Z", ""), line("2026-01-01T01:00:02.25+01:00", "\"so\"\"me\nerror\""));
        let comment = "# warp get --host=h:9000 --secret-key=*REDACTED* --obj.size=10 --region=\n";
        let survey = read(&[HEAD, &a, &b, comment].concat()).unwrap();
        assert_eq!((survey.rows, survey.hosts.as_slice()), (2, ["h:9000".to_owned()].as_slice()));
        let span = survey.threads_by_operation["GET"]["ab 3"];
        assert_eq!((span.last_start_ns - span.first_start_ns, span.longest_ns), (1_250_000_000, 8_500_000_000));
        let warp_flags = survey.warp_flags();
        assert_eq!(
            (warp_flags.get("obj.size"), warp_flags.get("region"), warp_flags.get("objects")),
            (Some("10"), Some(""), None)
        );
    }

    #[test]
    fn what_is_no_such_file_is_told_with_its_line() {
        let good = line("2026-01-01T00:00:01Z", "");
        for (text, expected) in [
            (String::new(), "F: it is empty"),
            ("{\n  \"v\": 1\n}".to_owned(), "F:1: aggregated figures of warp"),
            ("a\tb\n".to_owned(), "F:1: no column \"op\": give the .csv.zst"),
            ([HEAD, &good, "1\t2\n"].concat(), "F:3: 2 fields, too few"),
            ([HEAD, &line("yesterday", "")].concat(), "F:2: \"yesterday\" is not a time"),
            ([HEAD, &good, &line("2026-01-01T00:00:00Z", "")].concat(), "F:3: requests are not in the order"),
            ([HEAD, &line("2026-01-01T00:01:00Z", "")].concat(), "F:2: a request ends before it starts"),
            (
                [HEAD, &good, &good.replace("\t10\t", "\t9223372036854775807\t")].concat(),
                "F:3: bytes 9223372036854775807: no object",
            ),
            ("\u{28}\u{fffd}".to_owned(), "F:1: no column"),
        ] {
            let error = read(&text).map(|s| s.rows).expect_err(&text);
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }
}
