//! Records worlds: a lab a shape, in which faults are planted and lifted, with healthy twins around each.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::design::{SHAPES, Shape, World, worlds};
use super::faults::{self, Measured};
use super::lab::{Lab, printed};

/// Worlds that are recorded in one lab before the next shape has its turn.
const OF_A_LAB: usize = 8;

/// How far apart the healthy twins of a world may be.
const TWINS_APART_MAX: f64 = 0.05;

/// How busy the machine may be while a world is measured.
const BUSY_MAX: f64 = 0.7;

/// Once more where a world was discarded; after that it is left out.
const ATTEMPTS_MAX: usize = 2;

/// Every so many worlds, one is recorded twice: how far apart both are is the spread of the corpus.
const REPEATED_EVERY: usize = 10;

/// Objects to read of each size, written while nothing is planted.
const SEEDED: [(&str, u32); 3] = [("4MiB", 48), ("256KiB", 192), ("64KiB", 384)];

/// So many in flight that each link is full all the time: with 16, how hosts take turns moves a few seconds by a tenth.
const TWIN: &str = "--op get --bucket seeded --prefix 4MiB/ --list-existing --concurrent 64 --warmup 1s --duration 5s";

/// Of a point, and of the reading during it.
const TIME: &str = "--warmup 1s --duration 7s";
const READ_FOR: &str = "6s";

/// A line of `worlds.jsonl`: one attempt at a world.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Recorded {
    pub(super) id: String,
    pub(super) used_for: String,
    pub(super) family: String,
    pub(super) kind: String,
    pub(super) strength: usize,
    pub(super) shape: String,
    pub(super) size: String,
    pub(super) faults: Vec<String>,
    /// Why it does not count, as it was decided before its figures were read; absent if it does.
    pub(super) discarded: Option<String>,
    /// Throughput of the healthy twins before and after it.
    pub(super) twins_bytes_per_s: Option<[f64; 2]>,
    /// Share of the machine's processors.
    pub(super) busy: f64,
    /// As others than linerate saw the faults that were planted.
    #[serde(rename = "plants")]
    pub(super) measured_faults: Value,
    pub(super) points: Vec<Value>,
    pub(super) unix_s: u64,
    pub(super) seconds: f64,
}

/// What is requested.
pub(super) struct Options {
    pub(super) out: PathBuf,
    pub(super) linerate: PathBuf,
    pub(super) minio: PathBuf,
    pub(super) minutes: f64,
    /// Worlds with this in their names alone.
    pub(super) only: String,
}

/// All attempts so far, in order.
pub(super) fn recorded(out: &Path) -> Result<Vec<Recorded>, Box<dyn Error>> {
    let path = out.join("worlds.jsonl");
    if !path.exists() {
        return Ok(Vec::new());
    }
    Ok(fs::read_to_string(path)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

/// Whether a world has to be recorded: once, and each tenth twice, as far as attempts count.
fn is_due(world: &World, nth: usize, attempts: &[Recorded]) -> bool {
    let of_it = || attempts.iter().filter(|attempt| attempt.id == world.id);
    let counted = of_it().filter(|attempt| attempt.discarded.is_none()).count();
    let wanted = if nth.is_multiple_of(REPEATED_EVERY) { 2 } else { 1 };
    counted < wanted && of_it().count() - counted < ATTEMPTS_MAX
}

/// Records until all worlds are there, or the time is over.
pub(super) fn record(options: &Options) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(options.out.join("worlds"))?;
    let (all, begun) = (worlds(), Instant::now());
    let is_over = || begun.elapsed().as_secs_f64() > options.minutes * 60.0;
    loop {
        let attempts = recorded(&options.out)?;
        let due: Vec<&World> = (0..)
            .zip(&all)
            .filter(|(nth, world)| world.id.contains(&options.only) && is_due(world, *nth, &attempts))
            .map(|(_, world)| world)
            .collect();
        let Some(shape) = shape_with_least(&attempts, &due) else { return Ok(()) };
        if is_over() {
            return Ok(());
        }
        let of_shape = due.into_iter().filter(|world| world.shape.name == shape.name).take(OF_A_LAB);
        let session = Session::begin(options, shape)?;
        for world in of_shape {
            if is_over() {
                return Ok(());
            }
            let attempt = session.attempt(world)?;
            let verdict = attempt.discarded.as_deref().unwrap_or("counts");
            println!("{:32} {:5.1} s  {verdict}", attempt.id, attempt.seconds);
            let mut file = OpenOptions::new().append(true).create(true).open(options.out.join("worlds.jsonl"))?;
            writeln!(file, "{}", serde_json::to_string(&attempt)?)?;
        }
    }
}

/// The shape with worlds to record that has the fewest.
fn shape_with_least(attempts: &[Recorded], due: &[&World]) -> Option<&'static Shape> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    attempts.iter().for_each(|attempt| *counts.entry(attempt.shape.as_str()).or_default() += 1);
    let has_due = |shape: &&Shape| due.iter().any(|world| world.shape.name == shape.name);
    SHAPES.iter().filter(has_due).min_by_key(|shape| counts.get(shape.name).copied().unwrap_or(0))
}

