//! What reaches a terminal or a folder: no key on any way into a message. No root, nothing changed on the machine.

use std::fs;
use std::path::Path;
use std::process::Output;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use tempfile::tempdir;

use crate::running::{bench_view, files_below, linerate, serving, shown};

/// A key of the tests.
const KEY: &str = "QQQQkey/of+the/tests0123";

fn texts(output: &Output) -> String {
    shown(output).replace(['\n', '\t'], " ")
}

/// Runs linerate, which must refuse, and say nothing of the key.
fn refused(home: &Path, environment: &[(&str, &str)], words: &[&str]) -> String {
    let mut command = linerate();
    command.env("HOME", home).current_dir(home).envs(environment.iter().copied()).args(words);
    let output = command.output().expect("linerate runs");
    let reported = texts(&output);
    assert_eq!(output.status.code(), Some(2), "{words:?} {environment:?}: {reported}");
    assert!(!reported.contains("QQQQ"), "{words:?} {environment:?}: {reported}");
    reported
}

#[test]
fn keys_are_quoted_by_no_refusal() {
    let home = tempdir().unwrap();
    let url = format!("https://AK:{KEY}@127.0.0.1:1");
    let with = |text: &str| text.replace("KEY", KEY);
    fs::create_dir(home.path().join(".aws")).unwrap();
    fs::write(home.path().join(".aws/credentials"), with("[KEY]\naws_access_key_id = AK\n")).unwrap();
    fs::write(home.path().join("hosts"), format!("127.0.0.1:2\n{url}\n")).unwrap();
    let file = |line: &str| format!("warp:\n  api: v1\n  benchmark: get\n  remote:\n    {line}\n");
    for (name, line) in [
        ("url.yml", "host: 'https://AK:KEY@h'"),
        ("flag.yml", "secret-key: KEY\n    region: [a, b]"),
        ("value.yml", "secret-key: KEY\n  params:\n    duration: KEY"),
        ("before.yml", "region: KEY\n    region: x\n    secret-key: 'KEY'"),
        ("name.yml", "secret-key: KEY\n    KEY: 1"),
    ] {
        fs::write(home.path().join(name), with(&file(line))).unwrap();
    }
    let slips = ["bench --access-key AK KEY", "bench KEY", "KEY", "bench --secretkey KEY", "bench --secret-key=KEY x"];
    let hosts = ["bench --host https://AK:KEY@127.0.0.1:1", "bench --host AK:KEY", "bench --host 127.0.0.1:1,KEY@h"];
    let queries = ["bench --host http://h/b?X-Amz-Signature=KEY", "bench --concurrent https://AK:KEY@h"];
    let files = [
        "bench --host file:hosts",
        "bench --config url.yml",
        "bench --config flag.yml",
        "bench --config value.yml",
        "bench --config before.yml",
        "bench --config name.yml",
        "bench --host 127.0.0.1:1 --profile no",
    ];
    let others = [
        "target null --listen AK:KEY@127.0.0.1:1",
        "bench --metrics https://AK:KEY@127.0.0.1:1",
        "bench --secret-key KEY --concurrent KEY",
        "bench --alias https://AK:KEY@h",
        "plan https://AK:KEY@h --need secret_key=KEY",
        "clean --secret-key KEY nowhere KEY",
        "bench --host 127.0.0.1:1 --access-key AK --secret-key KEY --prefix KEY",
        "bench --host 127.0.0.1:1 --access-key AK --secret-key KEY --output x/KEY",
    ];
    for line in slips.iter().chain(&hosts).chain(&queries).chain(&files).chain(&others) {
        let line = with(line);
        refused(home.path(), &[], &line.split(' ').collect::<Vec<_>>());
    }
    for (name, value) in [("WARP_HOST", &*url), ("AWS_ENDPOINT_URL", &url), ("MC_HOST_mine", &url[8..])] {
        let words: &[&str] = if name == "MC_HOST_mine" { &["bench", "--alias", "mine"] } else { &["bench"] };
        refused(home.path(), &[(name, value)], words);
    }
    // Whatever quotes it, a key that was given is known.
    let reported = refused(home.path(), &[("AWS_SECRET_ACCESS_KEY", KEY)], &["bench", "--concurrent", KEY]);
    assert!(reported.contains("***"), "{reported}");
}

