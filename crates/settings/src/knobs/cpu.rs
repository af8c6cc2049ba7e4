//! Processors: frequency, sleep states, bias.
pub(crate) mod cpu_energy_perf_bias;
pub(crate) mod cpu_energy_performance_preference;
pub(crate) mod cpu_force_latency;
pub(crate) mod cpu_governor;
pub(crate) mod cpu_min_perf_pct;
