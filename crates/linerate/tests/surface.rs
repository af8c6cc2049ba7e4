//! What users of warp, mc and AWS's tools expect at the surface. No root, nothing changed on the machine.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use tempfile::tempdir;

use crate::running::{ACCESS_KEY, SECRET_KEY, Served, eventually, files_below, linerate, shown, view, words};

const SHORT: &str = "--duration 600ms --warmup 100ms --no-ceiling --objects 20 --obj.size 1000 --concurrent 2";

/// A short run with a home of its own, whose output is below that. No key of the tests may be in what it leaves.
fn run(home: &Path, environment: &[(&str, String)], flags: &str) -> Output {
    let out = home.join("out");
    let mut command = linerate();
    command.env("HOME", home).envs(environment.iter().map(|(name, value)| (name, value)));
    let output = command.arg("bench").args(words(flags)).arg("-o").arg(&out).output().expect("linerate runs");
    for text in files_below(&out).iter().map(|f| fs::read(out.join(f)).expect(f)).chain([shown(&output).into_bytes()]) {
        let text = String::from_utf8_lossy(&text);
        assert!(!text.contains(SECRET_KEY) && !text.contains(ACCESS_KEY), "a key in {text}");
    }
    output
}

fn write_below(home: &Path, path: &str, text: &str) {
    let path = home.join(path);
    fs::create_dir_all(path.parent().expect("below")).expect("a folder");
    fs::write(path, text).expect("a file");
}

/// mc's configuration with one alias of keys, `mine`, and one of an old signature.
fn mc_config(list: &str, url: &str) -> String {
    let signed = |api: &str| {
        let (access, secret) = (ACCESS_KEY, SECRET_KEY);
        serde_json::json!({"url": url, "accessKey": access, "secretKey": secret, "api": api, "path": "auto"})
    };
    serde_json::json!({"version": "10", list: {"mine": signed("s3v4"), "old": signed("S3v2")}}).to_string()
}

#[test]
fn an_alias_of_mc_gives_host_keys_bucket_and_prefix() {
    let drive = tempdir().unwrap();
    let target = Served::embedded(drive.path());
    let url = format!("http://{}", target.address);
    let variable = format!("http://{ACCESS_KEY}:{SECRET_KEY}@{}", target.address);
    for (place, environment) in [
        (".mc/config.json aliases", None),
        (".mc/config.json hosts", None),
        ("elsewhere/config.json aliases", Some("MC_CONFIG_DIR")),
        ("", Some("MC_HOST_mine")),
    ] {
        let home = tempdir().unwrap();
        if let Some((path, list)) = place.split_once(' ') {
            write_below(home.path(), path, &mc_config(list, &url));
        }
        let value = if place.is_empty() { variable.clone() } else { format!("{}/elsewhere", home.path().display()) };
        let environment: Vec<_> = environment.into_iter().map(|name| (name, value.clone())).collect();
        let flags = format!("--alias mine/some-bucket/deep/er/ --op put {SHORT}");
        let output = run(home.path(), &environment, &flags);
        assert!(output.status.success(), "{place} {environment:?}: {}", shown(&output));
        let run = view(&home.path().join("out")).run;
        assert_eq!((run.requested.bucket.as_str(), &run.target.hosts[0]), ("some-bucket", &target.address), "{place}");
        assert!(run.requested.prefix.starts_with("deep/er/linerate-"), "{place}: {}", run.requested.prefix);
    }
}

#[test]
fn an_alias_that_does_not_serve_is_told_without_its_keys() {
    let home = tempdir().unwrap();
    write_below(home.path(), ".mc/config.json", &mc_config("aliases", "http://127.0.0.1:1"));
    let broken = tempdir().unwrap();
    write_below(broken.path(), ".mc/config.json", &format!("{{\"aliases\": {{\"mine\": \"{SECRET_KEY}\"}}}}"));
    let missing = ("MC_HOST_other", format!("http://{ACCESS_KEY}:{SECRET_KEY}"));
    for (home, environment, flags, expected) in [
        (&home, vec![], "--alias theirs", "no mc alias \"theirs\": aliases in the environment and"),
        (&home, vec![], "--alias theirs", ".mc/config.json: mine, old; set MC_HOST_theirs"),
        (&home, vec![], "--alias old", "mc alias \"old\" signs with \"S3v2\""),
        (&home, vec![], "--alias mine/aaa --bucket bbb", "--alias \"mine/aaa\" and --bucket \"bbb\" differ"),
        (&home, vec![missing], "--alias other", "MC_HOST_other is not of the form https://ACCESS_KEY:SECRET_KEY@HOST"),
        (&home, vec![], "--alias mine --host h", "cannot be used with"),
        (&broken, vec![], "--alias mine", ".mc/config.json:1:"),
    ] {
        let output = run(home.path(), &environment, flags);
        assert_eq!(output.status.code(), Some(2), "{flags}: {}", shown(&output));
        assert!(shown(&output).contains(expected), "{flags}: {}", shown(&output));
    }
}

