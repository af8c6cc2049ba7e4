//! Requests that are in no interval: those that end behind the last one, and those that are given up with the point.

use linerate_record::run::{BesideRow, Op};

use super::Worker;
use crate::connection::Phase;
use crate::failure::RequestFailure;

impl Worker<'_> {
    /// Notes a success behind the last interval.
    pub(super) fn answered_beside(&mut self, op: Op, bytes: u64) {
        BesideRow { answered: 1, bytes, ..BesideRow::none(op) }.add_to(&mut self.beside);
    }

    /// Notes a failure that no interval has.
    pub(super) fn failed_beside(&mut self, op: Op, why: &RequestFailure) {
        let none = BesideRow::none(op);
        let row = match why {
            RequestFailure::Connect(_) => BesideRow { unsent: 1, ..none },
            _ => BesideRow { failed: 1, ..none },
        };
        row.add_to(&mut self.beside);
    }

    /// Notes what is in flight when nothing is waited for any more: its connections are closed next.
    pub(super) fn give_up(&mut self) {
        for connection in self.places.iter().filter(|connection| connection.phase != Phase::Idle) {
            let exchange = &connection.exchange;
            let none = BesideRow::none(exchange.ask.op);
            let row = if connection.has_sent_its_head() {
                let dropped_bytes = u64::try_from(exchange.moved_bytes(false)).unwrap_or(0);
                BesideRow { dropped: 1, dropped_bytes, ..none }
            } else {
                BesideRow { unsent: 1, ..none }
            };
            row.add_to(&mut self.beside);
        }
    }
}
