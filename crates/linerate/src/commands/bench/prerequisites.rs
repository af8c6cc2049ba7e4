//! What a run needs of this machine and of its user: found before anything is reached, and by a dry run too.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use linerate_load::sigv4::Credentials;
use linerate_load::tls::check_names;
use linerate_record::load::{Endpoint, Load, Lookup, OwnTarget, Server, TlsTrust};
use linerate_record::site::Site;
use linerate_wire::tls::Trust;
use rustix::fs::{Access, access};

use super::clients::{ClientSelection, require_enough_to_delete, select_clients};
use super::flags::{FleetChoice, Output};
use crate::credentials::keys::Keys;
use crate::credentials::{keys, tls_trust};
use crate::files::{run_folder, site_prediction};
use crate::run::{metrics, source_addresses};
use crate::terminal::failure::Failure;

pub(crate) struct Prerequisites {
    pub(super) id: String,
    pub(super) folder: PathBuf,
    /// Whom to believe; `None` without TLS, and of a target of linerate's own, which says so itself.
    pub(super) trust: Option<Trust>,
    /// Who signs; `None` where requests go unsigned, and of a target of linerate's own, whose keys are made for it.
    pub(super) credentials: Option<Credentials>,
    /// Where figures are served.
    pub(super) metrics: Option<TcpListener>,
    /// What is loaded, as it is described.
    pub(super) site: Option<Site>,
    /// The clients that load; none where this process does.
    pub(super) clients: Option<ClientSelection>,
}

/// What a run has besides its load: whose keys, whether there is consent, and what is shown of it and kept.
pub(crate) struct RunContext<'a> {
    pub(crate) keys: &'a Keys,
    pub(crate) output: &'a Output,
    pub(crate) fleet: &'a FleetChoice,
    pub(crate) yes_load: bool,
}

/// Finds all of it.
///
/// # Errors
/// All that is wrong, at once.
pub(crate) fn gather(load: &Load, run_context: &RunContext<'_>) -> Result<Prerequisites, Failure> {
    let RunContext { keys, output, fleet, .. } = run_context;
    let endpoint = &load.endpoint;
    let trust = endpoint.tls.as_ref().filter(|_| !endpoint.server.is_own()).map(find_trust).transpose();
    let credentials = find_credentials(endpoint, keys);
    let place = choose_folder(output, load);
    let metrics = output.metrics.map(metrics::bind).transpose();
    let site = output.site.as_deref().map(|path| read_loaded_site(path, &load.endpoint.server)).transpose();
    let clients = select_clients(fleet).and_then(|clients| require_enough_to_delete(load, clients));
    let known = site.as_ref().ok().and_then(Option::as_ref);
    // Once keys are known: the run folder would keep them.
    let rest = [
        check_own_target(load),
        check_source(endpoint),
        check_host_names(endpoint),
        refuse_secrets(load, output, known),
    ];
    let mut wrong: Vec<Failure> = rest.into_iter().filter_map(Result::err).collect();
    match (trust, credentials, place, metrics, site, clients) {
        (Ok(trust), Ok(credentials), Ok((id, folder)), Ok(metrics), Ok(site), Ok(clients)) if wrong.is_empty() => {
            Ok(Prerequisites { id, folder, trust, credentials, metrics, site, clients })
        }
        (trust, credentials, place, metrics, site, clients) => {
            let others = [credentials.err(), trust.err(), place.err(), metrics.err(), site.err(), clients.err()];
            wrong.extend(others.into_iter().flatten());
            Err(Failure::combine(wrong.into_iter().map(Some)))
        }
    }
}

/// The site that is loaded, which a target of linerate's own is no part of.
fn read_loaded_site(path: &Path, server: &Server) -> Result<Site, Failure> {
    let site = site_prediction::read_modelled_site(path)?;
    match server {
        Server::Hosts { .. } => Ok(site),
        Server::Own { kind, .. } => Err(Failure::usage(format!(
            "--site describes the target, but linerate's own {kind} target is not part of {}: give --host, or drop \
             --site",
            site.name
        ))),
    }
}

fn find_trust(trust: &TlsTrust) -> Result<Trust, Failure> {
    tls_trust::find_trust(trust.insecure, trust.ca_file.as_deref())
}

fn find_credentials(endpoint: &Endpoint, keys: &Keys) -> Result<Option<Credentials>, Failure> {
    let Server::Hosts { authorities, .. } = &endpoint.server else { return Ok(None) };
    let found = if endpoint.anonymous { None } else { keys::find_signing(keys)? };
    keys::refuse_key_as_host(found.as_ref(), authorities)?;
    Ok(found)
}

