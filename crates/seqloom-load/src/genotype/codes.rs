//! Decodes and counts rows of two-bit genotype codes in memory or in a file.

use rayon::prelude::*;
use seqloom_core::{Error, Result, error::Fault};
use seqloom_encode::genotype::count::{self, PositionMask, count_positions};
use seqloom_encode::genotype::each::{self, CodeTables, SelectByCode};
use seqloom_encode::genotype::{Genotype, row};
use seqloom_plink::{Bed, BedLayout};

use super::chunks::{self, Buffer};
use super::sink::section_checksum;

/// Number of rows that are read together and decoded in one pass over the lookup
/// tables.
const LINES_PER_READ: usize = 8;

/// Maximum number of rows, and of bytes, that are counted together.
const COUNT_LIMITS: (usize, usize) = (255, 4 << 20);

/// Number of counted codes: missing, heterozygous and homozygous A2.
pub const COUNTED_CODES: usize = 3;

/// Counts of the missing, heterozygous and homozygous A2 codes.
type CodeCounts = [u32; COUNTED_CODES];

/// Rows of two-bit codes that are selected by index.
#[derive(Debug)]
pub struct CodeRows {
    layout: BedLayout,
    storage: LineStorage,
}

#[derive(Debug)]
enum LineStorage {
    Memory(Vec<u8>),
    /// A file with an optional checksum for each row; a row is compared with its checksum
    /// when it is read.
    File(Bed, Option<Vec<u64>>),
}

impl CodeRows {
    /// Uses the codes of concatenated rows in memory.
    pub fn in_memory(layout: BedLayout, lines: Vec<u8>) -> Self {
        let storage = LineStorage::Memory(lines);
        Self { layout, storage }
    }

    /// Uses the rows of a file, optionally with a checksum for each row.
    pub fn from_file(bed: Bed, layout: BedLayout, sums: Option<Vec<u64>>) -> Result<Self> {
        bed.check_size(&layout)?;
        let storage = LineStorage::File(bed, sums);
        Ok(Self { layout, storage })
    }

    /// Returns the layout of the rows.
    pub fn layout(&self) -> &BedLayout {
        &self.layout
    }

    /// Decodes rows with one lookup table for each position.
    pub fn decode<T: SelectByCode>(
        &self,
        lines: &[usize],
        tables: CodeTables<'_, T>,
        out: &mut [T],
    ) -> Result<()> {
        let (positions, stride) = (self.layout.row_genotypes(), self.layout.row_bytes());
        self.check_size(lines.len() * positions, out.len())?;
        self.check_size(4 * positions, tables.iter().map(|table| table.len()).sum())?;
        chunks::fill_chunks(
            out,
            LINES_PER_READ * positions,
            Vec::new,
            |scratch: &mut Vec<u8>, number, out| {
                let lines = &lines[number * LINES_PER_READ..][..out.len() / positions];
                scratch.resize(lines.len() * stride, 0);
                self.fetch_lines(lines, scratch)?;
                each::decode_by_column(scratch, stride, tables, out);
                Ok(())
            },
        )
    }

    /// Decodes rows with one lookup table for each row.
    pub fn decode_lines<T: Genotype>(
        &self,
        lines: &[usize],
        tables: CodeTables<'_, T>,
        out: &mut [T],
    ) -> Result<()> {
        let positions = self.layout.row_genotypes();
        self.check_size(lines.len() * positions, out.len())?;
        self.check_size(
            4 * lines.len(),
            tables.iter().map(|table| table.len()).sum(),
        )?;
        let scratch = || vec![0; self.layout.row_bytes()];
        chunks::fill_chunks(out, positions, scratch, |scratch, number, out| {
            self.fetch_lines(&lines[number..=number], scratch)?;
            row::decode_row(scratch, &tables.map(|table| table[number]), out);
            Ok(())
        })
    }

    /// Copies the codes of rows to `out`, one row after another.
    pub fn copy_lines(&self, lines: &[usize], out: &mut [u8]) -> Result<()> {
        let stride = self.layout.row_bytes();
        self.check_size(lines.len() * stride, out.len())?;
        chunks::fill_chunks(
            out,
            LINES_PER_READ * stride,
            || (),
            |(), number, out| {
                let count = out.len() / stride.max(1);
                self.fetch_lines(&lines[number * LINES_PER_READ..][..count], out)
            },
        )
    }

