//! How many do something at once.

use std::sync::{Condvar, Mutex, PoisonError};

/// So many may.
pub(super) struct Slots {
    free: Mutex<usize>,
    freed: Condvar,
}

/// The right to, until it is dropped.
pub(super) struct Slot<'s>(&'s Slots);

impl Slots {
    pub(super) fn new(count: usize) -> Slots {
        Slots { free: Mutex::new(count), freed: Condvar::new() }
    }

    /// Waits for one: whoever has one gives it back in time.
    pub(super) fn take(&self) -> Slot<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.freed.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Slot(self)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}
