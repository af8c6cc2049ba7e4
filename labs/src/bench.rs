//! `cargo labs bench`: the processor time of linerate next to that of a bare epoll loop, wrk and warp, and over TLS
//! next to what OpenSSL's ciphers and hashes cost this processor.
//!
//! Every round visits every cell (target × operation × size) and runs every client there, one after another, in an
//! order that rotates from round to round: drift of the machine meets all clients alike, and ratios are taken within a
//! round. Each figure is written to `rounds.jsonl` as it arrives. All traffic stays on 127.0.0.1.

mod clients;
mod machine;
mod meter;
mod options;
mod planning;
pub(crate) mod programs;
pub(crate) mod servers;
pub(crate) mod soak;
mod store;
mod summary;

use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use clients::{Client, Run};
use options::{Cell, Op, Options, TargetKind};
use programs::Programs;
use servers::{MinIo, Null, Scratch};
use summary::Row;

type Failure = Box<dyn Error>;

/// Requests in flight, in every cell.
const CONCURRENCY: u32 = 16;
/// Threads of every client that can be told.
const THREADS: u32 = 2;
const WARMUP: Duration = Duration::from_millis(500);

/// What clients are run against, and the scratch folder that goes last.
struct Bench<'a> {
    options: &'a Options,
    programs: &'a Programs,
    null: Null,
    null_tls: Null,
    minio: MinIo,
    scratch: Scratch,
}

/// Compares, prints, and fails where linerate's median ratio to the bare loop is above the threshold, or where planning
/// takes longer than it may.
pub(crate) fn run(args: &[String]) -> Result<(), Box<dyn Error>> {
    if args.iter().any(|arg| arg == "--help") {
        println!("{}", options::USAGE);
        return Ok(());
    }
    let options = Options::parse(args)?;
    let programs = Programs::find(&options)?;
    for skipped in &programs.skipped {
        eprintln!("bench: skipped {skipped}");
    }
    let out = options.out.clone().map_or_else(|| default_out(&programs.root), Ok)?;
    if out.exists() {
        return Err(format!("{} exists: name another folder with --out", out.display()).into());
    }
    let bench = start(&options, &programs)?;
    fs::create_dir_all(&out)?;
    fs::write(out.join("machine.json"), serde_json::to_string_pretty(&bench.describe())? + "\n")?;
    let mut rounds = File::create(out.join("rounds.jsonl"))?;
    let rows = bench.measure(|row| Ok(writeln!(rounds, "{}", row.to_json())?))?;
    drop(bench);

    let mut summary = summary::summarize(&rows, &programs.skipped);
    planning::measure(&programs.linerate, &out, &mut summary)?;
    fs::write(out.join("summary.md"), &summary.text)?;
    println!("{}", summary.text);
    eprintln!("bench: everything is in {}", out.display());
    if summary.faults.is_empty() { Ok(()) } else { Err(summary.faults.join("; ").into()) }
}

fn default_out(root: &Path) -> Result<std::path::PathBuf, Failure> {
    let date = programs::output("date", &["+%Y-%m-%d-%H%M"])?;
    Ok(root.join("runs").join(format!("bench-{date}")))
}

fn start<'a>(options: &'a Options, programs: &'a Programs) -> Result<Bench<'a>, Failure> {
    let scratch = Scratch::create(options.data.as_deref(), servers::need_bytes(options))?;
    eprintln!("bench: data in {}", scratch.path.display());
    let null = Null::start(&programs.linerate, false)?;
    let null_tls = Null::start(&programs.linerate, true)?;
    let minio = MinIo::start(&programs.minio, &scratch)?;
    let bench = Bench { options, programs, null, null_tls, minio, scratch };
    store::prepare(&bench.minio, options)?;
    Ok(bench)
}

