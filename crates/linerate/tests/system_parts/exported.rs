//! What `linerate tune export` prints, given to the tools that it is for.
//!
//! `sysctl` reads its file, `systemd-tmpfiles` writes the settings of a captured machine, `udevadm` those of an
//! interface in a network namespace, TuneD's own loader reads the profile, and Kubernetes' own types the pod.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Output};

use libtest_mimic::Failed;
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use super::tune::{Ground, OF_A_NAMESPACE, moved};
use crate::running::agents::CAPTURE;
use crate::running::shown;

/// Settings of a captured machine, each with its file, what stands there, and what it is to be.
const SETTINGS: [(&str, &str, &str, &str); 4] = [
    ("vm.swappiness", "proc/sys/vm/swappiness", "60", "10"),
    ("net.ipv4.tcp_rmem", "proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456", "4096 131072 33554432"),
    ("block.read_ahead_kb@sda", "sys/block/sda/queue/read_ahead_kb", "128", "4096"),
    ("nic.mtu@lab0", "sys/class/net/lab0/mtu", "1500", "1400"),
];

/// Reads rules from its standard input, and those alone: no folder of rules of the machine is seen. It changes `/run`
/// in a mount namespace of its own, which `unshare` makes private.
const UDEV_TEST: &str = "set -eu
mount -t tmpfs none /run
mkdir -p /run/udev/rules.d
cat > /run/udev/rules.d/99-linerate.rules
for folder in /etc /usr/lib /usr/local/lib; do
    [ ! -d $folder/udev/rules.d ] || mount -t tmpfs none $folder/udev/rules.d
done
exec udevadm test --action=add /sys/class/net/lab0 < /dev/null";

/// What `udevadm` says of a file of rules in any case.
const READING: &str = "Reading rules file: /run/udev/rules.d/99-linerate.rules";

/// TuneD's folder of Python, a folder of profiles: the options of the profile's units, as JSON.
const TUNED_LOAD: &str = "import json, sys
sys.path.insert(0, sys.argv[1])
from tuned.profiles import *
from tuned.profiles.variables import Variables
variables = Variables()
profile = Loader(Locator([sys.argv[2]]), Factory(), Merger(), None, variables).load(['linerate'])
options = {n: {k: variables.expand(v) for k, v in unit.options.items()} for n, unit in profile.units.items()}
print(json.dumps(options))";

/// A captured machine, and a file of changes of it.
struct Made {
    ground: Ground,
    root: TempDir,
    changes: String,
}

impl Made {
    fn new(settings: &[(&str, &str, &str, &str)]) -> Result<Made, Failed> {
        let (ground, root) = (Ground::machine(), tempdir()?);
        let changes = ground.state.path().join("changes.json").to_string_lossy().into_owned();
        let machine = ("", "etc/machine-id", "0123456789abcdef0123456789abcdef", "");
        let folder = root.path().to_string_lossy().into_owned();
        let mut words = ["tune", "diff", "--root", &folder, "-o", &changes].map(str::to_owned).to_vec();
        fs::create_dir_all(root.path().join("sys"))?;
        let manifest = ("", "capture.json", CAPTURE, "");
        for (knob, path, now, new) in settings.iter().chain([&machine, &manifest]) {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            fs::write(path, format!("{now}\n"))?;
            if !knob.is_empty() {
                words.extend(["--set".to_owned(), format!("{knob}={new}")]);
            }
        }
        ground.done(&words.iter().map(String::as_str).collect::<Vec<_>>());
        Ok(Made { ground, root, changes })
    }

    fn export(&self, format: &str) -> String {
        self.ground.done(&["tune", "export", "--format", format, &self.changes])
    }

    /// A file of the text that a format has for the changes.
    fn file(&self, format: &str) -> Result<PathBuf, Failed> {
        let path = self.ground.state.path().join("made.conf");
        fs::write(&path, self.export(format))?;
        Ok(path)
    }
}

/// A program with a text on its standard input.
fn fed(mut command: Command, text: &str) -> Result<Output, Failed> {
    let folder = tempdir()?;
    let path = folder.path().join("input");
    fs::write(&path, text)?;
    Ok(command.stdin(File::open(path)?).output()?)
}

