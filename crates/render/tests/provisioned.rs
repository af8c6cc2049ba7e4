//! Sites whose volumes a provisioner makes: what is rendered of them, and what is said to be lost.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::storage::v1::StorageClass;
use linerate_render::{RenderError, RenderRequest, RenderedFile, Rendering, render};
use serde_json::Value;

const FOLDERS: &str = "    mounts: /data{1...4}\n    devices: /dev/disk/by-label/data{1...4}\n";

fn text(provisioner: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/minio-8-kubernetes.yaml");
    let text = fs::read_to_string(path).expect("a site");
    assert!(text.contains(FOLDERS) && text.contains("kubernetes:\n"));
    text.replace(FOLDERS, "").replace("kubernetes:\n", &format!("kubernetes:\n  provisioner: {provisioner}\n"))
}

fn rendered(text: &str) -> Result<Rendering, RenderError> {
    let site = linerate_site::read(text, "site.yaml").expect("a site");
    render(&site, &RenderRequest { seed: 1, ..RenderRequest::default() })
}

fn documents(files: &[RenderedFile], below: &str) -> Vec<Value> {
    let yaml = files.iter().filter(|file| file.path.starts_with(below) && file.path.ends_with(".yaml"));
    yaml.flat_map(|file| serde_saphyr::from_multiple::<Value>(&file.text).expect("YAML")).collect()
}

fn typed<T: serde::de::DeserializeOwned>(documents: &[Value], kind: &str) -> Vec<T> {
    let of_kind = documents.iter().filter(|document| document["kind"] == kind);
    of_kind.map(|document| serde_json::from_value(document.clone()).expect("a resource")).collect()
}

/// The class and size of each claim of the only StatefulSet.
fn claims(set: &StatefulSet) -> Vec<(String, String)> {
    let templates = set.spec.as_ref().and_then(|spec| spec.volume_claim_templates.as_ref()).expect("claims");
    let claim = |template: &k8s_openapi::api::core::v1::PersistentVolumeClaim| {
        let spec = template.spec.clone()?;
        Some((spec.storage_class_name?, spec.resources?.requests?.get("storage")?.0.clone()))
    };
    templates.iter().map(|template| claim(template).expect("a class and a size")).collect()
}

#[test]
fn no_volume_is_written_and_each_claim_has_a_class_that_takes_a_drive_for_itself() {
    for (provisioner, name, classes) in [("directpv", "directpv-min-io", 1), ("topolvm", "topolvm.io", 4)] {
        let files = rendered(&text(provisioner)).expect("files").files;
        let storage = documents(&files, "storage/");
        assert!(storage.iter().all(|document| document["kind"] != "PersistentVolume"), "{provisioner}");
        let written: Vec<StorageClass> = typed(&storage, "StorageClass");
        let names: BTreeSet<String> = written.iter().filter_map(|class| class.metadata.name.clone()).collect();
        let parameter = |key: &str| {
            let all = written.iter().filter_map(|class| class.parameters.as_ref()?.get(key).cloned());
            all.collect::<BTreeSet<String>>().len()
        };
        assert!(written.iter().all(|class| class.provisioner == name), "{provisioner}");
        assert!(written.iter().all(|class| class.reclaim_policy.as_deref() == Some("Retain")), "{provisioner}");
        assert_eq!(names.len(), classes, "{provisioner}");
        let own = if provisioner == "topolvm" { "topolvm.io/device-class" } else { "directpv.min.io/volume-claim-id" };
        assert_eq!(parameter(own), classes, "{provisioner}: a drive has one volume");
        let sets: Vec<StatefulSet> = typed(&documents(&files, "engine/"), "StatefulSet");
        let claims = claims(&sets[0]);
        assert!(claims.len() == 4 && claims.iter().all(|(class, _)| names.contains(class)), "{claims:?}");
        let sizes: BTreeSet<&str> = claims.iter().map(|(_, size)| size.as_str()).collect();
        assert_eq!(sizes.len(), 1, "{sizes:?}");
        let alerts = files.iter().find(|file| file.path == "observation/alerts.yaml").expect("alerts");
        assert!(!alerts.text.contains("node_filesystem_size_bytes") && !alerts.text.contains("DrivesNotMounted"));
    }
}

#[test]
fn what_is_lost_is_said_with_the_most_that_a_rack_may_have() {
    let of_racks = |text: &str| {
        let rendering = rendered(text).expect("files");
        let class = rendering.files.iter().find(|file| file.path == "storage/storage-classes.yaml").expect("classes");
        for lost in &rendering.lost {
            let words: Vec<&str> = lost.split(' ').take(6).collect();
            assert!(class.text.contains(&words.join(" ")), "{lost}: {}", class.text);
        }
        rendering.lost
    };
    let lost = of_racks(&text("directpv").replace("  racks: 4\n", "  racks: 3\n"));
    assert_eq!(lost.len(), 3, "{lost:?}");
    assert!(lost[0].contains("over 3 racks") && lost[0].contains("may have 6 of the 16 shards"), "{lost:?}");
    let lost = of_racks(&text("topolvm").replace("  racks: 4\n", ""));
    assert!(lost.len() == 2 && lost.iter().all(|lost| !lost.contains("racks")), "{lost:?}");
    assert!(rendered(&fs::read_to_string(example()).unwrap()).unwrap().lost.is_empty());
}

fn example() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/minio-8-kubernetes.yaml")
}

#[test]
fn a_machine_that_no_volume_is_bound_to_cannot_be_replaced() {
    let site = linerate_site::read(&text("topolvm"), "site.yaml").unwrap();
    let replaced = vec![("node07".to_owned(), "node60".to_owned())];
    match render(&site, &RenderRequest { seed: 1, replaced, ..RenderRequest::default() }) {
        Err(RenderError::Requested(why)) => {
            assert!(why.contains("node07=node60") && why.contains("provisioner"), "{why}")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn folders_are_for_those_who_have_no_provisioner() {
    let with_folders =
        text("directpv").replace("    names: node{01...08}\n", &format!("    names: node{{01...08}}\n{FOLDERS}"));
    let without = fs::read_to_string(example()).unwrap().replace(FOLDERS, "");
    for (text, words) in [
        (with_folders, "folders of drives with a provisioner"),
        (without, "hosts without \"mounts\""),
        (text("longhorn"), "unknown provisioner \"longhorn\""),
    ] {
        let error = linerate_site::read(&text, "site.yaml").expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
    }
}
