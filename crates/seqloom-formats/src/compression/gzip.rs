//! Gzip (RFC 1952): one member after the other.

use std::ops::Range;

use seqloom_core::error::Fault;
use sirocco::Format;
use sirocco::inflate::{Decoder, Error};

use super::{Text, Trouble};
use crate::input::Input;

/// Large enough that moving the 32 KiB of history costs little.
const WINDOW: usize = 256 << 10;

/// Unpacks gzip piece by piece; checks each member's checksum and length.
pub(super) struct Gzip {
    input: Input,
    decoder: Box<Decoder>,
    window: Vec<u8>,
    /// The text in the window that was not used.
    waiting: Range<usize>,
    /// How much of the window holds text of this member.
    filled: usize,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// A member begins, the first or a later one.
    Border,
    /// Within a member.
    Member,
    /// Within a member whose text fills the window.
    Full,
    /// Nothing follows.
    End,
}

impl Gzip {
    pub(super) fn new(input: Input) -> Self {
        Self {
            input,
            decoder: Box::new(Decoder::new(Format::Gzip)),
            window: vec![0; WINDOW],
            waiting: 0..0,
            filled: 0,
            stage: Stage::Border,
        }
    }

    /// Decides what follows a member: another one, padding, or the end.
    fn cross_border(&mut self) -> Result<(), Trouble> {
        let at = self.input.used();
        let start = self.input.fill(2)?;
        self.stage = match start {
            [] => Stage::End,
            [0x1F] | [0x1F, 0x8B, ..] => Stage::Member,
            [0, ..] => return self.skip_padding(),
            _ => return Err(garbage(at)),
        };
        self.filled = 0;
        Ok(())
    }

    /// Tapes and object stores fill up with zeros; nothing may follow them.
    fn skip_padding(&mut self) -> Result<(), Trouble> {
        while !self.input.fill(1)?.is_empty() {
            let zeros = self.input.waiting();
            let count = zeros.len();
            if let Some(other) = zeros.iter().position(|byte| *byte != 0) {
                return Err(garbage(self.input.used() + crate::input::as_u64(other)));
            }
            self.input.consume(count);
        }
        self.stage = Stage::End;
        Ok(())
    }

    /// Unpacks what one piece of the file holds.
    fn unpack(&mut self) -> Result<(), Trouble> {
        if self.stage == Stage::Full {
            self.filled -= self.decoder.make_room(&mut self.window);
        }
        self.input.fill(1)?;
        let (input, at_end) = (self.input.waiting(), self.input.at_end());
        let progress = match self.decoder.decompress(input, &mut self.window, at_end) {
            Ok(progress) => progress,
            Err(error) => return Err(self.damage(error)),
        };
        let (start, count) = (self.filled, progress.output.len());
        self.stage = match (progress.done, progress.full) {
            (true, _) => Stage::Border,
            (_, true) => Stage::Full,
            _ => Stage::Member,
        };
        let used = progress.consumed;
        self.input.consume(used);
        self.filled = start + count;
        self.waiting = start..self.filled;
        Ok(())
    }

    fn damage(&self, error: Error) -> Trouble {
        let at = self.input.used();
        Trouble::Damage(match error {
            Error::Truncated => {
                let end = self.input.seen();
                Fault::compressed(
                    end,
                    format!("the gzip data is cut: the file ends at byte {end}, inside a member"),
                )
            }
            Error::ChecksumMismatch => Fault::compressed(
                at,
                format!(
                    "the gzip data is damaged: checksum or length do not match, near byte {at} of the file"
                ),
            ),
            _ => Fault::compressed(
                at,
                format!("the gzip data is damaged near byte {at} of the file"),
            ),
        })
    }
}

fn garbage(at: u64) -> Trouble {
    Trouble::Damage(Fault::compressed(
        at,
        format!("the gzip data ends at byte {at}, and something else follows"),
    ))
}

impl Text for Gzip {
    fn fill(&mut self) -> Result<&[u8], Trouble> {
        while self.waiting.is_empty() && self.stage != Stage::End {
            match self.stage {
                Stage::Border => self.cross_border()?,
                _ => self.unpack()?,
            }
        }
        Ok(&self.window[self.waiting.clone()])
    }

    fn consume(&mut self, count: usize) {
        self.waiting.start += count;
    }
}
