//! Whether an experiment is gone on with: its folder names commands to run and settings to change, and may have come
//! from anywhere.

use linerate_record::experiment::Experiment;
use linerate_record::sanitize::masked;
use linerate_report::experiment::run_deeds;

use super::flags::ResumeFlags;
use crate::files::local_state::{self, Note};
use crate::run::consent;
use crate::terminal::failure::Failure;

/// Goes on where this machine noted that it began what `text` asks; asks otherwise, unless there is consent.
pub(super) fn require_trust(experiment: &Experiment, text: &[u8], flags: &ResumeFlags) -> Result<(), Failure> {
    if flags.yes_run || local_state::has_note(Note::Experiment, &String::from_utf8_lossy(text)) {
        return Ok(());
    }
    let what =
        format!("this machine did not begin the experiment in {}, or it was changed since", flags.folder.display());
    let reported = run_deeds(experiment);
    let doubt = format!("Continuing would {reported}.");
    // What is masked would be consented to unseen.
    let whole =
        if masked(&reported) == reported { "" } else { "; what looks like a key is masked here: read experiment.json" };
    consent::ask_or_refuse(&what, &doubt, &format!("continuing would {reported}{whole}; give --yes-run to consent"))
}
