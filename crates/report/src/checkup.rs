//! A check-up on one screen: what a cluster should do, what it does, what holds it back, what to change first.

use linerate_record::checkup::{Checkup, Proposal, ProposalBasis};
use linerate_record::diagnosis::Diagnosis;
use linerate_record::discovery::{DiscoveryFinding, DiscoveryKind};
use linerate_record::plan::{Plan, WorkPlan};
use linerate_record::site::key;

use crate::colour::Colour;
use crate::diagnosis_sentences;
use crate::fleet::unreached_in_words;
use crate::phrases::{plural, site_and_plan};
use crate::terminal::{TextStyle, hanging, hanging_in};

/// Proposals on a screen, and its lines.
const PROPOSALS: usize = 5;
const SCREEN_LINES: usize = 25;

/// Commands that say more.
const COMMANDS: usize = 4;

/// Columns before a sentence.
const INDENT: usize = 11;

/// Commands that say more of each part.
#[derive(Clone, Debug)]
pub struct MoreCommands {
    /// Writes the site file that the others read, where there is none.
    pub site: Option<String>,
    pub plan: String,
    pub live: String,
    pub audit: String,
}

/// The check-up as pretty JSON, with a line feed at its end.
///
/// # Panics
/// Never: it has text keys only, which is all that JSON asks.
#[must_use]
pub fn json(checkup: &Checkup) -> String {
    crate::json::pretty(checkup).expect("a check-up has text keys only")
}

/// The check-up for a terminal; with `all`, every proposal with its evidence.
#[must_use]
pub fn text(checkup: &Checkup, more: &MoreCommands, all: bool, look: TextStyle) -> String {
    let mut text = hanging(" read", INDENT, &read(checkup), look);
    let lost = checkup.unreached.iter().filter_map(|row| Some((row, row.unreached.as_ref()?)));
    for reason in unreached_in_words(lost) {
        text.push_str(&hanging_in(Colour::Red, " not read", INDENT, &reason, look));
    }
    text.push_str(&unread(checkup, all, look));
    for warning in &checkup.warnings {
        text.push_str(&hanging_in(Colour::Yellow, " warning", INDENT, warning, look));
    }
    if let Some(plan) = &checkup.plan {
        for (place, work) in plan.works.iter().enumerate() {
            let lead = if place == 0 { " should" } else { "" };
            text.push_str(&hanging(lead, INDENT, &should(plan, work), look));
        }
    }
    text.push_str(&does(checkup.diagnosis.as_ref(), all, look));
    if all {
        return text + &proposed(&checkup.proposals, usize::MAX, true, look) + &next(checkup, more, COMMANDS, look);
    }
    // As many proposals as a screen holds, and the first whatever else is said; commands give way before that.
    let whole = |(commands, most): (usize, usize)| {
        text.clone() + &proposed(&checkup.proposals, most, false, look) + &next(checkup, more, commands, look)
    };
    let fits = |text: &String| text.lines().count() <= SCREEN_LINES;
    let fewer = (1..=PROPOSALS).rev().map(|most| (COMMANDS, most)).chain((1..COMMANDS).rev().map(|few| (few, 1)));
    fewer.map(whole).find(fits).unwrap_or_else(|| whole((1, 1)))
}

fn read(checkup: &Checkup) -> String {
    let discovered = &checkup.discovered;
    let nodes = match (discovered.nodes_read, discovered.nodes) {
        (read, of) if read == of => plural(u64::from(of), "node"),
        (read, of) => format!("{read} of {of} nodes"),
    };
    let Some(plan) = &checkup.plan else { return nodes };
    let source = if checkup.is_site_given { "planned by the site file as " } else { "" };
    let assumed = format!("{} (*)", plural(plan.site.assumed.len() as u64, "assumed value"));
    let engine = site_and_plan::engine(&plan.site);
    let found = if plan.site.is_assumed(key::ENGINE_PRODUCT) { "no engine found, assumed: " } else { "" };
    format!("{nodes}; {source}{found}{engine}; {assumed}")
}

