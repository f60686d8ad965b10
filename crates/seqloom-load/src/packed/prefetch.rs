//! Makes batches in advance in a separate thread.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use seqloom_core::threads::{SharedState, Threads};
use seqloom_core::{Error, Result as Outcome, interrupt::check_signals};

use super::batch::PackedBatch;
use super::stream::{BatchStream, PackingFailure};
use super::tokens::Tokenise;

/// The time between two checks for signals.
const SIGNAL_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The result of reading a batch from a stream.
type BatchResult = Result<Option<PackedBatch>, PackingFailure>;

/// A stream that makes batches in advance in a separate thread. The thread ends when
/// this value is dropped.
pub struct PrefetchedStream<T: Tokenise + 'static>(Threads<BatchQueue<T>>);

struct BatchQueue<T> {
    state: Mutex<BatchQueueState<T>>,
    changed: Condvar,
    max_batches: usize,
}

struct BatchQueueState<T> {
    /// The stream, until the thread takes ownership of it.
    stream: Option<BatchStream<T>>,
    ready: VecDeque<BatchResult>,
    /// The result that is returned after the last batch.
    last: Option<Result<u64, PackingFailure>>,
    is_closed: bool,
    /// True while the owner waits for a batch.
    is_waiting: bool,
}

impl<T: Tokenise + 'static> PrefetchedStream<T> {
    /// Starts a thread that makes up to `max_batches` batches in advance.
    pub fn start(stream: BatchStream<T>, max_batches: usize) -> Self {
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
            max_batches: max_batches.max(1),
        };
        Self(Threads::start("seqloom-packed", 1, queue, BatchQueue::run))
    }

    /// Returns the next batch, or `None` after the last batch. Waits until the batch is
    /// ready; a signal ends the wait early.
    pub fn next_batch(&self) -> Result<BatchResult, Error> {
        if !self.0.is_in_this_process() || self.0.is_empty() {
            let message = "a stream that was created before a fork cannot be used after it";
            return Err(Error::argument(message));
        }
        self.0.shared().next_batch()
    }

    /// Returns a hash of the ids and sequences of all records, after the last batch was
    /// returned.
    pub fn content_hash(&self) -> Option<u64> {
        let state = self.0.shared().lock_state();
        match &state.last {
            Some(Ok(content)) if state.ready.is_empty() => Some(*content),
            _ => None,
        }
    }
}

impl<T: Tokenise + 'static> SharedState for BatchQueue<T> {
    fn close(&self) {
        self.lock_state().is_closed = true;
        self.changed.notify_all();
    }
}

impl<T: Tokenise> BatchQueue<T> {
    fn lock_state(&self) -> MutexGuard<'_, BatchQueueState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_batch(&self) -> Outcome<BatchResult> {
        let mut state = self.lock_state();
        loop {
            if let Some(result) = state.ready.pop_front() {
                // Wake the thread only when the queue is half empty, because a wake-up
                // takes longer than making a batch.
                if state.ready.len() <= self.max_batches / 2 {
                    self.changed.notify_all();
                }
                return Ok(result);
            }
            if let Some(last) = &state.last {
                return Ok(last.clone().map(|_| None));
            }
            state.is_waiting = true;
            let waited = self.changed.wait_timeout(state, SIGNAL_CHECK_INTERVAL);
            let (back, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = back;
            state.is_waiting = false;
            if timeout.timed_out() {
                drop(state);
                check_signals().map_err(|error| Error::argument(error.to_string()))?;
                state = self.lock_state();
            }
        }
    }

    /// Makes batches until the queue is closed. This function runs in the thread that
    /// makes batches in advance.
    fn run(&self) {
        let Some(mut stream) = self.lock_state().stream.take() else {
            return;
        };
        loop {
            let batch = catch_unwind(AssertUnwindSafe(|| stream.next_batch()));
            let batch =
                batch.unwrap_or_else(|_| Err(PackingFailure::Reading(panicked_thread_error())));
            match batch {
                Ok(Some(packed)) => {
                    if !self.add_batch(packed) {
                        return;
                    }
                }
                Ok(None) => return self.close_with(Ok(stream.content_hash())),
                Err(failure) => return self.close_with(Err(failure)),
            }
        }
    }

    /// Closes the queue.
    fn close_with(&self, last: Result<u64, PackingFailure>) {
        self.lock_state().last = Some(last);
        self.changed.notify_all();
    }

    /// Queues a batch as soon as the queue has room. Returns true if the stream should make
    /// more batches.
    fn add_batch(&self, packed: PackedBatch) -> bool {
        let mut state = self.lock_state();
        while state.ready.len() >= self.max_batches && !state.is_closed {
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

fn panicked_thread_error() -> Error {
    Error::argument("the thread that packs batches failed; please report this")
}
