//! What a run of links read of them, written into a site file: `--into`.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use clap::ValueEnum;
use linerate_analysis::net::view::{
    NetBisectionOutcome, NetNodeFigures, NetPairFigures, NetPathFigures, NetPathVerdict, NetView,
};
use linerate_model::plan::of_bonds;
use linerate_record::net::{NetSpace, NetWay};
use linerate_record::plan::Spread;
use linerate_record::site::{Encapsulation, Fabric, IpVersion, Plane, Site, key};
use linerate_site::{SiteFile, written};

use crate::files::atomic_write::{replace, write_failure};
use crate::files::{limited_read, site_file};
use crate::terminal::failure::Failure;
use crate::terminal::progress::print_error;

const SITE_BYTES_MAX: u64 = 1 << 20;

/// MTUs that a site can state.
const MTUS: std::ops::RangeInclusive<u32> = 576..=65_535;

/// Why what was measured between pods is not written.
pub(crate) const PODS_TEXT: &str = "--into writes what interfaces of machines say, and those of pods are virtual: \
                                    leave it out, or name a fleet without pods";

/// A plane of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SitePlane {
    /// That of clients, or the only one
    Public,
    /// That of traffic among nodes
    Private,
}

impl SitePlane {
    const fn name(self) -> &'static str {
        match self {
            SitePlane::Public => "public",
            SitePlane::Private => "private",
        }
    }
}

/// What is wrong with the file to write into, as far as that shows before anything is measured.
pub(crate) fn check(path: &Path, plane: Option<SitePlane>) -> Result<(), Failure> {
    require_owned_file(path)?;
    chosen_plane(&site_file::read_site(path)?, path, plane).map(|_| ())
}

/// Writes what the links' interfaces say into a site file, whole or not at all; of a dry run nothing. Gives the lines
/// that change.
pub(crate) fn write(view: &NetView, path: &Path, plane: Option<SitePlane>, dry_run: bool) -> Result<String, Failure> {
    let there = require_owned_file(path)?;
    if view.pairs.iter().all(|pair| pair.visits == 0) {
        return Err(Failure::usage(format!("nothing was measured: {} stays as it is", path.display())));
    }
    let is_of_pods =
        |pair: &NetPairFigures| pair.class.is_some_and(|class| [class.from, class.to].contains(&NetSpace::Pod));
    if view.pairs.iter().any(is_of_pods) {
        return Err(Failure::usage(PODS_TEXT.to_owned()));
    }
    let (site, file) = site_file::read_site_file(path)?;
    let (plane, known) = chosen_plane(&site, path, plane)?;
    let (of_plane, mut notes) = agreed_values(view, known);
    let rack_value = racks_finding(view, &site.fabric, &mut notes);
    notes.iter().for_each(|note| print_error(&format!("note: {note}")));
    let in_plane = |(key, value): (&str, String)| (format!("planes.{plane}.{key}"), value);
    let values: Vec<(String, String)> = of_plane.into_iter().map(in_plane).chain(rack_value).collect();
    let is_stated =
        |key: &str, value: &str| !site.assumed.contains_key(key) && stated_value(&site, key).as_deref() == Some(value);
    let mut text = file.text().to_owned();
    let mut shown = String::new();
    for (key, value) in values.iter().filter(|(key, value)| !is_stated(key, value)) {
        let after = written(&text, key, value).map_err(|why| Failure::usage(format!("{}: {why}", path.display())))?;
        shown.push_str(&difference(path, &text, &after));
        text = after;
    }
    if shown.is_empty() {
        print_error(&format!("{} states what was read already", path.display()));
        return Ok(shown);
    }
    require_agreement(path, &text, &site, &values)?;
    if dry_run {
        return Ok(shown);
    }
    let is_same = limited_read::read_text(path, SITE_BYTES_MAX).is_ok_and(|now| now == file.text());
    if !is_same || require_owned_file(path)?.ino() != there.ino() {
        return Err(Failure::usage(format!("{} was changed meanwhile, and is as it was changed", path.display())));
    }
    replace(path, text.as_bytes(), there.mode() & 0o777).map_err(|source| write_failure(path, text.len(), source))?;
    Ok(shown)
}

