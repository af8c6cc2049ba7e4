//! What a bucket does with what is deleted in it, found and reported before the load.

use linerate_load::bucket::{Bucket, DefaultLock, Versioning};

use super::setup::PreparedRun;
use crate::run::consent;
use crate::terminal::failure::Failure;
use crate::terminal::progress::print_error;

/// What the bucket does with what is deleted in it, where this run deletes anything; tells of it. What is written to a
/// bucket that locks it is there to stay: that wants consent of its own.
pub(super) fn check_versioning(
    prepared: &PreparedRun<'_>,
    stores_nothing: bool,
    bucket: &mut Bucket<'_>,
) -> Result<Versioning, Failure> {
    if prepared.load.objects.list_existing || stores_nothing || prepared.has_own_target() {
        return Ok(Versioning::Nothing);
    }
    let keeping = bucket.keeping()?;
    let (name, output) = (&prepared.session.bucket, prepared.output);
    match &keeping {
        Versioning::Versions { lock: DefaultLock::Held(lock) } => {
            let what = format!(
                "bucket {name:?} locks what is written to it ({lock}): what this run writes cannot be deleted before"
            );
            if prepared.yes_load {
                print_error(&format!("warning: {what}"));
            } else {
                let fix = "give --yes-load to consent, or name another --bucket";
                consent::ask_or_refuse(&what, "You pay for it during that time.", fix)?;
            }
        }
        Versioning::Versions { lock } if !output.quiet && !output.json => {
            let then = if prepared.load.objects.noclear { "and stays" } else { "and is deleted with all its versions" };
            let unless = match lock {
                DefaultLock::Unknown(why) => {
                    format!("; it is not known whether the bucket locks what is written to it: {why}")
                }
                DefaultLock::Open | DefaultLock::Held(_) => String::new(),
            };
            print_error(&format!(
                "bucket {name:?} keeps versions: what this run writes is kept as such, {then}{unless}"
            ));
        }
        _ => {}
    }
    Ok(keeping)
}
