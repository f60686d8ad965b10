//! Reads many records by number.

use std::ops::Range;

use rayon::prelude::*;
use seqloom_core::{Error, Result, error::Fault};

use super::cache::ReadCache;
use super::errors::path_error;
use super::id_column;
use super::open::Index;
use super::row::{IndexRow, id_of};
use seqloom_compression::checksum::{hash_32, hash_64, low_32_bits};
use seqloom_compression::{ReadError, seekable::changed_file};
use seqloom_core::number::as_u64;
use seqloom_sequences::batch::{Batch, BatchSink};
use seqloom_sequences::options::{Format, ReaderOptions};
use seqloom_sequences::parser::Parser;

/// The maximum gap in bytes between two records that are read together.
const MAX_GAP_BYTES: u64 = 4 << 10;
/// The maximum size in bytes of records that are read together.
const MAX_READ_BYTES: u64 = 1 << 20;
/// The minimum number of records for a thread.
const MIN_THREAD_RECORDS: usize = 64;

impl Index {
    /// Reads records by number, in the requested order.
    pub fn fetch_records(&self, wanted: &[i64], threads: usize) -> Result<Batch> {
        let (numbers, order) = sort_numbers(&self.record_numbers(wanted)?);
        let mut parts = self.parallel_map(&numbers, threads, |part, cache| {
            self.read_sorted_records(part, cache)
        })?;
        let is_in_order = order
            .iter()
            .enumerate()
            .all(|(position, from)| position == *from);
        match parts.len() {
            1 if is_in_order => Ok(parts.remove(0)),
            _ => Ok(merge_batches(&parts, &order)),
        }
    }

    /// Reads headers by number. Returns the headers, concatenated in the requested order, and their
    /// offsets.
    pub fn fetch_headers(&self, wanted: &[i64]) -> Result<(Vec<u8>, Vec<i64>)> {
        let (numbers, order) = sort_numbers(&self.record_numbers(wanted)?);
        let mut found = vec![Vec::new(); numbers.len()];
        let mut cache = self.borrow_cache();
        let rows: Vec<IndexRow> = numbers
            .iter()
            .map(|number| self.row(*number, &mut cache))
            .collect::<Result<_>>()?;
        for (position, row) in order.into_iter().zip(rows) {
            let header = self.read_header(&row, &mut cache);
            let header = header.map_err(|error| self.path_error(error))?;
            if let Some(found) = found.get_mut(position) {
                *found = header;
            }
        }
        self.return_cache(cache);
        let mut offsets = vec![0];
        offsets.extend(found.iter().scan(0, |end, header| {
            *end += header.len();
            Some(to_offset(*end))
        }));
        Ok((found.concat(), offsets))
    }

    /// Returns the number of residues of each record in a range.
    pub fn record_lengths(&self, range: Range<u64>) -> Result<Vec<i64>> {
        let mut cache = ReadCache::default();
        let end = range.end.min(self.len());
        (range.start..end)
            .map(|number| self.row(number, &mut cache).map(|row| as_i64(row.length)))
            .collect()
    }

    /// Returns the numbers of the records with this id.
    pub fn find_by_id(&self, id: &[u8]) -> Result<Vec<u64>> {
        let mut cache = self.borrow_cache();
        let found = id_column::find_id(self.side.id_column(), &self.side.image, hash_64(id));
        let mut rows = Vec::new();
        for number in found.map_err(|fault| Error::format(&self.path, fault))? {
            let row = self.row(number, &mut cache)?;
            let header = self
                .read_header(&row, &mut cache)
                .map_err(|error| self.path_error(error))?;
            if id_of(&header) == id {
                rows.push(number);
            }
        }
        self.return_cache(cache);
        Ok(rows)
    }

    /// Converts indices to record numbers; negative indices count from the end.
    pub(super) fn record_numbers(&self, wanted: &[i64]) -> Result<Vec<u64>> {
        let count = as_i64(self.len());
        let number = |wanted: &i64| {
            let from_start = if *wanted < 0 {
                wanted.checked_add(count)?
            } else {
                *wanted
            };
            u64::try_from(from_start)
                .ok()
                .filter(|number| *number < self.len())
        };
        let outside = |wanted: &i64| Error::OutOfRange {
            message: format!("{}: record {wanted} of {count}", self.path.display()),
        };
        wanted
            .iter()
            .map(|wanted| number(wanted).ok_or_else(|| outside(wanted)))
            .collect()
    }

