//! Names that stop resolving, or lead elsewhere, after a load began: by a name server of the test's own, which is all
//! that `linerate` has.

use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use libtest_mimic::Failed;
use linerate_record::finding::FindingKind;
use tempfile::{TempDir, tempdir};

use super::wrapped;
use crate::running::{
    ACCESS_KEY, SECRET_KEY, Served, bench_command, eventually, linerate, objects, points, shown, view, words,
};

type Check = fn() -> Result<(), Failed>;

pub(crate) const CHECKS: [(&str, &[&str], Check); 2] = [
    ("names_that_end_midway_end_no_load_and_clean_up_once_they_are_back", &["root", "unshare", "mount"], load),
    ("experiment_whose_name_ends_midway_goes_on_and_clears_up", &["root", "unshare", "mount"], experiment),
];

/// Where the name server is: port 53 of an address of this machine that nobody else uses.
const SERVER: &str = "127.38.0.53";
const NAME: &str = "store.test";

/// What the name server says of every name.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Says {
    At([u8; 4]),
    NoSuchName,
    Failed,
    Nothing,
}

const HERE: Says = Says::At([127, 0, 0, 1]);
/// Nobody listens there.
const ELSEWHERE: Says = Says::At([127, 38, 0, 2]);

/// A name server, and the files by which programs use it. Its thread ends with the process.
struct Names {
    says: Arc<Mutex<Says>>,
    files: TempDir,
}

