//! Bonds that lost a member: the port is well, and what it is part of is not.

use linerate_record::diagnosis::Cause;
use linerate_record::readings::ReadMeasure;
use linerate_record::site::Site;

use super::links::{members, planes};
use super::readings_grid::Grid;
use super::sentences;
use super::suspects::ScoredCause;
use crate::bond::ports;

/// A member with less than this part of what its bond carries carries nothing: counters of a port that is down stand
/// still.
const NOTHING: f64 = 1e-4;

/// What is told of a bond's speed at one node, and of a link that stays at that speed, is one suspect if one of the
/// bond's members carries nothing: that it lost this member.
pub(super) fn joined(all: &mut Vec<ScoredCause>, grid: &Grid<'_>, site: &Site) {
    let is_speed = |one: &ScoredCause| one.suspect.cause == Cause::LinkSpeed;
    let lost: Vec<(String, String, String)> = all
        .iter()
        .filter(|one| is_speed(one))
        .filter_map(|one| {
            let (node, bond) = (one.suspect.node.clone()?, one.suspect.part.clone());
            let member = idle_member(grid, site, &node, &bond)?;
            Some((node, bond, member))
        })
        .collect();
    for (node, bond, member) in lost {
        let is_way = |one: &ScoredCause| matches!(one.suspect.cause, Cause::SlowLinkSending | Cause::SlowLinkReceiving);
        let is_it = |one: &ScoredCause| one.suspect.node.as_ref() == Some(&node) && one.suspect.part == bond;
        let (of_ways, rest): (Vec<ScoredCause>, Vec<ScoredCause>) =
            std::mem::take(all).into_iter().partition(|one| is_it(one) && is_way(one));
        *all = rest;
        let Some(speed) = all.iter_mut().find(|one| is_it(one) && is_speed(one)) else { continue };
        speed.suspect.claim = format!("{bond} of {node} lost a member: {member} carries nothing");
        speed.suspect.remedy = sentences::lost_member(&bond, &member);
        for way in of_ways {
            speed.log_odds = speed.log_odds.max(way.log_odds);
            speed.suspect.gives = speed.suspect.gives.take().or(way.suspect.gives);
            speed.shows_as_well(way.suspect.evidence);
        }
    }
}

/// The member of a plane's bond that carries nothing while the bond is in use.
fn idle_member(grid: &Grid<'_>, site: &Site, node: &str, bond: &str) -> Option<String> {
    let place = grid.place(node)?;
    let group = &site.groups[grid.nodes[place].group];
    let is_bond = |link: &str| group.bonds.iter().any(|one| one.name == link);
    // Interfaces of planes may have other names than the site's links.
    let links: Vec<&str> = planes(site).iter().map(|plane| plane.plane.link.as_str()).collect();
    let link = links.iter().copied().find(|link| *link == bond).or_else(|| links.first().copied())?;
    if !is_bond(link) {
        return None;
    }
    let bytes = |name: &str| -> Option<f64> {
        let mean = |measure| grid.part(measure, place, name).and_then(|values| grid.mean(values));
        Some(mean(ReadMeasure::LinkSent)? + mean(ReadMeasure::LinkReceived)?)
    };
    let whole = bytes(bond).filter(|bytes| *bytes > 0.0)?;
    let members = members(grid, place, bond, ports(group, link))?;
    let idle = |name: &&&str| bytes(name).is_some_and(|bytes| bytes < NOTHING * whole);
    members.iter().find(idle).map(|name| (*name).to_owned())
}
