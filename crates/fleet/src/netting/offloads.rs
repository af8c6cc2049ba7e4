//! What an agent says that kernels took off its hands, and what of that cannot be.

use linerate_record::net::NetGso;

use super::{NetEnd, NetRoundOrder};

/// What is wrong with what became of bursts of datagrams and of sends without a copy: they are told where they were
/// asked for, and nowhere else.
pub(super) fn check(end: &NetEnd, order: &NetRoundOrder) -> Result<(), String> {
    let asked = order.offloads;
    for of in &end.sent {
        if of.zerocopy.is_some() != (asked.zerocopy && of.error.is_none()) {
            return Err("sends without a copy that nobody asked for, or none".to_owned());
        }
        of.zerocopy.map_or(Ok(()), |of| of.check())?;
        of.gso.map_or(Ok(()), |bursts| bursts.check(of.datagrams.unwrap_or(0)))?;
    }
    for of in &end.received {
        let received = of.datagrams.map_or(0, |datagrams| datagrams.received);
        of.gro.map_or(Ok(()), |bursts| bursts.check(received))?;
    }
    let is_told = end.sent.iter().any(|of| of.gso.is_some()) || end.received.iter().any(|of| of.gro.is_some());
    if is_told && asked.gso == NetGso::Off {
        return Err("datagrams at once that nobody asked for".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use linerate_record::net::{NetBursts, NetDatagrams, NetOffloads, NetOp, NetZeroCopy};

    use super::super::{NetReceivedTold, NetSentTold};
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

    fn end(sent: NetSentTold, received: NetReceivedTold) -> NetEnd {
        NetEnd { point: 1, sent: vec![sent], received: vec![received], ..NetEnd::default() }
    }

    #[test]
    fn bursts_are_told_where_they_were_asked_for_and_are_no_more_than_datagrams() {
        let bursts = |calls| Some(NetBursts { calls, refused: None });
        let told = |sends, reads| {
            let datagrams = NetDatagrams { received: 8, ..NetDatagrams::default() };
            let received = NetReceivedTold { datagrams: Some(datagrams), gro: reads, ..NetReceivedTold::default() };
            end(NetSentTold { datagrams: Some(9), gso: sends, ..NetSentTold::default() }, received)
        };
        let (on, off) = (order(NetGso::On, false), order(NetGso::Off, false));
        assert_eq!((on.check(), off.check()), (Ok(()), Ok(())));
        for of in [told(None, None), told(bursts(9), bursts(8)), told(bursts(0), None)] {
            assert_eq!(check(&of, &on), Ok(()));
        }
        assert_eq!(check(&told(None, None), &off), Ok(()));
        for (of, order, part) in [
            (told(bursts(10), None), &on, "10 sends or reads of 9"),
            (told(None, bursts(9)), &on, "9 sends or reads of 8"),
            (told(bursts(1), None), &off, "nobody asked for"),
            (told(None, bursts(1)), &off, "nobody asked for"),
        ] {
            let why = check(&of, order).unwrap_err();
            assert!(why.contains(part), "{part}: {why}");
        }
    }

    #[test]
    fn sends_without_a_copy_are_told_by_each_sender_that_was_asked_for_them() {
        let counted = NetZeroCopy { sends: 3, unkept: 0, noted: 3, copied: 3, refused: None };
        let told = |zerocopy| end(NetSentTold { zerocopy, ..NetSentTold::default() }, NetReceivedTold::default());
        let (asked, other) = (order(NetGso::Off, true), order(NetGso::Off, false));
        assert_eq!(asked.check(), Ok(()));
        assert_eq!(check(&told(Some(counted)), &asked), Ok(()));
        let mut failed = told(None);
        failed.sent[0].error = Some("refused".to_owned());
        assert_eq!(check(&failed, &asked), Ok(()));
        for (of, order, part) in [
            (told(None), &asked, "or none"),
            (told(Some(counted)), &other, "nobody asked for"),
            (told(Some(NetZeroCopy { noted: 4, ..counted })), &asked, "noted 4"),
        ] {
            let why = check(&of, order).unwrap_err();
            assert!(why.contains(part), "{part}: {why}");
        }
    }
}
