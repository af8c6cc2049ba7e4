//! `/proc/pressure`: how long tasks waited for a resource.

use crate::root::{Parsed, ReadPass, Root, note, text};
use linerate_record::reading::Pressure;
use std::io::ErrorKind;

/// The totals of the three resources, or `None` where the kernel keeps none at all: before 4.20, without
/// `CONFIG_PSI`, or with `psi=0`. That is an absence and no fault, so it is not told.
pub(crate) fn pressure(root: &Root, pass: &mut ReadPass) -> Option<Pressure> {
    let before = pass.unreadable.len();
    let cpu = total_us(root, "proc/pressure/cpu", pass);
    let io = total_us(root, "proc/pressure/io", pass);
    let memory = total_us(root, "proc/pressure/memory", pass);
    if cpu.is_none() && io.is_none() && memory.is_none() {
        return None;
    }
    for (path, total) in [("proc/pressure/cpu", cpu), ("proc/pressure/io", io), ("proc/pressure/memory", memory)] {
        if total.is_none() && !pass.unreadable[before..].iter().any(|reported| reported.path == path) {
            note(pass, path, "missing, though others of its kind are there");
        }
    }
    Some(Pressure {
        cpu_some_us: cpu.unwrap_or_default(),
        io_some_us: io.unwrap_or_default(),
        memory_some_us: memory.unwrap_or_default(),
    })
}

/// The microseconds that one of its files tells; none where the kernel keeps none.
pub(crate) fn total_us(root: &Root, path: &str, pass: &mut ReadPass) -> Option<u64> {
    let (total, fault) = match text(root, path, &mut pass.bytes) {
        Ok(text) => parse_pressure(&text),
        // RHEL 8 and 9 have the files and answer "not supported" until booted with psi=1.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Unsupported) => (None, None),
        Err(error) => (None, Some(error.to_string())),
    };
    if let Some(reason) = fault {
        note(pass, path, reason);
    }
    total
}

/// The microseconds during which at least one task waited.
fn parse_pressure(text: &str) -> Parsed<Option<u64>> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "));
    let total = some.and_then(|some| some.split_whitespace().find_map(|column| column.strip_prefix("total=")));
    match total.map(str::parse) {
        Some(Ok(total)) => (Some(total), None),
        Some(Err(_)) => (None, Some("the total is not a whole number from 0 to 2^64 - 1".to_owned())),
        None => (None, Some("no line \"some ... total=\"".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    const CPU: &str = "some avg10=0.54 avg60=0.26 avg300=1.61 total=63050771\nfull avg10=0.00 total=7\n";

    #[test]
    fn the_total_of_some_is_read() {
        let cases = [
            (CPU, Some(63_050_771), None),
            ("some avg10=0.54 total=5", Some(5), None),
            ("full avg10=0.00 total=7\nsome total=9\n", Some(9), None),
            ("full total=7\n", None, Some("no line \"some ... total=\"")),
            ("some avg10=0.54", None, Some("no line \"some ... total=\"")),
            ("some total=-1", None, Some("the total is not a whole number from 0 to 2^64 - 1")),
            ("", None, Some("no line \"some ... total=\"")),
        ];
        for (text, total, fault) in cases {
            assert_eq!(parse_pressure(text), (total, fault.map(str::to_owned)), "{text:?}");
        }
    }

    #[test]
    fn a_kernel_without_pressure_totals_has_none_and_one_that_misses_some_says_which() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        let mut pass = ReadPass::default();
        assert_eq!(pressure(&root, &mut pass), None);
        assert_eq!(pass.unreadable, []);

        fs::create_dir_all(folder.path().join("proc/pressure")).unwrap();
        fs::write(folder.path().join("proc/pressure/cpu"), CPU).unwrap();
        fs::write(folder.path().join("proc/pressure/io"), "some").unwrap();
        let expected = Pressure { cpu_some_us: 63_050_771, io_some_us: 0, memory_some_us: 0 };
        assert_eq!(pressure(&root, &mut pass), Some(expected));
        let reported: Vec<&str> = pass.unreadable.iter().map(|reported| reported.path.as_str()).collect();
        assert_eq!(reported, ["proc/pressure/io", "proc/pressure/memory"]);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "((some|full)( total=-?[0-9]{0,24}| [a-z]=){0,3}\n){0,3}|(?s).*") {
            parse_pressure(&text);
        }
    }
}