/// The secret key of the forms, its access key, and a token: signs that both alphabets of base64 and shells care for.
const SECRET: &str = "QQQQ?key/of+the>tests&0123=";
const ACCESS: &str = "AKIAtestsofforms0001";
const TOKEN: &str = "TTTTtoken/of+the==";

/// What programs make of a key on its way into a text.
fn forms(key: &str) -> Vec<(&'static str, String)> {
    let percent = |which: &dyn Fn(char) -> bool, small: bool| {
        let one = |c: char| match (which(c), small) {
            (true, false) => format!("%{:02X}", u32::from(c)),
            (true, true) => format!("%{:02x}", u32::from(c)),
            _ => c.to_string(),
        };
        key.chars().map(one).collect::<String>()
    };
    let is_sign = |c: char| !c.is_ascii_alphanumeric();
    let both = format!("{ACCESS}:{key}");
    let hex = |text: &str| text.bytes().map(|b| format!("{b:02x}")).collect::<String>();
    vec![
        ("as it is", key.to_owned()),
        ("percent", percent(&is_sign, false)),
        ("percent, small", percent(&is_sign, true)),
        ("percent, mixed", percent(&is_sign, true).replacen("%2f", "%2F", 1)),
        ("percent, partly", percent(&|c| "/+".contains(c), false)),
        ("percent, all", percent(&|_| true, false)),
        ("percent, twice", percent(&is_sign, false).replace('%', "%25")),
        ("base64", STANDARD.encode(key)),
        ("base64, no padding", STANDARD_NO_PAD.encode(key)),
        ("base64 of URLs", URL_SAFE.encode(key)),
        ("base64 of URLs, no padding", URL_SAFE_NO_PAD.encode(key)),
        ("base64 of both", STANDARD.encode(&both)),
        ("base64 of both for URLs", URL_SAFE_NO_PAD.encode(&both)),
        ("base64 of a line", STANDARD.encode(format!("{key}\n"))),
        ("base64 in a query", STANDARD.encode(key).replace('/', "%2F").replace('=', "%3d")),
        ("hex", hex(key)),
        ("hex, large", hex(key).to_uppercase()),
        ("hex of both", hex(&both)),
        ("JSON, slashes", key.replace('/', "\\/")),
        ("JSON, numbers", key.replace('/', "\\u002f").replace('&', "\\u0026").replace('+', "\\u002B")),
        ("a shell's", key.chars().map(|c| if is_sign(c) { format!("\\{c}") } else { c.to_string() }).collect()),
        ("markup", key.replace('&', "&amp;").replace('>', "&gt;").replace('/', "&#x2F;").replace('+', "&#43;")),
        ("systemd's", key.replace('/', "\\x2f")),
        ("a host's", key.to_lowercase()),
    ]
}

/// Whether a text holds eight signs in a row of a form that are no part of another word.
fn piece_of<'f>(form: &'f str, reported: &str) -> Option<&'f str> {
    (0..form.len().saturating_sub(7)).map(|at| &form[at..at + 8]).find(|piece| reported.contains(piece))
}

/// A command, what it prints of its argument to which stream, and whether that is JSON.
const PLACES: [(&str, bool, bool); 14] = [
    ("bench --concurrent FORM", false, false),
    ("bench --host http://h/FORM", false, false),
    ("bench --host FORM:9000", false, false),
    ("bench --host 127.0.0.1:1 --region FORM", false, false),
    ("bench --host 127.0.0.1:1 --source FORM", false, false),
    ("bench FORM", false, false),
    ("bench --benchdataFORM", false, false),
    ("knobs FORM", false, false),
    ("plan FORM", false, false),
    ("compare FORM other", false, false),
    ("plan site.yaml --why --format text", true, false),
    ("plan site.yaml --why", true, false),
    ("plan site.yaml --format json", true, true),
    ("plan site.yaml --format html", true, false),
];

