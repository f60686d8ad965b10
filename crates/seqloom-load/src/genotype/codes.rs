//! Lines of codes, in memory or in a file, and what is made of them.

use rayon::prelude::*;
use seqloom_core::error::Fault;
use seqloom_core::{Error, Result};
use seqloom_encode::genotype::count::{self, PositionMask, count_positions};
use seqloom_encode::genotype::each::{self, CodeIndex, CodeTables};
use seqloom_encode::genotype::{Genotype, row};
use seqloom_plink::{Bed, BedLayout};

use super::shares::{self, Bytes};
use super::sink::summed;

/// Lines that are fetched together: their tables are then read once.
const LINES: usize = 8;

/// Lines that are counted together, if they have no more bytes than this.
const COUNTED: (usize, usize) = (255, 4 << 20);

/// Codes that missing, heterozygous and homozygous A2 stand for.
pub const KINDS: usize = 3;

/// Lines of codes by number.
#[derive(Debug)]
pub struct Codes {
    layout: BedLayout,
    storage: LineStorage,
}

/// The storage of lines.
#[derive(Debug)]
enum LineStorage {
    Memory(Vec<u8>),
    /// With sums, each line is compared with its own when it is read.
    File(Bed, Option<Vec<u64>>),
}

impl Codes {
    /// Lines in memory, end to end.
    pub fn in_memory(layout: BedLayout, lines: Vec<u8>) -> Self {
        let storage = LineStorage::Memory(lines);
        Self { layout, storage }
    }

    /// Lines of a file, with the sum of each where sums were kept.
    pub fn of_file(bed: Bed, layout: BedLayout, sums: Option<Vec<u64>>) -> Result<Self> {
        bed.measure(&layout)?;
        let storage = LineStorage::File(bed, sums);
        Ok(Self { layout, storage })
    }

    /// Where they stand.
    pub fn layout(&self) -> &BedLayout {
        &self.layout
    }

    /// Numbers of some lines, where each position has a table of its own.
    pub fn decode<T: CodeIndex>(
        &self,
        lines: &[usize],
        tables: CodeTables<'_, T>,
        out: &mut [T],
    ) -> Result<()> {
        let (positions, stride) = (self.layout.positions(), self.layout.stride());
        self.check_size(lines.len() * positions, out.len())?;
        self.check_size(4 * positions, tables.iter().map(|table| table.len()).sum())?;
        shares::chunks(
            out,
            LINES * positions,
            Vec::new,
            |scratch: &mut Vec<u8>, number, out| {
                let lines = &lines[number * LINES..][..out.len() / positions];
                scratch.resize(lines.len() * stride, 0);
                self.fetch(lines, scratch)?;
                each::decode(scratch, stride, tables, out);
                Ok(())
            },
        )
    }

    /// Numbers of some lines, where each line has a table of its own.
    pub fn decode_lines<T: Genotype>(
        &self,
        lines: &[usize],
        tables: CodeTables<'_, T>,
        out: &mut [T],
    ) -> Result<()> {
        let positions = self.layout.positions();
        self.check_size(lines.len() * positions, out.len())?;
        self.check_size(
            4 * lines.len(),
            tables.iter().map(|table| table.len()).sum(),
        )?;
        let scratch = || vec![0; self.layout.stride()];
        shares::chunks(out, positions, scratch, |scratch, number, out| {
            self.fetch(&lines[number..=number], scratch)?;
            row::decode(scratch, &tables.map(|table| table[number]), out);
            Ok(())
        })
    }

    /// The codes of some lines, end to end.
    pub fn gather(&self, lines: &[usize], out: &mut [u8]) -> Result<()> {
        let stride = self.layout.stride();
        self.check_size(lines.len() * stride, out.len())?;
        shares::chunks(
            out,
            LINES * stride,
            || (),
            |(), number, out| {
                let count = out.len() / stride.max(1);
                self.fetch(&lines[number * LINES..][..count], out)
            },
        )
    }

    /// How often, over some lines, each position is missing, heterozygous and homozygous A2.
    pub fn count(&self, lines: &[usize]) -> Result<Vec<[u32; KINDS]>> {
        let none = || Ok(vec![[0; KINDS]; self.layout.positions()]);
        let one = |counts: Result<Vec<_>>, lines: &[usize]| self.add(counts?, lines);
        let most = (COUNTED.1 / self.layout.stride().max(1)).clamp(1, COUNTED.0);
        if rayon::current_thread_index().is_none() {
            return lines.chunks(most).fold(none(), one);
        }
        let parts = lines.par_chunks(most);
        parts.fold(none, one).reduce(none, |a, b| Ok(plus(a?, &b?)))
    }

    /// The same of each line, over all its positions.
    pub fn count_lines(&self, lines: &[usize]) -> Result<Vec<[u32; KINDS]>> {
        let all = PositionMask::new((0..self.layout.positions()).map(|_| true));
        let mut counts = vec![[0; KINDS]; lines.len()];
        let scratch = || vec![0; self.layout.stride()];
        shares::chunks(&mut counts, LINES, scratch, |scratch, number, counts| {
            for (counts, line) in counts.iter_mut().zip(&lines[number * LINES..]) {
                self.fetch(&[*line], scratch)?;
                let found = count::count(scratch, &all);
                *counts = [found.missing, found.het, found.hom_a2];
            }
            Ok(())
        })?;
        Ok(counts)
    }

    /// Adds what stands in some lines.
    fn add(&self, mut counts: Vec<[u32; KINDS]>, lines: &[usize]) -> Result<Vec<[u32; KINDS]>> {
        let stride = self.layout.stride();
        let mut codes = Bytes::take(lines.len() * stride)?;
        self.fetch(lines, codes.all())?;
        let lines: Vec<&[u8]> = codes.all().chunks(stride.max(1)).collect();
        count_positions(&lines, &mut counts);
        Ok(counts)
    }

    /// Copies lines, end to end.
    fn fetch(&self, lines: &[usize], out: &mut [u8]) -> Result<()> {
        let stride = self.layout.stride();
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
                    bed.lines(&self.layout, *line, out)?;
                    compare(bed, sums.as_deref(), *line, out)?;
                }
            }
        }
        // A copy has a sum for each line; a user's own file may be written by somebody.
        match &self.storage {
            LineStorage::File(bed, None) => bed.unchanged(),
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

/// Adds counts position by position.
fn plus(mut sums: Vec<[u32; KINDS]>, others: &[[u32; KINDS]]) -> Vec<[u32; KINDS]> {
    for (sum, other) in sums.iter_mut().flatten().zip(others.iter().flatten()) {
        *sum += other;
    }
    sums
}

/// Compares a line with the sum that was kept of it.
fn compare(bed: &Bed, sums: Option<&[u64]>, line: usize, codes: &[u8]) -> Result<()> {
    let Some(sums) = sums else { return Ok(()) };
    if sums.get(line) == Some(&summed(0, codes)) {
        return Ok(());
    }
    Err(bed.fault(Fault {
        record: Some(line as u64),
        ..Fault::whole(format!(
            "line {line} is not what was written: this copy of genotypes is damaged; open the \
             dataset again, and a new copy is made"
        ))
    }))
}
