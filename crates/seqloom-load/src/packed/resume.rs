//! The position from which a stream resumes.

use super::row::Origin;

/// The position from which a stream resumes: the windows that were in the pool, and the
/// next window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResumePoint {
    /// The first record that must be read again.
    pub from: Origin,
    /// The next window to read: the ordinal of its record, and the index of its first
    /// residue.
    pub next: (u64, u64),
    /// The hash of the content before that window, including its record if `next` is
    /// not its first window.
    pub content: u64,
    /// The earlier windows that were in the pool, in order.
    pub waiting: Vec<(u64, u64)>,
}

/// The state of a window for a stream that is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WindowState {
    /// The window was in a batch.
    Done,
    /// The window was in the pool.
    Waiting,
    /// The window was not read.
    New,
}

impl ResumePoint {
    /// Creates the position before the first record.
    pub fn start(first: Origin) -> Self {
        Self {
            from: first,
            next: (first.ordinal, 0),
            ..Self::default()
        }
    }

    pub(super) fn state_of(&self, key: (u64, u64)) -> WindowState {
        match self.waiting.binary_search(&key) {
            _ if key >= self.next => WindowState::New,
            Ok(_) => WindowState::Waiting,
            Err(_) => WindowState::Done,
        }
    }

    /// Returns true if the hash of the content includes this record.
    pub(super) fn has_hashed(&self, ordinal: u64) -> bool {
        (ordinal, 0) < self.next
    }
}
