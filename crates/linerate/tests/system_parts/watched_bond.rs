//! A node with a bond of two members in a virtual machine with Debian's kernel, watched live under load: whether what
//! it sends is on one member or on both is seen by their own counters.

use std::path::Path;
use std::process::{Command, Stdio};

use libtest_mimic::Failed;
use linerate_record::diagnosis::{Cause, Diagnosis};
use tempfile::tempdir;

use super::booted::kernel_and_modules;
use crate::running::{linerate, shown};

/// Emulated, it takes some two minutes.
const SECONDS_MAX: &str = "600";

/// Bonds that hash addresses alone send all to one peer by one member; those that hash ports use both.
pub(crate) fn members_of_a_bond() -> Result<(), Failed> {
    let (kernel, modules) = kernel_and_modules()?;
    let parts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/system_parts");
    let (build, more) = (tempdir()?, tempdir()?);
    std::fs::write(more.path().join("site.yaml"), SITE)?;
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", SECONDS_MAX, "sh"]).arg(parts.join("booted.sh")).arg(kernel);
    command.arg(linerate().get_program()).arg(parts.join("watched_bond.sh"));
    command.args([build.path(), &modules, more.path()]);
    let output = command.stdin(Stdio::null()).output()?;
    let text = shown(&output);
    let said = |policy: &str| -> Result<Diagnosis, Failed> {
        // The console puts what it likes before a line.
        let line = text.lines().find_map(|line| Some(line.split_once(&format!("SAID {policy} "))?.1));
        let line = line.ok_or_else(|| format!("nothing was said of {policy}: {text}"))?;
        serde_json::from_str(line.trim()).map_err(|error| format!("{policy}: {error}: {line}").into())
    };
    let (one, both) = (said("layer2")?, said("layer3+4")?);
    let sent =
        |of: &Diagnosis| of.members.iter().find(|use_of| use_of.is_sent).map(|of| (of.busiest_share, of.on_one_nodes));
    let first = one.suspects.first().filter(|first| first.weight > one.none_of_these);
    if !first.is_some_and(|first| first.cause == Cause::BondMembers && first.part == "bond0") {
        return Err(format!("all on one member, and first is {first:?}; members {:?}", one.members).into());
    }
    if !sent(&one).is_some_and(|(share, nodes)| share > 0.98 && nodes == 1) {
        return Err(format!("{:?}", one.members).into());
    }
    if !sent(&both).is_some_and(|(share, nodes)| share < 0.9 && nodes == 0)
        || both.suspects.iter().any(|suspect| suspect.cause == Cause::BondMembers)
    {
        return Err(format!("on both members: {:?}, {:?}", both.members, both.suspects).into());
    }
    Ok(())
}

/// Members of 40 Mb/s, which an emulated machine fills.
const SITE: &str = "nodes:
  name: node
  count: 1
  sockets: 1
  cores: 1
  memory: 1GiB
  drives: {count: 1, capacity: 1GiB, read: 1GB/s, write: 1GB/s, lanes: 0}
  nics: {name: a, speed: 40Mb/s, ports: 2}
  bonds: {name: bond0, nics: [a], mode: balance-xor, transmit_hash: layer2}
planes:
  public: {link: bond0, mtu: 1500}
clients: {count: 1, speed: 1Gb/s}
entry: client-side
engine: {product: garage, protection: 1x, tls: false, internal_tls: false}
data: {object_size: 1MiB}
";
