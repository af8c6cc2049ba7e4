//! What is run on a host: a script that looks for the program in the user's cache, by its SHA-256; where it is not, it
//! asks for it on the same stream. What it verified it executes by the same descriptor, so that nobody can put another
//! in its place.
//!
//! Each script is one line, which a `sh` there reads from its input: what is left for the user's own shell to read is
//! the same few words in every shell, csh and fish among them.

use linerate_fleet::node_reach::SshTarget;
use linerate_record::fleet::Allowed;

use super::agent_programs::Program;

/// What each line of a script begins with, before the agent speaks.
pub(super) const MESSAGE_PREFIX: &str = "linerate: ";

/// What the user's shell is given: `sh` reads no byte behind the line.
pub(super) const READ_LINE_COMMAND: &str = r#"exec sh -c 'IFS= read -r s && eval "$s"'"#;

/// The folder of programs, for a script.
fn folder(place: &SshTarget) -> String {
    match &place.cache {
        Some(cache) => format!("\"{cache}/linerate/agents\""),
        None => "\"${XDG_CACHE_HOME:-$HOME/.cache}/linerate/agents\"".to_owned(),
    }
}

/// Runs the agent from the cache, where it is put first if need be.
pub(super) fn agent_script(place: &SshTarget, programs: &[Program], allow: Allowed) -> String {
    let known = |program: &Program| format!("{}) h={}; n={};; ", program.machine, program.sha256, program.bytes.len());
    let (cases, folder): (String, _) = (programs.iter().map(known).collect(), folder(place));
    let started = match &place.become_by {
        None => "exec /proc/self/fd/9".to_owned(),
        // What sudo starts has none of the descriptors of this shell, which waits for it. A shell that would become
        // its last command has one more to do.
        Some(become_by) => format!("{become_by} /proc/$$/fd/9"),
    };
    [
        "umask 077; ".to_owned(),
        format!(r#"say() {{ echo "{MESSAGE_PREFIX}$1"; }}; stop() {{ rm -f "$t"; say "$1"; exit 0; }}; t=; "#),
        format!(r#"m=$(uname -m); case $m in {cases}*) stop "machine $m";; esac; "#),
        format!(r#"d={folder}; f="$d/$h"; "#),
        r#"own() { mkdir -p "$1" && [ ! -L "$1" ] && [ -O "$1" ]; }; "#.to_owned(),
        r#"own "${d%/*}" && own "$d" && chmod 700 "$d" || stop "unkept $d"; "#.to_owned(),
        r#"s=; if [ -r "$f" ]; then exec 9<"$f"; [ -O /proc/self/fd/9 ] && s=$(sha256sum <&9); fi; "#.to_owned(),
        r#"if [ "${s%% *}" != $h ]; then "#.to_owned(),
        // No file of that name is taken, whoever made it.
        r#"t="$f.$$"; set -C; true >"$t" && chmod 700 "$t" || stop "unkept $d"; "#.to_owned(),
        r#"[ -x "$t" ] || stop "noexec $d"; "#.to_owned(),
        r#"say "want $m"; head -c $n >>"$t" || stop "unkept $d"; "#.to_owned(),
        r#"exec 9<"$t"; s=$(sha256sum <&9); [ -O /proc/self/fd/9 ] && [ "${s%% *}" = $h ] || stop broken; "#.to_owned(),
        r#"mv -f "$t" "$f" || stop "unkept $d"; fi; "#.to_owned(),
        r#"t=; [ -x /proc/self/fd/9 ] || stop "noexec $d"; "#.to_owned(),
        format!("say ready; {started} agent --allow {}; exit $?", allow.name()),
    ]
    .concat()
}

/// Removes the programs that [`agent_script`] put into the cache: regular files of this user's that are named as it
/// names them, `SHA256` or `SHA256.PID`, in folders of this user's that no link leads to from the cache. Nothing else
/// there is touched, and the folder goes where it is empty then: who wrote the fleet file says where the cache is, and
/// not what is deleted in it.
pub(super) fn cleaning_script(place: &SshTarget) -> String {
    [
        format!(r#"say() {{ echo "{MESSAGE_PREFIX}$1"; }}; stop() {{ say "$1"; exit 0; }}; d={}; "#, folder(place)),
        r#"if [ -e "$d" ] || [ -L "$d" ]; then "#.to_owned(),
        // What is looked at is the folder that was entered: its path may lead elsewhere by then. One that was entered
        // by a link has another path.
        r#"enter() { p=$(pwd -P) && cd -P "./$1" >/dev/null && [ "$(pwd -P)" = "${p%/}/$1" ] && [ -O . ]; }; "#
            .to_owned(),
        r#"cd -P "${d%/linerate/agents}/" >/dev/null && enter linerate && enter agents || stop "uncleaned $d"; "#
            .to_owned(),
        r#"for f in *; do h=${f%%.*}; p=${f#"$h"}; "#.to_owned(),
        r#"[ ${#h} = 64 ] || continue; case $h in *[!0-9a-f]*) continue;; esac; "#.to_owned(),
        r#"case $p in .|.*[!0-9]*) continue;; esac; "#.to_owned(),
        r#"[ ! -L "$f" ] && [ -f "$f" ] && [ -O "$f" ] || continue; rm -f "$f" || stop "uncleaned $d"; done; "#
            .to_owned(),
        r#"cd /; rmdir "$d" 2>/dev/null; fi; say removed"#.to_owned(),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::path::Path;
    use std::process::{Command, Stdio};

    use super::*;

    fn place(become_by: Option<&str>, cache: Option<&str>) -> SshTarget {
        let mut place = SshTarget { user: None, host: "h".to_owned(), port: None, become_by: None, cache: None };
        place.become_by = become_by.map(|text| text.parse().expect("a command"));
        place.cache = cache.map(|text| text.parse().expect("a folder"));
        place
    }

    fn program(machine: &str) -> Program {
        Program { machine: machine.to_owned(), bytes: vec![0; 10], sha256: "ab".repeat(32) }
    }

    #[test]
    fn scripts_are_one_line_and_only_the_agent_gets_other_rights() {
        let programs = [program("x86_64"), program("aarch64")];
        for (become_by, cache) in [(None, None), (Some("sudo -n"), Some("/var/tmp/x"))] {
            let place = place(become_by, cache);
            let script = agent_script(&place, &programs, Allowed::Load);
            for script in [&script, &cleaning_script(&place)] {
                assert!(!script.contains('\n'), "{script}");
                assert_eq!(script.contains("\"/var/tmp/x/linerate/agents\""), cache.is_some(), "{script}");
            }
            assert_eq!(script.matches("sudo").count(), usize::from(become_by.is_some()), "{script}");
            let last = script.rsplit("say ready; ").next().expect("an end");
            let expected = match become_by {
                None => "exec /proc/self/fd/9 agent --allow load; exit $?",
                Some(_) => "sudo -n /proc/$$/fd/9 agent --allow load; exit $?",
            };
            assert_eq!(last, expected);
        }
        // csh reads exclamation marks in quotes too, and no line ends within them.
        assert!(!READ_LINE_COMMAND.contains(['!', '\n', '\\']));
    }

    /// What a script says with this program in the place of the agent, for which `printf` gives its arguments.
    fn run(folder: &Path, place: &SshTarget, programs: &[Program], sent: &[u8]) -> String {
        let script = format!("{}\n", agent_script(place, programs, Allowed::Read));
        let mut command = Command::new("sh");
        command.args(["-c", READ_LINE_COMMAND]).env("XDG_CACHE_HOME", folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("sh runs");
        let mut input = child.stdin.take().expect("its input");
        let _ = input.write_all(&[script.as_bytes(), sent].concat());
        drop(input);
        String::from_utf8_lossy(&child.wait_with_output().expect("it ends").stdout).into_owned()
    }

    #[test]
    fn what_is_put_there_is_verified_kept_and_run_and_nothing_else_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let bytes = b"#!/bin/sh\necho ran \"$*\"\n".to_vec();
        let sha256 = Command::new("sh").args(["-c", "sha256sum"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut sum = sha256.expect("sha256sum runs");
        sum.stdin.take().expect("its input").write_all(&bytes).expect("it reads");
        let sum = String::from_utf8(sum.wait_with_output().expect("a sum").stdout).expect("text");
        let machine = std::env::consts::ARCH;
        let program = Program { machine: machine.to_owned(), bytes: bytes.clone(), sha256: sum[..64].to_owned() };
        let (programs, plain) = ([program], place(None, None));
        let wrong = vec![b'x'; bytes.len()];
        assert_eq!(
            run(folder.path(), &plain, &programs, &wrong),
            format!("linerate: want {machine}\nlinerate: broken\n")
        );
        let cut = run(folder.path(), &plain, &programs, &bytes[..5]);
        assert!(cut.ends_with("linerate: broken\n"), "{cut}");
        let kept = folder.path().join("linerate/agents");
        assert_eq!(std::fs::read_dir(&kept).expect("a folder").count(), 0);
        let first = run(folder.path(), &plain, &programs, &bytes);
        assert_eq!(first, format!("linerate: want {machine}\nlinerate: ready\nran agent --allow read\n"));
        assert_eq!(std::fs::read_dir(&kept).expect("a folder").count(), 1);
        let again = run(folder.path(), &plain, &programs, b"");
        assert_eq!(again, "linerate: ready\nran agent --allow read\n");
        // By a command that closes descriptors, as sudo does.
        let closes = folder.path().join("closes");
        std::fs::write(&closes, "exec 9<&-; exec \"$@\"\n").expect("written");
        let by = place(Some(&format!("sh {}", closes.display())), None);
        assert_eq!(run(folder.path(), &by, &programs, b""), again);
        // Another architecture.
        let other = [Program { machine: "nonsuch".to_owned(), bytes, sha256: String::new() }];
        assert_eq!(run(folder.path(), &plain, &other, b""), format!("linerate: machine {machine}\n"));
    }
    /// What the cleaning of a cache says, with a cache in this folder.
    fn cleaned(folder: &Path) -> String {
        let place = place(None, folder.to_str());
        let mut command = Command::new("sh");
        command.args(["-c", READ_LINE_COMMAND]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("sh runs");
        let mut input = child.stdin.take().expect("its input");
        input.write_all(format!("{}\n", cleaning_script(&place)).as_bytes()).expect("it reads");
        drop(input);
        String::from_utf8_lossy(&child.wait_with_output().expect("it ends").stdout).into_owned()
    }

    #[test]
    fn cleaning_removes_programs_by_their_names_and_nothing_that_somebody_else_put_there() {
        let place = tempfile::tempdir().expect("a folder");
        let (cache, kept) = (place.path().join("cache"), place.path().join("cache/linerate/agents"));
        assert_eq!(cleaned(&cache), "linerate: removed\n", "there is nothing");
        std::fs::create_dir_all(kept.join("a folder")).expect("made");
        let sha = "0123456789abcdef".repeat(4);
        let ours = [sha.clone(), format!("{sha}.4711")];
        let elsewhere = place.path().join("thesis.txt");
        let others = ["thesis.txt".to_owned(), format!("{}g", &sha[1..]), sha[1..].to_owned()];
        let others: Vec<String> =
            others.into_iter().chain([".", ".txt", ".1.2"].map(|end| sha.clone() + end)).collect();
        for name in ours.iter().chain(&others).map(|name| kept.join(name)).chain([elsewhere.clone()]) {
            std::fs::write(name, "x").expect("written");
        }
        std::fs::write(kept.join("a folder").join(&sha), "x").expect("written");
        let link = "f".repeat(64);
        std::os::unix::fs::symlink(&elsewhere, kept.join(&link)).expect("made");
        assert_eq!(cleaned(&cache), "linerate: removed\n");
        assert!(ours.iter().all(|name| !kept.join(name).exists()));
        let stays = others.iter().cloned().chain([link.clone(), format!("a folder/{sha}")]);
        assert!(stays.clone().all(|name| kept.join(name).exists()) && elsewhere.exists());
        stays.map(|name| kept.join(name)).for_each(|path| std::fs::remove_file(path).expect("it stayed"));
        std::fs::remove_dir(kept.join("a folder")).expect("it stayed");
        assert_eq!(cleaned(&cache), "linerate: removed\n");
        assert!(!kept.exists(), "an empty folder goes");
        // A link in its place leads to no deletion elsewhere.
        let other = place.path().join("other");
        std::fs::create_dir(&other).expect("made");
        std::fs::write(other.join(&sha), "x").expect("written");
        std::os::unix::fs::symlink(&other, &kept).expect("made");
        assert_eq!(cleaned(&cache), format!("linerate: uncleaned {}\n", kept.display()));
        assert!(other.join(&sha).exists());
    }

    #[test]
    fn a_link_above_the_programs_leads_to_nothing_that_is_removed_or_put_there() {
        let place = tempfile::tempdir().expect("a folder");
        let (cache, victim) = (place.path().join("cache"), place.path().join("victim"));
        let file = victim.join("agents").join("0123456789abcdef".repeat(4));
        std::fs::create_dir_all(victim.join("agents")).expect("made");
        std::fs::create_dir(&cache).expect("made");
        std::fs::write(&file, "x").expect("written");
        std::os::unix::fs::symlink(&victim, cache.join("linerate")).expect("made");
        let kept = cache.join("linerate/agents");
        assert_eq!(cleaned(&cache), format!("linerate: uncleaned {}\n", kept.display()));
        assert!(file.exists());
        let machine = Command::new("uname").arg("-m").output().expect("it runs").stdout;
        let programs = [program(String::from_utf8_lossy(&machine).trim())];
        let plain = SshTarget { user: None, host: "h".to_owned(), port: None, become_by: None, cache: None };
        assert_eq!(run(&cache, &plain, &programs, b""), format!("linerate: unkept {}\n", kept.display()));
        assert_eq!(std::fs::read_dir(victim.join("agents")).expect("a folder").count(), 1);
        // The cache itself may be one.
        std::fs::remove_file(cache.join("linerate")).expect("removed");
        std::fs::create_dir(cache.join("linerate")).expect("made");
        std::fs::rename(victim.join("agents"), &kept).expect("moved");
        std::os::unix::fs::symlink(&cache, place.path().join("link")).expect("made");
        assert_eq!(cleaned(&place.path().join("link")), "linerate: removed\n");
        assert!(!kept.exists());
    }
}
