//! `linerate net`: what the links between machines do. Flows of all pairs in rounds, and who limited them.

mod addresses;
mod exported;
pub(crate) mod flags;
mod linked;
pub(crate) mod preset;

use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use linerate_analysis::net::view::{NetView, rate_of};
use linerate_analysis::net::{NetTurn, bond_of, median_per_s, rounds, sampled, turns, view};
use linerate_fleet::description::FleetNode;
use linerate_fleet::netting::{NetAddress, NetOrder};
use linerate_fleet::reach::NodeReach;
use linerate_flows::FlowToken;
use linerate_record::fleet::Allowed;
use linerate_record::net::{NET_SCHEMA, NetLoad, NetNode, NetOp, NetRun, NetVisit, NetWay};
use linerate_record::shell;
use linerate_record::units::{bits_per_s, bytes_iec, duration_ns, whole_ns};
use linerate_wire::clock::{Clock, unix_base_ns};

use crate::failure::{Failure, code};
use crate::links::{MANIFEST, VISITS};
use crate::progress::{self, Progress};
use crate::reaching::{self, LedFleet};
use crate::{consent, folder, interrupt, metrics, observed, printing};
use addresses::AddressWish;
use exported::ExportedLinks;
use flags::NetFlags;
use linked::{LinkedFleet, VisitOrder};

/// Rounds that are measured unless flags say otherwise: beyond, a sample says as much of machines in less time.
const ROUNDS: u32 = 16;

/// Intervals of a visit, at the most: finer ones say no more of a mean.
const INTERVALS: u64 = 50;

/// Shortest interval, in milliseconds: some scheduler's turns.
const INTERVAL_MS: u64 = 50;

/// What a round takes besides its flows: all are made, begin together, and are told.
const BESIDE: Duration = Duration::from_millis(500);

/// Members of a bond before it is known how many those of the machines have: what most bonds have.
const MEMBERS_LEAST: u32 = 2;

/// The rounds of a run, and their order.
struct Course {
    way: NetWay,
    rounds: Vec<Vec<(u32, u32)>>,
    all_rounds: usize,
    seed: u64,
    /// Members at which streams are aimed in turn; 1 where they are not.
    members: u32,
}

