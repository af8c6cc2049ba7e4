//! What `net --dry-run` prints.

use linerate_fleet::description::FleetNode;
use linerate_record::net::NetOp;
use linerate_record::units::{bits_per_s, bytes_iec, duration_ns, whole_ns};

use super::course::{NetCourse, takes};
use super::flags::NetFlags;
use super::{searched, strays, ways};

/// What would be done.
pub(super) fn foretold(flags: &NetFlags, course: &NetCourse, of: &[&FleetNode]) -> String {
    let pairs: usize = course.legs.iter().map(|leg| leg.pairs.len()).sum();
    let at_once = course.legs.iter().map(|leg| leg.pairs.len()).max().unwrap_or(0);
    let sampled = if course.rounds.len() < course.all_rounds {
        format!(", chosen at random of {} (--seed {} repeats them)", course.all_rounds, course.seed)
    } else {
        String::new()
    };
    let by_ways = if course.legs.len() == course.rounds.len() {
        String::new()
    } else {
        format!(", {} with each way to receivers", course.legs.len())
    };
    let classes: Vec<String> = ways::classes(of, &course.legs).iter().map(ToString::to_string).collect();
    let classes =
        if ways::are_placed(flags, of) { format!(" classes  {}\n", classes.join(", ")) } else { String::new() };
    let streams: Vec<String> = flags.numbers_of_streams().iter().map(u32::to_string).collect();
    let steps = searched::steps(flags.wished_streams());
    let (more, of_steps) =
        if steps > 1 { (" …", format!(" for each of up to {steps} steps,")) } else { ("", String::new()) };
    let each = if flags.members { "each by each member of a bond (2 are assumed)" } else { "each" };
    let strays = if flags.members {
        let most = duration_ns(whole_ns(strays::takes(flags)) as f64);
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
                    * f64::from(course.members)
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
        course.rounds.len(),
        streams.join(", "),
        flags.visits,
        duration_ns(whole_ns(flags.duration) as f64),
        duration_ns(whole_ns(flags.warmup) as f64),
        duration_ns(whole_ns(takes(flags, course)) as f64),
    )
}