    /// Divides sorted work among the threads of the current pool.
    pub(super) fn parallel_map<W: Sync, T: Send>(
        &self,
        work: &[W],
        threads: usize,
        task: impl Fn(&[W], &mut ReadCache) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let one = |part: &[W]| {
            let mut cache = self.borrow_cache();
            let outcome = task(part, &mut cache);
            self.return_cache(cache);
            outcome
        };
        let size = work.len().div_ceil(threads.max(1)).max(MIN_THREAD_RECORDS);
        if work.len() <= size || rayon::current_thread_index().is_none() {
            return one(work).map(|part| vec![part]);
        }
        work.par_chunks(size).map(one).collect()
    }

    /// Returns an unused cache, or creates a new cache. The function does not wait for
    /// the lock, because in a forked process the thread that holds the lock may not
    /// exist.
    pub(super) fn borrow_cache(&self) -> ReadCache {
        let kept = self
            .caches
            .try_lock()
            .ok()
            .and_then(|mut caches| caches.pop());
        kept.unwrap_or_default()
    }

    pub(super) fn return_cache(&self, cache: ReadCache) {
        if let Ok(mut caches) = self.caches.try_lock() {
            caches.push(cache);
        }
    }

    /// Returns the index row of a record.
    pub(super) fn row(&self, number: u64, cache: &mut ReadCache) -> Result<IndexRow> {
        let row = match self.side.row_column().entry(&self.side.image, number) {
            Some(bytes) => IndexRow::from_bytes(bytes),
            None => self
                .read_index_row(number, cache)
                .map_err(|fault| Error::format(&self.path, fault))?,
        };
        let fits = row.check_bounds(self.text.size);
        fits.map_err(|fault| Error::format(&self.path, fault))
            .map(|()| row)
    }

    fn read_index_row(
        &self,
        number: u64,
        cache: &mut ReadCache,
    ) -> std::result::Result<IndexRow, Fault> {
        let column = self.side.row_column();
        if !cache.page_rows.contains(&number) {
            cache.page_rows = 0..0;
            let first = column.page(&self.side.image, number, &mut cache.page)?;
            cache.page_rows = first..first + as_u64(cache.page.len() / column.entry);
        }
        let position = usize::try_from(number - cache.page_rows.start).unwrap_or(usize::MAX);
        let bytes = cache.page.chunks_exact(column.entry).nth(position);
        Ok(IndexRow::from_bytes(bytes.unwrap_or_default()))
    }

    /// Returns the header of a record, without its `>` or `@` and without the line end.
    pub(super) fn read_header(
        &self,
        row: &IndexRow,
        cache: &mut ReadCache,
    ) -> std::result::Result<Vec<u8>, ReadError> {
        let mut line = Vec::new();
        let end = row.begin + u64::from(row.header);
        self.text
            .read_range(row.begin..end, &mut line, &mut cache.text)?;
        let bare = line.trim_ascii_start();
        let bare = bare.strip_suffix(b"\n").unwrap_or(bare);
        let bare = bare.strip_suffix(b"\r").unwrap_or(bare);
        let is_line = memchr::memchr(b'\n', bare).is_none();
        match bare.strip_prefix(&[header_marker(self.format())]) {
            Some(header) if is_line => Ok(header.to_vec()),
            _ => Err(changed_file("no header is at the position of a record")),
        }
    }

    /// Reads records with ascending numbers.
    fn read_sorted_records(&self, numbers: &[u64], cache: &mut ReadCache) -> Result<Batch> {
        let rows: Vec<IndexRow> = numbers
            .iter()
            .map(|number| self.row(*number, cache))
            .collect::<Result<_>>()?;
        let mut text = Vec::new();
        let mut rest = &rows[..];
        while !rest.is_empty() {
            let (together, behind) = rest.split_at(count_adjacent(rest));
            self.read_adjacent_records(together, &mut text, cache)
                .map_err(|error| self.path_error(error))?;
            rest = behind;
        }
        let batch = parse_records(self.format(), &text, rows.len())
            .filter(|batch| matches_rows(batch, &rows));
        batch.map_or_else(
            || Err(self.find_first_error(numbers, &rows, cache)),
            |batch| self.check_ids(batch, &rows),
        )
    }

