//! Values of the site that nobody stated, at other plausible values. What other rows vary is left to them, at half
//! the cost.

use linerate_record::explanation::Observations;
use linerate_record::site::{NodeGroup, Site, key};
use linerate_record::units::bytes_iec;

use super::cpu::scaled;
use crate::explain::deviation::{CORRECTION, SiteParts, Variant};
use crate::explain::readings::ReadingId;

/// What another value of something that nobody stated costs.
const COST: f64 = 2.0;

pub(super) fn variants(site: &Site, _: &Observations) -> Vec<Variant> {
    site.assumed.keys().flat_map(|path| of_path(site, path)).collect()
}

/// Whether this row or another varies a path's value.
pub(super) fn is_varied(site: &Site, path: &str) -> bool {
    const ELSEWHERE: [&str; 19] = [
        "mode",
        "transmit_hash",
        "switch_hash",
        "speed",
        "mtu",
        "encapsulation",
        "private",
        "rack_uplinks",
        "oversubscription",
        "count",
        "read",
        "write",
        "read_iops",
        "write_iops",
        "tls",
        "internal_tls",
        "encryption",
        "local_shards",
        "protection",
    ];
    const WHOLE: [&str; 2] = ["entry", key::ENGINE_SET_DRIVES];
    let last = path.rsplit('.').next().unwrap_or(path);
    let elsewhere = ELSEWHERE.contains(&last) || WHOLE.iter().any(|begin| path.starts_with(begin));
    elsewhere || !of_path(site, path).is_empty()
}

fn of_path(site: &Site, path: &str) -> Vec<Variant> {
    let steps: Vec<&str> = path.split('.').collect();
    match steps.as_slice() {
        ["nodes", name, "cores"] => scale(path, name, "cores", SiteParts::CPU, &[2.0], |group, factor| {
            group.cores = scaled(group.cores, factor);
        }),
        ["nodes", name, "memory_bandwidth"] => {
            scale(path, name, "memory bandwidth", SiteParts::MEMORY, &[0.5, 2.0], |group, factor| {
                group.memory_bytes_per_s *= factor;
            })
        }
        ["nodes", name, "pcie", "lanes"] => {
            scale(path, name, "PCIe lanes of a socket", SiteParts::PCIE, &[0.5, 2.0], |group, factor| {
                group.pcie.lanes_per_socket = scaled(group.pcie.lanes_per_socket, factor);
            })
        }
        ["nodes", name, "pcie" | "nics" | "drives", .., "generation"] | ["nodes", name, "pcie"] => {
            generations(site, path, name)
        }
        ["nodes", name, "nics", place, "lanes"] => {
            let place = place.parse().unwrap_or(usize::MAX);
            scale(path, name, "PCIe lanes of a NIC", SiteParts::PCIE, &[0.5, 2.0], move |group, factor| {
                group.nics.get_mut(place).into_iter().for_each(|nic| nic.lanes = scaled(nic.lanes, factor));
            })
        }
        ["nodes", name, "sockets"] => scale(path, name, "sockets", SiteParts::PCIE, &[0.5, 2.0], |group, factor| {
            group.sockets = scaled(group.sockets, factor);
        }),
        ["nodes", name, "drives", place, "count"] => {
            let place = place.parse().unwrap_or(usize::MAX);
            scale(path, name, "drives of a node", SiteParts::DRIVES, &[0.5, 2.0], move |group, factor| {
                group.drives.get_mut(place).into_iter().for_each(|drives| drives.count = scaled(drives.count, factor));
            })
        }
        ["data", "object_size"] => objects(site),
        ["planes", which, "timestamps"] => vec![timestamps(site, which)],
        _ => Vec::new(),
    }
}

fn scale(
    path: &str,
    group: &str,
    what: &str,
    parts: SiteParts,
    factors: &[f64],
    set: impl Fn(&mut NodeGroup, f64) + Copy + 'static,
) -> Vec<Variant> {
    let scaled_variant = |&factor: &f64| {
        let name = group.to_owned();
        let claim = format!("{what} of {group} are {factor} × what was assumed");
        Variant::new("assumed", format!("{path}: × {factor}"), claim, COST, parts, move |site| {
            site.groups.iter_mut().filter(|group| group.name == name).for_each(|group| set(group, factor));
        })
        .shown_by(ReadingId::Inventory)
        .cured_by(format!("state {path} in the site"), CORRECTION)
    };
    factors.iter().map(scaled_variant).collect()
}

