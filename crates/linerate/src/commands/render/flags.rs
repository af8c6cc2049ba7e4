//! Flags of `linerate render`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};
use linerate_render::entry_variant::EntryVariant;
use linerate_site::is_machine;

use crate::remote::kube_cluster::ClusterFlags;

const RENDER_HELP: &str = "\
The same site gives the same bytes, and each value has its reason above it. A file that was changed since it was written
is named and not overwritten; a folder with other files is refused. Nothing is sent over the network, but with --diff:
what would be written is held against a running cluster by dry runs, which change nothing. That needs the rights to list
and to patch its resources.

Examples:
  linerate render site.yaml -o gitops
  linerate render site.yaml -o gitops --variant client
  linerate render site.yaml -o gitops --replace node07=node60
  linerate render site.yaml -o gitops --check
  linerate render site.yaml --diff
  linerate render site.yaml --init-secrets credentials.yaml

Exit codes:
  0    written, or with --check: as it would be written
  1    a file cannot be read or written
  2    the site has mistakes or lacks something, files were changed, or the folder has others; nothing is written
  3    with --diff: the cluster was not reached, or does not allow it
  5    with --check: the folder differs; with --diff: the cluster differs
  130  with --diff: interrupted; what was compared is printed";

#[derive(Args, Debug)]
#[command(after_help = RENDER_HELP, group = ArgGroup::new("rendered").args(["output", "diff"]).multiple(true))]
pub(crate) struct RenderFlags {
    /// Site file, which describes the cluster, with `kubernetes`.
    #[arg(value_name = "SITE")]
    pub(crate) site: PathBuf,
    /// Folder to write: made if it is not there.
    #[arg(long, short, value_name = "DIR", required_unless_present_any = ["init_secrets", "diff"])]
    pub(crate) output: Option<PathBuf>,
    /// How requests reach the engine. [default: by the site's entry, or the one with the highest ceilings]
    #[arg(long, value_name = "VARIANT", requires = "rendered")]
    pub(crate) variant: Option<VariantFlag>,
    /// Put a machine in the place of another one, in the same rack; all others stay where they are. Repeatable.
    #[arg(long, value_name = "OLD=NEW", value_parser = replaced, requires = "rendered")]
    pub(crate) replace: Vec<(String, String)>,
    /// Write nothing, and fail if the folder differs from what would be written.
    #[arg(long, conflicts_with_all = ["overwrite", "init_secrets", "diff"], requires = "output")]
    pub(crate) check: bool,
    /// Write nothing; say where a running cluster differs from what would be written, and fail if it does.
    #[arg(long, conflicts_with_all = ["output", "init_secrets"])]
    pub(crate) diff: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
    /// Overwrite files that were changed since they were written.
    #[arg(long, requires = "output", conflicts_with = "diff")]
    pub(crate) overwrite: bool,
    /// Draw the engine's first credentials, and write them as a Secret to a file for its owner alone. It must not
    /// exist, and must not be in the folder.
    #[arg(long, value_name = "FILE")]
    pub(crate) init_secrets: Option<PathBuf>,
}

/// The names of variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum VariantFlag {
    /// Node ports, native routing and BGP among nodes
    A,
    /// Geneve, L2 announcement by one node
    B,
    /// Native routing, addresses of services by BGP
    C,
    /// Native routing, clients balance over node ports
    Client,
}

impl From<VariantFlag> for EntryVariant {
    fn from(flag: VariantFlag) -> EntryVariant {
        match flag {
            VariantFlag::A => EntryVariant::A,
            VariantFlag::B => EntryVariant::B,
            VariantFlag::C => EntryVariant::C,
            VariantFlag::Client => EntryVariant::Client,
        }
    }
}

/// Reads `node07=node60`.
fn replaced(text: &str) -> Result<(String, String), String> {
    let names = text.split_once('=').filter(|(old, new)| is_machine(old) && is_machine(new) && old != new);
    let fix = "write two names of machines, such as node07=node60";
    names.map(|(old, new)| (old.to_owned(), new.to_owned())).ok_or_else(|| format!("invalid {text:?}: {fix}"))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::definition::Cli;

    #[test]
    fn a_machine_takes_the_place_of_another_one() {
        assert_eq!(replaced("node07=node60"), Ok(("node07".to_owned(), "node60".to_owned())));
        for text in ["", "node07", "node07=", "=node60", "a=a", "Node=b", "a=b c", "a=-b", "a=b..c", "a=b.-c"] {
            let error = replaced(text).unwrap_err();
            assert!(error.contains(&format!("{text:?}")) && error.contains("node07=node60"), "{error}");
        }
    }

    #[test]
    fn variants_have_the_names_of_the_model() {
        for flag in VariantFlag::value_variants() {
            let (name, variant) = (flag.to_possible_value().expect("shown"), EntryVariant::from(*flag));
            assert_eq!(name.get_name(), variant.name());
        }
    }

    #[test]
    fn examples_of_the_help_parse() {
        let lines: Vec<&str> = RENDER_HELP.lines().filter_map(|line| line.strip_prefix("  linerate ")).collect();
        for line in &lines {
            let words = ["linerate"].into_iter().chain(line.split_whitespace());
            Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
        assert_eq!(lines.len(), 6);
    }

    /// What the applier's script calls is written as text: nothing but this holds it against the flags.
    #[test]
    fn commands_of_the_applier_parse() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/minio-8-kubernetes.yaml");
        let text = std::fs::read_to_string(path).unwrap().replace("1.37.0\"}", "1.37.0\", site: /etc/site.yaml}");
        let site = linerate_site::read(&text, "site.yaml").unwrap();
        let request = linerate_render::RenderRequest { seed: 1, ..Default::default() };
        let files = linerate_render::render(&site, &request).unwrap().files;
        let manifest = &files.iter().find(|file| file.path == "hosts/applier/applier.yaml").unwrap().text;
        let lines = manifest.lines().map(|line| line.trim().trim_end_matches(" &&"));
        let called: Vec<&str> =
            lines.filter_map(|line| line.strip_prefix("linerate ").or_else(|| line.strip_prefix("unit "))).collect();
        for line in &called {
            let words = ["linerate"].into_iter().chain(line.split(' '));
            Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
        assert_eq!(called.len(), 4, "{called:?}");
        assert!(
            called.iter().filter(|line| line.ends_with("--site /etc/site.yaml --check")).count() == 1,
            "{called:?}"
        );
    }
}
