//! The decompressed text of a file.

use std::{io, mem};

use super::exchange::{CHUNK_COUNT, Chunk, ExchangeEvent, HelperThread, ReadTiming, TextExchange};
use super::piece::TextPiece;
use super::streams::{CodecStep, StepEnd, Unpack};
use super::text::{Text, Trouble, UnpackOptions, already_failed};
use crate::input::BufferedInput;

/// The text of a file of compressed streams. The reader's thread fills the first text
/// buffer; another thread decompresses the rest of the file.
pub(super) struct Unpacked {
    input: BufferedInput,
    piece: TextPiece,
    /// The next text buffer to fill, if the reader's thread decompresses the file.
    spare: TextPiece,
    worker: Unpacker,
    then: StepEnd,
    may_start: bool,
    /// The error to return after the text in the current buffer.
    failure: Option<Trouble>,
}

/// The thread that decompresses the file: the reader's thread or another thread.
enum Unpacker {
    Here(Box<dyn Unpack>),
    Ahead(UnpackAhead),
    /// No thread, because decompression has ended.
    Finished,
}

impl Unpacked {
    pub(super) fn new(
        input: BufferedInput,
        unpacker: Box<dyn Unpack>,
        options: &UnpackOptions,
    ) -> io::Result<Self> {
        Ok(Self {
            input,
            piece: TextPiece::new()?,
            spare: TextPiece::none(),
            worker: Unpacker::Here(unpacker),
            then: StepEnd::NeedsInput,
            may_start: options.threads > 1,
            failure: None,
        })
    }

    /// Decompresses more text into the buffers.
    fn advance(&mut self) -> Result<(), Trouble> {
        if self.then == StepEnd::Full {
            self.continue_in()?;
        }
        match &mut self.worker {
            Unpacker::Here(unpacker) => {
                let step = unpack(unpacker.as_mut(), &mut self.input, &mut self.piece)?;
                self.then = step.then;
            }
            Unpacker::Ahead(ahead) => {
                let used = mem::replace(&mut self.piece, TextPiece::none());
                match ahead.next(used, &mut self.input)? {
                    Some(piece) => self.piece = piece,
                    None => self.then = StepEnd::Done,
                }
            }
            Unpacker::Finished => return Err(already_failed()),
        }
        Ok(())
    }

    /// Continues in another text buffer, and in a separate thread if that is allowed.
    fn continue_in(&mut self) -> io::Result<()> {
        self.then = StepEnd::NeedsInput;
        let Unpacker::Here(unpacker) = &mut self.worker else {
            return Ok(());
        };
        let mut fresh = mem::replace(&mut self.spare, TextPiece::none());
        if fresh.spare().is_empty() {
            fresh = TextPiece::new()?;
        }
        unpacker.continue_in(&self.piece, &mut fresh);
        self.spare = mem::replace(&mut self.piece, fresh);
        if mem::take(&mut self.may_start) {
            self.start();
        }
        Ok(())
    }

    fn start(&mut self) {
        let Unpacker::Here(unpacker) = mem::replace(&mut self.worker, Unpacker::Finished) else {
            return;
        };
        let piece = mem::replace(&mut self.piece, TextPiece::none());
        match UnpackAhead::start(unpacker, piece) {
            Ok(ahead) => {
                self.piece = mem::replace(&mut self.spare, TextPiece::none());
                self.piece.clear();
                self.worker = Unpacker::Ahead(ahead);
            }
            Err((unpacker, piece)) => {
                self.piece = piece;
                self.worker = Unpacker::Here(unpacker);
            }
        }
    }
}

/// Decompresses the bytes of one read from the file.
fn unpack(
    unpacker: &mut dyn Unpack,
    input: &mut BufferedInput,
    piece: &mut TextPiece,
) -> Result<CodecStep, Trouble> {
    input.fill(1)?;
    let step = unpacker.unpack(input.waiting(), input.at_end(), piece);
    let step = step.map_err(Trouble::Damage)?;
    input.consume(step.used);
    Ok(step)
}

impl Text for Unpacked {
    fn fill(&mut self) -> Result<&[u8], Trouble> {
        while self.piece.is_empty() && self.then != StepEnd::Done {
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            if let Err(failure) = self.advance() {
                self.worker = Unpacker::Finished;
                self.failure = Some(failure);
            }
        }
        Ok(self.piece.waiting())
    }

