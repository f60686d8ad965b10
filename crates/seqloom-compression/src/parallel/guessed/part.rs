//! A part of a packed file, and the text of the blocks that begin in it.

use std::sync::Arc;

use seqloom_core::workers::Job;

use super::chain::{File, Joint};
use crate::disk::room;
use crate::inflate::{Inflater, MemberEnd, PADDING, Stop, Stopped, find, resolve, tail};
use crate::parallel::members::{Members, Sum};
use crate::parallel::reader::Part;
use crate::seekable::changed;
use crate::text::Trouble;
use seqloom_core::number::as_u64;

/// How much is read at once of what stands behind a part.
const BEHIND: usize = if cfg!(fuzzing) { 1 << 10 } else { 128 << 10 };
/// How much of that is read at most: longer blocks are unusual.
const MOST_BEHIND: usize = 8 << 20;
/// How much text there is room for at first, and at most: few files are packed better.
const ROOM: usize = if cfg!(fuzzing) { 1 << 16 } else { 2 << 20 };
const MOST_ROOM: usize = 16 << 20;

/// A part and its text.
pub(in crate::parallel) struct GuessedPart {
    file: Arc<File>,
    number: u64,
    /// The part, some of what stands behind it, and padding.
    packed: Vec<u8>,
    text: Vec<u8>,
    /// How much of the text was used.
    used: usize,
    /// Whether the block was not found that the part before had stopped at.
    pub(super) is_miss: bool,
    /// What its members came to, nothing where no block begins in it; or why the
    /// file must be unpacked in another way.
    pub(super) outcome: Result<Option<Members>, Trouble>,
}

impl GuessedPart {
    pub(super) fn new(file: &Arc<File>) -> Self {
        Self {
            file: Arc::clone(file),
            number: 0,
            packed: Vec::new(),
            text: Vec::new(),
            used: 0,
            is_miss: false,
            outcome: Ok(None),
        }
    }

    /// Makes it this part, of which nothing is unpacked yet.
    pub(super) fn set(&mut self, number: u64) {
        (self.number, self.used, self.is_miss) = (number, 0, false);
        self.text.clear();
    }

    fn unpack(&mut self, inflater: &mut Inflater) -> Result<Option<Members>, Trouble> {
        self.packed.clear();
        self.read(self.size() + BEHIND)?;
        let guess = self.guess(inflater)?;
        let joint = self.file.chain.wait(self.number);
        let (bit, window) = match joint {
            Joint::Before(bit, window) if self.position(bit) < self.size() * 8 => (bit, window),
            Joint::Lost => return Err(unusual()),
            other => {
                self.file.chain.tell(self.number, other);
                return Ok(None);
            }
        };
        let bit = self.position(bit);
        let stopped = match guess {
            Some((start, stopped)) if start == bit => stopped,
            _ => {
                self.is_miss = self.number > 0;
                inflater.begin_behind(&window, ROOM);
                self.inflate(inflater, bit)?.ok_or_else(unusual)?
            }
        };
        self.tell(inflater, stopped, &window);
        if !resolve(inflater.text(), &window, &mut self.text) {
            return Err(unusual());
        }
        members(&self.text, inflater.ends(), stopped).map(Some)
    }

    /// Looks for a block and inflates from there. The first part's is known.
    fn guess(&mut self, inflater: &mut Inflater) -> Result<Option<(usize, Stopped)>, Trouble> {
        let all = 0..self.size() * 8;
        let found = (self.number > 0).then(|| find(&self.packed, all)).flatten();
        let Some(start) = found else {
            return Ok(None);
        };
        inflater.begin_anywhere(ROOM);
        let stopped = self.inflate(inflater, start)?;
        Ok(stopped.map(|stopped| (start, stopped)))
    }

