//! Block after block, and member after member (RFC 1951 and RFC 1952).

use super::bits::{Bits, PADDING, Stop};
use super::header;
use super::marked::Sink;
use super::table::Tables;
use crate::walk::WINDOW;
use seqloom_core::number::u32_at;

/// Checksum and length at a member's end.
const TAIL: usize = 8;
/// The header of a member without any field.
const HEAD: usize = 10;
/// A checksum of the header, and flags that mean nothing: left to others.
const UNUSUAL_FLAGS: u8 = 0b1110_0010;
const FIRST: u16 = 256;

/// Inflates parts of a file; used again for the next one.
pub(crate) struct Inflater {
    tables: Tables,
    /// What stands before the text, and the text.
    out: Vec<u16>,
    /// Where the text ends.
    at: usize,
    /// Where the text begins that matches may refer to.
    base: usize,
    /// The members that ended.
    ends: Vec<MemberEnd>,
}

/// Where in the text a member ends, and what stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemberEnd {
    pub(crate) at: usize,
    /// Its checksum and its length.
    pub(crate) tail: (u32, u32),
}

/// Where inflating came to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// Before the block that begins there.
    Before(usize),
    /// At the end of the file.
    AtEnd,
}

impl Inflater {
    pub(crate) fn new() -> Self {
        Self {
            tables: Tables::new(),
            out: Vec::new(),
            at: 0,
            base: 0,
            ends: Vec::new(),
        }
    }

    /// Begins behind text that is not known.
    pub(crate) fn begin_anywhere(&mut self, room: usize) {
        self.begin(room);
        for (symbol, value) in self.out[..WINDOW].iter_mut().zip(FIRST..) {
            *symbol = value;
        }
        self.base = 0;
    }

    /// Begins behind text that is known: the end of it, of this member.
    pub(crate) fn begin_behind(&mut self, window: &[u8], room: usize) {
        self.begin(room);
        self.base = WINDOW - window.len().min(WINDOW);
        for (symbol, byte) in self.out[self.base..WINDOW].iter_mut().zip(window) {
            *symbol = u16::from(*byte);
        }
    }

    fn begin(&mut self, room: usize) {
        if self.out.len() < WINDOW + room {
            self.out.resize(WINDOW + room, 0);
        }
        self.at = WINDOW;
        self.ends.clear();
    }

    /// Makes room for more text.
    pub(crate) fn grow(&mut self, room: usize) {
        let size = self.out.len();
        self.out.resize(size.max(WINDOW + room), 0);
    }

    /// How much text there is room for.
    pub(crate) fn room(&self) -> usize {
        self.out.len() - WINDOW
    }

    /// The text.
    pub(crate) fn text(&self) -> &[u16] {
        &self.out[WINDOW..self.at]
    }

    /// The members that ended in this text, in order.
    pub(crate) fn ends(&self) -> &[MemberEnd] {
        &self.ends
    }

    /// Where the first block of a file begins, behind the header of its first member.
    pub(crate) fn first_block(bytes: &[u8]) -> Option<usize> {
        let size = member_header(&bytes[..bytes.len() - PADDING])?;
        Some(size * 8)
    }

    /// Inflates from the block at `bit` up to the first one from `stop` on that
    /// [`find`](super::find) would find, or to the end of the file, which is that
    /// of `bytes` where it `reaches_end`. On an error, all that stands before
    /// `bit` is done, and nothing behind it: it can be called again with that `bit`.
    pub(crate) fn inflate(
        &mut self,
        bytes: &[u8],
        bit: &mut usize,
        stop: usize,
        reaches_end: bool,
    ) -> Result<Stopped, Stop> {
        loop {
            if *bit >= stop && header::begins(bytes, *bit) {
                return Ok(Stopped::Before(*bit));
            }
            let (before, base, count) = (self.at, self.base, self.ends.len());
            let next = self.block(bytes, *bit, reaches_end);
            match next {
                Ok(Some(next)) => *bit = next,
                Ok(None) => return Ok(Stopped::AtEnd),
                Err(stop) => {
                    (self.at, self.base) = (before, base);
                    self.ends.truncate(count);
                    return Err(stop);
                }
            }
        }
    }

