//! Bgzip: gzip members of at most 64 KiB that say their size (SAM
//! specification, section 4.1).
//!
//! A block is checked as a whole before any of it is used, and the file must
//! end with the empty block that says so: without it the file was cut.

use std::ops::Range;

use seqloom_core::error::Fault;
use sirocco::Format;
use sirocco::inflate::Decoder;

use super::{Text, Trouble};
use crate::input::Input;

/// The largest text of a block.
const LARGEST: usize = 64 << 10;

/// A gzip header up to the length of its extra field.
const FIXED_HEADER: usize = 12;

/// Unpacks bgzip block by block.
pub(super) struct Bgzip {
    input: Input,
    decoder: Box<Decoder>,
    text: Vec<u8>,
    /// The text that was not used.
    waiting: Range<usize>,
    /// Whether the last block was empty, as the last one of a file must be.
    was_empty: bool,
    at_end: bool,
}

impl Bgzip {
    pub(super) fn new(input: Input) -> Self {
        Self {
            input,
            decoder: Box::new(Decoder::new(Format::Gzip)),
            text: vec![0; LARGEST],
            waiting: 0..0,
            was_empty: false,
            at_end: false,
        }
    }

    fn unpack(&mut self) -> Result<(), Trouble> {
        let at = self.input.used();
        if self.input.fill(LARGEST)?.is_empty() {
            return self.end(at);
        }
        let block = self.block(at)?;
        let count = self.decode(block, at)?;
        self.was_empty = count == 0;
        self.waiting = 0..count;
        self.input.consume(block);
        Ok(())
    }

    /// The size of the block at `at`, all of which waits.
    fn block(&self, at: u64) -> Result<usize, Trouble> {
        let start = self.input.waiting();
        match block_size(start) {
            Some(size) if size <= start.len() => Ok(size),
            Some(_) => Err(cut(self.input.seen())),
            None if start.len() < FIXED_HEADER + 6 => Err(cut(self.input.seen())),
            None => Err(damaged(at, "no bgzip block begins there")),
        }
    }

    fn decode(&mut self, size: usize, at: u64) -> Result<usize, Trouble> {
        let block = &self.input.waiting()[..size];
        match self.decoder.decompress(block, &mut self.text, true) {
            Ok(progress) if progress.done && progress.consumed == size => Ok(progress.output.len()),
            Ok(_) => Err(damaged(at, "its size is not what it says")),
            Err(error) => Err(damaged(at, &error.to_string())),
        }
    }

    fn end(&mut self, at: u64) -> Result<(), Trouble> {
        self.at_end = true;
        if self.was_empty {
            return Ok(());
        }
        Err(Trouble::Damage(Fault::compressed(
            at,
            format!(
                "the file was cut: its bgzip data ends at byte {at} without the block that marks the end"
            ),
        )))
    }
}

fn cut(at: u64) -> Trouble {
    Trouble::Damage(Fault::compressed(
        at,
        format!("the file was cut: it ends at byte {at}, inside a bgzip block"),
    ))
}

fn damaged(at: u64, why: &str) -> Trouble {
    Trouble::Damage(Fault::compressed(
        at,
        format!("the bgzip block at byte {at} is damaged: {why}"),
    ))
}

/// The whole size that a block's header gives, if `start` is such a header:
/// a gzip header whose extra field holds the subfield `BC`.
pub(super) fn block_size(start: &[u8]) -> Option<usize> {
    let header = start.first_chunk::<FIXED_HEADER>()?;
    if header[..3] != [0x1F, 0x8B, 8] || header[3] != 4 {
        return None;
    }
    let extra_size = usize::from(u16::from_le_bytes([header[10], header[11]]));
    let mut extra = start.get(FIXED_HEADER..FIXED_HEADER + extra_size)?;
    while let [a, b, low, high, rest @ ..] = extra {
        let size = usize::from(u16::from_le_bytes([*low, *high]));
        let field = rest.get(..size)?;
        if let (b'B', b'C', [low, high]) = (a, b, field) {
            return Some(usize::from(u16::from_le_bytes([*low, *high])) + 1);
        }
        extra = &rest[size..];
    }
    None
}

impl Text for Bgzip {
    fn fill(&mut self) -> Result<&[u8], Trouble> {
        while self.waiting.is_empty() && !self.at_end {
            self.unpack()?;
        }
        Ok(&self.text[self.waiting.clone()])
    }

    fn consume(&mut self, count: usize) {
        self.waiting.start += count;
    }
}
