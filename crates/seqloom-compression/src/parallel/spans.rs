//! Parts by the spans that an index knows.

use std::ops::Range;
use std::sync::Arc;

use seqloom_core::workers::Job;
use sirocco::Format;
use sirocco::inflate::Decoder;

use super::members::{Member, Members, SLACK, Sum, inflate};
use super::reader::{ENOUGH, MOST, Part, Plan};
use crate::checksum::sum;
use crate::disk::room;
use crate::seekable::{
    Lead, Seekable, Span, changed, check_size, differs, packed_bytes, split_bits, window,
};
use crate::text::Trouble;

/// The spans of a file, some of which make a part.
pub struct Spans {
    text: Arc<Seekable>,
    /// The first span that nobody was given.
    next: usize,
    member: Member,
}

impl Spans {
    /// The spans from a position in the text on, and how much of the first one's text
    /// comes before it.
    pub fn new(text: Seekable, begin: u64) -> (Self, usize) {
        let text = Arc::new(text);
        let (next, start) = text.span_at(begin);
        let member = match next {
            0 => Member::Begun(Sum::default()),
            _ => Member::Unseen,
        };
        let skipped = usize::try_from(begin - start).unwrap_or(usize::MAX);
        (Self { text, next, member }, skipped)
    }

    /// The span behind a part that begins with this one.
    fn end_of(&self, first: usize) -> usize {
        let spans = self.text.spans();
        let wanted = spans.get(first).map_or(0, |span| span.text + ENOUGH);
        let is_within = |span: &Span| span.text < wanted;
        spans.partition_point(is_within).max(first + 1)
    }
}

impl Plan for Spans {
    type Part = SpansPart;

    fn next(&mut self, spare: Option<SpansPart>) -> Option<SpansPart> {
        if self.next >= self.text.spans().len() {
            return None;
        }
        let end = self.end_of(self.next);
        let mut part = spare.unwrap_or_else(|| SpansPart::new(&self.text));
        part.set(self.next..end);
        self.next = end;
        Some(part)
    }

    fn accept(&mut self, part: &SpansPart) -> bool {
        let members = part.outcome.as_ref();
        members.is_ok_and(|members| self.member.go_on(members))
    }

    fn is_complete(&self) -> bool {
        matches!(self.member, Member::Between) && self.text.disk.is_unchanged()
    }
}

/// How many parts of a text there may be at once; nothing where it would be one.
pub fn parts_ahead(text: &Seekable, threads: usize) -> Option<usize> {
    let most = MOST / longest(text).max(1);
    let ahead = usize::try_from(most).unwrap_or(usize::MAX).min(2 * threads);
    (ahead > 1).then_some(ahead)
}

/// The most text that a part has.
fn longest(text: &Seekable) -> u64 {
    let starts = text.spans().iter().map(|span| span.text);
    let ends = starts.clone().skip(1).chain([text.size]);
    let span = starts.zip(ends).map(|(start, end)| end - start).max();
    ENOUGH + span.unwrap_or(0)
}

/// Some spans and their text.
pub struct SpansPart {
    text: Arc<Seekable>,
    spans: Range<usize>,
    packed: Vec<u8>,
    /// What was put before the text, the text, and room behind it.
    out: Vec<u8>,
    /// The text that was not used.
    start: usize,
    stop: usize,
    /// What its members came to, or why it is not the text that was indexed.
    outcome: Result<Members, Trouble>,
}

impl SpansPart {
    fn new(text: &Arc<Seekable>) -> Self {
        Self {
            text: Arc::clone(text),
            spans: 0..0,
            packed: Vec::new(),
            out: Vec::new(),
            start: 0,
            stop: 0,
            outcome: Ok(Members::default()),
        }
    }

    /// Makes it these spans, of which nothing is unpacked yet.
    fn set(&mut self, spans: Range<usize>) {
        (self.spans, self.start, self.stop) = (spans, 0, 0);
    }

    fn unpack(&mut self, decoder: &mut Decoder) -> Result<Members, Trouble> {
        let lead = self.read()?;
        let text = self.text.bounds(self.spans.start).start..self.text.bounds(self.spans.end).start;
        let size = usize::try_from(text.end - text.start).unwrap_or(usize::MAX);
        check_size(size, &self.packed)?;
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
        let spans = self.text.spans();
        let Some(first) = spans.get(self.spans.start) else {
            return Err(changed("it is shorter"));
        };
        let (start, odd) = split_bits(first.bit);
        let next = spans.get(self.spans.end);
        let end = next.map_or(self.text.disk.size(), |next| next.bit.div_ceil(8));
        packed_bytes(&self.text.disk, start..end, &mut self.packed)?;
        let lead = Lead::new(&window(&self.text.image, first)?, odd);
        if let Some(byte) = self.packed.first_mut() {
            *byte = *byte & (0xFF << odd) | lead.last;
        }
        Ok(lead)
    }

    /// Whether the text of each span is what it was.
    fn is_right(&self, begin: u64) -> bool {
        let position = |at: u64| self.start + usize::try_from(at - begin).unwrap_or(usize::MAX);
        self.spans.clone().all(|number| {
            let bounds = self.text.bounds(number);
            let text = self.out.get(position(bounds.start)..position(bounds.end));
            let wanted = self.text.spans().get(number).map(|span| span.sum);
            text.map(sum) == wanted
        })
    }
}

impl Part for SpansPart {
    fn waiting(&self) -> &[u8] {
        &self.out[self.start..self.stop]
    }

    fn consume(&mut self, count: usize) {
        self.start += count;
    }
}

impl Job for SpansPart {
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
