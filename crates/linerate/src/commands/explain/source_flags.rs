//! Flags of `linerate explain` that say where readings come from.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use linerate_prometheus::address::PrometheusAddress;
use linerate_prometheus::metrics_pages::PagesUrl;
use linerate_prometheus::name_map;
use linerate_record::units::parse_duration;

use crate::remote::node_access::flags::ReachFlags;

/// All flags of readings, which figures exclude.
pub(super) const READING_FLAGS: &[&str] = &[
    "replay",
    "link",
    "from",
    "to",
    "live",
    "fleet",
    "for_time",
    "engine_port",
    "no_sockets",
    "yes_exec",
    "become_by",
    "binary",
    "prometheus",
    "engine_metrics",
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

/// Who is asked, and how: all but the first four, which are of what was read as well. Where --replay excludes
/// --prometheus, clap does not say that others need it.
const SOURCE_ONLY_FLAGS: &[&str] = READING_FLAGS.split_at(4).1;

/// A window in which the nodes of a fleet are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LiveWindow<'a> {
    pub(crate) fleet: &'a Path,
    pub(crate) reach: &'a ReachFlags,
    pub(crate) for_time: Duration,
    /// Where readings are kept.
    pub(crate) record: Option<&'a Path>,
    /// Whether names in that file are replaced.
    pub(crate) mask: bool,
}

/// Where readings come from.
#[derive(Args, Clone, Debug)]
pub(crate) struct SourceFlags {
    /// Prometheus, or a server with its query API, that already scrapes the cluster: what it recorded between --from
    /// and --to is judged against the site. It is only queried; nothing is changed, and no agent runs anywhere.
    #[arg(long, value_name = "URL", value_parser = url, requires = "from", groups = ["gathered", "scraped", "dated"])]
    pub(crate) prometheus: Option<PrometheusAddress>,
    /// Start of the window, which should hold the load: 2026-11-20T09:31:00Z, "2026-11-20 09:31" in local time, seconds
    /// since 1970, now-2h. With --replay: the part of what was recorded that is judged, from here on.
    #[arg(long, value_name = "TIME", requires = "dated", allow_hyphen_values = true)]
    pub(crate) from: Option<String>,
    /// End of the window. [default: now, and with --replay the end of what was recorded]
    #[arg(long, value_name = "TIME", requires = "dated", allow_hyphen_values = true)]
    pub(crate) to: Option<String>,
    /// Time between two values. [default: a 240th of the window, but at least the time between two scrapes]
    #[arg(long, value_name = "TIME", requires = "prometheus", value_parser = step)]
    pub(crate) step: Option<Duration>,
    /// Matchers that select the cluster where Prometheus scrapes several: `cluster="a"`. May be given several times.
    #[arg(long, value_name = "MATCHERS", requires = "prometheus", value_parser = name_map::matchers)]
    pub(crate) select: Vec<String>,
    /// A metric or a label that has another name there, since it is relabelled or federated: instance=kubernetes_node.
    /// May be given several times.
    #[arg(long, value_name = "NAME=NEWNAME", requires = "scraped", value_parser = name_map::pair)]
    pub(crate) map: Vec<(String, String)>,
    /// Interface of a plane, where it has another name than the site's link: public=bond0, private=bond1.
    #[arg(long, value_name = "PLANE=INTERFACE", value_parser = link)]
    pub(crate) link: Vec<(String, String)>,
    /// File with a token that --prometheus or --engine-metrics wants.
    #[arg(long, value_name = "FILE", requires = "scraped", conflicts_with_all = ["user", "password_file"])]
    pub(crate) bearer_file: Option<PathBuf>,
    /// Name that --prometheus or --engine-metrics wants, with the password of --password-file.
    #[arg(long, value_name = "NAME", requires_all = ["scraped", "password_file"])]
    pub(crate) user: Option<String>,
    /// File with the password of --user.
    #[arg(long, value_name = "FILE", requires = "user")]
    pub(crate) password_file: Option<PathBuf>,
    /// Header that --prometheus or --engine-metrics wants besides: "X-Scope-OrgID: tenant", or @FILE with one a line.
    /// May be given several times.
    #[arg(long, value_name = "HEADER", requires = "scraped")]
    pub(crate) header: Vec<String>,
    /// Certificates to trust in addition to the system's, for --prometheus or --engine-metrics: a PEM file.
    #[arg(long, value_name = "FILE", requires = "scraped", conflicts_with = "insecure")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Accept any certificate of --prometheus or --engine-metrics.
    #[arg(long, requires = "scraped")]
    pub(crate) insecure: bool,
    /// How long each answer of --prometheus may take. All of them together may take ten times as long; then the reading
    /// ends with an error.
    #[arg(long, value_name = "TIME", requires = "prometheus", default_value = "60s", value_parser = timeout_within)]
    pub(crate) timeout: Duration,
    /// Read the nodes of --fleet now, for as long as --for says, and judge that against the site: links and members of
    /// bonds, processors, drives, memory and the engine's sockets. Agents only read: nothing is written, set or
    /// configured on a node.
    #[arg(long, requires = "fleet", conflicts_with = "prometheus", group = "gathered")]
    pub(crate) live: bool,
    /// Fleet file with the nodes of --live: those of the role storage are the site's, those of the role client load it.
    #[arg(long, value_name = "FLEET", requires = "live")]
    pub(crate) fleet: Option<PathBuf>,
    /// How long --live reads, from 5s to 1h. Read while the load is there.
    #[arg(long = "for", value_name = "TIME", requires = "live", default_value = "60s", value_parser = live_time)]
    pub(crate) for_time: Duration,
    /// Ports of the engine, whose sockets --live looks at: 9000, 6800-7568. May be given several times. [default: those
    /// on which processes of a known engine listen]
    #[arg(long, value_name = "PORTS,…", requires = "live", value_delimiter = ',', value_parser = port_range)]
    pub(crate) engine_port: Vec<(u16, u16)>,
    /// Do not look at sockets.
    #[arg(long, requires = "live", conflicts_with = "engine_port")]
    pub(crate) no_sockets: bool,
    /// Read the engine's own metrics as well, every 5 s: bytes of clients, requests in flight and waiting, errors.
    /// `{name}` stands for each storage node of --fleet: `http://{name}:9000/minio/metrics/v3/api/requests`. They are
    /// read from the machine on which this command runs. May be given several times.
    #[arg(long, value_name = "URL", requires = "live", value_parser = PagesUrl::read, group = "scraped")]
    pub(crate) engine_metrics: Vec<PagesUrl>,
    /// Consent to running the commands in the fleet file.
    #[arg(long, requires = "fleet")]
    pub(crate) yes_exec: bool,
    #[command(flatten)]
    pub(crate) reach: ReachFlags,
    /// File to keep the readings of --prometheus or --live in, for --replay.
    #[arg(long, value_name = "FILE", requires = "gathered")]
    pub(crate) record: Option<PathBuf>,
    /// With --record: replace each name and address of a machine in the file, always by the same one, as capture does.
    #[arg(long, requires = "record")]
    pub(crate) mask: bool,
    /// Judge the readings of a file that --record wrote, or the part of them from --from to --to; no machine is
    /// contacted.
    #[arg(long, value_name = "FILE", conflicts_with_all = SOURCE_ONLY_FLAGS, group = "dated")]
    pub(crate) replay: Option<PathBuf>,
}

