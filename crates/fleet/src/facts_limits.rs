//! Bounds of what an agent reports for a discovery: a coordinator holds that of a thousand nodes, and compares it.

use linerate_record::discovery::{EngineFacts, NodeFacts};

/// Of all engines of a node together: a machine has some dozens of drives, and a cluster some thousands of nodes and
/// clients.
const ENGINES_MAX: usize = 64;
const DRIVES_MAX: usize = 4_096;
const VOLUMES_MAX: usize = 65_536;
const PEERS_MAX: usize = 16_384;
const LISTENS_MAX: usize = 4_096;
const SETTINGS_MAX: usize = 1_024;

/// Of a node.
const ADDRESSES_MAX: usize = 10_000;
const DEVICES_MAX: usize = 10_000;
const REASONS_MAX: usize = 1_024;

/// Sets of the pool of one drive.
const SETS_MAX: usize = 20_000;

/// Longest text.
const TEXT_BYTES_MAX: usize = 4_096;

/// Whether facts are within bounds.
///
/// # Errors
/// What is beyond them, for a person.
pub(crate) fn checked(facts: &NodeFacts) -> Result<(), String> {
    let sum = |length: fn(&EngineFacts) -> usize| facts.engines.iter().map(length).sum::<usize>();
    let formats = || facts.engines.iter().flat_map(|engine| &engine.drives).filter_map(|drive| drive.format.as_ref());
    let lists = [
        ("engines", facts.engines.len(), ENGINES_MAX),
        ("folders of engines", sum(|engine| engine.drives.len()), DRIVES_MAX),
        ("endpoints of engines", sum(|engine| engine.volumes.len()), VOLUMES_MAX),
        ("peers of engines", sum(|engine| engine.peers.len()), PEERS_MAX),
        ("addresses of engines", sum(|engine| engine.addresses.len()), ADDRESSES_MAX),
        ("listening sockets of engines", sum(|engine| engine.listens.len()), LISTENS_MAX),
        ("settings of engines", sum(|engine| engine.settings.len()), SETTINGS_MAX),
        ("erasure sets of a drive", formats().map(|format| format.sets.len()).max().unwrap_or_default(), SETS_MAX),
        ("addresses", facts.addresses.len(), ADDRESSES_MAX),
        ("models of drives", facts.drive_models.len(), DEVICES_MAX),
        ("tunnels and VLANs", facts.tunnels.len() + facts.vlans.len(), DEVICES_MAX),
        ("reasons why something could not be read", facts.unreadable.len(), REASONS_MAX),
    ];
    if let Some((what, count, most)) = lists.into_iter().find(|(_, count, most)| count > most) {
        return Err(format!("{count} {what}, but at most {most} are allowed"));
    }
    let longest = texts(facts).map(str::len).max().unwrap_or_default();
    if longest > TEXT_BYTES_MAX {
        return Err(format!("a text of {longest} bytes, but at most {TEXT_BYTES_MAX} are allowed"));
    }
    Ok(())
}

/// All texts of facts.
fn texts(facts: &NodeFacts) -> impl Iterator<Item = &str> {
    let pairs = facts.drive_models.iter().chain(&facts.tunnels).flat_map(|(name, value)| [name, value]);
    let engines = facts.engines.iter().flat_map(|engine| {
        let settings = engine.settings.iter().flat_map(|(name, value)| [name, value]);
        let drives = engine.drives.iter().flat_map(|drive| {
            let format = drive.format.iter().flat_map(|format| [&format.deployment, &format.this]);
            std::iter::once(&drive.path).chain(&drive.disk).chain(&drive.file_system).chain(format)
        });
        let peers = engine.peers.iter().filter_map(|peer| peer.interface.as_ref());
        std::iter::once(&engine.program).chain(&engine.volumes).chain(settings).chain(drives).chain(peers)
    });
    pairs.chain(engines).chain(&facts.vlans).chain(&facts.unreadable).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use linerate_record::discovery::{DriveFormat, EngineDrive};

    use super::*;

    #[test]
    fn what_no_node_has_is_refused_by_its_sum_over_engines_and_by_its_length() {
        type Change = fn(&mut NodeFacts);
        let cases: [(Change, &str); 5] = [
            (|facts| facts.engines = vec![EngineFacts::default(); 65], "65 engines"),
            (
                |facts| {
                    let engine = EngineFacts { drives: vec![EngineDrive::default(); 2_049], ..EngineFacts::default() };
                    facts.engines = vec![engine; 2];
                },
                "4098 folders of engines",
            ),
            (|facts| facts.unreadable = vec![String::new(); 1_025], "1025 reasons"),
            (|facts| facts.vlans = vec!["x".repeat(4_097)], "a text of 4097 bytes"),
            (
                |facts| {
                    let format = DriveFormat { sets: vec![1; 20_001], ..DriveFormat::default() };
                    let drive = EngineDrive { format: Some(format), ..EngineDrive::default() };
                    facts.engines = vec![EngineFacts { drives: vec![drive], ..EngineFacts::default() }];
                },
                "20001 erasure sets",
            ),
        ];
        assert_eq!(checked(&NodeFacts::default()), Ok(()));
        for (change, expected) in cases {
            let mut facts = NodeFacts::default();
            change(&mut facts);
            let why = checked(&facts).unwrap_err();
            assert!(why.starts_with(expected), "{why}");
        }
    }
}
