//! `linerate net`: what the links between machines do. Flows of all pairs in rounds, and who limited them.

mod addresses;
mod dry_run;
pub(crate) mod flags;
mod host_pair;
mod net_fleet;
mod net_metrics;
pub(crate) mod preset;
mod racks;
mod routes;
mod schedule;
mod stray_streams;
mod stream_search;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use linerate_analysis::net::view::{NetView, rate_in_words};
use linerate_analysis::net::{NetVisitPlan, bond_under, median_per_s, searched_on, turns, view};
use linerate_fleet::description::FleetNode;
use linerate_fleet::net_protocol::{NetAddress, NetOrder};
use linerate_fleet::node_reach::NodeReach;
use linerate_record::fleet::{Allowed, UnreachedNode};
use linerate_record::net::{NET_SCHEMA, NetLoad, NetNode, NetOp, NetRoute, NetRun, NetVisit};
use linerate_record::shell;
use linerate_record::units::{bits_per_s, duration_ns, whole_ns};
use linerate_wire::clock::{Clock, unix_base_ns};

use crate::files::net_folder::{MANIFEST, VISITS};
use crate::files::{run_folder, site_update};
use crate::remote::net_token;
use crate::remote::node_access::{self, Coordinator, unreached_in_words};
use crate::run::random_bytes::random_bytes;
use crate::run::{consent, interrupt, metrics};
use crate::terminal::failure::{Failure, code};
use crate::terminal::printing;
use crate::terminal::progress::{self, Progress};
use addresses::AddressChoice;
use flags::NetFlags;
use host_pair::RemoteHost;
use net_fleet::{NetFleet, VisitOrder};
use net_metrics::NetMetrics;
use routes::FoundAddresses;
use schedule::{NetSchedule, duration_max, duration_min, schedule, schedule_of_present};

/// Intervals of a visit, at the most: finer ones say no more of a mean.
const INTERVALS: u64 = 50;

/// Shortest interval, in milliseconds: some scheduler's turns.
const INTERVAL_MS: u64 = 50;

/// What a round takes besides its flows: all are made, begin together, and are told.
const OVERHEAD: Duration = Duration::from_millis(500);

