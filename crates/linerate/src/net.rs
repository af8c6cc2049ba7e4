//! `linerate net`: what the links between machines do. Flows of all pairs in rounds, and who limited them.

mod addresses;
mod course;
mod exported;
pub(crate) mod flags;
mod foretold;
mod linked;
pub(crate) mod preset;
mod racked;
mod searched;
mod strays;
mod two;
mod ways;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use linerate_analysis::net::view::{NetView, rate_of};
use linerate_analysis::net::{NetTurn, bond_of, median_per_s, searched_on, turns, view};
use linerate_fleet::description::FleetNode;
use linerate_fleet::netting::{NetAddress, NetOrder};
use linerate_fleet::reach::NodeReach;
use linerate_record::fleet::Allowed;
use linerate_record::net::{NET_SCHEMA, NetLoad, NetNode, NetOp, NetRun, NetThrough, NetVisit};
use linerate_record::shell;
use linerate_record::units::{bits_per_s, duration_ns, whole_ns};
use linerate_wire::clock::{Clock, unix_base_ns};

use crate::draws::random;
use crate::failure::{Failure, code};
use crate::links::{MANIFEST, VISITS};
use crate::progress::{self, Progress};
use crate::reaching::{self, LedFleet};
use crate::{consent, folder, interrupt, metrics, observed, printing, served};
use addresses::AddressWish;
use course::{NetCourse, course, course_of, takes, takes_most};
use exported::ExportedLinks;
use flags::NetFlags;
use linked::{LinkedFleet, VisitOrder};
use two::FarHost;
use ways::FoundAddresses;

/// Intervals of a visit, at the most: finer ones say no more of a mean.
const INTERVALS: u64 = 50;

/// Shortest interval, in milliseconds: some scheduler's turns.
const INTERVAL_MS: u64 = 50;

/// What a round takes besides its flows: all are made, begin together, and are told.
const BESIDE: Duration = Duration::from_millis(500);

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
    for test in tests {
        let name = test.stands_for.split(' ').next().unwrap_or_default();
        test.check_op().map_err(|why| Failure::usage(format!("{name}: {why}")))?;
    }
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
    let of_file = of_file(flags)?;
    refuse_secrets(flags, &of_file)?;
    if let Some(path) = &flags.output {
        folder::require_free(path)?;
    }
    flags.into.as_deref().map_or(Ok(()), |into| observed::check(into, flags.plane))?;
    let metrics = flags.metrics.map(metrics::bind).transpose()?;
    let seed = flags.seed.map_or_else(drawn_seed, Ok)?;
    let all: Vec<&FleetNode> = of_file.iter().collect();
    let course = course(flags, &all, seed)?;
    ways::check(flags, &all, &course.legs)?;
    if flags.dry_run {
        printing::print(&foretold::foretold(flags, &course, &all))?;
        return Ok(ExitCode::SUCCESS);
    }
    let token = flags.host.as_ref().map(|_| served::told(flags.token_file.as_deref())).transpose()?;
    reaching::consent_to_commands(&of_file, flags.yes_exec)?;
    consent_to_load(flags, &of_file, &course)?;
    let (nodes, far) = match flags.host.as_ref().zip(token) {
        Some((host, token)) => {
            let far = host.found()?;
            (two::nodes(host, Some((far, &token))), Some(far))
        }
        None => (of_file, None),
    };
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
    let order =
        NetOrder { token: served::drawn()?.to_hex(), own: 0, port: flags.port.unwrap_or(0), threads: flags.threads };
    fleet.meet(&order, &is_cut)?;
    let (course, found) = settled(flags, &fleet, (course, far))?;
    fleet.progress.expects(takes(flags, &course));
    let measured = (&course, &found, path.as_path(), exported.as_ref());
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

