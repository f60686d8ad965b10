//! Counts genotypes of files with one row per individual. Each thread reads and counts a
//! range of variants row by row.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use seqloom_core::Result;
use seqloom_encode::genotype::count::{PositionMask, count_genotypes, count_positions};
use seqloom_plink::Bed;

use super::{CODES, COUNTED_BYTES_PER_READ, CodeCounter, MAX_COUNTED_LINES};
use crate::genotype::chunks::{Buffer, fill_chunks};

/// Maximum number of bytes of a row that are read in one call.
const MAX_WIDTH_BYTES: usize = COUNTED_BYTES_PER_READ / MAX_COUNTED_LINES;
/// Minimum number of bytes of a row that are read in one call.
const MIN_WIDTH_BYTES: usize = 1 << 12;

impl CodeCounter {
    pub(super) fn count_columns(
        &self,
        bed: &Bed,
        rows: &mut [u32],
        missing: &Mutex<&mut [u32]>,
    ) -> Result<()> {
        let row = CODES * self.masks.len();
        let width = rows.len().div_ceil(4 * row * thread_count());
        let positions = 4 * width.clamp(MIN_WIDTH_BYTES, MAX_WIDTH_BYTES);
        fill_chunks(
            rows,
            positions * row,
            || (),
            |(), number, rows| {
                let first = self.next + number * positions;
                self.count_column(bed, first..first + rows.len() / row, rows, missing)
            },
        )
    }

    fn count_column(
        &self,
        bed: &Bed,
        variants: Range<usize>,
        rows: &mut [u32],
        missing: &Mutex<&mut [u32]>,
    ) -> Result<()> {
        let column = VariantColumns::new(variants);
        let width = column.bytes.len();
        let mut parts = Buffer::of_size(width * MAX_COUNTED_LINES.min(self.layout.individuals))?;
        rows.fill(0);
        for first in (0..self.layout.individuals).step_by(MAX_COUNTED_LINES) {
            let lines = first..(first + MAX_COUNTED_LINES).min(self.layout.individuals);
            for (line, part) in lines.clone().zip(parts.bytes().chunks_mut(width)) {
                bed.read_at(
                    self.layout.row_offset(line) + column.bytes.start as u64,
                    part,
                )?;
            }
            let lines: Vec<_> = lines.zip(parts.bytes().chunks(width)).collect();
            self.add_lines(&lines, &column, rows);
            column.add_missing(&lines, missing);
        }
        Ok(())
    }

    /// Adds the genotypes in sections of rows to the counts of their groups.
    fn add_lines(&self, lines: &[(usize, &[u8])], column: &VariantColumns, rows: &mut [u32]) {
        let is_in = |line: usize, group| self.group_of.get(line) == Some(&group);
        for group in 0..self.masks.len() {
            let ours = lines.iter().filter(|(line, _)| is_in(*line, group));
            let ours: Vec<&[u8]> = ours.map(|(_, part)| *part).collect();
            let size = u32::try_from(ours.len()).unwrap_or(u32::MAX);
            let mut here = vec![[0; 3]; column.bytes.len() * 4];
            count_positions(&ours, &mut here);
            let here = here.iter().skip(column.skipped);
            for (row, others) in rows.chunks_mut(CODES * self.masks.len()).zip(here) {
                let row = row.iter_mut().skip(CODES * group).take(CODES);
                let hom_a1 = size - others.iter().sum::<u32>();
                for (count, new) in row.zip([hom_a1].iter().chain(others)) {
                    *count += new;
                }
            }
        }
    }
}

/// Consecutive variants, and their range of bytes in a row.
struct VariantColumns {
    bytes: Range<usize>,
    /// Number of genotypes in the first byte that belong to earlier variants.
    skipped: usize,
    mask: PositionMask,
}

impl VariantColumns {
    fn new(variants: Range<usize>) -> Self {
        let bytes = variants.start / 4..variants.end.div_ceil(4);
        let positions = 4 * bytes.start..4 * bytes.end;
        Self {
            skipped: variants.start - positions.start,
            mask: PositionMask::new(positions.map(|position| variants.contains(&position))),
            bytes,
        }
    }

    fn add_missing(&self, lines: &[(usize, &[u8])], missing: &Mutex<&mut [u32]>) {
        let count =
            |(line, part): &(usize, &[u8])| (*line, count_genotypes(part, &self.mask).missing);
        let counts: Vec<_> = lines.iter().map(count).collect();
        let mut missing = missing.lock().unwrap_or_else(PoisonError::into_inner);
        for (line, count) in counts {
            if let Some(total) = missing.get_mut(line) {
                *total += count;
            }
        }
    }
}

/// Returns the number of threads of the current pool. Outside a pool, the number is 1,
/// because rayon would create its global pool.
fn thread_count() -> usize {
    rayon::current_thread_index().map_or(1, |_| rayon::current_num_threads())
}
