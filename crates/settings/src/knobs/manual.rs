//! The manual of knobs, made from the rows: one page a layer and an index, as Markdown.

use std::fmt::Write as _;

use linerate_record::knob::{Advice, Knob, Layer, TakesEffect};
use linerate_record::lines::wrapped;

use super::{Advise, KNOBS, KnobRow, advise, example};
use crate::profiles::{PROFILES, Profile, Value};

/// Every page: file name and text.
#[must_use]
pub fn pages() -> Vec<(String, String)> {
    let layers = Layer::ALL.into_iter().filter(|layer| knobs(*layer).next().is_some());
    let mut pages: Vec<(String, String)> = layers.map(|layer| (format!("{layer}.md"), page(layer))).collect();
    pages.push(("README.md".to_owned(), index()));
    pages
}

/// What a layer is, as the heading of its page has it.
#[must_use]
pub fn title(layer: Layer) -> &'static str {
    match layer {
        Layer::Vm => "Memory",
        Layer::Cpu => "Processors",
        Layer::Kernel => "Kernel, general",
        Layer::Fs => "Files and file systems",
        Layer::Block => "Block devices",
        Layer::Net => "Sockets and queues",
        Layer::Nic => "Interfaces",
        Layer::Bond => "Bonds",
        Layer::Conntrack => "Connection tracking",
        Layer::Boot => "Kernel command line and version",
        Layer::Limits => "Process limits",
        Layer::Kubernetes => "Kubernetes components",
        Layer::Dns => "Cluster DNS",
        Layer::Cni => "Container network",
        Layer::Engine => "The S3 engine",
    }
}

fn knobs(layer: Layer) -> impl Iterator<Item = &'static Knob> {
    rows(layer).map(|row| &row.knob)
}

fn rows(layer: Layer) -> impl Iterator<Item = &'static KnobRow> {
    KNOBS.iter().filter(move |row| row.knob.layer == layer)
}

const MADE: &str = "<!-- Made from the rows in crates/settings/src/knobs by `cargo xtask knobs`. -->\n";

fn page(layer: Layer) -> String {
    let mut text = format!("# {}\n\n{MADE}", title(layer));
    for row in rows(layer) {
        section(&mut text, row);
    }
    text
}

fn section(text: &mut String, row: &KnobRow) {
    let knob = &row.knob;
    let _ = writeln!(
        text,
        "\n<a id=\"{}\"></a>\n\n## `{}`\n\n{}\n\n| | |\n|---|---|",
        knob.id,
        knob.id,
        wrapped(knob.summary, WIDTH, 0)
    );
    let mut line = |what: &str, value: &str| {
        let _ = writeln!(text, "| {what} | {} |", value.replace('|', "\\|"));
    };
    line("location", &format!("`{}`", knob.locator));
    line("scope", &knob.scope.to_string());
    line("takes effect", &knob.takes_effect.to_string());
    line("values", &knob.takes.to_string());
    line("default", knob.default);
    line("advised", &advised(row));
    if let Some(range) = kernels(knob) {
        line("kernels", &range);
    }
    if let Some(owner) = knob.owned_by {
        line("owned by", &format!("{owner}: never changed on a Kubernetes node"));
    }
    if !knob.also_called.is_empty() {
        let names: Vec<String> = knob.also_called.iter().map(|name| format!("`{name}`")).collect();
        line("also called", &names.join(", "));
    }
    let values = set_by(knob.id);
    if !values.is_empty() {
        line("set by sources", &values.join(", "));
    }
    line("relieves", knob.relieves);
    line("risk", knob.risk);
    let sources = format!("Sources: {}.", knob.sources.join("; "));
    let _ = writeln!(text, "\n{}\n\n{}", wrapped(knob.why, WIDTH, 0), wrapped(&sources, WIDTH, 0));
}

/// What is advised for a setting of the example's node: value and reason.
fn advised(row: &KnobRow) -> String {
    if row.knob.owned_by.is_some() || matches!(row.advise, Advise::Nothing) {
        return "nothing: it is only reported".to_owned();
    }
    match advise(row, &example::machine(), &example::site(), &example::place_of(row, None)) {
        Some(Advice { value, why, .. }) => format!("`{value}` on the node of the [example](README.md#example): {why}"),
        None => {
            "nothing on the node of the [example](README.md#example); it depends on the machine and the site".to_owned()
        }
    }
}

/// Columns of a page.
const WIDTH: usize = 120;

/// `since 4.12`, `no longer in 5.13`, or `without effect since 6.6` of one that is still there, where it matters.
#[must_use]
pub fn kernels(knob: &Knob) -> Option<String> {
    let since = knob.since.map(|(major, minor)| format!("since {major}.{minor}"));
    let gone = if knob.takes_effect == TakesEffect::Never { "without effect since" } else { "no longer in" };
    let until = knob.until.map(|(major, minor)| format!("{gone} {major}.{minor}"));
    match (since, until) {
        (Some(since), Some(until)) => Some(format!("{since}, {until}")),
        (since, until) => since.or(until),
    }
}

/// What the sources' own profiles set a knob to: `` `50` (source-000-os) ``.
fn set_by(id: &str) -> Vec<String> {
    let literal = |profile: &Profile| {
        let pick = profile.picks.iter().find(|pick| pick.knob == id)?;
        match pick.value {
            Value::Literal(value) => Some(format!("`{value}` ({})", profile.name)),
            Value::Advised => None,
        }
    };
    PROFILES.iter().filter_map(literal).collect()
}

