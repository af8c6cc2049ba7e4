//! How hypotheses read, and what they say of each figure.

use linerate_record::explanation::{
    CauseFamily, DistinguishingReading, Explanation, FamilyStanding, Hypothesis, Kind, Quantity, Remedy, RemedyGain,
    Residual,
};
use linerate_record::units::{bytes_per_s_iec, share_in_words};

use super::site_and_plan::{of_site, quantity};
use super::{change, grouped, of_single_nodes, percent};

/// What a hypothesis says, in one sentence.
pub(crate) fn hypothesis(hypothesis: &Hypothesis) -> String {
    if hypothesis.deviations.is_empty() {
        return "the site is as described".to_owned();
    }
    hypothesis.deviations.iter().map(|d| d.claim.as_str()).collect::<Vec<_>>().join(", and ")
}

/// The same with what the site states that is not so under it: where this has no line of its own.
pub(crate) fn marked(of: &Hypothesis) -> String {
    let reported = hypothesis(of);
    contradicted(of).map_or(reported.clone(), |stated| format!("{reported} ({stated})"))
}

/// All that the site states and that is not so under a hypothesis.
pub(crate) fn contradicted(of: &Hypothesis) -> Option<String> {
    let stated: Vec<&str> = of.deviations.iter().flat_map(|d| &d.contradicts).map(String::as_str).collect();
    (!stated.is_empty()).then(|| against(&stated.join(", ")))
}

/// By how much a figure is above its ceiling, which may be far above what is predicted with its requests in flight.
fn above_ceiling(sigmas: f64) -> String {
    format!("{sigmas:.1} standard errors above its ceiling")
}

/// From such a difference on, a figure is told as a factor of what is predicted.
const FAR_ABOVE: f64 = 9.0;

/// Where a figure is beside what is predicted, before that: `27.2 % below`, `6.8 % above`, `139 times`.
fn alongside(share: f64) -> String {
    if share >= FAR_ABOVE {
        return share_in_words(1.0 + share, 0);
    }
    let size = change(share);
    format!("{} {}", size.trim_start_matches(['+', '−']), if share < 0.0 { "below" } else { "above" })
}

/// Figures of single nodes that a row names; the rest are counted.
const NAMED: usize = 1;

/// What a hypothesis does not explain, in its own row: `leaves PUT unexplained, 27.2 % below`.
pub(crate) fn lacks(hypothesis: &Hypothesis) -> String {
    lacks_alongside(hypothesis, &[])
}

/// The same without figures of which it stands elsewhere already that nothing explains them.
pub(crate) fn lacks_alongside(hypothesis: &Hypothesis, known: &[&Quantity]) -> String {
    let is_lacking = |residual: &&Residual| !residual.explained && !known.contains(&&residual.what);
    let (site, mut nodes): (Vec<&Residual>, Vec<&Residual>) =
        hypothesis.residuals.iter().filter(is_lacking).partition(|r| of_site(&r.what));
    let off = |residual: &Residual| alongside(residual.residual_share);
    let shortfall_in_words = |residual: &Residual| {
        let what = quantity(&residual.what);
        match residual.above_sigmas {
            Some(sigmas) => format!("{what} is {} what is predicted, {}", off(residual), above_ceiling(sigmas)),
            None if residual.residual_share >= FAR_ABOVE => format!("{what} is {} what is predicted", off(residual)),
            None => format!("leaves {what} unexplained, {}", off(residual)),
        }
    };
    let mut reported: Vec<String> = site.into_iter().map(shortfall_in_words).collect();
    nodes.sort_by(|a, b| b.residual_share.abs().total_cmp(&a.residual_share.abs()));
    let named: Vec<String> =
        nodes.iter().take(NAMED).map(|of| format!("{} ({})", quantity(&of.what), off(of))).collect();
    if !named.is_empty() {
        let more = nodes.len() - named.len();
        let more =
            if more == 0 { String::new() } else { format!(" and {}", of_single_nodes(more as u64, "more figure")) };
        reported.push(format!("leaves {}{more} unexplained", named.join(", ")));
    }
    reported.join("; ")
}

