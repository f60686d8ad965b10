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
    /// The hash of all content before the next window. The hash includes the record of
    /// the next window, unless that window is the first window of its record.
    pub content: u64,
    /// The windows in the pool that precede the next window, in order.
    pub waiting: Vec<(u64, u64)>,
}

/// The state of a window when a stream is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WindowState {
    /// The window was already in a batch.
    Done,
    /// The window was in the pool and not yet in a batch.
    Waiting,
    /// The window was not read before.
    New,
}

impl ResumePoint {
    /// Creates the position before the first record.
    pub fn first_record(first: Origin) -> Self {
        Self {
            from: first,
            next: (first.ordinal, 0),
            ..Self::default()
        }
    }

    pub(super) fn window_state(&self, key: (u64, u64)) -> WindowState {
        match self.waiting.binary_search(&key) {
            _ if key >= self.next => WindowState::New,
            Ok(_) => WindowState::Waiting,
            Err(_) => WindowState::Done,
        }
    }

    /// Returns true if the hash of the content includes this record.
    pub(super) fn has_hashed_record(&self, ordinal: u64) -> bool {
        (ordinal, 0) < self.next
    }
}
