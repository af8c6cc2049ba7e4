//! Real servers and network namespaces: `make test-system`, as root. What is missing skips by name, unless
//! `LINERATE_NO_SKIP` says that nothing may.

mod confined;
mod judged;
#[expect(dead_code, reason = "other tests use the rest")]
mod running;
mod system_parts;

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use linerate_analysis::view::View;
use linerate_record::finding::FindingKind;
use linerate_record::run::Op;
use running::{bench_with, has_a_latency_of_each_request, points, shown, verify, view};
use system_parts::{
    Minio, Namespaces, accepted, audited, booted, booted_clock, booted_fleet, confined as read_only, contained,
    discovered, elsewhere, ends, experiment, exported, fleet_buffers, fleet_changed, fleet_moments, fleet_network,
    kubernetes, lab, lab_booted, lab_killed, linked, live_cost, longest, looked_at, missing, net_bonds, pods, reached,
    released, renamed, resolved, scopes, shaped_cluster, sockets, there_and_back, tune, unwatched, watched,
    watched_bond, watched_live,
};
use tempfile::tempdir;

type Check = fn() -> Result<(), Failed>;

/// The name of a check, what it needs, and the check.
type NamedCheck = (&'static str, &'static [&'static str], Check);

/// What a cluster of network namespaces needs.
const CLUSTER: &[&str] =
    &["MinIO", "root", "ip", "tc", "unshare", "nsenter", "curl", "ethtool", "losetup", "mkfs.ext4"];

/// The same with a Prometheus that watches.
const RECORDED: &[&str] =
    &["MinIO", "Prometheus", "root", "ip", "tc", "unshare", "nsenter", "curl", "ethtool", "losetup", "mkfs.ext4"];

/// What a virtual machine needs in which systemd is the first process.
const MACHINE: &[&str] =
    &["a kernel to boot", "qemu-system-x86_64", "systemd-run", "busybox", "flock", "cpio", "timeout"];

/// What one needs with modules of its kernel and devices.
const MODULAR_MACHINE: &[&str] =
    &["a kernel to boot", "root", "qemu-system-x86_64", "busybox", "cpio", "timeout", "ip", "tc", "ethtool", "unshare"];

/// A check of loads and changes while the clock is set.
const CLOCK: (&str, &[&str], Check) =
    ("booted_steps_of_the_clock_move_no_figure_and_no_deadline", MACHINE, booted_clock::stepped);

/// A check of streams over real bonds.
const BONDS: (&str, &[&str], Check) =
    ("booted_streams_leave_by_the_member_that_is_predicted", MODULAR_MACHINE, net_bonds::predicted_is_carried);

/// A check of arms on all nodes of a cluster.
const OVER_NODES: (&str, &[&str], Check) = (
    "experiment_over_four_nodes_finds_small_receive_buffers_of_servers",
    &["MinIO", "root", "ip", "tc", "unshare", "nsenter", "curl", "ethtool", "python3", "timeout"],
    fleet_buffers::found,
);

/// Checks of what `make dist` has made.
const RELEASED: [(&str, &[&str], Check); 2] = [
    (
        "released_binary_measures_alone_in_an_empty_root",
        &["make dist", "root", "unshare"],
        released::alone_in_an_empty_root,
    ),
    ("released_files_tell_what_they_are_made_of", &["make dist"], released::reported_by_their_parts),
];

fn main() {
    if !has_relayed() {
        run_checks();
    }
}

fn run_checks() {
    let arguments = Arguments::from_args();
    let no_skip = std::env::var_os("LINERATE_NO_SKIP").is_some();
    let trial = |name: &str, needs: &[&str], check: Check| {
        let absent = missing(needs);
        let reported =
            if absent.is_empty() { name.to_owned() } else { format!("{name} (needs {})", absent.join(", ")) };
        let timed = name.to_owned();
        Trial::test(reported, move || took(timed, check)).with_ignored_flag(!absent.is_empty() && !no_skip)
    };
    let mut trials = vec![
        trial("minio_every_operation_payload_and_uniqueness_verified", &["MinIO"], every_operation),
        trial("minio_every_payload_of_put_and_of_parts_verified", &["MinIO"], every_payload),
        trial("minio_refuses_a_body_that_is_not_its_checksum", &["MinIO", "curl"], wrong_checksum),
        trial("minio_bytes_and_requests_equal_the_servers_metrics", &["MinIO"], bytes_equal),
        trial("minio_virtual_host_lookup_and_a_region_of_its_own", &["MinIO"], virtual_host_and_region),
        trial("minio_session_token_of_temporary_credentials", &["MinIO", "curl"], session_token),
        trial("minio_anonymous_reads_of_a_public_bucket", &["MinIO", "curl"], anonymous),
        trial("minio_through_two_addresses_told_per_host", &["MinIO"], two_addresses),
        trial("minio_over_tls_every_operation_and_payload_mode_verified", &["MinIO", "curl"], over_tls),
        trial("minio_killed_in_the_middle_is_lost_and_said_so", &["MinIO"], killed),
        trial("minio_a_run_killed_with_9_is_true_and_can_be_cleaned", &["MinIO", "curl"], ends::killed_with_9),
        trial("minio_versions_and_uploads_of_a_run_are_cleaned", &["MinIO", "curl"], ends::versions_and_uploads),
        trial("minio_restarted_in_the_middle_is_missed_and_found_again", &["MinIO"], ends::restarted),
        trial("minio_a_full_disk_ends_a_run_in_good_order", &["MinIO", "root", "unshare"], ends::full_disk),
        trial("minio_a_read_only_folder_is_told_before_any_load", &["MinIO", "root", "unshare"], ends::read_only),
        trial(
            "namespaces_an_engine_of_its_own_network_is_audited_there",
            &["root", "ip", "sysctl"],
            audited::own_network,
        ),
        trial("namespaces_the_server_behind_an_address_is_found", &["root", "ip"], audited::behind_an_address),
        trial("minio_is_found_and_what_does_not_reach_it_is_told", &["MinIO", "root", "ip", "unshare"], audited::found),
        trial("namespaces_consent_and_readings_of_the_nic", &["MinIO", "root", "ip", "curl"], namespaces),
        trial("namespaces_consent_is_asked_for_on_a_terminal", &["root", "ip", "script"], requested),
        trial("scopes_of_every_network_setting_are_as_said", &["root", "ip"], scopes::of_every_network_setting),
        trial("tune_in_a_namespace_and_back_byte_for_byte", &["root", "ip", "script"], tune::in_a_namespace),
        trial("tune_on_the_machine_and_back_byte_for_byte", &["root", "script"], tune::on_the_machine),
        trial("tune_keeps_the_longest_values_whole", &["root", "ip"], longest::kept_whole),
        trial(
            "tune_there_and_back_leaves_everything_as_it_was",
            &["root", "ip", "tc", "sysctl", "losetup", "timeout"],
            there_and_back::on_this_kernel,
        ),
        trial("booted_members_of_a_bond_are_told_apart_live", MODULAR_MACHINE, watched_bond::members_of_a_bond),
        trial("booted_there_and_back_on_debians_kernel", MODULAR_MACHINE, there_and_back::on_another_kernel),
        trial("tune_killed_or_on_a_full_disk_leaves_nothing", &["root", "ip", "mount"], tune::killed_and_full),
        trial("booted_changes_are_watched_by_systemd", MACHINE, booted::watched_by_systemd),
        trial(
            "tune_exports_what_sysctl_and_tmpfiles_take",
            &["root", "sysctl", "systemd-tmpfiles"],
            exported::to_sysctl_and_tmpfiles,
        ),
        trial("tune_exports_what_udev_takes", &["root", "ip", "mount", "unshare", "udevadm"], exported::to_udev),
        trial("tune_exports_what_tuned_takes", &["python3", "TuneD"], exported::to_tuned),
        trial("tune_exports_what_a_pod_takes", &["the types of Kubernetes"], exported::to_a_pod),
        trial("tune_in_a_container_is_watched_by_itself_alone", &["root", "ip", "unshare"], contained::tune),
        trial("tune_confirms_on_the_machines_clock", &["root", "ip", "unshare"], contained::another_clock),
        trial("tune_refuses_processes_and_names_given_again", &["root", "ip"], tune::given_again),
        trial("tune_nests_nothing_whatever_the_journals", &["root", "ip"], tune::not_nested),
        trial("tune_refuses_what_is_not_its_own", &["root", "ip"], tune::refused),
        trial("namespaces_a_shaped_link_is_never_exceeded", &["root", "ip"], shaped),
        trial(
            "experiment_finds_a_small_buffer_and_calls_nothing_else",
            &["MinIO", "root", "ip", "tc"],
            experiment::finds,
        ),
        trial("experiment_tells_what_does_not_reach", &["MinIO", "root", "ip"], experiment::tells),
        trial("experiment_restarts_its_target_after_each_change", &["MinIO", "root"], experiment::restarts),
        trial("experiment_killed_anywhere_leaves_the_machine_as_it_was", &["root", "ip"], experiment::killed),
        trial("cluster_shapes_run_by_the_curve_and_are_explained_as_described", CLUSTER, shaped_cluster::healthy),
        trial("cluster_causes_that_are_planted_are_named_live_and_by_prometheus", RECORDED, watched_live::planted),
        trial("cluster_causes_that_are_planted_are_explained_by_them", CLUSTER, shaped_cluster::planted),
    ];
    trials.extend(tables().map(|(name, needs, check)| trial(name, needs, check)));
    let conclusion = libtest_mimic::run(&arguments, trials);
    kubernetes::end();
    print_slowest();
    conclusion.exit();
}

/// Whether this program was started as what joins a coordinator to a node of a fleet, and has done that.
fn has_relayed() -> bool {
    let given: Vec<String> = std::env::args().collect();
    let [_, word, space, address] = &given[..] else { return false };
    if word != fleet_network::RELAY {
        return false;
    }
    if let Err(error) = fleet_network::relay(space, address) {
        eprintln!("{address}: {error}");
        std::process::exit(1);
    }
    true
}

/// How long each check took.
static TOOK: Mutex<Vec<(Duration, String)>> = Mutex::new(Vec::new());

fn took(name: String, check: Check) -> Result<(), Failed> {
    let began = Instant::now();
    let outcome = check();
    TOOK.lock().expect("nobody panics with it").push((began.elapsed(), name));
    outcome
}

/// All of them take half an hour: where that goes.
fn print_slowest() {
    let mut took = TOOK.lock().expect("nobody panics with it");
    took.sort();
    println!("longest:");
    for (time, name) in took.iter().rev().take(25) {
        println!("{:6.1} s {name}", time.as_secs_f64());
    }
}

/// Checks that are listed where they are, with what each needs. Those of a Kubernetes end with its own end.
fn tables() -> impl Iterator<Item = (&'static str, &'static [&'static str], Check)> {
    let without = unwatched::CHECKS.into_iter().chain(renamed::CHECKS).chain(elsewhere::CHECKS).chain(reached::CHECKS);
    let without = without.chain(resolved::CHECKS);
    let without = without.chain(looked_at::CHECKS).chain(read_only::CHECKS).chain(live_cost::CHECKS);
    let without = without.chain(fleet_changed::CHECKS).chain(fleet_moments::CHECKS);
    let released = released::is_requested_for().then_some(RELEASED).into_iter().flatten();
    let machines = booted_fleet::is_requested_for().then_some(booted_fleet::CHECKS).into_iter().flatten();
    let rendered = accepted::CHECKS.into_iter().chain(watched::CHECKS);
    let without =
        without.chain(discovered::CHECKS).chain(lab::CHECKS).chain(lab_booted::CHECKS).chain(lab_killed::CHECKS);
    let without = without.chain(sockets::CHECKS).chain(linked::CHECKS).chain([BONDS, OVER_NODES, CLOCK]);
    without.chain(released).chain(machines).chain(pods::CHECKS).chain(rendered).chain(kubernetes::CHECKS)
}

/// Points that are short, and no ceiling: what is right matters here, not how fast.
const SHORT: &str = "--duration 900ms --warmup 100ms --no-ceiling --objects 60";

/// A run whose points all have requests. A machine that is short of processors may write no object of some MiB in a
/// short point, or leave one in flight for longer than is waited for: then once more, with more time and fewer at once.
fn with_figures(minio: &Minio, flags: &str) -> Result<View, Failed> {
    for pace in ["--concurrent 4 --duration 1s", "--concurrent 2 --duration 6s", "--concurrent 1 --duration 30s"] {
        let out = tempdir()?;
        let flags = format!("{flags} {pace} --warmup 100ms --no-ceiling");
        let output = bench_with(out.path(), &flags, &minio.keys());
        let view = view(out.path());
        let is_slow = points(&view).iter().any(|point| point.requests == 0 && point.error_count() == 0);
        let gave_up = view.findings.iter().any(|found| found.kind == FindingKind::LeftBehind);
        if !is_slow && !gave_up {
            return if output.status.success() { Ok(view) } else { Err(format!("{flags}: {}", shown(&output)).into()) };
        }
        eprintln!("no figures yet with {pace}");
        let authority = minio.ca.iter().flat_map(|ca| [OsStr::new("--ca-file"), ca.as_os_str()]);
        let cleaned = running::linerate().envs(minio.keys()).arg("clean").arg(out.path()).args(authority).output()?;
        assert!(cleaned.status.success(), "{}", shown(&cleaned));
    }
    Err(format!("no figures in half a minute: {flags}").into())
}

fn every_operation() -> Result<(), Failed> {
    let minio = Minio::start(&[]);
    for flags in [
        "--op get,put --obj.size 0,1,4096,300000,5MiB --payload signed --unique tail",
        "--op get,put --obj.size 4096,5MiB --payload unsigned --unique tail",
        "--op get,put --obj.size 4096,5MiB --payload signed --unique full",
        "--op get,put --obj.size 300000 --payload unsigned --unique full",
        "--op get --obj.size 5MiB --range-size 300000",
        "--op get,put --obj.size random:1-2MiB",
        "--op stat,list,delete --obj.size 4096",
        "--op mixed --obj.size 4096:10740,8192:1685,1MiB:10",
        "--op get,list --obj.size 4096 --prefix a+b/ü&<>/",
    ] {
        let flags = format!("--host {} {} {flags} --objects 60", minio.address, verify(flags));
        let view = with_figures(&minio, &flags)?;
        for point in points(&view) {
            assert!(point.requests > 0 && point.error_count() == 0, "{flags}: {:?} {point:?}", point.errors);
            assert!(has_a_latency_of_each_request(point), "{flags}: {} of {}", point.total.count, point.requests);
        }
        assert_eq!(minio.objects("linerate-bench"), Vec::<String>::new(), "{flags}");
        assert!(!minio.has_bucket("linerate-bench"), "{flags}: the bucket that the run made is gone");
    }
    Ok(())
}

fn every_payload() -> Result<(), Failed> {
    let minio = Minio::start(&[]);
    for payload in ["signed", "unsigned", "streaming", "streaming-trailer", "unsigned-trailer"] {
        for flags in [
            "--op put,get --obj.size 0,1,65536,300000",
            "--op put,get --obj.size 5000001 --unique full",
            "--op multipart,get --write multipart --obj.size 0,11534337 --part.size 5MiB --part.concurrent 2",
        ] {
            let rest = format!("--verify --objects 6 --payload {payload}");
            let flags = format!("--host {} {flags} {rest}", minio.address);
            let view = with_figures(&minio, &flags)?;
            for series in &view.series {
                let point = &series.points[0];
                assert!(point.requests > 0 && point.error_count() == 0, "{flags}: {:?} {point:?}", point.errors);
                assert_eq!(point.bytes, point.requests * series.size.bytes().ok_or("one size")?, "{flags}");
            }
            assert_eq!(minio.objects("linerate-bench"), Vec::<String>::new(), "{flags}");
            assert_eq!(minio.uploads(), Vec::<String>::new(), "{flags}");
        }
    }
    Ok(())
}

fn wrong_checksum() -> Result<(), Failed> {
    let minio = Minio::start(&[]);
    minio.make_bucket("checked");
    // CRC-32C of "hello": 0x9A71BB4C. The bodies that linerate sends are refused where theirs is wrong.
    for (checksum, stored) in [("mnG7TA==", true), ("mnG7TQ==", false)] {
        assert_eq!(minio.put_with_trailer("checked/x", "hello", checksum), stored, "{checksum}");
        assert_eq!(minio.objects("checked").len(), 1, "only what is right is stored");
    }
    Ok(())
}

fn bytes_equal() -> Result<(), Failed> {
    const SIZE: u64 = 100_000;
    const CONCURRENCY: u64 = 4;
    const LISTED: u64 = 128 << 10;
    let minio = Minio::start(&[]);
    minio.make_bucket("counted");
    let out = tempdir()?;
    let flags =
        "--op get,put --obj.size 100000 --concurrent 4 --objects 50 --duration 2s --warmup 0s --no-ceiling --noclear";
    let flags = format!("--host {} --bucket counted --target-pid {} {flags}", minio.address, minio.pid());
    let view = minio.bench(out.path(), &flags)?;
    let (get, put) = (&view.series[0].points[0], &view.series[1].points[0]);
    let server = minio.counters("counted");
    // Nothing else has a body but the list of 50 objects by which the run looks at what it wrote, at most twice.
    let sent = |op: Op| *view.sent.iter().find(|sent| sent.op == op).expect("requests of it");
    let (gets, puts) = (sent(Op::Get), sent(Op::Put));
    println!("{gets:?} {puts:?} {server:?}");
    assert_eq!((gets.measured, puts.measured, puts.alongside >= 50), (get.requests, put.requests, true));
    assert_eq!((gets.failed, puts.failed, puts.dropped), (0, 0, 0));
    assert_eq!((gets.total, puts.total), (server.gets, server.puts), "requests");
    assert_eq!((gets.bytes, puts.bytes), ((gets.total - gets.dropped) * SIZE, puts.total * SIZE));
    assert_eq!(puts.bytes, server.received_bytes, "bytes of bodies that were written");
    // Of a read that was dropped, MinIO counts what it handed to its kernel: as much as came, or more.
    let least = gets.bytes + gets.dropped_bytes;
    let most = gets.bytes + gets.dropped * SIZE + LISTED;
    assert!((least..=most).contains(&server.sent_bytes), "{least} to {most}: {server:?}");
    assert!(gets.dropped <= CONCURRENCY);
    assert_eq!((get.error_count(), put.error_count()), (0, 0));
    let cpu = put.target_cpu.ok_or("the target's processor time is told")?;
    assert!(cpu.cores > 0.05 && cpu.cores <= 64.0, "{cpu:?}");
    Ok(())
}

fn virtual_host_and_region() -> Result<(), Failed> {
    let minio = Minio::start(&[("MINIO_DOMAIN", "localhost"), ("MINIO_REGION", "eu-central-7")]);
    let port = minio.address.rsplit(':').next().unwrap_or_default().to_owned();
    let (out, wrong) = (tempdir()?, tempdir()?);
    let flags = format!(
        "--host localhost:{port} --lookup host --op get,put,list,delete --obj.size 5000 --concurrent 2 {SHORT}"
    );
    let view = minio.bench(out.path(), &format!("{flags} --verify --region eu-central-7"))?;
    assert!(points(&view).iter().all(|p| p.requests > 0 && p.error_count() == 0));
    let refused = bench_with(wrong.path(), &flags, &minio.keys());
    assert_eq!(refused.status.code(), Some(3), "{}", shown(&refused));
    assert!(shown(&refused).contains("region"), "{}", shown(&refused));
    Ok(())
}

fn session_token() -> Result<(), Failed> {
    let minio = Minio::start(&[]);
    let (access, secret, token) = minio.assume_role();
    let out = tempdir()?;
    let flags = format!("--host {} --op get,put --obj.size 5000 --concurrent 2 --verify {SHORT}", minio.address);
    let mut keys = vec![("AWS_ACCESS_KEY_ID", access), ("AWS_SECRET_ACCESS_KEY", secret)];
    let without = bench_with(&out.path().join("without"), &flags, &keys);
    assert_eq!(without.status.code(), Some(3), "temporary keys are nothing without their token: {}", shown(&without));
    keys.push(("AWS_SESSION_TOKEN", token.clone()));
    let output = bench_with(&out.path().join("with"), &flags, &keys);
    assert!(output.status.success(), "{}", shown(&output));
    assert!(points(&view(&out.path().join("with"))).iter().all(|p| p.requests > 0 && p.error_count() == 0));
    assert!(!shown(&output).contains(&token));
    Ok(())
}

fn anonymous() -> Result<(), Failed> {
    let minio = Minio::start(&[]);
    minio.make_public_bucket("public", 30);
    let out = tempdir()?;
    let flags =
        format!("--host {} --bucket public --anonymous --list-existing --op get --concurrent 2 {SHORT}", minio.address);
    let output = bench_with(out.path(), &flags, &[]);
    assert!(output.status.success(), "{}", shown(&output));
    let view = view(out.path());
    assert!(points(&view).iter().all(|p| p.requests > 0 && p.bytes == p.requests * 1_000));
    assert_eq!(minio.objects("public").len(), 30);
    Ok(())
}

fn two_addresses() -> Result<(), Failed> {
    let minio = Minio::start_everywhere();
    let port = minio.address.rsplit(':').next().unwrap_or_default().to_owned();
    let out = tempdir()?;
    let flags = format!(
        "--host 127.0.0.1:{port},127.0.0.2:{port} --op get,put --obj.size 50000 --concurrent 4 --verify {SHORT}"
    );
    let view = minio.bench(out.path(), &flags)?;
    for point in points(&view) {
        let per_host: Vec<u64> = point.hosts.iter().map(|h| h.requests).collect();
        assert_eq!(per_host.iter().sum::<u64>(), point.requests);
        assert!(per_host.iter().all(|&n| n * 3 > point.requests), "in turns: {per_host:?}");
    }
    Ok(())
}

/// How bodies may be signed and sent: each with every operation over TLS.
const PAYLOAD_MODES: [&str; 2] = ["--payload signed", "--payload unsigned"];

/// The others differ in what is written alone.
const CHUNKED_MODES: [&str; 3] = ["--payload streaming", "--payload streaming-trailer", "--payload unsigned-trailer"];

fn over_tls() -> Result<(), Failed> {
    let minio = Minio::start_tls();
    let ca = minio.ca.as_ref().ok_or("it speaks TLS")?.display().to_string();
    let written = "--op get,put --obj.size 0,1,16384,300000 --unique tail";
    // What is read was uploaded in parts too.
    let parts = "--op get,multipart --write multipart --obj.size 6MiB --part.size 5MiB";
    let works = [
        written,
        parts,
        "--op get,put --obj.size 300000,1MiB --unique full",
        "--op get --obj.size 1MiB --range-size 300000",
        "--op stat,list,delete --obj.size 4096",
        "--op mixed --obj.size 4096:10740,8192:1685,1MiB:10",
    ];
    let chunked = CHUNKED_MODES.map(|mode| (mode, &works[..2]));
    for (mode, works) in PAYLOAD_MODES.map(|mode| (mode, &works[..])).into_iter().chain(chunked) {
        for work in works {
            let host = format!("--host https://{} --ca-file {ca}", minio.address);
            let objects = if *work == parts { 4 } else { 20 };
            let flags = format!("{host} {} --objects {objects} {mode} {work}", verify(work));
            let view = with_figures(&minio, &flags)?;
            for point in points(&view) {
                assert!(point.requests > 0 && point.error_count() == 0, "{flags}: {:?} {point:?}", point.errors);
                assert!(has_a_latency_of_each_request(point), "{flags}: {} of {}", point.total.count, point.requests);
            }
            assert!(view.run.target.tls.as_ref().is_some_and(|tls| tls.verified), "{:?}", view.run.target);
            assert_eq!(minio.objects("linerate-bench"), Vec::<String>::new(), "{flags}");
        }
    }
    // A plain client of it, and one that does not know its authority.
    for (host, part) in [(minio.address.clone(), "HTTPS server"), (format!("https://{}", minio.address), "--ca-file")] {
        let out = tempdir()?;
        let output = bench_with(out.path(), &format!("--host {host} --op get {SHORT}"), &minio.keys());
        assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
        assert!(shown(&output).contains(part), "{host}: {}", shown(&output));
    }
    Ok(())
}

fn killed() -> Result<(), Failed> {
    let minio = Minio::start(&[]);
    let out = tempdir()?;
    let flags = format!(
        "--host {} --op put --obj.size 50000 --concurrent 4 --duration 4s --warmup 100ms --no-ceiling",
        minio.address
    );
    let (folder, keys) = (out.path().to_owned(), minio.keys());
    let run = std::thread::spawn(move || bench_with(&folder, &flags, &keys));
    running::eventually("some intervals", || lines(out.path()) >= 8);
    drop(minio);
    let output = run.join().map_err(|_| "the run panicked")?;
    assert_eq!(output.status.code(), Some(4), "{}", shown(&output));
    let view = view(out.path());
    let kinds: Vec<_> = view.findings.iter().map(|f| f.kind).collect();
    assert!(kinds.contains(&FindingKind::TargetLost) && kinds.contains(&FindingKind::LeftBehind), "{kinds:?}");
    assert!(points(&view)[0].requests > 0);
    Ok(())
}

fn lines(folder: &Path) -> usize {
    std::fs::read_to_string(folder.join("intervals.jsonl")).map_or(0, |t| t.lines().count())
}

fn namespaces() -> Result<(), Failed> {
    let spaces = Namespaces::make(None);
    let minio = Minio::start_in(&spaces);
    let out = tempdir()?;
    let flags = format!(
        "--host {} --op get,put --obj.size 1MiB --concurrent 4 --duration 3s --warmup 500ms --no-ceiling",
        minio.address
    );
    let refused = spaces.bench(&out.path().join("refused"), &flags, &minio.keys());
    assert_eq!(refused.status.code(), Some(2), "{}", shown(&refused));
    assert!(shown(&refused).contains("--yes-load"), "{}", shown(&refused));
    assert!(!out.path().join("refused").exists(), "nothing was begun");

    let folder = out.path().join("run");
    let output = spaces.bench(&folder, &format!("{flags} --yes-load"), &minio.keys());
    assert!(output.status.success(), "{}", shown(&output));
    let view = view(&folder);
    assert!(!view.run.target.on_this_machine);
    let nic = |direction: fn(&linerate_analysis::view::NicSample) -> f64| {
        let of_link = view.timeline.machine.iter().flat_map(|s| &s.nics).filter(|n| n.name == spaces.client_link);
        of_link.map(direction).fold(0.0, f64::max)
    };
    // The interface carries the bodies and at most a tenth more: headers, acknowledgements and requests.
    let (get, put) = (points(&view)[0].bytes_per_s.mean, points(&view)[1].bytes_per_s.mean);
    assert!(nic(|n| n.rx_bytes_per_s) > 0.8 * get, "{} received, {get} read", nic(|n| n.rx_bytes_per_s));
    assert!(nic(|n| n.tx_bytes_per_s) > 0.8 * put, "{} sent, {put} written", nic(|n| n.tx_bytes_per_s));
    Ok(())
}

fn requested() -> Result<(), Failed> {
    let spaces = Namespaces::make(None);
    let null = spaces.null_target();
    let out = tempdir()?;
    let flags = format!("--host {} --anonymous --op stat --obj.size 10 --concurrent 1 {SHORT}", null.address);
    for (answer, code, begun) in [("n", 2, false), ("", 2, false), ("yes", 0, true)] {
        let folder = out.path().join(format!("run-{answer}"));
        let output = spaces.bench_on_terminal(&folder, &flags, answer);
        assert_eq!(output.status.code(), Some(code), "{answer:?}: {}", shown(&output));
        assert!(shown(&output).contains("Continue? [y/N]"), "{}", shown(&output));
        assert_eq!(folder.exists(), begun, "{answer:?}");
    }
    Ok(())
}

/// How often a link may be left unfilled in a test of one that fills it.
const VISITS_MAX: u32 = 4;

fn shaped() -> Result<(), Failed> {
    let spaces = Namespaces::make(Some(200_000_000));
    let null = spaces.null_target();
    let out = tempdir()?;
    let flags = format!(
        "--host {} --op get --obj.size 256KiB,4MiB --concurrent 4 --duration 3s --warmup 1s \
         --no-ceiling --yes-load",
        null.address
    );
    let keys = [("AWS_ACCESS_KEY_ID", "a".to_owned()), ("AWS_SECRET_ACCESS_KEY", "b".to_owned())];
    // 1448 of 1514 bytes of each frame are body.
    let goodput = 200e6 / 8.0 * 1448.0 / 1514.0;
    // The bucket's burst may be spent once in the time measured.
    let most = goodput * 1.03;
    // A machine that is busy with others may not fill the link; it never exceeds it.
    let mut why = Vec::new();
    for visit in 0..VISITS_MAX {
        let folder = out.path().join(format!("run-{visit}"));
        let output = spaces.bench(&folder, &flags, &keys);
        assert!(output.status.success(), "{}", shown(&output));
        let got: Vec<f64> = points(&view(&folder)).iter().map(|point| point.bytes_per_s.mean).collect();
        println!("{:?} of the link", got.iter().map(|got| got / goodput).collect::<Vec<_>>());
        assert!(!got.is_empty() && got.iter().all(|&got| got < most), "{got:?} bytes/s of {goodput}");
        if got.iter().all(|&got| got > 0.8 * goodput) {
            return Ok(());
        }
        why.push(format!("{got:?} bytes/s of {goodput}"));
    }
    Err(why.join("; ").into())
}
