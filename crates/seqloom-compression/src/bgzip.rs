//! One bgzip block: a gzip member of at most 64 KiB with its size in the header (SAM
//! specification, section 4.1).

use seqloom_core::error::Fault;
use sirocco::{Format, inflate::Decoder};

/// Maximal size of a block in bytes, both compressed and decompressed.
pub(crate) const MAX_BLOCK_BYTES: usize = 64 << 10;

/// Size of the part of a gzip header before the extra field; it includes the length of
/// the extra field.
const FIXED_HEADER_BYTES: usize = 12;

/// Size of the smallest block header, whose extra field contains only the subfield
/// `BC`.
pub(crate) const MIN_HEADER_BYTES: usize = FIXED_HEADER_BYTES + 6;

/// Returns the size of the compressed block, or `None` if `start` does not begin with
/// the header of a block. The extra field of a block header contains a two-byte
/// subfield `BC` with the size.
pub(crate) fn block_size(start: &[u8]) -> Option<usize> {
    let header = start.first_chunk::<FIXED_HEADER_BYTES>()?;
    if header[..3] != [0x1F, 0x8B, 8] || header[3] != 4 {
        return None;
    }
    let extra_size = usize::from(u16::from_le_bytes([header[10], header[11]]));
    let mut extra = start.get(FIXED_HEADER_BYTES..FIXED_HEADER_BYTES + extra_size)?;
    while let [a, b, low, high, rest @ ..] = extra {
        let size = usize::from(u16::from_le_bytes([*low, *high]));
        let (field, behind) = rest.split_at_checked(size)?;
        if let (b'B', b'C', [low, high]) = (a, b, field) {
            return Some(usize::from(u16::from_le_bytes([*low, *high])) + 1);
        }
        extra = behind;
    }
    None
}

/// A decompressor of single bgzip blocks.
pub(crate) struct BlockDecoder(Box<Decoder>);

impl BlockDecoder {
    pub(crate) fn new() -> Self {
        Self(Box::new(Decoder::new(Format::Gzip)))
    }

    /// Decompresses a whole block into the first bytes of `text`, which must have at
    /// least [`MAX_BLOCK_BYTES`] bytes. Checks the size of the block, and the length
    /// and checksum of the decompressed text. Returns the length of the text, or an
    /// error message.
    pub(crate) fn decode(&mut self, block: &[u8], text: &mut [u8]) -> Result<usize, String> {
        let capacity = text.len().min(MAX_BLOCK_BYTES);
        let text = text.get_mut(..capacity).unwrap_or_default();
        let progress = self.0.decompress(block, text, true);
        let outcome = match progress {
            Ok(progress) if progress.done && progress.consumed == block.len() => {
                return Ok(progress.output.len());
            }
            Ok(progress) if progress.full => "the block has more than 64 KiB of text".into(),
            Ok(_) => "the size in the header is wrong".into(),
            Err(error) => error.to_string(),
        };
        self.0.reset();
        Err(outcome)
    }
}

/// Returns the error for a corrupt block.
pub(crate) fn bad_block(at: u64, why: &str) -> Fault {
    let message = format!("the bgzip block at byte {at} is damaged: {why}");
    Fault::in_compressed_data(at, message)
}

/// Returns the error for a file that ends inside a block.
pub(crate) fn truncated_block(at: u64) -> Fault {
    let message = format!("the file is truncated: it ends at byte {at}, inside a bgzip block");
    Fault::in_compressed_data(at, message)
}

/// Returns the error for a file that ends without the empty block.
pub(crate) fn missing_end_block(at: u64) -> Fault {
    let message = format!(
        "the file is truncated: its bgzip data ends at byte {at} without the block that marks the end; \
         fetch or copy it again"
    );
    Fault::in_compressed_data(at, message)
}
