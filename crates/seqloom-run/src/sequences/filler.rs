//! Fills the arrays of a batch, which the graph takes, with records.

use std::sync::Arc;

use seqloom_core::error::Fault;
use seqloom_core::{Error, Ragged, Result};
use seqloom_encode::RowLayout;
use seqloom_graph::{BatchLayout, Dtype, Limits, Manifest};

use super::order::{BatchCut, Order};
use super::records::Records;
use crate::array::{InputArray, product, set};
use crate::column::ByteRows;
use crate::encoder::{Encoder, OutputLayout};
use crate::feed::FeedBatch;

/// Fills the arrays of batches.
pub(crate) struct BatchFiller {
    encoder: Arc<Encoder>,
    /// The graph's inputs, by name and type.
    inputs: Vec<(String, Dtype)>,
    layout: BatchLayout,
    length: Option<usize>,
    crops: bool,
    /// Whether a graph without a mask runs where no record is padded.
    has_unpadded: bool,
    limits: Limits,
}

/// The names that a graph's inputs may have.
const INPUTS: [&str; 2] = ["inputs", "input_ids"];
pub(crate) const MASK: &str = "mask";
const LENGTHS: &str = "lengths";
const SEGMENTS: &str = "cu_seqlens";

impl BatchFiller {
    /// Checks that this program can fill all inputs of a graph.
    pub(crate) fn new(
        encoder: Arc<Encoder>,
        manifest: &Manifest,
        (inputs, has_unpadded): (Vec<(String, Dtype)>, bool),
        limits: Limits,
    ) -> Result<Self> {
        for (name, dtype) in &inputs {
            let is_letters = INPUTS.contains(&name.as_str());
            let is_known = is_letters || [MASK, LENGTHS, SEGMENTS].contains(&name.as_str());
            if !is_known || (is_letters && encoder.dtype() != *dtype) {
                return Err(Error::format(
                    "graph.json".as_ref(),
                    Fault::whole(format!(
                        "an input {name} of {dtype} cannot be made of sequences by this program; \
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
            crops: manifest.crop.is_some(),
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

    pub(super) fn crops(&self) -> bool {
        self.crops
    }

    pub(crate) fn reads_qualities(&self) -> bool {
        self.encoder.reads_qualities()
    }

    /// How records become batches.
    pub(super) fn cut_of_batches(&self) -> BatchCut {
        let has_padding_input = self
            .inputs
            .iter()
            .any(|(name, _)| [MASK, LENGTHS].contains(&name.as_str()));
        let has_one_width = self.length.is_some() || self.encoder.counts_words();
        match self.layout {
            BatchLayout::Packed => BatchCut::Loose,
            BatchLayout::Padded if has_padding_input || has_one_width => BatchCut::Full,
            BatchLayout::Padded => BatchCut::OneLength,
        }
    }

    /// Writes the records that were picked into the arrays of a batch.
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
        let places = batch.rows.iter().map(|row| order.places(*row));
        let places: Vec<usize> = places.map(|it| self.within(it)).collect();
        let cut = self.cut(records, batch)?;
        let FeedBatch {
            rows,
            arrays,
            segments,
            is_full,
            ..
        } = batch;
        let letters = match &cut {
            Some(column) => column.rows()?,
            None => records.letters.picked(rows)?,
        };
        let filler = FilledBatch {
            filler: self,
            letters,
            places: &places,
        };
        let width = filler.width();
        *is_full = self.has_unpadded && places.iter().all(|places| *places == width);
        match self.layout {
            BatchLayout::Padded => filler.pad(width, arrays),
            BatchLayout::Packed => filler.pack(arrays, segments),
        }
    }

    /// The positions that are left of a record.
    fn within(&self, places: usize) -> usize {
        self.length.map_or(places, |length| places.min(length))
    }

    /// Cuts what is too long, where the model does so.
    fn cut(&self, records: &Records, batch: &FeedBatch) -> Result<Option<ByteRows>> {
        let (Some(length), true) = (self.length, self.crops) else {
            return Ok(None);
        };
        let mut column = ByteRows::default();
        let rows = records.letters.picked(&batch.rows)?;
        for row in rows.iter() {
            let row = self.encoder.letters().stripped(row);
            let most = self.encoder.letters_within(length, row.len());
            column.push(row.get(..most).unwrap_or(row));
        }
        Ok(Some(column))
    }
}

/// The letters of one batch, and the positions of each record.
struct FilledBatch<'a> {
    filler: &'a BatchFiller,
    letters: Ragged<'a>,
    places: &'a [usize],
}

impl FilledBatch<'_> {
    /// The positions of a padded batch: those of the longest record, unless all are cut or
    /// padded to one length.
    fn width(&self) -> usize {
        let longest = self.places.iter().copied().max().unwrap_or_default();
        match self.filler.length {
            Some(length) if self.filler.crops => length,
            _ => longest,
        }
    }

    /// Fills arrays that have a row for each record, of so many positions.
    fn pad(&self, width: usize, arrays: &mut [InputArray]) -> Result<()> {
        let count = self.places.len();
        for array in arrays {
            match array.name.as_str() {
                MASK => {
                    array.shape = vec![count, width];
                    self.require_memory(array)?;
                    let row = |places: &usize| mask(*places, width);
                    set(&mut array.values, self.places.iter().flat_map(row));
                }
                LENGTHS => self.count(array),
                _ => {
                    array.shape = self.filler.encoder.shape(count, width);
                    let size = self.require_memory(array)?;
                    self.encode(size, RowLayout::Equal, array)?;
                }
            }
        }
        Ok(())
    }

    /// Fills arrays that have records end to end.
    fn pack(&self, arrays: &mut [InputArray], segments: &mut Vec<i64>) -> Result<()> {
        segments.clear();
        segments.push(0);
        let mut end = 0;
        for places in self.places {
            end += i64::try_from(*places).unwrap_or(i64::MAX);
            segments.push(end);
        }
        let size = usize::try_from(end).unwrap_or(usize::MAX);
        for array in arrays {
            match array.name.as_str() {
                SEGMENTS => {
                    array.shape = vec![segments.len()];
                    set(&mut array.values, segments.iter().copied());
                }
                LENGTHS => self.count(array),
                _ => {
                    array.shape = vec![size];
                    self.require_memory(array)?;
                    self.encode(size, RowLayout::At(segments), array)?;
                }
            }
        }
        Ok(())
    }

    /// Counts the numbers of an array that is to be filled; refuses more than may be used.
    fn require_memory(&self, array: &InputArray) -> Result<usize> {
        let (size, dtype) = (product(&array.shape)?, array.values.data().dtype());
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
        array.shape = vec![self.places.len()];
        let lengths = self.places.iter();
        let lengths = lengths.map(|places| i64::try_from(*places).unwrap_or(i64::MAX));
        set(&mut array.values, lengths);
    }
}

/// 1 on a record, 0 after its end.
fn mask(places: usize, width: usize) -> impl Iterator<Item = i64> {
    (0..width).map(move |position| i64::from(position < places))
}
