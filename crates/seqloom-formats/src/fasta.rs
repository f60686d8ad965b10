//! FASTA text to records, fed piece by piece.
//!
//! The verdicts, the same for every container and every size of the pieces:
//!
//! | input | verdict |
//! |---|---|
//! | lines that end in `\n` or `\r\n`, a last line without an end | taken |
//! | blank lines anywhere, blanks at a line's end, a byte order mark | taken, left out |
//! | a header without letters | taken: a record of length 0 |
//! | a header that is not UTF-8 | taken as it is |
//! | a header without an id, or longer than 1 MiB | error |
//! | text before the first `>`, a `>` within a line of letters | error |
//! | blanks within or before letters, a lone carriage return | error |
//! | NUL and other control bytes, bytes that are not ASCII | error |
//! | a record of more than 1 GiB | error |

use memchr::memchr;
use seqloom_core::error::Fault;

use crate::input::as_u64;

/// The longest header.
const MAX_HEADER: usize = 1 << 20;
/// The longest sequence.
const MAX_LETTERS: u64 = 1 << 30;
const BYTE_ORDER_MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// A place in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// One-based.
    pub line: u64,
    /// Zero-based.
    pub byte: u64,
}

/// What takes the records that a [`Parser`] finds.
pub trait Sink {
    /// A record begins.
    fn begin(&mut self, header: &[u8]);
    /// Letters of the record, and where the first of them stands.
    fn letters(&mut self, letters: &[u8], place: Place);
    /// The record is complete.
    fn end(&mut self);
    /// Whether no further record should begin.
    fn is_full(&self) -> bool;
}

/// Where in FASTA text the next piece goes on.
#[derive(Debug)]
pub struct Parser {
    place: Place,
    within: Within,
    /// The header of the current record.
    header: Vec<u8>,
    /// How many records have begun.
    begun: u64,
    is_open: bool,
    /// How many letters the current record has.
    length: u64,
    /// The first blank after the letters of this line, which must not go on.
    blank: Option<(Place, u8)>,
}

/// What kind of line the next byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    /// The beginning of the text.
    Mark,
    /// The beginning of a line.
    Start,
    Header,
    Letters,
}

impl Default for Parser {
    fn default() -> Self {
        Self {
            place: Place { line: 1, byte: 0 },
            within: Within::Mark,
            header: Vec::new(),
            begun: 0,
            is_open: false,
            length: 0,
            blank: None,
        }
    }
}

impl Parser {
    /// Reads one piece of text. Says how much of it was used: all, or what
    /// stands before the record with which the sink would be too full.
    pub fn feed(&mut self, text: &[u8], sink: &mut impl Sink) -> Result<usize, Fault> {
        let mut rest = text;
        while let [first, ..] = rest {
            let used = match self.within {
                Within::Mark => self.mark(*first)?,
                Within::Start if *first == b'>' => {
                    self.close(sink);
                    if sink.is_full() {
                        break;
                    }
                    self.open();
                    1
                }
                Within::Start => {
                    self.within = Within::Letters;
                    0
                }
                Within::Header => self.header_piece(rest, sink)?,
                Within::Letters => self.letters_piece(rest, sink)?,
            };
            rest = &rest[used..];
        }
        Ok(text.len() - rest.len())
    }

    /// Says that no text follows.
    pub fn finish(&mut self, sink: &mut impl Sink) -> Result<(), Fault> {
        if self.within == Within::Header {
            self.end_header(sink)?;
        }
        self.close(sink);
        if self.begun == 0 {
            return Err(Fault::whole(
                "expected FASTA, found no sequence: the text is blank",
            ));
        }
        Ok(())
    }

    /// Leaves out a byte order mark, which may come in three pieces.
    fn mark(&mut self, first: u8) -> Result<usize, Fault> {
        let matched = usize::try_from(self.place.byte).unwrap_or(usize::MAX);
        if BYTE_ORDER_MARK.get(matched) == Some(&first) {
            self.place.byte += 1;
            return Ok(1);
        }
        if matched % BYTE_ORDER_MARK.len() != 0 {
            return Err(self.fault(
                self.place,
                "expected '>', found half a byte order mark".into(),
            ));
        }
        self.within = Within::Start;
        Ok(0)
    }

    fn open(&mut self) {
        self.header.clear();
        self.begun += 1;
        self.length = 0;
        self.place.byte += 1;
        self.within = Within::Header;
    }

    fn close(&mut self, sink: &mut impl Sink) {
        if self.is_open {
            sink.end();
        }
        self.is_open = false;
    }

