//! Audits of captured machines, held against what they said when they were looked at; and what a capture must not say.
//!
//! `REGENERATE=1` writes the golden files anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use linerate_record::audit::{Audit, AuditCheck};

fn linerate(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_linerate")).args(args).output().expect("linerate runs")
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn captures() -> Vec<PathBuf> {
    let entries = fs::read_dir(repository().join("captures")).expect("captures");
    let mut all: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.join("capture.json").exists()).collect();
    all.sort();
    all
}

fn audit(root: &Path, more: &[&str]) -> String {
    let root = root.display().to_string();
    let out = linerate(&[&["audit", "--root", &root], more].concat());
    assert!(out.status.success(), "{root}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("UTF-8")
}

fn read(root: &Path) -> Audit {
    serde_json::from_str(&audit(root, &["--json"])).expect("an audit")
}

fn capture_of(name: &str) -> Audit {
    read(&repository().join("captures").join(name))
}

/// Every file below a folder, with its path relative to it.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a folder").flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                let path = entry.path().strip_prefix(folder).expect("below").display().to_string();
                found.push((path, fs::read_to_string(entry.path()).expect("text")));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_capture_is_audited_as_its_golden_file_says() {
    let all = captures();
    assert!(all.len() >= 3, "{all:?}");
    for capture in all {
        let text = audit(&capture, &["--all"]);
        let name = capture.file_name().and_then(|name| name.to_str()).expect("a name");
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/audit/{name}.txt"));
        if std::env::var_os("REGENERATE").is_some() {
            fs::create_dir_all(golden.parent().expect("a folder")).expect("made");
            fs::write(&golden, &text).expect("written");
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(text, expected, "{name}: REGENERATE=1 writes it anew");
    }
}

/// What one audit of this machine took.
struct Taken {
    processor_ms: u64,
    /// The most that it had, as far as it was looked at.
    memory_kb: u64,
    looks: u32,
}

fn audit_of_this_machine() -> Taken {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate"));
    let mut child = command.args(["audit", "--all"]).stdout(Stdio::null()).spawn().expect("it runs");
    let read_proc = |name: &str| fs::read_to_string(format!("/proc/{}/{name}", child.id())).unwrap_or_default();
    let (mut memory_kb, mut looks) = (0, 0);
    // Until it is waited for, a process that has ended keeps its times; its memory is gone, so that is looked at often.
    let fields = loop {
        let status = read_proc("status");
        // What it allocates: how much of a program's own file is mapped follows from how it was built.
        let taken = status.lines().find_map(|line| line.strip_prefix("RssAnon:")?.trim().strip_suffix(" kB"));
        if let Some(taken) = taken.and_then(|taken| taken.parse::<u64>().ok()) {
            (memory_kb, looks) = (memory_kb.max(taken), looks + 1);
        }
        let stat = read_proc("stat");
        let mut fields: Vec<String> =
            stat.rsplit(')').next().unwrap_or_default().split(' ').map(str::to_owned).collect();
        fields.remove(0);
        if fields.first().is_none_or(|state| state == "Z") {
            break fields;
        }
        assert!(looks < 20_000, "it does not end");
        std::thread::sleep(Duration::from_millis(1));
    };
    assert!(child.wait().expect("it ends").success());
    // Fields 14 and 15 of proc(5), in hundredths of a second (USER_HZ).
    let ticks = |field: usize| fields.get(field - 3).and_then(|text| text.parse::<u64>().ok()).expect("a time");
    Taken { processor_ms: (ticks(14) + ticks(15)) * 10, memory_kb, looks }
}

#[test]
fn an_audit_of_this_machine_takes_little_of_it() {
    const PROCESSOR_MS_MAX: u64 = 1000;
    // 10 MB in KiB, which the kernel calls kB.
    const MEMORY_KB_MAX: u64 = 10_000_000 / 1024;
    const LOOKS_MIN: u32 = 3;
    const RUNS_MAX: usize = 10;
    // It is over so soon that on a busy machine it may be hardly looked at: then another is.
    let mut runs: Vec<Taken> = Vec::new();
    while runs.len() < RUNS_MAX && runs.last().is_none_or(|taken| taken.looks < LOOKS_MIN) {
        runs.push(audit_of_this_machine());
    }
    for Taken { processor_ms, memory_kb, looks } in &runs {
        println!("{processor_ms} ms of processor time, {memory_kb} kB at most in {looks} looks");
        assert!(*processor_ms < PROCESSOR_MS_MAX, "{processor_ms} ms of processor time");
        assert!(*memory_kb < MEMORY_KB_MAX, "{memory_kb} kB");
    }
    let last = runs.last().expect("one at least");
    assert!(last.looks >= LOOKS_MIN && last.memory_kb > 1000, "{} kB in {} looks", last.memory_kb, last.looks);
}

#[test]
fn a_capture_of_a_capture_is_the_same_and_is_audited_the_same() {
    for capture in captures() {
        let folder = tempfile::tempdir().expect("a folder");
        let again = folder.path().join("again");
        let (from, to) = (capture.display().to_string(), again.display().to_string());
        let out = linerate(&["capture", "--root", &from, "-o", &to]);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        assert_eq!(read(&capture), read(&again), "{from}");
        let but_manifest = |folder: &Path| {
            let kept = files(folder).into_iter().filter(|(path, _)| path != "capture.json");
            kept.collect::<Vec<_>>()
        };
        assert_eq!(but_manifest(&capture), but_manifest(&again), "{from}");
    }
}

#[test]
fn this_machine_is_captured_and_audited_the_same_without_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("here").display().to_string();
    assert!(linerate(&["capture", "-o", &to]).status.success());
    let live: Audit = serde_json::from_slice(&linerate(&["audit", "--json"]).stdout).expect("an audit");
    let captured = read(Path::new(&to));
    let reported = |audit: &Audit| {
        let differences = audit.differences.iter().map(|d| (d.knob.clone(), d.devices.clone(), d.wanted.clone()));
        (differences.collect::<Vec<_>>(), audit.findings.clone(), audit.settings)
    };
    assert_eq!(reported(&live), reported(&captured));
    let out = linerate(&["capture", "-o", &to]);
    assert_eq!(out.status.code(), Some(2), "a folder that is not empty is refused");
    let text: String = files(Path::new(&to)).into_iter().map(|(path, text)| path + &text).collect();
    assert_eq!(secrets(&text), [""; 0]);
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim();
    assert!(host.len() < 4 || host == "localhost" || !text.contains(host), "the host's name is in it");
}

/// Words that are a MAC address, an IP address or an identifier.
fn secrets(text: &str) -> Vec<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || ":.-".contains(c);
    let words = text.split(|c: char| !is_word(c)).filter(|word| word.len() > 6);
    let is_hex = |part: &str| part.chars().all(|c| c.is_ascii_hexdigit());
    let is_mac =
        |word: &str| word.split(':').count() == 6 && word.split(':').all(|part| part.len() == 2 && is_hex(part));
    let is_uuid = |word: &str| {
        let lengths: Vec<usize> = word.split('-').map(str::len).collect();
        lengths == [8, 4, 4, 4, 12] && word.split('-').all(is_hex)
    };
    let found = words.filter(|word| is_mac(word) || is_uuid(word) || word.parse::<std::net::IpAddr>().is_ok());
    found.map(str::to_owned).collect()
}

