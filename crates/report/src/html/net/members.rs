//! Members of bonds, as tables: by which pairs left, and on which they arrived.

use linerate_analysis::net::view::{NetPairMembers, NetView};
use linerate_record::units::bytes_iec;

use super::super::markup::{facts, table};
use super::super::page::HtmlRow;
use crate::phrases::members::{arrives_said, by_model, leaves_said};
use crate::phrases::{ABSENT, percent};

/// Pairs that are listed.
const PAIRS_SHOWN: usize = 40;

/// Nothing where there is no bond.
pub(super) fn section(view: &NetView) -> String {
    let pairs: Vec<(usize, &NetPairMembers)> = view.members.iter().enumerate().take(PAIRS_SHOWN).collect();
    let sent: String = pairs.iter().map(|(place, of)| left(view, *place, of)).collect();
    let received: String = pairs.iter().map(|(place, of)| arrived(view, *place, of)).collect();
    let mut html = String::new();
    if !sent.is_empty() {
        let heads = [
            "pair",
            "<member",
            "streams|That were to leave by it",
            "predicted|Of all bytes",
            "carried|Of all bytes",
            "bytes|With headers",
            "<in all",
        ];
        html.push_str(&table("By which members pairs left", &heads, &sent));
    }
    if !received.is_empty() {
        let heads =
            ["pair", "<member", "streams|As bytes tell", "carried|Of all bytes", "bytes|With headers", "<in all"];
        html.push_str(&table("On which members pairs arrived", &heads, &received));
    }
    let modelled = view.bonds_by_model.iter().map(|of| ("S3 traffic, by the model", by_model(view, of)));
    let modelled: Vec<(&str, String)> = modelled.collect();
    if !modelled.is_empty() {
        html.push_str(&facts(&modelled));
    }
    html
}

fn name(view: &NetView, of: &NetPairMembers) -> String {
    format!("{} → {}", view.name(of.from), view.name(of.to))
}

fn left(view: &NetView, place: usize, of: &NetPairMembers) -> String {
    let Some(leaves) = &of.leaves else { return String::new() };
    let row = |(number, member): (usize, &linerate_analysis::net::view::NetMemberSends)| {
        let at = |field: &str| format!("members.{place}.leaves.members.{number}.{field}");
        let row = HtmlRow::default().name(&name(view, of)).words(&member.name).figure(
            &at("predicted_streams"),
            member.predicted_streams,
            &member.predicted_streams.to_string(),
        );
        let row = match member.predicted_share {
            Some(share) => row.figure(&at("predicted_share"), share, &percent(share)),
            None => row.number(ABSENT),
        };
        row.figure(&at("carried_share"), member.carried_share, &percent(member.carried_share))
            .figure(&at("carried_bytes"), member.carried_bytes, &bytes_iec(member.carried_bytes as f64))
            .sentence(&if number == 0 { leaves_said(leaves) } else { String::new() })
            .whole()
    };
    leaves.members.iter().enumerate().map(row).collect()
}

fn arrived(view: &NetView, place: usize, of: &NetPairMembers) -> String {
    let Some(arrives) = &of.arrives else { return String::new() };
    let row = |(number, member): (usize, &linerate_analysis::net::view::NetMemberReceives)| {
        let at = |field: &str| format!("members.{place}.arrives.members.{number}.{field}");
        HtmlRow::default()
            .name(&name(view, of))
            .words(&member.name)
            .figure(&at("streams"), member.streams, &member.streams.to_string())
            .figure(&at("carried_share"), member.carried_share, &percent(member.carried_share))
            .figure(&at("carried_bytes"), member.carried_bytes, &bytes_iec(member.carried_bytes as f64))
            .sentence(&if number == 0 { arrives_said(arrives) } else { String::new() })
            .whole()
    };
    arrives.members.iter().enumerate().map(row).collect()
}
