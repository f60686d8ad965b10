//! A thread that works ahead of a reader, and the buffers that the two exchange.
//!
//! ```text
//!            packed chunks, then empty ones back
//!   reader <═══════════════════════════════════> thread
//!            pieces of text, then empty ones back
//! ```
//!
//! There is a fixed number of each, so memory is bounded and nothing is
//! allocated on the way.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use seqloom_core::threads::{SharedState, Threads};

use super::piece::TextPiece;
use super::text::Trouble;
use crate::input::{forked, zeroed};

/// Packed bytes on their way to the thread.
const CHUNK: usize = 128 << 10;
pub(super) const CHUNKS: usize = 4;
/// One is being parsed, one is being made, two wait.
const PIECES: usize = 4;

/// A part of the file.
pub(super) struct Chunk {
    pub(super) bytes: Vec<u8>,
    pub(super) size: usize,
    /// Whether nothing follows.
    pub(super) is_last: bool,
    /// Why the file could not be read any further.
    pub(super) failure: Option<io::Error>,
}

/// When the reader should read the next chunk of the file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadTiming {
    /// As soon as a chunk is free: reading does not block.
    Early,
    /// When all chunks were unpacked and no text is left: reading may block.
    Late,
    /// Never: the file was read to its end.
    Over,
}

/// The buffers that the reader and the thread share.
pub(super) struct TextRing {
    state: Mutex<RingState>,
    for_reader: Condvar,
    for_thread: Condvar,
}

struct RingState {
    packed: VecDeque<Chunk>,
    chunks: Vec<Chunk>,
    text: VecDeque<TextPiece>,
    pieces: Vec<TextPiece>,
    /// How it ended, after all text.
    outcome: Option<Result<(), Trouble>>,
    /// Whether the thread waits for a chunk.
    is_idle: bool,
    closed: bool,
}

/// What the reader has to do next.
pub(super) enum RingEvent {
    Text(TextPiece),
    /// A chunk to be filled with the next bytes of the file.
    FreeChunk(Chunk),
    End(Result<(), Trouble>),
}

impl TextRing {
    /// Makes a ring with this number of chunks.
    fn new(chunks: usize) -> io::Result<Self> {
        let chunk = |_| {
            Ok(Chunk {
                bytes: zeroed(CHUNK)?,
                size: 0,
                is_last: false,
                failure: None,
            })
        };
        let state = RingState {
            packed: VecDeque::with_capacity(chunks),
            chunks: (0..chunks).map(chunk).collect::<io::Result<_>>()?,
            text: VecDeque::with_capacity(PIECES),
            pieces: (0..PIECES)
                .map(|_| TextPiece::new())
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

    fn lock(&self) -> MutexGuard<'_, RingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The reader's: gives a used piece back.
    pub(super) fn give_back(&self, piece: TextPiece) {
        self.lock().pieces.push(piece);
        self.for_thread.notify_one();
    }

    /// The reader's: waits for the next thing to do.
    pub(super) fn next(&self, reading: ReadTiming) -> RingEvent {
        let mut state = self.lock();
        loop {
            let reads = match reading {
                ReadTiming::Early => true,
                ReadTiming::Late => {
                    state.text.is_empty() && state.packed.is_empty() && state.is_idle
                }
                ReadTiming::Over => false,
            };
            if let Some(chunk) = state.chunks.pop_if(|_| reads) {
                return RingEvent::FreeChunk(chunk);
            }
            if let Some(piece) = state.text.pop_front() {
                return RingEvent::Text(piece);
            }
            if let Some(outcome) = state.outcome.take() {
                return RingEvent::End(outcome);
            }
            state = self
                .for_reader
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The reader's: gives the thread a part of the file.
    pub(super) fn feed(&self, chunk: Chunk) {
        self.lock().packed.push_back(chunk);
        self.for_thread.notify_one();
    }

    /// The thread's: the next part of the file; nothing once the reader has closed.
    pub(super) fn chunk(&self) -> Option<Chunk> {
        self.wait(|state| {
            let chunk = state.packed.pop_front();
            state.is_idle = chunk.is_none();
            if state.is_idle {
                self.for_reader.notify_one();
            }
            chunk
        })
    }

    /// The thread's: a piece to fill; nothing once the reader has closed.
    pub(super) fn piece(&self) -> Option<TextPiece> {
        self.wait(|state| state.pieces.pop())
    }

    fn wait<T>(&self, mut take: impl FnMut(&mut RingState) -> Option<T>) -> Option<T> {
        let mut state = self.lock();
        loop {
            if state.closed {
                return None;
            }
            if let Some(found) = take(&mut state) {
                return Some(found);
            }
            state = self
                .for_thread
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The thread's: gives an empty chunk back.
    pub(super) fn recycle(&self, chunk: Chunk) {
        self.lock().chunks.push(chunk);
        self.for_reader.notify_one();
    }

    /// The thread's: whether nothing more was read, so that text should not be
    /// kept any longer.
    pub(super) fn is_starved(&self) -> bool {
        self.lock().packed.is_empty()
    }

    /// The thread's: hands text over.
    pub(super) fn deliver(&self, piece: TextPiece) {
        let mut state = self.lock();
        if piece.is_empty() {
            state.pieces.push(piece);
        } else {
            state.text.push_back(piece);
        }
        drop(state);
        self.for_reader.notify_one();
    }

    /// The thread's last word.
    pub(super) fn end(&self, outcome: Result<(), Trouble>) {
        self.lock().outcome = Some(outcome);
        self.for_reader.notify_one();
    }
}

/// The reader's handle of a thread, which ends when the handle is dropped.
pub(super) struct HelperThread(Threads<TextRing>);

impl HelperThread {
    /// Starts a thread with `chunks` chunks that its reader may fill. If no thread can be
    /// started, returns `what`.
    pub(super) fn start<T: Send + 'static>(
        chunks: usize,
        what: T,
        work: fn(&TextRing, T) -> Result<(), Trouble>,
    ) -> Result<Self, T> {
        let Ok(ring) = TextRing::new(chunks) else {
            return Err(what);
        };
        let slot = Arc::new(Mutex::new(Some(what)));
        let given = Arc::clone(&slot);
        let threads = Threads::start("seqloom-ahead", 1, ring, move |ring: &TextRing| {
            if let Some(what) = take(&given) {
                let run = AssertUnwindSafe(|| work(ring, what));
                let message = "could not be read: the thread that did so failed";
                let failed = |_| Err(io::Error::other(message).into());
                ring.end(catch_unwind(run).unwrap_or_else(failed));
            }
        });
        let is_idle = threads.is_empty();
        match is_idle.then(|| take(&slot)).flatten() {
            Some(what) => Err(what),
            None => Ok(Self(threads)),
        }
    }

    /// Returns the ring; an error in a forked process, which does not have the thread.
    pub(super) fn ring(&self) -> io::Result<&TextRing> {
        if self.0.is_in_this_process() {
            return Ok(self.0.shared());
        }
        Err(forked())
    }
}

fn take<T>(slot: &Mutex<Option<T>>) -> Option<T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl SharedState for TextRing {
    fn close(&self) {
        self.lock().closed = true;
        self.for_thread.notify_one();
    }
}
