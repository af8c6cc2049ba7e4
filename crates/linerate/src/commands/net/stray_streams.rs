//! Streams that left by another member of a bond than predicted are named: halves of them are sent again, by themselves
//! and from the same ports, as `analysis` asks for them.

use std::net::SocketAddr;
use std::time::Duration;

use linerate_analysis::net::stray_search::{StraySearch, all_strayed, strayed};
use linerate_record::net::{NetRun, NetVisit};

use super::OVERHEAD;
use super::flags::NetFlags;
use super::net_fleet::{NetFleet, VisitOrder};
use crate::terminal::failure::Failure;

/// Rounds of a whole run that name streams: a bond of which many stray has another hash, which a few of them show.
pub(super) const RESENT_ROUNDS_MAX: u32 = 64;

/// How long all of them take.
pub(super) fn duration_min(flags: &NetFlags) -> Duration {
    (flags.duration + flags.warmup + OVERHEAD) * RESENT_ROUNDS_MAX
}

/// Names streams of a visit that strayed, pair by pair, in so many rounds at the most.
pub(super) fn name_stray_streams(
    fleet: &mut NetFleet<'_>,
    run: &NetRun,
    made: &mut NetVisit,
    order: &VisitOrder<'_>,
    at: &[SocketAddr],
    rounds_left: &mut u32,
    is_cut: &dyn Fn() -> bool,
) -> Result<(), Failure> {
    let mut all = all_strayed(run, made);
    for place in 0..made.pairs.len() {
        let pair = (made.pairs[place].from, made.pairs[place].to);
        let found = all.remove(&pair).filter(|found| found.streams > 0);
        let aim = made.pairs[place].aim.clone().filter(|aim| aim.ports.len() == order.streams as usize);
        let (Some(first), Some(aim)) = (found, aim) else { continue };
        let mut halving = StraySearch::new(order.streams, &first);
        while let Some(stream_range) = halving.wants().filter(|_| *rounds_left > 0 && !is_cut()) {
            *rounds_left -= 1;
            fleet.progress.live(&format!(
                "streams that strayed are sent again: {} of {}",
                stream_range.len(),
                order.streams
            ));
            let again = VisitOrder {
                streams: stream_range.end - stream_range.start,
                pairs: &[pair],
                ports: &aim.ports[stream_range.start as usize..stream_range.end as usize],
                ..*order
            };
            let visit = fleet.visit(&run.load, &again, at, is_cut)?;
            // What was cut short tells nothing.
            if is_cut() {
                break;
            }
            halving.take(strayed(run, &visit, pair).as_ref());
        }
        made.pairs[place].halved = Some(halving.found(&aim));
    }
    Ok(())
}
