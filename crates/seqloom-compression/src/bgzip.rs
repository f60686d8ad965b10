//! One block of bgzip: a gzip member of at most 64 KiB that says its size (SAM
//! specification, section 4.1).

use seqloom_core::error::Fault;
use sirocco::Format;
use sirocco::inflate::Decoder;

/// The largest text of a block, and the largest block.
pub(crate) const LARGEST: usize = 64 << 10;

/// A gzip header up to the length of its extra field.
const FIXED_HEADER: usize = 12;

/// The smallest header of a block: with the field `BC` and no other.
pub(crate) const SMALLEST_HEADER: usize = FIXED_HEADER + 6;

/// The whole size that a block's header gives, if `start` is such a header:
/// a gzip header whose extra field holds the subfield `BC`, of two bytes.
pub(crate) fn block_size(start: &[u8]) -> Option<usize> {
    let header = start.first_chunk::<FIXED_HEADER>()?;
    if header[..3] != [0x1F, 0x8B, 8] || header[3] != 4 {
        return None;
    }
    let extra_size = usize::from(u16::from_le_bytes([header[10], header[11]]));
    let mut extra = start.get(FIXED_HEADER..FIXED_HEADER + extra_size)?;
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

/// Unpacks blocks, each by itself.
pub(crate) struct BlockDecoder(Box<Decoder>);

impl BlockDecoder {
    pub(crate) fn new() -> Self {
        Self(Box::new(Decoder::new(Format::Gzip)))
    }

    /// Unpacks one whole block to the front of `text`, which must have a size of at least
    /// [`LARGEST`]. Checks size, checksum and length. Returns the number of bytes of text, or
    /// a message that names the fault.
    pub(crate) fn decode(&mut self, block: &[u8], text: &mut [u8]) -> Result<usize, String> {
        let capacity = text.len().min(LARGEST);
        let text = text.get_mut(..capacity).unwrap_or_default();
        let progress = self.0.decompress(block, text, true);
        let outcome = match progress {
            Ok(progress) if progress.done && progress.consumed == block.len() => {
                return Ok(progress.output.len());
            }
            Ok(progress) if progress.full => "it holds more than 64 KiB".into(),
            Ok(_) => "its size is not what it says".into(),
            Err(error) => error.to_string(),
        };
        self.0.reset();
        Err(outcome)
    }
}

/// A block that cannot be unpacked.
pub(crate) fn damaged(at: u64, why: &str) -> Fault {
    let message = format!("the bgzip block at byte {at} is damaged: {why}");
    Fault::compressed(at, message)
}

/// A file that ends inside a block.
pub(crate) fn cut(at: u64) -> Fault {
    let message = format!("the file was cut: it ends at byte {at}, inside a bgzip block");
    Fault::compressed(at, message)
}

/// A file that ends without the empty block.
pub(crate) fn no_end(at: u64) -> Fault {
    let message = format!(
        "the file was cut: its bgzip data ends at byte {at} without the block that marks the end; \
         fetch or copy it again"
    );
    Fault::compressed(at, message)
}
