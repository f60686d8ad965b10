//! Combines the checksums of gzip members that extend over several parts of a file.

use crc32fast::Hasher;
use seqloom_core::number::{as_u64, u32_at};
use sirocco::{Format, inflate::Decoder};

use crate::seekable::{changed_file, invalid_deflate};
use crate::{checksum::low_32_bits, text::ReadError};

/// Number of spare bytes in the buffer after the expected text. If the decoder writes
/// to the spare bytes, the text is too long.
pub(super) const SPARE_BYTES: usize = 64;
/// Size of the trailer of a gzip member, which contains a checksum and a length.
const TRAILER_BYTES: usize = 8;

/// The checksums of the gzip members that begin before a part of the file, or end after
/// it.
///
/// Gzip members that are completely inside a part of the file are checked when they are
/// decompressed.
///
#[derive(Clone, Default)]
pub(super) struct PartMembers {
    /// The checksum of the text of the first gzip member, as far as this text is in
    /// this part of the file.
    pub(super) head: TextChecksum,
    /// The checksum and length in the trailer of the first gzip member, if the member
    /// ends in this part of the file.
    pub(super) end: Option<(u32, u32)>,
    /// The checksum of the text of the last gzip member, if the member ends in a later
    /// part of the file.
    pub(super) tail: Option<TextChecksum>,
}

/// The CRC-32 and the length modulo 2^32 of a text, as in the trailer of a gzip member.
#[derive(Clone, Default)]
pub(super) struct TextChecksum {
    hash: Hasher,
    size: u32,
}

impl TextChecksum {
    pub(super) fn of_text(text: &[u8]) -> Self {
        let mut sum = Self::default();
        sum.hash.update(text);
        sum.size = low_32_bits(as_u64(text.len()));
        sum
    }

    /// Adds the checksum of the text that follows.
    pub(super) fn append_checksum(&mut self, next: &Self) {
        self.hash.combine(&next.hash);
        self.size = self.size.wrapping_add(next.size);
    }

    /// Returns the checksum and length that the trailer of a member with this text must
    /// have.
    pub(super) fn trailer_values(&self) -> (u32, u32) {
        (self.hash.clone().finalize(), self.size)
    }
}

/// The state of the gzip member at the end of a part of the file.
pub(super) enum MemberState {
    /// The position is between two members, or at the end of the file.
    Between,
    /// The checksum so far of a member that was read from its beginning.
    Begun(TextChecksum),
    /// A member whose beginning was not read, so its checksum cannot be verified.
    Unverified,
}

impl MemberState {
    /// Adds the checksums of the next part of the file. If the current gzip member ends
    /// in that part, returns true if its checksum and length are correct.
    pub(super) fn add_part(&mut self, members: &PartMembers) -> bool {
        let is_right = match self {
            Self::Between => false,
            Self::Begun(sum) => {
                sum.append_checksum(&members.head);
                members.end.is_none_or(|end| sum.trailer_values() == end)
            }
            Self::Unverified => true,
        };
        if members.end.is_some() {
            *self = members.tail.clone().map_or(Self::Between, Self::Begun);
        }
        is_right
    }
}

/// Decompresses the rest of a member into `out`, and then the members after it, until
/// `packed` is used up or `out` is full. Returns the end of the text in `out`, and the
/// checksums of all text from offset `from`.
pub(super) fn inflate_members(
    decoder: &mut Decoder,
    packed: &[u8],
    out: &mut [u8],
    from: usize,
) -> Result<(usize, PartMembers), ReadError> {
    let mut members = PartMembers::default();
    let (mut base, mut done, mut rest) = (0, from, packed);
    loop {
        let progress = decoder.decompress(rest, &mut out[base..], false);
        let progress = progress.map_err(invalid_deflate)?;
        let (used, left) = rest.split_at(progress.consumed);
        (done, rest) = (done + progress.output.len(), left);
        let (is_first, is_done) = (members.end.is_none(), progress.done);
        if is_first {
            members.head = TextChecksum::of_text(&out[from..done]);
        } else if !is_done {
            members.tail = Some(TextChecksum::of_text(&out[base..done]));
        }
        if !is_done {
            let is_used_up = rest.is_empty();
            return Some((done, members))
                .filter(|_| is_used_up)
                .ok_or_else(|| changed_file("it is longer"));
        }
        if is_first {
            let (tail, behind) = split_trailer(decoder, used, rest)?;
            members.end = Some((u32_at(tail, 0), u32_at(tail, 4)));
            rest = behind;
        }
        if rest.iter().all(|byte| *byte == 0) {
            return Ok((done, members));
        }
        base = done;
        *decoder = Decoder::new(Format::Gzip);
    }
}

/// Returns the trailer of a finished member, and the bytes after the trailer. A raw
/// deflate decoder has not consumed the trailer.
fn split_trailer<'a>(
    decoder: &Decoder,
    used: &'a [u8],
    rest: &'a [u8],
) -> Result<(&'a [u8], &'a [u8]), ReadError> {
    let trailer = match decoder.format() {
        Format::Gzip => used
            .split_last_chunk::<TRAILER_BYTES>()
            .map(|(_, tail)| (tail, rest)),
        _ => rest.split_first_chunk::<TRAILER_BYTES>(),
    };
    let (tail, behind) = trailer.ok_or_else(|| changed_file("it is shorter"))?;
    Ok((tail.as_slice(), behind))
}
