//! The text of a file of packed streams.

use std::{io, mem};

use super::piece::TextPiece;
use super::ring::{CHUNKS, Chunk, HelperThread, ReadTiming, RingEvent, TextRing};
use super::streams::{CodecStep, StepEnd, Unpack};
use super::text::{Text, Trouble, UnpackOptions, gone};
use crate::input::BufferedInput;

/// The text of packed streams. The reader unpacks the first piece, a thread the next ones.
pub(super) struct Unpacked {
    input: BufferedInput,
    piece: TextPiece,
    /// The piece that is filled next, while nothing runs ahead.
    spare: TextPiece,
    worker: Unpacker,
    then: StepEnd,
    may_start: bool,
    /// Why there is no text behind the piece.
    failure: Option<Trouble>,
}

/// Which thread unpacks.
enum Unpacker {
    Here(Box<dyn Unpack>),
    Ahead(UnpackAhead),
    /// Unpacking has ended.
    Nobody,
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
            then: StepEnd::Hungry,
            may_start: options.threads > 1,
            failure: None,
        })
    }

    /// Unpacks a little more.
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
            Unpacker::Nobody => return Err(gone()),
        }
        Ok(())
    }

    /// Continues in another piece, on the thread if that is allowed.
    fn continue_in(&mut self) -> io::Result<()> {
        self.then = StepEnd::Hungry;
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
        let Unpacker::Here(unpacker) = mem::replace(&mut self.worker, Unpacker::Nobody) else {
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

/// Unpacks what one reading of the file gives.
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
                self.worker = Unpacker::Nobody;
                self.failure = Some(failure);
            }
        }
        Ok(self.piece.waiting())
    }

    fn consume(&mut self, count: usize) {
        self.piece.consume(count);
    }
}

/// The state with which the thread begins.
type UnpackWork = (Box<dyn Unpack>, TextPiece);

/// The reader's handle of a thread that unpacks. The thread only computes. The reader reads the
/// file, so that a silent pipe or a Python object never delays the end of the thread.
struct UnpackAhead {
    helper: HelperThread,
    /// Whether all of the file was read.
    is_over: bool,
}

impl UnpackAhead {
    /// Starts the thread, which continues in `piece`. If no thread can be started, returns both.
    fn start(unpacker: Box<dyn Unpack>, piece: TextPiece) -> Result<Self, UnpackWork> {
        let helper = HelperThread::start(CHUNKS, (unpacker, piece), run)?;
        let is_over = false;
        Ok(Self { helper, is_over })
    }

    /// Exchanges a used piece for the next one; `None` at the end.
    fn next(
        &mut self,
        used: TextPiece,
        input: &mut BufferedInput,
    ) -> Result<Option<TextPiece>, Trouble> {
        let ring = self.helper.ring()?;
        ring.give_back(used);
        loop {
            let reading = match self.is_over {
                true => ReadTiming::Over,
                _ if input.is_ready() => ReadTiming::Early,
                _ => ReadTiming::Late,
            };
            match ring.next(reading) {
                RingEvent::FreeChunk(chunk) => {
                    let chunk = fill(chunk, input);
                    self.is_over = chunk.is_last;
                    ring.feed(chunk);
                }
                RingEvent::Text(piece) => return Ok(Some(piece)),
                RingEvent::End(outcome) => return outcome.map(|()| None),
            }
        }
    }
}

/// Reads the next chunk of the file. The chunk carries an error to the thread, so that the
/// error comes after all text.
fn fill(mut chunk: Chunk, input: &mut BufferedInput) -> Chunk {
    let count = input.take(&mut chunk.bytes);
    chunk.size = *count.as_ref().unwrap_or(&0);
    chunk.is_last = chunk.size == 0;
    chunk.failure = count.err();
    chunk
}

/// Unpacks the file; runs on the thread.
fn run(ring: &TextRing, (mut unpacker, mut piece): UnpackWork) -> Result<(), Trouble> {
    let mut outcome = Ok(StepEnd::Hungry);
    while let Ok(StepEnd::Hungry) = outcome {
        outcome = match ring.chunk() {
            Some(chunk) => unpack_chunk(ring, &mut *unpacker, chunk, &mut piece),
            None => Ok(StepEnd::Done),
        };
    }
    ring.deliver(piece);
    outcome.map(|_| ())
}

/// Unpacks one part of the file on the thread.
fn unpack_chunk(
    ring: &TextRing,
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
            ring.recycle(chunk);
            if !piece.is_empty() && ring.is_starved() {
                hand_over(ring, unpacker, piece);
            }
            return Ok(step.then);
        }
        if !hand_over(ring, unpacker, piece) {
            return Ok(StepEnd::Done);
        }
    }
}

/// Hands a piece over and goes on in another; says whether anybody wants more.
fn hand_over(ring: &TextRing, unpacker: &mut dyn Unpack, piece: &mut TextPiece) -> bool {
    let Some(mut fresh) = ring.piece() else {
        return false;
    };
    unpacker.continue_in(piece, &mut fresh);
    ring.deliver(mem::replace(piece, fresh));
    true
}
