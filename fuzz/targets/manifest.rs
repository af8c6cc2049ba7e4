//! Manifests through `linerate clean --dry-run`, up to what would be sent: nothing that they say becomes more of a
//! request than it is there, and nothing leads out of a run's own prefix.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use linerate::fuzzing::{Cleaning, clean};

/// Every header of a bucket call, each at most once.
const HEADERS: [&str; 8] = [
    "Host",
    "User-Agent",
    "Content-Length",
    "Authorization",
    "x-amz-content-sha256",
    "x-amz-date",
    "x-amz-security-token",
    "x-amz-checksum-algorithm",
];

fuzz_target!(|run_json: &[u8]| -> Corpus {
    let Some(cleaning) = clean(run_json) else { return Corpus::Reject };
    let plain = |text: &str, others: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c));
    let bucket = &cleaning.bucket;
    // Buckets of a time when names could be longer are still there, and have no host of their own.
    let longest = if cleaning.is_in_host { 63 } else { 255 };
    assert!((3..=longest).contains(&bucket.len()) && plain(bucket, "-._") && !bucket.contains(".."), "{bucket:?}");
    assert!(plain(&cleaning.region, "-._:") && !cleaning.region.is_empty(), "{:?}", cleaning.region);
    // The run's own folder: linerate-ID-SEED/ in the end, and nothing that leads out of it.
    let prefix = cleaning.prefix.strip_suffix('/').expect("it ends in a slash");
    let (before, own) = prefix.rsplit_once("linerate-").expect("it is a run's");
    let (_, seed) = own.rsplit_once('-').expect("it has a seed");
    assert!(seed.len() == 8 && seed.bytes().all(|b| b.is_ascii_hexdigit()), "{prefix:?}");
    assert!(!own.contains('/') && !before.starts_with('/') && !prefix.chars().any(char::is_control), "{prefix:?}");
    assert!(prefix.split('/').all(|part| part != ".." && part != "."), "{prefix:?}");
    cleaning.requests.iter().for_each(|request| sound(request, &cleaning));
    Corpus::Keep
});

/// One head and nothing behind it, of one request line and known headers, for the host and the bucket that are named.
fn sound(request: &[u8], cleaning: &Cleaning) {
    let text = std::str::from_utf8(request).expect("ASCII");
    let head = text.strip_suffix("\r\n\r\n").expect("it ends");
    let mut lines = head.split("\r\n");
    let words: Vec<&str> = lines.next().expect("a line").split(' ').collect();
    assert!(words.len() == 3 && words[2] == "HTTP/1.1", "{words:?}");
    assert!(words[1].bytes().all(|b| b.is_ascii_graphic()), "{words:?}");
    let path = words[1].split('?').next().expect("a path");
    let Cleaning { host, bucket, .. } = cleaning;
    let own = if cleaning.is_in_host { "/".to_owned() } else { format!("/{bucket}") };
    assert!(path == own || path.starts_with(&format!("{}/", own.trim_end_matches('/'))), "{path:?}");
    let bare = host.strip_suffix(":80").unwrap_or(host);
    let expected = if cleaning.is_in_host { format!("{bucket}.{bare}") } else { bare.to_owned() };
    let mut seen = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(": ").expect("a header");
        assert!(HEADERS.contains(&name) && !seen.contains(&name), "{line:?}");
        assert!(value.bytes().all(|b| b == b' ' || b.is_ascii_graphic()), "{line:?}");
        assert!(name != "Host" || value == expected, "{line:?}");
        let scope = format!("/{}/s3/aws4_request, ", cleaning.region);
        assert!(name != "Authorization" || value.contains(&scope), "{line:?}");
        seen.push(name);
    }
}
