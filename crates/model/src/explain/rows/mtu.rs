//! Packets are larger or smaller than stated.

use linerate_record::explanation::Observations;
use linerate_record::site::Site;

use crate::explain::deviation::{Parts, Variant, cost_of};
use crate::explain::readings::ReadingId;

/// Sizes that interfaces are set to: the default, and jumbo frames.
const SIZES: [u32; 2] = [1500, 9000];

pub(super) fn variants(site: &Site, _: &Observations) -> Vec<Variant> {
    let mut found = Vec::new();
    let private = site.planes.private.as_ref();
    for size in SIZES {
        let public_differs = differs(site.planes.public.mtu_bytes, size);
        let private_differs = private.is_some_and(|plane| differs(plane.mtu_bytes, size));
        if public_differs {
            found.push(of(site, "public", size, Parts::PUBLIC_MTU, |site, size| {
                site.planes.public.mtu_bytes = size;
            }));
        }
        if private_differs {
            found.push(of(site, "private", size, Parts::PRIVATE_MTU, set_private));
        }
        if public_differs && private_differs {
            let parts = Parts::PUBLIC_MTU.and(Parts::PRIVATE_MTU);
            found.push(of(site, "every", size, parts, |site, size| {
                site.planes.public.mtu_bytes = size;
                set_private(site, size);
            }));
        }
    }
    found
}

/// Sizes that are not the same but for a tunnel's headers: 8950 is 9000 with something around it.
fn differs(stated: u32, size: u32) -> bool {
    stated.abs_diff(size) > 200
}

fn set_private(site: &mut Site, size: u32) {
    site.planes.private.iter_mut().for_each(|plane| plane.mtu_bytes = size);
}

fn of(site: &Site, which: &str, size: u32, parts: Parts, set: fn(&mut Site, u32)) -> Variant {
    let cost = cost_of(site, 2.5, &["planes.*.mtu"]);
    let claim = format!("packets of the {which} plane are up to {size} bytes");
    Variant::new("mtu", format!("{which}: {size}"), claim, cost, parts, move |site| set(site, size))
        .shown_by(ReadingId::Mtu)
        .cured_by(
            format!("set the stated MTU of the {which} plane on nodes, pods, clients and switches"),
            "where one device of a path is left behind, large packets vanish: prove the path with ping -M do -s first",
        )
}
