//! Text that is not packed.

use std::mem;

use super::piece::Piece;
use super::ring::{Helper, News, Reading, Ring};
use super::text::{Options, Text, Trouble, gone};
use crate::input::Input;

/// A file that is text itself. A regular one is read ahead on a thread: it
/// keeps nobody waiting. From a pipe text is taken as it comes.
pub(super) struct Plain {
    worker: Worker,
    may_start: bool,
}

/// Who reads.
enum Worker {
    Here(Input),
    Ahead(Helper, Piece),
    /// Nobody any more.
    Nobody,
    Failed,
}

impl Plain {
    pub(super) fn new(input: Input, options: &Options) -> Self {
        Self {
            may_start: options.threads > 1 && input.is_regular(),
            worker: Worker::Here(input),
        }
    }

    /// Has the rest of the file read ahead, if there is more than was looked at.
    fn start(&mut self) {
        self.worker = match mem::replace(&mut self.worker, Worker::Nobody) {
            Worker::Here(input) if !input.at_end() => match Helper::start(0, input, read) {
                Ok(helper) => Worker::Ahead(helper, Piece::none()),
                Err(input) => Worker::Here(input),
            },
            other => other,
        };
        self.may_start = false;
    }

    fn advance(&mut self) -> Result<(), Trouble> {
        match &mut self.worker {
            Worker::Here(input) => {
                input.fill(1)?;
            }
            Worker::Ahead(helper, piece) => {
                let ring = helper.ring()?;
                if !piece.bytes.is_empty() {
                    ring.give_back(mem::replace(piece, Piece::none()));
                }
                match ring.next(Reading::Over) {
                    News::Text(text) => *piece = text,
                    News::End(outcome) => {
                        self.worker = Worker::Nobody;
                        return outcome;
                    }
                    News::Room(_) => {}
                }
            }
            Worker::Nobody => {}
            Worker::Failed => return Err(gone()),
        }
        Ok(())
    }

    fn waiting(&self) -> &[u8] {
        match &self.worker {
            Worker::Here(input) => input.waiting(),
            Worker::Ahead(_, piece) => piece.waiting(),
            Worker::Nobody | Worker::Failed => &[],
        }
    }
}

/// What the thread does.
fn read(ring: &Ring, mut input: Input) -> Result<(), Trouble> {
    while let Some(mut piece) = ring.piece() {
        piece.clear();
        let count = input.take(piece.room())?;
        if count == 0 {
            break;
        }
        piece.grow(count);
        ring.deliver(piece);
    }
    Ok(())
}

impl Text for Plain {
    fn fill(&mut self) -> Result<&[u8], Trouble> {
        if self.waiting().is_empty() {
            if self.may_start {
                self.start();
            }
            if let Err(trouble) = self.advance() {
                self.worker = Worker::Failed;
                return Err(trouble);
            }
        }
        Ok(self.waiting())
    }

    fn consume(&mut self, count: usize) {
        match &mut self.worker {
            Worker::Here(input) => input.consume(count),
            Worker::Ahead(_, piece) => piece.consume(count),
            Worker::Nobody | Worker::Failed => {}
        }
    }
}
