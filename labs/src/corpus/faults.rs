//! Whether what was planted is there, as programs and counters see it that are not linerate's.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;

use super::lab::{Lab, NAME, address, printed, within};
use crate::process::Running;

/// As far as what is measured may be from what was planted.
const OFF_MAX: f64 = 0.1;

/// Of a packet on a link, by its token bucket, what iperf3 counts.
const GOODPUT: f64 = 1448.0 / 1514.0;

/// How long a plant is measured.
const SECONDS: f64 = 2.0;

/// Packets that are counted to see how many are lost.
const PINGS: f64 = 600.0;

/// What came of measuring a plant.
#[derive(Debug, Serialize)]
pub(super) struct Measured {
    pub(super) fault: String,
    /// By which program or counter.
    pub(super) by: &'static str,
    pub(super) planted: f64,
    pub(super) measured: f64,
    /// Half a width of three standard errors, where it is counted.
    pub(super) error: f64,
}

impl Measured {
    pub(super) fn is_off(&self) -> bool {
        (self.measured - self.planted).abs() > (OFF_MAX * self.planted).max(self.error)
    }
}

/// Measures a fault: `node3 link.tx=60Mb/s`. Of several machines, the first.
pub(super) fn measure(lab: &Lab, fault: &str) -> Result<Measured, Box<dyn Error>> {
    let (machines, what) = fault.split_once(' ').ok_or("a fault has two words")?;
    let machine = match machines {
        "nodes" => "node1",
        "clients" => "client1",
        one => one,
    };
    let (name, value) = what.split_once('=').unwrap_or((what, "0"));
    let seen = |by, planted, measured| Measured { fault: fault.to_owned(), by, planted, measured, error: 0.0 };
    let rate = || number(value);
    Ok(match name {
        "link.tx" => seen("iperf3", rate()? * GOODPUT, iperf3(lab, machine, true)?.0),
        "link.rx" => seen("iperf3", rate()? * GOODPUT, iperf3(lab, machine, false)?.0),
        "window" => seen("ss", rate()? * 1024.0, iperf3(lab, machine, false)?.1),
        "cpu" => seen("times of a shell", rate()? / 100.0, busy(lab, machine)?),
        "loss" => {
            let (kept, lost) = (1.0 - rate()? / 100.0, lost(machine)?);
            let planted = 1.0 - kept * kept;
            let error = 3.0 * (planted * (1.0 - planted) / PINGS).sqrt();
            Measured { error, ..seen("ping", planted, lost) }
        }
        "mtu" => seen("ping", rate()?, mtu(machine, rate()?)?),
        "down" => seen("ping", 1.0, if lost(machine)? > 0.99 { 1.0 } else { 0.0 }),
        "neighbour.tx" => seen("counters of the kernel", rate()?, sent(machine)?),
        "pauses" => {
            let (length, period) = value.split_once('/').ok_or("pauses have a length and a period")?;
            let share = number(length)? / 1e3 / number(period)?;
            // Seen every 20 ms, at its begin and at its end.
            Measured { error: 0.04, ..seen("state of the freezer", share, paused(machine, number(period)?)?) }
        }
        "subset" => seen("curl", rate()?, answering(lab)?),
        drive => match drive.strip_suffix(".iops") {
            Some(drive) => seen("dd", rate()?, dd(lab, machine, drive, 4096.0, rate()?)?),
            None => {
                let block = 256.0 * 1024.0;
                seen("dd", rate()?, block * dd(lab, machine, drive, block, rate()? / block)?)
            }
        },
    })
}

/// The number at the beginning of a value, with its unit: `60.5Mb/s`, `5MB/s`, `20%`, `64KiB`.
fn number(value: &str) -> Result<f64, Box<dyn Error>> {
    let digits: String = value.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let million = if value.contains("Mb/s") || value.contains("MB/s") { 1e6 } else { 1.0 };
    Ok(digits.parse::<f64>()? * million)
}

/// Bits per second that a machine sends to another, or receives, and the largest buffer of the receiving socket.
fn iperf3(lab: &Lab, machine: &str, is_sending: bool) -> Result<(f64, f64), Box<dyn Error>> {
    let other = if machine.starts_with("client") { format!("node{}", lab.shape.nodes) } else { "client1".to_owned() };
    let server = |machine: &str| -> Result<Running, Box<dyn Error>> {
        let child: Child =
            within(machine, &["iperf3", "-s", "-1", "-p", "5999"]).stdout(std::process::Stdio::null()).spawn()?;
        Ok(Running(child))
    };
    let (from, to) = if is_sending { (machine, other.as_str()) } else { (other.as_str(), machine) };
    let _server = server(to)?;
    sleep(Duration::from_millis(200));
    let seconds = SECONDS.to_string();
    let to_address = address(to);
    let words = ["iperf3", "-c", &to_address, "-p", "5999", "-t", &seconds, "-J"];
    let client = within(from, &words).stdout(std::process::Stdio::piped()).spawn()?;
    sleep(Duration::from_secs_f64(SECONDS / 2.0));
    let sockets = printed(&mut within(to, &["ss", "-tmnH", "state", "established", "sport", "=", ":5999"]))?;
    let output = client.wait_with_output()?;
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let rate = report["end"]["sum_received"]["bits_per_second"].as_f64().ok_or("iperf3 says no rate")?;
    let buffers = sockets.split("rb").skip(1).filter_map(|text| number(text).ok());
    Ok((rate, buffers.fold(0.0, f64::max)))
}

