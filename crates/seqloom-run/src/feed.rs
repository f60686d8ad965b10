//! Batches in order, which another thread prepares in advance.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::time::Duration;

use seqloom_core::{Error, Result, interrupt};

use crate::{array::InputArray, column::ByteRows};

/// A batch of records for which the graph is computed together.
#[derive(Debug, Default)]
pub(crate) struct FeedBatch {
    /// The row of each record in its window. A window contains the records that are
    /// loaded and sorted together.
    pub(crate) rows: Vec<i64>,
    /// The number of real records. The remaining rows are padding.
    pub(crate) real: usize,
    /// The input arrays for the graph.
    pub(crate) arrays: Vec<InputArray>,
    /// True if no record is padded. For a batch without padding, the input `mask` is
    /// omitted and a separate graph is run.
    pub(crate) is_full: bool,
    /// The offset of the tokens of each record in a packed batch.
    pub(crate) segments: Vec<i64>,
}

/// An event in a sequence of windows and batches.
pub(crate) enum FeedEvent {
    /// The start of a window of records, with their ids.
    Begin(ByteRows),
    /// A batch of records. If records are pairs, a batch contains only first mates or
    /// only second mates.
    Batch(FeedBatch),
    /// The end of the current window of records.
    End,
}

/// A source of batches.
pub(crate) trait Feed: Send {
    /// Returns the next event, or `None` after the last event. The memory of `spare` is
    /// reused.
    fn next(&mut self, spare: FeedBatch) -> Result<Option<FeedEvent>>;

    /// Returns the warnings about the records. The warnings are complete after the last
    /// event.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The maximum number of events that are prepared in advance.
const QUEUED_EVENTS: usize = 2;

/// The time between two checks for signals.
const SIGNAL_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Calls `each` with every event, while another thread prepares the next events. `each`
/// returns used batches, whose memory is reused.
pub(crate) fn run_ahead(
    feed: &mut dyn Feed,
    mut each: impl FnMut(FeedEvent) -> Result<Option<FeedBatch>>,
) -> Result<()> {
    std::thread::scope(|scope| {
        let (done, received) = sync_channel(QUEUED_EVENTS);
        let (give, take) = channel();
        let make = move || {
            while let Some(piece) = feed.next(take.try_recv().unwrap_or_default()).transpose() {
                let is_last = piece.is_err();
                // The channel is closed only if the receiving thread has ended with an
                // error.
                if done.send(piece).is_err() || is_last {
                    break;
                }
            }
        };
        let name = "seqloom-read".to_owned();
        let builder = std::thread::Builder::new().name(name);
        let started = builder.spawn_scoped(scope, make);
        started.map_err(|error| Error::full(format!("no thread can be started: {error}")))?;
        take_all_events(&received, &give, &mut each)
    })
}

fn take_all_events(
    received: &Receiver<Result<FeedEvent>>,
    give: &Sender<FeedBatch>,
    each: &mut impl FnMut(FeedEvent) -> Result<Option<FeedBatch>>,
) -> Result<()> {
    loop {
        let piece = match received.recv_timeout(SIGNAL_CHECK_INTERVAL) {
            Ok(piece) => piece?,
            Err(RecvTimeoutError::Timeout) => {
                check_signals()?;
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        if let Some(batch) = each(piece)? {
            // Sending fails if the preparing thread has already ended, which is not an
            // error.
            let _ = give.send(batch);
        }
        check_signals()?;
    }
}

/// Calls `each` with every event. All events are prepared in the same thread.
pub(crate) fn run_in_this_thread(
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
    interrupt::check_signals().map_err(|_| interrupted_error())
}

/// Returns the error for work that a signal has cancelled.
pub(crate) fn interrupted_error() -> Error {
    Error::argument("interrupted")
}