/// The machines of the fleet file, or this one and the one that is named.
fn of_file(flags: &NetFlags) -> Result<Vec<FleetNode>, Failure> {
    let Some(path) = &flags.fleet else {
        return Ok(flags.host.iter().flat_map(|host| two::nodes(host, None)).collect());
    };
    let nodes = reaching::read_fleet(path)?;
    if nodes.len() < 2 {
        let (path, count) = (path.display(), nodes.len());
        return Err(Failure::usage(format!("{path}: a fleet of {count} has no link: list two machines or more")));
    }
    flags.reach.check(&nodes, path)?;
    Ok(nodes)
}

/// Refuses what the run folder would keep where it holds a secret in use. Its command line has all flags.
fn refuse_secrets(flags: &NetFlags, nodes: &[FleetNode]) -> Result<(), Failure> {
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let reach = &flags.reach;
    let shown = |path: &Option<PathBuf>| path.as_ref().map(|path| path.to_string_lossy().into_owned());
    let binary: Vec<String> = reach.binary.iter().map(ToString::to_string).collect();
    folder::secrets::refuse(&serde_json::json!({
        "become": reach.become_by.as_ref().map(ToString::to_string),
        "binary": binary,
        "fleet": [shown(&flags.fleet), Some(names.join(" "))],
        "host": flags.host.as_ref().map(|host| &host.authority),
        "interface": flags.interface,
        "into": shown(&flags.into),
        "output": shown(&flags.output),
        "site": shown(&flags.site),
        "token_file": shown(&flags.token_file),
    }))
}

fn drawn_seed() -> Result<u64, Failure> {
    random::<8>().map(u64::from_ne_bytes)
}

/// The course of the machines that are there, and where they are sent to.
fn settled(
    flags: &NetFlags,
    fleet: &LinkedFleet<'_>,
    (course, far): (NetCourse, Option<SocketAddr>),
) -> Result<(NetCourse, FoundAddresses), Failure> {
    let of: Vec<&FleetNode> = fleet.linked.iter().map(|linked| &fleet.nodes[linked.node]).collect();
    let course = if of.len() == fleet.nodes.len() { course } else { course_of(flags, &of, course.seed)? };
    let own = found_addresses(flags, fleet, far)?;
    let found = FoundAddresses { second: ways::second(flags, fleet, &own)?, own };
    let has = |through, to: u32| match through {
        NetThrough::Second => found.second.get(to as usize).is_some_and(Option::is_some),
        through => ways::has_way(flags, &of, (through, to)),
    };
    let legs = ways::legs(&course.rounds, has);
    let members = members(flags, fleet, &found.own)?;
    Ok((NetCourse { members, legs, ..course }, found))
}

