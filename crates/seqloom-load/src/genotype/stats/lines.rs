//! Counts genotypes of files with one row per variant. Each thread reads and counts a block
//! of rows.

use std::sync::{Mutex, PoisonError};

use seqloom_core::Result;
use seqloom_encode::genotype::count::{count_genotypes, count_positions};
use seqloom_plink::Bed;

use super::{CODES, COUNTED_BYTES_PER_READ, CodeCounter, MAX_COUNTED_LINES, by_code};
use crate::genotype::chunks::{Buffer, fill_chunks};

impl CodeCounter {
    pub(super) fn count_lines(
        &self,
        bed: &Bed,
        rows: &mut [u32],
        missing: &Mutex<&mut [u32]>,
        check: bool,
    ) -> Result<()> {
        let stride = self.layout.row_bytes();
        let block = (COUNTED_BYTES_PER_READ / stride.max(1)).clamp(1, MAX_COUNTED_LINES);
        let row = CODES * self.masks.len();
        fill_chunks(
            rows,
            block * row,
            || (),
            |(), number, rows| {
                let first = self.next + number * block;
                let mut lines = Buffer::of_size(rows.len() / row * stride)?;
                bed.read_lines(&self.layout, first, lines.bytes())?;
                if check {
                    self.padding
                        .add_lines(bed, &self.layout, first, lines.bytes())?;
                }
                self.count_block(lines.bytes(), rows, missing);
                Ok(())
            },
        )
    }

    fn count_block(&self, lines: &[u8], rows: &mut [u32], missing: &Mutex<&mut [u32]>) {
        let stride = self.layout.row_bytes();
        if stride == 0 {
            return rows.fill(0);
        }
        let lines: Vec<&[u8]> = lines.chunks_exact(stride).collect();
        for (line, row) in lines.iter().zip(rows.chunks_mut(CODES * self.masks.len())) {
            for (mask, row) in self.masks.iter().zip(row.chunks_mut(CODES)) {
                row.copy_from_slice(&by_code(count_genotypes(line, mask)));
            }
        }
        let mut here = vec![[0]; self.layout.individuals];
        count_positions(&lines, &mut here);
        let mut missing = missing.lock().unwrap_or_else(PoisonError::into_inner);
        for (total, [more]) in missing.iter_mut().zip(here) {
            *total += more;
        }
    }
}
