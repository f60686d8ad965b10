//! Stretches by the spans that an index knows.

use std::sync::Arc;

use super::reader::{Member, Part, Plan};
use super::{ENOUGH, MOST};
use crate::seekable::{Seekable, Span, Stretch, Sum};

/// The spans of a file, some of which make a stretch.
pub struct Spans {
    text: Arc<Seekable>,
    /// The first span that nobody was given.
    next: usize,
    member: Member,
}

impl Spans {
    /// The spans from a place in the text on, and how much of the first one's text
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

    /// The span behind a stretch that begins with this one.
    fn end_of(&self, first: usize) -> usize {
        let spans = self.text.spans();
        let wanted = spans.get(first).map_or(0, |span| span.text + ENOUGH);
        let is_within = |span: &Span| span.text < wanted;
        spans.partition_point(is_within).max(first + 1)
    }
}

impl Plan for Spans {
    type Part = Stretch;

    fn next(&mut self, spare: Option<Stretch>) -> Option<Stretch> {
        if self.next >= self.text.spans().len() {
            return None;
        }
        let end = self.end_of(self.next);
        let mut stretch = spare.unwrap_or_else(|| Stretch::new(&self.text));
        stretch.set(self.next..end);
        self.next = end;
        Some(stretch)
    }

    fn accept(&mut self, stretch: &Stretch) -> bool {
        let members = stretch.outcome.as_ref();
        members.is_ok_and(|members| self.member.go_on(members))
    }

    fn is_complete(&self) -> bool {
        matches!(self.member, Member::Between) && self.text.disk.is_unchanged()
    }
}

impl Part for Stretch {
    fn waiting(&self) -> &[u8] {
        self.waiting()
    }

    fn consume(&mut self, count: usize) {
        self.consume(count);
    }
}

/// How many stretches of a text there may be at once; nothing where it would be one.
pub fn stretches_ahead(text: &Seekable, threads: usize) -> Option<usize> {
    let most = MOST / longest(text).max(1);
    let ahead = usize::try_from(most).unwrap_or(usize::MAX).min(2 * threads);
    (ahead > 1).then_some(ahead)
}

/// The most text that a stretch has.
fn longest(text: &Seekable) -> u64 {
    let starts = text.spans().iter().map(|span| span.text);
    let ends = starts.clone().skip(1).chain([text.size]);
    let span = starts.zip(ends).map(|(start, end)| end - start).max();
    ENOUGH + span.unwrap_or(0)
}
