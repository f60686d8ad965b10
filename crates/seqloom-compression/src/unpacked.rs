//! The text of a file of packed streams.

use std::io;
use std::mem;

use super::piece::Piece;
use super::ring::{CHUNKS, Chunk, Helper, News, Reading, Ring};
use super::streams::{Step, Then, Unpack};
use super::text::{Options, Text, Trouble, gone};
use crate::input::Input;

/// Unpacks where it is read, and from the second piece on ahead of the reader.
pub(super) struct Unpacked {
    input: Input,
    piece: Piece,
    /// The piece that is filled next, while nothing runs ahead.
    spare: Piece,
    worker: Worker,
    then: Then,
    may_start: bool,
    /// Why there is no text behind the piece.
    failure: Option<Trouble>,
}

/// Who unpacks.
enum Worker {
    Here(Box<dyn Unpack>),
    Ahead(Ahead),
    /// Nobody any more.
    Nobody,
}

impl Unpacked {
    pub(super) fn new(
        input: Input,
        unpacker: Box<dyn Unpack>,
        options: &Options,
    ) -> io::Result<Self> {
        Ok(Self {
            input,
            piece: Piece::new()?,
            spare: Piece::none(),
            worker: Worker::Here(unpacker),
            then: Then::Hungry,
            may_start: options.threads > 1,
            failure: None,
        })
    }

    /// Unpacks a little more.
    fn advance(&mut self) -> Result<(), Trouble> {
        if self.then == Then::Full {
            self.continue_in()?;
        }
        match &mut self.worker {
            Worker::Here(unpacker) => {
                let step = unpack(unpacker.as_mut(), &mut self.input, &mut self.piece)?;
                self.then = step.then;
            }
            Worker::Ahead(ahead) => {
                let used = mem::replace(&mut self.piece, Piece::none());
                match ahead.next(used, &mut self.input)? {
                    Some(piece) => self.piece = piece,
                    None => self.then = Then::Done,
                }
            }
            Worker::Nobody => return Err(gone()),
        }
        Ok(())
    }

    /// Goes on in another piece, from now on ahead if that is allowed.
    fn continue_in(&mut self) -> io::Result<()> {
        self.then = Then::Hungry;
        let Worker::Here(unpacker) = &mut self.worker else {
            return Ok(());
        };
        let mut fresh = mem::replace(&mut self.spare, Piece::none());
        if fresh.room().is_empty() {
            fresh = Piece::new()?;
        }
        unpacker.continue_in(&self.piece, &mut fresh);
        self.spare = mem::replace(&mut self.piece, fresh);
        if mem::take(&mut self.may_start) {
            self.start();
        }
        Ok(())
    }

    fn start(&mut self) {
        let Worker::Here(unpacker) = mem::replace(&mut self.worker, Worker::Nobody) else {
            return;
        };
        let piece = mem::replace(&mut self.piece, Piece::none());
        match Ahead::start(unpacker, piece) {
            Ok(ahead) => {
                self.piece = mem::replace(&mut self.spare, Piece::none());
                self.piece.clear();
                self.worker = Worker::Ahead(ahead);
            }
            Err((unpacker, piece)) => {
                self.piece = piece;
                self.worker = Worker::Here(unpacker);
            }
        }
    }
}

/// Unpacks what one reading of the file gives.
fn unpack(
    unpacker: &mut dyn Unpack,
    input: &mut Input,
    piece: &mut Piece,
) -> Result<Step, Trouble> {
    input.fill(1)?;
    let step = unpacker.unpack(input.waiting(), input.at_end(), piece);
    let step = step.map_err(Trouble::Damage)?;
    input.consume(step.used);
    Ok(step)
}

impl Text for Unpacked {
    fn fill(&mut self) -> Result<&[u8], Trouble> {
        while self.piece.is_empty() && self.then != Then::Done {
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            if let Err(failure) = self.advance() {
                self.worker = Worker::Nobody;
                self.failure = Some(failure);
            }
        }
        Ok(self.piece.waiting())
    }

    fn consume(&mut self, count: usize) {
        self.piece.consume(count);
    }
}

/// What the thread starts with.
type Work = (Box<dyn Unpack>, Piece);

/// A thread that unpacks, as its reader sees it. The thread only computes: the
/// file is read by whoever wants the text, so that a pipe on which nobody writes,
/// or a Python object, never holds up the end of the thread.
struct Ahead {
    helper: Helper,
    /// Whether all of the file was read.
    is_over: bool,
}

impl Ahead {
    /// Starts the thread, which goes on in `piece`. Where no thread can be had,
    /// both come back.
    fn start(unpacker: Box<dyn Unpack>, piece: Piece) -> Result<Self, Work> {
        let helper = Helper::start(CHUNKS, (unpacker, piece), run)?;
        let is_over = false;
        Ok(Self { helper, is_over })
    }

    /// Exchanges a used piece for the next one; nothing at the end.
    fn next(&mut self, used: Piece, input: &mut Input) -> Result<Option<Piece>, Trouble> {
        let ring = self.helper.ring()?;
        ring.give_back(used);
        loop {
            let reading = match self.is_over {
                true => Reading::Over,
                _ if input.is_ready() => Reading::Early,
                _ => Reading::Late,
            };
            match ring.next(reading) {
                News::Room(chunk) => {
                    let chunk = fill(chunk, input);
                    self.is_over = chunk.is_last;
                    ring.feed(chunk);
                }
                News::Text(piece) => return Ok(Some(piece)),
                News::End(outcome) => return outcome.map(|()| None),
            }
        }
    }
}

/// Reads the file further. A fault is told to the thread, so that it comes
/// after all text.
fn fill(mut chunk: Chunk, input: &mut Input) -> Chunk {
    let count = input.take(&mut chunk.bytes);
    chunk.size = *count.as_ref().unwrap_or(&0);
    chunk.is_last = chunk.size == 0;
    chunk.failure = count.err();
    chunk
}

/// What the thread does.
fn run(ring: &Ring, (mut unpacker, mut piece): Work) -> Result<(), Trouble> {
    let mut outcome = Ok(Then::Hungry);
    while let Ok(Then::Hungry) = outcome {
        outcome = match ring.chunk() {
            Some(chunk) => unpack_chunk(ring, &mut *unpacker, chunk, &mut piece),
            None => Ok(Then::Done),
        };
    }
    ring.deliver(piece);
    outcome.map(|_| ())
}

/// Unpacks one part of the file on the thread.
fn unpack_chunk(
    ring: &Ring,
    unpacker: &mut dyn Unpack,
    mut chunk: Chunk,
    piece: &mut Piece,
) -> Result<Then, Trouble> {
    if let Some(failure) = chunk.failure.take() {
        return Err(failure.into());
    }
    let mut used = 0;
    loop {
        let packed = &chunk.bytes[used..chunk.size];
        let step = unpacker.unpack(packed, chunk.is_last, piece);
        let step = step.map_err(Trouble::Damage)?;
        used += step.used;
        if step.then != Then::Full {
            ring.recycle(chunk);
            if !piece.is_empty() && ring.is_starved() {
                hand_over(ring, unpacker, piece);
            }
            return Ok(step.then);
        }
        if !hand_over(ring, unpacker, piece) {
            return Ok(Then::Done);
        }
    }
}

/// Hands a piece over and goes on in another; says whether anybody wants more.
fn hand_over(ring: &Ring, unpacker: &mut dyn Unpack, piece: &mut Piece) -> bool {
    let Some(mut fresh) = ring.piece() else {
        return false;
    };
    unpacker.continue_in(piece, &mut fresh);
    ring.deliver(mem::replace(piece, fresh));
    true
}
