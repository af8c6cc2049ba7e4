//! What an agent that reads may ask of the kernel (`contrib/agent/calls.txt`): the rows, the seccomp profile that they
//! make, and whether calls that strace told are among them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// One row.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) who: String,
    pub(crate) call: String,
    argument: String,
    words: String,
    pub(crate) why: String,
}

/// A file of the folder in which the rows are.
pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/agent").join(name)
}

pub(crate) fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(file("calls.txt")).expect("it is in the repository");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let row = |line: &str| {
        let mut parts = line.split(" | ").map(str::to_owned);
        let mut next = || parts.next().unwrap_or_default();
        Row { who: next(), call: next(), argument: next(), words: next(), why: next() }
    };
    lines.map(row).collect()
}

/// The profile of these rows, as OCI and containerd read it.
pub(crate) fn profile(rows: &[Row]) -> Value {
    let mut plain = BTreeSet::new();
    let (mut missing, mut with) = (BTreeSet::new(), BTreeSet::new());
    for row in rows.iter().filter(|row| row.who != "netlink") {
        match row.argument.as_str() {
            "*" => drop(plain.insert(row.call.as_str())),
            "enosys" => drop(missing.insert(row.call.as_str())),
            argument => drop(with.insert((row.call.as_str(), argument))),
        }
    }
    let mut calls = vec![
        json!({"names": plain, "action": "SCMP_ACT_ALLOW"}),
        // ENOSYS.
        json!({"names": missing, "action": "SCMP_ACT_ERRNO", "errnoRet": 38}),
    ];
    for (call, argument) in with.into_iter().filter(|(call, _)| !plain.contains(call)) {
        calls.push(json!({"names": [call], "action": "SCMP_ACT_ALLOW", "args": [condition(argument)]}));
    }
    json!({
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": 1,
        "archMap": [
            {"architecture": "SCMP_ARCH_X86_64", "subArchitectures": []},
            {"architecture": "SCMP_ARCH_AARCH64", "subArchitectures": []},
        ],
        "syscalls": calls,
    })
}

/// `0=16`, or `2&0x400643=0`.
fn condition(argument: &str) -> Value {
    let (left, value) = argument.split_once('=').expect("an argument has a value");
    let value = number(value);
    match left.split_once('&') {
        Some((index, mask)) => {
            json!({"index": number(index), "value": number(mask), "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"})
        }
        None => json!({"index": number(left), "value": value, "op": "SCMP_CMP_EQ"}),
    }
}

fn number(text: &str) -> u64 {
    let parsed = text.strip_prefix("0x").map_or_else(|| text.parse(), |hex| u64::from_str_radix(hex, 16));
    parsed.expect("arguments are numbers")
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
                let asked = protocols.get(descriptor).cloned().flatten().map(|of| (asked(&of, &call.arguments), of));
                asked.is_some_and(|(asked, of)| {
                    rows.iter().any(|row| row.who == "netlink" && row.call == of && row.argument == asked)
                })
            }
            allowed => words.iter().all(|word| allowed.split(' ').any(|one| one == word)),
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

/// Constants in a call: words of capitals with an underscore or of capitals alone, without what files are called.
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
    let all = bare
        .split(|letter| !is_part(letter))
        .filter(|word| word.len() > 1 && word.starts_with(|first: char| first.is_ascii_uppercase()) && *word != "NULL");
    all.map(str::to_owned).collect()
}

/// Whether a call is on a pipe, a socket or an event.
fn is_own(arguments: &str) -> bool {
    let file = arguments.split_once('<').map_or("", |(_, behind)| behind);
    ["pipe:[", "socket:[", "UNIX", "anon_inode:[eventfd", "/dev/pts/", "/dev/null"]
        .iter()
        .any(|kind| file.starts_with(kind))
}

/// What a message of netlink asks for, by its name in the kernel's headers.
fn asked(protocol: &str, arguments: &str) -> String {
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
