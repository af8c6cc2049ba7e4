//! `linerate audit`: a machine held against a profile.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use linerate_host::Asked;
use linerate_model::audit::site_of;
use linerate_model::knobs::KNOBS;
use linerate_model::profiles::{self, PROFILES, Profile};
use linerate_record::audit::Audit;
use linerate_record::finding::Severity;
use linerate_record::knob::Knob;

use crate::cli::SiteFormat;
use crate::failure::{Failure, code};
use crate::{capture, plan, report};

const AFTER_HELP: &str = "\
It changes nothing, and needs root only for what root is needed for: the namespaces of other users' processes. What
cannot be read is told. Differences stand by the weight of what they relieve times how sure it is; links and drives
weigh most.

Examples:
  linerate audit
      this machine against s3-storage-node, with a site made from the machine itself
  linerate audit --site site.yaml --profile source-003-full
  linerate audit --pid 4711
      a server of another name, in its own namespaces
  linerate audit --root captures/numa-apart-6.1 --json
  linerate audit --check > audit.txt || echo differs
  linerate audit --format html -o audit.html

Exit codes: 0 whatever is found; with --check, 5 where a setting differs or a finding is a warning or worse.";

#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct AuditFlags {
    /// The profile to hold it against; linerate knobs --profile shows one.
    #[arg(long, value_name = "PROFILE", default_value = "s3-storage-node")]
    profile: String,
    /// File that describes the cluster, as for plan. [default: made from the machine, and what it assumes is told]
    #[arg(long, value_name = "SITE")]
    site: Option<PathBuf>,
    /// A process to take for an S3 server, beside minio, rustfs, radosgw and garage, which are found.
    #[arg(long, value_name = "PID", conflicts_with = "root")]
    pid: Vec<u32>,
    /// A network namespace to look into besides, as `ip netns` calls it.
    #[arg(long, value_name = "NAME", conflicts_with = "root")]
    netns: Option<String>,
    /// A captured machine to read in place of this one: a folder that linerate capture made, whole.
    #[arg(long, value_name = "CAPTURE")]
    root: Option<PathBuf>,
    /// Every difference with its reason and command; the text has the ten that weigh most.
    #[arg(long)]
    all: bool,
    /// End with 5 where a setting differs or a finding is a warning or worse.
    #[arg(long)]
    check: bool,
    /// JSON: the same as --format json.
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Format.
    #[arg(long, short, value_enum, default_value_t = SiteFormat::Text)]
    format: SiteFormat,
    /// File to write. [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(flags: &AuditFlags) -> Result<ExitCode, Failure> {
    let profile = profile_named(&flags.profile)?;
    let site = flags.site.as_deref().map(plan::read_site).transpose()?;
    let root = capture::root(flags.root.as_deref())?;
    let knobs = knobs();
    let asked = Asked { knobs: &knobs, pids: &flags.pid, netns: flags.netns.as_deref() };
    let snapshot = linerate_host::snapshot(&root, &asked);
    let site = site.unwrap_or_else(|| site_of(&snapshot));
    let audit = linerate_model::audit::audit(&snapshot, &site, profile);
    let rendered = match if flags.json { SiteFormat::Json } else { flags.format } {
        SiteFormat::Text => {
            linerate_report::audit::text(&audit, flags.all, report::look_for_file(flags.output.is_some()))
        }
        SiteFormat::Json => linerate_report::audit::json(&audit),
        SiteFormat::Html => linerate_report::audit::html(&audit),
    };
    let done = plan::put_out(&rendered, flags.output.as_deref())?;
    let (missed, from) = (flags.check && is_missed(&audit), flags.profile.as_str());
    let why = || format!("--check: settings differ from profile {from:?}, or a finding is a warning or worse");
    if missed { Err(Failure::Outcome { why: why(), code: code::MISSED }) } else { Ok(done) }
}

/// Every knob of the catalogue, as it is read.
pub(crate) fn knobs() -> Vec<&'static Knob> {
    KNOBS.iter().map(|row| &row.knob).collect()
}

/// The profile of a name.
pub(crate) fn profile_named(name: &str) -> Result<&'static Profile, Failure> {
    profiles::find(name).ok_or_else(|| {
        let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
        Failure::usage(format!("no profile is called {name:?}: there are {}", names.join(", ")))
    })
}

fn is_missed(audit: &Audit) -> bool {
    !audit.differences.is_empty() || audit.findings.iter().any(|finding| finding.severity >= Severity::Warning)
}
