//! Readings, gathered or replayed.

use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use linerate_prometheus::name_map::NameMap;
use linerate_prometheus::series_table::{NAMES, rows};
use linerate_prometheus::{GatheredWindow, PrometheusAccess, PrometheusRequest, PrometheusServer, gather};
use linerate_record::readings::Readings;
use linerate_record::site::Site;
use linerate_wire::deadline::CancelToken;
use linerate_wire::tls::{TlsClient, words};

use super::source_flags::SourceFlags;
use super::time_arguments::parse_instant;
use super::{anonymized, live_readings};
use crate::credentials::tls_trust;
use crate::files::{limited_read, output_file};
use crate::terminal::failure::{Failure, code};
use crate::terminal::key_masks;
use crate::terminal::progress::{Progress, print_error};

/// For how long a log is told nothing of what is asked for.
const SILENT_FOR: Duration = Duration::from_secs(1);

/// Largest file of a token or a password.
const SECRET_BYTES_MAX: u64 = 64 << 10;

/// Largest file of readings: 484 machines with 60 series each at 240 instants have some 60 MB.
const READINGS_BYTES_MAX: u64 = 1 << 30;

/// Shortest window, in milliseconds.
const WINDOW_MIN_MS: i64 = 5_000;

/// The instants of --from and --to, in milliseconds since 1970, or everything that is wrong with them.
fn window_ends(flags: &SourceFlags, now: Timestamp) -> Result<[Option<i64>; 2], Failure> {
    let zone = TimeZone::system();
    let read = |flag: &str, text: Option<&str>| {
        let wrong = |why: String| Failure::usage(format!("invalid value for --{flag}: {why}"));
        text.map(|text| parse_instant(text, now, &zone).map_err(wrong)).transpose()
    };
    match (read("from", flags.from.as_deref()), read("to", flags.to.as_deref())) {
        (Ok(from), Ok(to)) => Ok([from, to]),
        (from, to) => Err(Failure::combine([from.err(), to.err()])),
    }
}

/// The window that the flags ask for, or everything that is wrong with it.
fn gathered_window(flags: &SourceFlags) -> Result<GatheredWindow, Failure> {
    let now = Timestamp::now();
    let [from, to] = window_ends(flags, now)?;
    let (from_unix_ms, to_unix_ms) = (from.unwrap_or(0), to.unwrap_or(now.as_millisecond()));
    if to_unix_ms - from_unix_ms < WINDOW_MIN_MS {
        let (from, to) = (flags.from.as_deref().unwrap_or_default(), flags.to.as_deref().unwrap_or("now"));
        let least_s = WINDOW_MIN_MS / 1000;
        return Err(Failure::usage(format!(
            "--from {from:?} is not {least_s} s before --to {to:?}: give a window of some minutes that holds the load"
        )));
    }
    let step_ms = flags.step.map(|step| u64::try_from(step.as_millis()).unwrap_or(u64::MAX));
    Ok(GatheredWindow { from_unix_ms, to_unix_ms, step_ms })
}

/// What is wrong with the window of the flags, before anything is read.
pub(crate) fn check_window(flags: &SourceFlags) -> Result<(), Failure> {
    if flags.prometheus.is_some() {
        gathered_window(flags).map(drop)
    } else {
        window_ends(flags, Timestamp::now()).map(drop)
    }
}

/// Readings, from wherever the flags say, and whether a signal ended them before their time.
pub(crate) fn readings(flags: &SourceFlags, site: &Site) -> Result<(Readings, bool), Failure> {
    if let Some(path) = &flags.replay {
        let mut readings = read_recording(path)?;
        let [from, to] = window_ends(flags, Timestamp::now())?;
        let wrong =
            |why: String| Failure::usage(format!("--from and --to hold too little of {}: {why}", path.display()));
        readings.narrow(from, to).map_err(wrong)?;
        return Ok((readings, false));
    }
    flags.record.as_deref().map_or(Ok(()), output_file::check_output)?;
    let (mut readings, is_cut) = if flags.live {
        live_readings::watch_nodes(flags, site)?
    } else {
        (gather_from_prometheus(flags, site)?, false)
    };
    // What is judged is what a replay of the record would read.
    readings.leave_out_impossible();
    readings.check().map_err(|why| {
        let why = format!("what was read cannot be judged: {why}: ask for fewer machines, or for a shorter window");
        Failure::Outcome { why, code: code::TARGET }
    })?;
    if let Some(path) = &flags.record {
        output_file::write_output(path, record_text(&readings, flags.mask)?.as_bytes(), 0o600)?;
    }
    Ok((readings, is_cut))
}

