//! What the running kernel was built with, as far as its files say.

use std::io::Read as _;
use std::sync::OnceLock;

use crate::root::{Root, file_bytes, text};

/// A configuration is some 300 KiB of text.
const CONFIGURATION_BYTES_MAX: u64 = 16 << 20;

/// What is known of a part of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KernelPart {
    /// It is built in, loaded, or a module that the kernel would load.
    There,
    /// It is not there, by what is said.
    Missing(String),
    /// No file says so; which ones would.
    Unknown(String),
}

/// A machine, and what its running kernel was built with. A file is read when it is first asked for, and once: it
/// changes with the kernel.
pub struct KernelBuild<'r> {
    pub(crate) root: &'r Root,
    /// The kernel's release, which names the folder of its modules.
    release: OnceLock<Option<String>>,
    configuration: OnceLock<Option<Configuration>>,
    /// The list of modules on the disk.
    on_disk: OnceLock<Option<String>>,
    /// The list of what could have been modules and is built in.
    built_in: OnceLock<Option<String>>,
}

struct Configuration {
    path: String,
    text: String,
}

impl Configuration {
    /// What a symbol is set to; `None` where it is not set, or unknown to this kernel.
    fn value(&self, symbol: &str) -> Option<&str> {
        self.text.lines().find_map(|line| line.strip_prefix(symbol)?.strip_prefix('='))
    }
}

impl<'r> KernelBuild<'r> {
    /// Of a machine; nothing is read yet.
    #[must_use]
    pub fn new(root: &'r Root) -> Self {
        KernelBuild {
            root,
            release: OnceLock::new(),
            configuration: OnceLock::new(),
            on_disk: OnceLock::new(),
            built_in: OnceLock::new(),
        }
    }

    fn release(&self) -> Option<&str> {
        let read = || {
            let release = text(self.root, "proc/sys/kernel/osrelease", &mut Vec::new()).ok()?.trim().to_owned();
            (!release.is_empty() && !release.contains('/')).then_some(release)
        };
        self.release.get_or_init(read).as_deref()
    }

    /// The running kernel's configuration: its own, or else the one that was installed with it.
    fn configuration(&self) -> Option<&Configuration> {
        let read = || {
            let packed = "proc/config.gz";
            if let Some(text) = file_bytes(self.root, packed).ok().and_then(|bytes| unpacked(&bytes)) {
                return Some(Configuration { path: packed.to_owned(), text });
            }
            let path = format!("boot/config-{}", self.release()?);
            let text = text(self.root, &path, &mut Vec::new()).ok()?.into_owned();
            Some(Configuration { path, text })
        };
        self.configuration.get_or_init(read).as_ref()
    }

    /// A list of the running kernel's modules.
    fn list(&self, name: &str) -> Option<String> {
        let path = format!("lib/modules/{}/{name}", self.release()?);
        Some(text(self.root, &path, &mut Vec::new()).ok()?.into_owned())
    }

    /// Whether a module is on the disk; `None` where that list cannot be read.
    fn is_on_disk(&self, module: &str) -> Option<bool> {
        Some(is_listed(self.on_disk.get_or_init(|| self.list("modules.dep")).as_deref()?, module))
    }

    /// Whether a module is built in; `None` where that list cannot be read.
    fn is_built_in(&self, module: &str) -> Option<bool> {
        Some(is_listed(self.built_in.get_or_init(|| self.list("modules.builtin")).as_deref()?, module))
    }

    /// What a symbol of the kernel's configuration is set to; `None` where it is not set, or nothing says so.
    pub(super) fn value(&self, symbol: &str) -> Option<&str> {
        self.configuration()?.value(symbol)
    }

    /// Whether a module of the running kernel is on its disk.
    pub(super) fn has_module(&self, module: &str) -> bool {
        self.is_on_disk(module) == Some(true)
    }

    /// Whether the kernel has a part, by the symbol that builds it and by its module.
    pub(super) fn part(&self, symbol: &str, module: &str) -> KernelPart {
        let (on_disk, built_in) = (self.is_on_disk(module), self.is_built_in(module));
        // A module can be loaded at any time.
        let is_loaded = self.root.0.join(format!("sys/module/{module}")).exists();
        if is_loaded || on_disk == Some(true) || built_in == Some(true) {
            return KernelPart::There;
        }
        let configuration = self.configuration();
        let value = configuration.map(|of| of.value(symbol));
        match (configuration, value, on_disk) {
            (_, Some(Some("y")), _) => KernelPart::There,
            (Some(of), Some(None), _) => KernelPart::Missing(format!("{symbol} is not set in /{}", of.path)),
            (_, Some(Some(_)), Some(false)) => {
                KernelPart::Missing(format!("it is a module, {module}, which is not among those on the disk"))
            }
            (_, Some(Some(_)), None) => {
                KernelPart::Unknown(format!("it is a module, {module}, and no modules.dep is readable"))
            }
            (_, None, Some(false)) if built_in == Some(false) => {
                KernelPart::Missing(format!("{module} is neither built in nor a module on the disk"))
            }
            _ => KernelPart::Unknown("neither its configuration nor its lists of modules are readable".to_owned()),
        }
    }
}

/// The text of a packed configuration; none where it is no text, or longer than any: half of one would say that its
/// rest is not set.
fn unpacked(bytes: &[u8]) -> Option<String> {
    let mut text = String::new();
    let mut unpacking = flate2::read::MultiGzDecoder::new(bytes).take(CONFIGURATION_BYTES_MAX + 1);
    let length = unpacking.read_to_string(&mut text).ok()?;
    (length as u64 <= CONFIGURATION_BYTES_MAX).then_some(text)
}