/// Measures; of a preset each of its tests in turn, up to the first that fails.
pub(crate) fn run(flags: &NetFlags) -> Result<ExitCode, Failure> {
    let tests = flags.tests.as_slice();
    if tests.len() < 2 {
        return run_one(tests.first().unwrap_or(flags));
    }
    if flags.json {
        let why = "--json prints one report, and this preset has several: name one of its tests, such as";
        return Err(Failure::usage(format!("{why} --preset source-002-a")));
    }
    tests.iter().try_for_each(NetFlags::check_op).map_err(Failure::usage)?;
    for test in tests {
        if !flags.quiet && !flags.dry_run {
            progress::say(&test.stands_for);
        }
        run_one(test)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn run_one(flags: &NetFlags) -> Result<ExitCode, Failure> {
    flags.check_op().map_err(Failure::usage)?;
    let nodes = reaching::read_fleet(&flags.fleet)?;
    if nodes.len() < 2 {
        return Err(Failure::usage(format!(
            "{}: a fleet of {} has no link: list two machines or more",
            flags.fleet.display(),
            nodes.len()
        )));
    }
    flags.reach.check(&nodes, &flags.fleet)?;
    refuse_secrets(flags, &nodes)?;
    if let Some(path) = &flags.output {
        folder::require_free(path)?;
    }
    flags.into.as_deref().map_or(Ok(()), |into| observed::check(into, flags.plane))?;
    let metrics = flags.metrics.map(metrics::bind).transpose()?;
    let seed = flags.seed.map_or_else(drawn_seed, Ok)?;
    let course = course(flags, nodes.len(), seed)?;
    if flags.dry_run {
        printing::print(&foretold(flags, &course, nodes.len()))?;
        return Ok(ExitCode::SUCCESS);
    }
    reaching::consent_to_commands(&nodes, flags.yes_exec)?;
    consent_to_load(flags, &nodes, &course)?;
    let (_, path) = match &flags.output {
        Some(path) => (String::new(), path.clone()),
        None => folder::free(&format!("{}-net", jiff::Zoned::now().strftime("%m%d-%H%M")))?,
    };
    folder::require_free(&path)?;
    let interrupt = interrupt::watch("error: interrupted again: agents end by themselves".to_owned())?;
    let exported = metrics.map(|listener| ExportedLinks::start(listener, flags.quiet)).transpose()?;
    let clock = Clock::start();
    let led = LedFleet::start(&nodes, &flags.reach, clock, (&interrupt.stop, Allowed::Load))?;
    let progress = Progress::new(takes(flags, &course), flags.quiet || flags.json);
    let mut fleet =
        LinkedFleet { led, nodes: &nodes, clock, progress, lost: Default::default(), linked: Vec::new(), point: 0 };
    let is_cut = || interrupt::came(&interrupt.stop);
    let order = NetOrder { token: token()?.to_hex(), own: 0, port: flags.port.unwrap_or(0), threads: flags.threads };
    fleet.meet(&order, &is_cut)?;
    let course =
        if fleet.linked.len() == nodes.len() { course } else { self::course(flags, fleet.linked.len(), seed)? };
    let found = found_addresses(flags, &fleet)?;
    let course = Course { members: members(flags, &fleet, &found)?, ..course };
    fleet.progress.expects(takes(flags, &course));
    let measured = (&course, &found[..], path.as_path(), exported.as_ref());
    let (run, visits) = measure(flags, &mut fleet, measured, &is_cut)?;
    drop(exported);
    fleet.progress.end();
    let lost = fleet.lost.len();
    let reasons = fleet.reasons();
    drop(fleet);
    let said = view(&run, &visits);
    shown(flags, &said, &path)?;
    if is_cut() {
        let why = format!("interrupted: measured so far; see linerate report {}", shell::path(&path));
        return Err(Failure::Outcome { why, code: code::INTERRUPTED });
    }
    if let Some(why) = nothing_measured(&visits) {
        return Err(Failure::Outcome { why: format!("no pair has figures: {why}{reasons}"), code: code::TARGET });
    }
    if let Some(into) = &flags.into {
        let changed = observed::write(&said, into, flags.plane, false)?;
        if !flags.quiet && !changed.is_empty() {
            progress::say(changed.trim_end());
        }
    }
    if lost > 0 {
        let why = format!("{lost} of {} machines were not reached or lost:{reasons}", nodes.len());
        return Err(Failure::Outcome { why, code: code::TARGET });
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses what the run folder would keep where it holds a secret in use. Its command line has all flags.
fn refuse_secrets(flags: &NetFlags, nodes: &[FleetNode]) -> Result<(), Failure> {
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let reach = &flags.reach;
    let binary: Vec<String> = reach.binary.iter().map(ToString::to_string).collect();
    folder::secrets::refuse(&serde_json::json!({
        "become": reach.become_by.as_ref().map(ToString::to_string),
        "binary": binary,
        "fleet": [flags.fleet.to_string_lossy().into_owned().as_str(), &names.join(" ")],
        "interface": flags.interface,
        "into": flags.into.as_ref().map(|path| path.to_string_lossy().into_owned()),
        "output": flags.output.as_ref().map(|path| path.to_string_lossy().into_owned()),
    }))
}

fn drawn_seed() -> Result<u64, Failure> {
    random::<8>().map(u64::from_ne_bytes)
}

fn token() -> Result<FlowToken, Failure> {
    random().map(FlowToken::new)
}

fn random<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    let drawn = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    drawn.map(|_| bytes).map_err(|errno| Failure::Command(format!("the system has no random bytes: {errno}")))
}

fn course(flags: &NetFlags, nodes: usize, seed: u64) -> Result<Course, Failure> {
    let way = flags.way(nodes);
    let all = rounds(u32::try_from(nodes).unwrap_or(u32::MAX), way);
    let all_rounds = all.len();
    let most = flags.rounds.unwrap_or(ROUNDS);
    if flags.rounds.is_some_and(|most| most as usize > all_rounds) {
        return Err(Failure::usage(format!(
            "--rounds {most}: {nodes} machines have {all_rounds} rounds: leave it out"
        )));
    }
    let rounds = if most as usize >= all_rounds { all } else { sampled(&all, most as usize, seed) };
    let members = if flags.members { MEMBERS_LEAST } else { 1 };
    Ok(Course { way, rounds, all_rounds, seed, members })
}

/// How many visits are made.
fn visits(flags: &NetFlags, course: &Course) -> usize {
    course.rounds.len() * flags.numbers_of_streams().len() * flags.visits as usize * course.members as usize
}

/// How long all of it takes, at the least.
fn takes(flags: &NetFlags, course: &Course) -> Duration {
    (flags.duration + flags.warmup + BESIDE) * u32::try_from(visits(flags, course)).unwrap_or(u32::MAX)
}

/// What would be done.
fn foretold(flags: &NetFlags, course: &Course, nodes: usize) -> String {
    let pairs: usize = course.rounds.iter().map(Vec::len).sum();
    let at_once = course.rounds.iter().map(Vec::len).max().unwrap_or(0);
    let sampled = if course.rounds.len() < course.all_rounds {
        format!(", chosen at random of {}", course.all_rounds)
    } else {
        String::new()
    };
    let streams: Vec<String> = flags.numbers_of_streams().iter().map(u32::to_string).collect();
    let each = if flags.members { "each by each member of a bond (2 are assumed)" } else { "each" };
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
        "{preset} op       {}\n machines {nodes}\n rounds   {}{sampled}: {pairs} pairs, up to {at_once} at once\n \
         streams  {}, {} visits of {each}, {} and {} of warm-up\n rate     {rate}\n takes    {} or longer\n",
        flags.op(false).key(),
        course.rounds.len(),
        streams.join(", "),
        flags.visits,
        duration_ns(whole_ns(flags.duration) as f64),
        duration_ns(whole_ns(flags.warmup) as f64),
        duration_ns(whole_ns(takes(flags, course)) as f64),
    )
}

/// Links of other machines are filled only with consent.
fn consent_to_load(flags: &NetFlags, nodes: &[FleetNode], course: &Course) -> Result<(), Failure> {
    let is_here = |node: &FleetNode| matches!(node.reach, NodeReach::Here | NodeReach::Netns(_) | NodeReach::Pid(_));
    if flags.yes_load || nodes.iter().all(is_here) {
        return Ok(());
    }
    let rate = match flags.max_rate {
        Some(most) => format!("at up to {} a pair", bits_per_s(8.0 * most)),
        None if flags.op(false) == NetOp::Mtu => "a datagram each few milliseconds".to_owned(),
        None => "as fast as they can".to_owned(),
    };
    let longer = if flags.members { " (longer where bonds have more than two members)" } else { "" };
    let what = format!(
        "{} machines send to each other for {}{longer}, {rate}",
        nodes.len(),
        duration_ns(whole_ns(takes(flags, course)) as f64)
    );
    consent::ask(
        &what,
        "Others who use these links will be affected.",
        "give --yes-load to consent, and --max-rate to cap it",
    )
}

/// Most members that are aimed at in turn: a machine that names more does not make a run longer than was consented to.
const AIMED_MOST: usize = 8;

/// At how many members of bonds streams are aimed in turn: as many as the machine has that has the most.
fn members(flags: &NetFlags, fleet: &LinkedFleet<'_>, found: &[NetAddress]) -> Result<u32, Failure> {
    if !flags.members {
        return Ok(1);
    }
    let of = |(of, found): (&linked::Linked, &NetAddress)| {
        bond_of(&of.hello.machine, &found.interface).map(|(_, bond)| bond.members.len())
    };
    let most = fleet.linked.iter().zip(found).filter_map(of).max().unwrap_or(0).min(AIMED_MOST);
    if most == 0 {
        let why = "--members: no machine has a bond below the address that is sent to: leave it out, or name the \
                   bond with --interface";
        return Err(Failure::usage(why.to_owned()));
    }
    Ok(u32::try_from(most).unwrap_or(1))
}

/// Visits with the member at which each aims its streams, where they do. Each is a repetition of its own.
fn aimed(all: Vec<NetTurn>, flags: &NetFlags, course: &Course) -> Vec<(NetTurn, Option<u32>)> {
    if !flags.members {
        return all.into_iter().map(|turn| (turn, None)).collect();
    }
    let members = course.members;
    let each = |turn: NetTurn| {
        (0..members).map(move |step| {
            // Not always the same one first.
            let member = (step + turn.repetition + turn.round) % members;
            let repetition = (turn.repetition - 1) * members + member + 1;
            (NetTurn { repetition, ..turn }, Some(member))
        })
    };
    all.into_iter().flat_map(each).collect()
}

/// Makes all visits, as far as nobody ends them.
fn measure(
    flags: &NetFlags,
    fleet: &mut LinkedFleet<'_>,
    (course, found, path, exported): (&Course, &[NetAddress], &Path, Option<&ExportedLinks>),
    is_cut: &dyn Fn() -> bool,
) -> Result<(NetRun, Vec<NetVisit>), Failure> {
    let at: Vec<SocketAddr> =
        found.iter().zip(&fleet.linked).map(|(found, of)| SocketAddr::new(found.address, of.port)).collect();
    let run = manifest(flags, fleet, course, found);
    folder::secrets::refuse(&run)?;
    folder::make(path)?;
    let text = serde_json::to_vec_pretty(&run).map_err(|error| Failure::Command(error.to_string()))?;
    folder::write_whole(&path.join(MANIFEST), &text)?;
    let mut lines = folder::lines(path, VISITS)?;
    let all = aimed(turns(course.rounds.len(), &run.load.streams, flags.visits, course.seed), flags, course);
    let (count, mut visits) = (all.len(), Vec::new());
    for (visit, (turn, member)) in (1_u32..).zip(all) {
        let order = VisitOrder {
            visit,
            repetition: turn.repetition,
            round: turn.round,
            streams: turn.streams,
            member,
            pairs: &course.rounds[turn.round as usize],
        };
        fleet.progress.goes_on(&shown_visit((visit, count), &run.load, &order, visits.last()), visit as usize == count);
        let made = fleet.visit(&run.load, &order, &at, is_cut)?;
        if is_cut() {
            break;
        }
        lines.push(&made)?;
        visits.push(made);
        exported.into_iter().for_each(|exported| exported.tell(&run, &visits));
        fleet.progress.step(run.load.warmup_ms + run.load.duration_ms + BESIDE.as_millis() as u64);
        if fleet.there().len() < 2 {
            break;
        }
    }
    Ok((run, visits))
}

/// Why no pair of any visit has figures; none where one has.
fn nothing_measured(visits: &[NetVisit]) -> Option<String> {
    let mut pairs = visits.iter().flat_map(|visit| &visit.pairs).peekable();
    pairs.peek()?;
    let reasons: Option<Vec<&str>> = pairs.map(|pair| pair.error.as_deref()).collect();
    Some((*reasons?.first()?).to_owned())
}

/// What is done, and what the visit before gave.
fn shown_visit(
    (visit, count): (u32, usize),
    load: &NetLoad,
    order: &VisitOrder<'_>,
    before: Option<&NetVisit>,
) -> String {
    let median = before.and_then(|before| median_per_s(load, before));
    let before = median.map_or(String::new(), |rate| format!("; before: median pair {}", rate_of(load.op, rate)));
    let streams = if order.streams == 1 { "1 stream".to_owned() } else { format!("{} streams", order.streams) };
    format!("visit {visit} of {count}: {} pairs, {streams}{before}", order.pairs.len())
}

/// What is sent in each visit.
fn load(flags: &NetFlags, course: &Course, found: &[NetAddress]) -> NetLoad {
    let duration_ms = whole_ns(flags.duration) / 1_000_000;
    let is_sample = course.rounds.len() < course.all_rounds;
    NetLoad {
        op: flags.op(found.iter().any(|of| of.address.is_ipv6())),
        way: course.way,
        streams: flags.numbers_of_streams(),
        duration_ms,
        warmup_ms: whole_ns(flags.warmup) / 1_000_000,
        interval_ms: (duration_ms / INTERVALS).max(INTERVAL_MS),
        visits: flags.visits,
        send_bytes: u32::try_from(flags.send_size.0).unwrap_or(u32::MAX),
        max_bytes_per_s: flags.max_rate,
        sampled_of_rounds: is_sample.then_some(course.all_rounds as u32),
        members: flags.members.then_some(course.members),
    }
}

/// Where machines are sent to. One that was lost has none, and its number stays.
fn found_addresses(flags: &NetFlags, fleet: &LinkedFleet<'_>) -> Result<Vec<NetAddress>, Failure> {
    let there = fleet.there();
    let of = |number: &u32| &fleet.linked[*number as usize];
    let names: Vec<&str> = there.iter().map(|number| fleet.nodes[of(number).node].name.as_str()).collect();
    let machines: Vec<&[NetAddress]> = there.iter().map(|number| of(number).addresses.as_slice()).collect();
    let is_here = |number: &u32| matches!(fleet.nodes[of(number).node].reach, NodeReach::Here);
    let are_all_here = there.iter().all(is_here);
    let wish = AddressWish { network: flags.network, interface: flags.interface.as_deref(), are_all_here };
    let mut found = addresses::chosen(&names, &machines, wish).map_err(Failure::usage)?.into_iter();
    let nowhere =
        || NetAddress { interface: String::new(), address: std::net::Ipv4Addr::UNSPECIFIED.into(), prefix_bits: 32 };
    let numbers = 0..fleet.linked.len() as u32;
    Ok(numbers.map(|number| there.contains(&number).then(|| found.next()).flatten().unwrap_or_else(nowhere)).collect())
}

fn manifest(flags: &NetFlags, fleet: &LinkedFleet<'_>, course: &Course, found: &[NetAddress]) -> NetRun {
    let node = |(of, found): (&linked::Linked, &NetAddress)| NetNode {
        name: fleet.nodes[of.node].name.clone(),
        address: found.address.to_string(),
        interface: found.interface.clone(),
        machine: of.hello.machine.clone(),
    };
    let unreached = fleet
        .lost
        .iter()
        .map(|(node, lost)| format!("{} was not reached, and is in no pair: {}", fleet.nodes[*node].name, lost.why));
    let preset = (!flags.stands_for.is_empty()).then(|| format!("the preset {}", flags.stands_for));
    NetRun {
        schema: NET_SCHEMA,
        linerate: env!("CARGO_PKG_VERSION").to_owned(),
        began_unix_ms: i64::try_from(unix_base_ns(&fleet.clock) / 1_000_000).unwrap_or(0),
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        seed: course.seed,
        load: load(flags, course, found),
        asked_visits: u32::try_from(visits(flags, course)).ok(),
        nodes: fleet.linked.iter().zip(found).map(node).collect(),
        remarks: preset.into_iter().chain(unreached).collect(),
    }
}

/// The report: on standard output, and as a page in the folder.
fn shown(flags: &NetFlags, view: &NetView, path: &Path) -> Result<(), Failure> {
    let page = linerate_report::net::html(view);
    folder::write_whole(&path.join("report.html"), printing::for_file(&page).as_bytes())?;
    if flags.json {
        printing::print(&linerate_report::net::json(view))?;
    } else if !flags.quiet {
        printing::print(&linerate_report::net::text(view, printing::look(), flags.all))?;
        progress::say(&format!("the run folder is {}: see report.html in it", path.display()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_where_no_pair_has_figures_nothing_was_measured() {
        let pair = |error: Option<&str>| linerate_record::net::NetPair {
            from: 0,
            to: 1,
            error: error.map(str::to_owned),
            ..linerate_record::net::NetPair::default()
        };
        let visit = |errors: &[Option<&str>]| NetVisit {
            visit: 1,
            repetition: 1,
            round: 0,
            streams: 1,
            member: None,
            at_ms: 0,
            pairs: errors.iter().map(|error| pair(*error)).collect(),
            machines: Vec::new(),
        };
        let all = [visit(&[Some("refused"), Some("late")]), visit(&[Some("late")])];
        assert_eq!(nothing_measured(&all).as_deref(), Some("refused"));
        assert_eq!(nothing_measured(&[visit(&[Some("refused"), None])]), None);
        assert_eq!(nothing_measured(&[]), None);
    }
}