#[test]
fn no_capture_says_whose_or_where_the_machine_was() {
    assert_eq!(secrets("a 52:54:00:12:34:56 b 10.9.8.7 c fe80::12:1 d").len(), 3, "the search itself finds");
    for capture in captures() {
        for (path, text) in files(&capture) {
            assert_eq!(secrets(&format!("{path} {text}")), [""; 0], "{}: {path}", capture.display());
            for word in ["storage-17-secret", "SERIALNUMBER", "secret", "password"] {
                assert!(!path.contains(word) && !text.contains(word), "{}: {path} has {word}", capture.display());
            }
        }
    }
}

#[test]
fn each_captured_machine_is_told_what_is_wrong_with_it() {
    let checks = |audit: &Audit| audit.findings.iter().map(|finding| finding.check).collect::<Vec<_>>();
    let apart = capture_of("numa-apart-6.1");
    assert!(checks(&apart).contains(&AuditCheck::NumaApart), "{:?}", apart.findings);
    assert!(checks(&apart).contains(&AuditCheck::BondSpread), "{:?}", apart.findings);
    let misspelt = capture_of("misspelt-5.10");
    let dead = misspelt.findings.iter().filter(|finding| finding.check == AuditCheck::DeadSetting);
    assert!(dead.count() >= 3, "{:?}", misspelt.findings);
    for check in [AuditCheck::Contradiction, AuditCheck::FileSystem, AuditCheck::BondSpread] {
        assert!(checks(&misspelt).contains(&check), "{check:?}");
    }
    let own = capture_of("own-network-6.12");
    assert_eq!(own.engines.len(), 1);
    let somaxconn = own.unreached.iter().find(|one| one.knob == "net.core.somaxconn").expect("told");
    assert_eq!((somaxconn.host.as_str(), somaxconn.engine_value.as_str()), ("65535", "4096"));
}

