//! What can go wrong with a lab.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// What was requested cannot be a lab.
    #[error("{}", .mistakes.join("\n"))]
    Spec { mistakes: Vec<String> },
    #[error("invalid name of a lab {name:?}: write 1 to 12 lower-case letters, digits and -, beginning with a letter")]
    Name { name: String },
    /// There is something with this name already, and it is not known whose.
    #[error("{what} is there already: choose another name of the lab (--name), or remove it if it is of no use")]
    Taken { what: String },
    #[error("there is no lab {name:?}: linerate lab up makes one")]
    NoLab { name: String },
    /// What has the lab's name in the folder of labs was not made by `lab up`.
    #[error("there is no lab {name:?}: {} is not a lab's folder: {what}", .path.display())]
    NotALab { name: String, path: PathBuf, what: String },
    /// Another process works on it.
    #[error("another process works on the lab {name:?}: try again when it has ended")]
    Busy { name: String },
    /// Others may have written what says what is removed.
    #[error("{} can be changed by others than its owner, who is to be this user: it is not believed", .path.display())]
    Untrusted { path: PathBuf },
    #[error("{} is not a description of a lab: {why}", .path.display())]
    Damaged { path: PathBuf, why: String },
    #[error("failed to {what} {}: {source}", .path.display())]
    File { what: &'static str, path: PathBuf, source: io::Error },
    /// A program is missing.
    #[error("{program} is not here: install {package}")]
    Missing { program: String, package: &'static str },
    #[error("{program} failed: {why}")]
    Program { program: String, why: String },
    /// What the machine cannot do.
    #[error("{what} cannot be made on this machine: {why}")]
    Unsupported { what: String, why: String },
    #[error("{} has no loop device: the drive was detached by others", .image.display())]
    NoDevice { image: PathBuf },
    #[error("a lab needs root: it makes network namespaces, mounts and control groups")]
    NotRoot,
    #[error("the engine did not serve within {seconds} s: {why}")]
    NotServing { seconds: u64, why: String },
    #[error("{0}")]
    Fault(String),
    #[error("interrupted")]
    Interrupted,
    /// It failed, and so did the removal of what was made.
    #[error("{why}\nwhat was made is not all removed: {left}\nlinerate lab down --name {name} removes the rest")]
    NotRemoved { why: Box<LabError>, left: Box<LabError>, name: String },
}

impl LabError {
    pub(crate) fn file(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> LabError {
        let path = path.into();
        move |source| LabError::File { what, path, source }
    }
}
