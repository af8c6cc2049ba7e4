//! Losses that full links do not explain, in windows of which nothing else is known to hold the site back: bursts that
//! are shorter than what rates are means over fill queues, and show as nothing but what is sent again.

use linerate_record::diagnosis::Diagnosis;
use linerate_record::units::{duration_ns, percent};

use super::readings_grid::Grid;
use super::retransmissions::at_middle;
use super::suspects::LOSSY;

/// A link that is fuller than this as a mean is full at moments whatever comes.
const FULL: f64 = 0.9;

/// What doubt is left by bursts, where there is one: no suspect leads, and segments are sent again at most nodes.
pub(super) fn said(grid: &Grid<'_>, of: &Diagnosis, is_doubted: bool) -> Option<String> {
    let links = of.used.iter().filter(|one| one.resource.is_link());
    let fullest = links.max_by(|a, b| a.most_share.total_cmp(&b.most_share))?;
    let again = at_middle(grid).filter(|again| is_doubted && *again >= LOSSY && fullest.most_share < FULL)?;
    Some(format!(
        "the middle node sends {} of its TCP segments again while no link is fuller than {} as a mean over {}: bursts \
         that are shorter do not show, and may fill queues",
        percent(again),
        percent(fullest.most_share),
        duration_ns(of.window.rate_over_ms as f64 * 1e6)
    ))
}

#[cfg(test)]
mod tests {
    use linerate_record::readings::{ReadMeasure, ReadSeries, Readings};

    use super::super::diagnose;
    use crate::test_site::site;

    const STEPS: usize = 40;

    /// What is answered of sixteen nodes that all use so much of their link and send so much again.
    fn answered(used: f64, again: f64) -> String {
        let mut site = site();
        site.planes.private = None;
        let (step_ms, steps) = (15_000, STEPS as u32);
        let mut readings =
            Readings { step_ms, steps, interval_ms: 15_000, rate_over_ms: 60_000, ..Readings::default() };
        for node in 1..=16 {
            let mut add = |of: ReadMeasure, part: &str, middle: f64| {
                let about = |step: usize| middle * (1.0 + 0.2 * ((step * 7 + node * 13) % 11) as f64 / 11.0);
                let (machine, part) = (format!("storage-{node}"), part.to_owned());
                let values = (0..STEPS).map(|step| Some(about(step))).collect();
                readings.series.push(ReadSeries { of, machine, part, values });
            };
            add(ReadMeasure::LinkSent, "public", used * 25e9);
            add(ReadMeasure::LinkReceived, "public", used * 12e9);
            add(ReadMeasure::Retransmitted, "", again);
        }
        diagnose(&site, &readings, &[]).unwrap().answer
    }

    #[test]
    fn losses_that_no_full_link_explains_are_bursts_that_do_not_show() {
        let said = answered(0.4, 0.02);
        assert!(said.contains("sends 2.") && said.contains("as a mean over 1 min"), "{said}");
        assert!(said.contains("bursts that are shorter do not show"), "{said}");
        for (used, again) in [(0.4, 0.002), (0.85, 0.02)] {
            let said = answered(used, again);
            assert!(!said.contains("bursts"), "{used} {again}: {said}");
        }
    }
}