#[test]
fn check_ends_with_5_and_a_mistake_with_2() {
    let apart = repository().join("captures/numa-apart-6.1").display().to_string();
    assert_eq!(linerate(&["audit", "--root", &apart, "--check"]).status.code(), Some(5));
    assert_eq!(linerate(&["audit", "--profile", "nonesuch"]).status.code(), Some(2));
    assert_eq!(linerate(&["audit", "--root", "/nonesuch"]).status.code(), Some(2));
    assert_eq!(linerate(&["audit", "--root", &apart, "--pid", "1"]).status.code(), Some(2));
}

/// A captured machine again, in a folder of the test's.
fn copied(to: &Path) {
    let from = repository().join("captures/virtual-6.18").display().to_string();
    let out = linerate(&["capture", "--root", &from, "-o", &to.display().to_string()]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn what_is_no_capture_or_not_all_of_one_is_refused_and_no_all_clear() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    for name in ["empty", "files/proc", "files/sys"] {
        fs::create_dir_all(at(name)).expect("made");
    }
    for name in ["half", "newer", "broken", "parts"] {
        copied(&at(name));
    }
    fs::remove_file(at("half/proc/meminfo")).expect("removed");
    fs::remove_dir_all(at("parts/sys")).expect("removed");
    let manifest = fs::read_to_string(at("newer/capture.json")).expect("read");
    fs::write(at("newer/capture.json"), manifest.replace("\"schema\": 1", "\"schema\": 99")).expect("written");
    fs::write(at("broken/capture.json"), "{").expect("written");
    for (path, why) in [
        (PathBuf::from("/dev"), "no capture.json, no proc, no sys"),
        (at("empty"), "no capture.json, no proc, no sys"),
        (at("files"), "it has no capture.json;"),
        (at("parts"), "it has no sys;"),
        (at("half"), "1 of its "),
        (at("newer"), "schema is 99"),
        (at("broken"), "capture.json: "),
        (at("none"), "it is not a folder"),
    ] {
        let (root, to) = (path.display().to_string(), at("taken").display().to_string());
        for words in [&["audit", "--root", &root][..], &["audit", "--check", "--root", &root]] {
            let out = linerate(words);
            let reported = String::from_utf8_lossy(&out.stderr);
            assert!(out.status.code() == Some(2) && out.stdout.is_empty(), "{words:?}: {reported}");
            for part in [why, &format!("{root:?}"), "linerate capture"] {
                assert!(reported.contains(part), "{words:?}: {part}: {reported}");
            }
        }
        let out = linerate(&["capture", "--root", &root, "-o", &to]);
        assert!(out.status.code() == Some(2) && !at("taken").exists(), "{root}");
    }
}

#[test]
fn files_that_cannot_be_read_become_findings() {
    let folder = tempfile::tempdir().expect("a folder");
    copied(folder.path());
    for name in ["proc/sys/vm/swappiness", "proc/cpuinfo"] {
        let path = folder.path().join(name);
        fs::remove_file(&path).expect("it was there");
        fs::create_dir(&path).expect("made");
        fs::write(path.join("a-file"), "").expect("written");
    }
    let audit = read(folder.path());
    let reported = format!("{:?}", audit.unreadable);
    assert!(reported.contains("vm.swappiness") && reported.contains("proc/cpuinfo"), "{reported}");
}

#[test]
fn the_page_is_whole_and_has_what_the_json_has() {
    let root = repository().join("captures/misspelt-5.10");
    let (page, reported) = (audit(&root, &["--format", "html"]), read(&root));
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("default-src 'none'"));
    assert!(!page.contains("src=\"http") && !page.contains("{{"));
    for (at, difference) in reported.differences.iter().enumerate() {
        let figure = format!("data-field=\"differences.{at}.weight\" data-value=\"{}\"", difference.weight);
        assert!(page.contains(&figure), "{figure}");
    }
    for finding in &reported.findings {
        let claim = finding.claim.replace('&', "&amp;").replace('<', "&lt;").replace('\'', "&#39;");
        assert!(page.contains(&claim), "{claim}");
    }
}