    /// Counts, at each position of the given rows, missing, heterozygous and homozygous A2
    /// genotypes.
    pub fn count_positions(&self, lines: &[usize]) -> Result<Vec<CodeCounts>> {
        let none = || Ok(vec![[0; COUNTED_CODES]; self.layout.row_genotypes()]);
        let one = |counts: Result<Vec<_>>, lines: &[usize]| self.add_counts(counts?, lines);
        let max_lines = (COUNT_LIMITS.1 / self.layout.row_bytes().max(1)).clamp(1, COUNT_LIMITS.0);
        if rayon::current_thread_index().is_none() {
            return lines.chunks(max_lines).fold(none(), one);
        }
        let parts = lines.par_chunks(max_lines);
        parts
            .fold(none, one)
            .reduce(none, |a, b| Ok(sum_counts(a?, &b?)))
    }

    /// Counts, in each of the given rows, missing, heterozygous and homozygous A2
    /// genotypes.
    pub fn count_lines(&self, lines: &[usize]) -> Result<Vec<CodeCounts>> {
        let all = PositionMask::new((0..self.layout.row_genotypes()).map(|_| true));
        let mut counts = vec![[0; COUNTED_CODES]; lines.len()];
        let scratch = || vec![0; self.layout.row_bytes()];
        let fill = |scratch: &mut Vec<u8>, number: usize, counts: &mut [CodeCounts]| {
            for (counts, line) in counts.iter_mut().zip(&lines[number * LINES_PER_READ..]) {
                self.fetch_lines(&[*line], scratch)?;
                let counted = count::count_genotypes(scratch, &all);
                *counts = [counted.missing, counted.het, counted.hom_a2];
            }
            Ok(())
        };
        chunks::fill_chunks(&mut counts, LINES_PER_READ, scratch, fill)?;
        Ok(counts)
    }

    /// Adds the genotype counts of rows to `counts`.
    fn add_counts(&self, mut counts: Vec<CodeCounts>, lines: &[usize]) -> Result<Vec<CodeCounts>> {
        let stride = self.layout.row_bytes();
        let mut codes = Buffer::of_size(lines.len() * stride)?;
        self.fetch_lines(lines, codes.bytes())?;
        let lines: Vec<&[u8]> = codes.bytes().chunks(stride.max(1)).collect();
        count_positions(&lines, &mut counts);
        Ok(counts)
    }

    /// Copies rows to `out`, one after another.
    fn fetch_lines(&self, lines: &[usize], out: &mut [u8]) -> Result<()> {
        let stride = self.layout.row_bytes();
        for (line, out) in lines.iter().zip(out.chunks_mut(stride.max(1))) {
            if *line >= self.layout.lines() {
                let count = self.layout.lines();
                let message = format!("line {line} of {count}");
                return Err(Error::OutOfRange { message });
            }
            match &self.storage {
                LineStorage::Memory(lines) => {
                    out.copy_from_slice(&lines[line * stride..][..stride]);
                }
                LineStorage::File(bed, sums) => {
                    bed.read_lines(&self.layout, *line, out)?;
                    verify_checksum(bed, sums.as_deref(), *line, out)?;
                }
            }
        }
        // The rows of a cached copy were compared with their checksums above. Other
        // files have no checksums, so check that the file did not change while it was
        // read.
        match &self.storage {
            LineStorage::File(bed, None) => bed.check_unchanged(),
            _ => Ok(()),
        }
    }

    fn check_size(&self, wanted: usize, found: usize) -> Result<()> {
        if wanted == found {
            return Ok(());
        }
        let message = format!(
            "expected {wanted} numbers for {}, found {found}",
            self.layout
        );
        Err(Error::argument(message))
    }
}

/// Adds counts element by element.
fn sum_counts(mut sums: Vec<CodeCounts>, others: &[CodeCounts]) -> Vec<CodeCounts> {
    for (sum, other) in sums.iter_mut().flatten().zip(others.iter().flatten()) {
        *sum += other;
    }
    sums
}

/// Returns an error if a row does not match its checksum.
fn verify_checksum(bed: &Bed, sums: Option<&[u64]>, line: usize, codes: &[u8]) -> Result<()> {
    let Some(sums) = sums else {
        return Ok(());
    };
    if sums.get(line) == Some(&section_checksum(0, codes)) {
        return Ok(());
    }
    Err(bed.to_error(Fault {
        record: Some(line as u64),
        ..Fault::of_file(format!(
            "row {line} is not what was written: this copy of genotypes is damaged; open the \
             dataset again, and a new copy is made"
        ))
    }))
}
