//! Which queueing disciplines this kernel has.

use super::kernel_build::{KernelBuild, KernelPart};

/// The sysctl of the one that new interfaces get.
pub(super) const NAME: &str = "net.core.default_qdisc";

/// Those that are in every kernel with queueing disciplines (`net/sched/sch_api.c: pktsched_init`).
const ALWAYS: [&str; 4] = ["pfifo_fast", "pfifo", "bfifo", "noqueue"];

/// What is known of a discipline. A module is loaded when it is asked for (`net/sched/sch_api.c: qdisc_set_default`).
fn known(built: &KernelBuild<'_>, name: &str) -> KernelPart {
    if ALWAYS.contains(&name) {
        return KernelPart::There;
    }
    built.part(&format!("CONFIG_NET_SCH_{}", name.to_ascii_uppercase()), &format!("sch_{name}"))
}

/// The disciplines of a list that this kernel has or may have; none where it is not known to lack one. What is set is
/// there.
pub(super) fn offered(built: &KernelBuild<'_>, names: &[&str], now: &str) -> Vec<String> {
    let is_missing = |name: &&str| *name != now && matches!(known(built, name), KernelPart::Missing(_));
    let offered: Vec<String> = names.iter().filter(|name| !is_missing(name)).map(|&name| name.to_owned()).collect();
    if offered.len() == names.len() { Vec::new() } else { offered }
}

/// Refuses a discipline that this kernel does not have.
pub(super) fn require(built: &KernelBuild<'_>, name: &str) -> Result<(), String> {
    match known(built, name) {
        KernelPart::Missing(why) => Err(format!("this kernel has no {name}: {why}")),
        KernelPart::There | KernelPart::Unknown(_) => Ok(()),
    }
}

/// What is said of a discipline of which nothing says whether this kernel has it.
pub(super) fn doubt(built: &KernelBuild<'_>, name: &str) -> Option<String> {
    match known(built, name) {
        KernelPart::Unknown(why) => Some(format!("whether this kernel has {name} is not known: {why}")),
        KernelPart::There | KernelPart::Missing(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernel_build::tests::{packed, write};
    use super::*;
    use crate::root::Root;

    #[test]
    fn a_queueing_discipline_that_the_kernel_lacks_is_refused_and_one_that_may_be_there_is_doubted() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        let names = ["pfifo_fast", "fq", "fq_codel", "cake"];
        assert_eq!(
            (require(&KernelBuild::new(&root), "fq"), offered(&KernelBuild::new(&root), &names, "fq")),
            (Ok(()), Vec::new())
        );
        assert!(
            doubt(&KernelBuild::new(&root), "fq")
                .unwrap()
                .starts_with("whether this kernel has fq is not known: neither")
        );
        assert_eq!(doubt(&KernelBuild::new(&root), "pfifo"), None);

        write(folder.path(), "proc/config.gz", &packed("CONFIG_NET_SCH_FQ_CODEL=y\n# CONFIG_NET_SCH_FQ is not set\n"));
        let why = require(&KernelBuild::new(&root), "fq").unwrap_err();
        assert_eq!(why, "this kernel has no fq: CONFIG_NET_SCH_FQ is not set in /proc/config.gz");
        assert!(require(&KernelBuild::new(&root), "cake").is_err());
        assert_eq!(
            (require(&KernelBuild::new(&root), "fq_codel"), doubt(&KernelBuild::new(&root), "fq_codel")),
            (Ok(()), None)
        );
        assert_eq!(offered(&KernelBuild::new(&root), &names, "fq_codel"), ["pfifo_fast", "fq_codel"]);
        assert_eq!(
            offered(&KernelBuild::new(&root), &names, "fq"),
            ["pfifo_fast", "fq", "fq_codel"],
            "what is set is there"
        );
    }
}