#[test]
fn keys_and_region_are_found_where_aws_tools_keep_them() {
    let drive = tempdir().unwrap();
    let target = Served::embedded(drive.path());
    let home = tempdir().unwrap();
    let keys = format!("aws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {SECRET_KEY}\n");
    write_below(home.path(), ".aws/credentials", &format!("[default]\n{keys}[two]\n{keys}"));
    write_below(home.path(), ".aws/config", "[default]\nregion = eu-7\n[profile two]\nregion = eu-8\n");
    let named = |value: &str| vec![("AWS_PROFILE", value.to_owned())];
    let wrong = ("AWS_ACCESS_KEY_ID", "nobody".to_owned());
    let wrong = vec![wrong, ("AWS_SECRET_ACCESS_KEY", "nothing".to_owned())];
    for (flags, environment, expected) in [
        ("", vec![], Ok("eu-7")),
        ("--profile two", vec![], Ok("eu-8")),
        ("", named("two"), Ok("eu-8")),
        ("--profile two --region eu-9", wrong.clone(), Ok("eu-9")),
        ("", wrong, Err(3)),
        ("--profile three", vec![], Err(2)),
        ("", named("three"), Err(2)),
    ] {
        let flags = format!("--host {} --op put {SHORT} {flags}", target.address);
        let _ = fs::remove_dir_all(home.path().join("out"));
        let output = run(home.path(), &environment, &flags);
        match expected {
            Ok(region) => {
                assert!(output.status.success(), "{flags} {environment:?}: {}", shown(&output));
                assert_eq!(view(&home.path().join("out")).run.target.region, region, "{flags}");
            }
            Err(code) => assert_eq!(output.status.code(), Some(code), "{flags}: {}", shown(&output)),
        }
        if expected == Err(2) {
            let reported = shown(&output);
            assert!(reported.contains("no profile \"three\"") && reported.contains("default, two"), "{reported}");
        }
    }
}

#[test]
fn a_benchmark_file_of_warp_runs() {
    let drive = tempdir().unwrap();
    let target = Served::embedded(drive.path());
    let home = tempdir().unwrap();
    let file = format!(
        "warp:\n  api: v1\n  benchmark: mixed\n  remote:\n    host: ['{}']\n    access-key: {ACCESS_KEY}\n    \
         secret-key: '{SECRET_KEY}'\n    tls: false\n  params:\n    duration: 5m\n    concurrent: 3\n    \
         objects: 30\n    obj:\n      size: 1KiB\n    \
         distribution:\n      get: 60.0\n      put: 40.0\n      stat: 0\n      delete: 0\n",
        target.address
    );
    write_below(home.path(), "file.yml", &file);
    let flags = format!("--config {}/file.yml --duration 300ms --warmup 0s --no-ceiling", home.path().display());
    let output = run(home.path(), &[], &flags);
    assert!(output.status.success(), "{}", shown(&output));
    let requested = view(&home.path().join("out")).run.requested;
    let point = &requested.points[0];
    assert_eq!((requested.points.len(), &*point.workload.to_string()), (1, "mixed get=60,put=40"));
    assert_eq!(
        (&*point.size.to_string(), point.concurrency, requested.objects, requested.duration_ms),
        ("1KiB", 3, 30, 300)
    );
}

