//! How an index is made, and what a look through a file finds.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use seqloom_compression::seekable::Container;

use super::row::Row;

/// How an index is made.
#[derive(Clone, Debug, Default)]
pub struct Building {
    /// How many threads of the current pool may take part.
    pub threads: usize,
    /// How many bytes of text were looked through so far.
    pub progress: Arc<AtomicU64>,
    /// Set by whoever wants the index no more.
    pub stopped: Arc<AtomicBool>,
}

impl Building {
    pub(crate) fn advance(&self, bytes: u64) -> io::Result<()> {
        self.progress.fetch_add(bytes, Ordering::Relaxed);
        self.go_on()
    }

    /// An error once nobody wants the index.
    pub(crate) fn go_on(&self) -> io::Result<()> {
        if !self.is_stopped() {
            return Ok(());
        }
        Err(io::Error::other("was not indexed: that was stopped"))
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// What a look through a file finds besides rows.
pub(crate) struct Found {
    pub(crate) text: u64,
    pub(crate) container: Container,
    pub(crate) windows: Vec<Vec<u8>>,
}

/// Takes rows, and the hashes of their ids.
pub(crate) trait Take {
    fn take(&mut self, row: Row, name: u64) -> io::Result<()>;
}
