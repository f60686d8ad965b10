//! An inflate decoder that reports where deflate blocks begin.
//!
//! A decoder can start at the first bit of a block if it has the 32 KiB of text before
//! the block. Fast decoders do not report the first bits of blocks, so an index is
//! built with this slower decoder. The checksum of each gzip member is verified.

mod bits;
mod codes;

use seqloom_core::error::Fault;

use self::bits::BitReader;
use self::codes::{HuffmanCode, MATCH_DISTANCES, MATCH_LENGTHS};
use crate::{input::BufferedInput, text::ReadError};
use seqloom_core::number::as_u64;

/// Maximal distance of a match in bytes.
pub(crate) const WINDOW_BYTES: usize = 32 << 10;
/// Number of bytes of text that are passed to the visitor in one call.
const VISITED_TEXT_BYTES: usize = 1 << 20;
/// Maximal length of a match in bytes.
const MAX_MATCH_BYTES: usize = 258;
/// Reserved flags of a header, which must be 0.
const RESERVED_FLAGS: u64 = 0b1110_0000;
/// The order of the code lengths in a block header.
const CODE_LENGTH_ORDER: [usize; 19] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];

/// A position where decompression can start.
pub struct BlockStart<'a> {
    /// The first bit of a block, counted from the beginning of the file.
    pub bit: u64,
    /// The offset of the block in the decompressed text.
    pub text: u64,
    /// The text before the block, as far back as matches can refer to it.
    pub window: &'a [u8],
}

/// A receiver of the block positions and the decompressed text.
pub trait Visitor {
    /// Returns true if a block at this offset of the text is useful.
    fn is_useful_start(&self, text: u64) -> bool;
    /// Receives the position of a block, after all text before the block.
    fn visit_block_start(&mut self, block_start: &BlockStart<'_>) -> Result<(), ReadError>;
    /// Receives the next decompressed text.
    fn visit_text(&mut self, text: &[u8]) -> Result<(), ReadError>;
}

/// Decompresses all members of a gzip file.
pub fn visit_blocks(input: BufferedInput, visitor: &mut impl Visitor) -> Result<(), ReadError> {
    let mut walk = GzipBlockReader {
        bits: BitReader::new(input),
        out: Vec::with_capacity(WINDOW_BYTES + 2 * VISITED_TEXT_BYTES),
        delivered: 0,
        dropped: 0,
        member: 0,
        sum: crc32fast::Hasher::new(),
    };
    while walk.read_member(visitor)? {}
    Ok(())
}

struct GzipBlockReader {
    bits: BitReader,
    /// The text that later matches may refer to, followed by the text that the visitor
    /// has not received yet.
    out: Vec<u8>,
    /// The number of bytes of `out` that the visitor has received.
    delivered: usize,
    /// The size of the earlier text, which was removed from `out`.
    dropped: u64,
    /// The offset in the decompressed text at which the current gzip member begins.
    member: u64,
    sum: crc32fast::Hasher,
}

impl GzipBlockReader {
    /// Decompresses one gzip member. Returns false at the end of the file.
    fn read_member(&mut self, visitor: &mut impl Visitor) -> Result<bool, ReadError> {
        if !self.read_header()? {
            return Ok(false);
        }
        self.member = self.text_bytes();
        self.sum.reset();
        while self.read_block(visitor)? {}
        self.send_text(visitor)?;
        self.bits.align_to_byte();
        let sum = self.bits.read_bits(32)?;
        let size = self.bits.read_bits(32)?;
        let wanted = u64::from(self.sum.clone().finalize());
        if sum != wanted || size != (self.text_bytes() - self.member) & 0xFFFF_FFFF {
            return Err(self.damaged("the checksum or length of the text is wrong"));
        }
        Ok(true)
    }

    /// Returns the size of the decompressed text so far.
    fn text_bytes(&self) -> u64 {
        self.dropped + as_u64(self.out.len())
    }