#[test]
fn files_of_keys_that_others_can_read_are_told_and_pipes_are_not() {
    let home = tempdir().unwrap();
    let keys = format!("aws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {SECRET_KEY}\n");
    write_below(home.path(), ".aws/credentials", &format!("[default]\n{keys}"));
    write_below(home.path(), ".aws/config", "[default]\nregion = eu-7\n");
    write_below(home.path(), ".mc/config.json", &mc_config("aliases", "http://127.0.0.1:1"));
    let remote = |secret: &str| format!("warp:\n  api: v1\n  remote:\n    host: 127.0.0.1:1\n{secret}");
    let secret = format!("    access-key: {ACCESS_KEY}\n    secret-key: '{SECRET_KEY}'\n");
    write_below(home.path(), "file.yml", &remote(&secret));
    write_below(home.path(), "plain.yml", &remote(""));
    let here = home.path().display();
    let own = vec![("AWS_ACCESS_KEY_ID", "AKAKAKAK".to_owned()), ("AWS_SECRET_ACCESS_KEY", "SKSKSKSK".to_owned())];
    for (file, flags, environment, is_reported) in [
        (".aws/credentials", "--host 127.0.0.1:1".to_owned(), vec![], true),
        (".aws/credentials", "--host 127.0.0.1:1".to_owned(), own.clone(), false),
        (".mc/config.json", "--alias mine".to_owned(), vec![], true),
        ("file.yml", format!("--config {here}/file.yml"), vec![], true),
        ("plain.yml", format!("--config {here}/plain.yml"), own, false),
    ] {
        for (mode, is_open) in [(0o644, true), (0o640, true), (0o602, true), (0o600, false)] {
            let path = home.path().join(file);
            fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
            let reported = shown(&run(home.path(), &environment, &format!("{flags} --op put {SHORT} --timeout 1s")));
            let warning = format!("warning: {} contains keys, and others can read it", path.display());
            let times = reported.matches(&warning).count();
            assert_eq!(times, usize::from(is_reported && is_open), "{file} {mode:o} {flags}: {reported}");
            assert!(is_reported || !reported.contains("contains keys"), "{flags}: {reported}");
        }
    }
    // As a shell hands over what it is told to read: a pipe.
    let script = "exec \"$0\" bench --config <(cat \"$1\") --op put --no-ceiling";
    let program = linerate().get_program().to_owned();
    let file = home.path().join("file.yml");
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let mut command = Command::new("bash");
    command.args(["-c", script]).arg(program).arg(&file).env("HOME", home.path()).current_dir(home.path());
    let reported = shown(&command.output().expect("bash runs"));
    assert!(reported.contains("127.0.0.1:1") && !reported.contains("contains keys"), "{reported}");
}

#[test]
fn what_is_warps_own_is_told_with_its_counterpart() {
    for (words_of_warp, expected) in [
        ("get --host h", "\"get\" is a command of warp: write linerate bench --op get"),
        ("bench mixed", "\"mixed\" is a command of warp: write linerate bench --op mixed"),
        ("bench --benchdata x", "\"--benchdata\" is a flag of warp: give --output DIR"),
        ("bench --host h --rps-limit 9", "\"--rps-limit\" is a flag of warp: "),
        ("versioned --host h", "\"versioned\" is a command of warp: not measured here: versions of objects"),
        ("retention", "not measured here: retention of objects"),
        (
            "warp put",
            "as a whole:\n  linerate bench --op put --host 127.0.0.1:9000 --bucket warp-benchmark-bucket --obj",
        ),
        (
            "put --host a:9000 --md5 --concurrent 4 --rps-limit 9",
            "as a whole:\n  linerate bench --op put --bucket warp-benchmark-bucket --host a:9000 --concurrent 4 \
             --max-rate 9/s --obj.size 10MiB --duration 5m\n  --md5: ",
        ),
        (
            "get --host h --secret-key QQQQQQQQ --no-color",
            "--op get --bucket warp-benchmark-bucket --host h --secret-key … --obj.size 10MiB --objects 2500 \
             --concurrent 20 --duration 5m\n  --no-color: set NO_COLOR=1",
        ),
    ] {
        let output = linerate().args(words(words_of_warp)).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words_of_warp}");
        assert!(shown(&output).contains(expected), "{words_of_warp}: {}", shown(&output));
    }
}

