//! The programs that are put on hosts: this one, and those that `--binary` names for other architectures.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use crate::files::limited_read;
use crate::terminal::failure::Failure;

/// Largest program that is put on another host.
const PROGRAM_BYTES_MAX: u64 = 512 << 20;

/// This program, whatever became of its file meanwhile.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// A program that is run on hosts of one architecture.
#[derive(Debug)]
pub(super) struct Program {
    /// The architecture as `uname -m` calls it.
    pub(super) machine: String,
    pub(super) bytes: Vec<u8>,
    pub(super) sha256: String,
}

/// A file that is the program of an architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BinaryChoice {
    machine: String,
    path: PathBuf,
}

impl fmt::Display for BinaryChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.machine, self.path.display())
    }
}

impl FromStr for BinaryChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<BinaryChoice, String> {
        let is_machine = |machine: &str| {
            let is_part = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
            (1..=32).contains(&machine.len()) && machine.bytes().all(is_part)
        };
        let parts = text.split_once('=').filter(|(machine, path)| is_machine(machine) && !path.is_empty());
        let (machine, path) = parts.ok_or_else(|| {
            "write the architecture as uname -m there calls it, and a file: aarch64=dist/linerate-arm64".to_owned()
        })?;
        Ok(BinaryChoice { machine: machine.to_owned(), path: PathBuf::from(path) })
    }
}

/// The programs of a run, the one of this architecture first.
pub(super) fn programs(binaries: &[BinaryChoice]) -> Result<Vec<Program>, Failure> {
    let own = std::env::consts::ARCH;
    let mut programs = Vec::new();
    if binaries.iter().all(|binary| binary.machine != own) {
        programs.push(read(own, Path::new(THIS_PROGRAM))?);
    }
    for binary in binaries {
        let program = read(&binary.machine, &binary.path)?;
        check_architecture(&program).map_err(|why| {
            let (machine, path) = (&binary.machine, binary.path.display());
            Failure::usage(format!("--binary {machine}={path}: {why}: give {}", how_to_build(machine)))
        })?;
        programs.push(program);
    }
    Ok(programs)
}

/// What gives a program for an architecture.
pub(super) fn how_to_build(machine: &str) -> String {
    match machine {
        "x86_64" => "dist/linerate-amd64 of make dist".to_owned(),
        "aarch64" => "dist/linerate-arm64 of make dist".to_owned(),
        _ => format!("a linerate that was built for {machine}"),
    }
}

fn read(machine: &str, path: &Path) -> Result<Program, Failure> {
    let failed = |source| Failure::File { what: "read", path: path.to_owned(), source };
    let bytes = limited_read::open_without_waiting(path)
        .and_then(|file| limited_read::read_regular(&file, PROGRAM_BYTES_MAX))
        .map_err(failed)?;
    let sha256 = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Program { machine: machine.to_owned(), bytes, sha256 })
}

/// Architectures as `uname -m` calls them, and as the head of a program does: `e_machine` of elf(5).
const ELF_MACHINES: [(&str, u16); 8] = [
    ("x86_64", 62),
    ("aarch64", 183),
    ("i686", 3),
    ("armv7l", 40),
    ("ppc64le", 21),
    ("s390x", 22),
    ("riscv64", 243),
    ("loongarch64", 258),
];

/// Why a program is none of its architecture, as far as that is known.
fn check_architecture(program: &Program) -> Result<(), String> {
    let head = program.bytes.get(..20).filter(|head| head.starts_with(b"\x7fELF"));
    let Some(head) = head else { return Err("it is no program of Linux".to_owned()) };
    // The sixth byte says which of the two comes first.
    let two = [head[18], head[19]];
    let theirs = if head[5] == 2 { u16::from_be_bytes(two) } else { u16::from_le_bytes(two) };
    let wanted = ELF_MACHINES.iter().find(|(name, _)| *name == program.machine);
    let named = ELF_MACHINES.iter().find(|(_, number)| *number == theirs);
    match (wanted, named) {
        (Some((_, number)), _) if *number == theirs => Ok(()),
        (Some(_), Some((name, _))) => Err(format!("it is a program for {name}")),
        (Some(_), None) => Err(format!("it is a program for another architecture, number {theirs} of elf(5)")),
        (None, _) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_is_an_architecture_and_a_file() {
        let read: BinaryChoice = "aarch64=dist/a=b".parse().unwrap();
        assert_eq!((read.machine.as_str(), read.path.to_str()), ("aarch64", Some("dist/a=b")));
        for text in ["", "aarch64", "aarch64=", "=x", "a b=x", "a;b=x", "-=x", "*=x"] {
            let error = text.parse::<BinaryChoice>().expect_err(text);
            assert!(error.contains("aarch64=dist/linerate-arm64"), "{text}: {error}");
        }
    }

    #[test]
    fn a_program_of_another_architecture_is_told_before_it_is_put_anywhere() {
        let check_elf = |machine: &str, number: [u8; 2], order: u8| {
            let mut bytes = b"\x7fELF\x02\x01".to_vec();
            bytes.resize(18, 0);
            bytes[5] = order;
            bytes.extend(number);
            check_architecture(&Program { machine: machine.to_owned(), bytes, sha256: String::new() })
        };
        assert_eq!(check_elf("aarch64", [183, 0], 1), Ok(()));
        assert_eq!(check_elf("s390x", [0, 22], 2), Ok(()));
        assert_eq!(check_elf("mips64", [8, 0], 1), Ok(()), "unknown here, and its kernel knows");
        assert_eq!(check_elf("aarch64", [62, 0], 1), Err("it is a program for x86_64".to_owned()));
        assert!(check_elf("aarch64", [1, 1], 1).unwrap_err().contains("number 257"));
        let text = Program { machine: "aarch64".to_owned(), bytes: b"#!/bin/sh\n".to_vec(), sha256: String::new() };
        assert!(check_architecture(&text).unwrap_err().contains("no program"));
        let own = read(std::env::consts::ARCH, Path::new(THIS_PROGRAM)).unwrap();
        assert_eq!(check_architecture(&own), Ok(()));
    }
}
