//! Settings that move when another is written, and what puts them back.
//!
//! Without these, undoing would not: `vm.dirty_bytes` cannot be written 0 again, which it is while `vm.dirty_ratio`
//! counts, and only writing the ratio makes it so.

use linerate_record::journal::{Address, Beside};

use super::space::Inside;
use super::spot::{self, Spot};
use super::{ethtool, same};

/// Sysctls of which the kernel zeroes one when the other is written: `mm/page-writeback.c: dirty_bytes_handler` and its
/// siblings, `mm/util.c: overcommit_ratio_handler` and `overcommit_kbytes_handler`.
const TWINS: [(&str, &str); 3] = [
    ("vm/dirty_bytes", "vm/dirty_ratio"),
    ("vm/dirty_background_bytes", "vm/dirty_background_ratio"),
    ("vm/overcommit_kbytes", "vm/overcommit_ratio"),
];

/// What moves with a setting.
fn addresses(spot: &Spot) -> Vec<Address> {
    let sysctl = |path: &str| Address::Sysctl(path.replace('/', "."));
    match spot {
        Spot::Sysctl(path) => {
            let twin = TWINS.iter().find_map(|(one, other)| match path.as_str() {
                name if name == *one => Some(*other),
                name if name == *other => Some(*one),
                _ => None,
            });
            twin.map(sysctl).into_iter().collect()
        }
        Spot::Sysfs(path) => match path.strip_suffix("/scheduler") {
            // `block/elevator.c: elevator_switch` sets the depth anew for the scheduler; wbt is off under bfq.
            Some(queue) => ["nr_requests", "wbt_lat_usec"].map(|name| Address::Sysfs(format!("{queue}/{name}"))).into(),
            // `mm/khugepaged.c: set_recommended_min_free_kbytes`.
            None if path == "kernel/mm/transparent_hugepage/enabled" => vec![sysctl("vm/min_free_kbytes")],
            None => Vec::new(),
        },
        Spot::Offload(device, feature) => {
            let members = ethtool::members(feature).into_iter().map(str::to_owned);
            members.map(|name| Address::Feature { device: device.clone(), name }).collect()
        }
        _ => Vec::new(),
    }
}

/// What moves with a setting, as it is now; what this machine does not have is left out.
pub(super) fn read(inside: &Inside<'_>, spot: &Spot) -> Vec<Beside> {
    let value = |address: &Address| Some(spot::read(inside, &spot::of_address(address).ok()?).ok()?.0);
    let read = |address: Address| value(&address).map(|value| Beside { address, value });
    addresses(spot).into_iter().filter_map(read).collect()
}

/// Writes back what has moved, but for what is not as the change had left it: that has somebody else's value. What
/// cannot be written back shows when the setting itself is compared.
pub(super) fn put_back(inside: &Inside<'_>, prior: &[Beside], became: &[Beside]) {
    for beside in prior {
        let Ok(spot) = spot::of_address(&beside.address) else { continue };
        let Ok((now, _)) = spot::read(inside, &spot) else { continue };
        let left = became.iter().find(|other| other.address == beside.address);
        let is_ours = left.is_none_or(|left| same(&left.value, &now));
        // A twin that is 0 does not count: the other, written, has made it so again.
        let is_dormant = matches!(spot, Spot::Sysctl(_)) && beside.value == "0";
        if is_ours && !is_dormant && !same(&now, &beside.value) {
            let _ = spot::write(inside, &spot, &beside.value);
        }
    }
}
