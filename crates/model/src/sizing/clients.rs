//! Clients are not sized, but they may be too few for what is needed: then the answer says so.

use linerate_record::plan::ScalePoint;
use linerate_record::site::Site;
use linerate_record::units::bytes_per_s_iec;

use super::{Need, Part, at, missed};

/// No more clients are tried.
const MOST_CLIENTS: u32 = 1 << 16;

/// What the clients of a site leave of what so many nodes give, and how many would do; nothing where they are enough,
/// or none are described.
pub(super) fn too_few(site: &Site, need: &Need, nodes: u32, object_bytes: u64) -> Option<String> {
    if site.clients.count == 0 || site.has_clients_on_nodes() {
        return None;
    }
    let with = |clients: u32| at(&of_clients(site, clients), nodes, object_bytes);
    let given = with(site.clients.count)?;
    let lacks = missed(need, &given);
    let shown =
        |place: usize, verb: &str, part: Part| lacks.contains(&part).then(|| format!("{verb} {}", rate(&given, place)));
    let rates: Vec<String> = [shown(0, "GET", Part::Get), shown(1, "PUT", Part::Put)].into_iter().flatten().collect();
    if rates.is_empty() {
        return None;
    }
    let is_enough = |clients: u32| with(clients).is_some_and(|point| missed(need, &point).is_empty());
    let takes = match least(site.clients.count, is_enough) {
        Some(clients) => {
            let racks = of_clients(site, clients).clients.racks;
            let of_racks = if racks > site.clients.racks { format!(" in {racks} racks") } else { String::new() };
            format!("it takes {clients} clients{of_racks}")
        }
        None => format!("{MOST_CLIENTS} clients are not enough"),
    };
    let (clients, plural) = (site.clients.count, if site.clients.count == 1 { "" } else { "s" });
    Some(format!(
        "clients are not counted: with the site's {clients} client{plural}, {nodes} nodes give {}; {takes}",
        rates.join(" and ")
    ))
}

fn rate(point: &ScalePoint, place: usize) -> String {
    bytes_per_s_iec(point.limits_bytes_per_s.get(place).copied().unwrap_or(0.0))
}

/// A site with another number of clients, in racks as full as they are.
#[must_use]
pub fn of_clients(site: &Site, clients: u32) -> Site {
    let mut other = site.clone();
    let (count, racks) = (u64::from(site.clients.count.max(1)), u64::from(site.clients.racks));
    other.clients.count = clients;
    other.clients.racks = u32::try_from((u64::from(clients) * racks).div_ceil(count)).unwrap_or(u32::MAX);
    other
}

/// The least number above one that is too small; nothing where the most is not enough.
fn least(too_few: u32, is_enough: impl Fn(u32) -> bool) -> Option<u32> {
    if too_few >= MOST_CLIENTS || !is_enough(MOST_CLIENTS) {
        return None;
    }
    let (mut below, mut enough) = (too_few, MOST_CLIENTS);
    while enough - below > 1 {
        let middle = below.midpoint(enough);
        *if is_enough(middle) { &mut enough } else { &mut below } = middle;
    }
    Some(enough)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizing::sizing;
    use crate::test_site::site;

    #[test]
    fn clients_that_are_too_few_are_told_with_how_many_it_takes() {
        let (site, need): (Site, Need) = (site(), "get=1TiB/s".parse().unwrap());
        let sized = sizing(&site, &need, linerate_record::site::Tolerates::default(), 4 << 20).unwrap();
        let nodes = sized.nodes.unwrap();
        let given = at(&site, nodes, 4 << 20).unwrap().limits_bytes_per_s[0];
        let said = format!("with the site's 32 clients, {nodes} nodes give GET {}; it takes ", bytes_per_s_iec(given));
        assert!(given < need.get_bytes_per_s.unwrap() && sized.why.contains(&said), "{sized:?}");
        // A client of 100 Gb/s carries less than that of payload.
        let clients: u32 =
            sized.why.split("it takes ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok()).unwrap();
        let line = 100e9 / 8.0 * f64::from(clients);
        assert!(line > 1024_f64.powi(4) && line < 1.05 * 1024_f64.powi(4), "{sized:?}");
        let with = |count: u32| at(&of_clients(&site, count), nodes, 4 << 20).unwrap();
        assert!(missed(&need, &with(clients)).is_empty() && !missed(&need, &with(clients - 1)).is_empty());
    }

    #[test]
    fn clients_that_are_enough_or_not_described_are_not_told_of() {
        let mut without = site();
        without.clients.count = 0;
        for (site, need) in [(site(), "get=100GB/s"), (site(), "usable=30PB"), (without, "get=1TiB/s")] {
            assert_eq!(too_few(&site, &need.parse().unwrap(), 400, 4 << 20), None, "{need}");
        }
    }
}
