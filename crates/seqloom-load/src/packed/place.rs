//! How far a stream is.

use super::row::Origin;

/// Where a stream goes on: what was read and waits, and what is read next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The first record that is needed again.
    pub from: Origin,
    /// The window that is read next: the ordinal of its record, and its first letter.
    pub next: (u64, u64),
    /// The hash of all content before that window, its record with it where it has begun.
    pub content: u64,
    /// The windows before it that wait, in order.
    pub waiting: Vec<(u64, u64)>,
}

/// What a window is to a stream that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// It was in a batch.
    Done,
    /// It was read, and waits.
    Waiting,
    /// It was not read.
    New,
}

impl Place {
    /// Before the first record.
    pub fn start(first: Origin) -> Self {
        Self {
            from: first,
            next: (first.ordinal, 0),
            ..Self::default()
        }
    }

    pub(super) fn part(&self, key: (u64, u64)) -> Part {
        match self.waiting.binary_search(&key) {
            _ if key >= self.next => Part::New,
            Ok(_) => Part::Waiting,
            Err(_) => Part::Done,
        }
    }

    /// Whether the hash of the content has this record already.
    pub(super) fn has_hashed(&self, ordinal: u64) -> bool {
        (ordinal, 0) < self.next
    }
}