/// A lab with its objects.
struct Session<'a> {
    options: &'a Options,
    lab: Lab,
    /// Where runs of the world that is measured are.
    work: PathBuf,
}

impl<'a> Session<'a> {
    fn begin(options: &'a Options, shape: &'static Shape) -> Result<Session<'a>, Box<dyn Error>> {
        let work = options.out.join("work");
        let _ = fs::remove_dir_all(&work);
        fs::create_dir_all(&work)?;
        let lab = Lab::up(&options.linerate, &options.minio, &work, shape)?;
        let session = Session { options, lab, work };
        for (size, count) in SEEDED {
            let flags = format!(
                "--op get --obj.size {size} --objects {count} --noclear --bucket seeded --prefix {size}/ \
                 --concurrent 8 --warmup 100ms --duration 500ms --retries 10"
            );
            session.point(&format!("seed-{size}"), &flags)?;
        }
        Ok(session)
    }

    /// One attempt at a world.
    fn attempt(&self, world: &World) -> Result<Recorded, Box<dyn Error>> {
        let begun = Instant::now();
        let mut attempt = Recorded {
            id: world.id.clone(),
            used_for: world.used_for.name().to_owned(),
            family: world.family.to_owned(),
            kind: world.kind.to_owned(),
            strength: world.strength,
            shape: world.shape.name.to_owned(),
            size: world.size.to_owned(),
            faults: world.faults.clone(),
            discarded: None,
            twins_bytes_per_s: None,
            busy: 0.0,
            measured_faults: Value::Null,
            points: Vec::new(),
            unix_s: std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs(),
            seconds: 0.0,
        };
        if let Err(why) = self.measure(world, &mut attempt) {
            attempt.discarded = Some(format!("failed: {why}"));
            self.lab.heal()?;
        }
        attempt.seconds = begun.elapsed().as_secs_f64();
        Ok(attempt)
    }

    fn measure(&self, world: &World, attempt: &mut Recorded) -> Result<(), Box<dyn Error>> {
        let before = self.twin()?;
        if !world.faults.is_empty() {
            self.lab.fault(&world.faults)?;
        }
        let measured: Vec<Measured> =
            world.faults.iter().map(|fault| faults::measure(&self.lab, fault)).collect::<Result<_, _>>()?;
        attempt.measured_faults = serde_json::to_value(&measured)?;
        if let Some(off) = measured.iter().find(|fault| fault.is_off()) {
            self.lab.heal()?;
            attempt.discarded = Some(format!("plant: {} is {:.4} by {}", off.fault, off.measured, off.by));
            return Ok(());
        }
        let (folder, machine) = (self.work.join("world"), Machine::now()?);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        for (op, in_flight) in world.points {
            attempt.points.push(self.measure_point(world, &folder, op, in_flight)?);
        }
        attempt.busy = machine.busy_since()?;
        self.lab.heal()?;
        let after = self.twin()?;
        attempt.twins_bytes_per_s = Some([before, after]);
        let apart = (before - after).abs() / before.max(after);
        attempt.discarded = if apart > TWINS_APART_MAX {
            Some(format!("twins: {:.1} % apart", apart * 100.0))
        } else if attempt.busy > BUSY_MAX {
            Some(format!("busy: {:.0} % of the machine", attempt.busy * 100.0))
        } else {
            None
        };
        self.keep(&folder, &world.id)
    }

    /// Throughput while nothing is planted.
    fn twin(&self) -> Result<f64, Box<dyn Error>> {
        let report = self.point("twin", TWIN)?;
        let figure = report["bytes_per_s"]["mean"].as_f64().filter(|figure| *figure > 0.0);
        figure.ok_or_else(|| format!("a twin has no throughput: {report}").into())
    }

    /// A point of a world, with what `explain --live` reads meanwhile.
    fn measure_point(&self, world: &World, folder: &Path, op: &str, in_flight: u32) -> Result<Value, Box<dyn Error>> {
        let name = format!("{op}-{in_flight}");
        let load = match op {
            "get" => format!("--op get --bucket seeded --prefix {}/ --list-existing", world.size),
            "put" => format!("--op put --bucket written --obj.size {}", world.size),
            _ => format!("--op mixed --mix get=50,put=50 --bucket written --objects 32 --obj.size {}", world.size),
        };
        let mut reader = Command::new(&self.lab.linerate);
        let (site, fleet) = (self.lab.file("site.yaml"), self.lab.file("fleet.yaml"));
        reader.arg("explain").arg(site).arg("--live").arg("--fleet").arg(fleet);
        reader.args(["--for", READ_FOR, "--json", "--record"]).arg(folder.join(format!("{name}.live.json")));
        let errors = File::create(folder.join(format!("{name}.live.err")))?;
        reader.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        // Its agents are there when the load has begun.
        let mut reader = crate::process::Running(reader.spawn()?);
        let mut report = self.point_in(folder, &name, &format!("{load} --concurrent {in_flight} {TIME}"))?;
        let ended = reader.0.wait()?;
        report["op"] = op.into();
        report["in_flight"] = in_flight.into();
        report["live"] = ended.success().into();
        Ok(report)
    }

    fn point(&self, name: &str, flags: &str) -> Result<Value, Box<dyn Error>> {
        let _ = fs::remove_dir_all(self.work.join(name));
        self.point_in(&self.work, name, flags)
    }

    /// What a report has of the only point of a run.
    fn point_in(&self, folder: &Path, name: &str, flags: &str) -> Result<Value, Box<dyn Error>> {
        let run = folder.join(name);
        let output = self.lab.bench(&run, flags)?;
        let text = printed(Command::new(&self.lab.linerate).arg("report").arg(&run).arg("--json"))?;
        let report: Value = serde_json::from_str(&text)?;
        let point = &report["series"][0]["points"][0];
        let kept =
            ["bytes_per_s", "requests", "errors", "total", "ttfb", "hosts", "client_busy", "machine_busy", "open"];
        let mut figures: Value = kept.iter().map(|key| ((*key).to_owned(), point[key].clone())).collect();
        figures["exit_code"] = output.status.code().into();
        Ok(figures)
    }

    /// Runs and readings of a world, without their pages, in one file.
    fn keep(&self, folder: &Path, id: &str) -> Result<(), Box<dyn Error>> {
        fs::copy(self.lab.file("site.yaml"), folder.join("site.yaml"))?;
        let (mut nth, kept) = (1, self.options.out.join("worlds"));
        let file = loop {
            let file = kept.join(format!("{id}-{nth}.tar.gz"));
            if !file.exists() {
                break file;
            }
            nth += 1;
        };
        let mut tar = Command::new("tar");
        tar.args(["--exclude=report.html", "--sort=name", "--owner=0", "--group=0", "-I", "gzip -9", "-cf"]).arg(&file);
        printed(tar.arg("-C").arg(folder).arg(".")).map(drop)
    }
}

