//! What reaches a terminal: no key on any way into a message, and nothing that drives the terminal. No root, nothing
//! changed on the machine.

mod running;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Output;

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