/// What could not be read: all of it, or the first with the number of the others.
fn unread(checkup: &Checkup, all: bool, look: TextStyle) -> String {
    let found: Vec<&DiscoveryFinding> =
        checkup.discovered.findings.iter().filter(|finding| finding.kind == DiscoveryKind::Unread).collect();
    let Some(first) = found.first() else { return String::new() };
    let more = found.len() as u64 - 1;
    let shown = if all { found.len() } else { 1 };
    let mut text = String::new();
    for finding in &found[..shown] {
        let count = finding.nodes.len() as u64;
        let on = if count > 0 { format!(" ({})", plural(count, "node")) } else { String::new() };
        let rest =
            if !all && more > 0 { format!("; {} with --all", plural(more, "more reason")) } else { String::new() };
        text.push_str(&hanging_in(Colour::Yellow, " unread", INDENT, &format!("{}{on}{rest}", finding.claim), look));
    }
    text + &hanging("   try", INDENT, &first.remedy, look)
}

fn should(plan: &Plan, work: &WorkPlan) -> String {
    let label = site_and_plan::work(&work.work);
    let Some(bottleneck) = work.ceilings.first() else { return format!("{label}: nothing of the site limits it") };
    let star = if site_and_plan::rests_on_assumed(bottleneck) { "*" } else { "" };
    let limit = site_and_plan::limit_in_brief(bottleneck);
    format!("{label}: at most {limit}{star}; bottleneck: {}", site_and_plan::ceiling(bottleneck, &plan.site))
}

/// What the cluster does, and what holds it back.
fn does(diagnosis: Option<&Diagnosis>, all: bool, look: TextStyle) -> String {
    let Some(diagnosis) = diagnosis else {
        return hanging(" does", INDENT, "not read", look);
    };
    let mut text = hanging(" does", INDENT, &diagnosis_sentences::load(diagnosis), look);
    let shown = if all { diagnosis.warnings.len() } else { 1 };
    let more = diagnosis.warnings.len().saturating_sub(shown);
    for warning in diagnosis.warnings.iter().take(shown) {
        let rest = if more > 0 { format!("; {more} more with --all") } else { String::new() };
        text.push_str(&hanging_in(Colour::Yellow, " warning", INDENT, &format!("{warning}{rest}"), look));
    }
    text.push_str(&hanging_in(Colour::Green, " ▸", 3, &diagnosis.answer, look));
    text
}

fn proposed(proposals: &[Proposal], most: usize, all: bool, look: TextStyle) -> String {
    if proposals.is_empty() {
        return hanging(" change", INDENT, "nothing: no reading, node or setting gives a reason", look);
    }
    let mut text = String::new();
    for (place, proposal) in proposals.iter().take(most).enumerate() {
        text.push_str(&hanging_in(Colour::Yellow, &format!(" {}", place + 1), 3, &in_words(proposal), look));
        text.push_str(&hanging("   try", INDENT, &remedy(proposal), look));
        if all {
            text.push_str(&hanging("   why", INDENT, &proposal.evidence, look));
        }
    }
    let left = proposals.len().saturating_sub(most);
    if left > 0 {
        text.push_str(&hanging("", 3, &format!("… {} with --all", plural(left as u64, "more proposal")), look));
    }
    text
}

fn in_words(proposal: &Proposal) -> String {
    let basis = match proposal.basis {
        ProposalBasis::Measured => "measured: ",
        ProposalBasis::Contradiction | ProposalBasis::Audit => "",
        ProposalBasis::Settings => "not shown to matter here: ",
    };
    format!("{basis}{}", proposal.claim)
}

fn remedy(proposal: &Proposal) -> String {
    let gives = proposal.gives.as_ref().map_or_else(String::new, |gives| format!("; gives {gives}"));
    format!("{}{gives}", proposal.remedy)
}

/// The next reading, where no cause leads, and what says more.
fn next(checkup: &Checkup, more: &MoreCommands, most: usize, look: TextStyle) -> String {
    let is_led = checkup.proposals.iter().any(|proposal| proposal.basis == ProposalBasis::Measured);
    let reading = checkup.diagnosis.as_ref().and_then(|diagnosis| diagnosis.next.as_ref()).filter(|_| !is_led);
    let mut text = reading.map_or_else(String::new, |next| hanging(" read next", INDENT, next, look));
    let commands = [more.site.as_ref(), Some(&more.plan), Some(&more.live), Some(&more.audit)];
    for (place, command) in commands.into_iter().flatten().take(most).enumerate() {
        let lead = if place == 0 { " more" } else { "" };
        text.push_str(&hanging(lead, INDENT, command, look));
    }
    text
}
