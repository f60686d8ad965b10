//! Fills the input arrays of a graph with the records of a batch.

use std::sync::Arc;

use seqloom_core::{Error, Ragged, Result, error::Fault};
use seqloom_encode::RowLayout;
use seqloom_graph::{BatchLayout, Dtype, Limits, Manifest};

use super::order::{BatchRule, Order};
use super::records::Records;
use crate::array::{InputArray, checked_product, set_integers};
use crate::encoder::{Encoder, OutputLayout};
use crate::{column::ByteRows, feed::FeedBatch};

/// Fills the input arrays for batches of records.
pub(crate) struct BatchFiller {
    encoder: Arc<Encoder>,
    /// The names and types of the inputs of the graph.
    inputs: Vec<(String, Dtype)>,
    layout: BatchLayout,
    length: Option<usize>,
    truncates: bool,
    /// True if there is a separate graph for batches without padding.
    has_unpadded: bool,
    limits: Limits,
}

/// The names of the graph inputs that this program can fill.
const FILLED_INPUTS: [&str; 2] = ["inputs", "input_ids"];
pub(crate) const MASK_INPUT: &str = "mask";
const LENGTHS_INPUT: &str = "lengths";
const SEGMENTS_INPUT: &str = "cu_seqlens";

impl BatchFiller {
    /// Checks that this program can fill all inputs of a graph.
    pub(crate) fn new(
        encoder: Arc<Encoder>,
        manifest: &Manifest,
        (inputs, has_unpadded): (Vec<(String, Dtype)>, bool),
        limits: Limits,
    ) -> Result<Self> {
        for (name, dtype) in &inputs {
            let is_letters = FILLED_INPUTS.contains(&name.as_str());
            let is_known =
                is_letters || [MASK_INPUT, LENGTHS_INPUT, SEGMENTS_INPUT].contains(&name.as_str());
            if !is_known || (is_letters && encoder.dtype() != *dtype) {
                return Err(Error::format(
                    "graph.json".as_ref(),
                    Fault::of_file(format!(
                        "this program cannot create the input {name} of {dtype} from sequences; \
                         run the graph on arrays"
                    )),
                ));
            }
        }
        Ok(Self {
            encoder,
            inputs,
            layout: manifest.layout,
            length: manifest.length,
            truncates: manifest.crop.is_some(),
            has_unpadded,
            limits,
        })
    }

    pub(super) fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    pub(super) fn length(&self) -> Option<usize> {
        self.length
    }

    pub(super) fn truncates(&self) -> bool {
        self.truncates
    }

    pub(crate) fn reads_qualities(&self) -> bool {
        self.encoder.reads_qualities()
    }

    /// Returns the rule by which sorted records are grouped into batches.
    pub(super) fn batch_rule(&self) -> BatchRule {
        let has_padding_input = self
            .inputs
            .iter()
            .any(|(name, _)| [MASK_INPUT, LENGTHS_INPUT].contains(&name.as_str()));
        let has_one_width = self.length.is_some() || self.encoder.counts_words();
        match self.layout {
            BatchLayout::Packed => BatchRule::Partial,
            BatchLayout::Padded if has_padding_input || has_one_width => BatchRule::Full,
            BatchLayout::Padded => BatchRule::OneLength,
        }
    }

    /// Fills the input arrays with the selected records.
    pub(super) fn fill(
        &self,
        records: &Records,
        order: &Order,
        batch: &mut FeedBatch,
    ) -> Result<()> {
        if batch.arrays.is_empty() {
            let inputs = self.inputs.iter();
            batch.arrays = inputs
                .map(|(name, dtype)| InputArray::new(name, *dtype))
                .collect();
        }
        let positions = batch.rows.iter().map(|row| order.positions(*row));
        let positions: Vec<usize> = positions.map(|it| self.truncated_length(it)).collect();
        let cut = self.truncate(records, batch)?;
        let FeedBatch {
            rows,
            arrays,
            segments,
            is_full,
            ..
        } = batch;
        let letters = match &cut {
            Some(column) => column.rows()?,
            None => records.letters.select_rows(rows)?,
        };
        let filler = FilledBatch {
            filler: self,
            letters,
            positions: &positions,
        };
        let width = filler.width();
        *is_full = self.has_unpadded && positions.iter().all(|positions| *positions == width);
        match self.layout {
            BatchLayout::Padded => filler.pad(width, arrays),
            BatchLayout::Packed => filler.pack(arrays, segments),
        }
    }

