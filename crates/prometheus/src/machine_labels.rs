//! Which label of a series names its machine.

use std::net::IpAddr;

use linerate_record::readings::is_drawn_id;

/// The first of some labels that names a machine: an engine of one node calls itself by a loopback address, which each
/// machine has. What is scraped at such an instance is called by it as its other exporters are. An id that an engine
/// drew gives way to a name, but not to the instance, which is then that of a collector.
pub(crate) fn naming_label<'l>(wanted: &[&str], value: impl Fn(&str) -> Option<&'l str>) -> Option<&'l str> {
    let names_one = |label: &&str| value(label).filter(|text| *label == "instance" || !is_loopback(text));
    let found = wanted.iter().find_map(names_one).or_else(|| wanted.iter().find_map(|label| value(label)));
    let is_name = |text: &&str| !is_loopback(text) && !is_drawn_id(text);
    let others = || wanted.iter().filter(|label| **label != "instance").find_map(|label| value(label).filter(is_name));
    found.filter(|text| is_drawn_id(text)).and_then(|_| others()).or(found)
}

/// Whether an address is of whichever machine it is looked up on.
fn is_loopback(instance: &str) -> bool {
    let host = host_without_port(instance);
    let by_address = |address: IpAddr| address.is_loopback() || address.is_unspecified();
    host.parse().map_or_else(|_| host.eq_ignore_ascii_case("localhost"), by_address)
}

/// A host without its port and scheme: exporters of one machine listen at several.
pub(crate) fn host_without_port(instance: &str) -> &str {
    let bare = instance.split_once("://").map_or(instance, |(_, rest)| rest);
    let bare = bare.split('/').next().unwrap_or(bare);
    if let Some(inner) = bare.strip_prefix('[') {
        return inner.split(']').next().unwrap_or(inner);
    }
    match bare.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') && port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => bare,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_its_host() {
        for (instance, host) in [
            ("10.0.0.1:9100", "10.0.0.1"),
            ("http://node1:9000/minio", "node1"),
            ("[fd00::1]:9100", "fd00::1"),
            ("fd00::1", "fd00::1"),
            ("node1", "node1"),
            ("node1:metrics", "node1:metrics"),
        ] {
            assert_eq!(host_without_port(instance), host, "{instance}");
        }
    }

    #[test]
    fn an_id_that_an_engine_drew_gives_way_to_a_name_and_not_to_a_collector() {
        const ID: &str = "5e1c2a9e-6f0b-4f7e-9d55-0a1b2c3d4e5f";
        let wanted = ["service_instance_id", "exported_instance", "instance"];
        for (values, expected) in [
            ([Some("n1"), Some("n2"), Some("collector:8889")], Some("n1")),
            ([Some(ID), Some("n1:9000"), Some("collector:8889")], Some("n1:9000")),
            ([Some(ID), Some(ID), Some("collector:8889")], Some(ID)),
            ([Some(ID), Some("127.0.0.1:9000"), Some("collector:8889")], Some(ID)),
            ([Some(ID), None, None], Some(ID)),
            ([None, None, Some(ID)], Some(ID)),
            ([None, Some("localhost"), Some("n1:9000")], Some("n1:9000")),
            ([None; 3], None),
        ] {
            let value = |label: &str| wanted.iter().position(|one| *one == label).and_then(|place| values[place]);
            assert_eq!(naming_label(&wanted, value), expected, "{values:?}");
        }
    }
}
