//! Metrics of engines off their own pages, where no Prometheus scrapes them: looked at again and again for as long as a
//! window lasts, by the same rows of [`series_table`](crate::table) that a Prometheus is asked by.

mod machines;
mod series;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use linerate_record::site::Product;
use linerate_wire::deadline::CancelToken;
use linerate_wire::tls::TlsClient;

pub use machines::{KnownMachine, PageReadings, readings};
pub use series::{PageLooks, PageSeries};

use crate::address::{AddressError, PrometheusAddress};
use crate::error::PrometheusError;
use crate::exposition::page;
use crate::http_call::{PrometheusAccess, PrometheusRequest, PrometheusServer};
use crate::name_map::NameMap;

/// Largest page. One of MinIO's has 10 to 500 kB; Ceph's manager has some 20 kB of each OSD, up to Quincy.
pub const PAGE_BYTES_MAX: usize = 16 << 20;

/// Pages that are looked at at the same time. Each may have [`PAGE_BYTES_MAX`].
const AT_ONCE: usize = 32;

/// How long an answer may take, at the most.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// After so many failures in a row, a page is looked at once in [`RESTS`] rounds.
const FAILURES: u32 = 2;
const RESTS: u32 = 6;

/// What stands for the name of a node in a URL.
const NODE: &str = "{name}";

/// URLs of metrics: `{name}` stands for each storage node of a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PagesUrl(String);

impl PagesUrl {
    /// Reads a URL.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &str) -> Result<PagesUrl, String> {
        let text = text.trim();
        let fix = "write http://{name}:9000/minio/metrics/v3/api/requests, where {name} stands for each storage node";
        let one = PrometheusAddress::page(&text.replace(NODE, "node")).map_err(|error| match error {
            AddressError::Secret => error.to_string(),
            AddressError::Query(_) => {
                format!("{text:?} has a query or a fragment: leave out what is behind it, and {fix}")
            }
            AddressError::Scheme(_) | AddressError::Host(_) => {
                format!("{:?} is no URL of metrics: {fix}", text.split('@').next_back().unwrap_or_default())
            }
        })?;
        if one.prefix.is_empty() {
            return Err(format!("{text:?} has no path: {fix}"));
        }
        Ok(PagesUrl(text.to_owned()))
    }

    /// Its pages: one of each node, or the one that it names.
    ///
    /// # Errors
    /// A node whose name cannot be in a URL.
    pub fn pages(&self, nodes: &[&str]) -> Result<Vec<MetricsTarget>, String> {
        if !self.0.contains(NODE) {
            let address = PrometheusAddress::page(&self.0).map_err(|error| error.to_string())?;
            return Ok(vec![MetricsTarget { address, node: None }]);
        }
        let page_address = |node: &&str| {
            let address = PrometheusAddress::page(&self.0.replace(NODE, node)).map_err(|_| {
                format!("the name {node:?} cannot stand in a URL: name each URL of {:?} by itself", self.0)
            })?;
            Ok(MetricsTarget { address, node: Some((*node).to_owned()) })
        };
        nodes.iter().map(page_address).collect()
    }
}

/// One page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricsTarget {
    pub address: PrometheusAddress,
    /// The node of the fleet that its URL was made for.
    pub node: Option<String>,
}

/// How pages are looked at.
pub struct PagesRequest {
    pub targets: Vec<MetricsTarget>,
    pub access: PrometheusAccess,
    /// Headers besides: name and value. Values may be secrets, and are never printed.
    pub headers: Vec<(String, String)>,
    /// Whom to believe, over TLS.
    pub tls: TlsClient,
    /// Other names of metrics and labels.
    pub names: NameMap,
    /// Whose metrics are looked for.
    pub product: Product,
    /// Between two steps of the window, in milliseconds.
    pub step_ms: u64,
    /// How many steps it has.
    pub steps: u32,
}

impl PagesRequest {
    /// How long the window is, in milliseconds.
    fn window_ms(&self) -> u64 {
        self.step_ms.saturating_mul(u64::from(self.steps))
    }

    /// How far apart looks are, in milliseconds: five seconds, or a sixth of a short window; a step of a long one.
    #[must_use]
    pub fn interval_ms(&self) -> u64 {
        let window_ms = self.window_ms();
        let apart_ms = window_ms.div_ceil(6).clamp(1_000, 5_000).max(self.step_ms);
        (window_ms / window_ms.div_ceil(apart_ms).max(1)).max(1)
    }
}

/// One page, while it is looked at.
struct PagePoll {
    looks: PageLooks,
    server: Option<PrometheusServer>,
    failed: u32,
}

/// Looks at all pages from `begin` on, until the window is over or the flag is raised. What pages said, and why others
/// said nothing, in the order of the targets.
#[must_use]
pub fn look(requested: &PagesRequest, begin: Instant, is_over: &Arc<AtomicBool>) -> Vec<PageLooks> {
    let looked: Vec<Mutex<PagePoll>> = requested
        .targets
        .iter()
        .map(|target| PagePoll { looks: PageLooks::new(target), server: None, failed: 0 })
        .map(Mutex::new)
        .collect();
    let due: Mutex<BTreeSet<(Instant, usize)>> = Mutex::new((0..looked.len()).map(|place| (begin, place)).collect());
    thread::scope(|scope| {
        for _ in 0..looked.len().min(AT_ONCE) {
            scope.spawn(|| while next(requested, begin, is_over, &looked, &due) {});
        }
    });
    let whole = looked.into_iter().map(|one| one.into_inner().unwrap_or_else(PoisonError::into_inner));
    whole.map(|one| one.looks).collect()
}

