//! Clients are fewer or slower than stated, or run on the storage nodes. Clients that the site does not describe never
//! are the limit.

use linerate_record::explanation::Observations;
use linerate_record::site::{CLIENT_BYTES_PER_S, ClientsOn, Entry, Site, key};
use linerate_record::units::bits_per_s;

use super::speed::lower;
use crate::explain::deviation::{SiteParts, Variant, prior_cost};
use crate::explain::readings::ReadingId;

pub(super) fn variants(site: &Site, _: &Observations) -> Vec<Variant> {
    let clients = &site.clients;
    let mut found: Vec<Variant> = (!site.has_clients_on_nodes()).then(|| on_nodes(site)).into_iter().collect();
    if clients.count == 0 {
        return found;
    }
    let mut active = [clients.count * 3 / 4, clients.count / 2, clients.count / 4, 1].to_vec();
    active.dedup();
    for count in active.into_iter().filter(|&count| count > 0 && count < clients.count) {
        let claim = format!("{count} of {} clients carry the load", clients.count);
        let cost = prior_cost(site, 3.5, &[key::CLIENTS_COUNT]);
        found.push(new_variant("clients-active", count.to_string(), claim, cost, move |site| {
            site.clients.count = count
        }));
    }
    for ports in 1..clients.ports {
        let claim = format!("{ports} of {} ports of each client carry the load", clients.ports);
        let cost = prior_cost(site, 3.0, &[key::CLIENTS_PORTS, key::CLIENTS_BOND]);
        found
            .push(new_variant("clients-ports", ports.to_string(), claim, cost, move |site| site.clients.ports = ports));
    }
    for speed in lower(clients.speed_bits_per_s) {
        let claim = format!("clients' ports run at {}", bits_per_s(speed));
        let value = bits_per_s(speed);
        let stated = vec![(key::CLIENTS_SPEED.to_owned(), bits_per_s(clients.speed_bits_per_s))];
        let variant =
            new_variant("clients-speed", value, claim, 4.0, move |site| site.clients.speed_bits_per_s = speed);
        found.push(variant.instead_of(site, stated));
    }
    found
}

/// Each storage node is a client of itself alone, so that links between nodes have shards and nothing else.
fn on_nodes(site: &Site) -> Variant {
    let stated = (site.clients.count > 0 && !site.is_assumed(key::CLIENTS_COUNT))
        .then(|| format!("{}: {}", key::CLIENTS_COUNT, site.clients.count));
    let claim = "clients run on the storage nodes, and each asks its own";
    let values =
        [(key::CLIENTS_ON, "nodes"), ("entry", "local")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    Variant::new("clients-on", "nodes", claim, 4.5, SiteParts::CLIENTS.and(SiteParts::ENTRY), |site| {
        (site.clients.on, site.entry) = (ClientsOn::Nodes, Entry::Local);
        site.clients.count = 0;
        site.clients.per_core_bytes_per_s = Some(CLIENT_BYTES_PER_S);
    })
    .against(stated)
    .shown_by(ReadingId::PlaneBytes)
    .corrected(&values)
}

fn new_variant(
    id: &'static str,
    value: String,
    claim: String,
    cost: f64,
    change: impl Fn(&mut Site) + 'static,
) -> Variant {
    Variant::new(id, value, claim, cost, SiteParts::CLIENTS, change).shown_by(ReadingId::ClientBytes).cured_by(
        "let every client carry an even share over all of its ports, or add clients",
        "more clients increase the load on the cluster: other users are affected",
    )
}
