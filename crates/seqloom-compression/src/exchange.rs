//! A thread that decompresses ahead of a reader, and the buffers that the thread and the
//! reader exchange.
//!
//! ```text
//!            compressed chunks; empty chunks return
//!   reader <═══════════════════════════════════> thread
//!            text buffers; empty buffers return
//! ```
//!
//! The number of buffers is fixed, so memory use is bounded, and nothing is allocated
//! while reading.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use seqloom_core::threads::{SharedState, Threads};

use super::text::ReadError;
use super::text_buffer::TextBuffer;
use crate::input::{fork_error, zeroed_vec};

/// Size in bytes of a chunk of compressed data.
const INPUT_CHUNK_BYTES: usize = 128 << 10;
pub(super) const CHUNK_COUNT: usize = 4;
/// Number of text buffers: the reader parses one buffer, the thread fills one, and two
/// are waiting.
const TEXT_BUFFER_COUNT: usize = 4;

/// A chunk of the compressed file.
pub(super) struct FileChunk {
    pub(super) bytes: Vec<u8>,
    pub(super) size: usize,
    /// True if this is the last chunk of the file.
    pub(super) is_last: bool,
    /// The error that ended the reading of the file.
    pub(super) failure: Option<io::Error>,
}

/// The time at which the reader should read the next chunk of the file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadTiming {
    /// The reader reads as soon as a chunk is free, because the read does not wait for
    /// data.
    Early,
    /// The reader reads after all chunks were decompressed and all text was used,
    /// because the read may wait for data.
    Late,
    /// The reader does not read, because the file was read to its end.
    Over,
}

/// The buffers that the reader and the thread share, and their state.
pub(super) struct TextExchange {
    state: Mutex<ExchangeState>,
    for_reader: Condvar,
    for_thread: Condvar,
}

struct ExchangeState {
    packed: VecDeque<FileChunk>,
    chunks: Vec<FileChunk>,
    text: VecDeque<TextBuffer>,
    pieces: Vec<TextBuffer>,
    /// The result of the thread, which is returned to the reader after all text.
    outcome: Option<Result<(), ReadError>>,
    /// True while the thread waits for a chunk.
    is_idle: bool,
    closed: bool,
}

/// The event that the reader must handle next.
pub(super) enum ExchangeEvent {
    Text(TextBuffer),
    /// A free chunk, which the reader should fill with the next bytes of the file.
    FreeChunk(FileChunk),
    End(Result<(), ReadError>),
}

impl TextExchange {
    /// Creates an exchange with this number of chunks.
    fn new(chunks: usize) -> io::Result<Self> {
        let chunk = |_| {
            Ok(FileChunk {
                bytes: zeroed_vec(INPUT_CHUNK_BYTES)?,
                size: 0,
                is_last: false,
                failure: None,
            })
        };
        let state = ExchangeState {
            packed: VecDeque::with_capacity(chunks),
            chunks: (0..chunks).map(chunk).collect::<io::Result<_>>()?,
            text: VecDeque::with_capacity(TEXT_BUFFER_COUNT),
            pieces: (0..TEXT_BUFFER_COUNT)
                .map(|_| TextBuffer::new())
                .collect::<io::Result<_>>()?,
            outcome: None,
            is_idle: false,
            closed: false,
        };
        Ok(Self {
            state: Mutex::new(state),
            for_reader: Condvar::new(),
            for_thread: Condvar::new(),
        })
    }

    fn lock_state(&self) -> MutexGuard<'_, ExchangeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the reader return a used text buffer to the exchange.
    pub(super) fn return_buffer(&self, piece: TextBuffer) {
        self.lock_state().pieces.push(piece);
        self.for_thread.notify_one();
    }

