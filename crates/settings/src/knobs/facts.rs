//! What advice asks of a machine and a site: figures that several rows share, and how advice is put.

use std::fmt::Display;

use linerate_record::knob::{Advice, Disk, SettingId, Snapshot};
use linerate_record::machine::{MachineBond, MachineNic};
use linerate_record::site::{Entry, Plane, Site};
use linerate_record::units::Bytes;

/// Seconds that a packet and its acknowledgement are under way inside one site while the switches between are loaded.
/// An idle fabric takes 0.1 ms; 2 ms is what 6 MB before a port of 25 Gb/s take. An assumption: a site has no delay.
const DELAY_S: f64 = 0.002;

/// What one connection carries at most: source 004 measures 23 Gb/s from host to host on a port of 100 Gb/s, and the
/// core that copies is what ends it. Twice that leaves room for faster cores.
const CONNECTION_BITS_PER_S: f64 = 50e9;

/// Connections that a node keeps with each peer: a pool per direction.
const CONNECTIONS_PER_PEER: u64 = 32;

/// A value with its reason.
pub(crate) fn advice(value: impl Display, why: impl Into<String>) -> Option<Advice> {
    Some(Advice { value: value.to_string(), why: why.into(), is_uncertain: false })
}

/// A value with its reason, where a condition holds.
pub(crate) fn advice_if(condition: bool, value: impl Display, why: impl Into<String>) -> Option<Advice> {
    if condition { advice(value, why) } else { None }
}

/// What a NIC can do itself.
pub(crate) fn left_to_nic(snapshot: &Snapshot, place: &SettingId) -> Option<Advice> {
    nic(snapshot, place)?;
    advice("on", "the NIC does this work instead of the processor")
}

/// A bound on requests to the API server: one value from 100 nodes on, another below.
pub(crate) fn by_cluster_size(site: &Site, large: u32, small: u32) -> Option<Advice> {
    match site.nodes() {
        100.. => advice(large, "large clusters start thousands of pods at once"),
        _ => advice(small, "enough below 100 nodes; larger clusters start thousands of pods at once"),
    }
}

/// At least a value: what is there already stays where it is more. For bounds that cost nothing until reached.
pub(crate) fn at_least(snapshot: &Snapshot, place: &SettingId, least: u64, why: impl Into<String>) -> Option<Advice> {
    if text(snapshot, place) == Some("unlimited") {
        return advice("unlimited", why);
    }
    match number(snapshot, place) {
        Some(present) if present > least => {
            advice(present, format!("{}; the present value is higher and is kept", why.into()))
        }
        _ => advice(least, why),
    }
}

/// At least a value, as far as the device offers so much: the largest is the first of the setting's choices. Nothing
/// where that is not known.
pub(crate) fn up_to_offered(snapshot: &Snapshot, place: &SettingId, least: u64, why: String) -> Option<Advice> {
    let largest: u64 = choices(snapshot, place).first()?.parse().ok()?;
    let present = number(snapshot, place)?;
    advice(present.max(least.min(largest)), why)
}

/// Major and minor of the machine's kernel.
pub(crate) fn kernel(snapshot: &Snapshot) -> Option<(u32, u32)> {
    let mut numbers = snapshot.machine.kernel.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// What was read at a place.
pub(crate) fn text<'a>(snapshot: &'a Snapshot, place: &SettingId) -> Option<&'a str> {
    snapshot.settings.iter().find(|setting| setting.place == *place)?.value.as_deref()
}

/// What was read at a place, where it is a number.
pub(crate) fn number(snapshot: &Snapshot, place: &SettingId) -> Option<u64> {
    text(snapshot, place)?.trim().parse().ok()
}

/// What was read of another knob in the same namespaces.
pub(crate) fn other_setting<'a>(snapshot: &'a Snapshot, knob: &str, place: &SettingId) -> Option<&'a str> {
    text(snapshot, &SettingId { knob: knob.to_owned(), device: None, space: place.space.clone() })
}

/// What a setting can be, where that was read.
pub(crate) fn choices<'a>(snapshot: &'a Snapshot, place: &SettingId) -> &'a [String] {
    snapshot.settings.iter().find(|setting| setting.place == *place).map_or(&[], |setting| &setting.choices)
}

/// The interface that a place is of.
pub(crate) fn nic<'a>(snapshot: &'a Snapshot, place: &SettingId) -> Option<&'a MachineNic> {
    let device = place.device.as_deref()?;
    snapshot.machine.nics.iter().find(|nic| nic.name == device)
}

/// The bond that a place is of.
pub(crate) fn bond<'a>(snapshot: &'a Snapshot, place: &SettingId) -> Option<&'a MachineBond> {
    nic(snapshot, place)?.bond.as_ref()
}