/// Ticks of the machine's processors: all, and idle ones.
struct Machine {
    all: f64,
    idle: f64,
}

impl Machine {
    fn now() -> Result<Machine, Box<dyn Error>> {
        let text = fs::read_to_string("/proc/stat")?;
        let ticks: Vec<f64> = text
            .lines()
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .skip(1)
            .take(8)
            .filter_map(|n| n.parse().ok())
            .collect();
        let [_, _, _, idle, waiting, ..] = ticks[..] else { return Err("/proc/stat has no processors".into()) };
        Ok(Machine { all: ticks.iter().sum(), idle: idle + waiting })
    }

    fn busy_since(&self) -> Result<f64, Box<dyn Error>> {
        let now = Machine::now()?;
        Ok(1.0 - (now.idle - self.idle) / (now.all - self.all).max(1.0))
    }
}

/// How long all worlds that are due take, by those that are there.
pub(super) fn remaining(attempts: &[Recorded]) -> (usize, Duration) {
    let due = (0..).zip(&worlds()).filter(|(nth, world)| is_due(world, *nth, attempts)).count();
    let mean = attempts.iter().map(|attempt| attempt.seconds).sum::<f64>() / (attempts.len().max(1) as f64);
    (due, Duration::from_secs_f64(mean * due as f64))
}
