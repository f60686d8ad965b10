//! Positions of gzip files that were read, where unpacking can go on.
//!
//! Whoever unpacks a file on one thread puts its decoder aside now and then, as
//! it stands, with the 32 KiB of text before. When all was read, and was right,
//! the process keeps them: the next epoch, or one that is resumed, unpacks from
//! all of these positions at once (`index::whole`). They are forgotten with the
//! process, and of no use to a file that was written since.

use std::sync::{Arc, Mutex};

use sirocco::Format;
use sirocco::inflate::Decoder;

use super::text::Options;
use crate::input::Input;
use crate::system::Identity;
use crate::walk::WINDOW;
use seqloom_core::number::as_u64;

/// How much of a file there must be for several threads to unpack it sooner than
/// one, in packed bytes. On two cores (AMD EPYC, Zen 3, others at work on them)
/// threads and their buffers cost 1 to 6 ms: FASTQ gained from 1.5 MB on, proteins,
/// which are packed least and unpacked slowest, lost at 4.0 MB and gained at 8.1 MB.
pub const SMALLEST: u64 = if cfg!(fuzzing) { 1 } else { 8 << 20 };
/// How far apart positions are in the text at first; twice as far whenever there are
/// too many of them.
const SPACING: u64 = if cfg!(fuzzing) { 1 << 12 } else { 1 << 20 };
/// How many positions of a file are kept, and of all files; each takes some 50 KB.
const MOST: usize = 128;
const MOST_OF_ALL: usize = 1024;

/// The positions of the files that were read last, the newest behind.
static KEPT: Mutex<Vec<Arc<Positions>>> = Mutex::new(Vec::new());

/// A position where unpacking can go on.
pub(crate) struct Position {
    /// How much of the file was used.
    pub(crate) packed: u64,
    /// How much text there was.
    pub(crate) text: u64,
    pub(crate) decoder: Box<Decoder>,
    /// The end of that text, which the decoder expects at the front of its buffer.
    pub(crate) history: Vec<u8>,
}

/// All positions of a file that was read to its end.
pub(crate) struct Positions {
    identity: Identity,
    pub(crate) list: Vec<Position>,
    /// How much text there is.
    pub(crate) text: u64,
}

/// The positions of a file that was read before and is as it was.
pub(crate) fn positions_of(identity: &Identity) -> Option<Arc<Positions>> {
    // A process that was forked while another thread held the lock must not wait for it.
    let kept = KEPT.try_lock().ok()?;
    let found = kept
        .iter()
        .find(|positions| positions.identity == *identity);
    found.cloned()
}

fn keep(positions: Positions) {
    let Ok(mut kept) = KEPT.try_lock() else {
        return;
    };
    kept.retain(|other| !other.identity.is_same_file(&positions.identity));
    kept.push(Arc::new(positions));
    while kept
        .iter()
        .map(|positions| positions.list.len())
        .sum::<usize>()
        > MOST_OF_ALL
    {
        kept.remove(0);
    }
}

/// Files the positions of one file under the identity of another, as if they were its own.
#[cfg(test)]
pub(crate) fn misfile(old: &Identity, new: &Identity) {
    let mut kept = KEPT.lock().unwrap();
    let position = kept.iter().position(|positions| positions.identity == *old);
    let mut positions = Arc::into_inner(kept.remove(position.unwrap())).unwrap();
    positions.identity = new.clone();
    kept.push(Arc::new(positions));
}

/// Puts positions aside while a file is read.
pub(super) struct Recorder {
    positions: Positions,
    spacing: u64,
}

impl Recorder {
    /// A recorder, where it is of use: the file is large, can be read at any
    /// position, and is read by several threads.
    pub(super) fn of(input: &Input, options: &Options) -> Option<Self> {
        let identity = input.identity()?;
        let is_of_use = options.threads > 1 && identity.size >= SMALLEST;
        is_of_use.then(|| Self::new(identity))
    }

    fn new(identity: Identity) -> Self {
        let beginning = Position {
            packed: 0,
            text: 0,
            decoder: Box::new(Decoder::new(Format::Gzip)),
            history: Vec::new(),
        };
        let list = vec![beginning];
        let text = 0;
        Self {
            positions: Positions {
                identity,
                list,
                text,
            },
            spacing: SPACING,
        }
    }

    /// Counts text.
    pub(super) fn advance(&mut self, count: usize) {
        self.positions.text += as_u64(count);
    }

    /// Puts a position aside, inside a member, unless the last one is near.
    pub(super) fn note(&mut self, packed: u64, decoder: &Decoder, history: &[u8]) {
        let last = self
            .positions
            .list
            .last()
            .map_or(0, |position| position.text);
        if self.positions.text < last + self.spacing || history.len() < WINDOW {
            return;
        }
        self.positions.list.push(Position {
            packed,
            text: self.positions.text,
            decoder: Box::new(decoder.clone()),
            history: history.to_vec(),
        });
        if self.positions.list.len() > MOST {
            self.thin_out();
        }
    }

    fn thin_out(&mut self) {
        self.spacing *= 2;
        let mut last = None;
        let spacing = self.spacing;
        self.positions.list.retain(|position| {
            let is_far = last.is_none_or(|last| position.text >= last + spacing);
            last = if is_far { Some(position.text) } else { last };
            is_far
        });
    }

    /// Keeps the positions: the file was read to its end, and was right.
    pub(super) fn keep(self) {
        keep(self.positions);
    }
}
