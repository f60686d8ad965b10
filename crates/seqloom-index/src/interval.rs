//! Reads intervals of records: zero-based, half-open.

use std::ops::Range;

use seqloom_core::{Error, Result};

use super::cache::ReadCache;
use super::fetch::{as_i64, to_offset};
use super::id_column;
use super::open::Index;
use super::row::{IndexRow, id_of};
use seqloom_compression::checksum::{hash_64, low_32_bits};
use seqloom_compression::{ReadError, seekable::changed_file};
use seqloom_sequences::bytes::ByteClass;

/// An interval of a record, and its position in the result.
#[derive(Clone, Copy)]
struct IntervalPart {
    number: u64,
    start: i64,
    stop: i64,
    position: usize,
}

/// The concatenated residues of intervals, with the position and length of each
/// interval.
type IntervalLetters = (Vec<u8>, Vec<(usize, usize)>);

impl Index {
    /// Reads the residues from `starts` to `stops` of records by number. Returns the residues,
    /// concatenated in the requested order, and their offsets.
    pub fn fetch_intervals(
        &self,
        numbers: &[i64],
        (starts, stops): (&[i64], &[i64]),
        threads: usize,
    ) -> Result<(Vec<u8>, Vec<i64>)> {
        if numbers.len() != starts.len() || numbers.len() != stops.len() {
            return Err(Error::argument(format!(
                "expected as many starts and stops as records, got {}, {} and {}",
                starts.len(),
                stops.len(),
                numbers.len()
            )));
        }
        let bounds = starts.iter().zip(stops).enumerate();
        let mut wanted: Vec<IntervalPart> = (self.record_numbers(numbers)?.into_iter().zip(bounds))
            .map(|(number, (position, (start, stop)))| IntervalPart {
                number,
                start: *start,
                stop: *stop,
                position,
            })
            .collect();
        wanted.sort_by_key(|part| (part.number, part.start));
        let parts = self.parallel_map(&wanted, threads, |part, cache| {
            self.read_intervals(part, cache)
        })?;
        Ok(copy_in_requested_order(&parts, numbers.len()))
    }

    /// Reads intervals that are sorted by record.
    fn read_intervals(
        &self,
        wanted: &[IntervalPart],
        cache: &mut ReadCache,
    ) -> Result<IntervalLetters> {
        let mut letters = Vec::new();
        let mut lengths = Vec::with_capacity(wanted.len());
        // This buffer stores the residues of a record whose lines have unequal length.
        let mut whole: Option<(u64, Vec<u8>)> = None;
        for part in wanted {
            let row = self.row(part.number, cache)?;
            let range = self.interval_range(part, &row, cache)?;
            let before = letters.len();
            if row.line_letters > 0 || range.is_empty() {
                self.check_record_header(part.number, &row, cache)
                    .map_err(|error| self.path_error(error))?;
                let read = self.read_residues(&row, range, &mut letters, cache);
                read.map_err(|error| self.path_error(error))?;
            } else {
                if whole
                    .as_ref()
                    .is_none_or(|(number, _)| *number != part.number)
                {
                    let record = self.fetch_records(&[as_i64(part.number)], 1)?;
                    whole = Some((part.number, record.data));
                }
                let position = |position: u64| usize::try_from(position).unwrap_or(usize::MAX);
                let all = whole.as_ref().map_or(&[][..], |(_, letters)| letters);
                let part = all.get(position(range.start)..position(range.end));
                let short = || self.path_error(changed_file("a record is shorter"));
                letters.extend_from_slice(part.ok_or_else(short)?);
            }
            lengths.push((part.position, letters.len() - before));
        }
        Ok((letters, lengths))
    }

