use std::net::Ipv4Addr;

use super::*;

const ENGINE: [PortRange; 1] = [PortRange { first: 9000, last: 9001 }];

fn host(last: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, last).into()
}

/// A socket of this machine, 10.0.0.1: of the engine's where the cookie is even, else of a connection that it made.
fn socket(cookie: u64, sent: u64, received: u64) -> TcpSocket {
    let (own, other) = if cookie.is_multiple_of(2) { (9000, 40_000) } else { (40_000, 9000) };
    let port = |of: u16| if of == 9000 { of } else { of + (cookie % 10_000) as u16 };
    TcpSocket {
        cookie,
        state: 1,
        inode: 1,
        local: (host(1), port(own)),
        remote: (host(2), port(other)),
        counted: Counted {
            acknowledged_bytes: sent + cookie % 2,
            received_bytes: received,
            busy_us: 10 * sent,
            window_limited_us: 4 * sent,
            buffer_limited_us: sent,
            data_segments: sent as u32,
            retransmitted: sent as u32 / 10,
        },
        round_trip_us: 100,
        delivery_bytes_per_s: 1000,
        info_bytes: 232,
    }
}

/// Takes looks two seconds apart, each with these sockets.
fn after(looks: Looks<'_>) -> SocketsSeen {
    let mut sums = SocketTotals::new(ENGINE.to_vec(), 1);
    for (look, sockets) in looks.iter().enumerate() {
        sums.begin_look(5000 + 2000 * look as u64);
        sockets.iter().for_each(|socket| sums.see(0, socket));
        sums.end_space(0, true);
        assert_eq!(sums.end_look(), sockets.len() as u32);
    }
    sums.seen(0)
}

/// Of sums: who connected, sockets, sent, received, milliseconds open.
type Row = (OpenedBy, u32, u64, u64, u64);

