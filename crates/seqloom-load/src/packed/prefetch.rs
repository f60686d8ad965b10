//! Batches that a separate thread makes in advance.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use seqloom_core::interrupt::check_signals;
use seqloom_core::threads::{SharedState, Threads};
use seqloom_core::{Error, Result as Outcome};

use super::batch::PackedBatch;
use super::stream::{BatchStream, PackingFailure};
use super::tokens::Tokenise;

/// The time between two checks for signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(100);

/// The result of reading a batch from a stream.
type BatchResult = Result<Option<PackedBatch>, PackingFailure>;

/// A stream that makes batches in advance, in a separate thread. The thread ends when this is
/// dropped.
pub struct PrefetchedStream<T: Tokenise + 'static>(Threads<BatchQueue<T>>);

struct BatchQueue<T> {
    state: Mutex<BatchQueueState<T>>,
    changed: Condvar,
    most: usize,
}

struct BatchQueueState<T> {
    /// Until the thread takes it.
    stream: Option<BatchStream<T>>,
    ready: VecDeque<BatchResult>,
    /// The result that is returned after all batches.
    last: Option<Result<u64, PackingFailure>>,
    is_closed: bool,
    /// Whether the owner waits for a batch.
    is_waiting: bool,
}

impl<T: Tokenise + 'static> PrefetchedStream<T> {
    /// Starts a thread that makes up to `most` batches ahead.
    pub fn start(stream: BatchStream<T>, most: usize) -> Self {
        let state = BatchQueueState {
            stream: Some(stream),
            ready: VecDeque::new(),
            last: None,
            is_closed: false,
            is_waiting: false,
        };
        let queue = BatchQueue {
            state: Mutex::new(state),
            changed: Condvar::new(),
            most: most.max(1),
        };
        Self(Threads::start("seqloom-packed", 1, queue, BatchQueue::work))
    }

    /// The next batch; nothing behind the last one. Waits for it, and ends early by a signal.
    pub fn next(&self) -> Result<BatchResult, Error> {
        if !self.0.is_in_this_process() || self.0.is_empty() {
            let message = "a stream that was begun before a fork cannot go on behind it";
            return Err(Error::argument(message));
        }
        self.0.shared().next()
    }

    /// A hash of the ids and letters of all records, once all batches were taken.
    pub fn content(&self) -> Option<u64> {
        let state = self.0.shared().lock();
        match &state.last {
            Some(Ok(content)) if state.ready.is_empty() => Some(*content),
            _ => None,
        }
    }
}

impl<T: Tokenise + 'static> SharedState for BatchQueue<T> {
    fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }
}

impl<T: Tokenise> BatchQueue<T> {
    fn lock(&self) -> MutexGuard<'_, BatchQueueState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Outcome<BatchResult> {
        let mut state = self.lock();
        loop {
            if let Some(result) = state.ready.pop_front() {
                // Half of them at once: to wake a thread costs more than to make a batch.
                if state.ready.len() <= self.most / 2 {
                    self.changed.notify_all();
                }
                return Ok(result);
            }
            if let Some(last) = &state.last {
                return Ok(last.clone().map(|_| None));
            }
            state.is_waiting = true;
            let waited = self.changed.wait_timeout(state, SIGNAL_INTERVAL);
            let (back, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = back;
            state.is_waiting = false;
            if timeout.timed_out() {
                drop(state);
                check_signals().map_err(|error| Error::argument(error.to_string()))?;
                state = self.lock();
            }
        }
    }

    /// Makes batches; runs on the thread.
    fn work(&self) {
        let Some(mut stream) = self.lock().stream.take() else {
            return;
        };
        loop {
            let batch = catch_unwind(AssertUnwindSafe(|| stream.next_batch()));
            let batch = batch.unwrap_or_else(|_| Err(PackingFailure::Reading(panicked())));
            match batch {
                Ok(Some(packed)) => {
                    if !self.put(packed) {
                        return;
                    }
                }
                Ok(None) => return self.end(Ok(stream.content())),
                Err(failure) => return self.end(Err(failure)),
            }
        }
    }

    /// Ends the queue: no batch follows.
    fn end(&self, last: Result<u64, PackingFailure>) {
        self.lock().last = Some(last);
        self.changed.notify_all();
    }

    /// Queues a batch when the queue is not full; returns whether more batches are wanted.
    fn put(&self, packed: PackedBatch) -> bool {
        let mut state = self.lock();
        while state.ready.len() >= self.most && !state.is_closed {
            let back = self.changed.wait(state);
            state = back.unwrap_or_else(PoisonError::into_inner);
        }
        state.ready.push_back(Ok(Some(packed)));
        if state.is_waiting {
            self.changed.notify_all();
        }
        !state.is_closed
    }
}

fn panicked() -> Error {
    Error::argument("the thread that packs has failed: please report it")
}
