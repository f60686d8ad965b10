//! Snapshots of the gzip decoder at some positions of a file.
//!
//! While one thread decompresses a file, it regularly stores a copy of its decoder and
//! the last 32 KiB of text. If the whole file is valid, the process keeps these
//! snapshots. The next read of the file decompresses from all snapshots in parallel
//! (`index::whole`). Snapshots exist only in memory, and are not used for a file that
//! has changed.

use std::sync::{Arc, Mutex};

use sirocco::{Format, inflate::Decoder};

use super::text::UnpackOptions;
use crate::{gzip_blocks::WINDOW_BYTES, input::BufferedInput, system::FileId};
use seqloom_core::number::as_u64;

/// Minimal size of a compressed file for which several threads are faster than one. On
/// two busy cores (AMD EPYC, Zen 3), threads and their buffers cost 1 to 6 ms. With
/// threads, FASTQ files of 1.5 MB or more were read faster. Protein files, the slowest
/// to decompress, were read more slowly at 4.0 MB and faster at 8.1 MB.
pub const MIN_PARALLEL_FILE_BYTES: u64 = if cfg!(fuzzing) { 1 } else { 8 << 20 };
/// Initial distance between snapshots in bytes of text. The distance doubles whenever a
/// file has too many snapshots.
const INITIAL_SPACING_BYTES: u64 = if cfg!(fuzzing) { 1 << 12 } else { 1 << 20 };
/// Maximum number of snapshots of a file. Each snapshot takes about 50 KB.
const MAX_FILE_SNAPSHOTS: usize = 128;
/// Maximum of the total number of snapshots over all files.
const MAX_TOTAL_SNAPSHOTS: usize = 1024;

/// The snapshots of the most recently read files, from oldest to newest.
static RECENT_SNAPSHOTS: Mutex<Vec<Arc<FileSnapshots>>> = Mutex::new(Vec::new());

/// A copy of the decoder at a position of a gzip file.
pub(crate) struct DecoderSnapshot {
    /// Offset of the position in the compressed file.
    pub(crate) packed: u64,
    /// Offset of the position in the decompressed text.
    pub(crate) text: u64,
    pub(crate) decoder: Box<Decoder>,
    /// The text before the position, which the decoder expects at the start of its
    /// buffer.
    pub(crate) history: Vec<u8>,
}

/// All snapshots of a file that was read to its end.
pub(crate) struct FileSnapshots {
    identity: FileId,
    pub(crate) list: Vec<DecoderSnapshot>,
    /// The size of the decompressed file in bytes.
    pub(crate) text: u64,
}

/// Returns the snapshots of a file that this process has read before and that has not
/// changed.
pub(crate) fn find_snapshots(identity: &FileId) -> Option<Arc<FileSnapshots>> {
    // Do not wait for the lock, because the thread that holds it may not exist after a
    // fork.
    let files = RECENT_SNAPSHOTS.try_lock().ok()?;
    files
        .iter()
        .find(|file| file.identity == *identity)
        .cloned()
}

fn store_snapshots(snapshots: FileSnapshots) {
    let Ok(mut files) = RECENT_SNAPSHOTS.try_lock() else {
        return;
    };
    files.retain(|other| !other.identity.is_same_file(&snapshots.identity));
    files.push(Arc::new(snapshots));
    while files.iter().map(|file| file.list.len()).sum::<usize>() > MAX_TOTAL_SNAPSHOTS {
        files.remove(0);
    }
}

/// Stores the snapshots of one file under the identity of another.
#[cfg(test)]
pub(crate) fn store_under_other_identity(old: &FileId, new: &FileId) {
    let mut files = RECENT_SNAPSHOTS.lock().unwrap();
    let index = files.iter().position(|file| file.identity == *old);
    let mut snapshots = Arc::into_inner(files.remove(index.unwrap())).unwrap();
    snapshots.identity = new.clone();
    files.push(Arc::new(snapshots));
}

/// A recorder that takes snapshots while a file is decompressed.
pub(super) struct SnapshotRecorder {
    snapshots: FileSnapshots,
    spacing: u64,
}

impl SnapshotRecorder {
    /// Returns a recorder if snapshots are useful: the file is large, it can be read at
    /// any offset, and several threads are allowed.
    pub(super) fn for_input(input: &BufferedInput, options: &UnpackOptions) -> Option<Self> {
        let identity = input.identity()?;
        let is_of_use = options.threads > 1 && identity.size >= MIN_PARALLEL_FILE_BYTES;
        is_of_use.then(|| Self::new(identity))
    }

    fn new(identity: FileId) -> Self {
        let beginning = DecoderSnapshot {
            packed: 0,
            text: 0,
            decoder: Box::new(Decoder::new(Format::Gzip)),
            history: Vec::new(),
        };
        Self {
            snapshots: FileSnapshots {
                identity,
                list: vec![beginning],
                text: 0,
            },
            spacing: INITIAL_SPACING_BYTES,
        }
    }

    /// Adds to the number of bytes that were decompressed so far.
    pub(super) fn count_text_bytes(&mut self, count: usize) {
        self.snapshots.text += as_u64(count);
    }

    /// Takes a snapshot, unless the last snapshot is too close or this gzip member has
    /// less than 32 KiB of text so far.
    pub(super) fn add_if_distant(&mut self, packed: u64, decoder: &Decoder, history: &[u8]) {
        let last = self.snapshots.list.last().map_or(0, |last| last.text);
        if self.snapshots.text < last + self.spacing || history.len() < WINDOW_BYTES {
            return;
        }
        self.snapshots.list.push(DecoderSnapshot {
            packed,
            text: self.snapshots.text,
            decoder: Box::new(decoder.clone()),
            history: history.to_vec(),
        });
        if self.snapshots.list.len() > MAX_FILE_SNAPSHOTS {
            self.remove_every_second_snapshot();
        }
    }

    fn remove_every_second_snapshot(&mut self) {
        self.spacing *= 2;
        let mut last = None;
        let spacing = self.spacing;
        self.snapshots.list.retain(|snapshot| {
            let is_far = last.is_none_or(|last| snapshot.text >= last + spacing);
            last = if is_far { Some(snapshot.text) } else { last };
            is_far
        });
    }

    /// Keeps the snapshots for later reads. Call this function after the whole file was
    /// read without an error.
    pub(super) fn store_snapshots(self) {
        store_snapshots(self.snapshots);
    }
}
