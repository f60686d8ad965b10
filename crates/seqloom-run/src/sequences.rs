//! Batches of records from sequence files. Records are read, checked, sorted and
//! encoded one window at a time.
//!
//! ```text
//! files ──> records ──> window ── check ── order ──> batch, batch, batch ...
//! ```

mod check;
mod files;
mod filler;
mod order;
mod pairs;
mod records;
mod source;

use seqloom_core::Result;
use seqloom_graph::Training;

use self::{check::count_positions, order::Order, records::Records};
use crate::feed::{Feed, FeedBatch, FeedEvent};
use crate::input_warnings::InputWarnings;
pub(crate) use filler::{BatchFiller, MASK_INPUT};
pub(crate) use source::RecordSource;

/// A source of batches that reads sequence files.
pub(crate) struct SequenceFeed {
    source: RecordSource,
    filler: BatchFiller,
    batch_size: usize,
    /// The maximum size of a window in bytes of residues and ids.
    window_bytes: usize,
    window: Option<RecordWindow>,
    input_warnings: InputWarnings,
}

/// The records of the current window. For pairs, first and second mates are stored
/// separately.
struct RecordWindow {
    lanes: Vec<Lane>,
    /// The index in the sorted records at which the next batch starts.
    lane: usize,
    start: usize,
}

struct Lane {
    records: Records,
    order: Order,
}

impl SequenceFeed {
    pub(crate) fn new(
        source: RecordSource,
        filler: BatchFiller,
        batch_size: usize,
        window_bytes: usize,
        training: Training,
    ) -> Self {
        Self {
            source,
            filler,
            batch_size,
            window_bytes,
            window: None,
            input_warnings: InputWarnings::new(training),
        }
    }

    /// Reads and checks the next window of records, and returns their ids.
    fn open(&mut self) -> Result<Option<FeedEvent>> {
        let Some(lanes) = self.source.window(self.window_bytes, self.batch_size)? else {
            return Ok(None);
        };
        let sort = |records: Records| {
            let positions = count_positions(&records, &self.filler)?;
            let order = Order::new(positions);
            Ok(Lane { records, order })
        };
        let mut lanes = lanes.into_iter().map(sort).collect::<Result<Vec<_>>>()?;
        if !self.filler.reads_qualities() {
            for lane in &lanes {
                self.input_warnings.count_residues(&lane.records.letters);
            }
        }
        let names = lanes.first_mut().map(|lane| lane.records.take_names());
        let piece = FeedEvent::Begin(names.unwrap_or_default());
        self.window = Some(RecordWindow {
            lanes,
            lane: 0,
            start: 0,
        });
        Ok(Some(piece))
    }

    /// Returns the next batch of the current window, or `None` after the last batch.
    fn batch(&mut self, mut batch: FeedBatch) -> Result<Option<FeedBatch>> {
        let Some(window) = &mut self.window else {
            return Ok(None);
        };
        while let Some(lane) = window.lanes.get(window.lane) {
            let how = (self.batch_size, self.filler.batch_rule());
            if lane.order.select(window.start, how, &mut batch) {
                window.start += batch.real;
                self.filler.fill(&lane.records, &lane.order, &mut batch)?;
                return Ok(Some(batch));
            }
            (window.lane, window.start) = (window.lane + 1, 0);
        }
        Ok(None)
    }
}

impl Feed for SequenceFeed {
    fn next(&mut self, spare: FeedBatch) -> Result<Option<FeedEvent>> {
        if self.window.is_none() {
            return self.open();
        }
        if let Some(batch) = self.batch(spare)? {
            return Ok(Some(FeedEvent::Batch(batch)));
        }
        self.window = None;
        Ok(Some(FeedEvent::End))
    }

    fn warnings(&self) -> Vec<String> {
        self.input_warnings.sentences()
    }
}
