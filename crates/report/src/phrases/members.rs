//! Sentences about members of bonds.

use linerate_analysis::net::view::{
    NetArrival, NetArrives, NetBondByModel, NetLeaves, NetMemberReceives, NetMemberSends, NetView,
};

use super::site_and_plan::{of_group, spread_in_words};
use super::{percent, plural};

/// What S3 traffic of the site gets of a bond, beside what was measured.
pub(crate) fn by_model(view: &NetView, of: &NetBondByModel) -> String {
    let said = spread_in_words(&of_group(of.spread.resource, of.spread.group.as_deref()), &of.spread);
    match (of.measured_share, view.compared_streams) {
        (Some(share), Some(streams)) => {
            let streams = plural(streams.into(), "stream");
            format!("{said}; measured here: {streams} of the median pair get {} of their bonds", percent(share))
        }
        _ => said,
    }
}

/// The bond, and what chooses its members.
pub(crate) fn bond(of: &NetLeaves) -> String {
    match &of.policy {
        Some(policy) => format!("{} ({}, {policy})", of.bond, of.mode),
        None => format!("{} ({})", of.bond, of.mode),
    }
}

/// What members sent, beside what they were to send.
pub(crate) fn sent(of: &NetLeaves) -> String {
    let one = |member: &NetMemberSends| {
        let carried = percent(member.carried_share);
        match member.predicted_share {
            Some(share) => format!("{} {carried} of bytes, {} predicted", member.name, percent(share)),
            None => format!("{} {carried} of bytes", member.name),
        }
    };
    of.members.iter().map(one).collect::<Vec<_>>().join(", ")
}

pub(crate) fn leaves_said(of: &NetLeaves) -> String {
    let mut said: Vec<String> = of.why.map(|why| why.says().to_owned()).into_iter().collect();
    if of.alone_streams > 0 {
        let all = plural(u64::from(of.alone_streams), "stream");
        said.push(match of.strayed_streams {
            0 => format!("all of {all} left as predicted"),
            strayed => format!("{strayed} of {all} left by another member than predicted"),
        });
    }
    said.extend(of.strays_in_words());
    if of.left_out > 0 {
        let visits = plural(u64::from(of.left_out), "visit");
        said.push(format!("{visits} not judged: members came or went, or it sent to several"));
    }
    said.join("; ")
}

pub(crate) fn received(of: &NetArrives) -> String {
    let one = |member: &NetMemberReceives| {
        format!("{} {} of bytes, {}", member.name, percent(member.carried_share), streams(member.streams))
    };
    of.members.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn streams(count: u32) -> String {
    plural(u64::from(count), "stream")
}

pub(crate) fn arrives_said(of: &NetArrives) -> String {
    let most = of.members.iter().map(|member| member.streams).max().unwrap_or(0);
    let on_one = format!("{most} of {} on one member", streams(of.streams));
    let chance = if of.chance < 1e-3 { format!("{:.0e}", of.chance) } else { percent(of.chance) };
    match of.says {
        NetArrival::OneMember => format!("{on_one}, by chance {chance}: what chose it looks at addresses only"),
        NetArrival::AsSent => {
            "each member of the sender leads to one of the receiver: cabled to each other, or hashed as by the sender"
                .to_owned()
        }
        NetArrival::Uneven => format!("{on_one}, by chance {chance}: the switch's hash spreads them unevenly"),
        NetArrival::Spread => format!("{on_one}, as chance would have it"),
        NetArrival::Untold => format!("{on_one}: too few streams to say why (chance {chance})"),
    }
}
