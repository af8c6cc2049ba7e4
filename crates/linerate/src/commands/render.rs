//! `linerate render`: a site as the files that deploy it.

#[cfg(feature = "kube")]
mod cluster_diff;
#[cfg(not(feature = "kube"))]
#[path = "render/no_cluster.rs"]
mod cluster_diff;
mod first_credentials;
pub(crate) mod flags;
mod folder_lock;
mod load_clients;
mod manifest;
mod output_folder;
mod replaced_machines;
mod summary;

use std::path::Path;
use std::process::ExitCode;

use linerate_record::site::Site;
use linerate_render::{RenderError, RenderRequest, render};
use linerate_site::SiteFile;

use crate::files::site_file;
use crate::terminal::failure::{Failure, code};
use crate::terminal::printing;
use flags::RenderFlags;
use folder_lock::FolderLock;
use manifest::RenderManifest;
use output_folder::Folder;

pub(crate) fn run(flags: &RenderFlags) -> Result<ExitCode, Failure> {
    require_cluster_diff(flags)?;
    let (site, file) = site_file::read_site_file(&flags.site)?;
    let request = RenderRequest {
        variant: flags.variant.map(Into::into),
        replaced: flags.replace.clone(),
        seed: site_file::SEED,
    };
    let rendering = || render(&site, &request).map_err(|error| render_failure(error, &site, &file));
    if flags.diff {
        return cluster_diff::diff_cluster(&rendering()?, &flags.cluster);
    }
    let Some(output) = &flags.output else {
        require_free(flags)?;
        return write_to(flags, &site, &file);
    };
    let mut rendering = rendering()?;
    rendering.files.extend(load_clients::files(&site, &file, &request.replaced)?);
    rendering.files.sort();
    let manifest = RenderManifest::new(&rendering, &request, file.text());
    if flags.check {
        return check_folder(&Folder::read(output)?, output, &manifest);
    }
    require_free(flags)?;
    let _lock = FolderLock::take(output)?;
    let folder = Folder::read(output)?;
    folder.require_kept(&site, &request, &rendering, &manifest)?;
    folder.require_own(&manifest, flags.overwrite)?;
    let written = folder.write(&rendering.files, &manifest)?;
    // Last, and whole: what went wrong before leaves no secret behind that would be refused the next time.
    write_to(flags, &site, &file)?;
    let namespace = site.kubernetes.as_ref().map_or("", |kubernetes| kubernetes.namespace.as_str());
    let newly = folder.newly_replaced_machines(&request.replaced);
    let to_do =
        replaced_machines::remaining_commands(&rendering.pools, namespace, &newly, &output.display().to_string());
    let summary = summary::render_summary(&rendering, output, &written, printing::columns());
    printing::print(&format!("{summary}{to_do}"))?;
    Ok(ExitCode::SUCCESS)
}

/// What is wrong with what the flags name.
pub(crate) fn check(flags: &RenderFlags) -> Result<(), Failure> {
    match (require_cluster_diff(flags), site_file::read_site(&flags.site)) {
        (Ok(()), Ok(_)) => Ok(()),
        (meant, read) => Err(Failure::combine([meant.err(), read.err()])),
    }
}

/// A flag of --diff alone is not passed over.
fn require_cluster_diff(flags: &RenderFlags) -> Result<(), Failure> {
    let given = match (flags.diff, &flags.cluster.context, flags.cluster.yes_exec) {
        (false, Some(context), _) => format!("--context {context}"),
        (false, None, true) => "--yes-exec".to_owned(),
        _ => return Ok(()),
    };
    Err(Failure::usage(format!(
        "{given} belongs to --diff, which alone reaches a cluster: add --diff, or leave it out"
    )))
}

fn require_free(flags: &RenderFlags) -> Result<(), Failure> {
    flags.init_secrets.as_ref().map_or(Ok(()), |path| first_credentials::require_free(path, flags.output.as_deref()))
}

fn write_to(flags: &RenderFlags, site: &Site, file: &SiteFile) -> Result<ExitCode, Failure> {
    if let Some(path) = &flags.init_secrets {
        first_credentials::write(path, site, file)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn check_folder(folder: &Folder, output: &Path, next: &RenderManifest) -> Result<ExitCode, Failure> {
    let differing = folder.differing(next);
    if differing.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let why = format!("{} differs from what would be written: {}", output.display(), summary::path_list(&differing));
    Err(Failure::Outcome { why, code: code::MISSED })
}

/// Why there are no files, with the line of the key that is at fault.
fn render_failure(error: RenderError, site: &Site, file: &SiteFile) -> Failure {
    match error {
        RenderError::Site(faults) => {
            let faults = faults.into_iter().map(|fault| (fault.path, fault.what, fault.advice));
            Failure::usage(file.mistakes(faults))
        }
        RenderError::Model(error) => site_file::refused(&error, site, file),
        RenderError::Requested(text) => Failure::usage(text),
    }
}
