//! How long packets may be between machines, by what probes found.

use linerate_record::net::{NET_PROBE_TRIES_AT_END, NetProbeSize, NetProbed};

use super::pairs::{NetSamples, PairSamples};
use super::view::{NetPathFigures, NetPathVerdict};

/// What a search tries at the least where nothing comes: 576 bytes, by IPv6 1,280.
const LEAST_MOST_BYTES: u32 = 1_280;

/// The largest size of which some came.
fn carried(of: &NetProbed) -> Option<u32> {
    of.sizes.iter().rev().find(|size| size.received > 0).map(|size| size.bytes)
}

/// The least size beyond it that never came, however often it was tried.
fn lost(of: &NetProbed) -> Option<u32> {
    let carried = carried(of).unwrap_or(0);
    of.sizes.iter().find(|size| size.bytes > carried && size.is_lost()).map(|size| size.bytes)
}

/// Whether a search came to its end: of what comes, the next byte more was tried as often as it is at the end.
fn is_finished(of: &NetProbed) -> bool {
    let is_refuted = |size: &NetProbeSize| size.received == 0 && size.tries() >= NET_PROBE_TRIES_AT_END;
    match carried(of) {
        Some(carried) if carried >= of.interface_bytes => true,
        Some(carried) => of.sizes.iter().any(|size| size.bytes == carried + 1 && is_refuted(size)),
        // The least size is tried last where nothing comes.
        None => of.sizes.first().is_some_and(|least| least.is_lost() && least.bytes <= LEAST_MOST_BYTES),
    }
}

/// The path of a pair; none where it was not probed. Streams and visits go by ports of their own, and so may go by
/// different paths: what counts is the worst of those that were searched to the end, and of which anything came.
pub(super) fn figures(seen: &NetSamples<'_>, (from, to): (u32, u32), of: &PairSamples<'_>) -> Option<NetPathFigures> {
    let all: Vec<&NetProbed> = of.visits.iter().flat_map(|visit| &visit.pair.probed).collect();
    let rank = |of: &&&NetProbed| {
        let (carried, is_finished) = (carried(of), is_finished(of));
        (carried.is_none(), !is_finished, carried.filter(|_| is_finished))
    };
    let worst = *all.iter().min_by_key(rank)?;
    let best = all.iter().filter_map(|of| carried(of)).max();
    let receiver = interface(seen, to, from);
    let sizes = || all.iter().flat_map(|of| &of.sizes);
    let sum = |count: fn(&NetProbeSize) -> u32| sizes().map(|size| u64::from(count(size))).sum();
    let icmp = all.iter().filter_map(|of| of.icmp).min_by_key(|said| said.mtu_bytes);
    let carried_bytes = carried(worst);
    let silent = all.iter().filter(|of| best.is_some() && carried(of).is_none() && is_finished(of)).count();
    Some(NetPathFigures {
        verdict: verdict(worst, receiver),
        carried_bytes,
        carried_most_bytes: best.filter(|best| Some(*best) != carried_bytes),
        lost_bytes: lost(worst),
        interface_bytes: worst.interface_bytes,
        receiver_interface_bytes: receiver,
        taken_bytes: worst.taken_bytes,
        icmp_bytes: icmp.map(|said| said.mtu_bytes),
        icmp_by: icmp.map(|said| said.by.to_string()),
        silent_searches: u32::try_from(silent).unwrap_or(u32::MAX),
        probes_sent: sum(|size| size.sent),
        probes_received: sum(|size| size.received),
    })
}

/// The MTU of a machine's interface: as its kernel said when it sent to the other one, else as it was read before.
fn interface(seen: &NetSamples<'_>, node: u32, other: u32) -> Option<u32> {
    let back = seen.pairs.range((node, other, 0)..=(node, other, u32::MAX));
    let said = back.flat_map(|(_, of)| &of.visits).flat_map(|visit| &visit.pair.probed).map(|of| of.interface_bytes);
    said.min().or(seen.ports[node as usize].mtu_bytes)
}

