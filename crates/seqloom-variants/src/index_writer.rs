//! Builds `.tbi` and `.csi` indexes of VCF files.
//!
//! While records are written, positions are offsets in the text, because several threads
//! compress blocks. At the end, the table of blocks turns them into virtual offsets.

use std::collections::BTreeMap;

/// The binary logarithm of the number of bases of the smallest bins.
pub(crate) const MIN_SHIFT: u32 = 14;
/// The number of levels of bins of a `.tbi` index.
pub(crate) const TBI_DEPTH: u32 = 5;
/// The largest number of levels; then a contig has at most 2^44 bases.
const MAX_DEPTH: u32 = 10;

/// The kind of an index file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// For contigs of at most 2^29 bases.
    Tbi,
    /// For contigs of any length.
    Csi,
}

impl IndexKind {
    /// The end of the name of the index file.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Tbi => ".tbi",
            Self::Csi => ".csi",
        }
    }
}

/// Two offsets, of the first byte and after the last byte.
type Chunk = (u64, u64);

/// The records of a contig in the index.
#[derive(Debug)]
struct IndexedContig {
    name: Vec<u8>,
    bins: BTreeMap<u32, Vec<Chunk>>,
    /// The offset of the first record in each window of the smallest bins.
    windows: Vec<Option<u64>>,
    range: Chunk,
    records: u64,
}

/// A record to add to an index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexedRecord<'a> {
    pub(crate) chrom: &'a [u8],
    /// The zero-based range of the reference.
    pub(crate) range: (i64, i64),
    /// The range in the text of the file.
    pub(crate) text: Chunk,
}

/// An index of the records that were written so far.
#[derive(Debug)]
pub(crate) struct IndexBuilder {
    contigs: Vec<IndexedContig>,
    depth: u32,
    last_start: i64,
    /// The reason why the file cannot be indexed.
    failure: Option<String>,
}

impl IndexBuilder {
    /// Creates an index of a file whose contigs have at most `length` bases.
    pub(crate) fn new(length: i64) -> Self {
        let is_short = |depth: &u32| length <= 1_i64 << (MIN_SHIFT + 3 * depth);
        let depth = (TBI_DEPTH..MAX_DEPTH).find(is_short);
        Self {
            contigs: Vec::new(),
            depth: depth.unwrap_or(MAX_DEPTH),
            last_start: i64::MIN,
            failure: None,
        }
    }

    /// Adds the next record of the file.
    pub(crate) fn add(&mut self, record: &IndexedRecord<'_>) {
        if self.failure.is_some() {
            return;
        }
        let max = 1_i64 << (MIN_SHIFT + 3 * self.depth);
        let start = record.range.0.max(0);
        let end = record.range.1.clamp(start + 1, max);
        if start >= max {
            let name = String::from_utf8_lossy(record.chrom);
            self.failure = Some(format!(
                "{name} has a record at position {}, which needs the length of the contig in the header",
                start + 1
            ));
            return;
        }
        let is_same = self
            .contigs
            .last()
            .is_some_and(|it| it.name == record.chrom);
        if !is_same && !self.begin_contig(record) {
            return;
        }
        if is_same && start < self.last_start {
            let name = String::from_utf8_lossy(record.chrom);
            self.failure = Some(format!(
                "the records are not sorted: {name} has position {} after {}",
                start + 1,
                self.last_start + 1
            ));
            return;
        }
        self.last_start = start;
        let bin = self.find_bin(start, end);
        if let Some(contig) = self.contigs.last_mut() {
            contig.add(bin, (start, end), record.text);
        }
    }

    fn begin_contig(&mut self, record: &IndexedRecord<'_>) -> bool {
        let name = record.chrom;
        if self.contigs.iter().any(|contig| contig.name == name) {
            let name = String::from_utf8_lossy(name);
            let message = format!("the records are not sorted: those of {name} are not together");
            self.failure = Some(message);
            return false;
        }
        self.contigs.push(IndexedContig {
            name: name.to_vec(),
            bins: BTreeMap::new(),
            windows: Vec::new(),
            range: (record.text.0, record.text.1),
            records: 0,
        });
        true
    }

    /// Returns the smallest bin that contains a range.
    fn find_bin(&self, start: i64, end: i64) -> u32 {
        let last = end - 1;
        let (mut shift, mut first) = (MIN_SHIFT, first_bin(self.depth));
        for level in (0..self.depth).rev() {
            if start >> shift == last >> shift {
                break;
            }
            shift += 3;
            first -= 1_u32 << (3 * level);
        }
        first.saturating_add(u32::try_from(start >> shift).unwrap_or(u32::MAX))
    }

    /// Returns the kind and the uncompressed bytes of the index, or the reason why there is
    /// no index. `blocks` has the offsets of all blocks in the file and in the text.
    pub(crate) fn finish(self, blocks: &[Chunk]) -> Result<(IndexKind, Vec<u8>), String> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let kind = if self.depth == TBI_DEPTH {
            IndexKind::Tbi
        } else {
            IndexKind::Csi
        };
        let mut out = Vec::new();
        let names = self
            .contigs
            .iter()
            .flat_map(|it| it.name.iter().chain(&[0]));
        let names: Vec<u8> = names.copied().collect();
        let fields = [2, 1, 2, 0, i32::from(b'#'), 0];
        match kind {
            IndexKind::Tbi => {
                out.extend_from_slice(b"TBI\x01");
                push_count(&mut out, self.contigs.len());
            }
            IndexKind::Csi => {
                out.extend_from_slice(b"CSI\x01");
                out.extend_from_slice(&MIN_SHIFT.to_le_bytes());
                out.extend_from_slice(&self.depth.to_le_bytes());
                push_count(&mut out, 4 * (fields.len() + 1) + names.len());
            }
        }
        for field in fields {
            out.extend_from_slice(&field.to_le_bytes());
        }
        push_count(&mut out, names.len());
        out.extend_from_slice(&names);
        if kind == IndexKind::Csi {
            push_count(&mut out, self.contigs.len());
        }
        for contig in &self.contigs {
            contig.write((kind, self.depth), blocks, &mut out);
        }
        out.extend_from_slice(&0_u64.to_le_bytes());
        Ok((kind, out))
    }
}