/// Processors that a machine has for something that wants one whole.
fn busy(lab: &Lab, machine: &str) -> Result<f64, Box<dyn Error>> {
    let script = format!("timeout {SECONDS} sh -c 'while :; do :; done'; times");
    let output = lab.exec(machine, &["sh", "-c", &script])?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // Of the shell, and of what it has waited for: `0m0.35s 0m0.01s`.
    let of_children = text.lines().nth(1).ok_or("a shell says its times")?;
    let seconds = |time: &str| time.trim_end_matches('s').split_once('m').and_then(|(_, s)| s.parse::<f64>().ok());
    Ok(of_children.split(' ').filter_map(seconds).sum::<f64>() / SECONDS)
}

/// The share of packets that a machine and another do not get back from each other.
fn lost(machine: &str) -> Result<f64, Box<dyn Error>> {
    let (from, to) = if machine.starts_with("client") { (machine, "node1") } else { ("client1", machine) };
    let (to, count) = (address(to), PINGS.to_string());
    let output = within(from, &["ping", "-q", "-c", &count, "-i", "0.003", "-W", "1", &to]).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let share = text.split("% packet loss").next().and_then(|text| text.rsplit([' ', ',']).next()?.parse::<f64>().ok());
    Ok(share.ok_or_else(|| format!("ping says no loss: {text}"))? / 100.0)
}

/// The largest packet that a machine sends whole: the planted one, if one byte more is too much.
fn mtu(machine: &str, planted: f64) -> Result<f64, Box<dyn Error>> {
    let goes = |bytes: f64| -> Result<bool, Box<dyn Error>> {
        let body = (bytes - 28.0).to_string();
        let to = address(if machine == "client1" { "node1" } else { "client1" });
        let words = ["ping", "-M", "do", "-c", "2", "-W", "1", "-s", &body, &to];
        Ok(within(machine, &words).output()?.status.success())
    };
    Ok(if goes(planted)? && !goes(planted + 1.0)? { planted } else { 0.0 })
}

/// Bits per second that leave a machine while nothing loads it.
fn sent(machine: &str) -> Result<f64, Box<dyn Error>> {
    let counter = || -> Result<f64, Box<dyn Error>> {
        Ok(printed(&mut within(machine, &["cat", "/sys/class/net/eth0/statistics/tx_bytes"]))?.trim().parse()?)
    };
    let (before, begun) = (counter()?, Instant::now());
    sleep(Duration::from_secs_f64(SECONDS));
    Ok(8.0 * (counter()? - before) / begun.elapsed().as_secs_f64())
}

/// The share of a period in which the processes of a machine stand still.
fn paused(machine: &str, period_s: f64) -> Result<f64, Box<dyn Error>> {
    let groups = [
        format!("freezer/linerate-{NAME}/{machine}/freezer.state"),
        format!("linerate-{NAME}/{machine}/cgroup.freeze"),
    ];
    let files = groups.map(|group| Path::new("/sys/fs/cgroup").join(group));
    let file = files.iter().find(|file| file.exists()).ok_or("no freezer")?;
    let (begun, mut seen, mut frozen) = (Instant::now(), 0.0, 0.0);
    while begun.elapsed().as_secs_f64() < period_s {
        let state = fs::read_to_string(file)?;
        seen += 1.0;
        frozen += f64::from(u8::from(["FROZEN", "FREEZING", "1"].contains(&state.trim())));
        sleep(Duration::from_millis(20));
    }
    Ok(frozen / seen)
}

/// How many nodes answer when the client asks each: each names itself.
fn answering(lab: &Lab) -> Result<f64, Box<dyn Error>> {
    let mut names = std::collections::BTreeSet::new();
    for node in 1..=lab.shape.nodes {
        let url = format!("http://{}:9000/", address(&format!("node{node}")));
        let text = printed(&mut within("client1", &["curl", "-s", "-i", "-m", "5", &url]))?;
        let lower = text.to_lowercase();
        let name = lower.lines().find_map(|line| line.strip_prefix("x-amz-id-2:").map(|name| name.trim().to_owned()));
        names.insert(name.ok_or("a node does not name itself")?);
    }
    Ok(names.len() as f64)
}

/// Blocks per second that a drive writes past the page cache.
fn dd(lab: &Lab, machine: &str, drive: &str, block: f64, per_s: f64) -> Result<f64, Box<dyn Error>> {
    let file = lab.drives().join(drive).join(".corpus-probe");
    let count = (per_s * SECONDS).ceil().max(4.0);
    let script =
        format!("LC_ALL=C dd if=/dev/zero of={0} bs={block} count={count} oflag=direct; rm -f {0}", file.display());
    let output = lab.exec(machine, &["sh", "-c", &script])?;
    // `5242880 bytes (5.2 MB, 5.0 MiB) copied, 1.048 s, 5.0 MB/s`
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let seconds = text.split("copied, ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
    Ok(count / seconds.ok_or_else(|| format!("dd says no time: {text}"))?)
}
