//! Nodes that were not reached: those with the same problem in one row, whatever address each has in its sentence.

use core::net::{IpAddr, SocketAddr};

use linerate_record::fleet::{FleetRow, UnreachedNode};

use super::NAMED;
use crate::colour::Colour;
use crate::terminal::{TextStyle, hanging, hanging_in};

/// What stands for the address of each node where several share a sentence.
const ANY_HOST: &str = "HOST";

/// Names in a row that are written as its ends.
const LEAST_OF_RANGE: usize = 3;

/// What stands for its port where those differ too.
const ANY_PORT: &str = "PORT";

/// A sentence as it is, without the host of its node, and without its host and port.
type Levels = [String; 3];

/// A problem, and the nodes that have it.
pub(super) struct SharedProblem<'r> {
    rows: Vec<&'r FleetRow>,
    /// The reason and the remedy as the first node has them.
    levels: [Levels; 2],
    /// The level of each at which all nodes have the same.
    shared: [usize; 2],
}

impl SharedProblem<'_> {
    pub(super) fn names(&self) -> String {
        let names: Vec<&str> = self.rows.iter().map(|row| row.name.as_str()).collect();
        in_ranges(&names)
    }

    fn why(&self) -> &str {
        &self.levels[0][self.shared[0]]
    }

    fn remedy(&self) -> &str {
        &self.levels[1][self.shared[1]]
    }
}

/// Problems in the order of their first nodes. With `each`, nodes whose reasons have different addresses are apart.
pub(super) fn shared<'r>(
    faults: impl IntoIterator<Item = (&'r FleetRow, &'r UnreachedNode)>,
    each: bool,
) -> Vec<SharedProblem<'r>> {
    let mut problems: Vec<SharedProblem<'r>> = Vec::new();
    let key = if each { 0 } else { 2 };
    for (row, fault) in faults {
        let own = OwnAddress::read(row);
        let levels = [&fault.why, &fault.remedy].map(|text| own.levels(text));
        let is_same = |known: &&mut SharedProblem<'_>| {
            known.levels.iter().zip(&levels).all(|(known, stated)| known[key] == stated[key])
        };
        match problems.iter_mut().find(is_same) {
            Some(known) => {
                for (shared, (first, stated)) in known.shared.iter_mut().zip(known.levels.iter().zip(&levels)) {
                    while first[*shared] != stated[*shared] {
                        *shared += 1;
                    }
                }
                known.rows.push(row);
            }
            None => problems.push(SharedProblem { rows: vec![row], levels, shared: [0, 0] }),
        }
    }
    problems
}

/// The same as sentences of an error; a remedy that is empty is none.
#[must_use]
pub fn unreached_in_words<'r>(faults: impl IntoIterator<Item = (&'r FleetRow, &'r UnreachedNode)>) -> Vec<String> {
    let problems = shared(faults, false);
    let sentence = |problem: &SharedProblem<'_>| {
        let remedy = if problem.remedy().is_empty() { String::new() } else { format!("; {}", problem.remedy()) };
        format!("{}: {}{remedy}", problem.names(), problem.why())
    };
    problems.iter().map(sentence).collect()
}

/// Nodes that were not reached as rows of a report; with `each`, a row for each that differs in anything.
pub(super) fn rows(rows: &[FleetRow], each: bool, look: TextStyle) -> Vec<String> {
    let problems = shared(rows.iter().filter_map(|row| Some((row, row.unreached.as_ref()?))), each);
    let reported = problems.iter().map(|problem| {
        let claim = format!("{}: not reached: {}", problem.names(), problem.why());
        hanging_in(Colour::Red, " critical", 11, &claim, look) + &hanging("           try", 16, problem.remedy(), look)
    });
    reported.collect()
}

/// The same as lines of a message.
pub(super) fn message(faults: &[(&FleetRow, &UnreachedNode)]) -> String {
    let problems = shared(faults.iter().copied(), false);
    let reported = |problem: &SharedProblem<'_>| {
        format!(" {}: not reached: {}\n   try {}\n", problem.names(), problem.why(), problem.remedy())
    };
    problems.iter().map(reported).collect()
}

/// How a node is addressed in its own sentences.
struct OwnAddress {
    /// Its name, and the host or the pod by which it is reached.
    hosts: Vec<String>,
    port: Option<String>,
}

