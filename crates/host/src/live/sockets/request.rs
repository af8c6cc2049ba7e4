//! What the kernel is asked: sockets of a family in some states, chosen by their ports before they are told.
//!
//! Formats: `include/uapi/linux/{netlink,sock_diag,inet_diag}.h`.

use linerate_record::readings::{PORTS_MAX, PortRange};
use rustix::net::AddressFamily;

use crate::setting::netlink::attribute;

/// `SOCK_DIAG_BY_FAMILY`.
pub(super) const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST` and `NLM_F_DUMP`.
const DUMP: u16 = 0x301;
const HEADER_BYTES: usize = 16;
const TCP: u8 = 6;
/// `INET_DIAG_INFO`, asked for by its bit.
const INFO_BIT: u8 = 1 << (super::message::INFO - 1);
/// `INET_DIAG_REQ_BYTECODE`.
const BYTECODE: u16 = 1;

/// States of `include/net/tcp_states.h`, as bits. Those in which data may still pass: established, FIN-WAIT-1 and -2,
/// CLOSE-WAIT, LAST-ACK and CLOSING.
pub(super) const WITH_DATA: u32 = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;
pub(super) const LISTENING: u32 = 1 << 10;

/// A dump of sockets: those with one of these ports at either end; all of them where there are none.
pub(super) fn request(family: AddressFamily, states: u32, ports: &[PortRange], sequence: u32) -> Vec<u8> {
    let mut request = vec![0; HEADER_BYTES];
    request[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
    request[6..8].copy_from_slice(&DUMP.to_ne_bytes());
    request[8..12].copy_from_slice(&sequence.to_ne_bytes());
    // struct inet_diag_req_v2: family, protocol, what to tell besides, padding, states; of the identity, 48 bytes, a
    // dump looks at ports, of which 0 are any.
    request.extend([u8::try_from(family.as_raw()).unwrap_or_default(), TCP, INFO_BIT, 0]);
    request.extend(states.to_ne_bytes());
    request.extend([0; 48]);
    if !ports.is_empty() {
        attribute(&mut request, BYTECODE, &bytecode(ports));
    }
    let length = u32::try_from(request.len()).unwrap_or(u32::MAX);
    request[..4].copy_from_slice(&length.to_ne_bytes());
    request
}

/// Ranges in order, those that touch or overlap joined, without port 0, which is no port.
pub(super) fn joined(ranges: &[PortRange]) -> Vec<PortRange> {
    let mut all: Vec<PortRange> = ranges.iter().map(|of| PortRange { first: of.first.max(1), ..*of }).collect();
    all.retain(|range| range.first <= range.last);
    all.sort_unstable();
    let mut joined: Vec<PortRange> = Vec::new();
    for range in all {
        match joined.last_mut().filter(|before| range.first <= before.last.saturating_add(1)) {
            Some(before) => before.last = before.last.max(range.last),
            None => joined.push(range),
        }
    }
    joined
}

/// `INET_DIAG_BC_JMP`, `…_S_GE`, `…_S_LE`, `…_D_GE` and `…_D_LE`: conditions on the ports of this side and the other.
const JUMP: u8 = 1;
const CONDITIONS: [(u8, u8); 2] = [(2, 3), (4, 5)];
/// A condition is an operation of 4 bytes and its port in another; a jump has no port.
const CONDITION_BYTES: u16 = 8;
const JUMP_BYTES: u16 = 4;
/// Not below the first, not above the last, and then a jump.
const TEST_BYTES: u16 = 2 * CONDITION_BYTES + JUMP_BYTES;

/// A program that takes sockets with one of these ports at either end (`net/ipv4/inet_diag.c: inet_diag_bc_run`).
///
/// Each operation has two ways on, counted in bytes from itself: `yes`, which leads to the next, and `no`. A program
/// that arrives exactly at its end takes the socket, and one that goes four bytes beyond does not. Both ways have to be
/// whole operations apart, and nowhere else (`inet_diag_bc_audit`). So each port is tested by `port ≥ first`, else the
/// next test; `port ≤ last`, else the next test; a jump to the end. The next test after the last is beyond the end.
fn bytecode(ports: &[PortRange]) -> Vec<u8> {
    let tests = 2 * u16::try_from(ports.len().min(PORTS_MAX)).unwrap_or_default();
    let mut program = Vec::with_capacity(usize::from(tests * TEST_BYTES));
    let both = CONDITIONS.iter().flat_map(|codes| ports.iter().take(PORTS_MAX).map(move |range| (codes, range)));
    for (number, ((not_below, not_above), range)) in (1_u16..).zip(both) {
        let beyond = if number == tests { JUMP_BYTES } else { 0 };
        operation(&mut program, *not_below, CONDITION_BYTES, TEST_BYTES + beyond);
        operation(&mut program, 0, 0, range.first);
        operation(&mut program, *not_above, CONDITION_BYTES, TEST_BYTES - CONDITION_BYTES + beyond);
        operation(&mut program, 0, 0, range.last);
        operation(&mut program, JUMP, JUMP_BYTES, JUMP_BYTES + (tests - number) * TEST_BYTES);
    }
    program
}

/// `struct inet_diag_bc_op`.
fn operation(program: &mut Vec<u8>, code: u8, yes: u16, no: u16) {
    program.extend([code, u8::try_from(yes).unwrap_or_default()]);
    program.extend(no.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(first: u16, last: u16) -> PortRange {
        PortRange { first, last }
    }

    #[test]
    fn ranges_are_joined_where_they_touch() {
        let cases: [(&[PortRange], &[PortRange]); 5] = [
            (&[], &[]),
            (&[range(9000, 9000), range(80, 80)], &[range(80, 80), range(9000, 9000)]),
            (&[range(5, 9), range(10, 12), range(7, 8)], &[range(5, 12)]),
            (&[range(0, 0), range(0, 3), range(9, 8)], &[range(1, 3)]),
            (&[range(1, 65_535), range(65_535, 65_535)], &[range(1, 65_535)]),
        ];
        for (given, expected) in cases {
            assert_eq!(joined(given), expected, "{given:?}");
        }
    }

    /// What the kernel does with a program: `inet_diag_bc_run`.
    fn takes(program: &[u8], source: u16, destination: u16) -> bool {
        let (mut at, length) = (0_i64, program.len() as i64);
        while at < length {
            let here = &program[at as usize..];
            let port = || u16::from_ne_bytes([here[6], here[7]]);
            let is_so = match here[0] {
                1 => false,
                2 => source >= port(),
                3 => source <= port(),
                4 => destination >= port(),
                5 => destination <= port(),
                other => panic!("operation {other}"),
            };
            at += if is_so { i64::from(here[1]) } else { i64::from(u16::from_ne_bytes([here[2], here[3]])) };
        }
        at == length
    }

    /// What the kernel demands of a program: `inet_diag_bc_audit`.
    fn is_sound(program: &[u8]) -> bool {
        let mut starts = vec![program.len()];
        let mut at = 0;
        while at < program.len() {
            starts.push(at);
            at += usize::from(program[at + 1]);
        }
        let is_place = |place: usize| starts.contains(&place) || place == program.len() + 4;
        at == program.len()
            && starts.iter().skip(1).all(|start| {
                let least = if program[*start] == JUMP { 4 } else { 8 };
                let no = usize::from(u16::from_ne_bytes([program[start + 2], program[start + 3]]));
                no >= least && no % 4 == 0 && is_place(start + no)
            })
    }

    proptest! {
        #[test]
        fn a_program_takes_what_has_a_port_of_its_ranges(
            pairs in proptest::collection::vec((1_u16..200, 0_u16..9), 1..70),
            source in 1_u16..220,
            destination in 0_u16..220,
        ) {
            let ranges: Vec<PortRange> = pairs.iter().map(|(first, more)| range(*first, first + more)).collect();
            let mut ranges = joined(&ranges);
            ranges.truncate(PORTS_MAX);
            let program = bytecode(&ranges);
            prop_assert!(is_sound(&program));
            let is_in = |port: u16| ranges.iter().any(|range| (range.first..=range.last).contains(&port));
            prop_assert_eq!(takes(&program, source, destination), is_in(source) || is_in(destination));
        }
    }
}
