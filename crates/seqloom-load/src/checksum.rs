//! Checksums of the bytes of tensors, by one thread or several.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

use rayon::prelude::*;
use seqloom_core::system::read_at;
use seqloom_core::{Error, Result};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes that are hashed together: the same for every number of threads.
const PIECE: usize = 1 << 20;

/// Hashes each MiB of some bytes: eight bytes for each, little-endian.
#[must_use]
pub fn of_pieces(bytes: &[u8]) -> Vec<[u8; 8]> {
    let one = |piece: &[u8]| xxh3_64(piece).to_le_bytes();
    if rayon::current_thread_index().is_none() {
        return bytes.chunks(PIECE).map(one).collect();
    }
    bytes.par_chunks(PIECE).map(one).collect()
}

/// Reads bytes of a file into `out`, and hashes each MiB while it is in the cache.
///
/// # Errors
///
/// [`Error::Missing`] or [`Error::File`] where the file cannot be read, or is too short.
pub fn read_pieces(path: &Path, start: u64, out: &mut [u8]) -> Result<Vec<[u8; 8]>> {
    let file = File::open(path).map_err(|error| Error::io(path, &error))?;
    let one = |(number, piece): (usize, &mut [u8])| -> Result<[u8; 8]> {
        let place = start + (number * PIECE) as u64;
        fill(&file, place, piece).map_err(|error| Error::io(path, &error))?;
        Ok(xxh3_64(piece).to_le_bytes())
    };
    if rayon::current_thread_index().is_none() {
        return out.chunks_mut(PIECE).enumerate().map(one).collect();
    }
    out.par_chunks_mut(PIECE).enumerate().map(one).collect()
}

/// Fills a piece from a position; a file that ends before is an error.
fn fill(file: &File, at: u64, piece: &mut [u8]) -> io::Result<()> {
    let mut done = 0;
    while let Some(rest) = piece.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match read_at(file, at + done as u64, rest) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => done += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_piece_has_the_hash_of_its_bytes() {
        let bytes = vec![7; PIECE + 3];
        let expected = [&bytes[..PIECE], &bytes[PIECE..]].map(|piece| xxh3_64(piece).to_le_bytes());
        assert_eq!(of_pieces(&bytes), expected);
        assert!(of_pieces(&[]).is_empty());
    }

    #[test]
    fn what_is_read_has_the_hashes_of_what_was_written() {
        let mut file = tempfile();
        let bytes: Vec<u8> = (0..=250).cycle().take(2 * PIECE + 5).collect();
        file.0.write_all(&bytes).unwrap();
        let mut out = vec![0; bytes.len() - 3];
        let hashes = read_pieces(&file.1, 3, &mut out).unwrap();
        assert_eq!(out, bytes[3..]);
        assert_eq!(hashes, of_pieces(&bytes[3..]));
        let mut more = vec![0; bytes.len() + 1];
        assert!(read_pieces(&file.1, 0, &mut more).is_err());
        std::fs::remove_file(&file.1).unwrap();
    }

    fn tempfile() -> (File, std::path::PathBuf) {
        let name = format!("seqloom-checksum-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        (File::create(&path).unwrap(), path)
    }
}
