//! What README and the pages of `docs` say to type, typed: every block of commands that needs no cluster and changes
//! nothing, in its order, and the texts beside them held against what they print.

mod markdown;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use linerate_model::ethernet::goodput_share;
use linerate_record::site::{Encapsulation, IpVersion};
use tempfile::tempdir;

use self::markdown::{Block, blocks, commands};
use crate::running::{linerate, shown};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README, and every page of `docs` and `docs/reference`, by their names.
fn pages() -> Vec<(String, PathBuf)> {
    let folders = ["docs", "docs/reference"].map(|folder| fs::read_dir(root().join(folder)).expect("a folder"));
    let entries = folders.into_iter().flatten().flatten().map(|entry| entry.path());
    let pages = entries.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let all = std::iter::once(root().join("README.md")).chain(pages);
    let mut named: Vec<_> = all.map(|path| (path.display().to_string(), path)).collect();
    named.sort();
    named
}

/// A shell in which `linerate` is the one under test, with nothing in its environment that points elsewhere.
fn typed(folder: &Path, text: &str) -> Output {
    let linerate = linerate();
    let binary = Path::new(linerate.get_program()).parent().expect("a folder");
    let mut shell = Command::new("sh");
    for (name, value) in linerate.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").expect("a path"));
    shell.env("PATH", path).env("LINERATE_STATE", folder.join("state")).current_dir(folder);
    // Whoever has a cluster has keys for it.
    shell.env("AWS_ACCESS_KEY_ID", "a").env("AWS_SECRET_ACCESS_KEY", "b");
    shell.args(["-euc", text]).output().expect("a shell")
}

/// What a block that needs a cluster says of itself where nothing is reached: loads are told and not made.
fn dry_run(text: &str) -> Vec<String> {
    let dry = |line: String| {
        let bench = line.replace("linerate bench", "linerate bench --dry-run");
        bench.replace("linerate experiment --", "linerate experiment --dry-run --")
    };
    let is_load = |line: &String| line.contains("linerate bench") || line.contains("linerate experiment --");
    commands(text).into_iter().filter(is_load).map(dry).collect()
}

/// Lines of a text that are not printed in this order; `…` stands for any lines.
fn missing(text: &str, printed: &str) -> Option<String> {
    let mut lines = printed.lines();
    text.lines().filter(|line| *line != "…").find(|line| !lines.any(|other| other == *line)).map(str::to_owned)
}

/// Types the blocks of a page one after the other; how many were typed, and the page as it should be.
fn type_page(name: &str, page: &str) -> (usize, String) {
    let folder = tempdir().expect("a folder");
    for shared in ["examples", "captures"] {
        std::os::unix::fs::symlink(root().join(shared), folder.path().join(shared)).expect("a link");
    }
    let (mut count, mut printed, mut renewed, mut done) = (0, String::new(), String::new(), 0);
    let run = |text: &str| {
        let output = typed(folder.path(), text);
        assert!(output.status.success(), "{name}: {text}: {}", shown(&output));
        String::from_utf8(output.stdout).expect("text")
    };
    // Changes are of one machine, which this file names; in many containers it is not there.
    let has_id = fs::read_to_string("/etc/machine-id").is_ok_and(|id| !id.trim().is_empty());
    for Block { language, note, text } in blocks(page) {
        let note = note.filter(|note| !(has_id && *note == "needs a machine id"));
        match (language, note) {
            ("sh", None) => {
                printed = run(text);
                count += 1;
            }
            ("sh", Some("needs a cluster")) => {
                for line in dry_run(text) {
                    let reported = run(&line);
                    assert!(reported.contains("nothing was "), "{name}: {line}: {reported}");
                    count += 1;
                }
            }
            ("text", Some("printed")) => {
                if !text.lines().any(|line| line == "…") {
                    let at = text.as_ptr() as usize - page.as_ptr() as usize;
                    renewed.push_str(&page[done..at]);
                    renewed.push_str(&printed);
                    done = at + text.len();
                } else if let Some(line) = missing(text, &printed) {
                    panic!("{name}: {line:?} is not printed, or not in this order:\n{printed}");
                }
            }
            _ => {}
        }
    }
    (count, renewed + &page[done..])
}

