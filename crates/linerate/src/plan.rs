//! `linerate plan`: what a site can do.

use std::path::Path;
use std::process::ExitCode;

use linerate_model::plan::{Asked, plan};
use linerate_record::site::{self, Site};

use crate::cli::{PlanFlags, SiteFormat};
use crate::failure::Failure;
use crate::{bounded, named, printing, report};

/// Largest file read as a site.
const SITE_BYTES_MAX: u64 = 1 << 20;
/// Of how flows are placed: the same site gives the same plan, word for word.
const SEED: u64 = 1;

pub(crate) fn run(flags: &PlanFlags) -> Result<ExitCode, Failure> {
    let Some(path) = &flags.site else {
        // clap asks for a site unless one of these two is given.
        let text = if flags.schema { schema() } else { site::example().to_owned() };
        printing::print_own(&text)?;
        return Ok(ExitCode::SUCCESS);
    };
    let site = read_site(path)?;
    let asked = Asked {
        object_bytes: flags.obj_size.map(|size| size.0),
        read_share: flags.mix.map(|mix| mix.0),
        nodes: flags.nodes.clone(),
        need: flags.need.clone(),
        seed: SEED,
    };
    let plan = plan(&site, &asked).map_err(Failure::usage)?;
    let rendered = match flags.format {
        SiteFormat::Text => {
            linerate_report::plan::text(&plan, flags.why, report::look_for_file(flags.output.is_some()))
        }
        SiteFormat::Json => linerate_report::plan::json(&plan),
        SiteFormat::Html => linerate_report::plan::html(&plan),
    };
    put_out(&rendered, flags.output.as_deref())
}

fn schema() -> String {
    format!("{:#}\n", site::schema())
}

/// Reads the description of a cluster. A mistake in it is bad usage, with the whole message.
pub(crate) fn read_site(path: &Path) -> Result<Site, Failure> {
    let failed = |source| Failure::File { what: "read", path: path.to_owned(), source };
    let text = bounded::text(path, SITE_BYTES_MAX).map_err(failed)?;
    site::read(&text, &path.display().to_string()).map_err(Failure::usage)
}

/// Writes to the file that was named, or prints.
pub(crate) fn put_out(rendered: &str, output: Option<&Path>) -> Result<ExitCode, Failure> {
    match output {
        Some(path) => named::write(path, printing::for_file(rendered).as_bytes(), 0o644)?,
        None => report::print(rendered)?,
    }
    Ok(ExitCode::SUCCESS)
}
