//! Text that is not packed.

use std::mem;

use super::piece::TextPiece;
use super::ring::{HelperThread, ReadTiming, RingEvent, TextRing};
use super::text::{Text, Trouble, UnpackOptions, gone};
use crate::input::BufferedInput;

/// The text of a file that is not compressed. A thread reads ahead in a regular file. From a
/// pipe text is read when it is needed.
pub(super) struct PlainText {
    worker: PlainReader,
    may_start: bool,
}

/// Which thread reads the file.
enum PlainReader {
    Here(BufferedInput),
    Ahead(HelperThread, TextPiece),
    /// The file was read to its end.
    Nobody,
    Failed,
}

impl PlainText {
    pub(super) fn new(input: BufferedInput, options: &UnpackOptions) -> Self {
        Self {
            may_start: options.threads > 1 && input.is_regular(),
            worker: PlainReader::Here(input),
        }
    }

    /// Starts the thread that reads ahead, unless the whole file was read.
    fn start(&mut self) {
        self.worker = match mem::replace(&mut self.worker, PlainReader::Nobody) {
            PlainReader::Here(input) if !input.at_end() => {
                match HelperThread::start(0, input, read) {
                    Ok(helper) => PlainReader::Ahead(helper, TextPiece::none()),
                    Err(input) => PlainReader::Here(input),
                }
            }
            other => other,
        };
        self.may_start = false;
    }

    fn advance(&mut self) -> Result<(), Trouble> {
        match &mut self.worker {
            PlainReader::Here(input) => {
                input.fill(1)?;
            }
            PlainReader::Ahead(helper, piece) => {
                let ring = helper.ring()?;
                if !piece.bytes.is_empty() {
                    ring.give_back(mem::replace(piece, TextPiece::none()));
                }
                match ring.next(ReadTiming::Over) {
                    RingEvent::Text(text) => *piece = text,
                    RingEvent::End(outcome) => {
                        self.worker = PlainReader::Nobody;
                        return outcome;
                    }
                    RingEvent::FreeChunk(_) => {}
                }
            }
            PlainReader::Nobody => {}
            PlainReader::Failed => return Err(gone()),
        }
        Ok(())
    }

    fn waiting(&self) -> &[u8] {
        match &self.worker {
            PlainReader::Here(input) => input.waiting(),
            PlainReader::Ahead(_, piece) => piece.waiting(),
            PlainReader::Nobody | PlainReader::Failed => &[],
        }
    }
}

/// Reads the file; runs on the thread.
fn read(ring: &TextRing, mut input: BufferedInput) -> Result<(), Trouble> {
    while let Some(mut piece) = ring.piece() {
        piece.clear();
        let count = input.take(piece.spare())?;
        if count == 0 {
            break;
        }
        piece.grow(count);
        ring.deliver(piece);
    }
    Ok(())
}

impl Text for PlainText {
    fn fill(&mut self) -> Result<&[u8], Trouble> {
        if self.waiting().is_empty() {
            if self.may_start {
                self.start();
            }
            if let Err(trouble) = self.advance() {
                self.worker = PlainReader::Failed;
                return Err(trouble);
            }
        }
        Ok(self.waiting())
    }

    fn consume(&mut self, count: usize) {
        match &mut self.worker {
            PlainReader::Here(input) => input.consume(count),
            PlainReader::Ahead(_, piece) => piece.consume(count),
            PlainReader::Nobody | PlainReader::Failed => {}
        }
    }
}
