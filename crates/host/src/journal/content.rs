//! What a journal holds, line by line.

use linerate_record::journal::{
    Begin, CoupledSetting, Device, JOURNAL_SCHEMA, JournalLine, RollbackOutcome, RolledBackBy, Watcher,
};
use linerate_record::knob::{Change, SettingId};

/// What a journal holds.
#[derive(Clone, Debug, PartialEq)]
pub struct JournalContent {
    /// For which machine, since when, and until when by now.
    pub begin: Begin,
    /// Who watches it, where that is known.
    pub watchers: Vec<Watcher>,
    /// What was made, in order.
    pub made: Vec<Made>,
    /// What was not, and why.
    pub refused: Vec<(SettingId, String)>,
    /// Whether all changes were gone through.
    pub is_applied: bool,
    /// When it was confirmed, in milliseconds since 1970.
    pub confirmed_ms: Option<u64>,
    /// When somebody began to roll it back, in milliseconds since 1970.
    pub rollback_began_ms: Option<u64>,
    /// Who rolled it back, when, and how many settings are left.
    pub closed: Option<(RolledBackBy, u64, u32)>,
    /// Why it was rolled back, by the first who said so.
    pub closed_why: Option<String>,
    /// When the last change was made, in milliseconds since 1970; absent where nothing was, or the journal is of an
    /// earlier version.
    pub made_ms: Option<u64>,
    /// Until when it waits as it began, in milliseconds since the machine booted.
    pub first_deadline_since_boot_ms: u64,
    /// How that was put off, in order: when, in milliseconds since 1970, and to when, in milliseconds since the machine
    /// booted.
    pub extended: Vec<(Option<u64>, u64)>,
}

/// A change that was announced, and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// Its number in the file of changes.
    pub number: u32,
    pub change: Change,
    pub prior: String,
    /// The inode of its network namespace.
    pub net: Option<u64>,
    /// What moves with it, before.
    pub coupled: Vec<CoupledSetting>,
    /// The devices that it and what moves with it are of.
    pub devices: Vec<Device>,
    /// What it was read back as, and what moved with it; `None` where that is not known to have happened.
    pub became: Option<(String, Vec<CoupledSetting>)>,
    /// What came of rolling it back, the last time.
    pub rolled_back: Option<RollbackOutcome>,
}

impl JournalContent {
    /// Whether every change was rolled back, with nothing left.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self.closed, Some((_, _, 0)))
    }

    /// Whether somebody began to roll it back, or a change that was made was tried to be.
    #[must_use]
    pub fn is_rolling_back(&self) -> bool {
        let is_rolled_back = |made: &Made| made.became.is_some() && made.rolled_back.is_some();
        self.rollback_began_ms.is_some() || self.made.iter().any(is_rolled_back)
    }

    /// How many settings were given up, since they were not there.
    #[must_use]
    pub fn given_up(&self) -> usize {
        let is_gone = |made: &&Made| made.rolled_back == Some(RollbackOutcome::Gone);
        if self.is_closed() { self.made.iter().filter(is_gone).count() } else { 0 }
    }

    /// Whether somebody is to look at it: it waits, was confirmed and is restored in part, or something of it could not
    /// be restored.
    #[must_use]
    pub fn is_unsettled(&self) -> bool {
        self.is_pending() || self.is_kept_in_part() || matches!(self.closed, Some((_, _, 1..)))
    }

    /// Whether it was confirmed, and somebody began to roll it back and has not ended.
    #[must_use]
    pub fn is_kept_in_part(&self) -> bool {
        self.is_kept() && self.is_rolling_back()
    }

    /// Whether its changes were confirmed and not rolled back since.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.confirmed_ms.is_some() && self.closed.is_none()
    }

    /// Whether nothing is to be rolled back: no change was announced, or each was restored at once.
    #[must_use]
    pub fn has_changed_nothing(&self) -> bool {
        self.made
            .iter()
            .all(|made| matches!(made.rolled_back, Some(RollbackOutcome::Restored | RollbackOutcome::Already)))
    }

    /// Whether it waits: neither confirmed nor rolled back.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.confirmed_ms.is_none() && self.closed.is_none()
    }
}

/// Puts the lines together. A last line that was cut is none; any other that cannot be read is an error.
pub(super) fn parsed(bytes: &[u8]) -> Result<JournalContent, String> {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let text = std::str::from_utf8(&bytes[..end]).map_err(|error| error.to_string())?;
    let mut lines = text.lines().enumerate().map(|(index, line)| {
        serde_json::from_str::<JournalLine>(line).map_err(|error| format!("line {}: {error}", index + 1))
    });
    let begin = match lines.next() {
        Some(Ok(JournalLine::Begin(begin))) if begin.schema == JOURNAL_SCHEMA => begin,
        Some(Ok(JournalLine::Begin(begin))) => return Err(format!("schema {} is not {JOURNAL_SCHEMA}", begin.schema)),
        Some(Err(why)) => return Err(why),
        _ => return Err("it has no first line".to_owned()),
    };
    let mut reported = JournalContent {
        first_deadline_since_boot_ms: begin.deadline_since_boot_ms,
        begin,
        watchers: Vec::new(),
        made: Vec::new(),
        refused: Vec::new(),
        is_applied: false,
        confirmed_ms: None,
        rollback_began_ms: None,
        closed: None,
        closed_why: None,
        made_ms: None,
        extended: Vec::new(),
    };
    for line in lines {
        add(&mut reported, line?)?;
    }
    Ok(reported)
}

fn add(reported: &mut JournalContent, line: JournalLine) -> Result<(), String> {
    let known = |made: &mut Vec<Made>, number: u32| -> Result<usize, String> {
        made.iter().position(|made| made.number == number).ok_or_else(|| format!("change {number} was never announced"))
    };
    match line {
        JournalLine::Begin(_) => return Err("it begins twice".to_owned()),
        JournalLine::Watched { by, rollback_began_ms } => {
            reported.watchers = by;
            reported.rollback_began_ms = reported.rollback_began_ms.or(rollback_began_ms);
        }
        JournalLine::Intent { number, change, prior, net, coupled, devices } => {
            let change = *change;
            reported.made.push(Made { number, change, prior, net, coupled, devices, became: None, rolled_back: None });
        }
        JournalLine::Made { number, value, coupled, at_ms } => {
            let index = known(&mut reported.made, number)?;
            reported.made[index].became = Some((value, coupled));
            reported.made_ms = at_ms;
        }
        JournalLine::Refused { place, why, .. } => reported.refused.push((place, why)),
        JournalLine::Applied => reported.is_applied = true,
        JournalLine::Extended { deadline_since_boot_ms, at_ms } => {
            reported.begin.deadline_since_boot_ms = deadline_since_boot_ms;
            reported.extended.push((at_ms, deadline_since_boot_ms));
        }
        JournalLine::Confirmed { at_ms } => reported.confirmed_ms = Some(at_ms),
        JournalLine::RolledBack { number, outcome } => {
            let index = known(&mut reported.made, number)?;
            reported.made[index].rolled_back = Some(outcome);
        }
        JournalLine::Closed { by, at_ms, left, why } => {
            reported.closed = Some((by, at_ms, left));
            reported.closed_why = reported.closed_why.take().or(why);
        }
    }
    Ok(())
}
