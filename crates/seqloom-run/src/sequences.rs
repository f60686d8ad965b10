//! Sequence files as batches: read, checked, sorted and encoded, window by window.
//!
//! ```text
//! files ──> records ──> window ── check ── order ──> batch, batch, batch ...
//! ```

mod check;
mod files;
mod form;
mod order;
mod pairs;
mod records;
mod source;

use seqloom_core::Result;
use seqloom_graph::Training;

use self::check::places_of;
use self::order::Order;
use self::records::Records;
use crate::doubts::Doubts;
use crate::feed::{Batch, Feed, Piece};
pub(crate) use form::{Form, MASK};
pub(crate) use source::Source;

/// The batches of sequence files.
pub(crate) struct Sequences {
    source: Source,
    form: Form,
    batch_size: usize,
    /// Letters and ids that a window holds, in bytes.
    room: usize,
    window: Option<Window>,
    doubts: Doubts,
}

/// Records that are held and sorted together; of pairs, first and second reads.
struct Window {
    lanes: Vec<Lane>,
    /// Where the next batch begins.
    lane: usize,
    start: usize,
}

struct Lane {
    records: Records,
    order: Order,
}

impl Sequences {
    pub(crate) fn new(
        source: Source,
        form: Form,
        (batch_size, room): (usize, usize),
        training: Training,
    ) -> Self {
        Self {
            source,
            form,
            batch_size,
            room,
            window: None,
            doubts: Doubts::new(training),
        }
    }

    /// Reads and checks the next window, and gives its ids.
    fn open(&mut self) -> Result<Option<Piece>> {
        let Some(lanes) = self.source.window(self.room, self.batch_size)? else {
            return Ok(None);
        };
        let sort = |records: Records| {
            let places = places_of(&records, &self.form)?;
            let order = Order::new(places);
            Ok(Lane { records, order })
        };
        let mut lanes = lanes.into_iter().map(sort).collect::<Result<Vec<_>>>()?;
        if !self.form.reads_qualities() {
            for lane in &lanes {
                self.doubts.add_letters(&lane.records.letters);
            }
        }
        let names = lanes.first_mut().map(|lane| lane.records.take_names());
        let piece = Piece::Begin(names.unwrap_or_default());
        self.window = Some(Window {
            lanes,
            lane: 0,
            start: 0,
        });
        Ok(Some(piece))
    }

    /// Makes the next batch of the window; nothing after the last.
    fn batch(&mut self, mut batch: Batch) -> Result<Option<Batch>> {
        let Some(window) = &mut self.window else {
            return Ok(None);
        };
        while let Some(lane) = window.lanes.get(window.lane) {
            let how = (self.batch_size, self.form.cut_of_batches());
            if lane.order.pick(window.start, how, &mut batch) {
                window.start += batch.real;
                self.form.fill(&lane.records, &lane.order, &mut batch)?;
                return Ok(Some(batch));
            }
            (window.lane, window.start) = (window.lane + 1, 0);
        }
        Ok(None)
    }
}

impl Feed for Sequences {
    fn next(&mut self, spare: Batch) -> Result<Option<Piece>> {
        if self.window.is_none() {
            return self.open();
        }
        if let Some(batch) = self.batch(spare)? {
            return Ok(Some(Piece::Batch(batch)));
        }
        self.window = None;
        Ok(Some(Piece::End))
    }

    fn warnings(&self) -> Vec<String> {
        self.doubts.sentences()
    }
}
