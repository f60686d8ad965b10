//! The position of a parser in the text, and its current record.

use memchr::{memchr, memchr2};
use seqloom_core::error::{Fault, FaultCause, FaultKind};

use crate::bytes::{ByteClass, describe_byte};
use crate::pairs::{header_id, is_blank};
use crate::{options::MissingIds, sink::Position};
use seqloom_core::number::as_u64;

/// The maximum length of a header in bytes.
pub(crate) const MAX_HEADER_BYTES: usize = 1 << 20;
const BYTE_ORDER_MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// The position of a parser in the text, and its current record.
#[derive(Debug)]
pub(crate) struct Cursor {
    pub(crate) position: Position,
    /// The byte offset of the current line.
    pub(crate) line_start: u64,
    /// The position at which the current record begins.
    pub(crate) record_start: Position,
    /// The header of the current record.
    pub(crate) header: Vec<u8>,
    /// The number of records that the parser has begun.
    pub(crate) begun: u64,
    /// The number of residues that were read of the current record.
    pub(crate) length: u64,
    /// The handling of records without an id.
    pub(crate) ids: MissingIds,
}

impl Default for Cursor {
    fn default() -> Self {
        let start = Position { line: 1, byte: 0 };
        Self {
            position: start,
            line_start: 0,
            record_start: start,
            header: Vec::new(),
            begun: 0,
            length: 0,
            ids: MissingIds::default(),
        }
    }
}

impl Cursor {
    /// Creates a cursor at the beginning of a text.
    pub(crate) fn new(ids: MissingIds) -> Self {
        Self {
            ids,
            ..Self::default()
        }
    }

    /// Begins a record at the next byte, which must be `>` or `@`.
    pub(crate) fn begin_record(&mut self) {
        self.record_start = self.position;
        self.header.clear();
        self.begun += 1;
        self.length = 0;
    }

    /// Advances past a line end.
    pub(crate) fn end_line(&mut self) {
        self.position.line += 1;
        self.position.byte += 1;
        self.line_start = self.position.byte;
    }

    /// Returns the position `count` bytes later in the same line.
    pub(crate) fn after(&self, count: usize) -> Position {
        Position {
            byte: self.position.byte + as_u64(count),
            ..self.position
        }
    }

    /// Advances past the byte `first` if it belongs to a byte order mark, and returns
    /// true in this case. A byte order mark may be split between chunks.
    pub(crate) fn skip_mark_byte(&mut self, first: u8) -> Result<bool, Fault> {
        let matched = usize::try_from(self.position.byte).unwrap_or(usize::MAX);
        if BYTE_ORDER_MARK.get(matched) == Some(&first) {
            self.position.byte += 1;
            return Ok(true);
        }
        if matched % BYTE_ORDER_MARK.len() == 0 {
            self.line_start = self.position.byte;
            return Ok(false);
        }
        let message = "expected text, found half a byte order mark";
        Err(self.fault(FaultKind::Format, self.position, message))
    }

    /// Appends a chunk of text to the header of the current record.
    pub(crate) fn append_header(&mut self, chunk: &[u8]) -> Result<(), Fault> {
        let limit = MAX_HEADER_BYTES.saturating_sub(self.header.len());
        let (accepted, excess) = chunk.split_at(chunk.len().min(limit));
        if self.header.try_reserve(accepted.len()).is_err() {
            return Err(self.out_of_memory_fault());
        }
        self.header.extend_from_slice(accepted);
        self.position.byte += as_u64(accepted.len());
        if !excess.is_empty() {
            self.check_header_bytes()?;
            let message = format!("the header is longer than {MAX_HEADER_BYTES} bytes");
            return Err(self.fault(FaultKind::Limit, self.position, message));
        }
        Ok(())
    }

