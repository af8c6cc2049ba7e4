//! How audits read.

use linerate_record::audit::{Audit, Difference, Unreached, UnreadPart};
use linerate_record::finding::Severity;
use linerate_record::knob::{EngineProcess, Scope, Space, TakesEffect};
use linerate_record::units::bytes_iec;

use super::plural;

/// Commands of one difference that are shown: one a device.
pub(crate) const COMMANDS_SHOWN: usize = 4;

/// Names of a list that are shown.
const NAMES_SHOWN: usize = 4;

/// What the audit is of.
pub(crate) fn facts(audit: &Audit) -> [(&'static str, String); 5] {
    let machine = &audit.machine;
    let described = format!(
        "Linux {}, {}, {}, {}",
        machine.kernel,
        plural(u64::from(machine.cpus), "processor"),
        plural(u64::from(machine.numa_nodes), "NUMA node"),
        bytes_iec(machine.memory_bytes as f64)
    );
    let engines: Vec<String> = audit.engines.iter().map(engine).collect();
    let engines = if engines.is_empty() { "none found".to_owned() } else { engines.join("; ") };
    let counts = audit.settings;
    let site = if audit.assumed.is_empty() {
        audit.site.clone()
    } else {
        let assumed: Vec<&str> = audit.assumed.keys().map(String::as_str).collect();
        format!("{}; assumed: {}", audit.site, assumed.join(", "))
    };
    [
        ("machine", described),
        ("engine", engines),
        ("profile", audit.profile.clone()),
        ("settings", format!("{} read, {} judged, {} not on this machine", counts.read, counts.judged, counts.absent)),
        ("site", site),
    ]
}

/// A server and its namespace.
pub(crate) fn engine(engine: &EngineProcess) -> String {
    let network = if engine.own_network { "in a network namespace of its own" } else { "in this network namespace" };
    format!("{} (process {}) {network}", engine.program, engine.pid)
}

/// What the audit comes to.
pub(crate) fn verdict(audit: &Audit) -> String {
    let count = |severity| audit.findings.iter().filter(|finding| finding.severity == severity).count() as u64;
    let worst = [Severity::Serious, Severity::Warning, Severity::Note];
    let told: Vec<String> = worst
        .into_iter()
        .filter(|severity| count(*severity) > 0)
        .map(|severity| format!("{} {}", count(severity), super::severity(severity)))
        .collect();
    let found = if told.is_empty() { "no findings".to_owned() } else { format!("findings: {}", told.join(", ")) };
    let differences = audit.differences.len() as u64;
    let differences = match differences {
        0 => format!("nothing differs from {}", audit.profile),
        1 => format!("1 setting differs from {}", audit.profile),
        n => format!("{n} settings differ from {}", audit.profile),
    };
    format!("{differences}; {found}")
}

/// What changes all of it such that it can be taken back.
pub(crate) fn undoably(audit: &Audit) -> String {
    format!("linerate tune diff --profile {} -o changes.json: the same changes, undoable", audit.profile)
}

/// Which setting, of which devices, in whose namespaces.
pub(crate) fn place(difference: &Difference) -> String {
    let mut text = difference.knob.clone();
    if !difference.devices.is_empty() {
        text.push_str(&format!(" of {}", some(&difference.devices)));
    }
    match &difference.space {
        Space::Host => {}
        Space::Pid(pid) => text.push_str(&format!(" in process {pid}")),
        Space::Netns(name) => text.push_str(&format!(" in network namespace {name}")),
    }
    text
}

/// Names, the first of many.
fn some(names: &[String]) -> String {
    match names.len().checked_sub(NAMES_SHOWN) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..NAMES_SHOWN].join(", ")),
    }
}

/// A value, on one line.
pub(crate) fn value(text: &str) -> String {
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if plain.is_empty() { "empty".to_owned() } else { plain }
}

/// When and where a change acts, and what it risks.
pub(crate) fn when(difference: &Difference) -> String {
    let effect = match difference.takes_effect {
        TakesEffect::AtOnce => "acts at once",
        TakesEffect::NewSocket => "acts on new sockets",
        TakesEffect::NewNamespace => "acts in network namespaces made afterwards",
        TakesEffect::Restart => "acts after a restart",
        TakesEffect::Reboot => "acts after a reboot",
        TakesEffect::Never => "has no effect",
    };
    let scope = match difference.scope {
        Scope::Host => "on the whole machine",
        Scope::NetworkNamespace => "in this network namespace alone",
        Scope::Device => "on the device",
        Scope::Mount => "on the mount",
        Scope::Process => "on the process",
        Scope::Cluster => "in the cluster",
    };
    format!("{effect}, {scope}. Risk: {}", difference.risk)
}

/// A setting of the host beside an engine's own.
pub(crate) fn unreached(one: &Unreached) -> String {
    let wanted = one.wanted.as_deref().map_or_else(String::new, |wanted| format!(", wanted {}", value(wanted)));
    format!(
        "{}: host {}, {} (process {}) {}{wanted}",
        one.knob,
        value(&one.host),
        one.engine.program,
        one.engine.pid,
        value(&one.engine_value)
    )
}

/// What could not be read, and why.
pub(crate) fn unread(part: &UnreadPart) -> String {
    format!("{}: {}", some(&part.what), part.why)
}
