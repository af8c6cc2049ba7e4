//! What each single deviation predicts, whether it fits or not.

use linerate_record::explanation::{Deviation, Observations};
use linerate_record::site::Site;

use super::deviation::HeldNode;
use super::deviations;
use super::forecast::{OperationCeiling, OperationQuery, forecast, world};
use crate::error::ModelError;
use crate::layout::{Geometries, geometries};

/// A deviation, the site under it and what is predicted of it.
#[derive(Clone, Debug)]
pub struct Single {
    /// The deviation; absent for the site as described.
    pub deviation: Option<Deviation>,
    /// Whether its value is one of a free number's, all of which are one cause.
    pub free: bool,
    /// The site under it.
    pub site: Site,
    /// How objects are cut there.
    pub geometries: Geometries,
    /// The group of the nodes that differ, by its place in `site`.
    pub outlier_group: Option<usize>,
    /// The node that differs, or the two that do, where figures name them.
    pub nodes: Vec<String>,
    /// What holds it back that its site does not say.
    pub hold: Option<HeldNode>,
    /// What processors of all nodes do of what the model takes.
    pub cpu_share: f64,
    pub get: Predicted,
    pub put: Predicted,
}

/// What is predicted of one operation, in client bytes per second of the whole site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Predicted {
    /// With the load spread evenly: the slowest node holds all.
    pub even_bytes_per_s: f64,
    /// With each node as fast as it can be.
    pub own_bytes_per_s: f64,
    /// The odd node's own ceiling relative to the others'; 1 without such.
    pub outlier_share: f64,
}

/// The site as described, and every single deviation under which the engine runs.
///
/// # Errors
/// Where the engine does not run on the site as described.
pub fn singles(site: &Site, observations: &Observations) -> Result<Vec<Single>, ModelError> {
    let stated = geometries(site)?;
    let variants = deviations::all(site, observations);
    let single_for = |variant: Option<&super::Variant>| -> Option<Single> {
        let world = world(site, &stated, &variant.into_iter().collect::<Vec<_>>())?;
        let forecast = forecast(&world, OperationQuery::Ceiling, OperationQuery::Ceiling);
        let reported = |ceiling: &OperationCeiling| Predicted {
            even_bytes_per_s: ceiling.even_bytes_per_s,
            own_bytes_per_s: ceiling.own_bytes_per_s,
            outlier_share: ceiling.outlier_share,
        };
        Some(Single {
            deviation: variant.map(super::Variant::recorded),
            free: variant.is_some_and(|variant| variant.free),
            outlier_group: world
                .outlier
                .as_ref()
                .filter(|outlier| !outlier.is_requested_alone)
                .map(|outlier| outlier.group),
            nodes: world.outlier.as_ref().map(|outlier| outlier.nodes.clone()).unwrap_or_default(),
            hold: world.outlier.as_ref().and_then(|outlier| outlier.hold),
            cpu_share: world.cpu_share,
            get: reported(forecast.ceiling_for(true)?),
            put: reported(forecast.ceiling_for(false)?),
            site: world.site,
            geometries: world.geometries,
        })
    };
    Ok(std::iter::once(None).chain(variants.iter().map(Some)).filter_map(single_for).collect())
}
