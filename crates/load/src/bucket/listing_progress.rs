//! What listings show of what is to go, from look to look: the last word of a target, and whether it has one.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher as _};

/// What is remembered of one kind at the most, in 8 bytes each. Of more it is known only how many a listing showed.
const REMEMBERED_MAX: usize = 1_000_000;

/// How many looks in a row that find nothing new are believed: what was in flight may be stored seconds later by a busy
/// server. Where listings have shown again what they no longer showed, it takes more: each is worth less.
const QUIET_LOOKS: u32 = 3;
const QUIET_LOOKS_WAVERING: u32 = 5;

/// How many looks there are at the most.
const LOOKS_MAX: u32 = 12;

/// What is there of one kind, counted by listings alone: a target may say that it deleted what it still holds, and show
/// once more what it did not show before.
#[derive(Debug, Default)]
pub struct ListingProgress {
    /// What was shown by any listing, as far as it is remembered.
    found: HashSet<u64>,
    /// The most that were shown at once.
    most: usize,
    /// Those shown by the last listing.
    last: usize,
    /// Those shown at this look, and not by the listing before, though by an earlier one.
    back: usize,
    /// The same of looks before, until so many in a row were quiet that it is believed to have gone.
    lately: usize,
    /// What the listing that is gone through has shown, and how much of it no other did.
    now: usize,
    fresh: usize,
}

impl ListingProgress {
    pub fn look(&mut self) {
        self.lately = self.lately.max(std::mem::take(&mut self.back));
    }

    /// Notes what another listing shows.
    pub fn know(&mut self, entry: &impl Hash) {
        if self.found.len() < REMEMBERED_MAX {
            let mut hasher = DefaultHasher::new();
            entry.hash(&mut hasher);
            self.fresh += usize::from(self.found.insert(hasher.finish()));
        }
    }

    /// Notes what a listing shows now.
    pub fn see(&mut self, entry: &impl Hash) {
        self.know(entry);
        self.now += 1;
    }

    /// Notes that the listing has come to its end.
    pub fn end(&mut self) {
        if self.found.len() < REMEMBERED_MAX {
            let known = self.now.saturating_sub(self.fresh);
            self.back = self.back.max(known.saturating_sub(self.last));
        }
        self.most = self.most.max(self.now);
        self.last = self.now;
        (self.now, self.fresh) = (0, 0);
    }

    /// Notes that the listing is gone through no further: what it did not show is not known.
    pub fn break_off(&mut self) {
        self.most = self.most.max(self.now);
        self.last = self.last.max(self.now);
        (self.now, self.fresh) = (0, 0);
    }

    /// Believes that what has not been shown for some looks has gone.
    pub const fn believe(&mut self) {
        self.lately = 0;
    }

    /// What is still there, as far as the last look tells. A listing that has just shown again what one before did not
    /// show is not believed to have come to its last word.
    #[must_use]
    pub fn left(&self) -> usize {
        self.last.max(self.back).max(self.lately)
    }

    /// The most that there were, whether or not they were shown at once.
    #[must_use]
    pub fn in_all(&self) -> usize {
        self.found.len().max(self.most)
    }

    /// What was shown and is not there any more.
    #[must_use]
    pub fn deleted(&self) -> usize {
        self.in_all() - self.left()
    }

    /// What the last listing showed.
    #[must_use]
    pub const fn last(&self) -> usize {
        self.last
    }

    /// Whether the last look showed again what was not shown before.
    #[must_use]
    pub const fn wavers(&self) -> bool {
        self.back > 0
    }

    /// Whether some look did, and it was not believed since that it has gone.
    #[must_use]
    pub const fn is_unsettled(&self) -> bool {
        self.wavers() || self.lately > 0
    }
}

/// How many looks were made, and whether they are enough.
#[derive(Debug, Default)]
pub struct ListingLooks {
    made: u32,
    quiet: u32,
    wavered: bool,
}

impl ListingLooks {
    /// Looks that are doubted from the beginning: something contradicts what they are about to show.
    #[must_use]
    pub const fn in_doubt(is_doubted: bool) -> Self {
        ListingLooks { made: 0, quiet: 0, wavered: is_doubted }
    }

    /// Notes a look: whether it found nothing new, and whether listings contradicted each other.
    pub const fn made(&mut self, is_quiet: bool, wavers: bool) {
        self.made += 1;
        self.wavered |= wavers;
        self.quiet = if is_quiet && !wavers { self.quiet + 1 } else { 0 };
    }

