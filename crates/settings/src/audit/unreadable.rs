//! What could not be read, gathered by its reason.

use linerate_record::audit::{UnreadPart, missing_reason};
use linerate_record::knob::Snapshot;

/// One part per reason.
pub(super) fn unreadable(snapshot: &Snapshot) -> Vec<UnreadPart> {
    let mut parts: Vec<UnreadPart> = Vec::new();
    let mut add = |what: String, why: String| match parts.iter_mut().find(|part| part.why == why) {
        Some(part) => part.what.push(what),
        None => parts.push(UnreadPart { what: vec![what], why }),
    };
    for setting in &snapshot.settings {
        if let Some(why) = setting.missing.as_ref().and_then(missing_reason) {
            add(setting.place.to_string(), why);
        }
    }
    for reported in &snapshot.unreadable {
        let reported = reported.strip_prefix("cannot read ").unwrap_or(reported);
        let (what, why) = reported.split_once(": ").unwrap_or((reported, "unreadable"));
        add(what.to_owned(), why.to_owned());
    }
    parts
}
