//! Sites that figures were published of.

use linerate_record::site::{Protection, Site};

use crate::explained_sites::site;

/// 56 nodes, 10+4, with two 25 Gb/s ports for each plane: the ports are an assumption.
pub(crate) fn fifty_six() -> Site {
    let mut site = site("56 nodes", 56, 25e9, 1500);
    site.engine.protection = Protection::Sets { set_drives: Some(14), parity: Some(4) };
    for nic in 0..2 {
        let path = format!("nodes.storage.nics.{nic}.speed");
        site.assumed.insert(path, "of another test of the same source".to_owned());
    }
    site
}
