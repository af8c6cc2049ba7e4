//! Where nodes are: the keys rack, host, network and service.

use core::net::SocketAddr;

use linerate_record::net::NetSpace;
use linerate_site::error::Mistake;
use linerate_site::quoted;
use linerate_site::yaml::YamlEntry;

use super::{ranges, scalar};

/// The rack or the host of each name: one for all of them, or as many as there are names. Without end where none is
/// stated.
pub(super) fn labels(
    entries: &[YamlEntry],
    key: &str,
    names: Option<&[String]>,
    mistakes: &mut Vec<Mistake>,
) -> impl Iterator<Item = Option<String>> + use<> {
    let written = scalar(entries, key, mistakes);
    let mut read = written.and_then(|(text, place)| super::names(text, key, place, mistakes)).unwrap_or_default();
    let wrong = written.zip(names).filter(|(_, names)| read.len() > 1 && read.len() != names.len());
    if let Some(((_, place), names)) = wrong {
        let what = format!("{} {key}s for {} named", read.len(), names.len());
        let fix = format!("write one {key}, or a range of as many numbers as that of name");
        mistakes.push(Mistake::new(place, what, fix));
    }
    let for_all = if read.len() == 1 { read.pop() } else { None };
    read.into_iter().map(Some).chain(std::iter::repeat(for_all))
}

/// In whose network nodes are, where that is stated.
pub(super) fn network(entries: &[YamlEntry], mistakes: &mut Vec<Mistake>) -> Option<NetSpace> {
    let (text, place) = scalar(entries, "network", mistakes)?;
    let space = NetSpace::parse(text);
    if space.is_none() {
        mistakes.push(Mistake::new(place, format!("unknown network {}", quoted(text)), "write host or pod"));
    }
    space
}

/// The Service of each name: as many as there are names, since each leads to one. Without end where none is stated.
pub(super) fn services(
    entries: &[YamlEntry],
    names: Option<&[String]>,
    mistakes: &mut Vec<Mistake>,
) -> impl Iterator<Item = Option<SocketAddr>> + use<> {
    let written = scalar(entries, "service", mistakes);
    let texts = written.and_then(|(text, place)| ranges(text, "service", place, mistakes)).unwrap_or_default();
    let mut read: Vec<SocketAddr> = Vec::new();
    let place = written.map(|(_, place)| place);
    for text in &texts {
        match text.parse::<SocketAddr>() {
            Ok(address) if address.port() > 0 && !address.ip().is_unspecified() => read.push(address),
            _ => {
                let what = format!("invalid service {}", quoted(text));
                let fix = "write address and port of the Service, such as 10.96.0.7:5301 or '[fd00::7]:5301'";
                mistakes.extend(place.map(|place| Mistake::new(place, what, fix)));
                break;
            }
        }
    }
    let is_whole = read.len() == texts.len() && !read.is_empty();
    if let Some((place, names)) = place.zip(names).filter(|(_, names)| is_whole && read.len() != names.len()) {
        let what = format!("{} services for {} named", read.len(), names.len());
        let fix = "write one for each name: a Service in front of several agents leads to any of them";
        mistakes.push(Mistake::new(place, what, fix));
    }
    read.into_iter().map(Some).chain(std::iter::repeat(None))
}

#[cfg(test)]
mod tests {
    use crate::description::read;
    use crate::description::tests::refused;

    #[test]
    fn where_agents_are_is_stated_for_a_row_or_for_each_of_its_names() {
        let text = "\
nodes:
  - {name: 'p{1...2}', role: client, host: 'n{1...2}', network: pod, service: '10.96.0.{7...8}:5301'}
  - {name: 'h{1...2}', role: client, host: n3, network: host}
  - {name: c, role: client, service: '[fd00::1]:9'}
";
        let nodes = read(text, "f.yaml").unwrap();
        let said: Vec<String> = nodes
            .iter()
            .map(|of| format!("{:?} {:?} {:?}", of.host.as_deref(), of.network, of.service.map(|at| at.to_string())))
            .collect();
        let expected = [
            "Some(\"n1\") Some(Pod) Some(\"10.96.0.7:5301\")",
            "Some(\"n2\") Some(Pod) Some(\"10.96.0.8:5301\")",
            "Some(\"n3\") Some(Host) None",
            "Some(\"n3\") Some(Host) None",
            "None None Some(\"[fd00::1]:9\")",
        ];
        assert_eq!(said, expected);
        let text = "\
nodes:
  - {name: 'a{1...2}', role: client, host: 'n{1...3}', network: pods}
  - {name: 'b{1...2}', role: client, service: '10.96.0.7:5301'}
  - {name: c, role: client, service: 'linerate.svc:5301'}
  - {name: d, role: client, service: '0.0.0.0:1'}
  - {name: e, role: client, service: [1]}
";
        let parts = [
            "3 hosts for 2 named",
            "unknown network \"pods\"",
            "1 services for 2 named",
            "invalid service \"linerate.svc:5301\"",
            "invalid service \"0.0.0.0:1\"",
            "service without a value",
        ];
        refused(text, &parts, 6);
    }
}
