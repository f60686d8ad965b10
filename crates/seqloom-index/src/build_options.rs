//! The options for creating an index, and the result of scanning a file.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use seqloom_compression::seekable::AccessPoints;
use seqloom_core::interrupt::CancelToken;

use super::row::IndexRow;

/// The options for creating an index.
#[derive(Clone, Debug, Default)]
pub struct BuildOptions {
    /// The number of threads of the current pool that may be used.
    pub threads: usize,
    /// The number of bytes of text that were scanned so far.
    pub progress: Arc<AtomicU64>,
    /// The token that cancels the work.
    pub stop: CancelToken,
}

impl BuildOptions {
    pub(crate) fn add_progress(&self, bytes: u64) -> io::Result<()> {
        self.progress.fetch_add(bytes, Ordering::Relaxed);
        self.check_cancelled()
    }

    /// Returns an error if the work was cancelled.
    pub(crate) fn check_cancelled(&self) -> io::Result<()> {
        let stopped = |_| io::Error::other("was not indexed: interrupted");
        self.stop.check_cancelled().map_err(stopped)
    }
}

/// The result of scanning a file, without the rows of the records.
pub(crate) struct ScanSummary {
    pub(crate) text: u64,
    pub(crate) container: AccessPoints,
    pub(crate) windows: Vec<Vec<u8>>,
}

/// A sink of index rows and the hashes of their ids.
pub(crate) trait RowSink {
    fn add_row(&mut self, row: IndexRow, name: u64) -> io::Result<()>;
}
