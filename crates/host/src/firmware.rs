//! Which firmware the parts of a machine run, as far as sysfs shows it. No serial number.

use linerate_record::fleet::Firmware;

use crate::root::{Root, names, text};

/// The versions of the BIOS and of NVMe drives; what cannot be read is left out.
#[must_use]
pub fn firmware(root: &Root) -> Vec<Firmware> {
    let words = |paths: [String; 2]| {
        let mut bytes = Vec::new();
        let mut word = |path: &String| text(root, path, &mut bytes).ok().map(|text| text.trim().to_owned());
        let words: Vec<String> = paths.iter().filter_map(&mut word).filter(|word| !word.is_empty()).collect();
        (!words.is_empty()).then(|| words.join(" "))
    };
    let bios = words(["bios_vendor", "bios_version"].map(|file| format!("sys/class/dmi/id/{file}")));
    let bios = bios.map(|version| Firmware { part: "BIOS".to_owned(), version });
    let mut drives = names(root, "sys/class/nvme");
    drives.sort_by_key(|name| (name.len(), name.clone()));
    let drives = drives.into_iter().filter_map(|part| {
        let version = words(["model", "firmware_rev"].map(|file| format!("sys/class/nvme/{part}/{file}")))?;
        Some(Firmware { part, version })
    });
    bios.into_iter().chain(drives).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn firmware_is_told_by_part_and_what_is_missing_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("sys/class/dmi/id/bios_version", "2.4.1\n"),
            ("sys/class/dmi/id/bios_vendor", "Maker\n"),
            ("sys/class/nvme/nvme10/model", "KX\n"),
            ("sys/class/nvme/nvme2/model", "KX                  \n"),
            ("sys/class/nvme/nvme2/firmware_rev", "GDC5602Q\n"),
            ("sys/class/nvme/nvme2/serial", "S1\n"),
            ("sys/class/nvme/nvme3/firmware_rev", " \n"),
        ] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let found = firmware(&Root::captured(folder.path()));
        let reported: Vec<String> = found.iter().map(|one| format!("{}: {}", one.part, one.version)).collect();
        assert_eq!(reported, ["BIOS: Maker 2.4.1", "nvme2: KX GDC5602Q", "nvme10: KX"]);
        assert_eq!(firmware(&Root::captured(folder.path().join("none"))), []);
    }
}
