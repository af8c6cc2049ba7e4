//! Finding rows: by id, by what sources call them, and by what somebody may have meant.

use super::{KNOBS, KnobRow};
use strsim::levenshtein;

/// The row of an id.
#[must_use]
pub fn find(id: &str) -> Option<&'static KnobRow> {
    KNOBS.iter().find(|row| row.knob.id == id)
}

/// Rows that sources have under a name, misspelt ones included: `net.ipv4.tcp_syn_backlog`, `RSS`.
#[must_use]
pub fn called(name: &str) -> Vec<&'static KnobRow> {
    KNOBS.iter().filter(|row| row.knob.also_called.contains(&name)).collect()
}

/// Ids that a name may have meant, nearest first, three at most; none where nothing is near.
#[must_use]
pub fn nearest(name: &str) -> Vec<&'static str> {
    let name = name.to_lowercase();
    let mut scored: Vec<(usize, &str)> =
        KNOBS.iter().map(|row| (distance_to(row.knob.id, &name), row.knob.id)).collect();
    scored.sort_unstable();
    // A third of what was typed may be wrong.
    let most = (name.chars().count() / 3).max(2);
    scored.into_iter().filter(|(distance, _)| *distance <= most).take(3).map(|(_, id)| id).collect()
}

/// The distance to an id, or to its end after any dot, which costs one.
fn distance_to(id: &str, name: &str) -> usize {
    let to_id = levenshtein(id, name);
    let to_ends = id.match_indices('.').map(|(at, _)| levenshtein(&id[at + 1..], name) + 1);
    to_ends.min().map_or(to_id, |to_end| to_end.min(to_id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_mistyped_is_near_and_what_is_foreign_is_not() {
        let cases = [
            ("net.core.rmem_maxx", Some("net.core.rmem_max")),
            ("tcp_rmem", Some("net.ipv4.tcp_rmem")),
            ("VM.Swapiness", Some("vm.swappiness")),
            ("something else entirely", None),
        ];
        for (name, expected) in cases {
            assert_eq!(nearest(name).first().copied(), expected, "{name}");
        }
    }

    #[test]
    fn misspelt_names_of_sources_lead_to_their_rows() {
        for (name, id) in [
            ("net.ipv4.tcp_syn_backlog", "net.ipv4.tcp_max_syn_backlog"),
            ("fs.xfs.xfsyncd_centisecs", "fs.xfs.xfssyncd_centisecs"),
        ] {
            assert!(find(name).is_none(), "{name}");
            assert_eq!(called(name).iter().map(|row| row.knob.id).collect::<Vec<_>>(), [id], "{name}");
        }
    }
}