    /// Returns the range of an interval, or an error if the record is shorter.
    fn interval_range(
        &self,
        part: &IntervalPart,
        row: &IndexRow,
        cache: &mut ReadCache,
    ) -> Result<Range<u64>> {
        let fits = 0 <= part.start && part.start <= part.stop && part.stop <= as_i64(row.length);
        if let (true, Ok(start), Ok(stop)) =
            (fits, u64::try_from(part.start), u64::try_from(part.stop))
        {
            return Ok(start..stop);
        }
        let header = self
            .read_header(row, cache)
            .map_err(|error| self.path_error(error))?;
        Err(Error::OutOfRange {
            message: format!(
                "{}: record {} ({}) has {} residues, got {} to {}",
                self.path.display(),
                part.number,
                String::from_utf8_lossy(id_of(&header)),
                row.length,
                part.start,
                part.stop
            ),
        })
    }

    /// Checks, once for each record, that its header is at the position given in the
    /// index.
    fn check_record_header(
        &self,
        number: u64,
        row: &IndexRow,
        cache: &mut ReadCache,
    ) -> std::result::Result<(), ReadError> {
        if cache.checked_headers.contains(&number) {
            return Ok(());
        }
        let name = hash_64(id_of(&self.read_header(row, cache)?));
        let is_known = if self.side.head.has_sums {
            let rows = id_column::find_id(self.side.id_column(), &self.side.image, name);
            rows.map_err(ReadError::Damage)?.contains(&number)
        } else {
            low_32_bits(name) == row.sum
        };
        if !is_known {
            return Err(changed_file("a different record is at the position"));
        }
        cache.checked_headers.insert(number);
        Ok(())
    }

    /// Appends residues of a record with lines of equal length.
    fn read_residues(
        &self,
        row: &IndexRow,
        range: Range<u64>,
        letters: &mut Vec<u8>,
        cache: &mut ReadCache,
    ) -> std::result::Result<(), ReadError> {
        let Some(last) = range.end.checked_sub(1).filter(|last| *last >= range.start) else {
            return Ok(());
        };
        let positions = row.offset(range.start).zip(row.offset(last));
        let (start, end) =
            positions.ok_or_else(|| changed_file("a line of residues has no end"))?;
        let mut text = Vec::new();
        self.text
            .read_range(start..end + 1, &mut text, &mut cache.text)?;
        let width = u64::from(row.line_letters);
        let first = usize::try_from(width - range.start % width).unwrap_or(usize::MAX);
        let ends = (row.line_bytes - row.line_letters) as usize;
        copy_residues(&text, first, (row.line_letters as usize, ends), letters)
            .ok_or_else(|| changed_file("its lines have unexpected lengths"))
    }
}

/// Copies residues without line ends; returns `None` if line ends are at unexpected positions.
fn copy_residues(
    text: &[u8],
    first: usize,
    (width, end): (usize, usize),
    letters: &mut Vec<u8>,
) -> Option<()> {
    let mut rest = text;
    let mut count = first;
    while !rest.is_empty() {
        let (line, behind) = rest.split_at(count.min(rest.len()));
        if !ByteClass::Letter.has_all(line) {
            return None;
        }
        letters.extend_from_slice(line);
        rest = behind;
        if !rest.is_empty() {
            let mark: &[u8] = if end == 2 { b"\r\n" } else { b"\n" };
            rest = rest.strip_prefix(mark)?;
        }
        count = width;
    }
    Some(())
}

/// Copies the residues of intervals in the requested order.
fn copy_in_requested_order(parts: &[IntervalLetters], count: usize) -> (Vec<u8>, Vec<i64>) {
    let mut sources: Vec<&[u8]> = vec![&[]; count];
    for (letters, lengths) in parts {
        let mut rest = &letters[..];
        for (position, length) in lengths {
            let (own, behind) = rest.split_at(*length);
            if let Some(source) = sources.get_mut(*position) {
                *source = own;
            }
            rest = behind;
        }
    }
    let mut offsets = vec![0];
    let ends = sources.iter().scan(0, |end, letters| {
        *end += letters.len();
        Some(to_offset(*end))
    });
    offsets.extend(ends);
    (sources.concat(), offsets)
}
