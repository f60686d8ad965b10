//! Bytes of the packed file, and what is said where they are not those that were indexed.

use std::ops::Range;

use seqloom_core::error::Fault;

use crate::disk::{Disk, try_resize};
use crate::text::Trouble;

/// The file is not the one that was indexed.
pub fn changed(how: &str) -> Trouble {
    Trouble::Damage(Fault::whole(format!(
        "the file is not what its index says ({how}): it has changed since, or the index belongs \
         to another file; make a new one (seqloom index --overwrite)"
    )))
}

pub(super) fn shorter(error: std::io::Error) -> Trouble {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => changed("it is shorter"),
        _ => Trouble::Io(error),
    }
}

/// Reads a range of the file itself into `out`, replacing what it held.
pub(crate) fn packed_bytes(
    disk: &Disk,
    range: Range<u64>,
    out: &mut Vec<u8>,
) -> Result<(), Trouble> {
    out.clear();
    if range.start > range.end || range.end > disk.size() {
        return Err(changed("it is shorter"));
    }
    try_resize(
        out,
        usize::try_from(range.end - range.start).unwrap_or(usize::MAX),
    )?;
    disk.read(range.start, out).map_err(shorter)
}

/// How much text a file holds, at most: sums of two such sizes are numbers too.
pub const MOST_TEXT: u64 = 1 << 62;

/// Deflate packs so much text into a byte, at most.
const DENSEST: usize = 1032;

/// Whether so much text can come out of so many bytes: no memory is taken for more.
pub(crate) fn check_size(text: usize, packed: &[u8]) -> Result<(), Trouble> {
    if text <= packed.len().saturating_mul(DENSEST) {
        return Ok(());
    }
    Err(changed("it is shorter"))
}

/// Whether positions rise from the beginning of the text, and stay below the ends.
pub fn check_positions(
    positions: impl Iterator<Item = (u64, u64)>,
    ends: (u64, u64),
) -> Result<(), Fault> {
    let mut last = None;
    for (at, text) in positions {
        let rises = last.map_or(text == 0, |(before, said)| at > before && text >= said);
        if !rises || at >= ends.0 || text > ends.1 {
            return Err(Fault::whole(format!(
                "positions in the compressed file do not rise, or lead beyond its end (byte {at})"
            )));
        }
        last = Some((at, text));
    }
    if last.is_none() && ends.1 > 0 {
        return Err(Fault::whole("no position in the compressed file is known"));
    }
    Ok(())
}
