//! The programs of a bench: linerate and the bare loop are built, the others are found or named as missing.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::Failure;
use super::clients::Client;
use super::options::{Cell, Op, Options, TargetKind};

pub(super) struct Programs {
    pub(super) root: PathBuf,
    pub(super) linerate: PathBuf,
    /// Another build of it.
    pub(super) before: Option<PathBuf>,
    pub(super) bareloop: PathBuf,
    pub(super) minio: PathBuf,
    pub(super) wrk: Option<PathBuf>,
    pub(super) warp: Option<PathBuf>,
    pub(super) openssl: Option<PathBuf>,
    /// What is left out and why.
    pub(super) skipped: Vec<String>,
}

impl Programs {
    pub(super) fn find(options: &Options) -> Result<Programs, Failure> {
        let (root, target) = folders()?;
        for needed in ["curl", "df", "mktemp", "sh"] {
            on_path(needed).ok_or_else(|| format!("{needed} is not on PATH, and the bench needs it"))?;
        }
        let minio = minio(&target)?;
        build(&root, &["linerate", "bareloop"])?;
        let wrk = on_path("wrk");
        let given_warp = sought("WARP")?;
        let mut skipped = Vec::new();
        let openssl = on_path("openssl");
        for (program, name) in [(&wrk, "wrk"), (&openssl, "openssl")] {
            if program.is_none() {
                skipped.push(format!("{name}: not on PATH"));
            }
        }
        match &given_warp {
            None => skipped.push("warp: WARP=path is not set".into()),
            Some(_) if options.quick => skipped.push("warp: left out of a quick bench".into()),
            Some(_) => {}
        }
        let warp = given_warp.filter(|_| !options.quick);
        let built = target.join("release");
        Ok(Programs {
            root,
            linerate: built.join("linerate"),
            before: sought("BEFORE")?,
            bareloop: built.join("bareloop"),
            minio,
            wrk,
            warp,
            openssl,
            skipped,
        })
    }

    /// The clients that can be run in a cell.
    pub(super) fn clients(&self, cell: Cell) -> Vec<Client> {
        let mut clients = vec![Client::Linerate];
        clients.extend(self.before.is_some().then_some(Client::Before));
        if cell.target == TargetKind::NullTls {
            if self.openssl.is_some() {
                clients.push(Client::Cipher);
                clients.extend((cell.op == Op::Put).then_some(Client::Digest));
            }
        } else {
            clients.push(Client::Bare);
        }
        if cell.op == Op::Put {
            clients.push(Client::LinerateUnsigned);
        }
        if self.wrk.is_some() && cell.op == Op::Get {
            clients.push(Client::Wrk);
        }
        if self.warp.is_some() && cell.target != TargetKind::Null {
            clients.push(Client::Warp);
            if cell.op == Op::Put {
                clients.push(Client::WarpUnsigned);
            }
        }
        clients
    }
}

/// The workspace's root, and where cargo builds.
pub(crate) fn folders() -> Result<(PathBuf, PathBuf), Failure> {
    let metadata: Value =
        serde_json::from_str(&output(&cargo(), &["metadata", "--no-deps", "--format-version", "1"])?)?;
    let folder = |key: &str| metadata[key].as_str().map(PathBuf::from).ok_or(format!("cargo metadata gives no {key}"));
    Ok((folder("workspace_root")?, folder("target_directory")?))
}

/// The server, wherever it is.
pub(super) fn minio(target: &Path) -> Result<PathBuf, Failure> {
    Ok(sought("MINIO")?
        .or_else(|| on_path("minio"))
        .or_else(|| file(target.join("servers/minio")))
        .ok_or("no minio: set MINIO=path, put it on PATH, or let the Makefile install it into target/servers")?)
}

/// Builds packages of the workspace as they are released.
pub(crate) fn build(root: &Path, packages: &[&str]) -> Result<(), Failure> {
    let mut command = Command::new(cargo());
    command.args(["build", "--release", "--quiet"]).current_dir(root);
    command.args(packages.iter().flat_map(|package| ["-p", package]));
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(format!("cargo build: {status}").into()) }
}

fn cargo() -> String {
    env::var("CARGO").unwrap_or_else(|_| "cargo".into())
}

/// The standard output of a short command, trimmed.
pub(crate) fn output(program: &str, args: &[&str]) -> Result<String, Failure> {
    let output = Command::new(program).args(args).output().map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        return Err(
            format!("{program} {args:?}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr)).into()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The program that a variable of the environment names, if it is set.
fn sought(variable: &str) -> Result<Option<PathBuf>, Failure> {
    let Some(path) = env::var_os(variable).filter(|value| !value.is_empty()) else { return Ok(None) };
    let found =
        file(PathBuf::from(&path)).ok_or_else(|| format!("{variable}={}: no such file", Path::new(&path).display()))?;
    Ok(Some(found))
}

fn on_path(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).find_map(|folder| file(folder.join(name)))
}

fn file(path: PathBuf) -> Option<PathBuf> {
    path.is_file().then_some(path)
}
