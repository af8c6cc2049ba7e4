//! What does not go together with clients of a fleet.

use linerate_record::load::Load;

use crate::commands::bench::flags::BenchFlags;

/// What is wrong with flags given with `--fleet`, each with what to do.
pub(super) fn errors_with_fleet(flags: &BenchFlags, load: &Load) -> Vec<String> {
    if flags.fleet.fleet.is_none() {
        return Vec::new();
    }
    let target = &flags.target;
    let cases = [
        (
            load.endpoint.server.is_own(),
            "--fleet loads one target from several machines, and linerate's own target is started on this one: give \
             --host",
        ),
        (
            target.source.is_some() || load.endpoint.source.is_some(),
            "--source names addresses of this machine, and clients have others: with --fleet, drop it, and set the \
             source address in each client's routes (ip route replace … src ADDRESS)",
        ),
        (
            load.endpoint.pid.is_some(),
            "--target-pid is a process of this machine, which does not load with --fleet: drop it",
        ),
    ];
    cases.into_iter().filter(|(is_wrong, _)| *is_wrong).map(|(_, why)| why.to_owned()).collect()
}