impl SourceFlags {
    /// Those of a window of a fleet, read now.
    pub(crate) fn live(window: &LiveWindow<'_>) -> SourceFlags {
        SourceFlags {
            prometheus: None,
            from: None,
            to: None,
            step: None,
            select: Vec::new(),
            map: Vec::new(),
            link: Vec::new(),
            bearer_file: None,
            user: None,
            password_file: None,
            header: Vec::new(),
            ca_file: None,
            insecure: false,
            timeout: window.for_time,
            live: true,
            fleet: Some(window.fleet.to_owned()),
            for_time: window.for_time,
            engine_port: Vec::new(),
            no_sockets: false,
            engine_metrics: Vec::new(),
            // Whoever reads the fleet twice has consented the first time.
            yes_exec: true,
            reach: window.reach.clone(),
            record: window.record.map(Path::to_owned),
            mask: window.mask,
            replay: None,
        }
    }

    /// Whether readings are judged, and not figures.
    pub(crate) fn has_readings(&self) -> bool {
        self.prometheus.is_some() || self.live || self.replay.is_some()
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

/// What is wrong with several `--link` together: a plane has one interface, and an interface one plane.
pub(super) fn conflicting_links(links: &[(String, String)]) -> Option<String> {
    let again = |(place, (plane, interface)): (usize, &(String, String))| {
        let before = links[..place].iter().find(|(other, of)| other == plane || of == interface)?;
        let both = format!("--link {}={} and --link {plane}={interface}", before.0, before.1);
        Some(if before.0 == *plane {
            format!("{both} name two interfaces of one plane: name one of each, such as public=bond0 and private=bond1")
        } else {
            format!(
                "{both} name one interface for two planes: each has its own; where they share one, --link public= \
                 alone says it"
            )
        })
    };
    links.iter().enumerate().find_map(again)
}

/// Reads `9000` or `6800-7568`.
fn port_range(text: &str) -> Result<(u16, u16), String> {
    let fix = "write a port or a range of ports, such as 9000 or 6800-7568";
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let port = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0);
    match (port(first), port(last)) {
        (Some(first), Some(last)) if first <= last => Ok((first, last)),
        _ => Err(format!("{text:?} is no port: {fix}")),
    }
}

pub(crate) fn live_time(text: &str) -> Result<Duration, String> {
    duration_within(text, Duration::from_secs(5), Duration::from_secs(3_600))
}

fn step(text: &str) -> Result<Duration, String> {
    duration_within(text, Duration::from_secs(1), Duration::from_secs(86_400))
}

fn timeout_within(text: &str) -> Result<Duration, String> {
    duration_within(text, Duration::from_secs(1), Duration::from_secs(3_600))
}

fn duration_within(text: &str, least: Duration, most: Duration) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if time < least || time > most {
        return Err(format!("{text:?} is out of range: write {} s to {} s", least.as_secs(), most.as_secs()));
    }
    Ok(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_has_one_interface_and_an_interface_one_plane() {
        let wrong =
            |given: &[&str]| conflicting_links(&given.iter().map(|text| link(text).unwrap()).collect::<Vec<_>>());
        assert_eq!(wrong(&["public=bond0", "private=bond1"]), None);
        assert!(wrong(&["public=bond0", "private=bond0"]).unwrap().contains("one interface for two planes"));
        let twice = wrong(&["private=bond0", "private=bond1"]).unwrap();
        assert!(twice.starts_with("--link private=bond0 and --link private=bond1 name two interfaces"), "{twice}");
    }

    #[test]
    fn ports_are_single_ones_or_ranges() {
        assert_eq!(port_range("9000"), Ok((9000, 9000)));
        assert_eq!(port_range("6800-7568"), Ok((6800, 7568)));
        for text in ["", "0", "9-", "-9", "9-8", "65536", "http"] {
            let why = port_range(text).unwrap_err();
            assert!(why.contains("is no port") && why.contains(&format!("{text:?}")), "{why}");
        }
    }
}