    /// Takes the header up to the line's end, or as far as the piece goes.
    fn header_piece(&mut self, rest: &[u8], sink: &mut impl Sink) -> Result<usize, Fault> {
        let end = memchr(b'\n', rest);
        let piece = &rest[..end.unwrap_or(rest.len())];
        if self.header.len() + piece.len() > MAX_HEADER {
            return Err(self.fault(
                self.place,
                format!("the header is longer than {MAX_HEADER} bytes"),
            ));
        }
        self.header.extend_from_slice(piece);
        self.place.byte += as_u64(piece.len());
        if end.is_none() {
            return Ok(piece.len());
        }
        self.end_header(sink)?;
        self.end_line();
        Ok(piece.len() + 1)
    }

    fn end_header(&mut self, sink: &mut impl Sink) -> Result<(), Fault> {
        let size = as_u64(self.header.len());
        let start = self.place.byte - size;
        if self.header.last() == Some(&b'\r') {
            self.header.pop();
        }
        if let Some(at) = memchr::memchr2(b'\r', 0, &self.header) {
            let byte = start + as_u64(at);
            let place = Place { byte, ..self.place };
            return Err(self.fault(
                place,
                format!("expected a header, found {}", name(self.header[at])),
            ));
        }
        if matches!(self.header.first(), None | Some(b' ' | b'\t')) {
            let place = Place {
                byte: start,
                ..self.place
            };
            return Err(self.fault(place, "expected an id after '>', found none".into()));
        }
        self.is_open = true;
        sink.begin(&self.header);
        Ok(())
    }

    /// Takes letters up to the line's end, or as far as the piece goes.
    fn letters_piece(&mut self, rest: &[u8], sink: &mut impl Sink) -> Result<usize, Fault> {
        let end = memchr(b'\n', rest);
        let piece = &rest[..end.unwrap_or(rest.len())];
        let letters = piece.trim_ascii_end();
        if !letters.is_empty() {
            self.check(letters)?;
            sink.letters(letters, self.place);
        }
        if let (None, Some(blank)) = (self.blank, piece.get(letters.len())) {
            self.blank = Some((self.after(letters.len()), *blank));
        }
        self.place = self.after(piece.len());
        if end.is_none() {
            return Ok(piece.len());
        }
        self.end_line();
        Ok(piece.len() + 1)
    }

    /// Whether the letters may stand here, and are letters.
    fn check(&mut self, letters: &[u8]) -> Result<(), Fault> {
        if !self.is_open {
            let (place, found) = self.blank.unwrap_or((self.place, letters[0]));
            let message = format!("expected '>' and an id, found {}", name(found));
            return Err(self.fault(place, message));
        }
        if let Some((place, blank)) = self.blank {
            return Err(self.fault(place, format!("expected a letter, found {}", name(blank))));
        }
        if !are_letters(letters) {
            let at = letters
                .iter()
                .position(|byte| !is_letter(*byte))
                .unwrap_or(0);
            return Err(self.fault(
                self.after(at),
                format!("expected a letter, found {}", name(letters[at])),
            ));
        }
        self.length += as_u64(letters.len());
        if self.length > MAX_LETTERS {
            return Err(self.fault(
                self.place,
                format!("the sequence is longer than {MAX_LETTERS} letters"),
            ));
        }
        Ok(())
    }

    fn end_line(&mut self) {
        self.place.line += 1;
        self.place.byte += 1;
        self.within = Within::Start;
        self.blank = None;
    }

    /// The place some bytes further on the same line.
    fn after(&self, count: usize) -> Place {
        Place {
            byte: self.place.byte + as_u64(count),
            ..self.place
        }
    }

    fn fault(&self, place: Place, message: String) -> Fault {
        let id = self
            .header
            .split(|byte| matches!(byte, b' ' | b'\t'))
            .next()
            .unwrap_or_default();
        let shown: String = String::from_utf8_lossy(id).chars().take(60).collect();
        Fault {
            record: self.begun.checked_sub(1),
            id: Some(shown).filter(|id| !id.is_empty()),
            line: Some(place.line),
            byte: Some(place.byte),
            message,
        }
    }
}

/// Whether a byte may stand in a sequence: printable ASCII but `>`.
fn is_letter(byte: u8) -> bool {
    byte.is_ascii_graphic() && byte != b'>'
}

/// The same of all bytes, without a branch, so that it becomes vector code.
fn are_letters(bytes: &[u8]) -> bool {
    bytes.iter().fold(true, |all, byte| all & is_letter(*byte))
}

/// A byte in words, for an error.
fn name(byte: u8) -> String {
    match byte {
        b' ' => "a space".into(),
        b'\t' => "a tab".into(),
        b'\r' => "a lone carriage return (expected lines that end in \\n or \\r\\n)".into(),
        b'>' => "'>' within a line (the line end before it is missing)".into(),
        0 => "a NUL byte".into(),
        b'!'..=b'~' => format!("{:?}", char::from(byte)),
        _ => format!("the byte 0x{byte:02x}"),
    }
}

#[cfg(test)]
mod tests;