impl OwnAddress {
    fn read(row: &FleetRow) -> OwnAddress {
        let mut own = OwnAddress { hosts: vec![row.name.to_lowercase()], port: None };
        if let Some((scheme, place)) = row.reach.split_once("://") {
            let place = if scheme == "ssh" { place.rsplit('@').next() } else { place.split('/').next_back() };
            let (host, port) = place.map_or(("", None), |place| match place.rsplit_once(':') {
                Some((host, port)) if port.parse::<u16>().is_ok() => (host, Some(port)),
                _ => (place, None),
            });
            own.hosts.extend(Some(host).filter(|host| !host.is_empty()).map(str::to_lowercase));
            own.port = port.map(str::to_owned);
        }
        own
    }

    fn levels(&self, text: &str) -> Levels {
        let hosts = masked(text, self, None);
        let ports = self.port.as_deref().map_or_else(|| hosts.clone(), |port| masked(text, self, Some(port)));
        [text.to_owned(), hosts, ports]
    }
}

/// A sentence with [`ANY_HOST`] in place of what is the address of this node alone, and [`ANY_PORT`] in place of its
/// port, where this is given.
fn masked(text: &str, own: &OwnAddress, port: Option<&str>) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut before = ["", ""];
    for word in text.split(' ') {
        words.push(masked_word(word, before, own, port));
        before = [before[1], word];
    }
    words.join(" ")
}

/// A word of a sentence, with the two before it: OpenSSH says "connect to host HOST port PORT", "resolve hostname HOST"
/// and "USER@HOST: …".
fn masked_word(word: &str, before: [&str; 2], own: &OwnAddress, own_port: Option<&str>) -> String {
    let is_mark = |c: char| matches!(c, ':' | ',' | '.' | ';' | '"' | '\'' | '(' | ')');
    let core = word.trim_matches(is_mark);
    let is_own = |host: &str| own.hosts.iter().any(|name| *name == host.to_lowercase());
    let is_host = |host: &str| host.parse::<IpAddr>().is_ok() || is_own(host);
    let is_named_so = before[1] == "hostname" || before == ["to", "host"];
    let shown_port = |port: &str| if own_port == Some(port) { ANY_PORT.to_owned() } else { port.to_owned() };
    let any = match (core.split_once('@'), core.rsplit_once(':')) {
        _ if core.is_empty() => return word.to_owned(),
        _ if before[1] == "port" => shown_port(core),
        _ if is_named_so || is_host(core) => ANY_HOST.to_owned(),
        (Some((user, host)), _) if !user.is_empty() && (is_host(host) || word.ends_with(':')) => {
            format!("{user}@{ANY_HOST}")
        }
        (_, Some((host, port))) if core.parse::<SocketAddr>().is_ok() || is_own(host) => {
            format!("{ANY_HOST}:{}", shown_port(port))
        }
        _ => return word.to_owned(),
    };
    word.replacen(core, &any, 1)
}

/// Names, those that are numbered in a row as `node01…node56`, with the number of all; of many parts, the first.
fn in_ranges(names: &[&str]) -> String {
    let mut runs: Vec<Vec<&str>> = Vec::new();
    for name in names {
        match runs.last_mut() {
            Some(run) if run.last().and_then(|last| next_name(last)).as_deref() == Some(name) => run.push(name),
            _ => runs.push(vec![name]),
        }
    }
    let has_range = runs.iter().any(|run| run.len() >= LEAST_OF_RANGE);
    let parts: Vec<(String, usize)> = runs
        .iter()
        .flat_map(|run| match run.as_slice() {
            [first, .., last] if run.len() >= LEAST_OF_RANGE => vec![(format!("{first}…{last}"), run.len())],
            few => few.iter().map(|name| ((*name).to_owned(), 1)).collect(),
        })
        .collect();
    let shown: Vec<&str> = parts.iter().take(NAMED).map(|(part, _)| part.as_str()).collect();
    let more: usize = parts.iter().skip(NAMED).map(|(_, count)| count).sum();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let count = if has_range { format!(" ({})", names.len()) } else { String::new() };
    format!("{}{more}{count}", shown.join(" "))
}

/// The name with the next number in its first label; nothing without one.
fn next_name(name: &str) -> Option<String> {
    let (first, rest) = name.split_at(name.find('.').unwrap_or(name.len()));
    let stem = first.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &first[stem.len()..];
    let next = digits.parse::<u64>().ok()?.checked_add(1)?;
    Some(format!("{stem}{next:0width$}{rest}", width = digits.len()))
}

#[cfg(test)]
mod tests {
    use linerate_record::fleet::NodeRole;

    use super::*;

    const LOOK: TextStyle = TextStyle { color: false, width: 100, whole: false };

    /// Nodes of a fleet, each with what was said of it.
    fn many(count: usize, reach: impl Fn(usize) -> String, why: impl Fn(usize) -> String) -> Vec<FleetRow> {
        let row = |n: usize| FleetRow {
            name: format!("node{n:02}"),
            role: NodeRole::Storage,
            reach: reach(n),
            site_node: None,
            reached: None,
            unreached: Some(UnreachedNode { why: why(n), remedy: "check that sshd runs".to_owned() }),
        };
        (1..=count).map(row).collect()
    }