    /// Returns the number of positions of a record, after truncation to the length of
    /// the model.
    fn truncated_length(&self, count: usize) -> usize {
        self.length.map_or(count, |length| count.min(length))
    }

    /// Truncates long records, if the model accepts truncated records.
    fn truncate(&self, records: &Records, batch: &FeedBatch) -> Result<Option<ByteRows>> {
        let (Some(length), true) = (self.length, self.truncates) else {
            return Ok(None);
        };
        let mut column = ByteRows::default();
        let rows = records.letters.select_rows(&batch.rows)?;
        for row in rows.iter() {
            let row = self.encoder.letters().strip_stop(row);
            let most = self.encoder.max_residues(length, row.len());
            column.push(row.get(..most).unwrap_or(row));
        }
        Ok(Some(column))
    }
}

/// The residues of a batch, and the number of positions of each record.
struct FilledBatch<'a> {
    filler: &'a BatchFiller,
    letters: Ragged<'a>,
    positions: &'a [usize],
}

impl FilledBatch<'_> {
    /// Returns the number of positions of a padded batch: the fixed length of the
    /// model, or the length of the longest record.
    fn width(&self) -> usize {
        let longest = self.positions.iter().copied().max().unwrap_or_default();
        match self.filler.length {
            Some(length) if self.filler.truncates => length,
            _ => longest,
        }
    }

    /// Fills the arrays of a padded batch, with a row of `width` positions for each
    /// record.
    fn pad(&self, width: usize, arrays: &mut [InputArray]) -> Result<()> {
        let count = self.positions.len();
        for array in arrays {
            match array.name.as_str() {
                MASK_INPUT => {
                    array.shape = vec![count, width];
                    self.require_memory(array)?;
                    let row = |positions: &usize| mask(*positions, width);
                    set_integers(&mut array.values, self.positions.iter().flat_map(row));
                }
                LENGTHS_INPUT => self.count(array),
                _ => {
                    array.shape = self.filler.encoder.shape(count, width);
                    let size = self.require_memory(array)?;
                    self.encode(size, RowLayout::Equal, array)?;
                }
            }
        }
        Ok(())
    }

    /// Fills the arrays of a packed batch, in which the records are concatenated.
    fn pack(&self, arrays: &mut [InputArray], segments: &mut Vec<i64>) -> Result<()> {
        segments.clear();
        segments.push(0);
        let mut end = 0;
        for positions in self.positions {
            end += i64::try_from(*positions).unwrap_or(i64::MAX);
            segments.push(end);
        }
        let size = usize::try_from(end).unwrap_or(usize::MAX);
        for array in arrays {
            match array.name.as_str() {
                SEGMENTS_INPUT => {
                    array.shape = vec![segments.len()];
                    set_integers(&mut array.values, segments.iter().copied());
                }
                LENGTHS_INPUT => self.count(array),
                _ => {
                    array.shape = vec![size];
                    self.require_memory(array)?;
                    self.encode(size, RowLayout::At(segments), array)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the number of elements of an array, or an error if the array would
    /// exceed the memory limit.
    fn require_memory(&self, array: &InputArray) -> Result<usize> {
        let (size, dtype) = (
            checked_product(&array.shape)?,
            array.values.elements().dtype(),
        );
        let limit = self.filler.limits.memory_bytes;
        if size
            .checked_mul(dtype.size())
            .is_some_and(|bytes| bytes <= limit)
        {
            return Ok(size);
        }
        Err(Error::full(format!(
            "a batch {:?} of {dtype} is larger than the {limit} bytes that may be used: give a \
             larger limit (--memory), or export the model with a smaller batch_size",
            array.shape
        )))
    }

    fn encode(&self, size: usize, rows: RowLayout<'_>, array: &mut InputArray) -> Result<()> {
        let output = OutputLayout { size, rows };
        let encoder = &self.filler.encoder;
        encoder.fill(&self.letters, output, &mut array.values)
    }

    fn count(&self, array: &mut InputArray) {
        array.shape = vec![self.positions.len()];
        let lengths = self.positions.iter();
        let lengths = lengths.map(|positions| i64::try_from(*positions).unwrap_or(i64::MAX));
        set_integers(&mut array.values, lengths);
    }
}

/// Returns a mask that is 1 at the positions of each record and 0 after its end.
fn mask(positions: usize, width: usize) -> impl Iterator<Item = i64> {
    (0..width).map(move |position| i64::from(position < positions))
}
