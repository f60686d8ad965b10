//! Threads that a forked process leaves alone.
//!
//! They are threads of their own, never tasks of a pool: whoever waits for one may be such a
//! task itself, and a pool of one would wait for itself.

use std::mem;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use crate::process;

/// What threads and their owner share.
pub trait Shared: Send + Sync + 'static {
    /// Tells the threads to end.
    fn close(&self);
}

/// Threads, as their owner sees them. They end when this is dropped; in a forked process,
/// which has not got them, nothing is done.
#[derive(Debug)]
pub struct Threads<S: Shared> {
    shared: Arc<S>,
    handles: Vec<JoinHandle<()>>,
    /// The process that has the threads.
    owner: u32,
}

impl<S: Shared> Threads<S> {
    /// Starts up to `count` threads of this name; fewer where no more can be had.
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
            owner: process::id(),
        }
    }

    /// What the threads and the owner share.
    pub fn shared(&self) -> &S {
        &self.shared
    }

    /// Whether no thread was started.
    pub fn is_empty(&self) -> bool {
        self.handles.is_empty()
    }

    /// Whether this process is the one that has the threads.
    pub fn is_here(&self) -> bool {
        process::id() == self.owner
    }
}

impl<S: Shared> Drop for Threads<S> {
    fn drop(&mut self) {
        let handles = mem::take(&mut self.handles);
        if !self.is_here() {
            // They do not exist here, and their locks may be locked for ever.
            mem::forget((handles, Arc::clone(&self.shared)));
            return;
        }
        self.shared.close();
        for handle in handles {
            let _ = handle.join();
        }
    }
}