impl Names {
    fn serve() -> Result<Names, Failed> {
        let socket = UdpSocket::bind((SERVER, 53))?;
        let names = Names { says: Arc::new(Mutex::new(HERE)), files: tempdir()? };
        let says = Arc::clone(&names.says);
        std::thread::spawn(move || {
            let mut query = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut query) {
                let says = *says.lock().expect("nobody panics with it");
                let _ = answer(&query[..length], says).map(|answer| socket.send_to(&answer, from));
            }
        });
        let file = |name: &str, text: String| std::fs::write(names.files.path().join(name), text);
        file("resolv.conf", format!("nameserver {SERVER}\noptions timeout:1 attempts:1\n"))?;
        file("hosts", "127.0.0.1 localhost\n".to_owned())?;
        file("nsswitch.conf", "hosts: files dns\n".to_owned())?;
        Ok(names)
    }

    fn say(&self, says: Says) {
        *self.says.lock().expect("nobody panics with it") = says;
    }

    /// A command that finds names by this server alone, in a mount namespace of its own.
    fn with(&self, inner: &Command) -> Command {
        let bound = "for file in resolv.conf hosts nsswitch.conf; do \
                     [ ! -e /etc/$file ] || mount --bind \"$0/$file\" /etc/$file || exit; done; exec \"$@\"";
        let mut outer = Command::new("unshare");
        outer.args(["--mount", "sh", "-c", bound]).arg(self.files.path());
        let mut command = wrapped(outer, inner);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// The answer to a query of one question (RFC 1035, section 4.1); none where nothing is to be said, or to what is none.
fn answer(query: &[u8], says: Says) -> Option<Vec<u8>> {
    let name_bytes = query.get(12..)?.iter().position(|byte| *byte == 0)?;
    let question = query.get(12..12 + name_bytes + 5)?;
    let is_of_v4 = question[name_bytes + 1..] == [0, 1, 0, 1];
    let (code, address) = match says {
        Says::At(address) => (0, Some(address).filter(|_| is_of_v4)),
        Says::NoSuchName => (3, None),
        Says::Failed => (2, None),
        Says::Nothing => return None,
    };
    let mut answer = vec![query[0], query[1], 0x81, 0x80 | code, 0, 1, 0, u8::from(address.is_some()), 0, 0, 0, 0];
    answer.extend(question);
    if let Some(address) = address {
        // The name of the question, an address of the Internet, to be kept for no time.
        answer.extend([0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
        answer.extend(address);
    }
    Some(answer)
}

fn keys() -> [(&'static str, String); 2] {
    [("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()), ("AWS_SECRET_ACCESS_KEY", SECRET_KEY.to_owned())]
}

/// The target by its name.
fn named(target: &Served) -> String {
    format!("{NAME}:{}", target.address.rsplit(':').next().unwrap_or_default())
}

fn has_lines(file: &Path) -> bool {
    std::fs::read_to_string(file).is_ok_and(|text| text.lines().count() > 0)
}

/// A load whose name server changes its mind once the first figures are there.
fn load() -> Result<(), Failed> {
    let (names, drive) = (Names::serve()?, tempdir()?);
    let target = Served::embedded(drive.path());
    let bench = |folder: &Path, duration: &str| {
        let flags = format!(
            "--host {} --op get,put --obj.size 4KiB --objects 20 --concurrent 2 --warmup 100ms --duration {duration} \
             --no-ceiling",
            named(&target)
        );
        names.with(&bench_command(folder, &flags, &keys()))
    };
    for says in [Says::NoSuchName, Says::Failed, Says::Nothing, ELSEWHERE] {
        let out = tempdir()?;
        let folder = out.path().join("run");
        names.say(HERE);
        let run = bench(&folder, "1s").spawn()?;
        eventually("figures", || has_lines(&folder.join("intervals.jsonl")));
        names.say(says);
        let output = run.wait_with_output()?;
        assert!(output.status.success(), "{says:?}: {}", shown(&output));
        let view = view(&folder);
        assert!(points(&view).iter().all(|p| p.requests > 0 && p.error_count() == 0), "{says:?}: {}", shown(&output));
        assert!(view.findings.iter().all(|found| found.kind != FindingKind::LeftBehind), "{says:?}");
        assert_eq!(objects(&target), Vec::<String>::new(), "{says:?}");
    }

    // Of a run that was killed nothing is deleted while its name does not resolve, and everything once it does.
    let out = tempdir()?;
    let folder = out.path().join("run");
    names.say(HERE);
    let mut run = bench(&folder, "1000s").spawn()?;
    eventually("figures", || has_lines(&folder.join("intervals.jsonl")));
    run.kill()?;
    run.wait()?;
    let clean = || -> Result<Output, Failed> {
        let mut command = linerate();
        command.envs(keys()).args(["clean", "--yes-load"]).arg(&folder);
        Ok(names.with(&command).output()?)
    };
    for (says, part) in [(Says::NoSuchName, "failed to resolve"), (Says::Nothing, "failed to resolve")] {
        names.say(says);
        let refused = clean()?;
        assert!(refused.status.code() == Some(3) && shown(&refused).contains(part), "{says:?}: {}", shown(&refused));
        assert!(shown(&refused).contains(&named(&target)), "{says:?}: {}", shown(&refused));
        assert!(!objects(&target).is_empty(), "{says:?}");
    }
    names.say(HERE);
    let cleaned = clean()?;
    assert!(cleaned.status.success(), "{}", shown(&cleaned));
    assert_eq!(objects(&target), Vec::<String>::new());
    Ok(())
}

/// Cells are runs of their own, and load what was found when the experiment began.
fn experiment() -> Result<(), Failed> {
    let (names, drive) = (Names::serve()?, tempdir()?);
    let target = Served::embedded(drive.path());
    for says in [Says::NoSuchName, ELSEWHERE] {
        let out = tempdir()?;
        let folder = out.path().join("trial");
        names.say(HERE);
        let mut command = linerate();
        let arms = ["experiment", "--with", "signed=--payload signed", "--with", "unsigned=--payload unsigned"];
        command.envs(keys()).args(arms).arg("--host").arg(named(&target));
        command.args(words("--load get:16KiB@2 --settle 50ms --measure 200ms --blocks 6 --alpha 0.1 --seed 7"));
        command.args(words("--may-differ foreign_load --may-differ stolen -o")).arg(&folder);
        command.args(words("-- --objects 8"));
        let mut run = names.with(&command).spawn()?;
        eventually("a cell", || {
            has_lines(&folder.join("outcomes.jsonl")) || run.try_wait().is_ok_and(|ended| ended.is_some())
        });
        names.say(says);
        let output = run.wait_with_output()?;
        assert!(output.status.success(), "{says:?}: {}", shown(&output));
        let reported = shown(&output);
        assert!(
            !reported.contains("objects remain") && !reported.contains("failed to resolve"),
            "{says:?}: {reported}"
        );
        assert_eq!(objects(&target), Vec::<String>::new(), "{says:?}: {reported}");
    }
    Ok(())
}
