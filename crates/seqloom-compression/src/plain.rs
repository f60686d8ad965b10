//! Reads uncompressed text.

use std::mem;

use super::exchange::{ExchangeEvent, HelperThread, ReadTiming, TextExchange};
use super::piece::TextPiece;
use super::text::{Text, Trouble, UnpackOptions, already_failed};
use crate::input::BufferedInput;

/// The text of an uncompressed file. A separate thread reads a regular file ahead,
/// whereas a pipe is read only when more text is needed.
pub(super) struct PlainText {
    worker: PlainReader,
    may_start: bool,
}

/// The thread that reads the file.
enum PlainReader {
    Here(BufferedInput),
    Ahead(HelperThread, TextPiece),
    /// The file was read to its end, so no thread is running.
    Finished,
    Failed,
}

impl PlainText {
    pub(super) fn new(input: BufferedInput, options: &UnpackOptions) -> Self {
        Self {
            may_start: options.threads > 1 && input.is_regular(),
            worker: PlainReader::Here(input),
        }
    }

    /// Starts the thread that reads ahead, unless the file was already read to its end.
    fn start(&mut self) {
        self.worker = match mem::replace(&mut self.worker, PlainReader::Finished) {
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
                let exchange = helper.exchange()?;
                if !piece.bytes.is_empty() {
                    exchange.give_back(mem::replace(piece, TextPiece::none()));
                }
                match exchange.next(ReadTiming::Over) {
                    ExchangeEvent::Text(text) => *piece = text,
                    ExchangeEvent::End(outcome) => {
                        self.worker = PlainReader::Finished;
                        return outcome;
                    }
                    ExchangeEvent::FreeChunk(_) => {}
                }
            }
            PlainReader::Finished => {}
            PlainReader::Failed => return Err(already_failed()),
        }
        Ok(())
    }

    fn waiting(&self) -> &[u8] {
        match &self.worker {
            PlainReader::Here(input) => input.waiting(),
            PlainReader::Ahead(_, piece) => piece.waiting(),
            PlainReader::Finished | PlainReader::Failed => &[],
        }
    }
}

/// Reads the file ahead, in a separate thread.
fn read(exchange: &TextExchange, mut input: BufferedInput) -> Result<(), Trouble> {
    while let Some(mut piece) = exchange.empty_buffer() {
        piece.clear();
        let count = input.take(piece.spare())?;
        if count == 0 {
            break;
        }
        piece.grow(count);
        exchange.deliver(piece);
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
            PlainReader::Finished | PlainReader::Failed => {}
        }
    }
}
