//! Users of a real sshd with shells of their own, with and without rights by Debian's sudo, and with a home on which no
//! program may run: each is reached, or told why not.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use linerate_record::fleet::FleetRow;

use super::reached::Place;
use crate::running::{ACCESS_KEY, SECRET_KEY, Served, linerate, words};

pub(super) const NEEDS: &[&str] = &["shells and sudo", "root", "sshd", "ssh", "ssh-keygen", "mount", "unshare"];

/// Debian's csh, tcsh, fish and sudo, unpacked.
pub(super) fn unpacked() -> Option<PathBuf> {
    std::env::var_os("LOGINS").map(PathBuf::from).filter(|folder| folder.join("usr/bin/sudo").is_file())
}

/// Makes a machine of its own of a mount namespace, with users, and becomes what follows its folder and that of the
/// unpacked packages. Nothing of it is seen outside, and nothing is left of it.
const MACHINE: &str = r#"
set -e
place=$1 logins=$2
shift 2
mount -t tmpfs -o mode=755,size=2g tmpfs "$place"
cd "$place"
mkdir bin home libexec still elsewhere
mount -t tmpfs -o mode=755,noexec tmpfs still
cp -a /etc etc
cp "$logins/usr/bin/sudo" "$logins/bin/tcsh" bin/
chmod 4755 bin/sudo
cp "$logins/bin/bsd-csh" bin/csh
cp -r "$logins/usr/libexec/sudo" libexec/
printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' \
    "$(dirname "$(find "$logins" -name 'libpcre2-32.so.0' | head -n 1)")" "$logins/usr/bin/fish" >bin/fish
chmod 755 bin/fish
number=4710
user() {
    number=$((number + 1))
    echo "$1:x:$number:$number::$place/$3/$1:$2" >>etc/passwd
    echo "$1:*:19000::::::" >>etc/shadow
    mkdir "$3/$1"
    echo 'echo Welcome to this machine' >"$3/$1/.cshrc"
    chown -R "$number:$number" "$3/$1"
}
for name in csh tcsh fish; do user "$name" "$place/bin/$name" home; done
for name in admin asked unlisted limited; do user "$name" /bin/sh home; done
user closed /usr/sbin/nologin home
user still /bin/sh still
install -d -o "$number" elsewhere/still
for kind in auth account session; do echo "$kind required pam_permit.so"; done >etc/pam.d/sudo
cat >etc/sudoers <<'END'
Defaults use_pty, !mail_no_user, !mail_badpass
Defaults:unlisted,limited !authenticate
admin ALL=(ALL) NOPASSWD: ALL
limited ALL=(ALL) /usr/bin/true
END
chmod 440 etc/sudoers
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/sshd
mount --bind etc /etc
mount --bind libexec /usr/libexec
exec "$@"
"#;

/// Whether rights are there, or what of the message and of the advice is printed.
type Expected = Result<bool, (&'static str, &'static str)>;

/// Users, further keys of their nodes, and what is told of each: that it is reached, as root or not, or why not.
const USERS: [(&str, &str, &str, Expected); 12] = [
    // Two of the three print words of welcome.
    ("csh", "csh", "", Ok(false)),
    ("tcsh", "tcsh", "", Ok(false)),
    ("fish", "fish", "", Ok(false)),
    ("closed", "closed", "", Err(("shell of its user ended, and wrote \"This account", "who may run commands"))),
    ("plain", "admin", "", Ok(false)),
    ("admin", "admin", ", become: sudo -n", Ok(true)),
    (
        "asked",
        "asked",
        ", become: sudo -n",
        Err(("sudo -n is not permitted to this user without a password", "sudoers")),
    ),
    ("unlisted", "unlisted", ", become: sudo -n", Err(("this user is not in the sudoers file there", "NOPASSWD"))),
    ("limited", "limited", ", become: sudo -n", Err(("sudo -n is not permitted to this user: Sorry", "NOPASSWD"))),
    ("absent", "admin", ", become: doas -n", Err(("there is no doas there", "install it there"))),
    ("still", "still", "", Err(("it is mounted noexec", "add cache: /FOLDER"))),
    ("moved", "still", ", cache: PLACE/elsewhere/still", Ok(false)),
];

