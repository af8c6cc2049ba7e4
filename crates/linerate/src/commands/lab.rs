//! `linerate lab`: a cluster on one machine.

pub(crate) mod flags;
mod traffic;

use std::ffi::OsStr;
use std::fmt::Display;
use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use linerate_host::path_trust;
use linerate_lab::bonds;
use linerate_lab::cgroups::Cgroups;
use linerate_lab::down::down;
use linerate_lab::engine::EngineSpec;
use linerate_lab::error::LabError;
use linerate_lab::faults::{Fault, FaultKind, FaultSelection};
use linerate_lab::folder::{LabFolder, LabRecord, STATE, ScaledSite};
use linerate_lab::names::machines;
use linerate_lab::planting::change_faults;
use linerate_lab::programs::check_root;
use linerate_lab::scale::{ScaleRequest, scaled};
use linerate_lab::spec::{DriveLimits, DriveSpec, LabSpec, UniformSpec};
use linerate_lab::status::{self, LabStatus};
use linerate_lab::up::{MadeLab, UpRequest, entering, up};
use linerate_record::site::Site;
use linerate_record::units::{Bytes, count, duration_ns};

use crate::files::site_file::read_site;
use crate::run::interrupt;
use crate::terminal::failure::{Failure, code};
use crate::terminal::printing;
use crate::terminal::progress::Progress;
use flags::{ExecFlags, FaultFlags, HealFlags, LabFlags, LabVerb, NAME, ScaleFlag, StatusFlags, UpFlags, WhichLab};

/// How long a lab takes, as far as its progress is shown: a second for two nodes with their engine.
const EXPECTED_MS_PER_MACHINE: u64 = 500;

/// What a lab without a site has, unless it is said.
const NODES: u32 = 4;
const DRIVES: u32 = 2;

pub(crate) fn check(flags: &LabFlags) -> Result<(), Failure> {
    match &flags.verb {
        LabVerb::Up(flags) => request(flags).map(|_| ()),
        LabVerb::Status(_)
        | LabVerb::Exec(_)
        | LabVerb::Fault(_)
        | LabVerb::Heal(_)
        | LabVerb::Down(_)
        | LabVerb::Traffic(_) => Ok(()),
    }
}

pub(crate) fn run(flags: &LabFlags) -> Result<ExitCode, Failure> {
    match &flags.verb {
        LabVerb::Up(flags) => make(flags),
        LabVerb::Status(flags) => show(flags),
        LabVerb::Exec(flags) => exec(flags),
        LabVerb::Fault(flags) => plant(flags),
        LabVerb::Heal(flags) => heal(flags),
        LabVerb::Down(flags) => remove(&flags.lab),
        LabVerb::Traffic(flags) => traffic::run(flags),
    }
}

/// Each kind of error with its exit code.
fn failure(error: LabError) -> Failure {
    let exit_code = match &error {
        LabError::Spec { mistakes } if mistakes.len() > 1 => return Failure::Mistakes(mistakes.clone()),
        LabError::Spec { .. } => return Failure::usage(error),
        LabError::Fault(_) | LabError::Name { .. } => return Failure::usage(error),
        LabError::NoLab { .. } | LabError::NotALab { .. } => return Failure::usage(error),
        LabError::NotServing { .. } => code::TARGET,
        LabError::Interrupted => code::INTERRUPTED,
        _ => code::MACHINE,
    };
    Failure::Outcome { why: error.to_string(), code: exit_code }
}

/// What the flags want.
fn request(flags: &UpFlags) -> Result<UpRequest, Failure> {
    let site = flags.site.as_ref().map(|path| read_site(path)).transpose()?;
    let (spec, scaled) = spec(flags, site.as_ref());
    spec.check().map_err(failure)?;
    let parity = flags.parity.or_else(|| site.as_ref().and_then(|site| site.engine.protection.redundancy()));
    let program_path = std::env::var_os("PATH").unwrap_or_default();
    let engine = flags.engine.zip(flags.binary.as_ref()).map(|(engine, binary)| {
        let binary = program(binary, &program_path)?;
        Ok::<_, Failure>(EngineSpec { product: engine.product(), binary, parity })
    });
    let engine = engine.transpose()?;
    let state = std::path::absolute(&flags.lab.state).map_err(Failure::usage)?;
    let name = flags.lab.name.clone();
    Ok(UpRequest { state, name, spec, engine, scaled, linerate: this_program()?, program_path })
}

/// The file of a program: a name without a folder is looked for as a shell does.
fn program(binary: &Path, program_path: &OsStr) -> Result<PathBuf, Failure> {
    let is_name = binary.components().count() == 1 && !binary.exists();
    let found = std::env::split_paths(program_path).filter(|_| is_name).map(|folder| folder.join(binary));
    let is_program = |path: &PathBuf| path.metadata().is_ok_and(|file| file.is_file() && file.mode() & 0o111 != 0);
    let found = found.chain([binary.to_owned()]).find(is_program);
    let none = || Failure::usage(format!("{} is no program: name the engine's with --binary", binary.display()));
    std::path::absolute(found.ok_or_else(none)?).map_err(Failure::usage)
}

