//! Settings that have the longest value that the kernel takes are changed, and are afterwards what they were, to the
//! last byte.

use std::io::Write as _;
use std::process::{Command, Stdio};

use libtest_mimic::Failed;
use linerate_host::setting::{Changeable, changeable};
use linerate_record::knob::{Locator, Scope};
use linerate_settings::knobs::KNOBS;

use super::tune::Ground;

const PORTS: &str = "net.ipv4.ip_local_reserved_ports";
/// What is longest of a number of 31 and of 32 bits, with and without a sign, and of 64 bits.
const NUMBERS: [&str; 5] = ["-2147483648", "9223372036854775807", "4294967295", "2147483647", "1000000000"];
/// More than this is not taken in one write, the line's end included.
const PAGE_BYTES: usize = 4095;
/// Queues of an interface, each with a mask of its own.
const QUEUES: usize = 40;
/// Settings of a namespace that this was tried on at least.
const TRIED_MIN: usize = 20;

/// More than any setting of the whole machine has.
const MACHINE_WIDE_BYTES_MAX: usize = 512;

/// Settings of the whole machine are looked at and not lengthened: `vm.min_free_kbytes` at its largest ends the machine
/// that runs the tests, and so do others of memory, files and processes, while no namespace holds them. They go
/// there and back with values of use (`there_and_back.rs`), in a virtual machine too. What this test is about cannot
/// happen to them: each is a few numbers or one of several words, far from what one read or one write holds.
fn are_short() {
    let mut seen = 0;
    let left =
        KNOBS.iter().filter(|row| row.knob.scope != Scope::NetworkNamespace).filter_map(|row| match row.knob.locator {
            Locator::Sysctl { name } => std::fs::read(path(name)).ok().map(|value| (name, value)),
            Locator::Sysfs { path } if !path.contains(['{', '*']) => {
                std::fs::read(format!("/sys/{path}")).ok().map(|value| (path, value))
            }
            _ => None,
        });
    for (name, value) in left {
        assert!(value.len() <= MACHINE_WIDE_BYTES_MAX, "{name} has {} bytes: try it at its longest", value.len());
        seen += 1;
    }
    assert!(seen >= TRIED_MIN, "{seen}");
}