/// Links of other machines are filled only with consent.
fn consent_to_load(flags: &NetFlags, nodes: &[FleetNode], course: &NetCourse) -> Result<(), Failure> {
    let is_here = |node: &FleetNode| matches!(node.reach, NodeReach::Here | NodeReach::Netns(_) | NodeReach::Pid(_));
    let are_all_here = flags.host.as_ref().map_or_else(|| nodes.iter().all(is_here), FarHost::is_here);
    if flags.yes_load || are_all_here {
        return Ok(());
    }
    let who = match &flags.host {
        Some(host) => format!("this machine and {}", host.name),
        None => format!("{} machines", nodes.len()),
    };
    let rate = match flags.max_rate {
        Some(most) => format!("at up to {} a pair", bits_per_s(8.0 * most)),
        None if flags.op(false) == NetOp::Mtu => "a datagram each few milliseconds".to_owned(),
        None => "as fast as they can".to_owned(),
    };
    let longer = if flags.members {
        format!(
            " (longer where bonds have more than two members, and by up to {} where streams stray)",
            duration_ns(whole_ns(strays::takes(flags)) as f64)
        )
    } else {
        String::new()
    };
    let sooner =
        if searched::is_search(flags.wished_streams()) { ", or less, once more streams give no more" } else { "" };
    let what = format!(
        "{who} send to each other for {}{longer}{sooner}, {rate}",
        duration_ns(whole_ns(takes_most(flags, course)) as f64)
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
fn aimed(all: Vec<NetTurn>, flags: &NetFlags, course: &NetCourse) -> Vec<(NetTurn, Option<u32>)> {
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

/// Makes all visits, as far as nobody ends them; of a search, step by step.
fn measure(
    flags: &NetFlags,
    fleet: &mut LinkedFleet<'_>,
    (course, found, path, exported): (&NetCourse, &FoundAddresses, &Path, Option<&ExportedLinks>),
    is_cut: &dyn Fn() -> bool,
) -> Result<(NetRun, Vec<NetVisit>), Failure> {
    let at: BTreeMap<NetThrough, Vec<SocketAddr>> =
        NetThrough::ALL.into_iter().map(|through| (through, ways::at(fleet, found, through))).collect();
    let mut run = manifest(flags, fleet, course, found);
    folder::secrets::refuse(&run)?;
    folder::make(path)?;
    write_manifest(path, &run)?;
    let mut lines = folder::lines(path, VISITS)?;
    let (mut visits, mut rounds_left, mut streams) = (Vec::new(), strays::ROUNDS_OF_RUN, run.load.streams.clone());
    for step in 0..searched::steps(flags.wished_streams()) {
        let rounds = course.legs.len();
        let of_step = if run.load.is_searched {
            searched::turns_of(rounds, &streams, flags.visits, (course.seed, step))
        } else {
            turns(rounds, &streams, flags.visits, course.seed)
        };
        let of_step = aimed(of_step, flags, course);
        let count = visits.len() + of_step.len();
        for (turn, member) in of_step {
            let visit = u32::try_from(visits.len() + 1).unwrap_or(u32::MAX);
            let order = order_of(course, turn, (visit, member));
            let shown = shown_visit((visit, count), &run.load, &order, visits.last());
            fleet.progress.goes_on(&shown, visit as usize == count);
            let mut made = fleet.visit(&run.load, &order, &at[&order.through], is_cut)?;
            if is_cut() {
                return Ok((run, visits));
            }
            if member.is_some() {
                strays::name(fleet, (&run, &mut made), &order, (&at[&order.through], &mut rounds_left), is_cut)?;
            }
            lines.push(&made)?;
            visits.push(made);
            exported.into_iter().for_each(|exported| exported.tell(&run, &visits));
            fleet.progress.step(run.load.warmup_ms + run.load.duration_ms + BESIDE.as_millis() as u64);
            if fleet.there().len() < 2 {
                return Ok((run, visits));
            }
        }
        let Some(next) = run.load.is_searched.then(|| searched_on(&run, &visits).ok()).flatten() else { break };
        streams = next.to_vec();
        run.load.streams.push(next[1]);
        run.asked_visits = u32::try_from(visits.len() + course::visits(flags, course)).ok();
        // A folder has no visit that its manifest does not know, whenever this ends.
        write_manifest(path, &run)?;
        fleet.progress.expects(takes(flags, course) * (step + 2));
    }
    Ok((run, visits))
}

fn write_manifest(path: &Path, run: &NetRun) -> Result<(), Failure> {
    let text = serde_json::to_vec_pretty(run).map_err(|error| Failure::Command(error.to_string()))?;
    folder::write_whole(&path.join(MANIFEST), &text)
}

fn order_of(course: &NetCourse, turn: NetTurn, (visit, member): (u32, Option<u32>)) -> VisitOrder<'_> {
    let leg = &course.legs[turn.round as usize];
    VisitOrder {
        visit,
        repetition: turn.repetition,
        round: turn.round,
        streams: turn.streams,
        member,
        through: leg.through,
        pairs: &leg.pairs,
        ports: &[],
    }
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
    let some = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let (pairs, streams) = (some(order.pairs.len(), "pair"), some(order.streams as usize, "stream"));
    format!("visit {visit} of {count}: {pairs}, {streams}{before}")
}

/// What is sent in each visit.
fn load(flags: &NetFlags, course: &NetCourse, found: &[NetAddress]) -> NetLoad {
    let duration_ms = whole_ns(flags.duration) / 1_000_000;
    let is_sample = course.rounds.len() < course.all_rounds;
    NetLoad {
        op: flags.op(found.iter().any(|of| of.address.is_ipv6())),
        way: course.way,
        streams: flags.numbers_of_streams(),
        is_searched: searched::is_search(flags.wished_streams()),
        duration_ms,
        warmup_ms: whole_ns(flags.warmup) / 1_000_000,
        interval_ms: (duration_ms / INTERVALS).max(INTERVAL_MS),
        visits: flags.visits,
        send_bytes: u32::try_from(flags.send_size.0).unwrap_or(u32::MAX),
        max_bytes_per_s: flags.max_rate,
        offloads: flags.offloads(),
        sampled_of_rounds: is_sample.then(|| u32::try_from(course.all_rounds).unwrap_or(u32::MAX)),
        members: flags.members.then_some(course.members),
    }
}

/// Where machines are sent to. One that was lost has none, and its number stays. `far` is where the other one of two
/// machines is reached.
fn found_addresses(
    flags: &NetFlags,
    fleet: &LinkedFleet<'_>,
    far: Option<SocketAddr>,
) -> Result<Vec<NetAddress>, Failure> {
    let there = fleet.there();
    let of = |number: &u32| &fleet.linked[*number as usize];
    let names: Vec<&str> = there.iter().map(|number| fleet.nodes[of(number).node].name.as_str()).collect();
    let machines: Vec<&[NetAddress]> = there.iter().map(|number| of(number).addresses.as_slice()).collect();
    let is_here = |number: &u32| match &fleet.nodes[of(number).node].reach {
        NodeReach::Here => true,
        NodeReach::Served(place) => place.address.ip().is_loopback(),
        _ => false,
    };
    let are_all_here = there.iter().all(is_here);
    let wish = AddressWish { networks: &flags.network, interface: flags.interface.as_deref(), are_all_here };
    let found = match far.filter(|_| wish.networks.is_empty() && wish.interface.is_none()) {
        Some(far) => two::ends(far, &machines),
        None => addresses::chosen(&names, &machines, wish),
    };
    let mut found = found.map_err(Failure::usage)?.into_iter();
    let nowhere =
        || NetAddress { interface: String::new(), address: std::net::Ipv4Addr::UNSPECIFIED.into(), prefix_bits: 32 };
    let numbers = 0..fleet.linked.len() as u32;
    Ok(numbers.map(|number| there.contains(&number).then(|| found.next()).flatten().unwrap_or_else(nowhere)).collect())
}

fn manifest(flags: &NetFlags, fleet: &LinkedFleet<'_>, course: &NetCourse, found: &FoundAddresses) -> NetRun {
    let all: Vec<&FleetNode> = fleet.linked.iter().map(|of| &fleet.nodes[of.node]).collect();
    let are_placed = ways::are_placed(flags, &all);
    let node = |((of, own), second): ((&linked::Linked, &NetAddress), &Option<NetAddress>)| NetNode {
        name: fleet.nodes[of.node].name.clone(),
        address: own.address.to_string(),
        interface: own.interface.clone(),
        machine: of.hello.machine.clone(),
        place: are_placed.then(|| ways::place(&fleet.nodes[of.node], second.as_ref())),
        rack: fleet.nodes[of.node].rack.clone(),
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
        load: load(flags, course, &found.own),
        asked_visits: u32::try_from(course::visits(flags, course)).ok(),
        nodes: fleet.linked.iter().zip(&found.own).zip(&found.second).map(node).collect(),
        against: flags.against(),
        stated_oversubscription: course.stated,
        bonds_by_model: course.bonds_by_model.clone(),
        remarks: preset.into_iter().chain(unreached).chain(ways::left_out(flags, &all)).collect(),
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
            through: NetThrough::Direct,
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
