//! What was written into a folder, as the next run reads it.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use linerate_record::site::Site;
use linerate_render::entry_variant::EntryVariant;
use linerate_render::{PlacedPool, RenderRequest, Rendering};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::summary::path_list;
use crate::files::limited_read;
use crate::terminal::failure::Failure;

/// Its name, beside the files.
pub(super) const MANIFEST: &str = ".linerate-render.json";

/// Largest manifest that is read.
const BYTES_MAX: u64 = 64 << 20;

/// The version of [`RenderManifest`].
const SCHEMA: u32 = 1;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RenderManifest {
    schema: u32,
    /// Of the site's file. No other file has it: a comment in a site changes none.
    site_sha256: String,
    variant: String,
    /// Whether a flag asked for the variant.
    #[serde(default)]
    #[serde(rename = "is_variant_asked")]
    was_variant_requested: bool,
    /// Machines in the place of others.
    pub(super) replaced: Vec<(String, String)>,
    /// The machines and folders of each StatefulSet.
    #[serde(default)]
    pools: BTreeMap<String, BoundPool>,
    /// SHA-256 of each file, by its path.
    pub(super) files: BTreeMap<String, String>,
    /// What a run that did not end was about to write: each file is as before, or as here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) pending: BTreeMap<String, String>,
}

/// What the ordinals and claims of a StatefulSet are bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct BoundPool {
    /// The machine of each ordinal.
    machines: Vec<String>,
    /// The folder of each claim.
    folders: Vec<String>,
}

/// A hash in hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl RenderManifest {
    pub(super) fn new(rendering: &Rendering, request: &RenderRequest, site: &str) -> RenderManifest {
        let files = rendering.files.iter().map(|file| (file.path.clone(), sha256(file.text.as_bytes())));
        let bound = |pool: &PlacedPool| BoundPool { machines: pool.machines.clone(), folders: pool.folders.clone() };
        RenderManifest {
            schema: SCHEMA,
            site_sha256: sha256(site.as_bytes()),
            variant: rendering.choice.variant.name().to_owned(),
            was_variant_requested: request.variant.is_some(),
            replaced: request.replaced.clone(),
            pools: rendering.pools.iter().map(|pool| (pool.set.clone(), bound(pool))).collect(),
            files: files.collect(),
            pending: BTreeMap::new(),
        }
    }

    /// What holds while the files of this manifest are moved to their places: a run that ends in between has left some
    /// as they were found, and the next one may go on or back.
    pub(super) fn midway(&self, before: Option<&RenderManifest>, found: BTreeMap<String, String>) -> RenderManifest {
        let nothing = || RenderManifest {
            was_variant_requested: false,
            replaced: Vec::new(),
            pools: BTreeMap::new(),
            ..self.clone()
        };
        RenderManifest { files: found, pending: self.files.clone(), ..before.cloned().unwrap_or_else(nothing) }
    }

    /// As it stands in its file.
    pub(super) fn text(&self) -> Result<String, Failure> {
        let text = serde_json::to_string_pretty(self).map_err(|error| Failure::Command(error.to_string()))?;
        Ok(text + "\n")
    }

    /// Whether a file, or its absence, is what this or a run that did not end has left.
    pub(super) fn has_left(&self, path: &str, hash: Option<&str>) -> bool {
        let is = |files: &BTreeMap<String, String>| files.get(path).map(String::as_str) == hash;
        is(&self.files) || (!self.pending.is_empty() && is(&self.pending))
    }

    /// Whether a file was written, or was about to be.
    pub(super) fn knows(&self, path: &str) -> bool {
        self.files.contains_key(path) || self.pending.contains_key(path)
    }

    /// Reads a manifest. Its paths stay within the folder.
    pub(super) fn read(path: &Path) -> Result<RenderManifest, Failure> {
        let failed = |source| Failure::File { what: "read", path: path.to_owned(), source };
        let text = limited_read::read_text(path, BYTES_MAX).map_err(failed)?;
        let is_below = |path: &String| Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        let read = serde_json::from_str::<RenderManifest>(&text).ok();
        let known =
            read.filter(|read| read.schema == SCHEMA && read.files.keys().chain(read.pending.keys()).all(is_below));
        known.ok_or_else(|| {
            Failure::usage(format!("{} is not what this linerate writes: name another folder", path.display()))
        })
    }

    /// Refuses to return to a machine that was replaced before, only because nobody says so again.
    pub(super) fn require_replaced(
        &self,
        folder: &Path,
        site: &Site,
        replaced: &[(String, String)],
    ) -> Result<(), Failure> {
        let is_of_site = |name: &String| {
            site.kubernetes.iter().flat_map(|kubernetes| &kubernetes.hosts).any(|hosts| hosts.names.contains(name))
        };
        let is_forgotten =
            |(old, _): &&(String, String)| is_of_site(old) && !replaced.iter().any(|(one, _)| one == old);
        let Some((old, new)) = self.replaced.iter().find(is_forgotten) else { return Ok(()) };
        Err(Failure::usage(format!(
            "{} was written with --replace {old}={new}: give it again, or write {new} for {old} in kubernetes.hosts",
            folder.display()
        )))
    }

    /// Refuses to leave a variant that a flag asked for, only because nobody asks again.
    pub(super) fn require_variant(
        &self,
        folder: &Path,
        requested_variant: Option<EntryVariant>,
        chosen: EntryVariant,
    ) -> Result<(), Failure> {
        if requested_variant.is_some() || !self.was_variant_requested || self.variant == chosen.name() {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "{} was written with --variant {}: give it again, or --variant {} to leave it",
            folder.display(),
            self.variant,
            chosen.name()
        )))
    }

    /// Refuses to bind a drive that has data of one pod to another one. A machine in the place of one that is gone
    /// moves nothing.
    pub(super) fn require_places(&self, folder: &Path, next: &RenderManifest) -> Result<(), Failure> {
        let is_whole = self.pending.is_empty() && !self.files.is_empty();
        if is_whole && self.pools.is_empty() != next.pools.is_empty() {
            return Err(Failure::usage(format!(
                "{} was written {} kubernetes.provisioner, and a StatefulSet keeps the class of its claims: name \
                 another folder for a cluster without data",
                folder.display(),
                if next.pools.is_empty() { "without" } else { "with" }
            )));
        }
        let mut moved = moved(&pods(&self.pools), &pods(&next.pools));
        if moved.is_empty() {
            moved = self::moved(&drives(&self.pools), &drives(&next.pools));
        }
        if moved.is_empty() {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "{} has machines in other places, and their drives have the data of these: {}; keep the order of \
             kubernetes.hosts (a new machine has the place of the one that is gone) and the racks, or name another \
             folder for a cluster without data",
            folder.display(),
            path_list(&moved)
        )))
    }
}

