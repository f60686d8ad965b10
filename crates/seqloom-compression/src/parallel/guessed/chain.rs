//! What the thread of one part tells that of the next.

use std::sync::{Condvar, Mutex, PoisonError};

use crate::disk::Disk;

/// What all threads see.
pub(super) struct File {
    pub(super) disk: Disk,
    /// How much of it a part has.
    pub(super) part_size: u64,
    pub(super) chain: Chain,
}

/// What stands between two parts.
#[derive(Clone)]
pub(super) enum Joint {
    /// A block that begins at this bit of the file, and the text of its member before.
    Before(u64, Vec<u8>),
    /// The end of the file.
    AtEnd,
    /// Nobody knows: a part could not be inflated.
    Lost,
}

/// The joint before one part, that of the next in its position once it is known.
pub(super) struct Chain {
    state: Mutex<(u64, Joint)>,
    changed: Condvar,
}

impl Chain {
    pub(super) fn new(first: Joint) -> Self {
        Self {
            state: Mutex::new((0, first)),
            changed: Condvar::new(),
        }
    }

    /// Waits for the joint before a part. Pieces are begun in order, and each of
    /// them says at last what stands behind it.
    pub(super) fn wait(&self, number: u64) -> Joint {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.0 < number {
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        state.1.clone()
    }

    /// Says what stands behind a part, unless that was said.
    pub(super) fn tell(&self, number: u64, joint: Joint) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.0 == number {
            *state = (number + 1, joint);
            self.changed.notify_all();
        }
    }
}
