//! The decompressed text of a file.

use std::{io, mem};

use super::exchange::{
    CHUNK_COUNT, ExchangeEvent, FileChunk, HelperThread, ReadTiming, TextExchange,
};
use super::streams::{CodecStep, StepEnd, Unpacker};
use super::text::{ReadError, TextSource, UnpackOptions, already_failed_error};
use super::text_buffer::TextBuffer;
use crate::input::BufferedInput;

/// The text of a file of compressed streams. The reader's thread fills the first text
/// buffer; another thread decompresses the rest of the file.
pub(super) struct DecompressedText {
    input: BufferedInput,
    piece: TextBuffer,
    /// The next text buffer to fill, if the reader's thread decompresses the file.
    spare: TextBuffer,
    worker: UnpackThread,
    then: StepEnd,
    may_start: bool,
    /// The error to return after the text in the current buffer.
    failure: Option<ReadError>,
}

/// The thread that decompresses the file: the reader's thread or another thread.
enum UnpackThread {
    Here(Box<dyn Unpacker>),
    Ahead(DecompressAhead),
    /// No thread, because decompression has ended.
    Finished,
}

impl DecompressedText {
    pub(super) fn new(
        input: BufferedInput,
        unpacker: Box<dyn Unpacker>,
        options: &UnpackOptions,
    ) -> io::Result<Self> {
        Ok(Self {
            input,
            piece: TextBuffer::new()?,
            spare: TextBuffer::empty(),
            worker: UnpackThread::Here(unpacker),
            then: StepEnd::NeedsInput,
            may_start: options.threads > 1,
            failure: None,
        })
    }

    /// Decompresses more text into the buffers.
    fn next_buffer(&mut self) -> Result<(), ReadError> {
        if self.then == StepEnd::Full {
            self.switch_buffer()?;
        }
        match &mut self.worker {
            UnpackThread::Here(unpacker) => {
                let step = decompress_read(unpacker.as_mut(), &mut self.input, &mut self.piece)?;
                self.then = step.then;
            }
            UnpackThread::Ahead(ahead) => {
                let used = mem::replace(&mut self.piece, TextBuffer::empty());
                match ahead.next_buffer(used, &mut self.input)? {
                    Some(piece) => self.piece = piece,
                    None => self.then = StepEnd::Done,
                }
            }
            UnpackThread::Finished => return Err(already_failed_error()),
        }
        Ok(())
    }

    /// Continues in another text buffer, and in a separate thread if that is allowed.
    fn switch_buffer(&mut self) -> io::Result<()> {
        self.then = StepEnd::NeedsInput;
        let UnpackThread::Here(unpacker) = &mut self.worker else {
            return Ok(());
        };
        let mut fresh = mem::replace(&mut self.spare, TextBuffer::empty());
        if fresh.unused().is_empty() {
            fresh = TextBuffer::new()?;
        }
        unpacker.switch_buffer(&self.piece, &mut fresh);
        self.spare = mem::replace(&mut self.piece, fresh);
        if mem::take(&mut self.may_start) {
            self.start_thread();
        }
        Ok(())
    }

    fn start_thread(&mut self) {
        let UnpackThread::Here(unpacker) = mem::replace(&mut self.worker, UnpackThread::Finished)
        else {
            return;
        };
        let piece = mem::replace(&mut self.piece, TextBuffer::empty());
        match DecompressAhead::start(unpacker, piece) {
            Ok(ahead) => {
                self.piece = mem::replace(&mut self.spare, TextBuffer::empty());
                self.piece.clear();
                self.worker = UnpackThread::Ahead(ahead);
            }
            Err((unpacker, piece)) => {
                self.piece = piece;
                self.worker = UnpackThread::Here(unpacker);
            }
        }
    }
}

/// Decompresses the bytes of one read from the file.
fn decompress_read(
    unpacker: &mut dyn Unpacker,
    input: &mut BufferedInput,
    piece: &mut TextBuffer,
) -> Result<CodecStep, ReadError> {
    input.fill_to(1)?;
    let step = unpacker.decompress(input.buffer(), input.at_end(), piece);
    let step = step.map_err(ReadError::Damage)?;
    input.consume(step.used);
    Ok(step)
}

impl TextSource for DecompressedText {
    fn fill_buffer(&mut self) -> Result<&[u8], ReadError> {
        while self.piece.is_empty() && self.then != StepEnd::Done {
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            if let Err(failure) = self.next_buffer() {
                self.worker = UnpackThread::Finished;
                self.failure = Some(failure);
            }
        }
        Ok(self.piece.unread_text())
    }

