//! All of a gzip file's text in order, unpacked by several threads.
//!
//! Its index says where inflating can start and what stands before. Each
//! thread takes a stretch; the checksum of every member is put together from
//! those of its stretches. An index is a help and never an authority: where
//! it is of another file, or anything differs from what it says, the file is
//! unpacked from its beginning as if there were none, so that what is wrong
//! with a file is found and said in the same words.

mod known;

use std::path::Path;
use std::sync::Arc;

use seqloom_core::crew::Crew;
use seqloom_core::error::Fault;
use seqloom_core::{Error, Result};
use sirocco::Format;
use sirocco::inflate::Decoder;

use self::known::{Known, known};
use super::text::{Members, Span, Stretch, Sum, Text, changed, size_of};
use crate::compression::{self, Compression, Trouble, gone, unpack};
use crate::input::{Input, forked};
use crate::options::Options;
use crate::reader::Reader;

/// How much text a stretch has, at least.
const ENOUGH: u64 = 1 << 20;

/// Opens a file that is read from its beginning.
///
/// A gzip file beside which its index lies is unpacked by as many threads as may read.
pub fn open_reader(path: &Path, options: &Options) -> Result<Reader> {
    let is_named = options.threads > 1 && path != Path::new("-");
    let text = is_named.then(|| text_by_index(path, &options.unpacking()));
    match text.flatten() {
        Some(text) => Reader::of_text(path, (Compression::Gzip, text), options),
        None => Reader::open(path, options),
    }
}

/// Opens a gzip file that is read from a record on, by the index that lies
/// beside it. Without one that is of the file as it is, that is an error.
pub fn open_reader_at(path: &Path, options: &Options, record: u64) -> Result<Reader> {
    let found = known(path, options.threads).and_then(|known| {
        let begin = known.begin_of(record)?;
        Some(Whole::new(known, begin, None, options.unpacking()))
    });
    let text = found.ok_or_else(|| {
        let why =
            format!("has no index beside it that is of the file and leads to record {record}");
        Error::format(path, Fault::whole(why))
    });
    Reader::of_text(path, (Compression::Gzip, Box::new(text?)), options)
}

/// The text of a gzip file beside which its index lies, unpacked by several
/// threads; nothing where there is no index, or it is of no use.
pub fn text_by_index(
    path: &Path,
    options: &compression::Options,
) -> Option<Box<dyn compression::Text>> {
    let known = known(path, options.threads)?;
    let input = Input::open(path).ok()?;
    Some(Box::new(Whole::new(known, 0, Some(input), options.clone())))
}

/// Unpacks stretch by stretch. The reader is one of the threads.
struct Whole {
    text: Arc<Text>,
    /// Nobody, until the first stretch was used: most files are small.
    crew: Crew<Stretch>,
    decoder: Box<Decoder>,
    ahead: usize,
    /// The first span that nobody was given.
    next: usize,
    /// The stretch whose text is being used.
    stretch: Stretch,
    spare: Vec<Stretch>,
    member: Member,
    /// How much text comes before the end of the stretch.
    given: u64,
    /// How much of the first stretch comes before the place where reading begins.
    skipped: usize,
    options: compression::Options,
    rest: Rest,
}

/// What follows the stretch.
enum Rest {
    /// More stretches; the file, to be unpacked from its beginning should they
    /// not be what they were.
    Stretches(Option<Input>),
    /// The text that unpacking from the beginning gives.
    Plain(Box<dyn compression::Text>),
    /// Nothing.
    Nothing,
    Failed,
}

/// The member that the text stands in.
enum Member {
    /// None: between two, or at the end.
    Between,
    /// One that was read from its beginning: what it came to so far.
    Begun(Sum),
    /// One whose beginning was not read, so that its checksum says nothing.
    Unseen,
}

