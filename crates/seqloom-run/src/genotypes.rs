//! Batches of genotypes from a `.bed` file. Variants are matched by id and alleles, and
//! samples are read in windows of limited size.

mod learned;
mod matching;
mod set;

use std::path::Path;

use seqloom_core::{Error, Result, error::Fault, pool};
use seqloom_graph::{Dtype, Values};
use seqloom_load::genotype::{GenotypeRequest, Indices, MatrixOrder, read_genotypes};

use self::{matching::VariantMatch, set::PlinkFiles};
use crate::array::{InputArray, resize_vector};
use crate::column::ByteRows;
use crate::feed::{Feed, FeedBatch, FeedEvent};
pub(crate) use learned::GenotypeEncoder;

/// A source of batches that reads a `.bed` file.
pub(crate) struct GenotypeFeed {
    set: PlinkFiles,
    tables: VariantTables,
    positions: Indices,
    names: Vec<String>,
    batch_size: usize,
    threads: usize,
    /// The number of samples that are read together.
    most: usize,
    window: Option<SampleWindow>,
    /// The index of the next sample to read.
    next: usize,
}

/// The encoded value of each genotype code for each variant, according to the alleles
/// of the file.
enum VariantTables {
    Single([Vec<f32>; 4]),
    Double([Vec<f64>; 4]),
}

/// The genotype codes of the samples that were read together, one byte for each code.
struct SampleWindow {
    codes: Vec<i8>,
    samples: usize,
    start: usize,
}

/// A decoding table that leaves each genotype code unchanged.
const IDENTITY_CODES: [i8; 4] = [0, 1, 2, 3];

impl GenotypeFeed {
    /// Opens a `.bed` file and finds the variants that the model reads. At most
    /// `window_bytes` bytes of genotype codes are read together.
    pub(crate) fn open(
        path: &Path,
        learned: &GenotypeEncoder,
        batch_size: usize,
        threads: usize,
        window_bytes: usize,
    ) -> Result<Self> {
        let set = PlinkFiles::open(path)?;
        let found = VariantMatch::find(&learned.variants, &set.variants(learned.counts_a1)?, path)?;
        let samples = window_bytes / found.positions.len().max(1);
        Ok(Self {
            names: set.names()?,
            most: (samples / batch_size).max(1) * batch_size,
            tables: learned.tables(&found.is_flipped)?,
            positions: Indices::from_list(found.positions),
            set,
            batch_size,
            threads,
            window: None,
            next: 0,
        })
    }

    /// Reads the next window of samples.
    fn read(&mut self) -> Result<Option<FeedEvent>> {
        let stop = self.names.len().min(self.next + self.most);
        let samples = self.next..stop;
        if samples.is_empty() {
            return Ok(None);
        }
        let mut codes = Vec::new();
        resize_vector(&mut codes, samples.len() * self.positions.len())?;
        let request = GenotypeRequest {
            bed: &self.set.bed,
            layout: self.set.layout,
            individuals: Indices::Range(samples.clone()),
            variants: self.positions.clone(),
            table: IDENTITY_CODES,
            order: MatrixOrder::Individuals,
            check: true,
        };
        let work = || read_genotypes(request, &mut codes);
        pool::run_on_threads(self.threads, work).map_err(Error::full)??;
        let mut names = ByteRows::default();
        for name in self.names.get(samples.clone()).unwrap_or_default() {
            names.push(name.as_bytes());
        }
        self.window = Some(SampleWindow {
            codes,
            samples: samples.len(),
            start: 0,
        });
        self.next = stop;
        Ok(Some(FeedEvent::Begin(names)))
    }
}

impl SampleWindow {
    /// Selects the samples of the next batch. The last batch is filled up with copies
    /// of the last sample. Returns false after the last sample.
    fn select(&mut self, size: usize, batch: &mut FeedBatch) -> bool {
        let stop = self.samples.min(self.start + size);
        batch.real = stop.saturating_sub(self.start);
        batch.rows.clear();
        let rows = (self.start..self.start + size).map(|row| row.min(stop.saturating_sub(1)));
        batch
            .rows
            .extend(rows.filter_map(|row| i64::try_from(row).ok()));
        self.start = stop;
        batch.real > 0
    }

    /// Returns the genotype codes of a sample.
    fn row(&self, row: i64, width: usize) -> &[i8] {
        let start = usize::try_from(row).unwrap_or_default() * width;
        self.codes.get(start..start + width).unwrap_or_default()
    }
}

impl VariantTables {
    fn array(&self) -> InputArray {
        let dtype = match self {
            Self::Single(_) => Dtype::Float32,
            Self::Double(_) => Dtype::Float64,
        };
        InputArray::new("inputs", dtype)
    }

    /// Fills the input array of a batch of samples.
    fn fill(
        &self,
        window: &SampleWindow,
        rows: &[i64],
        width: usize,
        out: &mut Values,
    ) -> Result<()> {
        match (self, out) {
            (Self::Single(tables), Values::F32(out)) => decode(window, (rows, width), tables, out),
            (Self::Double(tables), Values::F64(out)) => decode(window, (rows, width), tables, out),
            _ => Err(Error::argument("the genotype tables have the wrong type")),
        }
    }
}

fn decode<T: Copy + Default>(
    window: &SampleWindow,
    (rows, width): (&[i64], usize),
    tables: &[Vec<T>; 4],
    out: &mut Vec<T>,
) -> Result<()> {
    resize_vector(out, rows.len() * width)?;
    let [a, b, c, d] = tables;
    for (row, out) in rows.iter().zip(out.chunks_exact_mut(width.max(1))) {
        let values = a.iter().zip(b).zip(c.iter().zip(d));
        let codes = window.row(*row, width).iter();
        for ((out, code), ((a, b), (c, d))) in out.iter_mut().zip(codes).zip(values) {
            *out = *match code {
                0 => a,
                1 => b,
                2 => c,
                _ => d,
            };
        }
    }
    Ok(())
}

impl Feed for GenotypeFeed {
    fn next(&mut self, mut spare: FeedBatch) -> Result<Option<FeedEvent>> {
        let Some(window) = &mut self.window else {
            return self.read();
        };
        if !window.select(self.batch_size, &mut spare) {
            self.window = None;
            return Ok(Some(FeedEvent::End));
        }
        if spare.arrays.is_empty() {
            spare.arrays = vec![self.tables.array()];
        }
        let width = self.positions.len();
        if let Some(array) = spare.arrays.first_mut() {
            array.shape = vec![spare.rows.len(), width];
            let tables = &self.tables;
            tables.fill(window, &spare.rows, width, &mut array.values)?;
        }
        Ok(Some(FeedEvent::Batch(spare)))
    }
}

fn fault(path: &Path, message: String) -> Error {
    Error::format(path, Fault::of_file(message))
}
