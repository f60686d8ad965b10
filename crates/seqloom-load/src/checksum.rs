//! Checksums of tensor bytes, computed in one or more threads.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

use rayon::prelude::*;
use seqloom_core::{Error, Result, system::read_at};
use xxhash_rust::xxh3::xxh3_64;

/// Size of a chunk that is hashed separately. The size does not depend on the number of
/// threads.
const CHUNK_BYTES: usize = 1 << 20;

/// Returns the XXH3 hash of each MiB of `bytes`, as eight little-endian bytes.
#[must_use]
pub fn hash_chunks(bytes: &[u8]) -> Vec<[u8; 8]> {
    let one = |chunk: &[u8]| xxh3_64(chunk).to_le_bytes();
    if rayon::current_thread_index().is_none() {
        return bytes.chunks(CHUNK_BYTES).map(one).collect();
    }
    bytes.par_chunks(CHUNK_BYTES).map(one).collect()
}

/// Reads bytes of a file into `out`, and hashes each MiB while it is in the cache.
///
/// # Errors
///
/// Returns [`Error::Missing`] or [`Error::File`] if the file cannot be read or is too
/// short.
pub fn read_hashed(path: &Path, start: u64, out: &mut [u8]) -> Result<Vec<[u8; 8]>> {
    let file = File::open(path).map_err(|error| Error::io(path, &error))?;
    let one = |(number, chunk): (usize, &mut [u8])| -> Result<[u8; 8]> {
        let offset = start + (number * CHUNK_BYTES) as u64;
        read_exact_at(&file, offset, chunk).map_err(|error| Error::io(path, &error))?;
        Ok(xxh3_64(chunk).to_le_bytes())
    };
    if rayon::current_thread_index().is_none() {
        return out.chunks_mut(CHUNK_BYTES).enumerate().map(one).collect();
    }
    out.par_chunks_mut(CHUNK_BYTES)
        .enumerate()
        .map(one)
        .collect()
}

/// Fills `chunk` with the bytes of the file from `offset`. Returns an error if the file
/// ends before `chunk` is full.
fn read_exact_at(file: &File, at: u64, chunk: &mut [u8]) -> io::Result<()> {
    let mut done = 0;
    while let Some(rest) = chunk.get_mut(done..).filter(|rest| !rest.is_empty()) {
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
    fn each_chunk_has_the_hash_of_its_bytes() {
        let bytes = vec![7; CHUNK_BYTES + 3];
        let expected = [&bytes[..CHUNK_BYTES], &bytes[CHUNK_BYTES..]]
            .map(|chunk| xxh3_64(chunk).to_le_bytes());
        assert_eq!(hash_chunks(&bytes), expected);
        assert!(hash_chunks(&[]).is_empty());
    }

    #[test]
    fn reading_returns_the_bytes_of_the_file_and_their_hashes() {
        let mut file = create_temporary_file();
        let bytes: Vec<u8> = (0..=250).cycle().take(2 * CHUNK_BYTES + 5).collect();
        file.0.write_all(&bytes).unwrap();
        let mut out = vec![0; bytes.len() - 3];
        let hashes = read_hashed(&file.1, 3, &mut out).unwrap();
        assert_eq!(out, bytes[3..]);
        assert_eq!(hashes, hash_chunks(&bytes[3..]));
        let mut more = vec![0; bytes.len() + 1];
        assert!(read_hashed(&file.1, 0, &mut more).is_err());
        std::fs::remove_file(&file.1).unwrap();
    }

    fn create_temporary_file() -> (File, std::path::PathBuf) {
        let name = format!("seqloom-checksum-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        (File::create(&path).unwrap(), path)
    }
}
