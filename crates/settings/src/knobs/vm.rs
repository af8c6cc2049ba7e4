//! Memory: writeback, caches, reserves, huge pages.
pub(crate) mod vm_dirty_background_bytes;
pub(crate) mod vm_dirty_background_ratio;
pub(crate) mod vm_dirty_bytes;
pub(crate) mod vm_dirty_ratio;
pub(crate) mod vm_max_map_count;
pub(crate) mod vm_min_free_kbytes;
pub(crate) mod vm_swappiness;
pub(crate) mod vm_transparent_hugepage;
pub(crate) mod vm_transparent_hugepage_defrag;
pub(crate) mod vm_transparent_hugepage_khugepaged_max_ptes_none;
pub(crate) mod vm_vfs_cache_pressure;
pub(crate) mod vm_zone_reclaim_mode;
