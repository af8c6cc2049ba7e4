//! A third party on the link forges datagrams, in its own name and in that of others, and counts what comes back.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use libtest_mimic::Failed;
use linerate_analysis::net::view::NetView;

use super::{Switched, ip, pair};
use crate::running::{linerate, shown, words};

/// Ports of UDP that are open in a machine's namespace.
fn open_ports(switched: &Switched, machine: usize) -> Result<BTreeSet<u16>, Failed> {
    let table = switched.within(machine).args(words("cat /proc/net/udp")).output()?.stdout;
    let table = String::from_utf8(table)?;
    let port = |row: &str| u16::from_str_radix(row.split_whitespace().nth(1)?.rsplit_once(':')?.1, 16).ok();
    Ok(table.lines().skip(1).filter_map(port).collect())
}

/// Machine 1 sends to machine 2. Machine 3 is in no fleet: it forges datagrams to every port of machine 2, as itself,
/// as a machine that never said anything, and as machine 1.
pub(super) fn nothing() -> Result<(), Failed> {
    let switched = Switched::make(3)?;
    ip(&format!("-n {} address add 10.231.90.9/24 dev eth0", switched.spaces[2]));
    let two: String = fs::read_to_string(switched.fleet())?.split_inclusive('\n').take(3).collect();
    fs::write(switched.fleet(), two)?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/system_parts/linked/reflected.py");
    for (op, more) in [("udp", "--max-rate 4Mb/s"), ("mtu", "")] {
        let mut third = switched.within(3);
        third.arg("python3").arg(&script).args(words("eth0 10.231.90.2 10.231.90.3 10.231.90.9 10.231.90.1"));
        let mut third = third.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let folder = switched.place.path().join(op);
        let mut net = linerate();
        net.args(["net", "--json", "--fleet"]).arg(switched.fleet()).arg("-o").arg(&folder);
        let flags = format!("--op {op} {more} --streams 1 --duration 3s --warmup 300ms --visits 1 --one-way");
        let mut net = net.args(words(&flags)).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let mut forged = BTreeSet::new();
        let ports = third.stdin.as_mut().ok_or("piped")?;
        while net.try_wait()?.is_none() {
            for port in open_ports(&switched, 2)? {
                writeln!(ports, "{port}")?;
                forged.insert(port);
            }
            sleep(Duration::from_millis(20));
        }
        let output = net.wait_with_output()?;
        assert!(output.status.success(), "{op}: {}", shown(&output));
        let counted = third.wait_with_output()?;
        let counted = String::from_utf8(counted.stdout)?;
        println!("{op}: {} ports, {counted}", forged.len());
        let number = |name: &str| -> Result<u64, Failed> {
            let (_, behind) = counted.split_once(name).ok_or_else(|| format!("{name:?} in {counted:?}"))?;
            Ok(behind.split_whitespace().next().ok_or("a number")?.parse()?)
        };
        let (sent, back, datagrams) = (number("sent ")?, number("back ")?, number("datagrams ")?);
        assert!(!forged.is_empty() && sent > 0, "{op}: {counted}");
        // Kernels say by ICMP that a port was closed meanwhile: shorter than what was sent to it, but for short ones.
        assert!(datagrams == 0 && back <= sent, "{op}: {counted}");
        if op == "udp" {
            let view: NetView = serde_json::from_slice(&output.stdout)?;
            let of = pair(&view, (1, 2), 1)?.datagrams.ok_or("datagrams were sent")?;
            assert!(of.lost_share < 0.01, "what was forged counts nowhere: {of:?}");
        }
    }
    Ok(())
}
