//! Why a setting that is not as a profile wants it is left alone.

use linerate_record::knob::SettingId;

/// Why a value that a profile wants is not planned.
#[derive(Clone, Copy, Debug)]
pub enum SkippedSetting<'u> {
    /// The kernel has the setting and ignores it, since this version where it is known.
    Ignored(Option<(u32, u32)>),
    /// It would zero a setting that is set by hand.
    Zeroes(&'u SettingId),
    /// It is refused, with the reason.
    Refused(&'u str),
}

/// What a setting is, what is wanted of it, and why it is left alone.
#[must_use]
pub fn skipped(present: &str, wanted: &str, why: SkippedSetting<'_>) -> String {
    let why = match why {
        SkippedSetting::Ignored(None) => "the kernel ignores it".to_owned(),
        SkippedSetting::Ignored(Some((major, minor))) => format!("the kernel ignores it since Linux {major}.{minor}"),
        SkippedSetting::Zeroes(kept) => format!("it would zero {kept}, which is set by hand"),
        SkippedSetting::Refused(reason) => reason.to_owned(),
    };
    format!("{present:?}, {wanted:?} wanted: {why}")
}

#[cfg(test)]
mod tests {
    use linerate_record::knob::Space;

    use super::*;

    #[test]
    fn what_is_left_alone_says_what_it_is_and_why() {
        let kept = SettingId { knob: "vm.dirty_bytes".to_owned(), device: None, space: Space::Host };
        for (why, expected) in [
            (SkippedSetting::Ignored(None), "\"1\", \"2\" wanted: the kernel ignores it"),
            (SkippedSetting::Ignored(Some((5, 13))), "\"1\", \"2\" wanted: the kernel ignores it since Linux 5.13"),
            (SkippedSetting::Zeroes(&kept), "\"1\", \"2\" wanted: it would zero vm.dirty_bytes, which is set by hand"),
            (SkippedSetting::Refused("it belongs to the CNI"), "\"1\", \"2\" wanted: it belongs to the CNI"),
        ] {
            assert_eq!(skipped("1", "2", why), expected);
        }
    }
}
