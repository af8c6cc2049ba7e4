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
    let engines = if audit.engines.is_empty() { "none found".to_owned() } else { engines(&audit.engines) };
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

/// What the audit is of, on a screen: assumed values are counted.
pub(crate) fn facts_in_brief(audit: &Audit) -> Vec<(&'static str, String)> {
    let assumed = match audit.assumed.len() as u64 {
        0 => String::new(),
        n => format!("; {} assumed", plural(n, "value")),
    };
    let in_brief = |(name, value): (&'static str, String)| match name {
        "profile" => None,
        "site" => Some((name, format!("{}{assumed}", audit.site))),
        _ => Some((name, value)),
    };
    facts(audit).into_iter().filter_map(in_brief).collect()
}

/// A row of an audit, with the processes of which all the same is said.
pub(crate) struct SameRows<'a, T> {
    pub(crate) first: &'a T,
    /// Processes, the first's among them; none where it is of the host.
    pub(crate) pids: Vec<u32>,
}

/// Rows of which all but the process is the same are one.
fn alike<'a, T>(
    all: &'a [T],
    pid: impl Fn(&T) -> Option<u32>,
    is_same: impl Fn(&T, &T) -> bool,
) -> Vec<SameRows<'a, T>> {
    let mut rows: Vec<SameRows<'a, T>> = Vec::new();
    for one in all {
        let own = pid(one);
        let known = rows.iter_mut().find(|row| own.is_some() && pid(row.first).is_some() && is_same(row.first, one));
        match known {
            Some(row) => row.pids.extend(own),
            None => rows.push(SameRows { first: one, pids: own.into_iter().collect() }),
        }
    }
    rows
}

/// What never reaches engines, like processes in one row.
pub(crate) fn unreached_alike(all: &[Unreached]) -> Vec<SameRows<'_, Unreached>> {
    alike(
        all,
        |one| Some(one.engine.pid),
        |a, b| {
            let grouping_key = |one: &Unreached| {
                (
                    one.knob.clone(),
                    one.engine.program.clone(),
                    one.host.clone(),
                    one.engine_value.clone(),
                    one.wanted.clone(),
                )
            };
            grouping_key(a) == grouping_key(b)
        },
    )
}

/// The process whose setting differs, if it is one's.
pub(crate) fn pids(one: &Difference) -> Vec<u32> {
    if let Space::Pid(pid) = one.space { vec![pid] } else { Vec::new() }
}

/// Differences, like processes in one row.
pub(crate) fn differences_alike(all: &[Difference]) -> Vec<SameRows<'_, Difference>> {
    alike(
        all,
        |one| pids(one).first().copied(),
        |a, b| (&a.knob, &a.devices, &a.present, &a.wanted) == (&b.knob, &b.devices, &b.present, &b.wanted),
    )
}

/// `process 7`, `processes 7, 8, 9, 10 and 3 more`.
pub(crate) fn processes(pids: &[u32]) -> String {
    let names: Vec<String> = pids.iter().map(u32::to_string).collect();
    format!("{} {}", if pids.len() == 1 { "process" } else { "processes" }, some(&names))
}

/// Servers, those of one program in one kind of namespace together.
fn engines(all: &[EngineProcess]) -> String {
    let same = |a: &EngineProcess, b: &EngineProcess| (&a.program, a.own_network) == (&b.program, b.own_network);
    let rows = alike(all, |one| Some(one.pid), same);
    let reported = rows.iter().map(|row| match row.pids.as_slice() {
        [_] => engine(row.first),
        pids => {
            let network =
                if row.first.own_network { "in network namespaces of their own" } else { "in this network namespace" };
            format!("{} × {} ({}) {network}", pids.len(), row.first.program, processes(pids))
        }
    });
    reported.collect::<Vec<_>>().join("; ")
}

/// A server and its namespace.
pub(crate) fn engine(engine: &EngineProcess) -> String {
    let network = if engine.own_network { "in a network namespace of its own" } else { "in this network namespace" };
    format!("{} (process {}) {network}", engine.program, engine.pid)
}

/// What the audit comes to.
pub(crate) fn verdict(audit: &Audit) -> String {
    let count = |severity| audit.findings.iter().filter(|finding| finding.severity == severity).count() as u64;
    let worst = [Severity::Critical, Severity::Warning, Severity::Note];
    let reported: Vec<String> = worst
        .into_iter()
        .filter(|severity| count(*severity) > 0)
        .map(|severity| format!("{} {}", count(severity), super::severity(severity)))
        .collect();
    let found =
        if reported.is_empty() { "no findings".to_owned() } else { format!("findings: {}", reported.join(", ")) };
    let differences = audit.differences.len() as u64;
    let differences = match differences {
        0 => format!("nothing differs from {}", audit.profile),
        1 => format!("1 setting differs from {}", audit.profile),
        n => format!("{n} settings differ from {}", audit.profile),
    };
    format!("{differences}; {found}")
}