fn this_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|source| Failure::File { what: "find", path: "/proc/self/exe".into(), source })
}

fn spec(flags: &UpFlags, site: Option<&Site>) -> (LabSpec, Option<ScaledSite>) {
    if let Some(site) = site {
        let divisor = match flags.scale {
            ScaleFlag::Auto => None,
            ScaleFlag::Divisor(divisor) => Some(divisor),
        };
        let processors = std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1));
        let UpFlags { nodes, drives, drive_size: Bytes(drive_bytes), .. } = *flags;
        let has_bonds = bonds::are_here();
        let request = ScaleRequest { divisor, nodes, drives, drive_bytes, processors, has_bonds };
        let (spec, scaled) = scaled(site, request);
        return (spec, Some(scaled));
    }
    let limits = DriveLimits {
        read_bytes_per_s: flags.drive_read.map(|rate| rate.0),
        write_bytes_per_s: flags.drive_write.map(|rate| rate.0),
        ..DriveLimits::default()
    };
    let spec = LabSpec::uniform(UniformSpec {
        nodes: flags.nodes.unwrap_or(NODES),
        drives: flags.drives.unwrap_or(DRIVES),
        drive: DriveSpec { size_bytes: flags.drive_size.0, limits },
        link_bits_per_s: flags.link.map(|rate| rate.0),
        ports: flags.ports,
        cores: flags.cores,
        clients: flags.clients,
        client_bits_per_s: flags.client_link.map(|rate| rate.0),
        mtu_bytes: flags.mtu,
    });
    (spec, None)
}

fn make(flags: &UpFlags) -> Result<ExitCode, Failure> {
    let request = request(flags)?;
    check_state(&request.state)?;
    // Folders above it that are not there yet are made by nobody else meanwhile.
    let failed = |source| Failure::File { what: "make", path: request.state.clone(), source };
    check_root().map_err(failure)?;
    DirBuilder::new().recursive(true).mode(0o700).create(&request.state).map_err(failed)?;
    check_state(&request.state)?;
    let machines = machines(&request.spec).count() as u64;
    let interrupted = interrupt::watch_signals("interrupted again: linerate lab down removes what is left".to_owned())?;
    let expected = std::time::Duration::from_millis(EXPECTED_MS_PER_MACHINE * machines);
    let progress = Progress::new(expected, flags.quiet);
    let made = up(&request, &interrupted.stop, &|what| progress.live(what));
    progress.end();
    printing::print(&made_text(&made.map_err(failure)?, &flags.lab))?;
    Ok(ExitCode::SUCCESS)
}

/// What decides what is removed as root is in folders in which nobody else can put something.
fn check_state(state: &Path) -> Result<(), Failure> {
    let existing = state.ancestors().find(|path| path.exists());
    let failed = |source| Failure::File { what: "look at", path: state.to_owned(), source };
    match existing.map_or(Ok(None), path_trust::weak).map_err(failed)? {
        Some(weak) => Err(failure(LabError::Untrusted { path: weak })),
        None => Ok(()),
    }
}

/// The folder of all labs, of a user who may work on them.
fn trusted_state(lab: &WhichLab) -> Result<PathBuf, Failure> {
    check_root().map_err(failure)?;
    let state = std::path::absolute(&lab.state).map_err(Failure::usage)?;
    check_state(&state)?;
    Ok(state)
}

fn made_text(made: &MadeLab, lab: &WhichLab) -> String {
    let LabRecord { name, spec, scaled, engine, .. } = &made.record;
    let drives: usize = spec.nodes.iter().map(|node| node.drives.len()).sum();
    let mut text = format!(
        " lab {name}: {} nodes, {drives} drives, {} clients\n site   {}\n fleet  {}\n",
        spec.nodes.len(),
        spec.clients.len(),
        made.site.display(),
        made.fleet.display()
    );
    if let Some(ScaledSite { site, divisor, differs }) = scaled {
        text.push_str(&format!(" scale  rates of {site} divided by {}; what it has not:\n", count(*divisor)));
        text.extend(differs.iter().map(|what| format!("        - {what}\n")));
    }
    let which = which_lab(lab);
    if engine.is_some() {
        let hosts = status::hosts(&made.record);
        text.push_str(&format!(
            " next   linerate lab exec{which} client1 -- linerate bench --host '{hosts}' --yes-load\n"
        ));
    }
    text.push_str(&format!(" end    linerate lab down{which}\n"));
    text
}

/// The flags that name a lab, as far as they are not the usual ones.
fn which_lab(lab: &WhichLab) -> String {
    let name = if lab.name.to_string() == NAME { String::new() } else { format!(" --name {}", lab.name) };
    let is_usual = lab.state.as_os_str() == STATE;
    let state = if is_usual { String::new() } else { format!(" --state '{}'", lab.state.display()) };
    name + &state
}