/// Measures; of a preset each of its tests in turn, up to the first that fails.
pub(crate) fn run(flags: &NetFlags) -> Result<ExitCode, Failure> {
    let tests = flags.tests.as_slice();
    if tests.len() < 2 {
        return run_test(tests.first().unwrap_or(flags));
    }
    if flags.json {
        let why = "--json prints one report, and this preset has several: name one of its tests, such as";
        return Err(Failure::usage(format!("{why} --preset source-002-a")));
    }
    for test in tests {
        let name = test.stands_for.split(' ').next().unwrap_or_default();
        test.check_combinations().map_err(|why| Failure::usage(format!("{name}: {why}")))?;
    }
    for test in tests {
        if !flags.quiet && !flags.dry_run {
            progress::print_error(&test.stands_for);
        }
        run_test(test)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn run_test(flags: &NetFlags) -> Result<ExitCode, Failure> {
    flags.check_combinations().map_err(Failure::usage)?;
    let of_file = read_nodes(flags)?;
    refuse_secrets(flags, &of_file)?;
    if let Some(path) = &flags.output {
        run_folder::require_free(path)?;
    }
    flags.into.as_deref().map_or(Ok(()), |into| site_update::check(into, flags.plane))?;
    let metrics = flags.metrics.map(metrics::bind).transpose()?;
    let seed = flags.seed.map_or_else(drawn_seed, Ok)?;
    let all: Vec<&FleetNode> = of_file.iter().collect();
    let schedule = schedule(flags, &all, seed)?;
    routes::check(flags, &all, &schedule.routed_rounds)?;
    if flags.dry_run {
        printing::print(&dry_run::dry_run_text(flags, &schedule, &all))?;
        return Ok(ExitCode::SUCCESS);
    }
    let token = flags.host.as_ref().map(|_| net_token::find_token(flags.token_file.as_deref())).transpose()?;
    node_access::consent_to_commands(&of_file, flags.yes_exec)?;
    consent_to_load(flags, &of_file, &schedule)?;
    let (nodes, far) = match flags.host.as_ref().zip(token) {
        Some((host, token)) => {
            let far = host.found()?;
            (host_pair::both_nodes(host, Some((far, &token))), Some(far))
        }
        None => (of_file, None),
    };
    let path = choose_folder(flags)?;
    let interrupt = interrupt::watch_signals("error: interrupted again: agents end by themselves".to_owned())?;
    let net_metrics = metrics.map(|listener| NetMetrics::start(listener, flags.quiet)).transpose()?;
    let clock = Clock::start();
    let coordinator = Coordinator::start(&nodes, &flags.reach, clock, &interrupt.stop, Allowed::Load)?;
    let progress = Progress::new(duration_min(flags, &schedule), flags.quiet || flags.json);
    let mut fleet = NetFleet {
        coordinator,
        nodes: &nodes,
        clock,
        progress,
        lost: Default::default(),
        linked: Vec::new(),
        point: 0,
    };
    let is_cut = || interrupt::is_set(&interrupt.stop);
    let order = NetOrder {
        token: net_token::random_token()?.to_hex(),
        own: 0,
        port: flags.port.unwrap_or(0),
        threads: flags.threads,
    };
    fleet.meet(&order, &is_cut)?;
    let (schedule, found) = settle_schedule(flags, &fleet, schedule, far)?;
    fleet.progress.expects(duration_min(flags, &schedule));
    let (run, visits) = make_visits(flags, &mut fleet, &schedule, &found, &path, net_metrics.as_ref(), &is_cut)?;
    drop(net_metrics);
    fleet.progress.end();
    let lost = fleet.lost.len();
    let reasons = fleet.reasons();
    drop(fleet);
    let said = view(&run, &visits);
    show_report(flags, &said, &path)?;
    if is_cut() {
        let why = format!("interrupted: measured so far; see linerate report {}", shell::path(&path));
        return Err(Failure::Outcome { why, code: code::INTERRUPTED });
    }
    if let Some(why) = no_figures_reason(&visits) {
        return Err(Failure::Outcome { why: format!("no pair has figures: {why}{reasons}"), code: code::TARGET });
    }
    if let Some(into) = &flags.into {
        let changed = site_update::write(&said, into, flags.plane, false)?;
        if !flags.quiet && !changed.is_empty() {
            progress::print_error(changed.trim_end());
        }
    }
    if lost > 0 {
        let why = format!("{lost} of {} machines were not reached or lost:{reasons}", nodes.len());
        return Err(Failure::Outcome { why, code: code::TARGET });
    }
    Ok(ExitCode::SUCCESS)
}

/// The folder of the run: the one that is named, or one that nothing is in.
fn choose_folder(flags: &NetFlags) -> Result<PathBuf, Failure> {
    let path = match &flags.output {
        Some(path) => path.clone(),
        None => run_folder::unused_folder(&format!("{}-net", jiff::Zoned::now().strftime("%m%d-%H%M")))?.1,
    };
    run_folder::require_free(&path)?;
    Ok(path)
}

/// The machines of the fleet file, or this one and the one that is named.
fn read_nodes(flags: &NetFlags) -> Result<Vec<FleetNode>, Failure> {
    let Some(path) = &flags.fleet else {
        return Ok(flags.host.iter().flat_map(|host| host_pair::both_nodes(host, None)).collect());
    };
    let nodes = node_access::read_fleet(path)?;
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
    let path_text = |path: &Option<PathBuf>| path.as_ref().map(|path| path.to_string_lossy().into_owned());
    let binary: Vec<String> = reach.binary.iter().map(ToString::to_string).collect();
    run_folder::secret_check::refuse_secret(&serde_json::json!({
        "become": reach.become_by.as_ref().map(ToString::to_string),
        "binary": binary,
        "fleet": [path_text(&flags.fleet), Some(names.join(" "))],
        "host": flags.host.as_ref().map(|host| &host.authority),
        "interface": flags.interface,
        "into": path_text(&flags.into),
        "output": path_text(&flags.output),
        "site": path_text(&flags.site),
        "token_file": path_text(&flags.token_file),
    }))
}

fn drawn_seed() -> Result<u64, Failure> {
    random_bytes::<8>().map(u64::from_ne_bytes)
}

/// The course of the machines that are there, and where they are sent to.
fn settle_schedule(
    flags: &NetFlags,
    fleet: &NetFleet<'_>,
    schedule: NetSchedule,
    far: Option<SocketAddr>,
) -> Result<(NetSchedule, FoundAddresses), Failure> {
    let machines: Vec<&FleetNode> = fleet.linked.iter().map(|linked| &fleet.nodes[linked.node]).collect();
    let schedule = if machines.len() == fleet.nodes.len() {
        schedule
    } else {
        schedule_of_present(flags, &machines, schedule.seed)?
    };
    let own = found_addresses(flags, fleet, far)?;
    let found = FoundAddresses { second: routes::second_addresses(flags, fleet, &own)?, own };
    let has = |through, to: u32| match through {
        NetRoute::Second => found.second.get(to as usize).is_some_and(Option::is_some),
        through => routes::has_route(flags, &machines, through, to),
    };
    let routed_rounds = routes::routed_rounds(&schedule.rounds, has);
    let members = aimed_members(flags, fleet, &found.own)?;
    Ok((NetSchedule { members, routed_rounds, ..schedule }, found))
}

/// Links of other machines are filled only with consent.
fn consent_to_load(flags: &NetFlags, nodes: &[FleetNode], schedule: &NetSchedule) -> Result<(), Failure> {
    let is_here = |node: &FleetNode| matches!(node.reach, NodeReach::Here | NodeReach::Netns(_) | NodeReach::Pid(_));
    let are_all_here = flags.host.as_ref().map_or_else(|| nodes.iter().all(is_here), RemoteHost::is_here);
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
            duration_ns(whole_ns(stray_streams::duration_min(flags)) as f64)
        )
    } else {
        String::new()
    };
    let sooner =
        if stream_search::is_search(flags.chosen_streams()) { ", or less, once more streams give no more" } else { "" };
    let what = format!(
        "{who} send to each other for {}{longer}{sooner}, {rate}",
        duration_ns(whole_ns(duration_max(flags, schedule)) as f64)
    );
    consent::ask_or_refuse(
        &what,
        "Others who use these links will be affected.",
        "give --yes-load to consent, and --max-rate to cap it",
    )
}

