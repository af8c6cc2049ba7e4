//! The load of a cell: a `linerate bench` in a process of its own, so that every cell has new connections.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use linerate_load::sigv4::{Credentials, KeyNames, Secret};
use linerate_record::load::Load;
use linerate_record::run::Op;
use linerate_record::units::Bytes;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};

use crate::commands::bench::flags::{BenchFlags, BenchParser, FlagSource};
use crate::commands::bench::resolve;
use crate::files::atomic_write;
use crate::files::local_state::NO_FOLLOW;
use crate::run::{interrupt, target_process};
use crate::terminal::failure::Failure;
use crate::terminal::key_masks;

/// Flags of bench that the experiment gives every cell, by the ids of the parser.
const RESERVED_FLAGS: [(&str, &str); 22] = [
    ("op", "--op"),
    ("obj_size", "--obj.size"),
    ("concurrent", "--concurrent"),
    ("time", "--time"),
    ("duration", "--duration"),
    ("warmup", "--warmup"),
    ("precision", "--precision"),
    ("autoterm", "--autoterm"),
    ("autoterm_dur", "--autoterm.dur"),
    ("autoterm_pct", "--autoterm.pct"),
    ("output", "--output"),
    ("json", "--json"),
    ("quiet", "--quiet"),
    ("rate", "--rate"),
    ("slo", "--slo"),
    ("abort_if", "--abort-if"),
    ("config", "--config"),
    ("description", "--description"),
    ("no_ceiling", "--no-ceiling"),
    ("dry_run", "--dry-run"),
    ("fleet", "--fleet"),
    ("noclear", "--noclear"),
];

/// Flags whose values every user of the machine could read in the arguments of the experiment, and readers in the
/// folder.
const SECRET_FLAGS: [(&str, &str); 2] = [("secret_key", "--secret-key"), ("session_token", "--session-token")];

/// Flags that no cell may be given, and what is said of each.
const REFUSED_FLAGS: [(&[(&str, &str)], &str); 2] = [
    (
        &SECRET_FLAGS,
        "would be in the arguments of every cell and in the folder: set AWS_SECRET_ACCESS_KEY or AWS_SESSION_TOKEN, or \
         name a --profile after --",
    ),
    (&RESERVED_FLAGS, "is set by the experiment: use --load, --settle, --measure and --output of the experiment"),
];

/// How often a process that goes on is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long a load that was told to end may take for clearing up: as bench waits for a target that does not answer.
const END_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a load may take beside its times, for preparing and clearing up, and a command of the user's.
pub(super) const OVERHEAD: Duration = Duration::from_secs(600);

/// How much of what a process said is looked at.
const LOG_BYTES_MAX: u64 = 64 << 10;

/// `--load`: what every cell loads, in a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoadFlag {
    /// The operation; none for a mix.
    pub(super) op: Option<Op>,
    pub(super) size: String,
    pub(super) concurrency: u32,
}

impl LoadFlag {
    /// As `--op` takes it.
    fn name(&self) -> &'static str {
        self.op.map_or("mixed", Op::name)
    }

    /// As `--load` takes it.
    pub(super) fn as_flag(&self) -> String {
        format!("{}:{}@{}", self.name(), self.size, self.concurrency)
    }

    /// Puts it into flags of bench: the load that they describe is this one.
    fn fill_flags(&self, flags: &mut BenchFlags) {
        let (op, size, concurrency) = (self.name().to_owned(), self.size.clone(), self.concurrency.to_string());
        (flags.work.op, flags.work.obj_size, flags.work.concurrent) = (op, Some(size), concurrency);
        flags.given.0.extend(["op", "obj_size", "concurrent"].map(|id| (id.to_owned(), FlagSource::Typed)));
    }

    /// Whether throughput is told in bytes.
    pub(super) fn moves_bytes(&self) -> bool {
        self.op.is_some_and(Op::moves_bodies)
    }
}

