//! Limits of the machines that load the cluster, where a fleet names them: their links and their processors, and loads
//! that are paced, which are as steady as a link that is full.

use std::collections::BTreeSet;

use linerate_record::diagnosis::{Cause, SocketPath, SocketUse, Suspect};
use linerate_record::readings::ReadMeasure;
use linerate_record::site::{Site, key};
use linerate_record::units::{bits_per_s, percent};

use super::outlier_rows::spread;
use super::readings_grid::{Grid, Values, quantile};
use super::resources::{FULL, NodeUse};
use super::suspects::ScoredCause;

/// From such a share on, a link or processors of a client are full, as requests in flight over many nodes fill them.
const NEAR: f64 = 0.85;

/// A client's link varies by so much less than the sum of nodes that vary by themselves, where it is at a limit.
const STEADY: f64 = 0.3;

/// A link that carries less than this share of its speed is at no limit of its own.
const IDLE: f64 = 0.05;

/// From such a share of the time on in which those who send on a path have something to send, the path is what is
/// waited for; a load that asks for less than the path can carry leaves them at rest.
const SENT: f64 = 0.35;

/// Where sockets were not read, a link of which less is used is not taken for the limit, however steady.
const LITTLE: f64 = 0.5;

/// A link that uses less of its speed as a mean has room, and drops nothing for being full but at moments.
const ROOMY: f64 = 0.5;

/// What shows that one client is at a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Shown {
    /// How much of it is used.
    Use,
    /// That it is steady, while there is nothing more to send.
    Pace,
    /// That it is steady.
    Steadiness,
}

/// What one client is at.
struct ClientUse {
    what: String,
    share: f64,
    by: Shown,
}

/// The suspect that clients are, where most of them are at a limit. `uses` is what nodes use, whose links vary as the
/// load does.
pub(super) fn suspect(
    grid: &Grid<'_>,
    site: &Site,
    uses: &[NodeUse],
    sockets: &[SocketUse],
    nodes: &Grid<'_>,
) -> Option<ScoredCause> {
    let of_nodes = uses.iter().filter(|one| one.resource.is_link()).filter_map(|one| spread(nodes, &one.shares));
    let mut of_nodes: Vec<f64> = of_nodes.collect();
    // What holds the others is steadier than they are; and the sum of many varies less than each of them.
    let sum = (nodes.nodes.len().max(1) as f64).sqrt();
    let vary = quantile(&mut of_nodes, 0.5).map(|middle| (middle / sum, of_nodes.first().copied().unwrap_or(0.0)));
    let each: Vec<(usize, ClientUse)> = (0..grid.nodes.len())
        .filter_map(|client| Some((client, fullest(grid, site, client, vary, sockets)?)))
        .collect();
    let at_limit: Vec<&(usize, ClientUse)> =
        each.iter().filter(|(_, one)| one.by != Shown::Use || one.share >= NEAR).collect();
    if at_limit.is_empty() || 2 * at_limit.len() < grid.nodes.len() {
        return None;
    }
    // Where most of them are paced, so is the load.
    let paced: Vec<&(usize, ClientUse)> = at_limit.iter().filter(|(_, one)| one.by == Shown::Pace).copied().collect();
    let is_paced = 2 * paced.len() > at_limit.len();
    let named_uses = if is_paced { &paced } else { &at_limit };
    let (client, most) = named_uses.iter().max_by(|a, b| a.1.share.total_cmp(&b.1.share))?;
    let (name, count, all) = (&grid.nodes[*client].name, named_uses.len(), grid.nodes.len());
    let claim = if is_paced {
        format!(
            "the load is paced or limited to a rate (such as bench --rate): {count} of {all} clients ask for so much \
             and no more; {name} {}",
            most.what
        )
    } else {
        format!("{count} of {all} clients are at a limit of their own: at {name}, {}", most.what)
    };
    let evidence = named_uses.iter().take(8).map(|(client, one)| format!("{}: {}", grid.nodes[*client].name, one.what));
    let log_odds = if most.by == Shown::Use { 9.5 - 10.0 * (1.0 - most.share.min(1.0)) } else { 7.0 };
    let cause = if is_paced { Cause::PacedLoad } else { Cause::ClientLimit };
    let scored = ScoredCause::new(cause, None, "clients", claim, log_odds);
    Some(ScoredCause { suspect: Suspect { evidence: evidence.collect(), ..scored.suspect }, ..scored })
}

/// What a client has most of its limit in use. `vary` is how much links of nodes vary: the middle one, and the least.
fn fullest(
    grid: &Grid<'_>,
    site: &Site,
    client: usize,
    vary: Option<(f64, f64)>,
    sockets: &[SocketUse],
) -> Option<ClientUse> {
    let ways = [ReadMeasure::LinkReceived, ReadMeasure::LinkSent];
    let links = ways.into_iter().filter_map(|of| link(grid, site, client, of, vary, sockets));
    let links: Vec<ClientUse> = links.collect();
    // Processors of one that carries nothing are busy with something else.
    let carries = links.iter().any(|link| link.share > IDLE);
    links
        .into_iter()
        .chain(processors(grid, client).filter(|_| carries))
        .max_by(|a, b| a.by.cmp(&b.by).then(a.share.total_cmp(&b.share)))
}

