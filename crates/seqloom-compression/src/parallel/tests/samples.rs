//! Compressed files for tests, and their text as read by one thread.

use std::fs;
use std::path::{Path, PathBuf};

use sirocco::Format;

use super::{
    BufferedInput, MIN_PARALLEL_FILE_BYTES, ReadError, TextSource, UnpackOptions, open_text,
};

/// A compressed file in a temporary folder, which is removed when this value is
/// dropped.
pub(super) struct CompressedFile(pub(super) PathBuf);

impl CompressedFile {
    pub(super) fn new(packed: &[u8]) -> Self {
        static FILE_COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = FILE_COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("seqloom-whole-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).unwrap();
        let path = folder.join("a.fa.gz");
        fs::write(&path, packed).unwrap();
        Self(path)
    }

    /// Overwrites the file with other bytes but keeps its modification time.
    pub(super) fn overwrite(&self, packed: &[u8]) {
        let time = fs::metadata(&self.0).unwrap().modified().unwrap();
        fs::write(&self.0, packed).unwrap();
        let file = fs::File::options().write(true).open(&self.0).unwrap();
        file.set_modified(time).unwrap();
    }
}

impl Drop for CompressedFile {
    fn drop(&mut self) {
        fs::remove_dir_all(self.0.parent().unwrap()).unwrap();
    }
}

pub(super) fn gzip_bytes(text: &[u8]) -> Vec<u8> {
    sirocco::compress(Format::Gzip, sirocco::deflate::Level::DEFAULT, text)
}

pub(super) fn gzip_members(text: &[u8], ends: &[usize]) -> Vec<u8> {
    let mut packed = Vec::new();
    let mut at = 0;
    for end in ends.iter().chain([&text.len()]) {
        let end = (*end).clamp(at, text.len());
        packed.extend(gzip_bytes(&text[at..end]));
        at = end;
    }
    packed
}

pub(super) fn options_with_threads(threads: usize) -> UnpackOptions {
    UnpackOptions {
        threads,
        ..UnpackOptions::default()
    }
}

pub(super) fn read_by_one_thread(path: &Path) -> (Vec<u8>, Option<String>) {
    let options = UnpackOptions::default();
    let (_, mut text) = open_text(BufferedInput::open(path).unwrap(), &options).unwrap();
    read_all_text(&mut *text)
}

pub(super) fn read_all_text(text: &mut dyn TextSource) -> (Vec<u8>, Option<String>) {
    let mut content = Vec::new();
    loop {
        match text.fill_buffer() {
            Ok([]) => return (content, None),
            Ok(piece) => {
                content.extend_from_slice(piece);
                let count = piece.len();
                text.consume(count);
            }
            Err(ReadError::Damage(fault)) => return (content, Some(fault.to_string())),
            Err(ReadError::Io(error)) => return (content, Some(error.to_string())),
        }
    }
}

/// Returns FASTA text that gzip compresses to more than half of its size.
pub(super) fn random_protein_fasta(residues: usize) -> Vec<u8> {
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
    let (_, mut text) = open_text(input, &options_with_threads(2)).unwrap();
    read_all_text(&mut *text)
}

/// Returns a compressed file that is large enough for several threads, and its text.
/// The gzip members of the file end at the text offsets `ends`.
pub(super) fn large_compressed_file(ends: &[usize]) -> (Vec<u8>, Vec<u8>) {
    let text = random_protein_fasta(16_000_000);
    let mut packed = gzip_members(&text, ends);
    packed.extend([0; 99]);
    assert!(packed.len() > usize::try_from(MIN_PARALLEL_FILE_BYTES).unwrap());
    (text, packed)
}
