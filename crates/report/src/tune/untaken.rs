//! Why a setting that is not as a profile wants it is left alone.

use linerate_record::knob::SettingPlace;

/// Why a value that a profile wants is not planned.
#[derive(Clone, Copy, Debug)]
pub enum Untaken<'u> {
    /// The kernel has the setting and ignores it, since this version where it is known.
    Ignored(Option<(u32, u32)>),
    /// It would zero a setting that is set by hand.
    Zeroes(&'u SettingPlace),
    /// It is refused, with the reason.
    Refused(&'u str),
}

/// What a setting is, what is wanted of it, and why it is left alone.
#[must_use]
pub fn untaken(present: &str, wanted: &str, why: Untaken<'_>) -> String {
    let why = match why {
        Untaken::Ignored(None) => "the kernel ignores it".to_owned(),
        Untaken::Ignored(Some((major, minor))) => format!("the kernel ignores it since Linux {major}.{minor}"),
        Untaken::Zeroes(kept) => format!("it would zero {kept}, which is set by hand"),
        Untaken::Refused(reason) => reason.to_owned(),
    };
    format!("{present:?}, {wanted:?} wanted: {why}")
}

#[cfg(test)]
mod tests {
    use linerate_record::knob::Space;

    use super::*;

    #[test]
    fn what_is_left_alone_says_what_it_is_and_why() {
        let kept = SettingPlace { knob: "vm.dirty_bytes".to_owned(), device: None, space: Space::Host };
        for (why, expected) in [
            (Untaken::Ignored(None), "\"1\", \"2\" wanted: the kernel ignores it"),
            (Untaken::Ignored(Some((5, 13))), "\"1\", \"2\" wanted: the kernel ignores it since Linux 5.13"),
            (Untaken::Zeroes(&kept), "\"1\", \"2\" wanted: it would zero vm.dirty_bytes, which is set by hand"),
            (Untaken::Refused("it belongs to the CNI"), "\"1\", \"2\" wanted: it belongs to the CNI"),
        ] {
            assert_eq!(untaken("1", "2", why), expected);
        }
    }
}
