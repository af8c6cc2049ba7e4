//! Sizes of packets that do not fit together.
//!
//! TCP agrees on the smaller end's segment, so different sizes cost goodput and not correctness; but where something
//! between the ends takes less than either (an overlay), packets are lost until path MTU discovery has learnt it, and
//! for ever where ICMP is filtered.

use linerate_record::finding::Severity;
use linerate_record::plan::{PlanFinding, PlanFindingKind};
use linerate_record::site::{Encapsulation, Plane};

use super::{Case, finding};
use crate::ethernet::{encapsulation_bytes, goodput_share};

const SOURCE: &str = "RFC 8899 and RFC 1191 on path MTU discovery; framing as in docs/method/ceilings.md";

pub(super) fn check(case: &Case, out: &mut Vec<PlanFinding>) {
    let site = case.site;
    let public = inner_mtu_bytes(&site.planes.public);
    let clients = site.clients.mtu_bytes;
    if site.clients.count > 0 && clients != public {
        let claim = format!("clients' packets have {clients} bytes and the public plane's {public}");
        let evidence = evidence(&site.planes.public);
        let severity = if clients > public { Severity::Warning } else { Severity::Note };
        out.push(finding(
            PlanFindingKind::MtuMismatch,
            severity,
            claim,
            evidence,
            "set the same MTU from client to pod, and let ICMP \"fragmentation needed\" pass",
            SOURCE,
        ));
    }
    let encapsulated = case.planes().filter(|(_, plane)| plane.encapsulation != Encapsulation::None);
    for (name, plane) in encapsulated.filter(|(_, plane)| inner_mtu_bytes(plane) < 1500) {
        let claim = format!(
            "the {name} plane's MTU leaves no room for encapsulation: inner packets have {} bytes",
            inner_mtu_bytes(plane)
        );
        out.push(finding(
            PlanFindingKind::MtuMismatch,
            Severity::Warning,
            claim,
            evidence(plane),
            "raise the MTU of the wire (9000 where switches allow it), or route natively",
            "sources/000: native routing against overlay; framing as in docs/method/ceilings.md",
        ));
    }
    let mut planes = case.planes();
    if let (Some((_, public)), Some((_, private))) = (planes.next(), planes.next())
        && public.mtu_bytes != private.mtu_bytes
    {
        let claim = format!("the planes have different MTUs, {} and {} bytes", public.mtu_bytes, private.mtu_bytes);
        let evidence = format!("public: {}; private: {}", evidence(public), evidence(private));
        out.push(finding(
            PlanFindingKind::MtuMismatch,
            Severity::Note,
            claim,
            evidence,
            "raise the smaller one, unless a device on its path does not support it",
            SOURCE,
        ));
    }
}

/// Largest packet inside of a plane's encapsulation.
fn inner_mtu_bytes(plane: &Plane) -> u32 {
    plane.mtu_bytes.saturating_sub(encapsulation_bytes(plane.encapsulation))
}

fn evidence(plane: &Plane) -> String {
    let goodput = 100.0 * goodput_share(plane.mtu_bytes, plane.encapsulation, plane.ip, plane.timestamps);
    let around = encapsulation_bytes(plane.encapsulation);
    format!("{} bytes on the wire, {around} of them around the packet, goodput {goodput:.1} %", plane.mtu_bytes)
}

#[cfg(test)]
mod tests {
    use super::super::tests::findings_after;
    use super::*;

    #[test]
    fn clients_that_differ_overlays_without_room_and_planes_that_differ_are_told() {
        let clients = findings_after(PlanFindingKind::MtuMismatch, |site| site.clients.mtu_bytes = 1500);
        assert_eq!(clients[0].severity, Severity::Note, "{clients:?}");
        let overlay = findings_after(PlanFindingKind::MtuMismatch, |site| {
            let private = site.planes.private.as_mut().unwrap();
            private.mtu_bytes = 1500;
            private.encapsulation = Encapsulation::Vxlan;
        });
        assert!(overlay[0].claim.contains("inner packets have 1450 bytes"), "{overlay:?}");
        assert!(overlay[1].claim.contains("9000 and 1500"), "{overlay:?}");
    }

    #[test]
    fn the_same_size_everywhere_is_well() {
        assert!(findings_after(PlanFindingKind::MtuMismatch, |_| ()).is_empty());
        let undescribed = findings_after(PlanFindingKind::MtuMismatch, |site| {
            site.clients.count = 0;
            site.clients.mtu_bytes = 1500;
        });
        assert!(undescribed.is_empty(), "{undescribed:?}");
    }
}
