//! What is not changed, and why.

use std::collections::HashSet;

use linerate_record::knob::{CHANGES_SCHEMA, ChangeSet, Knob, SettingId, Space, reaches};

use super::{TuneError, machine_hash};
use crate::root::Root;
use crate::setting::{
    Changeable, KernelBuild, allowed_value, changeable, fitting_value, identity_as_meant, irreversible, owner,
};

/// Longest text of a change: its knob's reasons are a few sentences, and the longest values are masks of processors.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// All texts of a file: each is in the journal, whose length is bounded.
const TEXTS_BYTES_MAX: usize = 16 << 20;

/// More settings than a machine of 1,024 processors and 256 disks has knobs for.
const CHANGES_MAX: usize = 20_000;

/// The row of a setting that may be changed to a value, or why it may not.
///
/// # Errors
/// The reason: nobody knows the knob, it cannot be changed at run time or in that namespace, it belongs to the CNI, the
/// value can be none, or rollback could not restore what is there.
pub fn refusal(
    built: &KernelBuild<'_>,
    find: &dyn Fn(&str) -> Option<&'static Knob>,
    place: &SettingId,
    value: &str,
) -> Result<&'static Knob, String> {
    let root = built.root;
    let knob = find(&place.knob).ok_or_else(|| format!("there is no knob {:?}: see linerate knobs", place.knob))?;
    if let Changeable::No(why) = changeable(&knob.locator) {
        return Err(format!("it cannot be changed while the machine runs: {why}"));
    }
    if !reaches(knob, &place.space) {
        return Err("it has one value for the whole machine: leave out --pid and --netns".to_owned());
    }
    if let Some(owner) = owner(root, knob, place) {
        return Err(format!("{owner}, so linerate does not change it"));
    }
    allowed_value(value)?;
    fitting_value(built, knob, place, value)?;
    irreversible(root, knob, place, value).map_or(Ok(knob), Err)
}

/// Refuses a file of changes as a whole: another machine's, one whose processes or namespaces are others by now, or
/// what [`readable`] refuses.
pub(super) fn of_file(root: &Root, set: &ChangeSet) -> Result<(), TuneError> {
    readable(set)?;
    if set.machine != machine_hash(root)? {
        let machine: String = set.machine.chars().take(40).collect();
        let why = format!("the file of changes was made for another machine ({machine:?}): make one on this machine");
        return Err(TuneError::File(why));
    }
    let spaces: HashSet<&Space> = set.changes.iter().map(|change| &change.place.space).collect();
    for space in spaces {
        let is_meant = identity_as_meant(root, space, &set.spaces);
        is_meant
            .map_err(|error| TuneError::File(format!("cannot change settings{}: {error}", namespace_suffix(space))))?;
    }
    Ok(())
}

fn namespace_suffix(space: &Space) -> String {
    match space {
        Space::Host => String::new(),
        Space::Pid(pid) => format!(" in the namespaces of process {pid}"),
        Space::Netns(name) => format!(" in network namespace {name}"),
    }
}

/// Refuses a file of changes of another layout, one that names a setting twice, or one with text that would do
/// something to a terminal or to a file made from it.
///
/// # Errors
/// The reason.
pub fn readable(set: &ChangeSet) -> Result<(), TuneError> {
    let refuse = |why: String| Err(TuneError::File(why));
    // Schema 1 does not say which namespaces it means: only of this process's own are its changes made.
    if !(1..=CHANGES_SCHEMA).contains(&set.schema) {
        let (schema, own) = (set.schema, CHANGES_SCHEMA);
        return refuse(format!("the file of changes has schema {schema}, but this linerate reads schemas up to {own}"));
    }
    if set.changes.len() > CHANGES_MAX {
        return refuse(format!("the file has {} changes: at most {CHANGES_MAX} are accepted", set.changes.len()));
    }
    let named = set.spaces.iter().filter_map(|then| match &then.space {
        Space::Netns(name) => Some(name),
        Space::Host | Space::Pid(_) => None,
    });
    for text in [&set.profile, &set.machine].into_iter().chain(named) {
        if breaks_out(text) {
            return refuse("the file's profile or machine has a line break or a control character".to_owned());
        }
    }
    let (mut seen, mut bytes) = (HashSet::new(), 0);
    for change in &set.changes {
        let place = &change.place;
        let device = place.device.as_deref().unwrap_or_default();
        let namespace = if let Space::Netns(name) = &place.space { name.as_str() } else { "" };
        let texts = [&*place.knob, device, namespace, &*change.prior, &*change.new, &*change.why, &*change.risk];
        if texts.iter().any(|text| breaks_out(text)) {
            return refuse(format!("the change of {:?} has a line break or a control character", place.knob));
        }
        // Values that are to be set have bounds of their own.
        let long = [&*place.knob, device, namespace, &*change.prior, &*change.why, &*change.risk];
        if let Some(long) = long.into_iter().map(str::len).find(|bytes| *bytes > TEXT_BYTES_MAX) {
            let knob: String = place.knob.chars().take(40).collect();
            return refuse(format!(
                "the change of {knob:?} has a text of {long} bytes: at most {TEXT_BYTES_MAX} are read"
            ));
        }
        bytes += texts.iter().map(|text| text.len()).sum::<usize>();
        if bytes > TEXTS_BYTES_MAX {
            return refuse(format!(
                "the file's texts are longer than {} MiB: make it on this machine",
                TEXTS_BYTES_MAX >> 20
            ));
        }
        if !seen.insert(place) {
            return refuse(format!("{place} is in the file twice: leave one"));
        }
    }
    Ok(())
}

/// Whether a text could do something to a terminal, or begin a line of a file made from it. The last two are line
/// breaks of YAML 1.1, and no control characters.
fn breaks_out(text: &str) -> bool {
    text.chars().any(|c| (c.is_control() && c != '\t') || matches!(c, '\u{2028}' | '\u{2029}'))
}
