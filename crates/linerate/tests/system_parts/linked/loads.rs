//! Loads that are no streams: datagrams as iperf3 sends them and as the kernel drops them, and requests beside what a
//! bare round trip takes.

use std::process::Stdio;
use std::time::Duration;

use libtest_mimic::Failed;
use linerate_analysis::net::view::{NetDatagramFigures, NetTimes, NetView};

use super::{Switched, dropped, iperf3_server, pair, rate};
use crate::running::{shown, words};

fn datagrams(view: &NetView) -> Result<NetDatagramFigures, Failed> {
    datagrams_of(view, (1, 2))
}

fn datagrams_of(view: &NetView, way: (u32, u32)) -> Result<NetDatagramFigures, Failed> {
    Ok(pair(view, way, 1)?.datagrams.ok_or("datagrams were sent")?)
}

/// What iperf3 says of datagrams from one machine to another: bytes per second that came, and the share that was lost.
fn by_iperf3(switched: &Switched, (from, to): (u32, u32), mbit_per_s: u32) -> Result<(f64, f64), Failed> {
    let mut server = iperf3_server(switched, to as usize)?;
    let flags = format!("iperf3 -u -c 10.231.90.{to} -t 2 -J -l 1472 -b {mbit_per_s}M");
    let output = switched.within(from as usize).args(words(&flags)).output()?;
    server.wait()?;
    assert!(output.status.success(), "{}", shown(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    // Of what was sent the whole time, the sum has what was not lost.
    let sum = &report["end"]["sum"];
    let sum_field = |field: &str| sum[field].as_f64().ok_or_else(|| format!("iperf3 says {field}"));
    let lost_share = sum_field("lost_percent")? / 100.0;
    Ok((sum_field("bits_per_second")? / 8.0 * (1.0 - lost_share), lost_share))
}

/// Below the rate of the link, both see what was asked for, both ways, and no loss; above it, losses are what the queue
/// dropped.
pub(super) fn datagrams_as_iperf3() -> Result<(), Failed> {
    let switched = Switched::make(2)?;
    let flags = |mbit_per_s: u32| {
        format!("--op udp --max-rate {mbit_per_s}Mb/s --streams 1 --duration 2s --warmup 300ms --visits 1 --one-way")
    };
    for (link, requested) in [(50, 20), (400, 120)] {
        [1, 2].into_iter().for_each(|machine| switched.receives(machine, link, 400_000));
        let view = switched.view(&flags(requested))?;
        for way in [(1, 2), (2, 1)] {
            let (ours, of) = (rate(&view, way, 1)?, datagrams_of(&view, way)?);
            let (theirs, their_loss) = by_iperf3(&switched, way, requested)?;
            let [shown, their] = [ours, theirs].map(|rate| rate * 8e-6);
            println!("{requested} Mb/s {way:?}: {shown:.2} and {their:.2} Mb/s, {of:?}, iperf3 lost {their_loss}");
            assert!((0.97..=1.03).contains(&(ours / theirs)), "{way:?}: {ours} and {theirs}");
            assert_eq!((of.lost_share, of.socket_drops_share), (0.0, 0.0), "{way:?}: {of:?}");
        }
    }

    switched.receives(2, 20, 12_000);
    let before = dropped(&switched, 2)?;
    let view = switched.view(&flags(40))?;
    let (of, dropped) = (datagrams(&view)?, dropped(&switched, 2)? - before);
    // The queue's counter has the warm-up too.
    let lost = of.lost_share * of.sent as f64 * (2.0 + 0.3) / 2.0;
    println!("40 of 20 Mb/s: {lost:.0} lost with the warm-up, {dropped} dropped; {of:?}");
    assert!(of.lost_share > 0.3, "{of:?}");
    assert!((0.9..=1.1).contains(&(lost / dropped as f64)), "{lost} of {dropped}");
    Ok(())
}

/// Datagrams that go at once all come, and are counted one by one; those that no path carries whole go by themselves,
/// and the report says why; at a low rate nothing goes at once.
pub(super) fn bursts_and_singles() -> Result<(), Failed> {
    let switched = Switched::make(2)?;
    let flags = |more: &str| {
        format!("--op udp --max-rate 40Mb/s --streams 1 --duration 1s --warmup 300ms --visits 1 --one-way {more}")
    };
    let per_send = |view: &NetView| -> Result<Option<f64>, Failed> {
        Ok(pair(view, (1, 2), 1)?.offloads.and_then(|of| of.datagrams_per_send))
    };
    let view = switched.view(&flags("--gso on"))?;
    let of = datagrams(&view)?;
    println!("at once: {of:?}, {:?}", pair(&view, (1, 2), 1)?.offloads);
    assert_eq!((of.lost_share, of.reordered_share, of.duplicated_share), (0.0, 0.0, 0.0), "{of:?}");
    assert_eq!(per_send(&view)?, Some(44.0), "all that UDP carries: {:?}", view.remarks);
    // 9,000 bytes go in fragments over an MTU of 1,500, and no kernel cuts into those.
    let view = switched.view(&flags("--gso on --datagram-size 9000B"))?;
    let of = datagrams(&view)?;
    println!("fragments: {of:?}, {:?}", view.remarks);
    assert_eq!((of.lost_share, per_send(&view)?), (0.0, Some(1.0)), "{of:?}");
    assert!(view.remarks.iter().any(|remark| remark.contains("(UDP_SEGMENT)")), "{:?}", view.remarks);
    let view = switched.view(&flags(""))?;
    assert_eq!((per_send(&view)?, view.remarks.len()), (None, 0), "{:?}", view.remarks);
    Ok(())
}

/// Bare round trips of one byte over TCP from machine 1 to machine 2, in microseconds: the least and the median.
fn by_python(switched: &Switched) -> Result<(f64, f64), Failed> {
    let far = "import socket\ns = socket.socket()\ns.setsockopt(1, 2, 1)\ns.bind(('10.231.90.2', 5202))\ns.listen()\n\
               print('listens', flush=True)\nc, _ = s.accept()\nc.setsockopt(6, 1, 1)\nwhile c.recv(1): c.send(b'x')";
    let near = "import socket, time\ns = socket.create_connection(('10.231.90.2', 5202))\ns.setsockopt(6, 1, 1)\n\
                t = []\nfor _ in range(3000):\n b = time.perf_counter_ns()\n s.send(b'x')\n s.recv(1)\n \
                t.append(time.perf_counter_ns() - b)\nt.sort()\nprint(t[0] / 1e3, t[len(t) // 2] / 1e3)";
    let mut server = switched.within(2).args(["python3", "-c", far]).stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    let listens = server.stdout.take().ok_or("it has an output")?;
    std::io::BufRead::read_line(&mut std::io::BufReader::new(listens), &mut line)?;
    let output = switched.within(1).args(["python3", "-c", near]).output()?;
    server.wait()?;
    assert!(output.status.success(), "{}", shown(&output));
    let text = String::from_utf8(output.stdout)?;
    let figures: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [least, median] = figures[..] else { return Err("two figures".into()) };
    Ok((least, median))
}

/// A request is no faster than a bare round trip can be, and at the median not much slower than the median of these.
pub(super) fn requests_as_round_trips() -> Result<(), Failed> {
    let switched = Switched::make(2)?;
    let flags = "--op request --streams 1 --duration 2s --warmup 300ms --visits 1 --one-way";
    let (least, before) = by_python(&switched)?;
    let view = switched.view(flags)?;
    let (least_after, after) = by_python(&switched)?;
    let of = pair(&view, (1, 2), 1)?;
    let NetTimes { count, p50_us, p99_us, max_us, .. } = of.times.ok_or("requests were answered")?;
    let per_s = of.per_s.ok_or("it has a figure")?.mean;
    println!("{per_s:.0} requests/s, p50 {p50_us} µs; bare: least {least} and {least_after}, p50 {before} and {after}");
    let least = least.min(least_after);
    // Two digits are told.
    assert!(p50_us >= 0.98 * least, "p50 {p50_us} µs, where the least round trip is {least} µs");
    assert!(p50_us <= 3.0 * before.max(after), "p50 {p50_us} µs, {before} and {after} µs bare");
    assert!(p50_us <= p99_us && p99_us <= max_us && count > 1_000, "{of:?}");
    // One at a time: as many as the time has room for.
    let mean_us = 1e6 / per_s;
    assert!(mean_us >= 0.9 * least && mean_us < Duration::from_millis(5).as_micros() as f64, "{mean_us} µs each");
    Ok(())
}
