//! What a machine is made of, as far as a run must say it. Reads no host name, address or serial number.

use crate::lines::{list_length, value_after};
use crate::memory::parse_total;
use crate::nic::parse_net_dev;
use crate::root::{Parsed, ReadPass, Root, Unreadable, names, note, read_as, text};
use linerate_record::machine::{Machine, MachineBond, MachineNic};
use std::io::ErrorKind;

/// `IFF_UP` in the flags of an interface: what its administrator set, whatever its cable does.
const UP: u32 = 1;

/// Reads what the machine is made of. What could not be read is empty or 0 there, and the second value says so.
#[must_use]
pub(crate) fn machine(root: &Root) -> (Machine, Vec<Unreadable>) {
    let mut pass = ReadPass::default();
    let (cpu_model, under_hypervisor) = read_as(root, "proc/cpuinfo", &mut pass, parse_cpuinfo);
    let cpus = read_as(root, "sys/devices/system/cpu/online", &mut pass, parse_online);
    let machine = Machine {
        kernel: read_as(root, "proc/sys/kernel/osrelease", &mut pass, parse_word),
        cpu_model,
        cpus,
        numa_nodes: numa_nodes(root, cpus > 0, &mut pass),
        memory_bytes: read_as(root, "proc/meminfo", &mut pass, parse_total),
        nics: nics(root, &mut pass),
        clocksource: read_as(root, CLOCKSOURCE, &mut pass, parse_word),
        virtualized: under_hypervisor || names_a_hypervisor(root, &mut pass),
    };
    (machine, pass.unreadable)
}

const CLOCKSOURCE: &str = "sys/devices/system/clocksource/clocksource0/current_clocksource";

/// A file of one word.
fn parse_word(text: &str) -> Parsed<String> {
    let word = text.trim();
    (word.to_owned(), word.is_empty().then(|| "empty".to_owned()))
}

/// How many processors the machine can have, those that may be plugged in included; none where it does not say so.
pub(crate) fn possible_processors(root: &Root) -> Option<u32> {
    let listed = text(root, "sys/devices/system/cpu/possible", &mut Vec::new()).ok()?.trim().to_owned();
    let last: u32 = listed.rsplit([',', '-']).next()?.parse().ok()?;
    last.checked_add(1)
}

fn parse_online(text: &str) -> Parsed<u32> {
    match list_length(text) {
        Some(length) => (length, None),
        None => (0, Some("not a list such as 0-3,8".to_owned())),
    }
}

/// A kernel built without NUMA has no list of nodes, and one node; whether the kernel is such a one can only be told
/// where the rest of sysfs was there.
fn numa_nodes(root: &Root, sysfs_is_there: bool, pass: &mut ReadPass) -> u32 {
    let path = "sys/devices/system/node/online";
    match text(root, path, &mut pass.bytes) {
        Err(error) if error.kind() == ErrorKind::NotFound && sysfs_is_there => 1,
        _ => read_as(root, path, pass, parse_online),
    }
}

/// The processor's model, and whether it says that it is under a hypervisor (only x86 does).
fn parse_cpuinfo(text: &str) -> Parsed<(String, bool)> {
    let flags = value_after(text, "flags").unwrap_or_default();
    let hypervisor = flags.split_whitespace().any(|flag| flag == "hypervisor");
    match cpu_model(text) {
        Some(model) => ((model, hypervisor), None),
        None => ((String::new(), hypervisor), Some("no model of a processor".to_owned())),
    }
}

/// x86 and others state a model name, POWER states it as cpu, and 64-bit ARM states numbers only.
fn cpu_model(text: &str) -> Option<String> {
    let named = value_after(text, "model name").or_else(|| value_after(text, "cpu")).filter(|model| !model.is_empty());
    named.map(str::to_owned).or_else(|| {
        let (implementer, part) = (value_after(text, "CPU implementer")?, value_after(text, "CPU part")?);
        Some(format!("ARM implementer {implementer} part {part}"))
    })
}

/// Xen and s390 name the hypervisor in sysfs, and firmware with a device tree names it there.
fn names_a_hypervisor(root: &Root, pass: &mut ReadPass) -> bool {
    let places = ["sys/hypervisor/type", "proc/device-tree/hypervisor/compatible"];
    places.iter().any(|path| text(root, path, &mut pass.bytes).is_ok_and(|text| !text.trim().is_empty()))
}

/// The interfaces that are up. Their names come from the same file as their counters, because a sysfs that was mounted
/// in another network namespace lists the interfaces of that one.
fn nics(root: &Root, pass: &mut ReadPass) -> Vec<MachineNic> {
    let named = read_as(root, "proc/net/dev", pass, parse_net_dev);
    named.into_iter().filter_map(|counters| nic(root, counters.name, pass)).collect()
}

