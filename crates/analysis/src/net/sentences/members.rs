//! Claims about members of bonds.

use std::collections::BTreeMap;

use linerate_record::finding::{Confidence, Severity};
use linerate_record::net::NetNoPrediction;
use linerate_record::units::percent;

use super::{pair_name, plural};
use crate::net::view::{NetArrival, NetArrives, NetFinding, NetFindingKind, NetLeaves, NetPairMembers, NetView};

/// Share of bytes on other members than predicted from which it is worth a claim: shares of members and of streams are
/// read at instants that differ a little.
const STRAYED: f64 = 0.05;

pub(super) fn findings(view: &NetView) -> Vec<NetFinding> {
    [strayed(view), one_member(view), uneven(view)].into_iter().flatten().chain(senders(view)).collect()
}

fn leaving(view: &NetView) -> impl Iterator<Item = (&NetPairMembers, &NetLeaves)> {
    view.members.iter().filter_map(|of| Some((of, of.leaves.as_ref()?)))
}

fn arriving(view: &NetView, says: NetArrival) -> Vec<(&NetPairMembers, &NetArrives)> {
    let all = view.members.iter().filter_map(|of| Some((of, of.arrives.as_ref()?)));
    all.filter(|(_, arrives)| arrives.says == says).collect()
}

/// Whether streams left by other members than predicted. Where each visit had one member for all, they are counted, and
/// bytes say no more.
fn is_off(of: &NetLeaves) -> bool {
    let predicted: u32 = of.members.iter().map(|member| member.predicted_streams).sum();
    of.strayed_streams > 0 || (predicted > of.alone_streams && strayed_share(of) > STRAYED)
}

/// Whether streams strayed, and some did by themselves too where they were sent again: what else goes by a bond is
/// taken for one of several streams, and for none that goes alone.
fn is_borne_out(of: &NetLeaves) -> bool {
    of.strayed_streams > 0 && (!of.strays.is_empty() || of.unparted_streams == 0)
}

fn strayed_share(of: &NetLeaves) -> f64 {
    of.strayed_share.unwrap_or(0.0)
}

/// Streams that leave by other members than the hash says.
fn strayed(view: &NetView) -> Option<NetFinding> {
    let off: Vec<_> = leaving(view).filter(|(_, leaves)| is_off(leaves)).collect();
    let judged = leaving(view).filter(|(_, leaves)| leaves.strayed_share.is_some()).count();
    let (pair, worst) = off.iter().max_by(|a, b| strayed_share(a.1).total_cmp(&strayed_share(b.1)))?;
    let streams = if worst.alone_streams > 0 {
        format!(", {} of {}", worst.strayed_streams, plural(worst.alone_streams as usize, "stream"))
    } else {
        String::new()
    };
    let named = worst.strays_in_words().map_or_else(String::new, |named| format!("; {named}"));
    Some(NetFinding {
        kind: NetFindingKind::StrayedStreams,
        severity: Severity::Warning,
        confidence: if is_borne_out(worst) { Confidence::Likely } else { Confidence::Possible },
        nodes: vec![pair.from],
        claim: format!(
            "streams leave by other members than the hash of the kernel says in {} of {}",
            off.len(),
            plural(judged, "pair")
        ),
        evidence: format!(
            "most {} by {} ({}): {} of bytes{streams}{named}",
            pair_name(view, pair.from, pair.to),
            worst.bond,
            worst.policy.as_deref().unwrap_or(&worst.mode),
            percent(strayed_share(worst))
        ),
        remedy: "what else chooses members there: queues of members (queue_id with tc), a program of XDP or tc, a \
                 vendor's kernel with another hash; and what else sends by this bond"
            .to_owned(),
    })
}

/// Pairs all of whose streams arrive on one member.
fn one_member(view: &NetView) -> Option<NetFinding> {
    let all = arriving(view, NetArrival::OneMember);
    let judged = view.members.iter().filter(|of| of.arrives.is_some()).count();
    let (pair, first) = all.iter().max_by(|a, b| a.1.streams.cmp(&b.1.streams))?;
    let left_by_one = all.iter().all(|(_, arrives)| arrives.left_by_one);
    let unless = if left_by_one { ", unless members are cabled to each other: they left by one too" } else { "" };
    Some(NetFinding {
        kind: NetFindingKind::SwitchHash,
        severity: Severity::Warning,
        confidence: if left_by_one { Confidence::Possible } else { Confidence::Likely },
        nodes: Vec::new(),
        claim: format!(
            "the switch hashes addresses only: all streams of a pair arrive on one member in {} of {}{unless}",
            all.len(),
            plural(judged, "pair")
        ),
        evidence: format!(
            "{} of {} streams of {} on one member of {}, by chance {}",
            first.streams,
            first.streams,
            pair_name(view, pair.from, pair.to),
            first.bond,
            chance(first.chance)
        ),
        remedy: "the hash of the switch's port channel: addresses and ports (layer 3 and 4)".to_owned(),
    })
}

/// Pairs whose streams arrive on one member more than chance would have it.
fn uneven(view: &NetView) -> Option<NetFinding> {
    let all = arriving(view, NetArrival::Uneven);
    let judged = view.members.iter().filter(|of| of.arrives.is_some()).count();
    let (pair, worst) = all.iter().min_by(|a, b| a.1.chance.total_cmp(&b.1.chance))?;
    let most = worst.members.iter().max_by_key(|member| member.streams)?;
    Some(NetFinding {
        kind: NetFindingKind::SwitchHash,
        severity: Severity::Note,
        confidence: Confidence::Likely,
        nodes: Vec::new(),
        claim: format!(
            "the switch's hash spreads streams unevenly over members in {} of {}",
            all.len(),
            plural(judged, "pair")
        ),
        evidence: format!(
            "{} of {} of {} arrive on {} of {}, by chance {}",
            most.streams,
            plural(worst.streams as usize, "stream"),
            pair_name(view, pair.from, pair.to),
            most.name,
            worst.bond,
            chance(worst.chance)
        ),
        remedy: "what the hash of the switch's port channel mixes, and whether each switch on the way has a seed of \
                 its own"
            .to_owned(),
    })
}

fn chance(chance: f64) -> String {
    if chance < 1e-3 { format!("{chance:.0e}") } else { percent(chance) }
}

/// Bonds whose members no source port chooses, by what they are.
fn senders(view: &NetView) -> Vec<NetFinding> {
    let mut visits_by_sender: BTreeMap<(&str, &str, NetNoPrediction), Vec<u32>> = BTreeMap::new();
    for (pair, leaves) in leaving(view) {
        let Some(why) = leaves.why else { continue };
        visits_by_sender
            .entry((leaves.mode.as_str(), leaves.policy.as_deref().unwrap_or(""), why))
            .or_default()
            .push(pair.from);
    }
    let finding = |((mode, policy, why), mut nodes): ((&str, &str, NetNoPrediction), Vec<u32>)| {
        nodes.sort_unstable();
        nodes.dedup();
        let set = if policy.is_empty() { mode.to_owned() } else { format!("{mode} with {policy}") };
        NetFinding {
            kind: NetFindingKind::SenderHash,
            severity: Severity::Note,
            confidence: Confidence::Certain,
            claim: format!("{set}: {}", why.says()),
            evidence: format!("the bonds of {}", plural(nodes.len(), "machine")),
            nodes,
            remedy: match why {
                NetNoPrediction::NoPorts => "bond.xmit_hash_policy: layer3+4 spreads the streams of a pair".to_owned(),
                _ => String::new(),
            },
        }
    };
    visits_by_sender.into_iter().map(finding).collect()
}