const ABOUT: &str = "
The catalogue of the settings that linerate knows: the location and scope of each, when a change takes effect, and the
advised value with its reason. The advice depends on the machine and the site; these pages show it for the node of an
example. `linerate knobs ID` shows one knob with the advice for this machine, and `linerate audit` shows all settings
that differ from the advice.

<a id=\"example\"></a>

The node of the example has no settings changed, 64 processors on two sockets, 256 GiB of memory, a bond of two ports of
25 Gb/s, another port of 1 Gb/s (51 Gb/s in total), four NVMe drives with XFS, and Linux 6.8. It is one of eight MinIO
nodes, for 64 clients with 256 connections each and objects of 64 MiB, over IPv4 with an MTU of 1500.

The scope of a setting and the time at which it takes effect often matter more than the value. For most `net.*`
settings, a pod's network namespace starts from the kernel's defaults, whatever the values of the host. A few are copied
from the initial namespace when the pod's namespace is created, and the rest have one value for the machine. The scope
of each setting was determined from the kernel's source and, except for two that the tests name, verified on Linux 6.18
in namespaces that were created before and after the change.

The sources:

| | |
|---|---|
| source 000 | a talk in 2025 about an S3 cluster on Kubernetes: OS table, tuned profile, Kubernetes and Cilium values |
| source 001 | a study group's notes on MinIO's hardware checklist and warp; it contains no settings |
| source 002 | a blog post with network settings for Cilium, and tests with iperf3 |
| source 003 | tests of MinIO with warp, with parameters changed one by one and all together |
| source 004 | measurements of LACP bonds on OpenShift, for several transmit hash policies |
";

fn index() -> String {
    let mut text = format!("# Knobs\n\n{MADE}{ABOUT}\n## Profiles\n\n| profile | knobs | |\n|---|---|---|\n");
    for profile in PROFILES {
        let _ = writeln!(text, "| `{}` | {} | {} |", profile.name, profile.picks.len(), profile.summary);
    }
    for layer in Layer::ALL.into_iter().filter(|layer| knobs(*layer).next().is_some()) {
        let _ = writeln!(
            text,
            "\n## [{}]({layer}.md)\n\n| knob | scope | takes effect | |\n|---|---|---|---|",
            title(layer)
        );
        for knob in knobs(layer) {
            let (id, scope, effect, summary) = (knob.id, knob.scope, knob.takes_effect, knob.summary);
            let _ = writeln!(text, "| [`{id}`]({layer}.md#{id}) | {scope} | {effect} | {summary} |");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::facts;

    #[test]
    fn every_knob_has_one_section_and_one_line_of_the_index() {
        let pages = pages();
        let index = &pages.iter().find(|(name, _)| name == "README.md").expect("an index").1;
        for row in KNOBS {
            let anchor = format!("<a id=\"{}\"></a>", row.knob.id);
            let sections: usize = pages.iter().map(|(_, text)| text.matches(&anchor).count()).sum();
            assert_eq!(sections, 1, "{anchor}");
            assert_eq!(index.matches(&format!("[`{}`]", row.knob.id)).count(), 1, "{}", row.knob.id);
        }
    }

    #[test]
    fn every_section_says_what_is_advised() {
        for row in KNOBS {
            let mut text = String::new();
            section(&mut text, row);
            let advised = text.lines().find_map(|line| line.strip_prefix("| advised | ")).expect(row.knob.id);
            let place = example::place_of(row, None);
            let value = advise(row, &example::machine(), &example::site(), &place).map(|advice| advice.value);
            match value {
                Some(value) => assert!(advised.starts_with(&format!("`{value}` on the node")), "{advised}"),
                None => assert!(advised.starts_with("nothing"), "{advised}"),
            }
        }
        assert!(page(Layer::Vm).contains("| advised | `524288` on the node"), "vm.max_map_count");
        assert!(page(Layer::Limits).contains("| advised | nothing: it is only reported |"), "limits.memlock");
    }

    #[test]
    fn the_index_describes_each_port_of_the_examples_node() {
        let pages = pages();
        let index = pages.iter().find(|(name, _)| name == "README.md").expect("an index").1.replace('\n', " ");
        let snapshot = example::machine();
        let ports_of_speed = |bits_per_s: u64| {
            let ports = snapshot.machine.nics.iter().filter(|nic| nic.over.is_empty());
            ports.filter(|nic| nic.speed_bits_per_s == Some(bits_per_s)).count()
        };
        assert_eq!((ports_of_speed(25_000_000_000), ports_of_speed(1_000_000_000)), (2, 1));
        let all_gb = facts::node_bits_per_s(&snapshot, &example::site()) / 1e9;
        let expected = format!("two ports of 25 Gb/s, another port of 1 Gb/s ({all_gb} Gb/s in total)");
        assert!(index.contains(&expected), "{expected:?} in {index}");
    }

    #[test]
    fn what_sources_set_is_shown_with_the_knob() {
        let net = page(Layer::Net);
        assert!(net.contains("`67108864 134217728 268435456` (source-002-cilium)"), "tcp_rmem");
    }

    #[test]
    fn a_knob_that_is_kept_and_ignored_is_not_said_to_be_gone() {
        for (knob, expected) in [
            ("net.ipv4.tcp_adv_win_scale", "without effect since 6.6"),
            ("net.ipv4.tcp_low_latency", "without effect since 4.14"),
            ("kernel.sched_migration_cost_ns", "no longer in 5.13"),
        ] {
            let row = crate::knobs::find(knob).expect(knob);
            assert_eq!(kernels(&row.knob).as_deref(), Some(expected), "{knob}");
        }
    }
}
