//! `linerate plan`: what a site can do.

pub(crate) mod flags;

use std::process::ExitCode;

use linerate_model::plan::{PlanRequest, plan};
use linerate_site as site;

use crate::files::output_format::OutputFormat;
use crate::files::{output_format, site_file};
use crate::terminal::failure::Failure;
use crate::terminal::printing;
use flags::PlanFlags;

pub(crate) fn run(flags: &PlanFlags) -> Result<ExitCode, Failure> {
    let Some(path) = &flags.site else {
        // clap asks for a site unless one of these two is given.
        let text = if flags.schema { schema() } else { site::example().to_owned() };
        printing::print_unmasked(&text)?;
        return Ok(ExitCode::SUCCESS);
    };
    let (site, file) = site_file::read_site_file(path)?;
    let plan_request = PlanRequest {
        object_bytes: flags.obj_size.map(|size| size.0),
        read_share: flags.mix.map(|mix| mix.0),
        nodes: flags.nodes.clone(),
        need: flags.need.clone(),
        tolerates: flags.tolerate,
        seed: site_file::SEED,
    };
    let plan = plan(&site, &plan_request).map_err(|error| site_file::refused(&error, &site, &file))?;
    let rendered = match flags.shown.chosen() {
        OutputFormat::Text => {
            linerate_report::plan::text(&plan, flags.why, printing::text_style_for_file(flags.output.is_some()))
        }
        OutputFormat::Json => linerate_report::plan::json(&plan),
        OutputFormat::Html => linerate_report::plan::html(&plan),
    };
    output_format::write_or_print(&rendered, flags.output.as_deref())
}

/// What is wrong with what the flags name.
pub(crate) fn check(flags: &PlanFlags) -> Result<(), Failure> {
    flags.site.as_deref().map_or(Ok(()), |path| site_file::read_site(path).map(|_| ()))
}

fn schema() -> String {
    format!("{:#}\n", site::schema())
}