impl Whole {
    fn new(known: Known, begin: u64, input: Option<Input>, options: compression::Options) -> Self {
        let text = Arc::new(known.text);
        let (next, start) = text.span_at(begin);
        Self {
            stretch: Stretch::new(&text),
            text,
            crew: Crew::start("seqloom-spans", 0),
            decoder: Box::new(Decoder::new(Format::Deflate)),
            ahead: known.ahead,
            next,
            spare: Vec::new(),
            member: match next {
                0 => Member::Begun(Sum::default()),
                _ => Member::Unseen,
            },
            given: begin,
            skipped: usize::try_from(begin - start).unwrap_or(usize::MAX),
            options,
            rest: Rest::Stretches(input),
        }
    }

    /// Makes the next stretch the current one.
    fn advance(&mut self) -> std::result::Result<(), Trouble> {
        if !self.crew.is_here() {
            return Err(forked().into());
        }
        self.push_stretches();
        let Some(stretch) = self.crew.pop(&mut self.decoder) else {
            return self.finish();
        };
        let is_right = match &stretch.outcome {
            Ok(members) => self.member.go_on(members),
            Err(_) => false,
        };
        if !is_right {
            return self.begin_again();
        }
        self.spare
            .push(std::mem::replace(&mut self.stretch, stretch));
        self.stretch.consume(std::mem::take(&mut self.skipped));
        self.given += size_of(self.stretch.waiting());
        Ok(())
    }

    /// Gives the crew as much as keeps everybody busy.
    fn push_stretches(&mut self) {
        let threads = self.options.threads;
        if threads > 1 && self.crew.is_alone() && self.given > 0 {
            self.crew = Crew::start("seqloom-spans", threads - 1);
        }
        let enough = if self.crew.is_alone() { 1 } else { self.ahead };
        while self.crew.pending() < enough && self.next < self.text.spans().len() {
            let end = self.end_of(self.next);
            let spare = self.spare.pop();
            let mut stretch = spare.unwrap_or_else(|| Stretch::new(&self.text));
            stretch.set(self.next..end);
            self.crew.push(stretch);
            self.next = end;
        }
    }

    /// The span behind a stretch that begins with this one.
    fn end_of(&self, first: usize) -> usize {
        let spans = self.text.spans();
        let wanted = spans.get(first).map_or(0, |span| span.text + ENOUGH);
        let is_within = |span: &Span| span.text < wanted;
        spans.partition_point(is_within).max(first + 1)
    }

    /// Ends, if nothing was cut off and the file was not written meanwhile.
    fn finish(&mut self) -> std::result::Result<(), Trouble> {
        if !matches!(self.member, Member::Between) || !self.text.disk.is_unchanged() {
            return self.begin_again();
        }
        self.rest = Rest::Nothing;
        Ok(())
    }

    /// Unpacks the file from its beginning, past the text that was given.
    fn begin_again(&mut self) -> std::result::Result<(), Trouble> {
        self.crew = Crew::start("seqloom-spans", 0);
        self.stretch.set(0..0);
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
}

impl Member {
    /// Goes on with a stretch's members; says whether the checksum and length of
    /// the first one are right, where it ends.
    fn go_on(&mut self, members: &Members) -> bool {
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

impl compression::Text for Whole {
    fn fill(&mut self) -> std::result::Result<&[u8], Trouble> {
        while self.stretch.waiting().is_empty() && matches!(self.rest, Rest::Stretches(_)) {
            if let Err(trouble) = self.advance() {
                self.rest = Rest::Failed;
                return Err(trouble);
            }
        }
        match &mut self.rest {
            Rest::Plain(text) => text.fill(),
            Rest::Failed => Err(gone()),
            _ => Ok(self.stretch.waiting()),
        }
    }

    fn consume(&mut self, count: usize) {
        match &mut self.rest {
            Rest::Plain(text) => text.consume(count),
            _ => self.stretch.consume(count),
        }
    }
}

#[cfg(test)]
mod tests;
