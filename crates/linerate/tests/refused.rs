//! What is refused before anything is reached, and in which words. No root, nothing changed on the machine.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::tempdir;

use crate::running::{ACCESS_KEY, SECRET_KEY, Served, files_below, linerate, serving, shown, words};

/// The binary in a folder of its own and with keys, as a shell would start it.
fn typed(place: &Path, line: &str) -> Command {
    let mut command = linerate();
    command.env("HOME", place).env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    command.current_dir(place).args(words(line));
    command
}

/// The exit code of a line, and all that it said.
fn said(mut command: Command) -> (Option<i32>, String) {
    let output = command.output().expect("linerate runs");
    (output.status.code(), shown(&output))
}

/// What needs no traffic is looked at by one list, so that a dry run passes nothing that the run refuses.
#[test]
fn a_verb_that_there_is_not_is_quoted_beside_those_that_there_are() {
    for (line, parts) in [
        ("foo", &["subcommand 'foo'", "tip: write one of bench, report, runs, "][..]),
        ("tune foo", &["subcommand 'foo'", "tip: write one of diff, apply, "]),
        ("benhc", &["subcommand 'benhc'", "a similar subcommand exists: 'bench'"]),
        ("tune log foo", &["no application of changes is named \"foo\": see linerate tune log"]),
        ("target embedded", &["the embedded target needs keys for signed requests", "set AWS_ACCESS_KEY_ID"]),
        ("target null --listen 127.0.0.1", &["invalid value '127.0.0.1' for '--listen"]),
    ] {
        let place = tempdir().expect("a folder");
        let output = linerate().env("HOME", place.path()).args(words(line)).output().expect("linerate runs");
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{line}: {reported}");
        assert!(parts.iter().all(|part| reported.contains(part)), "{line}: {reported}");
        assert!(!reported.contains("watch") && !reported.contains("--anonymous"), "{line}: {reported}");
    }
    // A word that may be a key goes unquoted there too.
    for word in ["AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI", "correcthorsebatterystaple"] {
        let reported = shown(&linerate().arg(word).output().expect("linerate runs"));
        assert!(!reported.contains(word) && reported.contains("may be a key"), "{reported}");
    }
}

#[test]
fn what_nobody_can_read_is_no_success_and_a_reader_that_goes_is_no_failure() {
    let place = tempdir().expect("a folder");
    let sh = |script: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", script]).env("LINERATE", linerate().get_program()).current_dir(place.path());
        let output = command.output().expect("sh runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (script, code) in [
        ("\"$LINERATE\" knobs vm.swappiness >/dev/full", 1),
        ("\"$LINERATE\" knobs >/dev/null", 0),
        ("\"$LINERATE\" knobs <>/dev/null >&0", 0),
        ("{ \"$LINERATE\" knobs; echo $? >&2; } | head -n 1", 0),
    ] {
        let (ended, reported) = sh(script);
        assert_eq!(ended, Some(code), "{script}: {reported}");
        assert_eq!(reported.contains("error: failed to write to standard output: "), code == 1, "{script}: {reported}");
        assert!(!script.starts_with('{') || reported.trim() == "0", "{script}: {reported}");
    }
}