/// The mode that a bond should have. One where a single member carries everything is kept: two switches may not be one
/// to LACP, which only a person knows. Members of unlike speeds, LACP does not use together.
pub(crate) fn bond_mode<'a>(snapshot: &Snapshot, bond: &'a MachineBond) -> &'a str {
    match bond.mode.as_str() {
        mode @ ("802.3ad" | "balance-xor" | "active-backup") => mode,
        mode if unlike_speeds(snapshot, bond).is_some() => mode,
        _ => "802.3ad",
    }
}

/// The least and the largest speed of a bond's members that are up, in bits per second, where these differ.
pub(crate) fn unlike_speeds(snapshot: &Snapshot, bond: &MachineBond) -> Option<(u64, u64)> {
    let (speeds, _) = member_speeds(snapshot, bond);
    let (least, most) = (speeds.iter().min()?, speeds.iter().max()?);
    (least != most).then_some((*least, *most))
}

/// Whether all members of a bond are known to have one speed.
pub(crate) fn has_one_speed(snapshot: &Snapshot, bond: &MachineBond) -> bool {
    let (speeds, are_all_known) = member_speeds(snapshot, bond);
    are_all_known && speeds.windows(2).all(|pair| pair[0] == pair[1])
}

/// Speeds of a bond's members as far as they are stated, and whether that is of all.
fn member_speeds(snapshot: &Snapshot, bond: &MachineBond) -> (Vec<u64>, bool) {
    let speed = |member: &String| snapshot.machine.nics.iter().find(|nic| nic.name == *member)?.speed_bits_per_s;
    let speeds: Vec<u64> = bond.members.iter().filter_map(speed).collect();
    let are_all_known = speeds.len() == bond.members.len();
    (speeds, are_all_known)
}

/// The disk that a place is of.
pub(crate) fn disk<'a>(snapshot: &'a Snapshot, place: &SettingId) -> Option<&'a Disk> {
    let device = place.device.as_deref()?;
    snapshot.devices.disks.iter().find(|disk| disk.name == device)
}

/// Whether it is known only what a virtual disk claims: virtio and Xen pass on nothing of what is below, and a disk
/// that a hypervisor emulates claims to spin unless it is configured otherwise.
fn is_unbelievable(snapshot: &Snapshot, disk: &Disk) -> bool {
    let is_paravirtual = disk.name.starts_with("vd") || disk.name.starts_with("xvd");
    is_paravirtual || (snapshot.machine.virtualized && disk.rotational)
}

/// A value that follows from whether a disk spins, with its reason.
pub(crate) fn advice_of_spinning(snapshot: &Snapshot, disk: &Disk, value: impl Display, why: &str) -> Option<Advice> {
    if !is_unbelievable(snapshot, disk) {
        return advice(value, why);
    }
    let flag = if disk.rotational { "spins" } else { "does not spin" };
    let doubt = format!("uncertain: a virtual disk, which says that it {flag} whatever is below it");
    Some(Advice { is_uncertain: true, ..advice(value, format!("{doubt}; if so: {why}"))? })
}

/// The plane that an interface carries, itself or as a member of the plane's bond.
pub(crate) fn plane_of<'a>(snapshot: &Snapshot, site: &'a Site, device: &str) -> Option<&'a Plane> {
    let is_member = |link: &str| {
        snapshot.machine.nics.iter().any(|nic| nic.name == link && nic.over.iter().any(|member| member == device))
    };
    let planes = [Some(&site.planes.public), site.planes.private.as_ref()];
    planes.into_iter().flatten().find(|plane| plane.link == device || is_member(&plane.link))
}

/// Ports of the machine whose speed is known: no bonds, bridges or VLANs, which stand on them.
fn port_speeds(snapshot: &Snapshot) -> impl Iterator<Item = f64> {
    let ports = snapshot.machine.nics.iter().filter(|nic| nic.over.is_empty());
    ports.filter_map(|nic| nic.speed_bits_per_s).map(|speed| speed as f64)
}

/// The fastest port, in bits per second: the machine's, or else the site's.
pub(crate) fn port_bits_per_s(snapshot: &Snapshot, site: &Site) -> f64 {
    let own = port_speeds(snapshot).fold(0.0, f64::max);
    if own > 0.0 {
        return own;
    }
    site.groups.iter().flat_map(|group| &group.nics).map(|nic| nic.speed_bits_per_s).fold(0.0, f64::max)
}

/// All ports together, in bits per second: the machine's, or else those of the site's best group.
pub(crate) fn node_bits_per_s(snapshot: &Snapshot, site: &Site) -> f64 {
    let own: f64 = port_speeds(snapshot).sum();
    if own > 0.0 {
        return own;
    }
    let of_group = |nics: &[linerate_record::site::Nic]| -> f64 {
        nics.iter().map(|nic| nic.speed_bits_per_s * f64::from(nic.ports)).sum()
    };
    site.groups.iter().map(|group| of_group(&group.nics)).fold(0.0, f64::max)
}