    /// Reads a gzip header (RFC 1952). Returns false if there is no header but only
    /// zeros up to the end of the file.
    fn read_header(&mut self) -> Result<bool, ReadError> {
        if self.bits.at_end()? {
            return Ok(false);
        }
        self.sum.reset();
        let (first, second) = (self.read_header_byte()?, self.read_header_byte()?);
        if (first, second) == (0, 0) {
            return self.bits.check_rest_is_zero().map(|()| false);
        }
        if (first, second, self.read_header_byte()?) != (0x1F, 0x8B, 8) {
            return Err(self.damaged("no member begins at this offset"));
        }
        let flags = self.read_header_byte()?;
        if flags & RESERVED_FLAGS != 0 {
            return Err(self.damaged("the gzip header has reserved flags"));
        }
        (0..6).try_for_each(|_| self.read_header_byte().map(drop))?;
        self.read_header_fields(flags)?;
        Ok(true)
    }

    /// Reads the optional fields of a header: the extra field, the name, the comment
    /// and the checksum of the header.
    fn read_header_fields(&mut self, flags: u64) -> Result<(), ReadError> {
        if flags & 4 != 0 {
            let size = self.read_header_byte()? | self.read_header_byte()? << 8;
            (0..size).try_for_each(|_| self.read_header_byte().map(drop))?;
        }
        for flag in [8, 16] {
            while flags & flag != 0 && self.read_header_byte()? != 0 {}
        }
        let wanted = u64::from(self.sum.clone().finalize()) & 0xFFFF;
        if flags & 2 != 0 && self.bits.read_bits(16)? != wanted {
            return Err(self.damaged("the checksum of the gzip header is wrong"));
        }
        Ok(())
    }

    /// Reads a byte of a header and adds it to the checksum of the header.
    fn read_header_byte(&mut self) -> Result<u64, ReadError> {
        let number = self.bits.read_bits(8)?;
        let [byte, ..] = number.to_le_bytes();
        self.sum.update(&[byte]);
        Ok(number)
    }

    /// Decompresses a deflate block. Returns true if another block follows.
    fn read_block(&mut self, visitor: &mut impl Visitor) -> Result<bool, ReadError> {
        self.send_block_start(visitor)?;
        let is_last = self.bits.read_bits(1)? == 1;
        match self.bits.read_bits(2)? {
            0 => self.read_stored_block(visitor)?,
            1 => self.read_symbols(
                &HuffmanCode::fixed_length_code(),
                &HuffmanCode::fixed_distance_code(),
                visitor,
            )?,
            2 => {
                let (lengths, distances) = self.read_codes()?;
                self.read_symbols(&lengths, &distances, visitor)?;
            }
            _ => return Err(self.damaged("a block has an unknown type")),
        }
        Ok(!is_last)
    }

    fn send_block_start(&mut self, visitor: &mut impl Visitor) -> Result<(), ReadError> {
        if !visitor.is_useful_start(self.text_bytes()) {
            return Ok(());
        }
        self.send_text(visitor)?;
        let here = usize::try_from(self.text_bytes() - self.member).unwrap_or(usize::MAX);
        let first = self.out.len().saturating_sub(here.min(WINDOW_BYTES));
        let window = self.out.get(first..).unwrap_or_default();
        visitor.visit_block_start(&BlockStart {
            bit: self.bits.position(),
            text: self.text_bytes(),
            window,
        })
    }

    fn read_stored_block(&mut self, visitor: &mut impl Visitor) -> Result<(), ReadError> {
        self.bits.align_to_byte();
        let (size, check) = (self.bits.read_bits(16)?, self.bits.read_bits(16)?);
        if size != check ^ 0xFFFF {
            return Err(self.damaged("a stored block has a wrong size"));
        }
        for _ in 0..size {
            let byte = self.bits.read_bits(8)?;
            self.out.push(byte.to_le_bytes()[0]);
        }
        self.send_text_if_large(visitor)
    }

    /// Reads the two Huffman codes of a block (RFC 1951, section 3.2.7).
    fn read_codes(&mut self) -> Result<(HuffmanCode, HuffmanCode), ReadError> {
        let lengths = self.bits.read_usize(5)? + 257;
        let distances = self.bits.read_usize(5)? + 1;
        let count = self.bits.read_usize(4)? + 4;
        let mut sizes = [0; 19];
        for position in CODE_LENGTH_ORDER.iter().take(count) {
            let [size, ..] = self.bits.read_bits(3)?.to_le_bytes();
            if let Some(size_slot) = sizes.get_mut(*position) {
                *size_slot = size;
            }
        }
        let code = HuffmanCode::new(&sizes).ok_or_else(|| self.damaged("an impossible code"))?;
        let mut all = vec![0; lengths + distances];
        self.read_code_lengths(&code, &mut all)?;
        let (first, second) = all.split_at(lengths);
        let both = HuffmanCode::new(first).zip(HuffmanCode::new(second));
        both.ok_or_else(|| self.damaged("an impossible code"))
    }

