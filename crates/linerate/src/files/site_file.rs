//! Files that describe a cluster, as the commands that need one read them.

use std::path::Path;

use linerate_model::error::ModelError;
use linerate_model::layout::LayoutError;
use linerate_record::site::{OBJECT_BYTES_MAX, Protection, Site, key};
use linerate_record::units::{Bytes, UnitError};
use linerate_site::SiteFile;

use crate::files::limited_read;
use crate::terminal::failure::Failure;

/// Largest file read as a site.
const SITE_BYTES_MAX: u64 = 1 << 20;

/// Reads the size of objects of a site: as large as `data.object_size` may be.
pub(crate) fn object_size(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|error: UnitError| error.to_string())?;
    if (1..=OBJECT_BYTES_MAX).contains(&size.0) {
        return Ok(size);
    }
    Err(format!("object size {text:?} is out of range: give 1B to {}, such as 4MiB", Bytes(OBJECT_BYTES_MAX)))
}

/// Of how flows are placed: the same site gives the same plan, word for word.
pub(crate) const SEED: u64 = 1;

/// Reads the description of a cluster. A mistake in it is bad usage, with the whole message.
pub(crate) fn read_site(path: &Path) -> Result<Site, Failure> {
    read_site_file(path).map(|(site, _)| site)
}

/// The same with the file, for what its layout finds wrong with it.
pub(crate) fn read_site_file(path: &Path) -> Result<(Site, SiteFile), Failure> {
    let failed = |source| Failure::File { what: "read", path: path.to_owned(), source };
    let text = limited_read::read_text(path, SITE_BYTES_MAX).map_err(failed)?;
    let file = SiteFile::new(path.display().to_string(), text);
    Ok((file.read().map_err(Failure::Site)?, file))
}

/// Why the model has no answer: what is wrong with the file is told with the line of the key that decides it.
pub(crate) fn refused(error: &ModelError, site: &Site, file: &SiteFile) -> Failure {
    let ModelError::Layout(error) = error else { return Failure::usage(error) };
    let (path, what, advice) = layout_error(error, site, file);
    Failure::usage(file.mistake(&path, what, advice))
}

/// The key that keeps a site from a layout, what is wrong, and what to write.
fn layout_error(error: &LayoutError, site: &Site, file: &SiteFile) -> (String, String, String) {
    let text = error.to_string();
    let of_group = |group: &str, key: &str| format!("nodes.{group}.{key}");
    let path = match error {
        LayoutError::NoNodes { .. } => "nodes".to_owned(),
        LayoutError::NoDrives { group } => of_group(group, "drives"),
        LayoutError::NoSymmetricSet { group, .. } => of_group(group, "count"),
        LayoutError::StatedSet { set_drives, group, nodes, drives_per_node, known } => {
            match (file.states(key::ENGINE_SET_DRIVES), site.engine.protection) {
                (false, Protection::Sets { parity: Some(parity), .. }) => {
                    let shards = format!("{}+{parity}", set_drives.saturating_sub(parity));
                    let what = format!(
                        "{shards} makes sets of {set_drives} drives, which do not fit {nodes} nodes × \
                         {drives_per_node} drives of group {group:?}"
                    );
                    let advice =
                        format!("data and parity together can be {known}; EC:{parity} leaves it to the engine");
                    return (key::ENGINE_PROTECTION.to_owned(), what, advice);
                }
                _ => key::ENGINE_SET_DRIVES.to_owned(),
            }
        }
        LayoutError::Parity { .. }
        | LayoutError::Protection { .. }
        | LayoutError::NoData { .. }
        | LayoutError::TooFewNodes { .. } => key::ENGINE_PROTECTION.to_owned(),
    };
    // What is wrong stands before the colon, what to write behind it.
    let (what, advice) = text.split_once(": ").unwrap_or((&text, "use more nodes, or fewer shards"));
    (path, what.to_owned(), advice.to_owned())
}

#[cfg(test)]
mod tests {
    use linerate_model::layout::pools;

    use super::*;

    /// What is said of a site with so many nodes of four drives.
    fn error_text(count: u32, engine: &str) -> String {
        let text = format!(
            "name: x\nengine: {engine}\nnodes:\n  count: {count}\n  drives: [{{count: 4, capacity: 8TB, \
             read: 3GB/s, write: 2GB/s}}]\n  nics: [{{name: p, ports: 2, speed: 25Gb/s}}]\n"
        );
        let file = SiteFile::new("site.yaml", text);
        let site = file.read().unwrap();
        let error = pools(&site).unwrap_err();
        refused(&error.into(), &site, &file).to_string()
    }

    #[test]
    fn a_mistake_that_the_layout_finds_has_the_line_of_the_key_that_decides() {
        for (count, engine, parts) in [
            (17, "{product: minio}", ["site.yaml:4:10: no erasure set of 2 to 16 drives", "^^ use "]),
            (4, "{product: minio, protection: 10+4}", ["site.yaml:2:38: 10+4 makes sets of 14 drives", "EC:4 leaves"]),
            (4, "{product: minio, set_drives: 14}", ["site.yaml:2:38: sets of 14 drives", "`set_drives` can be"]),
            (
                4,
                "{product: minio, set_drives: 14, protection: EC:4}",
                ["site.yaml:2:38: sets of 14 drives", "`set_drives` can be"],
            ),
            (4, "{product: minio, protection: 10+4, set_drives: 14}", ["site.yaml:2:56: sets of 14", "`set_drives`"]),
        ] {
            let said = error_text(count, engine);
            assert!(parts.iter().all(|part| said.contains(part)), "{engine}: {said}");
        }
    }
}