    /// Inflates a block, and if it is the last of its member goes on to the next
    /// member; gives the next block, nothing at the end of the file.
    fn block(
        &mut self,
        bytes: &[u8],
        bit: usize,
        reaches_end: bool,
    ) -> Result<Option<usize>, Stop> {
        let mut bits = Bits::new(bytes, bit);
        let ends_member = bits.take(1) == 1;
        let done = self.content(&mut bits);
        if !bits.is_within() || done == Err(Stop::Unusual) && bits.is_near_end() {
            return Err(Stop::Cut);
        }
        done?;
        if !ends_member {
            return Ok(Some(bits.position()));
        }
        let next = self.end_member(bits.rest(), reaches_end)?;
        let end = bytes.len() - PADDING;
        Ok(next.map(|left| (end - left) * 8))
    }

    /// Inflates what stands in a block, behind its first bit.
    fn content(&mut self, bits: &mut Bits<'_>) -> Result<(), Stop> {
        match bits.take(2) {
            0 => return self.stored(bits),
            1 => self.tables.set_fixed(),
            2 => header::read(bits, &mut self.tables)?,
            _ => return Err(Stop::Unusual),
        }
        self.symbols(bits)
    }

    fn symbols(&mut self, bits: &mut Bits<'_>) -> Result<(), Stop> {
        let mut sink = Sink {
            out: &mut self.out,
            at: self.at,
            base: self.base,
        };
        sink.inflate(bits, &self.tables)?;
        self.at = sink.at;
        Ok(())
    }

    fn stored(&mut self, bits: &mut Bits<'_>) -> Result<(), Stop> {
        let bytes = bits.rest();
        let ([low, high, not_low, not_high], bytes) = bytes.split_first_chunk().ok_or(Stop::Cut)?;
        if (*low, *high) != (!not_low, !not_high) {
            return Err(Stop::Unusual);
        }
        let size = usize::from(u16::from_le_bytes([*low, *high]));
        let (text, behind) = bytes.split_at_checked(size).ok_or(Stop::Cut)?;
        let mut sink = Sink {
            out: &mut self.out,
            at: self.at,
            base: self.base,
        };
        sink.store(text)?;
        self.at = sink.at;
        bits.skip_to(behind.len());
        Ok(())
    }

    /// Notes the end of a member; says how much is left from the first block of the
    /// next one on, nothing where the file ends.
    fn end_member(&mut self, rest: &[u8], reaches_end: bool) -> Result<Option<usize>, Stop> {
        let (tail, rest) = rest.split_first_chunk::<TAIL>().ok_or(Stop::Cut)?;
        let tail = (u32_at(tail, 0), u32_at(tail, 4));
        let at = self.at - WINDOW;
        self.ends.push(MemberEnd { at, tail });
        self.base = self.at;
        if reaches_end && rest.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let size = member_header(rest).ok_or(if reaches_end {
            Stop::Unusual
        } else {
            Stop::Cut
        })?;
        Ok(Some(rest.len() - size))
    }
}

/// How long the header is that a member begins with; nothing where it is cut, or
/// anything is unusual.
fn member_header(bytes: &[u8]) -> Option<usize> {
    let (head, mut rest) = bytes.split_first_chunk::<HEAD>()?;
    let flags = head[3];
    if head[..3] != [0x1F, 0x8B, 8] || flags & UNUSUAL_FLAGS != 0 {
        return None;
    }
    if flags & 4 != 0 {
        let (size, behind) = rest.split_first_chunk()?;
        rest = behind.get(usize::from(u16::from_le_bytes(*size))..)?;
    }
    for flag in [8, 16] {
        if flags & flag != 0 {
            let end = rest.iter().position(|byte| *byte == 0)?;
            rest = &rest[end + 1..];
        }
    }
    Some(bytes.len() - rest.len())
}
