//! Packets are wrapped though the site says native routing, or the reverse.

use linerate_record::explanation::Observations;
use linerate_record::site::{Encapsulation, Entry, Plane, Site};

use crate::explain::deviation::{PlaneChoice, SiteParts, Variant, plane_choices};
use crate::explain::readings::ReadingId;

/// In log odds: a judgement.
const UNHEARD_OF: f64 = 2.0;

/// What may be around packets, its word, and what that costs.
const KINDS: [(Encapsulation, &str, f64); 3] = [
    (Encapsulation::Vxlan, "vxlan", 3.0),
    (Encapsulation::Wireguard, "wireguard", 4.5),
    (Encapsulation::None, "none", 3.0),
];

pub(super) fn variants(site: &Site, _: &Observations) -> Vec<Variant> {
    let of_kind = |(kind, word, cost)| {
        let choices =
            plane_choices(site, |plane| plane.encapsulation != kind && either_is_none(plane.encapsulation, kind));
        choices.into_iter().map(move |which| new_variant(site, which, kind, word, cost))
    };
    KINDS.into_iter().flat_map(of_kind).collect()
}

/// One tunnel in place of another makes little difference: the variants are with and without.
fn either_is_none(stated: Encapsulation, kind: Encapsulation) -> bool {
    stated == Encapsulation::None || kind == Encapsulation::None
}

/// What a tunnel costs more that no word of the site hints at: packets are wrapped where a cluster of pods is, or where
/// another plane is wrapped.
fn unstated_tunnel_cost(site: &Site, kind: Encapsulation) -> f64 {
    let wrapped = |plane: &Plane| plane.encapsulation != Encapsulation::None;
    let hinted = wrapped(&site.planes.public)
        || site.planes.private.as_ref().is_some_and(wrapped)
        || !matches!(site.entry, Entry::ClientSide | Entry::Local);
    if kind == Encapsulation::None || hinted { 0.0 } else { UNHEARD_OF }
}

fn new_variant(site: &Site, which: PlaneChoice, kind: Encapsulation, word: &str, cost: f64) -> Variant {
    let (planes, parts) = (which.in_words(), which.parts(SiteParts::PUBLIC_WRAP, SiteParts::PRIVATE_WRAP));
    let stated = which.stated(site, "encapsulation", |plane| format!("{:?}", plane.encapsulation).to_lowercase());
    let claim = if kind == Encapsulation::None {
        format!("packets of {planes} are routed natively")
    } else {
        format!("packets of {planes} are wrapped by {word}")
    };
    let native: Vec<(String, String)> = stated.iter().map(|(path, _)| (path.clone(), word.to_owned())).collect();
    let set = move |site: &mut Site| which.change(site, |plane| plane.encapsulation = kind);
    let variant = Variant::new("encapsulation", format!("{}: {word}", which.name()), claim, cost, parts, set)
        .instead_of(site, stated)
        .costing(unstated_tunnel_cost(site, kind))
        .shown_by(ReadingId::Encapsulation);
    if kind == Encapsulation::None {
        return variant.corrected(&native);
    }
    variant.cured_by(
        "route natively (Cilium: routingMode: native)",
        "native routing needs routes to every node's pods: without a route, pods are cut off",
    )
}
