//! A thread that works ahead of a reader.

use std::io;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{Builder, JoinHandle};

use super::Trouble;
use super::ring::Ring;
use crate::input::forked;

/// What a thread does with what it was given, until that ends or nobody wants more.
pub(super) type Work<T> = fn(&Ring, T) -> Result<(), Trouble>;

/// A thread, as its reader sees it. It ends when this is dropped.
pub(super) struct Helper {
    ring: Arc<Ring>,
    thread: Option<JoinHandle<()>>,
    /// The process that has the thread; a forked one has not.
    owner: u32,
}

impl Helper {
    /// Starts a thread. Where none can be had, what it was to work on comes back.
    pub(super) fn start<T: Send + 'static>(
        ring: io::Result<Ring>,
        what: T,
        work: Work<T>,
    ) -> Result<Self, T> {
        let Ok(ring) = ring.map(Arc::new) else {
            return Err(what);
        };
        let (sender, receiver) = sync_channel(1);
        let Ok(thread) = spawn(Arc::clone(&ring), receiver, work) else {
            return Err(what);
        };
        sender.send(what).map_err(|lost| lost.0)?;
        Ok(Self {
            ring,
            thread: Some(thread),
            owner: process::id(),
        })
    }

    /// What reader and thread hand to each other, in the process that has the thread.
    pub(super) fn ring(&self) -> io::Result<&Ring> {
        if process::id() == self.owner {
            return Ok(&self.ring);
        }
        Err(forked())
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        if process::id() != self.owner {
            // The thread does not exist here, and its locks may be held for ever.
            mem::forget((thread, Arc::clone(&self.ring)));
            return;
        }
        self.ring.close();
        let _ = thread.join();
    }
}

fn spawn<T: Send + 'static>(
    ring: Arc<Ring>,
    receiver: Receiver<T>,
    work: Work<T>,
) -> io::Result<JoinHandle<()>> {
    let name = "seqloom-ahead".into();
    Builder::new().name(name).spawn(move || {
        if let Ok(what) = receiver.recv() {
            let run = AssertUnwindSafe(|| work(&ring, what));
            ring.end(catch_unwind(run).unwrap_or_else(|_| Err(failed())));
        }
    })
}

fn failed() -> Trouble {
    io::Error::other("could not be read: the thread that did so failed").into()
}
