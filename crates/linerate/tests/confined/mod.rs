//! What an agent that reads may ask of the kernel (`contrib/agent/calls.txt`): the rows, and whether
//! calls that strace told are among them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) who: String,
    pub(crate) call: String,
    pub(crate) argument: String,
    words: String,
}

/// A file of the folder in which the rows are.
pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/agent").join(name)
}

pub(crate) fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(file("calls.txt")).expect("it is in the repository");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let row = |line: &str| {
        let parts: Vec<String> = line.split(" | ").map(str::to_owned).collect();
        let parts: Result<[String; 5], Vec<String>> = parts.try_into();
        let [who, call, argument, words, why] = parts.expect("a row has five parts");
        assert!(["watch", "pod", "start", "netlink"].contains(&who.as_str()) && !why.is_empty(), "{line}");
        Row { who, call, argument, words }
    };
    lines.map(row).collect()
}

/// Calls of a trace of `strace -f -y` that no row has, each with why; and how many of each call there were.
pub(crate) fn outside(trace: &str, rows: &[Row], who: &[&str]) -> (Vec<String>, BTreeMap<String, u32>) {
    let mut seen = BTreeMap::new();
    let mut odd = BTreeSet::new();
    let mut protocols = HashMap::new();
    for call in calls(trace) {
        *seen.entry(call.name.to_owned()).or_insert(0) += 1;
        let (plain, words) = (unquoted(&call.arguments), words(&call.arguments));
        if call.name == "socket" {
            let protocol = words.iter().find(|word| word.starts_with("NETLINK_")).cloned();
            protocols.insert(call.answer.split(['<', ' ']).next().unwrap_or_default().to_owned(), protocol);
        }
        let of_call: Vec<&Row> =
            rows.iter().filter(|row| row.call == call.name && who.contains(&row.who.as_str())).collect();
        let descriptor = plain.split([',', '<', ')']).next().unwrap_or_default();
        let fits = |row: &&Row| match row.words.as_str() {
            "*" => true,
            "own" => is_own(&call.arguments),
            "netlink" => {
                let requested =
                    protocols.get(descriptor).cloned().flatten().map(|of| (requested(&of, &call.arguments), of));
                requested.is_some_and(|(requested, of)| {
                    rows.iter().any(|row| row.who == "netlink" && row.call == of && row.argument == requested)
                })
            }
            // A call without any constant is not known to be one of those that are listed.
            allowed => !words.is_empty() && words.iter().all(|word| allowed.split(' ').any(|one| one == word)),
        };
        if !of_call.iter().any(fits) {
            odd.insert(format!("{}({}) = {}", call.name, call.arguments, call.answer));
        }
    }
    (odd.into_iter().collect(), seen)
}

/// One call of a trace.
struct Call<'a> {
    name: &'a str,
    arguments: String,
    answer: String,
}

/// The calls of a trace, those in two lines put together.
fn calls(trace: &str) -> Vec<Call<'_>> {
    let mut open: HashMap<&str, (&str, String)> = HashMap::new();
    let mut all = Vec::new();
    for line in trace.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let rest = rest.trim_start();
        if let Some((name, resumed)) = rest.strip_prefix("<... ").and_then(|rest| rest.split_once(" resumed>")) {
            let (name, begun) = open.remove(thread).unwrap_or((name, String::new()));
            all.push(whole(name, &(begun + resumed)));
        } else if let Some((name, arguments)) = rest.split_once('(').filter(|(name, _)| is_name(name)) {
            match arguments.split_once(" <unfinished ...>") {
                Some((begun, _)) => drop(open.insert(thread, (name, begun.to_owned()))),
                None => all.push(whole(name, arguments)),
            }
        }
    }
    // Those that never returned: of threads that ended with the process.
    all.extend(open.into_values().map(|(name, begun)| whole(name, &begun)));
    all
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

fn whole<'a>(name: &'a str, text: &str) -> Call<'a> {
    let (arguments, answer) = text.rsplit_once(" = ").unwrap_or((text, ""));
    Call { name, arguments: arguments.trim_end().trim_end_matches(')').to_owned(), answer: answer.to_owned() }
}

/// Without what is quoted.
fn unquoted(text: &str) -> String {
    let (mut plain, mut is_quoted, mut is_escaped) = (String::new(), false, false);
    for letter in text.chars() {
        match letter {
            '"' if !is_escaped => is_quoted = !is_quoted,
            _ if !is_quoted => plain.push(letter),
            _ => {}
        }
        is_escaped = is_quoted && letter == '\\' && !is_escaped;
    }
    plain
}

/// Constants in a call: words that begin with a capital, without what files are called; those that strace does not
/// know, by their numbers (`0x41555856 /* PR_??? */`).
fn words(arguments: &str) -> BTreeSet<String> {
    let plain = unquoted(arguments);
    let mut depth = 0_u32;
    let bare: String = plain
        .chars()
        .map(|letter| {
            depth += u32::from(letter == '<');
            let shown = if depth > 0 { ' ' } else { letter };
            depth = depth.saturating_sub(u32::from(letter == '>'));
            shown
        })
        .collect();
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let all = bare.split(|letter| !is_part(letter)).filter(|word| {
        let is_named =
            word.len() > 1 && word.trim_start_matches('_').starts_with(|first: char| first.is_ascii_uppercase());
        is_named && *word != "NULL" && !word.ends_with('_')
    });
    let before = bare.split("_??? */").filter_map(|text| Some(text.rsplit_once(" /* ")?.0.rsplit_once("0x")?.1));
    all.map(str::to_owned).chain(before.map(|number| format!("0x{number}"))).collect()
}

/// Whether a call is on a pipe, a socket or an event.
fn is_own(arguments: &str) -> bool {
    let file = arguments.split_once('<').map_or("", |(_, behind)| behind);
    ["pipe:[", "socket:[", "UNIX", "anon_inode:[eventfd", "/dev/pts/", "/dev/null"]
        .iter()
        .any(|kind| file.starts_with(kind))
}

/// What a message of netlink asks for, by its name in the kernel's headers.
fn requested(protocol: &str, arguments: &str) -> String {
    let kind = arguments.split_once("nlmsg_type=").map_or("", |(_, behind)| behind);
    let kind = kind.split([',', ' ', '}']).next().unwrap_or_default();
    let content = arguments.split_once("}, ").map_or("", |(_, behind)| behind);
    let name = match (protocol, kind) {
        ("NETLINK_SOCK_DIAG", "0x14") => "SOCK_DIAG_BY_FAMILY",
        ("NETLINK_ROUTE", "0x12") => "RTM_GETLINK",
        ("NETLINK_GENERIC", "0x10" | "nlctrl") if content.starts_with("\"\\x03") => "CTRL_CMD_GETFAMILY",
        ("NETLINK_GENERIC", "0x10" | "nlctrl") if content.starts_with("{cmd=CTRL_CMD_GETFAMILY") => {
            "CTRL_CMD_GETFAMILY"
        }
        // `ETHTOOL_MSG_*` of `include/uapi/linux/ethtool_netlink.h`.
        ("NETLINK_GENERIC", _) if content.starts_with("\"\\x04") => "ETHTOOL_MSG_LINKMODES_GET",
        ("NETLINK_GENERIC", _) if content.starts_with("\"\\x15") => "ETHTOOL_MSG_PAUSE_GET",
        ("NETLINK_GENERIC", _) if content.starts_with("\"\\x20") => "ETHTOOL_MSG_STATS_GET",
        (_, other) => other,
    };
    name.to_owned()
}