pub(super) fn reached_or_reported() -> Result<(), Failed> {
    let logins = unpacked().ok_or("LOGINS names no folder with Debian's sudo: make test-system unpacks it")?;
    let mut place = Place::make();
    // The users of the machine go through this folder; the keys in it stay its owner's.
    fs::set_permissions(place.path("."), fs::Permissions::from_mode(0o755))?;
    let machine = place.path("machine");
    fs::create_dir(&machine)?;
    fs::write(place.path("machine.sh"), MACHINE)?;
    let mut sshd = Command::new("unshare");
    sshd.args(["--mount", "sh"]).arg(place.path("machine.sh")).arg(&machine).arg(logins).arg("/usr/sbin/sshd");
    fs::copy(place.path("client.pub"), place.path("allowed"))?;
    let lines = format!(
        "AuthorizedKeysFile {}\nSetEnv PATH={}/bin:/usr/bin:/bin\n",
        place.path("allowed").display(),
        machine.display()
    );
    let port = place.serve_at("users", "127.0.0.1", &lines, sshd, Some("host"));
    for (name, user, keys, _) in USERS {
        let keys = keys.replace("PLACE", &machine.display().to_string());
        place.node_with(name, &format!("ssh://{user}@127.0.0.1:{port}"), &keys);
    }
    let rows = place.checked_with(&["--yes-exec"]);
    let wrong: Vec<String> = rows.iter().zip(USERS).filter_map(|(row, user)| otherwise(row, user.3)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    // What is put there is the user's, whatever rights the agent gets; by a flag, no node but these gets any.
    let inside = PathBuf::from(format!("/proc/{}/root", place.servers[0].pid()));
    let home = inside.join(machine.strip_prefix("/")?).join("home/admin");
    let cached: Vec<_> = fs::read_dir(home.join(".cache/linerate/agents"))?.collect::<Result<_, _>>()?;
    let owner = fs::metadata(&home)?.uid();
    assert!(owner != 0 && cached.len() == 1 && cached[0].metadata()?.uid() == owner, "{owner} {cached:?}");
    let rows = place.checked_with(&["--yes-exec", "--become", "sudo -n"]);
    let row_named = |name: &str| rows.iter().find(|row| row.name == name).ok_or(format!("no row of {name}"));
    assert_eq!(otherwise(row_named("plain")?, Ok(true)), None);
    assert_eq!(otherwise(row_named("absent")?, Err(("there is no doas there", "install it there"))), None);
    ends_with_its_coordinator(&place, port)
}

/// An agent that loads with rights by sudo is gone in time after its coordinator was killed.
fn ends_with_its_coordinator(place: &Place, port: u16) -> Result<(), Failed> {
    let (target, fleet, folder) = (Served::null(), place.path("one.yaml"), place.path("run"));
    fs::write(&fleet, format!("nodes:\n  - {{name: a, role: client, reach: 'ssh://admin@127.0.0.1:{port}'}}\n"))?;
    let flags = "--op get --obj.size 4KiB --concurrent 1 --duration 60s --warmup 0s --objects 4 \
                 --threads 1 --no-ceiling --yes-load --become";
    let mut bench = linerate();
    bench.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    bench.env("PATH", place.search_path()).args(["bench", "--host", &target.address]).args(words(flags)).arg("sudo -n");
    bench.arg("--fleet").arg(&fleet).arg("-o").arg(&folder).stdout(Stdio::null()).stderr(Stdio::null());
    let (mut bench, until) = (bench.spawn()?, Instant::now() + Duration::from_secs(30));
    while !fs::read_to_string(folder.join("points.jsonl")).is_ok_and(|text| text.contains("\"measure\"")) {
        assert!(Instant::now() < until && bench.try_wait()?.is_none(), "no point begins");
        std::thread::sleep(Duration::from_millis(20));
    }
    let runs =
        || -> Vec<String> { alongside(place.servers[0].pid()).into_iter().filter(|a| a.contains("--allow")).collect() };
    assert!(runs().iter().any(|args| args.starts_with("sudo -n /proc/")), "{:?}", runs());
    bench.kill()?;
    bench.wait()?;
    let killed = Instant::now();
    while !runs().is_empty() {
        assert!(killed.elapsed() < Duration::from_secs(3), "it runs: {:?}", runs());
        std::thread::sleep(Duration::from_millis(20));
    }
    println!("gone {:?} after its coordinator", killed.elapsed());
    Ok(())
}

/// Arguments of the other processes in the mount namespace of one.
fn alongside(pid: u32) -> Vec<String> {
    let space = |process: &Path| fs::read_link(process.join("ns/mnt")).ok();
    let own = PathBuf::from(format!("/proc/{pid}"));
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let others =
        processes.filter(|process| *process != own && space(process).is_some() && space(process) == space(&own));
    let args = |process: PathBuf| fs::read(process.join("cmdline")).ok();
    others.filter_map(args).map(|args| String::from_utf8_lossy(&args).replace('\0', " ")).collect()
}

/// What is not as expected of a node.
fn otherwise(row: &FleetRow, expected: Result<bool, (&str, &str)>) -> Option<String> {
    let is_so = match (&row.reached, &row.unreached, expected) {
        (Some(reached), None, Ok(is_root)) => reached.is_root == is_root,
        (None, Some(fault), Err((why, remedy))) => fault.why.contains(why) && fault.remedy.contains(remedy),
        _ => false,
    };
    (!is_so).then(|| format!("expected {expected:?}: {row:?}"))
}
