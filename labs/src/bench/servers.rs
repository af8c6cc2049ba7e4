//! The two targets and the scratch folder. All are gone when the bench ends, however it ends: each server waits on a
//! pipe from the bench, and the shell that holds MinIO removes the folder.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::Failure;
use super::options::{Cell, Op, Options, TargetKind};
use super::programs::output;
use super::store;
use crate::process::Running;

const START_LIMIT: Duration = Duration::from_secs(30);
const GIB: u64 = 1 << 30;
/// No client here is expected to write faster, and MinIO keeps twice the bytes on four folders.
const WRITE_BYTES_PER_S_MAX: u64 = 3 * GIB / 2;
const COPIES: u64 = 2;
/// What objects to GET take, and room to spare.
const FLOOR_BYTES: u64 = 4 * GIB;

/// Waits for the bench to end, then ends the server and removes the folder.
const KEEPER: &str = r#"
trap : INT TERM HUP
"$@" >"$SCRATCH/server.log" 2>&1 &
server=$!
echo "$server"
cat >/dev/null
kill "$server"
wait "$server"
rm -rf "${SCRATCH:?}"
"#;

/// A new folder of its own, removed at the end.
pub(super) struct Scratch {
    pub(super) path: PathBuf,
}

/// Keys made up for one bench.
pub(super) struct Keys {
    pub(super) access: String,
    pub(super) secret: String,
}

/// One MinIO over four folders of the scratch folder.
pub(super) struct MinIo {
    pub(super) addr: SocketAddr,
    pub(super) pid: u32,
    pub(super) keys: Keys,
    pub(super) drives: Vec<PathBuf>,
    keeper: Child,
    leash: Option<ChildStdin>,
}

pub(crate) struct Null {
    pub(crate) addr: SocketAddr,
    pub(super) pid: u32,
    _running: Running,
}

impl Scratch {
    /// In `place`, or in memory where that has room for so many bytes, else in the temporary folder.
    pub(super) fn create(place: Option<&Path>, need_bytes: u64) -> Result<Scratch, Failure> {
        let place = match place {
            Some(place) => place.to_owned(),
            None => {
                let memory = Path::new("/dev/shm");
                let fits = free_bytes(memory).is_ok_and(|free| free >= need_bytes)
                    && memory_available_bytes().is_some_and(|free| free >= need_bytes + FLOOR_BYTES);
                if fits { memory.into() } else { std::env::temp_dir() }
            }
        };
        let template = place.join("linerate-bench.XXXXXX").display().to_string();
        let scratch = Scratch { path: PathBuf::from(output("mktemp", &["-d", &template])?) };
        scratch.require(need_bytes)?;
        Ok(scratch)
    }

    /// That a client may write here as fast as it can for as long as it will.
    pub(super) fn require_room(&self, cell: Cell, options: &Options) -> Result<(), Failure> {
        let writes = cell.target == TargetKind::MinIo && cell.op == Op::Put;
        if writes { self.require(need_bytes(options) - FLOOR_BYTES) } else { Ok(()) }
    }

    fn require(&self, need: u64) -> Result<(), Failure> {
        let free = free_bytes(&self.path)?;
        if free < need {
            let (free, need) = (free / GIB, need.div_ceil(GIB));
            let place = self.path.display();
            return Err(format!(
                "{place} has {free} GiB free and {need} are needed: name another place with --data, or fewer --seconds"
            )
            .into());
        }
        Ok(())
    }

    /// Such as `tmpfs` or `ext2/ext3`.
    pub(super) fn file_system(&self) -> Option<String> {
        output("stat", &["-f", "-c", "%T", &self.path.display().to_string()]).ok()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The keeper may have removed it already, and what cannot be removed is not worth a panic.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// What a bench takes at most.
pub(super) fn need_bytes(options: &Options) -> u64 {
    FLOOR_BYTES + (options.seconds + 1) * WRITE_BYTES_PER_S_MAX * COPIES
}

fn free_bytes(place: &Path) -> Result<u64, Failure> {
    let text = output("df", &["-B1", "--output=avail", &place.display().to_string()])?;
    Ok(text.lines().last().unwrap_or_default().trim().parse()?)
}

fn memory_available_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? << 10)
}

impl Keys {
    fn random() -> Result<Keys, Failure> {
        let mut bytes = [0u8; 30];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Keys { access: hex[..20].into(), secret: hex[20..].into() })
    }
}

impl MinIo {
    pub(super) fn start(program: &Path, scratch: &Scratch) -> Result<MinIo, Failure> {
        let keys = Keys::random()?;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let drives: Vec<PathBuf> = (1..=4).map(|i| scratch.path.join(format!("d{i}"))).collect();
        let mut command = Command::new("sh");
        command.args(["-c", KEEPER, "sh"]).arg(program).args(["server", "--quiet", "--address", &addr.to_string()]);
        command.args(&drives).env("SCRATCH", &scratch.path);
        // Four folders of one drive are refused without the first.
        command.envs([("MINIO_CI_CD", "1"), ("MINIO_BROWSER", "off"), ("MINIO_UPDATE", "off")]);
        command.env("MINIO_PROMETHEUS_AUTH_TYPE", "public");
        command.envs([("MINIO_ROOT_USER", &keys.access), ("MINIO_ROOT_PASSWORD", &keys.secret)]);
        let mut keeper = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let leash = keeper.stdin.take();
        let pid = first_line(&mut keeper)?.parse()?;
        let minio = MinIo { addr, pid, keys, drives, keeper, leash };
        let began = Instant::now();
        while !store::is_ready(addr) {
            if began.elapsed() > START_LIMIT {
                let log = fs::read_to_string(scratch.path.join("server.log")).unwrap_or_default();
                return Err(format!("minio does not answer: {}", log.lines().last().unwrap_or("no message")).into());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(minio)
    }
}

impl Drop for MinIo {
    fn drop(&mut self) {
        self.leash = None;
        // The keeper ends by itself once the leash is gone.
        let _ = self.keeper.wait();
    }
}

impl Null {
    pub(crate) fn start(linerate: &Path, tls: bool) -> Result<Null, Failure> {
        let mut command = Command::new(linerate);
        command.args(["target", "null", "--listen", "127.0.0.1:0"]).args(tls.then_some("--tls"));
        let mut running = Running(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?);
        let line = first_line(&mut running.0)?;
        let addr = line.strip_prefix("listening ").and_then(|addr| addr.trim().parse().ok());
        let addr = addr.ok_or_else(|| format!("the null target said {line:?} where it should say where it listens"))?;
        Ok(Null { addr, pid: running.0.id(), _running: running })
    }
}

/// The first line that a child prints; it is not waited for longer than a start may take.
fn first_line(child: &mut Child) -> Result<String, Failure> {
    let stdout = child.stdout.take().ok_or("the child has no standard output")?;
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(stdout);
        let mut line = String::new();
        let read = reader.read_line(&mut line).map(|_| line.trim().to_owned());
        // Nobody waits any more where this fails.
        let _ = send.send(read);
        // Keeps the pipe open for as long as the child has something to say.
        let _ = std::io::copy(&mut reader, &mut std::io::sink());
    });
    Ok(receive.recv_timeout(START_LIMIT).map_err(|_| "a server did not start in 30 s")??)
}