/// What one connection should have as buffer, and how that was computed.
pub(crate) struct Window {
    /// Bytes.
    pub(crate) bytes: u64,
    /// Every step that led there, bounds that applied included.
    pub(crate) text: String,
}

impl Window {
    /// The window, or what is more than it: that is said.
    pub(crate) fn or_more(self, least: u64, what: &str) -> Window {
        if least <= self.bytes {
            return self;
        }
        Window { bytes: least, text: format!("{}; {what} {} is larger", self.text, size(least)) }
    }
}

/// The least buffer that is advised.
const WINDOW_LEAST_BYTES: u64 = 64 << 10;

/// Bytes of buffer for one connection: twice bandwidth × delay, because the kernel counts overhead in, as a power of
/// two; no more than the 128th of memory that the kernel itself allows one socket (`tcp_init`), no less than 64 KiB.
/// None where no speed of a port is known.
pub(crate) fn window(snapshot: &Snapshot, site: &Site) -> Option<Window> {
    let port = port_bits_per_s(snapshot, site);
    if port <= 0.0 {
        return None;
    }
    let carried = port.min(CONNECTION_BITS_PER_S);
    let computed = (2.0 * carried / 8.0 * DELAY_S) as u64;
    let mut text = format!("twice {} × 2 ms (the delay assumed under load) is {}", rate(carried), size(computed));
    if carried < port {
        text.push_str(&format!(" (one connection is assumed to use no more of a port of {})", rate(port)));
    }
    let mut bytes = computed.next_power_of_two();
    if bytes != computed {
        text.push_str(&format!(", rounded up to a power of two {}", size(bytes)));
    }
    let allowed = (snapshot.machine.memory_bytes / 128).checked_ilog2().map_or(u64::MAX, |power| 1 << power);
    if allowed < bytes {
        bytes = allowed;
        text.push_str(&format!(", limited to {}, the largest power of two within 1/128 of memory", size(bytes)));
    }
    if bytes < WINDOW_LEAST_BYTES {
        bytes = WINDOW_LEAST_BYTES;
        text.push_str(&format!(", raised to the minimum of {}", size(bytes)));
    }
    Some(Window { bytes, text })
}

/// What MinIO requests by `SO_RCVBUF` and `SO_SNDBUF`.
const MINIO_BUFFER_BYTES: u64 = 4 << 20;

/// The largest buffer that a program may request: the window, or what MinIO requests, where that is larger or no window
/// is known.
pub(crate) fn largest_request(snapshot: &Snapshot, site: &Site, place: &SettingId) -> Option<Advice> {
    let minio = || format!("MinIO requests {}", size(MINIO_BUFFER_BYTES));
    let (bytes, text) = match window(snapshot, site) {
        Some(window) => (window.bytes.max(MINIO_BUFFER_BYTES), format!("{}; {}", window.text, minio())),
        None => (MINIO_BUFFER_BYTES, minio()),
    };
    at_least(snapshot, place, bytes, text)
}

/// The kernel's own greatest receive buffer: `net/ipv4/tcp.c: tcp_init`, 32 MiB since 6.16.
pub(crate) fn tcp_rmem_default(snapshot: &Snapshot) -> u64 {
    if kernel(snapshot).is_some_and(|kernel| kernel >= (6, 16)) { 32 << 20 } else { 6 << 20 }
}

/// The kernel's own greatest send buffer.
pub(crate) fn tcp_wmem_default(_snapshot: &Snapshot) -> u64 {
    4 << 20
}

/// Connections of one node: its share of the clients', all of them where one node takes all, and its peers'.
pub(crate) fn connections(site: &Site) -> u64 {
    let nodes = u64::from(site.nodes().max(1));
    let clients = u64::from(site.askers()) * u64::from(site.clients.connections);
    let takers = if matches!(site.entry, Entry::L2Announcement { .. }) { 1 } else { nodes };
    clients.div_ceil(takers) + (nodes - 1) * CONNECTIONS_PER_PEER
}

/// Whether every NIC whose queues are known has one and offers no more.
pub(crate) fn is_single_queue(snapshot: &Snapshot) -> bool {
    let queues = snapshot.settings.iter().filter(|setting| setting.place.knob == "nic.channels");
    let mut most = queues.filter_map(|setting| setting.choices.first().or(setting.value.as_ref())).peekable();
    most.peek().is_some() && most.all(|queues| queues == "1")
}

/// All processors as a mask, as the kernel groups it.
pub(crate) fn cpu_mask(cpus: u32) -> String {
    let groups = (0..cpus.div_ceil(32)).rev();
    let masks = groups.map(|group| match cpus - group * 32 {
        32.. => "ffffffff".to_owned(),
        rest => format!("{:x}", (1_u64 << rest) - 1),
    });
    masks.collect::<Vec<_>>().join(",")
}

