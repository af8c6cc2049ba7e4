//! Flags of `linerate knobs`.

use clap::{Args, ValueEnum};
use linerate_record::knob::Layer;

const EXAMPLES: &str = "\
Examples:
  linerate knobs
  linerate knobs net.ipv4.tcp_rmem
  linerate knobs tcp_syn_backlog
      finds the knob by a name from a published guide, even if it is misspelt
  linerate knobs --layer net --profile s3-storage-node
  linerate knobs --profile source-003-full --json

Exit codes:
  0    shown
  1    a file cannot be read
  2    no setting, layer or profile has that name";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct KnobsFlags {
    /// A knob to show in full, with the recommended value for this machine: its id, its name in a source, or part of
    /// either. [default: a line for each]
    #[arg(value_name = "ID")]
    pub(super) id: Option<String>,
    /// Only knobs of a layer.
    #[arg(long, value_name = "LAYER", value_enum, conflicts_with = "id")]
    pub(super) layer: Option<LayerFlag>,
    /// Only knobs of a profile, with the profile's own values if it has any.
    #[arg(long, value_name = "PROFILE", conflicts_with = "id")]
    pub(super) profile: Option<String>,
    /// A line for each knob; without it, a terminal gets the names of each layer if they are more than a screen holds.
    #[arg(long, conflicts_with_all = ["id", "json"])]
    pub(super) all: bool,
    /// JSON instead of text: an array of knobs.
    #[arg(long)]
    pub(super) json: bool,
}

/// [`Layer`], as a flag has it; those without a knob are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LayerFlag(pub(super) Layer);

/// Every layer as a flag; clap wants a slice.
pub(super) const LAYERS: &[LayerFlag] = &[
    LayerFlag(Layer::Vm),
    LayerFlag(Layer::Cpu),
    LayerFlag(Layer::Kernel),
    LayerFlag(Layer::Fs),
    LayerFlag(Layer::Block),
    LayerFlag(Layer::Net),
    LayerFlag(Layer::Nic),
    LayerFlag(Layer::Bond),
    LayerFlag(Layer::Conntrack),
    LayerFlag(Layer::Boot),
    LayerFlag(Layer::Limits),
    LayerFlag(Layer::Kubernetes),
    LayerFlag(Layer::Dns),
    LayerFlag(Layer::Cni),
];

impl ValueEnum for LayerFlag {
    fn value_variants<'a>() -> &'a [Self] {
        LAYERS
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.name()))
    }
}
