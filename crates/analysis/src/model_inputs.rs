//! What of a run the model of a described site can predict: GETs or PUTs of whole objects of one size, in a closed
//! loop.

use linerate_record::load::Workload;
use linerate_record::run::{MaybeKnown, Op};
use linerate_record::site::Site;

use crate::view::{Growth, Measure, Series};

/// A load that a site can be planned for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredictableLoad {
    pub op: Op,
    /// Size of the objects.
    pub object_bytes: u64,
    /// Clients, where they are not as many as the site has.
    pub clients: Option<u32>,
}

/// The load of a series; `None` of mixes, parts of objects and open loops, and where requests tell the story.
#[must_use]
pub fn of_series(series: &Series, site: &Site) -> Option<PredictableLoad> {
    let is_closed = series.points.iter().all(|point| point.open.is_none());
    let is_of_bytes = series.measure == Measure::Bytes && series.range_bytes.is_none();
    if !is_closed || !is_of_bytes {
        return None;
    }
    let clients = series.clients.filter(|_| has_clients_apart(site));
    Some(PredictableLoad { op: get_or_put(&series.workload)?, object_bytes: series.size.bytes()?, clients })
}

/// The load of a series over several numbers of clients, for each of them. Of clients on the storage nodes, which are
/// as many as these, nothing is predicted.
#[must_use]
pub fn over_clients(growth: &Growth, site: &Site) -> Option<impl Fn(u32) -> PredictableLoad + use<>> {
    if growth.measure != Measure::Bytes || !has_clients_apart(site) {
        return None;
    }
    let (op, object_bytes) = (get_or_put(&growth.workload)?, growth.size.bytes()?);
    Some(move |clients| PredictableLoad { op, object_bytes, clients: Some(clients) })
}

/// Whether a site describes clients, and those on machines of their own.
fn has_clients_apart(site: &Site) -> bool {
    site.clients.count > 0 && !site.has_clients_on_nodes()
}

/// GET or PUT, where a workload is one of them.
fn get_or_put(workload: &MaybeKnown<Workload>) -> Option<Op> {
    [Op::Get, Op::Put].into_iter().find(|op| workload.is_only(*op))
}

#[cfg(test)]
mod tests {
    use linerate_record::site::ClientsOn;

    use super::*;
    use crate::build::build;
    use crate::build::tests::records;
    use crate::growth::{GrowthOutcome, GrowthVerdict};
    use crate::view::{Latency, OpenLoop};

    /// Four nodes of one kind.
    fn site(clients: u32, on: ClientsOn) -> Site {
        let text = include_str!("../../../examples/namespaces-4.yaml");
        let mut site = linerate_site::read(text, "namespaces-4.yaml").unwrap();
        (site.clients.count, site.clients.on) = (clients, on);
        site
    }

    /// GETs of 1 MiB by two clients.
    fn series() -> Series {
        let mut series = build(&records(&[1, 4], |_| 50)).unwrap().series.remove(0);
        series.clients = Some(2);
        series
    }

    fn open() -> OpenLoop {
        OpenLoop {
            requested_per_s: 100.0,
            at_random: false,
            due: 100,
            backlog: 0,
            backlog_max: 0,
            outstanding_first: 0,
            outstanding_last: 0,
            bounds: Vec::new(),
            short_by_chance: 1.0,
            growth: crate::view::OutstandingGrowth::default(),
            intervals_with_backlog: 0,
            late: Latency::default(),
            ttfb_intended: Latency::default(),
            total_intended: Latency::default(),
        }
    }

    #[test]
    fn only_whole_objects_of_one_operation_in_a_closed_loop_are_predicted() {
        let load = |clients| Some(PredictableLoad { op: Op::Get, object_bytes: 1 << 20, clients });
        let apart = site(8, ClientsOn::Machines);
        assert_eq!(of_series(&series(), &apart), load(Some(2)));
        assert_eq!(of_series(&series(), &site(0, ClientsOn::Machines)), load(None), "clients that are not described");
        assert_eq!(of_series(&series(), &site(8, ClientsOn::Nodes)), load(None), "as many as the nodes");
        let but = |change: fn(&mut Series)| {
            let mut series = series();
            change(&mut series);
            of_series(&series, &apart)
        };
        assert_eq!(but(|series| series.workload = MaybeKnown::read("put")).map(|load| load.op), Some(Op::Put));
        for change in [
            (|series| series.workload = MaybeKnown::read("stat")) as fn(&mut Series),
            |series| series.workload = MaybeKnown::read("mixed get=50,put=50"),
            |series| series.size = MaybeKnown::read("lognormal:256KiB/1.5"),
            |series| series.measure = Measure::Requests,
            |series| series.range_bytes = Some(4096),
            |series| series.points[1].open = Some(open()),
        ] {
            assert_eq!(but(change), None);
        }
    }

    #[test]
    fn each_number_of_clients_is_predicted_where_they_are_on_machines_of_their_own() {
        let Series { workload, size, measure, .. } = series();
        let verdict = GrowthVerdict {
            outcome: GrowthOutcome::Ended,
            ended_at: 2,
            lowest: 1,
            highest: 4,
            rises_again: None,
            largest_of_end: None,
            points: Vec::new(),
        };
        let growth = Growth { workload, size, measure, verdict, planned: None };
        let load_with = over_clients(&growth, &site(8, ClientsOn::Machines)).unwrap();
        assert_eq!(load_with(3), PredictableLoad { op: Op::Get, object_bytes: 1 << 20, clients: Some(3) });
        assert!(over_clients(&growth, &site(0, ClientsOn::Machines)).is_none());
        assert!(over_clients(&growth, &site(8, ClientsOn::Nodes)).is_none());
        let of_requests = Growth { measure: Measure::Requests, ..growth };
        assert!(over_clients(&of_requests, &site(8, ClientsOn::Machines)).is_none());
    }
}
