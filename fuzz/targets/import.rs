//! Records of warp: whatever a file holds is read or refused, in bounded memory.

#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let path = std::env::temp_dir().join(format!("linerate-fuzz-import-{}", std::process::id()));
    if fs::write(&path, file).is_ok() {
        let _ = linerate::fuzzing::import(&path);
        let _ = fs::remove_file(&path);
    }
});
