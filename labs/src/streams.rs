//! `cargo labs streams`: what hundreds of exec streams cost, through a real API server with pods that kwok pretends.
//! `linerate fleet up` and `linerate bench --fleet` are the real ones; agents only say what agents say.

mod agent;
mod histogram;

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Outcome;
use crate::kubernetes::Kubernetes;
use crate::processes::{Used, named};
pub(crate) use agent::run as agent;

pub(crate) const USAGE: &str = "usage: cargo labs streams [--agents N] [--seconds S] [--linerate PATH] [--out FOLDER]
  N (500) exec streams through a real API server carry a point of S (300) seconds; root, and make kubernetes-scale";

/// Bounds of the coordinator while a point is driven.
const CORES_MAX: f64 = 0.5;
const RSS_MIB_MAX: f64 = 256.0;

/// By how much its memory may be larger in the last third of the point than in the first.
const GROWTH_MAX: f64 = 1.05;

const SAMPLED_EACH: Duration = Duration::from_secs(5);

/// How long the API server is watched before there are streams.
const IDLE: Duration = Duration::from_secs(15);

/// How long all else than the point may take.
const ALLOWANCE: Duration = Duration::from_secs(900);

/// Where the control plane is in its own network.
const CONTROL: &str = "10.231.80.1";

const PODS_PER_NODE: u32 = 100;

struct Options {
    agents: u32,
    seconds: u64,
    linerate: PathBuf,
    out: PathBuf,
}

impl Options {
    fn parse(args: &[String], root: &Path) -> Result<Options, String> {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let (linerate, out) = (target.join("release/linerate"), root.join("runs/streams"));
        let mut options = Options { agents: 500, seconds: 300, linerate, out };
        for pair in args.chunks(2) {
            let [flag, value] = pair else { return Err(format!("{pair:?} has no value\n{USAGE}")) };
            let wrong = || format!("{flag} {value} is no number\n{USAGE}");
            match flag.as_str() {
                "--agents" => options.agents = value.parse().map_err(|_| wrong())?,
                "--seconds" => options.seconds = value.parse().map_err(|_| wrong())?,
                "--linerate" => options.linerate = PathBuf::from(value),
                "--out" => options.out = PathBuf::from(value),
                _ => return Err(format!("{flag} is no flag\n{USAGE}")),
            }
        }
        Ok(options)
    }
}

/// Measures, prints, and fails where a bound is missed.
pub(crate) fn run(args: &[String]) -> Outcome {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("no repository")?.to_owned();
    let options = Options::parse(args, &root)?;
    let linerate = options.linerate.canonicalize().map_err(|error| {
        format!("{}: {error}; cargo build --release -p linerate, or name it by --linerate", options.linerate.display())
    })?;
    fs::create_dir_all(&options.out)?;
    let nodes = options.agents.div_ceil(PODS_PER_NODE);
    let kubernetes = Kubernetes::hold(&root, "streams", nodes)?;
    let place = Place { kubernetes, linerate, out: options.out.canonicalize()? };
    place.up(options.agents)?;
    let mut target = place.command(&["target", "null", "--listen", &format!("{CONTROL}:9001")]);
    let _target = Ended(target.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?);
    let samples = place.watched(&options)?;
    let (text, is_kept) = judged(&samples, &options)?;
    fs::write(place.out.join("README.md"), &text)?;
    println!("{text}");
    Ok(crate::success_if(is_kept))
}

/// A child that ends with its place.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Place {
    kubernetes: Kubernetes,
    linerate: PathBuf,
    out: PathBuf,
}

