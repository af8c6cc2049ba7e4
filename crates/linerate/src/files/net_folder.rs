//! The folder of a run of `linerate net`, read back.

use std::fs;
use std::path::{Path, PathBuf};

use linerate_analysis::net::view;
use linerate_analysis::net::view::NetView;
use linerate_record::net::{NET_SCHEMA, NET_SCHEMA_LEAST, NetRun, NetVisit};

use crate::files::{limited_read, run_folder};
use crate::terminal::failure::Failure;

/// Largest manifest that is read.
const MANIFEST_BYTES_MAX: u64 = 64 << 20;

/// The file of a folder that tells what it is of.
pub(crate) const MANIFEST: &str = "net.json";

/// Its visits, a line each.
pub(crate) const VISITS: &str = "visits.jsonl";

/// Whether a folder is of links.
pub(crate) fn is_net_folder(path: &Path) -> bool {
    path.join(MANIFEST).is_file()
}

/// What a folder is of.
fn read_run(path: &Path) -> Result<NetRun, Failure> {
    let file = path.join(MANIFEST);
    let failed = |source| Failure::File { what: "read", path: file.clone(), source };
    let text = limited_read::read_text(&file, MANIFEST_BYTES_MAX).map_err(failed)?;
    let run: NetRun = serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("{} is no run of linerate net: {error}", file.display())))?;
    if !(NET_SCHEMA_LEAST..=NET_SCHEMA).contains(&run.schema) {
        return Err(Failure::usage(format!(
            "{} has schema {}, and this linerate reads schemas {NET_SCHEMA_LEAST} to {NET_SCHEMA}: measure anew",
            file.display(),
            run.schema
        )));
    }
    Ok(run)
}

/// What a folder says.
pub(crate) fn read_view(path: &Path) -> Result<NetView, Failure> {
    let run = read_run(path)?;
    let visits: Vec<NetVisit> = run_folder::read_lines(path, VISITS)?;
    let visits = run.checked(visits).map_err(|why| Failure::usage(format!("{}: {why}", path.display())))?;
    Ok(view(&run, &visits))
}

/// A folder of a run of links, and when it began, where that can be read.
pub(crate) struct NetFolder {
    pub(crate) path: PathBuf,
    pub(crate) started_unix_ms: Option<u64>,
}

/// The folders of runs of links in a folder; none where that cannot be read.
pub(crate) fn net_folders(folder: &Path) -> Vec<NetFolder> {
    let paths = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let found = |path: PathBuf| {
        let began = read_run(&path).ok().and_then(|run| u64::try_from(run.began_unix_ms).ok());
        NetFolder { path, started_unix_ms: began }
    };
    paths.filter(|path| is_net_folder(path)).map(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_links_are_found_whether_they_can_be_read_or_not() {
        let place = tempfile::tempdir().unwrap();
        let load =
            r#"{"way":"ring","streams":[1],"duration_ms":9,"warmup_ms":0,"interval_ms":9,"visits":1,"send_bytes":1}"#;
        let run = r#""linerate":"1","began_unix_ms":7,"command":[],"seed":1,"nodes":[]"#;
        for (name, text) in [("good", format!(r#"{{"schema":2,{run},"load":{load}}}"#)), ("bad", "{".to_owned())] {
            fs::create_dir(place.path().join(name)).unwrap();
            fs::write(place.path().join(name).join(MANIFEST), text).unwrap();
        }
        fs::create_dir(place.path().join("other")).unwrap();
        let mut found: Vec<_> = net_folders(place.path()).into_iter().map(|one| one.started_unix_ms).collect();
        found.sort_unstable();
        assert_eq!(found, [None, Some(7)]);
        assert!(net_folders(&place.path().join("none")).is_empty());
    }
}
