//! Batches made ahead, in a thread of its own.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use seqloom_core::interrupt::check_signals;
use seqloom_core::threads::{SharedState, Threads};
use seqloom_core::{Error, Result as Outcome};

use super::batch::Packed;
use super::stream::{Failure, Stream};
use super::tokens::Tokenise;

/// So long a signal may wait.
const LOOK: Duration = Duration::from_millis(100);

/// What a stream gives.
type Answer = Result<Option<Packed>, Failure>;

/// A stream in a thread of its own, which makes batches ahead of who takes them. The thread
/// ends when this is dropped.
pub struct Ahead<T: Tokenise + 'static>(Threads<Board<T>>);

struct Board<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    most: usize,
}

struct State<T> {
    /// Until the thread takes it.
    stream: Option<Stream<T>>,
    ready: VecDeque<Answer>,
    /// What is given again and again behind all batches.
    last: Option<Result<u64, Failure>>,
    is_closed: bool,
    /// Whether somebody waits for a batch.
    is_waiting: bool,
}

impl<T: Tokenise + 'static> Ahead<T> {
    /// Starts a thread that makes up to `most` batches ahead.
    pub fn start(stream: Stream<T>, most: usize) -> Self {
        let state = State {
            stream: Some(stream),
            ready: VecDeque::new(),
            last: None,
            is_closed: false,
            is_waiting: false,
        };
        let board = Board {
            state: Mutex::new(state),
            changed: Condvar::new(),
            most: most.max(1),
        };
        Self(Threads::start("seqloom-packed", 1, board, Board::work))
    }

    /// The next batch; nothing behind the last one. Waits for it, and ends early by a signal.
    pub fn next(&self) -> Result<Answer, Error> {
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

impl<T: Tokenise + 'static> SharedState for Board<T> {
    fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }
}

impl<T: Tokenise> Board<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Outcome<Answer> {
        let mut state = self.lock();
        loop {
            if let Some(answer) = state.ready.pop_front() {
                // Half of them at once: to wake a thread costs more than to make a batch.
                if state.ready.len() <= self.most / 2 {
                    self.changed.notify_all();
                }
                return Ok(answer);
            }
            if let Some(last) = &state.last {
                return Ok(last.clone().map(|_| None));
            }
            state.is_waiting = true;
            let waited = self.changed.wait_timeout(state, LOOK);
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

    /// What the thread does.
    fn work(&self) {
        let Some(mut stream) = self.lock().stream.take() else {
            return;
        };
        loop {
            let made = catch_unwind(AssertUnwindSafe(|| stream.next_batch()));
            let made = made.unwrap_or_else(|_| Err(Failure::Reading(panicked())));
            match made {
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

    /// Says that no batch follows.
    fn end(&self, last: Result<u64, Failure>) {
        self.lock().last = Some(last);
        self.changed.notify_all();
    }

    /// Hands a batch out, once there is room; says whether anybody wants more.
    fn put(&self, packed: Packed) -> bool {
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