fn nic(root: &Root, name: String, pass: &mut ReadPass) -> Option<MachineNic> {
    let folder = format!("sys/class/net/{name}");
    let flags = read_as(root, &format!("{folder}/flags"), pass, parse_flags);
    if flags & UP == 0 || is_link_lost(root, &folder, pass) {
        return None;
    }
    let device = optional(root, &format!("{folder}/device/uevent"), pass, |text| Some(text.to_owned()));
    let speed = optional(root, &format!("{folder}/speed"), pass, parse_speed);
    Some(MachineNic {
        over: lowers(root, &name),
        bond: bond(root, &folder, pass),
        speed_bits_per_s: speed.filter(|_| has_hardware(root, &name)),
        mtu_bytes: read_as(root, &format!("{folder}/mtu"), pass, parse_mtu),
        driver: device.as_deref().and_then(parse_driver),
        numa_node: optional(root, &format!("{folder}/device/numa_node"), pass, |text| text.trim().parse().ok()),
        name,
    })
}

/// Whether an interface says that nothing is at its other end: it has no carrier, its state is that of one without
/// (`Documentation/networking/operstates.rst`; `unknown` is what many drivers say of a good link), or the bond that it
/// is of found it down. Drivers that state none of these are believed.
fn is_link_lost(root: &Root, folder: &str, pass: &mut ReadPass) -> bool {
    let mut word = |file: &str| optional(root, &format!("{folder}/{file}"), pass, |text| Some(text.trim().to_owned()));
    word("carrier").is_some_and(|carrier| carrier == "0")
        || word("operstate").is_some_and(|state| ["down", "lowerlayerdown", "notpresent"].contains(&state.as_str()))
        || word("bonding_slave/mii_status").is_some_and(|status| status == "down")
}

/// The interfaces that an interface is made of, as those of a bond, a VLAN or a bridge.
pub(crate) fn lowers(root: &Root, name: &str) -> Vec<String> {
    let entries = names(root, &format!("sys/class/net/{name}"));
    entries.into_iter().filter_map(|entry| Some(entry.strip_prefix("lower_")?.to_owned())).collect()
}

/// Interfaces above each other that are looked through: a VLAN over a bond over ports are three.
const LAYERS_MAX: usize = 8;

/// Whether hardware limits an interface: it is a device, a bond with one, or is made of such alone. Of others (veth,
/// tun, dummy, a bridge over them) the kernel states a speed that is a constant of the driver, and no property of
/// anything (`drivers/net/veth.c`, `drivers/net/tun.c`: 10 Gb/s).
pub(crate) fn has_hardware(root: &Root, name: &str) -> bool {
    is_over_hardware(root, name, LAYERS_MAX)
}

fn is_over_hardware(root: &Root, name: &str, layers: usize) -> bool {
    if is_device(root, name) {
        return true;
    }
    let below = if layers == 0 { Vec::new() } else { lowers(root, name) };
    let has = |lower: &String| is_over_hardware(root, lower, layers - 1);
    // A port of a bond may be away.
    let is_bond = !names(root, &format!("sys/class/net/{name}/bonding")).is_empty();
    if is_bond { below.iter().any(has) } else { !below.is_empty() && below.iter().all(has) }
}

fn is_device(root: &Root, name: &str) -> bool {
    !names(root, &format!("sys/class/net/{name}/device")).is_empty()
}

/// How a bond is set; `None` for any other interface.
fn bond(root: &Root, folder: &str, pass: &mut ReadPass) -> Option<MachineBond> {
    let first_word = |text: &str| text.split_whitespace().next().map(str::to_owned);
    Some(MachineBond {
        // Each setting is its name and its number: `802.3ad 4`, `layer3+4 1`.
        mode: optional(root, &format!("{folder}/bonding/mode"), pass, first_word)?,
        xmit_hash_policy: optional(root, &format!("{folder}/bonding/xmit_hash_policy"), pass, first_word),
        members: optional(root, &format!("{folder}/bonding/slaves"), pass, |text| {
            Some(text.split_whitespace().map(str::to_owned).collect())
        })
        .unwrap_or_default(),
    })
}

/// What a file says that many devices do not have: absent (as `device` of a bond), refused (as the speed of a link
/// that is down) and out of range (as node -1) all mean that the kernel states nothing. Other failures are told.
fn optional<T>(root: &Root, path: &str, pass: &mut ReadPass, parse: fn(&str) -> Option<T>) -> Option<T> {
    let fault = match text(root, path, &mut pass.bytes) {
        Ok(text) => return parse(&text),
        Err(error) if error.kind() == ErrorKind::NotFound || error.kind() == ErrorKind::InvalidInput => return None,
        Err(error) => error.to_string(),
    };
    note(pass, path, fault);
    None
}

