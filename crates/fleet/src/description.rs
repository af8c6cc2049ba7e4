//! `fleet.yaml`: nodes with their roles and how each is reached, all mistakes told at once.

mod location;

use core::net::SocketAddr;
use std::str::FromStr;

use linerate_record::fleet::NodeRole;
use linerate_record::net::NetSpace;
use linerate_record::ranges::{RangeError, expanded};
use linerate_site::error::{Mistake, SiteError};
use linerate_site::source_position::SourcePosition;
use linerate_site::yaml::{self, Content, YamlEntry, YamlNode};
use linerate_site::{nearest, quoted};

use crate::node_reach::{NodeReach, PodChoice, PodLocation};
use crate::ssh_options::SshOptionError;
use location::{labels, network, services};

/// Most nodes of a fleet.
pub const NODES_MAX: usize = 1024;

/// Most ranges in one name or reach: each takes a turn of its own.
const RANGES_MAX: usize = 8;

/// A machine of a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetNode {
    /// Unique.
    pub name: String,
    /// What it is for.
    pub role: NodeRole,
    /// How its agent is started.
    pub reach: NodeReach,
    /// The kind of nodes of a site that it is one of.
    pub site_node: Option<String>,
    /// The rack that it is in.
    pub rack: Option<String>,
    /// The host that it is on, where that is another machine's name: of a pod the node of the cluster.
    pub host: Option<String>,
    /// In whose network it is.
    pub network: Option<NetSpace>,
    /// Address and port of a Service in front of its agent.
    pub service: Option<SocketAddr>,
}

const KEYS: [&str; 10] = ["name", "role", "reach", "site", "rack", "host", "network", "service", "become", "cache"];

/// Reads what a person wrote. `file_name` is what messages call the file.
///
/// # Errors
/// [`SiteError`] with every mistake that was found, its line and what to write instead.
pub fn read(text: &str, file_name: &str) -> Result<Vec<FleetNode>, SiteError> {
    let mut mistakes = Vec::new();
    let nodes = match yaml::parse(text, "fleet") {
        Ok(root) => nodes(&root, &mut mistakes),
        Err(mistake) => {
            mistakes.push(mistake);
            Vec::new()
        }
    };
    if mistakes.is_empty() { Ok(nodes) } else { Err(SiteError::new(file_name, text, mistakes)) }
}

fn nodes(root: &YamlNode, mistakes: &mut Vec<Mistake>) -> Vec<FleetNode> {
    let mut wrong = |place: SourcePosition, what: &str, advice: &str| mistakes.push(Mistake::new(place, what, advice));
    let example = "write nodes: and a list of {name: node{1...4}, role: storage}";
    let Content::Mapping(entries) = &root.content else {
        wrong(root.place, "no fleet", example);
        return Vec::new();
    };
    for entry in entries.iter().filter(|entry| entry.key != "nodes") {
        wrong(entry.place, &format!("unknown key {} of a fleet", quoted(&entry.key)), "there is one key: nodes");
    }
    let Some(nodes) = entries.iter().find(|entry| entry.key == "nodes") else {
        wrong(root.place, "a fleet without \"nodes\"", example);
        return Vec::new();
    };
    let items = match &nodes.node.content {
        Content::List(items) if !items.is_empty() => items,
        _ => {
            wrong(nodes.node.place, "nodes that are not a list", example);
            return Vec::new();
        }
    };
    let mut all = Vec::<FleetNode>::new();
    for item in items {
        let Content::Mapping(entries) = &item.content else {
            mistakes.push(Mistake::new(
                item.place,
                "a node that is not a mapping",
                "write {name: node1, role: storage}",
            ));
            continue;
        };
        let (place, read) = (item.place, entry_nodes(entries, item.place, mistakes));
        for node in read {
            if all.iter().any(|other| other.name == node.name) {
                let what = format!("a second node {}", quoted(&node.name));
                mistakes.push(Mistake::new(place, what, "give each node a unique name"));
                break;
            }
            if all.len() == NODES_MAX {
                let what = format!("more than {NODES_MAX} nodes");
                mistakes.push(Mistake::new(place, what, "describe them in several files"));
                return all;
            }
            all.push(node);
        }
    }
    all
}

