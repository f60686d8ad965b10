//! Summaries of bins, which genome browsers draw instead of many values.

/// The maximum number of zoom levels of a file.
pub(crate) const MAX_LEVELS: usize = 10;
/// The minimum number of bases of a bin.
const MIN_REDUCTION: u32 = 16;
/// The number of bins of the first level for a genome whose bases all have values. The bins
/// stay in memory until the file is finished.
const MAX_BINS: u64 = 1 << 22;
/// Each level has bins of this many bins of the level before.
const FACTOR: u32 = 4;

/// The summary of the values of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ZoomRecord {
    pub(crate) contig: u32,
    pub(crate) start: u32,
    pub(crate) stop: u32,
    /// The number of bases with a value.
    pub(crate) count: u64,
    pub(crate) least: f32,
    pub(crate) most: f32,
    pub(crate) sum: f64,
    pub(crate) squares: f64,
}

impl ZoomRecord {
    /// Returns the summary of bases with one value.
    pub(crate) fn of(contig: u32, (start, stop): (u32, u32), value: f32) -> Self {
        let (count, wide) = (stop - start, f64::from(value));
        Self {
            contig,
            start,
            stop,
            count: u64::from(count),
            least: value,
            most: value,
            sum: wide * f64::from(count),
            squares: wide * wide * f64::from(count),
        }
    }

    /// Returns the summary of both ranges.
    pub(crate) fn join(&self, other: &Self) -> Self {
        Self {
            contig: self.contig,
            start: self.start.min(other.start),
            stop: self.stop.max(other.stop),
            count: self.count + other.count,
            least: self.least.min(other.least),
            most: self.most.max(other.most),
            sum: self.sum + other.sum,
            squares: self.squares + other.squares,
        }
    }

    /// Returns the record as it is in a file, where sums have 32 bits.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let count = u32::try_from(self.count).unwrap_or(u32::MAX);
        let mut out = Vec::with_capacity(32);
        for number in [self.contig, self.start, self.stop, count] {
            out.extend(number.to_le_bytes());
        }
        #[expect(clippy::cast_possible_truncation, reason = "the format has 32 bits")]
        for number in [self.least, self.most, self.sum as f32, self.squares as f32] {
            out.extend(number.to_le_bytes());
        }
        out
    }
}

/// Collects the bins of the first level.
#[derive(Debug)]
pub(crate) struct Zoom {
    reduction: u32,
    records: Vec<ZoomRecord>,
}

impl Zoom {
    pub(crate) fn new(contigs: &[(String, u32)]) -> Self {
        let bases: u64 = contigs.iter().map(|(_, length)| u64::from(*length)).sum();
        let reduction = u32::try_from(bases / MAX_BINS).unwrap_or(u32::MAX);
        Self {
            reduction: reduction.max(MIN_REDUCTION),
            records: Vec::new(),
        }
    }

    /// Adds the bases of a range, each to its bin.
    pub(crate) fn add(&mut self, contig: usize, (start, stop): (u32, u32), value: f32) {
        let contig = u32::try_from(contig).unwrap_or(u32::MAX);
        let mut start = start;
        while start < stop {
            let bin = start / self.reduction;
            let end = (bin + 1).saturating_mul(self.reduction).min(stop);
            let record = ZoomRecord::of(contig, (start, end), value);
            add_record(&mut self.records, record, self.reduction);
            start = end;
        }
    }

    /// Returns the number of bases of a bin, and the sorted bins, of each level.
    pub(crate) fn take_levels(&mut self) -> Vec<(u32, Vec<ZoomRecord>)> {
        let mut records = std::mem::take(&mut self.records);
        records.sort_by_key(|record| record.contig);
        let mut levels = vec![(self.reduction, records)];
        while let Some((reduction, records)) = levels.last() {
            let next = reduction.checked_mul(FACTOR);
            let Some(next) = next.filter(|_| records.len() > 1 && levels.len() < MAX_LEVELS) else {
                break;
            };
            let mut joined = Vec::new();
            for record in records {
                add_record(&mut joined, *record, next);
            }
            if joined.len() == records.len() {
                break; // each contig has one bin
            }
            levels.push((next, joined));
        }
        levels.retain(|(_, records)| !records.is_empty());
        levels
    }
}

/// Adds a record to the last record if both are in one bin.
fn add_record(records: &mut Vec<ZoomRecord>, record: ZoomRecord, reduction: u32) {
    match records.last_mut() {
        Some(last)
            if last.contig == record.contig
                && last.start / reduction == record.start / reduction =>
        {
            *last = last.join(&record);
        }
        _ => records.push(record),
    }
}
