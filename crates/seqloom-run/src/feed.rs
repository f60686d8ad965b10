//! Batches in order, which another thread makes in advance.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::time::Duration;

use seqloom_core::{Error, Result, interrupt};

use crate::array::InputArray;
use crate::column::ByteRows;

/// Records that go through the graph together.
#[derive(Debug, Default)]
pub(crate) struct FeedBatch {
    /// The row of each record in the window.
    pub(crate) rows: Vec<i64>,
    /// The number of rows that are records; the others pad the batch.
    pub(crate) real: usize,
    /// What the graph takes.
    pub(crate) arrays: Vec<InputArray>,
    /// Whether the mask is left out, because the graph for full batches runs.
    pub(crate) is_full: bool,
    /// Where each record begins, of a packed batch.
    pub(crate) segments: Vec<i64>,
}

/// The next part of a feed.
pub(crate) enum FeedEvent {
    /// A window of records with these ids.
    Begin(ByteRows),
    /// Some of them, perhaps one half of pairs.
    Batch(FeedBatch),
    /// The window has ended.
    End,
}

/// Makes batches.
pub(crate) trait Feed: Send {
    /// Returns the next event, in the memory of a batch that is no longer needed; `None` at the
    /// end.
    fn next(&mut self, spare: FeedBatch) -> Result<Option<FeedEvent>>;

    /// What there is to warn of, after the end.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The number of events that wait to be processed.
const WAITING: usize = 2;

/// The time between two checks for signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(100);

/// Calls `each` with every piece, while another thread makes the next ones; `each` gives
/// batches back whose memory is free.
pub(crate) fn run_ahead(
    feed: &mut dyn Feed,
    mut each: impl FnMut(FeedEvent) -> Result<Option<FeedBatch>>,
) -> Result<()> {
    std::thread::scope(|scope| {
        let (done, received) = sync_channel(WAITING);
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
        take_all(&received, &give, &mut each)
    })
}

fn take_all(
    received: &Receiver<Result<FeedEvent>>,
    give: &Sender<FeedBatch>,
    each: &mut impl FnMut(FeedEvent) -> Result<Option<FeedBatch>>,
) -> Result<()> {
    loop {
        let piece = match received.recv_timeout(SIGNAL_INTERVAL) {
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
    mut each: impl FnMut(FeedEvent) -> Result<Option<FeedBatch>>,
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
