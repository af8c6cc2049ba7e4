//! What reaches a terminal: no key on any way into a message, and nothing that drives the terminal. No root, nothing
//! changed on the machine.

mod running;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Output;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use linerate_record::shown::in_text;
use running::{bench_view, files_below, linerate, shown};
use tempfile::tempdir;

/// A key of the tests, and what would drive a terminal, turn its text around, or end a script.
const KEY: &str = "QQQQkey/of+the/tests0123";
const HOSTILE: &str = "</script>\u{1b}]0;x\u{7}\u{1b}[2J\u{9b}31m\u{202e}\r\u{7f}";

fn texts(output: &Output) -> String {
    shown(output).replace(['\n', '\t'], " ")
}

/// Runs linerate, which must refuse, and say nothing of the key.
fn refused(home: &Path, environment: &[(&str, &str)], words: &[&str]) -> String {
    let mut command = linerate();
    command.env("HOME", home).current_dir(home).envs(environment.iter().copied()).args(words);
    let output = command.output().expect("linerate runs");
    let told = texts(&output);
    assert_eq!(output.status.code(), Some(2), "{words:?} {environment:?}: {told}");
    assert!(!told.contains("QQQQ"), "{words:?} {environment:?}: {told}");
    told
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
    let told = refused(home.path(), &[("AWS_SECRET_ACCESS_KEY", KEY)], &["bench", "--concurrent", KEY]);
    assert!(told.contains("***"), "{told}");
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
fn piece_of<'f>(form: &'f str, told: &str) -> Option<&'f str> {
    (0..form.len().saturating_sub(7)).map(|at| &form[at..at + 8]).find(|piece| told.contains(piece))
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
    ("tune diff --set net.core.default_qdisc=FORM", true, false),
    ("audit --netns FORM/x", true, false),
    ("audit --netns FORM/x --format json", true, true),
    ("audit --netns FORM/x --format html", true, false),
];

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
        for (line, to_stdout, is_json) in places.iter().chain(&PLACES[10..11]).copied() {
            let mut command = linerate();
            command.env("HOME", home.path()).current_dir(home.path()).envs(environment);
            let output = command.args(line.split(' ').map(|word| word.replace("FORM", &text))).output().unwrap();
            let told = if to_stdout { &output.stdout } else { &output.stderr };
            let is_told = String::from_utf8_lossy(told).contains("***");
            if let Some(piece) = piece_of(&text, &texts(&output)) {
                wrong.push(format!("{key}, {form}, {line}: {piece:?} of {text}"));
            }
            if is_json && serde_json::from_slice::<serde_json::Value>(told).is_err() {
                wrong.push(format!("{key}, {form}, {line}: no JSON"));
            }
            if to_stdout && !is_told {
                wrong.push(format!("{key}, {form}, {line}: nothing is masked"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn figures_names_of_fields_and_words_stay_whatever_the_keys_are() {
    let of = |access: &str, secret: &str, line: &str| {
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
    let plain = parsed(of("short", "keys", &json));
    for (access, secret) in [
        // Some of a figure, of the names of fields, or shorter than any key.
        (&started[..8], &*started),
        ("linerate_version", "concurrency"),
        ("requests_per_s", "findings"),
        ("put", "measure"),
        ("n0000000", "\\u001b[31m"),
    ] {
        assert_eq!(parsed(of(access, secret, &json)), plain, "{access} {secret}");
    }
    for line in ["completions bash", "man", "plan --example", "plan --schema"] {
        assert_eq!(of("linerate", "description", line), of("short", "keys", line), "{line}");
    }
    let text = of("minioadmin", "minioadmin", "tune diff --set net.core.default_qdisc=minioadm");
    assert!(text.contains("minioadm\""), "a part of a key is none: {text}");
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
        let told = refused(home.path(), &[], &words.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(piece_of(key, &told).is_none() && !told.contains("passphrase of"), "{file} {text} {line}: {told}");
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
        let told = refused(home.path(), &[], &words.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(piece_of(key, &told).is_none(), "{line}: {told}");
    }
    for (name, value) in [("MC_HOST_a", "https://AK:KEY@h"), ("MC_HOST_a", "https://AK:KEY"), ("MC_HOST_a", "h:KEY@h")]
    {
        let value = value.replace("KEY", key);
        let told = refused(home.path(), &[(name, &value)], &["bench", "--concurrent", key]);
        assert!(piece_of(key, &told).is_none(), "{value}: {told}");
    }
    // What follows no such name stays.
    for (line, word) in [
        ("bench --host play.example:9000 --concurrent play.example", "play.example"),
        ("bench --secret-key $SECRET_KEY_OF_MINE --concurrent SECRET_KEY_OF_MINE", "SECRET_KEY_OF_MINE"),
        ("bench --prefix benchmarks --concurrent benchmarks", "benchmarks"),
        ("bench --secret-key short --concurrent short", "short"),
    ] {
        let told = refused(home.path(), &[("MC_HOST_a", "https://play.example")], &line.split(' ').collect::<Vec<_>>());
        assert!(told.contains(&format!("'{word}'")) || told.contains(&format!("\"{word}\"")), "{line}: {told}");
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
        for line in [
            "audit --netns FORM/x -o out",
            "audit --netns FORM/x --format json -o out",
            "audit --netns FORM/x --format html -o out",
        ] {
            let output = run(line, &text);
            assert!(output.status.success(), "{form} {line}: {}", shown(&output));
            let written = fs::read_to_string(home.path().join("out")).unwrap();
            assert!(piece_of(&text, &written).is_none() && written.contains("***"), "{form} {line}");
        }
        // Names that would stand in a folder, or be hosts of one.
        let names = ["--output x/FORM", "--prefix FORM/", "--bucket FORM"];
        for flag in names {
            let line = format!("bench --host 127.0.0.1:1 --op put {flag}");
            let output = run(&line, &text);
            assert_eq!(output.status.code(), Some(2), "{form} {line}: {}", shown(&output));
        }
        let output = run("experiment --output kept --with a=--threads\u{a0}1 --with b=--bucket\u{a0}FORM", &text);
        assert_eq!(output.status.code(), Some(2), "{form}: {}", shown(&output));
    }
    for (host, expected) in [
        ("qqqqhost0123", "a host is called as the secret key"),
        ("QQQQhost0123", "a host is called as the secret key"),
        ("QQQQhost0123.localhost", ""),
    ] {
        let mut command = linerate();
        command.envs([("AWS_ACCESS_KEY_ID", ACCESS), ("AWS_SECRET_ACCESS_KEY", "QQQQhost0123")]);
        let line = format!("bench --host {host}:1 --op put");
        let output = command.args(line.split(' ')).current_dir(home.path()).output().unwrap();
        let told = texts(&output);
        assert!(piece_of(&host[..12], &told).is_none() && told.contains(expected), "{host}: {told}");
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
        let told = refused(home.path(), &[("AWS_SECRET_ACCESS_KEY", KEY)], &words);
        assert!(told.contains("holds a key"), "{words:?}: {told}");
        assert_eq!(files_below(home.path()), [""; 0], "{words:?}");
    }
}

/// What is printed drives no terminal, and tells of what was hostile.
fn assert_shown_only(output: &Output, what: &str) {
    let told = shown(output);
    assert_eq!(told, in_text(&told), "{what}");
    assert!(told.contains("\\u001b") || told.contains("\\u{1b}"), "{what}: {told}");
}

#[test]
fn what_others_wrote_drives_no_terminal() {
    let folder = tempdir().unwrap();
    let run = folder.path().join("run");
    let flags = "--target null --op put --obj.size 1000 --concurrent 2 --duration 400ms --warmup 100ms --no-ceiling";
    let address = bench_view(&run, flags).run.target.hosts[0].clone();
    let hostile = serde_json::to_string(HOSTILE).unwrap();
    for name in files_below(&run) {
        let text = fs::read_to_string(run.join(&name)).unwrap();
        let text = text.replace(&format!("\"{address}\""), &hostile).replace("\"measure\"", &hostile);
        fs::write(run.join(&name), text).unwrap();
    }
    // Neither what it refuses nor what it shows.
    assert_shown_only(&linerate().arg("report").arg(&run).output().unwrap(), "a refused folder");
    let run = folder.path().join("other");
    bench_view(&run, flags);
    let manifest: serde_json::Value = serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap();
    let mut other = manifest.clone();
    for path in ["/id", "/target/hosts/0", "/target/kind", "/machine/kernel", "/linerate_version"] {
        if let Some(value) = other.pointer_mut(path) {
            *value = HOSTILE.into();
        }
    }
    fs::write(run.join("run.json"), other.to_string()).unwrap();
    for format in ["text", "json"] {
        assert_shown_only(&linerate().arg("report").arg(&run).args(["--format", format]).output().unwrap(), format);
    }
    let json = linerate().arg("report").arg(&run).args(["--format", "json"]).output().unwrap().stdout;
    let view: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(view.pointer("/run/id"), Some(&HOSTILE.into()), "JSON keeps what it holds");
    assert!(linerate().arg("report").arg(&run).args(["--format", "html"]).output().unwrap().status.success());
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert_eq!(page, in_text(&page), "the page");
    assert!(!page.contains("</script>\\u001b") && page.contains("&lt;/script&gt;\\u001b"), "the page escapes markup");
    // Names of files, and what stands in them.
    let odd = folder.path().join(HOSTILE.replace('/', "-"));
    for verb in [&["report"][..], &["plan"], &["import", "warp"], &["bench", "--config"], &["experiment", "analyze"]] {
        assert_shown_only(&linerate().args(verb).arg(&odd).output().unwrap(), verb[0]);
    }
    fs::write(folder.path().join("site.yaml"), format!("{hostile}: 1\n")).unwrap();
    assert_shown_only(&linerate().arg("plan").arg(folder.path().join("site.yaml")).output().unwrap(), "a site");
    fs::write(folder.path().join("t.csv"), format!("arm,value\n\"{HOSTILE}\",\"{HOSTILE}\"\n")).unwrap();
    let table = linerate().args(["experiment", "analyze"]).arg(folder.path().join("t.csv")).output().unwrap();
    assert_shown_only(&table, "a table");
}

/// A server that answers each request by what its target holds, as often as it is asked.
fn serving(answer: impl Fn(&str) -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten().take(100) {
            let mut stream = stream;
            let mut head = Vec::new();
            let mut piece = [0; 4096];
            while let Ok(n @ 1..) = stream.read(&mut piece) {
                head.extend_from_slice(&piece[..n]);
                if head.windows(4).any(|end| end == b"\r\n\r\n") {
                    let text = String::from_utf8_lossy(&head).into_owned();
                    let _ = stream.write_all(answer(text.lines().next().unwrap_or_default()).as_bytes());
                    break;
                }
            }
        }
    });
    address
}

#[test]
fn what_a_server_lists_drives_no_terminal() {
    let folder = tempdir().unwrap();
    let run = folder.path().join("run");
    let flags = "--target null --op put --obj.size 1000 --concurrent 2 --duration 400ms --warmup 100ms --no-ceiling";
    let view = bench_view(&run, flags);
    let prefix = view.run.asked.prefix.clone();
    let manifest = fs::read_to_string(run.join("run.json")).unwrap();
    for (body, code) in [
        // A key is listed as it is: with references where XML knows the sign, raw where it does not mind.
        (format!("<Contents><Key>{prefix}a&#x1b;[2J\u{9b}\u{202e}&#10;object   b</Key><Size>1</Size></Contents>"), 0),
        ("<Contents><Key>a</K\u{1b}[2J></Contents>".to_owned(), 3),
        ("<Contents><Size>\u{1b}[2J</Size></Contents>".to_owned(), 3),
        ("&\u{1b}[2J;".to_owned(), 3),
    ] {
        let page = format!("<ListBucketResult><IsTruncated>false</IsTruncated>{body}</ListBucketResult>");
        let address = serving(move |line| {
            let (status, body) = match line {
                line if line.starts_with("HEAD ") => ("200 OK", ""),
                line if line.contains("list-type=2") => ("200 OK", &*page),
                _ => ("501 Not Implemented", ""),
            };
            let length = body.len();
            format!(
                "HTTP/1.1 {status}\r\nServer: \u{9b}2J\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            )
        });
        let mut manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
        *manifest.pointer_mut("/target/hosts").unwrap() = serde_json::json!([address]);
        *manifest.pointer_mut("/target/kind").unwrap() = "s3".into();
        fs::write(run.join("run.json"), manifest.to_string()).unwrap();
        let keys = [("AWS_ACCESS_KEY_ID", "AK"), ("AWS_SECRET_ACCESS_KEY", "SK")];
        let output = linerate().envs(keys).arg("clean").arg(&run).arg("--dry-run").output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{body:?}: {}", shown(&output));
        assert_shown_only(&output, &body);
        let listed = shown(&output).lines().filter(|line| line.starts_with("object   ")).count();
        assert_eq!(listed, usize::from(code == 0), "{body:?}: {}", shown(&output));
    }
}