/// Readings as a file keeps them: without the keys in use, which who is asked may have put into a label.
fn record_text(readings: &Readings, is_masked: bool) -> Result<String, Failure> {
    // Of 484 nodes it is some 170 MB: there is one copy of it, and none of the readings, if no key is in it.
    let text = if is_masked {
        serde_json::to_string(&anonymized::mask_readings(readings))
    } else {
        serde_json::to_string(readings)
    };
    let mut text = text.map_err(|error| Failure::usage(error.to_string()))?;
    let without = match key_masks::mask_where_harmless(&text) {
        Cow::Owned(without) => Some(without),
        Cow::Borrowed(_) => None,
    };
    text = without.unwrap_or(text);
    text.push('\n');
    Ok(text)
}

/// Readings that a Prometheus has.
fn gather_from_prometheus(flags: &SourceFlags, site: &Site) -> Result<Readings, Failure> {
    let window = gathered_window(flags)?;
    let requested = prometheus_request(flags)?;
    let mut server = PrometheusServer::new(requested)?;
    let expressions: Vec<&str> =
        rows().map(|row| row.expression).chain(NAMES.iter().map(|row| row.expression)).collect();
    let names = metric_names(flags, &expressions);
    let all = rows().filter(|row| row.exporter.is_for_product(site.engine.product)).count();
    let (progress, begun, mut requested) = (Progress::new(Duration::from_secs(all as u64), false), Instant::now(), 0);
    let found = gather(&mut server, window, &names, site.engine.product, |metric| {
        requested += 1;
        progress.step(1_000);
        let what = format!("asking for {metric} ({requested} of {all})");
        // A log has no use for what is over at once.
        if begun.elapsed() < SILENT_FOR { progress.live(&what) } else { progress.goes_on(&what, false) }
    });
    progress.end();
    Ok(found?)
}

fn read_recording(path: &Path) -> Result<Readings, Failure> {
    let bytes = limited_read::read_named(path, READINGS_BYTES_MAX).map_err(|source| Failure::File {
        what: "read",
        path: path.to_owned(),
        source,
    })?;
    let wrong = |why: String| Failure::usage(format!("{} is no file of readings: {why}", path.display()));
    let readings: Readings = serde_json::from_slice(&bytes)
        .map_err(|error| wrong(format!("{error}: write one with --prometheus URL or --live, and --record FILE")))?;
    readings.check().map_err(wrong)?;
    Ok(readings)
}

/// What to ask whom, with secrets out of their files.
fn prometheus_request(flags: &SourceFlags) -> Result<PrometheusRequest, Failure> {
    let address = flags.prometheus.clone().ok_or_else(|| Failure::usage("no --prometheus"))?;
    let SourceAccess { access, headers, tls } = source_access(flags)?;
    Ok(PrometheusRequest {
        address,
        access,
        headers,
        tls,
        timeout: flags.timeout,
        cancel: CancelToken::Stop(Arc::default()),
    })
}

/// What shows whoever is asked that this may be, and whom to believe.
pub(super) struct SourceAccess {
    pub(super) access: PrometheusAccess,
    pub(super) headers: Vec<(String, String)>,
    pub(super) tls: TlsClient,
}

/// Those of the flags, with secrets out of their files.
pub(super) fn source_access(flags: &SourceFlags) -> Result<SourceAccess, Failure> {
    let access = match (&flags.bearer_file, &flags.user, &flags.password_file) {
        (Some(path), ..) => PrometheusAccess::Bearer(read_secret("bearer-file", path)?),
        (None, Some(user), Some(path)) => {
            if user.contains(':') || user.chars().any(char::is_control) {
                return Err(Failure::usage(format!("{user:?} of --user has a colon or a control character")));
            }
            PrometheusAccess::Basic { user: user.clone(), password: read_secret("password-file", path)? }
        }
        _ => PrometheusAccess::Open,
    };
    let mut headers = Vec::new();
    for given in &flags.header {
        headers.extend(self::headers(given)?);
    }
    // It is read once: a pipe of a shell has nothing a second time. That it cannot be is a failure of this machine.
    let trust = match &flags.ca_file {
        Some(path) => {
            tls_trust::trust_of_file(path, &unread(path, limited_read::read_named(path, tls_trust::PEM_BYTES_MAX))?)?
        }
        None => tls_trust::find_trust(flags.insecure, None)?,
    };
    let tls = TlsClient::new(trust).map_err(|error| Failure::usage(words(&error)))?;
    Ok(SourceAccess { access, headers, tls })
}

