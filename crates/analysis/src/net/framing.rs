//! What framing leaves of a link, with an encapsulation and without one: the share of a full packet's bytes on the wire
//! that is payload, and how two ways compare by it alone.

use super::ports::{FRAME_BYTES, TCP_BYTES, ip_bytes};

/// Bytes of a VXLAN or a Geneve without options in front of the inner frame's packet: its Ethernet header 14, VXLAN or
/// Geneve 8, UDP 8, and IPv4 20 or IPv6 40 (RFC 7348, RFC 8926).
const ENCAPSULATIONS: [u32; 2] = [50, 70];

/// A way that segments take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FramedWay {
    /// Payload of a segment.
    pub(super) segment_bytes: u32,
    /// Whether its packets are of IPv6.
    pub(super) is_v6: bool,
    /// What is in front of each packet besides.
    pub(super) overlay_bytes: u32,
}

/// Payload as a share of what a full segment takes of a link. Its packet has a header of IP, and one of TCP with
/// timestamps; the frame has preamble, header, check sequence and gap.
fn payload_share(way: FramedWay) -> f64 {
    let payload = f64::from(way.segment_bytes);
    let headers = ip_bytes(way.is_v6) + TCP_BYTES + way.overlay_bytes + FRAME_BYTES;
    if way.segment_bytes == 0 { 0.0 } else { payload / (payload + f64::from(headers)) }
}

/// How much one way carries of what another does on a link that is full, as a ratio; none where nothing is known of
/// either.
pub(super) fn framing_ratio(one: FramedWay, other: FramedWay) -> Option<f64> {
    let (one, other) = (payload_share(one), payload_share(other));
    (one > 0.0 && other > 0.0).then(|| one / other)
}

/// What segments of two ways tell of an encapsulation: they are shorter by as much as one has, or alike. None where
/// they differ by anything else, such as by the MTU of links.
pub(super) fn seen_overlay(segment_bytes: [u32; 2]) -> Option<[u32; 2]> {
    let [one, other] = segment_bytes;
    let is_one = |bytes: u32| ENCAPSULATIONS.contains(&bytes);
    match (one.checked_sub(other), other.checked_sub(one)) {
        (Some(0), _) => Some([0, 0]),
        (Some(less), _) if is_one(less) => Some([0, less]),
        (_, Some(less)) if is_one(less) => Some([less, 0]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(segment_bytes: u32, overlay_bytes: u32) -> FramedWay {
        FramedWay { segment_bytes, is_v6: false, overlay_bytes }
    }

    #[test]
    fn payload_is_what_headers_leave() {
        for (of, share) in [
            (way(1_448, 0), 1_448.0 / 1_538.0),
            (way(1_398, 50), 1_398.0 / 1_538.0),
            (way(8_948, 0), 8_948.0 / 9_038.0),
            (way(8_898, 50), 8_898.0 / 9_038.0),
            // A link whose own MTU leaves room for what is in front.
            (way(1_448, 50), 1_448.0 / 1_588.0),
            (FramedWay { is_v6: true, ..way(1_428, 0) }, 1_428.0 / 1_538.0),
            (way(0, 50), 0.0),
        ] {
            assert!((payload_share(of) - share).abs() < 1e-12, "{of:?}");
        }
        let ratio = framing_ratio(way(1_398, 50), way(1_448, 0)).unwrap();
        assert!((ratio - 1_398.0 / 1_448.0).abs() < 1e-12, "{ratio}");
        assert_eq!(framing_ratio(way(0, 0), way(1_448, 0)), None);
    }

    #[test]
    fn an_overlay_is_seen_where_segments_differ_by_one_and_by_nothing_else() {
        for (segments, seen) in [
            ([1_398, 1_448], Some([50, 0])),
            ([1_448, 1_398], Some([0, 50])),
            ([1_378, 1_448], Some([70, 0])),
            ([1_448, 1_448], Some([0, 0])),
            ([1_448, 8_948], None),
            ([1_388, 1_448], None),
        ] {
            assert_eq!(seen_overlay(segments), seen, "{segments:?}");
        }
    }
}
