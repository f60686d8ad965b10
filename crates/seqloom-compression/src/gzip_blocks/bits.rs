//! Reads the bits of a file, the lowest bit of each byte first.

use seqloom_core::error::Fault;

use super::codes::{HuffmanCode, LOOKUP_BITS};
use crate::streams::{trailing_data, truncated_file};
use crate::{input::BufferedInput, text::ReadError};
use seqloom_core::number::as_u64;

/// Maximal length of a Huffman code in bits.
const MAX_CODE_BITS: u32 = 15;
/// Number of bytes to read at a time.
const BIT_BUFFER_BYTES: usize = 64 << 10;

/// A reader that returns a file bit by bit.
pub(super) struct BitReader {
    input: BufferedInput,
    /// Bytes of the file that were read.
    buffer: Vec<u8>,
    at: usize,
    /// The offset of the buffer in the file.
    start: u64,
    /// The next bits, the first bit lowest.
    next: u64,
    /// The number of bits in `next`.
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

    /// Returns the position in bits from the beginning of the file.
    pub(super) fn position(&self) -> u64 {
        (self.start + as_u64(self.at)) * 8 - u64::from(self.count)
    }

    /// Skips the remaining bits of the current byte.
    pub(super) fn align_to_byte(&mut self) {
        self.skip_bits(self.count % 8);
    }

    /// Returns true at the end of the file.
    pub(super) fn at_end(&mut self) -> Result<bool, ReadError> {
        self.refill()?;
        Ok(self.count == 0)
    }

    /// Returns an error unless the rest of the file consists of zeros.
    pub(super) fn check_rest_is_zero(&mut self) -> Result<(), ReadError> {
        while !self.at_end()? {
            let at = self.position() / 8;
            if self.read_bits(8)? != 0 {
                return Err(ReadError::Damage(trailing_data("gzip", at)));
            }
        }
        Ok(())
    }

    /// Returns the next bits as a number; the first bit becomes the lowest bit. At most
    /// 48 bits can be requested.
    pub(super) fn read_bits(&mut self, bits: u32) -> Result<u64, ReadError> {
        if self.count < bits {
            self.refill()?;
        }
        if self.count < bits {
            return Err(self.truncated_file());
        }
        let number = self.next & ((1 << bits) - 1);
        self.skip_bits(bits);
        Ok(number)
    }

    /// Returns the next bits as a `usize`.
    pub(super) fn read_usize(&mut self, bits: u32) -> Result<usize, ReadError> {
        self.read_bits(bits)
            .map(|number| usize::try_from(number).unwrap_or(usize::MAX))
    }

    /// Returns the next symbol that is encoded with this Huffman code.
    #[inline]
    pub(super) fn read_symbol(&mut self, code: &HuffmanCode) -> Result<u16, ReadError> {
        if self.count < MAX_CODE_BITS {
            self.refill()?;
        }
        let position = (self.next & ((1 << LOOKUP_BITS) - 1)) as usize;
        let lookup = code.lookup.get(position);
        let (mut symbol, mut size) = lookup.copied().unwrap_or_default();
        if size == 0 {
            (symbol, size) = code
                .find_symbol(self.next)
                .ok_or_else(|| self.unknown_code())?;
        }
        if u32::from(size) > self.count {
            return Err(self.truncated_file());
        }
        self.skip_bits(u32::from(size));
        Ok(symbol)
    }

    fn skip_bits(&mut self, bits: u32) {
        self.next >>= bits;
        self.count -= bits;
    }

    /// Loads as many whole bytes as fit: at least 56 bits, unless the file ends.
    #[inline]
    fn refill(&mut self) -> Result<(), ReadError> {
        let rest = self.buffer.get(self.at..);
        if let Some(bytes) = rest.and_then(<[u8]>::first_chunk::<8>) {
            self.next |= u64::from_le_bytes(*bytes) << self.count;
            let taken = (63 - self.count) / 8;
            self.at += taken as usize;
            self.count += taken * 8;
            // Bits of a byte that does not fit completely are loaded again later.
            self.next &= u64::MAX >> (64 - self.count);
            return Ok(());
        }
        self.refill_slowly()
    }

    #[cold]
    fn refill_slowly(&mut self) -> Result<(), ReadError> {
        if self.buffer.len() - self.at < 8 {
            self.load_bytes()?;
        }
        let rest = self.buffer.iter().skip(self.at);
        for byte in rest.take((63 - self.count) as usize / 8) {
            self.next |= u64::from(*byte) << self.count;
            self.at += 1;
            self.count += 8;
        }
        Ok(())
    }

    fn load_bytes(&mut self) -> Result<(), ReadError> {
        self.buffer.drain(..self.at);
        self.start += as_u64(self.at);
        self.at = 0;
        let waiting = self.input.fill_to(BIT_BUFFER_BYTES)?;
        self.buffer.extend_from_slice(waiting);
        let count = waiting.len();
        self.input.consume(count);
        Ok(())
    }

    fn truncated_file(&self) -> ReadError {
        ReadError::Damage(truncated_file("gzip", "member", self.input.bytes_read()))
    }

    fn unknown_code(&self) -> ReadError {
        if self.count < MAX_CODE_BITS {
            return self.truncated_file();
        }
        let at = self.position() / 8;
        ReadError::Damage(Fault::in_compressed_data(
            at,
            format!("the gzip data is damaged near byte {at} of the file: an invalid symbol"),
        ))
    }
}