    /// Checks the bytes of a header. A carriage return is valid only at the end of the
    /// header.
    pub(crate) fn check_header_bytes(&self) -> Result<(), Fault> {
        let header = self.header.strip_suffix(b"\r").unwrap_or(&self.header);
        let at = memchr2(b'\r', 0, header);
        let Some((at, byte)) = at.zip(at.and_then(|at| header.get(at))) else {
            return Ok(());
        };
        let start = self.position.byte - as_u64(self.header.len());
        let position = Position {
            byte: start + as_u64(at),
            ..self.position
        };
        let message = format!("expected a header, found {}", describe_byte(*byte));
        Err(self.fault(FaultKind::Header, position, message))
    }

    /// Checks the complete header.
    pub(crate) fn end_header(&mut self, mark: char) -> Result<(), Fault> {
        self.check_header_bytes()?;
        let start = self.position.byte - as_u64(self.header.len());
        let at = |byte| Position {
            byte,
            ..self.position
        };
        if self.header.last() == Some(&b'\r') {
            self.header.pop();
        }
        if has_id(&self.header) {
            return Ok(());
        }
        if self.ids == MissingIds::Number {
            self.header.clear();
            let number = self.begun.saturating_sub(1).to_string();
            self.header.extend_from_slice(number.as_bytes());
            return Ok(());
        }
        let message = format!("expected an id after '{mark}', found none");
        Err(Fault {
            cause: Some(FaultCause::MissingId),
            ..self.fault(FaultKind::Header, at(start), message)
        })
    }

    /// Returns an error if there are more than `limit` bytes, or if a byte does not
    /// belong to the given class.
    pub(crate) fn check_bytes(
        &self,
        bytes: &[u8],
        class: ByteClass,
        limit: u64,
    ) -> Result<(), InvalidBytes> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let invalid = class.first_invalid(bytes);
        match invalid.zip(invalid.and_then(|at| bytes.get(at))) {
            Some((at, byte)) if at <= limit => Err(InvalidBytes::Byte(self.after(at), *byte)),
            _ if bytes.len() > limit => Err(InvalidBytes::Excess(self.after(limit))),
            _ => Ok(()),
        }
    }

    /// Returns an error that names the current record.
    pub(crate) fn fault(
        &self,
        kind: FaultKind,
        position: Position,
        message: impl Into<String>,
    ) -> Fault {
        let short_id = shorten_id(header_id(&self.header));
        Fault {
            kind,
            cause: None,
            record: self.begun.checked_sub(1),
            id: Some(short_id).filter(|id| !id.is_empty()),
            line: Some(position.line),
            byte: Some(position.byte),
            message: message.into(),
        }
    }

    /// Returns the error for a record with too many residues.
    pub(crate) fn long_record_fault(&self, position: Position, limit: u64) -> Fault {
        let message =
            format!("the sequence is longer than {limit} residues (the limit is max_record)");
        self.fault(FaultKind::Limit, position, message)
    }

    /// Returns the error for a record that does not fit in memory.
    pub(crate) fn out_of_memory_fault(&self) -> Fault {
        let message = format!(
            "not enough memory for the record; {} residues were read",
            self.length
        );
        self.fault(FaultKind::Memory, self.position, message)
    }
}

/// The reason why bytes are invalid.
pub(crate) enum InvalidBytes {
    Byte(Position, u8),
    Excess(Position),
}

/// Returns true if a header has an id, which is its first word.
#[inline]
pub(crate) fn has_id(header: &[u8]) -> bool {
    match header.first() {
        None => false,
        Some(first) => !is_blank(*first) || !header_id(header).is_empty(),
    }
}

/// Returns the first line of a text without the line end. The second result is true if
/// the text contains the line end.
pub(crate) fn first_line(text: &[u8]) -> (&[u8], bool) {
    let end = memchr(b'\n', text);
    let (line, _) = text.split_at(end.unwrap_or(text.len()));
    (line, end.is_some())
}

fn shorten_id(id: &[u8]) -> String {
    String::from_utf8_lossy(id).chars().take(60).collect()
}
