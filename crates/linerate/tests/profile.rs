//! The seccomp profile of an agent that reads is made of the rows of calls, and rows refuse what they have to.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::confined::{Row, file, outside, rows};

/// The profile of these rows, as OCI and containerd read it.
fn profile(rows: &[Row]) -> Value {
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

#[test]
fn the_committed_profile_is_that_of_the_rows() {
    let made = serde_json::to_string_pretty(&profile(&rows())).unwrap() + "\n";
    if std::env::var_os("REGENERATE").is_some() {
        std::fs::write(file("seccomp.json"), &made).unwrap();
    }
    let committed = std::fs::read_to_string(file("seccomp.json")).unwrap();
    assert!(
        committed == made,
        "contrib/agent/seccomp.json: run REGENERATE=1 cargo test -p linerate --test all profile::"
    );
}

#[test]
fn each_row_has_its_reason_and_none_is_twice() {
    let mut known = BTreeSet::new();
    for row in rows() {
        assert!(known.insert(format!("{row:?}")), "{row:?}");
    }
}

#[test]
fn what_writes_sets_or_configures_is_outside_the_rows() {
    let requested = "[{nlmsg_len=44, nlmsg_type=ethtool, nlmsg_flags=NLM_F_REQUEST, nlmsg_seq=1, nlmsg_pid=0}";
    let generic = "1 socket(AF_NETLINK, SOCK_RAW|SOCK_CLOEXEC, NETLINK_GENERIC) = 7<socket:[1]>\n";
    let route = "1 socket(AF_NETLINK, SOCK_RAW|SOCK_CLOEXEC, NETLINK_ROUTE) = 7<socket:[1]>\n";
    let rows = rows();
    let inside = [
        "1 openat(AT_FDCWD</tmp/O_RDWR>, \"/proc/O_CREAT\", O_RDONLY|O_CLOEXEC) = 3</proc/O_CREAT>".to_owned(),
        "1 write(1<pipe:[5]>, \"x\", 1) = 1".to_owned(),
        "1 prctl(0x41555856 /* PR_??? */, 0x7f1d, 0x200, 0, 0) = 448".to_owned(),
        "1 setns(7<net:[4026532389]>, CLONE_NEWNET) = 0".to_owned(),
        format!("{generic}1 sendto(7<socket:[1]>, {requested}, \"\\x15\\x01\\x00\"], 44, 0, NULL, 0) = 44"),
        format!(
            "{generic}1 sendto(7<socket:[1]>, {requested}, \"\\x15\"], 44 <unfinished ...>\n1 <... sendto resumed>) = 1"
        ),
    ];
    for trace in inside {
        assert_eq!(outside(&trace, &rows, &["watch"]).0, Vec::<String>::new(), "{trace}");
    }
    let refused = [
        "1 openat(AT_FDCWD</>, \"/proc/sys/x\", O_WRONLY|O_CLOEXEC) = 3</proc/sys/x>".to_owned(),
        "1 openat(AT_FDCWD</>, \"x\", O_RDONLY|O_CREAT, 0600) = 3</x>".to_owned(),
        "1 write(4</proc/sys/x>, \"1\", 1) = 1".to_owned(),
        "1 ioctl(4<socket:[5]>, SIOCETHTOOL, 0x7ffd) = 0".to_owned(),
        "1 setns(7<mnt:[4026532389]>, CLONE_NEWNS) = 0".to_owned(),
        "1 ioctl(4<socket:[5]>, _IOC(_IOC_WRITE, 0x12, 0x34, 0), 0x7ffd) = 0".to_owned(),
        "1 setns(7<mnt:[4026532389]>, 0) = 0".to_owned(),
        "1 prctl(0x41555857 /* PR_??? */, 0x7f1d, 0x200, 0, 0) = 448".to_owned(),
        "1 kill(5, SIGTERM) = 0".to_owned(),
        "1 unlink(\"x\") = 0".to_owned(),
        "1 socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_IP) = 3".to_owned(),
        "1 socket(AF_NETLINK, SOCK_RAW|SOCK_CLOEXEC, NETLINK_NETFILTER) = 3".to_owned(),
        "1 clone3({flags=CLONE_VM|CLONE_NEWNS, exit_signal=0}, 88) = 2".to_owned(),
        // ETHTOOL_MSG_PAUSE_SET and RTM_SETLINK.
        format!("{generic}1 sendto(7<socket:[1]>, {requested}, \"\\x16\\x01\\x00\"], 44, 0, NULL, 0) = 44"),
        format!(
            "{route}1 sendto(7<socket:[1]>, [{{nlmsg_len=4, nlmsg_type=0x13 /* ? */}}, \"\\x16\"], 4, 0, NULL, 0) = 4"
        ),
        // A message on a socket that was not seen to be of netlink.
        format!("1 sendto(7<socket:[1]>, {requested}, \"\\x15\\x01\\x00\"], 44, 0, NULL, 0) = 44"),
    ];
    for trace in refused {
        assert_eq!(outside(&trace, &rows, &["watch"]).0.len(), 1, "{trace}");
    }
}
