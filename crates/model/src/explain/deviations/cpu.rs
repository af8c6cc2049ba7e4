//! Processors do less per second, or more per byte, than the model takes.

use linerate_record::explanation::Observations;
use linerate_record::site::{Engine, Product, Site, key};

use super::{FACTORS, of_factors, percent};
use crate::explain::deviation::{SiteParts, Variant, prior_cost};
use crate::explain::readings::ReadingId;

/// What is encrypted, whether the site says so, where it says it, and how to say otherwise.
type Switch = (&'static str, bool, &'static str, fn(&mut Engine, bool));

pub(super) fn variants(site: &Site, _: &Observations) -> Vec<Variant> {
    let mut found: Vec<Variant> = FACTORS.iter().map(|&factor| slower(site, factor)).collect();
    let engine = &site.engine;
    // As a plan of the corrected site: nodes of these use among themselves what they use with clients.
    let is_one =
        matches!(engine.product, Product::Minio | Product::Rustfs) && site.is_assumed(key::ENGINE_INTERNAL_TLS);
    let with_clients: Switch = if is_one {
        ("TLS with clients and among nodes", engine.tls, key::ENGINE_TLS, |engine, on| {
            (engine.tls, engine.internal_tls) = (on, on);
        })
    } else {
        ("TLS with clients", engine.tls, key::ENGINE_TLS, |engine, on| engine.tls = on)
    };
    let switches: [Switch; 3] = [
        with_clients,
        ("TLS among nodes", engine.internal_tls, key::ENGINE_INTERNAL_TLS, |engine, on| engine.internal_tls = on),
        ("encryption at rest", engine.encryption, key::ENGINE_ENCRYPTION, |engine, on| engine.encryption = on),
    ];
    for (what, on, path, set) in switches {
        let word = if on { "off" } else { "on" };
        let variant = Variant::new(
            "engine-cryptography",
            format!("{what}: {word}"),
            format!("{what} is {word}"),
            4.0,
            SiteParts::CPU,
            move |site| set(&mut site.engine, !on),
        );
        let variant = variant.instead_of(site, vec![(path.to_owned(), on.to_string())]);
        let variant = variant.shown_by(ReadingId::CpuUse);
        found.push(if on {
            variant.corrected(&[(path.to_owned(), "false".to_owned())])
        } else {
            let change = format!("see that {what} is as described, and that processors offer AES to the engine");
            variant.cured_by(change, "unencrypted traffic can be read in transit")
        });
    }
    found
}

fn slower(site: &Site, factor: f64) -> Variant {
    let cost = of_factors(prior_cost(site, 3.5, &["nodes.*.cores"]));
    let claim = format!("processors do {} of what the model assumes", percent(factor));
    let variant =
        Variant::new("cpu", percent(factor), claim, cost, SiteParts::CPU, |_| {}).shown_by(ReadingId::CpuUse).cured_by(
            "give the engine all cores, the performance governor and no limit of its pod",
            "power and heat; neighbours on the node lose their share",
        );
    Variant { free: true, cpu_share: factor, ..variant }
}

/// Cores by a factor, at least one.
pub(super) fn scaled(cores: u32, factor: f64) -> u32 {
    ((f64::from(cores) * factor).round() as u32).max(1)
}