/// What changes it such that it can be rolled back: how much of it, and what not, with the reason.
pub(crate) fn changes_with_rollback(audit: &Audit, command: &str) -> String {
    let all = audit.differences.len();
    let left = left_out(&audit.differences);
    let of_all = match all - audit.differences.iter().filter(|one| one.not_in_changes.is_some()).count() {
        0 => "none of these changes".to_owned(),
        made if made < all => format!("{made} of these {all} changes, with rollback"),
        1 => "the same change, with rollback".to_owned(),
        _ => format!("the same {all} changes, with rollback"),
    };
    if left.is_empty() { format!("{command}: {of_all}") } else { format!("{command}: {of_all}; not {left}") }
}

/// What is not among the changes that can be rolled back, by reason.
fn left_out(all: &[Difference]) -> String {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for (one, why) in all.iter().filter_map(|one| Some((one, one.not_in_changes.as_deref()?))) {
        let name = one.knob.clone();
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    let reported = reasons.iter().map(|(why, names)| format!("{} ({why})", some(names)));
    reported.collect::<Vec<_>>().join(", nor ")
}

/// What a difference is of, in a word: `links`, `the engine`.
pub(crate) fn relieved(difference: &Difference) -> &str {
    difference.relieves.split(':').next().unwrap_or_default()
}

/// Which setting, of which devices, in whose namespaces.
pub(crate) fn place(difference: &Difference, pids: &[u32]) -> String {
    let mut text = difference.knob.clone();
    if !difference.devices.is_empty() {
        text.push_str(&format!(" of {}", some(&difference.devices)));
    }
    match &difference.space {
        Space::Host => {}
        Space::Pid(_) => text.push_str(&format!(" in {}", processes(pids))),
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
        TakesEffect::AtOnce => "takes effect at once",
        TakesEffect::NewSocket => "takes effect for new sockets",
        TakesEffect::NewNamespace => "takes effect in network namespaces created afterwards",
        TakesEffect::Restart => "takes effect after a restart",
        TakesEffect::Reboot => "takes effect after a reboot",
        TakesEffect::Never => "has no effect",
    };
    let scope = match difference.scope {
        Scope::Host => "on the whole machine",
        Scope::NetworkNamespace => "in this network namespace only",
        Scope::Device => "on the device",
        Scope::Mount => "on the mount",
        Scope::Process => "on the process",
        Scope::Cluster => "in the cluster",
    };
    format!("{effect}, {scope}. Risk: {}", difference.risk)
}

/// A setting of the host beside an engine's own.
pub(crate) fn unreached(row: &SameRows<'_, Unreached>) -> String {
    let one = row.first;
    let wanted = one.wanted.as_deref().map_or_else(String::new, |wanted| format!(", wanted {}", value(wanted)));
    format!(
        "{}: host {}, {} ({}) {}{wanted}",
        one.knob,
        value(&one.host),
        one.engine.program,
        processes(&row.pids),
        value(&one.engine_value)
    )
}

/// What could not be read, and why.
pub(crate) fn unread(part: &UnreadPart) -> String {
    format!("{}: {}", some(&part.what), part.why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_processes_are_one_row_and_others_are_not() {
        let one = |pid, value: &str| Unreached {
            knob: "net.core.somaxconn".to_owned(),
            engine: EngineProcess { pid, program: "minio".to_owned(), own_network: true },
            host: "65535".to_owned(),
            engine_value: value.to_owned(),
            wanted: None,
        };
        let all: Vec<Unreached> = (1..=6).map(|pid| one(pid, "4096")).chain([one(7, "128")]).collect();
        let reported: Vec<String> = unreached_alike(&all).iter().map(unreached).collect();
        let expected = [
            "net.core.somaxconn: host 65535, minio (processes 1, 2, 3, 4 and 2 more) 4096",
            "net.core.somaxconn: host 65535, minio (process 7) 128",
        ];
        assert_eq!(reported, expected);
        let engines = engines(&all.iter().map(|one| one.engine.clone()).collect::<Vec<_>>());
        assert_eq!(engines, "7 × minio (processes 1, 2, 3, 4 and 3 more) in network namespaces of their own");
    }
}
