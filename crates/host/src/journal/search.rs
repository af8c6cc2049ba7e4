//! Which journal is meant where none is named. One that cannot be read is never believed, and keeps none of the others
//! from being found: whoever searches gets its name too, and decides whether that matters.

use super::{JournalContent, JournalFolder};
use crate::error::TuneError;

/// What came of a search.
#[derive(Debug, Default)]
pub struct FoundJournal {
    pub journal: Option<JournalContent>,
    /// Those that may be what was searched for just as well, the newest first.
    pub unreadable: Vec<UnreadableJournal>,
}

/// A journal that cannot be read.
#[derive(Debug)]
pub struct UnreadableJournal {
    pub id: String,
    /// Why, and what to do about it.
    pub error: TuneError,
}

impl FoundJournal {
    /// What was found, if nothing else can be it.
    ///
    /// # Errors
    /// Where one that cannot be read may be it.
    pub fn certain(self) -> Result<Option<JournalContent>, TuneError> {
        match self.unreadable.into_iter().next() {
            Some(UnreadableJournal { error, .. }) => Err(error),
            None => Ok(self.journal),
        }
    }

    /// What was found; that nothing was is known only if all could be read.
    ///
    /// # Errors
    /// Where nothing was found, and one that cannot be read may be it.
    pub fn known(self) -> Result<Option<JournalContent>, TuneError> {
        if self.journal.is_some() { Ok(self.journal) } else { self.certain() }
    }
}

impl JournalFolder {
    /// The newest journal that nobody has rolled back whole.
    ///
    /// # Errors
    /// As of [`JournalFolder::ids`].
    pub fn newest_open(&self) -> Result<FoundJournal, TuneError> {
        self.newest(|reported| !reported.is_closed())
    }

    /// The newest journal of which something is so.
    ///
    /// # Errors
    /// As of [`JournalFolder::ids`].
    pub fn newest(&self, is_so: impl Fn(&JournalContent) -> bool) -> Result<FoundJournal, TuneError> {
        self.search(is_so, |_| false)
    }

    /// All journals that cannot be read.
    ///
    /// # Errors
    /// As of [`JournalFolder::ids`].
    pub fn unreadable(&self) -> Result<Vec<UnreadableJournal>, TuneError> {
        Ok(self.newest(|_| false)?.unreadable)
    }

    /// The journal that waits: whichever says so, whatever its place. A rollout that was forbidden has a later name,
    /// and so may applications of earlier versions, whose names followed a clock that may have been set back since. One
    /// that cannot be read may wait too, unless a later one is not rolled back: nothing is begun while another waits.
    ///
    /// # Errors
    /// As of [`JournalFolder::ids`].
    pub(crate) fn pending(&self) -> Result<FoundJournal, TuneError> {
        self.search(JournalContent::is_pending, |reported| !reported.is_closed())
    }

    /// The newest journal of which something is so. Behind one that `rules_out` earlier ones, what cannot be read is
    /// not what is searched for.
    fn search(
        &self,
        is_so: impl Fn(&JournalContent) -> bool,
        rules_out: impl Fn(&JournalContent) -> bool,
    ) -> Result<FoundJournal, TuneError> {
        let mut found = FoundJournal::default();
        let mut is_ruled_out = false;
        for id in self.ids()?.into_iter().rev() {
            match self.read(&id) {
                Ok(reported) if is_so(&reported) => {
                    found.journal = Some(reported);
                    break;
                }
                Ok(reported) => is_ruled_out |= rules_out(&reported),
                // One that was cut before its first line was whole announces nothing.
                Err(TuneError::Empty { .. }) => {}
                Err(_) if is_ruled_out => {}
                Err(error) => {
                    found.unreadable.push(UnreadableJournal { id, error: TuneError::Unreadable(Box::new(error)) });
                }
            }
        }
        Ok(found)
    }
}