/// What a captured machine says to values given by hand: its exit code, and all that it printed.
fn diff(root: &Path, values: &[&str]) -> (Option<i32>, String) {
    let root = root.display().to_string();
    let set = values.iter().flat_map(|&value| ["--set", value]);
    let out = linerate(&["tune", "diff", "--root", &root].into_iter().chain(set).collect::<Vec<_>>());
    let text = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (out.status.code(), text)
}

/// A copy of a captured machine with an id and the configuration of its kernel, which captures leave out.
fn configured(folder: &Path) {
    copied(folder);
    for (path, text) in [
        ("etc/machine-id", "0123456789abcdef0123456789abcdef\n"),
        ("boot/config-6.18.44-fc-v669", "CONFIG_HZ=250\n# CONFIG_NET_SCH_FQ is not set\nCONFIG_NET_SCH_FQ_CODEL=y\n"),
        ("sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n"),
    ] {
        std::fs::create_dir_all(folder.join(path).parent().expect("a folder")).expect("a folder is made");
        std::fs::write(folder.join(path), text).expect("a file is written");
    }
}

#[test]
fn values_that_the_kernel_of_a_machine_does_not_take_are_refused_with_its_bounds() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("machine");
    configured(&root);
    let empty_pages = "vm.transparent_hugepage.khugepaged.max_ptes_none";
    let pages = |count| format!("{empty_pages}={count}");
    let (code, said) = diff(
        &root,
        &[&pages(512), "net.core.default_qdisc=fq", "net.core.default_qdisc=cake", "net.ipv4.tcp_fin_timeout=8589935"],
    );
    for part in [
        "\"512\" cannot be: give 0 to 511",
        "this kernel has no fq: CONFIG_NET_SCH_FQ is not set in /boot/config-6.18.44-fc-v669",
        "this kernel has no cake: CONFIG_NET_SCH_CAKE is not set",
        "\"8589935\" cannot be: give 0 to 8589934",
    ] {
        assert!(code == Some(2) && said.contains(part), "{part}: {said}");
    }
    let (code, said) =
        diff(&root, &[&pages(510), "net.core.default_qdisc=fq_codel", "net.ipv4.tcp_fin_timeout=8589934"]);
    assert!(code == Some(0) && said.starts_with("3 changes for values by hand\n"), "{said}");

    let advised = |root: &Path| {
        let out = linerate(&["audit", "--all", "--root", &root.display().to_string()]);
        String::from_utf8_lossy(&out.stdout).contains("net.core.default_qdisc=fq")
    };
    assert!(!advised(&root), "an audit advises what the kernel has");
    std::fs::remove_dir_all(root.join("boot")).expect("it is there");
    assert!(advised(&root));
    let (code, said) = diff(&root, &["net.core.default_qdisc=fq"]);
    assert!(code == Some(0) && said.contains("set by hand; whether this kernel has fq is not known: "), "{said}");
}