/// What is wrong with a target of linerate's own: it is started anew for each run, in a folder that must be there.
fn check_own_target(load: &Load) -> Result<(), Failure> {
    let Server::Own { kind, drive } = &load.endpoint.server else { return Ok(()) };
    if load.objects.list_existing {
        return Err(Failure::usage(format!(
            "--list-existing reads existing objects, but linerate's own {kind} target starts empty: give --host"
        )));
    }
    if load.endpoint.lookup == Lookup::Host && (*kind == OwnTarget::Embedded || load.endpoint.tls.is_some()) {
        return Err(Failure::usage(format!(
            "--lookup host puts the bucket before a name, and linerate's own {kind} target has an address: drop it"
        )));
    }
    let Some(drive) = drive else { return Ok(()) };
    check_writable(drive).map_err(|error| {
        Failure::usage(format!("--drive {}: {error}; name a folder that you can write to", drive.display()))
    })
}

/// What is wrong with local addresses, as far as it is known before names are looked up.
fn check_source(endpoint: &Endpoint) -> Result<(), Failure> {
    let Some(text) = &endpoint.source else { return Ok(()) };
    match &endpoint.server {
        Server::Hosts { authorities, .. } => source_addresses::check(text, authorities),
        Server::Own { .. } => source_addresses::check(text, &[SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).to_string()]),
    }
}

/// What is wrong with names of hosts as certificates have them.
fn check_host_names(endpoint: &Endpoint) -> Result<(), Failure> {
    match (&endpoint.server, &endpoint.tls) {
        (Server::Hosts { authorities, .. }, Some(_)) => {
            Ok(check_names(authorities, endpoint.lookup, &endpoint.bucket)?)
        }
        _ => Ok(()),
    }
}

/// Refuses a load, a title, a folder or a site that holds a secret in use: the run folder would keep it.
fn refuse_secrets(load: &Load, output: &Output, site: Option<&Site>) -> Result<(), Failure> {
    let Output { title, output, .. } = output;
    run_folder::secret_check::refuse_secret(load)?;
    // A folder's name may be no UTF-8, which JSON has no text for.
    let output = output.as_ref().map(|folder| folder.to_string_lossy());
    // As one text: what a mistake is called by is the flag.
    let site = site.and_then(|site| serde_json::to_string(site).ok());
    run_folder::secret_check::refuse_secret(&serde_json::json!({"title": title, "output": output, "site": site}))
}

/// The run's name, and its folder, which can be made.
fn choose_folder(output: &Output, load: &Load) -> Result<(String, PathBuf), Failure> {
    let (id, folder) = name_folder(output, load)?;
    run_folder::require_free(&folder)?;
    let there = folder.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    let what = if there == folder { "write to" } else { "make run folder" };
    check_writable(there).map_err(|source| Failure::File { what, path: folder.clone(), source })?;
    Ok((id, folder))
}

/// Whether files can be made in a folder.
fn check_writable(folder: &Path) -> std::io::Result<()> {
    if !std::fs::metadata(folder)?.is_dir() {
        return Err(std::io::ErrorKind::NotADirectory.into());
    }
    if is_on_kernel_file_system(folder) {
        let why = "it belongs to the kernel and stores no files";
        return Err(std::io::Error::new(std::io::ErrorKind::Unsupported, why));
    }
    Ok(access(folder, Access::WRITE_OK | Access::EXEC_OK)?)
}

/// File systems that show what the kernel knows, by their magic numbers (statfs(2)): access(2) grants root what they
/// then refuse. proc, sysfs, cgroup, cgroup2, debugfs, tracefs, securityfs and bpf.
const KERNEL_FILE_SYSTEMS: [u64; 8] =
    [0x9fa0, 0x6265_6572, 0x27_e0eb, 0x6367_7270, 0x6462_6720, 0x7472_6163, 0x7363_6673, 0xcafe_4a11];

fn is_on_kernel_file_system(folder: &Path) -> bool {
    // Signed and of 32 bits on some machines.
    rustix::fs::statfs(folder).is_ok_and(|found| KERNEL_FILE_SYSTEMS.contains(&(found.f_type as u64 & 0xFFFF_FFFF)))
}

/// `runs/1120-0931-get` and so on, with a number where that exists.
fn name_folder(output: &Output, load: &Load) -> Result<(String, PathBuf), Failure> {
    if let Some(path) = &output.output {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '-' };
        let id: String = name.chars().map(plain).take(64).collect();
        return Ok((if id.is_empty() { "run".into() } else { id }, path.clone()));
    }
    let words: Vec<&str> = load.work.iter().map(|work| work.workload.kind()).collect();
    let stem = format!("{}-{}", jiff::Zoned::now().strftime("%m%d-%H%M"), words.join("-"));
    run_folder::unused_folder(&stem)
}
