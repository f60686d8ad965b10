//! Parts of a file of which nothing is known: where blocks begin is guessed.
//!
//! Each thread takes a part of the packed file, looks for the first block that
//! begins in it, and inflates from there to the first such block of the next
//! part without knowing the text before (`crate::inflate`). Then it waits for
//! the thread before, which says where it stopped and what text stands there. If
//! that is the block that was found, the text is put in; else the part is
//! inflated once more, from where the thread before stopped.

mod chain;
mod part;

use std::path::Path;
use std::sync::Arc;

use self::chain::{Chain, File, Joint};
use self::part::GuessedPart;
use super::members::{Member, Sum};
use super::reader::Plan;
use crate::bgzip::block_size;
use crate::disk::Disk;
use crate::inflate::{Inflater, PADDING};
use crate::seekable::packed_bytes;

/// How much is looked at to find the first block: names in the header are short.
const HEAD: u64 = 64 << 10;
/// One thread unpacks the file from the moment when its misses exceed `MISSES`, and one
/// more for each `MISSES_OF` hits: its blocks are of a kind that the search does not find.
const MISSES: u64 = 2;
const MISSES_OF: u64 = 8;

/// The parts of a file.
pub(super) struct Guessed {
    file: Arc<File>,
    next: u64,
    member: Member,
    /// How many parts were right at once, and how many were not.
    hits: u64,
    misses: u64,
}

impl Guessed {
    /// The parts of a gzip file, each of so many bytes; nothing where it is no such
    /// file, or an unusual one.
    pub(super) fn open(path: &Path, part_size: u64) -> Option<Self> {
        let disk = Disk::open(path).ok()?;
        let mut head = Vec::new();
        packed_bytes(&disk, 0..HEAD.min(disk.size()), &mut head).ok()?;
        if block_size(&head).is_some() {
            return None;
        }
        head.resize(head.len() + PADDING, 0);
        let bit = Inflater::first_block(&head)?;
        let chain = Chain::new(Joint::Before(u64::try_from(bit).ok()?, Vec::new()));
        Some(Self {
            file: Arc::new(File {
                disk,
                part_size,
                chain,
            }),
            next: 0,
            member: Member::Begun(Sum::default()),
            hits: 0,
            misses: 0,
        })
    }
}

impl Plan for Guessed {
    type Part = GuessedPart;

    fn next(&mut self, spare: Option<GuessedPart>) -> Option<GuessedPart> {
        if self.next * self.file.part_size >= self.file.disk.size() {
            return None;
        }
        let mut part = spare.unwrap_or_else(|| GuessedPart::new(&self.file));
        part.set(self.next);
        self.next += 1;
        Some(part)
    }

    fn accept(&mut self, part: &GuessedPart) -> bool {
        let Ok(members) = &part.outcome else {
            return false;
        };
        self.hits += u64::from(!part.is_miss);
        self.misses += u64::from(part.is_miss);
        let is_well_guessed = self.misses <= MISSES + self.hits / MISSES_OF;
        let members = members.as_ref();
        is_well_guessed && members.is_none_or(|members| self.member.go_on(members))
    }

    fn is_complete(&self) -> bool {
        matches!(self.member, Member::Between) && self.file.disk.is_unchanged()
    }
}