#[test]
fn a_dry_run_refuses_what_the_run_would_refuse_in_the_same_words() {
    let target = Served::null();
    let used = target.address.clone();
    let over_tls = format!("--host https://{used}");
    let here = format!("--host {used}");
    for (flags, code, parts) in [
        (format!("{here} --source 192.0.2.7"), 2, &["--source \"192.0.2.7\" is not an address of this machine"][..]),
        (format!("{here} -o full"), 2, &["full is not empty: name a new folder with --output"]),
        (format!("{here} -o full/file"), 1, &["failed to use as run folder full/file"]),
        (format!("{here} -o full/file/below"), 1, &["full/file/below: ", "ot a directory"]),
        (format!("{here} --metrics {used}"), 2, &["cannot serve --metrics on", "name a free address of this machine"]),
        (format!("{here} --metrics 192.0.2.7:0"), 2, &["cannot serve --metrics on 192.0.2.7:0"]),
        (format!("{here} --insecure"), 2, &["--insecure is for TLS, and"]),
        (format!("{here} --ca-file full/file"), 2, &["--ca-file is for TLS, and"]),
        (format!("{over_tls} --ca-file none.pem"), 2, &["failed to read --ca-file none.pem"]),
        (format!("{over_tls} --ca-file full/file"), 2, &["--ca-file full/file is not a PEM certificate"]),
        ("--host https://[::1]:9 --lookup host".into(), 2, &["\"linerate-bench.[::1]\" cannot be named in TLS"]),
        (
            "--op get --list-existing".into(),
            2,
            &["--list-existing reads existing objects", "own embedded target starts"],
        ),
        ("--target null --op get --list-existing".into(), 2, &["own null target starts empty: give --host"]),
        ("-o /proc/x".into(), 1, &["failed to make run folder /proc/x: it belongs to the kernel and stores no files"]),
        ("-o /sys/x".into(), 1, &["failed to make run folder /sys/x: it belongs to the kernel"]),
        ("--lookup host".into(), 2, &["own embedded target has an address: drop it"]),
        ("--target null --tls --lookup host".into(), 2, &["own null target has an address: drop it"]),
        (
            "--op get,put --range-size 128KiB".into(),
            2,
            &["--range-size 128 KiB is longer than objects of 64 KiB: give a shorter range"],
        ),
        (
            "--op put --obj.size 64MiB --max-rate 1MiB/s".into(),
            2,
            &["--max-rate 1048576B/s is too low to measure anything: one body of 64.0 MiB takes more than the 1 s"],
        ),
        (
            "--op put --obj.size 1MiB --max-rate 0.05/s".into(),
            2,
            &["--max-rate 0.05/s is too low to measure anything in 1 s: give --duration 20s or more, or a higher rate"],
        ),
        ("--op mixed --obj.size 4096:3,8192:1 --range-size 8193".into(), 2, &["longer than objects of 4096:3,8192:1"]),
        ("--drive none".into(), 2, &["--drive none: No such file", "name a folder that you can write to"]),
        ("--drive full/file".into(), 2, &["--drive full/file: not a directory"]),
        (
            format!("{over_tls} --ca-file none.pem --source 192.0.2.7 -o full --insecure --op get,copy"),
            2,
            &["\"copy\""],
        ),
        (
            format!("{over_tls} --ca-file none.pem --source 192.0.2.7 -o full"),
            2,
            &["3 mistakes", "none.pem", "192.0.2.7", "full is not empty"],
        ),
    ] {
        let place = tempdir().unwrap();
        fs::create_dir(place.path().join("full")).unwrap();
        fs::write(place.path().join("full/file"), "no certificate\n").unwrap();
        let op = if flags.contains("--op") { "" } else { "--op put" };
        let line = format!("bench --concurrent 1 --duration 1s {op} {flags}");
        let dry = said(typed(place.path(), &format!("{line} --dry-run")));
        assert_eq!(dry.0, Some(code), "{line}: {}", dry.1);
        assert!(parts.iter().all(|part| dry.1.contains(part)), "{line}: {}", dry.1);
        assert_eq!(said(typed(place.path(), &line)), dry, "{line}");
        assert_eq!(files_below(place.path()), ["full/file"], "{line}");
    }
}

#[test]
fn a_run_of_links_is_refused_before_anything_is_reached_and_so_is_its_dry_run() {
    let secret = format!("-o links-{SECRET_KEY}");
    for (flags, parts) in [
        ("--become sudo", &["--become 'sudo': no node of fleet.yaml is reached by ssh://"][..]),
        ("-o full", &["full is not empty: name a new folder with --output"]),
        (&secret, &["--output contains the secret key", "stored in the run folder"]),
        ("--network 10.77.0.0", &["such as 10.77.0.0/24"]),
        ("--max-rate 100M", &["write 100Mb/s"]),
        ("-t 10 -P 4 -R", &["3 mistakes", "write --duration 10s", "write --streams 4", "both directions are measured"]),
        ("--bidir --visits 0", &["2 mistakes", "write --both-ways", "'--visits <N>'"]),
        ("host-a host-b", &["a word that is not quoted", "nodes:\n", "{name: 'host{1...2}', role: client}"]),
    ] {
        for dry in ["", " --dry-run"] {
            let place = tempdir().expect("a folder");
            fs::create_dir(place.path().join("full")).expect("a folder");
            fs::write(place.path().join("full/file"), "").expect("written");
            let nodes =
                "nodes:\n  - {name: m1, role: client, reach: here}\n  - {name: m2, role: client, reach: here}\n";
            fs::write(place.path().join("fleet.yaml"), nodes).expect("written");
            let line = format!("net --fleet fleet.yaml {flags}{dry}");
            let (code, reported) = said(typed(place.path(), &line));
            assert_eq!(code, Some(2), "{line}: {reported}");
            assert!(parts.iter().all(|part| reported.contains(part)), "{line}: {reported}");
            assert!(!reported.contains("host-a") && !reported.contains(SECRET_KEY), "{line}: {reported}");
            assert_eq!(files_below(place.path()), ["fleet.yaml", "full/file"], "{line}");
        }
    }
}

