//! A thread that works ahead of a reader.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use seqloom_core::threads::{Shared, Threads};

use super::ring::Ring;
use super::text::Trouble;
use crate::input::forked;

/// What a thread does with what it was given, until that ends or nobody wants more.
pub(super) type Work<T> = fn(&Ring, T) -> Result<(), Trouble>;

/// A thread, as its reader sees it. It ends when this is dropped.
pub(super) struct Helper(Threads<Ring>);

impl Helper {
    /// Starts a thread. Where none can be had, what it was to work on comes back.
    pub(super) fn start<T: Send + 'static>(
        ring: io::Result<Ring>,
        what: T,
        work: Work<T>,
    ) -> Result<Self, T> {
        let Ok(ring) = ring else {
            return Err(what);
        };
        let slot = Arc::new(Mutex::new(Some(what)));
        let given = Arc::clone(&slot);
        let threads = Threads::start("seqloom-ahead", 1, ring, move |ring: &Ring| {
            if let Some(what) = take(&given) {
                let run = AssertUnwindSafe(|| work(ring, what));
                ring.end(catch_unwind(run).unwrap_or_else(|_| Err(failed())));
            }
        });
        let is_idle = threads.is_empty();
        match is_idle.then(|| take(&slot)).flatten() {
            Some(what) => Err(what),
            None => Ok(Self(threads)),
        }
    }

    /// What reader and thread hand to each other, in the process that has the thread.
    pub(super) fn ring(&self) -> io::Result<&Ring> {
        if self.0.is_here() {
            return Ok(self.0.shared());
        }
        Err(forked())
    }
}

fn take<T>(slot: &Mutex<Option<T>>) -> Option<T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl Shared for Ring {
    fn close(&self) {
        self.close();
    }
}

fn failed() -> Trouble {
    io::Error::other("could not be read: the thread that did so failed").into()
}
