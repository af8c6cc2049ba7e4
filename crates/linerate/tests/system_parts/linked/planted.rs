//! What is planted at one port or on one path of many is named, and nothing else is.

use libtest_mimic::Failed;
use linerate_analysis::net::view::{NetFinding, NetFindingKind, NetLimitedBy};

use super::{Switched, dropped, ip, outstanding, pair, rate, sent_again, tc};

/// Four machines that send to one through a shallow queue, and to others through deep ones.
pub(super) fn incast() -> Result<(), Failed> {
    let switched = Switched::make(5)?;
    // Packets go one by one, as the queue counts them.
    for space in &switched.spaces {
        ip(&format!("-n {space} link set eth0 gso_max_segs 1"));
    }
    (1..=5).for_each(|machine| switched.sends(machine, 100, 400_000));
    switched.receives(1, 100, 12_000);
    let before = dropped(&switched, 1)?;
    let view = switched.view("--incast --streams 2 --duration 5s --warmup 0s --visits 1")?;
    let dropped = dropped(&switched, 1)? - before;
    let sent_again = sent_again(&switched, |pair| pair.to == 0)?;
    // A stream that loses a whole window waits for its timer, and some wait when the load ends.
    let outstanding = outstanding(&switched, |pair| pair.to == 0)?;
    println!("{dropped} packets dropped, {sent_again} segments sent again, {outstanding} open; {}", view.answer);
    assert!(dropped > 100, "the queue is shallow: {dropped}");
    let (least, most) = (sent_again as f64 / 1.1, (sent_again + outstanding) as f64 / 0.9);
    assert!((least..=most).contains(&(dropped as f64)), "{sent_again} and {outstanding} of {dropped}");
    let found: Vec<&NetFinding> =
        view.findings.iter().filter(|finding| finding.kind == NetFindingKind::Incast).collect();
    let [finding] = found[..] else { panic!("one claim: {:?}", view.findings) };
    assert_eq!(finding.nodes, [0], "{finding:?}");
    assert!(finding.claim.contains("4 machines send to n1 at once and lose packets at the port to it"), "{finding:?}");
    for from in 2..=5 {
        let limit = pair(&view, (from, 1), 2)?.limit.as_ref().ok_or("something limits it")?;
        assert!(matches!(limit.by, NetLimitedBy::Losses | NetLimitedBy::Network), "{from}: {limit:?}");
    }
    Ok(())
}

/// One way from one machine to another of eight is slow, and neither the way back nor the machines are.
pub(super) fn slow_pair() -> Result<(), Failed> {
    let switched = Switched::make(8)?;
    (1..=8).for_each(|machine| switched.sends(machine, 100, 300_000));
    let space = &switched.spaces[2];
    tc(&format!("-n {space} qdisc replace dev eth0 root handle 1: htb default 10"));
    tc(&format!("-n {space} class add dev eth0 parent 1: classid 1:10 htb rate 100mbit burst 32kb"));
    tc(&format!("-n {space} class add dev eth0 parent 1: classid 1:20 htb rate 40mbit burst 32kb"));
    tc(&format!("-n {space} filter add dev eth0 parent 1: protocol ip u32 match ip dst 10.231.90.7/32 flowid 1:20"));
    // One way: answers to what goes back would wait in the same queue.
    let view = switched.view("--one-way --streams 1 --duration 500ms --warmup 300ms --visits 3")?;
    let named: Vec<(u32, u32)> = view.slow.pairs.iter().map(|of| (of.from + 1, of.to + 1)).collect();
    assert_eq!((named.as_slice(), view.slow.nodes.len()), (&[(3, 7)][..], 0), "{}: {:?}", view.answer, view.slow);
    let (slow, back) = (rate(&view, (3, 7), 1)?, rate(&view, (7, 3), 1)?);
    assert!(back > 1.5 * slow, "{slow} there and {back} back");
    let finding = view.findings.iter().find(|finding| finding.kind == NetFindingKind::SlowPair);
    assert!(finding.is_some_and(|finding| finding.claim.contains("n3 → n7")), "{:?}", view.findings);
    // The queue that holds it back is the sender's own.
    assert!(finding.is_some_and(|finding| finding.remedy.contains("tc -s qdisc show dev eth0")), "{:?}", view.findings);
    Ok(())
}
