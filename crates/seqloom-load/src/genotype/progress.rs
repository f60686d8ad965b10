//! The progress of a long task, which can be cancelled.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use seqloom_core::{Error, Result, interrupt::CancelToken};

/// The number of processed bytes, and the token that cancels the task.
#[derive(Debug, Default)]
pub struct Progress {
    bytes: AtomicU64,
    stop: CancelToken,
}

impl Progress {
    /// Returns the number of bytes processed so far.
    pub fn processed_bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Cancels the task.
    pub fn cancel(&self) {
        self.stop.cancel();
    }

    /// Adds to the number of processed bytes; returns an error if the task was cancelled.
    pub(super) fn add_bytes(&self, bytes: usize) -> Result<()> {
        self.bytes.fetch_add(bytes as u64, Relaxed);
        let running = self.stop.check_cancelled();
        running.map_err(|error| Error::io(Path::new("genotypes"), &error))
    }
}