/// What the site states that is not so under a hypothesis.
pub(crate) fn against(stated: &str) -> String {
    format!("contradicts what is stated: {stated}")
}

/// A hypothesis with what it does not explain.
pub(crate) fn row(of: &Hypothesis) -> String {
    let lacks = lacks(of);
    if lacks.is_empty() { hypothesis(of) } else { format!("{}; {lacks}", hypothesis(of)) }
}

/// The first hypothesis that explains every figure as a row of its own, where it does not begin one of the kinds that
/// are shown: where the answer says that some do, its row is among those shown.
pub(crate) fn row_of_whole(explanation: &Explanation, shown: &[Kind]) -> Option<Kind> {
    let place = *explanation.verdict.whole.first()?;
    let is_shown = shown.iter().any(|kind| kind.survivors.first() == Some(&place));
    let weight = explanation.survivors.get(place)?.weight;
    (!is_shown).then(|| Kind { survivors: vec![place], weight })
}

/// Which one it is, behind how many there are.
fn named(whole: &[usize]) -> String {
    match whole {
        [] => String::new(),
        [one] => format!("number {}", one + 1),
        [first, ..] => format!("number {} first", first + 1),
    }
}

/// What a hypothesis explains at the most: of a run, the figures that are used.
fn every_figure(explanation: &Explanation) -> &'static str {
    if explanation.left_out.is_empty() { "every figure" } else { "every figure that is used" }
}

/// How far the answer goes: what remains of what was looked at, and what weighs against all of it.
pub(crate) fn outcome(explanation: &Explanation) -> String {
    let looked_at = grouped(u64::from(explanation.considered));
    let (survivors, verdict) = (explanation.survivors.len(), &explanation.verdict);
    let (which, every) = (named(&verdict.whole), every_figure(explanation));
    let explain = match (survivors, verdict.whole.len()) {
        (1, 1) if verdict.outweighed => {
            format!("it fits {every}, but a cause that the model does not know outweighs it")
        }
        (_, n) if n > 0 && verdict.outweighed => {
            let fit = if n == 1 { "one fits".to_owned() } else { format!("{n} fit") };
            format!("{fit} {every} ({which}), but a cause that the model does not know outweighs all of them")
        }
        (1, 0) => format!("it does not explain {every}"),
        (1, _) => format!("it explains {every}"),
        (_, 0) => format!("none explains {every}"),
        (_, 1) => format!("one explains {every} ({which})"),
        (_, n) if verdict.not_separated.is_empty() => format!("{n} explain {every} ({which})"),
        (_, n) => format!("{n} explain {every} ({which}), and these figures alone do not tell them apart"),
    };
    match survivors {
        0 => format!("none of {looked_at} hypotheses fits what was observed"),
        1 => format!("one of {looked_at} hypotheses is not refuted by what was observed; {explain}"),
        n => format!("{n} of {looked_at} hypotheses are not refuted by what was observed; {explain}"),
    }
}

/// The same in brief: which hypotheses lead together, what remains of what was looked at, and what nothing explains.
pub(crate) fn outcome_in_brief(explanation: &Explanation) -> Vec<String> {
    let (left, verdict) = (explanation.survivors.len(), &explanation.verdict);
    let looked_at = grouped(u64::from(explanation.considered));
    if left == 0 {
        return vec![format!("none of {looked_at} hypotheses fits what was observed")];
    }
    let numbers: Vec<String> = verdict.not_separated.iter().map(|place| (place + 1).to_string()).collect();
    let together = (!numbers.is_empty()).then(|| format!("{} are not separated", numbers.join(" and ")));
    let are = |n: usize, one: &str, several: &str| if n == 1 { one.to_owned() } else { several.to_owned() };
    let (which, every) = (named(&verdict.whole), every_figure(explanation));
    let reported = match verdict.whole.len() {
        0 => {
            let what = never_explained(explanation);
            let what: Vec<String> = what.into_iter().map(quantity).collect();
            let what = if what.is_empty() { every.to_owned() } else { what.join(" or ") };
            let none = are(left, "it does not explain", "none explains");
            format!("{left} of {looked_at} hypotheses {} not refuted, {none} {what}", are(left, "is", "are"))
        }
        n if verdict.outweighed => {
            let (fit, these) = (are(n, "fits", "fit"), are(n, "it", "them"));
            format!("{n} of {looked_at} hypotheses {fit} {every} ({which}), but an unknown cause outweighs {these}")
        }
        n => format!("{n} of {looked_at} hypotheses {} {every} ({which})", are(n, "explains", "explain")),
    };
    families(explanation).into_iter().chain(together).chain([reported]).collect()
}