/// The pod of each machine.
fn pods(pools: &BTreeMap<String, BoundPool>) -> BTreeMap<String, String> {
    let pods_of_pool = |(set, pool): (&String, &BoundPool)| {
        let pods = pool.machines.iter().enumerate();
        pods.map(|(ordinal, machine)| (machine.clone(), format!("{set}-{ordinal}"))).collect::<Vec<_>>()
    };
    pools.iter().flat_map(pods_of_pool).collect()
}

/// The claim of each drive.
fn drives(pools: &BTreeMap<String, BoundPool>) -> BTreeMap<String, String> {
    let drives_of_pool = |(set, pool): (&String, &BoundPool)| {
        let of_machine = |(ordinal, machine): (usize, &String)| {
            let drives = pool.folders.iter().enumerate();
            drives
                .map(|(i, folder)| (format!("{machine}:{folder}"), format!("data-{}-{set}-{ordinal}", i + 1)))
                .collect::<Vec<_>>()
        };
        pool.machines.iter().enumerate().flat_map(of_machine).collect::<Vec<_>>()
    };
    pools.iter().flat_map(drives_of_pool).collect()
}

/// What is bound before and after, and not to the same.
fn moved(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let both = before.iter().filter_map(|(what, from)| Some((what, from, after.get(what)?)));
    both.filter(|(_, from, to)| from != to).map(|(what, from, to)| format!("{what} from {from} to {to}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(pools: &[(&str, &str, &str)]) -> RenderManifest {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect();
        let bound = |machines, folders| BoundPool { machines: words(machines), folders: words(folders) };
        RenderManifest {
            schema: SCHEMA,
            site_sha256: String::new(),
            variant: "client".to_owned(),
            was_variant_requested: true,
            replaced: Vec::new(),
            pools: pools.iter().map(|(set, names, folders)| ((*set).to_owned(), bound(*names, *folders))).collect(),
            files: BTreeMap::new(),
            pending: BTreeMap::new(),
        }
    }

    #[test]
    fn no_drive_goes_to_another_pod_in_silence() {
        let before = manifest(&[("minio", "a b c", "/1 /2")]);
        for (pools, words) in [
            (&[("minio", "a b c", "/1 /2")][..], ""),
            (&[("minio", "a x c", "/1 /2")], ""),
            (&[("minio", "a b c", "/1 /2"), ("minio-pool-2", "d", "/1")], ""),
            (&[("minio", "a c x", "/1 /2")], "these: c from minio-2 to minio-1;"),
            (&[("minio", "c b a", "/1 /2")], "these: a from minio-0 to minio-2, c from minio-2 to minio-0;"),
            (&[("minio", "d", "/1"), ("minio-pool-2", "a b c", "/1 /2")], "a from minio-0 to minio-pool-2-0"),
            (&[("minio", "a b c", "/2 /1")], "a:/1 from data-1-minio-0 to data-2-minio-0"),
        ] {
            match before.require_places(Path::new("d"), &manifest(pools)) {
                Ok(()) => assert_eq!(words, "", "{pools:?}"),
                Err(error) => {
                    let text = error.to_string();
                    assert!(!words.is_empty() && text.contains(words) && text.contains("kubernetes.hosts"), "{text}");
                }
            }
        }
    }

    #[test]
    fn a_variant_that_was_asked_for_is_not_left_in_silence() {
        let (folder, before) = (Path::new("d"), manifest(&[]));
        let refused = before.require_variant(folder, None, EntryVariant::C).unwrap_err().to_string();
        assert!(refused.contains("--variant client: give it again, or --variant c "), "{refused}");
        assert!(before.require_variant(folder, Some(EntryVariant::C), EntryVariant::C).is_ok());
        assert!(before.require_variant(folder, None, EntryVariant::Client).is_ok());
        let by_site = RenderManifest { was_variant_requested: false, ..before };
        assert!(by_site.require_variant(folder, None, EntryVariant::C).is_ok());
    }
}