/// Most members that are aimed at in turn: a machine that names more does not make a run longer than was consented to.
const AIMED_MEMBERS_MAX: usize = 8;

/// At how many members of bonds streams are aimed in turn: as many as the machine has that has the most.
fn aimed_members(flags: &NetFlags, fleet: &NetFleet<'_>, found: &[NetAddress]) -> Result<u32, Failure> {
    if !flags.members {
        return Ok(1);
    }
    let member_count = |(member_count, found): (&net_fleet::LinkedMachine, &NetAddress)| {
        bond_under(&member_count.hello.machine, &found.interface).map(|(_, bond)| bond.members.len())
    };
    let most = fleet.linked.iter().zip(found).filter_map(member_count).max().unwrap_or(0).min(AIMED_MEMBERS_MAX);
    if most == 0 {
        let why = "--members: no machine has a bond below the address that is sent to: leave it out, or name the \
                   bond with --interface";
        return Err(Failure::usage(why.to_owned()));
    }
    Ok(u32::try_from(most).unwrap_or(1))
}

/// Visits with the member at which each aims its streams, where they do. Each is a repetition of its own.
fn visits_by_member(
    all: Vec<NetVisitPlan>,
    flags: &NetFlags,
    schedule: &NetSchedule,
) -> Vec<(NetVisitPlan, Option<u32>)> {
    if !flags.members {
        return all.into_iter().map(|turn| (turn, None)).collect();
    }
    let members = schedule.members;
    let each = |turn: NetVisitPlan| {
        (0..members).map(move |step| {
            // Not always the same one first.
            let member = (step + turn.repetition + turn.round) % members;
            let repetition = (turn.repetition - 1) * members + member + 1;
            (NetVisitPlan { repetition, ..turn }, Some(member))
        })
    };
    all.into_iter().flat_map(each).collect()
}