/// A family of causes in words.
fn family(family: CauseFamily) -> &'static str {
    match family {
        CauseFamily::AsDescribed => "the site as described",
        CauseFamily::NodeLink => "the link of a node",
        CauseFamily::Links => "all links",
        CauseFamily::Fabric => "racks and uplinks",
        CauseFamily::NodeProcessors => "processors of a node",
        CauseFamily::Processors => "all processors",
        CauseFamily::Drives => "drives",
        CauseFamily::Clients => "clients",
        CauseFamily::Entry => "how nodes are reached",
        CauseFamily::Layout => "layout",
        CauseFamily::Other => "a value that the site does not state",
    }
}

/// What totals leave of all families of causes, where they tell.
pub(crate) fn families(explanation: &Explanation) -> Option<String> {
    let all = &explanation.families;
    let remaining: Vec<&FamilyStanding> = all.iter().filter(|one| one.remains).collect();
    let none = explanation.none_of_these;
    match remaining.as_slice() {
        [] => None,
        [one] => {
            let or_none = if none >= LITTLE {
                format!(", or a cause in none of them ({})", percent(none))
            } else {
                String::new()
            };
            Some(format!("of {} families of causes, only one remains: {}{or_none}", all.len(), family(one.family)))
        }
        several if several.iter().any(|one| one.fits && one.family == CauseFamily::AsDescribed) => {
            let (others, all) = (several.len() - 1, all.len() - 1);
            Some(format!(
                "totals do not rule out that the site is as described, nor {others} of {all} families of causes"
            ))
        }
        several => Some(format!("totals name no cause: {} of {} families remain", several.len(), all.len())),
    }
}

/// Families of less weight than this have none in words.
const LITTLE: f64 = 0.01;

/// Families that remain, with the weight of their hypotheses; those of little weight behind them.
pub(crate) fn remaining(explanation: &Explanation) -> Vec<String> {
    let (shown, little): (Vec<&FamilyStanding>, Vec<&FamilyStanding>) =
        explanation.families.iter().filter(|one| one.remains).partition(|one| one.weight >= LITTLE);
    let mut found: Vec<String> = shown
        .into_iter()
        .map(|one| {
            let left = if one.fits { String::new() } else { format!(" (not {})", quantity(&one.misses)) };
            format!("{}{left} {}", family(one.family), percent(one.weight))
        })
        .collect();
    if !little.is_empty() {
        let names: Vec<&str> = little.into_iter().map(|one| family(one.family)).collect();
        found.push(format!("less than {} each: {}", percent(LITTLE), names.join(", ")));
    }
    found
}

/// Families that do not, with the total that rules each out, and by how many standard errors: `by standard errors:
/// clients (PUT 12)`.
pub(crate) fn ruled_out(explanation: &Explanation) -> Option<String> {
    let others = explanation.families.iter().filter(|one| !one.remains);
    let reported =
        |one: &FamilyStanding| format!("{} ({} {:.0})", family(one.family), quantity(&one.misses), one.misses_sigmas);
    let all: Vec<String> = others.map(reported).collect();
    (!all.is_empty()).then(|| format!("by standard errors: {}", all.join(", ")))
}

/// What the next reading is expected to tell, and in which time: `0.84 bits in about 2 minutes`.
pub(crate) fn reading_tells(reading: &DistinguishingReading) -> String {
    let unit = if reading.minutes == 1.0 { "minute" } else { "minutes" };
    format!("{:.2} bits in about {} {unit}", reading.bits, reading.minutes)
}

/// What is said beside the weight of an unknown cause: how weights read; without a hypothesis, what else it may be.
pub(crate) fn alongside_none(explanation: &Explanation) -> &'static str {
    if explanation.survivors.is_empty() {
        "or the site, a figure or its error is other than given"
    } else {
        "weights are not probabilities"
    }
}

