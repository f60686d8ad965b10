//! Bits of a file, the lowest of each byte first.

use seqloom_core::error::Fault;

use super::codes::{Code, QUICK};
use crate::input::BufferedInput;
use crate::streams::{cut, garbage};
use crate::text::Trouble;
use seqloom_core::number::as_u64;

/// The longest code word, in bits.
const LONGEST_WORD: u32 = 15;
/// How much is asked for at once.
const PIECE: usize = 64 << 10;

/// Reads a file bit by bit.
pub(super) struct BitReader {
    input: BufferedInput,
    /// Bytes that were taken from the input.
    buffer: Vec<u8>,
    at: usize,
    /// Where in the file the buffer begins.
    start: u64,
    /// The next bits.
    next: u64,
    /// How many of them there are.
    count: u32,
}

impl BitReader {
    pub(super) fn new(input: BufferedInput) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            at: 0,
            start: 0,
            next: 0,
            count: 0,
        }
    }

    /// The position of the next bit, counted from the beginning of the file.
    pub(super) fn position(&self) -> u64 {
        (self.start + as_u64(self.at)) * 8 - u64::from(self.count)
    }

    /// Skips to the next whole byte.
    pub(super) fn align(&mut self) {
        self.drop(self.count % 8);
    }

    /// Whether no byte follows.
    pub(super) fn at_end(&mut self) -> Result<bool, Trouble> {
        self.refill()?;
        Ok(self.count == 0)
    }

    /// Whether only zeros follow; anything else is an error.
    pub(super) fn rest_is_zero(&mut self) -> Result<(), Trouble> {
        while !self.at_end()? {
            let at = self.position() / 8;
            if self.number(8)? != 0 {
                return Err(Trouble::Damage(garbage("gzip", at)));
            }
        }
        Ok(())
    }

    /// The next bits as a number, the first one the lowest; at most 48.
    pub(super) fn number(&mut self, bits: u32) -> Result<u64, Trouble> {
        if self.count < bits {
            self.refill()?;
        }
        if self.count < bits {
            return Err(self.cut());
        }
        let number = self.next & ((1 << bits) - 1);
        self.drop(bits);
        Ok(number)
    }

    /// A small number, as a size.
    pub(super) fn size(&mut self, bits: u32) -> Result<usize, Trouble> {
        self.number(bits)
            .map(|number| usize::try_from(number).unwrap_or(usize::MAX))
    }

    /// The next symbol of a code.
    #[inline]
    pub(super) fn symbol(&mut self, code: &Code) -> Result<u16, Trouble> {
        if self.count < LONGEST_WORD {
            self.refill()?;
        }
        let position = (self.next & ((1 << QUICK) - 1)) as usize;
        let quick = code.quick.get(position);
        let (mut symbol, mut size) = quick.copied().unwrap_or_default();
        if size == 0 {
            (symbol, size) = code.find(self.next).ok_or_else(|| self.unknown())?;
        }
        if u32::from(size) > self.count {
            return Err(self.cut());
        }
        self.drop(u32::from(size));
        Ok(symbol)
    }

    fn drop(&mut self, bits: u32) {
        self.next >>= bits;
        self.count -= bits;
    }

    /// Takes as many whole bytes as fit: at least 56 bits, unless the file ends.
    #[inline]
    fn refill(&mut self) -> Result<(), Trouble> {
        let rest = self.buffer.get(self.at..);
        if let Some(bytes) = rest.and_then(<[u8]>::first_chunk::<8>) {
            self.next |= u64::from_le_bytes(*bytes) << self.count;
            let taken = (63 - self.count) / 8;
            self.at += taken as usize;
            self.count += taken * 8;
            // What was shifted in beyond the whole bytes is taken again later.
            self.next &= u64::MAX >> (64 - self.count);
            return Ok(());
        }
        self.refill_slowly()
    }

    #[cold]
    fn refill_slowly(&mut self) -> Result<(), Trouble> {
        if self.buffer.len() - self.at < 8 {
            self.load()?;
        }
        let rest = self.buffer.iter().skip(self.at);
        for byte in rest.take((63 - self.count) as usize / 8) {
            self.next |= u64::from(*byte) << self.count;
            self.at += 1;
            self.count += 8;
        }
        Ok(())
    }

    fn load(&mut self) -> Result<(), Trouble> {
        self.buffer.drain(..self.at);
        self.start += as_u64(self.at);
        self.at = 0;
        let waiting = self.input.fill(PIECE)?;
        self.buffer.extend_from_slice(waiting);
        let count = waiting.len();
        self.input.consume(count);
        Ok(())
    }

    fn cut(&self) -> Trouble {
        Trouble::Damage(cut("gzip", "member", self.input.size_so_far()))
    }

    fn unknown(&self) -> Trouble {
        if self.count < LONGEST_WORD {
            return self.cut();
        }
        let at = self.position() / 8;
        Trouble::Damage(Fault::compressed(
            at,
            format!("the gzip data is damaged near byte {at} of the file: an impossible symbol"),
        ))
    }
}