/// Returns the number of the first bin of a level.
pub(crate) fn first_bin(level: u32) -> u32 {
    u32::try_from(((1_u64 << (3 * level)) - 1) / 7).unwrap_or(u32::MAX)
}

fn push_count(out: &mut Vec<u8>, count: usize) {
    let count = i32::try_from(count).unwrap_or(i32::MAX);
    out.extend_from_slice(&count.to_le_bytes());
}

impl IndexedContig {
    fn add(&mut self, bin: u32, (start, end): (i64, i64), text: Chunk) {
        let chunks = self.bins.entry(bin).or_default();
        match chunks.last_mut() {
            Some(last) if last.1 == text.0 => last.1 = text.1,
            _ => chunks.push(text),
        }
        let window = |at: i64| usize::try_from(at >> MIN_SHIFT).unwrap_or_default();
        let (first, last) = (window(start), window(end - 1));
        if self.windows.len() <= last {
            self.windows.resize(last + 1, None);
        }
        for offset in self.windows.get_mut(first..=last).unwrap_or_default() {
            offset.get_or_insert(text.0);
        }
        self.range.1 = text.1;
        self.records += 1;
    }

    fn write(&self, (kind, depth): (IndexKind, u32), blocks: &[Chunk], out: &mut Vec<u8>) {
        let position = |offset: u64| virtual_offset(offset, blocks).to_le_bytes();
        let mut last = self.range.0;
        let windows: Vec<u64> = self
            .windows
            .iter()
            .map(|offset| {
                last = offset.unwrap_or(last);
                last
            })
            .collect();
        push_count(out, self.bins.len() + 1);
        for (bin, chunks) in &self.bins {
            out.extend_from_slice(&bin.to_le_bytes());
            if kind == IndexKind::Csi {
                let first = windows.get(first_window(*bin, depth)).copied();
                out.extend_from_slice(&position(first.unwrap_or(self.range.0)));
            }
            push_count(out, chunks.len());
            for (start, stop) in chunks {
                out.extend_from_slice(&position(*start));
                out.extend_from_slice(&position(*stop));
            }
        }
        // The last bin has the range of all records, and their number.
        out.extend_from_slice(&(first_bin(depth + 1) + 1).to_le_bytes());
        if kind == IndexKind::Csi {
            out.extend_from_slice(&0_u64.to_le_bytes());
        }
        push_count(out, 2);
        out.extend_from_slice(&position(self.range.0));
        out.extend_from_slice(&position(self.range.1));
        out.extend_from_slice(&self.records.to_le_bytes());
        out.extend_from_slice(&0_u64.to_le_bytes());
        if kind == IndexKind::Tbi {
            push_count(out, windows.len());
            for offset in windows {
                out.extend_from_slice(&position(offset));
            }
        }
    }
}

/// Returns the first window of the smallest bins that a bin contains.
fn first_window(bin: u32, depth: u32) -> usize {
    let level = (0..=depth).rev().find(|level| first_bin(*level) <= bin);
    let level = level.unwrap_or_default();
    let window = u64::from(bin - first_bin(level)) << (3 * (depth - level));
    usize::try_from(window).unwrap_or(usize::MAX)
}

/// Returns the offset of a block in the file, shifted by 16 bits, plus the offset in its
/// text.
fn virtual_offset(offset: u64, blocks: &[Chunk]) -> u64 {
    let number = blocks.partition_point(|(_, text)| *text <= offset);
    let block = number.checked_sub(1).and_then(|number| blocks.get(number));
    let (packed, text) = block.copied().unwrap_or_default();
    (packed << 16) | (offset - text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The function `reg2bin` of the specification of tabix.
    fn reference_bin(start: i64, end: i64) -> i64 {
        let last = end - 1;
        for (shift, first) in [(14, 4681), (17, 585), (20, 73), (23, 9), (26, 1)] {
            if start >> shift == last >> shift {
                return first + (start >> shift);
            }
        }
        0
    }

    #[test]
    fn the_bin_of_a_range_is_that_of_the_specification() {
        let index = IndexBuilder::new(1000);
        for start in [0, 16_383, 16_384, 70_000, 131_071, 1 << 20, (1 << 29) - 1] {
            for size in [1, 2, 20_000, 200_000, 1 << 26] {
                let found = i64::from(index.find_bin(start, start + size));
                assert_eq!(found, reference_bin(start, start + size), "{start} {size}");
            }
        }
    }

    #[test]
    fn an_offset_at_the_start_of_a_block_belongs_to_that_block() {
        let blocks = [(0, 0), (100, 65_280)];
        assert_eq!(virtual_offset(65_279, &blocks), 65_279);
        assert_eq!(virtual_offset(65_280, &blocks), 100 << 16);
    }
}