impl FromStr for LoadFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = |why: &str| format!("{why}: write OP:SIZE@N, such as get:4MiB@16");
        let (work, concurrency) = text.rsplit_once('@').ok_or_else(|| invalid("no number of requests in flight"))?;
        let (op, size) = work.split_once(':').ok_or_else(|| invalid("no size of objects"))?;
        let concurrency = concurrency
            .trim()
            .parse()
            .ok()
            .filter(|n| (1..=65_536).contains(n))
            .ok_or_else(|| invalid("not 1 to 65536 in flight"))?;
        let op = match (op.trim().to_ascii_lowercase().as_str(), op.parse()) {
            ("mixed", _) => None,
            (_, Ok(op)) if op != Op::Delete => Some(op),
            _ => return Err(invalid("no operation of get, put, multipart, stat, list and mixed")),
        };
        size.trim().parse::<Bytes>().map_err(|error| invalid(&error.to_string()))?;
        Ok(LoadFlag { op, size: size.trim().to_owned(), concurrency })
    }
}

/// Reads flags of bench as bench would with this load, so that what is wrong is told before anything begins.
pub(super) fn bench_flags(load: &LoadFlag, flags: &[String], read: BenchParser) -> Result<Box<BenchFlags>, Failure> {
    let words: Vec<OsString> =
        ["linerate", "bench"].into_iter().chain(flags.iter().map(String::as_str)).map(OsString::from).collect();
    read(&words, &|flags| {
        let refused: Vec<(&str, &str)> = REFUSED_FLAGS
            .iter()
            .flat_map(|(table, why)| table.iter().map(move |of| (of, why)))
            .filter(|((id, _), _)| flags.given.get(id).is_some())
            .map(|((_, flag), why)| (*flag, *why))
            .collect();
        load.fill_flags(flags);
        if refused.is_empty() {
            return resolve::check(flags).map(drop);
        }
        let checked = resolve::check(flags).err().map(Failure::mistakes).unwrap_or_default();
        // Of a flag that goes, nothing else is said.
        let stays = |text: &String| !refused.iter().any(|(flag, _)| text.split_whitespace().any(|word| word == *flag));
        let own = refused.iter().map(|(flag, why)| format!("{flag} {why}"));
        Err(Failure::from_errors(own.chain(checked.into_iter().filter(stays)).collect()))
    })
}

/// What came of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProcessEnd {
    /// Exit code; absent where a signal ended it.
    pub(super) code: Option<i32>,
    /// Its error, or the last line that it said.
    pub(super) last_message: String,
}

/// Loads, into a run folder, until its time is up or `stop` is set. The process is told its load on standard input and
/// its keys by its environment, and nothing else of either: its arguments are always the same.
///
/// `clients` are the flags by which the clients of a fleet load; without any, this machine does.
pub(super) fn run_bench(
    load: &Load,
    credentials: Option<&Credentials>,
    clients: &[String],
    folder: &Path,
    stop: &AtomicBool,
) -> Result<ProcessEnd, Failure> {
    let failed = |source| Failure::File { what: "start", path: PathBuf::from("linerate bench"), source };
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.args(["bench", "--description", "-", "--yes-load", "--no-ceiling", "--quiet", "--output"]).arg(folder);
    command.args(clients);
    target_process::remove_keys_from_environment(&mut command, std::env::vars_os().map(|(name, _)| name));
    if let Some(keys) = credentials {
        command.env("WARP_ACCESS_KEY", &keys.access_key).env("WARP_SECRET_KEY", keys.secret_key.reveal());
        command.envs(keys.session_token.as_ref().map(Secret::reveal).map(|token| ("WARP_SESSION_TOKEN", token)));
    }
    let description = serde_json::to_vec(load).map_err(|error| failed(error.into()))?;
    let warmup_ns = load.time.warmup_ns.0.unwrap_or(0);
    let most = Duration::from_nanos(warmup_ns.saturating_add(load.time.duration_ns)) + OVERHEAD;
    let ended = run_watched(command, Some(description), most, stop, &folder.with_extension("log"))?;
    let last_message = credentials
        .map_or_else(|| ended.last_message.clone(), |keys| with_key_sources(&ended.last_message, &keys.from));
    Ok(ProcessEnd { last_message, ..ended })
}