/// Makes all visits, as far as nobody ends them; of a search, step by step.
fn make_visits(
    flags: &NetFlags,
    fleet: &mut NetFleet<'_>,
    schedule: &NetSchedule,
    found: &FoundAddresses,
    path: &Path,
    net_metrics: Option<&NetMetrics>,
    is_cut: &dyn Fn() -> bool,
) -> Result<(NetRun, Vec<NetVisit>), Failure> {
    let at: BTreeMap<NetRoute, Vec<SocketAddr>> =
        NetRoute::ALL.into_iter().map(|through| (through, routes::addresses_by_route(fleet, found, through))).collect();
    let mut run = net_manifest(flags, fleet, schedule, found);
    run_folder::secret_check::refuse_secret(&run)?;
    run_folder::create_folder(path)?;
    write_manifest(path, &run)?;
    let mut lines = run_folder::open_lines(path, VISITS)?;
    let (mut visits, mut rounds_left, mut streams) =
        (Vec::new(), stray_streams::RESENT_ROUNDS_MAX, run.load.streams.clone());
    for step in 0..stream_search::search_steps(flags.chosen_streams()) {
        let rounds = schedule.routed_rounds.len();
        let step_turns = if run.load.is_searched {
            stream_search::step_turns(rounds, &streams, flags.visits, schedule.seed, step)
        } else {
            turns(rounds, &streams, flags.visits, schedule.seed)
        };
        let step_turns = visits_by_member(step_turns, flags, schedule);
        let count = visits.len() + step_turns.len();
        for (turn, member) in step_turns {
            let visit = u32::try_from(visits.len() + 1).unwrap_or(u32::MAX);
            let order = visit_order(schedule, turn, visit, member);
            let shown = visit_progress(count, &run.load, &order, visits.last());
            fleet.progress.goes_on(&shown, visit as usize == count);
            let mut made = fleet.visit(&run.load, &order, &at[&order.through], is_cut)?;
            if is_cut() {
                return Ok((run, visits));
            }
            if member.is_some() {
                stray_streams::name_stray_streams(
                    fleet,
                    &run,
                    &mut made,
                    &order,
                    &at[&order.through],
                    &mut rounds_left,
                    is_cut,
                )?;
            }
            lines.push(&made)?;
            visits.push(made);
            net_metrics.into_iter().for_each(|net_metrics| net_metrics.tell(&run, &visits));
            fleet.progress.step(run.load.warmup_ms + run.load.duration_ms + OVERHEAD.as_millis() as u64);
            if fleet.present_numbers().len() < 2 {
                return Ok((run, visits));
            }
        }
        let Some(next) = run.load.is_searched.then(|| searched_on(&run, &visits).ok()).flatten() else { break };
        streams = next.to_vec();
        run.load.streams.push(next[1]);
        run.requested_visits = u32::try_from(visits.len() + schedule::visit_count(flags, schedule)).ok();
        // A folder has no visit that its manifest does not know, whenever this ends.
        write_manifest(path, &run)?;
        fleet.progress.expects(duration_min(flags, schedule) * (step + 2));
    }
    Ok((run, visits))
}

fn write_manifest(path: &Path, run: &NetRun) -> Result<(), Failure> {
    let text = serde_json::to_vec_pretty(run).map_err(|error| Failure::Command(error.to_string()))?;
    run_folder::write_atomically(&path.join(MANIFEST), &text)
}

fn visit_order(schedule: &NetSchedule, turn: NetVisitPlan, visit: u32, member: Option<u32>) -> VisitOrder<'_> {
    let leg = &schedule.routed_rounds[turn.round as usize];
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
fn no_figures_reason(visits: &[NetVisit]) -> Option<String> {
    let mut pairs = visits.iter().flat_map(|visit| &visit.pairs).peekable();
    pairs.peek()?;
    let reasons: Option<Vec<&str>> = pairs.map(|pair| pair.error.as_deref()).collect();
    Some((*reasons?.first()?).to_owned())
}

/// Which visit of `count` is made, and what the one before gave.
fn visit_progress(count: usize, load: &NetLoad, order: &VisitOrder<'_>, before: Option<&NetVisit>) -> String {
    let median = before.and_then(|before| median_per_s(load, before));
    let before = median.map_or(String::new(), |rate| format!("; before: median pair {}", rate_in_words(load.op, rate)));
    let some = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let (pairs, streams) = (some(order.pairs.len(), "pair"), some(order.streams as usize, "stream"));
    format!("visit {} of {count}: {pairs}, {streams}{before}", order.visit)
}

/// What is sent in each visit.
fn net_load(flags: &NetFlags, schedule: &NetSchedule, found: &[NetAddress]) -> NetLoad {
    let duration_ms = whole_ns(flags.duration) / 1_000_000;
    let is_sample = schedule.rounds.len() < schedule.all_rounds;
    NetLoad {
        op: flags.op(found.iter().any(|of| of.address.is_ipv6())),
        way: schedule.way,
        streams: flags.stream_counts(),
        is_searched: stream_search::is_search(flags.chosen_streams()),
        duration_ms,
        warmup_ms: whole_ns(flags.warmup) / 1_000_000,
        interval_ms: (duration_ms / INTERVALS).max(INTERVAL_MS),
        visits: flags.visits,
        send_bytes: u32::try_from(flags.send_size.0).unwrap_or(u32::MAX),
        max_bytes_per_s: flags.max_rate,
        offloads: flags.offloads(),
        sampled_of_rounds: is_sample.then(|| u32::try_from(schedule.all_rounds).unwrap_or(u32::MAX)),
        members: flags.members.then_some(schedule.members),
    }
}