/// Looks at the page that is due first; whether there is anything left to do.
fn next(
    requested: &PagesRequest,
    begin: Instant,
    is_over: &Arc<AtomicBool>,
    looked: &[Mutex<PagePoll>],
    due: &Mutex<BTreeSet<(Instant, usize)>>,
) -> bool {
    /// How soon the flag is noticed.
    const NOTICED: Duration = Duration::from_millis(50);
    if is_over.load(Ordering::Relaxed) {
        return false;
    }
    let now = Instant::now();
    let taken = {
        let mut due = due.lock().unwrap_or_else(PoisonError::into_inner);
        match due.first() {
            None => return false,
            Some((at, _)) if *at > now => None,
            Some(_) => due.pop_first(),
        }
    };
    let Some((at, place)) = taken else {
        thread::sleep(NOTICED);
        return true;
    };
    let Some(one) = looked.get(place) else { return true };
    let mut one = one.lock().unwrap_or_else(PoisonError::into_inner);
    once(requested, begin, is_over, place, &mut one);
    let interval = Duration::from_millis(requested.interval_ms());
    let rests = if one.failed >= FAILURES { RESTS } else { 1 };
    // What is late is not made up for: looks keep their distance.
    let mut next = at + interval * rests;
    while next <= Instant::now() {
        next += interval;
    }
    if next <= begin + Duration::from_millis(requested.window_ms()) + NOTICED {
        due.lock().unwrap_or_else(PoisonError::into_inner).insert((next, place));
    }
    true
}

/// One look at one page.
fn once(requested: &PagesRequest, begin: Instant, is_over: &Arc<AtomicBool>, place: usize, one: &mut PagePoll) {
    let Some(target) = requested.targets.get(place) else { return };
    let answered = match &mut one.server {
        Some(server) => server.page(PAGE_BYTES_MAX),
        None => server(requested, target, is_over).and_then(|server| one.server.insert(server).page(PAGE_BYTES_MAX)),
    };
    let at_ms = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
    match answered {
        Ok(answer) => {
            one.failed = 0;
            let mut page = page(&answer.body, |name| series::is_wanted(requested, name));
            // What others serve may have what they were sent in it.
            if let (Some((_, first)), Some(server)) = (&mut page.unreadable, &one.server) {
                *first = server.without_secrets(first);
            }
            one.looks.take(requested, &page, at_ms);
        }
        Err(PrometheusError::Stopped) => {}
        Err(fault) => {
            one.failed = one.failed.saturating_add(1);
            one.looks.fail(&fault);
        }
    }
}

fn server(
    requested: &PagesRequest,
    target: &MetricsTarget,
    is_over: &Arc<AtomicBool>,
) -> Result<PrometheusServer, PrometheusError> {
    PrometheusServer::new(PrometheusRequest {
        address: target.address.clone(),
        access: requested.access.clone(),
        headers: requested.headers.clone(),
        tls: requested.tls.clone(),
        timeout: Duration::from_millis(requested.interval_ms()).clamp(Duration::from_secs(1), ANSWER_LIMIT),
        cancel: CancelToken::Stop(Arc::clone(is_over)),
    })
}

#[cfg(test)]
mod tests {
    use linerate_wire::tls::Trust;

    use super::*;

    #[test]
    fn a_url_is_of_one_page_or_of_each_node() {
        let url = PagesUrl::read("https://{name}:9000/minio/v2/metrics/node").unwrap();
        let pages = url.pages(&["n1", "n2"]).unwrap();
        assert_eq!(pages[1].address.url(), "https://n2:9000/minio/v2/metrics/node");
        assert_eq!(pages[1].node.as_deref(), Some("n2"));
        let one = PagesUrl::read("http://mgr:9283/metrics").unwrap().pages(&["n1", "n2"]).unwrap();
        assert!(one.len() == 1 && one[0].node.is_none());
        assert!(url.pages(&["a b"]).unwrap_err().contains("\"a b\" cannot stand in a URL"));
    }

    #[test]
    fn what_is_no_url_of_metrics_is_refused_and_no_password_is_quoted() {
        for (text, part) in [
            ("{name}:9000/metrics", "no URL of metrics"),
            ("ftp://{name}/metrics", "write http://{name}:9000"),
            ("http://u:hunter2@n1/metrics", "--password-file"),
            ("u:hunter2@n1/metrics", "\"n1/metrics\""),
            ("http://n1/metrics?token=hunter2x", "has a query"),
            ("http://n1:9000", "has no path"),
            ("http://n1:x/metrics", "no URL of metrics"),
        ] {
            let why = PagesUrl::read(text).unwrap_err();
            assert!(why.contains(part) && !why.contains("hunter2@"), "{text}: {why}");
        }
    }

    #[test]
    fn looks_are_five_seconds_apart_and_closer_in_short_windows() {
        let apart = |step_ms: u64, steps: u32| {
            let (access, tls) = (PrometheusAccess::Open, TlsClient::new(Trust::Anything).unwrap());
            let (names, product) = (NameMap::default(), Product::Minio);
            PagesRequest { targets: Vec::new(), access, headers: Vec::new(), tls, names, product, step_ms, steps }
                .interval_ms()
        };
        assert_eq!((apart(1_000, 5), apart(1_000, 10), apart(1_000, 60)), (1_000, 1_666, 5_000));
        assert_eq!((apart(9_000, 400), apart(1_000, 0)), (9_000, 1));
    }
}
