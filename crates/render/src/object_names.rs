//! Names of objects that are made of the site's name, which Kubernetes would not take as it is.

/// Bytes of the number that tells names apart that would be the same.
const NUMBER_BYTES: usize = 9;

/// A label of DNS of the site's name, of `longest` bytes at most: the name itself where it is one, or else what is left
/// of it, with a number that other names do not have.
#[must_use]
pub fn dns_label(name: &str, longest: usize) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let clean: String =
        name.to_ascii_lowercase().chars().map(|c| if is_plain(c) { c } else { '-' }).collect::<String>();
    let clean = clean.trim_matches('-');
    if clean == name && clean.len() <= longest {
        return clean.to_owned();
    }
    let short: String = clean.chars().take(longest.saturating_sub(NUMBER_BYTES)).collect();
    format!("{}-{:08x}", short.trim_end_matches('-'), number(name)).trim_start_matches('-').to_owned()
}

/// A UUID of a name, the same each time: version 8, which is anybody's own (RFC 9562).
pub(crate) fn stable_uuid(name: &str) -> String {
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|part| number(&format!("{part}{name}")));
    let (first, second) = (b >> 16, 0x8000 | (b & 0x0fff));
    let (variant, rest) = (0x8000 | ((c >> 16) & 0x3fff), c & 0xffff);
    format!("{a:08x}-{first:04x}-{second:04x}-{variant:04x}-{rest:04x}{d:08x}")
}

/// FNV-1a, 32 bits.
fn number(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_follows_from_its_name() {
        let (one, other) = (stable_uuid("directpv-minio"), stable_uuid("directpv-minio-pool-2"));
        assert_ne!(one, other);
        for uuid in [one, other] {
            let lengths: Vec<usize> = uuid.split('-').map(str::len).collect();
            assert_eq!(lengths, [8, 4, 4, 4, 12], "{uuid}");
            assert!(&uuid[14..15] == "8" && "89ab".contains(&uuid[19..20]), "{uuid}");
        }
    }

    #[test]
    fn names_are_labels_and_different_ones_stay_different() {
        assert_eq!(dns_label("minio-8", 24), "minio-8");
        let long = "a".repeat(63);
        let all = ["Site", "site", "si.te", "si_te", "-", "s-", &long, &long[1..]];
        let labels: std::collections::BTreeSet<String> = all.iter().map(|name| dns_label(name, 24)).collect();
        assert_eq!(labels.len(), all.len(), "{labels:?}");
        for label in labels {
            assert!((1..=24).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-'), "{label}");
        }
    }
}