/// A file of one's own with one name, which another can take the place of.
fn require_owned_file(path: &Path) -> Result<Metadata, Failure> {
    let failed = |source| Failure::File { what: "read", path: path.to_owned(), source };
    let there = fs::symlink_metadata(path).map_err(failed)?;
    let why = if there.is_symlink() {
        "a link to another file: name that one"
    } else if !there.is_file() {
        "no file: name one"
    } else if there.nlink() > 1 || there.uid() != rustix::process::geteuid().as_raw() {
        "another user's, or has several names: copy it first"
    } else {
        return Ok(there);
    };
    Err(Failure::usage(format!("--into {}: it is {why}", path.display())))
}

/// The plane that was measured.
fn chosen_plane<'s>(
    site: &'s Site,
    path: &Path,
    plane: Option<SitePlane>,
) -> Result<(&'static str, &'s Plane), Failure> {
    let refused = |why: &str| Err(Failure::usage(format!("--into {}: {why}", path.display())));
    match (plane, &site.planes.private) {
        (None, Some(_)) => refused("the site has two planes: say which one was measured, --plane public or private"),
        (Some(SitePlane::Private), None) => refused("the site has no private plane: leave out --plane"),
        (Some(SitePlane::Private), Some(private)) => Ok((SitePlane::Private.name(), private)),
        (None | Some(SitePlane::Public), _) => Ok((SitePlane::Public.name(), &site.planes.public)),
    }
}

/// What a site says at a key that is written here.
fn stated_value(site: &Site, key: &str) -> Option<String> {
    if key == key::FABRIC_OVERSUBSCRIPTION {
        return site.fabric.oversubscription.map(ratio_to_one);
    }
    let (plane, key) = key.strip_prefix("planes.")?.split_once('.')?;
    let plane =
        if plane == SitePlane::Private.name() { site.planes.private.as_ref() } else { Some(&site.planes.public) }?;
    Some(match key {
        "mtu" => plane.mtu_bytes.to_string(),
        _ => ip_word(plane.ip).to_owned(),
    })
}

/// A ratio as a site has it, with two digits behind the point at the most.
fn ratio_to_one(ratio: f64) -> String {
    format!("{}:1", (100.0 * ratio).round() / 100.0)
}

/// What S3 traffic of a site gets of the bonds of the plane that is measured, by the model. The file that is written
/// into may be one of which the model says nothing; that which was named for this may not.
pub(crate) fn bonds_by_model(
    site: Option<&Path>,
    into: Option<&Path>,
    plane: Option<SitePlane>,
) -> Result<Vec<Spread>, Failure> {
    let Some(path) = site.or(into) else { return Ok(Vec::new()) };
    let (read, file) = site_file::read_site_file(path)?;
    let all = match of_bonds(&read, site_file::SEED) {
        Ok(all) => all,
        Err(_) if site.is_none() => return Ok(Vec::new()),
        Err(error) => return Err(site_file::refused(&error, &read, &file)),
    };
    let is_measured = |spread: &Spread| match plane {
        Some(SitePlane::Public) => spread.resource.is_public(),
        Some(SitePlane::Private) => spread.resource.is_private(),
        None => true,
    };
    Ok(all.into_iter().filter(is_measured).collect())
}

/// How oversubscribed a site states that racks are; `None` where it does not.
pub(crate) fn stated_oversubscription(path: &Path) -> Result<Option<f64>, Failure> {
    Ok(site_file::read_site(path)?.fabric.oversubscription)
}

/// How oversubscribed racks are, where that was measured beyond chance; else a note of why it is not written.
fn racks_finding(view: &NetView, fabric: &Fabric, notes: &mut Vec<String>) -> Option<(String, String)> {
    if view.load.way != NetWay::Bisection {
        return None;
    }
    let measured = view.bisected().filter(|of| of.outcome == NetBisectionOutcome::Oversubscribed);
    let ratio = measured.and_then(|of| of.oversubscription).map(|of| of.mean);
    let why = match ratio {
        None => view.bisected().map_or("racks were not measured", |of| match of.outcome {
            NetBisectionOutcome::Whole => "racks carry what their machines can send, or nearly all of it",
            _ => "what racks carry cannot be told",
        }),
        // A site states one of both.
        Some(_) if fabric.oversubscription.is_none() && fabric.rack_uplink_bits_per_s.is_some() => {
            "the site states rack_uplinks in its place"
        }
        Some(ratio) => return Some((key::FABRIC_OVERSUBSCRIPTION.to_owned(), ratio_to_one(ratio))),
    };
    notes.push(format!("{} is not written: {why}", key::FABRIC_OVERSUBSCRIPTION));
    None
}

