//! Requests that are in no interval: those that end behind the last one, and those that are given up with the point.

use linerate_record::run::{Op, OutsideRow};

use super::Worker;
use crate::connection::Phase;
use crate::request_failure::RequestFailure;

impl Worker<'_> {
    /// Notes a success behind the last interval.
    pub(super) fn answered_alongside(&mut self, op: Op, bytes: u64) {
        OutsideRow { answered: 1, bytes, ..OutsideRow::none(op) }.add_to(&mut self.alongside);
    }

    /// Notes a failure that no interval has.
    pub(super) fn failed_alongside(&mut self, op: Op, why: &RequestFailure) {
        let none = OutsideRow::none(op);
        let row = match why {
            RequestFailure::Connect(_) => OutsideRow { unsent: 1, ..none },
            _ => OutsideRow { failed: 1, ..none },
        };
        row.add_to(&mut self.alongside);
    }

    /// Notes what is in flight when nothing is waited for any more: its connections are closed next.
    pub(super) fn give_up(&mut self) {
        for connection in self.places.iter().filter(|connection| connection.phase != Phase::Idle) {
            let exchange = &connection.exchange;
            let none = OutsideRow::none(exchange.request_spec.op);
            let row = if connection.has_sent_its_head() {
                let dropped_bytes = u64::try_from(exchange.moved_bytes(false)).unwrap_or(0);
                OutsideRow { dropped: 1, dropped_bytes, ..none }
            } else {
                OutsideRow { unsent: 1, ..none }
            };
            row.add_to(&mut self.alongside);
        }
    }
}