    /// Reads adjacent records in one call, and checks each record.
    fn read_adjacent_records(
        &self,
        rows: &[IndexRow],
        text: &mut Vec<u8>,
        cache: &mut ReadCache,
    ) -> std::result::Result<(), ReadError> {
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
            return Ok(());
        };
        let range = first.begin..last.begin + last.size;
        let is_sealed = self.side.head.has_sums;
        let is_gapless = neighbour_pairs(rows).all(|(row, next)| record_end(row) == next.begin);
        if is_gapless {
            let before = text.len();
            self.text
                .read_bytes(range, text, &mut cache.text, is_sealed)?;
            self.verify(rows, text.get(before..).unwrap_or_default())?;
        } else {
            cache.together.clear();
            self.text
                .read_bytes(range, &mut cache.together, &mut cache.text, is_sealed)?;
            self.verify(rows, &cache.together)?;
            for row in rows {
                text.extend_from_slice(record_text(rows, row, &cache.together));
                add_line_end(text);
            }
        }
        add_line_end(text);
        Ok(())
    }

    /// Compares records with their checksums.
    fn verify(&self, rows: &[IndexRow], text: &[u8]) -> std::result::Result<(), ReadError> {
        let is_same = |row: &IndexRow| hash_32(record_text(rows, row, text)) == row.sum;
        if self.side.head.has_sums && !rows.iter().all(is_same) {
            return Err(changed_file("a record's checksum differs"));
        }
        Ok(())
    }

    /// Returns the batch; if the index has no checksums of records, compares the ids of
    /// the batch with the index.
    fn check_ids(&self, batch: Batch, rows: &[IndexRow]) -> Result<Batch> {
        if self.side.head.has_sums {
            return Ok(batch);
        }
        let is_same = rows.iter().enumerate().all(|(position, row)| {
            let header = row_slice(&batch.headers, &batch.header_offsets, position);
            low_32_bits(hash_64(id_of(header))) == row.sum
        });
        if is_same {
            Ok(batch)
        } else {
            Err(self.path_error(changed_file("an id differs")))
        }
    }

    /// Returns the error of the first record that differs from the index.
    fn find_first_error(&self, numbers: &[u64], rows: &[IndexRow], cache: &mut ReadCache) -> Error {
        for (number, row) in numbers.iter().zip(rows) {
            let mut text = Vec::new();
            if let Err(error) = self.read_adjacent_records(&[*row], &mut text, cache) {
                return self.path_error(error);
            }
            let found = parse_records(self.format(), &text, 1);
            if !found.is_some_and(|batch| matches_rows(&batch, &[*row])) {
                let how = format!("record {number} does not have {} residues", row.length);
                return self.path_error(changed_file(&how));
            }
        }
        self.path_error(changed_file("records overlap"))
    }

    pub(super) fn path_error(&self, error: ReadError) -> Error {
        path_error(&self.path, error)
    }
}

/// Returns the sorted record numbers and the original position of each number.
fn sort_numbers(numbers: &[u64]) -> (Vec<u64>, Vec<usize>) {
    let mut order: Vec<(u64, usize)> = numbers.iter().copied().zip(0..).collect();
    order.sort_unstable();
    order.into_iter().unzip()
}

/// Returns pairs of each item and the next item.
fn neighbour_pairs<T>(items: &[T]) -> impl Iterator<Item = (&T, &T)> {
    items.iter().zip(items.iter().skip(1))
}

/// Returns the offset after the last byte of a record.
fn record_end(row: &IndexRow) -> u64 {
    row.begin + row.size
}

