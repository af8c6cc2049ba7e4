//! The command line. `--help` is the manual: each flag says what it means, its unit and its default.

use clap::{Parser, Subcommand};

use crate::commands::agent::flags::AgentFlags;
use crate::commands::audit::flags::AuditFlags;
use crate::commands::bench::flags::BenchFlags;
use crate::commands::capture::flags::CaptureFlags;
use crate::commands::clean::flags::CleanFlags;
use crate::commands::compare::flags::CompareFlags;
use crate::commands::discover::flags::DiscoverFlags;
use crate::commands::doctor::flags::DoctorFlags;
use crate::commands::experiment::flags::ExperimentFlags;
use crate::commands::explain::flags::ExplainFlags;
use crate::commands::fleet::flags::FleetFlags;
use crate::commands::import::flags::ImportFlags;
use crate::commands::knobs::flags::KnobsFlags;
use crate::commands::lab::flags::LabFlags;
use crate::commands::net::flags::NetFlags;
use crate::commands::plan::flags::PlanFlags;
use crate::commands::render::flags::RenderFlags;
use crate::commands::report::flags::ReportFlags;
use crate::commands::runs::flags::RunsFlags;
use crate::commands::shell::flags::{CompletionsFlags, ManFlags};
use crate::commands::target::flags::TargetFlags;
use crate::commands::tune::flags::TuneFlags;

const AFTER_HELP: &str = "\
Example:
  linerate bench --host 'minio-{1...4}:9000' --op get --yes-load

Exit codes:
  0    done
  1    this machine failed: a file, a process, a thread
  2    bad usage
  3    the target, a node or a cluster was not reached, or the target refused early calls or did not delete the objects
  4    1 % or more of a point's requests failed, none ended, a body was wrong, objects missing or unchecked, target lost
  5    a threshold was missed, or not shown to be met: --slo, --abort-if, --fail-if, --fail-if-slower, --check, --diff
  6    tune, experiment: changes were not made or not restored; each is named; --fleet: all rolled back, or nodes differ
  7    experiment analyze: a difference is an association, confounded with time or carried over
  8    disturbed by other load on this machine: points without an answer say nothing of the target
  130  interrupted; the run folder has all measurements so far

Start with `linerate bench`: it needs no server and no flags.";

/// Most columns of help.
pub(crate) const HELP_COLUMNS_MAX: usize = 110;

