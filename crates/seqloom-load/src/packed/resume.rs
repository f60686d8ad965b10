//! The position of a stream.

use super::row::Origin;

/// Where a stream resumes: the windows that were read and wait, and the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResumePoint {
    /// The first record that is needed again.
    pub from: Origin,
    /// The window that is read next: the ordinal of its record, and its first letter.
    pub next: (u64, u64),
    /// The hash of all content before that window, its record with it where it has begun.
    pub content: u64,
    /// The windows before it that wait, in order.
    pub waiting: Vec<(u64, u64)>,
}

/// The state of a window for a stream that is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WindowState {
    /// It was in a batch.
    Done,
    /// It was read, and waits.
    Waiting,
    /// It was not read.
    New,
}

impl ResumePoint {
    /// Before the first record.
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

    /// Whether the hash of the content has this record already.
    pub(super) fn has_hashed(&self, ordinal: u64) -> bool {
        (ordinal, 0) < self.next
    }
}
