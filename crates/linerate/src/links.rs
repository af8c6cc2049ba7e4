//! The folder of a run of `linerate net`, read back.

use std::path::Path;

use linerate_analysis::net::view;
use linerate_analysis::net::view::NetView;
use linerate_record::net::{NET_SCHEMA, NET_SCHEMA_LEAST, NetRun, NetVisit};

use crate::failure::Failure;
use crate::{bounded, folder};

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

/// What a folder says.
pub(crate) fn view_of(path: &Path) -> Result<NetView, Failure> {
    let file = path.join(MANIFEST);
    let failed = |source| Failure::File { what: "read", path: file.clone(), source };
    let text = bounded::text(&file, MANIFEST_BYTES_MAX).map_err(failed)?;
    let run: NetRun = serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("{} is no run of linerate net: {error}", file.display())))?;
    if !(NET_SCHEMA_LEAST..=NET_SCHEMA).contains(&run.schema) {
        return Err(Failure::usage(format!(
            "{} has schema {}, and this linerate reads schemas {NET_SCHEMA_LEAST} to {NET_SCHEMA}: measure anew",
            file.display(),
            run.schema
        )));
    }
    let visits: Vec<NetVisit> = folder::read_lines(path, VISITS)?;
    let visits = run.checked(visits).map_err(|why| Failure::usage(format!("{}: {why}", path.display())))?;
    Ok(view(&run, &visits))
}