/// What a process said of its keys, with the names under which they were given here.
fn with_key_sources(last_message: &str, from: &KeyNames) -> String {
    let names = [&from.access_key, &from.secret_key, &from.session_token];
    let own = ["WARP_ACCESS_KEY", "WARP_SECRET_KEY", "WARP_SESSION_TOKEN"];
    own.iter().zip(names).fold(last_message.to_owned(), |last_message, (own, name)| last_message.replace(own, name))
}

/// Runs a command of the user's by the shell for so long at the most, with these variables besides its environment.
pub(super) fn run_shell(
    text: &str,
    environment: &[(&str, String)],
    log: &Path,
    most: Duration,
    stop: &AtomicBool,
) -> Result<ProcessEnd, Failure> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", text]).envs(environment.iter().map(|(name, value)| (name, value)));
    run_watched(command, None, most, stop, log)
}

/// Runs a process to its end, told by SIGINT to end early where `stop` is set or its time is over, and killed where it
/// does not. What it says goes to a file, which is removed again where it says nothing; `input` is what it is told.
fn run_watched(
    mut command: Command,
    input: Option<Vec<u8>>,
    most: Duration,
    stop: &AtomicBool,
    log: &Path,
) -> Result<ProcessEnd, Failure> {
    let failed = |source| Failure::File { what: "write", path: log.to_owned(), source };
    let mut options = File::options();
    let file = options.write(true).create(true).truncate(true).custom_flags(NO_FOLLOW).open(log).map_err(failed)?;
    // Ctrl-C on a terminal goes to the whole foreground group: what is started here is ended by the experiment.
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    command.process_group(0).stdin(stdin).stdout(file.try_clone().map_err(failed)?).stderr(file);
    let program = command.get_program().to_owned();
    let mut child =
        command.spawn().map_err(|source| Failure::File { what: "start", path: PathBuf::from(program), source })?;
    if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
        // One that has ended before it read says why by its end.
        let _ = stdin.write_all(&input);
    }
    let code = wait_until(&mut child, Instant::now() + most, stop).map_err(failed)?;
    let text = log_end(log);
    // What an error says goes before what follows it.
    let mut lines = text.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let last_message =
        lines.clone().find(|line| line.starts_with("error: ")).or_else(|| lines.next()).unwrap_or_default();
    let last_message = last_message.trim_start_matches("error: ").to_owned();
    if text.is_empty() {
        // It says nothing: what stays does no harm.
        let _ = std::fs::remove_file(log);
    }
    // A command of the user's says what it likes, and all of this is in the folder.
    if !text.is_empty() {
        mask_log(log).map_err(failed)?;
    }
    Ok(ProcessEnd { code, last_message: key_masks::mask_keys(&last_message) })
}

/// Longest part of a log that is looked at as one.
const PART_BYTES_MAX: u64 = 1 << 20;

/// Puts a log without keys in the place of one that holds any.
fn mask_log(log: &Path) -> std::io::Result<()> {
    let each = |take: &mut dyn FnMut(&[u8]) -> std::io::Result<bool>| {
        let (mut reader, mut part) = (BufReader::new(File::open(log)?), Vec::new());
        while reader.by_ref().take(PART_BYTES_MAX).read_until(b'\n', &mut part)? > 0 && take(&part)? {
            part.clear();
        }
        Ok::<_, std::io::Error>(())
    };
    let mut holds_key = false;
    each(&mut |part| {
        let text = String::from_utf8_lossy(part);
        holds_key = key_masks::mask_keys(&text) != text;
        Ok(!holds_key)
    })?;
    if !holds_key {
        return Ok(());
    }
    let mut masked = atomic_write::temporary_file(log.parent().unwrap_or(Path::new(".")))?;
    each(&mut |part| {
        masked.write_all(key_masks::mask_keys(&String::from_utf8_lossy(part)).as_bytes())?;
        Ok(true)
    })?;
    masked.as_file().set_permissions(log.metadata()?.permissions())?;
    masked.persist(log).map(drop).map_err(|error| error.error)
}

