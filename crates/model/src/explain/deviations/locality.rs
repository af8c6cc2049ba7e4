//! Shards are read from the serving node where they lie there, or not, other than stated.

use linerate_record::explanation::Observations;
use linerate_record::site::{Product, Site, key};

use crate::explain::deviation::{SiteParts, Variant};
use crate::explain::readings::ReadingId;

pub(super) fn variants(site: &Site, _: &Observations) -> Vec<Variant> {
    // Of the engines that the model knows, RustFS alone can be told; the others' ways are in their sources.
    if site.engine.product != Product::Rustfs {
        return Vec::new();
    }
    let local = !site.engine.local_shards;
    let (value, claim) = if local {
        ("preferred", "reads prefer shards of the serving node")
    } else {
        ("ignored", "reads take shards wherever they lie")
    };
    let stated = vec![(key::ENGINE_LOCAL_SHARDS.to_owned(), site.engine.local_shards.to_string())];
    let variant = Variant::new("local-shards", value, claim, 3.0, SiteParts::LOCALITY, move |site| {
        site.engine.local_shards = local;
    });
    let variant = variant.instead_of(site, stated).shown_by(ReadingId::PlaneBytes);
    vec![if local {
        variant.corrected(&[(key::ENGINE_LOCAL_SHARDS.to_owned(), local.to_string())])
    } else {
        variant.cured_by("let the engine prefer local shards, as the site file has it", "a restart of the engine")
    }]
}
