//! Both planes run over one link though they are stated to be separate, or the reverse.

use linerate_record::explanation::Observations;
use linerate_record::site::{NodeGroup, Site, key};

use crate::bond::ports;
use crate::explain::deviation::{SiteParts, Variant, prior_cost};
use crate::explain::readings::ReadingId;

const PRIVATE: SiteParts =
    SiteParts::PLANES.and(SiteParts::PRIVATE_LINK).and(SiteParts::PRIVATE_MTU).and(SiteParts::PRIVATE_WRAP);

pub(super) fn variants(site: &Site, _: &Observations) -> Vec<Variant> {
    if site.planes.private.is_some() { vec![shared(site)] } else { separate(site).into_iter().collect() }
}

fn shared(site: &Site) -> Variant {
    let link = &site.planes.public.link;
    let private = site.planes.private.iter();
    let stated = private.map(|plane| (key::PLANES_PRIVATE_LINK.to_owned(), plane.link.clone())).collect();
    Variant::new("plane-shared", link, format!("traffic among nodes runs over {link} too"), 2.5, PRIVATE, |site| {
        site.planes.private = None
    })
    .instead_of(site, stated)
    .shown_by(ReadingId::PlaneBytes)
    .cured_by(
        "let nodes find each other by addresses of the private plane: endpoints, host names and routes of the engine",
        "an engine that is given other endpoints restarts, and MinIO's must stay the same on all nodes",
    )
}

/// The other way: traffic among nodes has a link that the site has and no plane uses.
fn separate(site: &Site) -> Option<Variant> {
    let public = &site.planes.public.link;
    let idle = |group: &NodeGroup| -> Vec<String> {
        let bonds = group.bonds.iter().map(|bond| bond.name.clone());
        let bonded = |name: &str| group.bonds.iter().any(|bond| bond.nics.iter().any(|nic| nic == name));
        let nics = group.nics.iter().filter(|nic| !bonded(&nic.name)).map(|nic| nic.name.clone());
        bonds.chain(nics).filter(|name| name != public && ports(group, name) > 0).collect()
    };
    let mut of_groups = site.groups.iter().map(idle);
    let first = of_groups.next()?;
    let link = of_groups.fold(first, |both, other| both.into_iter().filter(|name| other.contains(name)).collect());
    let link = link.into_iter().next()?;
    let chosen = link.clone();
    let variant = Variant::new(
        "plane-separate",
        &link,
        format!("traffic among nodes has {link} to itself"),
        prior_cost(site, 3.0, &[key::PLANES_PRIVATE]),
        PRIVATE,
        move |site| {
            let mut plane = site.planes.public.clone();
            plane.link.clone_from(&chosen);
            site.planes.private = Some(plane);
        },
    );
    Some(variant.shown_by(ReadingId::PlaneBytes).corrected(&[(key::PLANES_PRIVATE_LINK.to_owned(), link)]))
}
