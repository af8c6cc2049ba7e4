//! Makes a lab: its record first, then namespaces, networks, control groups, drives, and the engine over them.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::bonds;
use crate::cgroups::Cgroups;
use crate::description;
use crate::down;
use crate::engine::{EngineFolders, EngineProcess, EngineSpec, LabEngine};
use crate::error::LabError;
use crate::folder::{LAB_SCHEMA, LabFolder, LabRecord, ScaledSite};
use crate::garage::Forming;
use crate::keys::{LabKeys, draw_hex};
use crate::mounts;
use crate::names::{LabName, Machine, machines, nodes};
use crate::namespaces;
use crate::network;
use crate::programs::{self, run, run_with_input};
use crate::spec::LabSpec;
use crate::state::{LabParts, state};

/// How long an engine may take to serve: on a machine that does other things too, the first start of MinIO over 16
/// nodes takes half a minute.
const SERVING_MAX: Duration = Duration::from_secs(180);

/// After so long an engine without processes has ended.
const STARTING: Duration = Duration::from_secs(2);

/// Congestion control of labs: what most machines have, and where a namespace may not choose it what every kernel has.
const CONGESTION_CONTROLS: [&str; 2] = ["cubic", "reno"];

/// A process enters its control groups before `ip netns exec` mounts another `/sys` over them. Folders of the groups,
/// `--`, the namespace, and what runs in it.
const ENTER: &str = "while [ \"$1\" != -- ]; do echo 0 >\"$1/cgroup.procs\" || exit 1; shift; done; shift
exec ip netns exec \"$@\"";

/// A node sees its own drives where each node has its own. Those, where they come to be, and what runs with them.
const WITH_DRIVES: &str = "mount --rbind \"$1\" \"$2\" && shift 2 && exec \"$@\"";

/// What a lab is to be.
#[derive(Clone, Debug)]
pub struct UpRequest {
    /// Folder of all labs.
    pub state: PathBuf,
    pub name: LabName,
    pub spec: LabSpec,
    pub engine: Option<EngineSpec>,
    pub scaled: Option<ScaledSite>,
    /// The program that plays the neighbour of a node.
    pub linerate: PathBuf,
    /// Folders of programs, as `PATH` has them.
    pub program_path: OsString,
}

/// A lab that is up.
#[derive(Debug)]
pub struct MadeLab {
    pub folder: LabFolder,
    pub record: LabRecord,
    pub site: PathBuf,
    pub fleet: PathBuf,
}

/// Makes a lab. Where that fails or is interrupted, all that was made is removed.
///
/// # Errors
/// [`LabError`]: why it failed, and [`LabError::NotRemoved`] where something is left for `lab down`.
pub fn up(request: &UpRequest, interrupted: &AtomicBool, progress: &dyn Fn(&str)) -> Result<MadeLab, LabError> {
    programs::check_root()?;
    request.spec.check()?;
    let is_with_drives = request.spec.nodes.iter().any(|node| !node.drives.is_empty());
    programs::check_installed(&request.program_path, is_with_drives)?;
    if request.spec.has_bonds() {
        bonds::check_here()?;
    }
    let cgroups = Cgroups::find()?;
    check_free(request, &cgroups)?;
    let folder = LabFolder::make(&request.state, &request.name)?;
    let is_own = AtomicBool::new(false);
    let making = Making { request, cgroups: &cgroups, folder: &folder, interrupted, progress, is_own };
    let (made, is_own) = (making.make(), making.is_own.load(Ordering::Relaxed));
    match made {
        Ok((record, site, fleet)) => Ok(MadeLab { folder, record, site, fleet }),
        // Of what another lab of this name made meanwhile nothing is this one's.
        Err(why) if !is_own => folder.remove().and(Err(why)),
        Err(why) => {
            progress("removing what was made");
            match down::remove(folder) {
                Ok(()) => Err(why),
                Err(left) => {
                    let (why, left, name) = (Box::new(why), Box::new(left), request.name.to_string());
                    Err(LabError::NotRemoved { why, left, name })
                }
            }
        }
    }
}

/// Nothing is there that has a name of the lab: what is removed later is what it made.
fn check_free(request: &UpRequest, cgroups: &Cgroups) -> Result<(), LabError> {
    let lab = &request.name;
    let taken = |what: String| Err(LabError::Taken { what });
    if request.state.join(lab.to_string()).exists() {
        return taken(format!("the lab {lab}"));
    }
    if let Some(name) = lab.namespaces(&request.spec).into_iter().find(|name| namespaces::path(name).exists()) {
        return taken(format!("the network namespace {name}"));
    }
    cgroups.is_taken(lab).map_or(Ok(()), |path| taken(format!("the control group {}", path.display())))
}

