//! `linerate render`: a site as the files that deploy it.

#[cfg(feature = "kube")]
mod diffed;
#[cfg(not(feature = "kube"))]
#[path = "render/no_cluster.rs"]
mod diffed;
mod drawn;
pub(crate) mod flags;
mod folder;
mod load;
mod lock;
mod manifest;
mod replaced;
mod shown;

use std::path::Path;
use std::process::ExitCode;

use linerate_record::site::Site;
use linerate_render::{RenderError, RenderRequest, render};
use linerate_site::SiteFile;

use crate::failure::{Failure, code};
use crate::{printing, sites};
use flags::RenderFlags;
use folder::Folder;
use lock::FolderLock;
use manifest::RenderManifest;

pub(crate) fn run(flags: &RenderFlags) -> Result<ExitCode, Failure> {
    require_meant(flags)?;
    let (site, file) = sites::read_site_file(&flags.site)?;
    let request =
        RenderRequest { variant: flags.variant.map(Into::into), replaced: flags.replace.clone(), seed: sites::SEED };
    let rendering = || render(&site, &request).map_err(|error| refused(error, &site, &file));
    if flags.diff {
        return diffed::diffed(&rendering()?, &flags.cluster);
    }
    let Some(output) = &flags.output else {
        require_free(flags)?;
        return drawn_to(flags, &site, &file);
    };
    let mut rendering = rendering()?;
    rendering.files.extend(load::files(&site, &file, &request.replaced)?);
    rendering.files.sort();
    let manifest = RenderManifest::of(&rendering, &request, file.text());
    if flags.check {
        return checked(&Folder::read(output)?, output, &manifest);
    }
    require_free(flags)?;
    let _lock = FolderLock::take(output)?;
    let folder = Folder::read(output)?;
    folder.require_kept(&site, &request, &rendering, &manifest)?;
    folder.require_own(&manifest, flags.overwrite)?;
    let written = folder.write(&rendering.files, &manifest)?;
    // Last, and whole: what went wrong before leaves no secret behind that would be refused the next time.
    drawn_to(flags, &site, &file)?;
    let namespace = site.kubernetes.as_ref().map_or("", |kubernetes| kubernetes.namespace.as_str());
    let newly = folder.newly_replaced(&request.replaced);
    let to_do = replaced::to_do(&rendering.pools, namespace, &newly, &output.display().to_string());
    printing::print(&format!("{}{to_do}", shown::written(&rendering, output, &written)))?;
    Ok(ExitCode::SUCCESS)
}

/// What is wrong with what the flags name.
pub(crate) fn check(flags: &RenderFlags) -> Result<(), Failure> {
    match (require_meant(flags), sites::read_site(&flags.site)) {
        (Ok(()), Ok(_)) => Ok(()),
        (meant, read) => Err(Failure::all_of([meant.err(), read.err()])),
    }
}

/// A flag of --diff alone is not passed over.
fn require_meant(flags: &RenderFlags) -> Result<(), Failure> {
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
    flags.init_secrets.as_ref().map_or(Ok(()), |path| drawn::require_free(path, flags.output.as_deref()))
}

fn drawn_to(flags: &RenderFlags, site: &Site, file: &SiteFile) -> Result<ExitCode, Failure> {
    if let Some(path) = &flags.init_secrets {
        drawn::write(path, site, file)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn checked(folder: &Folder, output: &Path, next: &RenderManifest) -> Result<ExitCode, Failure> {
    let differing = folder.differing(next);
    if differing.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let why = format!("{} differs from what would be written: {}", output.display(), shown::listed(&differing));
    Err(Failure::Outcome { why, code: code::MISSED })
}

/// Why there are no files, with the line of the key that is at fault.
fn refused(error: RenderError, site: &Site, file: &SiteFile) -> Failure {
    match error {
        RenderError::Site(faults) => {
            let faults = faults.into_iter().map(|fault| (fault.path, fault.what, fault.advice));
            Failure::usage(file.mistakes(faults))
        }
        RenderError::Model(error) => sites::refused(&error, site, file),
        RenderError::Asked(text) => Failure::usage(text),
    }
}
