//! The folder that is written: what is in it, what of that is one's own, and how it is replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use linerate_record::site::Site;
use linerate_render::{RenderRequest, RenderedFile, Rendering};

use super::manifest::{MANIFEST, RenderManifest, sha256};
use super::summary::path_list;
use crate::files::atomic_write::write_failure;
use crate::files::{limited_read, owner_check};
use crate::terminal::failure::Failure;

/// Where files are until all of them are whole: what the name of that folder begins with.
const STAGE_FOLDER: &str = ".linerate-render.new";

/// What says that such a folder is of this verb: an empty file in it.
const STAGE_MARK: &str = ".linerate-render.stage";

/// The manifest that holds while files are moved, in that folder.
const MIDWAY: &str = ".linerate-render.midway";

/// Git's own folder, in a folder that is its work tree.
const GIT: &str = ".git";

/// Largest file that is read: of a rack of a thousand drives.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Most files of a folder, and folders within folders.
const FILES_MAX: usize = 100_000;
const DEPTH_MAX: usize = 8;

/// A folder as it is.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    manifest: Option<RenderManifest>,
    /// SHA-256 of each file by its path; absent of what is no file.
    found: BTreeMap<String, Option<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WrittenFolder {
    pub(super) files: usize,
    pub(super) changed: usize,
    pub(super) removed: usize,
}

