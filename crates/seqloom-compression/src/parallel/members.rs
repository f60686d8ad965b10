//! Combines the checksums of gzip members that extend over several parts.

use crc32fast::Hasher;
use seqloom_core::number::{as_u64, u32_at};
use sirocco::Format;
use sirocco::inflate::Decoder;

use crate::checksum::low;
use crate::seekable::{changed, differs};
use crate::text::Trouble;

/// Spare bytes after the text, with which unexpected text is detected.
pub(super) const SPARE_BYTES: usize = 64;
/// Size of the trailer of a member: checksum and length.
const TRAILER_BYTES: usize = 8;

/// The members of a part that begin in an earlier part or end in a later part.
///
/// Members that are completely inside the part were checked already.
///
#[derive(Clone, Default)]
pub(super) struct Members {
    /// The checksum of the text up to the end of the first member, or of all text.
    pub(super) head: MemberSum,
    /// The trailer of the first member, if it is in this part: checksum and length.
    pub(super) end: Option<(u32, u32)>,
    /// The checksum of the text of the last, unfinished member; `None` between members.
    pub(super) tail: Option<MemberSum>,
}

/// A checksum and a length modulo 2^32, as in the trailer of a member.
#[derive(Clone, Default)]
pub(super) struct MemberSum {
    hash: Hasher,
    size: u32,
}

impl MemberSum {
    pub(super) fn of(text: &[u8]) -> Self {
        let mut sum = Self::default();
        sum.hash.update(text);
        sum.size = low(as_u64(text.len()));
        sum
    }

    /// Adds the checksum of the text that follows.
    pub(super) fn extend(&mut self, next: &Self) {
        self.hash.combine(&next.hash);
        self.size = self.size.wrapping_add(next.size);
    }

    /// Returns the trailer of a member with this text.
    pub(super) fn end(&self) -> (u32, u32) {
        (self.hash.clone().finalize(), self.size)
    }
}

/// The state of the current member.
pub(super) enum Member {
    /// Between two members, or at the end.
    Between,
    /// A member that was read from its beginning, with the checksum so far.
    Begun(MemberSum),
    /// A member whose beginning was not read, so its checksum cannot be checked.
    Unverified,
}

impl Member {
    /// Adds the members of the next part. If the first member ends there, returns true
    /// if its checksum and length are correct.
    pub(super) fn advance(&mut self, members: &Members) -> bool {
        let is_right = match self {
            Self::Between => false,
            Self::Begun(sum) => {
                sum.extend(&members.head);
                members.end.is_none_or(|end| sum.end() == end)
            }
            Self::Unverified => true,
        };
        if members.end.is_some() {
            *self = members.tail.clone().map_or(Self::Between, Self::Begun);
        }
        is_right
    }
}

/// Decompresses the rest of a member at the front of `out` and the members after it,
/// until `packed` is used up or `out` is full. Returns the end of the text, and the
/// members beginning at `from`.
pub(super) fn inflate(
    decoder: &mut Decoder,
    packed: &[u8],
    out: &mut [u8],
    from: usize,
) -> Result<(usize, Members), Trouble> {
    let mut members = Members::default();
    let (mut base, mut done, mut rest) = (0, from, packed);
    loop {
        let progress = decoder.decompress(rest, &mut out[base..], false);
        let progress = progress.map_err(differs)?;
        let (used, left) = rest.split_at(progress.consumed);
        (done, rest) = (done + progress.output.len(), left);
        let (is_first, is_done) = (members.end.is_none(), progress.done);
        if is_first {
            members.head = MemberSum::of(&out[from..done]);
        } else if !is_done {
            members.tail = Some(MemberSum::of(&out[base..done]));
        }
        if !is_done {
            let is_used_up = rest.is_empty();
            return Some((done, members))
                .filter(|_| is_used_up)
                .ok_or_else(|| changed("it is longer"));
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

/// Returns the trailer of a finished member and the bytes after it. A raw deflate
/// decoder has not consumed the trailer.
fn split_trailer<'a>(
    decoder: &Decoder,
    used: &'a [u8],
    rest: &'a [u8],
) -> Result<(&'a [u8], &'a [u8]), Trouble> {
    let trailer = match decoder.format() {
        Format::Gzip => used
            .split_last_chunk::<TRAILER_BYTES>()
            .map(|(_, tail)| (tail, rest)),
        _ => rest.split_first_chunk::<TRAILER_BYTES>(),
    };
    let (tail, behind) = trailer.ok_or_else(|| changed("it is shorter"))?;
    Ok((tail.as_slice(), behind))
}
