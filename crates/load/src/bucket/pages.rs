//! The pages of a listing, gone through as long as they lead anywhere.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher as _};

use super::BucketError;

/// Pages in a row without an entry, after which a listing is taken not to end.
const EMPTY_PAGES_MAX: usize = 100;

/// Goes through the pages of a listing, as long as they lead anywhere.
pub struct Pages<Next> {
    from: Option<Next>,
    /// Where pages began, and with which entries: 8 bytes of each, however many pages.
    places: HashSet<u64>,
    firsts: HashSet<u64>,
    empty: usize,
}

impl<Next> Default for Pages<Next> {
    fn default() -> Self {
        Pages { from: None, places: HashSet::new(), firsts: HashSet::new(), empty: 0 }
    }
}

impl<Next: Hash> Pages<Next> {
    /// Where the page to ask for begins; nowhere for the first.
    #[must_use]
    pub const fn from(&self) -> Option<&Next> {
        self.from.as_ref()
    }

    /// Notes what a page began with, where it showed something, and where the next one begins; `false` where there is
    /// none.
    ///
    /// # Errors
    /// [`BucketError::Answer`] for a listing that does not end.
    pub fn turn(&mut self, first: Option<String>, next: Option<Next>) -> Result<bool, BucketError> {
        let endless = |why: &str| Err(BucketError::Answer { call: "a listing".into(), why: why.into() });
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
        self.from = Some(next);
        Ok(true)
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
        assert!(pages.turn(first("a"), Some(1)).unwrap() && pages.from() == Some(&1));
        assert!(pages.turn(first("b"), Some(2)).unwrap() && !pages.turn(first("c"), None).unwrap());
        assert!(pages.turn(first("d"), Some(2)).is_err(), "the same place again");
        assert!(pages.turn(first("d"), Some(3)).is_err(), "the same page again");
        let mut pages = Pages::default();
        let turns = (0..1000).take_while(|&i| pages.turn(None, Some(i)).is_ok()).count();
        assert_eq!(turns, EMPTY_PAGES_MAX);
    }

    #[test]
    fn a_listing_that_goes_round_is_an_error_however_long_the_way() {
        for around in [1, 2, 3, 50] {
            let mut pages = Pages::default();
            let turns =
                (0..1000).take_while(|&i| pages.turn(Some(format!("k{}", i % around)), Some(i)).is_ok()).count();
            assert_eq!(turns, around, "of pages");
            let mut pages = Pages::default();
            let turns = (0..1000).take_while(|&i| pages.turn(Some(format!("k{i}")), Some(i % around)).is_ok()).count();
            assert_eq!(turns, around, "of places");
        }
    }
}
