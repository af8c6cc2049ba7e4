//! What was applied, and what settings are now.

use std::fmt::Write as _;
use std::process::ExitCode;

use linerate_host::apply::{has_booted, since_boot_ms};
use linerate_host::journal::{Made, Told};
use linerate_host::{Root, setting};
use linerate_record::journal::{By, Undo};

use super::{find, root, state};
use crate::failure::Failure;
use crate::report;

pub(super) fn status() -> Result<ExitCode, Failure> {
    let state = state()?;
    let text = match state.newest_open()? {
        None => "nothing is applied: every change was taken back, or none was made\n".to_owned(),
        Some(told) => {
            let machine = root(told.begin.root.as_deref());
            let mut text = format!("{}\n", line(&told, &machine));
            if !has_booted(&machine, &told.begin) {
                for made in &told.made {
                    let _ = writeln!(text, "  {}", present(made, &machine));
                }
            }
            text
        }
    };
    report::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn log(id: Option<&str>) -> Result<ExitCode, Failure> {
    let state = state()?;
    let mut text = String::new();
    if let Some(id) = id {
        let told = state.read(id)?;
        let machine = root(told.begin.root.as_deref());
        let _ = writeln!(text, "{}", line(&told, &machine));
        for made in &told.made {
            let _ = writeln!(text, "  {}: {:?} → {:?}{}", made.change.place, made.prior, made.change.new, after(made));
        }
        for (place, why) in &told.refused {
            let _ = writeln!(text, "  {place}: not changed: {why}");
        }
    } else {
        for id in state.ids()?.iter().rev() {
            let _ = match state.read(id) {
                Ok(told) => writeln!(text, "{}", line(&told, &root(told.begin.root.as_deref()))),
                Err(error) => writeln!(text, "{id}  {error}"),
            };
        }
        if text.is_empty() {
            text.push_str("nothing was ever applied\n");
        }
    }
    report::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// One application in a line: its name, profile, how many changes, and how it stands.
fn line(told: &Told, machine: &Root) -> String {
    let begin = &told.begin;
    let of = begin.root.as_ref().map(|folder| format!(" of {}", folder.display())).unwrap_or_default();
    format!("{}  {}  {} changes{of}  {}", begin.id, begin.profile, told.made.len(), standing(told, machine))
}

fn standing(told: &Told, machine: &Root) -> String {
    let is_of_this_boot = !has_booted(machine, &told.begin);
    if let Some((by, _, left)) = told.closed {
        let who = match by {
            By::Command => "taken back",
            By::Lapse if told.begin.owner.is_some() => "taken back: its process ended, or its time was over",
            By::Lapse => "taken back: not confirmed in time",
            By::Failure => "taken back: it could not go on",
            By::Reboot => "gone with a boot of the machine",
        };
        return if left == 0 { who.to_owned() } else { format!("{who}, but for {left} settings") };
    }
    match (told.confirmed_ms, is_of_this_boot) {
        (Some(_), true) => "confirmed".to_owned(),
        (Some(_), false) => "confirmed, and gone with a boot of the machine".to_owned(),
        (None, false) => "gone with a boot of the machine".to_owned(),
        (None, true) => {
            let left_ms = told.begin.deadline_since_boot_ms.saturating_sub(since_boot_ms());
            let whole = if told.is_applied { "" } else { "ended before all were made, " };
            match left_ms {
                1.. if told.is_being_undone() => {
                    format!("partly taken back: what is left is tried again in {} s", left_ms.div_ceil(1000))
                }
                0 => format!("{whole}not confirmed in time: being taken back; if not, linerate tune rollback"),
                _ => format!("{whole}taken back in {} s unless confirmed", left_ms.div_ceil(1000)),
            }
        }
    }
}

fn present(made: &Made, machine: &Root) -> String {
    let place = &made.change.place;
    let now = find(&place.knob).and_then(|knob| setting::read(machine, knob, place).value);
    let note = match &now {
        None => " (cannot be read)",
        Some(now) if setting::same(now, &made.change.new) => "",
        Some(now) if setting::same(now, &made.prior) => " (as before)",
        Some(_) => " (somebody has changed it since)",
    };
    let now = now.unwrap_or_default();
    format!("{place}: {:?} → {:?}, now {now:?}{note}", made.prior, made.change.new)
}

fn after(made: &Made) -> String {
    match &made.undone {
        None => String::new(),
        Some(Undo::Restored) => ", restored".to_owned(),
        Some(Undo::Already) => ", was as before already".to_owned(),
        Some(Undo::Gone) => ", gone".to_owned(),
        Some(Undo::Left { current }) => format!(", left at somebody else's {current:?}"),
        Some(Undo::Failed { why }) => format!(", not restored: {why}"),
    }
}