/// The nodes of one entry.
fn entry_nodes(entries: &[YamlEntry], place: SourcePosition, mistakes: &mut Vec<Mistake>) -> Vec<FleetNode> {
    for entry in entries.iter().filter(|entry| !KEYS.contains(&entry.key.as_str())) {
        let meant = nearest(&entry.key.to_lowercase(), KEYS.into_iter());
        let meant = meant.map_or_else(String::new, |key| format!("did you mean {key:?}? "));
        let advice = format!("{meant}Keys: {}", KEYS.join(", "));
        mistakes.push(Mistake::new(entry.place, format!("unknown key {} of a node", quoted(&entry.key)), advice));
    }
    let name = required(entries, "name", place, "add \"name: node1\", or a range: node{1...4}", mistakes);
    let role = required(entries, "role", place, "add \"role: storage\" or \"role: client\"", mistakes);
    let names = name.and_then(|(text, place)| names(text, "name", place, mistakes));
    let role = role.and_then(|(text, place)| {
        let role = NodeRole::ALL.into_iter().find(|role| role.name() == text);
        if role.is_none() {
            let what = format!("unknown role {}", quoted(text));
            mistakes.push(Mistake::new(place, what, "write storage or client"));
        }
        role
    });
    let site_node = scalar(entries, "site", mistakes).map(|(text, _)| text.to_owned());
    let racks = labels(entries, "rack", names.as_deref(), mistakes);
    let hosts = labels(entries, "host", names.as_deref(), mistakes);
    let network = network(entries, mistakes);
    let services = services(entries, names.as_deref(), mistakes);
    let reach = scalar(entries, "reach", mistakes);
    // Each is looked at, whatever is wrong with the others.
    let one = ["node".to_owned()];
    let reaches = match (reach, &names) {
        (Some((text, place)), names) => reaches(text, place, names.as_deref().unwrap_or(&one), mistakes),
        (None, Some(names)) => names.iter().map(|name| format!("ssh://{name}").parse().ok()).collect(),
        (None, None) => None,
    };
    let become_by = ssh_option(entries, "become", mistakes);
    let cache = ssh_option(entries, "cache", mistakes);
    let (Some(names), Some(role), Some(mut reaches)) = (names, role, reaches) else { return Vec::new() };
    for reach in &mut reaches {
        match (reach, &become_by, &cache) {
            (NodeReach::Ssh(place), become_by, cache) => {
                (place.become_by, place.cache) = (become_by.clone(), cache.clone());
            }
            (_, None, None) => {}
            _ => {
                let fix = "write them with reach: ssh://HOST, or what they say into the command of exec:COMMAND";
                mistakes.push(Mistake::new(place, "become and cache are for nodes that are reached by SSH", fix));
                break;
            }
        }
    }
    let places = racks.zip(hosts).zip(services);
    let node = |((name, reach), ((rack, host), service))| FleetNode {
        name,
        role,
        reach,
        site_node: site_node.clone(),
        rack,
        host,
        network,
        service,
    };
    names.into_iter().zip(reaches).zip(places).map(node).collect()
}

type Written<'y> = (&'y str, SourcePosition);

fn scalar<'y>(entries: &'y [YamlEntry], key: &str, mistakes: &mut Vec<Mistake>) -> Option<Written<'y>> {
    let entry = entries.iter().find(|entry| entry.key == key)?;
    match &entry.node.content {
        Content::Scalar(text) => Some((text, entry.node.place)),
        _ => {
            mistakes.push(Mistake::new(entry.node.place, format!("{key} without a value"), "write one value"));
            None
        }
    }
}

/// What is said of a node that is reached by SSH.
fn ssh_option<T: FromStr<Err = SshOptionError>>(
    entries: &[YamlEntry],
    key: &str,
    mistakes: &mut Vec<Mistake>,
) -> Option<T> {
    let (text, place) = scalar(entries, key, mistakes)?;
    let wrong = |error: SshOptionError| {
        mistakes.push(Mistake::new(place, format!("invalid {key} {}", quoted(&error.text)), error.fix));
    };
    text.parse().map_err(wrong).ok()
}