/// Whether percentages of memory are too coarse: 1 % of 64 GiB is more than half a second of a drive.
pub(crate) fn is_large_memory(snapshot: &Snapshot) -> bool {
    snapshot.machine.memory_bytes >= 64 << 30
}

/// The kernel's own reserve in KiB: `mm/page_alloc.c: calculate_min_free_kbytes`.
pub(crate) fn min_free_default_kib(memory_kib: u64) -> u64 {
    (16 * memory_kib).isqrt().clamp(128, 256 << 10)
}

/// What the machine's disks write in a time, by the site's figure for one drive or else 1 GB/s for flash and 0.2 GB/s
/// for what spins; whole MiB, from 256 MiB to 1/4 of what is a lot: 4 GiB.
pub(crate) fn writeback_bytes(snapshot: &Snapshot, site: &Site, seconds: f64) -> u64 {
    let stated = site.groups.iter().flat_map(|group| &group.drives).map(|drives| drives.write_bytes_per_s);
    let stated = stated.fold(0.0, f64::max);
    let of_disk = |disk: &Disk| match stated {
        stated if stated > 0.0 => stated,
        _ if disk.rotational => 0.2e9,
        _ => 1e9,
    };
    let bytes: f64 = snapshot.devices.disks.iter().map(|disk| of_disk(disk) * seconds).sum();
    ((bytes as u64) >> 20 << 20).clamp(256 << 20, 4 << 30)
}

/// `12 drives`.
pub(crate) fn drives_text(snapshot: &Snapshot) -> String {
    match snapshot.devices.disks.len() {
        1 => "1 drive".to_owned(),
        count => format!("{count} drives"),
    }
}

/// Bytes for people.
pub(crate) fn size(bytes: u64) -> String {
    Bytes(bytes).to_string()
}

/// A link's speed for people.
pub(crate) fn rate(bits_per_s: f64) -> String {
    match bits_per_s {
        slow if slow < 1e9 => format!("{} Mb/s", (slow / 1e5).round() / 10.0),
        fast => format!("{} Gb/s", (fast / 1e8).round() / 10.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::{machine, set_port_speeds, site};

    #[test]
    fn the_text_of_a_window_says_each_step_and_each_bound_that_applied() {
        for (gbit, memory_bytes, bytes, text) in [
            (
                25,
                256 << 30,
                16 << 20,
                "twice 25 Gb/s × 2 ms (the delay assumed under load) is 11.9 MiB, rounded up to a power of two 16 MiB",
            ),
            (
                25,
                1 << 30,
                8 << 20,
                "twice 25 Gb/s × 2 ms (the delay assumed under load) is 11.9 MiB, rounded up to a power of two 16 MiB, \
                 limited to 8 MiB, the largest power of two within 1/128 of memory",
            ),
            (
                100,
                256 << 30,
                32 << 20,
                "twice 50 Gb/s × 2 ms (the delay assumed under load) is 23.8 MiB (one connection is assumed to use no \
                 more of a port of 100 Gb/s), rounded up to a power of two 32 MiB",
            ),
            (
                1,
                4 << 20,
                64 << 10,
                "twice 1 Gb/s × 2 ms (the delay assumed under load) is 488 KiB, rounded up to a power of two 512 KiB, \
                 limited to 32 KiB, the largest power of two within 1/128 of memory, raised to the minimum of 64 KiB",
            ),
        ] {
            let mut snapshot = machine();
            set_port_speeds(&mut snapshot, gbit);
            snapshot.machine.memory_bytes = memory_bytes;
            let window = window(&snapshot, &site()).expect("a speed is known");
            assert_eq!((window.bytes, window.text.as_str()), (bytes, text), "{gbit} Gb/s");
        }
        assert_eq!(rate(100e6), "100 Mb/s");
    }

    #[test]
    fn no_window_is_computed_where_no_speed_of_a_port_is_known() {
        let (mut snapshot, mut site) = (machine(), site());
        snapshot.machine.nics.iter_mut().for_each(|nic| nic.speed_bits_per_s = None);
        site.groups.iter_mut().flat_map(|group| &mut group.nics).for_each(|nic| nic.speed_bits_per_s = 0.0);
        let advised = |id: &str| {
            let place = SettingId { knob: id.to_owned(), device: None, space: linerate_record::knob::Space::Host };
            crate::knobs::advise(crate::knobs::find(id).expect(id), &snapshot, &site, &place)
        };
        for id in ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"] {
            assert_eq!(advised(id), None, "{id}");
        }
        for id in ["net.core.rmem_max", "net.core.wmem_max"] {
            let advice = advised(id).expect(id);
            assert_eq!((advice.value.as_str(), advice.why.as_str()), ("4194304", "MinIO requests 4 MiB"), "{id}");
        }
    }
}
