//! `linerate discover` of a cluster that a lab makes: real MinIO over real drives and links. Its site is what the lab
//! was made of, whoever changes what of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use libtest_mimic::Failed;
use linerate_record::site::{Protection, Site};
use tempfile::tempdir;

use super::lab::{SERVING, TestLab};
use crate::NamedCheck;
use crate::running::{eventually, linerate, shown};

/// What is checked, and what it needs.
pub(crate) const CHECKS: [NamedCheck; 1] = [("discover_describes_a_lab_as_it_was_made", SERVING, describes)];

/// Four nodes of two drives and two planes.
const SITE: &str = "\
name: two
nodes:
  count: 4
  sockets: 1
  cores: 2
  drives: {count: 2, capacity: 400MB, lanes: 0}
  nics:
    - {name: eth0, speed: 200Mb/s}
    - {name: eth1, speed: 400Mb/s}
planes:
  public: {link: eth0, mtu: 1500}
  private: {link: eth1, mtu: 1500}
clients: {count: 1, speed: 200Mb/s}
engine: {product: minio, protection: EC:2}
";

fn discover(fleet: &Path, output: &Path, words: &[&str]) -> Result<Output, Failed> {
    Ok(linerate().args(["discover", "--fleet"]).arg(fleet).arg("-o").arg(output).args(words).output()?)
}

fn read(path: &Path) -> Result<Site, Failed> {
    let text = fs::read_to_string(path)?;
    Ok(linerate_site::read(&text, "discovered").map_err(|error| format!("{error}\n{text}"))?)
}

/// What namespaces, drives and processes of the lab are: whoever only reads leaves them as they were.
fn state(files: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let read = |path: PathBuf| Some((path.clone(), fs::read(&path).ok()?));
    let folder = fs::read_dir(files).into_iter().flatten().flatten();
    folder.map(|entry| entry.path()).filter(|path| path.is_file()).filter_map(read).collect()
}

fn describes() -> Result<(), Failed> {
    let (lab, out) = (TestLab::new("ltfound")?, tempdir()?);
    let stated = out.path().join("two.yaml");
    fs::write(&stated, SITE)?;
    lab.up(&["--site", &stated.display().to_string(), "--scale", "1"])?;
    let (files, found) = (lab.files(), out.path().join("found.yaml"));
    let (fleet, before) = (files.join("fleet.yaml"), state(&files));

    // While a client is connected, both planes show.
    let program = linerate().get_program().to_string_lossy().into_owned();
    let run = out.path().join("run").display().to_string();
    let load = format!(
        "client1 -- {program} bench --host 10.231.1.{{1...4}}:9000 --yes-load --op get --obj.size 1MiB --objects 16 \
         --concurrent 8 --duration 60s --no-ceiling --retries 10 -o {run}"
    );
    let mut load = lab.command("exec").args(load.split(' ')).stdout(Stdio::null()).spawn()?;
    eventually("both planes show", || {
        let _ = fs::remove_file(&found);
        discover(&fleet, &found, &[]).is_ok() && read(&found).is_ok_and(|site| site.planes.private.is_some())
    });
    let site = read(&found)?;

    let [group] = &site.groups[..] else { return Err("several kinds of nodes".into()) };
    assert_eq!((group.count, group.drives.len(), group.drives[0].count), (4, 1, 2));
    assert_eq!((group.drives[0].capacity_bytes, group.drives[0].lanes), (400_000_000, 0));
    let links = (site.planes.public.link.as_str(), site.planes.private.as_ref().map(|plane| plane.link.as_str()));
    assert_eq!(links, ("eth0", Some("eth1")));
    assert_eq!(site.engine.protection, Protection::Sets { set_drives: Some(8), parity: Some(2) });
    assert_eq!((site.engine.tls, site.is_assumed("engine.tls"), site.clients.count), (false, false, 1));
    for path in ["nodes.storage.cores", "planes.public.link", "planes.private.mtu", "engine.protection"] {
        assert!(!site.is_assumed(path), "{path}");
    }
    // A token bucket is no speed of the interface, and that of veth is none of anything.
    assert!(site.is_assumed("nodes.storage.nics.0.speed"));
    assert_eq!(state(&files), before, "it only reads");

    // One node differs: it is named, and the site stays.
    lab.printed("fault", &["node3 mtu=1400"])?;
    let again = discover(&fleet, &out.path().join("again.yaml"), &["--check"])?;
    let text = shown(&again);
    assert!(again.status.code() == Some(5) && text.contains("1400 on node3"), "{text}");
    assert_eq!(read(&out.path().join("again.yaml"))?.planes.public.mtu_bytes, 1500);
    lab.printed("heal", &["node3 mtu"])?;

    // A file that somebody wrote keeps his comments.
    let mine = SITE
        .replace("  cores: 2\n", "  cores: 3  # as ordered\n")
        .replace("mtu: 1500}\n  private", "mtu: 9000}\n  private");
    fs::write(&stated, &mine)?;
    let compared = shown(&discover(&fleet, &stated, &[])?);
    assert!(compared.contains("nodes.cores: 3 in the file, 2 on the nodes"), "{compared}");
    assert_eq!(fs::read_to_string(&stated)?, mine, "it was only compared");
    discover(&fleet, &stated, &["--update"])?;
    let text = fs::read_to_string(&stated)?;
    assert!(text.contains("  cores: 2  # as ordered\n"), "{text}");
    assert_eq!(read(&stated)?.planes.public.mtu_bytes, 1500, "{text}");
    let _ = (load.kill(), load.wait());
    Ok(())
}