#[test]
fn a_dry_run_of_links_names_each_number_of_streams_once_and_is_text() {
    let place = tempdir().expect("a folder");
    let nodes = "nodes:\n  - {name: m1, role: client, reach: here}\n  - {name: m2, role: client, reach: here}\n";
    fs::write(place.path().join("fleet.yaml"), nodes).expect("written");
    let (code, reported) = said(typed(place.path(), "net --fleet fleet.yaml --dry-run --streams 1,1,8 --visits 1"));
    assert!(
        code == Some(0) && reported.contains("streams  1, 8, 1 visits") && reported.contains("takes    12.0 s"),
        "{reported}"
    );
    let (code, reported) = said(typed(place.path(), "net --fleet fleet.yaml --dry-run --preset source-002 --visits 1"));
    assert_eq!((code, reported.matches(" takes    ").count()), (Some(0), 4), "{reported}");
    for part in [
        "preset   source-002-b stands for --op udp --max-rate 20Gb/s --gso off --one-way --streams 1",
        "wins over --visits 3",
        "streams  2, 30, 1 visits",
    ] {
        assert!(reported.contains(part), "{part}: {reported}");
    }
    let (code, reported) = said(typed(place.path(), "net --fleet fleet.yaml --dry-run --streams search --visits 2"));
    for part in ["streams  1, 2 …, 2 visits of each", "takes    24.0 s for each of up to 8 steps, or longer"] {
        assert!(code == Some(0) && reported.contains(part), "{part}: {reported}");
    }
    let (code, reported) = said(typed(place.path(), "net --fleet fleet.yaml --streams 1,some"));
    assert!(code == Some(2) && reported.contains("\"some\" is no number from 1 to 256, nor search"), "{reported}");
    let (code, reported) = said(typed(place.path(), "net --fleet fleet.yaml --dry-run --json"));
    assert!(code == Some(2) && reported.contains("cannot be used with '--json'"), "{reported}");
}

#[test]
fn a_dry_run_of_pods_names_their_classes_and_counts_rounds_by_each_way() {
    let place = tempdir().expect("a folder");
    let nodes = "nodes:\n  - {name: 'p{1...2}', role: client, reach: 'kube://x/{name}', host: 'n{1...2}', \
                 service: '10.96.0.{7...8}:5301'}\n";
    fs::write(place.path().join("fleet.yaml"), nodes).expect("written");
    let (code, reported) = said(typed(place.path(), "net --fleet fleet.yaml --port 5301 --dry-run"));
    assert_eq!(code, Some(0), "{reported}");
    for part in [
        "rounds   2, 4 with each way to receivers: 4 pairs, up to 1 at once\n",
        "classes  other/pod-pod, other/pod-pod/service\n streams",
    ] {
        assert!(reported.contains(part), "{part}: {reported}");
    }
}

