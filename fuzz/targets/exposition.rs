//! Pages of metrics: whatever an engine serves is samples and lines that cannot be read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_prometheus::exposition::page;

fuzz_target!(|body: &[u8]| {
    let page = page(body, |_| true);
    let lines = body.iter().filter(|byte| **byte == b'\n').count() + 1;
    assert!(page.samples.len() + page.unreadable.map_or(0, |(count, _)| count as usize) <= lines);
    // A label takes at least as many bytes to write as it has.
    let text = page.samples.iter().flat_map(|one| &one.labels).map(|(name, value)| name.len() + value.len());
    assert!(text.sum::<usize>() <= body.len());
});
