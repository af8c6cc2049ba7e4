//! Looks at a machine by a thread that has gone to another network namespace than `/sys` shows.

use std::fs::File;
use std::net::UdpSocket;
use std::os::fd::AsFd as _;
use std::process::Command;

use libtest_mimic::Failed;
use linerate_host::Root;
use linerate_host::live::{LiveLook, LiveRequest, begin, look};
use linerate_record::readings::ReadMeasure;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::tune::Ground;
use crate::NamedCheck;
use crate::running::shown;

/// What is checked, and what it needs.
pub(crate) const CHECKS: [NamedCheck; 1] =
    [("live_links_are_those_of_the_namespace_of_who_looks", &["root", "ip"], links)];

const SENT_BYTES: f64 = 1e6;

fn links() -> Result<(), Failed> {
    let ground = Ground::namespace("l");
    let name = ground.namespace.clone().unwrap_or_default();
    for words in [
        "link set lab1 up",
        "address add 10.231.78.1/30 dev lab0",
        "neighbour add 10.231.78.2 lladdr 02:00:00:00:00:02 dev lab0 nud permanent",
    ] {
        let output = Command::new("ip").args(["-n", &name]).args(words.split(' ')).output()?;
        assert!(output.status.success(), "{words}: {}", shown(&output));
    }
    let space = File::open(format!("/run/netns/{name}"))?;
    let [first, second, third] = std::thread::spawn(move || looks(&space)).join().expect("it ends")?;
    let rate = |look: &LiveLook, of, part: &str| {
        look.values.iter().find(|value| value.of == of && value.part == part).map(|value| value.value)
    };
    assert_eq!(rate(&first, ReadMeasure::LinkSent, "lab0"), None);
    for (of, part) in [(ReadMeasure::LinkSent, "lab0"), (ReadMeasure::LinkReceived, "lab1")] {
        let carried = rate(&second, of, part).unwrap_or_default();
        assert!((SENT_BYTES..1.2 * SENT_BYTES).contains(&carried), "{carried} {second:?}");
    }
    // A veth claims 10 Gb/s, in `/sys` of its namespace and to netlink: no hardware says so.
    assert_eq!(rate(&third, ReadMeasure::LinkSpeed, "lab0"), None, "{third:?}");
    for look in [&second, &third] {
        let sent = look.values.iter().filter(|value| value.of == ReadMeasure::LinkSent);
        assert_eq!(sent.count(), 2, "{look:?}");
    }
    let faults = [&first, &second, &third].map(|look| &look.unreadable).into_iter().flatten();
    assert!(faults.into_iter().any(|fault| fault.path == "sys/class/net"), "{second:?}");
    Ok(())
}

/// A second apart by the clock that they are given: before something is sent, after, and once what is read beside them
/// is there.
fn looks(space: &File) -> Result<[LiveLook; 3], Failed> {
    move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network))?;
    let root = Root::live();
    let mut state = begin(&root, &LiveRequest::default());
    let first = look(&root, &mut state, 0);
    let socket = UdpSocket::bind("10.231.78.1:0")?;
    for _ in 0..(SENT_BYTES / 1e3) as u32 {
        socket.send_to(&[7; 1_000], "10.231.78.2:9")?;
    }
    std::thread::sleep(std::time::Duration::from_millis(500));
    let second = look(&root, &mut state, 1_000);
    std::thread::sleep(std::time::Duration::from_millis(500));
    let third = look(&root, &mut state, 2_000);
    Ok([first, second, third])
}