    /// Doubts what is shown from now on: something contradicts it.
    pub const fn doubt(&mut self) {
        self.wavered = true;
    }

    /// Whether so many in a row found nothing new that it is believed that nothing comes any more.
    #[must_use]
    pub const fn are_believed(&self) -> bool {
        self.quiet >= if self.wavered { QUIET_LOOKS_WAVERING } else { QUIET_LOOKS }
    }

    /// Whether no other is made.
    #[must_use]
    pub const fn are_over(&self) -> bool {
        self.are_believed() || self.made >= LOOKS_MAX
    }

    /// Whether listings contradicted each other at one of them, or something else contradicts them.
    #[must_use]
    pub const fn wavered(&self) -> bool {
        self.wavered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &[u32] = &[1, 2, 3, 4, 5, 6, 7];
    const SOME: &[u32] = &[2, 4];
    const NONE: &[u32] = &[];

    /// What it is, listings by look, and what was deleted, what is left, and whether the listings waver.
    type Case = (&'static str, &'static [&'static [&'static [u32]]], (usize, usize, bool));

    /// What listings that show these entries tell, one look each.
    fn reported(looks: &[&[&[u32]]]) -> ListingProgress {
        let mut shown = ListingProgress::default();
        for look in looks {
            shown.look();
            for listing in *look {
                listing.iter().for_each(|entry| shown.see(entry));
                shown.end();
            }
        }
        shown
    }

    #[test]
    fn what_is_told_as_deleted_is_what_the_last_word_of_the_target_supports() {
        let cases: [Case; 8] = [
            ("deleted", &[&[ALL, NONE], &[NONE]], (7, 0, false)),
            ("kept", &[&[ALL, ALL], &[ALL, ALL]], (0, 7, false)),
            ("kept in part", &[&[ALL, SOME, SOME], &[SOME, SOME]], (5, 2, false)),
            ("stored late", &[&[&[1, 2], NONE], &[&[3], NONE], &[NONE]], (3, 0, false)),
            ("shown, and not, and again", &[&[ALL, NONE], &[ALL]], (0, 7, true)),
            ("shown, and not, at each look", &[&[ALL, NONE], &[ALL, NONE], &[ALL, NONE]], (0, 7, true)),
            ("shown again in part, and not for one look", &[&[ALL, NONE], &[SOME, NONE], &[NONE]], (5, 2, false)),
            ("shown in turns", &[&[ALL, NONE], &[&[1, 2, 3]], &[&[4, 5]]], (4, 3, false)),
        ];
        for (what, looks, expected) in cases {
            let shown = reported(looks);
            assert_eq!((shown.deleted(), shown.left(), shown.wavers()), expected, "{what}");
        }
        // Quiet looks enough, and it has gone.
        let mut shown = reported(&[&[ALL, NONE], &[SOME, NONE], &[NONE]]);
        assert!(shown.is_unsettled() && shown.left() == SOME.len());
        shown.believe();
        assert!(!shown.is_unsettled() && (shown.deleted(), shown.left()) == (ALL.len(), 0));
        // What was gone through in part may hold as much as was shown before.
        SOME.iter().for_each(|entry| shown.see(entry));
        shown.break_off();
        assert_eq!(shown.left(), SOME.len());
    }

    #[test]
    fn looks_are_believed_once_enough_of_them_in_a_row_are_quiet_and_more_where_listings_wavered() {
        for (what, looks, expected) in [
            ("quiet", &[(true, false); 3][..], (true, true)),
            ("too few", &[(true, false); 2], (false, false)),
            ("something new", &[(true, false), (false, false), (true, false), (true, false)], (false, false)),
            ("wavered", &[(true, true), (true, false), (true, false), (true, false)], (false, false)),
            ("never quiet", &[(false, false); 12], (false, true)),
        ] {
            let mut made = ListingLooks::default();
            looks.iter().for_each(|(is_quiet, wavers)| made.made(*is_quiet, *wavers));
            assert_eq!((made.are_believed(), made.are_over()), expected, "{what}");
        }
        let mut doubted = ListingLooks::in_doubt(true);
        (0..QUIET_LOOKS).for_each(|_| doubted.made(true, false));
        assert!(!doubted.are_over());
    }
}
