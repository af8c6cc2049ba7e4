//! PCI Express, as a site states it.

/// The generation of PCIe with so many 10^9 transfers a second and lane, where a site can have it.
pub(crate) fn generation(gt_per_s: f64) -> Option<u32> {
    [(8.0, 3), (16.0, 4), (32.0, 5), (64.0, 6), (128.0, 7)]
        .into_iter()
        .find_map(|(speed, generation)| ((gt_per_s - speed).abs() < 0.5).then_some(generation))
}