impl Folder {
    /// Reads a folder; one that is not there is empty.
    pub(super) fn read(path: &Path) -> Result<Folder, Failure> {
        let failed = |path: &Path, source| Failure::File { what: "read", path: path.to_owned(), source };
        let mut found = BTreeMap::new();
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(path, error)),
            Ok(_) => hash_files(path, "", 0, &mut found).map_err(|error| failed(path, error))?,
        }
        let manifest =
            if found.remove(MANIFEST).is_some() { Some(RenderManifest::read(&path.join(MANIFEST))?) } else { None };
        Ok(Folder { path: path.to_owned(), manifest, found })
    }

    fn hash(&self, path: &str) -> Option<&str> {
        self.found.get(path).and_then(Option::as_deref)
    }

    fn knows(&self, path: &str) -> bool {
        self.manifest.as_ref().is_some_and(|manifest| manifest.knows(path))
    }

    fn is_left(&self, path: &str) -> bool {
        let hash = self.hash(path);
        self.manifest.as_ref().map_or(hash.is_none(), |manifest| manifest.has_left(path, hash))
    }

    /// Paths that are not what would be written.
    pub(super) fn differing(&self, next: &RenderManifest) -> Vec<String> {
        let changed = next.files.keys().filter(|path| !self.is_unchanged_in(next, path));
        changed.chain(self.removed_paths(next)).cloned().collect()
    }

    /// Whether a file is as a manifest has it, or absent in both.
    fn is_unchanged_in(&self, next: &RenderManifest, path: &str) -> bool {
        self.hash(path) == next.files.get(path).map(String::as_str)
    }

    /// Paths that would not be there any more.
    fn removed_paths<'f>(&'f self, next: &RenderManifest) -> impl Iterator<Item = &'f String> {
        self.found.keys().filter(|path| !next.files.contains_key(*path))
    }

    /// Refuses a folder with files of others, and one with files that were changed since they were written, unless
    /// these may be overwritten.
    pub(super) fn require_own(&self, next: &RenderManifest, may_overwrite: bool) -> Result<(), Failure> {
        let is_new = |path: &str| next.files.contains_key(path);
        let strange = |path: &&String| {
            let is_file = self.hash(path).is_some();
            !is_file || (!self.knows(path) && !is_new(path))
        };
        let others: Vec<String> = self.found.keys().filter(strange).cloned().collect();
        let folder = self.path.display();
        if !others.is_empty() {
            let why = format!("{folder} has what linerate render did not write: {}", path_list(&others));
            return Err(Failure::usage(format!("{why}; name another folder, or move it away")));
        }
        // A run that was interrupted has left what is written now.
        let is_edited = |path: &&str| !self.is_left(path) && !self.is_unchanged_in(next, path);
        let known = self.manifest.iter().flat_map(|manifest| manifest.files.keys()).map(String::as_str);
        let all: BTreeSet<&str> = known.chain(self.found.keys().map(String::as_str)).collect();
        let edited: Vec<String> = all.into_iter().filter(is_edited).map(str::to_owned).collect();
        if edited.is_empty() || may_overwrite {
            return Ok(());
        }
        let why =
            format!("{folder} has files that were changed or removed since they were written: {}", path_list(&edited));
        Err(Failure::usage(format!("{why}; change the site instead, or give --overwrite")))
    }

    /// Refuses what would leave silently what the folder was written with.
    pub(super) fn require_kept(
        &self,
        site: &Site,
        request: &RenderRequest,
        rendering: &Rendering,
        next: &RenderManifest,
    ) -> Result<(), Failure> {
        let Some(manifest) = &self.manifest else { return Ok(()) };
        manifest.require_replaced(&self.path, site, &request.replaced)?;
        manifest.require_variant(&self.path, request.variant, rendering.choice.variant)?;
        manifest.require_places(&self.path, next)
    }

    /// Machines in the place of others that the folder had not been written with, where it had been written.
    pub(super) fn newly_replaced_machines(&self, replaced: &[(String, String)]) -> Vec<(String, String)> {
        let Some(manifest) = &self.manifest else { return Vec::new() };
        replaced.iter().filter(|pair| !manifest.replaced.contains(pair)).cloned().collect()
    }

    /// Refuses a manifest that somebody else may have written: it says which files are linerate's, and those are
    /// overwritten and removed.
    fn require_own_manifest(&self) -> Result<(), Failure> {
        let path = self.path.join(MANIFEST);
        let failed = |source| Failure::File { what: "read", path: path.clone(), source };
        let file = limited_read::open_without_waiting(&path).map_err(failed)?;
        owner_check::require_owned_file(&path, &file).map_err(|error| error.into_failure(failed))
    }

    /// Writes all files beside their places, and then moves them there. Before the first is moved, the manifest has
    /// what was found beside what is to be, so that the next run knows the files of one that is interrupted.
    pub(super) fn write(&self, files: &[RenderedFile], manifest: &RenderManifest) -> Result<WrittenFolder, Failure> {
        let changed: Vec<&RenderedFile> =
            files.iter().filter(|file| !self.is_unchanged_in(manifest, &file.path)).collect();
        let removed_paths: Vec<&String> = self.removed_paths(manifest).collect();
        if !(self.manifest.is_none() || changed.is_empty() && removed_paths.is_empty()) {
            self.require_own_manifest()?;
        }
        let found = self.found.iter().filter_map(|(path, hash)| Some((path.clone(), hash.clone()?))).collect();
        let midway = manifest.midway(self.manifest.as_ref(), found).text()?;
        let last = manifest.text()?;
        let failed = |source| Failure::File { what: "write to", path: self.path.clone(), source };
        let stage = Stage::new(&self.path).map_err(failed)?;
        let staged = changed.iter().map(|file| (file.path.as_str(), file.text.as_str()));
        for (path, text) in staged.chain([(MIDWAY, midway.as_str()), (MANIFEST, last.as_str())]) {
            let path = stage.0.join(path);
            write_file(&path, text.as_bytes()).map_err(|error| write_failure(&path, text.len(), error))?;
        }
        if !(changed.is_empty() && removed_paths.is_empty()) {
            move_file(&stage.0.join(MIDWAY), &self.path.join(MANIFEST))?;
        }
        for file in &changed {
            move_file(&stage.0.join(&file.path), &self.path.join(&file.path))?;
        }
        for path in &removed_paths {
            remove_file_and_empty_folders(&self.path, path)?;
        }
        move_file(&stage.0.join(MANIFEST), &self.path.join(MANIFEST))?;
        Ok(WrittenFolder { files: files.len(), changed: changed.len(), removed: removed_paths.len() })
    }
}

/// A folder of files that are not at their places yet. It goes however a run ends, unless that is killed.
struct Stage(PathBuf);

impl Stage {
    /// The stage of this process, and none of one that was killed.
    fn new(folder: &Path) -> io::Result<Stage> {
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        for entry in entries.filter(is_stage) {
            let _ = remove_stage(&entry.path());
        }
        let path = folder.join(format!("{STAGE_FOLDER}.{}", std::process::id()));
        fs::create_dir_all(folder)?;
        fs::create_dir(&path)?;
        let stage = Stage(path);
        fs::write(stage.0.join(STAGE_MARK), "")?;
        Ok(stage)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = remove_stage(&self.0);
    }
}

