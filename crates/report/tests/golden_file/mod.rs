//! Texts held against files that somebody read over.

use std::path::Path;
use std::{env, fs};

/// Holds text against a file of `golden/`; with `LINERATE_GOLDEN=write` it is written anew, to be read over.
pub(crate) fn same_as_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if env::var_os("LINERATE_GOLDEN").is_some_and(|word| word == "write") {
        fs::write(&path, text).expect("golden files can be written");
    }
    let golden = fs::read_to_string(&path).expect("the golden file is there");
    for (i, (now, then)) in text.lines().zip(golden.lines()).enumerate() {
        assert_eq!(now, then, "{name}, line {}", i + 1);
    }
    assert_eq!(text.lines().count(), golden.lines().count(), "{name}");
}