#[test]
fn a_dry_run_wants_keys_as_the_run_does() {
    for (remove, part) in [
        (&["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"][..], "no credentials: set AWS_ACCESS_KEY_ID"),
        (&["AWS_SECRET_ACCESS_KEY"], "an access key without its secret key"),
        (&["AWS_ACCESS_KEY_ID"], "a secret key without its access key"),
    ] {
        for dry in ["--dry-run", ""] {
            let place = tempdir().unwrap();
            let mut command = typed(place.path(), &format!("bench --host 127.0.0.1:9 --op put {dry}"));
            for name in remove {
                command.env_remove(name);
            }
            let (code, said) = said(command);
            assert!(code == Some(2) && said.contains(part), "{remove:?} {dry}: {said}");
        }
    }
    let place = tempdir().unwrap();
    let mut command = typed(place.path(), "bench --host 127.0.0.1:9 --op put --anonymous --payload unsigned --dry-run");
    command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY");
    assert_eq!(said(command).0, Some(0));
}

#[test]
fn a_dry_run_says_that_consent_will_be_wanted() {
    let place = tempdir().unwrap();
    for (host, consent) in [
        ("192.0.2.1:9000", Some("consent  192.0.2.1:9000 is not this machine: the run asks on a terminal, and needs")),
        ("minio.invalid:9000", Some("consent  minio.invalid:9000 may not be this machine")),
        ("192.0.2.1:9000 --yes-load", None),
        ("localhost:9", None),
        ("127.0.0.1:9", None),
    ] {
        let (code, said) = said(typed(place.path(), &format!("bench --host {host} --op put --dry-run")));
        assert_eq!(code, Some(0), "{host}: {said}");
        assert_eq!(said.contains("consent"), consent.is_some(), "{host}: {said}");
        assert!(said.contains(consent.unwrap_or_default()), "{host}: {said}");
    }
}