/// `REGENERATE=1 cargo test -p linerate --test all pages::` writes texts anew that a page shows whole.
#[test]
fn what_the_pages_say_to_type_works_as_typed_and_prints_what_they_show() {
    let mut counts = Vec::new();
    for (name, path) in pages() {
        let page = fs::read_to_string(&path).expect("a page");
        let (count, renewed) = type_page(&name, &page);
        if std::env::var_os("REGENERATE").is_some() {
            fs::write(&path, &renewed).expect("a page");
        } else {
            assert!(
                page == renewed,
                "{name} shows what is not printed: REGENERATE=1 cargo test -p linerate --test all pages::"
            );
        }
        counts.push((name, count));
    }
    assert!(counts.iter().map(|(_, count)| count).sum::<usize>() > 20, "{counts:?}");
}

/// README, which a newcomer reads first, is one screen.
#[test]
fn the_readme_is_one_screen() {
    let readme = fs::read_to_string(root().join("README.md")).expect("README");
    assert!(readme.lines().count() <= 70, "{}", readme.lines().count());
}

#[test]
fn every_page_is_in_the_index() {
    let index = fs::read_to_string(root().join("docs/README.md")).expect("the index");
    let linked: BTreeSet<&str> = index.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    for folder in ["docs", "docs/method", "docs/reference", "docs/development"] {
        for entry in fs::read_dir(root().join(folder)).expect("a folder").flatten() {
            let path = entry.path();
            let page = path.strip_prefix(root().join("docs")).expect("below").display().to_string();
            let is_page = page.ends_with(".md") && page != "README.md";
            assert!(!is_page || linked.contains(page.as_str()), "{page} is not in docs/README.md");
        }
    }
}

#[test]
fn blocks_are_found_with_what_stands_before_them() {
    let page = "# A\n\n```sh\na \\\n  b # why\n# c\n```\n\n<!-- printed -->\n```text\nx\n…\nz\n```\n";
    let found = blocks(page);
    assert_eq!(
        found.iter().map(|block| (block.language, block.note)).collect::<Vec<_>>(),
        [("sh", None), ("text", Some("printed"))]
    );
    assert_eq!(commands(found[0].text), ["a    b"]);
    assert_eq!(missing(found[1].text, "w\nx\ny\nz\n"), None);
    assert_eq!(missing(found[1].text, "z\nx\n"), Some("z".to_owned()));
    assert_eq!(dry_run("linerate bench --op get\nlinerate clean RUN\n"), ["linerate bench --dry-run --op get"]);
}

/// What pages and kept runs say of jumbo frames is what framing makes of them.
#[test]
fn jumbo_frames_are_told_alike_everywhere() {
    let share = |mtu_bytes| goodput_share(mtu_bytes, Encapsulation::None, IpVersion::V4, true);
    let less = 100.0 * (1.0 - share(1500) / share(9000));
    let more = 100.0 * (share(9000) / share(1500) - 1.0);
    for (page, words) in [
        ("docs/method/links.md", format!("takes {less:.1} % of the payload")),
        ("docs/method/links.md", format!("{more:.1} %.")),
        ("docs/method/explain.md", format!("The MTU is third or fourth: {less:.0} % ")),
        ("runs/shapes-2026-11-24/README.md", format!("instead of 9000 at all hosts, takes {less:.0} % ")),
        ("runs/shapes-2026-11-24-busy/README.md", format!("instead of 9000 at all hosts, takes {less:.0} % ")),
        ("docs/knobs/nic.md", format!("Compared with 1500, 9000 has {more:.0} % more payload")),
    ] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&words), "{page}: {words}");
    }
}
