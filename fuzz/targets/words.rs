//! Sizes, hosts, rates and durations, as people write them: what is taken is within its bounds, and what it says of
//! itself is taken again.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use linerate_load::hosts::{self, HOSTS_MAX};
use linerate_load::object_id::ObjectId;
use linerate_load::object_size::size_of;
use linerate_record::load::Sizes;
use linerate_record::load::sizes::OBJECT_BYTES_MAX;
use linerate_record::run::Op;
use linerate_record::slo::{LatencyBound, Slo};
use linerate_record::units::{Bytes, Rate, parse_duration};

/// Files are another matter: none is there.
fn no_file(_: &Path, _: u64) -> std::io::Result<String> {
    Err(std::io::ErrorKind::NotFound.into())
}

fuzz_target!(|text: &str| {
    if let Ok(sizes) = text.parse::<Sizes>() {
        let size = size_of(&sizes, 7, ObjectId { set: 1, seq: text.len() as u64 });
        assert!(size <= sizes.max() && sizes.max() <= OBJECT_BYTES_MAX);
        assert!(sizes.each().iter().all(|&size| size <= sizes.max()));
        assert!(sizes.to_string().parse::<Sizes>().is_ok(), "{sizes}");
    }
    if let Ok(named) = hosts::parse(text, false, no_file) {
        let hosts = named.authorities;
        assert!(!hosts.is_empty() && hosts.len() <= HOSTS_MAX);
        let same = |host: &String| {
            // A host called "file" has a port now, and that is a file.
            host.starts_with("file:")
                || hosts::parse(host, false, no_file).is_ok_and(|again| again.authorities == [host.clone()])
        };
        assert!(hosts.iter().all(same), "{hosts:?}");
    }
    if let Ok(rate) = text.parse::<Rate>() {
        assert!(rate.to_string().parse::<Rate>().is_ok(), "{rate}");
    }
    // Beyond, three digits may round up to what no size can be.
    if let Some(bytes) = text.parse::<Bytes>().ok().filter(|bytes| bytes.0 <= 1 << 62) {
        assert!(bytes.to_string().parse::<Bytes>().is_ok(), "{bytes}");
    }
    let _ = parse_duration(text);
    let _ = (text.parse::<Op>(), text.parse::<LatencyBound>(), text.parse::<Slo>());
});
