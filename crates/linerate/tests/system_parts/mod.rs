//! A real MinIO, a real Kubernetes, network namespaces, a virtual machine and the released binary for the system tests.
//! All are ended and removed with the test.

pub(crate) mod accepted;
pub(crate) mod audited;
pub(crate) mod booted;
pub(crate) mod booted_clock;
pub(crate) mod booted_fleet;
mod cluster;
pub(crate) mod confined;
pub(crate) mod contained;
mod cut_off;
pub(crate) mod discovered;
pub(crate) mod elsewhere;
pub(crate) mod ends;
pub(crate) mod experiment;
pub(crate) mod exported;
pub(crate) mod fleet_buffers;
pub(crate) mod fleet_changed;
pub(crate) mod fleet_moments;
pub(crate) mod fleet_network;
mod fleet_nodes;
pub(crate) mod kubernetes;
pub(crate) mod lab;
pub(crate) mod lab_booted;
pub(crate) mod lab_killed;
pub(crate) mod linked;
pub(crate) mod live_cost;
mod logins;
pub(crate) mod longest;
pub(crate) mod looked_at;
pub(crate) mod many_clients;
mod minio;
mod namespaces;
pub(crate) mod net_bonds;
#[cfg(feature = "kube")]
pub(crate) mod pods;
#[cfg(not(feature = "kube"))]
pub(crate) mod pods {
    //! A build without Kubernetes has nothing to check of it.
    pub(crate) const CHECKS: [(&str, &[&str], fn() -> Result<(), libtest_mimic::Failed>); 0] = [];
}
#[cfg(feature = "kube")]
mod pods_load;
pub(crate) mod reached;
pub(crate) mod recorded;
pub(crate) mod released;
pub(crate) mod renamed;
pub(crate) mod resolved;
pub(crate) mod scopes;
mod seen_nodes;
pub(crate) mod shaped_cluster;
pub(crate) mod sockets;
pub(crate) mod there_and_back;
pub(crate) mod tune;
pub(crate) mod unwatched;
pub(crate) mod watched;
pub(crate) mod watched_bond;
pub(crate) mod watched_live;

pub(crate) use minio::Minio;
pub(crate) use namespaces::Namespaces;

use std::path::Path;
use std::process::Command;

/// `outer` with `inner` behind it: its program, arguments and environment.
fn wrapped(mut outer: Command, inner: &Command) -> Command {
    outer.arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    outer
}

/// What of `needs` this machine lacks, by name.
pub(crate) fn missing(needs: &[&str]) -> Vec<String> {
    let lacks = |need: &&&str| match **need {
        "MinIO" => std::env::var_os("MINIO").is_none(),
        "a kernel to boot" => booted::kernel().is_none(),
        "a Debian with systemd" => booted_fleet::unpacked().is_none(),
        "Prometheus" => recorded::unpacked().is_none(),
        "shells and sudo" => logins::unpacked().is_none(),
        "TuneD" => exported::tuned().is_none(),
        "the types of Kubernetes" => exported::pod().is_none(),
        "a Kubernetes" => kubernetes::built().is_none(),
        "definitions of others" => watched::definitions().is_none(),
        "a reader of rules" => watched::reader().is_none(),
        "control groups of version 1" => !kubernetes::has_groups(),
        "root" => !is_root(),
        "libseccomp" => !has_seccomp(),
        "make dist" => released::binary().is_none(),
        program => !on_path(program),
    };
    needs.iter().filter(lacks).map(ToString::to_string).collect()
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0)
}

/// The library of which Debian's apt and runtimes of containers make filters.
fn has_seccomp() -> bool {
    let triple = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    [triple.as_str(), "/usr/lib64"].iter().any(|folder| Path::new(folder).join("libseccomp.so.2").exists())
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