    fn read_code_lengths(&mut self, code: &HuffmanCode, all: &mut [u8]) -> Result<(), ReadError> {
        let (mut at, mut before) = (0, 0);
        while at < all.len() {
            let symbol = self.bits.read_symbol(code)?;
            let (value, count) = match symbol {
                0..=15 => (symbol.to_le_bytes()[0], 1),
                16 if at > 0 => (before, 3 + self.bits.read_usize(2)?),
                17 => (0, 3 + self.bits.read_usize(3)?),
                18 => (0, 11 + self.bits.read_usize(7)?),
                _ => return Err(self.damaged("an impossible code")),
            };
            let Some(run) = all.get_mut(at..at + count) else {
                return Err(self.damaged("an impossible code"));
            };
            run.fill(value);
            before = value;
            at += count;
        }
        Ok(())
    }

    fn read_symbols(
        &mut self,
        lengths: &HuffmanCode,
        distances: &HuffmanCode,
        visitor: &mut impl Visitor,
    ) -> Result<(), ReadError> {
        loop {
            match self.bits.read_symbol(lengths)? {
                symbol @ 0..=255 => self.out.push(symbol.to_le_bytes()[0]),
                256 => return self.send_text_if_large(visitor),
                symbol => self.copy_match(usize::from(symbol) - 257, distances)?,
            }
            if self.out.len() >= WINDOW_BYTES + VISITED_TEXT_BYTES + self.delivered {
                self.send_text_if_large(visitor)?;
            }
        }
    }

    /// Appends a match, which is a copy of earlier text.
    fn copy_match(&mut self, symbol: usize, distances: &HuffmanCode) -> Result<(), ReadError> {
        let length = self.read_extra_bits(MATCH_LENGTHS.get(symbol))?;
        let symbol = self.bits.read_symbol(distances)?;
        let distance = self.read_extra_bits(MATCH_DISTANCES.get(usize::from(symbol)))?;
        let known = self.text_bytes() - self.member;
        let start = self.out.len().checked_sub(distance);
        let Some(start) = start.filter(|_| as_u64(distance) <= known) else {
            return Err(self.damaged("a match refers to text before the beginning of the data"));
        };
        debug_assert!(length <= MAX_MATCH_BYTES);
        let end = self.out.len() + length;
        while self.out.len() < end {
            // If a match overlaps its own output, the copied text is copied again.
            let count = (end - self.out.len()).min(self.out.len() - start);
            self.out.extend_from_within(start..start + count);
        }
        Ok(())
    }

    fn read_extra_bits(&mut self, entry: Option<&(u16, u8)>) -> Result<usize, ReadError> {
        let Some((base, extra)) = entry else {
            return Err(self.damaged("an invalid symbol"));
        };
        Ok(usize::from(*base) + self.bits.read_usize(u32::from(*extra))?)
    }

    /// Passes the text to the visitor if the text has at least [`VISITED_TEXT_BYTES`] bytes.
    fn send_text_if_large(&mut self, visitor: &mut impl Visitor) -> Result<(), ReadError> {
        if self.out.len() - self.delivered < VISITED_TEXT_BYTES {
            return Ok(());
        }
        self.send_text(visitor)
    }

    fn send_text(&mut self, visitor: &mut impl Visitor) -> Result<(), ReadError> {
        let text = self.out.get(self.delivered..).unwrap_or_default();
        self.sum.update(text);
        visitor.visit_text(text)?;
        let drop = self.out.len().saturating_sub(WINDOW_BYTES);
        self.out.drain(..drop);
        self.dropped += as_u64(drop);
        self.delivered = self.out.len();
        Ok(())
    }

    fn damaged(&self, why: &str) -> ReadError {
        let at = self.bits.position() / 8;
        ReadError::Damage(Fault::in_compressed_data(
            at,
            format!("the gzip data is damaged near byte {at} of the file: {why}"),
        ))
    }
}

#[cfg(test)]
mod tests;
