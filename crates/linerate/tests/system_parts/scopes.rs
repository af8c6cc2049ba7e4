//! Where settings of the network act, tried: each is changed on the host for a moment, and read in a network namespace
//! that was there before and in one made after.

use std::process::Command;

use libtest_mimic::Failed;
use linerate_record::knob::{Knob, Locator, Scope, TakesEffect};
use linerate_settings::knobs::KNOBS;

/// Not tried: a moment of these would cost the machine its forwarding or its addresses.
const LEFT_ALONE: [&str; 2] = ["net.ipv4.ip_forward", "net.ipv6.conf.all.disable_ipv6"];
/// Kernels differ in what they are built with (connection tracking, IPv6). Fewer than these, and little was shown.
const TRIED_MIN: usize = 45;

/// A network namespace, gone with the value.
struct Space(String);

impl Space {
    fn make(name: String) -> Self {
        let made = Command::new("ip").args(["netns", "add", &name]).status().expect("ip runs");
        assert!(made.success(), "no namespace {name}");
        Space(name)
    }

    /// What a setting is in it; absent where it does not show there.
    fn read(&self, path: &str) -> Option<String> {
        let out = Command::new("ip").args(["netns", "exec", &self.0, "cat", path]).output().expect("ip runs");
        out.status.success().then(|| words(&String::from_utf8_lossy(&out.stdout)))
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        _ = Command::new("ip").args(["netns", "delete", &self.0]).status();
    }
}

/// A setting of the machine, restored with the value.
struct Changed<'a> {
    path: &'a str,
    prior: String,
}

impl Drop for Changed<'_> {
    fn drop(&mut self) {
        std::fs::write(self.path, &self.prior).expect("what could be changed can be restored");
    }
}

pub(crate) fn of_every_network_setting() -> Result<(), Failed> {
    let tag = std::process::id() % 10_000;
    let before = Space::make(format!("lrb{tag}"));
    let (mut tried, mut left) = (0, Vec::new());
    for (i, row) in KNOBS.iter().enumerate() {
        let Locator::Sysctl { name } = row.knob.locator else { continue };
        if !name.starts_with("net.") || LEFT_ALONE.contains(&name) {
            continue;
        }
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        match try_one(&row.knob, &path, &before, format!("lra{tag}x{i}"))? {
            true => tried += 1,
            false => left.push(name),
        }
    }
    println!("{tried} settings tried; not there, or of one value only: {}", left.join(", "));
    if tried < TRIED_MIN {
        return Err(format!("only {tried} settings of the network could be tried, not {}", left.join(", ")).into());
    }
    Ok(())
}

/// Whether the setting could be changed; an error where it acts elsewhere than its row says.
fn try_one(knob: &Knob, path: &str, before: &Space, name: String) -> Result<bool, Failed> {
    let Ok(prior) = std::fs::read_to_string(path) else { return Ok(false) };
    let Some(other) = another(knob.id, words(&prior)) else { return Ok(false) };
    let was_there = before.read(path);
    if std::fs::write(path, &other).is_err() {
        return Ok(false);
    }
    let _changed = Changed { path, prior };
    let on_host = words(&std::fs::read_to_string(path)?);
    let is_there = before.read(path);
    let after = Space::make(name).read(path);

    let follows = is_there.is_none() || is_there == Some(on_host.clone());
    if follows != (knob.scope == Scope::Host) {
        let reported = format!("{was_there:?}, then {is_there:?} where the host has {on_host:?}");
        return Err(format!("{} is said to be of the {:?}: {reported}", knob.id, knob.scope).into());
    }
    // Settings of `conf` are copied too, but act at once wherever they are written.
    if knob.scope == Scope::NetworkNamespace && !knob.id.contains(".conf.") {
        let copied = after.as_deref() == Some(on_host.as_str());
        if copied != (knob.takes_effect == TakesEffect::NewNamespace) {
            let reported = format!("a new namespace has {after:?} where the host has {on_host:?}");
            return Err(format!("{} is said to act on {:?}: {reported}", knob.id, knob.takes_effect).into());
        }
    }
    Ok(true)
}

/// A value beside the present one, which no connection notices for a moment.
fn another(id: &str, value: String) -> Option<String> {
    let other = |of: [&str; 2]| of.into_iter().find(|word| *word != value).map(str::to_owned);
    match id {
        "net.core.default_qdisc" => return other(["pfifo_fast", "pfifo"]),
        "net.ipv4.tcp_congestion_control" => return other(["reno", "cubic"]),
        // No less than two ticks of the timer, which is the default.
        "net.core.netdev_budget_usecs" => return other(["12000", "16000"]),
        "net.ipv4.ip_local_reserved_ports" if value.is_empty() => return Some("65000".to_owned()),
        _ => (),
    }
    let mut numbers: Vec<i64> = value.split(' ').map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let last = numbers.last_mut()?;
    *last = if *last > 0 { *last - 1 } else { 1 };
    let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    Some(texts.join(" "))
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
