//! The kernel's command line and version.
pub(crate) mod boot_iommu;
pub(crate) mod boot_skew_tick;
pub(crate) mod kernel_version;