fn required<'y>(
    entries: &'y [YamlEntry],
    key: &str,
    place: SourcePosition,
    fix: &str,
    mistakes: &mut Vec<Mistake>,
) -> Option<Written<'y>> {
    if entries.iter().all(|entry| entry.key != key) {
        mistakes.push(Mistake::new(place, format!("a node without {key:?}"), fix));
        return None;
    }
    scalar(entries, key, mistakes)
}

fn names(text: &str, key: &str, place: SourcePosition, mistakes: &mut Vec<Mistake>) -> Option<Vec<String>> {
    let names = ranges(text, key, place, mistakes)?;
    let is_name = |name: &String| {
        (1..=63).contains(&name.len())
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
    };
    if let Some(wrong) = names.iter().find(|name| !is_name(name)) {
        let fix = "write letters, digits, -, _ and ., at most 63, with a letter or digit first";
        mistakes.push(Mistake::new(place, format!("invalid {key} {}", quoted(wrong)), fix));
        return None;
    }
    Some(names)
}

/// What stands for the name of a node in its reach.
const NAME: &str = "{name}";

/// One reach for each name: one with the name in it, or as many as there are names.
fn reaches(text: &str, place: SourcePosition, names: &[String], mistakes: &mut Vec<Mistake>) -> Option<Vec<NodeReach>> {
    if text.contains(NAME) {
        return read_all(names.iter().map(|name| text.replace(NAME, name)), place, mistakes);
    }
    // A command may hold braces of its own.
    let is_range = !text.starts_with("exec:") || text.contains("...");
    let texts = if is_range { ranges(text, "reach", place, mistakes)? } else { vec![text.to_owned()] };
    if let ([text], true) = (texts.as_slice(), names.len() > 1)
        && let Ok(NodeReach::Kube(place)) = text.parse()
        && matches!(place.pod, PodChoice::Selected { .. })
    {
        return Some((0..names.len()).map(|number| selected(&place, number, names.len())).collect());
    }
    if texts.len() != names.len() {
        let what = format!("{} for {} named", plural(texts.len()), names.len());
        let fix = "write {name} where each name goes, a range of as many numbers, or leave reach out for ssh://NAME";
        mistakes.push(Mistake::new(place, what, fix));
        return None;
    }
    read_all(texts.into_iter(), place, mistakes)
}

/// One of the pods that a selector shared by several names selects.
fn selected(place: &PodLocation, number: usize, of: usize) -> NodeReach {
    let mut place = place.clone();
    if let PodChoice::Selected { number: own_number, of: own_of, .. } = &mut place.pod {
        (*own_number, *own_of) = (number, of);
    }
    NodeReach::Kube(place)
}

fn read_all(
    texts: impl Iterator<Item = String>,
    place: SourcePosition,
    mistakes: &mut Vec<Mistake>,
) -> Option<Vec<NodeReach>> {
    let read: Result<Vec<NodeReach>, _> = texts.map(|text| text.parse()).collect();
    read.map_err(|error| {
        let what = format!("invalid reach {}", quoted(&error.text));
        mistakes.push(Mistake::new(place, what, error.why));
    })
    .ok()
}

fn plural(count: usize) -> String {
    if count == 1 { "1 way to reach a node".to_owned() } else { format!("{count} ways to reach nodes") }
}