    /// Inflates from a block up to one of the next part, if that can be done.
    fn inflate(
        &mut self,
        inflater: &mut Inflater,
        start: usize,
    ) -> Result<Option<Stopped>, Trouble> {
        let mut bit = start;
        let stop = self.size() * 8;
        loop {
            let room = inflater.room();
            match inflater.inflate(&self.packed, &mut bit, stop, self.reaches_end()) {
                Ok(stopped) => return Ok(Some(stopped)),
                Err(Stop::Full) if room < MOST_ROOM => inflater.grow(2 * room),
                Err(Stop::Cut) if self.may_read() => self.read(self.held() + BEHIND)?,
                Err(_) => return Ok(None),
            }
        }
    }

    /// Tells the next part where this one stopped.
    fn tell(&self, inflater: &Inflater, stopped: Stopped, window: &[u8]) {
        let joint = match stopped {
            Stopped::AtEnd => Joint::AtEnd,
            Stopped::Before(bit) => {
                let end = inflater.ends().last().map(|end| end.at);
                let own = &inflater.text()[end.unwrap_or(0)..];
                let window = tail(own, window, end.is_some());
                Joint::Before(self.start() * 8 + as_u64(bit), window)
            }
        };
        self.file.chain.tell(self.number, joint);
    }

    /// Where in the file it begins.
    fn start(&self) -> u64 {
        self.number * self.file.part_size
    }

    /// How many bytes of the file it has.
    fn size(&self) -> usize {
        let left = self.file.disk.size().saturating_sub(self.start());
        usize::try_from(left.min(self.file.part_size)).unwrap_or(usize::MAX)
    }

    /// A bit of the file as one of the part.
    fn position(&self, bit: u64) -> usize {
        usize::try_from(bit.saturating_sub(self.start() * 8)).unwrap_or(usize::MAX)
    }

    /// How many bytes of the file this part holds, from its own start on.
    fn held(&self) -> usize {
        self.packed.len().saturating_sub(PADDING)
    }

    /// Whether the bytes that were read reach the end of the file.
    fn reaches_end(&self) -> bool {
        self.start() + as_u64(self.held()) >= self.file.disk.size()
    }

    fn may_read(&self) -> bool {
        !self.reaches_end() && self.held() < self.size() + MOST_BEHIND
    }

    /// Reads on until it has so many bytes, or the file ends.
    fn read(&mut self, size: usize) -> Result<(), Trouble> {
        let held = self.held();
        let left = self.file.disk.size().saturating_sub(self.start());
        let size = usize::try_from(left).unwrap_or(usize::MAX).min(size);
        self.packed.truncate(held);
        room(&mut self.packed, size.saturating_add(PADDING))?;
        let at = self.start() + as_u64(held);
        self.file.disk.read(at, &mut self.packed[held..size])?;
        Ok(())
    }
}

fn unusual() -> Trouble {
    changed("it cannot be unpacked so")
}

/// What the members of a text came to; those that lie in it as a whole are checked.
fn members(text: &[u8], ends: &[MemberEnd], stopped: Stopped) -> Result<Members, Trouble> {
    let first = ends.first();
    let mut members = Members {
        head: Sum::of(&text[..first.map_or(text.len(), |end| end.at)]),
        end: first.map(|end| end.tail),
        tail: None,
    };
    for pair in ends.windows(2) {
        if Sum::of(&text[pair[0].at..pair[1].at]).end() != pair[1].tail {
            return Err(unusual());
        }
    }
    if let (Some(last), Stopped::Before(_)) = (ends.last(), stopped) {
        members.tail = Some(Sum::of(&text[last.at..]));
    }
    Ok(members)
}

impl Part for GuessedPart {
    fn waiting(&self) -> &[u8] {
        &self.text[self.used..]
    }

    fn consume(&mut self, count: usize) {
        self.used += count;
    }
}

impl Job for GuessedPart {
    type Tool = Inflater;

    fn tool(&self) -> Inflater {
        Inflater::new()
    }

    fn work(&mut self, inflater: &mut Inflater) {
        self.outcome = self.unpack(inflater);
        if self.outcome.is_err() {
            self.fail();
        }
    }

    fn fail(&mut self) {
        self.file.chain.tell(self.number, Joint::Lost);
        self.outcome = Err(unusual());
        self.text.clear();
    }
}