pub(crate) fn to_sysctl_and_tmpfiles() -> Result<(), Failed> {
    let made = Made::new(&SETTINGS)?;
    let output = Command::new("sysctl").args(["--dry-run", "--load"]).arg(made.file("sysctl.d")?).output()?;
    let text = shown(&output);
    assert!(output.status.success() && text.contains("vm.swappiness = 10"), "{text}");
    assert!(text.contains("net.ipv4.tcp_rmem = 4096 131072 33554432"), "{text}");

    let mut tmpfiles = Command::new("systemd-tmpfiles");
    let root = format!("--root={}", made.root.path().display());
    let output = tmpfiles.args(["--create", &root]).arg(made.file("systemd")?).output()?;
    assert!(output.status.success(), "{}", shown(&output));
    for (_, path, _, new) in SETTINGS {
        assert_eq!(fs::read_to_string(made.root.path().join(path))?.trim_end(), new, "{path}");
    }
    Ok(())
}

/// `udevadm test` reads every rule and does what those of the device say, to an interface of a namespace.
pub(crate) fn to_udev() -> Result<(), Failed> {
    let rules = Made::new(&SETTINGS)?.export("udev");
    let space = Ground::namespace("u");
    let reported = udev_says(&space, &rules)?;
    assert!(
        reported.len() == 1 && reported[0].contains("/mtu'") && reported[0].contains("'1400'"),
        "{reported:?} of\n{rules}"
    );
    assert_eq!(mtu(&space), "1400", "{reported:?} of\n{rules}");

    // It can tell: a rule with its last quote cut off is named, and not done.
    for (value, mtu_then) in [("4096", "1400"), ("1400", "1500")] {
        space.link(&["set", "lab0", "mtu", "1500"]);
        let line = rules.lines().position(|line| line.ends_with(&format!("\"{value}\""))).ok_or("no such rule")?;
        let reported = udev_says(&space, &rules.replace(&format!("\"{value}\""), &format!("\"{value}")))?;
        let named = format!("99-linerate.rules:{} Invalid", line + 1);
        assert!(reported.iter().any(|line| line.contains(&named)), "{named}: {reported:?}");
        assert_eq!(mtu(&space), mtu_then, "{value}: {reported:?}");
    }
    Ok(())
}

/// What `udevadm` says about the file of rules: a line for each that is done, or cannot be read.
fn udev_says(space: &Ground, rules: &str) -> Result<Vec<String>, Failed> {
    let name = space.namespace.as_deref().unwrap_or_default();
    let mut command = Command::new("ip");
    command.args(["netns", "exec", name, "unshare", "--mount", "--propagation", "private", "sh", "-c", UDEV_TEST]);
    command.env("SYSTEMD_LOG_TARGET", "console").env("SYSTEMD_LOG_LEVEL", "debug");
    let output = fed(command, rules)?;
    let text = shown(&output);
    assert!(output.status.success() && text.contains(READING), "{text}");
    let about = |line: &&str| line.contains("99-linerate.rules") && !line.starts_with(READING);
    Ok(text.lines().filter(about).map(str::to_owned).collect())
}

fn mtu(space: &Ground) -> String {
    let text = space.link(&["show", "lab0"]);
    text.split_once(" mtu ").and_then(|(_, rest)| rest.split(' ').next()).unwrap_or_default().to_owned()
}

/// Where `make test-system` has unpacked TuneD: its folder of Python.
pub(crate) fn tuned() -> Option<PathBuf> {
    std::env::var_os("TUNED").map(PathBuf::from).filter(|path| path.is_dir())
}

pub(crate) fn to_tuned() -> Result<(), Failed> {
    let tuned = tuned().ok_or("no TuneD: make test-system unpacks Debian's, or set TUNED to its folder of Python")?;
    let made = Made::new(&SETTINGS)?;
    let (profiles, text) = (tempdir()?, made.export("tuned"));
    fs::create_dir(profiles.path().join("linerate"))?;
    fs::write(profiles.path().join("linerate/tuned.conf"), &text)?;
    let mut python = Command::new("python3");
    let output = python.args(["-B", "-c", TUNED_LOAD]).args([&tuned, profiles.path()]).output()?;
    assert!(output.status.success(), "{}\n{text}", shown(&output));
    let wanted = json!({
        "sysctl": { "vm.swappiness": "10", "net.ipv4.tcp_rmem": "4096 131072 33554432" },
        "sysfs": { "/sys/block/sda/queue/read_ahead_kb": "4096", "/sys/class/net/lab0/mtu": "1400" },
    });
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout)?, wanted, "{text}");
    Ok(())
}