/// Returns the number of rows, counted from the first, whose records are read together.
fn count_adjacent(rows: &[IndexRow]) -> usize {
    let first = rows.first().map_or(0, |first| first.begin);
    let is_adjacent = |(row, next): &(&IndexRow, &IndexRow)| {
        let size = record_end(next).checked_sub(first);
        next.begin.saturating_sub(record_end(row)) <= MAX_GAP_BYTES
            && size.is_some_and(|size| size <= MAX_READ_BYTES)
    };
    1 + neighbour_pairs(rows).take_while(is_adjacent).count()
}

/// Adds a missing line end, so that the next record begins on a new line.
fn add_line_end(text: &mut Vec<u8>) {
    if text.last() != Some(&b'\n') {
        text.push(b'\n');
    }
}

/// Returns the text of one record in the text of several adjacent records.
fn record_text<'a>(rows: &[IndexRow], row: &IndexRow, text: &'a [u8]) -> &'a [u8] {
    let first = rows.first().map_or(0, |first| first.begin);
    let position =
        |position: u64| usize::try_from(position.saturating_sub(first)).unwrap_or(usize::MAX);
    text.get(position(row.begin)..position(row.begin + row.size))
        .unwrap_or_default()
}

/// Parses the records of a text, at most one more than the expected number.
fn parse_records(format: Format, text: &[u8], records: usize) -> Option<Batch> {
    let mut batch = Batch {
        has_qualities: format == Format::Fastq,
        ..Batch::default()
    };
    if text.is_empty() {
        return Some(batch);
    }
    let mut parser = Parser::new(format, &ReaderOptions::default());
    let mut sink = BatchSink::new(&mut batch, records + 1, usize::MAX);
    let outcome = parser
        .parse_chunk(text, &mut sink)
        .and_then(|_| parser.finish_text(&mut sink));
    sink.finish();
    outcome.is_ok().then_some(batch)
}

fn matches_rows(batch: &Batch, rows: &[IndexRow]) -> bool {
    let lengths = neighbour_pairs(&batch.offsets).map(|(begin, end)| end - begin);
    batch.len() == rows.len() && lengths.eq(rows.iter().map(|row| as_i64(row.length)))
}

/// Merges the batches of several threads in the requested order; `order` contains each
/// record's position in the result.
fn merge_batches(parts: &[Batch], order: &[usize]) -> Batch {
    let positions = parts
        .iter()
        .flat_map(|part| (0..part.len()).map(move |row| (part, row)));
    let mut sources: Vec<Option<(&Batch, usize)>> = vec![None; order.len()];
    for (source, position) in positions.zip(order) {
        if let Some(place) = sources.get_mut(*position) {
            *place = Some(source);
        }
    }
    let total = |column: fn(&Batch) -> usize| parts.iter().map(column).sum();
    let mut whole = Batch {
        data: Vec::with_capacity(total(|part| part.data.len())),
        headers: Vec::with_capacity(total(|part| part.headers.len())),
        qualities: Vec::with_capacity(total(|part| part.qualities.len())),
        has_qualities: parts.iter().any(|part| part.has_qualities),
        ..Batch::default()
    };
    for (part, row) in sources.into_iter().flatten() {
        whole
            .data
            .extend_from_slice(row_slice(&part.data, &part.offsets, row));
        whole
            .headers
            .extend_from_slice(row_slice(&part.headers, &part.header_offsets, row));
        if part.has_qualities {
            whole
                .qualities
                .extend_from_slice(row_slice(&part.qualities, &part.offsets, row));
        }
        whole.offsets.push(to_offset(whole.data.len()));
        whole.header_offsets.push(to_offset(whole.headers.len()));
    }
    whole
}

fn row_slice<'a>(data: &'a [u8], offsets: &[i64], row: usize) -> &'a [u8] {
    let bound = |position: usize| usize::try_from(*offsets.get(position)?).ok();
    let range = bound(row).zip(bound(row + 1));
    let found = range.and_then(|(begin, end)| data.get(begin..end));
    found.unwrap_or_default()
}

/// Returns the byte that begins a record.
pub(super) fn header_marker(format: Format) -> u8 {
    match format {
        Format::Fasta => b'>',
        Format::Fastq => b'@',
    }
}

pub(super) fn to_offset(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

pub(super) fn as_i64(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