fn ranges(text: &str, key: &str, place: SourcePosition, mistakes: &mut Vec<Mistake>) -> Option<Vec<String>> {
    if text.matches('{').count() > RANGES_MAX {
        let what = format!("more than {RANGES_MAX} ranges in {key} {}", quoted(text));
        mistakes.push(Mistake::new(place, what, "describe them in several entries"));
        return None;
    }
    let (what, fix) = match expanded(text, NODES_MAX) {
        Ok(all) => return Some(all),
        Err(RangeError::Malformed) => {
            (format!("invalid range in {key} {}", quoted(text)), "write {FIRST...LAST}, such as node{01...56}")
        }
        Err(RangeError::TooMany) => {
            (format!("more than {NODES_MAX} nodes in {key} {}", quoted(text)), "describe them in several files")
        }
    };
    mistakes.push(Mistake::new(place, what, fix));
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A file is refused for so many mistakes, which are told with all of these parts.
    #[track_caller]
    pub(super) fn refused(text: &str, parts: &[&str], count: usize) {
        let error = read(text, "f.yaml").unwrap_err();
        let reported = error.to_string();
        for part in parts {
            assert!(reported.contains(part), "{part}: {reported}");
        }
        assert_eq!(error.count(), count, "{reported}");
    }

    #[test]
    fn many_ranges_in_one_name_are_refused_before_they_are_expanded() {
        let text = format!("nodes:\n  - {{name: '{}', role: storage}}\n", "{1...1}".repeat(10_000));
        let mistakes = read(&text, "fleet.yaml").unwrap_err();
        assert!(format!("{mistakes:?}").contains("more than 8 ranges in name"), "{mistakes:?}");
    }

    #[test]
    fn ranges_of_names_and_of_reaches_go_together() {
        let text = "\
nodes:
  - name: node{08...10}
    role: storage
    site: storage
  - {name: 'c{1...2}', role: client, reach: 'ssh://admin@10.0.0.{11...12}'}
  - {name: me, role: client, reach: here}
  - {name: 'p{1...2}', role: client, reach: 'exec:ssh gate ssh {name} linerate agent'}
  - {name: box, role: client, reach: 'exec:sh -c \"{ linerate agent; }\"'}
";
        let nodes = read(text, "fleet.yaml").unwrap();
        let said: Vec<String> = nodes.iter().map(|n| format!("{} {} {}", n.name, n.role.name(), n.reach)).collect();
        assert_eq!(
            said,
            [
                "node08 storage ssh://node08",
                "node09 storage ssh://node09",
                "node10 storage ssh://node10",
                "c1 client ssh://admin@10.0.0.11",
                "c2 client ssh://admin@10.0.0.12",
                "me client here",
                "p1 client exec:ssh gate ssh p1 linerate agent",
                "p2 client exec:ssh gate ssh p2 linerate agent",
                "box client exec:sh -c \"{ linerate agent; }\"",
            ]
        );
        assert_eq!(nodes[0].site_node.as_deref(), Some("storage"));
    }

    #[test]
    fn a_rack_is_of_a_row_or_of_each_of_its_names() {
        let text = "\
nodes:
  - {name: 'a{1...2}', role: storage, rack: r07}
  - {name: 'b{1...3}', role: storage, rack: 'r{08...10}'}
  - {name: c, role: client}
";
        let nodes = read(text, "f.yaml").unwrap();
        let racks: Vec<Option<&str>> = nodes.iter().map(|node| node.rack.as_deref()).collect();
        assert_eq!(racks, [Some("r07"), Some("r07"), Some("r08"), Some("r09"), Some("r10"), None]);
    }

    #[test]
    fn mistakes_of_racks_are_told_with_their_places_and_fixes() {
        let text = "\
nodes:
  - {name: 'a{1...3}', role: storage, rack: 'r{1...2}'}
  - {name: b, role: storage, rack: 'r{2...1}'}
  - {name: c, role: storage, rack: 'two words'}
  - {name: d, role: storage, rack: [r1]}
  - {name: e, role: storage, rack: ''}
  - {name: 'f{1..2}', role: storage, rack: 'r{1...2}'}
  - {name: g, role: storage, rak: r1}
";
        let parts = [
            "f.yaml:2:45: 2 racks for 3 named",
            "write one rack, or a range of as many numbers as that of name",
            "f.yaml:3:36: invalid range in rack \"r{2...1}\"",
            "f.yaml:4:36: invalid rack \"two words\"",
            "f.yaml:5:36: rack without a value",
            "f.yaml:6:36: invalid rack \"\"",
            "invalid range in name \"f{1..2}\"",
            "did you mean \"rack\"?",
        ];
        refused(text, &parts, 7);
    }

    #[test]
    fn names_share_the_pods_of_a_selector_in_order() {
        let text = "\
nodes:
  - {name: 'c{0...2}', role: client, reach: 'kube://linerate/?app=linerate'}
  - {name: 'd{0...1}', role: client, reach: 'kube://linerate/?index={0...1}'}
  - {name: one, role: storage, reach: 'kube://minio/?app=minio'}
";
        let nodes = read(text, "f.yaml").unwrap();
        let pod_choice = |node: &FleetNode| match &node.reach {
            NodeReach::Kube(PodLocation { pod: PodChoice::Selected { selector, number, of }, .. }) => {
                format!("{} {selector} {number}/{of}", node.name)
            }
            other => panic!("{other:?}"),
        };
        let said: Vec<String> = nodes.iter().map(pod_choice).collect();
        let expected =
            ["c0 app=linerate 0/3", "c1 app=linerate 1/3", "c2 app=linerate 2/3", "d0 index=0 0/1", "d1 index=1 0/1"];
        assert_eq!(said[..5], expected);
        assert_eq!(said[5], "one app=minio 0/1");
    }

    #[test]
    fn what_a_node_has_of_its_own_is_for_ssh_alone() {
        let text = "\
nodes:
  - {name: 'a{1...2}', role: client, become: sudo -n, cache: /var/tmp/x}
  - {name: b, role: client, reach: 'ssh://b'}
";
        let ssh_options = |node: &FleetNode| match &node.reach {
            NodeReach::Ssh(place) => {
                let texts = (place.become_by.as_ref().map(ToString::to_string), place.cache.as_ref());
                format!("{} {:?} {:?}", node.name, texts.0, texts.1.map(ToString::to_string))
            }
            other => panic!("{other:?}"),
        };
        let said: Vec<String> = read(text, "f.yaml").unwrap().iter().map(ssh_options).collect();
        let own = "Some(\"sudo -n\") Some(\"/var/tmp/x\")";
        assert_eq!(said, [format!("a1 {own}"), format!("a2 {own}"), "b None None".to_owned()]);
        let text = "\
nodes:
  - {name: a, role: client, become: '-n sudo', cache: x/y}
  - {name: b, role: client, reach: here, become: sudo -n}
  - {name: c, role: client, become: [sudo]}
";
        let parts = [
            "invalid become \"-n sudo\"",
            "invalid cache \"x/y\"",
            "f.yaml:3:5: become and cache are for nodes that are reached by SSH",
            "become without a value",
        ];
        refused(text, &parts, 4);
    }

    #[test]
    fn every_mistake_is_told_at_once_with_its_place_and_its_fix() {
        let text = "\
nodes:
  - name: a{1..3}
    role: storge
    reach: ssh://-x
  - role: storage
    reech: here
  - {name: b, role: client, reach: 'ssh://h{1...2}'}
  - {name: c, role: client}
  - {name: c, role: client}
  - node
extra: 1
";
        let parts = [
            "f.yaml:2:11: invalid range in name \"a{1..3}\"",
            "node{01...56}",
            "f.yaml:3:11: unknown role \"storge\"",
            "write storage or client",
            "f.yaml:4:12: invalid reach \"ssh://-x\"",
            "a node without \"name\"",
            "unknown key \"reech\" of a node",
            "did you mean \"reach\"?",
            "2 ways to reach nodes for 1 named",
            "a second node \"c\"",
            "a node that is not a mapping",
            "unknown key \"extra\" of a fleet",
        ];
        refused(text, &parts, 9);
    }

    #[test]
    fn a_fleet_has_at_most_1024_nodes() {
        for (text, is_read) in [
            ("nodes: [{name: 'n{1...1024}', role: client}]", true),
            ("nodes: [{name: 'n{1...1025}', role: client}]", false),
            ("nodes: [{name: 'n{1...1024}', role: client}, {name: m, role: client}]", false),
            ("", false),
            ("nodes: []", false),
        ] {
            assert_eq!(read(text, "f.yaml").is_ok(), is_read, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(nodes:\n( *- *|)(name|role|reach): .{0,20}\n)?(?s).{0,60}") {
            let _ = read(&text, "f.yaml");
        }
    }
}