/// Where machines are sent to. One that was lost has none, and its number stays. `far` is where the other one of two
/// machines is reached.
fn found_addresses(
    flags: &NetFlags,
    fleet: &NetFleet<'_>,
    far: Option<SocketAddr>,
) -> Result<Vec<NetAddress>, Failure> {
    let present_numbers = fleet.present_numbers();
    let machine_of = |number: &u32| &fleet.linked[*number as usize];
    let names: Vec<&str> =
        present_numbers.iter().map(|number| fleet.nodes[machine_of(number).node].name.as_str()).collect();
    let machines: Vec<&[NetAddress]> =
        present_numbers.iter().map(|number| machine_of(number).addresses.as_slice()).collect();
    let is_here = |number: &u32| match &fleet.nodes[machine_of(number).node].reach {
        NodeReach::Here => true,
        NodeReach::Served(place) => place.address.ip().is_loopback(),
        _ => false,
    };
    let are_all_here = present_numbers.iter().all(is_here);
    let wish = AddressChoice { networks: &flags.network, interface: flags.interface.as_deref(), are_all_here };
    let found = match far.filter(|_| wish.networks.is_empty() && wish.interface.is_none()) {
        Some(far) => host_pair::both_addresses(far, &machines),
        None => addresses::choose_addresses(&names, &machines, wish),
    };
    let mut found = found.map_err(Failure::usage)?.into_iter();
    let nowhere =
        || NetAddress { interface: String::new(), address: std::net::Ipv4Addr::UNSPECIFIED.into(), prefix_bits: 32 };
    let numbers = 0..fleet.linked.len() as u32;
    Ok(numbers
        .map(|number| present_numbers.contains(&number).then(|| found.next()).flatten().unwrap_or_else(nowhere))
        .collect())
}

fn net_manifest(flags: &NetFlags, fleet: &NetFleet<'_>, schedule: &NetSchedule, found: &FoundAddresses) -> NetRun {
    let all: Vec<&FleetNode> = fleet.linked.iter().map(|of| &fleet.nodes[of.node]).collect();
    let depends_on_placement = routes::depends_on_placement(flags, &all);
    let node = |((of, own), second): ((&net_fleet::LinkedMachine, &NetAddress), &Option<NetAddress>)| NetNode {
        name: fleet.nodes[of.node].name.clone(),
        address: own.address.to_string(),
        interface: own.interface.clone(),
        machine: of.hello.machine.clone(),
        place: depends_on_placement.then(|| routes::net_place(&fleet.nodes[of.node], second.as_ref())),
        rack: fleet.nodes[of.node].rack.clone(),
    };
    let unremedied = |lost: &UnreachedNode| UnreachedNode { remedy: String::new(), ..lost.clone() };
    let lost: Vec<_> = fleet.lost.iter().map(|(node, lost)| (&fleet.nodes[*node], unremedied(lost))).collect();
    let unreached = unreached_in_words(lost.iter().map(|(node, lost)| (*node, lost)));
    let unreached = unreached.into_iter().map(|reason| format!("not reached, and in no pair: {reason}"));
    let preset = (!flags.stands_for.is_empty()).then(|| format!("the preset {}", flags.stands_for));
    NetRun {
        schema: NET_SCHEMA,
        linerate: env!("CARGO_PKG_VERSION").to_owned(),
        began_unix_ms: i64::try_from(unix_base_ns(&fleet.clock) / 1_000_000).unwrap_or(0),
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        seed: schedule.seed,
        load: net_load(flags, schedule, &found.own),
        requested_visits: u32::try_from(schedule::visit_count(flags, schedule)).ok(),
        nodes: fleet.linked.iter().zip(&found.own).zip(&found.second).map(node).collect(),
        against: flags.against(),
        stated_oversubscription: schedule.stated_oversubscription,
        bonds_by_model: schedule.bonds_by_model.clone(),
        remarks: preset.into_iter().chain(unreached).chain(routes::omitted_routes_text(flags, &all)).collect(),
    }
}

/// The report: on standard output, and as a page in the folder.
fn show_report(flags: &NetFlags, view: &NetView, path: &Path) -> Result<(), Failure> {
    let page = linerate_report::net::html(view);
    run_folder::write_atomically(&path.join("report.html"), printing::text_for_file(&page).as_bytes())?;
    if flags.json {
        printing::print(&linerate_report::net::json(view))?;
    } else if !flags.quiet {
        printing::print(&linerate_report::net::text(view, printing::text_style(), flags.all))?;
        progress::print_error(&format!("the run folder is {}: see report.html in it", path.display()));
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
            through: NetRoute::Direct,
            at_ms: 0,
            pairs: errors.iter().map(|error| pair(*error)).collect(),
            machines: Vec::new(),
        };
        let all = [visit(&[Some("refused"), Some("late")]), visit(&[Some("late")])];
        assert_eq!(no_figures_reason(&all).as_deref(), Some("refused"));
        assert_eq!(no_figures_reason(&[visit(&[Some("refused"), None])]), None);
        assert_eq!(no_figures_reason(&[]), None);
    }
}
