//! The lines of a text, without a copy of lines that are complete in the text buffer.

use std::{io, mem};

use memchr::memchr;
use seqloom_core::number::as_u64;

use crate::{ReadError, TextSource};

/// A line without its line feed.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// The text of the line.
    pub text: &'a [u8],
    /// The one-based number of the line.
    pub number: u64,
    /// The offset of the line in the text.
    pub byte: u64,
}

/// A reader of lines.
pub struct Lines {
    text: Box<dyn TextSource>,
    /// A line that began in an earlier text buffer.
    carry: Vec<u8>,
    /// The number of bytes of the last line in the current text buffer.
    pending: usize,
    is_carried: bool,
    line: u64,
    next_byte: u64,
    byte: u64,
}

impl Lines {
    /// Returns a reader of the lines of a text.
    pub fn new(text: Box<dyn TextSource>) -> Self {
        Self {
            text,
            carry: Vec::new(),
            pending: 0,
            is_carried: false,
            line: 0,
            next_byte: 0,
            byte: 0,
        }
    }

    /// Returns the next line or `None` at the end of the text.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>, ReadError> {
        self.text.consume(mem::take(&mut self.pending));
        self.byte = self.next_byte;
        self.carry.clear();
        self.is_carried = false;
        loop {
            let chunk = self.text.fill_buffer()?;
            let size = chunk.len();
            if let Some(end) = memchr(b'\n', chunk) {
                self.end_line(end + 1)?;
                return self.last_line().map(Some);
            }
            if size == 0 && self.carry.is_empty() {
                return Ok(None);
            }
            if size == 0 {
                self.is_carried = true;
                self.end_line(0)?;
                return self.last_line().map(Some);
            }
            append(&mut self.carry, chunk)?;
            self.is_carried = true;
            self.text.consume(size);
            self.next_byte += as_u64(size);
        }
    }

    fn end_line(&mut self, size: usize) -> Result<(), ReadError> {
        self.line += 1;
        self.next_byte += as_u64(size);
        self.pending = size;
        if self.is_carried {
            let chunk = self.text.fill_buffer()?;
            append(&mut self.carry, chunk.get(..size).unwrap_or_default())?;
            self.text.consume(mem::take(&mut self.pending));
        }
        Ok(())
    }

    fn last_line(&mut self) -> Result<Line<'_>, ReadError> {
        let (number, byte) = (self.line, self.byte);
        let whole = if self.is_carried {
            self.carry.as_slice()
        } else {
            let chunk = self.text.fill_buffer()?;
            chunk.get(..self.pending).unwrap_or_default()
        };
        Ok(Line {
            text: whole.strip_suffix(b"\n").unwrap_or(whole),
            number,
            byte,
        })
    }
}

/// Appends bytes, or returns an error if they do not fit in memory.
pub fn append(out: &mut Vec<u8>, bytes: &[u8]) -> io::Result<()> {
    out.try_reserve(bytes.len())
        .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    out.extend_from_slice(bytes);
    Ok(())
}
