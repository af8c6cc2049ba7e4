//! Whether an experiment is gone on with: its folder names commands to run and settings to change, and may have come
//! from anywhere.

use linerate_record::experiment::Experiment;
use linerate_record::shown::masked;

use super::flags::ResumeFlags;
use crate::consent;
use crate::failure::Failure;
use crate::state::{self, Note};

/// Goes on where this machine noted that it began what `text` asks; asks otherwise, unless there is consent.
pub(super) fn require(experiment: &Experiment, text: &[u8], flags: &ResumeFlags) -> Result<(), Failure> {
    if flags.yes_run || state::is_noted(Note::Experiment, &String::from_utf8_lossy(text)) {
        return Ok(());
    }
    let what =
        format!("this machine did not begin the experiment in {}, or it was changed since", flags.folder.display());
    let doubt = format!("To go on is to {}.", deeds(experiment));
    let reported = deeds(experiment);
    // What is masked would be consented to unseen.
    let whole =
        if masked(&reported) == reported { "" } else { "; what looks like a key is masked here: read experiment.json" };
    consent::ask(&what, &doubt, &format!("to go on is to {reported}{whole}; give --yes-run to consent"))
}

/// What to go on with it does, in words.
fn deeds(experiment: &Experiment) -> String {
    let means = &experiment.means;
    let commands = means.iter().filter_map(|means| means.command.as_ref()).chain(&experiment.restart);
    let mut deeds: Vec<String> = commands.map(|command| format!("run {command:?}")).collect();
    let changes = means.iter().flat_map(|means| &means.changes);
    deeds.extend(changes.map(|change| format!("set {} to {:?}", change.place, change.new)));
    let of_arms = means.iter().flat_map(|means| &means.flags);
    let flags: Vec<&str> = experiment.flags.iter().chain(of_arms).map(String::as_str).collect();
    deeds.push(format!("run linerate bench with {:?}", flags.join(" ")));
    // The baseline stands twice.
    let mut reported: Vec<String> = Vec::with_capacity(deeds.len());
    for deed in deeds {
        if !reported.contains(&deed) {
            reported.push(deed);
        }
    }
    reported.join(", ")
}
