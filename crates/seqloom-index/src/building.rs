//! How an index is made, and the result of a scan through a file.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use seqloom_compression::seekable::Container;

use super::row::IndexRow;

/// How an index is made.
#[derive(Clone, Debug, Default)]
pub struct Building {
    /// How many threads of the current pool may take part.
    pub threads: usize,
    /// The number of bytes of text that were scanned so far.
    pub progress: Arc<AtomicU64>,
    /// Set to cancel the work.
    pub stopped: Arc<AtomicBool>,
}

impl Building {
    pub(crate) fn advance(&self, bytes: u64) -> io::Result<()> {
        self.progress.fetch_add(bytes, Ordering::Relaxed);
        self.check_stopped()
    }

    /// Returns an error if the work was cancelled.
    pub(crate) fn check_stopped(&self) -> io::Result<()> {
        if !self.is_stopped() {
            return Ok(());
        }
        Err(io::Error::other("was not indexed: that was stopped"))
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// The result of a scan through a file, apart from rows.
pub(crate) struct ScanSummary {
    pub(crate) text: u64,
    pub(crate) container: Container,
    pub(crate) windows: Vec<Vec<u8>>,
}

/// Receives rows, and the hashes of their ids.
pub(crate) trait RowSink {
    fn take(&mut self, row: IndexRow, name: u64) -> io::Result<()>;
}
