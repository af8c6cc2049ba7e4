//! Words that stand for what a capture must not say.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::root::{Root, names, text};

/// Shorter ones may be part of any word.
const SHORTEST_NAME: usize = 4;
/// Shorter ones may be any number.
const SHORTEST_SERIAL: usize = 8;

/// Replacements so far: the same for the same, wherever it stands.
#[derive(Debug, Default)]
pub(super) struct Masks {
    /// Texts of this machine that are replaced wherever they stand, the longest first.
    known: Vec<(String, String)>,
    /// Of each kind of address, those met.
    met: BTreeMap<(&'static str, String), usize>,
}

impl Masks {
    /// What the machine itself says of its names and serial numbers.
    pub(super) fn new(root: &Root) -> Self {
        let word = |path: &str| text(root, path, &mut Vec::new()).ok().map(|text| text.trim().to_owned());
        let mut known: Vec<(String, String)> = Vec::new();
        let mut add = |found: Option<String>, least: usize, mask: &str| {
            let Some(found) = found.filter(|found| found.len() >= least && found != "localhost") else { return };
            if !known.iter().any(|(text, _)| *text == found) {
                let number = known.iter().filter(|(_, with)| with.starts_with(mask)).count() + 1;
                known.push((found, format!("{mask}-{number}")));
            }
        };
        let host = word("proc/sys/kernel/hostname");
        add(host.as_ref().and_then(|host| host.split('.').next()).map(str::to_owned), SHORTEST_NAME, "host");
        add(host, SHORTEST_NAME, "host");
        add(word("proc/sys/kernel/domainname").filter(|name| name != "(none)"), SHORTEST_NAME, "domain");
        add(word("etc/machine-id"), SHORTEST_SERIAL, "machine");
        add(word("proc/sys/kernel/random/boot_id"), SHORTEST_SERIAL, "boot");
        for file in ["product_serial", "board_serial", "chassis_serial", "product_uuid"] {
            add(word(&format!("sys/class/dmi/id/{file}")), SHORTEST_SERIAL, "serial");
        }
        for disk in names(root, "sys/block") {
            for file in ["device/serial", "serial", "wwid", "device/wwid"] {
                add(word(&format!("sys/block/{disk}/{file}")), SHORTEST_SERIAL, "serial");
            }
        }
        known.sort_by(|a, b| (b.0.len(), &b.0).cmp(&(a.0.len(), &a.0)));
        Self { known, met: BTreeMap::new() }
    }

    /// A text without them.
    pub(super) fn masked(&mut self, original: &str) -> String {
        let mut text = original.to_owned();
        for (known, mask) in &self.known {
            if text.contains(known.as_str()) {
                text = text.replace(known.as_str(), mask);
            }
        }
        let mut out = String::with_capacity(text.len());
        let mut word = String::new();
        for c in text.chars() {
            if c.is_ascii_alphanumeric() || ":.-_%".contains(c) {
                word.push(c);
            } else {
                out.push_str(&self.word(&word));
                word.clear();
                out.push(c);
            }
        }
        out.push_str(&self.word(&word));
        out
    }