#[test]
fn a_dry_run_tells_what_would_be_written_and_does_nothing() {
    let place = tempdir().unwrap();
    let reported = |flags: &str| {
        let (code, said) = said(typed(place.path(), &format!("bench --dry-run {flags}")));
        assert_eq!(code, Some(0), "{flags}: {said}");
        said
    };
    let text = reported("--host 192.0.2.1:9000 --op get,put,stat --concurrent 4");
    for part in [
        "192.0.2.1:9000",
        "get 64KiB",
        "stat 4KiB",
        "5 points of get, put, stat",
        "writes   578 MiB in 2128 objects beforehand and by put",
        "about 10 min 00 s in 12 rounds of visits of 10.0 s",
        "nothing was contacted, written or deleted",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(reported("").contains("embedded target"));
    assert!(files_below(place.path()).is_empty());
    let refused = |line: &str| {
        let (code, said) = said(typed(place.path(), line));
        assert_eq!(code, Some(2), "{line}: {said}");
        said
    };
    let consent = refused("bench --host 192.0.2.1:9000 --op get --concurrent 4");
    assert!(consent.contains("written: 574 MiB in 1128 objects beforehand, which is deleted again"), "{consent}");
    assert!(refused("bench --dry-run --op get --mix get=1").contains("--mix gives the weights"));
}

/// Numbers that the kernel does not take, and names that it does not know, before a file is written.
#[test]
fn values_that_the_kernel_would_refuse_are_no_changes() {
    let place = tempdir().unwrap();
    let line = "tune diff -o changes.json --set vm.swappiness=201 --set net.ipv4.tcp_congestion_control=banana";
    let (code, said) = said(typed(place.path(), line));
    assert_eq!(code, Some(2), "{said}");
    for part in ["2 mistakes", "\"201\" cannot be: give 0 to 200", "\"banana\" is unknown to this kernel, which has"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(files_below(place.path()).is_empty());
    let line = "tune diff -o changes.json --set net.core.default_qdisc=nonsense --set net.core.somaxconn=0 --set \
                net.core.rmem_max=4294967296 --set kernel.pid_max=1 --set net.core.wmem_max=1";
    let (code, said) = self::said(typed(place.path(), line));
    assert_eq!(code, Some(2), "{said}");
    for part in [
        "5 mistakes",
        "\"nonsense\" is not one of pfifo_fast, ",
        "\"0\" cannot be: give 1 to 2147483647",
        "\"4294967296\" cannot be: give 2304 to 2147483647",
        "\"1\" cannot be: give 301 to 4194304",
        "\"1\" cannot be: give 4608 to 2147483647",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(files_below(place.path()).is_empty());
    let mut command = typed(place.path(), "tune diff --set");
    command.arg("net.ipv4.tcp_rmem=6291456 131072 4096");
    let (code, said) = self::said(command);
    assert!(code == Some(2) && said.contains("\"6291456 131072 4096\" does not rise"), "{said}");
}

/// What nothing is reached for.
#[test]
fn what_cannot_be_meant_is_refused_and_quoted() {
    for (line, parts) in [
        ("", &["error: no command behind \"linerate\": type linerate bench"][..]),
        ("tune", &["error: no command behind \"linerate tune\""]),
        ("bench --op get,get", &["--op \"get,get\" names get twice"]),
        ("bench --op get --slo p99=10ms,p99=20ms", &["\"p99=10ms,p99=20ms\"", "each percentile one bound"]),
        ("bench --op get --concurrent 1 --duration 10ms", &["--duration \"10ms\" is too short"]),
        ("bench --op get --timeout 0s", &["--timeout \"0s\" fails every request"]),
        ("bench --host ::1:9000", &["ambiguous host \"::1:9000\": write [::1]:9000"]),
        ("render s.yaml -o d --context a", &["--context a belongs to --diff"]),
        ("render s.yaml -o d --yes-exec", &["--yes-exec belongs to --diff"]),
        ("clean none --timeout 0s", &["--timeout \"0s\" fails every request"]),
        ("tune rollback nosuch", &["no application of changes is named \"nosuch\""]),
        ("audit --netns nosuch", &["--netns \"nosuch\": there is no network namespace \"nosuch\""]),
        ("audit --pid 4194303", &["--pid \"4194303\": there is no process"]),
        ("warp get --host h:1", &["\"get\" is a command of warp: write linerate bench --op get"]),
        ("warp", &["\"warp\" is another tool"]),
    ] {
        let place = tempdir().unwrap();
        let (code, said) = said(typed(place.path(), line));
        assert_eq!(code, Some(2), "{line}: {said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{line}: {said}");
    }
    let place = tempdir().unwrap();
    let (_, said) = said(typed(place.path(), ""));
    assert!(said.trim_end().lines().last().is_some_and(|line| line.starts_with("error: no command")), "{said}");
}

#[test]
fn a_switch_of_the_environment_is_understood_or_refused() {
    for (value, code, part) in [
        ("yes", 3, "failed to speak TLS with"),
        ("true", 3, "failed to speak TLS with"),
        ("off", 2, "--ca-file is for TLS"),
        ("perhaps", 2, "invalid WARP_TLS=\"perhaps\" in the environment: write true or false"),
    ] {
        let (place, target, trusted) = (tempdir().unwrap(), Served::null(), Served::start("null", None, "--tls"));
        let line = format!("bench --host {} --op put --concurrent 1 --ca-file {}", target.address, trusted.ca);
        let mut command = typed(place.path(), &line);
        command.env("WARP_TLS", value);
        let (ended, said) = said(command);
        assert!(ended == Some(code) && said.contains(part), "{value}: {ended:?} {said}");
    }
}

/// The first calls name the host, and what to do.
#[test]
fn a_first_call_that_fails_names_its_host_and_the_remedy() {
    let (drive, place) = (tempdir().unwrap(), tempdir().unwrap());
    let target = Served::embedded(drive.path());
    for (host, parts) in [
        ("127.0.0.1:9".to_owned(), ["failed to reach 127.0.0.1:9: ", "nothing listens there"]),
        ("nosuch.invalid:9 --yes-load".to_owned(), ["\"nosuch.invalid:9\": ", "check the name"]),
        (format!("{} --secret-key wrong", target.address), [&target.address, "check --secret-key"]),
        (format!("https://{}", target.address), [&target.address, "without --tls"]),
    ] {
        let (code, said) = said(typed(place.path(), &format!("bench --host {host} --op put --concurrent 1")));
        assert_eq!(code, Some(3), "{host}: {said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{host}: {said}");
    }
}

#[test]
fn whom_to_believe_is_asked_of_no_run_over_plain_http() {
    let (place, target) = (tempdir().unwrap(), Served::null());
    let flags = "--op put --obj.size 1000 --concurrent 1 --duration 300ms --warmup 100ms --no-ceiling -o run";
    let (code, reported) = said(typed(place.path(), &format!("bench --host {} {flags}", target.address)));
    assert_eq!(code, Some(0), "{reported}");
    for flag in ["--insecure", "--ca-file none.pem"] {
        let (code, said) = said(typed(place.path(), &format!("clean run {flag}")));
        assert!(code == Some(2) && said.contains("is for TLS, and the run in run was over plain HTTP"), "{said}");
    }
}

#[test]
fn a_dry_run_names_the_bucket_and_what_keys_begin_with() {
    let place = tempdir().unwrap();
    for (flags, named) in [
        ("-o here", "objects  s3://linerate-bench/linerate-here-xxxxxxxx/, with random digits for each x\n"),
        ("-o here --bucket b-1 --prefix a/", "objects  s3://b-1/a/linerate-here-xxxxxxxx/,"),
        ("-o here --bucket b-1 --prefix a", "objects  s3://b-1/alinerate-here-xxxxxxxx/,"),
        (
            "-o here --host 127.0.0.1:9 --bucket b-1 --prefix a --list-existing",
            "objects  s3://b-1/a, existing objects\n",
        ),
    ] {
        let (code, said) = said(typed(place.path(), &format!("bench --op get {flags} --dry-run")));
        assert!(code == Some(0) && said.contains(named), "{flags}: {said}");
    }
}

#[test]
fn a_range_that_some_objects_are_as_long_as_is_taken() {
    let place = tempdir().unwrap();
    for flags in [
        "--op get --range-size 64KiB",
        "--op get --obj.size random:1KiB-1MiB --range-size 64KiB",
        "--op put,get --obj.size 4096:3,8192:1 --range-size 8KiB",
    ] {
        let (code, said) = said(typed(place.path(), &format!("bench {flags} --dry-run")));
        assert_eq!(code, Some(0), "{flags}: {said}");
    }
}

#[test]
fn a_negative_number_is_quoted_with_what_is_to_be_written() {
    let place = tempdir().unwrap();
    for (line, part) in [
        ("bench --concurrent -1", "\"-1\""),
        ("bench --threads -1", "'-1' for '--threads <N>'"),
        ("bench --duration -1", "'-1' for '--duration <TIME>'"),
        ("bench --range-size -1", "'-1' for '--range-size <SIZE>'"),
        ("experiment --settle -1", "'-1' for '--settle <TIME>'"),
        ("experiment --measure x", "'x' for '--measure <TIME>'"),
        ("experiment --lasting x", "'x' for '--lasting <TIME>'"),
    ] {
        let (code, said) = said(typed(place.path(), line));
        assert!(code == Some(2) && said.contains(part), "{line}: {said}");
        let fixes = ["write", "such as", "is not in"];
        assert!(fixes.iter().any(|fix| said.contains(fix)), "{line}: {said}");
    }
}

#[test]
fn runs_that_cannot_be_read_have_a_row_with_the_reason() {
    let place = tempdir().unwrap();
    for (name, manifest) in [
        ("newer", r#"{"schema": 99}"#),
        ("older", r#"{"schema": 2}"#),
        ("broken", "{"),
        ("empty", ""),
        ("none", r#"{"schema": 3}"#),
    ] {
        let run = place.path().join("runs").join(name);
        fs::create_dir_all(&run).unwrap();
        fs::write(run.join("run.json"), manifest).unwrap();
    }
    fs::create_dir(place.path().join("runs/no-run")).unwrap();
    fs::write(place.path().join("runs/a-file"), "").unwrap();
    let (code, listed) = said(typed(place.path(), "runs"));
    assert_eq!(code, Some(0), "{listed}");
    for (name, why) in [
        ("runs/newer", "its schema is 99"),
        ("runs/older", "its schema is 2"),
        ("runs/broken", "run.json: EOF"),
        ("runs/empty", "run.json: EOF"),
        ("runs/none", "run.json: missing field"),
    ] {
        let row = listed.lines().find(|row| row.split_whitespace().nth(1) == Some(name));
        assert!(row.is_some_and(|row| row.contains(why)), "{name}: {listed}");
    }
    assert!(!listed.contains("no-run") && !listed.contains("a-file"), "{listed}");
    let (code, said) = said(typed(place.path(), "report"));
    assert!(code == Some(2) && said.contains("linerate runs runs says why"), "{said}");
    for verb in ["report", "clean"] {
        let (code, said) = self::said(typed(place.path(), &format!("{verb} runs/older")));
        assert!(code == Some(2) && said.contains("reads schema 3: measure again"), "{verb}: {said}");
    }
}

#[test]
fn a_wrong_key_is_told_by_where_it_was_found() {
    let body = "<Error><Code>SignatureDoesNotMatch</Code></Error>";
    let length = body.len();
    let address = serving(move |_| format!("HTTP/1.1 403 Forbidden\r\nContent-Length: {length}\r\n\r\n{body}"));
    let alias = format!("http://{ACCESS_KEY}:{SECRET_KEY}@{address}");
    let warp = [("WARP_ACCESS_KEY", ACCESS_KEY), ("WARP_SECRET_KEY", SECRET_KEY)];
    let typed_keys = format!("--host {address} --access-key {ACCESS_KEY} --secret-key {SECRET_KEY}");
    let host = format!("--host {address}");
    for (flags, environment, named) in [
        (host.as_str(), &warp[..], "check WARP_SECRET_KEY"),
        (typed_keys.as_str(), &warp, "check --secret-key"),
        ("--alias mine", &[("MC_HOST_mine", alias.as_str())], "check MC_HOST_mine"),
        (host.as_str(), &[], "check aws_secret_access_key of profile \"default\""),
    ] {
        let place = tempdir().unwrap();
        fs::create_dir(place.path().join(".aws")).unwrap();
        let keys = format!("[default]\naws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {SECRET_KEY}\n");
        fs::write(place.path().join(".aws/credentials"), keys).unwrap();
        let mut command = typed(place.path(), &format!("bench --op get --list-existing --bucket b-1 {flags}"));
        command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY").envs(environment.iter().copied());
        let (code, said) = said(command);
        assert!(code == Some(3) && said.contains(named), "{flags}: {said}");
    }
}

#[test]
fn a_choice_of_hosts_is_told_to_have_no_effect_where_there_is_one() {
    let reported = "--host-select has no effect: it distributes requests over several hosts, but there is only one";
    for (hosts, is_reported) in
        [("127.0.0.1:9", true), ("127.0.0.1:9,127.0.0.1:8", false), ("127.0.0.1:9 --resolve-host", false)]
    {
        let place = tempdir().unwrap();
        let flags = format!("bench --host {hosts} --op put --concurrent 1 --host-select weighed --dry-run");
        let (code, said) = said(typed(place.path(), &flags));
        assert!(code == Some(0) && said.contains(reported) == is_reported, "{hosts}: {said}");
    }
}

#[test]
fn what_is_of_objects_that_a_run_writes_is_refused_beside_list_existing() {
    for (flag, reported) in [
        ("--write multipart", "--write is for objects that are written beforehand, but --list-existing reads"),
        ("--noclear", "--noclear keeps what a run wrote, but --list-existing writes nothing: drop --noclear"),
    ] {
        let place = tempdir().unwrap();
        let flags = format!("bench --host 127.0.0.1:9 --op get --concurrent 1 --list-existing {flag} --dry-run");
        let (code, said) = said(typed(place.path(), &flags));
        assert!(code == Some(2) && said.contains(reported), "{flag}: {said}");
    }
}

#[test]
fn more_connections_than_open_files_are_refused_before_the_load_with_the_limit_and_the_fix() {
    let (place, target) = (tempdir().unwrap(), Served::null());
    let line = format!(
        "bench --host {} --op get --obj.size 1KiB --concurrent 2000 --duration 100ms --no-ceiling -o run",
        target.address
    );
    let plain = typed(place.path(), &line);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 1024; exec \"$0\" \"$@\""]).arg(plain.get_program()).args(plain.get_args());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(place.path());
    let (code, reported) = said(command);
    assert_eq!(code, Some(2), "{reported}");
    for part in ["--concurrent 2000", "1024 open files", "ulimit -Hn 2064", "--concurrent 960 at most"] {
        assert!(reported.contains(part), "{part}: {reported}");
    }
}
