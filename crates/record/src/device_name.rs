//! Names that kernels give to devices, from which more than the device follows.

/// The drive of a path of NVMe: `nvme0n1` of `nvme0c3n1`.
#[must_use]
pub fn nvme_head_of_path(name: &str) -> Option<String> {
    let (subsystem, rest) = name.strip_prefix("nvme")?.split_once('c')?;
    let (controller, space) = rest.split_once('n')?;
    [subsystem, controller, space].into_iter().all(is_number).then(|| format!("nvme{subsystem}n{space}"))
}

/// Whether a block device is a partition of another. Partitions are named after their device: `sda1`, and `nvme0n1p1`
/// where the device's name ends in a digit.
#[must_use]
pub fn is_partition(name: &str, parent: &str) -> bool {
    let Some(rest) = name.strip_prefix(parent) else { return false };
    let number = if parent.ends_with(|last: char| last.is_ascii_digit()) { rest.strip_prefix('p') } else { Some(rest) };
    number.is_some_and(is_number)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_its_drive_and_other_devices_have_none() {
        assert_eq!(nvme_head_of_path("nvme12c3n45").as_deref(), Some("nvme12n45"));
        for name in ["nvme0n1", "nvmecn", "nvme0c1n", "sda", ""] {
            assert_eq!(nvme_head_of_path(name), None, "{name}");
        }
    }

    #[test]
    fn a_partition_is_named_after_its_device() {
        for (name, parent, is_one) in [
            ("sda1", "sda", true),
            ("nvme0n1p12", "nvme0n1", true),
            ("nvme0n11", "nvme0n1", false),
            ("sdaa", "sda", false),
            ("sda", "sda", false),
        ] {
            assert_eq!(is_partition(name, parent), is_one, "{name} {parent}");
        }
    }
}