const fn ip_word(ip: IpVersion) -> &'static str {
    match ip {
        IpVersion::V4 => "ipv4",
        IpVersion::V6 => "ipv6",
    }
}

/// What all machines with figures agree on, by the keys of a plane; and why something is not known.
fn agreed_values(view: &NetView, plane: &Plane) -> (Vec<(&'static str, String)>, Vec<String>) {
    let is_refuted = |path: &NetPathFigures| {
        matches!(path.verdict, NetPathVerdict::BlackHole | NetPathVerdict::Mismatch | NetPathVerdict::Known)
    };
    let measured = || view.nodes.iter().filter(|node| node.tries > node.failed);
    let (mut values, mut notes) = (Vec::new(), Vec::new());
    let mut take = |key: &'static str, all: BTreeSet<String>| match all.len() {
        0 => notes.push(format!("{key} was not read, and is not written")),
        1 => values.extend(all.into_iter().map(|one| (key, one))),
        _ => {
            let all: Vec<String> = all.into_iter().collect();
            notes.push(format!("machines differ in {key}, which is not written: {}", all.join(", ")));
        }
    };
    let is_whole = !view.pairs.iter().filter_map(|pair| pair.path.as_ref()).any(is_refuted);
    if is_whole && plane.encapsulation == Encapsulation::None {
        // That of a loopback is none that a site can state.
        let mtu = |node: &NetNodeFigures| Some(node.mtu_bytes.filter(|mtu| MTUS.contains(mtu))?.to_string());
        take("mtu", measured().filter_map(mtu).collect());
    }
    let ip = |node: &NetNodeFigures| {
        let address: IpAddr = node.address.parse().ok()?;
        Some(ip_word(if address.is_ipv6() { IpVersion::V6 } else { IpVersion::V4 }).to_owned())
    };
    take("ip", measured().filter_map(ip).collect());
    if !is_whole {
        notes.push("paths carry less than interfaces say: mtu is not written".to_owned());
    }
    if plane.encapsulation != Encapsulation::None {
        notes.push("mtu is that of the physical interface, which an overlay hides: it is not written".to_owned());
    }
    (values, notes)
}

/// Whether the new text is a site that says what was written, and else what the file said before.
fn require_agreement(path: &Path, text: &str, before: &Site, values: &[(String, String)]) -> Result<(), Failure> {
    let mut site = SiteFile::new(path.display().to_string(), text).read().map_err(Failure::Site)?;
    let are_there = values.iter().all(|(key, value)| stated_value(&site, key).as_ref() == Some(value));
    site.planes.clone_from(&before.planes);
    site.fabric.clone_from(&before.fabric);
    site.assumed.clone_from(&before.assumed);
    // Clients that state no MTU have that of the plane.
    site.clients.mtu_bytes = before.clients.mtu_bytes;
    if are_there && site == *before {
        return Ok(());
    }
    Err(Failure::usage(format!("{} cannot be written without changing what else it says", path.display())))
}

