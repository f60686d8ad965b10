//! Threads that end when the handle of their owner is dropped. The handle is also safe
//! to use in a forked process.
//!
//! The module starts separate threads and does not use a thread pool. A task that waits
//! for another task would block a pool with one thread for ever.

use std::mem;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use crate::process;

/// State that threads share with their owner.
pub trait SharedState: Send + Sync + 'static {
    /// Signals the threads to end.
    fn close(&self);
}

/// The owner's handle of a group of threads. The threads end when the handle is
/// dropped. A forked process does not have these threads, so dropping the handle there
/// does nothing.
#[derive(Debug)]
pub struct Threads<S: SharedState> {
    shared: Arc<S>,
    handles: Vec<JoinHandle<()>>,
    /// The process in which the threads run.
    owner: u32,
}

impl<S: SharedState> Threads<S> {
    /// Starts `count` threads with the given name, or fewer if the system cannot create
    /// one of them.
    pub fn start(
        name: &str,
        count: usize,
        shared: S,
        work: impl Fn(&S) + Clone + Send + 'static,
    ) -> Self {
        let shared = Arc::new(shared);
        let start = |_| {
            let (shared, work) = (Arc::clone(&shared), work.clone());
            let builder = Builder::new().name(name.to_owned());
            builder.spawn(move || work(&shared)).ok()
        };
        Self {
            handles: (0..count).map_while(start).collect(),
            shared,
            owner: process::process_id(),
        }
    }

    /// Returns the state that the threads share with their owner.
    pub fn shared(&self) -> &S {
        &self.shared
    }

    /// Returns whether no thread was started.
    pub fn is_empty(&self) -> bool {
        self.handles.is_empty()
    }

    /// Returns whether the threads run in this process.
    pub fn is_in_this_process(&self) -> bool {
        process::process_id() == self.owner
    }
}

impl<S: SharedState> Drop for Threads<S> {
    fn drop(&mut self) {
        let handles = mem::take(&mut self.handles);
        if !self.is_in_this_process() {
            // In a forked process the other threads do not exist, so they may never
            // release their locks.
            mem::forget((handles, Arc::clone(&self.shared)));
            return;
        }
        self.shared.close();
        for handle in handles {
            let _ = handle.join();
        }
    }
}
