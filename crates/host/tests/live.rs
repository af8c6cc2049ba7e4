//! The machine on which the tests run is read as a machine.

use linerate_host::{Root, machine, reading};
use linerate_record::reading::{CpuTimes, DiskCounters, NicCounters, Reading};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use crate::processor::least_time;

const SENT_BYTES: usize = 4 << 20;

/// Sends bytes through loopback, so that two readings around it must differ.
fn send_through_loopback() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut sender = TcpStream::connect(listener.local_addr()?)?;
    let (mut receiver, _) = listener.accept()?;
    let sending = thread::spawn(move || sender.write_all(&vec![7; SENT_BYTES]));
    let mut received = Vec::new();
    receiver.read_to_end(&mut received)?;
    assert_eq!(received.len(), SENT_BYTES);
    sending.join().expect("the sender does not panic")
}

fn loopback(read: &Reading) -> &NicCounters {
    read.nics.iter().find(|nic| nic.name == "lo").expect("a machine with loopback")
}

#[test]
fn loopback_and_tcp_counters_grow_by_what_is_sent() {
    let (before, _) = reading(&Root::live(), 0);
    send_through_loopback().unwrap();
    let (after, _) = reading(&Root::live(), 1);
    let (was, is) = (loopback(&before), loopback(&after));
    assert!(is.tx_bytes - was.tx_bytes >= SENT_BYTES as u64, "{was:?} {is:?}");
    assert!(is.rx_bytes - was.rx_bytes >= SENT_BYTES as u64, "{was:?} {is:?}");
    assert!(is.tx_packets > was.tx_packets, "{was:?} {is:?}");
    assert!(after.tcp.out_segments > before.tcp.out_segments);
}

/// Counters that the kernel never takes back. Its idle and iowait times are estimates and may shrink by a tick.
fn cpu_counters(times: &CpuTimes) -> [u64; 4] {
    [times.user_ms, times.system_ms, times.irq_ms, times.softirq_ms]
}

fn nic_counters(nic: &NicCounters) -> [u64; 4] {
    [nic.rx_bytes, nic.tx_bytes, nic.rx_packets, nic.tx_packets]
}

fn disk_counters(disk: &DiskCounters) -> [u64; 5] {
    [disk.reads, disk.writes, disk.read_bytes, disk.written_bytes, disk.busy_ms]
}

#[test]
fn counters_do_not_go_backwards() {
    let (before, unreadable) = reading(&Root::live(), 0);
    assert_eq!(unreadable, []);
    send_through_loopback().unwrap();
    let (after, _) = reading(&Root::live(), 1);
    assert_eq!((before.at_ms, after.at_ms), (0, 1));

    assert_eq!(before.cpus.len(), after.cpus.len());
    for (was, is) in before.cpus.iter().zip(&after.cpus) {
        assert_eq!(was.cpu, is.cpu);
        assert!(cpu_counters(was).iter().zip(cpu_counters(is)).all(|(was, is)| *was <= is), "{was:?} {is:?}");
    }
    for was in &before.nics {
        let Some(is) = after.nics.iter().find(|nic| nic.name == was.name) else { continue };
        assert!(nic_counters(was).iter().zip(nic_counters(is)).all(|(was, is)| *was <= is), "{was:?} {is:?}");
    }
    for was in &before.disks {
        let Some(is) = after.disks.iter().find(|disk| disk.name == was.name) else { continue };
        assert!(disk_counters(was).iter().zip(disk_counters(is)).all(|(was, is)| *was <= is), "{was:?} {is:?}");
    }
    assert!(after.tcp.out_segments >= before.tcp.out_segments);
    let total_us = |read: &Reading| read.pressure.map_or(0, |pressure| pressure.cpu_some_us);
    assert!(total_us(&after) >= total_us(&before));
}

#[test]
fn this_machine_is_made_of_something() {
    let (made_of, unreadable) = machine(&Root::live());
    assert!(unreadable.is_empty(), "{unreadable:?}");
    let (read, _) = reading(&Root::live(), 0);
    assert_eq!(made_of.cpus as usize, read.cpus.len());
    assert!(made_of.memory_bytes > read.memory.available_bytes);
    assert!(made_of.numa_nodes >= 1 && made_of.numa_nodes <= made_of.cpus);
    assert!(!made_of.kernel.is_empty() && !made_of.cpu_model.is_empty() && !made_of.clocksource.is_empty());
    assert!(made_of.nics.iter().any(|nic| nic.name == "lo" && nic.mtu_bytes >= 1500));
}

/// The fastest of many, so that what else the machine does costs nothing here. The kernel itself needs some time per
/// processor to write `/proc/stat`.
#[test]
fn a_reading_costs_less_than_a_millisecond() {
    let root = Root::live();
    let (read, _) = reading(&root, 0);
    let allowed = Duration::from_millis(1) + Duration::from_micros(20) * u32::try_from(read.cpus.len()).unwrap();
    let fastest = least_time(200, |at_ms| reading(&root, at_ms));
    assert!(fastest < allowed, "{fastest:?}, allowed {allowed:?}");
}