#[test]
fn completions_are_made_for_every_shell_and_bash_takes_them() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = linerate().args(["completions", shell]).output().unwrap();
        assert!(output.status.success() && shown(&output).contains("range-size"), "{shell}: {}", shown(&output));
    }
    let script = "source <(\"$1\" completions bash) && COMP_WORDS=(linerate bench --range) && COMP_CWORD=2 && \
                  _linerate linerate --range bench && echo \"${COMPREPLY[*]}\"";
    let binary = env!("CARGO_BIN_EXE_linerate");
    let output = Command::new("bash").args(["--norc", "-euo", "pipefail", "-c", script, "bash", binary]).output();
    let output = output.expect("bash runs");
    assert_eq!(shown(&output).trim(), "--range-size");
}

#[test]
fn there_is_a_manual_page_for_every_verb() {
    let folder = tempdir().unwrap();
    let pages = folder.path().join("pages");
    let output = linerate().arg("man").arg("-o").arg(&pages).output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
    for (page, text) in [("linerate.1", "completions"), ("linerate-bench.1", "obj.size"), ("linerate-report.1", "RUN")]
    {
        let found = fs::read_to_string(pages.join(page)).expect(page);
        assert!(found.contains(".TH linerate") && found.contains(text), "{page}: {found}");
    }
    assert!(pages.join("linerate-tune-diff.1").exists() && !pages.join("linerate-tune-watch.1").exists());
    let help = shown(&linerate().arg("--help").output().unwrap());
    let verbs = help.lines().skip_while(|l| !l.starts_with("Commands:")).skip(1).take_while(|l| !l.is_empty());
    let verbs = verbs.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    for verb in verbs.filter(|verb| !["", "help"].contains(verb)) {
        assert!(pages.join(format!("linerate-{verb}.1")).exists(), "{verb}");
    }
}

#[test]
fn what_was_imported_is_not_cleaned_and_who_can_is_named() {
    let out = tempdir().expect("a folder");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/warp-get.csv.zst");
    let run = out.path().join("run");
    let output = linerate().args(["import", "warp"]).arg(file).arg("-o").arg(&run).output().expect("linerate runs");
    assert!(output.status.success(), "{}", shown(&output));
    assert!(!shown(&output).contains("--threads"), "{}", shown(&output));
    let output = linerate().arg("clean").arg(&run).output().expect("linerate runs");
    let reported = shown(&output);
    assert_eq!(output.status.code(), Some(2), "{reported}");
    assert!(
        reported.contains("linerate imported the contents of") && reported.contains("wrote none of its objects"),
        "{reported}"
    );
    assert!(reported.contains("mc rm --recursive --force ALIAS/"), "{reported}");
}

/// What a server answers to a GET; empty where it cannot be reached.
fn get(address: &str, path: &str) -> String {
    let mut answer = String::new();
    if let Ok(mut stream) = TcpStream::connect(address) {
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a time limit");
        let requested = write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
        let _ = requested.and_then(|()| stream.read_to_string(&mut answer));
    }
    answer
}

/// The sum of a metric's samples.
fn metric(text: &str, name: &str) -> f64 {
    let values = text.lines().filter(|l| l.starts_with(name)).filter_map(|l| l.rsplit(' ').next()?.parse::<f64>().ok());
    values.sum()
}