    fn consume(&mut self, count: usize) {
        self.piece.consume(count);
    }
}

/// The decompressor and the text buffer that are passed to the new thread.
type UnpackWork = (Box<dyn Unpacker>, TextBuffer);

/// The reader's handle of the decompressing thread. Only the reader reads the file. A
/// pipe without data, or a Python object, can therefore never delay the end of the
/// thread.
struct DecompressAhead {
    helper: HelperThread,
    /// True if the file was read to its end.
    is_over: bool,
}

impl DecompressAhead {
    /// Starts the thread, which continues in the text buffer `piece`. If the thread
    /// cannot be started, returns both arguments.
    fn start(unpacker: Box<dyn Unpacker>, piece: TextBuffer) -> Result<Self, UnpackWork> {
        let helper = HelperThread::start(CHUNK_COUNT, (unpacker, piece), unpack_file)?;
        let is_over = false;
        Ok(Self { helper, is_over })
    }

    /// Exchanges a used text buffer for the next filled buffer. Returns `None` at the end
    /// of the text.
    fn next_buffer(
        &mut self,
        used: TextBuffer,
        input: &mut BufferedInput,
    ) -> Result<Option<TextBuffer>, ReadError> {
        let exchange = self.helper.exchange()?;
        exchange.return_buffer(used);
        loop {
            let reading = match self.is_over {
                true => ReadTiming::Over,
                _ if input.is_ready() => ReadTiming::Early,
                _ => ReadTiming::Late,
            };
            match exchange.next_event(reading) {
                ExchangeEvent::FreeChunk(chunk) => {
                    let chunk = fill_chunk(chunk, input);
                    self.is_over = chunk.is_last;
                    exchange.send_chunk(chunk);
                }
                ExchangeEvent::Text(piece) => return Ok(Some(piece)),
                ExchangeEvent::End(outcome) => return outcome.map(|()| None),
            }
        }
    }
}

/// Reads the next chunk of the file. If the read fails, the chunk stores the error,
/// which is returned after all text.
fn fill_chunk(mut chunk: FileChunk, input: &mut BufferedInput) -> FileChunk {
    let count = input.read_some(&mut chunk.bytes);
    chunk.size = *count.as_ref().unwrap_or(&0);
    chunk.is_last = chunk.size == 0;
    chunk.failure = count.err();
    chunk
}

/// Decompresses the file in a separate thread.
fn unpack_file(
    exchange: &TextExchange,
    (mut unpacker, mut piece): UnpackWork,
) -> Result<(), ReadError> {
    let mut outcome = Ok(StepEnd::NeedsInput);
    while let Ok(StepEnd::NeedsInput) = outcome {
        outcome = match exchange.receive_chunk() {
            Some(chunk) => unpack_chunk(exchange, &mut *unpacker, chunk, &mut piece),
            None => Ok(StepEnd::Done),
        };
    }
    exchange.send_text(piece);
    outcome.map(|_| ())
}

/// Decompresses one chunk of the file.
fn unpack_chunk(
    exchange: &TextExchange,
    unpacker: &mut dyn Unpacker,
    mut chunk: FileChunk,
    piece: &mut TextBuffer,
) -> Result<StepEnd, ReadError> {
    if let Some(failure) = chunk.failure.take() {
        return Err(failure.into());
    }
    let mut used = 0;
    loop {
        let packed = &chunk.bytes[used..chunk.size];
        let step = unpacker.decompress(packed, chunk.is_last, piece);
        let step = step.map_err(ReadError::Damage)?;
        used += step.used;
        if step.then != StepEnd::Full {
            exchange.return_chunk(chunk);
            if !piece.is_empty() && exchange.needs_chunk() {
                send_text(exchange, unpacker, piece);
            }
            return Ok(step.then);
        }
        if !send_text(exchange, unpacker, piece) {
            return Ok(StepEnd::Done);
        }
    }
}

/// Passes a filled text buffer to the reader and continues in another buffer. Returns
/// false if the reader needs no more text.
fn send_text(exchange: &TextExchange, unpacker: &mut dyn Unpacker, piece: &mut TextBuffer) -> bool {
    let Some(mut fresh) = exchange.receive_empty_buffer() else {
        return false;
    };
    unpacker.switch_buffer(piece, &mut fresh);
    exchange.send_text(mem::replace(piece, fresh));
    true
}
