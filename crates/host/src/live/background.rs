//! What may wait, read beside the looks: a look is never longer for a driver that asks its firmware, a drive that does
//! not answer, or an old kernel that sleeps for a core's frequency. What is read so is in the values of a later look.

use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

use crate::root::Root;

/// Nothing that is read so goes deep.
const STACK_BYTES: usize = 256 << 10;

/// One reading that is taken beside the looks, one at a time.
#[derive(Debug)]
pub(super) struct BackgroundRead<T> {
    running: Option<Receiver<T>>,
    not_before_ms: u64,
}

impl<T> Default for BackgroundRead<T> {
    fn default() -> Self {
        BackgroundRead { running: None, not_before_ms: 0 }
    }
}

impl<T: Send + 'static> BackgroundRead<T> {
    /// What was found since the look before, if anything. Begins anew where that is due. The thread is of the network
    /// namespace of whoever looks. Of a captured machine nothing waits, and what is found is there at once.
    pub(super) fn turn(
        &mut self,
        root: &Root,
        now_ms: u64,
        every_ms: u64,
        work: impl FnOnce(&Root) -> T + Send + 'static,
    ) -> Option<T> {
        let found = self.found();
        if self.running.is_some() || now_ms < self.not_before_ms {
            return found;
        }
        self.not_before_ms = now_ms.saturating_add(every_ms);
        if !root.is_live() {
            return Some(work(root));
        }
        let (sender, receiver) = sync_channel(1);
        let root = root.clone();
        let thread = std::thread::Builder::new().name("live-aside".to_owned()).stack_size(STACK_BYTES);
        // Where the machine has no room for a thread, the next turn tries again.
        let begun = thread.spawn(move || drop(sender.send(work(&root))));
        self.running = begun.is_ok().then_some(receiver);
        found
    }

    /// What was found since the look before, if anything.
    pub(super) fn found(&mut self) -> Option<T> {
        let found = match self.running.as_ref()?.try_recv() {
            Err(TryRecvError::Empty) => return None,
            Ok(found) => Some(found),
            Err(TryRecvError::Disconnected) => None,
        };
        self.running = None;
        found
    }

    /// Puts the next one off.
    pub(super) fn put_off(&mut self, until_ms: u64) {
        self.not_before_ms = self.not_before_ms.max(until_ms);
    }

    /// Lets the next one be at this instant already, if it would be later.
    pub(super) fn hasten(&mut self, at_ms: u64) {
        self.not_before_ms = self.not_before_ms.min(at_ms);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_reading_that_waits_holds_up_no_look_and_is_not_begun_twice() {
        let (release, wait) = channel::<()>();
        let mut aside = BackgroundRead::default();
        assert_eq!(aside.turn(&Root::live(), 0, 10, move |_| wait.recv().map(|()| 7)), None);
        for now_ms in 1..100 {
            assert_eq!(aside.turn(&Root::live(), now_ms, 10, |_| Ok(8)), None, "{now_ms}");
        }
        release.send(()).unwrap();
        let found = std::iter::repeat_with(|| {
            std::thread::sleep(Duration::from_millis(1));
            aside.turn(&Root::live(), 5, 10, |_| Ok(9))
        });
        assert_eq!(found.take(5_000).flatten().next(), Some(Ok(7)));
    }

    #[test]
    fn of_a_captured_machine_it_is_there_at_once_and_only_when_due() {
        let root = Root::captured("none");
        let mut aside = BackgroundRead::default();
        let found: Vec<u64> = (0..30).filter_map(|now_ms| aside.turn(&root, now_ms, 10, move |_| now_ms)).collect();
        assert_eq!(found, [0, 10, 20]);
        aside.put_off(40);
        assert_eq!(aside.turn(&root, 39, 10, |_| 39), None);
        aside.hasten(35);
        assert_eq!(aside.turn(&root, 36, 10, |_| 36), Some(36));
    }
}
