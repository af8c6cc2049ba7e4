//! Flags of `linerate explain` that say where readings come from.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use linerate_prometheus::address::PrometheusAddress;
use linerate_prometheus::naming;
use linerate_record::units::parse_duration;

/// All flags of readings, which figures exclude.
pub(super) const READINGS: &[&str] = &[
    "replay",
    "link",
    "prometheus",
    "from",
    "to",
    "step",
    "select",
    "map",
    "bearer_file",
    "user",
    "password_file",
    "header",
    "ca_file",
    "insecure",
    "timeout",
    "record",
    "mask",
];

/// Who is asked, and how: all but the first two. Where --replay excludes --prometheus, clap does not say that others
/// need it.
const ASKED: &[&str] = READINGS.split_at(2).1;

/// Where readings come from.
#[derive(Args, Clone, Debug)]
pub(crate) struct SourceFlags {
    /// Prometheus (or what answers as one) that already scrapes the cluster: what it recorded between --from and --to
    /// is judged against the site. It is only queried; nothing is changed, and no agent runs anywhere.
    #[arg(long, value_name = "URL", value_parser = url, requires = "from")]
    pub(crate) prometheus: Option<PrometheusAddress>,
    /// Begin of the window, which should hold the load: 2026-11-20T09:31:00Z, "2026-11-20 09:31" in local time, seconds
    /// since 1970, now-2h.
    #[arg(long, value_name = "TIME", requires = "prometheus", allow_hyphen_values = true)]
    pub(crate) from: Option<String>,
    /// End of the window. [default: now]
    #[arg(long, value_name = "TIME", requires = "prometheus", allow_hyphen_values = true)]
    pub(crate) to: Option<String>,
    /// Time between two values. [default: a 240th of the window, and no less than between two scrapes]
    #[arg(long, value_name = "TIME", requires = "prometheus", value_parser = step)]
    pub(crate) step: Option<Duration>,
    /// Matchers that select the cluster where Prometheus scrapes several: `cluster="a"`. May be given several times.
    #[arg(long, value_name = "MATCHERS", requires = "prometheus", value_parser = naming::matchers)]
    pub(crate) select: Vec<String>,
    /// A metric or a label that has another name there, since it is relabelled or federated: instance=kubernetes_node.
    /// May be given several times.
    #[arg(long, value_name = "NAME=NEWNAME", requires = "prometheus", value_parser = naming::pair)]
    pub(crate) map: Vec<(String, String)>,
    /// Interface of a plane, where it has another name than the site's link: public=bond0, private=bond1.
    #[arg(long, value_name = "PLANE=INTERFACE", value_parser = link)]
    pub(crate) link: Vec<(String, String)>,
    /// File with a token that --prometheus wants.
    #[arg(long, value_name = "FILE", requires = "prometheus", conflicts_with_all = ["user", "password_file"])]
    pub(crate) bearer_file: Option<PathBuf>,
    /// Name that --prometheus wants, with the password of --password-file.
    #[arg(long, value_name = "NAME", requires_all = ["prometheus", "password_file"])]
    pub(crate) user: Option<String>,
    /// File with the password of --user.
    #[arg(long, value_name = "FILE", requires = "user")]
    pub(crate) password_file: Option<PathBuf>,
    /// Header that --prometheus wants besides: "X-Scope-OrgID: tenant", or @FILE with one a line. May be given several
    /// times.
    #[arg(long, value_name = "HEADER", requires = "prometheus")]
    pub(crate) header: Vec<String>,
    /// Certificates to trust in addition to the system's, for --prometheus: a PEM file.
    #[arg(long, value_name = "FILE", requires = "prometheus", conflicts_with = "insecure")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Accept any certificate of --prometheus.
    #[arg(long, requires = "prometheus")]
    pub(crate) insecure: bool,
    /// How long each answer of --prometheus may take.
    #[arg(long, value_name = "TIME", requires = "prometheus", default_value = "60s", value_parser = patience)]
    pub(crate) timeout: Duration,
    /// File to keep the readings of --prometheus in, for --replay.
    #[arg(long, value_name = "FILE", requires = "prometheus")]
    pub(crate) record: Option<PathBuf>,
    /// With --record: replace names and addresses of machines in the file by others, the same for the same, as capture
    /// does.
    #[arg(long, requires = "record")]
    pub(crate) mask: bool,
    /// Judge the readings of a file that --record wrote, without asking anybody.
    #[arg(long, value_name = "FILE", conflicts_with_all = ASKED)]
    pub(crate) replay: Option<PathBuf>,
}

impl SourceFlags {
    /// Whether readings are judged, and not figures.
    pub(crate) fn is_asked(&self) -> bool {
        self.prometheus.is_some() || self.replay.is_some()
    }
}

fn url(text: &str) -> Result<PrometheusAddress, String> {
    PrometheusAddress::read(text).map_err(|error| error.to_string())
}

fn link(text: &str) -> Result<(String, String), String> {
    let fix = "write public=INTERFACE or private=INTERFACE, such as public=bond0";
    let (plane, interface) = text.split_once('=').ok_or_else(|| format!("no = in {text:?}: {fix}"))?;
    if !["public", "private"].contains(&plane) || interface.is_empty() {
        return Err(format!("{text:?} names no plane and its interface: {fix}"));
    }
    Ok((plane.to_owned(), interface.to_owned()))
}

fn step(text: &str) -> Result<Duration, String> {
    within(text, Duration::from_secs(1), Duration::from_secs(86_400))
}

fn patience(text: &str) -> Result<Duration, String> {
    within(text, Duration::from_secs(1), Duration::from_secs(3_600))
}

fn within(text: &str, least: Duration, most: Duration) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if time < least || time > most {
        return Err(format!("{text:?} is out of range: write {} s to {} s", least.as_secs(), most.as_secs()));
    }
    Ok(time)
}
