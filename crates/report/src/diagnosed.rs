//! Sentences of a diagnosis that its text and its page share.

use linerate_record::diagnosis::Diagnosis;
use linerate_record::units::{bits_per_s, bytes_per_s_iec, count, duration_ns};

use crate::words::{self, plural};

fn instant(unix_ms: i64) -> String {
    words::utc(u64::try_from(unix_ms).unwrap_or(0))
}

pub(crate) fn window(diagnosis: &Diagnosis) -> String {
    let window = &diagnosis.window;
    let (begin, end) = (instant(window.busy_begin_unix_ms), instant(window.busy_end_unix_ms));
    let ms = |ms: u64| duration_ns(ms as f64 * 1e6);
    let heard = diagnosis.nodes.len() as u64;
    let all = heard + u64::from(diagnosis.unheard);
    format!(
        "{begin} to {end}, {} of {} instants near the most load; scrapes {} apart; {heard} of {} read",
        window.busy_steps,
        window.steps,
        ms(window.interval_ms),
        plural(all, "node")
    )
}

pub(crate) fn load(diagnosis: &Diagnosis) -> String {
    let load = &diagnosis.load;
    let mut said = Vec::new();
    if let (Some(get), Some(put)) = (load.get_bytes_per_s, load.put_bytes_per_s) {
        said.push(format!("GET {}, PUT {}", bytes_per_s_iec(get), bytes_per_s_iec(put)));
    }
    if let Some(in_flight) = load.in_flight {
        said.push(format!("{} in flight", count(in_flight.round())));
    }
    said.push(format!(
        "nodes sent {} and received {}",
        bits_per_s(8.0 * load.sent_bytes_per_s),
        bits_per_s(8.0 * load.received_bytes_per_s)
    ));
    if let Some(turn) = &load.turn {
        said.push(format!(
            "from {} on, {} in flight instead of {} gave no more",
            instant(turn.at_unix_ms),
            count(turn.in_flight[1].round()),
            count(turn.in_flight[0].round())
        ));
    }
    said.join("; ")
}

/// How a bond uses its members.
pub(crate) fn of_members(members: &linerate_record::diagnosis::MemberUse) -> String {
    format!(
        "{} of {} nodes, {}: the busiest of {} members carries {} of the bytes, at {} of its speed; one carries nearly \
         all on {} of {}",
        members.bond,
        members.group,
        if members.is_sent { "sending" } else { "receiving" },
        members.members,
        words::percent(members.busiest_share),
        words::percent(members.busiest_used_share),
        members.on_one_nodes,
        plural(u64::from(members.nodes), "node")
    )
}