/// The end of a log, in which its last lines are: a command may say any amount.
fn log_end(log: &Path) -> String {
    let read = |mut file: File| {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LOG_BYTES_MAX)))?;
        let mut bytes = Vec::new();
        file.take(LOG_BYTES_MAX).read_to_end(&mut bytes)?;
        Ok::<_, std::io::Error>(String::from_utf8_lossy(&bytes).into_owned())
    };
    File::open(log).and_then(read).unwrap_or_default()
}

/// Whether a process has ended that is not waited for yet.
fn has_ended(child: &Child) -> std::io::Result<bool> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(Pid::from_child(child)), options)?.is_some())
}

fn wait_until(child: &mut Child, until: Instant, stop: &AtomicBool) -> std::io::Result<Option<i32>> {
    let mut killed_at = None;
    let group = Pid::from_child(child);
    loop {
        // It keeps its number until it is waited for, so that its group is no other's.
        if has_ended(child)? {
            if killed_at.is_some() {
                // What it started and did not end would go on beside what follows.
                let _ = kill_process_group(group, Signal::KILL);
            }
            let status = child.wait()?;
            return Ok(status.code().or_else(|| status.signal().map(|signal| 128 + signal)));
        }
        let now = Instant::now();
        match killed_at {
            None if interrupt::is_set(stop) || now >= until => {
                // The whole group: a shell may have started others.
                let _ = kill_process_group(group, Signal::INT).or_else(|_| kill_process(group, Signal::INT));
                killed_at = Some(now + END_TIMEOUT);
            }
            Some(at) if now >= at => child.kill()?,
            _ => {}
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::cli::parse::bench_flags as read;

    #[test]
    fn a_log_keeps_all_but_keys_and_stays_the_same_file_where_it_has_none() {
        use std::os::unix::fs::MetadataExt as _;

        key_masks::remember_secret("Key-of-this/log+1");
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("command.log");
        let number = || log.metadata().unwrap().ino();
        for (last_message, expected) in [
            ("\u{1b}[2J said\nand more", "\u{1b}[2J said\nand more"),
            ("a\nKey-of-this/log+1\nKey-of-this%2Flog%2b1", "a\n***\n***"),
        ] {
            std::fs::write(&log, last_message).unwrap();
            let before = number();
            mask_log(&log).unwrap();
            assert_eq!(std::fs::read_to_string(&log).unwrap(), expected);
            assert_eq!(number() == before, last_message == expected, "{last_message:?}");
        }
    }

    #[test]
    fn what_a_command_started_ends_with_it_where_it_is_ended_and_goes_on_where_it_ended_by_itself() {
        let folder = tempfile::tempdir().unwrap();
        let (log, stop) = (folder.path().join("command.log"), AtomicBool::new(false));
        // A background process of a shell ignores SIGINT.
        let ended = |text: &str, most: Duration| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", text]);
            run_watched(command, None, most, &stop, &log).map(|ended| ended.code).ok().flatten()
        };
        let left = |name: &str| folder.path().join(name);
        let later = |name: &str, then: &str| format!("(sleep 1; : > {}) & {then}", left(name).display());
        assert_ne!(ended(&later("cut", "wait"), Duration::from_millis(100)), Some(0));
        assert_eq!(ended(&later("whole", ":"), Duration::from_secs(20)), Some(0));
        std::thread::sleep(Duration::from_millis(1_500));
        assert_eq!((left("cut").exists(), left("whole").exists()), (false, true));
        // No link is followed.
        let (other, link) = (left("other"), left("link.log"));
        std::fs::write(&other, "as it was").unwrap();
        std::os::unix::fs::symlink(&other, &link).unwrap();
        assert!(run_watched(Command::new("/bin/true"), None, Duration::from_secs(9), &stop, &link).is_err());
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "as it was");
    }

    #[test]
    fn a_load_reads_as_people_write_it() {
        let load: LoadFlag = "get:4MiB@16".parse().unwrap();
        assert_eq!((load.op, load.size.as_str(), load.concurrency), (Some(Op::Get), "4MiB", 16));
        assert!(load.moves_bytes());
        assert_eq!("HEAD:1KiB@4".parse::<LoadFlag>().unwrap().op, Some(Op::Stat));
        let mixed: LoadFlag = "Mixed:1KiB@4".parse().unwrap();
        assert_eq!((mixed.as_flag().as_str(), mixed.moves_bytes()), ("mixed:1KiB@4", false));
        for text in ["get", "get:4MiB", "get:4MiB@0", "get:x@4", "delete:4KiB@4", "get@4", "get:4MiB@x"] {
            let error = text.parse::<LoadFlag>().unwrap_err();
            assert!(error.contains("get:4MiB@16"), "{text}: {error}");
        }
    }

    #[test]
    fn flags_of_bench_are_read_beforehand() {
        let load: LoadFlag = "get:64KiB@4".parse().unwrap();
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let flags = bench_flags(&load, &words("--host 127.0.0.1:9 --threads 1"), read).unwrap();
        assert_eq!((flags.target.host.as_deref(), flags.work.threads), (Some("127.0.0.1:9"), Some(1)));
        for (text, reported) in [
            ("--op put", "--op is set by the experiment"),
            ("--duration=9s", "--duration is set by the experiment"),
            ("--keep-data", "--noclear is set by the experiment"),
            ("--autoterm", "--autoterm is set by the experiment"),
            ("-oelsewhere", "--output is set by the experiment"),
            ("-q --threads x", "--quiet is set by the experiment"),
            ("--op put --threads x", "--op is set by the experiment"),
            ("--secret-key=abc", "AWS_SECRET_ACCESS_KEY"),
            ("--threads x", "flags of bench"),
        ] {
            let error = bench_flags(&load, &words(text), read).unwrap_err().to_string();
            assert!(error.contains(reported) && !error.contains("abc"), "{error}");
        }
        // Checks beside a mistake know the load too: parts are of uploads.
        let uploads: LoadFlag = "multipart:8MiB@4".parse().unwrap();
        let error = bench_flags(&uploads, &words("--part.size 5MiB --threads x"), read).unwrap_err().to_string();
        assert!(error.contains("--threads") && !error.contains("--part.size"), "{error}");
    }

    #[test]
    fn a_process_that_goes_on_too_long_is_ended_with_what_it_started() {
        // A job in the background of a shell begins with SIGINT ignored, and hands that on to what it starts. With a
        // handler, as every experiment has one, what it starts has the default.
        signal_hook::flag::register(signal_hook::consts::SIGINT, std::sync::Arc::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let environment = [("ROUND", "done".to_owned())];
        let ended =
            run_shell("echo $ROUND >&2; exit 3", &environment, &log, OVERHEAD, &AtomicBool::new(false)).unwrap();
        assert_eq!((ended.code, ended.last_message.as_str()), (Some(3), "done"));
        let stop = AtomicBool::new(false);
        let ended = std::thread::scope(|scope| {
            // A shell that is just starting another may lose the signal, and is killed a minute later.
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(500));
                stop.store(true, Ordering::Relaxed);
            });
            run_shell("sleep 100; true", &[], &log, OVERHEAD, &stop).unwrap()
        });
        assert_ne!(ended.code, Some(0), "{ended:?}");
    }
}
