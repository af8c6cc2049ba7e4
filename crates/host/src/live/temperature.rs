//! Drives' heat, by hwmon: `DriveTemperature`.
//!
//! - Tells: the composite temperature of NVMe controllers in degrees Celsius, of each of their drives. From which
//!   temperature on a drive slows itself is its own: hwmon's `temp1_max` is a warning's.
//! - Cannot tell: SATA and SAS drives (the module `drivetemp` asks them between their requests), and whether a drive
//!   has slowed itself.
//! - Needs no privilege; Linux 5.5 with `CONFIG_NVME_HWMON`.
//! - At most each 10 s, beside the looks: each file asks the drive for its health log, and one that does not answer
//!   keeps who reads it for a minute.

use linerate_record::device_name::nvme_head_of_path;
use linerate_record::readings::ReadMeasure;

use super::Reader;
use super::background::BackgroundRead;
use crate::root::{Root, names, text};

pub(super) const LEAST_MS: u64 = 10_000;
const MOST_SENSORS: usize = 256;

/// What is being read.
#[derive(Debug, Default)]
pub(super) struct DriveTemperatures {
    aside: BackgroundRead<Vec<(String, f64)>>,
}

/// Of those drives that were told.
pub(super) fn look(state: &mut DriveTemperatures, drives: &[String], at: &mut Reader<'_>) {
    let found = state.aside.turn(at.root, at.now_ms, LEAST_MS, temperatures);
    for (drive, celsius) in found.into_iter().flatten().filter(|(drive, _)| drives.contains(drive)) {
        at.tell(ReadMeasure::DriveTemperature, &drive, celsius);
    }
}

fn temperatures(root: &Root) -> Vec<(String, f64)> {
    let mut bytes = Vec::new();
    let mut found = Vec::new();
    for sensor in names(root, "sys/class/hwmon").into_iter().take(MOST_SENSORS) {
        let folder = format!("sys/class/hwmon/{sensor}");
        let is_nvme = text(root, &format!("{folder}/name"), &mut bytes).is_ok_and(|name| name.trim() == "nvme");
        let drives = if is_nvme { drives(root, &folder) } else { Vec::new() };
        if drives.is_empty() {
            continue;
        }
        let celsius = text(root, &format!("{folder}/temp1_input"), &mut bytes).ok().and_then(|text| parse(&text));
        found.extend(celsius.into_iter().flat_map(|celsius| drives.iter().map(move |drive| (drive.clone(), celsius))));
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found.dedup_by(|(one, _), (other, _)| one == other);
    found
}

/// Drives of a sensor's controller. The sensor is below the controller, and before Linux 5.17 below its PCI function.
fn drives(root: &Root, folder: &str) -> Vec<String> {
    let device = format!("{folder}/device");
    let below = names(root, &format!("{device}/nvme")).into_iter().map(|name| format!("{device}/nvme/{name}"));
    let controllers = std::iter::once(device.clone()).chain(below);
    controllers.flat_map(|controller| names(root, &controller)).filter_map(|name| drive(&name)).collect()
}

fn drive(name: &str) -> Option<String> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let of_one_path = || {
        let (controller, space) = name.strip_prefix("nvme")?.split_once('n')?;
        (is_number(controller) && is_number(space)).then(|| name.to_owned())
    };
    nvme_head_of_path(name).or_else(of_one_path)
}

/// Thousandths of a degree. The lowest and the highest that a drive can report are not temperatures.
fn parse(text: &str) -> Option<f64> {
    let celsius = text.trim().parse::<i32>().ok().map(|milli| f64::from(milli) / 1e3)?;
    (-60.0..200.0).contains(&celsius).then_some(celsius)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{put, values};
    use super::*;

    #[test]
    fn a_sensor_is_of_the_drives_of_its_controller() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        for (sensor, name, drive, milli) in [
            ("hwmon0", "nvme", "device/nvme0n1", "41850"),
            ("hwmon1", "nvme", "device/nvme1c1n1", "51850"),
            ("hwmon2", "nvme", "device/nvme/nvme2/nvme2n1", "61850"),
            ("hwmon3", "coretemp", "device/nvme3n1", "91850"),
            ("hwmon4", "nvme", "device/nvme4n1", "-273150"),
        ] {
            put(&root, &format!("sys/class/hwmon/{sensor}/name"), &format!("{name}\n"));
            put(&root, &format!("sys/class/hwmon/{sensor}/{drive}/size"), "1\n");
            put(&root, &format!("sys/class/hwmon/{sensor}/temp1_input"), &format!("{milli}\n"));
        }
        let expected = [("nvme0n1", 41.85), ("nvme1n1", 51.85), ("nvme2n1", 61.85)];
        let expected = expected.map(|(drive, celsius)| (drive.to_owned(), celsius));
        assert_eq!(temperatures(&root), expected);
        let drives = ["nvme0n1".to_owned(), "nvme2n1".to_owned(), "sda".to_owned()];
        let mut state = DriveTemperatures::default();
        let mut reading_count = |now_ms| values(&root, now_ms, |at| look(&mut state, &drives, at)).len();
        assert_eq!([reading_count(0), reading_count(1_000), reading_count(10_000)], [2, 0, 2]);
    }
}
