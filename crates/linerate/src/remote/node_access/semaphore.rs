//! A semaphore: at most so many threads do something at once.

use std::sync::{Condvar, Mutex, PoisonError};

pub(super) struct Semaphore {
    free: Mutex<usize>,
    freed: Condvar,
}

/// A place among them, until it is dropped.
pub(super) struct Permit<'s>(&'s Semaphore);

impl Semaphore {
    pub(super) fn new(count: usize) -> Semaphore {
        Semaphore { free: Mutex::new(count), freed: Condvar::new() }
    }

    /// Waits for one: whoever has one gives it back in time.
    pub(super) fn take(&self) -> Permit<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.freed.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Permit(self)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}