/// Find out whether S3 storage runs at the speed of its hardware, and if not, why.
#[derive(Parser, Debug)]
#[command(name = "linerate", version, after_help = AFTER_HELP, max_term_width = HELP_COLUMNS_MAX)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// Measure throughput and latency of an S3 endpoint; find the knee.
    ///
    /// Each workload and object size is measured at each concurrency.
    Bench(Box<BenchFlags>),
    /// Render a run again, or check it against thresholds.
    ///
    /// As text, JSON, CSV, HTML or JUnit's XML.
    Report(ReportFlags),
    /// List the runs in a folder: start, target and best throughput.
    Runs(RunsFlags),
    /// Compare runs, and report only what the data supports.
    ///
    /// Two runs, or two groups of runs.
    Compare(CompareFlags),
    /// Predict a cluster's throughput and bottleneck from its description.
    ///
    /// With the next bottleneck, layout, capacity and what is wrong with it.
    Plan(PlanFlags),
    /// Write the files that deploy a cluster, from its description.
    ///
    /// Volumes, engine, Cilium and settings of the hosts: a folder for Git, each value with its reason.
    Render(RenderFlags),
    /// Find why a cluster is slower than planned.
    ///
    /// It shows which deviations from the cluster's description fit the measurements.
    Explain(Box<ExplainFlags>),
    /// Test whether a setting, a server or a command makes a difference.
    Experiment(Box<ExperimentFlags>),
    /// Delete what a run left at its target.
    ///
    /// After a run that was killed, was interrupted twice, or had --noclear.
    Clean(CleanFlags),
    /// Start an S3 test server, to load it from another machine.
    Target(TargetFlags),
    /// Make a run folder from the records of another tool.
    Import(ImportFlags),
    /// Compare a machine's settings with a profile.
    ///
    /// Each difference, what it may cost, and other limits.
    Audit(AuditFlags),
    /// Check a running cluster: what it should do, does, and what holds it back.
    ///
    /// Discover, plan, audit and explain in one, on one screen; it only reads.
    Doctor(DoctorFlags),
    /// Describe a running cluster as a site file.
    ///
    /// Each value with where it was read; what nodes contradict each other in.
    Discover(DiscoverFlags),
    /// Record this machine as files for `audit --root`.
    ///
    /// Without names, addresses and serial numbers.
    Capture(CaptureFlags),
    /// Describe settings, recommended values and the reasons.
    ///
    /// Of a machine or a cluster: where and when they take effect, and who set them.
    Knobs(KnobsFlags),
    /// Change settings, and roll them back unless confirmed.
    Tune(TuneFlags),
    /// Reach all machines of a cluster; start clients in Kubernetes.
    ///
    /// It reports which machines answer, their clocks and their hardware.
    Fleet(FleetFlags),
    /// Measure the links between two machines, or all of a fleet.
    ///
    /// Which pairs and machines are slow, what limits their flows, and how many streams are enough.
    Net(Box<NetFlags>),
    /// Make a cluster on this machine, break parts of it, and remove it.
    ///
    /// Namespaces with shaped links, drives with limits, an S3 engine over them.
    Lab(LabFlags),
    /// Let another linerate read this machine over standard input and output; linerate starts it by itself.
    Agent(AgentFlags),
    /// Print the completions of a shell.
    Completions(CompletionsFlags),
    /// Write manual pages.
    Man(ManFlags),
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::error::ErrorKind;
    use clap::{Arg, Command, CommandFactory as _, value_parser};

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Every flag of every verb says what it means, and no default contradicts its text.
    #[test]
    fn every_flag_teaches() {
        let command = Cli::command();
        let verbs: Vec<_> = command.get_subcommands().filter(|v| v.get_name() != "help").collect();
        assert!(verbs.iter().any(|verb| verb.get_arguments().count() > 50), "bench alone has more flags");
        for verb in verbs {
            assert!(verb.get_about().is_some(), "{}", verb.get_name());
            for arg in verb.get_arguments().filter(|a| a.get_id() != "help") {
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.len() > 5, "{} {}: {help:?}", verb.get_name(), arg.get_id());
                let stated = arg.get_default_values().len() + usize::from(help.contains("[default:"));
                let takes_value = arg.get_action().takes_values();
                assert!(stated <= usize::from(takes_value), "{}: two defaults", arg.get_id());
            }
        }
    }

    /// What clap requires it does not miss where something is given that excludes it: the flag would be ignored.
    #[test]
    fn a_flag_that_needs_another_is_refused_beside_what_excludes_that() {
        let mut ignored = Vec::new();
        let command = Cli::command();
        for verb in leaf_commands(&command) {
            // What values mean is not asked here.
            let any = |arg: Arg| {
                if arg.get_action().takes_values() { arg.value_parser(value_parser!(OsString)) } else { arg }
            };
            let command = verb.clone().mut_args(any);
            let flags: Vec<&Arg> = command.get_arguments().filter(|arg| arg.get_long().is_some()).collect();
            let refused = |given: &[&Arg]| {
                let words = given.iter().flat_map(|arg| as_typed(arg));
                let places = command.get_positionals().filter(|arg| arg.is_required_set()).map(|_| "x".to_owned());
                let line = std::iter::once(String::new()).chain(words).chain(places);
                command.clone().try_get_matches_from(line).err()
            };
            let excludes = |a: &Arg, b: &Arg| {
                a.get_id() != b.get_id()
                    && refused(&[a, b]).is_some_and(|error| error.kind() == ErrorKind::ArgumentConflict)
            };
            for flag in &flags {
                // Some are needed unless something else is given, whatever this flag is.
                let always = refused(&[]).map(|error| error.to_string()).unwrap_or_default();
                let lacking = refused(&[flag]).filter(|error| error.kind() == ErrorKind::MissingRequiredArgument);
                let lacking = lacking.map(|error| error.to_string()).unwrap_or_default();
                let needs = |other: &&&Arg| {
                    let long = format!("--{}", other.get_long().unwrap_or_default());
                    let is_in = |text: &str| text.split_whitespace().any(|word| word == long);
                    other.get_id() != flag.get_id() && is_in(&lacking) && !is_in(&always)
                };
                // Behind the usage, the line is shown as it should be.
                for needed in flags.iter().filter(needs) {
                    for other in flags.iter().filter(|other| excludes(needed, other)) {
                        if refused(&[flag, other]).is_none() {
                            let [flag, needed, other] =
                                [flag, needed, other].map(|arg| arg.get_long().unwrap_or_default());
                            ignored.push(format!(
                                "{}: --{flag} needs --{needed}, and not with --{other}",
                                verb.get_name()
                            ));
                        }
                    }
                }
            }
        }
        assert!(ignored.is_empty(), "{ignored:#?}");
    }

    /// Verbs without verbs of their own.
    fn leaf_commands(command: &Command) -> Vec<&Command> {
        if command.get_subcommands().next().is_none() {
            return vec![command];
        }
        command.get_subcommands().flat_map(|verb| leaf_commands(verb)).collect()
    }

    /// A flag as it is typed.
    fn as_typed(arg: &Arg) -> Vec<String> {
        let flag = format!("--{}", arg.get_long().unwrap_or_default());
        if arg.get_action().takes_values() { vec![flag, "x".to_owned()] } else { vec![flag] }
    }

    /// The code, the help and the documents name the same exit codes and say the same of them.
    #[test]
    fn exit_codes_are_documented() {
        let rows = |text: &str, cut: fn(&str) -> Option<(&str, &str)>| -> Vec<(u8, String)> {
            let rows = text.lines().filter_map(cut);
            rows.filter_map(|(code, meaning)| Some((code.trim().parse().ok()?, meaning.trim().to_owned()))).collect()
        };
        let help_codes = rows(AFTER_HELP, |line| line.trim().split_once(' '));
        let table: fn(&str) -> Option<(&str, &str)> =
            |line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | ");
        assert_eq!(rows(include_str!("../../../../docs/exit-codes.md"), table), help_codes);
        let consts = |line: &'static str| {
            line.trim().strip_prefix("pub(crate) const ")?.strip_suffix(';')?.split_once(": u8 = ")
        };
        let source_codes =
            include_str!("../terminal/failure.rs").lines().filter_map(consts).map(|(_, code)| code.parse().unwrap());
        let source_codes: Vec<u8> = std::iter::once(0).chain(source_codes).collect();
        assert_eq!(source_codes, help_codes.iter().map(|row| row.0).collect::<Vec<_>>());
    }
}