/// Whether it is a stage of this verb's: one that was killed between making it and marking it has left it empty.
fn is_stage(entry: &fs::DirEntry) -> bool {
    let name = entry.file_name();
    let number = name.to_str().and_then(|name| name.strip_prefix(STAGE_FOLDER)?.strip_prefix('.'));
    let is_named = number.is_some_and(|number| number.parse::<u32>().is_ok());
    let is_empty = || fs::read_dir(entry.path()).is_ok_and(|mut entries| entries.next().is_none());
    let is_marked = || entry.path().join(STAGE_MARK).symlink_metadata().is_ok_and(|mark| mark.is_file());
    is_named && entry.file_type().is_ok_and(|kind| kind.is_dir()) && (is_marked() || is_empty())
}

/// Removes a stage, its mark last.
fn remove_stage(stage: &Path) -> io::Result<()> {
    for entry in fs::read_dir(stage)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false if entry.file_name() == STAGE_MARK => {}
            false => fs::remove_file(entry.path())?,
        }
    }
    let _ = fs::remove_file(stage.join(STAGE_MARK));
    fs::remove_dir(stage)
}

/// The files below a folder, without those of Git and of an interrupted run.
fn hash_files(
    folder: &Path,
    prefix: &str,
    depth: usize,
    found: &mut BTreeMap<String, Option<String>>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if depth == 0 && (name == GIT || is_stage(&entry)) {
            continue;
        }
        if found.len() >= FILES_MAX || depth > DEPTH_MAX {
            return Err(io::Error::other("it has more than was ever written"));
        }
        let (path, kind) = (format!("{prefix}{name}"), entry.file_type()?);
        if kind.is_dir() {
            hash_files(&entry.path(), &format!("{path}/"), depth + 1, found)?;
        } else if kind.is_file() {
            let bytes = limited_read::open_without_waiting(&entry.path())
                .and_then(|file| limited_read::read_regular(&file, FILE_BYTES_MAX))?;
            found.insert(path, Some(sha256(&bytes)));
        } else {
            found.insert(path, None);
        }
    }
    Ok(())
}

fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, bytes)?;
    fs::File::open(path)?.sync_all()
}

fn move_file(from: &Path, to: &Path) -> Result<(), Failure> {
    let done = to.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::rename(from, to));
    done.map_err(|source| Failure::File { what: "write to", path: to.to_owned(), source })
}

/// Removes a file, and the folders that are empty then.
fn remove_file_and_empty_folders(root: &Path, path: &str) -> Result<(), Failure> {
    let file = root.join(path);
    fs::remove_file(&file).map_err(|source| Failure::File { what: "remove", path: file.clone(), source })?;
    let above = file.ancestors().skip(1).take_while(|folder| *folder != root);
    // The first that is not empty ends it.
    let _ = above.map(fs::remove_dir).take_while(Result::is_ok).count();
    Ok(())
}

#[cfg(test)]
mod tests {
    use linerate_render::entry_variant::{EntryVariant, VariantChoice};

    use super::*;

    fn files(all: &[(&str, &str)]) -> Vec<RenderedFile> {
        all.iter().map(|(path, text)| RenderedFile { path: (*path).to_owned(), text: (*text).to_owned() }).collect()
    }

    fn manifest_of(files: &[RenderedFile], replaced: &[(&str, &str)]) -> RenderManifest {
        let choice = VariantChoice { variant: EntryVariant::C, why: String::new() };
        let replaced = replaced.iter().map(|(old, new)| ((*old).to_owned(), (*new).to_owned())).collect();
        let request = RenderRequest { replaced, ..RenderRequest::default() };
        let rendering =
            Rendering { files: files.to_vec(), choice, weighed: Vec::new(), pools: Vec::new(), lost: Vec::new() };
        RenderManifest::new(&rendering, &request, "")
    }

    /// Writes as the verb does.
    fn render(path: &Path, files: &[RenderedFile], may_overwrite: bool) -> Result<WrittenFolder, String> {
        let folder = Folder::read(path).map_err(|failure| failure.to_string())?;
        folder.require_own(&manifest_of(files, &[]), may_overwrite).map_err(|failure| failure.to_string())?;
        folder.write(files, &manifest_of(files, &[])).map_err(|failure| failure.to_string())
    }

    fn names(path: &Path) -> BTreeSet<String> {
        let mut found = BTreeMap::new();
        hash_files(path, "", 0, &mut found).unwrap();
        found.into_keys().collect()
    }