fn parse_flags(text: &str) -> Parsed<u32> {
    let digits = text.trim().trim_start_matches("0x");
    match u32::from_str_radix(digits, 16) {
        Ok(flags) => (flags, None),
        Err(_) => (0, Some(format!("{:?} are not flags such as 0x1003", text.trim()))),
    }
}

fn parse_mtu(text: &str) -> Parsed<u32> {
    match text.trim().parse() {
        Ok(mtu_bytes) => (mtu_bytes, None),
        Err(_) => (0, Some(format!("{:?} is not a number of bytes", text.trim()))),
    }
}

/// The file is in Mb/s. An unknown speed is -1, which drivers and kernels have printed as 16 and 32 bits unsigned too.
fn parse_speed(text: &str) -> Option<u64> {
    let mbits_per_s: u64 = text.trim().parse().ok()?;
    let unknown = [0, u64::from(u16::MAX), u64::from(u32::MAX)].contains(&mbits_per_s);
    (!unknown).then_some(mbits_per_s)?.checked_mul(1_000_000)
}

/// The driver of a device, from its uevent: a plain file, where the link `driver` may not survive being captured.
fn parse_driver(uevent: &str) -> Option<String> {
    uevent.lines().find_map(|line| line.strip_prefix("DRIVER=")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_processor_is_named_on_every_architecture() {
        let x86 = "processor\t: 0\nmodel\t\t: 2\nmodel name\t: AMD EPYC 9654 96-Core Processor\n";
        let guest = format!("{x86}flags\t\t: fpu vme hypervisor lahf_lm\n");
        let lookalike = format!("{x86}flags\t\t: fpu nohypervisor\n");
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n\nSerial\t: 10000000deadbeef\n";
        let power = "processor\t: 0\ncpu\t\t: POWER9, altivec supported\n";
        let cases = [
            (x86, "AMD EPYC 9654 96-Core Processor", false),
            (&guest, "AMD EPYC 9654 96-Core Processor", true),
            (&lookalike, "AMD EPYC 9654 96-Core Processor", false),
            (arm, "ARM implementer 0x41 part 0xd4f", false),
            (power, "POWER9, altivec supported", false),
        ];
        for (text, model, virtualized) in cases {
            assert_eq!(parse_cpuinfo(text), ((model.to_owned(), virtualized), None), "{text}");
        }
        assert_eq!(parse_cpuinfo("Serial: 1\n").1.as_deref(), Some("no model of a processor"));
    }

    #[test]
    fn a_speed_is_decimal_and_an_unknown_one_is_none() {
        let cases = [
            ("25000\n", Some(25_000_000_000)),
            ("400000", Some(400_000_000_000)),
            ("-1\n", None),
            ("0\n", None),
            ("65535\n", None),
            ("4294967295\n", None),
            ("", None),
            ("18446744073709551615", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_speed(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_speed_is_believed_of_hardware_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let names = ["eth0", "bond0", "bond0.7", "veth1", "br0", "br1", "tun0"];
        let header = "Inter-|   Receive\n face |bytes\n";
        let rows: String = names.map(|name| format!("{name}: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n")).concat();
        file("proc/net/dev", &(header.to_owned() + &rows));
        for name in names {
            file(&format!("sys/class/net/{name}/flags"), "0x1003\n");
            file(&format!("sys/class/net/{name}/mtu"), "1500\n");
            file(&format!("sys/class/net/{name}/speed"), "10000\n");
        }
        file("sys/class/net/eth0/device/uevent", "DRIVER=ixgbe\n");
        for (above, below) in
            [("bond0", "eth0"), ("bond0.7", "bond0"), ("br0", "veth1"), ("br1", "veth1"), ("br1", "eth0")]
        {
            file(&format!("sys/class/net/{above}/lower_{below}/ifindex"), "7\n");
        }
        let mut pass = ReadPass::default();
        let nics = nics(&Root::captured(folder.path()), &mut pass);
        let believed: Vec<&str> =
            nics.iter().filter(|nic| nic.speed_bits_per_s.is_some()).map(|nic| nic.name.as_str()).collect();
        assert_eq!((nics.len(), believed), (7, vec!["eth0", "bond0", "bond0.7"]), "{nics:?}");
    }

    #[test]
    fn flags_are_hexadecimal() {
        let cases = [("0x1003\n", 0x1003, true), ("0x1002", 0x1002, true), ("up", 0, false), ("", 0, false)];
        for (text, flags, understood) in cases {
            let (found, reported) = parse_flags(text);
            assert_eq!((found, reported.is_none()), (flags, understood), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[-0-9a-fx, ]{0,24}|(?s).*") {
            parse_cpuinfo(&text);
            parse_online(&text);
            parse_flags(&text);
            parse_mtu(&text);
            parse_speed(&text);
            parse_driver(&text);
            parse_word(&text);
        }
    }
}
