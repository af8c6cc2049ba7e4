//! What others wrote or list drives no terminal. No root, nothing changed on the machine.

use std::fs;
use std::process::Output;

use linerate_record::sanitize::in_text;
use tempfile::tempdir;

use crate::running::{bench_view, files_below, linerate, serving, shown};

/// What would drive a terminal, turn its text around, or end a script.
const HOSTILE: &str = "</script>\u{1b}]0;x\u{7}\u{1b}[2J\u{9b}31m\u{202e}\r\u{7f}";

/// What is printed drives no terminal, and tells of what was hostile.
fn assert_shown_only(output: &Output, what: &str) {
    let reported = shown(output);
    assert_eq!(reported, in_text(&reported), "{what}");
    assert!(reported.contains("\\u001b") || reported.contains("\\u{1b}"), "{what}: {reported}");
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
    for path in
        ["/id", "/target/hosts/0", "/target/kind", "/clients/0/name", "/clients/0/machine/kernel", "/linerate_version"]
    {
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

#[test]
fn what_a_server_lists_drives_no_terminal() {
    let folder = tempdir().unwrap();
    let run = folder.path().join("run");
    let flags = "--target null --op put --obj.size 1000 --concurrent 2 --duration 400ms --warmup 100ms --no-ceiling";
    let view = bench_view(&run, flags);
    let prefix = view.run.requested.prefix.clone();
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
