//! Sites as people write them: what is read survives JSON and names no number out of bounds, what is refused is told at
//! its place.

#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_record::site::Site;
use linerate_site as site;

fuzz_target!(|text: &str| {
    match site::read(text, "site.yaml") {
        Ok(site) => {
            assert!((1..=1_000_000).contains(&site.nodes()));
            assert!(!site.planes.public.link.is_empty());
            let links = site.groups.iter().flat_map(|group| &group.nics);
            assert!(links.clone().count() > 0 && links.clone().all(|nic| nic.speed_bits_per_s >= 1e6));
            let json = serde_json::to_string(&site).unwrap_or_default();
            assert!(serde_json::from_str::<Site>(&json).is_ok_and(|again| again.nodes() == site.nodes()));
        }
        Err(error) => {
            let message = error.to_string();
            assert!(error.count() > 0 && message.starts_with("site.yaml:"), "{message}");
        }
    }
});