/// The lines that differ, which are together.
fn difference(path: &Path, before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[same..], &new[same..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let lines = |sign: &str, lines: &[&str]| lines.iter().map(|line| format!("{sign}{line}\n")).collect::<String>();
    format!(
        "{}:{}\n{}{}",
        path.display(),
        same + 1,
        lines("-", &old[..old.len() - end]),
        lines("+", &new[..new.len() - end])
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use linerate_analysis::net::view;
    use linerate_analysis::net::view::{NetBisection, NetInterval};
    use linerate_record::machine::{Machine, MachineNic};
    use linerate_record::net::{NetNode, NetPair, NetRoute, NetRun, NetVisit};
    use linerate_record::plan::Resource;

    use super::*;

    const SITE: &str = "\
# ours
nodes:
  count: 8
  drives: {count: 8, capacity: 7.68TB, read: 6.5GB/s, write: 3GB/s}
  nics: {ports: 2, speed: 25Gb/s}  # both used
engine: minio
planes:
  public:
    mtu: {assumed: 1500}  # or so
";

    /// Two machines, one of which sends to the other.
    fn view_with_mtus(mtus: [u32; 2], has_figures: bool) -> NetView {
        let load = r#"{"way":"one-way","streams":[1],"duration_ms":100,"warmup_ms":0,"interval_ms":50,"visits":1,
                      "send_bytes":1024}"#;
        let node = |mtu_bytes: u32| NetNode {
            name: mtu_bytes.to_string(),
            address: "10.0.0.1".to_owned(),
            interface: "eth0".to_owned(),
            machine: Machine {
                nics: vec![MachineNic { name: "eth0".to_owned(), mtu_bytes, ..MachineNic::default() }],
                ..Machine::default()
            },
            place: None,
            rack: None,
        };
        let run = NetRun {
            schema: 2,
            linerate: String::new(),
            began_unix_ms: 0,
            command: Vec::new(),
            seed: 1,
            load: serde_json::from_str(load).unwrap(),
            requested_visits: None,
            nodes: mtus.map(node).to_vec(),
            against: None,
            stated_oversubscription: None,
            bonds_by_model: Vec::new(),
            remarks: Vec::new(),
        };
        let received_bytes = if has_figures { vec![100; 2] } else { Vec::new() };
        let pair = NetPair { from: 0, to: 1, received_bytes, ..NetPair::default() };
        let (pairs, machines) = (vec![pair], Vec::new());
        let visit = NetVisit {
            visit: 1,
            repetition: 1,
            round: 0,
            streams: 1,
            member: None,
            through: NetRoute::Direct,
            at_ms: 0,
            pairs,
            machines,
        };
        view(&run, &[visit])
    }

    #[test]
    fn bonds_of_the_plane_that_is_measured_are_those_that_the_model_speaks_of() {
        let place = tempfile::tempdir().unwrap();
        let write_file = |name: &str, text: &str| {
            let path = place.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let bonds = SITE.replace(
            "nics: {ports: 2, speed: 25Gb/s}",
            "nics: {name: nic0, ports: 2, speed: 25Gb/s}\n  bonds: {name: bond0, nics: nic0}",
        );
        let bonds = write_file("bonds.yaml", &bonds.replace("  public:\n", "  public:\n    link: bond0\n"));
        let both = |site: Option<&Path>, into: Option<&Path>, plane| {
            bonds_by_model(site, into, plane)
                .map(|all| all.iter().map(|write_file| write_file.resource).collect::<Vec<_>>())
        };
        let public = [Resource::PublicEgress, Resource::PublicIngress];
        for (site, into, plane) in [
            (Some(bonds.as_path()), None, None),
            (None, Some(bonds.as_path()), None),
            (Some(bonds.as_path()), None, Some(SitePlane::Public)),
        ] {
            assert_eq!(both(site, into, plane).unwrap(), public, "{site:?} {into:?} {plane:?}");
        }
        assert!(both(Some(&bonds), None, Some(SitePlane::Private)).unwrap().is_empty());
        assert!(both(None, None, None).unwrap().is_empty());
        // No set of drives is alike on 17 nodes with a drive each: that is told of a site that was named for this.
        let bare = SITE.replace("count: 8, capacity", "count: 1, capacity").replace("count: 8\n", "count: 17\n");
        let bare = write_file("bare.yaml", &bare);
        assert!(both(None, Some(&bare), None).unwrap().is_empty());
        assert!(both(Some(&bare), None, None).is_err());
    }

    #[test]
    fn what_was_read_is_written_with_comments_kept_and_a_dry_run_writes_nothing() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("site.yaml");
        fs::write(&path, SITE).unwrap();
        let view = view_with_mtus([9_000, 9_000], true);
        check(&path, None).unwrap();
        write(&view, &path, None, true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), SITE);
        write(&view, &path, Some(SitePlane::Public), false).unwrap();
        let after = fs::read_to_string(&path).unwrap();
        let expected = SITE.replace("{assumed: 1500}  # or so\n", "9000  # or so\n");
        for line in expected.lines() {
            assert!(after.lines().any(|other| other == line), "{line}: {after}");
        }
        assert!(after.contains("    ip: ipv4\n") && after.lines().count() == expected.lines().count() + 1, "{after}");
        write(&view, &path, None, false).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), after, "it states that already");
    }

    #[test]
    fn what_is_not_known_is_not_written_and_links_and_other_planes_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let (path, link) = (place.path().join("site.yaml"), place.path().join("link.yaml"));
        fs::write(&path, SITE).unwrap();
        symlink(&path, &link).unwrap();
        let view = view_with_mtus([9_000, 9_000], true);
        for (view, path, plane, part) in [
            (&view_with_mtus([9_000, 9_000], false), &path, None, "nothing was measured"),
            (&view, &link, None, "a link to another file"),
            (&view, &path, Some(SitePlane::Private), "no private plane"),
            (&view, &place.path().join("none.yaml"), None, "none.yaml"),
        ] {
            let why = write(view, path, plane, false).unwrap_err().to_string();
            assert!(why.contains(part), "{part}: {why}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), SITE);
        // An interface says more than a path carries.
        let mut refuted = view.clone();
        let path_of = |verdict| NetPathFigures {
            verdict,
            carried_bytes: Some(1_500),
            carried_most_bytes: None,
            lost_bytes: Some(1_501),
            interface_bytes: 9_000,
            receiver_interface_bytes: Some(9_000),
            taken_bytes: Some(9_000),
            icmp_bytes: None,
            icmp_by: None,
            silent_searches: 0,
            probes_sent: 9,
            probes_received: 3,
        };
        refuted.pairs[0].path = Some(path_of(NetPathVerdict::BlackHole));
        write(&refuted, &path, None, false).unwrap();
        let after = fs::read_to_string(&path).unwrap();
        assert!(after.contains("mtu: {assumed: 1500}") && after.contains("ip: ipv4"), "{after}");
        // Those of pods are virtual.
        refuted.pairs[0].class = Some("other/host-pod".parse().unwrap());
        assert_eq!(write(&refuted, &path, None, false).unwrap_err().to_string(), PODS_TEXT);
        write(&view_with_mtus([9_000, 1_500], true), &path, None, false).unwrap();
        assert!(fs::read_to_string(&path).unwrap().contains("mtu: {assumed: 1500}"), "machines differ in it");
    }

    /// Racks that carry so much less than their machines can send.
    fn view_with_racks(over: f64, outcome: NetBisectionOutcome) -> NetView {
        let mut view = view_with_mtus([9_000, 9_000], true);
        view.load.way = NetWay::Bisection;
        view.bisection = vec![NetBisection {
            streams: 1,
            outcome,
            across_per_s: None,
            within_per_s: None,
            ratio: None,
            oversubscription: Some(NetInterval { mean: over, low: None, high: None }),
            stated: None,
            lacking: String::new(),
            said: String::new(),
            racks: Vec::new(),
            splits: Vec::new(),
        }];
        view
    }

    #[test]
    fn racks_that_carry_less_than_their_machines_send_are_written_unless_the_site_states_their_uplinks() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("site.yaml");
        let after = |text: &str, over, outcome| {
            fs::write(&path, text).unwrap();
            write(&view_with_racks(over, outcome), &path, None, false).unwrap();
            (fs::read_to_string(&path).unwrap(), stated_oversubscription(&path).unwrap())
        };
        let (text, stated) = after(SITE, 2.083, NetBisectionOutcome::Oversubscribed);
        assert!(text.contains("oversubscription: 2.08:1") && stated == Some(2.08), "{text}");
        let site_with_fabric = format!("{SITE}fabric:\n  oversubscription: 3:1  # as bought\n  spines: 4\n");
        let (text, _) = after(&site_with_fabric, 2.0, NetBisectionOutcome::Oversubscribed);
        assert!(text.contains("  oversubscription: 2:1  # as bought\n  spines: 4\n"), "{text}");
        for outcome in [NetBisectionOutcome::Whole, NetBisectionOutcome::Untold] {
            let (text, _) = after(&site_with_fabric, 2.0, outcome);
            assert!(text.contains("oversubscription: 3:1"), "{outcome:?}: {text}");
        }
        let site_with_uplinks = format!("{SITE}fabric: {{rack_uplinks: 100Gb/s}}\n");
        let (text, _) = after(&site_with_uplinks, 2.0, NetBisectionOutcome::Oversubscribed);
        assert!(text.contains("rack_uplinks") && !text.contains("oversubscription"), "{text}");
    }

    #[test]
    fn a_difference_is_the_lines_that_changed() {
        let said = difference(Path::new("s"), "a\nb\nc\n", "a\nx\ny\nc\n");
        assert_eq!(said, "s:2\n-b\n+x\n+y\n");
    }
}
