//! Names that kernels give to devices, from which more than the device follows.

/// The drive of a path of NVMe: `nvme0n1` of `nvme0c3n1`.
#[must_use]
pub fn nvme_head_of_path(name: &str) -> Option<String> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (subsystem, rest) = name.strip_prefix("nvme")?.split_once('c')?;
    let (controller, space) = rest.split_once('n')?;
    [subsystem, controller, space].into_iter().all(is_number).then(|| format!("nvme{subsystem}n{space}"))
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
}
