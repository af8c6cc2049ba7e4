//! `cargo labs soak`: linerate under a steady mixed load on MinIO for an hour. Its memory stays level, and what it
//! counts is what the server counts.
//!
//! Each sample is written to `samples.jsonl` as it is taken. All traffic stays on 127.0.0.1.

mod options;
mod sample;
mod verdict;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Failure;
use super::machine;
use super::programs;
use super::servers::{MinIo, Scratch};
use super::store::{self, SCRATCH_BUCKET};
use crate::Outcome;
use crate::process::Running;
use options::Options;
use sample::{Counts, RunFolder, Sample};
use verdict::PreparedObjects;

/// Requests in flight; each may be in the server's counters and in no figure when the run ends.
const CONCURRENCY: u64 = 8;
const SIZE_BYTES_MAX: u64 = 256 << 10;
/// Objects to read, written beforehand.
const OBJECTS: u64 = 200;
/// Deletions keep up with writes but for chance, and what MinIO moves aside is freed with each sample.
const DATA_BYTES: u64 = 4 << 30;
/// Start, objects to read, and the report.
const ALLOWANCE: Duration = Duration::from_secs(120);
/// MinIO keeps its figures for some seconds, and those of buckets longer.
const SETTLE_LIMIT: Duration = Duration::from_secs(60);

/// Programs of a soak.
struct Soak {
    options: Options,
    root: PathBuf,
    linerate: PathBuf,
    minio_program: PathBuf,
    scratch: Scratch,
}

/// Soaks, prints, and fails where a bound is missed.
pub(crate) fn run(args: &[String]) -> Outcome {
    if args.iter().any(|arg| arg == "--help") {
        println!("{}", options::USAGE);
        return Ok(ExitCode::SUCCESS);
    }
    let options = Options::parse(args)?;
    let (root, target) = programs::folders()?;
    let minio_program = programs::minio(&target)?;
    let linerate = match &options.linerate {
        Some(path) => path.clone(),
        None => {
            programs::build(&root, &["linerate"])?;
            target.join("release/linerate")
        }
    };
    let out = match &options.out {
        Some(out) => out.clone(),
        None => root.join("runs").join(format!("soak-{}", programs::output("date", &["+%Y-%m-%d-%H%M"])?)),
    };
    if out.exists() {
        return Err(format!("{} exists: name another folder with --out", out.display()).into());
    }
    let scratch = Scratch::create(options.data.as_deref(), DATA_BYTES)?;
    let soak = Soak { options, root, linerate, minio_program, scratch };
    let passed = soak.run(&out)?;
    eprintln!("soak: everything is in {}", out.display());
    Ok(crate::success_if(passed))
}

impl Soak {
    fn run(&self, out: &Path) -> Result<bool, Failure> {
        let minio = MinIo::start(&self.minio_program, &self.scratch)?;
        store::make_bucket(&minio, SCRATCH_BUCKET)?;
        fs::create_dir_all(out)?;
        fs::write(out.join("machine.json"), serde_json::to_string_pretty(&self.describe(&minio))? + "\n")?;
        let mut lines = File::create(out.join("samples.jsonl"))?;
        let samples = self.load(&minio, |sample| Ok(writeln!(lines, "{}", sample.to_json())?))?;

        let client = RunFolder::new(&self.run_folder()).counts()?;
        let server = settled(&minio)?;
        let beforehand = self.beforehand(&minio)?;
        let left = self.clean(&minio)?;
        let summary = verdict::summarize(&self.options, &samples, &client, &server, &beforehand, left);
        fs::write(out.join("summary.md"), &summary.text)?;
        println!("{}", summary.text);
        Ok(summary.passed)
    }