/// Clients whose links were read and have room both ways: what is lost there is not lost because these are full as a
/// mean. Of a speed that is neither read nor stated, nobody knows what room it leaves.
pub(super) fn roomy(grid: &Grid<'_>, site: &Site) -> BTreeSet<String> {
    let is_stated = !site.is_assumed(key::CLIENTS_SPEED);
    let has_room = |client: usize, of: ReadMeasure| {
        let (name, values, capacity) = busiest(grid, site, client, of)?;
        let speed = grid.part(ReadMeasure::LinkSpeed, client, name).and_then(|values| grid.median(values));
        let is_known = is_stated || speed.is_some_and(|speed| speed > 0.0);
        Some(is_known && grid.median(values)? < ROOMY * capacity)
    };
    let ways = [ReadMeasure::LinkReceived, ReadMeasure::LinkSent];
    let is_it = |client: &usize| ways.into_iter().all(|of| has_room(*client, of) == Some(true));
    (0..grid.nodes.len()).filter(is_it).map(|client| grid.nodes[client].name.clone()).collect()
}

/// The interface of a client that carries most in a direction, and what it can carry.
fn busiest<'r>(grid: &Grid<'r>, site: &Site, client: usize, of: ReadMeasure) -> Option<(&'r str, &'r Values, f64)> {
    let bytes = |values: &Values| grid.median(values).unwrap_or(0.0);
    let (name, values) = grid.parts(of, client).iter().max_by(|a, b| bytes(a.1).total_cmp(&bytes(b.1)))?;
    let stated = f64::from(site.clients.ports.max(1)) * site.clients.speed_bits_per_s / 8.0;
    let read = grid.part(ReadMeasure::LinkSpeed, client, name).and_then(|values| grid.median(values));
    let known = [read, Some(stated)].into_iter().flatten().filter(|speed| *speed > 0.0);
    Some((*name, *values, known.fold(f64::INFINITY, f64::min)))
}

/// The interface that carries most, in a direction.
fn link(
    grid: &Grid<'_>,
    site: &Site,
    client: usize,
    of: ReadMeasure,
    vary: Option<(f64, f64)>,
    sockets: &[SocketUse],
) -> Option<ClientUse> {
    let (name, values, capacity) = busiest(grid, site, client, of)?;
    let rate = grid.median(values).unwrap_or(0.0);
    let share = rate / capacity;
    let shares: Vec<Option<f64>> = values.iter().map(|value| value.map(|value| value / rate.max(1.0))).collect();
    let own = spread(grid, &shares);
    let is_below = share < FULL && share > IDLE;
    let is_steady =
        is_below && own.zip(vary).is_some_and(|(own, (middle, least))| own <= STEADY * middle && own <= least);
    if !share.is_finite() {
        return None;
    }
    let (path, verb) = if of == ReadMeasure::LinkReceived {
        (SocketPath::ToClients, "receives")
    } else {
        (SocketPath::FromClients, "sends")
    };
    let sends = sockets.iter().find(|one| one.path == path);
    let is_sent = sends.map_or(share >= LITTLE, |one| one.busy_share >= SENT);
    let (by, what) = match (is_steady, is_sent) {
        (false, _) => (
            Shown::Use,
            format!("the link {name} {verb} {}, {} of what it can", bits_per_s(8.0 * rate), percent(share)),
        ),
        (true, true) => {
            let capacity_in_words = bits_per_s(8.0 * capacity);
            (
                Shown::Steadiness,
                format!("the link {name} {verb} {} steadily, of {capacity_in_words}", bits_per_s(8.0 * rate)),
            )
        }
        (true, false) => {
            let at_rest = match sends {
                Some(one) => format!("who sends it has nothing to send for {}", percent(1.0 - one.busy_share)),
                None => "sockets, which were not read, tell that from a shaper on the way".to_owned(),
            };
            let rate = bits_per_s(8.0 * rate);
            (Shown::Pace, format!("{verb} {rate} steadily, {} of what it can, and {at_rest}", percent(share)))
        }
    };
    Some(ClientUse { what, share, by })
}

fn processors(grid: &Grid<'_>, client: usize) -> Option<ClientUse> {
    let median = |of: ReadMeasure| grid.whole(of, client).and_then(|values| grid.median(values));
    let share = median(ReadMeasure::CoresBusy)? / median(ReadMeasure::Cores).filter(|cores| *cores > 0.0)?;
    Some(ClientUse { what: format!("processors are busy for {}", percent(share)), share, by: Shown::Use })
}
