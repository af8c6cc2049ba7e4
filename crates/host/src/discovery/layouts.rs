//! How each engine says where its data are, and how it lays them out: a row and a file an engine.

mod ceph;
mod endpoints;
mod garage;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;

use linerate_record::discovery::EngineDrive;

use crate::root::{ReadPass, Root, note, text};

/// What is read of a process.
#[derive(Debug, Default)]
pub(super) struct DataLayout {
    /// Endpoints or folders with data.
    pub(super) volumes: Vec<String>,
    /// Settings that decide the layout, by name. None of them holds a secret.
    pub(super) settings: BTreeMap<String, String>,
    pub(super) drives: Vec<EngineDrive>,
}

/// A process of an engine.
#[derive(Clone, Copy, Debug)]
struct EngineProcess<'a> {
    root: &'a Root,
    pid: u32,
    /// Addresses of its machine and of its network namespace.
    own: &'a [IpAddr],
}

type ReadLayout = fn(EngineProcess<'_>, &mut ReadPass) -> DataLayout;

const ENGINES: [(&str, ReadLayout); 4] =
    [("minio", endpoints::minio), ("rustfs", endpoints::rustfs), ("garage", garage::read), ("ceph-osd", ceph::read)];

/// What a process of a program says; nothing of a program without a row.
pub(super) fn layout(root: &Root, pid: u32, program: &str, own: &[IpAddr], pass: &mut ReadPass) -> DataLayout {
    let row = ENGINES.iter().find(|(name, _)| *name == program);
    row.map_or_else(DataLayout::default, |(_, read)| read(EngineProcess { root, pid, own }, pass))
}

impl EngineProcess<'_> {
    /// The path of a file as it sees it, for whoever reads it from outside.
    fn inside(&self, path: &str) -> String {
        format!("proc/{}/root{path}", self.pid)
    }

    /// Words of its command line behind the program; none where they may not be read.
    fn arguments(&self, pass: &mut ReadPass) -> Vec<String> {
        let path = format!("proc/{}/cmdline", self.pid);
        match text(self.root, &path, &mut pass.bytes) {
            Ok(line) => line.split('\0').skip(1).filter(|word| !word.is_empty()).map(str::to_owned).collect(),
            Err(error) => {
                note(pass, &path, error.to_string());
                Vec::new()
            }
        }
    }

    /// The values of names in its environment: of others, which may hold secrets, nothing is kept.
    fn environment(&self, names: &[&str], pass: &mut ReadPass) -> BTreeMap<String, String> {
        let path = format!("proc/{}/environ", self.pid);
        let text = match text(self.root, &path, &mut pass.bytes).map(Cow::into_owned) {
            Ok(text) => text,
            Err(error) => {
                note(pass, &path, format!("{error}: how the engine was started is known from its arguments alone"));
                return BTreeMap::new();
            }
        };
        let kept = text.split('\0').filter_map(|entry| entry.split_once('=')).filter(|(name, _)| names.contains(name));
        kept.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }
}

/// The value behind a flag: `-c FILE`, `--config FILE` or `--config=FILE`.
fn flag_value<'a>(arguments: &'a [String], flags: &[&str]) -> Option<&'a str> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if flags.contains(&word.as_str()) {
            return words.next().map(String::as_str);
        }
        let joined = word.split_once('=').filter(|(flag, _)| flags.contains(flag));
        if let Some((_, value)) = joined {
            return Some(value);
        }
    }
    None
}