pub(crate) fn kept_whole() -> Result<(), Failed> {
    are_short();
    let ground = Ground::namespace("w");
    let name = ground.namespace.clone().ok_or("a namespace")?;
    let others = lengthen(&ground);
    assert!(others.len() >= TRIED_MIN, "{others:?}");
    let longest = sysctls(&ground, &others);
    assert!(longest.iter().any(|(id, bytes)| id == PORTS && bytes.len() == PAGE_BYTES), "{longest:?}");
    let queues = queues(&ground);
    assert!(queues.len() > 32 * QUEUES, "{queues}");

    let file = ground.state.path().join("changes.json");
    let path = file.to_str().ok_or("UTF-8")?;
    let sets = others.iter().flat_map(|(id, other)| ["--set".to_owned(), format!("{id}={other}")]);
    let mut words: Vec<String> = ["tune", "diff", "--netns", &name, "-o", path].map(str::to_owned).into();
    words.extend(sets);
    words.extend(["--set", "nic.rps_cpus@lrq=0", "--set", "nic.rps_flow_cnt@lrq=0"].map(str::to_owned));
    ground.done(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let said = ground.done(&["tune", "apply", path, "--confirm", "100s"]);
    assert!(said.starts_with(&format!("{} settings changed", others.len() + 2)), "{said}");
    assert!(sysctls(&ground, &others).iter().all(|row| !longest.contains(row)), "not changed");
    let said = ground.done(&["tune", "rollback"]);
    assert_eq!(sysctls(&ground, &others), longest, "{said}");
    assert_eq!(self::queues(&ground), queues, "{said}");

    longer_than_a_write(&ground, path)?;
    println!("{} settings with their longest values: changed, and byte for byte as before", others.len() + 2);
    Ok(())
}

/// Gives every setting of the namespace the longest value that the kernel takes; gives those that took one, with what
/// they were before.
fn lengthen(ground: &Ground) -> Vec<(String, String)> {
    let name = ground.namespace.as_deref().unwrap_or_default();
    let link = format!("-n {name} link add lrq numrxqueues {QUEUES} numtxqueues {QUEUES} type veth peer name lrp");
    assert!(Command::new("ip").args(link.split(' ')).status().is_ok_and(|status| status.success()), "{link}");
    for queue in 0..QUEUES {
        let folder = format!("/sys/class/net/lrq/queues/rx-{queue}");
        put(ground, &format!("{folder}/rps_cpus"), if queue % 2 == 0 { "1" } else { "2" });
        put(ground, &format!("{folder}/rps_flow_cnt"), &(1_u32 << (queue % 15)).to_string());
    }
    let mut others = Vec::new();
    for row in KNOBS.iter() {
        let Locator::Sysctl { name } = row.knob.locator else { continue };
        let is_own = row.knob.scope == Scope::NetworkNamespace && row.knob.owned_by.is_none();
        if !is_own || changeable(&row.knob.locator) != Changeable::Yes {
            continue;
        }
        let Some(now) = ground.sysctl(name) else { continue };
        let now = String::from_utf8_lossy(&now).trim_end().to_owned();
        if longest_values(name, &now).iter().any(|value| {
            let before = ground.sysctl(name);
            put(ground, &path(name), value) && ground.sysctl(name) != before
        }) {
            others.push((name.to_owned(), now));
        }
    }
    others
}

/// Values to try, the longest first.
fn longest_values(name: &str, now: &str) -> Vec<String> {
    if name == PORTS {
        return vec![ports()];
    }
    let words: Vec<&str> = now.split_whitespace().collect();
    let is_number = words.iter().all(|word| word.parse::<i64>().is_ok());
    let repeated = |number: &str| vec![number; words.len()].join(" ");
    let of_flags = words.iter().map(|word| if *word == "0" { "1" } else { "0" }).collect::<Vec<_>>().join(" ");
    match name {
        "net.ipv4.tcp_congestion_control" => vec!["cubic".to_owned(), "reno".to_owned()],
        "net.ipv4.ip_local_port_range" => vec!["20001 59999".to_owned()],
        _ if is_number => NUMBERS.iter().map(|number| repeated(number)).chain([of_flags]).collect(),
        _ => Vec::new(),
    }
}

/// A list of ports that fills a write but for its line's end: one of two digits, and 682 of five.
fn ports() -> String {
    let all: Vec<String> =
        std::iter::once(11).chain((10_001..60_000).step_by(2).take(682)).map(|p| p.to_string()).collect();
    all.join(",")
}

fn path(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}

fn sysctls(ground: &Ground, others: &[(String, String)]) -> Vec<(String, Vec<u8>)> {
    others.iter().map(|(name, _)| (name.clone(), ground.sysctl(name).expect("it was there"))).collect()
}

fn queues(ground: &Ground) -> String {
    let script = "cd /sys/class/net/lrq/queues && grep -H '' rx-*/rps_cpus rx-*/rps_flow_cnt";
    String::from_utf8_lossy(&inside(ground, script, b"").1).into_owned()
}

/// Writes as a shell would, in as many writes as the kernel wants; whether it took all.
fn put(ground: &Ground, path: &str, value: &str) -> bool {
    inside(ground, &format!("cat > {path}"), format!("{value}\n").as_bytes()).0
}

fn inside(ground: &Ground, script: &str, input: &[u8]) -> (bool, Vec<u8>) {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", ground.namespace.as_deref().unwrap_or_default(), "sh", "-c", script]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("ip runs");
    // The kernel may refuse it before all is written.
    let _ = child.stdin.take().expect("piped").write_all(input);
    let output = child.wait_with_output().expect("it ends");
    (output.status.success(), output.stdout)
}

/// A list that only several writes can make is left alone, by who plans a change and by who makes it.
fn longer_than_a_write(ground: &Ground, file: &str) -> Result<(), Failed> {
    let name = ground.namespace.clone().unwrap_or_default();
    let diff = ["tune", "diff", "--netns", &name, "--set", "net.ipv4.ip_local_reserved_ports=9000", "-o", file];
    put(ground, &path(PORTS), "");
    std::fs::remove_file(file)?;
    ground.done(&diff);
    let list: Vec<String> = (10_001..60_000).step_by(3).map(|port| format!("{port}-{}", port + 1)).collect();
    // The kernel adds what a later write to the same open file has.
    let parts: Vec<String> = list.chunks(300).map(|part| part.join(",") + "\n").collect();
    let script = format!("while read -r part; do echo \"$part\"; done > {}", path(PORTS));
    assert!(inside(ground, &script, parts.concat().as_bytes()).0, "the kernel takes it piece by piece");
    let list = list.join(",");
    let before = ground.sysctl(PORTS).unwrap_or_default();
    // `cat` asks for 128 KiB, and the kernel answers once.
    assert!(before.len() > 100_000 && list.as_bytes().starts_with(&before), "{} bytes", before.len());
    for (words, code) in [(&diff[..6], 2), (&["tune", "apply", file][..], 2)] {
        let output = ground.run(words);
        let text = crate::running::shown(&output);
        let is_reported = text.contains("bytes, and the kernel takes 4094 at a time");
        assert!(output.status.code() == Some(code) && is_reported, "{words:?}: {text}");
        ground.run(&["tune", "rollback"]);
        assert!(ground.sysctl(PORTS).unwrap_or_default() == before, "{words:?}");
    }
    Ok(())
}
