//! Starts decompression at positions inside a gzip file.
//!
//! A deflate block may begin at any bit of a byte, and refers to the 32 KiB of text
//! before it. The decoder has no functions to set the bit and the preceding text (in
//! zlib, these are `inflatePrime` and `inflateSetDictionary`). Therefore, the decoder
//! first reads generated blocks that end at the right bit. The first generated block is
//! a stored block with the text before the position. The stored block is followed by
//! empty blocks of 10 bits and, if the decoder must begin at an odd bit, by one block of
//! 35 bits.

use sirocco::deflate::Level;
use sirocco::inflate::{Decoder, Error};
use sirocco::{Format, compress, decompress};

use super::Seekable;
use super::packed::{changed, check_size, packed_bytes};
use crate::checksum::sum;
use crate::disk::try_resize;
use crate::image::IndexBytes;
use crate::text::Trouble;
use crate::walk::WINDOW_BYTES;

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
pub fn encode(window: &[u8]) -> Vec<u8> {
    compress(Format::Deflate, Level::DEFAULT, window)
}

/// Decompresses the first `size` bytes of a span. If `size` is the whole span, its
/// checksum is verified.
pub(super) fn unpack(
    text: &Seekable,
    number: usize,
    (size, is_whole): (usize, bool),
    packed: &mut Vec<u8>,
) -> Result<Vec<u8>, Trouble> {
    let span = text.spans().get(number).copied().unwrap_or_default();
    let next = text.spans().get(number + 1).map(|next| next.bit / 8 + 1);
    let primed = read_span(text, &span, next, packed)?;
    check_size(size, packed)?;
    let mut out = Vec::new();
    try_resize(&mut out, size.saturating_add(primed.text))?;
    inflate(&primed.bytes, packed, &mut out)?;
    out.drain(..primed.text);
    if !is_whole || sum(&out) == span.sum {
        return Ok(out);
    }
    Err(changed("its text differs"))
}

/// Reads the compressed bytes of a span, up to byte `end` or the end of the file.
/// Returns the generated blocks that the decoder must read first.
pub(crate) fn read_span(
    text: &Seekable,
    span: &Span,
    end: Option<u64>,
    packed: &mut Vec<u8>,
) -> Result<PrimedBits, Trouble> {
    let size = text.disk.size();
    let end = end.map_or(size, |end| end.min(size));
    packed_bytes(&text.disk, span.bit / 8..end, packed)?;
    let odd = u32::try_from(span.bit % 8).unwrap_or(0);
    let primed = PrimedBits::new(&window(&text.image, span)?, odd);
    if let Some(first) = packed.first_mut() {
        *first = *first & (0xFF << odd) | primed.last;
    }
    Ok(primed)
}

/// Returns the text before a span, which has 32 KiB or, near the beginning of the file,
/// less.
fn window(image: &IndexBytes, span: &Span) -> Result<Vec<u8>, Trouble> {
    if span.window_size == 0 {
        return Ok(Vec::new());
    }
    let mut packed = Vec::new();
    let end = span.window.checked_add(u64::from(span.window_size));
    if end.is_none_or(|end| end > image.size()) {
        return Err(bad_index());
    }
    try_resize(&mut packed, span.window_size as usize)?;
    image.read(span.window, &mut packed)?;
    if sum(&packed) != span.window_sum {
        return Err(bad_index());
    }
    decompress(Format::Deflate, &packed, WINDOW_BYTES).map_err(|_| bad_index())
}

fn bad_index() -> Trouble {
    changed("the index is damaged")
}

/// Generated blocks that pass the text before a span to the decoder and end at the
/// first bit of the span.
#[derive(Default)]
pub(crate) struct PrimedBits {
    pub(crate) bytes: Vec<u8>,
    /// The last bits of the blocks, which share a byte with the first bits of the span.
    last: u8,
    /// The size of the text of the generated blocks.
    pub(crate) text: usize,
}

impl PrimedBits {
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
        bits.store(&before);
        if repeated > 0 {
            bits.repeat();
        }
        while bits.count != odd {
            bits.put(0b010, 3);
            bits.put(0, 7);
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
    fn put(&mut self, value: u32, count: u32) {
        for position in 0..count {
            self.last |= u8::from(value >> position & 1 == 1) << self.count;
            self.count += 1;
            if self.count == 8 {
                self.align();
            }
        }
    }

    fn align(&mut self) {
        if self.count > 0 {
            self.bytes.push(std::mem::take(&mut self.last));
        }
        self.count = 0;
    }

    /// Appends a stored block of 32 KiB.
    fn store(&mut self, text: &[u8]) {
        self.put(0, 3);
        self.align();
        self.put(0x8000, 16);
        self.put(0x7FFF, 16);
        self.bytes.extend_from_slice(text);
    }

    /// Appends a block with fixed Huffman codes. The block repeats 3 bytes from 32 KiB
    /// before: length symbol 257, distance symbol 29 with 13 extra bits, and the end
    /// symbol.
    fn repeat(&mut self) {
        self.put(0b010, 3);
        self.put(0b100_0000, 7);
        self.put(0b10111, 5);
        self.put(0x1FFF, 13);
        self.put(0, 7);
    }
}

/// Decompresses the generated blocks in `head`, and then `packed`, until `out` is full.
fn inflate(head: &[u8], packed: &[u8], out: &mut [u8]) -> Result<(), Trouble> {
    let mut decoder = Box::new(Decoder::new(Format::Deflate));
    let mut done = 0;
    if !head.is_empty() {
        let progress = decoder.decompress(head, out, false).map_err(not_deflate)?;
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
            Err(error) => return Err(not_deflate(error)),
        };
        let (used, count, is_done) = (progress.consumed, progress.output.len(), progress.done);
        done += count;
        rest = rest.get(used..).unwrap_or_default();
        if done >= size {
            return Ok(());
        }
        if !is_done {
            return Err(changed("it is shorter"));
        }
        // Skips the trailer of the first gzip member without verifying the checksum.
        // Other members may follow the first.
        rest = if is_member {
            rest
        } else {
            rest.get(8..).unwrap_or_default()
        };
        if rest.is_empty() {
            return Err(changed("it is shorter"));
        }
        is_member = true;
        *decoder = Decoder::new(Format::Gzip);
    }
}

pub(crate) fn not_deflate(_: Error) -> Trouble {
    changed("the data at an index position is not deflate data")
}
