//! Parts by the positions that were put aside when the file was read before.

use std::path::Path;
use std::sync::Arc;

use seqloom_core::workers::Job;

use super::members::{Member, Members, SLACK, Sum, inflate};
use super::reader::{ENOUGH, MOST, Part, Plan};
use crate::disk::{Disk, room};
use crate::positions::{Position, Positions, positions_of};
use crate::seekable::{changed, packed_bytes};
use crate::text::Trouble;

/// The positions of a file that is as it was when they were put aside.
pub(super) struct Remembered {
    file: Arc<File>,
    /// The first position that nobody was given.
    next: usize,
    member: Member,
}

struct File {
    disk: Disk,
    positions: Arc<Positions>,
}

impl Remembered {
    pub(super) fn open(path: &Path) -> Option<Self> {
        let disk = Disk::open(path).ok()?;
        let positions = positions_of(&disk.identity()?)?;
        Some(Self {
            file: Arc::new(File { disk, positions }),
            next: 0,
            member: Member::Begun(Sum::default()),
        })
    }

    /// How many parts there may be at once; nothing where it would be one.
    pub(super) fn ahead(&self, threads: usize) -> Option<usize> {
        let sizes = (0..self.file.positions.list.len()).map(|number| self.file.text_of(number));
        let most = MOST / sizes.max().unwrap_or(0).max(ENOUGH);
        let ahead = usize::try_from(most).unwrap_or(usize::MAX).min(2 * threads);
        (ahead > 1).then_some(ahead)
    }
}

impl File {
    fn position(&self, number: usize) -> Option<&Position> {
        self.positions.list.get(number)
    }

    /// How much text there is from a position to the next.
    fn text_of(&self, number: usize) -> u64 {
        let start = |number| self.position(number).map(|position| position.text);
        let end = start(number + 1).unwrap_or(self.positions.text);
        end.saturating_sub(start(number).unwrap_or(end))
    }
}

impl Plan for Remembered {
    type Part = RememberedPart;

    fn next(&mut self, spare: Option<RememberedPart>) -> Option<RememberedPart> {
        self.file.position(self.next)?;
        let mut part = spare.unwrap_or_else(|| RememberedPart::new(&self.file));
        part.number = self.next;
        self.next += 1;
        Some(part)
    }

    fn accept(&mut self, part: &RememberedPart) -> bool {
        let members = part.outcome.as_ref();
        members.is_ok_and(|members| self.member.go_on(members))
    }

    fn is_complete(&self) -> bool {
        matches!(self.member, Member::Between) && self.file.disk.is_unchanged()
    }
}

/// The text from a position to the next.
pub(super) struct RememberedPart {
    file: Arc<File>,
    number: usize,
    packed: Vec<u8>,
    /// The text before the position, and the text.
    out: Vec<u8>,
    start: usize,
    stop: usize,
    outcome: Result<Members, Trouble>,
}

impl RememberedPart {
    fn new(file: &Arc<File>) -> Self {
        Self {
            file: Arc::clone(file),
            number: 0,
            packed: Vec::new(),
            out: Vec::new(),
            start: 0,
            stop: 0,
            outcome: Ok(Members::default()),
        }
    }

    fn unpack(&mut self) -> Result<Members, Trouble> {
        let file = Arc::clone(&self.file);
        let position = file.position(self.number);
        let position = position.ok_or_else(|| changed("it is shorter"))?;
        let next = file.position(self.number + 1);
        let end = next.map_or(file.disk.size(), |next| next.packed);
        packed_bytes(&file.disk, position.packed..end, &mut self.packed)?;
        let size = usize::try_from(file.text_of(self.number)).unwrap_or(usize::MAX);
        self.start = position.history.len();
        self.stop = self.start.saturating_add(size);
        // A decoder that was put aside had filled its buffer: the last bits that it
        // used may be of text that it had no room for.
        let slack = if next.is_some() { 0 } else { SLACK };
        room(&mut self.out, self.stop.saturating_add(slack))?;
        self.out[..self.start].copy_from_slice(&position.history);
        let mut decoder = position.decoder.clone();
        let (stop, members) = inflate(&mut decoder, &self.packed, &mut self.out, self.start)?;
        if stop == self.stop && next.is_none_or(|next| self.leads_to(next)) {
            return Ok(members);
        }
        Err(changed("its text differs"))
    }

    /// Whether the next position's text before it is the end of this.
    fn leads_to(&self, next: &Position) -> bool {
        self.out[..self.stop].ends_with(&next.history)
    }
}

impl Part for RememberedPart {
    fn waiting(&self) -> &[u8] {
        &self.out[self.start..self.stop]
    }

    fn consume(&mut self, count: usize) {
        self.start += count;
    }
}

impl Job for RememberedPart {
    type Tool = ();

    fn tool(&self) -> Self::Tool {}

    fn work(&mut self, (): &mut Self::Tool) {
        self.outcome = self.unpack();
        if self.outcome.is_err() {
            (self.start, self.stop) = (0, 0);
        }
    }

    fn fail(&mut self) {
        (self.start, self.stop) = (0, 0);
        self.outcome = Err(changed("it could not be unpacked"));
    }
}