    fn consume(&mut self, count: usize) {
        self.piece.consume(count);
    }
}

/// The decompressor and the text buffer that are passed to the new thread.
type UnpackWork = (Box<dyn Unpack>, TextPiece);

/// The reader's handle of the decompressing thread. Only the reader reads the file. A
/// pipe without data, or a Python object, can therefore never delay the end of the
/// thread.
struct UnpackAhead {
    helper: HelperThread,
    /// True if the file was read to its end.
    is_over: bool,
}

impl UnpackAhead {
    /// Starts the thread, which continues in the text buffer `piece`. If the thread
    /// cannot be started, returns both arguments.
    fn start(unpacker: Box<dyn Unpack>, piece: TextPiece) -> Result<Self, UnpackWork> {
        let helper = HelperThread::start(CHUNK_COUNT, (unpacker, piece), run)?;
        let is_over = false;
        Ok(Self { helper, is_over })
    }

    /// Exchanges a used text buffer for the next filled buffer. Returns `None` at the end
    /// of the text.
    fn next(
        &mut self,
        used: TextPiece,
        input: &mut BufferedInput,
    ) -> Result<Option<TextPiece>, Trouble> {
        let exchange = self.helper.exchange()?;
        exchange.give_back(used);
        loop {
            let reading = match self.is_over {
                true => ReadTiming::Over,
                _ if input.is_ready() => ReadTiming::Early,
                _ => ReadTiming::Late,
            };
            match exchange.next(reading) {
                ExchangeEvent::FreeChunk(chunk) => {
                    let chunk = fill(chunk, input);
                    self.is_over = chunk.is_last;
                    exchange.feed(chunk);
                }
                ExchangeEvent::Text(piece) => return Ok(Some(piece)),
                ExchangeEvent::End(outcome) => return outcome.map(|()| None),
            }
        }
    }
}

/// Reads the next chunk of the file. If the read fails, the chunk stores the error,
/// which is returned after all text.
fn fill(mut chunk: Chunk, input: &mut BufferedInput) -> Chunk {
    let count = input.take(&mut chunk.bytes);
    chunk.size = *count.as_ref().unwrap_or(&0);
    chunk.is_last = chunk.size == 0;
    chunk.failure = count.err();
    chunk
}

/// Decompresses the file in a separate thread.
fn run(exchange: &TextExchange, (mut unpacker, mut piece): UnpackWork) -> Result<(), Trouble> {
    let mut outcome = Ok(StepEnd::NeedsInput);
    while let Ok(StepEnd::NeedsInput) = outcome {
        outcome = match exchange.chunk() {
            Some(chunk) => unpack_chunk(exchange, &mut *unpacker, chunk, &mut piece),
            None => Ok(StepEnd::Done),
        };
    }
    exchange.deliver(piece);
    outcome.map(|_| ())
}

/// Decompresses one chunk of the file.
fn unpack_chunk(
    exchange: &TextExchange,
    unpacker: &mut dyn Unpack,
    mut chunk: Chunk,
    piece: &mut TextPiece,
) -> Result<StepEnd, Trouble> {
    if let Some(failure) = chunk.failure.take() {
        return Err(failure.into());
    }
    let mut used = 0;
    loop {
        let packed = &chunk.bytes[used..chunk.size];
        let step = unpacker.unpack(packed, chunk.is_last, piece);
        let step = step.map_err(Trouble::Damage)?;
        used += step.used;
        if step.then != StepEnd::Full {
            exchange.recycle(chunk);
            if !piece.is_empty() && exchange.is_starved() {
                deliver(exchange, unpacker, piece);
            }
            return Ok(step.then);
        }
        if !deliver(exchange, unpacker, piece) {
            return Ok(StepEnd::Done);
        }
    }
}

/// Passes a filled text buffer to the reader and continues in another buffer. Returns
/// false if the reader needs no more text.
fn deliver(exchange: &TextExchange, unpacker: &mut dyn Unpack, piece: &mut TextPiece) -> bool {
    let Some(mut fresh) = exchange.empty_buffer() else {
        return false;
    };
    unpacker.continue_in(piece, &mut fresh);
    exchange.deliver(mem::replace(piece, fresh));
    true
}
