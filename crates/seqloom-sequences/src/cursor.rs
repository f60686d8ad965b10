//! Where in the text a parser stands, and which record it is in.

use memchr::{memchr, memchr2};
use seqloom_core::error::{Fault, FaultCause, Kind};

use crate::bytes::{Class, name};
use crate::options::MissingIds;
use crate::pairs::{id, is_blank};
use crate::sink::Position;
use seqloom_core::number::as_u64;

/// The longest header.
pub(crate) const MAX_HEADER: usize = 1 << 20;
const BYTE_ORDER_MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// Where in the text a parser stands, and which record it is in.
#[derive(Debug)]
pub(crate) struct Cursor {
    pub(crate) position: Position,
    /// Where the line begins.
    pub(crate) line_start: u64,
    /// Where the record begins.
    pub(crate) record_start: Position,
    /// The header of the current record.
    pub(crate) header: Vec<u8>,
    /// How many records have begun.
    pub(crate) begun: u64,
    /// How many letters the current record has.
    pub(crate) length: u64,
    /// What a record without an id is.
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
    /// The beginning of a text.
    pub(crate) fn new(ids: MissingIds) -> Self {
        Self {
            ids,
            ..Self::default()
        }
    }

    /// A record begins with the byte that waits, which is its mark.
    pub(crate) fn open(&mut self) {
        self.record_start = self.position;
        self.header.clear();
        self.begun += 1;
        self.length = 0;
    }

    /// The line end was used.
    pub(crate) fn end_line(&mut self) {
        self.position.line += 1;
        self.position.byte += 1;
        self.line_start = self.position.byte;
    }

    /// The position some bytes further on the same line.
    pub(crate) fn after(&self, count: usize) -> Position {
        Position {
            byte: self.position.byte + as_u64(count),
            ..self.position
        }
    }

    /// Takes `first` if it belongs to a byte order mark, which may come in pieces.
    pub(crate) fn take_mark(&mut self, first: u8) -> Result<bool, Fault> {
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
        Err(self.fault(Kind::Format, self.position, message))
    }

    /// Takes a piece of the header's line.
    pub(crate) fn push_header(&mut self, piece: &[u8]) -> Result<(), Fault> {
        let limit = MAX_HEADER.saturating_sub(self.header.len());
        let (kept, excess) = piece.split_at(piece.len().min(limit));
        if self.header.try_reserve(kept.len()).is_err() {
            return Err(self.no_memory());
        }
        self.header.extend_from_slice(kept);
        self.position.byte += as_u64(kept.len());
        if !excess.is_empty() {
            self.check_header_bytes()?;
            let message = format!("the header is longer than {MAX_HEADER} bytes");
            return Err(self.fault(Kind::Limit, self.position, message));
        }
        Ok(())
    }

    /// Checks the bytes of the header: a carriage return may only end it.
    pub(crate) fn check_header_bytes(&self) -> Result<(), Fault> {
        let header = self.header.strip_suffix(b"\r").unwrap_or(&self.header);
        let bad = memchr2(b'\r', 0, header);
        let Some((bad, byte)) = bad.zip(bad.and_then(|bad| header.get(bad))) else {
            return Ok(());
        };
        let start = self.position.byte - as_u64(self.header.len());
        let position = Position {
            byte: start + as_u64(bad),
            ..self.position
        };
        let message = format!("expected a header, found {}", name(*byte));
        Err(self.fault(Kind::Header, position, message))
    }

    /// Checks the header, which was read completely.
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
            ..self.fault(Kind::Header, at(start), message)
        })
    }

    /// Checks that at most `limit` bytes follow, and that all belong to the class.
    pub(crate) fn admit(&self, bytes: &[u8], class: Class, limit: u64) -> Result<(), Misfit> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let bad = class.misfit(bytes);
        match bad.zip(bad.and_then(|at| bytes.get(at))) {
            Some((at, byte)) if at <= limit => Err(Misfit::Byte(self.after(at), *byte)),
            _ if bytes.len() > limit => Err(Misfit::Excess(self.after(limit))),
            _ => Ok(()),
        }
    }

    /// A fault in the current record.
    pub(crate) fn fault(
        &self,
        kind: Kind,
        position: Position,
        message: impl Into<String>,
    ) -> Fault {
        let shown = shorten(id(&self.header));
        Fault {
            kind,
            cause: None,
            record: self.begun.checked_sub(1),
            id: Some(shown).filter(|id| !id.is_empty()),
            line: Some(position.line),
            byte: Some(position.byte),
            message: message.into(),
        }
    }

    /// The fault of a record that is longer than the limit.
    pub(crate) fn too_long(&self, position: Position, limit: u64) -> Fault {
        let message = format!(
            "the sequence is longer than {limit} letters (max_record is the most that is taken)"
        );
        self.fault(Kind::Limit, position, message)
    }

    /// The fault of a record that no memory is left for.
    pub(crate) fn no_memory(&self) -> Fault {
        let message = format!(
            "the memory does not suffice for the record, of which {} letters were read",
            self.length
        );
        self.fault(Kind::Memory, self.position, message)
    }
}

/// Why bytes were not admitted.
pub(crate) enum Misfit {
    Byte(Position, u8),
    Excess(Position),
}

/// Whether a header has a word, which is the id.
#[inline]
pub(crate) fn has_id(header: &[u8]) -> bool {
    match header.first() {
        None => false,
        Some(first) => !is_blank(*first) || !id(header).is_empty(),
    }
}

/// The line that text begins with: without its end if that is there, and
/// whether it is.
pub(crate) fn line(text: &[u8]) -> (&[u8], bool) {
    let end = memchr(b'\n', text);
    let (line, _) = text.split_at(end.unwrap_or(text.len()));
    (line, end.is_some())
}

fn shorten(id: &[u8]) -> String {
    String::from_utf8_lossy(id).chars().take(60).collect()
}
