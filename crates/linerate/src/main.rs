//! The `linerate` command: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    linerate::main()
}