/// Whether a list of modules has one.
fn is_listed(list: &str, module: &str) -> bool {
    // `kernel/net/ipv4/tcp_bbr.ko.xz: …`
    let is_it = |path: &str| path.rsplit('/').next().is_some_and(|file| file.split('.').next() == Some(module));
    list.lines().any(|line| line.split(':').next().is_some_and(is_it))
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write as _;
    use std::path::Path;

    use super::*;

    pub(in super::super) fn write(folder: &Path, path: &str, bytes: &[u8]) {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub(in super::super) fn packed(text: &str) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(text.as_bytes()).unwrap();
        packer.finish().unwrap()
    }

    /// What is known of `sch_fq` of a kernel with these files.
    fn known(files: &[(&str, &[u8])]) -> KernelPart {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "proc/sys/kernel/osrelease", b"6.18.0\n");
        files.iter().for_each(|(path, bytes)| write(folder.path(), path, bytes));
        KernelBuild::new(&Root::captured(folder.path())).part("CONFIG_NET_SCH_FQ", "sch_fq")
    }

    #[test]
    fn a_part_of_the_kernel_is_there_missing_or_unknown_by_its_files() {
        const MODULES: &str = "lib/modules/6.18.0/modules.dep";
        const BUILT_IN: &str = "lib/modules/6.18.0/modules.builtin";
        const CODEL: &[u8] = b"kernel/net/sched/sch_fq_codel.ko\n";
        let config = |text: &str| packed(&format!("CONFIG_NET_SCH_FQ_CODEL=y\n{text}\n"));
        let (not_set, module) = (config("# CONFIG_NET_SCH_FQ is not set"), config("CONFIG_NET_SCH_FQ=m"));
        for there in [
            known(&[("proc/config.gz", &config("CONFIG_NET_SCH_FQ=y"))]),
            known(&[("boot/config-6.18.0", b"CONFIG_NET_SCH_FQ=y\n")]),
            known(&[("proc/config.gz", &module), (MODULES, b"kernel/net/sched/sch_fq.ko.xz: a.ko\n")]),
            known(&[(BUILT_IN, b"kernel/net/sched/sch_fq.ko\n")]),
            known(&[("sys/module/sch_fq/refcnt", b"0\n")]),
        ] {
            assert_eq!(there, KernelPart::There);
        }
        for (found, why) in [
            (known(&[("proc/config.gz", &not_set)]), "CONFIG_NET_SCH_FQ is not set in /proc/config.gz"),
            (known(&[("boot/config-6.18.0", b"")]), "CONFIG_NET_SCH_FQ is not set in /boot/config-6.18.0"),
            (known(&[("proc/config.gz", &module), (MODULES, CODEL)]), "not among those on the disk"),
            (known(&[(BUILT_IN, CODEL), (MODULES, CODEL)]), "neither built in nor a module on the disk"),
        ] {
            assert!(matches!(&found, KernelPart::Missing(reported) if reported.contains(why)), "{why}: {found:?}");
        }
        for found in [
            known(&[]),
            known(&[("proc/config.gz", b"no gzip")]),
            known(&[("boot/config-6.17.0", b"")]),
            known(&[("proc/config.gz", &module)]),
            known(&[(MODULES, CODEL)]),
            known(&[(BUILT_IN, CODEL)]),
        ] {
            assert!(matches!(found, KernelPart::Unknown(_)), "{found:?}");
        }
    }

    #[test]
    fn a_configuration_that_is_too_long_is_not_taken_for_its_beginning() {
        let long =
            packed(&("#\n".repeat(usize::try_from(CONFIGURATION_BYTES_MAX).unwrap() / 2) + "CONFIG_NET_SCH_FQ=y\n"));
        let boot: (&str, &[u8]) = ("boot/config-6.18.0", b"CONFIG_NET_SCH_FQ=y\n");
        assert_eq!(known(&[("proc/config.gz", &long), boot]), KernelPart::There);
        let alone = known(&[("proc/config.gz", &long)]);
        assert!(matches!(alone, KernelPart::Unknown(_)), "{alone:?}");
    }

    #[test]
    fn what_the_kernel_was_built_with_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        for (path, bytes) in [
            ("proc/sys/kernel/osrelease", b"6.18.0\n".as_slice()),
            ("proc/config.gz", &packed("CONFIG_HZ=250\n# CONFIG_NET_SCH_FQ is not set\n")),
            ("lib/modules/6.18.0/modules.dep", b"kernel/net/sched/sch_cake.ko:\n"),
            ("lib/modules/6.18.0/modules.builtin", b"kernel/net/sched/sch_fq_codel.ko\n"),
        ] {
            write(folder.path(), path, bytes);
        }
        let root = Root::captured(folder.path());
        let read = |built: &KernelBuild<'_>| {
            let parts = ["fq", "cake", "fq_codel"]
                .map(|name| built.part(&format!("CONFIG_NET_SCH_{}", name.to_uppercase()), &format!("sch_{name}")));
            (parts, built.value("CONFIG_HZ").map(str::to_owned), built.has_module("sch_cake"))
        };
        let (built, late) = (KernelBuild::new(&root), KernelBuild::new(&root));
        let first = read(&built);
        let missing = KernelPart::Missing("CONFIG_NET_SCH_FQ is not set in /proc/config.gz".to_owned());
        assert_eq!(first, ([missing, KernelPart::There, KernelPart::There], Some("250".to_owned()), true));
        // What is read again is not there any more.
        for gone in ["proc", "lib"] {
            std::fs::remove_dir_all(folder.path().join(gone)).unwrap();
        }
        assert_eq!(read(&built), first);
        let ([fq, ..], ticks, cake) = read(&late);
        assert!(matches!(fq, KernelPart::Unknown(_)), "nothing is read before it is asked for: {fq:?}");
        assert_eq!((ticks, cake), (None, false));
    }
}
