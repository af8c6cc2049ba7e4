//! The pages of a listing, gone through as long as they lead anywhere.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher as _};

use super::BucketError;
use crate::listing::Page;

/// Pages in a row without an entry, after which a listing is taken not to end.
const EMPTY_PAGES_MAX: usize = 100;

/// Pages after which it is taken not to end where they have fewer entries than so each, of the thousand that they may
/// have, and after which however many they have: a hundred million of these.
const SPARSE_PAGES_MAX: usize = 300;
const SPARSE: usize = 10;
const PAGES_MAX: usize = 100_000;

/// Goes through the pages of a listing, as long as they lead anywhere.
pub struct Pages<Next> {
    from: Option<Next>,
    /// Where pages began, and with which entries: 8 bytes of each, however many pages.
    places: HashSet<u64>,
    firsts: HashSet<u64>,
    empty: usize,
    /// Pages, and entries of all of them.
    turned: usize,
    entries: usize,
}

impl<Next> Default for Pages<Next> {
    fn default() -> Self {
        Pages { from: None, places: HashSet::new(), firsts: HashSet::new(), empty: 0, turned: 0, entries: 0 }
    }
}

impl<Next: Hash> Pages<Next> {
    /// Where the page to ask for begins; nowhere for the first.
    #[must_use]
    pub const fn from(&self) -> Option<&Next> {
        self.from.as_ref()
    }

    /// Notes how many entries a page had, what it began with, where it showed something, and where the next one begins;
    /// `false` where there is none.
    ///
    /// # Errors
    /// [`BucketError::Answer`] for a listing that does not end.
    pub fn turn(&mut self, entries: usize, first: Option<String>, next: Option<Next>) -> Result<bool, BucketError> {
        let endless = |why: &str| Err(BucketError::Answer { call: "a listing".into(), why: why.into() });
        (self.turned, self.entries) = (self.turned + 1, self.entries + entries);
        self.empty = if first.is_none() { self.empty + 1 } else { 0 };
        if first.is_some_and(|first| !self.firsts.insert(hash(&first))) {
            return endless("two of its pages are the same");
        }
        let Some(next) = next else { return Ok(false) };
        if !self.places.insert(hash(&next)) {
            return endless("its next page begins where this one or an earlier one did");
        }
        if self.empty > EMPTY_PAGES_MAX {
            return endless("page after page is empty, but more are announced");
        }
        if self.turned >= SPARSE_PAGES_MAX && self.entries < SPARSE * self.turned {
            return endless("hundreds of its pages have a few entries each, and more are announced");
        }
        if self.turned >= PAGES_MAX {
            return endless("it has not ended after a hundred thousand pages");
        }
        self.from = Some(next);
        Ok(true)
    }
}

/// The entries of the first page that has any, and whether others follow: an empty page is not the end of a listing
/// that goes on.
pub(super) fn first_shown<T, Next: Hash>(
    mut page_from: impl FnMut(Option<&Next>) -> Result<Page<T, Next>, BucketError>,
) -> Result<(Vec<T>, bool), BucketError> {
    let mut pages = Pages::default();
    loop {
        let page = page_from(pages.from())?;
        if !page.entries.is_empty() {
            return Ok((page.entries, page.next.is_some()));
        }
        if !pages.turn(0, None, page.next)? {
            return Ok((Vec::new(), false));
        }
    }
}

fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_that_leads_nowhere_is_an_error() {
        let first = |key: &str| Some(key.to_owned());
        let mut pages = Pages::default();
        assert!(pages.turn(1, first("a"), Some(1)).unwrap() && pages.from() == Some(&1));
        assert!(pages.turn(1, first("b"), Some(2)).unwrap() && !pages.turn(1, first("c"), None).unwrap());
        assert!(pages.turn(1, first("d"), Some(2)).is_err(), "the same place again");
        assert!(pages.turn(1, first("d"), Some(3)).is_err(), "the same page again");
        let mut pages = Pages::default();
        let turns = (0..1000).take_while(|&i| pages.turn(0, None, Some(i)).is_ok()).count();
        assert_eq!(turns, EMPTY_PAGES_MAX);
        // Fresh names for ever, a few a page, and many.
        for (entries, expected) in [(1, SPARSE_PAGES_MAX), (SPARSE - 1, SPARSE_PAGES_MAX), (SPARSE, PAGES_MAX)] {
            let mut pages = Pages::default();
            let turns = (0..).take_while(|i| pages.turn(entries, Some(i.to_string()), Some(*i)).is_ok()).count();
            assert_eq!(turns + 1, expected, "{entries} a page");
        }
    }

    #[test]
    fn a_listing_that_goes_round_is_an_error_however_long_the_way() {
        for around in [1, 2, 3, 50] {
            let mut pages = Pages::default();
            let turns =
                (0..1000).take_while(|&i| pages.turn(1, Some(format!("k{}", i % around)), Some(i)).is_ok()).count();
            assert_eq!(turns, around, "of pages");
            let mut pages = Pages::default();
            let turns =
                (0..1000).take_while(|&i| pages.turn(1, Some(format!("k{i}")), Some(i % around)).is_ok()).count();
            assert_eq!(turns, around, "of places");
        }
    }
}
