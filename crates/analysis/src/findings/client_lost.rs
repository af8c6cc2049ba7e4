//! Clients whose figures did not arrive, or not as they were made.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::fleet::UnreachedNode;

use crate::view::View;

/// A client was lost so long after the run began, in the point that it drove, if it drove one; `view` is of that point,
/// where it has one.
#[must_use]
pub fn client_lost(name: &str, at_ms: u64, point: Option<u32>, why: &UnreachedNode, view: Option<&View>) -> Finding {
    let of_point = point.map_or("", |point| whose_figures(name, point, view));
    Finding {
        kind: FindingKind::ClientLost,
        severity: Severity::Critical,
        confidence: Confidence::Certain,
        points: point.into_iter().collect(),
        claim: format!("client {name} was lost"),
        evidence: format!("{:.1} s after the run began: {}", at_ms as f64 / 1e3, why.why),
        remedy: format!("{of_point}later points, if any, exclude it; {}", why.remedy),
    }
}

/// Of whom the figures of a point are in which a client was lost, to go on with.
fn whose_figures(name: &str, point: u32, view: Option<&View>) -> &'static str {
    let measured = view.into_iter().flat_map(|view| view.series.iter().flat_map(|series| &series.points));
    let ceilings = view.into_iter().flat_map(|view| &view.ceilings);
    let driven = ceilings.flat_map(|ceiling| std::iter::once(&ceiling.point).chain(&ceiling.plain));
    match measured.chain(driven).find(|one| one.point == point) {
        None => "that point has no figures, ",
        Some(found) if found.clients.is_empty() || found.clients.iter().any(|row| row.client == name) => {
            "figures of that point cover the time in which its intervals arrived, and "
        }
        Some(_) => "figures of that point are of the other clients alone, and ",
    }
}

/// The linerate that led the clients stood still for so long, and lost so many of them, in these points.
#[must_use]
pub fn stood_still(stood_ms: u64, at_ms: u64, clients: usize, points: &[u32]) -> Finding {
    Finding {
        kind: FindingKind::Stopped,
        severity: Severity::Critical,
        confidence: Confidence::Certain,
        points: points.to_vec(),
        claim: format!("the coordinator itself stood still for {:.1} s", stood_ms as f64 / 1e3),
        evidence: format!(
            "{} ended meanwhile, since nobody renewed {}; noticed {:.1} s after the run began",
            if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") },
            if clients == 1 { "its lease" } else { "their leases" },
            at_ms as f64 / 1e3
        ),
        remedy: "find out what stopped linerate on this machine (a signal, a frozen cgroup, a suspended machine, too \
                 few processors), and repeat the run"
            .to_owned(),
    }
}

/// Intervals of a client were put together in a point.
#[must_use]
pub fn intervals_merged(name: &str, merged: u64, point: u32) -> Finding {
    Finding {
        kind: FindingKind::IntervalsMerged,
        severity: Severity::Note,
        confidence: Confidence::Certain,
        points: vec![point],
        claim: format!("client {name}: intervals were merged because its stream was slow"),
        evidence: format!("{merged} intervals were added to the one before; no request is lost"),
        remedy: "check the network on the way to it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;
    use crate::build::tests::records;
    use crate::view::ClientFigures;

    #[test]
    fn whose_figures_a_point_has_is_told_as_the_view_has_it() {
        let why = UnreachedNode { why: "no answer".to_owned(), remedy: "look at it".to_owned() };
        let idle = client_lost("c", 1_500, None, &why, None);
        assert!(idle.points.is_empty() && idle.remedy == "later points, if any, exclude it; look at it", "{idle:?}");
        let mut view = build(&records(&[4], |_| 5)).unwrap();
        let number = view.series[0].points[0].point;
        let remedy = |view: Option<&View>| client_lost("c", 1_500, Some(number), &why, view).remedy;
        assert!(remedy(None).starts_with("that point has no figures, later points"), "{}", remedy(None));
        let arrived = "figures of that point cover the time in which its intervals arrived, and later points";
        assert!(remedy(Some(&view)).starts_with(arrived), "{}", remedy(Some(&view)));
        for (client, reported) in
            [("c", arrived), ("d", "figures of that point are of the other clients alone, and later")]
        {
            view.series[0].points[0].clients = vec![ClientFigures { client: client.to_owned(), ..figures() }];
            assert!(remedy(Some(&view)).starts_with(reported), "{client}: {}", remedy(Some(&view)));
        }
    }

    fn figures() -> ClientFigures {
        ClientFigures {
            client: String::new(),
            requests: 0,
            errors: 0,
            requests_per_s: 0.0,
            bytes_per_s: 0.0,
            share: 0.0,
            half_width_share: None,
            ttfb_p50_ns: 0,
            total_p50_ns: 0,
            total_p99_ns: 0,
            ttfb_at_least_ns: None,
            total_at_least_ns: None,
            busy: None,
            machine_busy: None,
            nic: None,
            retransmits_per_s: None,
            ceiling_share: None,
            below_peers: None,
            full: None,
        }
    }

    #[test]
    fn a_coordinator_that_stood_still_names_no_client() {
        let one = stood_still(3_200, 9_000, 1, &[4]);
        assert!(one.claim.contains("stood still for 3.2 s") && one.evidence.starts_with("1 client ended"), "{one:?}");
        assert!(stood_still(3_200, 9_000, 2, &[]).evidence.starts_with("2 clients ended"));
    }
}
