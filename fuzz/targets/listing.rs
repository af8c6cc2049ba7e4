//! Listings of buckets: whatever a target sends is a page or an error.

#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_load::listing;
use linerate_load::xml::error_code;

fuzz_target!(|body: &[u8]| {
    if let Ok(page) = listing::objects(body) {
        // Each entry takes more than its key to write.
        assert!(page.entries.iter().map(|object| object.key.len()).sum::<usize>() <= body.len());
    }
    if let Ok(page) = listing::versions(body) {
        assert!(page.entries.iter().map(|one| one.of.key.len() + one.of.id.len()).sum::<usize>() <= body.len());
    }
    if let Ok(page) = listing::uploads(body) {
        assert!(page.entries.iter().map(|one| one.key.len() + one.id.len()).sum::<usize>() <= body.len());
    }
    if let Some(code) = error_code(body) {
        assert!(code.len() <= 64);
    }
});