impl Bench<'_> {
    /// Runs all rounds, or as many as the time limit lets begin.
    fn measure(&self, mut record: impl FnMut(&Row) -> Result<(), Failure>) -> Result<Vec<Row>, Failure> {
        let plan: Vec<(Cell, Vec<Client>)> = self
            .options
            .cells()
            .into_iter()
            .map(|cell| (cell, self.programs.clients(cell)))
            .filter(|(_, clients)| !clients.is_empty())
            .collect();
        let total = plan.iter().map(|(_, clients)| clients.len()).sum::<usize>() * self.options.rounds;
        let (began, mut rows) = (Instant::now(), Vec::<Row>::new());
        for round in 0..self.options.rounds {
            for (cell, clients) in &plan {
                for position in 0..clients.len() {
                    let client = clients[(position + round) % clients.len()];
                    if began.elapsed() > self.options.limit {
                        eprintln!("bench: time limit reached in round {}", round + 1);
                        return Ok(rows);
                    }
                    let row = Row { cell: *cell, client, round, outcome: self.run_one(*cell, client) };
                    record(&row)?;
                    rows.push(row);
                    progress(&rows, total, began);
                }
            }
        }
        Ok(rows)
    }

    /// One client in one cell. A client that fails is a result too; the bench goes on.
    fn run_one(&self, cell: Cell, client: Client) -> Result<clients::Measure, String> {
        let attempt = || {
            self.scratch.require_room(cell, self.options)?;
            let measure = clients::measure(client, &self.cell_run(cell))?;
            store::clear(&self.minio, cell)?;
            Ok::<_, Failure>(measure)
        };
        attempt().map_err(|error| {
            // What a failed client left must not stay either; the first error is the one to tell.
            let _ = store::clear(&self.minio, cell);
            error.to_string()
        })
    }

    fn cell_run(&self, cell: Cell) -> Run<'_> {
        let (addr, server_pid) = match cell.target {
            TargetKind::MinIo => (self.minio.addr, self.minio.pid),
            TargetKind::Null => (self.null.addr, self.null.pid),
            TargetKind::NullTls => (self.null_tls.addr, self.null_tls.pid),
        };
        Run {
            cell,
            addr,
            server_pid,
            seconds: self.options.seconds,
            objects: self.options.objects(cell.size_bytes),
            programs: self.programs,
            keys: &self.minio.keys,
            scratch: &self.scratch.path,
        }
    }

    /// Machine, versions, and every command line, without keys and places of this machine.
    fn describe(&self) -> Value {
        let mut commands = Vec::new();
        for cell in self.options.cells() {
            for client in self.programs.clients(cell) {
                let run = self.cell_run(cell);
                let line = machine::command_line(&clients::command(client, &run), &self.scratch.path);
                commands.push(json!({"cell": cell.to_string(), "client": client.name(), "command": line}));
            }
        }
        json!({
            "machine": machine::describe(),
            "versions": machine::versions(self.programs),
            "data_file_system": self.scratch.file_system(),
            "rounds": self.options.rounds,
            "seconds": self.options.seconds,
            "concurrency": CONCURRENCY,
            "skipped": self.programs.skipped,
            "commands": commands,
        })
    }
}

fn progress(rows: &[Row], total: usize, began: Instant) {
    let Some(last) = rows.last() else { return };
    let (done, elapsed) = (rows.len(), began.elapsed());
    let left_s = elapsed.as_secs_f64() / done as f64 * (total - done) as f64;
    let said = match &last.outcome {
        Ok(measure) => measure.cost(last.cell).map_or("no request ended".into(), |cost| last.cell.say_cost(cost)),
        Err(error) => format!("FAILED: {error}"),
    };
    let (round, cell, client) = (last.round + 1, last.cell, last.client.name());
    eprintln!("[{done}/{total}, {left_s:.0} s left] round {round}, {cell}, {client}: {said}");
}

/// `GET 4 KiB` and the like, for messages and tables.
impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let op = if self.op == Op::Get { "GET" } else { "PUT" };
        write!(f, "{} {op} {}", self.target.name(), options::say_size(self.size_bytes))
    }
}
