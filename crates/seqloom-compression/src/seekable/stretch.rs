//! Spans of gzip that follow each other: what one thread unpacks at a time.

use std::ops::Range;
use std::sync::Arc;

use crc32fast::Hasher;
use seqloom_core::crew::Job;
use sirocco::Format;
use sirocco::inflate::Decoder;

use super::span::{Lead, differs, window};
use super::{Seekable, changed, packed_bytes, split_bits};
use crate::Trouble;
use crate::checksum::sum;
use crate::disk::room;
use seqloom_core::number::u32_at;

/// Room behind the text, so that text which should not be there is noticed.
pub(crate) const SLACK: usize = 64;
/// Checksum and length at a member's end.
const TAIL: usize = 8;

/// Some spans and their text.
pub struct Stretch {
    of: Arc<Seekable>,
    spans: Range<usize>,
    packed: Vec<u8>,
    /// What was put before the text, the text, and room behind it.
    out: Vec<u8>,
    /// The text that was not used.
    start: usize,
    stop: usize,
    /// What its members came to, or why it is not the text that was indexed.
    pub(crate) outcome: Result<Members, Trouble>,
}

/// How the members of a stretch go together with those before and behind it.
///
/// Members that lie within it as a whole were checked.
#[derive(Clone, Default)]
pub(crate) struct Members {
    /// Of the text up to the first member's end, or of all.
    pub(crate) head: Sum,
    /// The first member's end, if it is here: checksum and length.
    pub(crate) end: Option<(u32, u32)>,
    /// Of the text of the last member, which has not ended; nothing between members.
    pub(crate) tail: Option<Sum>,
}

/// A checksum and a length, modulo 2^32: what a member ends with.
#[derive(Clone, Default)]
pub(crate) struct Sum {
    hash: Hasher,
    size: u32,
}

impl Sum {
    pub(crate) fn of(text: &[u8]) -> Self {
        let mut sum = Self::default();
        sum.hash.update(text);
        sum.size = wrapped(text.len());
        sum
    }

    /// Goes on with the text behind.
    pub(crate) fn extend(&mut self, behind: &Self) {
        self.hash.combine(&behind.hash);
        self.size = self.size.wrapping_add(behind.size);
    }

    /// What a member of this text ends with.
    pub(crate) fn end(&self) -> (u32, u32) {
        (self.hash.clone().finalize(), self.size)
    }
}

fn wrapped(size: usize) -> u32 {
    let low = size & u32::MAX as usize;
    u32::try_from(low).unwrap_or(u32::MAX)
}

impl Stretch {
    pub(crate) fn new(of: &Arc<Seekable>) -> Self {
        Self {
            of: Arc::clone(of),
            spans: 0..0,
            packed: Vec::new(),
            out: Vec::new(),
            start: 0,
            stop: 0,
            outcome: Ok(Members::default()),
        }
    }

    /// Makes it these spans, of which nothing is unpacked yet.
    pub(crate) fn set(&mut self, spans: Range<usize>) {
        (self.spans, self.start, self.stop) = (spans, 0, 0);
    }

    pub(crate) fn waiting(&self) -> &[u8] {
        &self.out[self.start..self.stop]
    }

    pub(crate) fn consume(&mut self, count: usize) {
        self.start += count;
    }

    fn unpack(&mut self, decoder: &mut Decoder) -> Result<Members, Trouble> {
        let lead = self.read()?;
        let text = self.of.bounds(self.spans.start).start..self.of.bounds(self.spans.end).start;
        let size = usize::try_from(text.end - text.start).unwrap_or(usize::MAX);
        room(&mut self.out, size.saturating_add(lead.text + SLACK))?;
        *decoder = Decoder::new(Format::Deflate);
        if !lead.bytes.is_empty() {
            let progress = decoder.decompress(&lead.bytes, &mut self.out, false);
            drop(progress.map_err(differs)?);
        }
        let (stop, members) = inflate(decoder, &self.packed, &mut self.out, lead.text)?;
        (self.start, self.stop) = (lead.text, lead.text + size);
        if stop != self.stop || !self.is_right(text.start) {
            return Err(changed("its text differs"));
        }
        Ok(members)
    }

    /// Reads the packed spans; gives the blocks of our own that go before them.
    fn read(&mut self) -> Result<Lead, Trouble> {
        let spans = self.of.spans();
        let Some(first) = spans.get(self.spans.start) else {
            return Err(changed("it is shorter"));
        };
        let (start, odd) = split_bits(first.bit);
        let next = spans.get(self.spans.end);
        let end = next.map_or(self.of.disk.size(), |next| next.bit.div_ceil(8));
        packed_bytes(&self.of.disk, start..end, &mut self.packed)?;
        let lead = Lead::new(&window(&self.of, first)?, odd);
        if let Some(byte) = self.packed.first_mut() {
            *byte = *byte & (0xFF << odd) | lead.last;
        }
        Ok(lead)
    }

    /// Whether the text of each span is what it was.
    fn is_right(&self, begin: u64) -> bool {
        let place = |at: u64| self.start + usize::try_from(at - begin).unwrap_or(usize::MAX);
        self.spans.clone().all(|number| {
            let bounds = self.of.bounds(number);
            let text = self.out.get(place(bounds.start)..place(bounds.end));
            let wanted = self.of.spans().get(number).map(|span| span.sum);
            text.map(sum) == wanted
        })
    }
}

/// Inflates the rest of a member that has begun at the front of `out`, then the
/// members behind it, until `packed` is used up or `out` is full. Says where the
/// text ends, and what it came to from `from` on.
pub(crate) fn inflate(
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

impl Job for Stretch {
    type Tool = Box<Decoder>;

    fn tool(&self) -> Self::Tool {
        Box::new(Decoder::new(Format::Deflate))
    }

    fn work(&mut self, decoder: &mut Self::Tool) {
        self.outcome = self.unpack(decoder);
    }

    fn fail(&mut self) {
        self.outcome = Err(changed("it could not be unpacked"));
    }
}
