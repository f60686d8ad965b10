//! Stretches of a file's text, unpacked ahead by a crew and given in order.

use seqloom_core::crew::{Crew, Job};

use crate::input::{Input, forked};
use crate::seekable::{Members, Sum, changed, size_of};
use crate::{Options, Text, Trouble, gone, unpack};

/// A part of the text, which any thread can unpack.
pub trait Part: Job {
    /// The text that was not used.
    fn waiting(&self) -> &[u8];

    /// Uses the first `count` bytes of it.
    fn consume(&mut self, count: usize);
}

/// Which stretches there are, and whether they are what they should be.
pub trait Plan: Send + Sync {
    /// What one thread unpacks at a time.
    type Part: Part<Tool: Sync> + Sync;

    /// The next stretch, to be unpacked; nothing behind the last.
    fn next(&mut self, spare: Option<Self::Part>) -> Option<Self::Part>;

    /// Whether a stretch that was unpacked fits behind the one before.
    fn accept(&mut self, part: &Self::Part) -> bool;

    /// Whether nothing is missing, and the file was not written meanwhile.
    fn is_complete(&self) -> bool;
}

/// Unpacks stretch by stretch. The reader is one of the threads.
pub struct Parallel<P: Plan> {
    plan: P,
    /// Nobody, until the first stretch was used: most files are small.
    crew: Crew<P::Part>,
    tool: Option<<P::Part as Job>::Tool>,
    ahead: usize,
    /// The stretch whose text is being used.
    part: Option<P::Part>,
    spare: Option<P::Part>,
    /// How much text comes before the end of the stretch.
    given: u64,
    /// How much of the first stretch comes before the place where reading begins.
    skipped: usize,
    options: Options,
    rest: Rest,
}

/// What follows the stretch.
enum Rest {
    /// More stretches; the file, to be unpacked from its beginning should they
    /// not be what they were.
    Stretches(Option<Input>),
    /// The text that unpacking from the beginning gives.
    Plain(Box<dyn Text>),
    /// Nothing.
    Nothing,
    Failed,
}

impl<P: Plan> Parallel<P> {
    /// So many stretches at once, at most.
    pub fn new(plan: P, ahead: usize, input: Option<Input>, options: Options) -> Self {
        Self {
            plan,
            crew: Crew::start("seqloom-spans", 0),
            tool: None,
            ahead,
            part: None,
            spare: None,
            given: 0,
            skipped: 0,
            options,
            rest: Rest::Stretches(input),
        }
    }

    /// Begins at a place in the text, so far behind the first stretch's beginning.
    #[must_use]
    pub fn from(self, begin: u64, skipped: usize) -> Self {
        Self {
            given: begin,
            skipped,
            ..self
        }
    }

    /// Makes the next stretch the current one.
    fn advance(&mut self) -> Result<(), Trouble> {
        if !self.crew.is_here() {
            return Err(forked().into());
        }
        self.push_stretches();
        let next = self.tool.as_mut().and_then(|tool| self.crew.pop(tool));
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

    /// Gives the crew as much as keeps everybody busy.
    fn push_stretches(&mut self) {
        let threads = self.options.threads;
        if threads > 1 && self.crew.is_alone() && self.part.is_some() {
            self.crew = Crew::start("seqloom-spans", threads - 1);
        }
        let enough = if self.crew.is_alone() { 1 } else { self.ahead };
        while self.crew.pending() < enough {
            let Some(part) = self.plan.next(self.spare.take()) else {
                return;
            };
            self.tool.get_or_insert_with(|| part.tool());
            self.crew.push(part);
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
        self.crew = Crew::start("seqloom-spans", 0);
        self.part = None;
        let rest = std::mem::replace(&mut self.rest, Rest::Nothing);
        let Rest::Stretches(Some(input)) = rest else {
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

    /// How many stretches were begun and not taken.
    pub fn pending(&self) -> usize {
        self.crew.pending()
    }
}

impl<P: Plan> Text for Parallel<P> {
    fn fill(&mut self) -> Result<&[u8], Trouble> {
        while self.waiting().is_empty() && matches!(self.rest, Rest::Stretches(_)) {
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
    /// Goes on with a stretch's members; says whether the checksum and length of
    /// the first one are right, where it ends.
    pub(super) fn go_on(&mut self, members: &Members) -> bool {
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