    #[test]
    fn the_same_problem_at_many_nodes_is_one_row_whatever_their_addresses() {
        type OfNode = fn(usize) -> String;
        let cases: [(OfNode, OfNode, &str); 7] = [
            (
                |n| format!("ssh://127.9.0.{n:02}:2"),
                // OpenSSH writes the address in its own way.
                |n| format!("nothing listens there: ssh: connect to host 127.9.0.{n} port 2: Connection refused"),
                "nothing listens there: ssh: connect to host HOST port 2: Connection refused",
            ),
            (
                |n| format!("ssh://no-such-{n}.invalid"),
                |n| format!("its name does not resolve: ssh: Could not resolve hostname no-such-{n}.invalid: Name"),
                "its name does not resolve: ssh: Could not resolve hostname HOST: Name",
            ),
            (
                |n| format!("ssh://node{n:02}"),
                // By HostName of ssh_config.
                |n| format!("it asks for a password: a@s{n}.example: Permission denied (publickey,password)."),
                "it asks for a password: a@HOST: Permission denied (publickey,password).",
            ),
            (
                |n| format!("ssh://admin@s{n}:22"),
                |n| format!("its sshd dropped every connection: Connection closed by fe80::{n} port 22"),
                "its sshd dropped every connection: Connection closed by HOST port 22",
            ),
            (
                |n| format!("kube://lab/pod-{n}"),
                |n| format!("there is no such pod: pods \"pod-{n}\" not found"),
                "there is no such pod: pods \"HOST\" not found",
            ),
            (|n| format!("ssh://s{n}"), |n| format!("nothing listens at 10.0.0.{n}:5301"), "at HOST:5301"),
            (
                // Forwarded by one machine.
                |n| format!("ssh://root@127.0.0.1:{}", 59_000 + n),
                |n| format!("nothing listens there: ssh: connect to host 127.0.0.1 port {}: refused", 59_000 + n),
                "nothing listens there: ssh: connect to host HOST port PORT: refused",
            ),
        ];
        for (reach, why, expected) in cases {
            let all = many(56, reach, why);
            let text = rows(&all, false, LOOK).concat();
            assert!(text.lines().count() <= 3, "{text}");
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.starts_with("critical node01…node56 (56): not reached: "), "{text}");
            assert!(words.contains(&format!("{expected} try check that sshd runs")), "{text}");
            // Each with its address where that is requested, and where it is the only one.
            assert_eq!(rows(&all, true, LOOK).len(), 56);
            assert!(!rows(&all[..1], false, LOOK).concat().contains(ANY_HOST));
            let faults: Vec<_> = all.iter().filter_map(|row| Some((row, row.unreached.as_ref()?))).collect();
            assert_eq!(unreached_in_words(faults.iter().copied()).len(), 1);
            assert_eq!(message(&faults).lines().count(), 2);
        }
    }

    #[test]
    fn other_problems_have_rows_of_their_own() {
        let refused = |n: usize| {
            let port = if n == 17 { 22 } else { 2 };
            format!("nothing listens there: ssh: connect to host 10.0.0.{n} port {port}: Connection refused")
        };
        let mut all = many(56, |n| format!("ssh://10.0.0.{n}:2"), refused);
        all[40].unreached = Some(UnreachedNode { why: "its disk is full".to_owned(), remedy: "free space".to_owned() });
        let text = rows(&all, false, LOOK).concat();
        assert_eq!(text.matches(" critical").count(), 3, "{text}");
        for part in ["node01…node16 node18…node40 node42…node56 (54): ", "node17: not", "10.0.0.17 port 22", "node41: "]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn names_in_a_row_are_their_ends_and_others_are_named() {
        for (names, expected) in [
            (&["a"][..], "a"),
            (&["n1", "n2"], "n1 n2"),
            (&["n8", "n9", "n10"], "n8…n10 (3)"),
            (&["n08", "n09", "n10", "x"], "n08…n10 x (4)"),
            (&["n1.a", "n2.a", "n3.a"], "n1.a…n3.a (3)"),
            (&["n1", "n3", "n5", "n7", "n9", "n11", "n13", "n15"], "n1 n3 n5 n7 n9 n11 and 2 more"),
            (&["n99999999999999999999", "n18446744073709551615"], "n99999999999999999999 n18446744073709551615"),
        ] {
            assert_eq!(in_ranges(names), expected, "{names:?}");
        }
    }
}