/// Figures of the whole site that no hypothesis explains.
pub(crate) fn never_explained(explanation: &Explanation) -> Vec<&Quantity> {
    explanation.unexplained.iter().map(|residual| &residual.what).filter(|what| of_site(what)).collect()
}

/// What a remedy gives, in brief: each operation that would be faster, and what else must be so.
pub(crate) fn gains(remedy: &Remedy) -> Vec<String> {
    if !remedy.is_known {
        return Vec::new();
    }
    let gain_in_words = |gain: &RemedyGain| {
        let (to, from) = (bytes_per_s_iec(gain.to_bytes_per_s), gain.from_in_words());
        format!("{} up to {to} instead of {from}", quantity(&gain.what))
    };
    let gains = remedy.gains.iter().map(gain_in_words).chain(remedy.condition.clone());
    if remedy.gains.is_empty() { vec![remedy.gives.clone()] } else { gains.collect() }
}

/// Whether a figure fits, in a word.
pub(crate) fn verdict(residual: &Residual) -> &'static str {
    match (residual.explained, residual.above_sigmas) {
        (true, _) => "fits",
        (false, Some(_)) => "above its ceiling",
        (false, None) => "not explained",
    }
}

/// What is predicted of a figure: `153 GiB/s`, `0.48 GiB/s to 4.9 GiB/s`, and by which load where that decides.
pub(crate) fn predicted(residual: &Residual) -> String {
    let in_turn = range(residual.least_bytes_per_s, residual.predicted_bytes_per_s);
    let instead = residual.instead_bytes_per_s.map(|most| range(residual.instead_least_bytes_per_s, most));
    match instead.filter(|instead| *instead != in_turn) {
        Some(instead) => format!("{in_turn} (nodes asked in turn) or {instead} (as many requests at each)"),
        None => in_turn,
    }
}

/// From the least to the most; one figure where both read alike.
pub(crate) fn range(least: Option<f64>, most: f64) -> String {
    let (least, most) = (least.map(bytes_per_s_iec), bytes_per_s_iec(most));
    match least.filter(|least| *least != most) {
        Some(least) => format!("{least} to {most}"),
        None => most,
    }
}

/// What a hypothesis says of one figure: `GET: 153 GiB/s predicted, 152 GiB/s measured, −0.9 %; bottleneck: …`.
pub(crate) fn residual(residual: &Residual) -> String {
    let off = match residual.above_sigmas {
        Some(sigmas) => {
            format!("{} what is predicted, {}", alongside(residual.residual_share), above_ceiling(sigmas))
        }
        None if residual.residual_share == 0.0 && residual.least_bytes_per_s.is_some() => "within that".to_owned(),
        None if residual.residual_share >= FAR_ABOVE => format!("{} that", alongside(residual.residual_share)),
        None => change(residual.residual_share),
    };
    format!(
        "{}: {} predicted, {} measured, {off}; bottleneck: {}",
        quantity(&residual.what),
        predicted(residual),
        bytes_per_s_iec(residual.observed_bytes_per_s),
        residual.bottleneck
    )
}

/// A figure that the site as described misses: `PUT is 27.2 % below what the site as described gives`.
pub(crate) fn missed(residual: &Residual) -> String {
    format!("{} is {} what the site as described gives", quantity(&residual.what), alongside(residual.residual_share))
}

/// A figure that nothing explains, with whose prediction it is held against.
pub(crate) fn unexplained(of: &Residual, survivors: &[Hypothesis]) -> String {
    let whose = if survivors.is_empty() {
        "that is the site as described, since no hypothesis is left"
    } else {
        "that is the nearest of all hypotheses that no figure refutes"
    };
    format!("{}; {whose}", residual(of))
}

#[cfg(test)]
mod tests {
    use linerate_record::explanation::{ExplanationVerdict, LeftOutFigure, Observations};

    use super::*;

