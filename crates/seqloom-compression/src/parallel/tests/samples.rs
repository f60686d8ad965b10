//! Compressed files for tests, and their text as read by one thread.

use std::fs;
use std::path::{Path, PathBuf};

use sirocco::Format;

use super::{BufferedInput, MIN_PARALLEL_FILE_BYTES, Text, Trouble, UnpackOptions, unpack};

/// A compressed file in a temporary folder, which is removed when this value is
/// dropped.
pub(super) struct PackedFile(pub(super) PathBuf);

impl PackedFile {
    pub(super) fn new(packed: &[u8]) -> Self {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("seqloom-whole-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).unwrap();
        let path = folder.join("a.fa.gz");
        fs::write(&path, packed).unwrap();
        Self(path)
    }

    /// Overwrites the file with other bytes but keeps its modification time.
    pub(super) fn change(&self, packed: &[u8]) {
        let time = fs::metadata(&self.0).unwrap().modified().unwrap();
        fs::write(&self.0, packed).unwrap();
        let file = fs::File::options().write(true).open(&self.0).unwrap();
        file.set_modified(time).unwrap();
    }
}

impl Drop for PackedFile {
    fn drop(&mut self) {
        fs::remove_dir_all(self.0.parent().unwrap()).unwrap();
    }
}

pub(super) fn gzip(text: &[u8]) -> Vec<u8> {
    sirocco::compress(Format::Gzip, sirocco::deflate::Level::DEFAULT, text)
}

pub(super) fn members(text: &[u8], ends: &[usize]) -> Vec<u8> {
    let mut packed = Vec::new();
    let mut at = 0;
    for end in ends.iter().chain([&text.len()]) {
        let end = (*end).clamp(at, text.len());
        packed.extend(gzip(&text[at..end]));
        at = end;
    }
    packed
}

pub(super) fn threads_of(threads: usize) -> UnpackOptions {
    UnpackOptions {
        threads,
        ..UnpackOptions::default()
    }
}

pub(super) fn read_by_one_thread(path: &Path) -> (Vec<u8>, Option<String>) {
    let options = UnpackOptions::default();
    let (_, mut text) = unpack(BufferedInput::open(path).unwrap(), &options).unwrap();
    drain(&mut *text)
}

pub(super) fn drain(text: &mut dyn Text) -> (Vec<u8>, Option<String>) {
    let mut content = Vec::new();
    loop {
        match text.fill() {
            Ok([]) => return (content, None),
            Ok(piece) => {
                content.extend_from_slice(piece);
                let count = piece.len();
                text.consume(count);
            }
            Err(Trouble::Damage(fault)) => return (content, Some(fault.to_string())),
            Err(Trouble::Io(error)) => return (content, Some(error.to_string())),
        }
    }
}

/// Returns FASTA text that gzip compresses to more than half of its size.
pub(super) fn proteins(residues: usize) -> Vec<u8> {
    let mut state = 7_u64;
    let letter = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        b"LAGVESIKRDTPNQFYMHCW"[usize::try_from(state % 20).unwrap()]
    };
    b">a\n"
        .iter()
        .copied()
        .chain((0..residues).map(letter))
        .collect()
}

/// Reads a file with two threads. Returns its text and the error.
pub(super) fn read_by_threads(path: &Path) -> (Vec<u8>, Option<String>) {
    let input = BufferedInput::open(path).unwrap();
    let (_, mut text) = unpack(input, &threads_of(2)).unwrap();
    drain(&mut *text)
}

/// Returns a compressed file that is large enough for several threads, and its text.
/// The gzip members of the file end at the text offsets `ends`.
pub(super) fn large_file(ends: &[usize]) -> (Vec<u8>, Vec<u8>) {
    let text = proteins(16_000_000);
    let mut packed = members(&text, ends);
    packed.extend([0; 99]);
    assert!(packed.len() > usize::try_from(MIN_PARALLEL_FILE_BYTES).unwrap());
    (text, packed)
}
