//! What an agent says that its flows found of their paths, and what of that cannot be.

use linerate_record::net::{NetOp, check_probed};

use super::{NetEnd, NetRoundOrder};

/// What is wrong with what was found of paths: each stream says it where paths are probed, and none elsewhere.
pub(super) fn check(end: &NetEnd, order: &NetRoundOrder) -> Result<(), String> {
    for (of, requested) in end.sent.iter().zip(&order.sends) {
        check_probed(&of.probed, order.op, requested.streams)?;
        let is_short = of.probed.len() as u64 != u64::from(requested.streams);
        if order.op == NetOp::Mtu && of.error.is_none() && is_short {
            return Err(format!("{} streams that probed, of {}", of.probed.len(), requested.streams));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use linerate_record::net::{NetOffloads, NetProbeSize, NetProbed};

    use super::super::{NetSendOrder, NetSentReport};
    use super::*;

    fn order(op: NetOp) -> NetRoundOrder {
        NetRoundOrder {
            point: 1,
            op,
            sends: vec![NetSendOrder { to: 1, address: "10.0.0.1:9".parse().unwrap(), streams: 2, ports: Vec::new() }],
            receives: Vec::new(),
            warmup_ms: 0,
            duration_ms: 400,
            interval_ms: 100,
            send_bytes: 65_536,
            max_bytes_per_s: None,
            offloads: NetOffloads::default(),
            member: None,
        }
    }

    fn end(probed: Vec<NetProbed>) -> NetEnd {
        NetEnd {
            point: 1,
            sent: vec![NetSentReport { to: 1, probed, ..NetSentReport::default() }],
            ..NetEnd::default()
        }
    }

    fn probed() -> NetProbed {
        let sizes = vec![NetProbeSize { bytes: 1_500, sent: 1, received: 1, refused: 0 }];
        NetProbed { interface_bytes: 1_500, taken_bytes: Some(1_500), icmp: None, sizes }
    }

    #[test]
    fn paths_are_told_where_they_are_probed_and_by_each_stream() {
        let (udp, mtu) = (NetOp::Udp { datagram_bytes: 100 }, NetOp::Mtu);
        assert_eq!(order(mtu).check(), Ok(()));
        assert_eq!(check(&end(vec![probed(), probed()]), &order(mtu)), Ok(()));
        assert_eq!(check(&end(Vec::new()), &order(udp)), Ok(()));
        let mut failed = end(Vec::new());
        failed.sent[0].error = Some("refused".to_owned());
        assert_eq!(check(&failed, &order(mtu)), Ok(()));
        let mut lie = probed();
        lie.sizes[0].received = 2;
        for (op, probed, part) in [
            (udp, vec![probed()], "1 streams that probed, of op udp"),
            (mtu, vec![probed()], "1 streams that probed, of 2"),
            (mtu, Vec::new(), "0 streams that probed, of 2"),
            (mtu, vec![probed(), probed(), probed()], "3 streams that probed, of op mtu"),
            (mtu, vec![probed(), lie], "2 of 1 probes of 1500 bytes"),
        ] {
            let why = check(&end(probed), &order(op)).unwrap_err();
            assert!(why.contains(part), "{part}: {why}");
        }
    }
}
