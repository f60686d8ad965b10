//! A `.bed` as batches: its variants found by id and alleles, samples read window by window.

mod learned;
mod matching;
mod set;

use std::path::Path;

use seqloom_core::error::Fault;
use seqloom_core::{Error, Result, pool};
use seqloom_graph::{Dtype, Values};
use seqloom_load::genotype::{Order, Picks, read};

use self::matching::Match;
use self::set::Set;
use crate::array::{Array, resize};
use crate::column::Column;
use crate::feed::{Batch, Feed, Piece};
pub(crate) use learned::Learned;

/// The batches of a set of genotypes.
pub(crate) struct Genotypes {
    set: Set,
    tables: Tables,
    positions: Picks,
    names: Vec<String>,
    batch_size: usize,
    threads: usize,
    /// Samples of a window.
    most: usize,
    window: Option<Window>,
    /// The first sample that was not read.
    next: usize,
}

/// What each code becomes at each variant, as the file has its alleles.
enum Tables {
    Single([Vec<f32>; 4]),
    Double([Vec<f64>; 4]),
}

/// Codes of some samples, a byte each.
struct Window {
    codes: Vec<i8>,
    samples: usize,
    start: usize,
}

/// The values of codes that are codes.
const CODES: [i8; 4] = [0, 1, 2, 3];

impl Genotypes {
    /// Opens a set and finds the variants that the model reads; `room` are the bytes of codes
    /// that are held together.
    pub(crate) fn open(
        path: &Path,
        learned: &Learned,
        (batch_size, threads, room): (usize, usize, usize),
    ) -> Result<Self> {
        let set = Set::open(path)?;
        let found = Match::find(&learned.variants, &set.variants(learned.counts_a1)?, path)?;
        let samples = room / found.positions.len().max(1);
        Ok(Self {
            names: set.names()?,
            most: (samples / batch_size).max(1) * batch_size,
            tables: learned.tables(&found.is_flipped)?,
            positions: Picks::at(found.positions),
            set,
            batch_size,
            threads,
            window: None,
            next: 0,
        })
    }

    /// Reads the next samples.
    fn read(&mut self) -> Result<Option<Piece>> {
        let stop = self.names.len().min(self.next + self.most);
        let samples = self.next..stop;
        if samples.is_empty() {
            return Ok(None);
        }
        let mut codes = Vec::new();
        resize(&mut codes, samples.len() * self.positions.len())?;
        let picks = (Picks::Range(samples.clone()), self.positions.clone());
        let set = (&self.set.bed, self.set.layout);
        let work = || read(set, picks, (CODES, Order::Individuals), &mut codes, true);
        pool::run(self.threads, work).map_err(Error::full)??;
        let mut names = Column::default();
        for name in self.names.get(samples.clone()).unwrap_or_default() {
            names.push(name.as_bytes());
        }
        self.window = Some(Window {
            codes,
            samples: samples.len(),
            start: 0,
        });
        self.next = stop;
        Ok(Some(Piece::Begin(names)))
    }
}

impl Window {
    /// Takes the samples of the next batch, the last of which fills it up; false after the last.
    fn pick(&mut self, size: usize, batch: &mut Batch) -> bool {
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

    /// The codes of a sample.
    fn row(&self, row: i64, width: usize) -> &[i8] {
        let start = usize::try_from(row).unwrap_or_default() * width;
        self.codes.get(start..start + width).unwrap_or_default()
    }
}

impl Tables {
    fn array(&self) -> Array {
        let dtype = match self {
            Self::Single(_) => Dtype::Float32,
            Self::Double(_) => Dtype::Float64,
        };
        Array::new("inputs", dtype)
    }

    /// Writes the numbers of a batch.
    fn fill(&self, window: &Window, rows: &[i64], width: usize, out: &mut Values) -> Result<()> {
        match (self, out) {
            (Self::Single(tables), Values::F32(out)) => decode(window, (rows, width), tables, out),
            (Self::Double(tables), Values::F64(out)) => decode(window, (rows, width), tables, out),
            _ => Err(Error::argument("the tables of genotypes have another type")),
        }
    }
}

fn decode<T: Copy + Default>(
    window: &Window,
    (rows, width): (&[i64], usize),
    tables: &[Vec<T>; 4],
    out: &mut Vec<T>,
) -> Result<()> {
    resize(out, rows.len() * width)?;
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

impl Feed for Genotypes {
    fn next(&mut self, mut spare: Batch) -> Result<Option<Piece>> {
        let Some(window) = &mut self.window else {
            return self.read();
        };
        if !window.pick(self.batch_size, &mut spare) {
            self.window = None;
            return Ok(Some(Piece::End));
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
        Ok(Some(Piece::Batch(spare)))
    }
}

fn fault(path: &Path, message: String) -> Error {
    Error::format(path, Fault::whole(message))
}