struct Making<'a> {
    request: &'a UpRequest,
    cgroups: &'a Cgroups,
    folder: &'a LabFolder,
    interrupted: &'a AtomicBool,
    progress: &'a dyn Fn(&str),
    /// Whether the name of the lab is this one's on the machine.
    is_own: AtomicBool,
}

impl Making<'_> {
    /// The record, and where its site and fleet files are.
    fn make(&self) -> Result<(LabRecord, PathBuf, PathBuf), LabError> {
        let UpRequest { name, spec, engine, scaled, .. } = self.request;
        let record = LabRecord {
            schema: LAB_SCHEMA,
            name: name.clone(),
            id: draw_hex::<8>()?,
            spec: spec.clone(),
            engine: engine.clone(),
            drives: self.folder.drive_files(spec),
            makes_names_folder: !namespaces::has_names_folder(),
            scaled: scaled.clone(),
        };
        self.folder.write_record(&record)?;
        mounts::share(self.folder.path())?;
        self.folder.make_folders(spec)?;
        let site = self.folder.write_text("site.yaml", &description::site(&record))?;
        let fleet = self.folder.write_text("fleet.yaml", &description::fleet(&record))?;
        self.make_network(&record)?;
        self.make_drives(&record)?;
        let parts = LabParts { are_new: true, ..LabParts::new(&record, self.cgroups, &self.request.linerate) };
        for machine in machines(spec) {
            self.says(&format!("{machine}: limits of links, processors and drives"))?;
            self.cgroups.make(name, machine)?;
            parts.set(machine, &state(spec, machine, &[]))?;
        }
        self.shape_uplinks(spec)?;
        if let Some(engine) = engine {
            self.start_engine(engine, &record)?;
        }
        Ok((record, site, fleet))
    }

    /// Says what comes next, where nobody has interrupted it.
    fn says(&self, what: &str) -> Result<(), LabError> {
        (self.progress)(what);
        if self.interrupted.load(Ordering::Relaxed) { Err(LabError::Interrupted) } else { Ok(()) }
    }

    fn make_network(&self, record: &LabRecord) -> Result<(), LabError> {
        self.says("namespaces and networks")?;
        let LabRecord { name: lab, spec, id, .. } = record;
        let switch = lab.switch_namespace();
        // That of the switches comes first: who makes it has the name of the lab, whoever else is at it.
        run("ip", &["netns", "add", &switch])?;
        self.is_own.store(true, Ordering::Relaxed);
        run("ip", &["-n", &switch, "link", "set", "lo", "alias", &down::mark(id)])?;
        let machines_only = lab.namespaces(spec).into_iter().filter(|name| *name != switch);
        let names: Vec<String> = machines_only.map(|name| format!("netns add {name}")).collect();
        run_with_input("ip", &["-batch", "-"], &(names.join("\n") + "\n"))?;
        let batch = |namespace: &str, lines: Vec<String>| {
            run_with_input("ip", &["-n", namespace, "-batch", "-"], &(lines.join("\n") + "\n")).map(drop)
        };
        batch(&switch, network::switch_lines(spec))?;
        let congestion_control = congestion_control();
        for machine in machines(spec) {
            let namespace = lab.namespace(machine);
            batch(&namespace, network::machine_lines(lab, spec, machine))?;
            let file = "/proc/sys/net/ipv4/tcp_congestion_control";
            run_with_input("ip", &["netns", "exec", &namespace, "tee", file], congestion_control)?;
        }
        batch(&switch, network::port_lines(spec))
    }

    fn make_drives(&self, record: &LabRecord) -> Result<(), LabError> {
        for (number, drives) in (1..).zip(&record.drives) {
            self.says(&format!("{}: {} drives", Machine::Node(number), drives.len()))?;
            drives.iter().try_for_each(|drive| drive.make())?;
        }
        Ok(())
    }

    fn shape_uplinks(&self, spec: &LabSpec) -> Result<(), LabError> {
        let Some(rate) = spec.rack_uplink_bits_per_s else { return Ok(()) };
        let switch = self.request.name.switch_namespace();
        network::shaped_uplinks(spec).iter().try_for_each(|port| crate::state::shape(&switch, port, rate))
    }

    fn start_engine(&self, engine: &EngineSpec, record: &LabRecord) -> Result<(), LabError> {
        let keys = LabKeys::draw()?;
        let (drives, files) = (self.folder.drives(), self.folder.engine_files());
        for node in nodes(&record.spec) {
            self.says(&format!("{node}: the engine"))?;
            let folders = EngineFolders { drives: &drives, files: &files };
            self.start_process(node, &engine.binary, &engine.process(&record.spec, node, folders, &keys))?;
        }
        let begun = Instant::now();
        let keys = match engine.product {
            LabEngine::Minio => keys,
            LabEngine::Garage => {
                let run = |node: Machine, words: &[String]| {
                    let words = [&[engine.binary.to_string_lossy().into_owned()][..], words].concat();
                    let words = entering(self.folder, self.cgroups, node, &words);
                    run(&words[0], &words[1..].iter().map(String::as_str).collect::<Vec<_>>())
                };
                let wait = |why: LabError| self.wait("nodes to find each other", begun, &record.spec, why.to_string());
                Forming { spec: &record.spec, files: &files, run: &run, wait: &wait }.form()?
            }
        };
        self.folder.write_keys(&keys)?;
        let client = self.request.name.namespace(Machine::Client(1));
        while let Some(why) = engine.first_not_serving(&client, &record.spec)? {
            self.wait("every node to serve", begun, &record.spec, why)?;
        }
        Ok(())
    }

    /// Starts a process of the engine, which goes on by itself.
    fn start_process(&self, node: Machine, binary: &Path, process: &EngineProcess) -> Result<(), LabError> {
        if let Some((path, text)) = &process.file {
            self.folder.write_text(path, text)?;
        }
        let binary = binary.to_string_lossy().into_owned();
        let log = self.folder.log(node);
        let file = File::create(&log).map_err(LabError::file("make", &log))?;
        let errors = file.try_clone().map_err(LabError::file("make", &log))?;
        let words = [&[binary.clone()][..], &process.arguments].concat();
        let mut command = Command::new("setsid");
        command.arg("--fork").args(entering(self.folder, self.cgroups, node, &words));
        // Nothing of the user's own engine and certificates reaches it.
        command.env_clear().env("PATH", &self.request.program_path).env("HOME", self.folder.path());
        command.envs(process.environment.iter().map(|(key, value)| (key, value)));
        command.stdin(Stdio::null()).stdout(file).stderr(errors);
        let failed = |why: String| LabError::Program { program: binary.clone(), why };
        let status = command.status().map_err(|error| failed(error.to_string()))?;
        if status.success() { Ok(()) } else { Err(failed(status.to_string())) }
    }

    /// Waits for something that is not so yet, unless the engine has ended or takes too long.
    fn wait(&self, what: &str, begun: Instant, spec: &LabSpec, why: String) -> Result<(), LabError> {
        self.says(&format!("waiting for {what}"))?;
        let has_ended = |node: &Machine| namespaces::processes(&[self.request.name.namespace(*node)]).is_empty();
        let ended = nodes(spec).find(|node| begun.elapsed() > STARTING && has_ended(node));
        if begun.elapsed() > SERVING_MAX || ended.is_some() {
            let last = last_words(&self.folder.log(ended.unwrap_or(Machine::Node(1))));
            let seconds = begun.elapsed().as_secs();
            return Err(LabError::NotServing { seconds, why: format!("{why}; {last}") });
        }
        std::thread::sleep(Duration::from_millis(100));
        Ok(())
    }
}

/// The last line of a log.
fn last_words(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it has said nothing").to_owned()
}

fn congestion_control() -> &'static str {
    let allowed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap_or_default();
    let is_here = |name: &&&str| allowed.split_whitespace().any(|has| has == **name);
    CONGESTION_CONTROLS.iter().find(is_here).copied().unwrap_or("reno")
}

/// The words of a command that runs on a machine, as the machine's processes do.
#[must_use]
pub fn entering(folder: &LabFolder, cgroups: &Cgroups, machine: Machine, words: &[String]) -> Vec<String> {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let groups = cgroups.folders(folder.name(), machine);
    let mut all = owned(&["sh", "-c", ENTER, "sh"]);
    all.extend(groups.iter().map(|group| group.to_string_lossy().into_owned()));
    all.extend(owned(&["--", &folder.name().namespace(machine)]));
    if matches!(machine, Machine::Node(_)) {
        all.extend(owned(&["sh", "-c", WITH_DRIVES, "sh"]));
        all.extend([folder.drives_of(machine), folder.drives()].map(|path| path.to_string_lossy().into_owned()));
    }
    all.extend_from_slice(words);
    all
}
