//! The engine's own metrics, looked at by the coordinator while agents look at their machines.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use linerate_fleet::description::FleetNode;
use linerate_fleet::watch_protocol::WatchOrder;
use linerate_prometheus::metrics_pages::{self, KnownMachine, PageLooks, PagesRequest};
use linerate_prometheus::name_map::NameMap;
use linerate_prometheus::series_table::rows;
use linerate_record::fleet::NodeRole;
use linerate_record::readings::{ReadMeasure, ReadSeries, Readings, SocketsSeen};
use linerate_record::site::Product;

use super::readings::{self, SourceAccess};
use super::source_flags::SourceFlags;
use crate::terminal::failure::Failure;

/// How long the last look may end behind the window.
const LAST_READ_TIMEOUT: Duration = Duration::from_secs(7);

/// What the flags ask for, of the storage nodes of a fleet; nothing where no page is named.
pub(super) fn engine_pages(
    flags: &SourceFlags,
    nodes: &[FleetNode],
    product: Product,
    order: &WatchOrder,
) -> Result<Option<PagesRequest>, Failure> {
    if flags.engine_metrics.is_empty() {
        return Ok(None);
    }
    let with_metrics = |product: Product| rows().any(|row| row.page.is_some() && row.exporter.is_for_product(product));
    if !with_metrics(product) {
        return Err(Failure::usage(format!(
            "--engine-metrics: metrics of {product:?} have no bytes and no requests of clients: leave it out"
        )));
    }
    let storage: Vec<&str> =
        nodes.iter().filter(|node| node.role == NodeRole::Storage).map(|node| node.name.as_str()).collect();
    let wrong = |why: String| Failure::usage(format!("--engine-metrics: {why}"));
    let mut targets = Vec::new();
    for url in &flags.engine_metrics {
        targets.extend(url.pages(&storage).map_err(wrong)?);
    }
    let expressions: Vec<&str> = rows().filter(|row| row.page.is_some()).map(|row| row.expression).collect();
    let names = readings::metric_names(flags, &expressions);
    let SourceAccess { access, headers, tls } = readings::source_access(flags)?;
    let (step_ms, steps) = (order.step_ms, order.steps);
    Ok(Some(PagesRequest { targets, access, headers, tls, names, product, step_ms, steps }))
}

/// Looks that go on in a thread, until their window is over or the value is dropped.
pub(super) struct EngineSampler {
    is_over: Arc<AtomicBool>,
    ends: Instant,
    product: Product,
    names: NameMap,
    thread: Option<JoinHandle<Vec<PageLooks>>>,
}

impl EngineSampler {
    /// Begins to look at an instant.
    pub(super) fn start(requested: PagesRequest, begin: Instant) -> EngineSampler {
        let is_over = Arc::new(AtomicBool::new(false));
        let (product, names) = (requested.product, requested.names.clone());
        let window = Duration::from_millis(requested.step_ms.saturating_mul(u64::from(requested.steps)));
        let reported = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || metrics_pages::look(&requested, begin, &reported));
        EngineSampler { is_over, ends: begin + window + LAST_READ_TIMEOUT, product, names, thread: Some(thread) }
    }

    /// What pages said, in readings: instead of what sockets say of the same, where it is of as many machines.
    pub(super) fn into_readings(
        mut self,
        readings: &mut Readings,
        seen: &[(String, SocketsSeen)],
        by_sockets: Vec<ReadSeries>,
        why: Option<String>,
    ) {
        let looks = self.end();
        let machines = known_machines(readings, seen);
        let mut found = metrics_pages::readings(&looks, &machines, self.product, &self.names);
        let steps = readings.steps as usize;
        found.series.iter_mut().for_each(|series| series.values.resize(steps, None));
        found.series.retain(|series| series.values.iter().any(Option::is_some));
        let machines = |series: &[ReadSeries], of: ReadMeasure| {
            let with_measure =
                series.iter().filter(|one| one.of == of && readings.stated.iter().any(|s| s.machine == one.machine));
            with_measure.map(|one| one.machine.clone()).collect::<BTreeSet<String>>().len()
        };
        let by_engine = |of: ReadMeasure| machines(&found.series, of) >= machines(&by_sockets, of).max(1);
        let kept: Vec<ReadSeries> = by_sockets.iter().filter(|one| !by_engine(one.of)).cloned().collect();
        let is_reported = [ReadMeasure::ClientSent, ReadMeasure::ClientReceived].into_iter().all(by_engine);
        found.series.retain(|one| kept.iter().all(|other| other.of != one.of));
        readings.series.extend(found.series);
        readings.series.extend(kept);
        readings.absent.extend(found.absent);
        readings.remarks.extend(found.remarks);
        readings.remarks.extend(why.filter(|_| !is_reported));
        readings.warnings.extend(found.warnings);
    }

    /// Waits for the last looks: not long beyond the window, and not at all where it was cut.
    fn end(&mut self) -> Vec<PageLooks> {
        /// How soon the end is noticed.
        const NOTICED: Duration = Duration::from_millis(20);
        let is_running = |thread: &Option<JoinHandle<_>>| thread.as_ref().is_some_and(|thread| !thread.is_finished());
        while !self.is_over.load(Ordering::Relaxed) && is_running(&self.thread) && Instant::now() < self.ends {
            std::thread::sleep(NOTICED);
        }
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }

    /// Ends looks before their time.
    pub(super) fn cut(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

impl Drop for EngineSampler {
    fn drop(&mut self) {
        self.cut();
    }
}

/// Machines of the fleet with all that they are known by: what agents say of names, and addresses of their sockets.
fn known_machines(readings: &Readings, seen: &[(String, SocketsSeen)]) -> Vec<KnownMachine> {
    let known_machine = |name: &String| {
        let stated_names = readings.names.iter().filter(|other| other.machine == *name).map(|other| other.name.clone());
        let addresses =
            seen.iter().filter(|(known_machine, _)| known_machine == name).flat_map(|(_, seen)| &seen.addresses);
        KnownMachine { name: name.clone(), names: stated_names.chain(addresses.map(ToString::to_string)).collect() }
    };
    readings.stated.iter().filter(|stated| !stated.is_client).map(|stated| known_machine(&stated.machine)).collect()
}
