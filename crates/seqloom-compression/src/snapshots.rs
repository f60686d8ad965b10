//! Snapshots of the decoder at some positions of a gzip file.
//!
//! While one thread unpacks a file it regularly stores a copy of its decoder, with the 32 KiB
//! of text before that position. If the whole file was valid, the process keeps these
//! snapshots. The next epoch, or one that is resumed, unpacks from all of them at once
//! (`index::whole`). They exist in memory only, and do not apply to a file that was written
//! since.

use std::sync::{Arc, Mutex};

use sirocco::Format;
use sirocco::inflate::Decoder;

use super::text::UnpackOptions;
use crate::input::BufferedInput;
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

/// The snapshots of the files that were read last, the newest last.
static FILES: Mutex<Vec<Arc<Snapshots>>> = Mutex::new(Vec::new());

/// A copy of the decoder at a position of a file.
pub(crate) struct Snapshot {
    /// How much of the file was used.
    pub(crate) packed: u64,
    /// How much text there was.
    pub(crate) text: u64,
    pub(crate) decoder: Box<Decoder>,
    /// The end of that text, which the decoder expects at the beginning of its buffer.
    pub(crate) history: Vec<u8>,
}

/// All snapshots of a file that was read to its end.
pub(crate) struct Snapshots {
    identity: Identity,
    pub(crate) list: Vec<Snapshot>,
    /// How much text there is.
    pub(crate) text: u64,
}

/// Returns the snapshots of a file that was read before and has not changed.
pub(crate) fn snapshots_of(identity: &Identity) -> Option<Arc<Snapshots>> {
    // A process that was forked while another thread held the lock must not wait for it.
    let files = FILES.try_lock().ok()?;
    files
        .iter()
        .find(|file| file.identity == *identity)
        .cloned()
}

fn keep(snapshots: Snapshots) {
    let Ok(mut files) = FILES.try_lock() else {
        return;
    };
    files.retain(|other| !other.identity.is_same_file(&snapshots.identity));
    files.push(Arc::new(snapshots));
    while files.iter().map(|file| file.list.len()).sum::<usize>() > MOST_OF_ALL {
        files.remove(0);
    }
}

/// Stores the snapshots of one file under the identity of another, as if they were its own.
#[cfg(test)]
pub(crate) fn misfile(old: &Identity, new: &Identity) {
    let mut files = FILES.lock().unwrap();
    let index = files.iter().position(|file| file.identity == *old);
    let mut snapshots = Arc::into_inner(files.remove(index.unwrap())).unwrap();
    snapshots.identity = new.clone();
    files.push(Arc::new(snapshots));
}

/// Takes snapshots while a file is read.
pub(super) struct Recorder {
    snapshots: Snapshots,
    spacing: u64,
}

impl Recorder {
    /// Returns a recorder if it is of use: the file is large and can be read at any position,
    /// and several threads are allowed.
    pub(super) fn of(input: &BufferedInput, options: &UnpackOptions) -> Option<Self> {
        let identity = input.identity()?;
        let is_of_use = options.threads > 1 && identity.size >= SMALLEST;
        is_of_use.then(|| Self::new(identity))
    }

    fn new(identity: Identity) -> Self {
        let beginning = Snapshot {
            packed: 0,
            text: 0,
            decoder: Box::new(Decoder::new(Format::Gzip)),
            history: Vec::new(),
        };
        Self {
            snapshots: Snapshots {
                identity,
                list: vec![beginning],
                text: 0,
            },
            spacing: SPACING,
        }
    }

    /// Counts text.
    pub(super) fn advance(&mut self, count: usize) {
        self.snapshots.text += as_u64(count);
    }

    /// Takes a snapshot inside a member, unless the last one is near.
    pub(super) fn note(&mut self, packed: u64, decoder: &Decoder, history: &[u8]) {
        let last = self.snapshots.list.last().map_or(0, |last| last.text);
        if self.snapshots.text < last + self.spacing || history.len() < WINDOW {
            return;
        }
        self.snapshots.list.push(Snapshot {
            packed,
            text: self.snapshots.text,
            decoder: Box::new(decoder.clone()),
            history: history.to_vec(),
        });
        if self.snapshots.list.len() > MOST {
            self.thin_out();
        }
    }

    fn thin_out(&mut self) {
        self.spacing *= 2;
        let mut last = None;
        let spacing = self.spacing;
        self.snapshots.list.retain(|snapshot| {
            let is_far = last.is_none_or(|last| snapshot.text >= last + spacing);
            last = if is_far { Some(snapshot.text) } else { last };
            is_far
        });
    }

    /// Keeps the snapshots: the file was read to its end and was valid.
    pub(super) fn keep(self) {
        keep(self.snapshots);
    }
}
