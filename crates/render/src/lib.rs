//! From a site to the files that deploy it: the control plane and DNS, Cilium, volumes bound to nodes, the engine, and
//! settings of the hosts.
//!
//! Pure: the same site and wishes give the same bytes. Every value has its reason above it; what neither the site
//! states nor the model decides is a fault, and not a guess.

mod api_server_route;
mod argocd;
mod bpf_tables;
mod catalogue;
mod cilium;
mod control_plane;
mod credentials;
mod deployment;
mod dns;
mod engine;
pub mod entry_variant;
mod error;
mod expected_machine;
mod file;
mod hosts;
mod json;
mod kustomization;
mod monitoring;
mod object_names;
mod priority;
pub mod rack_placement;
mod requirements;
mod storage;
mod sysctls;
mod yaml;

use linerate_record::site::Site;

pub use credentials::{FirstCredentials, credentials, metrics_token};
pub use error::{RenderError, RenderProblem};
pub use file::RenderedFile;
pub use object_names::dns_label;

use deployment::{DeployedPool, Deployment, RenderOptions, deployment};
use entry_variant::{EntryVariant, VariantChoice, WeighedVariant, choose, site_with_variant, weighed};

/// What is asked for beside the site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenderRequest {
    /// The variant; absent: that of the site's entry path, or the model's choice.
    pub variant: Option<EntryVariant>,
    /// Machines in the place of others: the old name, and the new one.
    pub replaced: Vec<(String, String)>,
    /// Chance: of how flows are placed, for the ceilings of variants.
    pub seed: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Rendering {
    /// The files, in the order of their paths.
    pub files: Vec<RenderedFile>,
    /// The variant that they are of.
    pub choice: VariantChoice,
    /// What each variant can do.
    pub weighed: Vec<WeighedVariant>,
    /// What each StatefulSet is bound to; nothing where a provisioner makes volumes.
    pub pools: Vec<PlacedPool>,
    /// What the site gives up by a provisioner.
    pub lost: Vec<String>,
}

impl Rendering {
    /// The files of Kubernetes' resources: those that are applied.
    pub fn resources(&self) -> impl Iterator<Item = &RenderedFile> {
        self.files.iter().filter(|file| kustomization::is_resource(&file.path))
    }
}

/// What the ordinals and claims of a StatefulSet are bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedPool {
    /// The StatefulSet.
    pub set: String,
    /// The machine of each ordinal.
    pub machines: Vec<String>,
    /// The folder of each claim of an ordinal.
    pub folders: Vec<String>,
}

impl PlacedPool {
    /// The claims of an ordinal, in the order of their folders.
    #[must_use]
    pub fn claims(&self, ordinal: usize) -> Vec<String> {
        (0..self.folders.len()).map(|drive| deployment::claim(drive, &self.set, ordinal)).collect()
    }
}

/// The files of a site.
///
/// # Errors
/// Where the site has no plan or no placement, lacks what files need, or does not go with what is asked for.
pub fn render(site: &Site, request: &RenderRequest) -> Result<Rendering, RenderError> {
    let weighed = weighed(site, request.seed)?;
    let choice = choose(site, &weighed, request.variant)
        .map_err(|why| RenderError::Requested(format!("--variant does not go with the site: {why}")))?;
    let (stated, site) = (site, site_with_variant(site, choice.variant));
    let origin = format!(
        "Made by linerate render from the site {}.\nChange the site and render again: a changed file is not \
         overwritten.",
        site.name
    );
    let limits = weighed.iter().find(|one| one.variant == choice.variant);
    let wishes = RenderOptions { stated, replaced: &request.replaced, limits, origin: &origin };
    let deployment = deployment(&site, choice.variant, wishes)?;
    let placed = |pool: &DeployedPool<'_>| PlacedPool {
        set: pool.set.clone(),
        machines: pool.machines.clone(),
        folders: pool.mounts.to_vec(),
    };
    let bound = deployment.pools.iter().filter(|pool| pool.provisioner.is_none());
    let pools = bound.map(placed).collect();
    Ok(Rendering { files: files(&deployment), choice, weighed, pools, lost: storage::lost(&deployment) })
}

fn files(deployment: &Deployment<'_>) -> Vec<RenderedFile> {
    let mut files = storage::files(deployment);
    files.extend(engine::files(deployment));
    files.extend(cilium::files(deployment));
    files.extend(dns::files(deployment));
    files.extend(priority::files(deployment));
    files.extend(monitoring::files(deployment));
    files.extend(argocd::files(deployment, &files));
    files.extend(kustomization::files(deployment, &files));
    files.extend(hosts::files(deployment));
    files.extend(control_plane::files(deployment));
    files.sort();
    files
}
