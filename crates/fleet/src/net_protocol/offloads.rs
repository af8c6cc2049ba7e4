//! What an agent says that kernels took off its hands, and what of that cannot be.

use linerate_record::net::NetGso;

use super::{NetEnd, NetRoundOrder};

/// What is wrong with what became of bursts of datagrams and of sends without a copy: they are told where they were
/// asked for, and nowhere else.
pub(super) fn check(end: &NetEnd, order: &NetRoundOrder) -> Result<(), String> {
    let requested = order.offloads;
    for of in &end.sent {
        if of.zerocopy.is_some() != (requested.zerocopy && of.error.is_none()) {
            return Err("sends without a copy that nobody asked for, or none".to_owned());
        }
        of.zerocopy.map_or(Ok(()), |of| of.check())?;
        of.gso.map_or(Ok(()), |bursts| bursts.check(of.datagrams.unwrap_or(0)))?;
    }
    for of in &end.received {
        let received = of.datagrams.map_or(0, |datagrams| datagrams.received);
        of.gro.map_or(Ok(()), |bursts| bursts.check(received))?;
    }
    let is_reported = end.sent.iter().any(|of| of.gso.is_some()) || end.received.iter().any(|of| of.gro.is_some());
    if is_reported && requested.gso == NetGso::Off {
        return Err("datagrams at once that nobody asked for".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use linerate_record::net::{NetBursts, NetDatagrams, NetOffloads, NetOp, NetZeroCopy};

    use super::super::{NetReceivedReport, NetSentReport};
    use super::*;

    fn order(gso: NetGso, zerocopy: bool) -> NetRoundOrder {
        NetRoundOrder {
            point: 1,
            op: if zerocopy { NetOp::Stream } else { NetOp::Udp { datagram_bytes: 100 } },
            sends: Vec::new(),
            receives: Vec::new(),
            warmup_ms: 0,
            duration_ms: 400,
            interval_ms: 100,
            send_bytes: 65_536,
            max_bytes_per_s: Some(1e6),
            offloads: NetOffloads { gso, zerocopy, reads: false },
            member: None,
        }
    }

    fn end(sent: NetSentReport, received: NetReceivedReport) -> NetEnd {
        NetEnd { point: 1, sent: vec![sent], received: vec![received], ..NetEnd::default() }
    }

    #[test]
    fn bursts_are_told_where_they_were_asked_for_and_are_no_more_than_datagrams() {
        let bursts = |calls| Some(NetBursts { calls, refused: None });
        let reported = |sends, reads| {
            let datagrams = NetDatagrams { received: 8, ..NetDatagrams::default() };
            let received = NetReceivedReport { datagrams: Some(datagrams), gro: reads, ..NetReceivedReport::default() };
            end(NetSentReport { datagrams: Some(9), gso: sends, ..NetSentReport::default() }, received)
        };
        let (on, off) = (order(NetGso::On, false), order(NetGso::Off, false));
        assert_eq!((on.check(), off.check()), (Ok(()), Ok(())));
        for of in [reported(None, None), reported(bursts(9), bursts(8)), reported(bursts(0), None)] {
            assert_eq!(check(&of, &on), Ok(()));
        }
        assert_eq!(check(&reported(None, None), &off), Ok(()));
        for (of, order, part) in [
            (reported(bursts(10), None), &on, "10 sends or reads of 9"),
            (reported(None, bursts(9)), &on, "9 sends or reads of 8"),
            (reported(bursts(1), None), &off, "nobody asked for"),
            (reported(None, bursts(1)), &off, "nobody asked for"),
        ] {
            let why = check(&of, order).unwrap_err();
            assert!(why.contains(part), "{part}: {why}");
        }
    }

    #[test]
    fn sends_without_a_copy_are_told_by_each_sender_that_was_asked_for_them() {
        let counted = NetZeroCopy { sends: 3, unkept: 0, noted: 3, copied: 3, refused: None };
        let reported =
            |zerocopy| end(NetSentReport { zerocopy, ..NetSentReport::default() }, NetReceivedReport::default());
        let (requested, other) = (order(NetGso::Off, true), order(NetGso::Off, false));
        assert_eq!(requested.check(), Ok(()));
        assert_eq!(check(&reported(Some(counted)), &requested), Ok(()));
        let mut failed = reported(None);
        failed.sent[0].error = Some("refused".to_owned());
        assert_eq!(check(&failed, &requested), Ok(()));
        for (of, order, part) in [
            (reported(None), &requested, "or none"),
            (reported(Some(counted)), &other, "nobody asked for"),
            (reported(Some(NetZeroCopy { noted: 4, ..counted })), &requested, "noted 4"),
        ] {
            let why = check(&of, order).unwrap_err();
            assert!(why.contains(part), "{part}: {why}");
        }
    }
}
