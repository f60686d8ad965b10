//! Which file it is.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// Which file it is, as it was when it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    pub(crate) size: u64,
    /// When its content was written, and when anything of it was changed.
    times: [i64; 4],
}

impl Identity {
    /// That of a file with these facts; nothing where the system does not tell.
    #[expect(clippy::unnecessary_wraps, reason = "elsewhere there is none")]
    pub(crate) fn of(facts: &Metadata) -> Option<Self> {
        Some(Self {
            device: facts.dev(),
            inode: facts.ino(),
            size: facts.size(),
            times: [
                facts.mtime(),
                facts.mtime_nsec(),
                facts.ctime(),
                facts.ctime_nsec(),
            ],
        })
    }

    /// Whether both are of one file, perhaps written in between.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}
