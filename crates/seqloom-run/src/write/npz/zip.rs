//! A zip without compression, of files of any size, each corrected once it is complete.

use std::io::{self, BufWriter, Write};

use crc32fast::Hasher;

use super::position;
use crate::write::target::Target;

/// A zip that grows.
pub(super) struct Zip {
    target: BufWriter<Target>,
    /// Where the next byte goes.
    end: u64,
    entries: Vec<Entry>,
}

/// A file of the zip.
struct Entry {
    name: &'static str,
    start: u64,
    size: u64,
    /// Of what stands behind the head, until the end; then of all.
    sum: Hasher,
}

/// Files of 64 bits: version 4.5 of the format.
const VERSION: u16 = 45;
/// Sizes stand in the part for 64 bits.
const ELSEWHERE: u32 = u32::MAX;

impl Zip {
    pub(super) fn new(target: Target) -> Self {
        Self {
            target: BufWriter::with_capacity(1 << 18, target),
            end: 0,
            entries: Vec::new(),
        }
    }

    /// Begins a file with a head.
    pub(super) fn begin(&mut self, name: &'static str, head: &[u8]) -> io::Result<()> {
        let entry = Entry {
            name,
            start: self.end,
            size: position(head.len()),
            sum: Hasher::new(),
        };
        let before = entry.before();
        self.entries.push(entry);
        self.put(&before)?;
        self.put(head)
    }

    /// Adds to the file that was begun last.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(entry) = self.entries.last_mut() {
            entry.size += position(bytes.len());
            entry.sum.update(bytes);
        }
        self.put(bytes)
    }

    /// Ends the file with another head of the same size.
    pub(super) fn end(&mut self, head: &[u8]) -> io::Result<()> {
        self.target.flush()?;
        let Some(entry) = self.entries.last_mut() else {
            return Ok(());
        };
        let mut sum = Hasher::new();
        sum.update(head);
        sum.combine(&entry.sum);
        entry.sum = sum;
        let start = entry.start;
        let mut bytes = entry.before();
        bytes.extend(head);
        self.target.get_mut().seek(start)?;
        self.target.get_mut().write_all(&bytes)?;
        self.target.get_mut().seek(self.end)
    }

    /// Writes the list of files, and ends.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let start = self.end;
        let list: Vec<u8> = self.entries.iter().flat_map(Entry::listed).collect();
        self.put(&list)?;
        let count = position(self.entries.len());
        let tail = tail(count, (start, position(list.len())), self.end);
        self.put(&tail)?;
        let target = self.target.into_inner();
        target.map_err(io::IntoInnerError::into_error)?.finish()
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.end += position(bytes.len());
        self.target.write_all(bytes)
    }
}

impl Entry {
    /// What stands before the file.
    fn before(&self) -> Vec<u8> {
        let mut bytes = b"PK\x03\x04".to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(self.common(20));
        bytes.extend(self.name.as_bytes());
        bytes.extend(wide(&[self.size, self.size]));
        bytes
    }

    /// What stands in the list.
    fn listed(&self) -> Vec<u8> {
        let mut bytes = b"PK\x01\x02".to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(self.common(28));
        bytes.extend([0; 10]); // no comment, one disk, no attributes
        bytes.extend(ELSEWHERE.to_le_bytes());
        bytes.extend(self.name.as_bytes());
        bytes.extend(wide(&[self.size, self.size, self.start]));
        bytes
    }

    /// Flags, method, time and date (1980), sum, sizes, and how long name and rest are.
    fn common(&self, rest: u16) -> Vec<u8> {
        let mut bytes = vec![0, 0, 0, 0, 0, 0, 0x21, 0];
        bytes.extend(self.sum.clone().finalize().to_le_bytes());
        bytes.extend(ELSEWHERE.to_le_bytes());
        bytes.extend(ELSEWHERE.to_le_bytes());
        let name = u16::try_from(self.name.len()).unwrap_or_default();
        bytes.extend(name.to_le_bytes());
        bytes.extend(rest.to_le_bytes());
        bytes
    }
}

/// The part for numbers of 64 bits.
fn wide(numbers: &[u64]) -> Vec<u8> {
    let mut bytes = vec![1, 0];
    let size = u16::try_from(numbers.len() * 8).unwrap_or_default();
    bytes.extend(size.to_le_bytes());
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    bytes
}

/// What ends a zip: where the list stands, in 64 bits and, as far as it fits, in 32.
fn tail(count: u64, (start, size): (u64, u64), end: u64) -> Vec<u8> {
    let mut bytes = b"PK\x06\x06".to_vec();
    bytes.extend(44_u64.to_le_bytes());
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend([0; 8]); // one disk
    for number in [count, count, size, start] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(b"PK\x06\x07\0\0\0\0");
    bytes.extend(end.to_le_bytes());
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    let short = u16::try_from(count).unwrap_or(u16::MAX);
    bytes.extend(short.to_le_bytes());
    bytes.extend(short.to_le_bytes());
    bytes.extend(u32::try_from(size).unwrap_or(ELSEWHERE).to_le_bytes());
    bytes.extend(u32::try_from(start).unwrap_or(ELSEWHERE).to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}
