//! `linerate plan`: what a site can do.

pub(crate) mod flags;

use std::process::ExitCode;

use linerate_model::plan::{PlanRequest, plan};
use linerate_site as site;

use crate::failure::Failure;
use crate::output::OutputFormat;
use crate::{output, printing, sites};
use flags::PlanFlags;

pub(crate) fn run(flags: &PlanFlags) -> Result<ExitCode, Failure> {
    let Some(path) = &flags.site else {
        // clap asks for a site unless one of these two is given.
        let text = if flags.schema { schema() } else { site::example().to_owned() };
        printing::print_own(&text)?;
        return Ok(ExitCode::SUCCESS);
    };
    let (site, file) = sites::read_site_file(path)?;
    let asked = PlanRequest {
        object_bytes: flags.obj_size.map(|size| size.0),
        read_share: flags.mix.map(|mix| mix.0),
        nodes: flags.nodes.clone(),
        need: flags.need.clone(),
        tolerates: flags.tolerate,
        seed: sites::SEED,
    };
    let plan = plan(&site, &asked).map_err(|error| sites::refused(&error, &site, &file))?;
    let rendered = match flags.shown.chosen() {
        OutputFormat::Text => {
            linerate_report::plan::text(&plan, flags.why, printing::look_for_file(flags.output.is_some()))
        }
        OutputFormat::Json => linerate_report::plan::json(&plan),
        OutputFormat::Html => linerate_report::plan::html(&plan),
    };
    output::put_out(&rendered, flags.output.as_deref())
}

/// What is wrong with what the flags name.
pub(crate) fn check(flags: &PlanFlags) -> Result<(), Failure> {
    flags.site.as_deref().map_or(Ok(()), |path| sites::read_site(path).map(|_| ()))
}

fn schema() -> String {
    format!("{:#}\n", site::schema())
}
