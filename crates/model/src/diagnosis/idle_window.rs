//! Windows without a load: what they show of nodes is what these do for themselves.

use linerate_record::diagnosis::{Cause, Diagnosis, NO_LOAD, OutlierReading, ReadLoad, ResourceUse, Suspect};
use linerate_record::plan::Resource;
use linerate_record::units::{duration_ns, percent, utc};

/// Links of which the fullest is less in use than this at the most loaded instants carry no load.
const LINKS_REST: f64 = 0.01;

/// Small objects need processors and drives before they need links: at the middle node, so much of either is no rest.
const CORES_REST: f64 = 0.3;
const DRIVES_REST: f64 = 0.1;

/// What to do next.
pub(super) const NEXT: &str = "the same while clients load the site: linerate bench makes such a load";

/// Whether nothing was asked of the nodes, even at the instants at which links carry most.
pub(super) fn is_at_rest(used: &[ResourceUse], load: &ReadLoad) -> bool {
    let links = || used.iter().filter(|one| one.resource.is_link());
    let served = load.get_bytes_per_s.unwrap_or(0.0) + load.put_bytes_per_s.unwrap_or(0.0);
    let ceiling: f64 = links().map(|one| one.capacity * f64::from(one.nodes)).fold(0.0, f64::max);
    let is_below = |of: Resource, rest: f64| used.iter().filter(|one| one.resource == of).all(|one| one.share < rest);
    ceiling > 0.0
        && links().all(|one| one.most_share < LINKS_REST)
        && served < LINKS_REST * ceiling
        && is_below(Resource::Cpu, CORES_REST)
        && is_below(Resource::DriveBandwidth, DRIVES_REST)
}

/// Whether a cause is told by what a load makes of nodes: without one, the little that is done is not alike.
fn is_of_load(cause: Cause) -> bool {
    match cause {
        Cause::SlowLinkSending | Cause::SlowLinkReceiving | Cause::UnevenLoad | Cause::OtherWork => true,
        Cause::SlowNode | Cause::BusyProcessors | Cause::ClientLimit | Cause::PacedLoad => true,
        Cause::ReceiveWindow | Cause::SendBuffer | Cause::BusyThread | Cause::Full | Cause::BondMembers => true,
        Cause::LinkSpeed | Cause::FlappingLink | Cause::LossyLink => false,
        Cause::RackUplinks | Cause::RackPath | Cause::Fabric => false,
        Cause::SlowDrive | Cause::StolenProcessors | Cause::Quota | Cause::Memory => false,
        Cause::Mtu | Cause::Paused | Cause::SlowProcessors => false,
    }
}

/// Suspects of a window without a load, with the weight of none of these: those of a load are held back.
pub(super) fn at_rest(suspects: Vec<Suspect>, none: f64) -> (Vec<Suspect>, f64) {
    let mut left: Vec<Suspect> = suspects.into_iter().filter(|one| !is_of_load(one.cause)).collect();
    let sum = none + left.iter().map(|one| one.weight).sum::<f64>();
    if sum <= 0.0 {
        return (left, 1.0);
    }
    left.iter_mut().for_each(|one| one.weight /= sum);
    (left, none / sum)
}

/// The answer of such a window. What is no matter of load is told beside it.
pub(super) fn answer(of: &Diagnosis) -> String {
    let window = &of.window;
    let most = of.used.iter().filter(|one| one.resource.is_link()).map(|one| one.most_share).fold(0.0, f64::max);
    let at = |unix_ms: i64| utc(u64::try_from(unix_ms).unwrap_or(0));
    let over = u64::try_from(window.end_unix_ms - window.begin_unix_ms).unwrap_or(0);
    let said = format!(
        "{NO_LOAD} from {} to {} ({}): the fullest link carries {} of what it can at the most loaded instants; \
         read while the load is there",
        at(window.begin_unix_ms),
        at(window.end_unix_ms),
        duration_ns(over as f64 * 1e6),
        percent(most)
    );
    let first = of.suspects.first().filter(|first| first.weight > of.none_of_these);
    match (first, of.outlier.first()) {
        (Some(first), _) => format!("{said}; without any, {}", first.claim),
        (None, Some(first)) => format!("{said}; {}", unlike(first, of.outlier.len())),
        (None, None) => said,
    }
}

/// What is odd, where no suspect leads.
pub(super) fn unlike(first: &OutlierReading, all: usize) -> String {
    let more = match all {
        1 => String::new(),
        2 => ", and 1 more reading".to_owned(),
        all => format!(", and {} more readings", all - 1),
    };
    format!("unlike its peers beyond chance: {}{more}", first.claim)
}
