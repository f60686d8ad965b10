//! Reads the compressed file, and reports differences from the file that was indexed.

use std::ops::Range;

use seqloom_core::error::Fault;

use crate::disk::{DiskFile, try_resize_buffer};
use crate::text::ReadError;

/// Returns the error for a file that differs from the indexed file.
pub fn changed_file(how: &str) -> ReadError {
    ReadError::Damage(Fault::of_file(format!(
        "the file does not match its index ({how}): it has changed, or the index belongs to \
         another file; create a new index (seqloom index --overwrite)"
    )))
}

pub(super) fn shortened_file(error: std::io::Error) -> ReadError {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => changed_file("it is shorter"),
        _ => ReadError::Io(error),
    }
}

/// Replaces the content of `out` by a range of the compressed file.
pub(crate) fn read_packed(
    disk: &DiskFile,
    range: Range<u64>,
    out: &mut Vec<u8>,
) -> Result<(), ReadError> {
    out.clear();
    if range.start > range.end || range.end > disk.size() {
        return Err(changed_file("it is shorter"));
    }
    try_resize_buffer(
        out,
        usize::try_from(range.end - range.start).unwrap_or(usize::MAX),
    )?;
    disk.read_at(range.start, out).map_err(shortened_file)
}

/// Maximal size of the decompressed text of a file. The sum of two sizes up to this limit
/// does not overflow.
pub const MAX_TEXT_BYTES: u64 = 1 << 62;

/// Maximal compression ratio of deflate.
const MAX_DEFLATE_RATIO: usize = 1032;

/// Returns an error if `packed` compressed bytes cannot contain a text of this size.
/// This check limits the memory that a caller allocates for the text.
pub(crate) fn check_text_size(text: usize, packed: &[u8]) -> Result<(), ReadError> {
    if text <= packed.len().saturating_mul(MAX_DEFLATE_RATIO) {
        return Ok(());
    }
    Err(changed_file("it is shorter"))
}

/// Returns an error unless the positions begin at the start of the text, increase, and
/// are inside the file.
pub fn check_start_positions(
    positions: impl Iterator<Item = (u64, u64)>,
    ends: (u64, u64),
) -> Result<(), Fault> {
    let mut last = None;
    for (at, text) in positions {
        let rises = last.map_or(text == 0, |(before, said)| at > before && text >= said);
        if !rises || at >= ends.0 || text > ends.1 {
            return Err(Fault::of_file(format!(
                "positions in the compressed file do not ascend, or are beyond its end (byte {at})"
            )));
        }
        last = Some((at, text));
    }
    if last.is_none() && ends.1 > 0 {
        return Err(Fault::of_file("the index contains no position in the file"));
    }
    Ok(())
}