    /// Runs linerate to its end and takes samples meanwhile.
    fn load(
        &self,
        minio: &MinIo,
        mut record: impl FnMut(&Sample) -> Result<(), Failure>,
    ) -> Result<Vec<Sample>, Failure> {
        let said = self.scratch.path.join("linerate.err");
        let mut command = self.command(minio);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&said)?);
        let mut running = Running(command.spawn().map_err(|error| format!("{}: {error}", self.linerate.display()))?);
        let (began, mut folder, mut samples) = (Instant::now(), RunFolder::new(&self.run_folder()), Vec::new());
        let limit = self.options.duration() + ALLOWANCE;
        let status = loop {
            let due = self.options.every * (u32::try_from(samples.len())? + 1);
            while began.elapsed() < due && running.0.try_wait()?.is_none() {
                std::thread::sleep(Duration::from_millis(100));
            }
            if let Some(status) = running.0.try_wait()? {
                break status;
            }
            let sample = Sample::take(began, running.0.id(), minio, &mut folder)?;
            record(&sample)?;
            eprintln!("[{:.0} of {:.0} s] {}", sample.at_s, self.options.duration().as_secs_f64(), sample.say());
            samples.push(sample);
            store::empty_trash(minio);
            if began.elapsed() > limit {
                return Err(format!("linerate ran longer than {} s and was ended", limit.as_secs()).into());
            }
        };
        if !status.success() {
            let said = fs::read_to_string(&said).unwrap_or_default();
            return Err(format!("linerate: {status}: {}", said.lines().last().unwrap_or("no message")).into());
        }
        Ok(samples)
    }

    fn run_folder(&self) -> PathBuf {
        self.scratch.path.join("run")
    }

    /// As many deletions as writes, so that the target does not fill; nothing is cleared, so that the server's counters
    /// are those of the load.
    fn command(&self, minio: &MinIo) -> Command {
        let mut command = Command::new(&self.linerate);
        command.args(["bench", "--op", "mixed", "--mix", "get=40,stat=20,put=20,delete=20", "--verify", "--noclear"]);
        command.args(["--host", &minio.addr.to_string(), "--bucket", SCRATCH_BUCKET, "--no-ceiling", "--quiet"]);
        command.args(["--obj.size", &format!("random:1KiB-{}KiB", SIZE_BYTES_MAX >> 10)]);
        command.args(["--objects", &OBJECTS.to_string(), "--concurrent", &CONCURRENCY.to_string()]);
        command.args(["--max-rate", &format!("{}/s", self.options.rate_per_s), "--warmup", "1s"]);
        command.args(["--duration", &format!("{}s", self.options.duration().as_secs())]);
        command.args(["--target-pid", &minio.pid.to_string()]).arg("-o").arg(self.run_folder());
        command.envs([("AWS_ACCESS_KEY_ID", &minio.keys.access), ("AWS_SECRET_ACCESS_KEY", &minio.keys.secret)]);
        command
    }

    /// The objects to read, which are in no figure. Their names end in their sizes; theirs is the first set of the run.
    fn beforehand(&self, minio: &MinIo) -> Result<PreparedObjects, Failure> {
        let manifest: Value = serde_json::from_str(&fs::read_to_string(self.run_folder().join("run.json"))?)?;
        let prefix = manifest["resolved"]["prefix"].as_str().ok_or("run.json names no prefix")?;
        let drive = minio.drives.first().ok_or("MinIO has no drive")?;
        let mut sum = PreparedObjects::default();
        for object in fs::read_dir(drive.join(SCRATCH_BUCKET).join(prefix).join("000"))? {
            let name = object?.file_name().to_string_lossy().into_owned();
            let size = name.rsplit_once('-').and_then(|(_, size)| size.parse::<u64>().ok());
            sum.bytes += size.ok_or_else(|| format!("{name:?} does not end in a size"))?;
            sum.objects += 1;
        }
        Ok(sum)
    }

    /// Has linerate delete what the run wrote; returns how many objects are left, as one drive of MinIO has them.
    fn clean(&self, minio: &MinIo) -> Result<usize, Failure> {
        let mut command = Command::new(&self.linerate);
        command.arg("clean").arg(self.run_folder());
        command.envs([("AWS_ACCESS_KEY_ID", &minio.keys.access), ("AWS_SECRET_ACCESS_KEY", &minio.keys.secret)]);
        let output = command.stdin(Stdio::null()).output()?;
        if !output.status.success() {
            return Err(format!("linerate clean: {}", String::from_utf8_lossy(&output.stderr).trim()).into());
        }
        let drive = minio.drives.first().ok_or("MinIO has no drive")?.join(SCRATCH_BUCKET).display().to_string();
        Ok(programs::output("find", &[&drive, "-name", "xl.meta"])?.lines().count())
    }

    /// Machine, versions and the command line, without keys and places of this machine.
    fn describe(&self, minio: &MinIo) -> Value {
        let version = |path: &Path| machine::first_line(Command::new(path).arg("--version"));
        let root = self.root.display().to_string();
        json!({
            "machine": machine::describe(),
            "linerate": version(&self.linerate),
            "commit": programs::output("git", &["-C", &root, "describe", "--always", "--dirty"]).ok(),
            "minio": version(&self.minio_program),
            "rustc": machine::first_line(Command::new("rustc").arg("--version")),
            "data_file_system": self.scratch.file_system(),
            "minutes": self.options.minutes,
            "command": machine::command_line(&self.command(minio), &self.scratch.path),
        })
    }
}

/// The server's counters once they no longer change.
fn settled(minio: &MinIo) -> Result<Counts, Failure> {
    let (began, mut last, mut same_since) = (Instant::now(), Counts::of_server(minio)?, Instant::now());
    // Longer than MinIO keeps a figure, so that the same figure twice is not one figure read twice.
    while same_since.elapsed() < Duration::from_secs(25) {
        if began.elapsed() > SETTLE_LIMIT {
            return Err("MinIO's counters do not come to rest".into());
        }
        std::thread::sleep(Duration::from_secs(1));
        let now = Counts::of_server(minio)?;
        if now != last {
            (last, same_since) = (now, Instant::now());
        }
    }
    Ok(last)
}
