//! systemd's own programs: found where nobody else could have put them, and asked whether a timer waits.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use linerate_record::journal::Begin;
use rustix::time::{ClockId, clock_gettime};

use super::unit;
use crate::clock::{shift_ms, since_boot_ms};
use crate::path_trust;

/// Where distributions have them. `PATH` is whose shell this was started from.
const FOLDERS: [&str; 4] = ["/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin"];

/// How much later than asked for a timer may be due: it is told in whole seconds at worst.
const LATER_US: u64 = 2_000_000;

/// One of systemd's programs, with nothing of the environment that would have it do something else.
///
/// # Errors
/// Where it is not there, or others could have put it there.
pub(super) fn command(name: &str) -> Result<Command, String> {
    let mut command = Command::new(found(name, &FOLDERS)?);
    command.env_clear().env("PATH", FOLDERS.join(":")).stdin(Stdio::null());
    Ok(command)
}

fn found(name: &str, folders: &[&str]) -> Result<PathBuf, String> {
    let path = folders.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.is_file());
    let path = path.ok_or_else(|| format!("there is no {name} in {}", folders.join(", ")))?;
    match path_trust::weak(&path) {
        Ok(None) => Ok(path),
        Ok(Some(weak)) => Err(format!("others can write to {}, so {} is not run", weak.display(), path.display())),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// Whether the timer or the service of a unit is there; none where systemd does not say.
pub(super) fn is_active(unit: &str) -> Option<bool> {
    let mut command = command("systemctl").ok()?;
    command.args(["show", "--property=ActiveState", &format!("{unit}.timer"), &format!("{unit}.service")]);
    let said = command.output().ok().filter(|said| said.status.success())?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let mut states = text.lines().filter_map(|line| line.strip_prefix("ActiveState="));
    Some(states.any(|state| matches!(state, "active" | "activating" | "reloading")))
}

/// Refuses where systemd does not say that the timer of an application waits, which was asked for to fire after so many
/// milliseconds: however long that took, it is due by then from now on.
///
/// # Errors
/// What it says instead.
pub(super) fn require_waiting(begin: &Begin, after_ms: u64) -> Result<(), String> {
    let timer = format!("{}.timer", unit(&begin.id));
    let mut command = command("systemctl")?;
    command.args(["show", "--property=ActiveState,NextElapseUSecMonotonic", &timer]);
    let said = command.output().map_err(|error| format!("systemctl: {error}"))?;
    // It may have been due already: then nothing is changed any more.
    if since_boot_ms() >= begin.deadline_since_boot_ms {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&said.stdout);
    let now = clock_gettime(ClockId::Monotonic);
    let now_us = u64::try_from(now.tv_sec.saturating_mul(1_000_000).saturating_add(now.tv_nsec / 1000)).unwrap_or(0);
    // In a time namespace this process's clock is not systemd's.
    let latest_us = if shift_ms() == 0 {
        now_us.saturating_add(after_ms.saturating_mul(1000)).saturating_add(LATER_US)
    } else {
        u64::MAX - 1
    };
    if waits(&text, latest_us) {
        return Ok(());
    }
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Err(format!("according to systemd, {timer} does not fire in time: {text:?}"))
}

/// Whether a timer is active and due, on the clock of systemd, by an instant at the latest.
fn waits(properties: &str, latest_us: u64) -> bool {
    let property = |name: &str| properties.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    property("ActiveState") == Some("active")
        && property("NextElapseUSecMonotonic").and_then(span_us).is_some_and(|due_us| due_us > 0 && due_us <= latest_us)
}

/// A span as systemd writes it: `1h 2min 3.000004s`. `infinity` is none.
fn span_us(text: &str) -> Option<u64> {
    let mut all_us = 0.0;
    for word in text.split_whitespace() {
        let end = word.find(|letter: char| letter != '.' && !letter.is_ascii_digit())?;
        let unit_us = match &word[end..] {
            "us" | "μs" => 1.0,
            "ms" => 1e3,
            "s" => 1e6,
            "min" => 6e7,
            "h" => 3.6e9,
            "d" => 8.64e10,
            "w" => 6.048e11,
            "month" => 2_629_800e6,
            "y" => 31_557_600e6,
            _ => return None,
        };
        all_us += word[..end].parse::<f64>().ok()? * unit_us;
    }
    (all_us > 0.0).then_some(all_us as u64)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_timer_waits_only_where_it_is_active_and_due_in_time() {
        for (properties, does_wait) in [
            ("ActiveState=active\nNextElapseUSecMonotonic=1min 1.5s\n", true),
            ("NextElapseUSecMonotonic=1min 2s\nActiveState=active\n", true),
            ("ActiveState=active\nNextElapseUSecMonotonic=1min 2.000001s\n", false),
            ("ActiveState=active\nNextElapseUSecMonotonic=1month\n", false),
            ("ActiveState=active\nNextElapseUSecMonotonic=infinity\n", false),
            ("ActiveState=active\nNextElapseUSecMonotonic=\n", false),
            ("ActiveState=failed\nNextElapseUSecMonotonic=1min\n", false),
            ("ActiveState=inactive\n", false),
            ("", false),
        ] {
            assert_eq!(waits(properties, 62_000_000), does_wait, "{properties}");
        }
        assert_eq!(span_us("1d 2h 3min 4.000005s"), Some(86_400_000_000 + 7_200_000_000 + 180_000_000 + 4_000_005));
        assert_eq!(span_us("7ms 5us"), Some(7_005));
    }

    #[test]
    fn a_program_in_a_folder_that_others_write_to_is_not_run() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("bin");
        std::fs::create_dir(&folder).unwrap();
        let path = folder.to_str().unwrap();
        assert!(found("systemctl", &[path]).unwrap_err().contains("there is no systemctl in"));
        std::fs::write(folder.join("systemctl"), "").unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(found("systemctl", &["/none", path]).unwrap(), folder.join("systemctl"));
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(found("systemctl", &[path]).unwrap_err().contains("others can write to"));
    }
}
