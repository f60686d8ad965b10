//! How far a long work has come, and whether it should end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use seqloom_core::{Error, Result};

/// Shared by those who work and those who watch.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    bytes: Arc<AtomicU64>,
    stopped: Arc<AtomicBool>,
}

impl Watch {
    /// The bytes that were worked through so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Ends the work with an error, soon.
    pub fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    /// Notes so many bytes more.
    pub(super) fn add(&self, bytes: usize) -> Result<()> {
        self.bytes.fetch_add(bytes as u64, Relaxed);
        if self.stopped.load(Relaxed) {
            return Err(Error::argument("was stopped"));
        }
        Ok(())
    }
}