    #[test]
    fn a_manifest_that_others_could_have_written_has_nothing_removed() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let (first, second) = (files(&[("a/one.yaml", "1"), ("a/two.yaml", "2")]), files(&[("a/one.yaml", "1")]));
        render(&path, &first, false).unwrap();
        let mode = |mode| fs::set_permissions(path.join(MANIFEST), fs::Permissions::from_mode(mode)).unwrap();
        mode(0o666);
        let refused = render(&path, &second, false).unwrap_err();
        assert!(refused.contains("chmod go-w") && path.join("a/two.yaml").exists(), "{refused}");
        mode(0o644);
        assert_eq!(render(&path, &second, false).unwrap().removed, 1);
    }

    #[test]
    fn a_folder_is_written_and_written_again_by_what_changed() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("gitops");
        let first = files(&[("a/one.yaml", "1"), ("b/two.yaml", "2")]);
        assert_eq!(render(&path, &first, false), Ok(WrittenFolder { files: 2, changed: 2, removed: 0 }));
        assert_eq!(render(&path, &first, false), Ok(WrittenFolder { files: 2, changed: 0, removed: 0 }));
        assert!(Folder::read(&path).unwrap().differing(&manifest_of(&first, &[])).is_empty());
        let second = files(&[("a/one.yaml", "3")]);
        assert_eq!(Folder::read(&path).unwrap().differing(&manifest_of(&second, &[])), ["a/one.yaml", "b/two.yaml"]);
        assert_eq!(render(&path, &second, false), Ok(WrittenFolder { files: 1, changed: 1, removed: 1 }));
        assert_eq!(names(&path), BTreeSet::from([MANIFEST.to_owned(), "a/one.yaml".to_owned()]));
        assert!(!path.join("b").exists());
    }

    #[test]
    fn what_somebody_changed_is_named_and_stays() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path();
        let all = files(&[("a/one.yaml", "1"), ("a/two.yaml", "2")]);
        render(path, &all, false).unwrap();
        fs::write(path.join("a/one.yaml"), "mine").unwrap();
        fs::remove_file(path.join("a/two.yaml")).unwrap();
        let refused = render(path, &files(&[("a/one.yaml", "3"), ("a/two.yaml", "2")]), false).unwrap_err();
        assert!(refused.contains("written: a/one.yaml, a/two.yaml; ") && refused.contains("--overwrite"), "{refused}");
        assert_eq!(fs::read_to_string(path.join("a/one.yaml")).unwrap(), "mine");
        assert!(render(path, &all, true).is_ok());
        assert_eq!(fs::read_to_string(path.join("a/one.yaml")).unwrap(), "1");
    }

    #[test]
    fn files_of_others_are_never_touched() {
        let base = tempfile::tempdir().unwrap();
        let (path, all) = (base.path(), files(&[("a/one.yaml", "1")]));
        fs::create_dir(path.join(GIT)).unwrap();
        fs::write(path.join(".git/HEAD"), "ref").unwrap();
        render(path, &all, false).unwrap();
        fs::write(path.join("a/notes.txt"), "mine").unwrap();
        std::os::unix::fs::symlink("/", path.join("link")).unwrap();
        for may_overwrite in [false, true] {
            let refused = render(path, &all, may_overwrite).unwrap_err();
            assert!(refused.contains("a/notes.txt, link"), "{refused}");
        }
        assert!(path.join(".git/HEAD").exists() && path.join("a/notes.txt").exists());
        let foreign = tempfile::tempdir().unwrap();
        fs::write(foreign.path().join("x"), "mine").unwrap();
        assert!(render(foreign.path(), &all, true).unwrap_err().contains("did not write: x"));
    }

    #[test]
    fn what_an_interrupted_run_has_left_is_completed() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path();
        render(path, &files(&[("a/one.yaml", "1"), ("a/two.yaml", "2")]), false).unwrap();
        let next = files(&[("a/one.yaml", "3"), ("a/two.yaml", "4"), ("c/new.yaml", "5")]);
        // Moved before the manifest was.
        fs::write(path.join("a/one.yaml"), "3").unwrap();
        let stage = path.join(format!("{STAGE_FOLDER}.4711"));
        fs::create_dir_all(stage.join("a")).unwrap();
        [STAGE_MARK, "half", "a/half"].iter().for_each(|name| fs::write(stage.join(name), "").unwrap());
        fs::create_dir(path.join(format!("{STAGE_FOLDER}.4712"))).unwrap();
        assert_eq!(render(path, &next, false), Ok(WrittenFolder { files: 3, changed: 2, removed: 0 }));
        assert!(Folder::read(path).unwrap().differing(&manifest_of(&next, &[])).is_empty());
        let names = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert!(names.collect::<Vec<_>>().iter().all(|name| !name.starts_with(STAGE_FOLDER)));
    }

    #[test]
    fn a_folder_of_others_with_the_name_of_a_stage_is_named_and_stays() {
        let base = tempfile::tempdir().unwrap();
        let (path, all) = (base.path(), files(&[("a/one.yaml", "1")]));
        for name in [STAGE_FOLDER.to_owned(), format!("{STAGE_FOLDER}.4711"), format!("{STAGE_FOLDER}.x")] {
            let foreign = path.join(&name);
            fs::create_dir(&foreign).unwrap();
            fs::write(foreign.join("thesis.txt"), "mine").unwrap();
            let refused = render(path, &all, true).unwrap_err();
            assert!(refused.contains(&format!("did not write: {name}/thesis.txt")), "{refused}");
            assert_eq!(fs::read_to_string(foreign.join("thesis.txt")).unwrap(), "mine");
            fs::remove_dir_all(&foreign).unwrap();
        }
        assert!(render(path, &all, true).is_ok());
    }

    #[test]
    fn after_a_failure_in_mid_move_one_may_go_back() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path();
        let old = files(&[("a/one.yaml", "1"), ("b/two.yaml", "2"), ("c/three.yaml", "3")]);
        let next = files(&[("a/one.yaml", "4"), ("b/two.yaml", "5"), ("z/new.yaml", "6")]);
        for first in [&[][..], &old] {
            if !first.is_empty() {
                render(path, first, false).unwrap();
            }
            let folder = Folder::read(path).unwrap();
            // A move fails: there is a folder with something in it.
            fs::create_dir_all(path.join("z/new.yaml/in")).unwrap();
            let failed = folder.write(&next, &manifest_of(&next, &[])).unwrap_err().to_string();
            assert!(failed.contains("z/new.yaml"), "{failed}");
            assert!(
                fs::read_dir(path).unwrap().all(|e| !e
                    .unwrap()
                    .file_name()
                    .to_string_lossy()
                    .starts_with(STAGE_FOLDER))
            );
            assert_eq!(fs::read_to_string(path.join("a/one.yaml")).unwrap(), "4");
            fs::remove_dir_all(path.join("z")).unwrap();
            render(path, &old, false).unwrap();
            assert!(Folder::read(path).unwrap().differing(&manifest_of(&old, &[])).is_empty());
            // What somebody edits is still known.
            fs::write(path.join("a/one.yaml"), "mine").unwrap();
            assert!(render(path, &old, false).unwrap_err().contains("written: a/one.yaml;"));
            fs::write(path.join("a/one.yaml"), "1").unwrap();
        }
    }

    #[test]
    fn a_manifest_of_somebody_else_leads_nowhere() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path();
        for text in [
            "",
            "{}",
            r#"{"schema":2,"site_sha256":"","variant":"c","replaced":[],"files":{}}"#,
            r#"{"schema":1,"site_sha256":"","variant":"c","replaced":[],"files":{"../x":""}}"#,
            r#"{"schema":1,"site_sha256":"","variant":"c","replaced":[],"files":{"/etc/passwd":""}}"#,
        ] {
            fs::write(path.join(MANIFEST), text).unwrap();
            let refused = Folder::read(path).unwrap_err().to_string();
            assert!(refused.contains("not what this linerate writes"), "{text}: {refused}");
        }
    }

    #[test]
    fn a_machine_that_was_replaced_is_not_put_back_in_silence() {
        let base = tempfile::tempdir().unwrap();
        let (path, all) = (base.path(), files(&[("a", "1")]));
        Folder::read(path).unwrap().write(&all, &manifest_of(&all, &[("node07", "node60")])).unwrap();
        let site = |names: &str| {
            let text = format!(
                "nodes: {{count: 2, drives: {{count: 1, capacity: 1TB}}, nics: {{speed: 25Gb/s}}}}\nengine: minio\n\
                 kubernetes: {{hosts: {{names: [{names}], mounts: /d}}}}\n"
            );
            linerate_site::read(&text, "s").unwrap()
        };
        let read = RenderManifest::read(&path.join(MANIFEST)).unwrap();
        let again = [("node07".to_owned(), "node61".to_owned())];
        let refused = read.require_replaced(path, &site("node01, node07"), &[]).unwrap_err().to_string();
        assert!(refused.contains("--replace node07=node60"), "{refused}");
        assert!(read.require_replaced(path, &site("node01, node07"), &again).is_ok());
        assert!(read.require_replaced(path, &site("node01, node60"), &[]).is_ok());
    }
}
