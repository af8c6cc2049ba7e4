//! What `net --dry-run` prints.

use linerate_fleet::description::FleetNode;
use linerate_record::net::NetOp;
use linerate_record::units::{bits_per_s, bytes_iec, duration_ns, whole_ns};

use super::flags::NetFlags;
use super::schedule::{NetSchedule, duration_min};
use super::{routes, stray_streams, stream_search};

/// What would be done.
pub(super) fn dry_run_text(flags: &NetFlags, schedule: &NetSchedule, of: &[&FleetNode]) -> String {
    let pairs: usize = schedule.routed_rounds.iter().map(|leg| leg.pairs.len()).sum();
    let at_once = schedule.routed_rounds.iter().map(|leg| leg.pairs.len()).max().unwrap_or(0);
    let sampled = if schedule.rounds.len() < schedule.all_rounds {
        format!(", chosen at random of {} (--seed {} repeats them)", schedule.all_rounds, schedule.seed)
    } else {
        String::new()
    };
    let by_ways = if schedule.routed_rounds.len() == schedule.rounds.len() {
        String::new()
    } else {
        format!(", {} with each way to receivers", schedule.routed_rounds.len())
    };
    let classes: Vec<String> = routes::classes(of, &schedule.routed_rounds).iter().map(ToString::to_string).collect();
    let classes = if routes::depends_on_placement(flags, of) {
        format!(" classes  {}\n", classes.join(", "))
    } else {
        String::new()
    };
    let streams: Vec<String> = flags.stream_counts().iter().map(u32::to_string).collect();
    let steps = stream_search::search_steps(flags.chosen_streams());
    let (more, of_steps) =
        if steps > 1 { (" …", format!(" for each of up to {steps} steps,")) } else { ("", String::new()) };
    let each = if flags.members { "each by each member of a bond (2 are assumed)" } else { "each" };
    let strays = if flags.members {
        let most = duration_ns(whole_ns(stray_streams::duration_min(flags)) as f64);
        format!(", and up to {most} more to name streams that leave by another member than predicted")
    } else {
        String::new()
    };
    let rate = match flags.max_rate {
        Some(most) => format!(
            "at most {} a pair, {} in all",
            bits_per_s(8.0 * most),
            bytes_iec(
                most * (flags.duration + flags.warmup).as_secs_f64()
                    * pairs as f64
                    * f64::from(flags.visits)
                    * f64::from(schedule.members)
                    * streams.len() as f64
                    * f64::from(steps)
            )
        ),
        None if flags.op(false) == NetOp::Stream => "no limit: links are filled (--max-rate caps each pair)".to_owned(),
        None if flags.op(false) == NetOp::Mtu => "a datagram each few milliseconds, some dozens a stream".to_owned(),
        None => "no limit, but that each stream has one request or connection at a time".to_owned(),
    };
    let preset = match flags.stands_for.as_str() {
        "" => String::new(),
        said => format!(" preset   {said}\n"),
    };
    format!(
        "{preset} op       {}\n machines {}\n rounds   {}{sampled}{by_ways}: {pairs} pairs, up to {at_once} at once\n\
         {classes} streams  {}{more}, {} visits of {each}, {} and {} of warm-up\n rate     {rate}\n \
         takes    {}{of_steps} or longer{strays}\n",
        flags.op(false).key(),
        of.len(),
        schedule.rounds.len(),
        streams.join(", "),
        flags.visits,
        duration_ns(whole_ns(flags.duration) as f64),
        duration_ns(whole_ns(flags.warmup) as f64),
        duration_ns(whole_ns(duration_min(flags, schedule)) as f64),
    )
}
