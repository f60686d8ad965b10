//! Members of gzip that begin in one part and end in another, and their checksums.

use crc32fast::Hasher;
use seqloom_core::number::{as_u64, u32_at};
use sirocco::Format;
use sirocco::inflate::Decoder;

use crate::checksum::low;
use crate::seekable::{changed, differs};
use crate::text::Trouble;

/// Spare bytes after the text, so that unexpected text is noticed.
pub(super) const SLACK: usize = 64;
/// Checksum and length at a member's end.
const TAIL: usize = 8;

/// How the members of a part go together with those before and behind it.
///
/// Members that lie within it as a whole were checked.
#[derive(Clone, Default)]
pub(super) struct Members {
    /// Of the text up to the first member's end, or of all.
    pub(super) head: Sum,
    /// The first member's end, if it is here: checksum and length.
    pub(super) end: Option<(u32, u32)>,
    /// Of the text of the last member, which has not ended; nothing between members.
    pub(super) tail: Option<Sum>,
}

/// A checksum and a length, modulo 2^32: what a member ends with.
#[derive(Clone, Default)]
pub(super) struct Sum {
    hash: Hasher,
    size: u32,
}

impl Sum {
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

    /// What a member of this text ends with.
    pub(super) fn end(&self) -> (u32, u32) {
        (self.hash.clone().finalize(), self.size)
    }
}

/// The member that the text stands in.
pub(super) enum Member {
    /// None: between two, or at the end.
    Between,
    /// One that was read from its beginning: what it came to so far.
    Begun(Sum),
    /// One whose beginning was not read, so that its checksum says nothing.
    Unseen,
}

impl Member {
    /// Adds the members of the next part. Returns whether the checksum and length of the first
    /// one are right, if it ends there.
    pub(super) fn advance(&mut self, members: &Members) -> bool {
        let is_right = match self {
            Self::Between => false,
            Self::Begun(sum) => {
                sum.extend(&members.head);
                members.end.is_none_or(|end| sum.end() == end)
            }
            Self::Unseen => true,
        };
        if members.end.is_some() {
            *self = members.tail.clone().map_or(Self::Between, Self::Begun);
        }
        is_right
    }
}

/// Inflates the rest of a member that has begun at the front of `out`, then the
/// members behind it, until `packed` is used up or `out` is full. Says where the
/// text ends, and what it came to from `from` on.
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
            members.head = Sum::of(&out[from..done]);
        } else if !is_done {
            members.tail = Some(Sum::of(&out[base..done]));
        }
        if !is_done {
            let is_used_up = rest.is_empty();
            return Some((done, members))
                .filter(|_| is_used_up)
                .ok_or_else(|| changed("it is longer"));
        }
        if is_first {
            let (tail, behind) = tail_of(decoder, used, rest)?;
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

/// Checksum and length of a member that has ended, and what stands behind: a
/// decoder that knows nothing of gzip has not used them.
fn tail_of<'a>(
    decoder: &Decoder,
    used: &'a [u8],
    rest: &'a [u8],
) -> Result<(&'a [u8], &'a [u8]), Trouble> {
    let found = match decoder.format() {
        Format::Gzip => used
            .split_last_chunk::<TAIL>()
            .map(|(_, tail)| (tail, rest)),
        _ => rest.split_first_chunk::<TAIL>(),
    };
    let (tail, behind) = found.ok_or_else(|| changed("it is shorter"))?;
    Ok((tail.as_slice(), behind))
}