#[test]
fn values_by_hand_that_undo_each_other_or_name_no_device_are_refused_with_the_fix() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("machine");
    configured(&root);
    for (values, parts) in [
        (
            &["vm.dirty_bytes=1073741824", "vm.dirty_ratio=10"][..],
            &["\"vm.dirty_bytes=1073741824\" and \"vm.dirty_ratio=10\"", "resets one to 0 when the other is"][..],
        ),
        (&["vm.dirty_background_ratio=5", "vm.dirty_background_bytes=536870912"], &["\"vm.dirty_background_ratio=5\""]),
        (&["nic.mtu=9000"], &["write nic.mtu@DEVICE=VALUE; devices here: eth0"]),
        (&["block.scheduler=none"], &["write block.scheduler@DEVICE=VALUE; devices here: "]),
        (&["bond.mode=802.3ad"], &["write bond.mode@DEVICE=VALUE; there is no such device here"]),
        (&["nic.mtu@nosuch=9000"], &["; devices here: eth0"]),
        (&["vm.swappiness@eth0=10"], &["it does not belong to a device: write vm.swappiness=VALUE"]),
    ] {
        let (code, said) = diff(&root, values);
        assert!(code == Some(2) && parts.iter().all(|part| said.contains(part)), "{values:?}: {said}");
    }
    let (code, said) = diff(&root, &["vm.swappiness= 10"]);
    assert!(code == Some(0) && said.starts_with("1 change for values by hand\n"), "{said}");
    assert!(said.contains("→ \"10\""), "{said}");
    assert_eq!(diff(&root, &["vm.dirty_bytes=1073741824", "vm.dirty_background_ratio=5"]).0, Some(0));
}

#[test]
fn a_profile_leaves_alone_what_is_set_by_hand_and_what_would_zero_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("machine");
    configured(&root);
    std::fs::write(root.join("proc/meminfo"), "MemTotal: 268435456 kB\n").expect("a file is written");
    let now = std::fs::read_to_string(root.join("proc/sys/vm/swappiness")).expect("it is there");
    let root = root.display().to_string();
    let swappiness = format!("vm.swappiness={}", now.trim());
    let out = linerate(&[
        "tune",
        "diff",
        "--root",
        &root,
        "--profile",
        "s3-storage-node",
        "--set",
        "vm.dirty_ratio=11",
        "--set",
        &swappiness,
    ]);
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(
        said.contains("vm.dirty_bytes: ") && said.contains("it would zero vm.dirty_ratio, which is set by hand"),
        "{said}"
    );
    assert!(!said.contains("vm.swappiness"), "{said}");
}

#[test]
fn a_folder_that_is_no_captured_machine_is_refused_by_tune_in_the_words_of_an_audit() {
    let folder = tempfile::tempdir().expect("a folder");
    for root in [Path::new("/nonesuch"), folder.path()] {
        let (code, said) = diff(root, &["vm.swappiness=10"]);
        let audit = linerate(&["audit", "--root", &root.display().to_string()]);
        assert_eq!((code, said.as_str()), (Some(2), String::from_utf8_lossy(&audit.stderr).as_ref()));
        assert!(said.contains("is not a captured machine") && !said.contains("machine-id"), "{said}");
    }
    let changes = folder.path().join("changes.json");
    let set = r#"{"schema": 1, "machine": "", "profile": "test", "changes": []}"#;
    fs::write(&changes, set).expect("a file is written");
    for root in [Path::new("/nonesuch"), folder.path()] {
        let out = Command::new(env!("CARGO_BIN_EXE_linerate"))
            .args(["tune", "apply", "--root"])
            .args([root, &changes])
            .env("LINERATE_STATE", folder.path().join("state"))
            .output()
            .expect("linerate runs");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.code() == Some(2) && said.contains("is not a captured machine"), "{said}");
        assert!(!folder.path().join("state").exists(), "{said}");
    }
    let root = folder.path().join("machine");
    copied(&root);
    let (code, said) = diff(&root, &["vm.swappiness=10"]);
    assert!(code == Some(2) && said.contains("has no etc/machine-id") && !said.contains("setup"), "{said}");
}
