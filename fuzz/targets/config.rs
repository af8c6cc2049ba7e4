//! Files of flags, of keys and of aliases: whatever they hold is read or refused.

#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let path = std::env::temp_dir().join(format!("linerate-fuzz-config-{}", std::process::id()));
    if fs::write(&path, file).is_ok() {
        let _ = linerate::fuzzing::config(&path);
        let _ = fs::remove_file(&path);
    }
    if let Ok(text) = std::str::from_utf8(file) {
        assert!(linerate::fuzzing::profile(text) <= text.len());
        let _ = linerate::fuzzing::alias(text);
    }
});