#[test]
fn metrics_are_served_while_a_run_goes_on() {
    let (target, out) = (Served::null(), tempdir().unwrap());
    let flags =
        "--metrics 127.0.0.1:0 --op get --obj.size 10000 --duration 60s --warmup 0s --concurrent 3 --no-ceiling";
    let mut command = linerate();
    command.arg("bench").args(words(flags)).arg("--host").arg(&target.address).arg("--anonymous");
    let mut child = command.arg("-o").arg(out.path()).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let line = lines.find(|l| l.starts_with("metrics ")).expect("it says where");
    let rest = std::thread::spawn(move || lines.for_each(drop));
    let address = line.trim_start_matches("metrics  http://").trim_end_matches("/metrics").to_owned();
    // A caller that says nothing keeps the others waiting for two seconds, and no longer.
    let silent = TcpStream::connect(&address).unwrap();
    let mut text = String::new();
    eventually("requests to be counted", || {
        text = get(&address, "/metrics");
        metric(&text, "linerate_requests_total") > 0.0
    });
    drop(silent);
    assert!(text.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text; version=1.0.0"), "{text}");
    assert!(text.ends_with("# EOF\n"));
    let requests = metric(&text, "linerate_requests_total");
    assert_eq!(metric(&text, "linerate_body_bytes_total"), requests * 10_000.0);
    assert_eq!(metric(&text, "linerate_request_duration_seconds_count"), requests);
    assert_eq!(metric(&text, "linerate_first_byte_seconds_bucket{op=\"get\",le=\"+Inf\"}"), requests);
    assert!(metric(&text, "linerate_client_cpu_seconds_total") > 0.0 && metric(&text, "linerate_concurrency") == 3.0);
    assert!(
        text.contains("linerate_point_info{workload=\"get\",size=\"10000\",concurrency=\"3\",phase=\"measured\"} 1")
    );
    assert!(text.contains(&format!("linerate_requests_total{{op=\"get\",host=\"{}\"}}", target.address)), "{text}");
    assert!(get(&address, "/").starts_with("HTTP/1.1 404"));
    eventually("counters to rise", || metric(&get(&address, "/metrics"), "linerate_requests_total") > requests);
    let ended = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(ended.success() && child.wait().unwrap().code() == Some(130));
    rest.join().unwrap();
    assert!(TcpStream::connect(&address).is_err(), "the server ends with the run");
    let busy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let flag = format!("--metrics={}", busy.local_addr().unwrap());
    let output = linerate().args(["bench", &flag]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(shown(&output).contains("cannot serve --metrics on"), "{}", shown(&output));
}

#[test]
fn knobs_are_told_as_a_table_in_full_and_as_json() {
    let reported = |arguments: &[&str]| {
        let output = linerate().arg("knobs").args(arguments).output().expect("linerate runs");
        (output.status.code(), shown(&output))
    };
    let (code, table) = reported(&[]);
    assert_eq!(code, Some(0), "{table}");
    let (code, json) = reported(&["--json"]);
    assert_eq!(code, Some(0));
    let knobs: Vec<serde_json::Value> = serde_json::from_str(&json).expect("JSON");
    for knob in &knobs {
        let id = knob["id"].as_str().expect("an id");
        assert!(table.contains(&format!("  {id} ")), "{id} is not in the table");
    }
    assert!(table.ends_with(&format!("{} knobs\n", knobs.len())));
    let (_, whole) = reported(&["fs.xfs.xfsyncd_centisecs"]);
    assert!(whole.starts_with("fs.xfs.xfssyncd_centisecs\n"), "{whole}");
    let (code, error) = reported(&["vm.swapines"]);
    assert_eq!(
        (code, error.as_str()),
        (Some(2), "error: there is no knob \"vm.swapines\": did you mean vm.swappiness?\n")
    );
    let (code, error) = reported(&["--profile", "fast"]);
    assert!(code == Some(2) && error.contains("s3-storage-node"), "{error}");
}

/// The binary in a folder, and with keys.
fn keyed(place: &Path) -> Command {
    let mut command = linerate();
    command.env("AWS_ACCESS_KEY_ID", "a").env("AWS_SECRET_ACCESS_KEY", "b").current_dir(place);
    command
}

/// What a command line that is wrong says, which leaves nothing behind.
fn refused(flags: &str) -> String {
    let place = tempdir().expect("a folder");
    let output = keyed(place.path()).args(words(flags)).output().expect("linerate runs");
    assert_eq!(output.status.code(), Some(2), "{flags}: {}", shown(&output));
    assert!(files_below(place.path()).is_empty(), "{flags} left something");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_flag_that_would_do_nothing_is_refused_with_what_it_is_for() {
    for (flags, part) in [
        ("--op get --mix get=1,put=1", "--mix gives the weights of --op mixed"),
        ("--op get --get-distrib 3", "--get-distrib is a weight of --op mixed"),
        ("--op put --range-size 1KiB", "--range-size is for GET"),
        ("--op put --verify", "--verify compares what GET reads"),
        ("--op put --target-memory 1GiB", "--target-memory is compared with what GET reads"),
        ("--op get --part.size 8MiB", "--part.size cuts uploads in parts"),
        ("--op get --part.concurrent 2", "--part.concurrent is for uploads in parts"),
        ("--op put --write multipart", "--write is for objects that are written beforehand"),
        ("--op get --canary-rate 7", "--canary-rate paces the canary of --abort-if"),
        ("--op get --concurrent 2 --max-concurrent 9", "--max-concurrent bounds the search"),
        ("--op get --rate 50/s --max-concurrent 9", "--max-concurrent bounds the search"),
        ("--op delete --warmup 1s", "--warmup is for operations that can be repeated"),
        ("--op get --concurrent 1 --time 100h --duration 1s", "visits exceed the 4096 of one run"),
        ("--op get --concurrent 1,4 --time 1s --duration 2s", "--time 1s is too short for one round of --duration 2s"),
        ("--op get --rate 5/s,9/s --time 2s --duration 1s", "--time 2s is too short for one round of --duration 1s"),
        ("--op get --concurrent auto --time 1s --duration 2s", "--time 1s is shorter than --duration 2s"),
        ("--op get --concurrent 1..64 --time 500ms", "visits of 71ms are too short"),
        ("--target null --drive .", "--drive is for --target embedded"),
        ("--target null --anonymous", "--anonymous is for --host"),
    ] {
        let said = refused(&format!("bench {flags}"));
        assert!(said.contains(part), "{flags}: {said}");
    }
}

#[test]
fn all_mistakes_of_a_command_line_are_told_at_once() {
    let bench = "bench --op get,copy --obj.size 4XB --concurrent 0 --timeout 0s --bucket x --target null --verify";
    let said = refused(bench);
    assert!(said.starts_with("error: 6 mistakes\n"), "{said}");
    for part in ["\"copy\"", "4XB", "concurrency \"0\"", "--timeout", "3 to 63", "stores nothing"] {
        assert!(said.lines().any(|line| line.starts_with("  ") && line.contains(part)), "{part}: {said}");
    }
    let said = refused("bench --op put --mix get=1 --canary-rate 7 --part.concurrent 3 --objects 5");
    assert!(said.starts_with("error: 3 mistakes\n") && !said.contains("--objects"), "{said}");
}

#[test]
fn mistakes_that_clap_finds_are_told_with_all_others_by_every_verb() {
    for (line, count, parts) in [
        (
            "bench --paylod unsigned --op get --mix get=1 --threads 0 --bucket Upper",
            4,
            &["similar argument exists: '--payload'", "--mix gives", "0 is not in 1..=1024", "\"Upper\""][..],
        ),
        ("plan none.yaml --obj.size big --formt json", 3, &["none.yaml", "'big'", "exists: '--format'"]),
        ("explain --site none.yaml --observed get --error x", 3, &["none.yaml", "no figure in \"get\"", "'x'"]),
        ("tune diff --set vm.nonsense=1 --set vm.swappiness=x --rot /", 3, &["nonsense", "\"x\"", "'--root'"]),
        ("experiment --with a=--threds --with b=--verify --blocks 1", 2, &["arm \"a\": flags of bench", "2..=10000"]),
        ("compare none-a none-b --fail-if-slower x", 3, &["none-a", "none-b", "'x' for '--fail-if-slower"]),
    ] {
        let said = refused(line);
        assert!(said.starts_with(&format!("error: {count} mistakes\n")), "{line}: {said}");
        let places: Vec<_> = parts.iter().map(|part| said.find(part)).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{line}: {places:?} in {said}");
    }
    let said = refused("bench --md5 --rps-limit 5 --host a:1");
    assert!(said.starts_with("error: 2 mistakes\n") && said.contains("\nas a whole:\n"), "{said}");
}

#[test]
fn names_of_buckets_that_aws_keeps_are_refused_there_and_told_elsewhere() {
    for (flags, part) in [
        ("--bucket xn--a", "which the embedded target refuses"),
        ("--host https://s3.eu-central-1.amazonaws.com --bucket sthree-a", "with \"sthree-\", which AWS reserves"),
        (
            "--host https://s3.cn-north-1.amazonaws.com.cn:443 --bucket a--x-s3",
            "ends with \"--x-s3\", which AWS reserves",
        ),
    ] {
        let said = refused(&format!("bench --dry-run {flags}"));
        assert!(said.contains(part), "{flags}: {said}");
    }
    for (flags, part) in [
        ("--host minio:9000 --bucket xn--a", "such names, and so do RustFS and Garage; MinIO and Ceph accept them"),
        ("--host minio:9000 --bucket a-s3alias", "ends with \"-s3alias\": AWS refuses such names, and so does Garage"),
        ("--host minio:9000 --bucket amzn-s3-demo-a", "AWS refuses such names; MinIO"),
        ("--bucket sthree-a", ""),
        ("--host https://s3.amazonaws.com --bucket a-s3alias --list-existing --op get", ""),
    ] {
        let place = tempdir().expect("a folder");
        let output = keyed(place.path()).args(words(&format!("bench --dry-run {flags}"))).output().expect("it runs");
        let said = shown(&output);
        assert!(output.status.success() && said.contains(part), "{flags}: {said}");
        assert_eq!(said.contains("AWS"), !part.is_empty(), "{flags}: {said}");
    }
}

#[test]
fn a_flag_without_effect_that_misleads_nobody_is_told_and_taken() {
    let home = tempdir().unwrap();
    let output = run(home.path(), &[], &format!("{SHORT} --op put --target null"));
    assert!(output.status.success(), "{}", shown(&output));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("note: --objects has no effect: it is the number of objects written beforehand"), "{said}");
}

#[test]
fn a_dry_run_of_an_experiment_refuses_what_bench_would() {
    let experiment = |more: &[&str]| {
        let words = ["experiment", "--dry-run", "--with", "a=--threads 1", "--with"];
        let output = linerate().args(words).args(more).output().expect("linerate runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (more, parts) in [
        (&["b=--paylod unsigned"][..], &["arm \"b\"", "'--paylod'", "similar argument exists: '--payload'"][..]),
        (&["b=--threads 2", "--", "--paylod", "x"], &["'--paylod'"]),
        (&["b=--mix get=1"], &["arm \"b\"", "--mix gives the weights"]),
        (
            &["b=--md5", "--with", "c=--threads x"],
            &["2 mistakes", "\"--md5\" is a flag of warp", "arm \"b\"", "arm \"c\""],
        ),
    ] {
        let (code, said) = experiment(more);
        assert_eq!(code, Some(2), "{more:?}: {said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{more:?}: {said}");
    }
    let said = experiment(&["b=--threads 2", "--", "--paylod", "x"]).1;
    assert!(!said.contains("arm \""), "what all arms have is told once: {said}");
    assert_eq!(experiment(&["b=--threads 2"]).0, Some(0));
}

#[test]
fn values_that_cannot_be_are_refused_before_a_file_is_written_all_at_once() {
    let said = refused(
        "tune diff -o changes.json --set vm.swappiness=banana --set net.core.somaxconn=4097 --set vm.nonsense=1 \
         --set net.ipv4.tcp_rmem=33554432",
    );
    assert!(said.starts_with("error: 3 mistakes\n") && !said.contains("somaxconn"), "{said}");
    for part in ["\"banana\" is not a whole number", "\"vm.nonsense=1\"", "give 3 whole numbers, 1 to 2147483647 each"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn nothing_that_the_kernel_ignores_is_among_changes() {
    let output = linerate().args(["tune", "diff", "--profile", "source-003-full"]).output().expect("linerate runs");
    let said = shown(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("tcp_low_latency: \"0\", \"1\" wanted: the kernel ignores it since Linux 4.14"), "{said}");
    assert!(!said.contains("tcp_low_latency: \"0\" → \"1\""), "{said}");
}

#[test]
fn short_help_fits_a_screen_and_long_help_has_everything() {
    for (line, part) in [("bench -h", "Examples:"), ("tune diff -h", "--set"), ("-h", "experiment")] {
        let output = linerate().args(words(line)).output().expect("linerate runs");
        let text = shown(&output);
        assert!(output.status.success() && text.lines().count() <= 40 && text.contains(part), "{line}: {text}");
    }
    let manual = shown(&linerate().args(["bench", "--help"]).output().expect("linerate runs"));
    assert!(manual.lines().count() > 200 && manual.contains("[default: 64KiB,4MiB; 4KiB for stat"), "{manual}");
}
