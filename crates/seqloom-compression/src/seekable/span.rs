//! Starts decompression at positions inside a gzip file.
//!
//! A deflate block may begin at any bit of a byte, and refers to the 32 KiB of text
//! before it. The decoder has no functions to set the bit and the preceding text (in
//! zlib, these are `inflatePrime` and `inflateSetDictionary`). Therefore, the decoder
//! first reads generated blocks that end at the right bit. The first generated block is
//! a stored block with the text before the position. The stored block is followed by
//! empty blocks of 10 bits and, if the decoder must begin at an odd bit, by one block of
//! 35 bits.

use sirocco::inflate::{Decoder, Error};
use sirocco::{Format, compress, decompress, deflate::Level};

use super::SeekableText;
use super::compressed::{changed_file, check_text_size, read_packed};
use crate::{checksum::hash_32, disk::try_resize_buffer, gzip_blocks::WINDOW_BYTES};
use crate::{index_bytes::IndexBytes, text::ReadError};

/// Number of bytes of earlier text that a generated block of 35 bits repeats.
const REPEATED_BYTES: usize = 3;

/// A position where decompression can start. A span is the text from one of these
/// positions to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The offset in bits at which a deflate block begins in the compressed file.
    pub bit: u64,
    /// The offset of the deflate block in the decompressed text.
    pub text: u64,
    /// The offset in the index at which the text before the block is stored.
    pub window: u64,
    /// The compressed size in the index of the text before the block.
    pub window_size: u32,
    /// The checksum of the compressed text before the block.
    pub window_sum: u32,
    /// The checksum of the decompressed span.
    pub sum: u32,
}

/// Compresses the text before a span, to be stored in the index.
pub fn compress_window(window: &[u8]) -> Vec<u8> {
    compress(Format::Deflate, Level::DEFAULT, window)
}

/// Decompresses the first `size` bytes of a span. If `size` is the whole span, its
/// checksum is verified.
pub(super) fn decompress_span(
    text: &SeekableText,
    number: usize,
    (size, is_whole): (usize, bool),
    packed: &mut Vec<u8>,
) -> Result<Vec<u8>, ReadError> {
    let span = text.spans().get(number).copied().unwrap_or_default();
    let next = text.spans().get(number + 1).map(|next| next.bit / 8 + 1);
    let primed = read_span(text, &span, next, packed)?;
    check_text_size(size, packed)?;
    let mut out = Vec::new();
    try_resize_buffer(&mut out, size.saturating_add(primed.text))?;
    inflate_span(&primed.bytes, packed, &mut out)?;
    out.drain(..primed.text);
    if !is_whole || hash_32(&out) == span.sum {
        return Ok(out);
    }
    Err(changed_file("its text differs"))
}

/// Reads the compressed bytes of a span, up to byte `end` or the end of the file.
/// Returns the generated blocks that the decoder must read first.
pub(crate) fn read_span(
    text: &SeekableText,
    span: &Span,
    end: Option<u64>,
    packed: &mut Vec<u8>,
) -> Result<PrimingBlocks, ReadError> {
    let size = text.disk.size();
    let end = end.map_or(size, |end| end.min(size));
    read_packed(&text.disk, span.bit / 8..end, packed)?;
    let odd = u32::try_from(span.bit % 8).unwrap_or(0);
    let primed = PrimingBlocks::new(&read_window(&text.image, span)?, odd);
    if let Some(first) = packed.first_mut() {
        *first = *first & (0xFF << odd) | primed.last;
    }
    Ok(primed)
}

/// Returns the text before a span, which has 32 KiB or, near the beginning of the file,
/// less.
fn read_window(image: &IndexBytes, span: &Span) -> Result<Vec<u8>, ReadError> {
    if span.window_size == 0 {
        return Ok(Vec::new());
    }
    let mut packed = Vec::new();
    let end = span.window.checked_add(u64::from(span.window_size));
    if end.is_none_or(|end| end > image.size()) {
        return Err(invalid_index_error());
    }
    try_resize_buffer(&mut packed, span.window_size as usize)?;
    image.read_at(span.window, &mut packed)?;
    if hash_32(&packed) != span.window_sum {
        return Err(invalid_index_error());
    }
    decompress(Format::Deflate, &packed, WINDOW_BYTES).map_err(|_| invalid_index_error())
}

