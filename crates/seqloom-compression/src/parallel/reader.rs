//! Parts of a file's text, unpacked ahead by workers and given in order.

use seqloom_core::workers::{Job, Workers};

use crate::input::{Input, forked};
use crate::seekable::{changed, size_of};
use crate::text::{Options, Text, Trouble, gone};
use crate::unpack;

/// How much text a part has, at least.
pub(super) const ENOUGH: u64 = if cfg!(fuzzing) { 1 << 12 } else { 1 << 20 };
/// How much text all parts have together that were unpacked and not used, at most.
pub(super) const MOST: u64 = 256 << 20;

/// A part of the text, which any thread can unpack.
pub trait Part: Job {
    /// The text that was not used.
    fn waiting(&self) -> &[u8];

    /// Uses the first `count` bytes of it.
    fn consume(&mut self, count: usize);
}

/// Which parts there are, and whether they are what they should be.
pub trait Plan: Send + Sync {
    /// What one thread unpacks at a time.
    type Part: Part<Tool: Sync> + Sync;

    /// The next part, to be unpacked; nothing behind the last.
    fn next(&mut self, spare: Option<Self::Part>) -> Option<Self::Part>;

    /// Whether a part that was unpacked fits behind the one before.
    fn accept(&mut self, part: &Self::Part) -> bool;

    /// Whether nothing is missing, and the file was not written meanwhile.
    fn is_complete(&self) -> bool;
}

/// Unpacks part by part. The reader is one of the threads.
pub struct Parallel<P: Plan> {
    plan: P,
    /// Nobody, until the first part was used: most files are small.
    workers: Workers<P::Part>,
    tool: Option<<P::Part as Job>::Tool>,
    ahead: usize,
    /// The part whose text is being used.
    part: Option<P::Part>,
    spare: Option<P::Part>,
    /// How much text comes before the end of the part.
    given: u64,
    /// How much of the first part comes before the position where reading begins.
    skipped: usize,
    options: Options,
    rest: Rest,
}

/// What follows the part.
enum Rest {
    /// More parts; the file, to be unpacked from its beginning should they
    /// not be what they were.
    Parts(Option<Input>),
    /// The text that unpacking from the beginning gives.
    Plain(Box<dyn Text>),
    /// Nothing.
    Nothing,
    Failed,
}

impl<P: Plan> Parallel<P> {
    /// So many parts at once, at most.
    pub fn new(plan: P, ahead: usize, input: Option<Input>, options: Options) -> Self {
        Self {
            plan,
            workers: Workers::start("seqloom-spans", 0),
            tool: None,
            ahead,
            part: None,
            spare: None,
            given: 0,
            skipped: 0,
            options,
            rest: Rest::Parts(input),
        }
    }

    /// Begins at a position in the text, so far behind the first part's beginning.
    #[must_use]
    pub fn from(self, begin: u64, skipped: usize) -> Self {
        Self {
            given: begin,
            skipped,
            ..self
        }
    }

    /// Makes the next part the current one.
    fn advance(&mut self) -> Result<(), Trouble> {
        if !self.workers.is_here() {
            return Err(forked().into());
        }
        self.push_parts();
        let next = self.tool.as_mut().and_then(|tool| self.workers.pop(tool));
        let Some(mut part) = next else {
            return self.finish();
        };
        if !self.plan.accept(&part) {
            return self.begin_again();
        }
        part.consume(std::mem::take(&mut self.skipped));
        self.given += size_of(part.waiting());
        self.spare = self.part.replace(part);
        Ok(())
    }

    /// Gives the workers as much as keeps everybody busy.
    fn push_parts(&mut self) {
        let threads = self.options.threads;
        if threads > 1 && self.workers.is_alone() && self.part.is_some() {
            self.workers = Workers::start("seqloom-spans", threads - 1);
        }
        let enough = if self.workers.is_alone() {
            1
        } else {
            self.ahead
        };
        while self.workers.pending() < enough {
            let Some(part) = self.plan.next(self.spare.take()) else {
                return;
            };
            self.tool.get_or_insert_with(|| part.tool());
            self.workers.push(part);
        }
    }

    /// Ends, if nothing was cut off and the file was not written meanwhile.
    fn finish(&mut self) -> Result<(), Trouble> {
        if !self.plan.is_complete() {
            return self.begin_again();
        }
        self.rest = Rest::Nothing;
        Ok(())
    }

    /// Unpacks the file from its beginning, past the text that was given.
    fn begin_again(&mut self) -> Result<(), Trouble> {
        self.workers = Workers::start("seqloom-spans", 0);
        self.part = None;
        let rest = std::mem::replace(&mut self.rest, Rest::Nothing);
        let Rest::Parts(Some(input)) = rest else {
            return Err(changed("its text differs"));
        };
        let (_, mut text) = unpack(input, &self.options)?;
        let mut missing = usize::try_from(self.given).unwrap_or(usize::MAX);
        while missing > 0 {
            let count = text.fill()?.len().min(missing);
            if count == 0 {
                break;
            }
            text.consume(count);
            missing -= count;
        }
        self.rest = Rest::Plain(text);
        Ok(())
    }

    fn waiting(&self) -> &[u8] {
        self.part.as_ref().map_or(&[], Part::waiting)
    }

    /// How many parts were begun and not taken.
    pub fn pending(&self) -> usize {
        self.workers.pending()
    }
}

impl<P: Plan> Text for Parallel<P> {
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
            _ => Ok(self.part.as_ref().map_or(&[], Part::waiting)),
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