/// A lab that is there, with its record.
fn open(lab: &WhichLab) -> Result<(LabFolder, LabRecord), Failure> {
    let state = trusted_state(lab)?;
    let folder = LabFolder::open(&state, &lab.name).map_err(failure)?;
    match folder.record().map_err(failure)? {
        Some(record) => Ok((folder, record)),
        None => {
            let which = which_lab(lab);
            let why = format!("the lab {} was not made to its end: linerate lab down{which} removes it", lab.name);
            Err(Failure::Outcome { why, code: code::MACHINE })
        }
    }
}

fn show(flags: &StatusFlags) -> Result<ExitCode, Failure> {
    let (folder, record) = open(&flags.lab)?;
    let status = status::status(&folder, &record).map_err(failure)?;
    let text = if flags.json {
        serde_json::to_string_pretty(&status).map_err(Failure::usage)? + "\n"
    } else {
        status_text(&status)
    };
    printing::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn status_text(status: &LabStatus) -> String {
    let mut text = format!(" lab {}\n", status.lab);
    for machine in &status.machines {
        let broken = if machine.is_whole { "" } else { "  its namespace or control groups are gone" };
        text.push_str(&format!(
            "   {:<9} {:<13} {:<24} {} processes{broken}\n",
            machine.machine, machine.address, machine.namespace, machine.processes
        ));
    }
    if let Some(hosts) = &status.hosts {
        let serves =
            status.not_serving.as_deref().map_or("every node serves".to_owned(), |why| format!("not serving: {why}"));
        text.push_str(&format!(" engine {hosts}: {serves}\n"));
    }
    text + &faults_text(&status.faults)
}

/// The command takes the place of this process.
fn exec(flags: &ExecFlags) -> Result<ExitCode, Failure> {
    let (folder, record) = open(&flags.lab)?;
    let machine = flags.machine;
    if !machines(&record.spec).any(|other| other == machine) {
        return Err(Failure::usage(format!("there is no {machine} in the lab {}", record.name)));
    }
    let is_freeze = |fault: &&Fault| fault.machine == machine && fault.kind == FaultKind::Freeze;
    if let Some(fault) = folder.faults().map_err(failure)?.faults.iter().find(is_freeze) {
        return Err(Failure::usage(format!("{machine} stands still: linerate lab heal '{fault}' lets it go on")));
    }
    let words: Option<Vec<String>> = flags.command.iter().map(|word| word.to_str().map(str::to_owned)).collect();
    let words = words.ok_or_else(|| Failure::usage("the command is not UTF-8"))?;
    let words = entering(&folder, &Cgroups::find().map_err(failure)?, machine, &words);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    if let Some(keys) = folder.keys().map_err(failure)? {
        command.env("AWS_ACCESS_KEY_ID", keys.access_key).env("AWS_SECRET_ACCESS_KEY", keys.secret_key);
    }
    // Others may work on the lab meanwhile.
    drop(folder);
    Err(Failure::Command(format!("failed to run {:?}: {}", flags.command[0], command.exec())))
}

fn plant(flags: &FaultFlags) -> Result<ExitCode, Failure> {
    let (folder, record) = open(&flags.lab)?;
    let planted: Vec<Fault> = flags.faults.iter().flat_map(|request| request.faults(&record.spec)).collect();
    let faults = change_faults(&folder, &record, &this_program()?, |_| true, &planted).map_err(failure)?;
    print_faults(&faults)
}

fn heal(flags: &HealFlags) -> Result<ExitCode, Failure> {
    let (folder, record) = open(&flags.lab)?;
    let planted = folder.faults().map_err(failure)?.faults;
    let is_planted = |selection: &&FaultSelection| planted.iter().any(|fault| selection.selects(fault));
    if let Some(unknown) = flags.faults.iter().find(|selection| !is_planted(selection)) {
        let all: Vec<String> = planted.iter().map(ToString::to_string).collect();
        let all = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
        return Err(Failure::usage(format!("'{unknown}' is not planted; faults: {all}")));
    }
    let is_lifted = |fault: &Fault| flags.faults.iter().any(|selection| selection.selects(fault));
    let keep = |fault: &Fault| !flags.faults.is_empty() && !is_lifted(fault);
    let faults = change_faults(&folder, &record, &this_program()?, keep, &[]).map_err(failure)?;
    print_faults(&faults)
}

fn print_faults(faults: &[Fault]) -> Result<ExitCode, Failure> {
    printing::print(&faults_text(faults))?;
    Ok(ExitCode::SUCCESS)
}

fn faults_text<T: Display>(faults: &[T]) -> String {
    match faults {
        [] => " faults none\n".to_owned(),
        faults => faults.iter().map(|fault| format!(" fault  {fault}\n")).collect(),
    }
}

fn remove(lab: &WhichLab) -> Result<ExitCode, Failure> {
    let state = trusted_state(lab)?;
    let begun = std::time::Instant::now();
    down(&state, &lab.name).map_err(failure)?;
    let took = duration_ns(begun.elapsed().as_nanos() as f64);
    printing::print(&format!(" lab {}: removed in {took}\n", lab.name))?;
    Ok(ExitCode::SUCCESS)
}
