//! A total and the figures of nodes of one load, taken together: at what figures show odd nodes, these leave the others
//! so much.

use super::forecast::{HypotheticalSite, OperationCeiling, OutlierLoad};
use super::node_figures::{self, OperationFigures, OutlierShare};
use super::score::{ObservedFigures, named_nodes};

/// Density of a total: of its logarithm.
#[derive(Clone, Copy)]
pub(super) struct Density {
    /// Where the ceiling holds it.
    pub(super) at_ceiling: f64,
    /// Where something unknown does.
    pub(super) below: f64,
}

impl Density {
    pub(super) fn ln(self) -> f64 {
        (self.at_ceiling + self.below).max(f64::MIN_POSITIVE).ln()
    }

    /// This with some chance, else another.
    pub(super) fn or(self, chance: f64, other: Density) -> Density {
        let mean = |a: f64, b: f64| chance * a + (1.0 - chance) * b;
        Density { at_ceiling: mean(self.at_ceiling, other.at_ceiling), below: mean(self.below, other.below) }
    }
}

/// Of what is unknown so much leaves all resources less, those of the odd nodes among them; the rest leaves the site
/// less, so that an odd node has room. A judgement.
const LESS_OF_ALL: f64 = 0.2;

/// A normal distribution in five steps of a standard error.
const NORMAL_AT: [(f64, f64); 5] = [(-2.0, 0.0545), (-1.0, 0.2442), (0.0, 0.4026), (1.0, 0.2442), (2.0, 0.0545)];

/// Further apart than so many standard errors is as good as certain.
const MOST_SIGMAS: f64 = 8.0;

/// Halvings after which that number is known to a hundredth.
const HALVINGS: u32 = 11;

/// Log densities of figures of nodes.
pub(super) struct FigureDensity {
    /// While each node goes as fast as it can.
    pub(super) ln_full: f64,
    /// If none is odd.
    pub(super) ln_even: f64,
}

impl FigureDensity {
    pub(super) fn new(outlier: &[OutlierShare], figures: &OperationFigures) -> FigureDensity {
        FigureDensity {
            ln_full: node_figures::ln_density(figures, outlier),
            ln_even: node_figures::ln_density(figures, &[]),
        }
    }

    /// With the total of the same load, and whether the odd nodes account for figures of theirs: where something
    /// unknown holds the total back, they show what is left of them while the others give what they do, `ln_left`.
    pub(super) fn with_total(&self, total: Density, ln_left: f64) -> (f64, bool) {
        let (at, below) = (total.at_ceiling.ln(), total.below.ln());
        let full = ln_sum(at, below + LESS_OF_ALL.ln()) + self.ln_full;
        let left = below + (1.0 - LESS_OF_ALL).ln() + ln_left;
        let accounts = if full > left { self.ln_full > self.ln_even } else { ln_left > self.ln_even };
        (ln_sum(full, left), accounts)
    }
}

/// The logarithm of the sum of two, by their logarithms.
fn ln_sum(a: f64, b: f64) -> f64 {
    let most = a.max(b);
    if most == f64::NEG_INFINITY { most } else { most + ((a - most).exp() + (b - most).exp()).ln() }
}

/// How odd nodes load themselves and the others, and at what figures show them.
pub(super) struct JointLoad<'a> {
    load: &'a OutlierLoad,
    /// What they give of what each of the others does, and the error of that.
    share: f64,
    sigma: f64,
    /// What each of the others gives.
    of_others_bytes_per_s: f64,
}

impl<'a> JointLoad<'a> {
    /// Nothing where a hypothesis names no nodes, or not all of their figures are there.
    pub(super) fn new(
        evidence: &ObservedFigures,
        world: &HypotheticalSite,
        ceiling: &'a OperationCeiling,
        reads: bool,
    ) -> Option<JointLoad<'a>> {
        let figures = evidence.nodes(reads);
        let load = ceiling.outlier_load.as_ref().filter(|_| !figures.alone)?;
        let (share, sigma, of_others_bytes_per_s) = figures.mean_figure(named_nodes(world))?;
        Some(JointLoad { load, share, sigma, of_others_bytes_per_s })
    }

    /// What all give where the share is so many standard errors from what was measured.
    pub(super) fn total_bytes_per_s(&self, sigmas: f64) -> f64 {
        self.load.total_bytes_per_s((self.share + sigmas * self.sigma).clamp(0.0, 1.0))
    }

    /// By how many standard errors the others give more than odd nodes leave them at the share that these show.
    pub(super) fn exceeded_sigmas(&self) -> f64 {
        let (mut low, mut high) = (-MOST_SIGMAS, MOST_SIGMAS);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            *if self.is_exceeded(middle) { &mut low } else { &mut high } = middle;
        }
        low
    }

    fn is_exceeded(&self, sigmas: f64) -> bool {
        let error = sigmas * self.sigma;
        self.of_others_bytes_per_s > (1.0 + error) * self.load.alongside((self.share - error).max(0.0))
    }

    /// The mean density of a total over the error of the share.
    pub(super) fn over_its_error(&self, density: impl Fn(f64) -> Density) -> Density {
        let mut mean = Density { at_ceiling: 0.0, below: 0.0 };
        for (sigmas, weight) in NORMAL_AT {
            let density_at = density(self.total_bytes_per_s(sigmas));
            mean.at_ceiling += weight * density_at.at_ceiling;
            mean.below += weight * density_at.below;
        }
        mean
    }
}

/// What is left of odd nodes while the others give what they were measured at.
pub(super) fn left_of_outlier<'a>(outlier: &[OutlierShare<'a>], joint: &JointLoad) -> Vec<OutlierShare<'a>> {
    let ratio = joint.load.share(joint.of_others_bytes_per_s);
    outlier.iter().map(|outlier| OutlierShare { ratio: ratio.max(outlier.least_ratio), ..*outlier }).collect()
}