    /// Lets the reader wait for the next text, free chunk or result.
    pub(super) fn next_event(&self, reading: ReadTiming) -> ExchangeEvent {
        let mut state = self.lock_state();
        loop {
            let reads = match reading {
                ReadTiming::Early => true,
                ReadTiming::Late => {
                    state.text.is_empty() && state.packed.is_empty() && state.is_idle
                }
                ReadTiming::Over => false,
            };
            if let Some(chunk) = state.chunks.pop_if(|_| reads) {
                return ExchangeEvent::FreeChunk(chunk);
            }
            if let Some(piece) = state.text.pop_front() {
                return ExchangeEvent::Text(piece);
            }
            if let Some(outcome) = state.outcome.take() {
                return ExchangeEvent::End(outcome);
            }
            state = self
                .for_reader
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets the reader pass a chunk of the file to the thread.
    pub(super) fn send_chunk(&self, chunk: FileChunk) {
        self.lock_state().packed.push_back(chunk);
        self.for_thread.notify_one();
    }

    /// Returns the next chunk of the file to the thread, or `None` after the reader has
    /// closed the exchange.
    pub(super) fn receive_chunk(&self) -> Option<FileChunk> {
        self.wait_until(|state| {
            let chunk = state.packed.pop_front();
            state.is_idle = chunk.is_none();
            if state.is_idle {
                self.for_reader.notify_one();
            }
            chunk
        })
    }

    /// Returns an empty text buffer to the thread, or `None` after the reader has
    /// closed the exchange.
    pub(super) fn receive_empty_buffer(&self) -> Option<TextBuffer> {
        self.wait_until(|state| state.pieces.pop())
    }

    fn wait_until<T>(&self, mut take: impl FnMut(&mut ExchangeState) -> Option<T>) -> Option<T> {
        let mut state = self.lock_state();
        loop {
            if state.closed {
                return None;
            }
            if let Some(item) = take(&mut state) {
                return Some(item);
            }
            state = self
                .for_thread
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets the thread return a used chunk to the exchange.
    pub(super) fn return_chunk(&self, chunk: FileChunk) {
        self.lock_state().chunks.push(chunk);
        self.for_reader.notify_one();
    }

    /// Returns true if no further chunk is waiting. The thread should then pass its text
    /// to the reader immediately.
    pub(super) fn needs_chunk(&self) -> bool {
        self.lock_state().packed.is_empty()
    }

    /// Lets the thread pass text to the reader.
    pub(super) fn send_text(&self, piece: TextBuffer) {
        let mut state = self.lock_state();
        if piece.is_empty() {
            state.pieces.push(piece);
        } else {
            state.text.push_back(piece);
        }
        drop(state);
        self.for_reader.notify_one();
    }

    /// Lets the thread store its result for the reader, before the thread ends.
    pub(super) fn store_result(&self, outcome: Result<(), ReadError>) {
        self.lock_state().outcome = Some(outcome);
        self.for_reader.notify_one();
    }
}

/// The reader's handle of the thread that decompresses ahead. The thread ends when the
/// handle is dropped.
pub(super) struct HelperThread(Threads<TextExchange>);

impl HelperThread {
    /// Starts the thread, with a number of `chunks` for compressed data. If the thread
    /// cannot be started, returns `input`.
    pub(super) fn start<T: Send + 'static>(
        chunks: usize,
        input: T,
        work: fn(&TextExchange, T) -> Result<(), ReadError>,
    ) -> Result<Self, T> {
        let Ok(exchange) = TextExchange::new(chunks) else {
            return Err(input);
        };
        let slot = Arc::new(Mutex::new(Some(input)));
        let shared = Arc::clone(&slot);
        let run_thread = move |exchange: &TextExchange| {
            if let Some(input) = take_from_slot(&shared) {
                let run = AssertUnwindSafe(|| work(exchange, input));
                let message = "could not be read: the reading thread failed";
                let failed = |_| Err(io::Error::other(message).into());
                exchange.store_result(catch_unwind(run).unwrap_or_else(failed));
            }
        };
        let threads = Threads::start("seqloom-ahead", 1, exchange, run_thread);
        let is_idle = threads.is_empty();
        match is_idle.then(|| take_from_slot(&slot)).flatten() {
            Some(input) => Err(input),
            None => Ok(Self(threads)),
        }
    }

    /// Returns the buffers that the reader shares with the thread. Fails in a forked
    /// process, because the thread exists only in the parent process.
    pub(super) fn exchange(&self) -> io::Result<&TextExchange> {
        if self.0.is_in_this_process() {
            return Ok(self.0.shared());
        }
        Err(fork_error())
    }
}

fn take_from_slot<T>(slot: &Mutex<Option<T>>) -> Option<T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl SharedState for TextExchange {
    fn close(&self) {
        self.lock_state().closed = true;
        self.for_thread.notify_one();
    }
}
