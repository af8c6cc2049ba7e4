//! Files and file systems: limits, XFS and its mount options.
pub(crate) mod fs_file_max;
pub(crate) mod fs_inotify_max_user_instances;
pub(crate) mod fs_inotify_max_user_watches;
pub(crate) mod fs_nr_open;
pub(crate) mod fs_xfs_xfssyncd_centisecs;
pub(crate) mod xfs_allocsize;
pub(crate) mod xfs_discard;
pub(crate) mod xfs_inode64;
pub(crate) mod xfs_logbsize;
pub(crate) mod xfs_logbufs;
pub(crate) mod xfs_noatime;
