//! Variants of one site: what is particular to each, byte for byte, beside the golden files of the site's own variant.

use std::fs;
use std::path::{Path, PathBuf};

use linerate_render::entry_variant::EntryVariant;
use linerate_render::{RenderRequest, RenderedFile, render};

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn rendered(variant: EntryVariant) -> Vec<RenderedFile> {
    let path = here().join("../../../examples/minio-8-kubernetes.yaml");
    let text = fs::read_to_string(path).expect("a site");
    let site = linerate_site::read(&text, "site.yaml").expect("a site");
    let request = RenderRequest { seed: 1, variant: Some(variant), ..RenderRequest::default() };
    render(&site, &request).expect("files").files
}

/// The files in which these two differ from the site's own: values of Cilium, what it announces, and the services.
const PARTICULAR: [&str; 4] =
    ["cilium/bgp.yaml", "cilium/kustomization.yaml", "cilium/values.yaml", "engine/services.yaml"];

#[test]
fn what_is_particular_to_a_variant_is_rendered_as_before() {
    let own = rendered(EntryVariant::C);
    for (variant, name) in [(EntryVariant::A, "minio-8-a"), (EntryVariant::Client, "minio-8-client")] {
        let files = rendered(variant);
        let differing: Vec<&RenderedFile> = files.iter().filter(|file| !own.contains(file)).collect();
        assert_eq!(differing.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), PARTICULAR, "{name}");
        let is_gone = |file: &&RenderedFile| files.iter().all(|other| other.path != file.path);
        let gone: Vec<&str> = own.iter().filter(is_gone).map(|file| file.path.as_str()).collect();
        assert_eq!(gone, ["cilium/addresses.yaml"], "{name}");
        for RenderedFile { path, text } in differing {
            let golden = here().join("golden").join(name).join(path);
            if std::env::var_os("REGENERATE").is_some() {
                fs::create_dir_all(golden.parent().expect("a folder")).expect("a folder");
                fs::write(&golden, text).expect("a file");
            }
            let expected = fs::read_to_string(golden).unwrap_or_default();
            assert_eq!(*text, expected, "{name}/{path}: REGENERATE=1 writes it anew");
        }
    }
}