impl Place {
    /// linerate in the network of the control plane.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.kubernetes.command(&self.linerate);
        command.args(words).env("LINERATE_STATE", self.kubernetes.folder.join("state"));
        command
    }

    fn fleet(&self) -> String {
        self.kubernetes.folder.join("fleet.yaml").display().to_string()
    }

    /// Pods of the agents, as anybody has them.
    fn up(&self, agents: u32) -> Result<(), Box<dyn std::error::Error>> {
        let mut up = self.command(&["fleet", "up", "--image", "simulated", "--cpu", "100m", "--memory", "64Mi"]);
        let up = up.args(["--clients", &agents.to_string(), "--deadline", "2h", "-o", &self.fleet()]);
        if up.status()?.success() { Ok(()) } else { Err("the pods did not come up".into()) }
    }

    fn bench(&self, options: &Options, run: &Path) -> Command {
        let (host, fleet) = (format!("{CONTROL}:9001"), self.fleet());
        let (objects, duration) = (options.agents.to_string(), format!("{}s", options.seconds));
        let mut bench = self.command(&["bench", "--host", &host, "--anonymous", "--fleet", &fleet]);
        bench.args(["--op", "mixed", "--mix", "get=45,put=15,stat=30,delete=10", "--obj.size", "4KiB"]);
        bench.args(["--objects", &objects, "--concurrent", "1", "--duration", &duration, "--warmup", "0s"]);
        bench.args(["--no-ceiling", "--yes-load", "--quiet", "-o"]).arg(run);
        bench
    }

    /// Drives the point, and samples who has which part in it.
    fn watched(&self, options: &Options) -> Result<Vec<Value>, Box<dyn std::error::Error>> {
        let folder = &self.kubernetes.folder;
        let pid_of = |name| named(name, folder).first().copied().ok_or(format!("no {name} runs"));
        let others = [("kube-apiserver", pid_of("kube-apiserver")?), ("kwok", pid_of("kwok")?)];
        let run = folder.join("run");
        let (begun, mut samples) = (Instant::now(), Vec::new());
        let mut file = File::create(self.out.join("samples.jsonl"))?;
        let mut bench: Option<Ended> = None;
        let until = IDLE + Duration::from_secs(options.seconds) + ALLOWANCE;
        let points = || fs::read_to_string(run.join("points.jsonl")).unwrap_or_default();
        loop {
            if bench.is_none() && begun.elapsed() >= IDLE {
                let said = File::create(self.out.join("bench.txt"))?;
                bench = Some(Ended(self.bench(options, &run).stdout(said.try_clone()?).stderr(said).spawn()?));
            }
            let points = points();
            let phase = match (&bench, points.contains("\"measure\""), points.contains("\"end\"")) {
                (None, ..) => "idle",
                (_, false, _) => "attaching",
                (_, true, false) => "driving",
                (_, true, true) => "reporting",
            };
            let streams = named("linerate", folder).len();
            let mut sample = json!({"at_s": begun.elapsed().as_secs_f64(), "phase": phase, "streams": streams});
            let coordinator = bench.as_ref().map(|bench| ("coordinator", bench.0.id()));
            for (name, pid) in others.iter().copied().chain(coordinator) {
                sample[name] = Used::for_pid(pid).map_or(Value::Null, Used::json);
            }
            writeln!(file, "{sample}")?;
            samples.push(sample);
            if let Some(status) = bench.as_mut().map(|bench| bench.0.try_wait()).transpose()?.flatten() {
                let said =
                    || format!("linerate bench ended with {status}: see {}", self.out.join("bench.txt").display());
                return if status.success() { Ok(samples) } else { Err(said().into()) };
            }
            if begun.elapsed() > until {
                return Err(format!("it was not over in {} s", until.as_secs()).into());
            }
            thread::sleep(SAMPLED_EACH);
        }
    }
}

/// What of a phase is to be told of a process: its processors, and its memory first, at the most and last.
struct Part {
    seconds: f64,
    cores: f64,
    first_mib: f64,
    most_mib: f64,
    last_mib: f64,
}

