//! Sites drawn at random.

use std::env;
use std::thread;

use linerate_record::site::{BondMode, Encapsulation, Entry, Product, Protection, Site, TrafficPolicy};

use crate::chance::Chance;
use crate::explained_sites::{bond, drives, nic, plane, site};

/// How many of so many sites are drawn: all of them in `make sites`, which takes minutes, and else one in four.
pub(crate) fn drawn(sites: u64) -> u64 {
    if env::var_os("LINERATE_ALL_SITES").is_some() { sites } else { sites / 4 }
}

/// What `run` returns for each seed below `seeds`, in order, on all processors.
pub(crate) fn each<T: Send>(seeds: u64, run: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let threads = thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let part = |first: u64| (first..seeds).step_by(threads as usize).map(|seed| (seed, run(seed))).collect::<Vec<_>>();
    let mut all: Vec<(u64, T)> = thread::scope(|scope| {
        let part = &part;
        let parts: Vec<_> = (0..threads).map(|first| scope.spawn(move || part(first))).collect();
        parts.into_iter().flat_map(|part| part.join().expect("no seed panics")).collect()
    });
    all.sort_by_key(|(seed, _)| *seed);
    all.into_iter().map(|(_, said)| said).collect()
}

/// A site with one kind of nodes, of any size and engine.
pub(crate) fn random_site(chance: &mut Chance) -> Site {
    let nodes = chance.pick(&[4, 6, 8, 12, 16, 24, 32, 48, 56, 64]);
    let speed = chance.pick(&[10e9, 25e9, 50e9, 100e9, 200e9, 400e9]);
    let mtu = chance.pick(&[1500, 9000]);
    let mut site = site("random", nodes, speed, mtu);
    let group = &mut site.groups[0];
    group.racks = chance.pick(&[1, 2, 4]);
    group.cores = chance.pick(&[16, 32, 64, 128]);
    let read = chance.factor(0.2e9, 14e9);
    group.drives = vec![drives(chance.pick(&[4, 8, 12, 24]), read, read * chance.between(0.3, 0.9))];
    let ports = chance.pick(&[1, 2, 4]);
    group.nics = vec![nic("p0", ports, speed), nic("p1", ports, speed)];
    if ports == 1 || chance.between(0.0, 4.0) < 1.0 {
        group.nics.iter_mut().for_each(|nic| nic.ports = 1);
        group.bonds.clear();
        site.planes.public = plane("p0", mtu);
        site.planes.private = Some(plane("p1", mtu));
    } else {
        group.bonds = vec![bond("bond0", "p0"), bond("bond1", "p1")];
        if chance.between(0.0, 4.0) < 1.0 {
            group.bonds[0].mode = BondMode::BalanceXor;
        }
    }
    if chance.between(0.0, 3.0) < 1.0 {
        site.planes.private = None;
    }
    if chance.between(0.0, 4.0) < 1.0 {
        site.planes.public.encapsulation = Encapsulation::Vxlan;
    }
    if chance.between(0.0, 3.0) < 1.0 {
        site.fabric.rack_uplink_bits_per_s = Some(speed * f64::from(nodes) * chance.between(0.3, 2.0));
    }
    if chance.between(0.0, 2.0) < 1.0 {
        site.clients.count = nodes * chance.pick(&[1, 2, 4]);
        site.clients.ports = chance.pick(&[1, 2]);
        site.clients.speed_bits_per_s = chance.pick(&[25e9, 100e9]);
    }
    if chance.between(0.0, 4.0) < 1.0 {
        site.entry = Entry::Bgp { policy: TrafficPolicy::Local };
    }
    engine(&mut site, chance);
    site
}

fn engine(site: &mut Site, chance: &mut Chance) {
    site.engine.tls = chance.between(0.0, 2.0) < 1.0;
    site.data.object_bytes = chance.pick(&[4 << 20, 24 << 20, 64 << 20, 128 << 20]);
    (site.engine.product, site.engine.protection) = match chance.pick(&[0, 1, 2, 3, 4, 5]) {
        0 => (Product::CephRgw, Protection::Erasure { data: 2, parity: 2 }),
        1 => (Product::CephRgw, Protection::Replicas { copies: 3 }),
        2 => (Product::Garage, Protection::Replicas { copies: 3 }),
        3 => (Product::Rustfs, Protection::Sets { set_drives: None, parity: None }),
        4 => (Product::Minio, Protection::Sets { set_drives: None, parity: Some(2) }),
        _ => (Product::Minio, Protection::Sets { set_drives: None, parity: None }),
    };
    if chance.between(0.0, 4.0) < 1.0 {
        site.assumed.insert("nodes.storage.drives.0.read".to_owned(), "nobody stated it".to_owned());
        site.assumed.insert("nodes.storage.cores".to_owned(), "nobody stated it".to_owned());
    }
}
