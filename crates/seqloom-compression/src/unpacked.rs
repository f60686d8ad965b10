//! The text of a file of packed streams.

use std::io;
use std::mem;

use super::ahead::Ahead;
use super::piece::Piece;
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
