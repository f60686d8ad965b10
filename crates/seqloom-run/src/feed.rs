//! Batches that come one after the other, made ahead by another thread.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::time::Duration;

use seqloom_core::{Error, Result, interrupt};

use crate::array::Array;
use crate::column::Column;

/// Records that go through the graph together.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Where in the window each record stands.
    pub(crate) rows: Vec<i64>,
    /// So many of them are records; the others fill the batch up.
    pub(crate) real: usize,
    /// What the graph takes.
    pub(crate) arrays: Vec<Array>,
    /// Whether the mask is left out, because the graph for full batches runs.
    pub(crate) is_full: bool,
    /// Where each record begins, of a packed batch.
    pub(crate) segments: Vec<i64>,
}

/// What comes next.
pub(crate) enum Piece {
    /// A window of records with these ids.
    Begin(Column),
    /// Some of them, perhaps one half of pairs.
    Batch(Batch),
    /// The window has ended.
    End,
}

/// Makes batches.
pub(crate) trait Feed: Send {
    /// The next piece, in the memory of a batch that is not needed any more; nothing at the end.
    fn next(&mut self, spare: Batch) -> Result<Option<Piece>>;

    /// What there is to warn of, after the end.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// So many pieces wait to be computed.
const WAITING: usize = 2;

/// So long a signal may wait.
const LOOK: Duration = Duration::from_millis(100);

/// Calls `each` with every piece, while another thread makes the next ones; `each` gives
/// batches back whose memory is free.
pub(crate) fn run_ahead(
    feed: &mut dyn Feed,
    mut each: impl FnMut(Piece) -> Result<Option<Batch>>,
) -> Result<()> {
    std::thread::scope(|scope| {
        let (done, made) = sync_channel(WAITING);
        let (give, take) = channel();
        let make = move || {
            while let Some(piece) = feed.next(take.try_recv().unwrap_or_default()).transpose() {
                let is_last = piece.is_err();
                // Nobody waits for more after an error of the other side.
                if done.send(piece).is_err() || is_last {
                    break;
                }
            }
        };
        let name = "seqloom-read".to_owned();
        let builder = std::thread::Builder::new().name(name);
        let started = builder.spawn_scoped(scope, make);
        started.map_err(|error| Error::full(format!("no thread can be started: {error}")))?;
        take_all(&made, &give, &mut each)
    })
}

fn take_all(
    made: &Receiver<Result<Piece>>,
    give: &Sender<Batch>,
    each: &mut impl FnMut(Piece) -> Result<Option<Batch>>,
) -> Result<()> {
    loop {
        let piece = match made.recv_timeout(LOOK) {
            Ok(piece) => piece?,
            Err(RecvTimeoutError::Timeout) => {
                check_signals()?;
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        if let Some(batch) = each(piece)? {
            // Whoever made it may have ended.
            let _ = give.send(batch);
        }
        check_signals()?;
    }
}

/// Calls `each` with every piece, all in this thread.
pub(crate) fn run_here(
    feed: &mut dyn Feed,
    mut each: impl FnMut(Piece) -> Result<Option<Batch>>,
) -> Result<()> {
    let mut spare = None;
    while let Some(piece) = feed.next(spare.take().unwrap_or_default())? {
        spare = each(piece)?;
        check_signals()?;
    }
    Ok(())
}

fn check_signals() -> Result<()> {
    interrupt::check_signals().map_err(|_| stopped())
}

/// What ends the work where a signal came.
pub(crate) fn stopped() -> Error {
    Error::argument("stopped")
}
