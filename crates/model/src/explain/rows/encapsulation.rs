//! Packets are wrapped though the site says native routing, or the reverse.

use linerate_record::explanation::Observations;
use linerate_record::site::{Encapsulation, Entry, Plane, Site};

use crate::explain::deviation::{Parts, Variant, cost_of};
use crate::explain::readings::ReadingId;

/// In log odds: a judgement.
const UNHEARD_OF: f64 = 2.0;

pub(super) fn variants(site: &Site, _: &Observations) -> Vec<Variant> {
    let mut found = Vec::new();
    for (kind, word, cost) in [
        (Encapsulation::Vxlan, "vxlan", 3.0),
        (Encapsulation::Wireguard, "wireguard", 4.5),
        (Encapsulation::None, "none", 3.0),
    ] {
        let could = |plane: &Plane| plane.encapsulation != kind && either_is_none(plane.encapsulation, kind);
        let public = could(&site.planes.public);
        let private = site.planes.private.as_ref().is_some_and(could);
        let mut push = |which: &'static str, parts, set: fn(&mut Site, Encapsulation)| {
            found.push(of(site, which, (kind, word), cost, parts, set));
        };
        if public {
            push("public", Parts::PUBLIC_WRAP, |site, kind| site.planes.public.encapsulation = kind);
        }
        if private {
            push("private", Parts::PRIVATE_WRAP, set_private);
        }
        if public && private {
            push("every", Parts::PUBLIC_WRAP.and(Parts::PRIVATE_WRAP), |site, kind| {
                site.planes.public.encapsulation = kind;
                set_private(site, kind);
            });
        }
    }
    found
}

/// One tunnel in place of another makes little difference: the variants are with and without.
fn either_is_none(stated: Encapsulation, kind: Encapsulation) -> bool {
    stated == Encapsulation::None || kind == Encapsulation::None
}

fn set_private(site: &mut Site, kind: Encapsulation) {
    site.planes.private.iter_mut().for_each(|plane| plane.encapsulation = kind);
}

/// What a tunnel costs more that no word of the site hints at: packets are wrapped where a cluster of pods is, or where
/// another plane is wrapped.
fn unheard_of(site: &Site, kind: Encapsulation) -> f64 {
    let wrapped = |plane: &Plane| plane.encapsulation != Encapsulation::None;
    let hinted = wrapped(&site.planes.public)
        || site.planes.private.as_ref().is_some_and(wrapped)
        || site.entry != Entry::ClientSide;
    if kind == Encapsulation::None || hinted { 0.0 } else { UNHEARD_OF }
}

fn of(
    site: &Site,
    which: &'static str,
    (kind, word): (Encapsulation, &'static str),
    cost: f64,
    parts: Parts,
    set: fn(&mut Site, Encapsulation),
) -> Variant {
    let cost = cost_of(site, cost, &["planes.*.encapsulation"]) + unheard_of(site, kind);
    let (claim, change) = if kind == Encapsulation::None {
        (format!("packets of the {which} plane are routed natively"), "correct the site: packets are not wrapped")
    } else {
        (format!("packets of the {which} plane are wrapped by {word}"), "route natively (Cilium: routingMode: native)")
    };
    Variant::new("encapsulation", format!("{which}: {word}"), claim, cost, parts, move |site| set(site, kind))
        .shown_by(ReadingId::Encapsulation)
        .cured_by(change, "native routing needs routes to every node's pods: pods are cut off where one is missing")
}
