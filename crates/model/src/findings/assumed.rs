//! Lowest ceilings that rest on values which nobody stated. What is stated of something else has a check of its own.

use linerate_record::finding::Severity;
use linerate_record::plan::{PlanFinding, PlanFindingKind};
use linerate_record::units::bytes_per_s_iec;

use super::{Case, finding, lowest};
use crate::work_names::work_name;

pub(super) fn check(case: &Case, out: &mut Vec<PlanFinding>) {
    for work in case.works {
        let Some(ceiling) = lowest(work) else { continue };
        let assumed: Vec<String> = ceiling
            .inputs
            .iter()
            .filter(|input| input.assumed && input.path.as_deref().is_none_or(|path| case.site.is_assumed(path)))
            .map(|input| format!("{} = {}", input.path.as_deref().unwrap_or(&input.name), input.value))
            .collect();
        if assumed.is_empty() {
            continue;
        }
        let claim = format!(
            "{} at {} for {} rests on assumed values",
            ceiling.resource.in_a_sentence(),
            bytes_per_s_iec(ceiling.limit_bytes_per_s),
            work_name(&work.work)
        );
        out.push(finding(
            PlanFindingKind::RestsOnAssumed,
            Severity::Note,
            claim,
            assumed.join("; "),
            "state them in the site file, from data sheets or from a measurement",
            "the site's list of assumed values",
        ));
    }
}

#[cfg(test)]
mod tests {
    use linerate_record::site::Site;

    use super::super::tests::{findings_after, planned};
    use super::*;

    /// The bottleneck of GET: the public link, by its MTU among other things.
    fn findings_of(assumed: &str) -> Vec<PlanFinding> {
        findings_after(PlanFindingKind::RestsOnAssumed, |site: &mut Site| {
            site.groups[0].nics[0].speed_bits_per_s = 10e9;
            site.assumed.insert(assumed.to_owned(), "not stated".to_owned());
        })
    }

    #[test]
    fn an_assumed_input_of_what_binds_is_named() {
        let mut site = crate::test_site::site();
        site.groups[0].nics[0].speed_bits_per_s = 10e9;
        let path = planned(&site, 1.0).ceilings[0].inputs.iter().find_map(|input| input.path.clone()).unwrap();
        let found = findings_of(&path);
        assert!(found.iter().any(|finding| finding.evidence.contains(&path)), "{path}: {found:?}");
    }

    #[test]
    fn assumed_values_of_what_does_not_bind_are_not_spoken_of() {
        assert!(findings_of("nodes.storage.memory_bandwidth").is_empty());
        assert!(findings_after(PlanFindingKind::RestsOnAssumed, |_| ()).is_empty());
    }
}
