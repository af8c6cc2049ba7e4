//! Body bytes of one request by the interval that counts them: what is to be taken out if it does not end well.

/// Body bytes by interval, in the order in which they moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ledger(Vec<(u64, i64)>);

impl Ledger {
    /// Notes bytes that an interval counts; negative where it takes back.
    pub(crate) fn add(&mut self, interval: u64, bytes: i64) {
        match self.0.last_mut().filter(|last| last.0 == interval) {
            Some(last) => last.1 += bytes,
            None => self.0.push((interval, bytes)),
        }
    }

    /// Nothing, with the room that it has.
    pub(crate) fn cleared(mut self) -> Self {
        self.0.clear();
        self
    }

    /// All bytes.
    pub(crate) fn sum(&self) -> i64 {
        self.0.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Each interval with its bytes.
    pub(crate) fn entries(&self) -> &[(u64, i64)] {
        &self.0
    }
}