fn invalid_index_error() -> ReadError {
    changed_file("the index is damaged")
}

/// Generated blocks that pass the text before a span to the decoder and end at the
/// first bit of the span.
#[derive(Default)]
pub(crate) struct PrimingBlocks {
    pub(crate) bytes: Vec<u8>,
    /// The last bits of the blocks, which share a byte with the first bits of the span.
    last: u8,
    /// The size of the text of the generated blocks.
    pub(crate) text: usize,
}

impl PrimingBlocks {
    fn new(window: &[u8], odd: u32) -> Self {
        if window.is_empty() && odd == 0 {
            return Self::default();
        }
        let mut before = vec![0; WINDOW_BYTES - window.len().min(WINDOW_BYTES)];
        before.extend_from_slice(window);
        let repeated = if odd % 2 == 1 { REPEATED_BYTES } else { 0 };
        // The 35-bit block repeats the last bytes of the text, so these bytes are moved
        // to the front.
        before.rotate_right(repeated);
        let mut bits = BitWriter::default();
        bits.write_stored_block(&before);
        if repeated > 0 {
            bits.write_repeat_block();
        }
        while bits.count != odd {
            bits.write_bits(0b010, 3);
            bits.write_bits(0, 7);
        }
        Self {
            bytes: bits.bytes,
            last: bits.last,
            text: WINDOW_BYTES + repeated,
        }
    }
}

#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    last: u8,
    count: u32,
}

impl BitWriter {
    /// Appends bits, the lowest bit first.
    fn write_bits(&mut self, value: u32, count: u32) {
        for position in 0..count {
            self.last |= u8::from(value >> position & 1 == 1) << self.count;
            self.count += 1;
            if self.count == 8 {
                self.align_to_byte();
            }
        }
    }

    fn align_to_byte(&mut self) {
        if self.count > 0 {
            self.bytes.push(std::mem::take(&mut self.last));
        }
        self.count = 0;
    }

    /// Appends a stored block of 32 KiB.
    fn write_stored_block(&mut self, text: &[u8]) {
        self.write_bits(0, 3);
        self.align_to_byte();
        self.write_bits(0x8000, 16);
        self.write_bits(0x7FFF, 16);
        self.bytes.extend_from_slice(text);
    }

    /// Appends a block with fixed Huffman codes. The block repeats 3 bytes from 32 KiB
    /// before: length symbol 257, distance symbol 29 with 13 extra bits, and the end
    /// symbol.
    fn write_repeat_block(&mut self) {
        self.write_bits(0b010, 3);
        self.write_bits(0b100_0000, 7);
        self.write_bits(0b10111, 5);
        self.write_bits(0x1FFF, 13);
        self.write_bits(0, 7);
    }
}

/// Decompresses the generated blocks in `head`, and then `packed`, until `out` is full.
fn inflate_span(head: &[u8], packed: &[u8], out: &mut [u8]) -> Result<(), ReadError> {
    let mut decoder = Box::new(Decoder::new(Format::Deflate));
    let mut done = 0;
    if !head.is_empty() {
        let progress = decoder
            .decompress(head, out, false)
            .map_err(invalid_deflate)?;
        done = progress.output.len();
    }
    let (size, mut rest) = (out.len(), packed);
    let mut is_member = false;
    loop {
        let target = if is_member {
            out.get_mut(done..).unwrap_or_default()
        } else {
            &mut *out
        };
        let progress = match decoder.decompress(rest, target, false) {
            Ok(progress) => progress,
            Err(Error::BufferFull) if done == size => return Ok(()),
            Err(error) => return Err(invalid_deflate(error)),
        };
        let (used, count, is_done) = (progress.consumed, progress.output.len(), progress.done);
        done += count;
        rest = rest.get(used..).unwrap_or_default();
        if done >= size {
            return Ok(());
        }
        if !is_done {
            return Err(changed_file("it is shorter"));
        }
        // Skips the trailer of the first gzip member without verifying the checksum.
        // Other members may follow the first.
        if !is_member {
            rest = rest.get(8..).unwrap_or_default();
        }
        if rest.is_empty() {
            return Err(changed_file("it is shorter"));
        }
        is_member = true;
        *decoder = Decoder::new(Format::Gzip);
    }
}

pub(crate) fn invalid_deflate(_: Error) -> ReadError {
    changed_file("the data at an index position is not deflate data")
}