    fn test_residual(
        observed: f64,
        least: Option<f64>,
        most: f64,
        above_sigmas: Option<f64>,
        explained: bool,
    ) -> Residual {
        Residual {
            what: Quantity::Put,
            observed_bytes_per_s: observed,
            predicted_bytes_per_s: most,
            least_bytes_per_s: least,
            instead_bytes_per_s: None,
            instead_least_bytes_per_s: None,
            residual_share: observed / observed.clamp(least.unwrap_or(most), most) - 1.0,
            above_sigmas,
            bottleneck: "processors".to_owned(),
            explained,
        }
    }

    fn no_remedy() -> Remedy {
        let (change, gives, risks) = (String::new(), String::new(), String::new());
        Remedy { change, gives, risks, gains: Vec::new(), condition: None, is_known: true }
    }

    #[test]
    fn a_figure_above_its_ceiling_is_said_to_be_and_a_range_is_told_as_one() {
        let mib = f64::from(1 << 20);
        for (reported, expected) in [
            (
                test_residual(106.8 * mib, None, 100.0 * mib, Some(2.3), false),
                "6.8 % above what is predicted, 2.3 standard errors above its ceiling",
            ),
            (
                test_residual(4.0 * mib, Some(0.48 * mib), 4.9 * mib, None, true),
                "492 KiB/s to 4.90 MiB/s predicted, 4.00 MiB/s",
            ),
            (
                test_residual(4.0 * mib, Some(0.48 * mib), 4.9 * mib, None, true),
                "measured, within that; bottleneck: processors",
            ),
            (test_residual(0.24 * mib, Some(0.48 * mib), 4.9 * mib, None, false), "246 KiB/s measured, −50.0 %"),
            (
                test_residual(556.0 * mib, None, 4.0 * mib, None, false),
                "556 MiB/s measured, 139 times that; bottleneck",
            ),
            (
                test_residual(556.0 * mib, None, 4.0 * mib, Some(6900.0), false),
                "139 times what is predicted, 6900.0 standard errors above its ceiling",
            ),
            (
                test_residual(4.0 * mib, None, 5.0 * mib, None, true),
                "PUT: 5.00 MiB/s predicted, 4.00 MiB/s measured, −20.0 %",
            ),
        ] {
            assert!(residual(&reported).contains(expected), "{}", residual(&reported));
        }
    }

    /// Ends that read alike are one figure, and two loads that read alike are one.
    #[test]
    fn what_is_predicted_is_told_once_where_its_ends_read_alike() {
        let mib = f64::from(1 << 20);
        let loads = |instead: f64| Residual {
            instead_bytes_per_s: Some(instead * mib),
            instead_least_bytes_per_s: Some(0.999 * instead * mib),
            ..test_residual(4.0 * mib, None, 5.0 * mib, None, true)
        };
        for (reported, expected) in [
            (test_residual(153.0 * mib, Some(152.9 * mib), 153.1 * mib, None, true), "153 MiB/s"),
            (test_residual(153.0 * mib, Some(152.0 * mib), 153.0 * mib, None, true), "152 MiB/s to 153 MiB/s"),
            (loads(9.0), "5.00 MiB/s (nodes asked in turn) or 8.99 MiB/s to 9.00 MiB/s (as many requests at each)"),
            (Residual { instead_least_bytes_per_s: None, ..loads(5.001) }, "5.00 MiB/s"),
        ] {
            assert_eq!(predicted(&reported), expected);
        }
    }

    #[test]
    fn what_is_left_unexplained_is_in_the_row_of_the_hypothesis() {
        let remedy = no_remedy();
        let mut described = Hypothesis {
            id: "as-described".to_owned(),
            deviations: vec![],
            residuals: vec![test_residual(55.0, None, 100.0, None, false)],
            weight: 1.0,
            indistinguishable: vec![],
            remedy,
        };
        assert_eq!(row(&described), "the site is as described; leaves PUT unexplained, 45.0 % below");
        described.residuals[0].explained = true;
        assert_eq!(row(&described), "the site is as described");
    }

