//! Packets are larger or smaller than stated.

use linerate_record::explanation::Observations;
use linerate_record::site::{Site, key};

use crate::explain::deviation::{PlaneChoice, SiteParts, Variant, plane_choices};
use crate::explain::readings::ReadingId;

/// Sizes that interfaces are set to: the default, and jumbo frames.
const SIZES: [u32; 2] = [1500, 9000];

pub(super) fn variants(site: &Site, _: &Observations) -> Vec<Variant> {
    let of_size = |size| {
        let choices = plane_choices(site, |plane| differs(plane.mtu_bytes, size));
        choices.into_iter().map(move |which| new_variant(site, which, size))
    };
    SIZES.into_iter().flat_map(of_size).collect()
}

/// Sizes that are not the same but for a tunnel's headers: 8950 is 9000 with something around it.
fn differs(stated: u32, size: u32) -> bool {
    stated.abs_diff(size) > 200
}

fn new_variant(site: &Site, which: PlaneChoice, size: u32) -> Variant {
    let (planes, parts) = (which.in_words(), which.parts(SiteParts::PUBLIC_MTU, SiteParts::PRIVATE_MTU));
    let claim = format!("packets of {planes} are up to {size} bytes");
    // As a plan of the corrected site: clients of whom nothing else is stated have the packets of the public plane.
    let clients_follow = which != PlaneChoice::Private && site.is_assumed(key::CLIENTS_MTU);
    let change = move |site: &mut Site| {
        which.change(site, |plane| plane.mtu_bytes = size);
        if clients_follow {
            site.clients.mtu_bytes = size;
        }
    };
    let described = which.stated(site, "mtu", |plane| plane.mtu_bytes.to_string());
    let here: Vec<(String, String)> = described.iter().map(|(path, _)| (path.clone(), size.to_string())).collect();
    let is_larger = described.iter().all(|(_, mtu)| mtu.parse::<u32>().is_ok_and(|mtu| mtu < size));
    let is_stated = described.iter().any(|(path, _)| !site.is_assumed(path));
    let variant = Variant::new("mtu", format!("{}: {size}", which.name()), claim, 2.5, parts, change)
        .instead_of(site, described.clone())
        .shown_by(ReadingId::Mtu);
    if is_larger {
        return variant.corrected(&here);
    }
    let everywhere = "on nodes, pods, clients and switches";
    let change = if is_stated {
        format!("set the stated MTU of {planes} {everywhere}")
    } else {
        let values: Vec<String> = here.iter().map(|(path, size)| format!("{path}: {size}")).collect();
        format!("state {} in the site file, or set a larger MTU {everywhere}", values.join(", "))
    };
    variant.cured_by(
        change,
        "if one device of a path is left out, large packets are lost: test the path with ping -M do -s first",
    )
}
