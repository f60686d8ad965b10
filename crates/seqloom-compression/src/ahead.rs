//! Unpacking on a thread of its own, while what was unpacked is being parsed.
//!
//! The thread only computes: the file is read by whoever wants the text, so
//! that a pipe on which nobody writes, or a Python object, never holds up the
//! end of the thread.

use std::mem;

use super::helper::Helper;
use super::piece::Piece;
use super::ring::{Chunk, News, Reading, Ring};
use super::streams::{Then, Unpack};
use super::text::Trouble;
use crate::input::Input;

/// What the thread starts with.
type Work = (Box<dyn Unpack>, Piece);

/// A thread that unpacks, as its reader sees it.
pub(super) struct Ahead {
    helper: Helper,
    /// Whether all of the file was read.
    is_over: bool,
}

impl Ahead {
    /// Starts the thread, which goes on in `piece`. Where no thread can be had,
    /// both come back.
    pub(super) fn start(unpacker: Box<dyn Unpack>, piece: Piece) -> Result<Self, Work> {
        let helper = Helper::start(Ring::with_chunks(), (unpacker, piece), run)?;
        let is_over = false;
        Ok(Self { helper, is_over })
    }

    /// Exchanges a used piece for the next one; nothing at the end.
    pub(super) fn next(
        &mut self,
        used: Piece,
        input: &mut Input,
    ) -> Result<Option<Piece>, Trouble> {
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
                    let chunk = read(chunk, input);
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
fn read(mut chunk: Chunk, input: &mut Input) -> Chunk {
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
            Some(chunk) => unpack(ring, &mut *unpacker, chunk, &mut piece),
            None => Ok(Then::Done),
        };
    }
    ring.deliver(piece);
    outcome.map(|_| ())
}

/// Unpacks one part of the file.
fn unpack(
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
                continue_in(ring, unpacker, piece);
            }
            return Ok(step.then);
        }
        if !continue_in(ring, unpacker, piece) {
            return Ok(Then::Done);
        }
    }
}

/// Hands a piece over and goes on in another; says whether anybody wants more.
fn continue_in(ring: &Ring, unpacker: &mut dyn Unpack, piece: &mut Piece) -> bool {
    let Some(mut fresh) = ring.piece() else {
        return false;
    };
    unpacker.continue_in(piece, &mut fresh);
    ring.deliver(mem::replace(piece, fresh));
    true
}