/// A site whose figure is assumed for a reason that a person wrote.
fn write_site(home: &Path, because: &str) {
    let because = serde_json::to_string(because).expect("text");
    let drives = "{count: 4, capacity: 1TB, read: 1GB/s, write: 1GB/s}";
    let count = format!("{{assumed: 4, because: {because}}}");
    let site = format!("engine: minio\nnodes: {{count: {count}, drives: {drives}, nics: {{speed: 25Gb/s}}}}\n");
    fs::write(home.join("site.yaml"), site).expect("a folder of the test");
}

#[test]
fn no_form_of_a_key_in_use_is_printed_at_any_place() {
    let home = tempdir().unwrap();
    let environment = [("AWS_ACCESS_KEY_ID", ACCESS), ("AWS_SECRET_ACCESS_KEY", SECRET), ("AWS_SESSION_TOKEN", TOKEN)];
    let mut wrong = Vec::new();
    let every = [("secret", SECRET), ("token", TOKEN), ("access key", ACCESS)];
    for (key, form, text) in
        every.iter().flat_map(|(name, key)| forms(key).into_iter().map(move |(form, text)| (name, form, text)))
    {
        // What one key is masked by masks another: two places will do for the rest.
        let places = if *key == "secret" { &PLACES[..] } else { &PLACES[3..=3] };
        write_site(home.path(), &text);
        for (line, to_stdout, is_json) in places.iter().chain(&PLACES[10..11]).copied() {
            let mut command = linerate();
            command.env("HOME", home.path()).current_dir(home.path()).envs(environment);
            let output = command.args(line.split(' ').map(|word| word.replace("FORM", &text))).output().unwrap();
            let reported = if to_stdout { &output.stdout } else { &output.stderr };
            let is_reported = String::from_utf8_lossy(reported).contains("***");
            if let Some(piece) = piece_of(&text, &texts(&output)) {
                wrong.push(format!("{key}, {form}, {line}: {piece:?} of {text}"));
            }
            if is_json && serde_json::from_slice::<serde_json::Value>(reported).is_err() {
                wrong.push(format!("{key}, {form}, {line}: no JSON"));
            }
            if to_stdout && !is_reported {
                wrong.push(format!("{key}, {form}, {line}: nothing is masked"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn figures_names_of_fields_and_words_stay_whatever_the_keys_are() {
    let output_with_keys = |access: &str, secret: &str, line: &str| {
        let mut command = linerate();
        command.envs([("AWS_ACCESS_KEY_ID", access), ("AWS_SECRET_ACCESS_KEY", secret)]);
        let output = command.args(line.split(' ')).output().unwrap();
        assert!(output.status.success(), "{line}: {}", shown(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let folder = tempdir().unwrap();
    let run = folder.path().join("run");
    let flags = "--target null --op put --obj.size 1000 --concurrent 2 --duration 400ms --warmup 100ms --no-ceiling";
    bench_view(&run, flags);
    let manifest: serde_json::Value = serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap();
    let started = manifest["started_unix_ms"].to_string();
    let json = format!("report {} --format json", run.display());
    let parsed = |text: String| serde_json::from_str::<serde_json::Value>(&text).expect("JSON");
    let plain = parsed(output_with_keys("short", "keys", &json));
    for (access, secret) in [
        // Some of a figure, of the names of fields, or shorter than any key.
        (&started[..8], &*started),
        ("linerate_version", "concurrency"),
        ("requests_per_s", "findings"),
        ("put", "measure"),
        ("n0000000", "\\u001b[31m"),
    ] {
        assert_eq!(parsed(output_with_keys(access, secret, &json)), plain, "{access} {secret}");
    }
    for line in ["completions bash", "man", "plan --example", "plan --schema"] {
        assert_eq!(
            output_with_keys("linerate", "description", line),
            output_with_keys("short", "keys", line),
            "{line}"
        );
    }
    write_site(folder.path(), "minioadm");
    let text =
        output_with_keys("minioadmin", "minioadmin", &format!("plan {}/site.yaml --why", folder.path().display()));
    assert!(text.contains("minioadm"), "a part of a key is none: {text}");
}

#[test]
fn keys_of_files_are_known_before_anything_of_them_is_quoted() {
    let key = "QQQQkey/Of+the/tests0123";
    let with = |text: &str| text.replace("KEY", key);
    let warp = |line: &str| format!("warp:\n  api: v1\n  benchmark: get\n{line}");
    for (file, text, line) in [
        (".aws/credentials", "[default]\naws_secret_access_key KEY\n".to_owned(), "bench --host KEY:1"),
        (".aws/credentials", "[default]\naws_secret_access_key = KEY\n".into(), "bench --concurrent KEY"),
        (".aws/credentials", "[default]\nsecret: KEY\n".into(), "clean KEY"),
        (".aws/credentials", "[KEY]\n".into(), "bench --host 127.0.0.1:1 --profile KEY"),
        (".aws/credentials", "[KEY]\naws_access_key_id = AK\n".into(), "bench --host 127.0.0.1:1 --profile no"),
        (".aws/credentials", "[a]\nKEY\n".into(), "bench --host 127.0.0.1:1 --profile KEY"),
        (
            ".aws/credentials",
            "[default]\naws_secret_access_key=passphrase of mine\n".into(),
            "bench passphrase\\ of\\ mine",
        ),
        (".aws/config", "[default]\nregion = KEY\n".into(), "bench --host 127.0.0.1:1"),
        (".mc/config.json", "{\"aliases\": {\"KEY\": {\"url\": \"http://h\"}}}".into(), "bench --alias no"),
        (
            ".mc/config.json",
            "{\"aliases\": {\"m\": {\"url\": \"http://h\", \"secretKey\": \"KEY\", \"api\": \"KEY\"}}}".into(),
            "bench --alias m",
        ),
        (".mc/config.json", "{\"aliases\": {\"m\": {\"secretKey\": \"KEY\", }}}".into(), "bench --alias KEY"),
        (".mc/config.json", "{\"aliases\": {\"m\": {\"secretKey\": \"KEY\"}}}".into(), "bench --concurrent KEY"),
        ("f.yml", warp("  KEY: 1\n"), "bench --config f.yml"),
        ("f.yml", warp("  KEY\n"), "bench --config f.yml"),
        ("f.yml", warp("  params:\n    duration: KEY\n"), "bench --config f.yml"),
        ("f.yml", warp("  remote:\n    secret-key KEY: 1\n"), "bench --config f.yml"),
        ("f.yml", warp("  remote:\n    secret-keyKEY: 1\n"), "bench --config f.yml"),
        ("f.yml", warp("  remote:\n    secretkey=KEY: 1\n"), "bench --config f.yml"),
        (
            "f.yml",
            warp("  remote:\n    secret-key:\n      KEY\n    region: KEY\n    region: KEY\n"),
            "bench --config f.yml",
        ),
        ("f.yml", warp("  remote:\n    secret-key: KEY\n"), "bench --config f.yml --concurrent KEY"),
        ("f.yml", warp("  op: KEY\n"), "bench --config f.yml"),
    ] {
        let home = tempdir().unwrap();
        let path = home.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, with(&text)).unwrap();
        let words: Vec<String> = line.split_inclusive(' ').fold(Vec::new(), |mut words, piece| {
            match words.last_mut().filter(|last: &&mut String| last.ends_with('\\')) {
                Some(last) => {
                    *last = format!("{} {}", last.trim_end_matches('\\'), piece.strip_suffix(' ').unwrap_or(piece))
                }
                None => words.push(piece.strip_suffix(' ').unwrap_or(piece).to_owned()),
            }
            words
        });
        let words: Vec<String> = words.iter().map(|word| with(word)).collect();
        let reported = refused(home.path(), &[], &words.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(
            piece_of(key, &reported).is_none() && !reported.contains("passphrase of"),
            "{file} {text} {line}: {reported}"
        );
    }
}

#[test]
fn parts_of_keys_that_were_typed_as_lists_or_lines_are_masked() {
    let home = tempdir().unwrap();
    for key in ["abc,QQQQ", "QQQQ,QQQQ,cd", "abcd\nQQQQ efg", "abc\tQQQQ,defgh"] {
        for flag in ["--obj.size", "--concurrent", "--lookup", "--rate", "--op", "--timeout"] {
            for more in [&[][..], &["--nope", "--bucket", "A"]] {
                let words = [&["bench", flag, key], more].concat();
                refused(home.path(), &[("AWS_SECRET_ACCESS_KEY", key), ("AWS_ACCESS_KEY_ID", "AK")], &words);
            }
        }
    }
}

#[test]
fn what_was_typed_breaks_no_line_of_a_message_and_is_cut() {
    let home = tempdir().unwrap();
    let long = "7".repeat(100_000);
    for (words, parts) in [
        (&["report", "p\nq"][..], &["p\\u000aq is not a run folder"][..]),
        (&["bench", "--lookup", "p\nq"], &["'p\\u000aq'", "[possible values: path, host]"]),
        (&["bench", "--op", &long], &["unknown operation \"7777777", "… (100000 characters)"]),
        (&["bench", "--lookup", &long, "--nope"], &["'--lookup <LOOKUP>'", "… (100000 characters)", "'--nope'"]),
        (&["experiment", "--load", "get:4MiB@x"], &["'get:4MiB@x' for '--load"]),
        (&["help", "benhc"], &["unrecognized subcommand"]),
        (&["bench", "--alias", "nosuch", "--op", "zz"], &["2 mistakes", "no mc alias \"nosuch\"", "operation \"zz\""]),
        (&["bench", "--host", "a:99999", "--op", "zz"], &["2 mistakes", "a:99999", "operation \"zz\""]),
        (
            &["tune", "diff", "--set", "block.scheduler@no-such=none"],
            &["\"no-such\" has no such setting here; linerate"],
        ),
    ] {
        let reported = refused(home.path(), &[], words);
        assert!(reported.len() < 2_000 && parts.iter().all(|part| reported.contains(part)), "{reported}");
    }
}

#[test]
fn keys_of_command_lines_are_known_however_their_flag_is_spelled() {
    let home = tempdir().unwrap();
    let key = "QQQQkey/of+the/tests0123";
    for line in [
        "bench --secretkey=KEY",
        "bench --secretkeyKEY",
        "bench --secret-keyKEY",
        "bench --secret_key:KEY",
        "bench -secretKEY",
        "bench -secret-key=KEY",
        "bench --SecretAccessKeyKEY",
        "bench --aws-secret-access-key=KEY",
        "bench --accesskeyKEY",
        "bench --session-tokenKEY",
        "bench --secretkey=KEY --concurrent KEY",
        "bench -secretKEY --concurrent KEY",
        "bench secretkey=KEY",
        "bench SECRET_KEY:KEY",
        "bench --concurrent secretkey=KEY",
        "bench --host https://AK:KEY@h --concurrent KEY",
        "bench --host https://AK:QQQQkey%2Fof%2Bthe%2Ftests0123@h --concurrent KEY",
        "bench --host http://h/b?X-Amz-Security-Token=KEY --concurrent KEY",
        "bench --host http://h/b?X-Amz-Signature=KEY&x=1 --concurrent KEY",
        "bench --host http://h/b?X-Amz-Credential=KEY%2F20240101%2Fus-east-1 --concurrent KEY",
        "bench --host http://h/b?AWSAccessKeyId=KEY&Signature=KEY",
        "bench --host AK:KEY@h:9000 --concurrent KEY",
        "bench --host KEY@h:9000 --concurrent KEY",
        "bench --host http://AK@h:9000/?sessionToken=KEY",
    ] {
        let words: Vec<String> = line.split(' ').map(|word| word.replace("KEY", key)).collect();
        let reported = refused(home.path(), &[], &words.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(piece_of(key, &reported).is_none(), "{line}: {reported}");
    }
    for (name, value) in [("MC_HOST_a", "https://AK:KEY@h"), ("MC_HOST_a", "https://AK:KEY"), ("MC_HOST_a", "h:KEY@h")]
    {
        let value = value.replace("KEY", key);
        let reported = refused(home.path(), &[(name, &value)], &["bench", "--concurrent", key]);
        assert!(piece_of(key, &reported).is_none(), "{value}: {reported}");
    }
    // What follows no such name stays.
    for (line, word) in [
        ("bench --host play.example:9000 --concurrent play.example", "play.example"),
        ("bench --secret-key $SECRET_KEY_OF_MINE --concurrent SECRET_KEY_OF_MINE", "SECRET_KEY_OF_MINE"),
        ("bench --prefix benchmarks --concurrent benchmarks", "benchmarks"),
        ("bench --secret-key short --concurrent short", "short"),
    ] {
        let reported =
            refused(home.path(), &[("MC_HOST_a", "https://play.example")], &line.split(' ').collect::<Vec<_>>());
        assert!(
            reported.contains(&format!("'{word}'")) || reported.contains(&format!("\"{word}\"")),
            "{line}: {reported}"
        );
    }
}

#[test]
fn what_is_written_for_others_holds_no_form_of_a_key() {
    let home = tempdir().unwrap();
    let environment = [("AWS_ACCESS_KEY_ID", ACCESS), ("AWS_SECRET_ACCESS_KEY", SECRET)];
    let run = |line: &str, text: &str| {
        let mut command = linerate();
        command.env("HOME", home.path()).current_dir(home.path()).envs(environment);
        command.args(line.split(' ').map(|word| word.replace("FORM", text))).output().unwrap()
    };
    for (form, text) in forms(SECRET) {
        write_site(home.path(), &text);
        for line in ["plan site.yaml --why", "plan site.yaml --format json", "plan site.yaml --format html"] {
            let line = format!("{line} -o out");
            let output = run(&line, &text);
            assert!(output.status.success(), "{form} {line}: {}", shown(&output));
            let written = fs::read_to_string(home.path().join("out")).unwrap();
            assert!(piece_of(&text, &written).is_none() && written.contains("***"), "{form} {line}");
        }
        // Names that would stand in a folder, or be hosts of one.
        let names = ["--output x/FORM", "--prefix FORM/", "--bucket FORM", "--title FORM", "--ca-file FORM --tls"];
        for flag in names {
            let line = format!("bench --host 127.0.0.1:1 --op put {flag}");
            let output = run(&line, &text);
            assert_eq!(output.status.code(), Some(2), "{form} {line}: {}", shown(&output));
        }
        let output = run("experiment --output kept --with a=--threads\u{a0}1 --with b=--bucket\u{a0}FORM", &text);
        assert_eq!(output.status.code(), Some(2), "{form}: {}", shown(&output));
    }
    for (host, expected) in [
        ("qqqqhost0123", "a host has the same name as the secret key"),
        ("QQQQhost0123", "a host has the same name as the secret key"),
        ("QQQQhost0123.localhost", ""),
    ] {
        let mut command = linerate();
        command.envs([("AWS_ACCESS_KEY_ID", ACCESS), ("AWS_SECRET_ACCESS_KEY", "QQQQhost0123")]);
        let line = format!("bench --host {host}:1 --op put");
        let output = command.args(line.split(' ')).current_dir(home.path()).output().unwrap();
        let reported = texts(&output);
        assert!(piece_of(&host[..12], &reported).is_none() && reported.contains(expected), "{host}: {reported}");
    }
}

#[test]
fn what_a_target_says_of_the_keys_it_was_sent_is_nowhere() {
    let answers = |form: &str| {
        let form = form.to_owned();
        serving(move |line| {
            let (status, body) = match line {
                line if line.starts_with("HEAD ") => ("200 OK", String::new()),
                line if line.contains("list-type=2") => {
                    ("200 OK", "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>".to_owned())
                }
                _ => ("403 Forbidden", format!("<Error><Code>{form}</Code><Message>{form}</Message></Error>")),
            };
            let length = if line.starts_with("HEAD ") { 0 } else { body.len() };
            format!(
                "HTTP/1.1 {status}\r\nServer: {form}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            )
        })
    };
    for (name, form) in
        forms(SECRET).into_iter().filter(|(name, _)| ["as it is", "percent", "base64", "hex"].contains(name))
    {
        let home = tempdir().unwrap();
        let address = answers(&form);
        let flags =
            "--op put --obj.size 1000 --concurrent 1 --duration 400ms --warmup 100ms --no-ceiling -o run --timeout 1s";
        let line = format!("bench --host {address} {flags}");
        let mut command = linerate();
        command.envs([("AWS_ACCESS_KEY_ID", ACCESS), ("AWS_SECRET_ACCESS_KEY", SECRET)]).current_dir(home.path());
        let output = command.args(line.split(' ')).output().unwrap();
        assert_ne!(output.status.code(), Some(0), "{name}: {}", shown(&output));
        assert!(piece_of(&form, &texts(&output)).is_none(), "{name}: {}", shown(&output));
        let files = files_below(home.path());
        assert!(files.len() >= 4, "{name}: {files:?} {}", shown(&output));
        for file in files {
            let text = fs::read_to_string(home.path().join(&file)).unwrap();
            assert!(piece_of(&form, &text).is_none(), "{name}: {file}");
        }
    }
}

#[test]
fn a_run_that_would_keep_a_secret_is_refused_before_a_request_whatever_names_it() {
    let home = tempdir().unwrap();
    let both = STANDARD.encode(format!("{ACCESS}:QQQQkey-of-the-tests0123"));
    let (titled, coded) = (["--title", "ticket QQQQkey-of-the-tests0123"], ["--title", &both]);
    for (variable, words, flag) in [
        (None, &titled, "--title"),
        (None, &coded, "--title"),
        (None, &["--region", "QQQQkey-of-the-tests0123"], "--region"),
        (None, &["--region", "QQQQtoken-of-the-tests"], "--region"),
        (Some("WARP_REGION"), &["--op", "put"], "--region"),
    ] {
        let environment = [
            ("AWS_ACCESS_KEY_ID", ACCESS),
            ("AWS_SECRET_ACCESS_KEY", "QQQQkey-of-the-tests0123"),
            ("AWS_SESSION_TOKEN", "QQQQtoken-of-the-tests"),
            (variable.unwrap_or("UNUSED"), "QQQQkey-of-the-tests0123"),
        ];
        for target in [["--host", "127.0.0.1:1"], ["--target", "null"]] {
            let line = [&["bench", "--duration", "100ms"], &target[..], &words[..]].concat();
            let reported = refused(home.path(), &environment, &line);
            assert!(
                reported.contains(&format!("{flag} contains the secret key or the session token")),
                "{words:?}: {reported}"
            );
        }
    }
    assert!(fs::read_dir(home.path()).unwrap().next().is_none(), "nothing is left");
}

#[test]
fn secrets_of_aliases_that_no_flag_names_are_kept_nowhere() {
    let home = tempdir().unwrap();
    let alias = format!("https://{ACCESS}:{KEY}@s3.example.com");
    let environment = [("MC_HOST_prod", alias.as_str())];
    let titled = format!("ticket {KEY}");
    for (line, flag) in [
        ("bench --target null --duration 100ms --title", "--title"),
        ("bench --host 127.0.0.1:1 --op put --prefix", "--prefix"),
        ("report --title", "--title"),
        ("capture -o kept --note", "--note"),
    ] {
        let words: Vec<&str> = line.split(' ').chain([titled.as_str()]).collect();
        let reported = refused(home.path(), &environment, &words);
        let expected = format!("{flag} contains the secret key or the session token");
        assert!(reported.contains(&expected) && !reported.contains(KEY), "{line}: {reported}");
    }
    assert!(fs::read_dir(home.path()).unwrap().next().is_none(), "nothing is left");
}

#[test]
fn experiments_take_no_key_into_their_folder() {
    let home = tempdir().unwrap();
    let with = format!("b=--host https://AK:{KEY}@127.0.0.1:1");
    let restart = format!("mc admin config set a secret_key={KEY}");
    let command = format!("b=mc alias set b http://h AK {KEY}");
    let arms = ["--with", "a=--threads 1", "--with", "b=--threads 2"];
    let cases: [Vec<&str>; 5] = [
        vec!["--with", "a=--threads 1", "--with", &with],
        vec!["--arm", "a=true", "--arm", &command],
        [&arms[..], &["--restart", &restart]].concat(),
        [&arms[..], &["--", "--host", &with[7..]]].concat(),
        [&arms[..], &["--", "--access-key", KEY]].concat(),
    ];
    for words in cases {
        let words = [&["experiment", "--output", "kept"][..], &words].concat();
        let reported = refused(home.path(), &[("AWS_SECRET_ACCESS_KEY", KEY)], &words);
        assert!(reported.contains("contains a key"), "{words:?}: {reported}");
        assert_eq!(files_below(home.path()), [""; 0], "{words:?}");
    }
}