/// Names of metrics and labels that the flags give; what of it does nothing is told.
pub(super) fn metric_names(flags: &SourceFlags, expressions: &[&str]) -> NameMap {
    let names = NameMap::new(flags.map.clone(), &flags.select);
    for name in names.idle(expressions) {
        print_error(&format!("note: --map {name}=… does nothing: no query has that name"));
    }
    names
}

/// The one line of a file, which nothing prints from now on.
fn read_secret(flag: &str, path: &Path) -> Result<String, Failure> {
    let place = path.display();
    let text = unread(path, limited_read::read_text(path, SECRET_BYTES_MAX))?;
    let text = text.trim();
    if text.is_empty() {
        return Err(Failure::usage(format!("--{flag} {place} is empty: write the secret into it")));
    }
    if text.chars().any(|c| c.is_control() || !c.is_ascii()) {
        return Err(Failure::usage(format!(
            "--{flag} {place} has more than one line, or what is not ASCII: write the secret alone into it"
        )));
    }
    key_masks::remember_secret(text);
    Ok(text.to_owned())
}

/// What was read of a file, or that it could not be.
fn unread<T>(path: &Path, read: io::Result<T>) -> Result<T, Failure> {
    read.map_err(|source| Failure::File { what: "read", path: path.to_owned(), source })
}

/// Headers of one flag: `Name: value`, or a line each of `@FILE`.
fn headers(given: &str) -> Result<Vec<(String, String)>, Failure> {
    let text = match given.strip_prefix('@') {
        Some(path) => unread(Path::new(path), limited_read::read_text(Path::new(path), SECRET_BYTES_MAX))?,
        None => given.to_owned(),
    };
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(header).collect()
}

fn header(line: &str) -> Result<(String, String), Failure> {
    let fix = "write \"Name: value\", such as \"X-Scope-OrgID: tenant\"";
    let (name, value) = line.split_once(':').ok_or_else(|| Failure::usage(format!("no colon in a --header: {fix}")))?;
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    let value = value.trim();
    if name.is_empty() || !name.chars().all(is_token) || value.chars().any(|c| c.is_control() || !c.is_ascii()) {
        return Err(Failure::usage(format!("a --header has what no header has: {fix}")));
    }
    const RESERVED_HEADERS: [&str; 6] =
        ["host", "content-length", "content-type", "connection", "transfer-encoding", "accept-encoding"];
    if RESERVED_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
        return Err(Failure::usage(format!("linerate sets {name:?} itself: leave that --header out")));
    }
    if !value.is_empty() {
        key_masks::remember_secret(value);
    }
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use linerate_record::readings::{READINGS_SCHEMA, ReadMeasure, ReadSeries};
    use linerate_record::sanitize;

    use super::*;

    #[test]
    fn no_secret_is_in_a_record_and_it_can_be_replayed() {
        const SECRET: &str = "Token-of-this/record+1";
        key_masks::remember_secret(SECRET);
        let base64 = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, SECRET);
        let series = [SECRET, &base64].map(|name| ReadSeries {
            of: ReadMeasure::ClientSent,
            machine: format!("h-{name}"),
            part: name.to_owned(),
            values: vec![Some(1.5)],
        });
        let readings = Readings {
            schema: READINGS_SCHEMA,
            step_ms: 1_000,
            steps: 1,
            series: series.into(),
            remarks: vec![format!("it said {SECRET}")],
            ..Readings::default()
        };
        for is_masked in [false, true] {
            let text = record_text(&readings, is_masked).unwrap();
            assert!(!text.contains("Token-of-this") && !text.contains(base64.trim_end_matches('=')), "{text}");
            assert_eq!(serde_json::from_str::<Readings>(&text).unwrap().check(), Ok(()));
        }
        assert!(record_text(&readings, false).unwrap().contains(sanitize::MASK));
    }

    #[test]
    fn headers_are_read_as_curl_reads_them_and_none_is_smuggled_in() {
        let read = |text: &str| headers(text).map_err(|failure| failure.to_string());
        assert_eq!(read("X-Scope-OrgID: a"), Ok(vec![("X-Scope-OrgID".to_owned(), "a".to_owned())]));
        for text in ["X-A", ": a", "X A: b", "X-A: b\u{7f}c", "Host: elsewhere", "content-length: 3"] {
            let why = read(text).unwrap_err();
            assert!(why.contains("--header"), "{text}: {why}");
        }
    }
}