    #[test]
    fn beside_what_outweighs_it_nothing_is_said_to_explain_anything() {
        let described = Hypothesis {
            id: "as-described".to_owned(),
            deviations: vec![],
            residuals: vec![],
            weight: 0.5,
            indistinguishable: vec![],
            remedy: no_remedy(),
        };
        let explained_by = |survivors: usize, whole: Vec<usize>, outweighed: bool| Explanation {
            schema: 1,
            observations: Observations { figures: vec![], error_share: 0.02, nodes_alone: false },
            curve_error_share: None,
            of_run: vec![],
            left_out: vec![],
            of_nodes: vec![],
            node_figures: None,
            described: vec![],
            survivors: vec![described.clone(); survivors],
            kinds: vec![],
            families: vec![],
            none_of_these: 0.5,
            verdict: ExplanationVerdict { outweighed, not_separated: vec![], whole, advised: None },
            unexplained: vec![],
            separator: None,
            considered: 9,
            caveats: vec![],
        };
        assert!(outcome(&explained_by(1, vec![], true)).ends_with("it does not explain every figure"));
        assert!(outcome(&explained_by(2, vec![0, 1], false)).contains("2 explain every figure (number 1 first)"));
        let mut whole = explained_by(1, vec![0], false);
        assert!(outcome(&whole).ends_with("it explains every figure"));
        let put = LeftOutFigure {
            figure: "PUT 4 MiB".to_owned(),
            bytes_per_s: Some(12.0 * 1_048_576.0),
            half_width_share: Some(0.8),
            why: "it is known to no better than ± 80 %".to_owned(),
        };
        assert_eq!(
            crate::phrases::site_and_plan::left_out(&put),
            "PUT 4 MiB, 12.0 MiB/s ± 80 %: it is known to no better than ± 80 %"
        );
        whole.left_out = vec![put];
        assert!(outcome(&whole).ends_with("it explains every figure that is used"));
        assert!(outcome_in_brief(&whole)[0].contains("explains every figure that is used"));
        let family = |family, weight, misses_sigmas| FamilyStanding {
            family,
            remains: misses_sigmas <= 3.0,
            fits: misses_sigmas <= 3.0,
            weight,
            misses_sigmas,
            misses: Quantity::Put,
        };
        use CauseFamily::{AsDescribed, Clients, Drives, Layout};
        whole.families = vec![family(Drives, 0.6, 0.0), family(Layout, 0.001, 2.9), family(Clients, 0.0, 11.6)];
        assert_eq!(families(&whole).unwrap(), "totals name no cause: 2 of 3 families remain");
        assert_eq!(remaining(&whole), ["drives 60 %", "less than 1 % each: layout"]);
        assert_eq!(ruled_out(&whole).unwrap(), "by standard errors: clients (PUT 12)");
        whole.families[1] = family(AsDescribed, 0.3, 1.0);
        let described = "totals do not rule out that the site is as described, nor 1 of 2 families of causes";
        assert_eq!(families(&whole).unwrap(), described);
        whole.families.remove(1);
        assert_eq!(
            families(&whole).unwrap(),
            "of 2 families of causes, only one remains: drives, or a cause in none of them (50 %)"
        );
        whole.families.remove(0);
        assert_eq!(families(&whole), None);
        for survivors in [1, 2] {
            let explanation = explained_by(survivors, (0..survivors).collect(), true);
            for reported in [outcome(&explanation), outcome_in_brief(&explanation).join("; ")] {
                assert!(reported.contains("outweighs") && !reported.contains("explain"), "{reported}");
            }
        }
    }

    #[test]
    fn a_row_names_the_figures_of_nodes_that_are_missed_the_furthest_first() {
        let node = |name: &str, observed: f64, explained: bool| Residual {
            what: Quantity::NodeGet { node: name.to_owned() },
            ..test_residual(observed, None, 100.0, None, explained)
        };
        let mut described = Hypothesis {
            id: "as-described".to_owned(),
            deviations: vec![],
            residuals: vec![node("n1", 99.0, true), node("n2", 50.0, false), node("n3", 40.0, false)],
            weight: 1.0,
            indistinguishable: vec![],
            remedy: no_remedy(),
        };
        assert_eq!(lacks(&described), "leaves GET of n3 (60.0 % below) and 1 more figure of a single node unexplained");
        described.residuals.extend(["n4", "n5", "n6"].map(|name| node(name, 60.0, false)));
        assert!(lacks(&described).ends_with("GET of n3 (60.0 % below) and 4 more figures of single nodes unexplained"));
    }
}