    fn word(&mut self, word: &str) -> String {
        match kind(word) {
            None => word.to_owned(),
            Some(kind) => {
                let colon = if word.ends_with(':') && !word.ends_with("::") { ":" } else { "" };
                let own = word.trim_end_matches(':').to_ascii_lowercase();
                let count = self.met.keys().filter(|(of, _)| *of == kind).count();
                let number = *self.met.entry((kind, own)).or_insert(count + 1);
                format!("{kind}-{number}{colon}")
            }
        }
    }
}

/// What of the kinds that are replaced a word is.
fn kind(word: &str) -> Option<&'static str> {
    let word = word.split('%').next().unwrap_or(word).trim_matches(['.', '-', '_', ',']);
    let word = word.strip_suffix(':').filter(|rest| !rest.ends_with(':')).unwrap_or(word);
    let hex = |part: &str| part.chars().all(|c| c.is_ascii_hexdigit());
    let parts_of = |separator: char, lengths: &[usize]| {
        let parts: Vec<&str> = word.split(separator).collect();
        parts.len() == lengths.len() && parts.iter().zip(lengths).all(|(part, n)| part.len() == *n && hex(part))
    };
    if parts_of(':', &[2; 6]) || parts_of('-', &[2; 6]) || parts_of(':', &[2; 20]) || parts_of(':', &[2; 8]) {
        return Some("mac");
    }
    if parts_of('-', &[8, 4, 4, 4, 12]) || has_uuid(word) {
        return Some("uuid");
    }
    if word.parse::<Ipv4Addr>().is_ok() || word.matches(':').count() > 1 && word.parse::<Ipv6Addr>().is_ok() {
        return Some("ip");
    }
    // `enx` and the MAC address: what systemd calls USB NICs. `wwn-0x`, `eui.`, `nvme.`: identifiers of disks.
    let of_mac = word.strip_prefix("enx").is_some_and(|rest| rest.len() == 12 && hex(rest));
    let of_disk = ["wwn-", "eui.", "nqn.", "nvme-"].iter().any(|prefix| word.starts_with(prefix));
    (of_mac || of_disk).then_some("id")
}

/// Whether an identifier stands within a longer word: `pod1f2e…`, `pvc-1f2e…`.
fn has_uuid(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.windows(36).any(|part| {
        part.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => matches!(*byte, b'-' | b'_'),
            _ => byte.is_ascii_hexdigit(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_names_a_machine_is_replaced_and_the_same_by_the_same() {
        let cases = [
            ("52:54:00:12:34:56 up", "mac-1 up"),
            ("via 10.0.3.7, not 10.0.3.8 but 10.0.3.7", "via ip-1, not ip-2 but ip-1"),
            ("fe80::1%eth0 2001:db8::5", "ip-1 ip-2"),
            ("/pods/3f2504e0-4f89-11d3-9a0c-0305e82c3301/x", "/pods/uuid-1/x"),
            ("pvc-3f2504e0-4f89-11d3-9a0c-0305e82c3301", "uuid-1"),
            ("enx0011223344aa: 0", "id-1: 0"),
            ("0000:3b:00.0 16.0 GT/s", "0000:3b:00.0 16.0 GT/s"),
            ("6.1.0-56-cloud-amd64", "6.1.0-56-cloud-amd64"),
            ("4096 131072 6291456", "4096 131072 6291456"),
        ];
        for (text, expected) in cases {
            assert_eq!(Masks::default().masked(text), expected, "{text:?}");
        }
    }

    #[test]
    fn names_and_serial_numbers_of_the_machine_are_found_within_words() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("proc/sys/kernel")).unwrap();
        std::fs::create_dir_all(folder.path().join("sys/block/sda/device")).unwrap();
        std::fs::write(folder.path().join("proc/sys/kernel/hostname"), "store17.example.org\n").unwrap();
        std::fs::write(folder.path().join("sys/block/sda/device/serial"), "S4EVNX0N123456  \n").unwrap();
        let mut masks = Masks::new(&Root::captured(folder.path()));
        assert_eq!(masks.masked("/dev/mapper/vg_store17-data"), "/dev/mapper/vg_host-1-data");
        assert_eq!(masks.masked("store17.example.org"), "host-2");
        assert_eq!(masks.masked("by-id S4EVNX0N123456"), "by-id serial-1");
    }

    proptest! {
        #[test]
        fn no_address_is_left(
            mac in "([0-9a-f]{2}:){5}[0-9a-f]{2}", ip in any::<[u8; 4]>(), around in "[ a-z,=]{0,8}"
        ) {
            let ip = Ipv4Addr::from(ip).to_string();
            let text = format!("{around} {mac} {around} {ip}\n");
            let masked = Masks::default().masked(&text);
            prop_assert!(!masked.contains(&mac) && !masked.contains(&ip), "{}", masked);
        }
    }
}