/// The sockets of each look.
type Looks<'l> = &'l [&'l [TcpSocket]];

fn reported(seen: &SocketsSeen) -> Vec<Row> {
    let row =
        |of: &RemoteSums| -> Row { (of.opened_by, of.sockets, of.sent_bytes, of.received_bytes, of.open_us / 1000) };
    seen.remotes.iter().map(row).collect()
}

#[test]
fn what_was_there_counts_from_then_and_what_comes_counts_from_its_birth() {
    use OpenedBy::{Them, Us};
    let cases: [(&str, Looks<'_>, &[Row]); 6] = [
        ("nothing happens", &[&[socket(2, 50, 7)], &[socket(2, 50, 7)]], &[(Them, 1, 0, 0, 2000)]),
        ("both ways", &[&[socket(2, 50, 7)], &[socket(2, 80, 8)], &[socket(2, 90, 9)]], &[(Them, 1, 40, 2, 4000)]),
        ("comes later", &[&[], &[socket(3, 50, 7)], &[socket(3, 60, 7)]], &[(Us, 1, 60, 7, 3000)]),
        ("goes", &[&[socket(2, 50, 7)], &[socket(2, 60, 7)], &[], &[]], &[(Them, 1, 10, 0, 2000)]),
        ("is missed once", &[&[socket(2, 50, 7)], &[], &[socket(2, 60, 7)]], &[(Them, 1, 10, 0, 4000)]),
        ("counts backwards", &[&[socket(2, 50, 7)], &[socket(2, 9, 9)]], &[(Them, 1, 0, 0, 2000)]),
    ];
    for (case, looks, expected) in cases {
        assert_eq!(reported(&after(looks)), expected, "{case}");
    }
}

#[test]
fn all_counters_are_summed_by_address_and_by_who_connected() {
    let seen = after(&[
        &[socket(2, 0, 0), socket(4, 100, 100), socket(3, 10, 10)],
        &[socket(2, 40, 5), socket(4, 160, 105), socket(3, 30, 10), socket(3, 30, 10)][..3],
    ]);
    assert_eq!(reported(&seen), [(OpenedBy::Them, 2, 100, 10, 4000), (OpenedBy::Us, 1, 20, 0, 2000)]);
    let them = &seen.remotes[0];
    assert_eq!((them.sent_segments, them.retransmitted_segments, them.busy_us), (100, 10, 1000));
    assert_eq!((them.window_limited_us, them.buffer_limited_us), (400, 100));
    assert_eq!((them.round_trip_us, them.delivery_bytes_per_s), (99, 991), "middles of their steps");
    assert_eq!((seen.over_ms, seen.looks, seen.interval_ms, seen.sockets), (2000, 2, 2000, 3));
    assert_eq!((seen.met.len(), seen.made.len(), seen.is_more), (2, 1, false));
    assert_eq!((seen.addresses.as_slice(), seen.ports.as_slice()), (&[host(1)][..], &ENGINE[..]));
}

#[test]
fn a_socket_that_was_busy_for_longer_than_since_the_last_look_is_not_new() {
    let old = socket(2, 1_000_000, 0);
    assert_eq!(reported(&after(&[&[], &[old]])), [(OpenedBy::Them, 1, 0, 0, 0)]);
    // Busy for all of its time: it was open for as long.
    let new = socket(2, 190_000, 0);
    assert_eq!(reported(&after(&[&[], &[new]])), [(OpenedBy::Them, 1, 190_000, 0, 1900)]);
}

#[test]
fn a_look_that_was_not_whole_forgets_nothing() {
    let mut sums = SocketTotals::new(ENGINE.to_vec(), 1);
    for (look, is_whole) in [true, false, false, false, true].into_iter().enumerate() {
        sums.begin_look(2000 * look as u64);
        if look != 2 && look != 1 {
            sums.see(0, &socket(2, 50 + look as u64, 0));
        }
        sums.end_space(0, is_whole);
    }
    assert_eq!(reported(&sums.seen(0)), [(OpenedBy::Them, 1, 4, 0, 8000)]);
}

#[test]
fn the_beginning_and_the_end_of_a_connection_are_no_bytes() {
    for (state, cookie, sent, received) in [(1, 2, 9, 9), (1, 3, 8, 9), (5, 3, 7, 9), (8, 2, 9, 8), (9, 3, 8, 8)] {
        let mut one = TcpSocket { state, ..socket(cookie, 0, 9) };
        one.counted.acknowledged_bytes = 9;
        let by = opened_by(&ENGINE, &one).unwrap();
        let counted = with_data_alone(&one, by);
        assert_eq!((counted.acknowledged_bytes, counted.received_bytes), (sent, received), "{state} {cookie}");
    }
}

#[test]
fn both_ends_say_alike_which_of_them_connected() {
    let at = |last, port| (host(last), port);
    let wide = [PortRange { first: 9000, last: 50_000 }];
    for (ports, local, remote, expected) in [
        (&ENGINE, at(1, 9000), at(2, 9002), Some(OpenedBy::Them)),
        (&ENGINE, at(1, 9002), at(2, 9001), Some(OpenedBy::Us)),
        (&ENGINE, at(1, 8000), at(2, 9002), None),
        (&wide, at(1, 9000), at(2, 40_000), Some(OpenedBy::Them)),
        (&wide, at(1, 9000), at(2, 9000), Some(OpenedBy::Them)),
    ] {
        let end = |local, remote| opened_by(ports, &TcpSocket { local, remote, ..socket(2, 0, 0) });
        assert_eq!(end(local, remote), expected, "{local:?} {remote:?}");
        let there = expected.map(|by| if by == OpenedBy::Them { OpenedBy::Us } else { OpenedBy::Them });
        assert_eq!(end(remote, local), there, "{remote:?} {local:?}");
    }
}

#[test]
fn what_is_kept_is_bounded_and_what_is_left_out_is_counted() {
    assert_eq!(size_of::<(u64, LastRead)>(), 64);
    let mut sums = SocketTotals::new(ENGINE.to_vec(), 1);
    sums.begin_look(0);
    let all = SOCKETS_MAX as u64 + 1000;
    for number in 0..all {
        let address = std::net::Ipv6Addr::from((0x2001_0db8_u128 << 96) + u128::from(number / 20));
        let remote = (IpAddr::from(address), (40_000 + number % 20) as u16);
        let local = (IpAddr::from(Ipv4Addr::from(number as u32 % 1000)), 9000);
        sums.see(0, &TcpSocket { remote, local, ..socket(2 * number, 1, 1) });
    }
    assert_eq!(sums.end_look(), all as u32);
    let slots = sums.spaces[0].last.capacity().next_power_of_two();
    assert!(65 * slots <= 9 << 20, "{slots} slots of 65 bytes");
    let seen = sums.seen(0);
    assert_eq!(seen.check(), Ok(()));
    assert_eq!((seen.remotes.len(), seen.met.len(), seen.is_more), (REMOTES_MAX, HASHES_MAX, true));
    assert_eq!((seen.addresses.len(), seen.left_out), (ADDRESSES_MAX, all - 20 * REMOTES_MAX as u64));
}