/// What `make test-system` has built of `pod/`.
pub(crate) fn pod() -> Option<PathBuf> {
    std::env::var_os("POD").map(PathBuf::from).filter(|path| path.is_file())
}

/// A pod with this security context.
fn described(security_context: &str) -> String {
    let head = "apiVersion: v1\nkind: Pod\nmetadata: { name: p }\nspec:\n  containers: [{ name: c, image: i }]\n";
    security_context.lines().fold(head.to_owned(), |text, line| format!("{text}  {line}\n"))
}

pub(crate) fn to_a_pod() -> Result<(), Failed> {
    let program = pod().ok_or("POD is not set: make test-system builds tests/system_parts/pod")?;
    let machine = Ground::machine();
    let of_pods = sysctls_of_a_namespace(&machine)?;
    let (mut settings, mut wanted) = (Vec::new(), BTreeMap::new());
    for name in OF_A_NAMESPACE {
        let Some(now) = machine.sysctl(name) else { continue };
        let now = String::from_utf8_lossy(&now).trim_end().to_owned();
        let new = moved(name, &now);
        if new == now {
            continue;
        }
        if of_pods.contains(name) {
            wanted.insert(name.to_owned(), new.clone());
        }
        settings.push((name, format!("proc/sys/{}", name.replace('.', "/")), now, new));
    }
    assert!(wanted.len() >= 20, "{wanted:?}");
    let mut rows: Vec<_> = settings.iter().map(|(n, path, now, new)| (*n, path.as_str(), &**now, &**new)).collect();
    rows.push(SETTINGS[0]);
    let text = described(&Made::new(&rows)?.export("pod"));
    let output = fed(Command::new(&program), &text)?;
    assert!(output.status.success(), "{}\n{text}", shown(&output));
    let reported = String::from_utf8(output.stdout)?;
    let reported: BTreeMap<_, _> =
        reported.lines().filter_map(|line| line.split_once('=')).map(|(n, v)| (n.to_owned(), v.to_owned())).collect();
    assert_eq!(reported, wanted, "{text}");

    let first = "- name: net.core.somaxconn";
    for (altered, part) in [
        (text.replace("sysctls:", "sysctl:"), "unknown field"),
        (text.replace("value:", "values:"), "unknown field"),
        (text.replace(first, "- name: net.core.SOMAXCONN"), "invalid name"),
        (text.replace(first, "- name: net.ipv4.tcp_sack"), "duplicate name"),
        (text.replace('"', ""), "cannot unmarshal number"),
    ] {
        let output = fed(Command::new(&program), &altered)?;
        assert!(
            altered != text && !output.status.success() && shown(&output).contains(part),
            "{part}: {}",
            shown(&output)
        );
    }
    // Every one of the catalogue has a name that pods may give.
    let mut text = "securityContext:\n  sysctls:\n".to_owned();
    for name in &of_pods {
        let _ = writeln!(text, "    - name: {name}\n      value: \"1\"");
    }
    let reported = shown(&fed(Command::new(&program), &described(&text))?);
    assert!(reported.lines().eq(of_pods.iter().map(|name| format!("{name}=1"))), "{reported}");
    Ok(())
}

/// Those of the whole catalogue.
fn sysctls_of_a_namespace(machine: &Ground) -> Result<BTreeSet<String>, Failed> {
    let knobs: Vec<Value> = serde_json::from_str(&machine.done(&["knobs", "--json"]))?;
    let sysctls = knobs.iter().filter(|k| k["scope"] == "network-namespace" && k["locator"]["kind"] == "sysctl");
    let names: BTreeSet<_> = sysctls.filter_map(|k| k["locator"]["name"].as_str()).map(str::to_owned).collect();
    assert!(names.len() >= 30, "{names:?}");
    Ok(names)
}