impl Part {
    fn of_samples(samples: &[Value], phase: &str, name: &str) -> Option<Part> {
        let all: Vec<&Value> = samples.iter().filter(|s| s["phase"] == phase && !s[name].is_null()).collect();
        let figure = |sample: &Value, what: &str| sample[name][what].as_f64().unwrap_or_default();
        let (first, last) = (all.first()?, all.last()?);
        let seconds = last["at_s"].as_f64()? - first["at_s"].as_f64()?;
        let third = all.len().div_ceil(3);
        let most = |some: &[&Value]| some.iter().map(|sample| figure(sample, "rss_mib")).fold(0.0, f64::max);
        Some(Part {
            seconds,
            cores: (figure(last, "cpu_s") - figure(first, "cpu_s")) / seconds.max(0.001),
            first_mib: most(&all[..third]),
            most_mib: most(&all),
            last_mib: most(&all[all.len() - third..]),
        })
    }
}

/// The page of the run, and whether every bound was kept.
fn judged(samples: &[Value], options: &Options) -> Result<(String, bool), Box<dyn std::error::Error>> {
    let part =
        |phase, name| Part::of_samples(samples, phase, name).ok_or(format!("no samples of {name} while {phase}"));
    let own = part("driving", "coordinator")?;
    let (idle, api) = (part("idle", "kube-apiserver")?, part("driving", "kube-apiserver")?);
    let of_driving = samples.iter().filter(|sample| sample["phase"] == "driving");
    let least = of_driving.filter_map(|sample| sample["streams"].as_u64()).min().unwrap_or(0);
    let is_flat = own.last_mib <= own.first_mib * GROWTH_MAX;
    let kept = [own.cores <= CORES_MAX, own.most_mib <= RSS_MIB_MAX, is_flat, least >= u64::from(options.agents)];
    let word = |is_kept: bool| if is_kept { "kept" } else { "missed" };
    let agents = f64::from(options.agents);
    let mut text = format!(
        "# Exec streams through a real API server\n\n`cargo labs streams --agents {} --seconds {}`: {} operations in\n\
         each interval of each agent, {} occupied buckets in each of their histograms. Readings each {} s are in\n\
         `samples.jsonl`.\n\n| what | bound | measured | |\n|---|---|---|---|\n",
        options.agents,
        options.seconds,
        agent::OPS.len(),
        agent::BUCKETS,
        SAMPLED_EACH.as_secs()
    );
    let rows = [
        ("streams, at the least", options.agents.to_string(), least.to_string(), word(kept[3])),
        ("coordinator, processors", format!("{CORES_MAX}"), format!("{:.3}", own.cores), word(kept[0])),
        ("coordinator, memory", format!("{RSS_MIB_MAX} MiB"), format!("{:.0} MiB", own.most_mib), word(kept[1])),
        (
            "coordinator, memory in the last third over the first",
            format!("{GROWTH_MAX}"),
            format!("{:.3}", own.last_mib / own.first_mib.max(0.001)),
            word(kept[2]),
        ),
        ("API server, processors", String::new(), format!("{:.3}", api.cores), ""),
        (
            "API server, processors of a stream",
            String::new(),
            format!("{:.3} ms/s", (api.cores - idle.cores) / agents * 1e3),
            "",
        ),
        ("API server, memory", String::new(), format!("{:.0} MiB", api.most_mib), ""),
        (
            "API server, memory of a stream",
            String::new(),
            format!("{:.0} KiB", (api.most_mib - idle.most_mib) / agents * 1024.0),
            "",
        ),
    ];
    rows.iter().for_each(|(what, bound, measured, word)| {
        text.push_str(&format!("| {what} | {bound} | {measured} | {word} |\n"));
    });
    text.push_str(&format!("\nThe point was watched for {:.0} s.", own.seconds));
    if let Some(after) = Part::of_samples(samples, "reporting", "coordinator") {
        text.push_str(&format!(
            " Behind it the coordinator read back and reported what was\n\
             recorded, with {:.0} MiB at the most.",
            after.most_mib
        ));
    }
    text.push('\n');
    Ok((text, kept.iter().all(|kept| *kept)))
}