fn verdict(worst: &NetProbed, receiver: Option<u32>) -> NetPathVerdict {
    match carried(worst) {
        Some(carried) if carried >= worst.interface_bytes => NetPathVerdict::Whole,
        _ if !is_finished(worst) => NetPathVerdict::Unfinished,
        None => NetPathVerdict::Nothing,
        // Nobody on this machine sends longer ones, but those who probe.
        Some(carried) if worst.taken_bytes.is_some_and(|taken| taken <= carried) => NetPathVerdict::Known,
        // Interfaces take their MTU at the least, and often some more: a tag of a VLAN (`__is_skb_forwardable`), or all
        // that a buffer holds.
        Some(carried) if receiver.is_some_and(|mtu| mtu < worst.interface_bytes && mtu <= carried) => {
            NetPathVerdict::Mismatch
        }
        Some(_) => NetPathVerdict::BlackHole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream of this interface that found this: sizes with how many of six came.
    fn probed(interface_bytes: u32, taken_bytes: Option<u32>, sizes: &[(u32, u32)]) -> NetProbed {
        let size = |&(bytes, received): &(u32, u32)| NetProbeSize { bytes, sent: 6, received, refused: 0 };
        NetProbed { interface_bytes, taken_bytes, icmp: None, sizes: sizes.iter().map(size).collect() }
    }

    #[test]
    fn each_path_is_called_by_what_came_and_by_what_its_sender_and_its_receiver_take() {
        let whole: &[(u32, u32)] = &[(1_500, 6)];
        let full: &[(u32, u32)] = &[(9_000, 1)];
        let small: &[(u32, u32)] = &[(576, 6), (1_400, 6), (1_401, 0), (1_500, 0)];
        let of_1500: &[(u32, u32)] = &[(576, 6), (1_504, 3), (1_505, 0), (9_000, 0)];
        let nothing: &[(u32, u32)] = &[(576, 0), (1_500, 0)];
        let only_the_most: &[(u32, u32)] = &[(1_500, 0)];
        let untried: &[(u32, u32)] = &[];
        let cases = [
            ("all", 1_500, Some(1_500), whole, Some(1_500), NetPathVerdict::Whole),
            ("a receiver that takes more than it sends", 9_000, Some(9_000), full, Some(1_500), NetPathVerdict::Whole),
            ("a route says less than it is", 1_500, Some(1_400), whole, Some(1_500), NetPathVerdict::Whole),
            ("a router said so", 1_500, Some(1_400), small, Some(1_500), NetPathVerdict::Known),
            ("a route says even less", 1_500, Some(1_280), small, None, NetPathVerdict::Known),
            ("nobody said so", 1_500, Some(1_500), small, Some(1_500), NetPathVerdict::BlackHole),
            ("a router said too much", 1_500, Some(1_450), small, Some(1_500), NetPathVerdict::BlackHole),
            ("its kernel does not tell", 1_500, None, small, None, NetPathVerdict::BlackHole),
            (
                "a small receiver with room for a tag",
                9_000,
                Some(9_000),
                of_1500,
                Some(1_500),
                NetPathVerdict::Mismatch,
            ),
            ("less than a small receiver takes", 9_000, Some(9_000), of_1500, Some(4_000), NetPathVerdict::BlackHole),
            ("nothing", 1_500, Some(1_500), nothing, None, NetPathVerdict::Nothing),
            ("the least was not tried", 1_500, Some(1_500), only_the_most, None, NetPathVerdict::Unfinished),
            ("nothing was tried", 1_500, Some(1_500), untried, None, NetPathVerdict::Unfinished),
        ];
        for (case, interface_bytes, taken_bytes, sizes, receiver, expected) in cases {
            let path_figures = probed(interface_bytes, taken_bytes, sizes);
            assert_eq!(verdict(&path_figures, receiver), expected, "{case}");
        }
        let mut short = probed(1_500, Some(1_500), &[(576, 6), (1_500, 0)]);
        short.sizes[1].sent = 2;
        assert_eq!(verdict(&short, None), NetPathVerdict::Unfinished, "the time was over");
        let cut = probed(9_000, Some(9_000), &[(576, 6), (7_947, 6), (8_106, 0), (9_000, 0)]);
        assert_eq!(verdict(&cut, Some(9_000)), NetPathVerdict::Unfinished, "the time was over midway");
    }
}
