//! Parts of a file's text, unpacked ahead by workers and given in order.

use std::sync::Arc;

use seqloom_core::number::as_u64;
use seqloom_core::workers::{Job, Workers};
use sirocco::inflate::Decoder;

use super::members::{Member, Sum};
use super::{StartPositions, TextPart};
use crate::input::{BufferedInput, forked};
use crate::seekable::changed;
use crate::text::{Text, Trouble, UnpackOptions, gone};
use crate::unpack;

/// Bytes of text that all parts together have unpacked and nobody has read, at most.
const MAX_WAITING: u64 = 256 << 20;

/// Unpacks part by part. The reader is one of the threads.
pub struct Parallel {
    starts: Arc<dyn StartPositions>,
    /// The start of the next part.
    next: usize,
    /// The member in which the next part begins.
    member: Member,
    /// No threads until the first part was used: most files are small.
    workers: Workers<TextPart>,
    decoder: Option<Box<Decoder>>,
    /// How many parts there may be at once.
    ahead: usize,
    /// The part whose text is being used.
    part: Option<TextPart>,
    spare: Option<TextPart>,
    /// Position in the text of the end of the current part.
    returned: u64,
    /// How much of the first part comes before the position where reading begins.
    skipped: usize,
    options: UnpackOptions,
    rest: Rest,
}

/// What follows the part.
enum Rest {
    /// More parts; the file, to be unpacked from its beginning should they
    /// not be what they were.
    Parts(Option<BufferedInput>),
    /// The text that unpacking from the beginning gives.
    Plain(Box<dyn Text>),
    /// Nothing.
    Nothing,
    Failed,
}

impl Parallel {
    /// All text of a file; nothing where only one part fits into memory.
    pub(super) fn new(
        starts: Arc<dyn StartPositions>,
        input: Option<BufferedInput>,
        options: UnpackOptions,
    ) -> Option<Self> {
        let ahead = parts_ahead(starts.longest(), options.threads);
        (ahead > 1).then(|| Self {
            starts,
            next: 0,
            member: Member::Begun(Sum::default()),
            workers: Workers::start("seqloom-spans", 0),
            decoder: None,
            ahead,
            part: None,
            spare: None,
            returned: 0,
            skipped: 0,
            options,
            rest: Rest::Parts(input),
        })
    }

    /// Begins at the position `begin` of the text, `skipped` bytes after the start `first`.
    pub(super) fn starting_at(self, first: usize, begin: u64, skipped: usize) -> Self {
        Self {
            next: first,
            member: if first == 0 {
                self.member
            } else {
                Member::Unseen
            },
            returned: begin,
            skipped,
            ..self
        }
    }

    /// Makes the next part the current one.
    fn advance(&mut self) -> Result<(), Trouble> {
        if !self.workers.is_in_this_process() {
            return Err(forked().into());
        }
        self.push_parts();
        let next = self.decoder.as_mut();
        let Some(mut part) = next.and_then(|decoder| self.workers.pop(decoder)) else {
            return self.finish();
        };
        let members = part.outcome.as_ref();
        if !members.is_ok_and(|members| self.member.advance(members)) {
            return self.begin_again();
        }
        part.consume(std::mem::take(&mut self.skipped));
        self.returned += as_u64(part.waiting().len());
        self.spare = self.part.replace(part);
        Ok(())
    }

    /// Queues enough parts to keep all threads busy.
    fn push_parts(&mut self) {
        let threads = self.options.threads;
        if threads > 1 && self.workers.is_empty() && self.part.is_some() {
            self.workers = Workers::start("seqloom-spans", threads - 1);
        }
        let enough = if self.workers.is_empty() {
            1
        } else {
            self.ahead
        };
        while self.workers.pending() < enough {
            let Some(end) = self.starts.end_of(self.next) else {
                return;
            };
            let spare = self.spare.take();
            let mut part = spare.unwrap_or_else(|| TextPart::new(&self.starts));
            part.range = self.next..end;
            self.next = end;
            self.decoder.get_or_insert_with(|| part.workspace());
            self.workers.push(part);
        }
    }

    /// Ends, if nothing was cut off and the file was not written meanwhile.
    fn finish(&mut self) -> Result<(), Trouble> {
        let is_complete = matches!(self.member, Member::Between);
        if !is_complete || !self.starts.disk().is_unchanged() {
            return self.begin_again();
        }
        self.rest = Rest::Nothing;
        Ok(())
    }

    /// Unpacks the file from its beginning, past the text that was returned.
    fn begin_again(&mut self) -> Result<(), Trouble> {
        self.workers = Workers::start("seqloom-spans", 0);
        self.part = None;
        let rest = std::mem::replace(&mut self.rest, Rest::Nothing);
        let Rest::Parts(Some(input)) = rest else {
            return Err(changed("its text differs"));
        };
        let (_, mut text) = unpack(input, &self.options)?;
        let mut missing = usize::try_from(self.returned).unwrap_or(usize::MAX);
        while missing > 0 {
            let count = text.fill()?.len().min(missing);
            if count == 0 {
                return Err(changed("it is shorter"));
            }
            text.consume(count);
            missing -= count;
        }
        self.rest = Rest::Plain(text);
        Ok(())
    }

    fn waiting(&self) -> &[u8] {
        self.part.as_ref().map_or(&[], TextPart::waiting)
    }

    /// How many parts were begun and not taken.
    pub fn pending(&self) -> usize {
        self.workers.pending()
    }
}

/// How many parts there may be at once.
fn parts_ahead(longest: u64, threads: usize) -> usize {
    let most = MAX_WAITING / longest.max(1);
    usize::try_from(most).unwrap_or(usize::MAX).min(2 * threads)
}

impl Text for Parallel {
    fn fill(&mut self) -> Result<&[u8], Trouble> {
        while self.waiting().is_empty() && matches!(self.rest, Rest::Parts(_)) {
            if let Err(trouble) = self.advance() {
                self.rest = Rest::Failed;
                return Err(trouble);
            }
        }
        match &mut self.rest {
            Rest::Plain(text) => text.fill(),
            Rest::Failed => Err(gone()),
            _ => Ok(self.part.as_ref().map_or(&[], TextPart::waiting)),
        }
    }

    fn consume(&mut self, count: usize) {
        match (&mut self.rest, &mut self.part) {
            (Rest::Plain(text), _) => text.consume(count),
            (_, Some(part)) => part.consume(count),
            _ => {}
        }
    }
}
