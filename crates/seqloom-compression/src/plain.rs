//! Reads uncompressed text.

use std::mem;

use super::exchange::{ExchangeEvent, HelperThread, ReadTiming, TextExchange};
use super::text::{ReadError, TextSource, UnpackOptions, already_failed_error};
use super::text_buffer::TextBuffer;
use crate::input::BufferedInput;

/// The text of an uncompressed file. A separate thread reads a regular file ahead,
/// whereas a pipe is read only when more text is needed.
pub(super) struct PlainText {
    worker: PlainReadThread,
    may_start: bool,
}

/// The thread that reads the file.
enum PlainReadThread {
    Here(BufferedInput),
    Ahead(HelperThread, TextBuffer),
    /// The file was read to its end, so no thread is running.
    Finished,
    Failed,
}

impl PlainText {
    pub(super) fn new(input: BufferedInput, options: &UnpackOptions) -> Self {
        Self {
            may_start: options.threads > 1 && input.is_regular(),
            worker: PlainReadThread::Here(input),
        }
    }

    /// Starts the thread that reads ahead, unless the file was already read to its end.
    fn start_reading_ahead(&mut self) {
        self.worker = match mem::replace(&mut self.worker, PlainReadThread::Finished) {
            PlainReadThread::Here(input) if !input.at_end() => {
                match HelperThread::start(0, input, read_ahead) {
                    Ok(helper) => PlainReadThread::Ahead(helper, TextBuffer::empty()),
                    Err(input) => PlainReadThread::Here(input),
                }
            }
            other => other,
        };
        self.may_start = false;
    }

    fn next_buffer(&mut self) -> Result<(), ReadError> {
        match &mut self.worker {
            PlainReadThread::Here(input) => {
                input.fill_to(1)?;
            }
            PlainReadThread::Ahead(helper, piece) => {
                let exchange = helper.exchange()?;
                if !piece.bytes.is_empty() {
                    exchange.return_buffer(mem::replace(piece, TextBuffer::empty()));
                }
                match exchange.next_event(ReadTiming::Over) {
                    ExchangeEvent::Text(text) => *piece = text,
                    ExchangeEvent::End(outcome) => {
                        self.worker = PlainReadThread::Finished;
                        return outcome;
                    }
                    ExchangeEvent::FreeChunk(_) => {}
                }
            }
            PlainReadThread::Finished => {}
            PlainReadThread::Failed => return Err(already_failed_error()),
        }
        Ok(())
    }

    fn unread_text(&self) -> &[u8] {
        match &self.worker {
            PlainReadThread::Here(input) => input.buffer(),
            PlainReadThread::Ahead(_, piece) => piece.unread_text(),
            PlainReadThread::Finished | PlainReadThread::Failed => &[],
        }
    }
}

/// Reads the file ahead, in a separate thread.
fn read_ahead(exchange: &TextExchange, mut input: BufferedInput) -> Result<(), ReadError> {
    while let Some(mut piece) = exchange.receive_empty_buffer() {
        piece.clear();
        let count = input.read_some(piece.unused())?;
        if count == 0 {
            break;
        }
        piece.extend_text(count);
        exchange.send_text(piece);
    }
    Ok(())
}

impl TextSource for PlainText {
    fn fill_buffer(&mut self) -> Result<&[u8], ReadError> {
        if self.unread_text().is_empty() {
            if self.may_start {
                self.start_reading_ahead();
            }
            if let Err(error) = self.next_buffer() {
                self.worker = PlainReadThread::Failed;
                return Err(error);
            }
        }
        Ok(self.unread_text())
    }

    fn consume(&mut self, count: usize) {
        match &mut self.worker {
            PlainReadThread::Here(input) => input.consume(count),
            PlainReadThread::Ahead(_, piece) => piece.consume(count),
            PlainReadThread::Finished | PlainReadThread::Failed => {}
        }
    }
}
