//! Settings that somebody made and the kernel ignores: names that are misspelt or gone, and values without effect.

use linerate_record::audit::{AuditCheck, AuditFinding};
use linerate_record::finding::{Confidence, Severity};
use linerate_record::knob::{Configured, Knob, Snapshot, TakesEffect, same};
use linerate_record::site::Site;

use super::finding;
use crate::knobs::{KNOBS, called, facts, find};

/// Sysctls of these begin to exist with a module.
const OF_MODULES: [&str; 3] = ["net.netfilter.", "net.bridge.", "fs.xfs."];

pub(super) fn check(snapshot: &Snapshot, _site: &Site) -> Vec<AuditFinding> {
    let in_files = snapshot.configured.iter().filter(|line| !line.is_there).filter_map(|line| absent(snapshot, line));
    let read = KNOBS.iter().filter_map(|row| ignored(snapshot, &row.knob));
    in_files.chain(read).collect()
}

/// A name in a file that this kernel does not have.
fn absent(snapshot: &Snapshot, line: &Configured) -> Option<AuditFinding> {
    let meant = called(&line.name).first().map(|row| &row.knob);
    let own = find(&line.name).map(|row| &row.knob);
    let gone = own.or(meant).filter(|knob| is_gone(snapshot, knob));
    let of_module = OF_MODULES.iter().any(|prefix| line.name.starts_with(prefix));
    let evidence = format!("{}: {} = {}", line.file, line.name, line.value);
    let (severity, claim, remedy) = if let Some(knob) = gone {
        let (major, minor) = knob.until?;
        let claim = format!("{} has no effect since Linux {major}.{minor}, and is set", line.name);
        (Severity::Note, claim, "remove the line".to_owned())
    } else if let Some(knob) = meant.filter(|knob| knob.id != line.name) {
        let claim = format!("{} does not exist: its name is {}", line.name, knob.id);
        (Severity::Warning, claim, format!("write {} instead, if {} is intended", knob.id, line.value))
    } else if of_module {
        let claim = format!("{} is set before its module is loaded, or without it", line.name);
        (Severity::Note, claim, "load the module at boot (modules-load.d), before systemd-sysctl".to_owned())
    } else if line.file.starts_with("etc/") {
        let claim = format!("this kernel has no {}, which is set", line.name);
        (Severity::Note, claim, "remove the line, or correct its name".to_owned())
    } else {
        // What distributions ship is for many kernels.
        return None;
    };
    Some(finding(AuditCheck::DeadSetting, severity, Confidence::Certain, claim, evidence, remedy))
}

/// A setting that is there, does nothing, and is not what the kernel begins with.
fn ignored(snapshot: &Snapshot, knob: &Knob) -> Option<AuditFinding> {
    let never = knob.takes_effect == TakesEffect::Never;
    if !(is_gone(snapshot, knob) || never && knob.until.is_none()) {
        return None;
    }
    let setting = snapshot.settings.iter().find(|setting| setting.place.knob == knob.id)?;
    let value = setting.value.as_deref()?;
    let default = knob.default_number()?;
    if same(&knob.locator, value, default) {
        return None;
    }
    let since = knob.until.map_or_else(String::new, |(major, minor)| format!(" since Linux {major}.{minor}"));
    Some(finding(
        AuditCheck::DeadSetting,
        Severity::Note,
        Confidence::Certain,
        format!("{} has no effect{since}, and is set", knob.id),
        format!("{value}; the kernel's default is {default}"),
        "remove it wherever it is set: it has no effect",
    ))
}

fn is_gone(snapshot: &Snapshot, knob: &Knob) -> bool {
    knob.until.is_some_and(|until| facts::kernel(snapshot).is_some_and(|kernel| kernel >= until))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::{machine, set, site};

    fn configured(name: &str) -> Configured {
        Configured {
            file: "etc/sysctl.d/9.conf".to_owned(),
            name: name.to_owned(),
            value: "7".to_owned(),
            is_there: false,
        }
    }

    #[test]
    fn names_that_are_misspelt_gone_or_unknown_are_told_apart() {
        let cases = [
            ("net.ipv4.tcp_syn_backlog", "its name is net.ipv4.tcp_max_syn_backlog", Severity::Warning),
            ("kernel.sched_migration_cost_ns", "has no effect since Linux 5.13", Severity::Note),
            ("net.ipv4.tcp_nonsense", "this kernel has no", Severity::Note),
            ("net.netfilter.nf_conntrack_max", "before its module is loaded", Severity::Note),
        ];
        for (name, claim, severity) in cases {
            let mut snapshot = machine();
            snapshot.configured.push(configured(name));
            let found = check(&snapshot, &site());
            assert_eq!(found.len(), 1, "{name}: {found:?}");
            assert!(found[0].claim.contains(claim), "{}", found[0].claim);
            assert_eq!(found[0].severity, severity, "{name}");
        }
    }

    #[test]
    fn a_value_without_effect_is_told_only_where_somebody_set_it_and_the_kernel_ignores_it() {
        let tcp_low_latency = "net.ipv4.tcp_low_latency";
        let mut snapshot = machine();
        set(&mut snapshot, tcp_low_latency, None, "0");
        assert_eq!(check(&snapshot, &site()), []);
        set(&mut snapshot, tcp_low_latency, None, "1");
        assert_eq!(check(&snapshot, &site()).len(), 1);
        snapshot.machine.kernel = "4.4.0".to_owned();
        assert_eq!(check(&snapshot, &site()), []);
    }
}