/// Another generation at a path, and of what took it from there: the sockets' is the devices' where they state none.
fn generations(site: &Site, path: &str, group: &str) -> Vec<Variant> {
    let prefix = format!("nodes.{group}.");
    let own = path.strip_prefix(&prefix).unwrap_or(path).to_owned();
    let of_sockets = own.starts_with("pcie");
    let follows = |kind: &str, place: usize| {
        let own_path = format!("{kind}.{place}.generation");
        own == own_path || of_sockets && site.is_assumed(&format!("{prefix}{own_path}"))
    };
    let stated = site.groups.iter().find(|known| known.name == group);
    let nics: Vec<usize> = (0..stated.map_or(0, |of| of.nics.len())).filter(|&i| follows("nics", i)).collect();
    let drives: Vec<usize> = (0..stated.map_or(0, |of| of.drives.len())).filter(|&i| follows("drives", i)).collect();
    let generation_variant = |up: bool| {
        let (name, nics, drives) = (group.to_owned(), nics.clone(), drives.clone());
        let word = if up { "one higher" } else { "one lower" };
        let claim = format!("PCIe of {group} ({own}) is {word} in generation than was assumed");
        Variant::new("assumed", format!("{path}: {word}"), claim, COST, SiteParts::PCIE, move |site| {
            let next_generation =
                |generation: u32| if up { (generation + 1).min(6) } else { generation.saturating_sub(1).max(3) };
            for group in site.groups.iter_mut().filter(|group| group.name == name) {
                if of_sockets {
                    group.pcie.generation = next_generation(group.pcie.generation);
                }
                nics.iter().for_each(|&nic| group.nics[nic].generation = next_generation(group.nics[nic].generation));
                drives
                    .iter()
                    .for_each(|&kind| group.drives[kind].generation = next_generation(group.drives[kind].generation));
            }
        })
        .shown_by(ReadingId::Inventory)
        .cured_by(format!("state {path} in the site"), CORRECTION)
    };
    vec![generation_variant(true), generation_variant(false)]
}

fn objects(site: &Site) -> Vec<Variant> {
    let stated = site.data.object_bytes;
    let sizes = [stated / 16, stated / 4, stated * 4].into_iter().filter(|&size| size > 0);
    let size_variant = |size: u64| {
        let claim = format!("objects are of {}", bytes_iec(size as f64));
        let value = bytes_iec(size as f64);
        Variant::new("object-size", value, claim, COST, SiteParts::OBJECTS, move |site| site.data.object_bytes = size)
            .shown_by(ReadingId::Inventory)
            .cured_by("state the size of the objects that were measured", CORRECTION)
    };
    sizes.map(size_variant).collect()
}

fn timestamps(site: &Site, which: &str) -> Variant {
    let public = which == "public";
    let on = match (&site.planes.private, public) {
        (Some(private), false) => private.timestamps,
        _ => site.planes.public.timestamps,
    };
    let word = if on { "off" } else { "on" };
    let parts = if public { SiteParts::PUBLIC_MTU } else { SiteParts::PRIVATE_MTU };
    let claim = format!("TCP timestamps are {word} on the {which} plane");
    let variant = Variant::new("timestamps", format!("{which}: {word}"), claim, COST, parts, move |site| {
        if public {
            site.planes.public.timestamps = !on;
        } else {
            site.planes.private.iter_mut().for_each(|plane| plane.timestamps = !on);
        }
    })
    .shown_by(ReadingId::Timestamps);
    if on {
        return variant.corrected(&[(format!("planes.{which}.timestamps"), "false".to_owned())]);
    }
    variant.cured_by(
        "leave timestamps on: they cost 12 bytes a packet",
        "without them, fast links may mistake old segments",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_site::site;

    fn changed(site: &Site, path: &str) -> Site {
        let found = of_path(site, path);
        let lower = found.iter().find(|variant| variant.value.ends_with("one lower")).expect("it is varied");
        let mut changed = site.clone();
        (lower.change)(&mut changed);
        changed
    }

    #[test]
    fn a_generation_that_is_stated_stays_where_another_is_assumed() {
        let mut site = site();
        site.assumed.insert("nodes.storage.nics.1.generation".to_owned(), "that of the sockets".to_owned());
        let other = changed(&site, "nodes.storage.nics.1.generation");
        assert_eq!((other.groups[0].nics[1].generation, other.groups[0].nics[0].generation), (4, 5));
        assert_eq!((other.groups[0].pcie.generation, other.groups[0].drives[0].generation), (5, 4));
        // The sockets' goes with what has no word of its own.
        site.assumed.insert("nodes.storage.pcie.generation".to_owned(), "usual".to_owned());
        let other = changed(&site, "nodes.storage.pcie.generation");
        assert_eq!((other.groups[0].pcie.generation, other.groups[0].nics[1].generation), (4, 4));
        assert_eq!((other.groups[0].nics[0].generation, other.groups[0].drives[0].generation), (5, 4));
    }

    #[test]
    fn drives_that_are_stated_are_counted_as_they_are() {
        let mut site = site();
        let stated = site.groups[0].drives[0].clone();
        site.groups[0].drives.push(stated);
        site.assumed.insert("nodes.storage.drives.1.count".to_owned(), "nobody stated it".to_owned());
        for variant in of_path(&site, "nodes.storage.drives.1.count") {
            let mut other = site.clone();
            (variant.change)(&mut other);
            assert_eq!(other.groups[0].drives[0], site.groups[0].drives[0], "{}", variant.value);
            assert_ne!(other.groups[0].drives[1], site.groups[0].drives[1], "{}", variant.value);
        }
    }
}
